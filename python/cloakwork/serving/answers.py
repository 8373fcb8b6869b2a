"""Answers of a server to its client: read within a limit, checked, and put into words."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

import httpx

from cloakwork.errors import ServingError

# The longest answer that is no result: the descriptions of a server's models.
DESCRIPTION_BYTES = 1 << 26
_REFUSAL = ("error", "expected", "got", "hint")
_SUCCESS = range(200, 300)


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    place: str
    headers: Mapping[str, str]
    content: bytes

    def told(self, kind: type) -> Any:
        """Its JSON, of this type; ServingError for anything else."""
        try:
            found = json.loads(self.content)
        except (ValueError, RecursionError):
            raise self.strange() from None
        if not isinstance(found, kind):
            raise self.strange()
        return found

    def strange(self) -> ServingError:
        """The ServingError for an answer that no server of this package gives."""
        wanted, got = "a server of cloakwork", f"another answer, status {self.status}"
        return ServingError(0, self.place, wanted, got, "check the address")

    def checked(self) -> Answer:
        """Itself; ServingError if it is a refusal."""
        if self.status in _SUCCESS:
            return self
        try:
            told = json.loads(self.content)
            error, expected, got, hint = (str(told[name]) for name in _REFUSAL)
        except (ValueError, KeyError, TypeError, RecursionError):
            # A proxy in front of the server, or no server of this package.
            error, expected, hint = self.place, "a server of cloakwork", "check the address"
            got = f"status {self.status}"
        advice = self.headers.get("Retry-After", "")
        retry = int(advice) if advice.isdecimal() else None
        raise ServingError(self.status, error, expected, got, hint, retry)


def received(answer: httpx.Response, most_bytes: int, until: float) -> Answer:
    """Read an answer; ServingError where it is longer, or takes longer, than it may."""
    place = shown(answer.url)
    stated = answer.headers.get("Content-Length", "")
    if stated.isdecimal() and int(stated) > most_bytes:
        raise _long(place, most_bytes, f"{stated[:20]} bytes")
    held = bytearray()
    try:
        for piece in answer.iter_bytes():
            if len(held) + len(piece) > most_bytes:
                raise _long(place, most_bytes, "more")
            if monotonic() > until:
                hint = "allow a longer timeout"
                raise ServingError(0, place, "the whole answer in time", "a part of it", hint)
            held += piece
    except httpx.DecodingError:
        raise Answer(answer.status_code, place, answer.headers, b"").strange() from None
    return Answer(answer.status_code, place, answer.headers, bytes(held))


def shown(url: httpx.URL) -> str:
    """An address for errors, without a password and options."""
    return str(url.copy_with(userinfo=b"", query=None))


def _long(place: str, most_bytes: int, got: str) -> ServingError:
    hint = "it was not read: check the address, and which model the server runs"
    return ServingError(0, place, f"an answer of at most {most_bytes} bytes", got, hint)


def of_tls(error: BaseException | None) -> ServingError | None:
    """The ServingError for a connection that TLS refused; None for other errors."""
    while error is not None:
        if "WRONG_VERSION_NUMBER" in str(error):
            return ServingError(0, "https", "a server with TLS", "one without it", "use http://")
        if isinstance(error, ssl.SSLError) or "CERTIFICATE_VERIFY_FAILED" in str(error):
            hint = "name it: ca=FILE, --ca FILE"
            return ServingError(0, "https", "a certificate to trust", str(error), hint)
        error = error.__cause__ or error.__context__
    return None
