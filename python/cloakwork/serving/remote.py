"""The client of a server of models: uploads keys once, and sends ciphertexts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import httpx

from cloakwork import _core
from cloakwork.errors import LoadError, ParamError, ServingError
from cloakwork.fhe.keys.evaluation import EvaluationKeys
from cloakwork.fhe.streams import Stored
from cloakwork.lazy import public
from cloakwork.serving import names
from cloakwork.serving.answers import DESCRIPTION_BYTES, STATE_BYTES, Answer, in_words
from cloakwork.serving.connection import (
    CONFLICT,
    MISSING,
    Connection,
    Progress,
    late,
    pauses,
    wait,
)

_BINARY = {"Content-Type": "application/octet-stream"}
_PIECE_BYTES = 1 << 20
_CHECKSUM_BYTES = 32
# The longest result that a server's own description may ask for.
_MOST_RESULT_BYTES = 1 << 30


@public("cloakwork.serving")
class Remote(Connection):
    """A server of models, by its address.

    Requests carry ids: one that is repeated after a lost connection returns the result of the
    first, and is not run twice.  Certificates of https:// are verified.
    """

    def _begin(self) -> None:
        # Where keys are from, for a server that forgets them, and the longest results of models.
        self._uploaded: dict[str, EvaluationKeys | str | PathLike[str]] = {}
        self._result_bytes: dict[str, int] = {}

    def models(self) -> list[dict[str, Any]]:
        """The descriptions of the server's models."""
        answer = self._asked("GET", "/v1/models")
        found = answer.told(list)
        if not all(isinstance(one, dict) and _is_described(one) for one in found):
            raise answer.strange()
        models: list[dict[str, Any]] = found
        return models

    def model(self, name: str | None = None) -> dict[str, Any]:
        """The description of a model; without a name, of the only one."""
        if name is None:
            found = self.models()
            if len(found) != 1:
                known = ", ".join(str(one["name"]) for one in found)
                raise ParamError("model", "none", f"the name of one of them: {known}")
            return found[0]
        answer = self._asked("GET", f"/v1/models/{names.check(name)}")
        described: dict[str, Any] = answer.told(dict)
        if not _is_described(described):
            raise answer.strange()
        return described

    def upload(
        self,
        keys: EvaluationKeys | str | PathLike[str],
        *,
        progress: Progress | None = None,
    ) -> str:
        """Bring evaluation keys to the server, unless it has them; return their fingerprint.

        keys      or their file, which is sent piece by piece
        progress  called with the number of bytes sent and of all bytes, once for each MiB

        An upload that was interrupted, also by another process, continues where it ended.
        """
        source = _Bytes(keys)
        name, until = source.fingerprint, monotonic() + self._timeout
        if name in self._uploaded:
            return name
        for pause in pauses(until):
            offset = self._offset(name, source.size_bytes)
            if offset is None:
                self._uploaded[name] = keys
                return name
            try:
                self._send_keys(source, offset, until, progress)
            except (httpx.TransportError, ServingError) as error:
                wait(error, pause, until)
        raise late(f"PUT /v1/keys/{name}", self._timeout)

    def _offset(self, name: str, size: int) -> int | None:
        """The bytes of so many that the server has; None if it has the whole set."""
        try:
            answer = self._asked("GET", f"/v1/keys/{name}")
        except ServingError as error:
            if error.status != MISSING:
                raise
            return 0
        found = answer.told(dict)
        if found.get("state") == "complete":
            return None
        offset: int = found.get("offset")
        if type(offset) is not int or not 0 <= offset <= size:
            raise answer.strange()
        return offset

    def _send_keys(
        self,
        source: _Bytes,
        offset: int,
        until: float,
        progress: Progress | None,
    ) -> None:
        size = source.size_bytes
        rest = f"{offset}-{size - 1}" if offset < size else "*"
        headers = _BINARY | {"Content-Range": f"bytes {rest}/{size}"}
        headers["Content-Length"] = str(size - offset)
        address, contents = f"/v1/keys/{source.fingerprint}", source.pieces(offset, progress)
        most = DESCRIPTION_BYTES
        self._once("PUT", address, most, until, content=contents, headers=headers)

    def run(
        self,
        body: Stored | bytes,
        *,
        keys: str | None = None,
        model: str | None = None,
        progress: Progress | None = None,
        result_bytes: int | None = None,
    ) -> bytes:
        """Run a model on encrypted inputs; return the file of the results, for `fhe.from_bytes`.

        body          a ciphertext, a `CiphertextSet`, or the bytes of their file
        keys          the fingerprint that `upload` returned; keys that the server forgot since
                      then are uploaded again, once
        model         by default the server's only one
        progress      called now and then with the number of finished steps and of all steps
        result_bytes  the longest result, as `ProgramClient.result_bytes`; by default that of the
                      model as the server describes it, up to 1 GiB

        Raises ServingError for a refusal, for a longer result, of which no more is read, and where
        no answer came within the timeout.
        """
        name = self.model()["name"] if model is None else model
        most = self._longest(name) if result_bytes is None else result_bytes
        most = max(most, STATE_BYTES)
        contents = body.to_bytes() if isinstance(body, Stored) else bytes(body)
        run, until = uuid4().hex, monotonic() + self._timeout
        options = {} if keys is None else {"keys": keys}
        if progress is not None:
            options["wait"] = "0"
        address = f"/v1/models/{names.check(name)}/runs/{run}"

        def begin() -> Answer:
            return self._repeated("PUT", address, until, most, content=contents, params=options)

        try:
            answer = begin()
        except ServingError as error:
            if keys is None or not self._has_uploaded_again(keys, error):
                raise
            answer = begin()
        return self._finished(begin, answer, f"/v1/runs/{run}", until, most, progress)

    def _longest(self, model: str) -> int:
        """The longest result of a model, by its description."""
        from cloakwork.serving.client import longest_result

        if model not in self._result_bytes:
            told = self.model(model)
            try:
                found = longest_result(told, "the server")
            except LoadError as error:
                raise LoadError(in_words(str(error))) from None
            if found > _MOST_RESULT_BYTES:
                allowed = f"{found}, as your own description of the model says: the server's word "
                allowed += f"goes up to {_MOST_RESULT_BYTES}"
                raise ParamError("result_bytes", "none", allowed)
            self._result_bytes[model] = found
        return self._result_bytes[model]

    def _has_uploaded_again(self, keys: str, error: ServingError) -> bool:
        """Upload keys that the server forgot, if they are at hand."""
        source = self._uploaded.get(keys)
        if error.status not in (MISSING, CONFLICT) or source is None:
            return False
        try:
            if self._offset(keys, _Bytes(source).size_bytes) is None:
                return False  # The server misses something else.
            del self._uploaded[keys]
            return self.upload(source) == keys
        except (OSError, LoadError):  # Their file is not what it was.
            return False


