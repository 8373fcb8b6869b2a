"""The client of a server: uploads keys once, sends ciphertexts, repeats what a connection lost."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from math import inf
from os import PathLike, fspath
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import httpx

from cloakwork import _core
from cloakwork.errors import LoadError, ParamError, ServingError
from cloakwork.fhe.keys.evaluation import EvaluationKeys
from cloakwork.fhe.streams import Stored
from cloakwork.lazy import public
from cloakwork.sending import Here
from cloakwork.serving import exposure, names, tokens
from cloakwork.serving.answers import (
    DESCRIPTION_BYTES,
    STATE_BYTES,
    Answer,
    address,
    in_words,
    of_tls,
    received,
)

_BINARY = {"Content-Type": "application/octet-stream"}
_PIECE_BYTES = 1 << 20
_CHECKSUM_BYTES = 32
_ACCEPTED, _MISSING, _CONFLICT = 202, 404, 409
_MOST_PORT = 65535
# The longest result that a server's own description may ask for.
_MOST_RESULT_BYTES = 1 << 30
# Steps of a run, at most.
_MOST_STEPS = 1 << 53
# How long a server that never answered is waited for.
_FIRST_SECONDS = 5.0
# Answers after which the same request may succeed: a pause of the body, a proxy's, a full server's.
_AGAIN = (408, 502, 503)
# Between attempts: 0.05 s, then twice as long each time.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0
# The longest time to connect, and to wait for a piece of an answer beyond the server's own wait.
_CONNECT_SECONDS, _ANSWER_SECONDS = 10.0, 60.0


@public("cloakwork.serving")
class Remote(Here):
    """A server of models, by its address.

    Requests carry ids: one that is repeated after a lost connection returns the result of the
    first, and is not run twice.  Certificates of https:// are verified.
    """

    _stays = "it holds a connection: send the address, and connect there"

    def __init__(
        self,
        url: str,
        *,
        ca: str | PathLike[str] | None = None,
        timeout: float = 600.0,
        token: str | None = None,
        insecure: bool = False,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Prepare; nothing is sent yet.

        ca         a file of certificates to trust instead of the system's
        timeout    seconds for one call, with all its repetitions
        token      of a server that asks for one; refused for http:// to another machine
        insecure   send a token or a password in plain, with an InsecureWarning
        transport  of httpx, for tests

        Raises ParamError for an address that is not http:// or https://, for a wrong file, and,
        without `insecure`, for what it accepts.
        """
        found = _address(url)
        if not 0 < timeout < inf:
            raise ParamError("timeout", timeout, "seconds above 0")
        headers = {"Accept-Encoding": "identity"}
        if token is not None:
            if found.userinfo:
                raise ParamError("url", address(found), "an address without a user, beside a token")
            headers["Authorization"] = f"Bearer {tokens.check(token, 'token')}"
        has_secret = token is not None or bool(found.userinfo)
        what = "a token" if token is not None else "a password"
        exposure.check_sending(
            found.scheme, found.host, what, has_secret=has_secret, insecure=insecure
        )
        if ca is not None and url.startswith("http:"):
            raise ParamError("ca", fspath(ca), "an https:// address, which has a certificate")
        self._timeout = timeout
        # What stays in this machine goes to no proxy that the environment names.
        stays = found.scheme == "http" and exposure.is_loopback(found.host)
        self._http = httpx.Client(
            base_url=found, verify=_trusted(ca), transport=transport,
            headers=headers, trust_env=not stays,
        )  # fmt: skip
        # Where keys are from, for a server that forgets them, and the longest results of models.
        self._uploaded: dict[str, EvaluationKeys | str | PathLike[str]] = {}
        self._result_bytes: dict[str, int] = {}
        self._has_answered = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

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
        progress: Callable[[int, int], object] | None = None,
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
        for pause in _pauses(until):
            offset = self._offset(name, source.size_bytes)
            if offset is None:
                self._uploaded[name] = keys
                return name
            try:
                self._send_keys(source, offset, until, progress)
            except (httpx.TransportError, ServingError) as error:
                _wait(error, pause, until)
        raise _late(f"PUT /v1/keys/{name}", self._timeout)

    def _offset(self, name: str, size: int) -> int | None:
        """The bytes of so many that the server has; None if it has the whole set."""
        try:
            answer = self._asked("GET", f"/v1/keys/{name}")
        except ServingError as error:
            if error.status != _MISSING:
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
        progress: Callable[[int, int], object] | None,
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
        progress: Callable[[int, int], object] | None = None,
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
        while answer.status == _ACCEPTED:
            if monotonic() > until:
                self._cancel(run)
                raise _late(address, self._timeout)
            done, total = _steps(answer)
            if progress is not None:
                progress(done, total)
            wait, asked = {} if progress is None else {"wait": "0.2"}, monotonic()
            try:
                answer = self._repeated("GET", f"/v1/runs/{run}/result", until, most, params=wait)
            except ServingError as error:
                # A server that was started again does not know it: the same request begins it.
                if error.status != _MISSING:
                    raise
                answer = begin()
            # A server that does not wait, as it should, is not asked without a pause.
            if answer.status == _ACCEPTED:
                sleep(max(0.0, asked + _FIRST_PAUSE - monotonic()))
        return answer.content

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
        if error.status not in (_MISSING, _CONFLICT) or source is None:
            return False
        try:
            if self._offset(keys, _Bytes(source).size_bytes) is None:
                return False  # The server misses something else.
            del self._uploaded[keys]
            return self.upload(source) == keys
        except (OSError, LoadError):  # Their file is not what it was.
            return False

    def _cancel(self, run: str) -> None:
        try:
            # Its answer is not read.
            with self._http.stream("DELETE", f"/v1/runs/{run}", timeout=_CONNECT_SECONDS):
                return
        except httpx.TransportError:
            return

    def _asked(self, method: str, address: str) -> Answer:
        return self._repeated(method, address, monotonic() + self._timeout)

    def _repeated(
        self,
        method: str,
        address: str,
        until: float,
        most_bytes: int = DESCRIPTION_BYTES,
        **options: Any,
    ) -> Answer:
        """The answer to a request, which is repeated while connections fail or the server is busy.

        A server that never answered is not waited for as long as one that is started again.
        Raises ServingError for a refusal.
        """
        if "content" in options:
            options["headers"] = _BINARY
        first = monotonic() + _FIRST_SECONDS
        for pause in _pauses(until):
            try:
                return self._once(method, address, most_bytes, until, **options)
            except (httpx.TransportError, ServingError) as error:
                _wait(error, pause, until if self._has_answered else min(first, until))
        raise _late(f"{method} {address}", self._timeout)

    def _once(
        self, method: str, address: str, most_bytes: int, until: float, **options: Any
    ) -> Answer:
        """The answer to one request; ServingError for a refusal."""
        left = max(until - monotonic(), _FIRST_PAUSE)
        connecting = min(left, _CONNECT_SECONDS)
        limits = httpx.Timeout(min(left, _ANSWER_SECONDS), connect=connecting)
        with self._http.stream(method, address, timeout=limits, **options) as answer:
            self._has_answered = True
            found = received(answer, most_bytes, until)
        return found.checked()


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

    def pieces(
        self, offset: int, progress: Callable[[int, int], object] | None = None
    ) -> Iterator[bytes]:
        """The bytes from an offset on, 1 MiB at a time."""
        for begin in range(offset, self.size_bytes, _PIECE_BYTES):
            end = min(begin + _PIECE_BYTES, self.size_bytes)
            yield self._part(begin, end)
            if progress is not None:
                progress(end, self.size_bytes)


