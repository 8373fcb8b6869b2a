"""Verification of many proofs at once, by a random linear combination of their equations.

With random r_i, the equations e(A_i, B_i) = e(alpha, beta) e(L_i, gamma) e(C_i, delta) hold all
(but for one choice in 2^128) if their product does, each to the power r_i:

    prod e(r_i A_i, B_i) = e(sum r_i alpha, beta) e(sum r_i L_i, gamma) e(sum r_i C_i, delta)

n proofs cost n + 3 Miller loops and one final exponentiation instead of 4 n and n.  Source: M.
Bellare, J. Garay, T. Rabin, "Fast batch verification" (Eurocrypt 1998), the small exponents test.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.errors import LoadError, OpError, ParamError, ProofError
from cloakwork.fields.parameters import CURVES, FIELDS
from cloakwork.zk.circom.statements import Proof, Public, Source, VerifyingKey
from cloakwork.zk.groth16.algebra import from_words, point_bytes
from cloakwork.zk.groth16.verifying import signals_of

# Bits of the random factors: the chance that a wrong proof passes is 2^-128.
_WORDS = 2
Pair = tuple[Source | Sequence[int] | Public, Source | Proof]


@dataclass(frozen=True)
class _Batch:
    """Proofs under one key: A and C [n], signals [n, public + 1] with a leading 1.

    B are the bytes of the proofs: the product of pairings checks them.
    """

    key: VerifyingKey
    a: Tensor
    b: bytes
    c: Tensor
    signals: Tensor

    def __len__(self) -> int:
        return self.a.shape[0]

    def part(self, begin: int, end: int) -> _Batch:
        """Proofs of a range."""
        cut, size = slice(begin, end), len(self.b) // len(self)
        b = self.b[begin * size : end * size]
        return _Batch(self.key, self.a[cut], b, self.c[cut], self.signals[cut])

    def holds(self) -> bool:
        """Whether all hold, by new random factors."""
        key, curve = self.key, self.key.curve
        factors = _factors(curve, len(self))
        # One factor for the IC point of each signal, and the sum of factors as that of the first.
        weights = ops.sum(ops.multiply(self.signals, factors.reshape(-1, 1)), (0,))
        ic = _points(curve, "g1", [key.ic])
        left = [
            ops.curve_mul(factors, self.a),
            -ops.curve_mul(weights[:1], _points(curve, "g1", [key.alpha1])),
            -ops.msm(weights, ic).reshape(1),
            -ops.msm(factors, self.c).reshape(1),
        ]
        first = b"".join(map(point_bytes, left))
        second = self.b + key.beta2 + key.gamma2 + key.delta2
        return _core.product_is_one(curve, first, second)


def verify_many(vkey: Source | VerifyingKey, proofs: Iterable[Pair]) -> list[bool]:
    """Whether each proof holds, given pairs of public signals and a proof under one key.

    All of them are checked by one product of pairings with random factors of 128 bits from the
    operating system: a batch with a wrong proof passes with chance 2^-128, whoever made the proofs.
    If the product is not 1, halves are checked, down to the wrong proofs.

    Raises LoadError and ProofError as `verify` does, with the proof's place in the batch.
    """
    key = VerifyingKey.load(vkey)
    given: object = proofs
    if not isinstance(given, Iterable):
        raise ParamError("proofs", f"a {type(given).__name__}", "pairs of signals and a proof")
    loaded = [_loaded(key, place, pair) for place, pair in enumerate(proofs)]
    if not loaded:
        return []
    answers = [True] * len(loaded)

    def now() -> None:
        try:
            batch = _batch(key, loaded)
            # The points of the key are checked once.
            _judge(key, *loaded[0])
            _search(batch, 0, answers)
        except ProofError:
            _name_wrong(key, loaded)
            raise

    _core.unrecorded(now)
    return answers


def _judge(key: VerifyingKey, public: Public, proof: Proof) -> None:
    """Raise ProofError for a proof that cannot be judged, or a key that no proof can have."""
    _core.groth16_verify(key.parts, public.data, proof.parts)


def _name_wrong(key: VerifyingKey, loaded: list[tuple[Public, Proof]]) -> None:
    """Raise ProofError with the place of the first proof that cannot be judged."""
    for place, (public, proof) in enumerate(loaded):
        try:
            _judge(key, public, proof)
        except ProofError as error:
            # Others are of the key.
            own = str(error).startswith("pi_")
            raise ProofError(f"proofs[{place}]: {error}" if own else str(error)) from None


def _batch(key: VerifyingKey, loaded: list[tuple[Public, Proof]]) -> _Batch:
    """The proofs as tensors; all points are checked."""
    a, c = (
        _points(key.curve, "g1", [getattr(proof, name) for _, proof in loaded], f"pi_{name}")
        for name in ("a", "c")
    )
    b = b"".join(proof.b for _, proof in loaded)
    one = (1).to_bytes(32, "little")
    data = b"".join(chain.from_iterable((one, public.data) for public, _ in loaded))
    words = _core.from_buffer(data, _core.uint64, (len(loaded), key.public + 1, 4))
    return _Batch(key, a, b, c, from_words(key.curve, words))


def _loaded(key: VerifyingKey, place: int, pair: Pair) -> tuple[Public, Proof]:
    given: object = pair
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ParamError(f"proofs[{place}]", f"a {type(given).__name__}", "signals and a proof")
    try:
        public, proof = signals_of(given[0], key.curve), Proof.load(given[1], key.curve)
    except LoadError as error:
        raise LoadError(f"proofs[{place}]: {error}") from None
    except (ParamError, ProofError) as error:
        raise ProofError(f"proofs[{place}]: {error}") from None
    if proof.curve != key.curve:
        raise ProofError(f"proofs[{place}]: a key over {key.curve}, and a proof over {proof.curve}")
    # The batch joins points: one that is too long must not be part of the next.
    for name, like in (("a", key.alpha1), ("b", key.beta2), ("c", key.alpha1)):
        got = len(getattr(proof, name))
        if got != len(like):
            raise ProofError(
                f"proofs[{place}]: pi_{name}: expected a point of {len(like)} bytes, got {got}"
            )
    if len(public.signals) != key.public:
        raise ProofError(
            f"proofs[{place}]: expected {key.public} public signals, as the verifying key has, "
            f"got {len(public.signals)}"
        )
    return public, proof


def _points(curve: str, group: str, parts: list[bytes], name: str = "ic") -> Tensor:
    """Canonical points as a tensor: [points]."""
    facts = CURVES[curve]["groups"][f"{curve}.{group}"]
    words = 2 * facts["parts"] * FIELDS[CURVES[curve]["fq"]]["words"]
    data = b"".join(parts)
    tensor = _core.from_buffer(data, _core.uint64, (len(data) // (8 * words), words))
    try:
        return ops.from_canonical(tensor, facts["dtype"])
    except OpError as error:
        raise ProofError(f"{name}: {error}") from None


def _factors(curve: str, count: int) -> Tensor:
    """Random scalars below 2^128, [count]."""
    wide = ops.zeros((count, 4), _core.uint64)
    wide[:, :_WORDS] = _core.random_words((count, _WORDS))
    return from_words(curve, wide)


def _search(batch: _Batch, begin: int, answers: list[bool], *, wrong: bool = False) -> None:
    """Set the answers of wrong proofs to False; `wrong`: the batch is known to have one."""
    count = len(batch)
    if count == 1:
        answers[begin] = not wrong and batch.holds()
        return
    if not wrong and batch.holds():
        return
    half = count // 2
    _search(batch.part(0, half), begin, answers)
    first_holds = all(answers[begin : begin + half])
    _search(batch.part(half, count), begin + half, answers, wrong=first_holds)
