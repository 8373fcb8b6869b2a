"""Proving: five rounds, each of which commits and then hashes, recorded as one program."""

from __future__ import annotations

from functools import reduce
from os import PathLike
from typing import TYPE_CHECKING, Unpack

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.errors import ParamError, ProofError, WitnessError
from cloakwork.fields.parameters import ORDERS
from cloakwork.lazy import public
from cloakwork.programs.options import RunOptions, check_options
from cloakwork.sending import Here, Sendable
from cloakwork.zk.circom.files import (
    Circuit,
    Witness,
    read_r1cs,
    read_wtns,
    with_witness,
    wrong_key,
)
from cloakwork.zk.circom.provers import ProgramProver
from cloakwork.zk.circom.statements import Public
from cloakwork.zk.groth16.algebra import drawn_scalars, from_words, joined, point_bytes, scalars
from cloakwork.zk.groth16.proving import check_witness, differing
from cloakwork.zk.plonk.keys import ProvingKey, read_zkey
from cloakwork.zk.plonk.rounds import Challenges, Rounds
from cloakwork.zk.plonk.statements import Proof
from cloakwork.zk.plonk.transcript import challenge

if TYPE_CHECKING:
    from cloakwork.zk.circom.inputs import Inputs
    from cloakwork.zk.circom.witnesses import WitnessGenerator

_Path = str | PathLike[str]

# b1 to b11.
_BLINDING = 11
# The number of pieces of an MSM where memory is short.
_PIECES = 8


