"""Files of circom and snarkjs: circuits, witnesses and proving keys, as tensors over the files.

Sections of large files are mapped, not read; the headers are checked.  LoadError names the section
and the wrong byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TypeVar, cast

from cloakwork import _core, files
from cloakwork._core import Tensor
from cloakwork.errors import LoadError, ParamError, ProofError, SendError
from cloakwork.fields.parameters import ORDERS
from cloakwork.files import name_of
from cloakwork.lazy import public
from cloakwork.once import once
from cloakwork.recognition import expecting
from cloakwork.sending import PLACE, Secret, Sendable
from cloakwork.wording import kind_of
from cloakwork.zk.circom.statements import VerifyingKey

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from cloakwork.zk.circom.inputs import Inputs
    from cloakwork.zk.circom.witnesses import WitnessGenerator

_Path = str | PathLike[str]
_Proved = TypeVar("_Proved")
_Readable = files.Readable | files.Source


@public("cloakwork.zk")
@dataclass(frozen=True, repr=False)
class Matrix:
    """A sparse matrix by rows: entries `starts[i]` to before `starts[i + 1]` are row i's.

    starts    i64 [rows + 1]
    columns   i64 [entries]
    values    as in the file: u64 [entries, 4], canonical, or scalars [entries]
    """

    starts: Tensor
    columns: Tensor
    values: Tensor

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.starts.shape[0] - 1

    @property
    def entries(self) -> int:
        """Number of stored entries."""
        return self.columns.shape[0]

    def __repr__(self) -> str:
        return f"Matrix(rows={self.rows}, entries={self.entries})"


class _InFile(Sendable):
    """An object over a file, which is sent as the file is."""

    __slots__ = ()
    _sealed = False

    file: Tensor | None

    def _of_file(self, file: Tensor) -> Self:
        """The object itself, with the file that it was read from; others are made of parts."""
        object.__setattr__(self, "file", file)
        return self

    def _packed(self) -> Buffer:
        """The bytes of the file."""
        if self.file is None:
            raise SendError(f"{type(self).__name__}: made of parts: only those from files are sent")
        return self.file

    def save(self, path: _Path | BinaryIO) -> None:
        """Write the bytes of the file; they appear whole or not at all."""
        files.put(path, self._packed())


@public("cloakwork.zk")
@dataclass(frozen=True, repr=False)
class Circuit(_InFile):
    """An `.r1cs` file: constraints (A w) * (B w) = C w over the scalars of a curve.

    Wire 0 is the constant 1; then come outputs, public inputs, private inputs, and the rest.
    Private inputs that no constraint uses have no wire, but count in `private_inputs`.
    """

    curve: str
    wires: int
    outputs: int
    public_inputs: int
    private_inputs: int
    a: Matrix
    b: Matrix
    c: Matrix
    file: Tensor | None = field(default=None, init=False, compare=False)
    """The bytes of the file that it was read from, u8 [size]; None where it is made of parts."""

    @property
    def public(self) -> int:
        """Outputs and public inputs."""
        return self.outputs + self.public_inputs

    @property
    def constraints(self) -> int:
        """Number of constraints."""
        return self.a.rows

    @property
    def domain(self) -> int:
        """The size of Groth16's evaluation domain: one row per constraint and per public wire."""
        return 1 << (self.constraints + self.public).bit_length()

    def _packed(self) -> Buffer:
        """The bytes of its file, or of the one that `write_r1cs` writes."""
        return _core.r1cs_of(*_parts(self)) if self.file is None else self.file

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Circuit:
        """Undo `to_bytes`; LoadError for other bytes."""
        return read_r1cs(files.given_bytes(data))

    @classmethod
    def _unpacked(cls, data: Buffer, *facts: Any) -> Circuit:
        """The circuit of a pickle."""
        return read_r1cs(files.Source(PLACE, files.contents_of(data, PLACE)))

    def __repr__(self) -> str:
        return (
            f"Circuit({self.curve}, constraints={self.constraints}, wires={self.wires}, "
            f"outputs={self.outputs}, public_inputs={self.public_inputs}, "
            f"private_inputs={self.private_inputs})"
        )


