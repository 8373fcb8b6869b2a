"""Sections of a ceremony's files: read piece by piece from the map of a file, written in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike

from cloakwork import _core, files, ops
from cloakwork._core import DType, Tensor
from cloakwork.errors import LoadError
from cloakwork.once import once
from cloakwork.zk.protocol.fields import Curve
from cloakwork.zk.protocol.fields import curve as named

AnyPath = str | PathLike[str]
# Bytes that are copied at once.
_COPIED_BYTES = 1 << 22
# snarkjs's names of the curves.
NAMES = {"bn254": "bn128", "bls12_381": "bls12381"}
MAGIC_BYTES, SECTION_BYTES = 12, 12


def u32(number: int) -> bytes:
    """Four bytes, little-endian."""
    return number.to_bytes(4, "little")


@dataclass(frozen=True)
class Groups:
    """The two groups of a curve, and the bytes of their points in a file."""

    name: str

    @once
    def curve(self) -> Curve:
        """Parameters of the curve."""
        return named(self.name)

    @once
    def coordinate_bytes(self) -> int:
        """Bytes of a coordinate of G1."""
        return -(-self.curve.fq.bits // 64) * 8

    def dtype(self, group: int) -> DType:
        """Points of G1 or of G2."""
        found = self.curve.g1 if group == 1 else self.curve.g2
        assert found is not None
        return found

    def size(self, group: int) -> int:
        """Bytes of a point."""
        return 2 * group * self.coordinate_bytes

    def generator(self, group: int) -> Tensor:
        """The generator, [1]."""
        curve = self.curve
        return (curve.g1_generator if group == 1 else curve.g2_generator).reshape(1)

    def points(self, data: bytes | Tensor, group: int) -> Tensor:
        """Points [n] from a file's bytes; they are not checked."""
        if isinstance(data, bytes):
            data = _core.from_buffer(data, _core.uint8, (len(data),))
        return _core.elements_of_file(data, self.dtype(group))

    def canonical(self, data: bytes, group: int) -> Tensor:
        """A point [1] from canonical little-endian bytes."""
        octets = _core.from_buffer(data, _core.uint64, (1, len(data) // 8))
        return ops.from_canonical(octets, self.dtype(group))


@dataclass(frozen=True, repr=False)
class Sections:
    """A file's sections over its map: `places` has start and size of each."""

    path: str
    kind: str
    octets: Tensor
    places: dict[int, tuple[int, int]]

    @classmethod
    def of(cls, path: AnyPath, kind: str) -> Sections:
        """Map a file of kind `ptau` or `zkey`; LoadError names the wrong byte."""
        name = files.name_of(path)
        found = _core.ceremony_file(name, kind == "ptau")
        places = {number: (start, size) for number, start, size in found}
        return cls(name, kind, files.mapped(name), places)

    def data(self, number: int, start: int = 0, size: int | None = None) -> bytes:
        """Some bytes of a section."""
        return memoryview(self.slice(number, start, size)).tobytes()

    def slice(self, number: int, start: int = 0, size: int | None = None) -> Tensor:
        """Some bytes of a section, u8, over the map."""
        begin, length = self._place(number)
        size = length - start if size is None else size
        return self.octets[begin + start : begin + start + size]

    def size(self, number: int) -> int:
        """Bytes of a section; LoadError where it is missing."""
        return self._place(number)[1]

    def _place(self, number: int) -> tuple[int, int]:
        if number not in self.places:
            raise LoadError(f"{self.path}: {self.kind}: section {number} is missing")
        return self.places[number]

    def expect(self, number: int, size: int, what: str) -> None:
        """Raise LoadError unless a section has this size."""
        got = self.size(number)
        if got != size:
            raise LoadError(
                f"{self.path}: {self.kind}, section {number}: expected {size} bytes, {what}, "
                f"got {got}; the file is truncated or damaged: fetch or make it again"
            )

    def cursor(self, number: int) -> Cursor:
        """A cursor at a section's start; for sections without points alone."""
        return Cursor(self, number, self.data(number))

    def copied(self, number: int) -> Iterator[bytes]:
        """A section as it is, its head first."""
        size = self.size(number)
        yield head(number, size)
        for start in range(0, size, _COPIED_BYTES):
            yield self.data(number, start, min(_COPIED_BYTES, size - start))


@dataclass
class Cursor:
    """Reads a section's numbers and bytes in turn."""

    sections: Sections
    number: int
    data: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        """The next bytes."""
        taken = self.data[self.at : self.at + size]
        if len(taken) != size:
            raise self.wrong(
                f"{size} more bytes", f"{len(taken)}; the file is truncated or damaged"
            )
        self.at += size
        return taken

    def u32(self) -> int:
        """The next number."""
        return int.from_bytes(self.take(4), "little")

    def end(self) -> None:
        """Raise LoadError if bytes are left."""
        if self.at != len(self.data):
            raise self.wrong("the section's end", f"{len(self.data) - self.at} more bytes")

    def wrong(self, expected: str, got: str) -> LoadError:
        """An error where reading stands."""
        file, (start, _) = self.sections, self.sections.places[self.number]
        return LoadError(
            f"{file.path}: {file.kind}, section {self.number}, byte {start + self.at}: "
            f"expected {expected}, got {got}"
        )


def head(number: int, size: int) -> bytes:
    """The bytes before a section's own."""
    return u32(number) + size.to_bytes(8, "little")


def start(kind: str, sections: int, version: int = 1) -> bytes:
    """The bytes before the first section."""
    return kind.encode() + u32(version) + u32(sections)


def section(number: int, *parts: bytes) -> bytes:
    """A small section."""
    data = b"".join(parts)
    return head(number, len(data)) + data
