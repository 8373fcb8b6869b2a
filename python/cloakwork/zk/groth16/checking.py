"""Checks of a proving key alone that its proofs hide the witness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloakwork import _core, ops
from cloakwork.errors import OpError, ProofError
from cloakwork.zk.groth16.algebra import from_words, point_bytes, scalars, words

if TYPE_CHECKING:
    from cloakwork.zk.circom.files import ProvingKey

# The order in which `_core.check_key` takes them.
_ORDER = (
    "alpha1", "beta1", "delta1", "beta2", "gamma2", "delta2", "ic", "a", "b1", "c", "h", "b2",
)  # fmt: skip
# Random sums, and bits of their factors: one sum, or five that also check groups.  The smallest
# order of a point of BN254's twist outside of G2 is 10069: a sum misses it with chance 1 / 10069.
_ONE_SUM, _SUMS_OF_GROUPS = (1, 64), (5, 14)


def check_key(key: ProvingKey, *, groups: bool) -> None:
    """Raise ProofError for a key that no honest setup makes: `ProvingKey.check` says which."""
    # All points of BN254's G1 are in the group; the sums check those of G2.
    _check_points(key, groups=groups and key.curve != "bn254")
    _check_b(key, *(_SUMS_OF_GROUPS if groups else _ONE_SUM))


def _check_points(key: ProvingKey, *, groups: bool) -> None:
    points = [key.points[name] for name in _ORDER]
    left, right = key.left, key.right
    rows = [part for m in (left, right) for part in (m.starts, m.columns, m.values)]
    _core.check_key(key.curve, key.public, points, rows, groups)


def _check_b(key: ProvingKey, count: int, bits: int) -> None:
    """Check that B in G1 and in G2 hold the same scalars, by sums with random factors c.

    e(sum c_i B1_i, G2) = e(G1, sum c_i B2_i).  If one pair differs, so do the sums, except for one
    in 2^64 choices of the factors, which the key's maker does not know.
    """
    mask = words([(1 << bits) - 1], 1)
    drawn = ops.bitwise_and(_core.random_words((count, key.wires, 1)), mask)
    wide = ops.zeros((count, key.wires, 4), _core.uint64)
    wide[:, :, :1] = drawn
    factors = from_words(key.curve, wide)
    first, second = (ops.msm(factors, key.points[name]) for name in ("b1", "b2"))
    try:
        ops.from_canonical(ops.to_canonical(second), second.dtype)
    except OpError:
        _check_points(key, groups=True)
        raise ProofError("zkey, b2: a point is outside of the group of prime order") from None
    weights = scalars(key.curve, [1 << (bits * index) for index in range(count)])
    g1, g2 = (point_bytes(ops.msm(weights, sums).reshape(1)) for sums in (first, second))
    if not _core.same_number(key.curve, g1, g2):
        raise ProofError("zkey, b1 and b2: points of B in G1 and in G2 hold different numbers")
