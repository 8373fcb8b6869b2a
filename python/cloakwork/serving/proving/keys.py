"""Proving keys as a server has them: read and checked at its start, loaded while they fit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from cloakwork import files
from cloakwork.errors import (
    CloakworkError,
    InternalError,
    LoadError,
    MemoryBudgetError,
    OutOfMemoryError,
    ParamError,
    ServingError,
)
from cloakwork.lazy import public
from cloakwork.sending import Here
from cloakwork.serving import names, refusals
from cloakwork.serving.bodies import BINARY, JSON
from cloakwork.zk.circom.systems import protocol_of, prover_of, read_zkey

if TYPE_CHECKING:
    from cloakwork.serving.proving.journal import Entry
    from cloakwork.zk.circom.systems import AnyProver

log = logging.getLogger("cloakwork.serving")

# A witness beside its values: the headers of its sections.
_HEADERS_BYTES = 1 << 12
_SCALAR_BYTES = 32
_WITNESS = b"wtns"


@public("cloakwork.serving")
class ServedProver(Here):
    """A proving key as a server has it.

    zkey   a key of Groth16 or PLONK; it is checked as `prove` does
    wasm   the circuit as circom's WebAssembly: clients may then send inputs instead of a witness
    name   in the server's addresses; by default the key's file without its ending

    Raises LoadError for files that are damaged, ProofError for a key that fails its check,
    ParamError for a circuit of another curve or of another number of wires.
    """

    _stays = "send the paths of its files, and make one where proofs are made"

    def __init__(
        self,
        zkey: str | PathLike[str],
        *,
        wasm: str | PathLike[str] | None = None,
        name: str | None = None,
    ) -> None:
        self.path = Path(zkey)
        self.name = names.check(self.path.stem if name is None else name, "prover")
        prover = self._read()
        # For the first that asks for it.
        self._first: AnyProver | None = prover
        self.curve = prover.key.curve
        self.system = protocol_of(self.path)
        self.wires = prover._witness_wires
        self.verifying_key = prover.key.verifying_key.to_json()
        self.public_signals = prover.key.public
        self.kept_bytes = prover._kept_bytes
        self._generator = None if wasm is None else _generator(wasm, self)

    def load(self) -> AnyProver:
        """The prover with what it keeps between proofs; LoadError for a file of another key now."""
        prover, self._first = self._first, None
        if prover is None:
            prover = self._read()
            if prover.key.verifying_key.to_json() != self.verifying_key:
                raise LoadError(f"{self.path}: expected the key with which the server began")
        return prover

    def _read(self) -> AnyProver:
        """The prover of the file, whose key passed its check."""
        prover = prover_of(read_zkey(self.path, check=False), keeps=True)
        prover.key.check()
        return prover

    @property
    def kinds(self) -> tuple[str, ...]:
        """The types of bodies that it takes: a witness, and inputs."""
        return (BINARY,) if self._generator is None else (BINARY, JSON)

    def most_bytes(self, kind: str, limit: int) -> int:
        """The longest body of a type; a witness has a known length."""
        whole = _HEADERS_BYTES + _SCALAR_BYTES * self.wires
        return min(limit, whole) if kind == BINARY else limit

    def describe(self) -> dict[str, Any]:
        """Its facts, as JSON's types."""
        return {
            "name": self.name,
            "system": self.system,
            "curve": self.curve,
            "wires": self.wires,
            "public_signals": self.public_signals,
            "takes": list(self.kinds),
        }

    @staticmethod
    def grouped(requests: Sequence[Mapping[str, Any]]) -> list[list[int]]:
        """The numbers of requests that are one proof: one each."""
        return [[number] for number, _ in enumerate(requests)]

    def run(
        self,
        requests: Sequence[Mapping[str, Any]],
        keys: Loaded,
        progress: Callable[[int, int], object],
        threads: int | None,
    ) -> list[bytes | ServingError]:
        """The proof of each job and its public signals, as JSON; or its refusal."""
        return [self._proved(one["entry"], keys, progress, threads) for one in requests]

    def _proved(
        self,
        entry: Entry,
        loaded: Loaded,
        progress: Callable[[int, int], object],
        threads: int | None,
    ) -> bytes | ServingError:
        assert loaded.prover is not None
        is_witness = entry.facts.kind == BINARY
        wasm = None if is_witness else self._generator
        try:
            if is_witness and files.start(entry.body, len(_WITNESS)) != _WITNESS:
                got, hint = "a file that is none", "send what circom or `cloakwork witness` wrote"
                return ServingError(refusals.BAD, "the witness", "a whole .wtns file", got, hint)
            proof, signals = loaded.prover.prove(
                entry.body, wasm=wasm, check=False, progress=progress, threads=threads,
                profile=False, memory_budget=loaded.budget_bytes,
            )  # fmt: skip
        except (InternalError, MemoryBudgetError, OutOfMemoryError):
            raise
        except OSError as error:
            log.error("a proof of %s failed: %s", self.name, error.strerror)
            what = "what a proof needs of the system", "an error of it"
            raise refusals.busy("storage", *what, 5) from None
        except CloakworkError as error:
            return _refused(error, entry)
        return f'{{"proof": {proof.to_json()}, "public": {signals.to_json()}}}\n'.encode()


