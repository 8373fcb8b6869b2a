"""The connections of a server: their number, their memory, and the seconds that they may wait.

A connection beyond a limit takes the place of the one that waits longest for a request; where all
are in a request, it is answered with 503 and closed.  None of that asks for a token.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from cloakwork.errors import ServingError
from cloakwork.serving import refusals
from cloakwork.serving.ledger import Claim, Ledger

if TYPE_CHECKING:
    from cloakwork.serving.limits import ServerLimits

log = logging.getLogger("cloakwork.serving")

# What a connection holds at most beside a body that is read: the head of a request, a piece of a
# body as it is received and as it is passed on, a piece of an answer; with TLS its buffers.
PLAIN_BYTES, TLS_BYTES = 384 << 10, 1 << 20
# Connections take at most this part of the pool.
_PART = 4
# Connections that wait to be accepted, which happens for all of them before one is counted.
BACKLOG = 1024
_LEAST_BACKLOG = 16
# Descriptors of a server's own files.
_OWN_FILES = 64


class Held(Protocol):
    """A connection, as the door sees it."""

    def unwritten(self) -> tuple[int, int]:
        """The bytes of an answer that the client has not taken; and how often it took some."""

    def drop(self) -> None:
        """Close it at once."""


@dataclass(eq=False)
class Place:
    """A place of an open connection.

    since     when its present phase began
    phase     "head": the head of a request is awaited; "request": it is read, computed and
              answered; "rest": the rest of a refused body is passed over; "idle": no byte of a next
              request has arrived
    taken     what was unwritten, and since when none of it was taken
    """

    client: str
    held: Held
    claim: Claim
    since: float
    phase: str = "head"
    taken: tuple[tuple[int, int], float] = ((0, 0), 0.0)


class Door:
    """All open connections, at most `most` of them."""

    def __init__(self, limits: ServerLimits, ledger: Ledger) -> None:
        self._limits, self._ledger = limits, ledger
        self.open: dict[Held, Place] = {}
        self._clients: Counter[str] = Counter()
        room = _descriptors(limits.connections + BACKLOG + _OWN_FILES) - _OWN_FILES
        self.backlog = max(min(BACKLOG, room // 3), _LEAST_BACKLOG)
        self._room = min(limits.connections, room - self.backlog)
        self._hold(PLAIN_BYTES)
        # Set when the server ends: nobody waits for a result any more.
        self.closing = asyncio.Event()

    def _hold(self, size: int) -> None:
        """Set how many connections of a size there are, in all and of a client.

        Where memory or descriptors allow fewer than the limits say, no client has more than half
        of them, unless its limit is that of all, as behind a proxy.
        """
        limits = self._limits
        self.most = max(min(self._room, self._ledger.pool_bytes // _PART // size), 1)
        self.most_of_client = limits.client_connections
        if self.most < limits.connections > limits.client_connections:
            self.most_of_client = min(self.most_of_client, max(self.most // 2, 1))

    def enter(self, client: str, held: Held, *, tls: bool = False) -> ServingError | None:
        """Give a connection a place, or return the refusal."""
        size = TLS_BYTES if tls else PLAIN_BYTES
        self._hold(size)
        limit = self.most_of_client
        if self._clients[client] >= limit and not self._evict(client):
            return refusals.busy("connections", f"at most {limit} of a client", "more", 1)
        if len(self.open) >= self.most and not self._evict(None):
            return refusals.busy("connections", f"at most {self.most}", "more", 1)
        claim = Claim(self._ledger, None)
        try:
            claim.resize(size)
        except ServingError as full:
            if not self._evict(None):
                return full
            claim.settle(size)
        self.open[held] = Place(client, held, claim, monotonic())
        self._clients[client] += 1
        return None

    def leave(self, held: Held) -> None:
        """Give back a place, once."""
        place = self.open.pop(held, None)
        if place is None:
            return
        place.claim.release()
        self._clients[place.client] -= 1
        if not self._clients[place.client]:
            del self._clients[place.client]

    def phase(self, held: Held, phase: str) -> None:
        """Note what a connection does now, if it has a place; the time of the phase begins."""
        if (place := self.open.get(held)) is not None:
            place.phase, place.since = phase, monotonic()

    def _evict(self, client: str | None) -> bool:
        """Close the connection that waits longest for a request, of a client or of all.

        Of all, one of the client with the most connections goes.
        """
        waiting = [one for one in self.open.values() if one.phase != "request"]
        if client is not None:
            waiting = [one for one in waiting if one.client == client]
        if not waiting:
            return False
        most = max(self._clients[one.client] for one in waiting)
        of_most = (one for one in waiting if self._clients[one.client] == most)
        self._close(min(of_most, key=lambda one: one.since))
        return True

    def _close(self, place: Place) -> None:
        self.leave(place.held)
        place.held.drop()

    def tick(self, now: float) -> None:
        """Close the connections that waited too long."""
        for place in list(self.open.values()):
            try:
                if self._is_late(place, now):
                    self._close(place)
            except Exception:
                log.error("a connection cannot be watched, and is closed", exc_info=True)
                with suppress(Exception):
                    self._close(place)

    def _is_late(self, place: Place, now: float) -> bool:
        limits, found = self._limits, place.held.unwritten()
        if not found[0] or found != place.taken[0]:
            place.taken = found, now
        if now - place.taken[1] > limits.read_seconds:
            return True
        allowed = {"request": limits.request_seconds, "idle": limits.idle_seconds}
        late = now - place.since > allowed.get(place.phase, limits.head_seconds)
        # The last answer is still being read, at its own pace.
        return late and (place.phase == "request" or not found[0])


def _descriptors(wanted: int) -> int:
    """The descriptors of the process, at most as many as wanted; its limit is raised if it may be.

    A process without descriptors accepts no connection at all.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, most = (wanted if one == resource.RLIM_INFINITY else one for one in (soft, hard))
    if soft < min(wanted, most):
        soft = min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(wanted, soft)
