"""Runs of a server by the ids that clients chose: their states, their results, their ends."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from cloakwork.errors import ServingError
from cloakwork.serving import refusals
from cloakwork.serving.bodies import BINARY
from cloakwork.serving.limits import ServerLimits

if TYPE_CHECKING:
    from cloakwork.serving.ledger import Claim, Ledger

_NAME = re.compile(r"[0-9a-f]{32}")
# What a run takes beside its inputs and its result, also one that failed.
RUN_BYTES = 4 << 10


class Pinned(Protocol):
    """Keys that are not removed while runs hold them."""

    pins: int


class Runnable(Protocol):
    """A model as the engine sees it."""

    @property
    def name(self) -> str:
        """The name in the server's addresses."""

    def grouped(self, requests: Sequence[Mapping[str, Any]]) -> list[list[int]]:
        """The numbers of requests of the same keys that one run can serve, in their order."""

    def run(
        self,
        requests: Sequence[Mapping[str, Any]],
        keys: Any,
        progress: Callable[[int, int], object],
        threads: int | None,
    ) -> list[bytes | ServingError]:
        """The result of each request, or its refusal."""


@dataclass(eq=False)
class Run:
    """A request to run a model.

    identity   of its model, keys and body: a repeated request must have the same
    inputs     dropped when it has run
    priority   of waiting runs, the one with the highest begins first, then the oldest
    state      "queued", "running", "done", "failed" or "cancelled"
    steps      finished ones, and all of them
    claim      the bytes that it holds: its inputs and room for its result, then the result
    pinned     its key set, which is not removed before its end
    watchers   requests that wait for it now
    seconds    in the queue, and of the run
    batch      how many runs a worker took together with it
    """

    id: str
    model: Runnable
    keys: str | None
    identity: tuple[object, ...]
    inputs: Mapping[str, Any]
    claim: Claim
    pinned: Pinned | None = None
    priority: int = 0
    state: str = "queued"
    steps: tuple[int, int] = (0, 0)
    result: bytes = b""
    failure: ServingError | None = None
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    watchers: int = 0
    watched: float = field(default_factory=monotonic)
    begun: float = field(default_factory=monotonic)
    seconds: tuple[float, float] = (0.0, 0.0)
    batch: int = 1
    is_wanted: bool = True

    media_type: ClassVar[str] = BINARY

    @property
    def is_over(self) -> bool:
        """Whether it has a result or a failure, or was cancelled."""
        return self.finished.is_set()

    def end(self, state: str, result: bytes = b"", failure: ServingError | None = None) -> None:
        """Set its end, once."""
        if not self.is_over:
            self.state, self.result, self.failure = state, result, failure
            self.inputs, self.begun = {}, monotonic()
            self.claim.settle(RUN_BYTES + len(result))
            self.finished.set()

    def cancel(self) -> None:
        """End it: one that is running stops after its current steps."""
        self.is_wanted = False
        got = "a run that was cancelled: by request, or because no client asked for it"
        hint = "send it again"
        self.end("cancelled", failure=ServingError(refusals.CONFLICT, "run", "a result", got, hint))

    @property
    def may_begin_again(self) -> bool:
        """Whether the same request is run anew: it was cancelled, or the server had no room."""
        failure = self.failure
        return failure is not None and (
            self.state == "cancelled" or failure.status == refusals.BUSY
        )

    @contextmanager
    def watched_by_one(self) -> Iterator[None]:
        """Keep it from being abandoned while a request waits for it."""
        self.watchers += 1
        try:
            yield
        finally:
            self.watchers -= 1
            self.watched = monotonic()

    @property
    def may_be_forgotten(self) -> bool:
        """Whether one that is over may be forgotten."""
        return True

    def forget(self) -> None:
        """Give back what it holds."""
        self.claim.release()

    def describe(self) -> dict[str, Any]:
        """Its state, as JSON's types."""
        done, total = self.steps
        told = {"id": self.id, "model": self.model.name, "state": self.state, "batch": self.batch}
        return told | {"steps": {"done": done, "total": total}, "seconds": list(self.seconds)}


