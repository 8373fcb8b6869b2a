"""Proving: ordinary Python over tensors, which `cw.trace` records as a program.

The prover evaluates A w and B w on the domain of n points, and C w as their product: that is what
a witness that satisfies the constraints has.  A(x) B(x) - C(x) vanishes on the domain, and its
values on the coset w_2n <w_n> are the scalars of the key's points H, which stand for the quotient.
"""

from __future__ import annotations

import secrets
from os import PathLike

import numpy as np

import cloakwork as cw
from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.errors import ParamError, ProofError, WitnessError
from cloakwork.moduli import ORDERS
from cloakwork.zk.fields import field
from cloakwork.zk.files import Circuit, ProvingKey, Witness, read_r1cs, read_wtns, read_zkey
from cloakwork.zk.groth16.algebra import (
    MONTGOMERY_R,
    from_words,
    in_scalars,
    point_bytes,
    product,
    scalars,
)
from cloakwork.zk.statements import Proof, Public

_Path = str | PathLike[str]


class Prover:
    """A proving key with what depends on it alone; calling it computes a proof's points."""

    def __init__(self, key: ProvingKey) -> None:
        self.key = key
        self._left, self._right = key.left, key.right
        # Coefficients carry a factor R: both products do, and the quotient R^2.
        self._unscale = scalars(key.curve, [pow(MONTGOMERY_R, -2, ORDERS[key.curve])])
        self._shift = field(f"{key.curve}.fr").root_of_unity(2 * key.domain)

    def quotient(self, witness: Tensor) -> Tensor:
        """Values of A B - C on the coset, [n]."""
        rows = ops.empty((3, self.key.domain), witness.dtype)
        left = product(self._left, witness, out=rows[0])
        right = product(self._right, witness, out=rows[1])
        ops.multiply(left, right, out=rows[2])
        coefficients = ops.field_ntt(rows, inverse=True)
        odd = ops.field_ntt(coefficients, coset_shift=self._shift)
        return (odd[0] * odd[1] - odd[2]) * self._unscale

    def __call__(self, words: Tensor, blinding: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """A, B and C of a proof, [1] each.

        words      canonical words of the witness, u64 [wires, 4]
        blinding   scalars r and s
        """
        key, points = self.key, self.key.points
        witness = from_words(key.curve, words)
        r, s = blinding[:1], blinding[1:]
        h = self.quotient(witness)

        def total(scalars: Tensor, name: str) -> Tensor:
            return ops.msm(scalars, points[name]).reshape(1)

        def times(scalar: Tensor, point: Tensor) -> Tensor:
            return ops.curve_mul(scalar, point)

        a = total(witness, "a") + points["alpha1"] + times(r, points["delta1"])
        b = total(witness, "b2") + points["beta2"] + times(s, points["delta2"])
        b1 = total(witness, "b1") + points["beta1"] + times(s, points["delta1"])
        own = total(witness[key.public + 1 :], "c") + total(h, "h")
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
    failing = np.flatnonzero(np.asarray(cw.not_equal(a * b, c)))
    if failing.size:
        first, count = int(failing[0]), failing.size
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
) -> tuple[Proof, Public]:
    """A proof that the witness satisfies the key's circuit, and its public signals.

    r1cs       the circuit: the witness is checked against its constraints first, and a wrong one
               is refused with the number of the first that fails.  A key does not store C, so that
               without the circuit a wrong witness is known only by its proof, which does not hold
    blinding   r and s, for tests alone: whoever knows them learns about the witness.  By default
               uniform over the whole field, from the operating system

    The proof is verified before it is given out.

    Raises WitnessError for a witness that does not satisfy the circuit, ProofError for files of
    different circuits or curves, LoadError for files that are damaged.
    """
    prover = _prover(zkey)
    key = prover.key
    values = witness if isinstance(witness, Witness) else read_wtns(witness)
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
    points = prover(values.words, scalars(key.curve, _blinding(key.curve, blinding)))
    proof = Proof(key.curve, *(point_bytes(point) for point in points))
    data = np.asarray(values.words[1 : key.public + 1]).tobytes()
    public = Public.of_bytes(key.curve, data)
    if not _holds(key, data, proof):
        known = "" if r1cs is None else ", though it satisfies the circuit: the key is damaged"
        hint = "; give the circuit (r1cs) to learn which constraint fails" if r1cs is None else ""
        raise WitnessError(f"the witness gives a proof that does not hold{known}{hint}")
    return proof, public


def _holds(key: ProvingKey, public: bytes, proof: Proof) -> bool:
    """Whether a proof of our own does; of points that are none, because a key's are none, no."""
    try:
        return _core.groth16_verify(key.verifying_key.parts, public, proof.parts)
    except ProofError:
        return False


def _prover(zkey: _Path | ProvingKey | Prover) -> Prover:
    if isinstance(zkey, Prover):
        return zkey
    return Prover(zkey if isinstance(zkey, ProvingKey) else read_zkey(zkey))


def _blinding(curve: str, given: tuple[int, int] | None) -> tuple[int, int]:
    """Both uniform: numbers of as many bits as the prime, drawn until one is below it."""
    prime = ORDERS[curve]
    if given is None:
        return secrets.randbelow(prime), secrets.randbelow(prime)
    for value in given:
        if not 0 <= value < prime:
            raise ParamError("blinding", value, f"integers below {prime}")
    return given


def _same(expected: str, got: str, what: str, other: str) -> None:
    if expected != got:
        raise ProofError(f"{what} is over {expected}, and {other} over {got}")


def _check_circuit(key: ProvingKey, circuit: Circuit, witness: Witness) -> None:
    """Refuse a key of another circuit: counts differ, or rows that this witness tells apart."""
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
        differing = np.flatnonzero(np.asarray(cw.not_equal(expected_rows, found)))
        if differing.size:
            raise ProofError(
                f"the key's {name} differs from the circuit's at constraint {differing[0]}: "
                "it is of another circuit"
            )