@public("cloakwork.zk")
@dataclass(frozen=True, repr=False)
class Witness(Secret):
    """A `.wtns` file: the values of all wires; `words` is u64 [wires, 4], canonical."""

    curve: str
    words: Tensor

    _stays = (
        "it holds a secret: send the path of its .wtns file, or the circuit's inputs by a channel "
        "of your own, and read it where the proof is made"
    )

    @property
    def wires(self) -> int:
        """Number of wires."""
        return self.words.shape[0]

    def save(self, path: _Path) -> None:
        """Write a `.wtns` file, byte for byte as snarkjs does; it appears whole or not at all."""
        _core.wiped(lambda: _core.write_witness(name_of(path), self.curve, self.words))

    def __repr__(self) -> str:
        # The values are secret: a proof hides them.
        return f"Witness({self.curve}, wires={self.wires})"


@public("cloakwork.zk")
@dataclass(frozen=True, repr=False)
class ProvingKey(_InFile):
    """A Groth16 `.zkey` file, whose points are tensors of points.

    a, b1, b2   one per wire
    c           one per private wire
    h           one per point of the domain
    ic          one for the constant and one per public wire

    left and right are A and B with values v R, R = 2^256, so that a product with canonical words
    is a product in Montgomery form; they have a row a point of the domain.
    """

    curve: str
    wires: int
    public: int
    domain: int
    verifying_key: VerifyingKey
    points: Mapping[str, Tensor]
    left: Matrix
    right: Matrix
    file: Tensor | None = field(default=None, init=False, compare=False)
    """The bytes of the file that it was read from, u8 [size]; None where it is made of parts."""

    @once
    def size_log2(self) -> int:
        """Binary logarithm of the domain's size."""
        return self.domain.bit_length() - 1

    @once
    def _passed(self) -> set[bool]:
        """The checks that the key has passed: with `groups`, or without."""
        return set()

    def check(self, *, groups: bool = False) -> None:
        """Raise ProofError unless proofs under this key hide the witness; once for a key.

        All points are on their curve; alpha, beta, gamma and delta are not at infinity; beta and
        delta in G1 and G2 are the same; A and B are at infinity where the wire is in no row, and
        nowhere else; B in G1 and in G2 is the same, by sums with random factors.

        groups   hold each point of BLS12-381 to its group of prime order too, which takes long;
                 over BN254 the sums tell that.  `prove` does without: it gives out no proof whose
                 points are outside
        """
        from cloakwork.zk.groth16.checking import check_key

        if not self._passed & {True, groups}:
            _core.unrecorded(lambda: check_key(self, groups=groups))
            self._passed.add(groups)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, *, check: bool = True) -> ProvingKey:
        """Undo `to_bytes`; errors and `check` as of `zk.read_zkey`."""
        return read_zkey(files.given_bytes(data), check=check)

    @classmethod
    def _unpacked(cls, data: Buffer, *facts: Any) -> ProvingKey:
        """The key of a pickle: checked like any key before its first proof."""
        return read_zkey(files.Source(PLACE, files.contents_of(data, PLACE)), check=False)

    def __repr__(self) -> str:
        return (
            f"ProvingKey({self.curve}, wires={self.wires}, public={self.public}, "
            f"domain=2^{self.size_log2})"
        )


def read_r1cs(path: _Readable) -> Circuit:
    """Read a circuit that circom compiled, or that `write_r1cs` wrote.

    path   of a file; or its contents as bytes, or a file that is open in binary
    """
    source = path if isinstance(path, files.Source) else files.source_of(path)
    with expecting("a circuit, .r1cs", *source.sources or [None], "r1cs"):
        found = _core.read_r1cs(source.name, source.contents)
    a, b, c = (Matrix(*parts) for parts in found["matrices"])
    return Circuit(
        found["curve"], found["wires"], found["outputs"], found["public_inputs"],
        found["private_inputs"], a, b, c,
    )._of_file(found["file"])  # fmt: skip


