"""Notes in containers: facts about a program that the engine does not know, read strictly.

Files are not trusted.  A note is read member by member: each must have its type, and missing,
unknown or repeated members are LoadErrors that name the note and the place in it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from cloakwork import _core
from cloakwork.errors import LoadError

# The notes that tell the kind of a container's program.
RECORDED, FUNCTION, _INSTRUCTIONS = "recorded", "zk.program", "instructions"
# Beside the note of a recorded program: how to encode inputs and decode results of a model.
MODEL = "model"
# The names of a program's files, in the order of the container's tensors.
_FILE = "file "
_MOST_SHOWN = 60

T = TypeVar("T")


def check_kind(core: _core.Program, path: str) -> None:
    """LoadError for unknown notes, and for notes of two kinds of programs."""
    found = set(core.notes())
    kinds = sorted(found & {RECORDED, FUNCTION, _INSTRUCTIONS})
    if len(kinds) > 1:
        raise LoadError(f"{path}: expected a note of one kind of program, got {', '.join(kinds)}")
    also = [MODEL] if kinds == [RECORDED] else []
    count = sum(name.startswith(_FILE) for name in found) if kinds == [_INSTRUCTIONS] else 0
    if unknown := found.difference(kinds, also, (f"{_FILE}{number:08}" for number in range(count))):
        raise LoadError(
            f"{path}: expected notes that this version knows, got the note {_shown(min(unknown))}: "
            "a later version may have written the file"
        )


@dataclass(frozen=True)
class Member:
    """A part of a note, and its place."""

    place: str
    value: Any

    def wrong(self, expected: str, got: str | None = None) -> LoadError:
        """The LoadError for a wrong value at this place."""
        shown = _shown(self.value) if got is None else got
        return LoadError(f"{self.place}: expected {expected}, got {shown}")

    def of(self, kind: type[T]) -> T:
        """The value, which must be exactly of this type."""
        if type(self.value) is not kind:
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
        found = self.named()
        if unknown := found.keys() - set(names):
            raise self.wrong(f"members {', '.join(names)}", f"also {_shown(min(unknown))}")
        if missing := [name for name in names if name not in found]:
            raise self.wrong(f"members {', '.join(names)}", f"no {missing[0]}")
        return [found[name] for name in names]

    def _member(self, name: str, value: Any) -> Member:
        return Member(f"{self.place}.{name if name.isidentifier() else _shown(name)}", value)


_WORDS: dict[type[Any], str] = {
    str: "a text", bool: "true or false", int: "an integer", list: "a list", dict: "an object",
    float: "a number with a point",
}  # fmt: skip


def read(core: _core.Program, note: str, path: str) -> Member:
    """The contents of a note of a container."""
    place = f"{path}: the note {note}"
    try:
        return Member(place, json.loads(core.notes()[note], object_pairs_hook=_unique))
    except RecursionError:
        raise LoadError(f"{place}: expected JSON, got lists or objects nested too deep") from None
    except ValueError as error:
        raise LoadError(f"{place}: expected JSON, got invalid JSON: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the member {_shown(twice)} comes twice")
    return found


def _shown(value: Any) -> str:
    """A value for an error message: short, on one line."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
