"""Contributions: their secrets' public keys, the proofs that they are known, and their bytes.

A secret x is proved by a pair of G1 of ratio x, (s, s x), and one of G2, (sp, sp x), whose base sp
follows from a hash of the pair of G1 and of all that came before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import cloakwork as cw
from cloakwork import _core, ops
from cloakwork._core import CeremonyHash, Tensor
from cloakwork.errors import LoadError, ParamError, ProofError
from cloakwork.lazy import public
from cloakwork.zk.ceremony.sections import Cursor, Groups, u32
from cloakwork.zk.groth16.algebra import drawn_scalars, scalars

HASH_BYTES = 64
# Types of contributions, and of what is said of them.
_DRAWN, _BEACON = 0, 1
_NAME, _ITERATIONS, _HASH = 1, 2, 3
_MOST_NAME = 64
_MOST_NAME_BYTES = 255
_MOST_HASH_BYTES = 255
_ITERATIONS_LOG2 = (10, 63)
# Half an hour.
_MOST_ITERATIONS_LOG2 = 32
_WORD_BYTES = 4


@public("cloakwork.zk.ceremony")
@dataclass(frozen=True)
class Beacon:
    """Public randomness that ends a phase: SHA-256 applied 2^iterations_log2 times to `hash`."""

    hash: bytes
    iterations_log2: int

    @classmethod
    def of(cls, value: str | bytes, iterations_log2: int) -> Beacon:
        """A beacon from bytes or hexadecimal digits; ParamError where it is none."""
        given: object = value
        if not isinstance(given, str | bytes):
            raise ParamError("hash", f"a {type(given).__name__}", "bytes, or hexadecimal digits")
        try:
            found = given if isinstance(given, bytes) else bytes.fromhex(given.removeprefix("0x"))
        except ValueError:
            raise ParamError("hash", repr(value), "hexadecimal digits, two a byte") from None
        if not 1 <= len(found) <= _MOST_HASH_BYTES:
            raise ParamError("hash", f"{len(found)} bytes", f"1 to {_MOST_HASH_BYTES} bytes")
        least, most = _ITERATIONS_LOG2
        if type(iterations_log2) is not int or not least <= iterations_log2 <= most:
            expected = f"an integer from {least} to {most}: SHA-256 is applied 2^iterations times"
            raise ParamError("iterations", iterations_log2, expected)
        return cls(found, iterations_log2)

    def seed(self) -> bytes:
        """The seed of the secrets: anyone can repeat it, and it takes as long."""
        value = self.hash
        for _ in range(1 << self.iterations_log2):
            value = hashlib.sha256(value).digest()
        return seed_of(value)


@public("cloakwork.zk.ceremony")
@dataclass(frozen=True)
class Contribution:
    """A party's part in a ceremony, or the beacon that ends it.

    hash        identifies it: what its maker publishes.  Of powers of tau it is the hash of the
                response, of a key that of its public key.  `verify` compares with the points only
                the last one's, so that each party keeps its own response
    challenge   of powers of tau: the hash that the next contribution answers
    transcript  of a key: the hash of all contributions before it
    """

    number: int
    name: str
    beacon: Beacon | None
    hash: bytes
    challenge: bytes = b""
    transcript: bytes = b""

    def __str__(self) -> str:
        return f"contribution {self.number}{f' ({self.name})' if self.name else ''}"


@dataclass(frozen=True)
class PublicKey:
    """The proof of a secret: the pair of G1, and the second point of G2, as a file has them."""

    base: bytes
    multiple: bytes
    multiple2: bytes


@dataclass(frozen=True, repr=False)
class Source:
    """Where secrets come from: the operating system and further entropy, or a beacon.

    Secrets of the operating system are drawn in `_core.wiped`, and are overwritten by their users.
    """

    groups: Groups
    entropy: bytes = b""
    beacon: Beacon | None = None

    def draw(self, count: int) -> tuple[list[Tensor], list[Tensor]]:
        """As many secrets, scalars [1], and a base of G1, [1], for each."""
        if self.beacon is None:
            secrets = [self._own(index) for index in range(count)]
            bases = drawn_scalars(self.groups.name, count)
            points = ops.curve_mul(bases, self.groups.generator(1))
            return secrets, [points[index : index + 1] for index in range(count)]
        kinds = "r" * count + "1" * count
        drawn = _core.drawn_from_seed(self.groups.name, self.beacon.seed(), kinds)
        numbers = [int.from_bytes(data, "little") for data in drawn[:count]]
        points_of = [self.groups.canonical(data, 1) for data in drawn[count:]]
        return [scalars(self.groups.name, [number]) for number in numbers], points_of

    def _own(self, index: int) -> Tensor:
        """A secret: uniform, whatever the entropy, and unknown to one who knows only one part."""
        while True:
            secret = drawn_scalars(self.groups.name, 1)
            if self.entropy:
                digest = hashlib.blake2b(u32(index) + self.entropy).digest()
                extra = scalars(self.groups.name, [int.from_bytes(digest, "little")])
                secret = secret + extra
            if bool(cw.any(ops.to_canonical(secret) != 0)):
                return secret


def seed_of(digest: bytes) -> bytes:
    """The seed of a digest: its first words, read from the highest byte on."""
    starts = range(0, 8 * _WORD_BYTES, _WORD_BYTES)
    return b"".join(digest[at : at + _WORD_BYTES][::-1] for at in starts)


def point_of(groups: Groups, digest: bytes) -> Tensor:
    """The point of G2, [1], to which a digest is hashed."""
    (data,) = _core.drawn_from_seed(groups.name, seed_of(digest), "2")
    return groups.canonical(data, 2)


def absorb(
    hasher: CeremonyHash, groups: Groups, data: bytes, group: int = 1, *, compressed: bool = False
) -> None:
    """Hash points of a file's bytes."""
    points = ops.to_canonical(groups.points(data, group))
    hasher.points(points, groups.name, group, compressed=compressed)


