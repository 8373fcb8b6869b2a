"""Products of pairings, by which commitments and proofs are verified."""

from __future__ import annotations

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.errors import DTypeError, ParamError
from cloakwork.fields.parameters import CURVES


def pairing_check(g1: Tensor, g2: Tensor) -> bool:
    """Whether e(P_0, Q_0) e(P_1, Q_1) ... is 1: [n] points of G1, [n] of G2, of one curve.

    All share one final exponentiation; the product of no pairs is 1.  Curves: bn254, bls12_381.

    >>> import cloakwork as cw
    >>> from cloakwork import zk
    >>> curve = zk.curve("bn254")
    >>> p, q = curve.g1_generator.reshape(1), curve.g2_generator.reshape(1)
    >>> six, minus_two_three = cw.concat([6 * p, -2 * p]), cw.concat([q, 3 * q])
    >>> zk.pairing_check(six, minus_two_three)
    True

    Raises DTypeError for other dtypes, ParamError for other shapes, ProofError for a point outside
    of its group.
    """
    for curve, facts in CURVES.items():
        if f"{curve}.g2" in facts["groups"] and g1.dtype == facts["groups"][f"{curve}.g1"]["dtype"]:
            break
    else:
        raise DTypeError("g1", g1.dtype, "points of a G1 with a pairing: bn254.g1, bls12_381.g1")
    if g2.dtype != CURVES[curve]["groups"][f"{curve}.g2"]["dtype"]:
        raise DTypeError("g2", g2.dtype, f"points of {curve}.g2")
    if len(g1.shape) != 1 or g1.shape != g2.shape:
        raise ParamError("g2", f"shape {g2.shape}", f"as many points as g1 has, [n], {g1.shape}")
    first, second = (memoryview(ops.to_canonical(one)).tobytes() for one in (g1, g2))
    return _core.product_is_one(curve, first, second)
