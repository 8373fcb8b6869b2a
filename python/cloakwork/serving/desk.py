"""What requests do: receive keys, begin runs, wait for results."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from cloakwork.errors import LoadError, ParamError, ServingError
from cloakwork.fhe.security import admit
from cloakwork.serving import bodies, names, refusals
from cloakwork.serving.engine import Engine
from cloakwork.serving.keystore import KeyStore, Upload
from cloakwork.serving.limits import Limits
from cloakwork.serving.resident import ResidentKeys
from cloakwork.serving.runs import Run, Runs
from cloakwork.serving.servable import Servable, check_keys

if TYPE_CHECKING:
    from cloakwork.fhe.keys.evaluation import EvaluationKeys


# Beyond the cores; the interpreter's pool of threads has two more, which read bodies.
_MORE_RUNS = 2


class Desk:
    """The state of a server."""

    def __init__(self, models: Sequence[Servable], limits: Limits, folder: Path) -> None:
        """Raises ParamError for models that cannot be served under these limits."""
        _check_models(models, limits)
        self.limits = limits
        self.models = {model.name: model for model in models}
        self.described = {model.name: model.describe() for model in models}
        left = _memory_for_keys(models, limits)
        self.resident = ResidentKeys(left, limits.insecure, self._forget)
        accepted = {model.parameters.fingerprint for model in models}
        self.store = KeyStore(folder, limits, accepted, self.resident.drop)
        self.engine, self.runs = Engine(limits, self.store, self.resident), Runs(limits)

    def _forget(self, keys: EvaluationKeys) -> None:
        for model in self.models.values():
            model.forget(keys)

    def model(self, name: str) -> Servable:
        """A model by its name; ServingError, 404, for an unknown one."""
        found = self.models.get(name)
        if found is None:
            wanted = " or ".join(self.models)
            raise ServingError(refusals.MISSING, "model", wanted, name[:80], "GET /v1/models")
        return found

    def status(self) -> dict[str, Any]:
        """The load of the server."""
        return {
            "open_runs": len(self.runs.open),
            "queue": self.limits.queue,
            "waiting_seconds": self.engine.waiting_seconds,
            "key_bytes_in_memory": self.resident.used_bytes,
            "key_bytes_on_disk": self.store.used_bytes,
        }

    def expire(self) -> None:
        """Remove everything that nobody used for too long."""
        self.runs.expire()
        self.store.expire()

    async def receive_keys(self, request: Request, fingerprint: str) -> dict[str, object]:
        """Receive a part of a key set, check a complete one, and return its state."""
        length = bodies.announced(request, self.limits.key_set_bytes)
        first, total = bodies.content_range(request, length)
        self.store.check_name(fingerprint)
        if self.store.has(fingerprint):
            return self.store.state(fingerprint)
        upload = self.store.begin(fingerprint, first, total)
        try:
            await self._receive(request, upload)
            if upload.file.offset >= total:
                await self._accept(upload)
        except ClientDisconnect:
            # The stored part is where the client continues.
            return {"state": "partial", "offset": upload.file.offset, "bytes": total}
        except OSError:
            self.store.discard(upload)
            raise
        finally:
            self.store.end(upload)
        return self.store.state(fingerprint)

    async def _receive(self, request: Request, upload: Upload) -> None:
        async for piece in bodies.pieces(request, self.limits.read_seconds):
            if upload.file.offset + len(piece) > upload.size_bytes:
                hint = "send it again from its beginning"
                wanted = f"{upload.size_bytes} bytes"
                raise ServingError(refusals.BAD, "upload", wanted, "more", hint)
            if held := self.store.received(upload, piece):
                await asyncio.to_thread(upload.file.append, held)
        if not upload.file.offset:
            wanted, hint = "at least the file's head in one request", "send a longer first part"
            raise ServingError(refusals.BAD, "upload", wanted, "a part of it", hint)

    async def _accept(self, upload: Upload) -> None:
        """Load a set that was received whole; one that is wrong is removed."""
        try:
            async with self.resident.using(upload.fingerprint, upload.file.path):
                self.store.completed(upload)
        except LoadError:
            self.store.discard(upload)
            raise

    async def begin(self, request: Request, model: str, name: str) -> Run:
        """The run of a request: a new one, or that of an earlier request with this id."""
        wanted, held = self.model(model), self.runs.find(name)
        length = bodies.announced(request, self.limits.request_bytes)
        keys = self._named_keys(request, wanted)
        if held is not None and not held.may_begin_again:
            body = await bodies.whole(request, self.limits.read_seconds)
            return self.runs.same(held, _identity(model, keys, body))
        waiting = self.engine.waiting_seconds
        with self.store.pinned(keys), self.runs.reserved(length, waiting):
            body = await bodies.whole(request, self.limits.read_seconds)
            insecure = self.limits.insecure
            inputs = await asyncio.to_thread(wanted.read, body, insecure=insecure)
            if keys is not None:
                async with self.resident.using(keys, self.store.path(keys)) as loaded:
                    check_keys(wanted, loaded, inputs)
            run = Run(name, wanted, keys, _identity(model, keys, body), inputs, len(body))
            found = self.runs.add(run)
            if found is run:
                await self.engine.submit(run)
            return found

    def _named_keys(self, request: Request, model: Servable) -> str | None:
        """The fingerprint of the keys of a request, which must be uploaded."""
        named = request.query_params.get("keys")
        if named is None and not model.needs:
            return None
        return self.store.get(named or "").fingerprint

    async def outcome(self, request: Request, run: Run) -> Response:
        """The result, the failure, or after the wait 202 with the run's state."""
        with run.watched_by_one():
            here = await _ended(request, run, self._wait(request))
        if not here:
            return Response(status_code=refusals.GONE)
        if run.failure is not None:
            raise run.failure
        if not run.is_over:
            return JSONResponse(run.describe(), 202)
        queue, spent = run.seconds
        headers = {"Cloakwork-Queue-Seconds": f"{queue:.6f}", "Cloakwork-Batch": str(run.batch)}
        headers["Cloakwork-Run-Seconds"] = f"{spent:.6f}"
        return Response(run.result, media_type=bodies.BINARY, headers=headers)

    def _wait(self, request: Request) -> float:
        """The seconds that a request waits: `wait=` up to the limit."""
        stated = request.query_params.get("wait")
        try:
            wait = self.limits.wait_seconds if stated is None else float(stated)
        except ValueError:
            wait = -1.0
        if not isfinite(wait) or wait < 0:
            wanted = f"seconds from 0 to {self.limits.wait_seconds:g}"
            raise ServingError(refusals.BAD, "wait", wanted, str(stated)[:40], "")
        return min(wait, self.limits.wait_seconds)