def digest_of(*parts: bytes) -> bytes:
    """The hash of bytes."""
    hasher = CeremonyHash()
    for part in parts:
        hasher.update(part)
    return hasher.digest()


def stored(points: Tensor) -> bytes:
    """Points as a file has them."""
    return _core.file_bytes(points)


def check_ratio(
    groups: Groups, first: tuple[bytes, bytes], second: tuple[bytes, bytes], what: str
) -> None:
    """Raise ProofError unless a pair of G1 and one of G2 have the same ratio."""
    try:
        same = _core.same_ratio(groups.name, first, second)
    except ProofError as error:
        place, fault = str(error).removeprefix("point ").split(" ", 1)
        side = "G1" if int(place) < len(first) else "G2"
        raise ProofError(f"{what}: a point of {side} {fault}") from None
    if not same:
        raise ProofError(f"{what}: the pairing check fails")


def check_contributed(told: Sequence[Contribution], place: str, secret: str, group: str) -> None:
    """Raise ProofError where no party contributed: beacons are public.

    secret, group   what everyone knows then, and the group of commands that changes it
    """
    if all(one.beacon is not None for one in told):
        who = "no party has contributed, only public randomness" if told else (
            "nobody has contributed"
        )  # fmt: skip
        raise ProofError(
            f"{place}: {who}, so that everyone knows {secret}: cloakwork {group} contribute"
        )


def check_group(points: Tensor, place: str, first: int = 0) -> None:
    """Raise ProofError with the first point that is not in its group.

    first   the number of the first of these points in its section

    A secret times such a point may tell the secret.
    """
    try:
        _core.check_points(points)
    except ProofError as error:
        what, fault = str(error).removeprefix("point ").split(" ", 1)
        raise ProofError(f"{place}: point {first + int(what)} {fault}") from None


