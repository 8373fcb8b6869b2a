"""A server of proofs: it accepts jobs, keeps them on the disk, and proves by priority."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, cast

from starlette.requests import ClientDisconnect

from cloakwork.errors import ParamError, SaveError, ServingError
from cloakwork.serving import bodies, refusals
from cloakwork.serving.door import TLS_BYTES
from cloakwork.serving.ledger import Claim, client_at
from cloakwork.serving.limits import ProverLimits
from cloakwork.serving.proving.journal import Entry, Journal, remove_unfinished
from cloakwork.serving.proving.keys import ProvingKeys, ServedProver
from cloakwork.serving.runs import RUN_BYTES, Run
from cloakwork.serving.service import Service, memory_of

if TYPE_CHECKING:
    from fastapi import Request

    from cloakwork.serving.partial import Partial

log = logging.getLogger("cloakwork.serving")

# The bytes of requests and results, unless the limits say them.
_LEAST_HELD, _MOST_HELD, _PART = 1 << 24, 1 << 28, 16
# A piece of a body as it arrives, and as it is written.
_PIECES_BYTES = 2 * bodies.PIECE_BYTES
_MOST_PRIORITY = 1000
_TEND_SECONDS = 0.1
# After which a job that found no room is tried again.
_AGAIN_SECONDS = 5.0


@dataclass(eq=False, kw_only=True)
class Job(Run):
    """A request for a proof, whose inputs and end are on the disk."""

    entry: Entry
    journal: Journal = field(repr=False)

    media_type: ClassVar[str] = bodies.JSON

    def end(self, state: str, result: bytes = b"", failure: ServingError | None = None) -> None:
        """Set its end, once; it is kept, unless the same request may succeed later."""
        if self.is_over:
            return
        passes = failure is not None and failure.status in (refusals.BUSY, refusals.INTERNAL)
        try:
            if state in ("done", "failed") and not passes:
                self.entry.end(result, failure)
        except (OSError, SaveError) as error:
            log.error("the end of job %s... cannot be kept: %s", self.id[:8], error)
            what = "room for the result", "an error of the disk"
            state, result, failure = "failed", b"", refusals.busy("storage", *what, 30)
        super().end(state, result, failure)

    @property
    def waits_again(self) -> bool:
        """Whether it is over for now, as the server had no room for it."""
        failure = self.failure
        return self.state == "failed" and failure is not None and failure.status == refusals.BUSY

    @property
    def may_be_forgotten(self) -> bool:
        """Whether its inputs do not wait on the disk for another try."""
        return not self.waits_again

    def forget(self) -> None:
        """Give back what it holds, also on the disk."""
        super().forget()
        self.journal.forget(self.entry)

    def describe(self) -> dict[str, Any]:
        """Its state, as JSON's types."""
        done, total = self.steps
        told: dict[str, Any] = {"id": self.id, "prover": self.model.name, "state": self.state}
        told |= {"priority": self.priority, "steps": {"done": done, "total": total}}
        return told | {"seconds": list(self.seconds)}


