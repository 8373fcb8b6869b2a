"""Sums of points by wires: a sparse matrix of small numbers times a vector of points.

Additions of many pairs share their inversions, so that one costs a hundredth of a multiplication:
sums are trees of them, and multiples of small numbers sums of doubled sums, bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import cloakwork as cw
from cloakwork import _core, ops
from cloakwork._core import Tensor

# Bits of a multiple that is summed bit by bit; others are multiplied.
_SMALL_BITS = 40


@dataclass(frozen=True)
class Terms:
    """Terms of sums: `values[i]` times the point `places[i]` of a table belongs to sum `sums[i]`.

    sums, places   i64 [terms]
    values         scalars [terms]
    """

    sums: Tensor
    places: Tensor
    values: Tensor


def sums_of(terms: Terms, table: Tensor, count: int) -> Tensor:
    """The sums, [count]; one without terms is the point at infinity."""
    small, negative, size = _magnitudes(terms.values)
    both = cw.concat([table, ops.negative(table)])
    places = cw.where(negative, terms.places + table.shape[0], terms.places)
    (wide,) = cw.nonzero(~small)
    products = ops.curve_mul(cw.take(terms.values, wide), cw.take(table, cw.take(terms.places, wide)))
    parts, owners = [products], [cw.take(terms.sums, wide)]
    (heavy,) = cw.nonzero(small & (size > 1))
    if heavy.shape[0]:
        of_heavy = (cw.take(part, heavy) for part in (terms.sums, places, size))
        found, doubled = _doubled(*of_heavy, both)
        parts.append(doubled)
        owners.append(found)
    (odd,) = cw.nonzero(small & ((size & 1) == 1))
    parts.append(cw.take(both, cw.take(places, odd)))
    owners.append(cw.take(terms.sums, odd))
    return summed(cw.concat(parts), cw.concat(owners), count)


def _magnitudes(values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Which values are small up to their sign, which of them are negative, and their size, i64."""
    sides = [ops.to_canonical(side) for side in (values, ops.negative(values))]
    low = [side[:, 0] for side in sides]
    rest = [side[:, 1] | side[:, 2] | side[:, 3] for side in sides]
    bound = cw.asarray(1 << _SMALL_BITS, dtype="u64")
    fits = [(high == 0) & (word < bound) for high, word in zip(rest, low, strict=True)]
    negative = fits[1] & ~fits[0]
    size = cw.where(negative, low[1], low[0])
    small = fits[0] | fits[1]
    return small, negative, cw.astype(cw.where(small, size, cw.zeros_like(size)), cw.int64)


def _doubled(sums: Tensor, places: Tensor, size: Tensor, both: Tensor) -> tuple[Tensor, Tensor]:
    """The sums with terms above 1: their numbers, and their values but for odd parts of terms."""
    found, owners = cw.unique_inverse(sums)
    total: Tensor | None = None
    for bit in range(int(cw.max(size)).bit_length() - 1, 0, -1):
        (chosen,) = cw.nonzero(((size >> bit) & 1) == 1)
        if total is not None:
            total = total + total
        if chosen.shape[0]:
            terms = cw.take(both, cw.take(places, chosen))
            now = summed(terms, cw.take(owners, chosen), found.shape[0])
            total = now if total is None else total + now
    assert total is not None
    return found, total + total


def summed(points: Tensor, sums: Tensor, count: int) -> Tensor:
    """Points added up by the number of their sum: [count], infinity where there are none."""
    order = cw.argsort(sums, stable=True)
    points, sums = cw.take(points, order), cw.take(sums, order)
    numbers = cw.arange(count + 1, dtype="i64")
    while True:
        starts = cw.searchsorted(sums, numbers)
        lengths = starts[1:] - starts[:-1]
        if points.shape[0] == 0 or int(cw.max(lengths)) <= 1:
            break
        place = cw.arange(points.shape[0], dtype="i64") - cw.take(starts, sums)
        even = (place & 1) == 0
        paired = even & (place + 1 < cw.take(lengths, sums))
        (left,) = cw.nonzero(paired)
        (kept,) = cw.nonzero(even)
        added = cw.take(points, left) + cw.take(points, left + 1)
        joins = cw.take(paired, kept)
        rank = cw.cumulative_sum(cw.astype(joins, cw.int64)) - 1
        chosen = cw.where(joins, rank, kept + left.shape[0])
        points = cw.take(cw.concat([added, points]), chosen)
        sums = cw.take(sums, kept)
    infinity = _core.elements_of_file(
        ops.zeros((points.dtype.itemsize,), _core.uint8), points.dtype
    )
    held = cw.concat([points, infinity])
    return cw.take(held, cw.where(lengths == 1, starts[:-1], points.shape[0]))