@public("cloakwork.zk.plonk")
class Prover(ProgramProver, Here):
    """A proving key with data that depend on it alone, and its program, for several proofs.

    `prove` makes a proof; calling the prover computes the parts of one, as steps of its program.

    frugal   slower in less memory: MSMs one at a time, in pieces
    keeps    faster from the second proof on, in more memory: 27 vectors of the domain's size, the
             values of the key's polynomials, are kept.  Never of a frugal prover
    """

    key: ProvingKey
    _blinding_count = _BLINDING
    _stays = "send the path of the key's file, and make one where proofs are made"

    def __init__(self, key: ProvingKey, *, frugal: bool = False, keeps: bool = True) -> None:
        if not isinstance(key, ProvingKey):
            raise wrong_key(key, "PLONK")
        self.key, self.frugal = key, frugal
        self._rounds = Rounds(key, keeps=keeps and not frugal)

    def prove(
        self,
        witness: _Path | Witness | Inputs,
        *,
        wasm: _Path | WitnessGenerator | None = None,
        r1cs: _Path | Circuit | None = None,
        blinding: tuple[int, ...] | None = None,
        check: bool = True,
        **options: Unpack[RunOptions],
    ) -> tuple[Proof, Public]:
        """`zk.plonk.prove` under this key, whose check and program are of the first proof.

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
        return self.key.circuit_wires

    @property
    def _kept_bytes(self) -> int:
        return self._rounds.kept_bytes

    def rows(self, words: Tensor) -> Tensor:
        """The wires of each gate, and the public signals negated: scalars [4, domain]."""
        return self._rounds.rows(self._rounds.values(from_words(self.key.curve, words)))

    def unsatisfied(self, words: Tensor) -> tuple[int, int]:
        """The first gate that a witness does not satisfy, and the number of such gates."""
        sums = self._rounds.gates(self.rows(words))
        return differing(sums, ops.zeros(sums.shape, sums.dtype))

    def _commit(self, polynomials: Tensor) -> Tensor:
        """Commitments [k] to polynomials [k, m]."""
        bases = self.key.powers[: polynomials.shape[1]]
        if not self.frugal:
            return ops.msm(polynomials, bases)
        return self._rounds.each(polynomials, self._in_pieces)

    def _in_pieces(self, polynomial: Tensor) -> Tensor:
        count = polynomial.shape[0]
        size = -(-count // _PIECES)
        pieces = [slice(begin, begin + size) for begin in range(0, count, size)]
        bases = self.key.powers[:count]
        sums = [ops.msm(polynomial[piece], bases[piece]) for piece in pieces]
        return reduce(ops.add, sums).reshape(1)

    def __call__(self, words: Tensor, blinding: Tensor) -> tuple[Tensor, Tensor]:
        """The nine commitments of a proof and its six evaluations, in snarkjs's order.

        words      canonical words of the witness, u64 [wires of the circuit, 4]
        blinding   scalars b1 to b11
        """
        key, curve = self.key, self.key.curve
        rows = self.rows(words)
        coefficients = ops.field_ntt(rows, inverse=True)
        wires = _blinded(coefficients[:3], ops.reshape(blinding[:6], (3, 2))[:, ::-1])
        first = self._commit(wires)
        statement = [key.commitments]
        if key.public:
            statement.append(ops.negative(rows[3, : key.public]))
        beta = challenge(curve, *statement, first)
        gamma = challenge(curve, beta)
        z = self._rounds.permutation(rows, beta, gamma)
        z = _blinded(z, ops.reshape(blinding[8:5:-1], (1, 3)))
        second = self._commit(z)
        alpha = challenge(curve, beta, gamma, second)
        drawn = Challenges(beta, gamma, alpha)
        parts, top = self._rounds.quotient(wires, z, coefficients[3], drawn)
        t = self._split(parts, top, blinding[9:])
        third = self._commit(t)
        xi = challenge(curve, alpha, third)
        evaluations = self._evaluations(wires, z, xi)
        v = challenge(curve, xi, evaluations)
        opened = self._opened(wires, z, t, (drawn, xi, v), evaluations)
        points = [first, second, third, self._commit(opened)]
        return reduce(joined, points), evaluations

    def _split(self, parts: list[Tensor], top: Tensor, blinding: Tensor) -> Tensor:
        """The quotient's parts with b10 and b11, which hide them: [3, n + 6]."""
        size = self.key.domain
        t = ops.zeros((3, size + top.shape[0]), top.dtype)
        for place, part in enumerate(parts):
            t[place, :size] = part
        t[2, size:] = top
        t[:2, size] = blinding
        low = t[1:, 0]
        ops.subtract(low, blinding, out=low)
        return t

    def _evaluations(self, wires: Tensor, z: Tensor, xi: Tensor) -> Tensor:
        """a, b, c, s1 and s2 at xi, and z at xi w."""
        values = ops.empty((6,), wires.dtype)
        values[:3] = ops.evaluate(wires, xi[0])
        for place, sigma in enumerate(self.key.polynomials[5:7]):
            values[3 + place] = ops.evaluate(sigma, xi[0])
        values[5:] = ops.evaluate(z, (xi * self._rounds.root)[0])
        return values

    def _opened(
        self,
        wires: Tensor,
        z: Tensor,
        t: Tensor,
        challenges: tuple[Challenges, Tensor, Tensor],
        evaluations: Tensor,
    ) -> Tensor:
        """The opening polynomials at xi and at xi w: [2, n + 5].

        The constant terms of what is opened are left out: they change the remainders alone.
        """
        (beta, gamma, alpha), xi, v = challenges
        rounds, size = self._rounds, self.key.domain
        a, b, c, s1, s2, zw = (evaluations[at : at + 1] for at in range(6))
        k1, k2 = self.key.shifts[:1], self.key.shifts[1:]
        xin = reduce(lambda power, _: power * power, range(self.key.size_log2), xi)
        zh = xin - rounds.one
        lagrange = zh * ops.reciprocal(rounds.size * (xi - rounds.one))
        turned = beta * xi
        above = (a + turned + gamma) * (b + turned * k1 + gamma) * (c + turned * k2 + gamma)
        below = (a + beta * s1 + gamma) * (b + beta * s2 + gamma) * zw * alpha * beta
        combined = (t[0] + xin * t[1] + xin * xin * t[2]) * (-zh)
        part = combined[: size + 3]
        ops.add(part, (above * alpha + lagrange * alpha * alpha) * z[0], out=part)
        v2 = v * v
        v3 = v2 * v
        part = combined[: size + 2]
        ops.add(part, v * wires[0] + v2 * wires[1] + v3 * wires[2], out=part)
        qm, ql, qr, qo, qc, sigma1, sigma2, sigma3 = self.key.polynomials
        part = combined[:size]
        ops.add(part, a * b * qm + a * ql + b * qr + c * qo + qc, out=part)
        rest = v2 * v2 * sigma1 + v2 * v3 * sigma2 - below * sigma3
        ops.add(part, rest, out=part)
        opened = ops.zeros((2, size + 5), wires.dtype)
        opened[0] = ops.kate_div(combined, xi[0], keep=False)
        opened[1, : size + 2] = ops.kate_div(z[0], (xi * rounds.root)[0], keep=False)
        return opened


def _blinded(polynomials: Tensor, blinding: Tensor) -> Tensor:
    """Rows p of n coefficients plus (X^n - 1) b, rows b of m: [k, n + m]."""
    (count, size), more = polynomials.shape, blinding.shape[1]
    out = ops.empty((count, size + more), polynomials.dtype)
    out[:, :size] = polynomials
    out[:, size:] = blinding
    low = out[:, :more]
    ops.subtract(low, blinding, out=low)
    return out


