"""The canonical embedding: N / 2 complex slots <-> one polynomial of degree < N.

Slot j of a polynomial m is its value m(zeta^(5^j)) with zeta = exp(i pi / N); the powers of 5 are
half of the odd exponents mod 2 N, the other half are their conjugates.  With that order the
automorphism X -> X^(5^r) is a rotation of the slots by r.
"""

from __future__ import annotations

from functools import lru_cache
from math import log2

import numpy as np
from numpy.typing import ArrayLike, NDArray

import cloakwork as cw
from cloakwork import ops
from cloakwork.errors import EncodeError
from cloakwork.fhe.ciphertext import Plaintext
from cloakwork.fhe.context import Context

# Coefficients become int64 before they are reduced.
_COEFFICIENT_LOG2 = 62
# Digits of this size are exact in float64 with room for their sums.
_DECODE_BASE_LOG2 = 30


@lru_cache(maxsize=8)
def _slot_positions(degree: int) -> NDArray[np.int64]:
    """[N / 2]: slot j stands at FFT position (5^j mod 2 N - 1) / 2, by doubling."""
    powers = np.ones(1, dtype=np.int64)
    while len(powers) < degree // 2:
        powers = np.concatenate((powers, powers * pow(5, len(powers), 2 * degree) % (2 * degree)))
    return (powers - 1) // 2


def _twist(degree: int) -> NDArray[np.complex128]:
    """[N]: zeta^i, which turns an FFT over powers of zeta^2 into one over odd powers of zeta."""
    return np.asarray(np.exp(1j * np.pi / degree * np.arange(degree)))


def embed_inverse(slots: NDArray[np.complex128], degree: int) -> NDArray[np.float64]:
    """[..., N / 2] slots -> [..., N] real coefficients, unscaled; O(N log N)."""
    positions = _slot_positions(degree)
    values = np.empty((*slots.shape[:-1], degree), dtype=np.complex128)
    values[..., positions] = slots
    values[..., degree - 1 - positions] = slots.conj()
    return np.ascontiguousarray((np.fft.fft(values) / degree * _twist(degree).conj()).real)


def embed(coefficients: NDArray[np.float64], degree: int) -> NDArray[np.complex128]:
    """[..., N] coefficients -> [..., N / 2] slots, unscaled; O(N log N)."""
    values = np.fft.ifft(coefficients * _twist(degree)) * degree
    return np.asarray(values[..., _slot_positions(degree)])


def scaled_integers(values: NDArray[np.float64], scale: float, modulus: int) -> NDArray[np.int64]:
    """Nearest integers to scale * values; EncodeError unless they fit int64 and the modulus."""
    with np.errstate(over="ignore"):  # what overflows is refused next
        scaled = np.rint(values * scale)
    largest = float(np.abs(scaled).max(initial=0.0))
    limit_log2 = min(_COEFFICIENT_LOG2, log2(modulus) - 1)
    if not largest < 2.0**limit_log2:
        raise EncodeError(
            f"a coefficient of the values times the scale 2^{log2(scale):.2f} is {largest:.3g}; "
            f"it must be finite and below 2^{limit_log2:.2f}: take smaller values or scale"
        )
    return scaled.astype(np.int64)


def encode(
    context: Context, values: ArrayLike, *, level: int | None = None, scale: float | None = None
) -> Plaintext:
    """Encode real or complex values, one a slot.

    Shape    [..., n], n <= N / 2 (the other slots hold 0) -> data [..., N, level + 1]
    Domain   NTT
    Scale    `scale`, by default that of the parameters; level: by default the highest
    Noise    rounding: a slot is off by about sqrt(N / 12) / scale

    Raises EncodeError when there are too many values, or when they do not fit.
    """
    parameters = context.parameters
    level = parameters.level if level is None else level
    scale = parameters.scale if scale is None else scale
    ring = context.ring(level, "encode")
    given = np.atleast_1d(np.asarray(values, dtype=np.complex128))
    if given.shape[-1] > parameters.slots:
        raise EncodeError(
            f"{given.shape[-1]} values on the last axis; degree {parameters.degree} has "
            f"{parameters.slots} slots: split them over a batch"
        )
    slots = np.zeros((*given.shape[:-1], parameters.slots), dtype=np.complex128)
    slots[..., : given.shape[-1]] = given
    with np.errstate(invalid="ignore"):  # infinities become NaN, which is refused next
        coefficients = embed_inverse(slots, parameters.degree)
    integers = scaled_integers(coefficients, scale, ring.modulus)
    return Plaintext(ring.ntt(ring.residues(cw.asarray(integers))), level, scale)


def decode(context: Context, plaintext: Plaintext) -> NDArray[np.complex128]:
    """Slots [..., N / 2] of a plaintext at any level, divided by its scale.

    The centred value of a coefficient x in [0, Q) is x + floor(Q / 2) mod Q, minus floor(Q / 2).
    Both are taken in digits; their differences, summed from the high digit down, stay exact until
    the value itself exceeds 2^53, whatever the size of Q.
    """
    ring = context.ring(plaintext.level, "decode")
    half = ring.modulus // 2
    count, base = ring.digit_count(_DECODE_BASE_LOG2), 1 << _DECODE_BASE_LOG2
    shifted = ops.modsum(ring.intt(plaintext.data), ring.constant(half), ring.q)
    batch = shifted.shape[:-2]
    flat = shifted.reshape(int(np.prod(batch)), ring.degree, ring.limbs)
    digits = np.asarray(ring.digits(flat, _DECODE_BASE_LOG2))
    centred = np.zeros((digits.shape[0], ring.degree))
    for place in reversed(range(count)):
        half_digit = (half >> (place * _DECODE_BASE_LOG2)) % base
        centred = centred * float(base) + (digits[:, place] - half_digit)
    coefficients = (centred / plaintext.scale).reshape(*batch, ring.degree)
    return embed(coefficients, ring.degree)
