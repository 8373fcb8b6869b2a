"""The connection of a client to a server: requests that are repeated after lost connections."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from math import inf
from os import PathLike, fspath
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self

import httpx

from cloakwork.errors import ParamError, ServingError
from cloakwork.sending import Here
from cloakwork.serving import exposure, tokens
from cloakwork.serving.answers import DESCRIPTION_BYTES, Answer, address, in_words, of_tls, received

_BINARY = {"Content-Type": "application/octet-stream"}
ACCEPTED, MISSING, CONFLICT, BUSY = 202, 404, 409, 503
_MOST_PORT = 65535
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

Progress = Callable[[int, int], object]


class Connection(Here):
    """A server, by its address; certificates of https:// are verified."""

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
        self._has_answered = False
        self._begin()

    def _begin(self) -> None:
        """Prepare what a kind of client has."""

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

    def _finished(
        self,
        begin: Callable[[], Answer],
        answer: Answer,
        run: str,
        until: float,
        most_bytes: int,
        progress: Progress | None,
    ) -> bytes:
        """The result of a run that began, by asking for it until it is there.

        begin   repeats the request that began it
        run     its address, under which `/result` is its result
        """
        while answer.status == ACCEPTED:
            if monotonic() > until:
                self._cancel(run)
                raise late(run, self._timeout)
            done, total = _steps(answer)
            if progress is not None:
                progress(done, total)
            wait, asked = {} if progress is None else {"wait": "0.2"}, monotonic()
            try:
                answer = self._result(f"{run}/result", until, most_bytes, params=wait)
            except ServingError as error:
                # A server that was started again does not know it, or one had no room for it: the
                # same request begins it.
                if error.status not in (MISSING, BUSY):
                    raise
                if monotonic() > until:
                    raise
                answer = begin()
            # A server that does not wait, as it should, is not asked without a pause.
            if answer.status == ACCEPTED:
                sleep(max(0.0, asked + _FIRST_PAUSE - monotonic()))
        return answer.content

    def _result(self, address: str, until: float, most_bytes: int, **options: Any) -> Answer:
        """The answer about a run: asked for again where the connection was lost."""
        try:
            return self._once("GET", address, most_bytes, until, **options)
        except httpx.TransportError:
            return self._repeated("GET", address, until, most_bytes, **options)
        except ServingError as error:
            if error.status != BUSY:
                return self._repeated("GET", address, until, most_bytes, **options)
            sleep(min(float(error.retry_seconds or _FIRST_PAUSE), max(until - monotonic(), 0.0)))
            raise

    def _cancel(self, run: str) -> None:
        try:
            # Its answer is not read.
            with self._http.stream("DELETE", run, timeout=_CONNECT_SECONDS):
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
            options = {"headers": _BINARY} | options
        first = monotonic() + _FIRST_SECONDS
        for pause in pauses(until):
            try:
                return self._once(method, address, most_bytes, until, **options)
            except (httpx.TransportError, ServingError) as error:
                wait(error, pause, until if self._has_answered else min(first, until))
        raise late(f"{method} {address}", self._timeout)

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


def _steps(answer: Answer) -> tuple[int, int]:
    """The finished steps of a run, and all of them; ServingError for what is no state."""
    steps = answer.told(dict).get("steps")
    done, total = (steps.get("done"), steps.get("total")) if isinstance(steps, dict) else (0, "")
    if type(done) is not int or type(total) is not int or not 0 <= done <= total < _MOST_STEPS:
        raise answer.strange()
    return done, total


def pauses(until: float) -> Iterator[float]:
    """The pauses after attempts, the first of which is made in any case."""
    pause = _FIRST_PAUSE
    while True:
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE)
        if monotonic() > until:
            return


def wait(error: httpx.TransportError | ServingError, pause: float, until: float) -> None:
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


def late(what: str, seconds: float) -> ServingError:
    """A ServingError for an answer that did not come in time."""
    hint = "allow a longer timeout"
    return ServingError(0, what, f"an answer within {seconds:g} s", "none", hint)