def prove(
    zkey: _Path | ProvingKey | Prover,
    witness: _Path | Witness,
    *,
    r1cs: _Path | Circuit | None = None,
    blinding: tuple[int, ...] | None = None,
    check: bool = True,
    **options: Unpack[RunOptions],
) -> tuple[Proof, Public]:
    """A proof that the witness satisfies the key's circuit, and its public signals.

    r1cs       the circuit: the witness is first checked against its constraints, and an error names
               the first that fails.  Without it an error names the first gate of the key
    blinding   b1 to b11, only for tests: they reveal information about the witness.  By default
               uniform over the whole field, from the operating system
    check      first apply `ProvingKey.check`, once per key: the maker of a key that fails it may
               learn the witness from a proof
    options    options of the prover's program: see `cloakwork.RunOptions`.  Under a memory budget
               the witness may be spilled to disk, encrypted under a key of the run

    The proof is verified before it is returned.  No copy of the witness or of the blinding is left
    in memory except the caller's: see `docs/threat-model.md`.

    Raises WitnessError for a witness that does not satisfy the circuit, ProofError for files of
    different circuits or curves and for a key that fails its check, LoadError for files that are
    damaged, MemoryBudgetError if the program does not fit the budget.
    """
    check_options(options)

    def now() -> tuple[Proof, Public]:
        given = witness if isinstance(witness, Witness) else read_wtns(witness)
        prover = _prover(zkey)
        _check_files(prover.key, given, r1cs)
        if check:
            prover.key.check()
        return _proved(prover, given, blinding, options)

    # Also in a batch: a proof is not a step of a recording. All copies of the witness are wiped.
    proof: tuple[Proof, Public] = _core.wiped(lambda: _core.unrecorded(now))
    return proof


def _prover(zkey: _Path | ProvingKey | Prover) -> Prover:
    if isinstance(zkey, Prover):
        return zkey
    # Those of Groth16 are refused by name.
    if not isinstance(zkey, ProvingKey | Sendable):
        zkey = read_zkey(zkey, check=False)
    return Prover(zkey, keeps=False)


def _check_files(key: ProvingKey, witness: Witness, r1cs: _Path | Circuit | None) -> None:
    """Refuse a witness or a circuit that the key is not of, and a witness of other constraints."""
    if key.curve != witness.curve:
        raise ProofError(f"the key is over {key.curve}, and the witness over {witness.curve}")
    if key.circuit_wires != witness.wires:
        raise ProofError(
            f"expected a witness of {key.circuit_wires} wires, as the key's circuit has, "
            f"got {witness.wires}: it is of another circuit"
        )
    if r1cs is None:
        return
    circuit = r1cs if isinstance(r1cs, Circuit) else read_r1cs(r1cs)
    if key.curve != circuit.curve:
        raise ProofError(f"the key is over {key.curve}, and the circuit over {circuit.curve}")
    for what, expected, got in (
        ("wires", circuit.wires, key.circuit_wires),
        ("public signals", circuit.public, key.public),
    ):
        if expected != got:
            raise ProofError(
                f"expected a key of {expected} {what}, as the circuit has, got {got}: "
                "it is of another circuit"
            )
    check_witness(circuit, witness)


def _proved(
    prover: Prover, values: Witness, blinding: tuple[int, ...] | None, options: RunOptions
) -> tuple[Proof, Public]:
    key = prover.key
    program = prover.program(
        threads=options.get("threads"), memory_budget=options.get("memory_budget")
    )
    drawn = _blinding(key.curve, blinding)
    try:
        points, evaluations = program.run(values.words, drawn, **options).outputs
    finally:
        drawn.zeroize()
    proof = Proof(key.curve, point_bytes(points), point_bytes(evaluations))
    data = memoryview(values.words[1 : key.public + 1]).tobytes()
    if not _holds(key, data, proof):
        raise _refusal(prover, values)
    return proof, Public.of_bytes(key.curve, data)


def _refusal(prover: Prover, values: Witness) -> WitnessError:
    """Why a proof does not hold: a gate, or the key."""
    first, count = prover.unsatisfied(values.words)
    if not count:
        return WitnessError(
            "the witness satisfies the key's gates, but gives a proof that does not hold: "
            "the key is damaged"
        )
    return WitnessError(
        f"the witness does not satisfy gate {first} (counted from 0), the first of {count} that "
        f"fail of the key's {prover.key.gates}; give the circuit (r1cs) to learn which constraint "
        "fails"
    )


def _holds(key: ProvingKey, public: bytes, proof: Proof) -> bool:
    """Whether our own proof holds; False for invalid points, which come from an invalid key."""
    try:
        return _core.plonk_verify(key.verifying_key.parts, public, proof.parts)
    except ProofError:
        return False


def _blinding(curve: str, given: tuple[int, ...] | None) -> Tensor:
    """All scalars; unless they are given, no Python integer ever holds them."""
    if given is None:
        return drawn_scalars(curve, _BLINDING)
    if len(given) != _BLINDING:
        raise ParamError("blinding", f"{len(given)} integers", f"{_BLINDING} of them")
    prime = ORDERS[curve]
    for value in given:
        if not 0 <= value < prime:
            raise ParamError("blinding", value, f"integers below {prime}")
    return scalars(curve, given)
