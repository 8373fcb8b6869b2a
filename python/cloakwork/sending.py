"""Objects as bytes: in files, pickles and copies, always in the form of their files.

This module never unpickles.  Pickles name `received` alone, which gives the bytes to the reader of
the file's format, and refuses what is altered; no constructor gets unchecked data.  Objects with
secrets or open handles refuse, and say what to send instead.
"""

from __future__ import annotations

from hashlib import blake2b
from importlib import import_module
from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, SupportsIndex

from cloakwork import files
from cloakwork.errors import CloakworkError, LoadError, SecretError, SendError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Constant", "Here", "Secret", "Sendable", "received"]

_DIGEST_BYTES = 16
# The protocol of pickles from which buffers may travel beside them.
_BUFFERS_FROM = 5
# In errors.
PLACE = "a pickle"

# The classes that pickles name, and where they are.
_HOMES = {
    "BfvCiphertext": "cloakwork.fhe",
    "BfvContext": "cloakwork.fhe",
    "BgvCiphertext": "cloakwork.fhe",
    "BgvContext": "cloakwork.fhe",
    "CiphertextSet": "cloakwork.fhe",
    "Circuit": "cloakwork.zk",
    "CkksCiphertext": "cloakwork.fhe",
    "CkksContext": "cloakwork.fhe",
    "CompiledModel": "cloakwork.compiler.compiled",
    "EvaluationKeys": "cloakwork.fhe",
    "Instructions": "cloakwork.zk.instructions.program",
    "PlonkProof": "cloakwork.zk.plonk",
    "PlonkVerifyingKey": "cloakwork.zk.plonk",
    "Program": "cloakwork",
    "Proof": "cloakwork.zk",
    "Prover": "cloakwork.zk.groth16",
    "ProvingKey": "cloakwork.zk",
    "Public": "cloakwork.zk",
    "PublicKey": "cloakwork.fhe",
    "Server": "cloakwork.compiler.server",
    "Traced": "cloakwork.zk",
    "Transcript": "cloakwork.heal",
    "VerifyingKey": "cloakwork.zk",
}

# The names of classes that pickles name otherwise, as another has the same.
_NAMES = {"Instructions": "Program", "PlonkProof": "Proof", "PlonkVerifyingKey": "VerifyingKey"}


class Sendable:
    """An object with one form as bytes: that of its file.

    It never changes, so that its copies are itself.  Classes give `_packed` and `_unpacked`.
    """

    __slots__ = ()

    # Its name in pickles, if not the class's.
    _sent_as: ClassVar[str] = ""
    # Whether its bytes have checksums; else pickles have one beside them.
    _sealed: ClassVar[bool] = True

    def _packed(self) -> Buffer:
        """The bytes of its file, without a copy where that is possible."""
        raise NotImplementedError(type(self).__name__)

    def _facts(self) -> tuple[Any, ...]:
        """Texts and numbers that pickles have beside the bytes."""
        return ()

    @classmethod
    def _unpacked(cls, data: Buffer, *facts: Any) -> Self:
        """The object of bytes from a pickle; LoadError for others."""
        raise NotImplementedError(cls.__name__)

    def to_bytes(self) -> bytes:
        """The bytes that `save` writes to a file; `from_bytes` reads them."""
        data = self._packed()
        return data if isinstance(data, bytes) else bytes(memoryview(data))

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        data = self._packed()
        digest = b"" if self._sealed else _digest(data)
        late = int(protocol) >= _BUFFERS_FROM
        held = PickleBuffer(data) if late else bytes(memoryview(data))
        return received, (self._sent_as or type(self).__name__, held, digest, *self._facts())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def received(kind: Any, data: Buffer, digest: bytes = b"", *facts: Any) -> Any:
    """Called by pickles: the object of a file's bytes, read as strictly as the file.

    Raises LoadError for bytes that are altered, or of another kind.
    """
    home = _HOMES.get(kind) if isinstance(kind, str) else None
    if home is None:
        raise LoadError(f"{PLACE}: expected an object that can be sent, got {kind!r:.60}")
    cls = getattr(import_module(home), _NAMES.get(kind, kind))
    contents = files.contents_of(data, PLACE)
    if not cls._sealed and _digest(contents) != digest:
        raise LoadError(f"{PLACE}: {kind}: the checksum differs: its bytes are altered: send again")
    try:
        return cls._unpacked(contents, *facts)
    except LoadError:
        raise
    except (CloakworkError, TypeError, ValueError, LookupError) as error:
        raise LoadError(f"{PLACE}: {kind}: {error}") from error


def _digest(data: Buffer) -> bytes:
    return blake2b(memoryview(data), digest_size=_DIGEST_BYTES).digest()


class _Staying:
    """An object that pickles do not take."""

    __slots__ = ()

    # Why it stays, and what to send instead.
    _stays: ClassVar[str] = ""
    _refusal: ClassVar[type[CloakworkError]] = SendError
    _copied = "neither copied nor pickled"

    def _refuse(self) -> NoReturn:
        raise self._refusal(f"{type(self).__name__}: {self._copied}: {self._stays}")

    def __getstate__(self) -> NoReturn:
        self._refuse()

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        self._refuse()

    def __reduce__(self) -> NoReturn:
        self._refuse()

    def __copy__(self) -> Self:
        self._refuse()

    def __deepcopy__(self, memo: object) -> Self:
        self._refuse()


class Here(_Staying):
    """An object of one process: it holds functions, handles or tables.  SendError says more."""

    __slots__ = ()


class Constant(Here):
    """The same of one that never changes, so that its copies are itself."""

    __slots__ = ()

    _copied = "not pickled"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Secret(_Staying):
    """An object that holds a secret, or may come to hold one.  SecretError says more."""

    __slots__ = ()

    _refusal = SecretError