class _Bytes:
    """The bytes of evaluation keys: in memory, or of a mapped file."""

    def __init__(self, keys: EvaluationKeys | str | PathLike[str]) -> None:
        if isinstance(keys, EvaluationKeys):
            held = keys.to_bytes()
            self.size_bytes = len(held)
            self._part: Callable[[int, int], bytes] = lambda begin, end: held[begin:end]
        elif isinstance(keys, str | PathLike):
            from cloakwork.fhe.files import container

            path = Path(keys)
            mapped = _core.map_file(path)
            self.size_bytes = int(mapped.shape[0])
            self._part = lambda begin, end: bytes(memoryview(mapped[begin:end]))
            needed = container.head_bytes(path, self._part(0, 16))
            head = container.head(path, self._part(0, needed))
            if head.kind != "evaluation keys":
                raise LoadError(f"{path}: expected evaluation keys, got a {head.kind}: not sent")
            if head.size_bytes != self.size_bytes:
                wanted = f"{head.size_bytes} bytes by its head"
                raise LoadError(f"{path}: expected {wanted}, got {self.size_bytes}: not sent")
        else:
            raise ParamError("keys", type(keys).__name__, "EvaluationKeys, or their file")
        self.fingerprint = self._part(self.size_bytes - _CHECKSUM_BYTES, self.size_bytes).hex()

    def pieces(self, offset: int, progress: Progress | None = None) -> Iterator[bytes]:
        """The bytes from an offset on, 1 MiB at a time."""
        for begin in range(offset, self.size_bytes, _PIECE_BYTES):
            end = min(begin + _PIECE_BYTES, self.size_bytes)
            yield self._part(begin, end)
            if progress is not None:
                progress(end, self.size_bytes)


def _is_described(one: dict[str, Any]) -> bool:
    """Whether a description has a name that can stand in addresses, and a fingerprint."""
    name, fingerprint = one.get("name"), one.get("fingerprint")
    if not isinstance(name, str) or not isinstance(fingerprint, str):
        return False
    try:
        names.check(name)
    except ParamError:
        return False
    return fingerprint.isascii() and fingerprint.isalnum()
