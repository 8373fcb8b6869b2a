"""The steps of an evaluator, tensors in and tensors out: [B, N, k] in the NTT domain.

Each is a handful of ops.  Factors are folded into constants: the transforms' scaling holds
(D / q_i)^-1, the weights of a conversion -D^-1, the keys P^-1.
"""

from __future__ import annotations

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.fhe.layout import limb_range, residues, zero_residues
from cloakwork.fhe.tables import Basis, Conversion, ModDown, ModUp


def base_convert(a: Tensor, conversion: Conversion, out: Tensor) -> Tensor:
    """`out_j = sum_i centred(a_i) * hat_ij mod p_j` of scaled residues [..., k] -> [..., j]."""
    q = conversion.target.q
    return ops.base_convert(a, conversion.q, conversion.half, conversion.hat, q, out=out)


def place(a: Tensor, q: Tensor, out: Tensor) -> Tensor:
    """`out = a`, in an op that HEAL has: residues plus 0."""
    return ops.modsum(a, 0, q, out=out)


def automorphism(a: Tensor, index: Tensor) -> Tensor:
    """The values of a(X^g) from those of a(X): [..., N, k], index [N] of g."""
    return ops.automorphism(a, index, out=residues(a.shape[:-2], a.shape[-2], a.shape[-1]))


def multiply_add(a: Tensor, b: Tensor, c: Tensor, basis: Basis, out: Tensor) -> Tensor:
    """`out = a * b + c`; `out` may be c."""
    return ops.modmuladd(a, b, c, basis.q, out=out)


def tensor_product(a: Tensor, b: Tensor, basis: Basis) -> Tensor:
    """(a0 b0, a0 b1 + a1 b0, a1 b1): [B, 2, N, k] twice -> [B, 3, N, k]."""
    out = residues((a.shape[0], 3), basis.degree, basis.limbs)
    a0, a1, b0, b1 = a[:, 0], a[:, 1], b[:, 0], b[:, 1]
    cross = out[:, 1]
    ops.modmul(a0, b0, basis.q, out=out[:, 0])
    ops.modmul(a0, b1, basis.q, out=cross)
    multiply_add(a1, b0, cross, basis, cross)
    ops.modmul(a1, b1, basis.q, out=out[:, 2])
    return out


def tensor_square(a: Tensor, basis: Basis) -> Tensor:
    """(a0^2, 2 a0 a1, a1^2): [B, 2, N, k] -> [B, 3, N, k]."""
    out = residues((a.shape[0], 3), basis.degree, basis.limbs)
    a0, a1, cross = a[:, 0], a[:, 1], out[:, 1]
    ops.modmul(a0, a0, basis.q, out=out[:, 0])
    ops.modmul(a0, a1, basis.q, out=cross)
    ops.modsum(cross, cross, basis.q, out=cross)
    ops.modmul(a1, a1, basis.q, out=out[:, 2])
    return out


def mod_up(c: Tensor, constants: ModUp) -> Tensor:
    """The digits of a polynomial, each over all limbs: [B, N, k] -> [B, D, N, special + k].

    Digit d is c mod Q_d, off by at most half its limbs times Q_d, which the keys do not see.
    """
    scaled = constants.chain.intt(c, factor=constants.factor)
    extended, special = constants.extended, constants.special_limbs
    batch = (c.shape[0], len(constants.digits))
    out = residues(batch, extended.degree, extended.limbs)
    for number, digit in enumerate(constants.digits):
        target = out[:, number]
        own = limb_range(scaled, digit.start, digit.stop)
        for first, conversion in digit.pieces:
            piece = limb_range(target, first, first + conversion.target.limbs)
            conversion.target.ntt(base_convert(own, conversion, piece), out=piece)
        kept = limb_range(target, special + digit.start, special + digit.stop)
        own_q = constants.chain.q[digit.start : digit.stop]
        place(limb_range(c, digit.start, digit.stop), own_q, kept)
    return out


def key_product(digits: Tensor, key: Tensor, extended: Basis, out: Tensor) -> Tensor:
    """`out += sum_d digit_d * key_d`: [B, D, N, K] by [2, D, N, K] onto [B, 2, N, K]."""
    if digits.shape[0] == 1:
        # Both halves of the key are rows over the same digits, which are then read once.
        _product(key, digits[0], extended, out[0])
    else:
        for half in range(2):
            _product(digits, key[half], extended, out[:, half])
    return out


def _product(a: Tensor, b: Tensor, basis: Basis, out: Tensor) -> None:
    a, b = a.moveaxis(1, 2), b.moveaxis(0, 1)
    ops.modmul_axis_sum(a, b, basis.q, apply_perm=False, out=out, axis=-3)


def accumulator(addends: Tensor | None, constants: ModUp, batch: int) -> Tensor:
    """Zeros [B, 2, N, special + k] for `key_product` to add to, and addends [B, 1 or 2, N, k]."""
    extended, special = constants.extended, constants.special_limbs
    if addends is None:
        return zero_residues((batch, 2), extended.degree, extended.limbs)
    out = residues((batch, 2), extended.degree, extended.limbs)
    given = addends.shape[1]
    ops.set_const_val(limb_range(out, 0, special), 0)
    chain = limb_range(out[:, 0:given], special, extended.limbs)
    place(addends, constants.chain.q, chain)
    if given < 2:
        ops.set_const_val(limb_range(out[:, given:2], special, extended.limbs), 0)
    return out


def mod_down(acc: Tensor, constants: ModDown) -> Tensor:
    """Divide by the product of some limbs, rounding: [B, parts, N, K] -> [B, parts, N, j]."""
    kept = constants.kept
    remainder = residues(acc.shape[:-2], kept.degree, constants.correction.q.shape[0])
    place = 0
    for piece in constants.dropped:
        source = limb_range(acc, piece.start, piece.start + piece.basis.limbs)
        target = limb_range(remainder, place, place + piece.basis.limbs)
        piece.basis.intt(source, out=target, factor=piece.factor)
        place += piece.basis.limbs
    out = residues(acc.shape[:-2], kept.degree, kept.limbs)
    kept.ntt(base_convert(remainder, constants.correction, out), out=out)
    stays = limb_range(acc, constants.start, constants.start + kept.limbs)
    if constants.factor is None:
        return ops.modsum(out, stays, kept.q, out=out)
    return multiply_add(stays, constants.factor, out, kept, out)


def gadget_switch(c: Tensor, key: Tensor, basis: Basis, q_inv: Tensor, base_log2: int) -> Tensor:
    """HEAL's form, without special moduli: [B, N, k] by [digits, 2, N, k] -> [B, 2, N, k]."""
    out = zero_residues((c.shape[0], 2), basis.degree, basis.limbs)
    ops.key_switch(
        c.unsqueeze(2),
        key.moveaxis(0, 2).moveaxis(0, 1),
        basis.q,
        basis.psi,
        basis.psi_inv,
        basis.n_inv,
        basis.perm,
        key.shape[0],
        base_log2,
        q_inv=q_inv,
        out=out.moveaxis(1, 2),
    )
    return out
