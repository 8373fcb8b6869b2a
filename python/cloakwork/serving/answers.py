"""Answers of a server to its client: read within a limit, checked, and put into words."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any

import httpx

from cloakwork import strict
from cloakwork.errors import LoadError, ServingError
from cloakwork.wording import shown

# The longest answer that is no result: the descriptions of a server's models.
DESCRIPTION_BYTES = 1 << 26
# The longest state of a run, and the longest refusal.
STATE_BYTES = 1 << 16
# A server's sentence, of which no more is shown.
_MOST_SHOWN = 1000
_REFUSAL = ("error", "expected", "got", "hint")
_SUCCESS, _ACCEPTED = range(200, 300), 202
# RFC 9110, 10.2.3: seconds, or a date.  More digits than those of a month are no advice.
_SECONDS = re.compile(r"[0-9]{1,7}")
_DIGITS = re.compile(r"[0-9]+")


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
            found = strict.parsed(self.content, self.place)
        except LoadError:
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
        error, expected, hint = self.place, "a server of cloakwork", "check the address"
        got = f"status {self.status}"
        try:
            told = strict.parsed(self.content, self.place)
        except LoadError:
            told = None
        # Others are of a proxy in front of the server, or of no server of this package.
        if isinstance(told, dict) and all(isinstance(told.get(one), str) for one in _REFUSAL):
            error, expected, got, hint = (in_words(told[one]) for one in _REFUSAL)
        raise ServingError(self.status, error, expected, got, hint, self._advised_seconds())

    def _advised_seconds(self) -> int | None:
        """When to ask again, by the server; None without advice, and for what is none."""
        advice = self.headers.get("Retry-After", "").strip()
        if _SECONDS.fullmatch(advice):
            return int(advice)
        then, now = _date(advice), _date(self.headers.get("Date", "")) or datetime.now(UTC)
        return None if then is None else max(0, round((then - now).total_seconds()))


def in_words(text: str) -> str:
    """A server's text for messages: one short line, safe for a terminal."""
    line = shown(text[:_MOST_SHOWN])
    return line if len(text) <= _MOST_SHOWN else f"{line}..."


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def received(answer: httpx.Response, most_bytes: int, until: float) -> Answer:
    """Read an answer; ServingError where it is longer, or takes longer, than it may.

    Nothing is unpacked: what is sent is what is counted.  A refusal and the state of a run have
    64 KiB at most.
    """
    place = address(answer.url)
    if answer.status_code not in _SUCCESS or answer.status_code == _ACCEPTED:
        most_bytes = min(most_bytes, STATE_BYTES)
    encoding = answer.headers.get("Content-Encoding", "")
    if any(one.strip().lower() not in ("", "identity") for one in encoding.split(",")):
        got, hint = f"one in {in_words(encoding)}", "ask the server itself, or mend its proxy"
        raise ServingError(0, place, "an answer that is not compressed, as asked", got, hint)
    stated = answer.headers.get("Content-Length", "")
    if _DIGITS.fullmatch(stated) and (len(stated) > 20 or int(stated) > most_bytes):
        raise _long(place, most_bytes, f"{stated[:20]} bytes")
    held = bytearray()
    for piece in answer.iter_bytes():
        if len(held) + len(piece) > most_bytes:
            raise _long(place, most_bytes, "more")
        if monotonic() > until:
            hint = "allow a longer timeout"
            raise ServingError(0, place, "the whole answer in time", "a part of it", hint)
        held += piece
    return Answer(answer.status_code, place, answer.headers, bytes(held))


def address(url: httpx.URL) -> str:
    """An address for errors, without a password and options."""
    return in_words(str(url.copy_with(userinfo=b"", query=None)))


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
            return ServingError(0, "https", "a certificate to trust", in_words(str(error)), hint)
        error = error.__cause__ or error.__context__
    return None
