"""The client of a server: uploads keys once, sends ciphertexts, repeats what a connection lost."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
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

_BINARY = {"Content-Type": "application/octet-stream"}
_PIECE_BYTES = 1 << 20
_CHECKSUM_BYTES = 32
_ACCEPTED, _MISSING = 202, 404
# Answers after which the same request may succeed: a pause of the body, a proxy's, a full server's.
_AGAIN = (408, 502, 503)
_REFUSAL = ("error", "expected", "got", "hint")
# Between attempts: 0.05 s, then twice as long each time.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0
# The longest time to connect, and to wait for a piece of an answer beyond the server's own wait.
_CONNECT_SECONDS, _ANSWER_SECONDS = 10.0, 60.0


@public("cloakwork.serving")
class Remote:
    """A server of models, by its address.

    Requests carry ids: one that is repeated after a lost connection returns the result of the
    first, and is not run twice.  Certificates of https:// are verified.
    """

    def __init__(
        self,
        url: str,
        *,
        ca: str | PathLike[str] | None = None,
        timeout: float = 600.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Prepare; nothing is sent yet.

        ca         a file of certificates to trust instead of the system's
        timeout    seconds for one call, with all its repetitions
        transport  of httpx, for tests

        Raises ParamError for an address that is not http:// or https://, and for a wrong file.
        """
        if not _is_address(url):
            raise ParamError("url", url, "an address: http://HOST:PORT or https://HOST:PORT")
        if not timeout > 0:
            raise ParamError("timeout", timeout, "seconds above 0")
        if ca is not None and url.startswith("http:"):
            raise ParamError("ca", fspath(ca), "an https:// address, which has a certificate")
        limits = httpx.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS)
        self._timeout = timeout
        self._http = httpx.Client(
            base_url=url, verify=_trusted(ca), timeout=limits, transport=transport
        )
        self._uploaded: set[str] = set()

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
        found = _told(answer, list)
        if not all(isinstance(one, dict) and _is_described(one) for one in found):
            raise _stranger(answer)
        models: list[dict[str, Any]] = found
        return models

    def model(self, name: str | None = None) -> dict[str, Any]:
        """The description of a model; without a name, of the only one."""
        if name is None:
            found = self.models()
            if len(found) != 1:
                names = ", ".join(str(one["name"]) for one in found)
                raise ParamError("model", "none", f"the name of one of them: {names}")
            return found[0]
        answer = self._asked("GET", f"/v1/models/{_safe(name)}")
        described: dict[str, Any] = _told(answer, dict)
        if not _is_described(described):
            raise _stranger(answer)
        return described

    def upload(self, keys: EvaluationKeys | str | PathLike[str]) -> str:
        """Bring evaluation keys to the server, unless it has them; return their fingerprint.

        keys    or their file, which is sent piece by piece

        An upload that was interrupted, also by another process, continues where it ended.
        """
        source = _Bytes(keys)
        name, until = source.fingerprint, monotonic() + self._timeout
        if name in self._uploaded:
            return name
        for pause in _pauses(until):
            offset = self._offset(name)
            if offset is None:
                self._uploaded.add(name)
                return name
            try:
                self._send_keys(source, offset)
            except (httpx.TransportError, ServingError) as error:
                _wait(error, pause, until)
        raise _late(f"PUT /v1/keys/{name}", self._timeout)

    def _offset(self, name: str) -> int | None:
        """The bytes that the server has; None if it has the whole set."""
        try:
            answer = self._asked("GET", f"/v1/keys/{name}")
        except ServingError as error:
            if error.status != _MISSING:
                raise
            return 0
        found = _told(answer, dict)
        if found.get("state") == "complete":
            return None
        if type(found.get("offset")) is not int:
            raise _stranger(answer)
        offset: int = found["offset"]
        return offset

    def _send_keys(self, source: _Bytes, offset: int) -> None:
        size = source.size_bytes
        rest = f"{offset}-{size - 1}" if offset < size else "*"
        headers = _BINARY | {"Content-Range": f"bytes {rest}/{size}"}
        headers["Content-Length"] = str(size - offset)
        answer = self._http.put(
            f"/v1/keys/{source.fingerprint}", content=source.pieces(offset), headers=headers
        )
        _checked(answer)

    def run(
        self,
        body: Stored | bytes,
        *,
        keys: str | None = None,
        model: str | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> bytes:
        """Run a model on encrypted inputs; return the file of the results, for `fhe.from_bytes`.

        body      a ciphertext, a `CiphertextSet`, or the bytes of their file
        keys      the fingerprint that `upload` returned
        model     by default the server's only one
        progress  called now and then with the number of finished steps and of all steps

        Raises ServingError for a refusal, and where no answer came within the timeout.
        """
        name = self.model()["name"] if model is None else model
        contents = body.to_bytes() if isinstance(body, Stored) else bytes(body)
        run, until = uuid4().hex, monotonic() + self._timeout
        options = {} if keys is None else {"keys": keys}
        if progress is not None:
            options["wait"] = "0"
        address = f"/v1/models/{_safe(name)}/runs/{run}"
        answer = self._repeated("PUT", address, until, content=contents, params=options)
        while answer.status_code == _ACCEPTED:
            if monotonic() > until:
                self._cancel(run)
                raise _late(address, self._timeout)
            steps = _told(answer, dict).get("steps")
            if not isinstance(steps, dict) or not {"done", "total"} <= steps.keys():
                raise _stranger(answer)
            if progress is not None:
                progress(int(steps["done"]), int(steps["total"]))
            wait = {} if progress is None else {"wait": "0.2"}
            try:
                answer = self._repeated("GET", f"/v1/runs/{run}/result", until, params=wait)
            except ServingError as error:
                # A server that was started again does not know it: the same request begins it.
                if error.status != _MISSING:
                    raise
                answer = self._repeated("PUT", address, until, content=contents, params=options)
        return answer.content

    def _cancel(self, run: str) -> None:
        try:
            self._http.delete(f"/v1/runs/{run}")
        except httpx.TransportError:
            return

    def _asked(self, method: str, address: str) -> httpx.Response:
        return self._repeated(method, address, monotonic() + self._timeout)

    def _repeated(self, method: str, address: str, until: float, **options: Any) -> httpx.Response:
        """The answer to a request, which is repeated while connections fail or the server is busy.

        Raises ServingError for a refusal.
        """
        headers = _BINARY if "content" in options else {}
        for pause in _pauses(until):
            try:
                return _checked(self._http.request(method, address, headers=headers, **options))
            except (httpx.TransportError, ServingError) as error:
                _wait(error, pause, until)
        raise _late(f"{method} {address}", self._timeout)


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
        else:
            raise ParamError("keys", type(keys).__name__, "EvaluationKeys, or their file")
        self.fingerprint = self._part(self.size_bytes - _CHECKSUM_BYTES, self.size_bytes).hex()

    def pieces(self, offset: int) -> Iterator[bytes]:
        """The bytes from an offset on, 1 MiB at a time."""
        for begin in range(offset, self.size_bytes, _PIECE_BYTES):
            yield self._part(begin, min(begin + _PIECE_BYTES, self.size_bytes))


def _trusted(ca: str | PathLike[str] | None) -> ssl.SSLContext | bool:
    if ca is None:
        return True
    try:
        return ssl.create_default_context(cafile=fspath(ca))
    except (OSError, ssl.SSLError) as error:
        raise ParamError("ca", fspath(ca), f"a file of certificates (PEM): {error}") from error


def _safe(name: str) -> str:
    if not name or any(sign in name for sign in "/?#%") or not name.isprintable():
        raise ParamError("model", name, "the name of a model, which stands in an address")
    return name


def _is_address(url: str) -> bool:
    try:
        found = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        return False
    return found.scheme in ("http", "https") and bool(found.host)


def _is_described(one: dict[str, Any]) -> bool:
    return all(isinstance(one.get(name), str) for name in ("name", "fingerprint"))


def _told(answer: httpx.Response, kind: type) -> Any:
    """The JSON of an answer, of this type; ServingError for anything else."""
    try:
        found = answer.json()
    except (ValueError, RecursionError):
        raise _stranger(answer) from None
    if not isinstance(found, kind):
        raise _stranger(answer)
    return found


def _stranger(answer: httpx.Response) -> ServingError:
    wanted, got = "a server of cloakwork", f"another answer, status {answer.status_code}"
    return ServingError(0, str(answer.url.copy_with(query=None)), wanted, got, "check the address")


def _checked(answer: httpx.Response) -> httpx.Response:
    """The answer; ServingError if it is a refusal."""
    if answer.is_success:
        return answer
    try:
        told = answer.json()
        error, expected, got, hint = (str(told[name]) for name in _REFUSAL)
    except (ValueError, KeyError, TypeError, RecursionError):
        # A proxy in front of the server, or no server of this package.
        error, expected, hint = "the address", "a server of cloakwork", ""
        got = f"status {answer.status_code}"
    advice = answer.headers.get("Retry-After", "")
    retry = int(advice) if advice.isdecimal() else None
    raise ServingError(answer.status_code, error, expected, got, hint, retry)


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
    elif _is_of_certificates(error):
        raise ServingError(0, "https", "a certificate to trust", str(error), "name it: ca=FILE")
    if monotonic() + pause > until:
        if isinstance(error, ServingError):
            raise error
        raise ServingError(0, "the server", "an answer", str(error), "is it running?") from error
    sleep(pause)


def _is_of_certificates(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _late(what: str, seconds: float) -> ServingError:
    hint = "allow a longer timeout"
    return ServingError(0, what, f"an answer within {seconds:g} s", "none", hint)
