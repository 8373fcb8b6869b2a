"""Reading and writing users' files, for the whole package.

A written file appears whole or not at all: it is written next to its destination (without a name
where the system supports that), synced to the disk, and then moved to its destination.  It replaces
only a regular file, and honours the umask.  A file to read is a regular file, or a pipe of up to
1 GiB; devices, sockets and folders are refused.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.errors import LoadError, ParamError, SaveError
from cloakwork.wording import kind_of

AnyPath = str | PathLike[str]
Contents = bytes | str
# What readers take: a path, the contents themselves, or a file that is open in binary.
Readable = AnyPath | bytes | bytearray | memoryview | BinaryIO
# How many bytes identify the format of a file.
START_BYTES = 4096
# The first bytes of a container.
_CONTAINER = b"\x89CWK\r\n\x1a\n"


def name_of(path: object, what: str = "path") -> str:
    """A path as text; ParamError for anything else."""
    if not isinstance(path, str | PathLike):
        raise ParamError(what, f"a {type(path).__name__}", "the name of a file: text, or a Path")
    name = fspath(path)
    if not isinstance(name, str):
        raise ParamError(what, f"a path of {type(name).__name__}", "one of text")
    if not name or "\0" in name:
        raise ParamError(what, repr(name), "the name of a file")
    return name


@dataclass(frozen=True)
class Source:
    """A file by its path, or contents.

    name       the path; else where the contents are from, for errors
    contents   None for a path
    """

    name: str
    contents: bytes | memoryview | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The file, which no run may write to."""
        return (self.name,) if self.contents is None else ()

    def start(self, size: int) -> bytes:
        """The first bytes; none of what is no regular file; waits for writers."""
        if self.contents is None:
            return start_if_there(self.name, size)
        return bytes(self.contents[:size])

    def read(self) -> bytes:
        """All bytes, of a file up to 1 GiB."""
        return read(self.name) if self.contents is None else bytes(self.contents)

    @property
    def is_container(self) -> bool:
        """Whether it is one of the package's own containers."""
        return self.start(len(_CONTAINER)) == _CONTAINER


def source_of(given: object, what: str = "path") -> Source:
    """A path, contents, or what an open file holds from its position on.

    Raises ParamError for anything else, as for a file that is open as text.
    """
    if isinstance(given, bytes | bytearray | memoryview):
        return Source("the bytes", contents_of(given, "the bytes"))
    if not hasattr(given, "read"):
        if not isinstance(given, str | PathLike):
            raise ParamError(what, kind_of(given), "a path, bytes, or a file open in binary")
        return Source(name_of(given, what))
    name = getattr(given, "name", None)
    found = given.read()
    if not isinstance(found, bytes):
        raise ParamError(what, f"a file that gives {type(found).__name__}", "one open in binary")
    return Source(name if isinstance(name, str) and name else "the open file", found)


def given_bytes(data: object) -> Source:
    """Contents alone, for what never opens a file; ParamError for what is not bytes."""
    try:
        return Source("the bytes", contents_of(data, "the bytes"))
    except LoadError:
        got = "text" if isinstance(data, str) else kind_of(data)
        raise ParamError("the bytes", got, "bytes; for a file use its reader") from None


def contents_of(data: Any, place: str) -> bytes | memoryview:
    """Contents in memory: where they are, or a copy where their owner may change them.

    LoadError for what is not bytes.
    """
    if isinstance(data, bytes):
        return data
    try:
        found = _octets(data)
    except TypeError as error:
        raise LoadError(f"{place}: expected bytes, got {type(data).__name__}") from error
    # A view may be read-only where its owner is not.
    return found if found.c_contiguous and _is_fixed(found) else bytes(found)


def _is_fixed(view: memoryview) -> bool:
    """Whether nobody can change what a view shows: it is of bytes, or of a read-only tensor."""
    from numpy import ndarray

    owner: object = view
    while isinstance(owner, memoryview | ndarray):
        if not (owner.readonly if isinstance(owner, memoryview) else not owner.flags.writeable):
            return False
        owner = owner.obj if isinstance(owner, memoryview) else owner.base
    return isinstance(owner, bytes) or (isinstance(owner, Tensor) and memoryview(owner).readonly)


def _octets(data: Any) -> memoryview:
    """The bytes of an object in memory; TypeError for what has none."""
    view = memoryview(data)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def is_open(target: object) -> bool:
    """Whether a file is given open, not by its path."""
    return hasattr(target, "write")


def put(target: AnyPath | BinaryIO, data: Any) -> None:
    """Write bytes to a file by its path, whole or not at all, or to one that is open in binary.

    ParamError for a file that is open as text.
    """
    if isinstance(target, str | PathLike) or not is_open(target):
        write(name_of(target), [data if isinstance(data, bytes) else bytes(memoryview(data))])
        return
    put_whole(target, data)