def _identity(model: str, keys: str | None, body: bytes) -> tuple[str, str | None, int, bytes]:
    """Equal for equal requests: a body ends with its checksum, which its reader compares."""
    return model, keys, len(body), body[-32:]


async def _ended(request: Request, run: Run, wait: float) -> bool:
    """Wait for the run's end, at most some seconds; False where the client left meanwhile."""
    if run.is_over:
        return True
    finished = asyncio.ensure_future(run.finished.wait())
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({finished, gone}, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        return finished.done() or not gone.done()
    finally:
        finished.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    """Return when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _check_models(models: Sequence[Servable], limits: Limits) -> None:
    found = [names.check(model.name) for model in models]
    if not models or len(set(found)) < len(found):
        raise ParamError("models", found, "one or more, each with a name of its own")
    for model in models:
        try:
            admit(model.parameters, f"model {model.name}", insecure=limits.insecure)
        except LoadError as error:
            allowed = "128 bits of security; insecure=True, --insecure, serves it, for tests"
            raise ParamError("parameters", f"those of {model.name}", allowed) from error


def _memory_for_keys(models: Sequence[Servable], limits: Limits) -> int:
    """The memory that is left for keys; ParamError if the runs' planned peaks leave none."""
    total = limits.memory_bytes
    if total is None:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 4 // 5
    most = (os.cpu_count() or 1) + _MORE_RUNS
    if limits.parallel > most:
        raise ParamError("parallel", limits.parallel, f"at most {most} runs on this machine")
    peak = max(model.peak_bytes(limits.threads) for model in models) * limits.parallel
    if peak >= total:
        allowed = f"more than {peak}, the planned peak of {limits.parallel} runs, and room for keys"
        raise ParamError("memory_bytes", total, allowed)
    return total - peak
