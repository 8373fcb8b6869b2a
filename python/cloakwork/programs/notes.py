"""Notes in containers: facts about a program that the engine does not know, read strictly.

Files are not trusted: `strict` reads a note member by member, and its LoadErrors name the note and
the place in it.
"""

from __future__ import annotations

from cloakwork import _core, strict
from cloakwork.errors import LoadError
from cloakwork.strict import Member

# The notes that tell the kind of a container's program.
RECORDED, FUNCTION, _INSTRUCTIONS = "recorded", "zk.program", "instructions"
# Beside the note of a recorded program: how to encode inputs and decode results of a model.
MODEL = "model"
# The names of a program's files, in the order of the container's tensors.
_FILE = "file "


def check_kind(core: _core.Program, path: str) -> None:
    """LoadError for unknown notes, and for notes of two kinds of programs."""
    found = set(core.notes())
    kinds = sorted(found & {RECORDED, FUNCTION, _INSTRUCTIONS})
    if len(kinds) > 1:
        raise LoadError(f"{path}: expected a note of one kind of program, got {', '.join(kinds)}")
    also = [MODEL] if kinds == [RECORDED] else []
    count = sum(name.startswith(_FILE) for name in found) if kinds == [_INSTRUCTIONS] else 0
    if unknown := found.difference(kinds, also, (f"{_FILE}{number:08}" for number in range(count))):
        got = f"the note {strict.in_short(min(unknown))}"
        raise LoadError(
            f"{path}: expected notes that this version knows, got {got}: "
            "a later version may have written the file"
        )


def read(core: _core.Program, note: str, path: str) -> Member:
    """The contents of a note of a container."""
    place = f"{path}: the note {note}"
    return Member(place, strict.parsed(core.notes()[note], place))
