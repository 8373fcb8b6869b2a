"""The canonical embedding: N / 2 complex slots <-> one polynomial of degree < N.

Slot j of a polynomial m is its value m(zeta^(5^j)) with zeta = exp(i pi / N); the powers of 5 are
half of the odd exponents mod 2 N, the other half are their conjugates.  With that order the
automorphism X -> X^(5^r) is a rotation of the slots by r.  Another `generator` may stand for 5: 3
is that of SEAL.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, isfinite, log2

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import EncodeError
from cloakwork.fhe.arguments import numbers
from cloakwork.fhe.encoding.exponents import rotation_exponents
from cloakwork.fhe.encoding.packing import check_axes
from cloakwork.fhe.rns.coefficients import centred, digits
from cloakwork.fhe.rns.layout import limb_range
from cloakwork.fhe.rns.tables import Basis, Tables
from cloakwork.tensors.conversion import asarray

Slots = NDArray[np.complex128]

# Coefficients are converted to int64 before reduction; larger ones to integers times 2^e.
_COEFFICIENT_LOG2 = 62
# Slots are decoded below 2^64, or below their known size; higher limbs hold no information.
_DECODE_LOG2 = 66


@lru_cache(maxsize=8)
def _slot_positions(degree: int, generator: int) -> NDArray[np.int64]:
    """[N / 2]: slot j stands at FFT position (5^j mod 2 N - 1) / 2."""
    return (rotation_exponents(degree, generator) - 1) // 2


@lru_cache(maxsize=8)
def _twist(degree: int) -> Slots:
    """[N]: zeta^i, which turns an FFT over powers of zeta^2 into one over odd powers of zeta."""
    return np.asarray(np.exp(1j * np.pi / degree * np.arange(degree)))


def embed_inverse(slots: Slots, degree: int, generator: int = 5) -> NDArray[np.float64]:
    """[..., N / 2] slots -> [..., N] real coefficients, unscaled; O(N log N)."""
    positions = _slot_positions(degree, generator)
    values = np.empty((*slots.shape[:-1], degree), dtype=np.complex128)
    values[..., positions] = slots
    values[..., degree - 1 - positions] = slots.conj()
    return np.ascontiguousarray((np.fft.fft(values) / degree * _twist(degree).conj()).real)


def embed(coefficients: NDArray[np.float64], degree: int, generator: int = 5) -> Slots:
    """[..., N] coefficients -> [..., N / 2] slots, unscaled; O(N log N)."""
    values = np.fft.ifft(coefficients * _twist(degree)) * degree
    return np.asarray(values[..., _slot_positions(degree, generator)])


def checked_values(values: ArrayLike, slots: int, batch: bool = False) -> Slots:
    """Finite complex values [n], or [B, n] of a batch, at most one per slot; else EncodeError."""
    try:
        given = numbers(values).astype(np.complex128)
    except (TypeError, OverflowError) as error:
        raise EncodeError(f"values that no float holds: {error}") from error
    check_axes(given.shape, slots, batch)
    if not np.isfinite(given).all():
        raise EncodeError("values that are not finite: NaN and infinity have no encoding")
    return given


def scaled_integers(
    values: NDArray[np.float64], scale: float, modulus: int
) -> tuple[NDArray[np.int64], int]:
    """(n, e): n 2^e are the nearest integers to scale * values, to the precision of a float.

    Raises EncodeError unless they stay below half the modulus.
    """
    largest = float(np.abs(values).max(initial=0.0))
    size = log2(largest) + log2(scale) if largest > 0.0 and isfinite(largest) else 0.0
    if not isfinite(largest) or size >= log2(modulus) - 1:
        raise EncodeError(
            f"the values times the scale 2^{log2(scale):.2f} reach 2^{size:.2f}; they must be "
            f"finite and below 2^{log2(modulus) - 1:.2f}: take smaller values or scale"
        )
    excess = max(ceil(size) - _COEFFICIENT_LOG2 + 1, 0)
    return np.rint(values * (scale / 2.0**excess)).astype(np.int64), excess


def encode(slots: Slots, scale: float, basis: Basis, modulus: int) -> Tensor:
    """[..., n] finite values -> [..., N, k] residues of scale times their polynomial, NTT."""
    filled = np.zeros((*slots.shape[:-1], basis.degree // 2), dtype=np.complex128)
    filled[..., : slots.shape[-1]] = slots
    coefficients = embed_inverse(filled, basis.degree, basis.generator)
    integers, excess = scaled_integers(coefficients, scale, modulus)
    values = basis.reduce(asarray(integers))
    if excess:
        ops.modmul(values, basis.constant(1 << excess), basis.q, out=values)
    batch = values if values.ndim == 3 else values.unsqueeze(0)
    basis.ntt(batch, out=batch)
    return values


def rounding(slots: Slots, scale: float, degree: int, generator: int = 5) -> NDArray[np.float64]:
    """[..., N / 2]: the errors of slots by the rounding of their polynomial's coefficients."""
    filled = np.zeros((*slots.shape[:-1], degree // 2), dtype=np.complex128)
    filled[..., : slots.shape[-1]] = slots
    exact = embed_inverse(filled, degree, generator) * scale
    return np.abs(embed(np.rint(exact) - exact, degree, generator))


def constant(value: float, scale: float, basis: Basis) -> tuple[Tensor, float]:
    """([k], actual): the residues of the integer nearest scale * value, and that over the scale.

    A constant polynomial is that constant everywhere in the NTT domain.
    """
    checked_values(value, 1)
    integer = round_product(value, scale)
    if 2 * abs(integer) >= basis.modulus:
        raise EncodeError(
            f"a number of 2^{log2(abs(integer)):.2f} with its scale; it must be below half the "
            f"modulus, 2^{log2(basis.modulus) - 1:.2f}: take a smaller number or scale"
        )
    return basis.constant(integer), abs(integer) / scale


def round_product(value: float, scale: float) -> int:
    """The integer nearest value * scale, exactly, however large."""
    (a, b), (c, d) = float(value).as_integer_ratio(), float(scale).as_integer_ratio()
    return (2 * a * c + b * d) // (2 * b * d)


def decode(values: Tensor, scale: float, tables: Tables, size: float = 0.0) -> Slots:
    """Slots [..., N / 2] of residues [..., N, k] in the NTT domain, divided by the scale.

    size   log2 of a bound on the slots
    """
    found, _ = message_coefficients(values, scale, tables, size)
    return embed(found / scale, tables.parameters.degree, tables.parameters.generator)


def message_coefficients(
    values: Tensor, scale: float, tables: Tables, size: float = 0.0
) -> tuple[NDArray[np.float64], Basis]:
    """[..., N, k] residues -> [..., N] centred coefficients, and the limbs that determine them."""
    level = decoding_level(values.shape[-1] - 1, scale, tables, size)
    basis = tables.chain(level)
    own = limb_range(values, 0, level + 1)
    batch = own if own.ndim == 3 else own.unsqueeze(0)
    found = centred(digits(batch, tables), basis)
    return found.reshape(values.shape[:-1]), basis


def decoding_level(level: int, scale: float, tables: Tables, size: float = 0.0) -> int:
    """The lowest level whose modulus holds values up to 2^64, or 2^size."""
    needed, whole = log2(scale) + max(_DECODE_LOG2, size + 2), 0.0
    for place, q in enumerate(tables.parameters.moduli[:level]):
        whole += log2(q)
        if whole >= needed:
            return place
    return level
