"""The bytes of SEAL's files, version 4: headers, compression, members, seeds.

    16 bytes   0xA15E, 16 (its own size), major and minor version, compression, 2 zeros, size
    members    little-endian, as one compressed stream; nested objects have headers of their own

Sizes come from the context, and are compared with the file's before anything is allocated: no
file takes more memory than an object of the context does.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from hashlib import blake2b, shake_256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork import _core, files
from cloakwork.errors import CloakworkError, LoadError, ParamError
from cloakwork.fhe.files.container import PathLike
from cloakwork.fhe.interop.blake2x import blake2xb

Words = NDArray[np.uint64]


class Layout:
    """Numbers and bytes one after the other, by NumPy's names of their types: "<u8", "V32"."""

    def __init__(self, *kinds: str) -> None:
        self._kind = np.dtype([(f"field {number}", kind) for number, kind in enumerate(kinds)])
        self.size = self._kind.itemsize

    def unpack(self, data: bytes) -> tuple[Any, ...]:
        """The values of as many bytes."""
        found: tuple[Any, ...] = np.frombuffer(data, dtype=self._kind)[0].item()
        return found

    def pack(self, *values: Any) -> bytes:
        """The bytes of the values."""
        return np.array([values], dtype=self._kind).tobytes()


_HEADER = Layout("<u2", "u1", "u1", "u1", "u1", "<u2", "<u8")
_MAGIC = 0xA15E
_MAJOR = 4
NONE, ZLIB, ZSTD = 0, 1, 2
_MINOR_MOST = 99
_BUFFER_BYTES = 4096
# Residues are random: Zstandard shortens words of 64 bits to those of their modulus, 18 or more.
# Only the places of missing keys are zeros, 8 bytes each.
_RATIO_MOST, _ZEROS_MOST = 16, 1 << 21
_BLAKE2XB, _SHAKE256 = 1, 2
_SEED_BYTES = 64
_INFO = Layout("u1", "V64")


def packed(members: bytes, version: str) -> bytes:
    """An object's bytes, with its header.

    version   "4.1": that of the SEAL that is to read it, which refuses others
    """
    major, _, minor = version.partition(".")
    if major != str(_MAJOR) or not minor.isdecimal() or not int(minor) <= _MINOR_MOST:
        raise ParamError("version", version, 'SEAL\'s, such as "4.1": SEAL reads its own alone')
    size = _HEADER.size + len(members)
    return _HEADER.pack(_MAGIC, _HEADER.size, _MAJOR, int(minor), NONE, 0, size) + members


def array(words: NDArray[Any], version: str) -> bytes:
    """A DynArray of words."""
    flat = np.ascontiguousarray(words, dtype="<u8")
    return packed(flat.size.to_bytes(8, "little") + flat.tobytes(), version)


def hashed(words: list[int]) -> bytes:
    """The parms_id of a list of words."""
    return blake2b(b"".join(word.to_bytes(8, "little") for word in words), digest_size=32).digest()


def opened(path: PathLike, most: int) -> Reader:
    """A reader of the members of the object in a file; LoadError beyond `most` bytes of them."""
    name = Path(files.name_of(path))
    try:
        data = bytes(memoryview(_core.map_file(name))[: 2 * most + 2 * _HEADER.size])
    except OSError as failure:
        raise LoadError(f"{name}: cannot be read: {failure.strerror}") from failure
    reader = Reader(name, data)
    found = reader.object(most)
    reader.finish()
    return found


