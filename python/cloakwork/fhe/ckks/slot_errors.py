"""Errors that differ between slots: errors of sums of slots, for norms of matrices."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from math import inf, isfinite, log2, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.fhe.estimates.bounds import log2_of, multiplied, picked_edge, rolled_edge
from cloakwork.fhe.estimates.noise import TAIL_LOG2, independent, total

Floats = NDArray[np.float64]

# A chance of e^-21, 2^-30, a slot.
_CHANCE = 21.0
# Rounding of floats, and rows or columns up to which singular values are computed.
_SLACK, _EXACT_NORM = 1.0 + 2.0**-40, 512
_ALL = np.ones(())
_ALL.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Share:
    """Shares of slots, as a field that compares."""

    values: Floats

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Share) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]  # arrays have none


EVEN = Share(_ALL)


@dataclass(frozen=True, eq=False)
class SlotError:
    """log2 of deviations, in the units of `noise`.

    slot    that of slot j is share[j] times this, at most
    joint   that of a sum of slots with weights u is the root of the sum of (u[j] share[j])^2 times
            this, at most; like `slot` while the errors of slots are independent
    whole   the same of a sum over slots of all ciphertexts of a batch; like `joint` while the
            errors of ciphertexts are independent
    share   from 0 to 1: [], or what [B, slots] broadcasts with
    """

    slot: float
    joint: float
    whole: float
    share: Floats = field(default_factory=lambda: _ALL)

    @classmethod
    def even(cls, slot: float, joint: float | None = None, whole: float | None = None) -> Self:
        """The same in every slot; by default independent."""
        together = slot if joint is None else joint
        return cls(slot, together, together if whole is None else whole)

    @classmethod
    def fresh(cls, slot: float, count: int) -> Self:
        """Independent in slots; equal in equal ciphertexts of a batch, which all of them may be."""
        return cls(slot, slot, slot + log2(count) / 2)

    @classmethod
    def constant(cls, slot: float, slots: int, count: int) -> Self:
        """No chance: so much in every slot of every ciphertext, maybe with one sign."""
        joint = slot + log2(slots) / 2
        return cls(slot, joint, joint + log2(count) / 2)

    def scaled(self, factor: float) -> Self:
        """The error of the values times 2^factor."""
        slot, joint, whole = (part + factor for part in self._parts)
        return type(self)(slot, joint, whole, self.share)

    def repeated(self, times: float) -> Self:
        """The error of a ciphertext that represents several of a batch."""
        return replace(self, whole=self.whole + log2(times) / 2)

    @property
    def _parts(self) -> tuple[float, float, float]:
        return self.slot, self.joint, self.whole

    def met(self, magnitude: Floats) -> Self:
        """The error of products with exact values, slot by slot, up to a magnitude each."""
        shares = multiplied(self.share, magnitude)
        most = float(shares.max(initial=0.0))
        if most == 0.0 or not isfinite(most):
            return self.even(-inf if most == 0.0 else inf)
        return replace(self.scaled(log2_of(most)), share=shares / most)

    def plus(self, *others: Self) -> Self:
        """Sums of errors that may be the same."""
        return self._joined((self, *others), 1)

    def plus_independent(self, *others: Self) -> Self:
        """Sums with independent errors."""
        return self._joined((self, *others), 2)

    @classmethod
    def _joined(cls, errors: tuple[Self, ...], power: int) -> Self:
        """Deviations to a power add up; so do the squares of shares, weighted as these are."""
        add = total if power == 1 else independent
        columns = list(zip(*(error._parts for error in errors), strict=True))
        slot, joint, whole = sums = [add(*column) for column in columns]
        if all(e.share.ndim == 0 for e in errors) or not all(map(isfinite, sums)):
            return cls(slot, joint, whole)

        def weighted(column: tuple[float, ...], most: float) -> Any:
            parts = (2.0 ** (power * (part - most)) for part in column)
            return sum(part * np.square(e.share) for part, e in zip(parts, errors, strict=True))

        shares = reduce(np.maximum, map(weighted, columns, sums))
        return cls(slot, joint, whole, np.minimum(np.sqrt(shares), 1.0))

    def turned(self, step: int, slots: int) -> Self:
        """Slot j is that which was slot j + step."""
        return replace(self, share=rolled_edge(self.share, step, slots))

    def picked(self, key: int | slice) -> Self:
        """The error of one ciphertext of a batch, or of some."""
        return replace(self, share=picked_edge(self.share, key))


@dataclass(frozen=True)
class Norms:
    """log2 of norms of a matrix: its effect on errors.

    sums       the largest sum of |entries| of a row: equal errors add up so
    rows       the largest root of a row's sum of squares: independent errors add up so
    fresh      the same for what is drawn afresh for this product: a sum of many such errors, each
               times a secret, has a shorter tail than one of them, and counts by as much less
    spectral   the largest singular value, or little more: how much more than one slot's error
               that of a sum of results can be
    """

    sums: float
    rows: float
    fresh: float
    spectral: float

    @classmethod
    def of(cls, matrix: ArrayLike) -> Self:
        """Of a matrix [m, n]."""
        sizes = np.abs(np.asarray(matrix))
        largest = float(sizes.max(initial=0.0))
        if not 0.0 < largest < inf:
            return cls(*(log2_of(largest),) * 4)
        scaled, sizes, most = np.asarray(matrix) / largest, sizes / largest, log2(largest)
        sums, columns = float(sizes.sum(axis=1).max()), float(sizes.sum(axis=0).max())
        rows = sqrt(float(np.square(sizes).sum(axis=1).max()))
        spectral = min(sqrt(sums * columns), float(np.linalg.norm(scaled)))
        if min(scaled.shape) <= _EXACT_NORM:
            spectral = min(spectral, float(np.linalg.norm(scaled, 2)) * _SLACK)
        squares = np.square(sizes)
        found = (
            sums,
            rows,
            shortened(squares.sum(axis=1), np.square(squares).sum(axis=1), squares.max(axis=1)),
            spectral,
        )
        return cls(*(log2_of(norm) + most for norm in found))

    def of_shares(self, matrix: NDArray[Any], share: Floats) -> Self:
        """The same of a matrix that these are of, where errors have shares [n]."""
        if share.min() >= 1.0:
            return self
        weighted = np.abs(matrix) * share
        squares = np.square(weighted)
        rows, whole = float(squares.sum(axis=1).max()), float(squares.sum())
        return replace(
            self,
            sums=log2_of(float(weighted.sum(axis=1).max())),
            rows=log2_of(sqrt(rows)),
            spectral=min(self.spectral, log2_of(sqrt(whole))),
        )

    def grown(self, error: SlotError) -> SlotError:
        """The error of the matrix times slots that are off by an error."""
        slot = min(error.slot + self.sums, error.joint + self.rows)
        return SlotError(slot, error.joint + self.spectral, error.whole + self.spectral)

    def grown_over_batch(self, error: SlotError) -> SlotError:
        """The error of the matrix times ciphertexts of a batch that are off by an error."""
        most = error.whole + self.rows
        slot, joint = (min(part + self.sums, most) for part in (error.slot, error.joint))
        return SlotError(slot, joint, error.whole + self.spectral)


def shortened(squares: Floats, fourth: Floats, most: Floats) -> float:
    """The largest root of a row's sum of squares, by how far errors times secrets reach.

    squares, fourth, most   of each row: the sum of w[j]^2, that of w[j]^4, the largest w[j]^2

    Given the secret, the sum of w[j] e[j] s[j] is Gaussian with the variance S, the sum of
    w[j]^2 |s[j]|^2; S exceeds V + sqrt(2 x sum of w^4) + x max w^2 with a chance of e^-x, V its
    mean (Laurent and Massart 2000).  One such error alone is what TAIL_LOG2 is for.
    """
    reach = squares + np.sqrt(2 * _CHANCE * fourth) + _CHANCE * most
    reached = np.sqrt(_CHANCE * reach) / 2.0**TAIL_LOG2
    return float(np.minimum(reached, np.sqrt(squares)).max())
