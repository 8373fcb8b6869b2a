"""The workers of a server: they take runs of the same model and keys together.

A run that arrives while a worker is free starts at once.  Runs that arrive while all workers are
busy wait; a worker that becomes free takes the oldest one, and with it those of the same model and
keys: their keys are loaded, bound and prepared once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from time import monotonic
from typing import Any, Protocol

from cloakwork.errors import ServingError
from cloakwork.serving import refusals
from cloakwork.serving.limits import ServerLimits
from cloakwork.serving.runs import Pinned, Run

log = logging.getLogger("cloakwork.serving")


class _Stopped(Exception):
    """Raised by the progress of a run that nobody wants, or that takes too long."""


class KeySource(Protocol):
    """Where an engine has the keys of runs from."""

    def get(self, name: str) -> Pinned:
        """Keys by their name; ServingError for unknown ones."""

    def using(self, name: str) -> AbstractAsyncContextManager[Any]:
        """Keys in memory, for a run."""


class Engine:
    """Runs by priority and arrival, on `limits.parallel` threads of the interpreter.

    The engine releases the interpreter's lock, so that they compute at the same time.

    batch   runs of the same model and keys that a worker takes at once
    """

    def __init__(self, limits: ServerLimits, keys: KeySource, batch: int = 1) -> None:
        self._limits, self._keys, self._batch = limits, keys, batch
        self._pending: deque[Run] = deque()
        self._arrived = asyncio.Condition()
        self._workers: list[asyncio.Task[None]] = []
        self._running: set[Run] = set()
        self._mean_seconds = 0.1

    def start(self) -> None:
        """Start the workers."""
        count = range(self._limits.parallel)
        self._workers = [asyncio.create_task(self._work()) for _ in count]

    async def stop(self) -> None:
        """Cancel all runs, and wait for the workers."""
        for run in [*self._pending, *self._running]:
            run.is_wanted = False
            run.end("failed", failure=refusals.busy("the server", "a server", "one that ends", 5))
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)

    @property
    def was_started(self) -> bool:
        """Whether it was started, even if it was stopped since."""
        return bool(self._workers)

    @property
    def is_running(self) -> bool:
        """Whether it was started, and not stopped."""
        return any(not worker.done() for worker in self._workers)

    @property
    def waiting_seconds(self) -> float:
        """An estimate of the time until a new run starts."""
        return self._mean_seconds * (len(self._pending) + 1) / self._limits.parallel

    async def submit(self, *runs: Run) -> None:
        """Queue runs; their keys stay on the disk until they are over."""
        self.prune()
        for run in runs:
            if run.keys is not None:
                run.pinned = self._keys.get(run.keys)
                run.pinned.pins += 1
        async with self._arrived:
            self._pending.extend(runs)
            self._arrived.notify(len(runs))

    def prune(self) -> None:
        """Drop waiting runs that are over, as cancelled ones are, with the hold on their keys."""
        over = {run for run in self._pending if run.is_over}
        for run in over:
            _unpin(run)
        if over:
            self._pending = deque(run for run in self._pending if run not in over)

    async def _work(self) -> None:
        while True:
            async with self._arrived:
                await self._arrived.wait_for(lambda: self._pending)
                batch = self._taken()
            try:
                await self._together(batch)
            except Exception as error:
                _fail(batch, error)
            finally:
                self._running.difference_update(batch)
                for run in batch:
                    _unpin(run)

    def _taken(self) -> list[Run]:
        """The oldest run of the highest priority, and pending ones of its model and keys."""
        first = max(self._pending, key=lambda run: run.priority)
        others = (run for run in self._pending if run is not first)
        alike = [run for run in others if run.model is first.model and run.keys == first.keys]
        batch = [first, *alike][: self._batch]
        chosen = set(batch)
        self._pending = deque(run for run in self._pending if run not in chosen)
        self._running |= chosen
        for run in batch:
            run.seconds, run.batch = (monotonic() - run.begun, 0.0), len(batch)
        return batch

    async def _together(self, batch: list[Run]) -> None:
        if not any(run.is_wanted for run in batch):
            return
        async with self.keys(batch[0].keys) as keys:
            wanted = [run for run in batch if run.is_wanted]
            for group in batch[0].model.grouped([run.inputs for run in wanted]):
                if left := [wanted[number] for number in group if wanted[number].is_wanted]:
                    await self._at_once(left, keys)

    def keys(self, name: str | None) -> AbstractAsyncContextManager[Any]:
        """Keys in memory; None for a model that needs none."""
        return nullcontext() if name is None else self._keys.using(name)

    async def _at_once(self, group: list[Run], keys: Any) -> None:
        """One run for all requests of a group."""
        begun = monotonic()
        for run in group:
            run.state = "running"
        # A cancelled run drops its inputs, while the thread may still read them.
        inputs = [run.inputs for run in group]
        task = asyncio.ensure_future(asyncio.to_thread(self._computed, group, inputs, keys))
        # A cancelled server waits for the thread, which stops at its next progress.
        try:
            results = await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.gather(task, return_exceptions=True)
            raise
        except _Stopped:
            self._stopped(group)
        except Exception as error:
            _fail(group, error)
        else:
            spent = monotonic() - begun
            self._mean_seconds += (spent / len(group) - self._mean_seconds) / 8
            for run, result in zip(group, results, strict=True):
                run.seconds = (run.seconds[0], spent)
                if isinstance(result, ServingError):
                    run.end("failed", failure=result)
                else:
                    run.end("done", result)

    def _computed(
        self,
        group: list[Run],
        inputs: list[Mapping[str, Any]],
        keys: Any,
    ) -> list[bytes | ServingError]:
        """The results, computed on the worker's thread."""
        until = monotonic() + self._limits.run_seconds

        def progress(done: int, total: int) -> None:
            for run in group:
                run.steps = done, total
            if monotonic() > until or not any(run.is_wanted for run in group):
                raise _Stopped

        return group[0].model.run(inputs, keys, progress, self._limits.threads)

    def _stopped(self, group: list[Run]) -> None:
        """The end of runs that were stopped: they were cancelled, or took too long."""
        most = f"a run of at most {self._limits.run_seconds:g} s"
        hint = "ask for a longer limit, or send less"
        for run in group:
            run.end("failed", failure=ServingError(refusals.SLOW, "run", most, "longer", hint))


def _unpin(run: Run) -> None:
    if run.pinned is not None:
        run.pinned.pins -= 1
        run.pinned = None


def _fail(batch: list[Run], error: Exception) -> None:
    refusal = refusals.of(error)
    if refusal.status == refusals.INTERNAL:
        log.error("run %s failed", batch[0].id, exc_info=error)
    for run in batch:
        run.end("failed", failure=refusal)
