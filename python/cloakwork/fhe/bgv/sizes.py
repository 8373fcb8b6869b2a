"""Sizes of BGV's polynomials, valid even if their factors are correlated.

A ciphertext hides v = c0 + c1 s, message and errors together, and decrypts while every coefficient
of v stays below half the modulus.  Three sizes of v are tracked, because products need all three:
with v(zeta) over the primitive 2N-th roots of unity,

    largest |(v w)_i|  <=  |v| |w|                                       (Cauchy and Schwarz)
    |v w|              <=  largest |v(zeta)| times |w|, and the other way round
    largest |(v w)(zeta)|  <=  largest |v(zeta)| times largest |w(zeta)|

These also hold for correlated factors: v(X) v(1 / X), which a ciphertext times its own exchange of
rows hides, has the sum of all v_i^2 as its coefficient 0, sqrt(N) times the coefficient of
independent factors.  Only the errors of encryption, key switching and divisions are random
(`drawn`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, log2, sqrt

import numpy as np
from numpy.typing import NDArray

from cloakwork.fhe.encoding.embedding import embed
from cloakwork.fhe.estimates.noise import total
from cloakwork.fhe.parameters import Parameters
from cloakwork.lazy import public

# Random errors stay within their sizes, except with a chance of 2^-40.
CHANCE_LOG2 = 40
_TAIL = CHANCE_LOG2 * log(2)
# Deviations for sqrt(pi k) in the chance of a product, up to degree 2^17, with some room.
_MORE = 2.0
# The relative error of the floats with which a plaintext's embedding is computed.
_FLOATS = 1 + 2.0**-40


@public("cloakwork.fhe")
@dataclass(frozen=True)
class Sizes:
    """log2 of bounds on a polynomial.

    coefficient   its coefficients
    norm          the root of the sum of their squares, which is the root mean square of its
                  values at the primitive 2N-th roots of unity
    value         those values
    """

    coefficient: float
    norm: float
    value: float

    def plus(self, *others: Sizes) -> Sizes:
        """The sizes of a sum."""
        rows = zip(*map(Sizes.each, (self, *others)), strict=True)
        return Sizes(*(total(*row) for row in rows))

    def most(self, *others: Sizes) -> Sizes:
        """Sizes that hold for each."""
        return Sizes(*map(max, zip(*map(Sizes.each, (self, *others)), strict=True)))

    def scaled(self, bits: float) -> Sizes:
        """The sizes of 2^bits times the polynomial."""
        return Sizes(*(size + bits for size in self.each()))

    def times(self, other: Sizes) -> Sizes:
        """The sizes of a product."""
        norm = min(self.value + other.norm, self.norm + other.value)
        return Sizes(self.norm + other.norm, norm, self.value + other.value)

    def each(self) -> tuple[float, float, float]:
        """The three."""
        return self.coefficient, self.norm, self.value

    def within(self, other: Sizes, slack: float) -> bool:
        """Whether no size exceeds another's by more than some bits."""
        return all(a <= b + slack for a, b in zip(self.each(), other.each(), strict=True))


def drawn(parameters: Parameters, deviation: float, secrets: int = 1) -> Sizes:
    """The error of encryption, a key switch or a division: a random polynomial times others.

    deviation   log2 of its root mean square in the embedding
    secrets     of which it is a multiple, such as r1 in r0 + r1 s; errors of keys count as well

    Given these factors, the polynomial is a sum of independent small numbers, sub-Gaussian with
    weights |s(zeta)|^2 of the secret's values, and s is drawn as well.  Sums of squares stay within
    their mean, 2 sqrt(x max sum) and 2 x max of their weights (Laurent and Massart, Annals of
    Statistics 28, 2000, Lemma 1).  A value is a product of two Gaussian-like numbers: it exceeds k
    deviations with a chance of about sqrt(pi k) e^-2k.
    """
    degree = parameters.degree
    each = _TAIL + log(2 * degree)
    # The weights' largest over their mean, and how far the mean itself may be off.
    peak = each**secrets
    mean = log2(1 + 2 * sqrt(_TAIL / degree) + 2 * _TAIL / degree) * secrets / 2
    spread = log2(1 + 2 * sqrt(_TAIL * peak / degree) + 2 * _TAIL * peak / degree) / 2
    coefficient = deviation - log2(degree) / 2 + log2(2 * each) / 2 + mean
    norm = min(deviation + spread + mean, coefficient + log2(degree) / 2)
    value = log2(each / 2 + _MORE) if secrets == 1 else log2(peak * each) / 2
    return Sizes(coefficient, norm, deviation + value)


def any_message(parameters: Parameters) -> Sizes:
    """The sizes of any plaintext mod t: those of an encrypted one would reveal information."""
    half, degree = log2(parameters.plain_modulus) - 1, log2(parameters.degree)
    return Sizes(half, half + degree / 2, half + degree)


def unknown(parameters: Parameters, norm: float) -> Sizes:
    """The sizes of a polynomial of which only the norm is known."""
    return Sizes(norm, norm, norm + log2(parameters.degree) / 2)


def constant(integer: int) -> Sizes:
    """The sizes of an integer, which has that value in every slot."""
    size = log2(max(abs(integer), 1))
    return Sizes(size, size, size)


def of_coefficients(coefficients: NDArray[np.int64]) -> list[Sizes]:
    """The sizes of known polynomials [B, N]."""
    floats = coefficients.astype(np.float64)
    found = np.stack((
        np.abs(floats).max(axis=1),
        np.sqrt(np.square(floats).sum(axis=1)),
        np.abs(embed(floats, floats.shape[1])).max(axis=1),
    ), axis=1)  # fmt: skip
    return [Sizes(*map(float, row)) for row in np.log2(np.maximum(found * _FLOATS, 1.0))]
