"""Phase 2: contributions to a circuit's Groth16 key, and beacons.

A contribution multiplies delta by its own secret, and divides the points of C and of H by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cloakwork import _core, files, ops
from cloakwork._core import CeremonyHash, Tensor
from cloakwork.errors import LoadError
from cloakwork.lazy import public
from cloakwork.recognition import expecting
from cloakwork.zk.ceremony.contributions import (
    HASH_BYTES,
    Beacon,
    Contribution,
    PublicKey,
    Source,
    absorb,
    check_group,
    check_name,
    entropy_of,
    point_of,
    read_said,
    said,
    stored,
)
from cloakwork.zk.ceremony.sections import (
    AnyPath,
    Cursor,
    Groups,
    Sections,
    head,
    section,
    start,
    u32,
)
from cloakwork.zk.circom.files import ProvingKey, read_zkey

HEADER, IC, COEFFICIENTS, A, B1, B2, C, H, CONTRIBUTIONS = range(2, 11)
_SECTIONS = 10
_GROTH16 = 1
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class KeyStep:
    """A contribution as a file has it: delta in G1 after it, and the proof of its secret."""

    contribution: Contribution
    delta: bytes
    key: PublicKey

    def to_bytes(self) -> bytes:
        """The step as a file has it."""
        told, key = self.contribution, self.key
        points = self.delta + key.base + key.multiple + key.multiple2
        return points + told.transcript + said(told.name, told.beacon)


@public("cloakwork.zk.ceremony")
@dataclass(frozen=True, repr=False)
class KeyCeremony:
    """A Groth16 `.zkey` file, and who contributed to it.

    circuit_hash   of all points before the first contribution, which follow from the circuit and
                   from powers of tau; zeros where `cloakwork.zk.groth16.setup` made the key
    """

    path: str
    key: ProvingKey
    circuit_hash: bytes
    contributions: tuple[Contribution, ...]
    steps: tuple[KeyStep, ...]
    sections: Sections

    @property
    def groups(self) -> Groups:
        """The curve's groups."""
        return Groups(self.key.curve)

    def __repr__(self) -> str:
        return f"KeyCeremony({self.key!r}, contributions={len(self.contributions)})"


def read_key(path: AnyPath) -> KeyCeremony:
    """Read a Groth16 key and its contributions; `verify_key` checks that they hold.

    Raises LoadError, with section and byte, for a damaged file.
    """
    key = read_zkey(path, check=False)
    with expecting("a proving key, .zkey", path, "zkey"):
        sections = Sections.of(path, "zkey")
    cursor = sections.cursor(CONTRIBUTIONS)
    circuit_hash = cursor.take(HASH_BYTES)
    count, groups = cursor.u32(), Groups(key.curve)
    steps = tuple(_step(cursor, groups, index + 1) for index in range(count))
    cursor.end()
    told = tuple(step.contribution for step in steps)
    return KeyCeremony(sections.path, key, circuit_hash, told, steps, sections)


def _step(cursor: Cursor, groups: Groups, number: int) -> KeyStep:
    g1, g2 = groups.size(1), groups.size(2)
    delta = cursor.take(g1)
    key = PublicKey(cursor.take(g1), cursor.take(g1), cursor.take(g2))
    transcript = cursor.take(HASH_BYTES)
    name, beacon = read_said(cursor)
    own = CeremonyHash()
    absorb_step(own, groups, delta, key, transcript)
    told = Contribution(number, name, beacon, own.digest(), transcript=transcript)
    return KeyStep(told, delta, key)


def absorb_step(
    hasher: CeremonyHash, groups: Groups, delta: bytes, key: PublicKey, transcript: bytes
) -> None:
    """Hash a contribution."""
    absorb(hasher, groups, delta + key.base + key.multiple)
    absorb(hasher, groups, key.multiple2, 2)
    hasher.update(transcript)


def absorbed(found: KeyCeremony, count: int) -> CeremonyHash:
    """The hash of the circuit and of the first contributions."""
    hasher = CeremonyHash()
    hasher.update(found.circuit_hash)
    for step in found.steps[:count]:
        told = step.contribution
        absorb_step(hasher, found.groups, step.delta, step.key, told.transcript)
    return hasher