class ProverService(Service):
    """The state of a server of proofs."""

    def __init__(self, provers: Sequence[ServedProver], limits: ProverLimits, folder: Path) -> None:
        """Find the jobs of an earlier server of the folder.

        Raises ParamError for provers of one name, for limits under which a proof does not fit, and
        as `OwnFolder` for the folder.
        """
        found = [one.name for one in provers]
        if not found or len(set(found)) < len(found):
            raise ParamError("provers", found, "one or more, each with a name of its own")
        memory = memory_of(limits)
        held = limits.held_bytes
        if held is None:
            held = max(min(memory // _PART, _MOST_HELD), _LEAST_HELD)
        share = held // 2 if limits.client_bytes is None else min(limits.client_bytes, held)
        least = _PIECES_BYTES + TLS_BYTES + RUN_BYTES
        if share < least or held >= memory:
            name = "held_bytes" if limits.client_bytes is None else "client_bytes"
            allowed = f"{least} for a client that sends inputs, of less than {memory} in all"
            raise ParamError(name, share, allowed)
        super().__init__(limits, held, share)
        self.provers = {one.name: one for one in provers}
        self.keys = ProvingKeys(provers, memory - held, limits.parallel, limits.threads)
        self.journal = Journal(folder)
        # Digests of inputs are compared in this process alone: a file with them would tell inputs.
        self._digest_key = token_bytes(32)
        self._digests: dict[str, bytes] = {}
        self._computes(self.keys, "/v1/provers/PROVER/jobs/ID")

    limits: ProverLimits

    async def start(self) -> None:
        """Start the engine, with the jobs of an earlier server in their order."""
        await super().start()
        self._tending = asyncio.create_task(self._tend())
        known = (one for one in self.journal.entries.values() if self._is_known(one))
        waiting = []
        for entry in sorted(known, key=lambda one: one.facts.order):
            claim = Claim(self.ledger, None)
            claim.settle(RUN_BYTES)
            job = self._job(entry, claim)
            self.runs.restore(job)
            if entry.failure is not None:
                job.end("failed", failure=entry.failure)
            elif entry.result is not None:
                job.end("done", entry.result)
            else:
                waiting.append(job)
        await self.engine.submit(*waiting)

    def _is_known(self, entry: Entry) -> bool:
        facts, prover = entry.facts, self.provers.get(entry.facts.prover)
        # What is over was of its prover then.
        if prover is not None and (entry.is_over or facts.kind in prover.kinds):
            return True
        what = "which is not here" if prover is None else f"which takes no {facts.kind} now"
        log.warning("job %s... waits for the prover %r, %s", entry.id[:8], facts.prover[:80], what)
        return False

    async def _tend(self) -> None:
        """Overwrite the inputs of jobs that are over, and try again what found no room."""
        while True:
            try:
                await asyncio.to_thread(self.journal.wipe)
            except OSError as error:
                log.error("inputs cannot be overwritten: %s", error.strerror)
            await self._try_again()
            await asyncio.sleep(_TEND_SECONDS)

    async def _try_again(self) -> None:
        """Queue the jobs that found no room some seconds ago."""
        before = monotonic() - _AGAIN_SECONDS
        for job in self.runs.over:
            # While its inputs are sent again, that request decides.
            is_sent = self.journal.is_receiving(job.id)
            if isinstance(job, Job) and job.waits_again and job.begun < before and not is_sent:
                again = self._job(job.entry, job.claim)
                self.runs.restore(again)
                await self.engine.submit(again)

    async def stop(self) -> None:
        """End the engine; jobs without a result are found again by the next server."""
        self._tending.cancel()
        await asyncio.gather(self._tending, return_exceptions=True)
        await self.engine.stop()
        await asyncio.to_thread(self.journal.wipe)
        self.journal.close()

    def status(self) -> dict[str, Any]:
        """The load of the server."""
        return super().status() | {
            "input_bytes_on_disk": self.journal.size_bytes,
            "provers_in_memory": self.keys.loaded,
        }

    def prover(self, name: str) -> ServedProver:
        """A prover by its name; ServingError, 404, for an unknown one."""
        found = self.provers.get(name)
        if found is None:
            wanted = " or ".join(self.provers)
            raise ServingError(refusals.MISSING, "prover", wanted, name[:80], "GET /v1/provers")
        return found

    async def begin(self, request: Request, prover: str, name: str) -> Run:
        """The job of a request: a new one, or that of an earlier request with this id."""
        wanted, held = self.prover(prover), self.runs.find(name)
        kind, priority = bodies.kind_of(request, wanted.kinds), _priority(request)
        self.wait_of(request)
        most = wanted.most_bytes(kind, self.limits.request_bytes)
        length = bodies.announced(request, most)
        body = bodies.Body(request, length, self.limits)
        client = client_at(request.client.host if request.client else None)
        if held is not None and not held.may_begin_again:
            with self.ledger.claim(client, min(length, _PIECES_BYTES)):
                return await self._same(cast("Job", held), (wanted.name, kind, length), body)
        self.runs.check_room(self.engine.waiting_seconds)
        if self.journal.size_bytes + length > self.limits.jobs_bytes:
            most = self.limits.jobs_bytes
            expected = f"at most {most} bytes of inputs that wait"
            seconds = self.engine.waiting_seconds
            raise refusals.busy("storage", expected, "more", seconds)
        # No request with this id passes before the job is known.
        with self.journal.receiving(name, length) as received, ExitStack() as undone:
            claim = undone.enter_context(self.ledger.claim(client, min(length, _PIECES_BYTES)))
            entry = await self._receive(received, name, (wanted.name, kind, priority), body, length)
            undone.callback(self.journal.forget, entry)
            claim.resize(RUN_BYTES)
            job = self._job(entry, claim)
            self.runs.add(job, self.engine.waiting_seconds)
            undone.pop_all()
            await self.engine.submit(job)
        return job

    def _job(self, entry: Entry, claim: Claim) -> Job:
        facts = entry.facts
        return Job(
            id=entry.id, model=self.provers[facts.prover], keys=facts.prover,
            identity=(facts.prover, facts.kind, facts.size_bytes), inputs={"entry": entry},
            claim=claim, priority=facts.priority, entry=entry, journal=self.journal,
        )  # fmt: skip

    async def _receive(
        self,
        received: Partial,
        name: str,
        facts: tuple[str, str, int],
        body: bodies.Body,
        length: int,
    ) -> Entry:
        """Write inputs to the disk as they arrive, and accept the job."""
        digest = blake2b(key=self._digest_key, digest_size=32)
        try:
            async for piece in body.pieces():
                digest.update(piece)
                await asyncio.to_thread(received.append, piece)
            if received.offset != length:
                raise ClientDisconnect
            # One of this id that was cancelled, or that the server had no room for.
            if (before := self.journal.entries.get(name)) is not None:
                self.journal.forget(before)
            entry = self.journal.entry(name, facts, length)
            try:
                await _whole(asyncio.to_thread(entry.accept, received))
            except BaseException:
                entry.discard()
                raise
            self.journal.entries[name] = entry
        finally:
            await _whole(asyncio.to_thread(remove_unfinished, received.path))
        self._digests[name] = digest.digest()
        return entry

    async def _same(self, held: Job, identity: tuple[object, ...], body: bodies.Body) -> Run:
        """The held job; ServingError, 409, unless a repeated request has its inputs."""
        self.runs.same(held, identity)
        known = self._digests.get(held.id)
        if known is None:
            if held.is_over:
                wanted = f"GET /v1/jobs/{held.id}/result"
                got = "its inputs again, which a server that was started since does not have"
                raise ServingError(refusals.CONFLICT, "job id", wanted, got, "ask for its result")
            known = await asyncio.to_thread(held.entry.digest, self._digest_key)
            if held.is_over:
                # Its inputs may have been overwritten while they were read.
                raise refusals.busy("job id", "a job that waits or is over", "one that ends", 1)
            self._digests[held.id] = known
        digest = blake2b(key=self._digest_key, digest_size=32)
        async for piece in body.pieces():
            digest.update(piece)
        # Other inputs of the same length are another request.
        return self.runs.same(held, identity if digest.digest() == known else ())

    async def cancel(self, name: str) -> Run:
        """Cancel a job, and remove its inputs."""
        found = cast("Job", self.runs.get(name))
        found.cancel()
        if not found.entry.is_over:
            self.journal.forget(found.entry)
            await asyncio.to_thread(self.journal.wipe)
        return found

    def expire(self) -> None:
        """Forget what is over for too long."""
        super().expire()
        for name in self._digests.keys() - self.journal.entries.keys():
            del self._digests[name]


async def _whole(work: Coroutine[Any, Any, None]) -> None:
    """Wait for work on a thread, also where the server ends meanwhile: it is not left half done."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise


def _priority(request: Request) -> int:
    """The priority of a request: `priority=`, 0 by default."""
    stated = request.query_params.get("priority", "0")
    digits = stated.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= len(str(_MOST_PRIORITY)):
        found = int(stated)
        if abs(found) <= _MOST_PRIORITY:
            return found
    wanted = f"an integer from {-_MOST_PRIORITY} to {_MOST_PRIORITY}"
    raise ServingError(refusals.BAD, "priority", wanted, stated[:40], "higher ones begin first")