class Runs:
    """All runs that are waiting, running, or over and not yet forgotten."""

    def __init__(
        self,
        limits: ServerLimits,
        ledger: Ledger,
        *,
        abandon_seconds: float = inf,
        place: str = "/v1/models/MODEL/runs/ID",
    ) -> None:
        """Hold none.

        abandon_seconds   a run without any client that asks for it for so long is cancelled
        place             where a run begins, for messages
        """
        self._limits, self._abandon_seconds, self._place = limits, abandon_seconds, place
        self._held: dict[str, Run] = {}
        ledger.make_room = self._make_room

    @staticmethod
    def check_name(name: str) -> None:
        """ServingError unless it can be the id of a run."""
        if not _NAME.fullmatch(name):
            hint = "choose it at random, and repeat it with a repeated request: uuid4().hex"
            got = f"{len(name)} characters"
            raise ServingError(refusals.BAD, "run id", "32 hexadecimal digits", got, hint)

    def find(self, name: str) -> Run | None:
        """A run, if it is known."""
        self.check_name(name)
        return self._held.get(name)

    def get(self, name: str) -> Run:
        """A run; ServingError, 404, for an unknown or forgotten one."""
        found = self.find(name)
        if found is None:
            got = "one that is unknown, or forgotten"
            hint = f"send it: PUT {self._place}"
            raise ServingError(refusals.MISSING, "run id", "the id of a run", got, hint)
        found.watched = monotonic()
        return found

    @property
    def open(self) -> list[Run]:
        """The runs that are not over."""
        return [run for run in self._held.values() if not run.is_over]

    @property
    def over(self) -> list[Run]:
        """The runs that are over and not yet forgotten."""
        return [run for run in self._held.values() if run.is_over]

    def check_room(self, seconds: float) -> None:
        """ServingError, 503, if as many runs wait or run as may."""
        most, waiting = self._limits.queue, len(self.open)
        if waiting >= most:
            raise refusals.busy("queue", f"fewer than {most} runs", f"{waiting}", seconds)

    def add(self, run: Run, seconds: float) -> Run:
        """Hold a run, or find it.

        Raises ServingError: 409 for another request of this id, 503 if the queue is full.
        """
        held = self._held.get(run.id)
        if held is not None and not held.may_begin_again:
            return self.same(held, run.identity)
        self.check_room(seconds)
        if held is not None:
            held.forget()
        self._held[run.id] = run
        return run

    @staticmethod
    def same(held: Run, identity: tuple[object, ...]) -> Run:
        """The held run; ServingError, 409, unless it has the same model, keys and body."""
        if held.identity != identity:
            wanted, hint = "the request that this id belongs to", "choose an id for each request"
            raise ServingError(refusals.CONFLICT, "run id", wanted, "another request", hint)
        return held

    def restore(self, run: Run) -> None:
        """Hold a run of an earlier server."""
        self._held[run.id] = run

    def expire(self) -> None:
        """Cancel abandoned runs; forget those that are over for too long or take too much."""
        now, limits = monotonic(), self._limits
        for run in self.open:
            if not run.watchers and now - run.watched > self._abandon_seconds:
                run.cancel()
        over = self._over()
        held = sum(run.claim.size_bytes for run in over)
        for run in over:
            if now - run.begun > limits.result_seconds or held > limits.results_bytes:
                held -= run.claim.size_bytes
                self._forget(run)

    def _make_room(self, client: str | None, missing: int) -> None:
        """Forget the oldest results of a client, or of all, that nobody waits for."""
        for run in self._over():
            if missing <= 0:
                return
            if client in (None, run.claim.client):
                missing -= run.claim.size_bytes
                self._forget(run)

    def _over(self) -> list[Run]:
        """The runs that can be forgotten, the oldest first."""
        over = [run for run in self.over if run.may_be_forgotten and not run.watchers]
        return sorted(over, key=lambda run: run.begun)

    def _forget(self, run: Run) -> None:
        run.forget()
        del self._held[run.id]
