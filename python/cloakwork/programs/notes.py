"""Notes of containers: what the engine does not know of a program, read strictly.

A file comes from anybody.  What its note says is taken member by member, each of one type, with no
member missing, none that is not known and none twice; whatever else is there is a LoadError that
names the note and the place in it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from cloakwork import _core
from cloakwork.errors import LoadError

# The notes that say what kind of program a container holds.
RECORDED, FUNCTION, _INSTRUCTIONS = "recorded", "zk.program", "instructions"
# Names of a program's files, in the order of the container's tensors.
_FILE = "file "
_MOST_SHOWN = 60

T = TypeVar("T")


def check_kind(core: _core.Program, path: str) -> None:
    """LoadError for notes that nobody reads, and for two kinds of programs at once."""
    found = set(core.notes())
    kinds = sorted(found & {RECORDED, FUNCTION, _INSTRUCTIONS})
    if len(kinds) > 1:
        raise LoadError(f"{path}: expected a note of one kind of program, got {', '.join(kinds)}")
    count = sum(name.startswith(_FILE) for name in found) if kinds == [_INSTRUCTIONS] else 0
    if unknown := found.difference(kinds, (f"{_FILE}{number:08}" for number in range(count))):
        raise LoadError(
            f"{path}: expected notes that this version knows, got the note {_shown(min(unknown))}: "
            "a later version may have written the file"
        )


@dataclass(frozen=True)
class Member:
    """A part of a note, and where it is."""

    place: str
    value: Any

    def wrong(self, expected: str, got: str | None = None) -> LoadError:
        """The error that says so."""
        shown = _shown(self.value) if got is None else got
        return LoadError(f"{self.place}: expected {expected}, got {shown}")

    def of(self, kind: type[T]) -> T:
        """The value, which is of this type and of none below it."""
        if type(self.value) is not kind:
            raise self.wrong(_WORDS[kind])
        value: T = self.value
        return value

    def optional(self, kind: type[T]) -> T | None:
        """The value, or None for `null`."""
        return None if self.value is None else self.of(kind)

    def size(self, limit: int) -> int:
        """An integer from 0 up to below a limit."""
        if type(self.value) is not int or not 0 <= self.value < limit:
            raise self.wrong(f"an integer from 0 up to {limit - 1}")
        return int(self.value)

    def parts(self) -> list[Member]:
        """The parts of a list."""
        values = enumerate(self.of(list))
        return [Member(f"{self.place}[{index}]", value) for index, value in values]

    def texts(self) -> tuple[str, ...]:
        """The parts of a list of different texts."""
        found = tuple(part.of(str) for part in self.parts())
        if len(set(found)) < len(found):
            raise self.wrong("texts that differ")
        return found

    def named(self) -> dict[str, Member]:
        """The members of an object, by whatever names it has."""
        return {name: self._member(name, value) for name, value in self.of(dict).items()}

    def members(self, *names: str) -> list[Member]:
        """The members of an object that has these and no others."""
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
}  # fmt: skip


def read(core: _core.Program, note: str, path: str) -> Member:
    """What a note of a container says."""
    place = f"{path}: the note {note}"
    try:
        return Member(place, json.loads(core.notes()[note], object_pairs_hook=_unique))
    except RecursionError:
        raise LoadError(f"{place}: expected JSON, got lists or objects nested too deep") from None
    except ValueError as error:
        raise LoadError(f"{place}: expected JSON, got what is none: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the member {_shown(twice)} comes twice")
    return found


def _shown(value: Any) -> str:
    """A value of a file in an error: short, on one line."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