def contribute_key(
    source: AnyPath, path: AnyPath, *, name: str = "", entropy: str | bytes = b""
) -> Contribution:
    """Add a contribution to a circuit's key, and write it to `path`.

    The secret comes from the operating system, and is overwritten before the call returns.

    name      public, up to 64 characters
    entropy   further randomness, mixed with the operating system's

    Raises LoadError for a damaged key, or one that no ceremony can take.
    """
    data = entropy_of(entropy)
    return _contribute(source, path, check_name(name), entropy=data)


def beacon_key(
    source: AnyPath, path: AnyPath, hash: str | bytes, iterations: int, *, name: str = ""
) -> Contribution:
    """Add public randomness to a circuit's key, which ends its ceremony.

    hash         up to 255 bytes, or hexadecimal digits, that nobody could foresee
    iterations   from 10 to 63: SHA-256 is applied 2^iterations times
    """
    found = Beacon.of(hash, iterations)
    return _contribute(source, path, check_name(name), beacon=found)


def _contribute(
    source: AnyPath,
    path: AnyPath,
    name: str,
    *,
    entropy: bytes = b"",
    beacon: Beacon | None = None,
) -> Contribution:
    files.claim([path], [source])
    old = read_key(source)
    if not any(old.circuit_hash):
        raise LoadError(
            f"{old.path}: the key is of a setup without a ceremony, whose maker may know all "
            "secrets: cloakwork setup groth16 CIRCUIT POWERS makes one for a ceremony"
        )
    secrets = Source(old.groups, entropy, beacon)
    made: list[KeyStep] = []
    _core.wiped(lambda: made.append(_write(old, secrets, name, path)))
    return made[0].contribution


def _write(old: KeyCeremony, source: Source, name: str, path: AnyPath) -> KeyStep:
    groups = old.groups
    (secret,), (base,) = source.draw(1)
    inverse = ops.reciprocal(secret)
    try:
        pair = (stored(base), stored(ops.curve_mul(secret, base)))
        hasher = absorbed(old, len(old.steps))
        absorb(hasher, groups, pair[0] + pair[1])
        transcript = hasher.digest()
        point = point_of(groups, transcript)
        key = PublicKey(*pair, stored(ops.curve_mul(secret, point)))
        points = old.key.points
        delta1 = stored(ops.curve_mul(secret, points["delta1"].reshape(1)))
        delta2 = stored(ops.curve_mul(secret, points["delta2"].reshape(1)))
        own = CeremonyHash()
        absorb_step(own, groups, delta1, key, transcript)
        number = len(old.steps) + 1
        told = Contribution(number, name, source.beacon, own.digest(), transcript=transcript)
        step = KeyStep(told, delta1, key)
        files.write(path, _pieces(old, step, delta2, inverse))
    finally:
        secret.zeroize()
        inverse.zeroize()
    return step


def _pieces(old: KeyCeremony, step: KeyStep, delta2: bytes, inverse: Tensor) -> Iterator[bytes]:
    yield start("zkey", _SECTIONS)
    yield section(1, u32(_GROTH16))
    # The deltas end the header.
    header = old.sections.data(HEADER)
    kept = header[: -len(step.delta) - len(delta2)]
    yield section(HEADER, kept, step.delta, delta2)
    for number in (IC, COEFFICIENTS, A, B1, B2):
        yield from old.sections.copied(number)
    for number in (C, H):
        yield from _divided(old, number, inverse)
    steps = [*old.steps, step]
    parts = [each.to_bytes() for each in steps]
    yield section(CONTRIBUTIONS, old.circuit_hash, u32(len(steps)), *parts)


def _divided(old: KeyCeremony, number: int, inverse: Tensor) -> Iterator[bytes]:
    """A section's points times 1 / secret."""
    length = old.sections.size(number)
    size = old.groups.size(1)
    most = _CHUNK_BYTES // size * size
    yield head(number, length)
    for begin in range(0, length, most):
        octets = old.sections.slice(number, begin, min(most, length - begin))
        points = old.groups.points(octets, 1)
        check_group(points, f"{old.path}: zkey, section {number}", begin // size)
        yield stored(ops.curve_mul(inverse, points))