def read_wtns(path: _Path) -> Witness:
    """Read a witness; every value is checked to be below the prime."""
    with expecting("a witness, .wtns", name_of(path), "wtns"):
        return Witness(*_core.read_wtns(name_of(path)))


_POINTS = (
    "alpha1", "beta1", "beta2", "gamma2", "delta1", "delta2", "ic", "a", "b1", "b2", "c", "h",
)  # fmt: skip


def read_zkey(path: _Readable, *, check: bool = True) -> ProvingKey:
    """Read a Groth16 proving key.

    path    of a file; or its contents as bytes, or a file that is open in binary
    check   hold it to all that `ProvingKey.check` can see, with `groups`; a key that is used
            without is a key that you made yourself.  The points of the header and of IC are always
            checked

    Raises LoadError for a damaged or tampered key, and for one of another system: `zk.read_zkey`
    takes those of PLONK, too.
    """
    source = path if isinstance(path, files.Source) else files.source_of(path)
    with expecting("a proving key, .zkey", *source.sources or [None], "zkey"):
        found = _core.read_zkey(source.name, source.contents)
    left, right = (Matrix(*parts) for parts in found["matrices"])
    key = ProvingKey(
        found["curve"], found["wires"], found["public"], found["domain"],
        VerifyingKey(*found["verifying_key"]),
        MappingProxyType({name: found[name] for name in _POINTS}), left, right,
    )._of_file(found["file"])  # fmt: skip
    if check:
        try:
            key.check(groups=True)
        except ProofError as error:
            raise LoadError(f"{source.name}: {error}") from None
    return key


def wrong_key(given: object, system: str) -> ParamError:
    """The error for what is no proving key of a system, Groth16 or PLONK."""
    from cloakwork.zk.plonk.keys import ProvingKey as PlonkKey

    if not isinstance(given, ProvingKey | PlonkKey):
        return ParamError("key", kind_of(given), f"a key of {system}, as zk.read_zkey gives")
    own, other = "Groth16", "groth16"
    if isinstance(given, PlonkKey):
        own, other = "PLONK", "plonk"
    takes = f"zk.Prover or zk.{other}.Prover takes that of {own}"
    return ParamError("key", f"a key of {own}", f"a key of {system}; {takes}")


def write_r1cs(circuit: Circuit, path: _Path) -> None:
    """Write a circuit; the file appears whole or not at all."""
    _core.write_r1cs(name_of(path), *_parts(circuit))


def _parts(circuit: Circuit) -> tuple[str, tuple[int, int, int, int], list[list[Tensor]]]:
    counts = (circuit.wires, circuit.outputs, circuit.public_inputs, circuit.private_inputs)
    parts = [[m.starts, m.columns, m.values] for m in (circuit.a, circuit.b, circuit.c)]
    return circuit.curve, counts, parts


def write_wtns(curve: str, values: Sequence[int], path: _Path) -> None:
    """Write a witness of integers, taken modulo the prime; the first is 1."""
    if curve not in ORDERS:
        raise ParamError("curve", repr(curve), " or ".join(ORDERS))
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise ParamError("values", f"a {type(values).__name__}", "integers in a sequence")
    prime = ORDERS[curve]
    whole = (_integer(f"values[{place}]", value) for place, value in enumerate(values))
    data = b"".join((value % prime).to_bytes(32, "little") for value in whole)
    _core.write_wtns(name_of(path), curve, data)


def _integer(place: str, value: object) -> int:
    """A value as Python's integer; an error does not show it, as it may be a secret."""
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ParamError(place, f"a {type(value).__name__}", "an integer") from None


def with_witness(
    proved: Callable[[_Path | Witness], _Proved],
    witness: _Path | Witness | Inputs,
    wasm: _Path | WitnessGenerator | None,
) -> _Proved:
    """A proof of a witness, or of the one that circom's WebAssembly computes from inputs.

    The computed one is overwritten after the proof.
    """
    if wasm is None:
        return proved(cast("_Path | Witness", witness))
    from cloakwork.zk.circom.witnesses import generated

    made = generated(wasm, cast("Inputs", witness))
    try:
        return proved(made)
    finally:
        made.words.zeroize()
