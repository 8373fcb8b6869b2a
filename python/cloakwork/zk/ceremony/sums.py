"""Sums of points by wires: a sparse matrix of small numbers times a vector of points.

Additions of many pairs share their inversions, so that one costs a hundredth of a multiplication:
sums are trees of them, and a small multiple of a point a sum of its doubles, which all multiples of
this point share.
"""

from __future__ import annotations

from dataclasses import dataclass

import cloakwork as cw
from cloakwork import _core, ops
from cloakwork._core import Tensor

# Bits of a multiple that is a sum of doubles; others are multiplied.
_SMALL_BITS = 40
# Most doubles that are kept: more terms than that are multiplied, too.
_MOST_DOUBLES = 1 << 22


@dataclass(frozen=True)
class Terms:
    """Terms of sums: `values[i]` times the point `places[i]` of a table belongs to sum `sums[i]`.

    sums, places   i64 [terms]
    values         scalars [terms]
    """

    sums: Tensor
    places: Tensor
    values: Tensor

    def chosen(self, which: Tensor) -> Terms:
        """Some of the terms."""
        return Terms(*(cw.take(part, which) for part in (self.sums, self.places, self.values)))


def sums_of(terms: Terms, table: Tensor, count: int) -> Tensor:
    """The sums, [count]; one without terms is the point at infinity."""
    small, negative, size = _magnitudes(terms.values)
    doubles = int(cw.sum(cw.where(size > 1, cw.ones_like(size), cw.zeros_like(size))))
    if doubles > _MOST_DOUBLES:
        small = small & (size <= 1)
    wide = terms.chosen(_where(~small))
    parts = [ops.curve_mul(wide.values, cw.take(table, wide.places))]
    owners = [wide.sums]
    for sign in (False, True):
        mine = small & (negative == sign)
        odd = terms.chosen(_where(mine & ((size & 1) == 1)))
        taken = cw.take(table, odd.places)
        parts.append(ops.negative(taken) if sign else taken)
        owners.append(odd.sums)
    heavy = _where(small & (size > 1))
    if heavy.shape[0]:
        chosen = terms.chosen(heavy)
        found = _doubled(chosen, cw.take(size, heavy), cw.take(negative, heavy), table)
        parts.extend(found[0])
        owners.extend(found[1])
    return summed(cw.concat(parts), cw.concat(owners), count)


def _where(mask: Tensor) -> Tensor:
    (found,) = cw.nonzero(mask)
    return found


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


def _doubled(
    terms: Terms, size: Tensor, negative: Tensor, table: Tensor
) -> tuple[list[Tensor], list[Tensor]]:
    """Doubles of points whose sums, with the odd parts, are the terms; and the sums they belong to.

    A double that several terms share is computed once.
    """
    order = cw.argsort(terms.places, stable=True)
    sums, places, size, negative = (
        cw.take(part, order) for part in (terms.sums, terms.places, size, negative)
    )
    held, points = _runs(places), cw.take(table, _heads(places))
    parts, owners, bit = [], [], 0
    while size.shape[0]:
        bit += 1
        points = points + points
        chosen = _where(((size >> bit) & 1) == 1)
        taken, signs = cw.take(points, cw.take(held, chosen)), cw.take(negative, chosen)
        plus, minus = _where(~signs), _where(signs)
        parts += [cw.take(taken, plus), ops.negative(cw.take(taken, minus))]
        owners += [cw.take(cw.take(sums, chosen), which) for which in (plus, minus)]
        # Terms with higher bits, and their points.
        going = _where((size >> (bit + 1)) > 0)
        sums, places, size, negative, held = (
            cw.take(part, going) for part in (sums, places, size, negative, held)
        )
        if going.shape[0]:
            points = cw.take(points, cw.take(held, _firsts(places)))
            held = _runs(places)
    return parts, owners


def _first(values: Tensor) -> Tensor:
    """Where sorted values differ from the one before: bool [values], the first one does."""
    return cw.concat([cw.ones(1, dtype="bool"), values[1:] != values[:-1]])


def _firsts(values: Tensor) -> Tensor:
    """Where runs of equal values begin."""
    return _where(_first(values))


def _heads(values: Tensor) -> Tensor:
    """The different ones of sorted values."""
    return cw.take(values, _firsts(values))


def _runs(values: Tensor) -> Tensor:
    """The run of equal values to which each of sorted values belongs, counted from 0."""
    return cw.cumulative_sum(cw.astype(_first(values), cw.int64)) - 1


def summed(points: Tensor, sums: Tensor, count: int) -> Tensor:
    """Points added up by the number of their sum: [count], infinity where there are none."""
    infinity = _core.elements_of_file(
        ops.zeros((points.dtype.itemsize,), _core.uint8), points.dtype
    )
    done, names = [infinity], [cw.full(1, count, dtype="i64")]
    order = cw.argsort(sums, stable=True)
    points, sums = cw.take(points, order), cw.take(sums, order)
    while points.shape[0]:
        # Sums of one point are finished; the others are halved.
        first = _first(sums)
        last = cw.concat([first[1:], cw.ones(1, dtype="bool")])
        alone = _where(first & last)
        done.append(cw.take(points, alone))
        names.append(cw.take(sums, alone))
        going = _where(~(first & last))
        points, sums = cw.take(points, going), cw.take(sums, going)
        if points.shape[0]:
            points, sums = _halved(points, sums)
    held, numbers = cw.concat(done), cw.concat(names)
    order = cw.argsort(numbers, stable=True)
    numbers = cw.take(numbers, order)
    wanted = cw.arange(count, dtype="i64")
    at = cw.searchsorted(numbers, wanted)
    # The point at infinity comes first in `held`, and last in order.
    return cw.take(held, cw.where(cw.take(numbers, at) == wanted, cw.take(order, at), 0))


def _halved(points: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
    """Neighbours of the same sum added in pairs; one without a neighbour stays."""
    starts = _firsts(sums)
    place = cw.arange(sums.shape[0], dtype="i64") - cw.take(starts, _runs(sums))
    even = (place & 1) == 0
    next_same = cw.concat([sums[1:] == sums[:-1], cw.zeros(1, dtype="bool")])
    left, rest = _where(even & next_same), _where(even & ~next_same)
    added = cw.take(points, left) + cw.take(points, left + 1)
    owners = cw.concat([cw.take(sums, left), cw.take(sums, rest)])
    order = cw.argsort(owners, stable=True)
    halves = cw.concat([added, cw.take(points, rest)])
    return cw.take(halves, order), cw.take(owners, order)
