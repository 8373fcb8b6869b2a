"""Keys and ciphertexts as bytes and in pickles, in the format of their files.

This module never unpickles.  Unpickling runs the functions that the pickle names: pickles of keys
and ciphertexts name `Stored._unpickled` alone, which reads the bytes of a file, and accepts
parameters below 128 bits with an InsecureWarning.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TypeVar

from cloakwork.errors import LoadError

if TYPE_CHECKING:
    from cloakwork.fhe.context import Context
    from cloakwork.fhe.files.container import PathLike
    from cloakwork.fhe.parameters import Parameters

_Kind = TypeVar("_Kind")


class Stored(ABC):
    """An object that can be saved: to a file, as bytes and in pickles."""

    context: Context

    @abstractmethod
    def save(self, path: PathLike | BinaryIO) -> None:
        """Write it to a file, by its path or open; `fhe.load` reads it."""

    def to_bytes(self) -> bytes:
        """The bytes that `save` writes, as in pickles; ciphertexts without evaluation keys."""
        stream = BytesIO()
        self.save(stream)
        return stream.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes, *, insecure: bool = False) -> Self:
        """Undo `to_bytes`; errors as of `fhe.load`."""
        return made_of(cls, data, insecure)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._unpickled, (self.to_bytes(),)

    @classmethod
    def _unpickled(cls, data: bytes) -> Self:
        """Called by pickles, which cannot be given `insecure`: it is assumed."""
        return made_of(cls, data, True, "a pickle")


class _Named(BytesIO):
    """Bytes with the name of their file, for errors."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.name = name


def made_of(kind: type[_Kind], data: bytes, insecure: bool, place: str = "the bytes") -> _Kind:
    """The object in the bytes of a file; LoadError names their `place`, or another class."""
    from cloakwork.fhe.files.storage import load_any

    found = load_any(_named(data, place), insecure=insecure)
    if not isinstance(found, kind):
        raise LoadError(f"expected {kind.__name__}, got {type(found).__name__}")
    return found


def of_known(data: bytes, known: Parameters, place: str) -> Any:
    """The object in the bytes of a file for a caller who uses these parameters already.

    Errors as of `fhe.load`, whose `insecure` they do not need; KeyMismatchError for others.
    """
    from cloakwork.fhe.files.storage import load_known

    return load_known(_named(data, place), known)


def _named(data: bytes, place: str) -> _Named:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise LoadError(f"expected bytes, got {type(data).__name__}")
    return _Named(data, place)


def from_bytes(data: bytes, *, insecure: bool = False, place: str = "the bytes") -> Any:
    """The object in the bytes of a file, the inverse of `to_bytes`; errors as of `fhe.load`.

    place   where the bytes are from, for errors
    """
    return made_of(object, data, insecure, place)


def rebuilt(data: bytes) -> Stored:
    """Called by pickles of earlier versions."""
    return Stored._unpickled(data)
