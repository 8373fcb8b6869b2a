"""Verifying keys, public signals and proofs: snarkjs's `vkey.json`, `public.json`, `proof.json`.

Points are canonical little-endian bytes, affine: x then y, a coordinate over the quadratic
extension as its two parts; infinity is all zeros.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Protocol, Self

from cloakwork import _core, files
from cloakwork.errors import LoadError, ParamError, ProofError
from cloakwork.fields.parameters import ORDERS
from cloakwork.lazy import public
from cloakwork.recognition import expecting
from cloakwork.sending import PLACE, Sendable
from cloakwork.wording import kind_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

# A file, its contents, what `json.load` makes of it, or the object itself.
Source = files.Readable | files.Source | dict[str, Any] | list[Any]

_SCALAR_BYTES = 32
_PAIRING = "vk_alphabeta_12"


def _numbers(stated: list[Any]) -> list[int]:
    """The twelve coordinates of [2][3][2]."""
    return [int(number) for half in stated for pair in half for number in pair]


def text_of(source: object, what: str) -> tuple[bytes, str]:
    """JSON, and the name of where it stands."""
    if isinstance(source, dict | list):
        import json

        return json.dumps(source).encode(), "JSON"
    found = source if isinstance(source, files.Source) else files.source_of(source, what)
    return found.read(), found.name


def is_text(data: bytes) -> bool:
    """Whether bytes may be JSON: points and counts are not text."""
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


class JsonFile(Sendable):
    """A statement whose file is JSON, always the same of the same statement."""

    _sealed = False

    @abstractmethod
    def to_json(self) -> str:
        """The text of its file."""

    def _packed(self) -> bytes:
        """The bytes of that text."""
        return self.to_json().encode()

    def save(self, path: str | PathLike[str] | BinaryIO) -> None:
        """Write that text; the file appears whole or not at all."""
        files.put(path, self._packed())


class NamedCurve(JsonFile):
    """A statement whose file names its curve."""

    @classmethod
    @abstractmethod
    def load(cls, source: Source) -> Self:
        """Read the file."""

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """Undo `to_bytes`; LoadError for other bytes."""
        return cls.load(files.given_bytes(data))

    @classmethod
    def _unpacked(cls, data: Buffer, *facts: Any) -> Self:
        """The statement of a pickle."""
        return cls.load(files.Source(PLACE, files.contents_of(data, PLACE)))


@public("cloakwork.zk")
@dataclass(frozen=True)
class VerifyingKey(NamedCurve):
    """A verifying key of Groth16; `ic` has a point more than there are public signals."""

    curve: str
    alpha1: bytes
    beta2: bytes
    gamma2: bytes
    delta2: bytes
    ic: bytes

    @classmethod
    def load(cls, source: Source | Self) -> Self:
        """Read snarkjs's JSON, or the bytes of gnark or arkworks: a file, or what `json.load` gave.

        Raises LoadError, with the path to the wrong member or the wrong byte: also a
        `vk_alphabeta_12`, which is not needed, but other verifiers use, that is not the pairing of
        alpha and beta.
        """
        if isinstance(source, cls):
            return source
        text, name = text_of(source, "verifying key")
        with expecting("a verifying key, vkey.json", source, "vkey"):
            if not is_text(text):
                from cloakwork.zk.forms import binary

                return cls(*binary.read_key(text, name))
            found = cls(*_core.verifying_key_of(text, name))
            found._check_pairing(text, name)
            return found

    def _check_pairing(self, text: bytes, name: str) -> None:
        """LoadError where a key's text states another pairing of alpha and beta than it has."""
        if _PAIRING.encode() not in text:
            return
        try:
            own = self.to_json()
        except ProofError:
            # A point outside of its curve or group: `verify` says which.
            return
        # Mostly it is the text that snarkjs writes.
        if text.strip() == own.encode():
            return
        from cloakwork import strict

        stated = strict.parsed(text, name).get(_PAIRING)
        if stated is None:
            return
        if _numbers(stated) != _numbers(strict.parsed(own, name)[_PAIRING]):
            raise LoadError(
                f"{name}: verifying key, {_PAIRING}: expected the pairing of vk_alpha_1 and "
                "vk_beta_2, got another: take the key from where it was made, or leave this member "
                "out"
            )

    @property
    def public(self) -> int:
        """Number of public signals."""
        return len(self.ic) // len(self.alpha1) - 1

    @property
    def parts(self) -> tuple[str, bytes, bytes, bytes, bytes, bytes]:
        """Curve and points in order."""
        return self.curve, self.alpha1, self.beta2, self.gamma2, self.delta2, self.ic

    def to_json(self) -> str:
        """The text that `snarkjs zkey export verificationkey` writes, byte for byte."""
        return _core.verifying_key_text(self.parts)

    def __repr__(self) -> str:
        return f"VerifyingKey({self.curve}, public={self.public})"


