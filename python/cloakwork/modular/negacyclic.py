"""The negacyclic NTT of Z_q[X] / (X^N + 1) for primes q = 1 mod 2N: tables, and both directions.

Polynomials are int64 tensors [..., N, k]: a limb a modulus, values in [0, q_i).  In the NTT domain,
in natural order, entry j of limb i is the polynomial at psi_i^(2 j + 1).
"""

from __future__ import annotations

from math import prod

import numpy as np

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.modular.primes import primitive_root
from cloakwork.tensors.conversion import asarray


def integers(values: int | list[int] | list[list[int]]) -> Tensor:
    """An int64 tensor of Python's integers."""
    return asarray(np.array(values, dtype=np.int64))


def bit_reversal(degree: int) -> Tensor:
    """[N] int64: entry i is i with its log2(N) bits in reverse order."""
    order = np.zeros(1, dtype=np.int64)
    while len(order) < degree:
        order = np.concatenate((2 * order, 2 * order + 1))
    return asarray(order)


def _twiddles(degree: int, roots: list[int], moduli: tuple[int, ...], q: Tensor) -> Tensor:
    """[k, N]: roots[j]^bitrev(i) mod q_j.

    For i in [half, 2 half): bitrev(i) = bitrev(i - half) + N / (2 half), so each half of the table
    is the one before times one power of the root: log2(N) tensor operations.
    """
    # Not made by an op: a trace would record that, and the table outlives it.
    table = asarray(np.ones((degree, len(roots)), dtype=np.int64))
    half = 1
    while half < degree:
        exponent = degree // (2 * half)
        step = [pow(root, exponent, m) for root, m in zip(roots, moduli, strict=True)]
        ops.modmul(table[0:half, :], integers(step), q, out=table[half : 2 * half, :])
        half *= 2
    return table.moveaxis(0, 1).contiguous()


class Transform:
    """The NTT of one degree for some moduli."""

    def __init__(self, degree: int, moduli: tuple[int, ...]) -> None:
        roots = [primitive_root(2 * degree, m) for m in moduli]
        inverses = [pow(root, -1, m) for root, m in zip(roots, moduli, strict=True)]
        self.degree, self.limbs = degree, len(moduli)
        self.q = integers([*moduli])
        self.perm = bit_reversal(degree)
        self.psi = _twiddles(degree, roots, moduli, self.q)
        self.psi_inv = _twiddles(degree, inverses, moduli, self.q)
        self.n_inv = integers([pow(degree, -1, m) for m in moduli])

    def ntt(self, polynomials: Tensor) -> Tensor:
        """[..., N, k] coefficients -> NTT domain, natural order."""
        values = ops.ntt(self._rows(polynomials), perm=self.perm, q=self.q, psi=self.psi)
        return values.reshape(*polynomials.shape)

    def intt(self, polynomials: Tensor) -> Tensor:
        """[..., N, k] NTT domain, natural order -> coefficients."""
        coefficients = ops.intt(
            self._rows(polynomials),
            perm=self.perm,
            q=self.q,
            psi_inv=self.psi_inv,
            n_inv=self.n_inv,
        )
        return coefficients.reshape(*polynomials.shape)

    def _rows(self, polynomials: Tensor) -> Tensor:
        """[..., N, k] -> [l, N, 1, k], the layout of the ops."""
        return polynomials.reshape(prod(polynomials.shape[:-2]), self.degree, 1, self.limbs)
