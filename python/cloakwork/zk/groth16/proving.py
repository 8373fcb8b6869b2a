"""Proving: ordinary Python over tensors, which `cw.trace` records as a program.

The prover evaluates A w and B w on the domain of n points, and C w as their product, which holds
for a witness that satisfies the constraints.  A(x) B(x) - C(x) vanishes on the domain, and its
values on the coset w_2n <w_n> are the scalars of the key's points H, which represent the quotient.
"""

from __future__ import annotations

from functools import reduce
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.errors import LoadError, ParamError, ProofError, WitnessError
from cloakwork.fields.parameters import ORDERS
from cloakwork.lazy import public
from cloakwork.programs.options import RunOptions, check_options
from cloakwork.sending import PLACE, Here, Sendable
from cloakwork.zk.circom.files import (
    Circuit,
    ProvingKey,
    Witness,
    read_r1cs,
    read_wtns,
    read_zkey,
    with_witness,
    wrong_key,
)
from cloakwork.zk.circom.provers import ProgramProver
from cloakwork.zk.circom.statements import Proof, Public
from cloakwork.zk.groth16.algebra import (
    MONTGOMERY_R,
    drawn_scalars,
    from_words,
    in_scalars,
    point_bytes,
    product,
    scalars,
)
from cloakwork.zk.protocol.fields import field

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from cloakwork.zk.circom.inputs import Inputs
    from cloakwork.zk.circom.witnesses import WitnessGenerator

_Path = str | PathLike[str]

# The number of pieces of an MSM where memory is short.
_PIECES = 8