def check_name(name: str) -> str:
    """A name that a file can hold; ParamError for another."""
    given: object = name
    if not isinstance(given, str) or len(given) > _MOST_NAME or not given.isprintable():
        raise ParamError("name", repr(name), f"up to {_MOST_NAME} printable characters")
    if (got := len(name.encode())) > _MOST_NAME_BYTES:
        raise ParamError("name", f"{got} bytes", f"up to {_MOST_NAME_BYTES}, as UTF-8")
    return name


def entropy_of(entropy: str | bytes) -> bytes:
    """Further randomness as bytes; ParamError, which does not show it, for what is none."""
    given: object = entropy
    if isinstance(given, bytes):
        return given
    try:
        if isinstance(given, str):
            return given.encode()
    except UnicodeEncodeError:
        raise ParamError("entropy", "text that is no Unicode", "text or bytes") from None
    raise ParamError("entropy", f"a {type(given).__name__}", "text or bytes")


def said(name: str, beacon: Beacon | None) -> bytes:
    """The parameters of a contribution in a file: its type, then its name and its beacon."""
    octets = name.encode(errors="surrogateescape")
    parts = bytes((_NAME, len(octets))) + octets if octets else b""
    if beacon is not None:
        parts += bytes((_ITERATIONS, beacon.iterations_log2, _HASH, len(beacon.hash)))
        parts += beacon.hash
    return u32(_DRAWN if beacon is None else _BEACON) + u32(len(parts)) + parts


def read_said(cursor: Cursor) -> tuple[str, Beacon | None]:
    """The name and the beacon of a contribution; LoadError for what they cannot be."""
    kind = cursor.u32()
    if kind not in {_DRAWN, _BEACON}:
        cursor.at -= 4
        raise cursor.wrong("a contribution's type, 0 or 1", str(kind))
    end = cursor.at + 4
    end += cursor.u32()
    name, iterations, value, last = "", None, None, 0
    while cursor.at < end:
        what = cursor.take(1)[0]
        if not last < what <= _HASH:
            raise cursor.wrong("parameters 1 (name), 2 (iterations), 3 (hash), in order", str(what))
        last = what
        if what == _NAME:
            # Bytes that are no text are kept as they are.
            name = cursor.take(cursor.take(1)[0]).decode(errors="surrogateescape")
        elif what == _ITERATIONS:
            iterations = cursor.take(1)[0]
        else:
            value = cursor.take(cursor.take(1)[0])
    if cursor.at != end:
        raise cursor.wrong(f"parameters that end at byte {end} of the section", "more")
    if kind == _DRAWN and last <= _NAME:
        return name, None
    if kind == _DRAWN:
        raise cursor.wrong("a contribution without a beacon, by its type", "one with it")
    if iterations is None or value is None:
        raise cursor.wrong("the iterations and the hash of a beacon", "a beacon without them")
    try:
        return name, Beacon.of(value, iterations)
    except ParamError as error:
        raise LoadError(f"{cursor.sections.path}: a beacon: {error}") from None


def check_beacon(groups: Groups, beacon: Beacon, keys: Sequence[PublicKey], place: str) -> None:
    """Raise ProofError unless public keys are those of a beacon's secrets."""
    most = _MOST_ITERATIONS_LOG2
    if beacon.iterations_log2 > most:
        raise ProofError(
            f"{place}: its beacon applies SHA-256 2^{beacon.iterations_log2} times, "
            f"which takes too long to repeat; up to 2^{most} are verified"
        )
    count = len(keys)
    secrets, bases = Source(groups, beacon=beacon).draw(count)
    pairs = [
        (stored(base), stored(ops.curve_mul(secret, base)))
        for secret, base in zip(secrets, bases, strict=True)
    ]
    if pairs != [(key.base, key.multiple) for key in keys]:
        raise ProofError(f"{place}: its keys are not those of its beacon")
