"""Z_Q[X] / (X^N + 1) for one level of the modulus chain: NTT and residues.

All polynomials are int64 tensors [..., N, k]: k limbs, last axis, values in [0, q_i).  In the NTT
domain, in natural order, entry j of limb i is the polynomial at psi_i^(2 j + 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import cloakwork as cw
from cloakwork import ops
from cloakwork.transforms import Transform, integers


class Ring:
    """The ring at one level: moduli q_0 to q_level and everything derived from them."""

    def __init__(self, degree: int, moduli: tuple[int, ...]) -> None:
        transform = Transform(degree, moduli)
        self.degree, self.moduli, self.limbs = degree, moduli, len(moduli)
        self.modulus = prod(moduli)
        self.transform, self.q, self.perm = transform, transform.q, transform.perm
        self.psi, self.psi_inv, self.n_inv = transform.psi, transform.psi_inv, transform.n_inv
        # Row i, column j: q_j^-1 mod q_i, with ones on the diagonal, as CRT by digits wants it.
        self.q_inv = integers([[pow(b, -1, a) if a != b else 1 for b in moduli] for a in moduli])

    def constant(self, value: int) -> cw.Tensor:
        """[k]: the residues of one integer of any size and sign."""
        return integers([value % m for m in self.moduli])

    def residues(self, values: cw.Tensor) -> cw.Tensor:
        """[...] int64 of either sign -> [..., k] canonical residues.

        `modneg` is canonical for every operand, so twice is reduction.
        """
        spread = values.unsqueeze(values.ndim).expand(values.ndim, self.limbs)
        negated = ops.modneg(spread, self.q)
        return ops.modneg(negated, self.q, out=negated)

    def ntt(self, polynomials: cw.Tensor) -> cw.Tensor:
        """[..., N, k] coefficients -> NTT domain, natural order."""
        return self.transform.ntt(polynomials)

    def intt(self, polynomials: cw.Tensor) -> cw.Tensor:
        """[..., N, k] NTT domain, natural order -> coefficients."""
        return self.transform.intt(polynomials)

    def digits(self, coefficients: cw.Tensor, base_log2: int) -> cw.Tensor:
        """[B, N, k] -> [B, digits, N]: the value in [0, Q) base 2^base_log2, low digit first."""
        return ops.g_decomp_full_q(
            coefficients.moveaxis(-1, -2).contiguous(),
            q=self.q,
            q_inv=self.q_inv,
            g_exp=self.digit_count(base_log2),
            g_base_bits=base_log2,
        )

    def digit_count(self, base_log2: int) -> int:
        """Digits base 2^base_log2 that hold every value in [0, Q)."""
        return -(-self.modulus.bit_length() // base_log2)


@dataclass(frozen=True)
class LastLimb:
    """What dropping the last of k limbs needs; tensors over the k - 1 limbs that stay."""

    ring: Ring
    half: int
    half_residues: cw.Tensor
    inverse: cw.Tensor

    @classmethod
    def of(cls, ring: Ring) -> LastLimb:
        """What dropping the last limb of `ring` needs."""
        *kept, last = ring.moduli
        return cls(
            ring=Ring(ring.degree, (last,)),
            half=last // 2,
            half_residues=integers([last // 2 % m for m in kept]),
            inverse=integers([pow(last, -1, m) for m in kept]),
        )
