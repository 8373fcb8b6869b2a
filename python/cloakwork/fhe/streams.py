"""Keys and ciphertexts as bytes, and in pickles of others: the same closed form as their files.

Nothing is unpickled here.  Whoever unpickles a stream runs what is in it; of ours that is
`rebuilt`, which reads the bytes of a file.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cloakwork.errors import LoadError

if TYPE_CHECKING:
    from cloakwork.fhe.context import Context

_Kind = TypeVar("_Kind")


class _Saved(Protocol):
    @property
    def context(self) -> Context: ...

    def save(self, path: Any) -> None: ...


def bytes_of(thing: _Saved) -> bytes:
    """What its file holds."""
    stream = BytesIO()
    thing.save(stream)
    return stream.getvalue()


def made_of(kind: type[_Kind], data: bytes, insecure: bool) -> _Kind:
    """What bytes of a file hold, of a kind; LoadError for another."""
    from cloakwork.fhe.storage import load_any

    if not isinstance(data, bytes | bytearray | memoryview):
        raise LoadError(f"expected bytes, got {type(data).__name__}")
    found = load_any(BytesIO(data), insecure=insecure)
    if not isinstance(found, kind):
        raise LoadError(f"expected {kind.__name__}, got {type(found).__name__}")
    return found


def from_bytes(data: bytes, *, insecure: bool = False) -> Any:
    """What the bytes of a file hold: `to_bytes` undone; errors as of `fhe.load`."""
    return made_of(object, data, insecure)


def pickled(thing: _Saved) -> tuple[Any, ...]:
    """For `__reduce__`."""
    return rebuilt, (bytes_of(thing), not thing.context.parameters.is_secure)


def rebuilt(data: bytes, insecure: bool) -> Any:
    """What a pickle calls."""
    return from_bytes(data, insecure=insecure)