def _generator(wasm: str | PathLike[str], prover: ServedProver) -> Any:
    """The circuit's program, of the key's circuit as far as both tell."""
    from cloakwork.zk.circom.witnesses import WitnessGenerator

    made = WitnessGenerator(wasm, log=lambda line: None)
    for what, own, wanted in (
        ("curve", made.curve, prover.curve),
        ("number of wires", made.wires, prover.wires),
    ):
        if own != wanted:
            allowed = f"the circuit of {prover.name}, whose {what} is {wanted}"
            raise ParamError("wasm", f"{wasm}, whose {what} is {own}", allowed)
    return made


def _refused(error: CloakworkError, entry: Entry) -> ServingError:
    """The refusal of inputs; their file's name is the server's own."""
    got = str(error).replace(str(entry.body), "the body")
    what = "the witness" if entry.facts.kind == BINARY else "the inputs"
    if isinstance(error, LoadError):
        hint = "send the file as it was written"
        return ServingError(refusals.BAD, what, "a whole file", got, hint)
    wanted, hint = "those of this circuit, which satisfy it", "ask GET /v1/provers which one it is"
    return ServingError(refusals.SENSELESS, what, wanted, got, hint)


@dataclass(eq=False)
class Loaded:
    """A prover of a server, in memory or not.

    budget_bytes   of what it keeps and of a proof's tensors
    pins           jobs that wait or run
    running        proofs
    """

    served: ServedProver
    budget_bytes: int
    prover: AnyProver | None = None
    used: float = 0.0
    pins: int = 0
    running: int = 0


class ProvingKeys:
    """The provers of a server; those that nobody used for the longest are dropped for others."""

    def __init__(
        self, served: Sequence[ServedProver], memory_bytes: int, parallel: int, threads: int | None
    ) -> None:
        """Share memory between what provers keep and proofs.

        Raises ParamError where a proof does not fit: it names the prover, and what it takes.
        """
        kept = [one.kept_bytes for one in served]
        # All of them where that leaves most of the memory to proofs, else as many as do.
        self._limit = max(min(sum(kept), memory_bytes // 2), *kept)
        budget = max((memory_bytes - self._limit) // parallel, 0)
        self._held = {one.name: Loaded(one, budget + one.kept_bytes) for one in served}
        self._changed = asyncio.Condition()
        for loaded in self._held.values():
            prover = _checked(loaded, memory_bytes, threads)
            if self._has_room(loaded):
                loaded.prover = prover

    @property
    def loaded(self) -> list[str]:
        """The names of provers in memory."""
        return [name for name, one in self._held.items() if one.prover is not None]

    @property
    def used_bytes(self) -> int:
        """The bytes that loaded provers keep."""
        return sum(self._held[name].served.kept_bytes for name in self.loaded)

    def get(self, name: str) -> Loaded:
        """A prover of the server."""
        return self._held[name]

    @asynccontextmanager
    async def using(self, name: str) -> AsyncIterator[Loaded]:
        """A prover in memory, for a proof; waits while those of other proofs leave no room."""
        one = self._held[name]
        async with self._changed:
            if one.prover is None:
                await self._changed.wait_for(lambda: one.prover is not None or self._has_room(one))
            if one.prover is None:
                one.prover = await _loaded(one.served)
            one.running += 1
        try:
            yield one
        finally:
            one.running -= 1
            one.used = monotonic()
            async with self._changed:
                self._changed.notify_all()

    def _has_room(self, wanted: Loaded) -> bool:
        """Whether one more fits, after others that no proof uses were dropped for it."""
        others = [one for one in self._held.values() if one.prover is not None and not one.running]
        for one in sorted(others, key=lambda one: one.used):
            if self.used_bytes + wanted.served.kept_bytes <= self._limit:
                break
            one.prover = None
        return self.used_bytes + wanted.served.kept_bytes <= self._limit


async def _loaded(served: ServedProver) -> AnyProver:
    """The prover, read again; ServingError, 503, while its file is not what it was."""
    try:
        return await asyncio.to_thread(served.load)
    except (CloakworkError, OSError) as error:
        log.error("prover %s cannot be loaded again: %s", served.name, error)
        what = "the key with which the server began", "a file that cannot be used"
        raise refusals.busy("prover", *what, 30) from None


def _checked(loaded: Loaded, memory_bytes: int, threads: int | None) -> AnyProver:
    """The prover; ParamError where a proof does not fit its budget."""
    served, budget = loaded.served, loaded.budget_bytes
    prover = served.load()
    try:
        program = prover.program(threads=threads, memory_budget=budget)
        program.memory(threads=threads, memory_budget=budget)
    except MemoryBudgetError as error:
        got = f"{memory_bytes}, of which a proof of {served.name} has {budget}"
        raise ParamError("memory_bytes", got, f"enough for it: {error}") from error
    return prover
