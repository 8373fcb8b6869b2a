"""The common parts of servers of models and of proofs: their state, and the ends of runs."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from cloakwork.errors import ParamError, ServingError
from cloakwork.serving import refusals
from cloakwork.serving.door import Door
from cloakwork.serving.engine import Engine, KeySource
from cloakwork.serving.ledger import Ledger
from cloakwork.serving.limits import ServerLimits
from cloakwork.serving.runs import Run, Runs

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

# Beyond the cores; the interpreter's pool of threads has two more, which read bodies.
_MORE_RUNS = 2
# The piece of a result that is sent at once.
_ANSWER_BYTES = 1 << 16


class Service(ABC):
    """The state of a server: its connections, its bytes, its runs."""

    def __init__(self, limits: ServerLimits, held_bytes: int, share_bytes: int) -> None:
        """Begin without connections.

        held_bytes    of requests and results
        share_bytes   those of one client
        """
        self.limits = limits
        self.ledger = Ledger(held_bytes, share_bytes)
        self.door = Door(limits, self.ledger)

    engine: Engine
    runs: Runs

    def _computes(
        self, keys: KeySource, place: str, batch: int = 1, abandon_seconds: float = inf
    ) -> None:
        """Set the engine and the runs."""
        self.engine = Engine(self.limits, keys, batch)
        self.runs = Runs(self.limits, self.ledger, abandon_seconds=abandon_seconds, place=place)

    async def start(self) -> None:
        """Start the engine; ParamError for a second start."""
        if self.engine.was_started:
            raise ParamError("app", "one that ran before", "a new one: create it again")
        self.engine.start()

    @abstractmethod
    async def stop(self) -> None:
        """End the engine, and give back what is the server's."""

    def status(self) -> dict[str, Any]:
        """The load of the server."""
        return {
            "open_runs": len(self.runs.open),
            "queue": self.limits.queue,
            "waiting_seconds": self.engine.waiting_seconds,
            "connections": len(self.door.open),
            "connections_limit": self.door.most,
            "held_bytes": self.ledger.used_bytes,
            "held_bytes_limit": self.ledger.pool_bytes,
        }

    def is_ready(self) -> bool:
        """Whether a request would find the engine, a place in the queue, and memory."""
        has_place = len(self.runs.open) < self.limits.queue
        return self.engine.is_running and has_place and not self.ledger.is_full

    def expire(self) -> None:
        """Remove everything that nobody used for too long."""
        self.runs.expire()
        self.engine.prune()

    async def outcome(self, request: Request, run: Run) -> Response:
        """The result, the failure, or after the wait 202 with the run's state."""
        with run.watched_by_one():
            here = await self._ended(request, run, self.wait_of(request))
        if not here:
            return Response(status_code=refusals.GONE)
        if self.door.closing.is_set() and not run.is_over:
            raise refusals.busy("the server", "a server", "one that ends", 1)
        if run.failure is not None:
            raise run.failure
        if not run.is_over:
            return JSONResponse(run.describe(), 202)
        queue, spent = run.seconds
        headers = {"Cloakwork-Queue-Seconds": f"{queue:.6f}", "Cloakwork-Batch": str(run.batch)}
        headers["Cloakwork-Run-Seconds"] = f"{spent:.6f}"
        return _Result(run, headers)

    async def _ended(self, request: Request, run: Run, wait: float) -> bool:
        """Wait for the end of the run or of the server, some seconds; False if the client left."""
        if run.is_over:
            return True
        finished = asyncio.ensure_future(run.finished.wait())
        gone = asyncio.ensure_future(_gone(request))
        closing = asyncio.ensure_future(self.door.closing.wait())
        waited = {finished, gone, closing}
        try:
            await asyncio.wait(waited, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            return finished.done() or not gone.done()
        finally:
            for one in waited:
                one.cancel()

    def wait_of(self, request: Request) -> float:
        """The seconds that a request waits: `wait=` up to the limit.

        Raises ServingError, 400, for what is none.
        """
        stated = request.query_params.get("wait")
        try:
            wait = self.limits.wait_seconds if stated is None else float(stated)
        except ValueError:
            wait = -1.0
        if not isfinite(wait) or wait < 0:
            wanted = f"seconds from 0 to {self.limits.wait_seconds:g}"
            raise ServingError(refusals.BAD, "wait", wanted, str(stated)[:40], "")
        return min(wait, self.limits.wait_seconds)


class _Result(Response):
    """A result in pieces, so that no connection holds a copy of the whole."""

    def __init__(self, run: Run, headers: dict[str, str]) -> None:
        length = {"Content-Length": str(len(run.result))}
        super().__init__(media_type=run.media_type, headers=headers | length)
        self._run = run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; the run is not forgotten meanwhile."""
        data = memoryview(self._run.result)
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        with self._run.watched_by_one():
            await send(start)
            while data:
                piece, data = bytes(data[:_ANSWER_BYTES]), data[_ANSWER_BYTES:]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(request: Request) -> None:
    """Return when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def memory_of(limits: ServerLimits) -> int:
    """The memory that a server may use; ParamError for more runs at a time than it has threads."""
    most = (os.cpu_count() or 1) + _MORE_RUNS
    if limits.parallel > most:
        raise ParamError("parallel", limits.parallel, f"at most {most} runs on this machine")
    if limits.memory_bytes is not None:
        return limits.memory_bytes
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 4 // 5
