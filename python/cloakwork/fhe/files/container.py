"""The file format of keys and ciphertexts: a JSON header, binary tensors, a checksum.

    8 bytes    "CWFHE" and the version as a little-endian 16-bit number, and one zero
    8 bytes    length of the header, little-endian
    header     JSON in UTF-8: kind, fields, and for each tensor its shape and bytes per word
    tensors    little-endian signed words of 1, 2, 4 or 8 bytes, in the order of the header
    32 bytes   BLAKE2b of all that

It never unpickles.  A file appears whole or not at all, and an incomplete file is refused before
any object is made from it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from json import dumps
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cloakwork import _core, files, strict
from cloakwork.errors import LoadError, ParamError
from cloakwork.recognition import expecting
from cloakwork.strict import Member

VERSION = 1
_MAGIC = b"CWFHE"
_CHECKSUM_BYTES = 32
_HEADER_BYTES = 16
_WORDS = (1, 2, 4, 8)
_PIECE_BYTES = 1 << 20
_MOST_ELEMENTS = 1 << 40
_MOST_AXES = 8
# A name, a shape, bytes per word.
_ENTRY_PARTS = 3

PathLike = str | os.PathLike[str]
Readable = files.Readable | files.Source


@dataclass(frozen=True)
class Words:
    """A tensor in a file.

    size     bytes of a word
    offset   its first byte in `source`
    """

    shape: tuple[int, ...]
    size: int
    offset: int
    source: Source

    def read(self) -> NDArray[np.int64]:
        """A copy in memory."""
        with self.source.lent(self.offset, self.offset + prod(self.shape) * self.size) as part:
            found = np.frombuffer(part, dtype=f"<i{self.size}")
            return found.reshape(self.shape).astype(np.int64)


@dataclass(frozen=True)
class Source:
    """The bytes of a file: in memory, or mapped, whose parts are in memory while they are used."""

    held: memoryview | _core.Tensor

    @property
    def size_bytes(self) -> int:
        """The length of the file."""
        return len(self.held)

    def part(self, begin: int, end: int) -> memoryview:
        """The bytes of a range, of a mapped file copied."""
        if isinstance(self.held, memoryview):
            return self.held[begin:end]
        copied = memoryview(self.held[begin:end])
        _core.leave_memory(self.held)
        return copied

    @contextmanager
    def lent(self, begin: int, end: int) -> Iterator[memoryview]:
        """The bytes of a range for a while.

        The copy of a part of a mapped file, which may be a secret's, is overwritten afterwards.
        """
        if isinstance(self.held, memoryview):
            yield self.held[begin:end]
            return
        copied = self.held[begin:end].copy()
        try:
            yield memoryview(copied)
        finally:
            copied.zeroize()
            _core.leave_memory(self.held)


@dataclass(frozen=True)
class Contents:
    """The contents of a file: its kind, its fields, its tensors by name.

    tensors       read when they are asked for: together they are as large as the keys
    permissions   the file's mode, as in `chmod`; None if it is not in a file system
    """

    path: Path
    kind: str
    fields: dict[str, Any]
    tensors: dict[str, Words | NDArray[np.int64]]
    permissions: int | None = None

    def field(self, name: str) -> Member:
        """A field, to be read strictly; LoadError where there is none."""
        if name not in self.fields:
            raise self.wrong(f"field {name!r}", "a value", "none")
        return Member(f"{self.path}: {name}", self.fields[name])

    def tensor(self, name: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """A tensor, which must have this shape, else LoadError."""
        found = self.tensors.get(name)
        if found is None or found.shape != shape:
            got = "none" if found is None else f"shape {found.shape}"
            raise self.wrong(f"tensor {name!r}", f"shape {shape}", got)
        return found.read() if isinstance(found, Words) else found

    def wrong(self, place: str, expected: str, got: str) -> LoadError:
        """The LoadError for a wrong value."""
        return LoadError(f"{self.path}: {place}: expected {expected}, got {got}")


def save(
    path: PathLike | BinaryIO,
    kind: str,
    fields: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
    *,
    private: bool = False,
) -> None:
    """Write a file; `private`: for its owner alone.

    A binary file open for writing gets the same bytes, unless they are private; errors as of
    `files.put_whole`.
    """
    if not isinstance(path, str | os.PathLike) and (private or not hasattr(path, "write")):
        wanted = (
            "its path: a secret goes to a file of its owner's alone"
            if private
            else ("a path, or a file that is open in binary")
        )
        raise ParamError("path", repr(path), wanted)
    words = {name: _word_bytes(array) for name, array in tensors.items()}
    header = dumps(
        {
            "kind": kind,
            "fields": dict(fields),
            "tensors": [[name, list(array.shape), words[name]] for name, array in tensors.items()],
        },
        sort_keys=True,
    ).encode()
    start = _MAGIC + VERSION.to_bytes(2, "little") + b"\0" + len(header).to_bytes(8, "little")

    def pieces() -> Iterator[bytes | memoryview]:
        """One at a time: all tensors together are as large as the keys."""
        checksum = blake2b(digest_size=_CHECKSUM_BYTES)
        for piece in (start, header):
            checksum.update(piece)
            yield piece
        for name, array in tensors.items():
            dense = np.ascontiguousarray(array, dtype=f"<i{words[name]}")
            own = dense.reshape(-1).view(np.uint8).data
            checksum.update(own)
            yield own
        yield checksum.digest()

    if isinstance(path, str | os.PathLike):
        files.write(path, map(bytes, pieces()), private=private)
        return
    for piece in pieces():
        files.put_whole(path, piece)


def _word_bytes(array: NDArray[Any]) -> int:
    """The bytes of the narrowest words that hold all elements; a secret is not inspected."""
    if array.dtype == np.int8:
        return 1
    largest = max(int(array.max(initial=0)), -int(array.min(initial=0)) - 1)
    return next(size for size in _WORDS if largest < 1 << (8 * size - 1))


# The kinds of files whose errors are about keys and ciphertexts.
KINDS = (
    "ciphertext", "ciphertexts", "public key", "evaluation keys", "secret key", "context", "empty",
)  # fmt: skip


def load(path: Readable) -> Contents:
    """Read and check a file: by its path, open in binary, or its contents.

    Raises LoadError for an incomplete file, or one of another version.
    """
    with expecting("a file of keys or ciphertexts", path, *KINDS):
        name, source, permissions = _read(path)
        return replace(_checked(name, source), permissions=permissions)


def _read(source: Readable) -> tuple[Path, Source, int | None]:
    """The name of a file for messages, its bytes, and its mode, if it has one."""
    if isinstance(source, bytes | bytearray | memoryview):
        source = files.source_of(source)
    if isinstance(source, files.Source):
        return Path(source.name), Source(memoryview(source.contents or b"")), None
    if isinstance(source, str | os.PathLike):
        path = Path(files.name_of(source))
        try:
            permissions = stat.S_IMODE(path.stat().st_mode) if os.name == "posix" else None
            return path, Source(_core.map_file(path)), permissions
        except OSError as error:
            raise LoadError(f"{path}: cannot be read: {error.strerror}") from error
    path = Path(str(getattr(source, "name", "") or type(source).__name__))
    memory = source.read() if hasattr(source, "read") else None
    if not isinstance(memory, bytes):
        raise LoadError(f"{path}: expected a path, or a file that is open for reading in binary")
    return path, Source(memoryview(memory)), _permissions(source)


def _permissions(file: BinaryIO) -> int | None:
    try:
        return stat.S_IMODE(os.fstat(file.fileno()).st_mode) if os.name == "posix" else None
    except (AttributeError, OSError):
        return None


def _checked(path: Path, source: Source) -> Contents:
    head_bytes(path, bytes(source.part(0, _HEADER_BYTES)))
    end = max(source.size_bytes - _CHECKSUM_BYTES, 0)
    found = blake2b(digest_size=_CHECKSUM_BYTES)
    for begin in range(0, end, _PIECE_BYTES):
        with source.lent(begin, min(begin + _PIECE_BYTES, end)) as piece:
            found.update(piece)
    if found.digest() != source.part(end, source.size_bytes):
        hint = "fetch or write it again"
        raise LoadError(f"{path}: the checksum differs: the file is truncated or altered: {hint}")
    return _parsed(path, source, end)


@dataclass(frozen=True)
class Head:
    """The beginning of a file, which says what follows.

    entries      name, shape and bytes per word of each tensor
    size_bytes   the length of the whole file
    """

    kind: str
    fields: dict[str, Any]
    entries: list[tuple[str, tuple[int, ...], int]]
    size_bytes: int


def head_bytes(path: Path, beginning: bytes) -> int:
    """The length of a file's beginning that `head` needs, from its first 16 bytes.

    Raises LoadError for bytes of no such file.
    """
    if beginning[: len(_MAGIC)] != _MAGIC or len(beginning) < _HEADER_BYTES:
        got = "another one" if beginning else "an empty file"
        wanted = "a file of keys or ciphertexts, which begins with CWFHE"
        raise LoadError(f"{path}: expected {wanted}, got {got}")
    version = int.from_bytes(beginning[5:7], "little")
    if version != VERSION:
        raise LoadError(f"{path}: expected version {VERSION}, got {version}")
    return _HEADER_BYTES + int.from_bytes(beginning[8:_HEADER_BYTES], "little")


def expect(contents: bytes, place: str, *kinds: str) -> None:
    """LoadError, before anything but the head is read, for a file of none of these kinds."""
    path = Path(place)
    needed = head_bytes(path, contents[:_HEADER_BYTES])
    got = head(path, contents[:needed]).kind
    if got not in kinds:
        raise LoadError(f"{place}: kind: expected {' or '.join(kinds)}, got {got!r}")


def head_of(path: Path) -> Head:
    """The head of a file, of which nothing else is read; LoadError for one without it."""
    mapped = _core.map_file(path)
    needed = head_bytes(path, bytes(memoryview(mapped[:_HEADER_BYTES])))
    return head(path, bytes(memoryview(mapped[:needed])))


def head(path: Path, beginning: bytes | memoryview) -> Head:
    """The head of a file from its first `head_bytes` or more; LoadError for an invalid one."""
    end = head_bytes(path, bytes(beginning[:_HEADER_BYTES]))
    try:
        header = Member(f"{path}: header", strict.parsed(bytes(beginning[_HEADER_BYTES:end]), ""))
        kind, fields, listed = header.members("kind", "fields", "tensors")
        kind.of(str)
        fields.of(dict)
        entries = [_entry(one) for one in listed.parts()]
    except LoadError as error:
        why = "the header is not one of this version, or altered: fetch or write the file again"
        raise LoadError(f"{path}: {why}") from error
    total = end
    for name, shape, size in entries:
        fits = len(shape) <= _MOST_AXES and all(0 <= length < _MOST_ELEMENTS for length in shape)
        count = prod(shape) if fits else _MOST_ELEMENTS
        if size not in _WORDS or count >= _MOST_ELEMENTS:
            raise LoadError(f"{path}: tensor {name!r} is longer than the file")
        total += count * size
    return Head(kind.value, fields.value, entries, total + _CHECKSUM_BYTES)


def _entry(note: Member) -> tuple[str, tuple[int, ...], int]:
    """The name, the shape and the bytes per word of a tensor."""
    parts = note.parts()
    if len(parts) != _ENTRY_PARTS:
        raise note.wrong("a name, a shape and a size")
    name, shape, size = parts
    return name.of(str), tuple(one.of(int) for one in shape.parts()), size.of(int)


def _parsed(path: Path, source: Source, body_bytes: int) -> Contents:
    """The contents of a file whose checksum is right; it may still be malicious."""
    end = head_bytes(path, bytes(source.part(0, _HEADER_BYTES)))
    found_head = head(path, source.part(0, min(end, body_bytes)))
    tensors: dict[str, Words | NDArray[np.int64]] = {}
    for name, shape, size in found_head.entries:
        count = prod(shape)
        if end + count * size > body_bytes:
            raise LoadError(f"{path}: tensor {name!r} is longer than the file")
        tensors[name] = Words(shape, size, end, source)
        end += count * size
    if end != body_bytes:
        raise LoadError(f"{path}: {body_bytes - end} bytes after the last tensor")
    return Contents(path, found_head.kind, found_head.fields, tensors)
