"""Bodies of requests: refused by their headers, read in pieces, and never longer than announced."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from cloakwork.errors import ServingError
from cloakwork.serving import refusals

if TYPE_CHECKING:
    from fastapi import Request

BINARY = "application/octet-stream"
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_NOTHING = re.compile(r"bytes \*/(\d{1,18})")
_LENGTH = re.compile(r"\d{1,18}")
_PIECE_BYTES = 1 << 20


def announced(request: Request, most: int) -> int:
    """The length of a body by its headers; ServingError, 411, 413 or 415, before any is read."""
    kind = request.headers.get("content-type", "none").partition(";")[0].strip()
    if kind != BINARY:
        hint = "send the bytes of the file"
        raise ServingError(refusals.KIND, "Content-Type", BINARY, kind[:80], hint)
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


async def pieces(request: Request, pause_seconds: float) -> AsyncIterator[bytes]:
    """The body in pieces of about 1 MiB; ServingError, 408, for a client that pauses too long.

    The last piece before a lost connection is given, too; then ClientDisconnect is raised.
    """
    held: list[bytes] = []
    size = 0
    stream = _received(request, pause_seconds)
    while True:
        try:
            held.append(await anext(stream))
        except (StopAsyncIteration, ClientDisconnect, ServingError) as ending:
            yield b"".join(held)
            if isinstance(ending, StopAsyncIteration):
                return
            raise
        size += len(held[-1])
        if size >= _PIECE_BYTES:
            yield b"".join(held)
            held, size = [], 0


async def whole(request: Request, pause_seconds: float) -> bytes:
    """The whole body."""
    return b"".join([piece async for piece in _received(request, pause_seconds)])


async def _received(request: Request, pause_seconds: float) -> AsyncIterator[bytes]:
    """The body as it arrives."""
    stream = aiter(request.stream())
    while True:
        try:
            async with asyncio.timeout(pause_seconds):
                piece = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            wanted, got = f"a piece every {pause_seconds:g} s", "none"
            hint = "send it again; uploads continue where they ended"
            raise ServingError(refusals.LATE, "body", wanted, got, hint) from None
        yield piece
