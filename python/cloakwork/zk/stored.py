"""Constants of programs in files beside them: read as they were found, written as one file.

What a program calls its files is a stranger's word wherever the program was loaded.  What is
written is called after the program's own file, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cloakwork import files
from cloakwork.errors import ParamError, SaveError

# Such a file begins so, and holds constants from there on.
START = b"constants of a program, written by Cloakwork\n".ljust(64, b"\0")


@dataclass(frozen=True)
class Beside:
    """A file of constants beside a program that was loaded, and what it was then."""

    path: Path
    state: tuple[int, int, int]

    @classmethod
    def of(cls, path: Path) -> Beside:
        """The file as it is now."""
        return cls(path, cls._state(path))

    @staticmethod
    def _state(path: Path) -> tuple[int, int, int]:
        now = path.stat()
        return now.st_ino, now.st_size, now.st_mtime_ns

    def check(self, name: str) -> None:
        """ParamError if it is another than it was."""
        if self._state(self.path) != self.state:
            allowed = "the file as it was when the program was loaded: load it again"
            raise ParamError("constants", f"{name}, which has changed", allowed)


def found(names: Iterable[str], folder: Path) -> dict[str, Beside]:
    """The files of a folder that a program's constants name, by these names."""
    inside = [name for name in names if name and not Path(name).is_absolute()]
    beside = [name for name in inside if ".." not in Path(name).parts]
    return {name: Beside.of(folder / name) for name in beside if (folder / name).is_file()}


def place_of(program: Path) -> Path:
    """Where the constants of a program's file are written, whatever the program calls them."""
    return program.with_name(f"{program.name}.constants")


def check_place(place: Path) -> None:
    """SaveError where another file stands than one of constants that was written here."""
    if place.is_file() and files.start(place, len(START)) != START:
        raise SaveError(
            f"{place}: expected a new name, or constants that were saved with the program, got "
            "another file; move it away, or save the program under another name"
        )
