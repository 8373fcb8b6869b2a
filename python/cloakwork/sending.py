"""Objects as bytes: in files, pickles and copies, always in the form of their files.

This module never unpickles.  Pickles name `received` alone, which gives the bytes to the reader of
the file's format, and refuses what is altered; no constructor gets unchecked data.  Objects with
secrets or open handles refuse, and say what to send instead.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, SupportsIndex

from cloakwork import _core, files
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

    It never changes, so that its copies are itself; deep copies of ciphertexts have residues of
    their own.  Classes give `_packed` and `_unpacked`.
    """

    __slots__ = ()

    # Its name in pickles, if not the class's.
    _sent_as: ClassVar[str] = ""
    # Whether its bytes have checksums; else that of a pickle is of them, too.
    _sealed: ClassVar[bool] = True
    # How many facts there are.
    _fact_count: ClassVar[int] = 0

    def _packed(self) -> Buffer:
        """The bytes of its file, without a copy where that is possible."""
        raise NotImplementedError(type(self).__name__)

    def _facts(self) -> tuple[Any, ...]:
        """Texts and numbers that pickles have beside the bytes, under their checksum."""
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
        kind, facts = self._sent_as or type(self).__name__, self._facts()
        if _class_of(kind) is not type(self):
            raise SendError(
                f"{type(self).__qualname__}: not pickled: expected a class of cloakwork, got one "
                "derived from it, whose own parts no file holds: send `to_bytes()`, and make it of "
                "these bytes there"
            )
        data = self._packed()
        digest = _digest(type(self), kind, facts, data)
        # Most processes send nothing.
        from pickle import PickleBuffer

        late = int(protocol) >= _BUFFERS_FROM
        held = PickleBuffer(data) if late else bytes(memoryview(data))
        return received, (kind, held, digest, *facts)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def received(kind: Any, data: Buffer, digest: bytes = b"", *facts: Any) -> Any:
    """Called by pickles: the object of a file's bytes, read as strictly as the file.

    Raises LoadError for bytes that are altered, or of another kind.
    """
    cls = _class_of(kind) if isinstance(kind, str) else None
    if cls is None:
        raise LoadError(f"{PLACE}: expected an object that can be sent, got {kind!r:.60}")
    contents = files.contents_of(data, PLACE)
    if len(facts) != cls._fact_count:
        raise LoadError(
            f"{PLACE}: {kind}: expected {cls._fact_count} facts beside the bytes, got "
            f"{len(facts)}: send it again"
        )
    try:
        if _digest(cls, kind, facts, contents) != digest:
            hint = "its bytes are altered: send again"
            raise LoadError(f"{PLACE}: {kind}: the checksum differs: {hint}")
        # Also in a batch or a trace: to arrive is not a step of it.
        return _core.unrecorded(lambda: cls._unpacked(contents, *facts))
    except LoadError:
        raise
    except (CloakworkError, TypeError, ValueError, LookupError) as error:
        raise LoadError(f"{PLACE}: {kind}: {error}") from error


def _class_of(kind: str) -> type[Sendable] | None:
    """The class that pickles name so; None for another name."""
    home = _HOMES.get(kind)
    if home is None:
        return None
    found: type[Sendable] = getattr(import_module(home), _NAMES.get(kind, kind))
    return found


def _digest(cls: type[Sendable], kind: str, facts: tuple[Any, ...], data: Buffer) -> bytes:
    """Of the name and the facts; of the bytes, too, unless they have checksums and no facts."""
    from hashlib import blake2b

    found = blake2b(repr((kind, facts)).encode(), digest_size=_DIGEST_BYTES)
    if facts or not cls._sealed:
        found.update(memoryview(data))
    return found.digest()


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
