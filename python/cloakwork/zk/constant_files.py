"""Constants of programs in separate files: read from their files, written as one file.

File names inside a program are not trusted.  A written file is always named after the program's own
file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cloakwork import files
from cloakwork.errors import ParamError, SaveError

# The header of such a file; constants follow, each at a multiple of the header's length.
_START = b"constants of a program, written by Cloakwork\n".ljust(64, b"\0")


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


def found(tree: Mapping[str, Any], folder: Path) -> dict[str, Beside]:
    """The files in a folder that a program's constants refer to, by name."""
    names = {entry.get("file") for entry in tree.get("constants", {}).values()}
    inside = [name for name in names if name and not Path(name).is_absolute()]
    beside = [name for name in inside if ".." not in Path(name).parts]
    return {name: Beside.of(folder / name) for name in beside if (folder / name).is_file()}


def place_of(program: Path) -> Path:
    """The file for the constants of a program's file, whatever names the program uses."""
    return program.with_name(f"{program.name}.constants")


def check_place(place: Path) -> None:
    """SaveError if the place holds anything but a file of constants that was written here."""
    if place.is_file() and files.start(place, len(_START)) != _START:
        raise SaveError(
            f"{place}: expected a new name, or constants that were saved with the program, got "
            "another file; move it away, or save the program under another name"
        )


def gathered(
    tree: Mapping[str, Any], contents: Mapping[str, bytes], name: str
) -> tuple[dict[str, Any], list[bytes]]:
    """A program's JSON with all constants in the file `name`, and the pieces of that file.

    Each constant has its SHA-256 in the JSON.  Without constants in files there are no pieces.
    """
    pieces, size = [_START], len(_START)
    placed: dict[tuple[str, int, int], tuple[int, str]] = {}
    constants = dict(tree.get("constants", {}))
    for constant, entry in constants.items():
        if "file" not in entry:
            continue
        key = entry["file"], entry["offset"], entry["bytes"]
        if key not in placed:
            part = _part(constant, key, contents)
            placed[key] = size, sha256(part).hexdigest()
            pieces += [part, bytes(-len(part) % len(_START))]
            size += len(part) + len(pieces[-1])
        offset, digest = placed[key]
        # A checksum already in the program is kept: it may show that the contents are damaged.
        constants[constant] = {"sha256": digest} | entry | {"file": name, "offset": offset}
    return {**tree, "constants": constants}, pieces if placed else []


def _part(constant: str, key: tuple[str, int, int], contents: Mapping[str, bytes]) -> bytes:
    file, offset, size = key
    part = contents[file][offset : offset + size]
    if len(part) != size:
        held = f"{constant} in {file} of {len(contents[file])} bytes"
        raise ParamError("constants", held, f"{size} bytes from byte {offset} on")
    return part
