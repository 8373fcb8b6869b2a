"""The work of requests: receive keys, begin runs, wait for results."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Request
from starlette.requests import ClientDisconnect

from cloakwork.errors import LoadError, ParamError, ServingError
from cloakwork.fhe.security import admit
from cloakwork.serving import bodies, names, refusals
from cloakwork.serving.door import TLS_BYTES
from cloakwork.serving.keystore import KeyStore, Upload
from cloakwork.serving.ledger import Claim, client_at
from cloakwork.serving.limits import Limits
from cloakwork.serving.resident import ResidentKeys, StoredKeys
from cloakwork.serving.runs import RUN_BYTES, Run
from cloakwork.serving.servable import Servable, check_keys, held_bytes
from cloakwork.serving.service import Service, memory_of

if TYPE_CHECKING:
    from cloakwork.fhe.ciphertext import Ciphertext
    from cloakwork.fhe.keys.evaluation import EvaluationKeys


# The bytes of requests and results, unless the limits say them.
_LEAST_HELD, _MOST_HELD = 1 << 24, 1 << 30
# An upload's next piece, and its parts, from which it is joined.
_UPLOAD_BYTES = 2 * bodies.PIECE_BYTES
# Inputs in memory, at most, by their bytes in a file: words grow to eight bytes, and a half of a
# fresh ciphertext is made from its seed.
_EXPANSION = 4
# What an upload of pieces of 1 MiB claims: its room, and a piece as it is joined, which may end
# with one more part, twice.
_LEAST_UPLOAD = _UPLOAD_BYTES + 2 * (bodies.PIECE_BYTES + (1 << 17))


class Desk(Service):
    """The state of a server of models."""

    def __init__(self, models: Sequence[Servable], limits: Limits, folder: Path) -> None:
        """Raises ParamError for models that cannot be served under these limits."""
        _check_models(models, limits)
        left, held = _memory(models, limits)
        super().__init__(limits, held, _share(models, limits, held))
        self.models = {model.name: model for model in models}
        self.described = {model.name: model.describe() for model in models}
        self.resident = ResidentKeys(left, limits.insecure, self._forget)
        accepted = {model.parameters.fingerprint for model in models}
        self.store = KeyStore(folder, limits, accepted, self.resident.drop)
        keys, place = StoredKeys(self.store, self.resident), "/v1/models/MODEL/runs/ID"
        self._computes(keys, place, limits.batch, limits.abandon_seconds)

    limits: Limits

    async def stop(self) -> None:
        """End all runs, and close the folder of keys."""
        await self.engine.stop()
        self.store.close()

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
        return super().status() | {
            "key_bytes_in_memory": self.resident.used_bytes,
            "key_bytes_on_disk": self.store.used_bytes,
        }

    def expire(self) -> None:
        """Remove everything that nobody used for too long."""
        super().expire()
        self.store.expire()

    async def receive_keys(self, request: Request, fingerprint: str) -> dict[str, object]:
        """Receive a part of a key set, check a complete one, and return its state."""
        bodies.kind_of(request)
        length = bodies.announced(request, self.limits.key_set_bytes)
        first, total = bodies.content_range(request, length)
        self.store.check_name(fingerprint)
        if self.store.has(fingerprint):
            if await asyncio.to_thread(self.store.is_whole, fingerprint):
                return self.store.state(fingerprint)
            self.store.damaged(fingerprint)
        client = client_at(request.client.host if request.client else None)
        with self.ledger.claim(client, min(length, _UPLOAD_BYTES)) as claim:
            body = bodies.Body(request, length, self.limits)
            return await self._upload(fingerprint, (first, total), body, claim)

    async def _upload(
        self, fingerprint: str, part: tuple[int, int], body: bodies.Body, claim: Claim
    ) -> dict[str, object]:
        """Receive a part; `part` is its first byte, and the length of the whole."""
        upload = self.store.begin(fingerprint, *part)
        total = part[1]
        try:
            await self._receive(body, upload, claim)
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

    async def _receive(self, body: bodies.Body, upload: Upload, claim: Claim) -> None:
        room = claim.size_bytes
        async for piece in body.pieces():
            if upload.file.offset + len(piece) > upload.size_bytes:
                hint = "send it again from its beginning"
                wanted = f"{upload.size_bytes} bytes"
                raise ServingError(refusals.BAD, "upload", wanted, "more", hint)
            # The head of a file is kept until it is whole, and twice while it is read.
            claim.resize(room + 2 * (len(upload.beginning) + len(piece)))
            if held := self.store.received(upload, piece):
                claim.resize(room + len(held))
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
        # A body, and its inputs, must fit into the client's share.
        bodies.kind_of(request)
        self.wait_of(request)
        fitting = self.ledger.client_bytes // (1 + _EXPANSION)
        length = bodies.announced(request, min(self.limits.request_bytes, fitting))
        keys, body = self._named_keys(request, wanted), bodies.Body(request, length, self.limits)
        if held is not None and not held.may_begin_again:
            return self.runs.same(held, (wanted.name, keys, *await body.ending()))
        self.runs.check_room(self.engine.waiting_seconds)
        client = client_at(request.client.host if request.client else None)
        self.ledger.check(client, 2 * length)
        with self.store.pinned(keys), ExitStack() as kept:
            claim = kept.enter_context(self.ledger.claim(client))
            identity, inputs = await self._inputs(body, wanted, keys, claim)
            if keys is not None:
                async with self.engine.keys(keys) as loaded:
                    if loaded is not None:
                        check_keys(wanted, loaded, inputs)
            run = Run(name, wanted, keys, identity, inputs, claim)
            found = self.runs.add(run, self.engine.waiting_seconds)
            if found is run:
                kept.pop_all()
                await self.engine.submit(run)
            return found

    async def _inputs(
        self, body: bodies.Body, model: Servable, keys: str | None, claim: Claim
    ) -> tuple[tuple[object, ...], Mapping[str, Ciphertext]]:
        """The identity and the inputs of a request; the claim is for them, and for the result."""
        data = await body.whole(claim)
        claim.resize((1 + _EXPANSION) * len(data))
        inputs = await asyncio.to_thread(model.read, data, insecure=self.limits.insecure)
        size = sum(map(held_bytes, inputs.values())) + model.result_bytes
        claim.resize(RUN_BYTES + size)
        # A body ends with its checksum, which its reader compared.
        return (model.name, keys, len(data), data[-32:]), inputs

    def _named_keys(self, request: Request, model: Servable) -> str | None:
        """The fingerprint of the keys of a request, which must be uploaded."""
        named = request.query_params.get("keys")
        if named is None and not model.needs:
            return None
        return self.store.get(named or "").fingerprint


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


def _memory(models: Sequence[Servable], limits: Limits) -> tuple[int, int]:
    """The memory for keys, and for the bytes of requests and results.

    Raises ParamError if the runs' planned peaks leave none.
    """
    total = memory_of(limits)
    peak = max(model.peak_bytes(limits.threads) for model in models) * limits.parallel
    if peak >= total:
        allowed = f"more than {peak}, the planned peak of {limits.parallel} runs, and room for keys"
        raise ParamError("memory_bytes", total, allowed)
    left = total - peak
    held = limits.held_bytes
    if held is None:
        held = max(min(max(left // 4, _LEAST_HELD), _MOST_HELD), 2 * _least(models)[0])
    if held >= left:
        taken = f"{peak} for runs, {held} for requests"
        allowed = f"more than {peak + held}: {taken}, and room for keys"
        raise ParamError("memory_bytes", total, allowed)
    return left - held, held


def _least(models: Sequence[Servable]) -> tuple[int, str]:
    """The least share with which one client can upload keys and run each model; and for what."""
    least = (0, "")
    for model in models:
        body = model.input_bytes // _EXPANSION
        run = max((1 + _EXPANSION) * body, RUN_BYTES + model.input_bytes + model.result_bytes)
        least = max(least, (run, f"a run of {model.name}, with its inputs and its result"))
        if model.needs:
            least = max(least, (_LEAST_UPLOAD, "a piece of an upload of keys"))
    return least


def _share(models: Sequence[Servable], limits: Limits, held: int) -> int:
    """The bytes of one client; ParamError for those with which a model can never be served."""
    least, what = _least(models)
    if limits.client_bytes is None:
        needed, share = 2 * least, held // 2
        why = f"twice {least}, which one client needs for {what}"
    else:
        needed, share = least + TLS_BYTES, min(limits.client_bytes, held)
        why = f"{least} for {what}, and a connection"
        if limits.client_bytes < least:
            allowed = f"at least {least}, for {what}"
            raise ParamError("client_bytes", limits.client_bytes, allowed)
    needed = max(needed, least + TLS_BYTES)
    if held < needed:
        raise ParamError("held_bytes", held, f"at least {needed}: {why}")
    return share
