"""The steps of an evaluator, tensors in and tensors out, in the NTT domain.

Each is one op or a few.  Factors are folded into constants: the transforms' scaling
holds (D / q_i)^-1, the weights of a conversion -D^-1, the keys P^-1.
"""

from __future__ import annotations

from typing import Any

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.fhe.rns.layout import limb_range, residues, zero_residues
from cloakwork.fhe.rns.tables import Basis, Division, KeySwitch


def place(a: Tensor, q: Tensor, out: Tensor) -> Tensor:
    """`out = a` by an op of HEAL's: residues plus 0."""
    return ops.modsum(a, 0, q, out=out)


def automorphism(a: Tensor, index: Tensor) -> Tensor:
    """The values of a(X^g) from those of a(X): [..., N, k], index [N] of g."""
    return ops.automorphism(a, index, out=residues(a.shape[:-2], a.shape[-2], a.shape[-1]))


def tensor_product(a: Tensor, b: Tensor, basis: Basis) -> Tensor:
    """(a0 b0, a0 b1 + a1 b0, a1 b1): [B, 2, N, k] twice -> [B, 3, N, k]."""
    out = residues((a.shape[0], 3), basis.degree, basis.limbs)
    a0, a1, b0, b1 = a[:, 0], a[:, 1], b[:, 0], b[:, 1]
    cross = out[:, 1]
    ops.modmul(a0, b0, basis.q, out=out[:, 0])
    ops.modmul(a0, b1, basis.q, out=cross)
    ops.modmuladd(a1, b0, cross, basis.q, out=cross)
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


def mod_up(c: Tensor, constants: KeySwitch) -> Tensor:
    """The digits of a polynomial, each over all limbs: [B, N, k] -> [B, D, N, special + k].

    Digit d is c mod Q_d, off by at most half its limbs times Q_d, which the keys do not see.
    """
    extended, first = constants.extended, constants.special_limbs
    return ops.mod_up(
        c,
        extended.q,
        extended.psi,
        extended.psi_inv,
        constants.scale[first:],
        constants.half[first:],
        constants.up_hat,
        constants.digit_limbs,
        perm=extended.perm,
        out=residues((c.shape[0], constants.digits), extended.degree, extended.limbs),
    )


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


def accumulator(addends: Tensor | None, constants: KeySwitch, batch: int) -> Tensor:
    """Zeros [B, 2, N, special + k], to which `key_product` adds, plus addends [B, 1 or 2, N, k]."""
    extended, special = constants.extended, constants.special_limbs
    if addends is None:
        return zero_residues((batch, 2), extended.degree, extended.limbs)
    out = residues((batch, 2), extended.degree, extended.limbs)
    given = addends.shape[1]
    ops.set_const_val(limb_range(out, 0, special), 0)
    place(addends, constants.chain.q, limb_range(out[:, 0:given], special, extended.limbs))
    if given < 2:
        ops.set_const_val(limb_range(out[:, given:2], special, extended.limbs), 0)
    return out


def mod_down(acc: Tensor, constants: KeySwitch) -> Tensor:
    """Divide by the special moduli: [B, 2, N, special + k] -> [B, 2, N, k].

    The keys have already divided the chain's limbs by P.
    """
    extended, chain, first = constants.extended, constants.chain, constants.special_limbs
    out = residues(acc.shape[:-2], chain.degree, chain.limbs)
    for index in range(acc.shape[0]):
        ops.mod_down(
            acc[index],
            extended.q,
            extended.psi,
            extended.psi_inv,
            constants.scale[:first],
            constants.half[:first],
            constants.down_hat,
            perm=extended.perm,
            out=out[index],
        )
    return out


def _tables(constants: KeySwitch) -> dict[str, Any]:
    """The tables of a key switch."""
    extended = constants.extended
    return {
        "q": extended.q,
        "psi": extended.psi,
        "psi_inv": extended.psi_inv,
        "perm": extended.perm,
        "scale": constants.scale,
        "half": constants.half,
        "up_hat": constants.up_hat,
        "down_hat": constants.down_hat,
        "digit_limbs": constants.digit_limbs,
    }


def hybrid_key_switch(c: Tensor, key: Tensor, constants: KeySwitch) -> Tensor:
    """C times the key's source, under its target: [B, N, k], [2, D, N, K] -> [B, 2, N, k]."""
    chain = constants.chain
    return ops.hybrid_key_switch(
        c,
        key,
        **_tables(constants),
        out=residues((c.shape[0], 2), chain.degree, chain.limbs),
    )


def relinearize(a: Tensor, key: Tensor, constants: KeySwitch) -> Tensor:
    """Two parts of three: [B, 3, N, k], [2, D, N, K] -> [B, 2, N, k]."""
    chain = constants.chain
    return ops.relinearize(
        a,
        key,
        **_tables(constants),
        out=residues((a.shape[0], 2), chain.degree, chain.limbs),
    )


def rescale(a: Tensor, basis: Basis, constants: Division) -> Tensor:
    """Divide by the last modulus of `basis`, to nearest: [B, parts, N, k] -> [..., k - 1]."""
    kept = constants.kept
    out = residues(a.shape[:-2], kept.degree, kept.limbs)
    for index in range(a.shape[0]):
        ops.rescale(
            a[index],
            basis.q,
            basis.psi,
            basis.psi_inv,
            constants.scale,
            constants.half,
            constants.hat,
            constants.inverse,
            perm=basis.perm,
            out=out[index],
        )
    return out


def mod_down_and_rescale(acc: Tensor, special: Basis, constants: Division) -> Tensor:
    """`mod_down` and `rescale` in one division: [B, 2, N, special + k] -> [B, 2, N, k - 1]."""
    kept, count = constants.kept, special.limbs
    remainder = residues(acc.shape[:-2], kept.degree, count + 1)
    last = limb_range(acc, acc.shape[-1] - 1, acc.shape[-1])
    special.intt(
        limb_range(acc, 0, count),
        out=limb_range(remainder, 0, count),
        factor=constants.scale[0:count],
    )
    target = limb_range(remainder, count, count + 1)
    constants.last.intt(last, out=target, factor=constants.scale[count : count + 1])
    out = residues(acc.shape[:-2], kept.degree, kept.limbs)
    ops.base_convert(remainder, constants.q, constants.half, constants.hat, kept.q, out=out)
    kept.ntt(out, out=out)
    stays = limb_range(acc, count, count + kept.limbs)
    return ops.modmuladd(stays, constants.inverse, out, kept.q, out=out)


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
