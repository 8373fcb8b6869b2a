"""uvicorn's protocol of HTTP/1.1, behind the door.

uvicorn limits neither the time until a request's head has arrived, nor the connections of a client,
nor those in the handshake of TLS.  This adds them, and passes all requests to uvicorn's own code.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from cloakwork.errors import ServingError
from cloakwork.serving import refusals
from cloakwork.serving.door import Door
from cloakwork.serving.ledger import client_at

if TYPE_CHECKING:
    from fastapi import FastAPI

    from cloakwork.serving.limits import ServerLimits

_HEAD_BYTES = 1 << 14
_READ_BYTES = 1 << 16
# How long requests may finish after Ctrl-C.
_GRACE_SECONDS = 10


def uvicorn_config(
    app: FastAPI, *, tls: ssl.SSLContext | None = None, **options: Any
) -> uvicorn.Config:
    """The settings with which uvicorn serves an application of `create_app`, in one process.

    tls       the certificate, for https; instead of uvicorn's `ssl_*`
    options   other settings of `uvicorn.Config`, such as `host` and `port`

    Under other settings, or another server, the limits of connections, and of the time until a
    request has arrived, do not hold; those of bodies, keys and runs do.
    """
    door, limits = app.state.door, app.state.limits
    # One buffer, which each connection empties before another one reads.
    buffer = memoryview(bytearray(_READ_BYTES))

    class Bound(Connection):
        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            self.bind(door, limits, buffer, tls)

    settings: dict[str, Any] = {
        "log_level": "warning",
        "timeout_graceful_shutdown": _GRACE_SECONDS,
        "lifespan": "on",
        "ws": "none",
        "backlog": door.backlog,
        "h11_max_incomplete_event_size": _HEAD_BYTES,
    }
    return uvicorn.Config(app, http=Bound, **(settings | options))


class Connection(H11Protocol, asyncio.BufferedProtocol):
    """A connection with a place at the door; without one, it is refused and closed."""

    def bind(
        self, door: Door, limits: ServerLimits, buffer: memoryview, tls: ssl.SSLContext | None
    ) -> None:
        """Set what all connections of a server share."""
        self._door, self._limits, self._buffer, self._tls = door, limits, buffer, tls
        # The door closes connections that wait.
        self.timeout_keep_alive = int(limits.idle_seconds + limits.head_seconds) + 1
        self._is_made, self._passes_over, self._taken = False, False, 0
        self._early: bytes | None = None
        self._handshake: asyncio.Task[None] | None = None
        self._raw: asyncio.Transport | None = None
        self._is_of_uvicorns_tls = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place; with TLS, begin the handshake, which the place's time is for."""
        self._raw = transport
        peer = transport.get_extra_info("peername")
        client = client_at(str(peer[0]) if isinstance(peer, tuple) and peer else None)
        self._is_of_uvicorns_tls = transport.get_extra_info("sslcontext") is not None
        tls = self._tls is not None or self._is_of_uvicorns_tls
        refusal = self._door.enter(client, self, tls=tls)
        if refusal is not None:
            self._raw = None
            if not tls:
                transport.write(_answer(refusal))
            transport.close()
            return
        if self._tls is None:
            self._made(transport)
            return
        self._early = b""
        transport.pause_reading()
        self._handshake = self.loop.create_task(self._secured(transport, self._tls))

    async def _secured(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        try:
            secure = await self.loop.start_tls(
                transport, self, tls, server_side=True,
                ssl_handshake_timeout=self._limits.head_seconds,
            )  # fmt: skip
        except (OSError, asyncio.CancelledError):
            self._door.leave(self)
            transport.abort()
            return
        if secure is None or self not in self._door.open:
            transport.abort()
            return
        early, self._early = self._early or b"", None
        self._made(secure)
        if early:
            self.data_received(early)

    def _made(self, transport: asyncio.Transport) -> None:
        self._is_made = True
        super().connection_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """The buffer for the next bytes."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take the bytes out of the buffer."""
        self.data_received(bytes(self._buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Pass bytes to uvicorn; those of a connection without a place are dropped."""
        if self not in self._door.open:
            return
        if self._early is not None:
            self._early += data
            return
        if self._door.open[self].phase == "idle":
            self._door.phase(self, "head")
        super().data_received(data)

    def handle_events(self) -> None:
        """Let uvicorn handle what has arrived, and note which phase that leads to."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._door.phase(self, "request")
        elif self._passes_over and self.conn.their_state is not h11.SEND_BODY:
            self._passes_over = False
            self._door.phase(self, "idle")

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are no HTTP, and close; a request that they are a part of ends."""
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            # Its application neither waits on, nor answers, nor closes the connection again.
            cycle.disconnected = True
            cycle.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            wanted, hint = "HTTP/1.1", "send it again; a body has a stated length"
            found = ServingError(refusals.BAD, "the request", wanted, "other bytes", hint)
            self.transport.write(_answer(found))
        self.transport.close()

    def on_response_complete(self) -> None:
        """Wait for the next request; of a body that nobody read, pass over the rest for a while.

        A connection that is closed under a client that sends could lose it the answer.
        """
        self._passes_over = self.conn.their_state is h11.SEND_BODY
        self._door.phase(self, "rest" if self._passes_over else "idle")
        super().on_response_complete()

    def resume_writing(self) -> None:
        """Note that the client took a part of an answer."""
        self._taken += 1
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give back the place."""
        self._door.leave(self)
        if self._handshake is not None and not self._handshake.done():
            self._handshake.cancel()
        if self._is_made:
            super().connection_lost(exc)

    def unwritten(self) -> tuple[int, int]:
        """The bytes of an answer that the client has not taken; and how often it took some."""
        if not self._is_made or self._raw is None:
            return 0, self._taken
        if not self.transport.is_closing():
            return self.transport.get_write_buffer_size(), self._taken
        # asyncio's transport of TLS cannot say it once it was closed twice; the one below it can.
        left = 0 if self._is_of_uvicorns_tls else self._raw.get_write_buffer_size()
        return left, self._taken

    def drop(self) -> None:
        """Close it at once."""
        if self._handshake is not None and not self._handshake.done():
            self._handshake.cancel()
        if self._raw is not None:
            self._raw.abort()

    def shutdown(self) -> None:
        """End it after the request that it is in; called when the server ends.

        Requests that wait for a result are answered at once.
        """
        self._door.closing.set()
        if self._is_made:
            super().shutdown()
        else:
            self.drop()


def _answer(refusal: ServingError) -> bytes:
    body = json.dumps(refusals.as_json(refusal)).encode()
    retry = refusal.retry_seconds
    advice = "" if retry is None else f"Retry-After: {retry}\r\n"
    head = (
        f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n{advice}"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