def _trusted(ca: str | PathLike[str] | None) -> ssl.SSLContext | bool:
    if ca is None:
        return True
    try:
        return ssl.create_default_context(cafile=fspath(ca))
    except (OSError, ssl.SSLError) as error:
        raise ParamError("ca", fspath(ca), f"a file of certificates (PEM): {error}") from error


def _address(url: str) -> httpx.URL:
    """The address; ParamError, without a password in it, for a wrong one."""
    allowed = "an address: http://HOST:PORT or https://HOST:PORT"
    try:
        found = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        raise ParamError("url", str(url).rpartition("@")[2], allowed) from None
    right = found.scheme in ("http", "https") and found.host and (found.port or 0) <= _MOST_PORT
    if not right or found.query or found.fragment:
        raise ParamError("url", str(url).rpartition("@")[2], allowed)
    return found


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


def _steps(answer: Answer) -> tuple[int, int]:
    """The finished steps of a run, and all of them; ServingError for what is no state."""
    steps = answer.told(dict).get("steps")
    done, total = (steps.get("done"), steps.get("total")) if isinstance(steps, dict) else (0, "")
    if type(done) is not int or type(total) is not int or not 0 <= done <= total < _MOST_STEPS:
        raise answer.strange()
    return done, total


def _pauses(until: float) -> Iterator[float]:
    """The pauses after attempts, the first of which is made in any case."""
    pause = _FIRST_PAUSE
    while True:
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE)
        if monotonic() > until:
            return


def _wait(error: httpx.TransportError | ServingError, pause: float, until: float) -> None:
    """Wait before the next attempt; raise the error if none can help, or no time is left."""
    if isinstance(error, ServingError):
        advised = error.retry_seconds is not None
        if not (advised or error.status in _AGAIN):
            raise error
        pause = max(pause, float(error.retry_seconds or 0))
    elif (refused := of_tls(error)) is not None:
        raise refused from error
    if monotonic() + pause > until:
        if isinstance(error, ServingError):
            raise error
        hint = "is it running?"
        got = in_words(str(error)) or "none"
        raise ServingError(0, "the server", "an answer", got, hint) from error
    sleep(pause)


def _late(what: str, seconds: float) -> ServingError:
    hint = "allow a longer timeout"
    return ServingError(0, what, f"an answer within {seconds:g} s", "none", hint)
