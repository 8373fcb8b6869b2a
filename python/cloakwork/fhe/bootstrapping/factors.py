"""The maps between slots and coefficients, factored as the stages of an FFT.

The slots z of a polynomial with the 2 n coefficients m are z = U w, w[k] = m[k] + i m[k + n],
U[j, k] = xi^(5^j k), xi = exp(i pi / (2 n)).  U is a product of log2(n) butterfly stages after a
bit reversal (Chen, Chillotti and Song, ePrint 2018/1043).  Both directions leave the bit reversal
out: slots hold the coefficients in that order between them.

A map is {offset: values [n]}: slot j of its result is the sum of values[j] * slot (j + offset).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import gcd

import numpy as np
from numpy.typing import NDArray

from cloakwork.fhe.encoding.exponents import rotation_exponents

Values = NDArray[np.complex128]
Diagonals = dict[int, Values]


def slot_stages(slots: int) -> list[Diagonals]:
    """From coefficients in bit-reversed order to slots: one butterfly stage after the other."""
    return [_stage(slots, 2 << log) for log in range(slots.bit_length() - 1)]


def coefficient_stages(slots: int) -> list[Diagonals]:
    """The inverse of `slot_stages`, from slots to coefficients."""
    return [_inverse(stage, slots) for stage in reversed(slot_stages(slots))]


def _stage(slots: int, length: int) -> Diagonals:
    """Butterflies (u, v) -> (u + t v, u - t v) over blocks of `length` slots."""
    half = length // 2
    exponents = rotation_exponents(2 * slots)[:half] % (4 * length) * (slots // length)
    twiddles = np.exp(2j * np.pi * exponents / (4 * slots))
    ones, zeros = np.ones(half, dtype=np.complex128), np.zeros(half, dtype=np.complex128)

    def spread(low: Values, high: Values) -> Values:
        return np.tile(np.concatenate((low, high)), slots // length)

    stays = {0: spread(ones, -twiddles)}
    return _sum(stays, {half: spread(twiddles, zeros)}, {slots - half: spread(zeros, ones)})


def _inverse(stage: Diagonals, slots: int) -> Diagonals:
    """A stage is sqrt(2) times a unitary map: half its adjoint."""
    turned = ({-k % slots: np.roll(values.conj(), k) / 2} for k, values in stage.items())
    return _sum(*turned)


def _sum(*maps: Diagonals) -> Diagonals:
    found: Diagonals = {}
    for own in maps:
        for offset, values in own.items():
            found[offset] = found[offset] + values if offset in found else values
    return found


def composed(outer: Diagonals, inner: Diagonals) -> Diagonals:
    """The map `outer` after the map `inner`."""
    found: Diagonals = {}
    for first, values in outer.items():
        for second, others in inner.items():
            product = values * np.roll(others, -first)
            offset = (first + second) % len(values)
            found[offset] = found[offset] + product if offset in found else product
    return {offset: values for offset, values in found.items() if values.any()}


def grouped(stages: Sequence[Diagonals], groups: int) -> list[Diagonals]:
    """Neighbouring stages composed into `groups` maps, of about as many stages each."""
    cuts = [round(number * len(stages) / groups) for number in range(groups + 1)]
    found = []
    for start, stop in pairwise(cuts):
        whole = stages[start]
        for stage in stages[start + 1 : stop]:
            whole = composed(stage, whole)
        found.append(whole)
    return found


def applied(own: Diagonals, values: Values) -> Values:
    """The map of plain values [n]."""
    return np.asarray(sum(each * np.roll(values, -k) for k, each in own.items()))


def scaled(own: Diagonals, after: complex | Values, before: Values | None = None) -> Diagonals:
    """The map with its results times a number, or a number a slot, and its slots times others.

    Numbers for the slots, [p n], make a map of p n slots whose vectors repeat every n before it.
    """
    wide = max(np.size(after), 1 if before is None else len(before), len(next(iter(own.values()))))
    found = {}
    for offset, values in own.items():
        whole = np.tile(values, wide // len(values)) * after
        found[offset] = whole if before is None else whole * np.roll(before, -offset)
    return found


def centred(own: Diagonals, count: int) -> Diagonals:
    """The same for vectors that repeat every `count` slots: offsets nearest 0."""
    return {k - count if k > count // 2 else k: values for k, values in own.items()}


def stride(own: Diagonals) -> int:
    """The largest number that divides all offsets, or 1."""
    return gcd(*own) or 1


def turned(maps: Sequence[Diagonals], count: int) -> list[Diagonals]:
    """Maps with the same product, one after the other, whose offsets begin at 0 or above.

    Results in between are rotated.  A rotation of a map's result by t adds t to its offsets; the
    next map subtracts t from its own.  The offsets of a map of g stages are the multiples of its
    stride s between +-2^g s; only those of the widest map go round the vector of `count` slots.
    The others are moved up by 2^g s, the stride of the next wider map, or by a stride less, which
    add up to the stride of the widest: moved down by it, its offsets stay the same.
    """
    strides = [stride(each) for each in maps]
    widths = sorted(strides)
    moved = {
        small: large - small * (place > 0) for place, (small, large) in enumerate(pairwise(widths))
    }
    moved[widths[-1]] = -sum(moved.values())
    turn, found = 0, []
    for each, width in zip(maps, strides, strict=True):
        turn += moved[width]
        offsets = centred(each, count)
        own = {k + moved[width]: np.roll(values, -turn) for k, values in offsets.items()}
        goes_round = width == widths[-1]
        found.append({k % count: values for k, values in own.items()} if goes_round else own)
    return found


def baby_steps(own: Diagonals, *, few: bool) -> int:
    """The distance of giant steps: about as many baby steps, or where this takes few keys fewer."""
    width = stride(own)
    places = max(own) // width
    return width << (places.bit_length() + (not few)) // 2
