"""CKKS arithmetic on ciphertexts: Tensor operations only, so that the same code traces.

Every method takes and gives canonical residues in the NTT domain, [..., 2, N, level + 1], and
leaves its operands as they are.
"""

from __future__ import annotations

from math import isclose, log2, prod

import numpy as np
from numpy.typing import ArrayLike

import cloakwork as cw
from cloakwork import ops
from cloakwork.errors import LevelError, MissingKeyError, ScaleError
from cloakwork.fhe.ciphertext import Ciphertext, Plaintext, component
from cloakwork.fhe.context import Context
from cloakwork.fhe.encoding import scaled_integers
from cloakwork.fhe.keys import RelinearizationKey
from cloakwork.fhe.ring import Ring

# Scales this close count as one: a sum is then off by less than 2^-30 of its value.
_SCALE_TOLERANCE = 2.0**-30


class Evaluator:
    """Arithmetic under one context; products of ciphertexts need the relinearization key."""

    def __init__(
        self, context: Context, relinearization_key: RelinearizationKey | None = None
    ) -> None:
        self.context = context
        self._relinearization_key = relinearization_key

    def add(self, a: Ciphertext, b: Ciphertext) -> Ciphertext:
        """A + b.  Noise: the sum of both.  Levels and scales must agree."""
        ring = self._matched("add", a, b)
        return Ciphertext(ops.modsum(a.data, b.data, ring.q), a.level, a.scale)

    def subtract(self, a: Ciphertext, b: Ciphertext) -> Ciphertext:
        """A - b.  Noise: the sum of both.  Levels and scales must agree."""
        ring = self._matched("subtract", a, b)
        negated = ops.modneg(b.data, ring.q)
        return Ciphertext(ops.modsum(a.data, negated, ring.q), a.level, a.scale)

    def add_plain(self, a: Ciphertext, b: Plaintext) -> Ciphertext:
        """A + b.  Noise: that of a.  Levels and scales must agree."""
        ring = self._matched("add_plain", a, b)
        # Adding zero is a copy, into storage that the sum may be written to.
        data = ops.modsum(a.data, 0, ring.q)
        body = component(data, 0)
        ops.modsum(body, b.data, ring.q, out=body)
        return Ciphertext(data, a.level, a.scale)

    def add_constants(self, a: Ciphertext, values: ArrayLike) -> Ciphertext:
        """Add one real number to all slots of each ciphertext of a batch.

        Shape    a [..., 2, N, k], values [...] (broadcast)
        """
        ring = self.context.ring(a.level, "add_constants")
        numbers = np.asarray(values, dtype=np.float64)
        integers = scaled_integers(numbers, a.scale, ring.modulus)
        # A constant polynomial is that constant everywhere in the NTT domain; c1 gets zero.
        both = np.stack((integers, np.zeros_like(integers)), axis=-1)[..., np.newaxis]
        addend = ring.residues(cw.asarray(both))
        return Ciphertext(ops.modsum(a.data, addend, ring.q), a.level, a.scale)

    def multiply_plain(self, a: Ciphertext, b: Plaintext) -> Ciphertext:
        """A * b, slot by slot.  Scale: the product of both.  Noise: a's times |b| * b.scale."""
        ring = self._same_level("multiply_plain", a, b)
        scale = self._product_scale("multiply_plain", ring, a.scale, b.scale)
        factor = b.data.unsqueeze(b.data.ndim - 2)
        return Ciphertext(ops.modmul(a.data, factor, ring.q), a.level, scale)

    def weighted_sums(self, a: Ciphertext, weights: ArrayLike) -> Ciphertext:
        """Rows of a matrix times a batch of ciphertexts: out[h] = sum over i of weights[h, i] a[i].

        Shape    a [S, 2, N, k], weights [H, S] -> [H, 2, N, k]
        Scale    a.scale * q_level, so that rescaling restores a.scale to the last bit
        Noise    that of a, weighted; rounding of a weight is 2^-1 / q_level

        One fused multiply-and-sum; each weight is seen by all N positions through a view of
        stride 0.
        """
        ring = self.context.ring(a.level, "weighted_sums")
        weight_scale = float(ring.moduli[-1])
        scale = self._product_scale("weighted_sums", ring, a.scale, weight_scale)
        matrix = np.asarray(weights, dtype=np.float64)
        positions = 2 * ring.degree
        integers = scaled_integers(matrix, weight_scale, ring.modulus)
        rows = ring.residues(cw.asarray(integers)).unsqueeze(1).expand(1, positions)
        columns = a.data.moveaxis(0, 2).reshape(positions, a.data.shape[0], ring.limbs)
        sums = ops.modmul_axis_sum(
            rows, columns, q=ring.q, perm=None, out=None, apply_perm=False, axis=-3
        )
        return Ciphertext(sums.reshape(matrix.shape[0], 2, ring.degree, ring.limbs), a.level, scale)

    def multiply(self, a: Ciphertext, b: Ciphertext) -> Ciphertext:
        """A * b, slot by slot, relinearized; the shapes must agree.

        Scale    the product of both; rescale next
        Noise    a's times b's message and back, plus 3.2 * 2^w * sqrt(digits * N / 3)
        """
        ring = self._same_level("multiply", a, b)
        scale = self._product_scale("multiply", ring, a.scale, b.scale)
        a0, a1 = _components(a.data, ring)
        b0, b1 = _components(b.data, ring)
        data = cw.empty((a0.shape[0], 2, ring.degree, ring.limbs), "i64")
        cross = component(data, 1)
        ops.modmul(a0, b0, ring.q, out=component(data, 0))
        ops.modmul(a0, b1, ring.q, out=cross)
        ops.modsum(cross, ops.modmul(a1, b0, ring.q), ring.q, out=cross)
        self._relinearize_assign(data, ops.modmul(a1, b1, ring.q), ring)
        return Ciphertext(data.reshape(*a.data.shape), a.level, scale)

    def square(self, a: Ciphertext) -> Ciphertext:
        """A * a with one product fewer than `multiply`."""
        ring = self.context.ring(a.level, "square")
        scale = self._product_scale("square", ring, a.scale, a.scale)
        a0, a1 = _components(a.data, ring)
        data = cw.empty((a0.shape[0], 2, ring.degree, ring.limbs), "i64")
        cross = component(data, 1)
        ops.modmul(a0, a0, ring.q, out=component(data, 0))
        ops.modmul(a0, a1, ring.q, out=cross)
        ops.modsum(cross, cross, ring.q, out=cross)
        self._relinearize_assign(data, ops.modmul(a1, a1, ring.q), ring)
        return Ciphertext(data.reshape(*a.data.shape), a.level, scale)

    def _relinearize_assign(self, data: cw.Tensor, quadratic: cw.Tensor, ring: Ring) -> None:
        """Add quadratic * s^2 to data [B, 2, N, k]; quadratic [B, N, k].

        quadratic = sum over j of digit_j 2^(w j) as integers below Q, and the key holds
        2^(w j) s^2: the sum over j of digit_j * key_j is the encryption sought.
        """
        key = self._relinearization_key
        if key is None:
            raise MissingKeyError(
                "multiplying ciphertexts needs a relinearization key: "
                "Evaluator(context, secret.relinearization_key())"
            )
        base_log2 = self.context.parameters.gadget_base_log2
        digits = ring.digits(ring.intt(quadratic), base_log2)
        # A digit lies below every modulus, so it is its own residue for each of them: tile.
        spread = ops.ntt(
            digits.unsqueeze(2), axis=-1, perm=ring.perm, q=ring.q, psi=ring.psi, tile=True
        )
        for part in range(2):
            ops.modmul_axis_sum(
                spread,
                key.at(ring, part),
                q=ring.q,
                perm=None,
                out=component(data, part).moveaxis(-1, -2),
                apply_perm=False,
                axis=-1,
            )

    def rescale(self, a: Ciphertext) -> Ciphertext:
        """Divide by the last modulus, rounding to nearest.

        Shape    [..., 2, N, k] -> [..., 2, N, k - 1]
        Scale    a.scale / q_level
        Noise    that of a divided by q_level, plus at most (1 + h) / 2 a coefficient, h the
                 Hamming weight of the secret (in practice about sqrt((1 + h) / 12))
        """
        if a.level == 0:
            raise LevelError("rescale", "level 1 or more", 0, "begin with a longer modulus chain")
        last = self.context.last_limb(a.level)
        ring = self.context.ring(a.level - 1, "rescale")
        q_last = last.ring.moduli[0]
        remainder = last.ring.intt(_limbs(a.data, a.level, a.level + 1))
        # With r in [0, q_last): half - (r + half mod q_last) is minus the centred remainder.
        shifted = ops.modsum(remainder, last.half, q_last)
        spread = shifted.expand(shifted.ndim - 1, ring.limbs)
        negated = ops.modsum(ops.modneg(spread, ring.q), last.half_residues, ring.q)
        difference = ops.modsum(_limbs(a.data, 0, a.level), ring.ntt(negated), ring.q)
        data = ops.modmul(difference, last.inverse, ring.q)
        return Ciphertext(data, a.level - 1, a.scale / q_last)

    def drop_to_level(self, a: Ciphertext, level: int) -> Ciphertext:
        """The same message with fewer limbs; scale and noise stay."""
        if not 0 <= level <= a.level:
            raise LevelError(
                "drop_to_level",
                f"a target from 0 to {a.level} (got {level})",
                a.level,
                "levels only go down",
            )
        return Ciphertext(_limbs(a.data, 0, level + 1).contiguous(), level, a.scale)

    def _same_level(self, op: str, a: Ciphertext, b: Ciphertext | Plaintext) -> Ring:
        if a.level != b.level:
            raise LevelError(
                op,
                f"operands at one level (the first is at {a.level})",
                b.level,
                "bring the higher one down with drop_to_level, or encode lower",
            )
        return self.context.ring(a.level, op)

    def _matched(self, op: str, a: Ciphertext, b: Ciphertext | Plaintext) -> Ring:
        ring = self._same_level(op, a, b)
        if not isclose(a.scale, b.scale, rel_tol=_SCALE_TOLERANCE):
            raise ScaleError(
                op,
                f"the scale 2^{log2(a.scale):.9f} of the first operand",
                log2(b.scale),
                "rescale, or encode at the first operand's scale",
            )
        return ring

    def _product_scale(self, op: str, ring: Ring, first: float, second: float) -> float:
        """First * second; ScaleError unless a message of size 1 fits below Q / 2 with it."""
        product = first * second
        if 2 * product >= ring.modulus:
            raise ScaleError(
                op,
                f"less than half the modulus 2^{log2(ring.modulus):.2f}",
                log2(product),
                "rescale first, or begin with a longer chain",
            )
        return product


def _components(data: cw.Tensor, ring: Ring) -> tuple[cw.Tensor, cw.Tensor]:
    """c0 and c1 [B, N, k] of [..., 2, N, k]."""
    flat = data.reshape(prod(data.shape[:-3]), 2, ring.degree, ring.limbs)
    return component(flat, 0), component(flat, 1)


def _limbs(data: cw.Tensor, start: int, stop: int) -> cw.Tensor:
    """View of limbs start to stop - 1."""
    return data[(slice(None),) * (data.ndim - 1) + (slice(start, stop),)]