def put_whole(target: Any, data: Any) -> None:
    """Write all bytes to a file that is open in binary: an unbuffered one may take them in parts.

    ParamError for a file that is open as text; SaveError for one that does not take all bytes.
    """
    rest = data if isinstance(data, bytes) else _octets(data)
    raw = isinstance(target, io.RawIOBase)
    while True:
        try:
            taken = target.write(rest)
        except TypeError as error:
            raise ParamError(
                "path", "a file that takes text", "a path, or one open in binary"
            ) from error
        if not raw:
            break
        if len(rest) and not taken:
            raise SaveError(
                f"the open file: takes no more for now, {len(rest)} bytes are left: expected one "
                "that blocks: give a path, or a file that waits"
            )
        rest = memoryview(rest)[taken or 0 :]
        if not len(rest):
            return
    # What is no file of Python's may return anything.
    if type(taken) is int and taken < len(rest):
        raise SaveError(
            f"the open file: expected a `write` that takes all {len(rest)} bytes, got one that "
            f"took {taken}: give a path, or a file with a buffer"
        )


def claim(outputs: Sequence[AnyPath | None], inputs: Sequence[AnyPath | None] = ()) -> None:
    """Refuse outputs that must not be written, before any work; None means no file.

    Each must be a new name or a regular file (not a symbolic link), and must differ from all inputs
    and other outputs.  Raises SaveError, or OSError where its folder is not writable.
    """
    written = [name_of(path, "output") for path in outputs if path is not None]
    _core.claim_files(written, [name_of(path) for path in inputs if path is not None])


def write(path: AnyPath, contents: Contents | Iterable[Contents], *, private: bool = False) -> None:
    """Write a file; `private`: for its owner alone, whatever the umask.

    Pieces are asked for one by one, so that they need not be in memory together.
    """
    write_all({fspath(path): contents}, private=private)


def write_all(files: Mapping[str, Contents | Iterable[Contents]], *, private: bool = False) -> None:
    """Write files that belong together.

    All are on the disk before the first appears.  Replaced files are removed before that, except
    the first one: whenever the process ends, the files present are either all old or all new.
    Writers of several files take turns in a folder.
    """
    pieces = [
        (name_of(name), [given] if isinstance(given, bytes | str) else given)
        for name, given in files.items()
    ]
    _core.write_files(pieces, private)


def read(path: AnyPath) -> bytes:
    """The contents of a file, up to 1 GiB."""
    return _core.read_file(name_of(path))


def mapped(path: AnyPath) -> Tensor:
    """The bytes of a regular file, u8 [size], which are read where they are used."""
    return _core.map_file(name_of(path))


def start(path: AnyPath, size: int) -> bytes:
    """The first bytes of a file, which identify its format."""
    return bytes(memoryview(_core.map_file(name_of(path))[:size]))


def start_if_there(path: AnyPath, size: int) -> bytes:
    """The first bytes of a regular file, none where there is none; waits for writers.

    Of files that `write_all` replaces together, some are missing for a moment.
    """
    file = Path(name_of(path))
    with held_beside(file):
        return start(file, size) if file.is_file() else b""


def starts_as_instructions(file: Path) -> bool:
    """Whether a file holds a program of the instruction set, in JSON or as text."""
    return _core.Instructions.recognizes(start_if_there(file, START_BYTES))


def is_container(path: AnyPath) -> bool:
    """Whether a file is one of the package's own containers."""
    return start_if_there(path, len(_CONTAINER)) == _CONTAINER


def load_npy(path: AnyPath) -> Tensor:
    """The array of a `.npy` file, read by the package's own reader, which executes nothing.

    A large file is mapped.  LoadError names the first wrong byte.
    """
    from cloakwork.recognition import expecting

    name = name_of(path)
    with expecting("one NumPy array, .npy", name, "npy"):
        return _core.load_npy(name)


def save_npy(path: AnyPath, tensor: Tensor) -> None:
    """Write a tensor as `.npy`, byte for byte as NumPy would.

    Field elements and points are written as their canonical words, u64 `[.., words]`, which
    programs accept as inputs and `ops.from_canonical` reads.
    """
    write(path, npy_of(tensor))


def npy_of(tensor: Tensor) -> bytes:
    """The bytes that `save_npy` writes."""
    if tensor.dtype.kind == "V":
        from cloakwork import ops

        tensor = ops.to_canonical(tensor)
    return _core.npy_bytes(tensor)


def held_beside(path: Path) -> AbstractContextManager[object]:
    """The folder of a file, locked as by `held`; does nothing where the folder does not exist."""
    folder = path.parent
    return held(folder) if folder.is_dir() else nullcontext()


def held(folder: AnyPath) -> _core.FolderLock:
    """A folder whose files are read together: `write_all` waits meanwhile.  Use it in `with`."""
    return _core.FolderLock(Path(folder))
