"""Constants of programs in separate files: read from their files, written as one file.

File names inside a program are not trusted.  A written file is always named after the program's own
file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cloakwork import files
from cloakwork.errors import ParamError, SaveError

# The header of such a file; constants follow, each at a multiple of the header's length.
START = b"constants of a program, written by Cloakwork\n".ljust(64, b"\0")


@dataclass(frozen=True)
class Beside:
    """A file of constants of a loaded program, and its state at that time."""

    path: Path
    state: tuple[int, int, int]

    @classmethod
    def of(cls, path: Path) -> Beside:
        """The current state of a file."""
        return cls(path, cls._state(path))

    @staticmethod
    def _state(path: Path) -> tuple[int, int, int]:
        now = path.stat()
        return now.st_ino, now.st_size, now.st_mtime_ns

    def check(self, name: str) -> None:
        """ParamError if the file has changed since."""
        if self._state(self.path) != self.state:
            allowed = "the file as it was when the program was loaded: load it again"
            raise ParamError("constants", f"{name}, which has changed", allowed)


def found(names: Iterable[str], folder: Path) -> dict[str, Beside]:
    """The files in a folder that a program's constants refer to, by name."""
    inside = [name for name in names if name and not Path(name).is_absolute()]
    beside = [name for name in inside if ".." not in Path(name).parts]
    return {name: Beside.of(folder / name) for name in beside if (folder / name).is_file()}


def place_of(program: Path) -> Path:
    """The file for the constants of a program's file, independent of names in the program."""
    return program.with_name(f"{program.name}.constants")


def check_place(place: Path) -> None:
    """SaveError if the place holds anything but a file of constants that was written here."""
    if place.is_file() and files.start(place, len(START)) != START:
        raise SaveError(
            f"{place}: expected a new name, or constants that were saved with the program, got "
            "another file; move it away, or save the program under another name"
        )