@dataclass
class Reader:
    """The bytes of one object, read from the start; every mistake is a LoadError with its place."""

    path: Path
    data: bytes
    place: int = 0
    library: str = "SEAL"

    def wrong(self, what: str, expected: object, got: object) -> LoadError:
        """The LoadError for a wrong value."""
        place = f"{self.path}: {self.library}, byte {self.place}"
        return LoadError(f"{place}: {what}: expected {expected}, got {got}")

    def take(self, count: int, what: str) -> bytes:
        """The next bytes."""
        if count > len(self.data) - self.place:
            left = len(self.data) - self.place
            raise self.wrong(what, f"{count} bytes", f"{left}: the file is truncated, or altered")
        start, self.place = self.place, self.place + count
        return self.data[start : self.place]

    def fields(self, layout: Layout, what: str) -> tuple[Any, ...]:
        """Numbers of a layout."""
        return layout.unpack(self.take(layout.size, what))

    def word(self, what: str, expected: int | None = None) -> int:
        """A word of 64 bits, which must be the expected one, if there is one."""
        found = int.from_bytes(self.take(8, what), "little")
        if expected is not None and found != expected:
            raise self.wrong(what, expected, found)
        return found

    def object(self, most: int) -> Reader:
        """A reader of the members of the next object, of at most `most` bytes."""
        magic, own, major, minor, mode, _, size = self.fields(_HEADER, "header")
        if magic != _MAGIC or own != _HEADER.size:
            raise self.wrong(
                "header", "an object of SEAL, which begins with 5e a1 10", f"{magic:04x}"
            )
        if major != _MAJOR:
            raise self.wrong("version", "4", f"{major}.{minor}: save it with SEAL 4")
        if not _HEADER.size <= size <= 2 * most + 2 * _HEADER.size:
            raise self.wrong("size", f"at most {most} bytes by the parameters", size)
        body = self.take(size - _HEADER.size, "object")
        most = min(most, _RATIO_MOST * len(body) + _ZEROS_MOST)
        found = self._inflated(body, mode, most)
        if len(found) > most:
            raise self.wrong("size", f"at most {most} bytes by the parameters", "more")
        return Reader(self.path, found)

    def _inflated(self, body: bytes, mode: int, most: int) -> bytes:
        if mode == NONE:
            return body
        try:
            if mode == ZLIB:
                inflater = zlib.decompressobj()
                found = inflater.decompress(body, most + 1)
                whole = inflater.eof and not inflater.unused_data
            elif mode == ZSTD:
                found, whole = _unzstd(body, most + 1)
            else:
                raise self.wrong("compression", "0, 1 or 2", mode)
        except CloakworkError:
            raise
        except ImportError as failure:
            hint = "pip install zstandard, or save it with compr_mode_type::zlib"
            raise LoadError(f"{self.path}: it is compressed with Zstandard: {hint}") from failure
        except Exception as failure:
            raise self.wrong("compressed bytes", "a whole stream", str(failure)[:80]) from failure
        if not whole and len(found) <= most:
            raise self.wrong("compressed bytes", "a whole stream", "a part of one")
        return found

    def words(self, most: int) -> Words:
        """A DynArray of at most this number of words."""
        inner = self.object(8 * most + 8)
        count = inner.word("length of the array")
        if count > most:
            raise inner.wrong("length of the array", f"at most {most}", count)
        found = np.frombuffer(inner.take(8 * count, "array"), dtype="<u8")
        inner.finish()
        return found

    def seed(self) -> Generator:
        """The generator of an object's last polynomial."""
        inner = self.object(_INFO.size)
        kind, seed = inner.fields(_INFO, "seed")
        if kind not in (_BLAKE2XB, _SHAKE256):
            hint = "1 or 2 (BLAKE2Xb or SHAKE256); save the object itself, not its Serializable"
            raise inner.wrong("random generator", hint, kind)
        inner.finish()
        return Generator(kind, seed)

    def finish(self) -> None:
        """LoadError unless all bytes are read."""
        if self.place != len(self.data):
            raise self.wrong("end", "no more bytes", f"{len(self.data) - self.place} more")


def _unzstd(body: bytes, most: int) -> tuple[bytes, bool]:
    """At most this number of bytes of a stream; where it is cut, members are missing."""
    import zstandard

    pieces, held = [], 0
    with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(body) as stream:
        while held < most and (piece := stream.read(most - held)):
            pieces.append(piece)
            held += len(piece)
    return b"".join(pieces), True


@dataclass
class Generator:
    """SEAL's generator of pseudorandom bytes: buffers of 4096, each of the seed and its number."""

    kind: int
    seed: bytes
    number: int = 0
    rest: bytes = b""

    def take(self, count: int) -> bytes:
        """The next bytes."""
        pieces, held = [self.rest], len(self.rest)
        while held < count:
            pieces.append(self._buffer())
            held += _BUFFER_BYTES
        whole = b"".join(pieces)
        self.rest = whole[count:]
        return whole[:count]

    def _buffer(self) -> bytes:
        counter = self.number.to_bytes(8, "little")
        self.number += 1
        if self.kind == _BLAKE2XB:
            return blake2xb(counter, self.seed, _BUFFER_BYTES)
        return shake_256(self.seed + counter).digest(_BUFFER_BYTES)

    def uniform(self, moduli: tuple[int, ...], degree: int) -> Words:
        """[k, N]: uniform residues, by rejection."""
        largest = (1 << 64) - 1
        words = np.frombuffer(self.take(8 * len(moduli) * degree), dtype="<u8")
        found = words.reshape(len(moduli), degree).copy()
        for limb, q in zip(found, moduli, strict=True):
            limit = largest - largest % q - 1
            for place in np.flatnonzero(limb >= np.uint64(limit)):
                word = limit
                while word >= limit:
                    word = int.from_bytes(self.take(8), "little")
                limb[place] = word
            limb %= np.uint64(q)
        return found
