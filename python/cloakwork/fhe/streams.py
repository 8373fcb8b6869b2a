"""Keys and ciphertexts as bytes and in pickles, in the format of their files.

Pickles name `cloakwork.sending.received` alone, which reads the bytes of a file; parameters below
128 bits are accepted with an InsecureWarning.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TypeVar, cast

from cloakwork.errors import LoadError
from cloakwork.files import Source, contents_of
from cloakwork.sending import PLACE, Sendable

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from cloakwork.fhe.context import Context
    from cloakwork.fhe.files.container import PathLike
    from cloakwork.fhe.parameters import Parameters

_Kind = TypeVar("_Kind")


class Stored(Sendable, ABC):
    """An object that can be saved: to a file, as bytes and in pickles."""

    context: Context

    @abstractmethod
    def save(self, path: PathLike | BinaryIO) -> None:
        """Write it to a file, by its path or open; `fhe.load` reads it."""

    def _packed(self) -> bytes:
        """The bytes of its file; of ciphertexts without evaluation keys."""
        pieces: list[bytes] = []
        self.save(cast("BinaryIO", _Pieces(pieces)))
        return b"".join(pieces)

    @classmethod
    def from_bytes(cls, data: bytes, *, insecure: bool = False) -> Self:
        """Undo `to_bytes`; errors as of `fhe.load`."""
        return made_of(cls, data, insecure)

    @classmethod
    def _unpacked(cls, data: Buffer, *facts: Any) -> Self:
        """Called by pickles, which cannot be given `insecure`: it is assumed."""
        return made_of(cls, data, True, PLACE)

    @classmethod
    def _unpickled(cls, data: bytes) -> Self:
        """Called by pickles of earlier versions."""
        return cls._unpacked(data)


class _Pieces:
    """A file that keeps what is written to it, in pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.write = pieces.append


def made_of(kind: type[_Kind], data: Buffer, insecure: bool, place: str = "the bytes") -> _Kind:
    """The object in the bytes of a file; LoadError names their `place`, or another class."""
    from cloakwork.fhe.files.storage import load_any

    found = load_any(Source(place, contents_of(data, place)), insecure=insecure)
    if not isinstance(found, kind):
        raise LoadError(f"expected {kind.__name__}, got {type(found).__name__}")
    return found


def of_known(data: bytes, known: Parameters, place: str) -> Any:
    """The object in the bytes of a file for a caller who uses these parameters already.

    Errors as of `fhe.load`, whose `insecure` they do not need; KeyMismatchError for others.
    """
    from cloakwork.fhe.files.storage import load_known

    return load_known(Source(place, contents_of(data, place)), known)


def from_bytes(data: bytes, *, insecure: bool = False, place: str = "the bytes") -> Any:
    """The object in the bytes of a file, the inverse of `to_bytes`; errors as of `fhe.load`.

    place   where the bytes are from, for errors
    """
    return made_of(object, data, insecure, place)


def rebuilt(data: bytes) -> Stored:
    """Called by pickles of earlier versions."""
    return Stored._unpickled(data)