@public("cloakwork.zk.groth16")
class Prover(ProgramProver, Sendable):
    """A proving key with data that depend on it alone, and its program, for several proofs.

    `prove` makes a proof; calling the prover computes the points of one, as steps of its program.

    frugal   slower in less memory: one polynomial at a time, MSMs in pieces
    """

    def __init__(self, key: ProvingKey, *, frugal: bool = False) -> None:
        if not isinstance(key, ProvingKey):
            raise wrong_key(key, "Groth16")
        self.key, self.frugal = key, frugal
        self._left, self._right = key.left, key.right
        # Coefficients carry a factor R: both products do, and the quotient R^2.
        self._unscale = scalars(key.curve, [pow(MONTGOMERY_R, -2, ORDERS[key.curve])])
        root = field(f"{key.curve}.fr").root_number(2 * key.domain)
        self._shift = scalars(key.curve, [root])[0]

    key: ProvingKey
    # r and s.
    _blinding_count = 2
    _sealed = False
    _fact_count = 1

    def _packed(self) -> Buffer:
        """The bytes of the key's file."""
        return self.key._packed()

    def _facts(self) -> tuple[bool]:
        """Whether it is frugal."""
        return (self.frugal,)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, *, frugal: bool = False) -> Prover:
        """A prover of the bytes of a proving key's file; errors as of `zk.read_zkey`.

        The key is checked before the first proof.
        """
        return cls(ProvingKey.from_bytes(data, check=False), frugal=frugal)

    @classmethod
    def _unpacked(cls, data: Buffer, *facts: Any) -> Prover:
        """The prover of a pickle; its program is traced, and its key checked, when it proves."""
        (frugal,) = facts
        if not isinstance(frugal, bool):
            raise LoadError(f"{PLACE}: frugal: expected True or False, got {frugal!r:.60}")
        return cls(ProvingKey._unpacked(data), frugal=frugal)

    def save(self, path: _Path | BinaryIO) -> None:
        """Write the bytes of the key's file; they appear whole or not at all."""
        self.key.save(path)

    def prove(
        self,
        witness: _Path | Witness | Inputs,
        *,
        wasm: _Path | WitnessGenerator | None = None,
        r1cs: _Path | Circuit | None = None,
        blinding: tuple[int, int] | None = None,
        check: bool = True,
        **options: Unpack[RunOptions],
    ) -> tuple[Proof, Public]:
        """`zk.groth16.prove` under this key, whose check and program are of the first proof.

        wasm   the circuit as circom's WebAssembly: `witness` is then a mapping or a JSON file of
               inputs, and the witness that it computes is overwritten after the proof
        """

        def proved(given: _Path | Witness) -> tuple[Proof, Public]:
            return prove(self, given, r1cs=r1cs, blinding=blinding, check=check, **options)

        return with_witness(proved, witness, wasm)

    def _as_frugal(self) -> Prover:
        return Prover(self.key, frugal=True)

    @property
    def _witness_wires(self) -> int:
        return self.key.wires

    def quotient(self, witness: Tensor) -> Tensor:
        """Values of A B - C on the coset, [n]."""
        if self.frugal:
            return self._quotient_in_turn(witness)
        rows = ops.empty((3, self.key.domain), witness.dtype)
        left = product(self._left, witness, out=rows[0])
        right = product(self._right, witness, out=rows[1])
        ops.multiply(left, right, out=rows[2])
        odd = self._on_coset(rows)
        return (odd[0] * odd[1] - odd[2]) * self._unscale

    def _quotient_in_turn(self, witness: Tensor) -> Tensor:
        """The same in less memory: no step uses more than two vectors; B w is computed twice."""
        left, output = product(self._left, witness), product(self._right, witness)
        ops.multiply(output, left, out=output)
        output = self._on_coset(output)
        left = self._on_coset(left)
        right = self._on_coset(product(self._right, witness))
        ops.multiply(right, left, out=right)
        ops.subtract(right, output, out=right)
        return ops.multiply(right, self._unscale, out=right)

    def _on_coset(self, values: Tensor) -> Tensor:
        """Values on the coset of the polynomials with these values on the domain."""
        coefficients = ops.field_ntt(values, inverse=True)
        return ops.field_ntt(coefficients, coset_shift=self._shift)

    def _total(self, scalars: Tensor, name: str) -> Tensor:
        """The MSM of the key's points of that name with scalars: [1]."""
        bases, count = self.key.points[name], scalars.shape[0]
        size = max(1, -(-count // _PIECES)) if self.frugal else max(1, count)
        pieces = [slice(begin, begin + size) for begin in range(0, max(1, count), size)]
        sums = [ops.msm(scalars[piece], bases[piece]) for piece in pieces]
        return reduce(ops.add, sums).reshape(1)

    def __call__(self, words: Tensor, blinding: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """A, B and C of a proof, [1] each.

        words      canonical words of the witness, u64 [wires, 4]
        blinding   scalars r and s
        """
        key, points = self.key, self.key.points
        witness = from_words(key.curve, words)
        r, s = blinding[:1], blinding[1:]
        # First, so that its vectors are freed before the others are computed.
        own = self._total(self.quotient(witness), "h")

        def times(scalar: Tensor, point: Tensor) -> Tensor:
            return ops.curve_mul(scalar, point)

        a = self._total(witness, "a") + points["alpha1"] + times(r, points["delta1"])
        b = self._total(witness, "b2") + points["beta2"] + times(s, points["delta2"])
        b1 = self._total(witness, "b1") + points["beta1"] + times(s, points["delta1"])
        own = own + self._total(witness[key.public + 1 :], "c")
        return a, b, own + times(s, a) + times(r, b1) - times(r * s, points["delta1"])


def check_witness(circuit: Circuit, witness: Witness) -> None:
    """Raise WitnessError with the first constraint that the witness does not satisfy."""
    _same(circuit.curve, witness.curve, "the circuit", "the witness")
    if circuit.wires != witness.wires:
        raise ProofError(
            f"expected a witness of {circuit.wires} wires, as the circuit has, got {witness.wires}"
        )
    values = from_words(circuit.curve, witness.words)
    a, b, c = (
        product(in_scalars(circuit.curve, matrix), values)
        for matrix in (circuit.a, circuit.b, circuit.c)
    )
    first, count = differing(a * b, c)
    if count:
        raise WitnessError(
            f"the witness does not satisfy constraint {first} (counted from 0), the first of "
            f"{count} that fail of {circuit.constraints}",
            first,
        )


def prove(
    zkey: _Path | ProvingKey | Prover,
    witness: _Path | Witness,
    *,
    r1cs: _Path | Circuit | None = None,
    blinding: tuple[int, int] | None = None,
    check: bool = True,
    **options: Unpack[RunOptions],
) -> tuple[Proof, Public]:
    """A proof that the witness satisfies the key's circuit, and its public signals.

    r1cs       the circuit: the witness is first checked against its constraints, and an error names
               the first that fails.  A key does not store C: without the circuit, a
               wrong witness is only detected by its proof, which does not hold
    blinding   r and s, only for tests: they reveal information about the witness.  By default
               uniform over the whole field, from the operating system
    check      first apply `ProvingKey.check`, once per key: the maker of a key that fails it may
               learn the witness from a proof
    options    options of the prover's program: see `cloakwork.RunOptions`.  Under a memory budget
               the witness may be spilled to disk, encrypted under a key of the run

    The proof is verified before it is returned.  No copy of the witness or of r and s is left in
    memory except the caller's: see `docs/threat-model.md`.

    Raises WitnessError for a witness that does not satisfy the circuit, ProofError for files of
    different circuits or curves and for a key that fails its check, LoadError for files that are
    damaged, MemoryBudgetError if the program does not fit the budget.
    """
    check_options(options)

    def now() -> tuple[Proof, Public]:
        given = witness if isinstance(witness, Witness) else read_wtns(witness)
        prover = _prover(zkey)
        if check:
            prover.key.check()
        return _proved(prover, given, r1cs, blinding, options)

    # Also in a batch: a proof is not a step of a recording. All copies of the witness are wiped.
    proof: tuple[Proof, Public] = _core.wiped(lambda: _core.unrecorded(now))
    return proof


def _proved(
    prover: Prover,
    values: Witness,
    r1cs: _Path | Circuit | None,
    blinding: tuple[int, int] | None,
    options: RunOptions,
) -> tuple[Proof, Public]:
    key = prover.key
    _same(key.curve, values.curve, "the key", "the witness")
    if key.wires != values.wires:
        raise ProofError(
            f"expected a witness of {key.wires} wires, as the key's circuit has, "
            f"got {values.wires}: it is of another circuit"
        )
    if r1cs is not None:
        circuit = r1cs if isinstance(r1cs, Circuit) else read_r1cs(r1cs)
        _check_circuit(key, circuit, values)
        check_witness(circuit, values)
    program = prover.program(
        threads=options.get("threads"), memory_budget=options.get("memory_budget")
    )
    drawn = _blinding(key.curve, blinding)
    try:
        points = program.run(values.words, drawn, **options).outputs
    finally:
        drawn.zeroize()
    proof = Proof(key.curve, *(point_bytes(point) for point in points))
    data = memoryview(values.words[1 : key.public + 1]).tobytes()
    public = Public.of_bytes(key.curve, data)
    if not _holds(key, data, proof):
        known = "" if r1cs is None else ", though it satisfies the circuit: the key is damaged"
        hint = "; give the circuit (r1cs) to learn which constraint fails" if r1cs is None else ""
        raise WitnessError(f"the witness gives a proof that does not hold{known}{hint}")
    return proof, public


def _holds(key: ProvingKey, public: bytes, proof: Proof) -> bool:
    """Whether our own proof holds; False for invalid points, which come from an invalid key."""
    try:
        return _core.groth16_verify(key.verifying_key.parts, public, proof.parts)
    except ProofError:
        return False


def _prover(zkey: _Path | ProvingKey | Prover) -> Prover:
    if isinstance(zkey, Prover):
        return zkey
    # Those of PLONK are refused by name.
    if not isinstance(zkey, ProvingKey | Here):
        zkey = read_zkey(zkey, check=False)
    return Prover(zkey)


def _blinding(curve: str, given: tuple[int, int] | None) -> Tensor:
    """Both scalars; unless they are given, no Python integer ever holds them."""
    if given is None:
        return drawn_scalars(curve, 2)
    prime = ORDERS[curve]
    for value in given:
        if not 0 <= value < prime:
            raise ParamError("blinding", value, f"integers below {prime}")
    return scalars(curve, given)


def differing(a: Tensor, b: Tensor) -> tuple[int, int]:
    """The first index at which two vectors differ, and the number of differences."""
    differs = ops.not_equal(a, b)
    count = int(ops.count_nonzero(differs, (0,)))
    return (int(ops.argmax(ops.astype(differs, _core.uint8), 0)) if count else 0), count


def _same(expected: str, got: str, what: str, other: str) -> None:
    if expected != got:
        raise ProofError(f"{what} is over {expected}, and {other} over {got}")


def _check_circuit(key: ProvingKey, circuit: Circuit, witness: Witness) -> None:
    """Refuse a key of another circuit: by its counts, or by rows that differ for this witness."""
    _same(key.curve, circuit.curve, "the key", "the circuit")
    for what, expected, got in (
        ("wires", circuit.wires, key.wires),
        ("public signals", circuit.public, key.public),
        ("points of the domain", circuit.domain, key.domain),
    ):
        if expected != got:
            raise ProofError(
                f"expected a key of {expected} {what}, as the circuit has, got {got}: "
                "it is of another circuit"
            )
    values = from_words(key.curve, witness.words)
    factor = scalars(key.curve, [MONTGOMERY_R])
    pairs = ((circuit.a, key.left, "A"), (circuit.b, key.right, "B"))
    for matrix, rows, name in pairs:
        expected_rows = product(in_scalars(key.curve, matrix), values) * factor
        found = product(rows, values)[: circuit.constraints]
        first, count = differing(expected_rows, found)
        if count:
            raise ProofError(
                f"the key's {name} differs from the circuit's at constraint {first}: "
                "it is of another circuit"
            )
