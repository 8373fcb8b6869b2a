"""Z_Q[X] / (X^N + 1) for one level of the modulus chain: NTT tables and residues.

All polynomials are int64 tensors [..., N, k]: k limbs, last axis, values in [0, q_i).  In the NTT
domain, in natural order, entry j of limb i is the polynomial at psi_i^(2 j + 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

import cloakwork as cw
from cloakwork import ops
from cloakwork.fhe.primes import primitive_root


def bit_reversal(degree: int) -> cw.Tensor:
    """[N] int64: entry i is i with its log2(N) bits in reverse order."""
    order = np.zeros(1, dtype=np.int64)
    while len(order) < degree:
        order = np.concatenate((2 * order, 2 * order + 1))
    return cw.asarray(order)


def _integers(values: list[int]) -> cw.Tensor:
    return cw.asarray(np.array(values, dtype=np.int64))


def _twiddles(degree: int, roots: list[int], moduli: tuple[int, ...], q: cw.Tensor) -> cw.Tensor:
    """[k, N]: roots[j]^bitrev(i) mod q_j.

    For i in [half, 2 half): bitrev(i) = bitrev(i - half) + N / (2 half), so each half of the table
    is the one before times one power of the root: log2(N) tensor operations.
    """
    table = cw.zeros((degree, len(roots)), "i64")
    ops.modsum(table[0:1, :], 1, q, out=table[0:1, :])
    half = 1
    while half < degree:
        exponent = degree // (2 * half)
        step = [pow(root, exponent, m) for root, m in zip(roots, moduli, strict=True)]
        ops.modmul(table[0:half, :], _integers(step), q, out=table[half : 2 * half, :])
        half *= 2
    return table.moveaxis(0, 1).contiguous()


class Ring:
    """The ring at one level: moduli q_0 to q_level and everything derived from them."""

    def __init__(self, degree: int, moduli: tuple[int, ...]) -> None:
        roots = [primitive_root(2 * degree, m) for m in moduli]
        inverses = [pow(root, -1, m) for root, m in zip(roots, moduli, strict=True)]
        self.degree, self.moduli, self.limbs = degree, moduli, len(moduli)
        self.modulus = prod(moduli)
        self.q = _integers(list(moduli))
        self.perm = bit_reversal(degree)
        self.psi = _twiddles(degree, roots, moduli, self.q)
        self.psi_inv = _twiddles(degree, inverses, moduli, self.q)
        self.n_inv = _integers([pow(degree, -1, m) for m in moduli])
        # Row i, column j: q_j^-1 mod q_i, with ones on the diagonal, as CRT by digits wants it.
        self.q_inv = cw.asarray(
            np.array(
                [[pow(b, -1, a) if a != b else 1 for b in moduli] for a in moduli], dtype=np.int64
            )
        )

    def constant(self, value: int) -> cw.Tensor:
        """[k]: the residues of one integer of any size and sign."""
        return _integers([value % m for m in self.moduli])

    def residues(self, integers: cw.Tensor) -> cw.Tensor:
        """[...] int64 of either sign -> [..., k] canonical residues.

        `modneg` is canonical for every operand, so twice is reduction.
        """
        spread = integers.unsqueeze(integers.ndim).expand(integers.ndim, self.limbs)
        negated = ops.modneg(spread, self.q)
        return ops.modneg(negated, self.q, out=negated)

    def ntt(self, polynomials: cw.Tensor) -> cw.Tensor:
        """[..., N, k] coefficients -> NTT domain, natural order."""
        flat = self._transforms(polynomials)
        values = ops.ntt(flat, axis=-3, perm=self.perm, q=self.q, psi=self.psi)
        return values.reshape(*polynomials.shape)

    def intt(self, polynomials: cw.Tensor) -> cw.Tensor:
        """[..., N, k] NTT domain, natural order -> coefficients."""
        flat = self._transforms(polynomials)
        coefficients = ops.intt(
            flat, perm=self.perm, q=self.q, psi_inv=self.psi_inv, n_inv=self.n_inv
        )
        return coefficients.reshape(*polynomials.shape)

    def _transforms(self, polynomials: cw.Tensor) -> cw.Tensor:
        """[..., N, k] -> [l, N, 1, k], the layout of the transforms."""
        return polynomials.reshape(prod(polynomials.shape[:-2]), self.degree, 1, self.limbs)

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
            half_residues=_integers([last // 2 % m for m in kept]),
            inverse=_integers([pow(last, -1, m) for m in kept]),
        )