@public("cloakwork.zk")
@dataclass(frozen=True)
class Proof(NamedCurve):
    """A Groth16 proof: A in G1, B in G2, C in G1."""

    curve: str
    a: bytes
    b: bytes
    c: bytes

    @classmethod
    def load(cls, source: Source | Self, curve: str | None = None) -> Self:
        """Read JSON of snarkjs or rapidsnark, or bytes of gnark or arkworks.

        source  a file, or what `json.load` gave
        curve   that of the verifying key, for proofs that do not name theirs (rapidsnark's).  A
                proof that names another one keeps it, and no key of `curve` verifies it

        Raises LoadError for JSON that is wrong, or that names no curve where `curve` is not given.
        """
        if isinstance(source, cls):
            return source
        with expecting("a proof, proof.json", source, "proof"):
            text, name = text_of(source, "proof")
            if not is_text(text):
                from cloakwork.zk.forms import binary

                return cls(*binary.read_proof(text, name))
            return cls(*_core.proof_of(text, name, curve))

    @property
    def parts(self) -> tuple[str, bytes, bytes, bytes]:
        """Curve and points in order."""
        return self.curve, self.a, self.b, self.c

    def to_json(self) -> str:
        """The text that `snarkjs groth16 prove` writes, byte for byte."""
        return _core.proof_text(self.parts)

    def __repr__(self) -> str:
        return f"Proof({self.curve})"


@public("cloakwork.zk")
@dataclass(frozen=True)
class Public(JsonFile):
    """Public signals: the circuit's outputs, then its public inputs."""

    curve: str
    signals: tuple[int, ...]

    @classmethod
    def load(cls, source: Source | Sequence[int] | Self, curve: str) -> Self:
        """Read JSON of snarkjs or bytes of gnark or arkworks, or take integers below the prime.

        Raises LoadError or ParamError where one is not.
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, list | tuple) and all(isinstance(item, int) for item in source):
            if curve not in ORDERS:
                raise ParamError("curve", repr(curve), " or ".join(ORDERS))
            prime = ORDERS[curve]
            for index, item in enumerate(source):
                if isinstance(item, bool) or not 0 <= item < prime:
                    raise ParamError(f"public signal {index}", item, f"an integer below {prime}")
            return cls(curve, tuple(source))
        if isinstance(source, tuple):
            source = list(source)
        text, name = text_of(source, "public signals")
        with expecting("public signals, public.json", source, "public"):
            if not is_text(text):
                from cloakwork.zk.forms import binary

                return cls.of_bytes(curve, binary.read_public(text, curve, name))
            return cls.of_bytes(curve, _core.public_of(text, curve, name))

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, curve: str) -> Self:
        """Undo `to_bytes`; LoadError for other bytes."""
        return cls.load(files.given_bytes(data), curve)

    @classmethod
    def _unpacked(cls, data: Buffer, *facts: Any) -> Self:
        """The signals of a pickle."""
        (curve,) = facts
        if not isinstance(curve, str) or curve not in ORDERS:
            raise LoadError(f"{PLACE}: expected {' or '.join(ORDERS)}, got {curve!r:.60}")
        return cls.load(files.Source(PLACE, files.contents_of(data, PLACE)), curve)

    _fact_count: ClassVar[int] = 1

    def _facts(self) -> tuple[str]:
        """The curve, which the file does not name."""
        return (self.curve,)

    @classmethod
    def of_bytes(cls, curve: str, data: bytes) -> Self:
        """Take canonical little-endian scalars, one after the other."""
        starts = range(0, len(data), _SCALAR_BYTES)
        return cls(
            curve,
            tuple(int.from_bytes(data[at : at + _SCALAR_BYTES], "little") for at in starts),
        )

    @property
    def data(self) -> bytes:
        """Canonical little-endian scalars, one after the other.

        Raises ParamError for what does not fit one.
        """
        held: tuple[object, ...] = self.signals
        for place, signal in enumerate(held):
            if not (isinstance(signal, int) and 0 <= signal < 1 << 8 * _SCALAR_BYTES):
                got = signal if isinstance(signal, int) else kind_of(signal)
                raise ParamError(f"public signal {place}", got, "an integer below the prime")
        return b"".join(signal.to_bytes(_SCALAR_BYTES, "little") for signal in self.signals)

    def to_json(self) -> str:
        """The text that snarkjs writes, byte for byte."""
        return _core.public_text(self.curve, self.data)


class _Written(Protocol):
    """A proof of any system."""

    def to_json(self) -> str: ...


def save(
    proof: _Written,
    public: Public,
    proof_path: str | PathLike[str],
    public_path: str | PathLike[str],
) -> None:
    """Write a proof and its public signals, as two files that belong together.

    Both are on the disk before the first appears, and old public signals are removed before: if
    the process is killed meanwhile, the existing files are both old or both new.
    """
    paths = [files.name_of(path) for path in (proof_path, public_path)]
    files.claim(paths)
    files.write_all(dict(zip(paths, (proof.to_json(), public.to_json()), strict=True)))
