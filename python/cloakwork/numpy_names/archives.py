"""Reading `.npz` archives: within a budget that the file's own size sets."""

from __future__ import annotations

import zipfile
from io import RawIOBase
from typing import Any

from cloakwork import _core, files
from cloakwork._core import Tensor
from cloakwork.errors import LoadError
from cloakwork.files import Source

SUFFIX = ".npy"
# What compressed arrays may take: so much, and so many times the bytes of the file.
_FREE_BYTES, _MOST_RATIO = 64 << 20, 32
_PIECE_BYTES = 1 << 24
# NumPy's own: others unpack without a limit.
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED = 0x1


def members(source: Source) -> dict[str, Tensor]:
    """The tensors of an archive, by name; LoadError names the member that is none.

    Arrays that are stored as they are take the memory of the file, however large.  Compressed ones
    are unpacked up to 64 MiB and 32 times the file, in all, and no byte more is unpacked.
    """
    name, held = source.name, source.contents
    mapped = files.mapped(name) if held is None else held
    try:
        with zipfile.ZipFile(_Mapped(mapped)) as archive:
            entries = archive.infolist()
            _check(entries, name, len(mapped))
            made = {
                entry.filename.removesuffix(SUFFIX): _member(archive, entry, name)
                for entry in entries
            }
    except _Outside as error:
        raise LoadError(f"{name}: expected an archive of arrays: {error}") from error
    except (LoadError, MemoryError, OSError):
        raise
    except Exception as error:
        # `zipfile` raises errors of many kinds for damaged archives, `struct`'s among them.
        raise LoadError(f"{name}: expected an archive of arrays: {error}") from error
    return made


def _check(entries: list[zipfile.ZipInfo], name: str, size: int) -> None:
    """LoadError for a directory of other things than arrays, and for more than the budget."""
    seen = set[str]()
    for entry in entries:
        place = f"{name}: {entry.filename[:80]!r}"
        if not entry.filename.endswith(SUFFIX):
            raise LoadError(f"{name}: expected arrays alone, got {entry.filename[:80]!r}")
        if entry.filename in seen:
            raise LoadError(f"{place}: expected each array once, got two of one name")
        seen.add(entry.filename)
        if entry.compress_type not in _METHODS or entry.flag_bits & _ENCRYPTED:
            hint = "save it with numpy.savez, or unpack it and load the .npy files"
            raise LoadError(f"{place}: expected a stored or deflated array, got another: {hint}")
        stored = entry.compress_type == zipfile.ZIP_STORED
        if stored and entry.file_size != entry.compress_size:
            got = f"{entry.file_size} of {entry.compress_size}"
            raise LoadError(f"{place}: expected as many bytes as are stored, got {got}")
    packed = sum(entry.compress_size for entry in entries)
    if packed > size:
        raise LoadError(f"{name}: expected arrays within {size} bytes, got {packed}")
    budget = _FREE_BYTES + _MOST_RATIO * size
    unpacked = sum(
        entry.file_size for entry in entries if entry.compress_type != zipfile.ZIP_STORED
    )
    if unpacked > budget:
        hint = "if you trust the file, unpack it (unzip) and load the .npy files"
        raise LoadError(
            f"{name}: expected compressed arrays of at most {budget} bytes (64 MiB and "
            f"{_MOST_RATIO} times the file), got {unpacked}: {hint}"
        )


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> Tensor:
    place = f"{name}: {entry.filename}"
    held = bytearray()
    with archive.open(entry) as file:
        # A piece at a time, and no more than is stated: the directory may understate it.
        while piece := file.read(min(_PIECE_BYTES, entry.file_size - len(held) + 1)):
            if len(held) + len(piece) > entry.file_size:
                raise LoadError(f"{place}: expected {entry.file_size} bytes, got more")
            held += piece
    if len(held) < entry.file_size:
        raise LoadError(f"{place}: expected {entry.file_size} bytes, got {len(held)}")
    return _core.npy_of(bytes(held), place)


class _Outside(OSError):
    """A place before the beginning of an archive."""


class _Mapped(RawIOBase):
    """The bytes of a mapped file or of memory, to be read where they are used."""

    def __init__(self, mapped: Tensor | bytes | memoryview) -> None:
        super().__init__()
        self._mapped, self._place = mapped, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = 0) -> int:
        place = offset + (0, self._place, len(self._mapped))[whence]
        if place < 0:
            # As files do: `zipfile` tries places that short archives do not have.
            raise _Outside(f"a place {-place} bytes before the beginning")
        self._place = place
        return place

    def readinto(self, buffer: Any) -> int:
        into = memoryview(buffer).cast("B")
        piece = memoryview(self._mapped[self._place : self._place + len(into)])
        into[: len(piece)] = piece
        self._place += len(piece)
        return len(piece)
