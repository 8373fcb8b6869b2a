"""Keys and proofs of any proof system: the file tells which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import TYPE_CHECKING, Unpack

from cloakwork import _core
from cloakwork.errors import CloakworkError, ParamError
from cloakwork.files import Readable, source_of
from cloakwork.files import Source as Held
from cloakwork.lazy import public
from cloakwork.programs.options import Budget, RunOptions
from cloakwork.recognition import expecting
from cloakwork.sending import Here
from cloakwork.wording import kind_of
from cloakwork.zk.circom import files
from cloakwork.zk.circom.files import with_witness
from cloakwork.zk.circom.statements import Proof, Public

if TYPE_CHECKING:
    from cloakwork.programs.program import Program
    from cloakwork.zk import groth16, plonk
    from cloakwork.zk.circom.files import Circuit, Witness
    from cloakwork.zk.circom.inputs import Inputs
    from cloakwork.zk.circom.witnesses import WitnessGenerator

    AnyKey = files.ProvingKey | plonk.ProvingKey
    AnyProof = Proof | plonk.Proof
    AnyProver = groth16.Prover | plonk.Prover

_Path = str | PathLike[str]


def protocol_of(path: Readable | Held) -> str:
    """The system of a proving key: "groth16" or "plonk"."""
    source = path if isinstance(path, Held) else source_of(path)
    with expecting("a proving key, .zkey", *source.sources or [None], "zkey"):
        return _core.zkey_protocol(source.name, source.contents)


def read_zkey(path: Readable, *, check: bool = True) -> AnyKey:
    """Read a proving key of Groth16 or PLONK: `zk.ProvingKey` or `zk.plonk.ProvingKey`.

    check   hold it to all that its method `check` can see, with `groups`; a key that is used
            without is a key that you made yourself.  The points of the header are always checked

    path    of a file; or its contents as bytes, or a file that is open in binary

    Raises LoadError for a damaged or tampered key.  fflonk keys are refused.
    """
    source = source_of(path)
    if protocol_of(source) == "groth16":
        return files.read_zkey(source, check=check)
    from cloakwork.zk.plonk.keys import read_zkey as read_plonk

    return read_plonk(source, check=check)


def prover_of(zkey: _Path | AnyKey, *, frugal: bool = False, keeps: bool = False) -> AnyProver:
    """The prover of a key's own system; with `keeps` for several proofs."""
    key: object = zkey
    if isinstance(key, str | PathLike):
        key = read_zkey(key, check=False)
    if isinstance(key, files.ProvingKey):
        from cloakwork.zk.groth16.proving import Prover as Groth16Prover

        return Groth16Prover(key, frugal=frugal)
    from cloakwork.zk.plonk.keys import ProvingKey as PlonkKey
    from cloakwork.zk.plonk.proving import Prover as PlonkProver

    if not isinstance(key, PlonkKey):
        wanted = "the path of a .zkey file, or a key that zk.read_zkey gave"
        raise ParamError("zkey", kind_of(key), wanted)

    return PlonkProver(key, frugal=frugal, keeps=keeps)


def prove(
    prover: AnyProver,
    witness: _Path | Witness,
    *,
    r1cs: _Path | Circuit | None = None,
    check: bool = True,
    **options: Unpack[RunOptions],
) -> tuple[AnyProof, Public]:
    """A proof by a prover of any system; arguments and errors are those of `zk.groth16.prove`."""
    return prover.prove(witness, r1cs=r1cs, check=check, **options)


@public("cloakwork.zk")
class Prover(Here):
    """A proving key of any system, loaded once, with the program of its proofs.

    zkey     a file, or a key that `zk.read_zkey` gave
    frugal   slower in less memory

    Any thread may call it.  `own` is the `zk.groth16.Prover` or `zk.plonk.Prover` behind it.
    """

    _stays = "send the path of the key's file, and make one where proofs are made"

    def __init__(self, zkey: _Path | AnyKey, *, frugal: bool = False) -> None:
        self.own = prover_of(zkey, frugal=frugal, keeps=True)

    @property
    def key(self) -> AnyKey:
        """The key."""
        return self.own.key

    def prove(
        self,
        witness: _Path | Witness | Inputs,
        *,
        wasm: _Path | WitnessGenerator | None = None,
        r1cs: _Path | Circuit | None = None,
        check: bool = True,
        **options: Unpack[RunOptions],
    ) -> tuple[AnyProof, Public]:
        """A proof that the witness satisfies the key's circuit, and its public signals.

        Arguments and errors are those of `zk.groth16.Prover.prove`; the key is checked once.
        """

        def proved(given: _Path | Witness) -> tuple[AnyProof, Public]:
            return prove(self.own, given, r1cs=r1cs, check=check, **options)

        return with_witness(proved, witness, wasm)

    def prove_many(
        self,
        witnesses: Iterable[_Path | Witness | Inputs],
        *,
        wasm: _Path | WitnessGenerator | None = None,
        r1cs: _Path | Circuit | None = None,
        check: bool = True,
        **options: Unpack[RunOptions],
    ) -> Iterator[tuple[AnyProof, Public]]:
        """Proofs of several witnesses, one by one in their order; a program is compiled once.

        Arguments and errors are those of `prove`; an error has a note of which witness it is of,
        and ends the iteration.
        """
        if isinstance(wasm, str | PathLike):
            from cloakwork.zk.circom.witnesses import WitnessGenerator

            wasm = WitnessGenerator(wasm)
        for number, witness in enumerate(witnesses):
            try:
                yield self.prove(witness, wasm=wasm, r1cs=r1cs, check=check, **options)
            except CloakworkError as error:
                error.add_note(f"witness {number}, counted from 0")
                raise

    def program(self, *, threads: int | None = None, memory_budget: Budget = None) -> Program:
        """The prover as a program, traced once; frugal if the other one exceeds the budget."""
        return self.own.program(threads=threads, memory_budget=memory_budget)

    def __repr__(self) -> str:
        return f"zk.{self.own!r}"
