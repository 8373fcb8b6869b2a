"""Files of users, as all of the package reads and writes them.

A file that is written appears whole or not at all: it is written beside its place, without a name
where the system can do that, brought to the disk, and put in its place.  It replaces nothing but a
regular file, and honours the umask.  A file that is read is a regular one, or a pipe of up to
1 GiB; devices, sockets and folders are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike, fspath
from pathlib import Path

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.errors import ParamError

AnyPath = str | PathLike[str]
Contents = bytes | str
# What is read of a file to know what it is.
_START_BYTES = 4096


def name_of(path: object, what: str = "path") -> str:
    """A path as text; ParamError for what is none."""
    if not isinstance(path, str | PathLike):
        raise ParamError(what, f"a {type(path).__name__}", "the name of a file: text, or a Path")
    name = fspath(path)
    if not isinstance(name, str):
        raise ParamError(what, f"a path of {type(name).__name__}", "one of text")
    if not name or "\0" in name:
        raise ParamError(what, repr(name), "the name of a file")
    return name


def claim(outputs: Sequence[AnyPath | None], inputs: Sequence[AnyPath | None] = ()) -> None:
    """Refuse outputs that must not be written, before any work; None is no file.

    Each is to be a new name or a regular file (a symbolic link is neither), no input, and no other
    output.  Raises SaveError, or OSError where its folder takes no file.
    """
    written = [name_of(path, "output") for path in outputs if path is not None]
    _core.claim_files(written, [name_of(path) for path in inputs if path is not None])


def write(path: AnyPath, contents: Contents | Sequence[Contents], *, private: bool = False) -> None:
    """Write a file; `private`: for its owner alone, whatever the umask."""
    write_all({fspath(path): contents}, private=private)


def write_all(files: Mapping[str, Contents | Sequence[Contents]], *, private: bool = False) -> None:
    """Write files that belong together.

    All are on the disk before the first appears.  Of those that are replaced, all but the first are
    removed before: whenever the process ends, those that are there are all old, or all new.  Savers
    of several files take turns in a folder.
    """
    pieces = [
        (name_of(name), [given] if isinstance(given, bytes | str) else list(given))
        for name, given in files.items()
    ]
    _core.write_files(pieces, private)


def read(path: AnyPath) -> bytes:
    """What a file holds, up to 1 GiB."""
    return _core.read_file(name_of(path))


def start(path: AnyPath, size: int) -> bytes:
    """The first bytes of a file, by which it is known."""
    return bytes(memoryview(_core.map_file(name_of(path))[:size]))


def starts_as_instructions(file: Path) -> bool:
    """Whether a file holds a program of the instruction set, in JSON or as text."""
    if not file.is_file():
        return False
    return _core.Instructions.recognizes(start(file, _START_BYTES))


def load_npy(path: AnyPath) -> Tensor:
    """The array of a `.npy` file, by the package's own closed reader: it runs nothing.

    A large file is mapped.  LoadError names the byte that is wrong.
    """
    return _core.load_npy(name_of(path))


def save_npy(path: AnyPath, tensor: Tensor) -> None:
    """Write a tensor as `.npy`, byte for byte as NumPy would.

    Of elements of fields and points their canonical words, u64 `[.., words]`, which programs take
    as inputs and `ops.from_canonical` reads.
    """
    write(path, npy_of(tensor))


def npy_of(tensor: Tensor) -> bytes:
    """What `save_npy` writes."""
    if tensor.dtype.kind == "V":
        from cloakwork import ops

        tensor = ops.to_canonical(tensor)
    return _core.npy_bytes(tensor)


def held_beside(path: Path) -> AbstractContextManager[object]:
    """The folder that a file lies in, held as by `held`; nothing where there is no such folder."""
    folder = path.parent
    return held(folder) if folder.is_dir() else nullcontext()


def held(folder: AnyPath) -> _core.FolderLock:
    """A folder whose files are read as one: `write_all` waits. Use it by `with`."""
    return _core.FolderLock(Path(folder))
