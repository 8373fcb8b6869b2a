"""The one strict reader of outside values: JSON within a budget, and its members by type.

Files and answers are not trusted.  A value is read member by member: each must have its type, and
missing, unknown or repeated members are LoadErrors that name the file and the place in it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, TypeVar

from cloakwork.errors import LoadError

_MOST_SHOWN = 60
# The lists and objects of a JSON text, which take up to 30 times the bytes of their text.
_MOST_NESTS = 1 << 20

T = TypeVar("T")


def parsed(text: bytes | str, place: str) -> Any:
    """The value of a JSON text; LoadError, which names the place, for any other text.

    Refused are repeated members, which two readers would read in two ways, and texts of more than
    2^20 lists and objects: so a text of n bytes takes at most 256 MiB beside 18 n.  A number is
    finite, except `Infinity` by this name, which own files have for log2 of 0.
    """
    try:
        whole = text if isinstance(text, str) else text.decode()
    except UnicodeDecodeError as error:
        got = f"the byte {error.object[error.start]:#04x} at offset {error.start}"
        raise LoadError(f"{place}: expected JSON, in UTF-8, got {got}") from None
    if (nests := whole.count("[") + whole.count("{")) > _MOST_NESTS:
        expected = f"JSON of at most {_MOST_NESTS} lists and objects"
        raise LoadError(f"{place}: expected {expected}, got {nests}")
    try:
        return json.loads(
            whole, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_infinite
        )
    except RecursionError:
        raise LoadError(f"{place}: expected JSON, got lists or objects nested too deep") from None
    except ValueError as error:
        raise LoadError(f"{place}: expected JSON, got invalid JSON: {error}") from error


@dataclass(frozen=True)
class Member:
    """A part of a note, and its place."""

    place: str
    value: Any

    def wrong(self, expected: str, got: str | None = None) -> LoadError:
        """The LoadError for a wrong value at this place."""
        came = in_short(self.value) if got is None else got
        return LoadError(f"{self.place}: expected {expected}, got {came}")

    def of(self, kind: type[T]) -> T:
        """The value, which must be exactly of this type; a float is finite."""
        right = type(self.value) is kind
        if not right or (isinstance(self.value, float) and not isfinite(self.value)):
            raise self.wrong(_WORDS[kind])
        value: T = self.value
        return value

    def optional(self, kind: type[T]) -> T | None:
        """The value of this type, or None for `null`."""
        return None if self.value is None else self.of(kind)

    def size(self, limit: int) -> int:
        """An integer from 0 to `limit - 1`."""
        if type(self.value) is not int or not 0 <= self.value < limit:
            raise self.wrong(f"an integer from 0 up to {limit - 1}")
        return int(self.value)

    def whole(self, low: int, high: int) -> int:
        """An integer from `low` to `high`."""
        if type(self.value) is not int or not low <= self.value <= high:
            raise self.wrong(f"an integer from {low} to {high}")
        return int(self.value)

    def number(self, low: float = -inf, high: float = inf) -> float:
        """A number from `low` to `high`, which is no NaN, and infinite as a limit alone."""
        wanted = "a number" if high == inf and low == -inf else f"a number from {low:g} to {high:g}"
        if type(self.value) not in (int, float) or not low <= self.value <= high:
            raise self.wrong(wanted)
        try:
            return float(self.value)
        except OverflowError:
            raise self.wrong(wanted) from None

    def exact(self) -> float:
        """A finite float as `float.hex` writes it: a text."""
        text = self.of(str)
        try:
            found = float.fromhex(text)
        except (ValueError, OverflowError):
            found = inf
        if not isfinite(found) or found.hex() != text:
            raise self.wrong("a finite number as float.hex writes it")
        return found

    def octets(self, count: int) -> bytes:
        """So many bytes in hexadecimal: two digits or small letters for each."""
        text = self.of(str)
        if not re.fullmatch(f"[0-9a-f]{{{2 * count}}}", text):
            got = f"{len(text)} characters" if len(text) != 2 * count else "other characters"
            raise self.wrong(f"{count} bytes in hexadecimal", got)
        return bytes.fromhex(text)

    def one_of(self, *allowed: str) -> str:
        """One of these texts."""
        if self.of(str) not in allowed:
            raise self.wrong(" or ".join(allowed))
        return str(self.value)

    def parts(self) -> list[Member]:
        """The entries of a list."""
        values = enumerate(self.of(list))
        return [Member(f"{self.place}[{index}]", value) for index, value in values]

    def texts(self) -> tuple[str, ...]:
        """The entries of a list of distinct strings."""
        found = tuple(part.of(str) for part in self.parts())
        if len(set(found)) < len(found):
            raise self.wrong("distinct strings")
        return found

    def named(self) -> dict[str, Member]:
        """The members of an object with arbitrary names."""
        return {name: self._member(name, value) for name, value in self.of(dict).items()}

    def members(self, *names: str) -> list[Member]:
        """The members of an object that must have exactly these."""
        found = self.some_of(names, names)
        return [found[name] for name in names]

    def some_of(self, names: Collection[str], needed: Collection[str]) -> dict[str, Member]:
        """The members of an object that may have these, and must have those that are needed."""
        found = self.named()
        if unknown := found.keys() - set(names):
            raise self.wrong(f"members {', '.join(names)}", f"also {in_short(min(unknown))}")
        if missing := [name for name in needed if name not in found]:
            raise self.wrong(f"members {', '.join(names)}", f"no {missing[0]}")
        return found

    def _member(self, name: str, value: Any) -> Member:
        return Member(f"{self.place}.{name if name.isidentifier() else in_short(name)}", value)


_WORDS: dict[type[Any], str] = {
    str: "a text", bool: "true or false", int: "an integer", list: "a list", dict: "an object",
    float: "a finite number with a point",
}  # fmt: skip


def _finite(text: str) -> float:
    found = float(text)
    if not isfinite(found):
        raise ValueError(f"{in_short(text)} is beyond all floats")
    return found


def _infinite(text: str) -> float:
    if text == "NaN":
        raise ValueError("NaN is no number")
    return float(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the member {in_short(twice)} comes twice")
    return found


def in_short(value: Any) -> str:
    """A value for an error message: short, on one line."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
