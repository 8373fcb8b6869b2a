"""Columns of texts in what a user gives: each text becomes the place of its category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import ModelError
from cloakwork.strict import Member

__all__ = ["TextColumn", "as_table", "coded", "merged", "restored"]

_UNKNOWN = -1
# What a cell may hold: others have an equality of their own.
_TAKEN = (str, float, int, np.number, np.bool_, type(None))


@dataclass(frozen=True)
class TextColumn:
    """The categories of one column.

    categories   a text, or None at the place of NaN or None, which stand for what is missing
    strict       whether others are refused; else they have no place
    nan, none    the places of NaN and of None; -1 for none
    """

    categories: tuple[str | None, ...]
    strict: bool
    nan: int = _UNKNOWN
    none: int = _UNKNOWN

    def places(self, column: NDArray[Any], where: str) -> NDArray[np.float64]:
        """[batch] of a column of objects; -1 for others, or ModelError, without their texts."""
        known = {one: at for at, one in enumerate(self.categories) if one is not None}
        if not all(isinstance(one, _TAKEN) for one in column):
            raise ModelError(f"{where}: expected texts, numbers, NaN or None, found other objects")
        found = np.array([
            self.none if one is None
            else known.get(one, _UNKNOWN) if isinstance(one, str)
            else self.nan if one != one  # noqa: PLR0124 -- NaN
            else _UNKNOWN
            for one in column
        ])  # fmt: skip
        if self.strict and (found < 0).any():
            place = int(np.flatnonzero(found < 0)[0])
            listed = ", ".join(repr(one) for one in self.categories[:8])
            more = len(self.categories) - 8
            listed += f" and {more} more" if more > 0 else ""
            raise ModelError(f"{where}: expected the categories {listed}, found another in row "
                             f"{place}")  # fmt: skip
        return found.astype(np.float64)

    def unknown_of(self, column: NDArray[Any]) -> str | None:
        """The first text of a column of objects that is no category."""
        known = set(self.categories)
        return next((str(one) for one in column if isinstance(one, str) and one not in known), None)

    def texts(self, places: NDArray[np.float64], other: str | None = None) -> NDArray[Any]:
        """[batch] of objects: the inverse of `places`, with a text that is no category for -1."""
        named: list[Any] = list(self.categories)
        for place, value in ((self.nan, np.nan), (self.none, None)):
            if place >= 0 and named[place] is None:
                named[place] = value
        other = "another" if other is None else other
        while other in named:
            other += "."
        return np.array([*named, other], dtype=object)[places.astype(np.int64)]

    def to_json(self) -> dict[str, Any]:
        """As JSON's types; the inverse of `read`."""
        missing = [self.nan, self.none]
        return {"categories": list(self.categories), "strict": self.strict, "missing": missing}

    @classmethod
    def read(cls, note: Member) -> TextColumn:
        """From a file; LoadError names the place."""
        categories, strict, missing = note.members("categories", "strict", "missing")
        known = tuple(part.optional(str) for part in categories.parts())
        places = [part.of(int) for part in missing.parts()]
        if len(places) != 2 or any(not _UNKNOWN <= one < len(known) for one in places):
            raise missing.wrong("two places of categories, or -1")
        return cls(known, strict.of(bool), *places)


def coded(values: NDArray[Any], texts: Mapping[int, TextColumn], where: str) -> NDArray[np.float64]:
    """[batch, features] of texts and numbers as numbers; ModelError for other texts."""
    if values.dtype.kind in "fiub":
        read = [column for column, own in texts.items() if own.categories]
        if read:
            raise ModelError(f"{where}: expected texts in columns {read}, found numbers alone")
    own = values.astype(object)
    columns = [
        texts[place].places(column, f"{where}, column {place}")
        if place in texts
        else _numbers(column, f"{where}, column {place}")
        for place, column in enumerate(own.T)
    ]
    return np.stack(columns, axis=1)


def _numbers(column: NDArray[Any], where: str) -> NDArray[np.float64]:
    try:
        return column.astype(np.float64)
    except (ArithmeticError, TypeError, ValueError):
        # The values are secret, and messages are logged.
        raise ModelError(
            f"{where}: expected numbers, found others; texts need an encoder of their column"
        ) from None


def as_table(given: Any) -> NDArray[Any]:
    """An array of what is given; of lists one of objects, as NumPy makes texts of their numbers."""
    is_typed = hasattr(given, "dtype") or hasattr(given, "columns")
    return np.asarray(given, dtype=None if is_typed else object)


def restored(
    values: NDArray[np.float64], texts: Mapping[int, TextColumn], others: Mapping[int, str | None]
) -> NDArray[Any]:
    """[batch, features] of objects: the inverse of `coded`.

    others   by column: a text for those that are no category
    """
    found = values.astype(object)
    for place, own in texts.items():
        found[:, place] = own.texts(values[:, place], others.get(place))
    return found


def merged(found: Iterable[Mapping[int, TextColumn]]) -> dict[int, TextColumn]:
    """The columns of several encoders, which must agree on those that they share."""
    whole: dict[int, TextColumn] = {}
    for own in found:
        for place, column in own.items():
            other = whole.setdefault(place, column)
            if (other.categories, other.nan, other.none) != (
                column.categories, column.nan, column.none,
            ):  # fmt: skip
                raise ModelError(
                    f"column {place}: expected the same categories in all of its encoders, found "
                    "others; fit them to the same rows, with the same treatment of missing texts"
                )
            if column.strict:
                whole[place] = column
    return whole
