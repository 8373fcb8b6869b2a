"""Bodies of requests: refused by their headers, read in pieces, and never longer than announced."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from cloakwork.errors import ServingError
from cloakwork.serving import refusals

if TYPE_CHECKING:
    from fastapi import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from cloakwork.serving.ledger import Claim
    from cloakwork.serving.limits import ServerLimits

BINARY, JSON = "application/octet-stream", "application/json"
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_NOTHING = re.compile(r"bytes \*/(\d{1,18})")
_LENGTH = re.compile(r"\d{1,18}")
PIECE_BYTES = 1 << 20
_ENDING_BYTES = 32


def framed_once(app: ASGIApp) -> ASGIApp:
    """The application behind a check: a body has a stated length, or chunks, never both.

    A proxy in front may read the one where this server reads the other (RFC 9112, 6.3).
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            names = [name for name, _ in scope["headers"]]
            lengths, codings = names.count(b"content-length"), names.count(b"transfer-encoding")
            if lengths + codings > 1:
                await _doubled(lengths, codings)(scope, receive, send)
                return
        await app(scope, receive, send)

    return checked


def _doubled(lengths: int, codings: int) -> ASGIApp:
    from fastapi.responses import JSONResponse

    wanted = "one Content-Length, or one Transfer-Encoding"
    got = f"{lengths} and {codings} of them"
    hint = "state the length of the body alone"
    found = ServingError(refusals.BAD, "the body's framing", wanted, got, hint)
    return JSONResponse(refusals.as_json(found), found.status, {"Connection": "close"})


def kind_of(request: Request, kinds: Sequence[str] = (BINARY,)) -> str:
    """The type of a body, one of some; ServingError, 415, for another."""
    kind = request.headers.get("content-type", "none").partition(";")[0].strip()
    if kind not in kinds:
        hint = "send the bytes of the file"
        raise ServingError(refusals.KIND, "Content-Type", " or ".join(kinds), kind[:80], hint)
    return kind


def announced(request: Request, most: int) -> int:
    """The length of a body by its headers; ServingError, 411 or 413, before any is read."""
    stated = request.headers.get("content-length", "none")
    if not _LENGTH.fullmatch(stated):
        hint = "state the length; bodies in chunks of unknown number are not read"
        raise ServingError(refusals.LENGTH, "Content-Length", "a number", stated[:20], hint)
    if int(stated) > most:
        hint = "send less, or ask for a larger limit"
        raise ServingError(refusals.LARGE, "body", f"at most {most} bytes", stated, hint)
    return int(stated)


def content_range(request: Request, length: int) -> tuple[int, int]:
    """The first byte and the whole length by Content-Range; without one, the body is whole.

    `bytes */TOTAL`, without a body, asks to finish an upload whose bytes have all arrived.
    """
    stated = request.headers.get("content-range")
    if stated is None:
        return 0, length
    if length == 0 and (nothing := _NOTHING.fullmatch(stated)):
        return int(nothing[1]), int(nothing[1])
    found = _RANGE.fullmatch(stated)
    first, last, total = map(int, found.groups()) if found else (1, 0, 0)
    if not first <= last < total or last - first + 1 != length:
        hint = "first and last count from 0; the last is the length minus 1 for the rest"
        wanted = f"bytes FIRST-LAST/TOTAL of {length} bytes, or bytes */TOTAL of none"
        raise ServingError(refusals.RANGE, "Content-Range", wanted, stated[:80], hint)
    return first, total


class Body:
    """The body of a request as it arrives, by its announced length and the limits of time."""

    def __init__(self, request: Request, length: int, limits: ServerLimits) -> None:
        self._request, self._length, self._limits = request, length, limits

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body in pieces of about 1 MiB; ServingError, 408, for a client that is too slow.

        The last piece before a lost connection is given, too; then ClientDisconnect is raised.
        """
        # Not a list: each of many small parts would take more than its bytes.
        held = bytearray()
        stream = self._received()
        while True:
            try:
                held += await anext(stream)
            except (StopAsyncIteration, ClientDisconnect, ServingError) as ending:
                yield bytes(held)
                if isinstance(ending, StopAsyncIteration):
                    return
                raise
            if len(held) >= PIECE_BYTES:
                yield bytes(held)
                held = bytearray()

    async def whole(self, claim: Claim) -> bytes:
        """The whole body, of which each part is claimed before it is kept."""
        held = bytearray()
        async for piece in self._received():
            claim.resize(len(held) + len(piece))
            held += piece
        # What has arrived, and its copy.
        claim.resize(2 * len(held))
        return bytes(held)

    async def ending(self) -> tuple[int, bytes]:
        """The length and the last 32 bytes of a body, of which nothing else is kept."""
        size, last = 0, b""
        async for piece in self._received():
            size += len(piece)
            last = (last + piece[-_ENDING_BYTES:])[-_ENDING_BYTES:]
        return size, last

    async def _received(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        stream = aiter(self._request.stream())
        pace = Pace(self._limits)
        while True:
            begun = monotonic()
            try:
                async with asyncio.timeout(pace.left_seconds):
                    piece = await anext(stream)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise pace.refusal() from None
            pace.add(len(piece), monotonic() - begun)
            if pace.arrived_bytes > self._length:
                wanted = f"{self._length} bytes, by Content-Length"
                raise ServingError(refusals.BAD, "body", wanted, "more", "send it again")
            yield piece


class Pace:
    """How long a client may take for a body: no long pause, and no low rate.

    Only the time counts in which the server waits for the client.
    """

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self.arrived_bytes, self.waited_seconds = 0, 0.0

    def add(self, size_bytes: int, waited_seconds: float) -> None:
        """Count a piece, and the time in which the server waited for it."""
        self.arrived_bytes += size_bytes
        self.waited_seconds += waited_seconds

    @property
    def left_seconds(self) -> float:
        """The longest wait for the next piece; 0 for a body that is too slow."""
        limits = self._limits
        allowed = limits.read_seconds + self.arrived_bytes / limits.rate_bytes
        return max(min(limits.read_seconds, allowed - self.waited_seconds), 0.0)

    def refusal(self) -> ServingError:
        """The refusal of a body that is too slow."""
        limits = self._limits
        wanted = f"a piece every {limits.read_seconds:g} s, and {limits.rate_bytes} bytes a second"
        got = f"{self.arrived_bytes} bytes so far"
        hint = "send it again; uploads continue where they ended"
        return ServingError(refusals.LATE, "body", wanted, got, hint)
