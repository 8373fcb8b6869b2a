"""Phase 1: new powers of tau, contributions and beacons.

A contribution multiplies tau^i by its own tau^i, and alpha and beta by its own: the products are
known only to one who knows all factors.  Points pass piece by piece from the old file's map into a
scratch file beside the new one: the next challenge is the hash of the response, then of all points.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from cloakwork import _core, files, ops
from cloakwork._core import CeremonyHash, Tensor
from cloakwork.errors import ParamError
from cloakwork.zk.ceremony.contributions import (
    Beacon,
    Contribution,
    PublicKey,
    Source,
    absorb,
    check_group,
    check_name,
    entropy_of,
    point_of,
    stored,
)
from cloakwork.zk.ceremony.powers_file import (
    ALPHA1,
    BETA1,
    BETA2,
    CONTRIBUTIONS,
    MOST_POWER,
    POWERS,
    SECRETS,
    TAU1,
    TAU2,
    PowersOfTau,
    Step,
    absorb_keys,
    counts,
    first_step,
    header,
    read,
)
from cloakwork.zk.ceremony.sections import NAMES, AnyPath, Groups, head, section, start, u32
from cloakwork.zk.groth16.algebra import scalars

_SECTIONS = 7
_NEW_POINTS = 1 << 12
_CHUNK_BYTES = 1 << 20


def new(curve: str, power: int, path: AnyPath) -> PowersOfTau:
    """Write powers of tau to which nobody has contributed: tau, alpha and beta are 1.

    curve   bn254 or bls12_381
    power   from 1 to 28: circuits of up to 2^power rows

    Raises ParamError for others.
    """
    files.claim([path])
    known = {**{name: name for name in NAMES}, **{name: key for key, name in NAMES.items()}}
    if curve not in known:
        raise ParamError("curve", repr(curve), " or ".join(NAMES))
    if not 1 <= power <= MOST_POWER:
        raise ParamError("power", power, f"an integer from 1 to {MOST_POWER}")
    files.write(path, _new(Groups(known[curve]), power))
    return read(path)


def _new(groups: Groups, power: int) -> Iterator[bytes]:
    yield start("ptau", _SECTIONS)
    yield header(groups, power, power)
    for number, group in POWERS.items():
        count = counts(power)[number]
        one = stored(groups.generator(group))
        yield head(number, count * len(one))
        for begin in range(0, count, _NEW_POINTS):
            yield one * min(_NEW_POINTS, count - begin)
    yield section(CONTRIBUTIONS, u32(0))


def contribute(
    source: AnyPath, path: AnyPath, *, name: str = "", entropy: str | bytes = b""
) -> Contribution:
    """Add a contribution to powers of tau, and write them to `path`.

    The secrets come from the operating system, and are overwritten before the call returns.

    name      public, up to 64 characters
    entropy   further randomness, mixed with the operating system's

    Lagrange points of a prepared file are left out: `prepare` makes them anew.  Raises LoadError
    for a damaged file, and ParamError for one that was cut to a smaller power.
    """
    data = entropy_of(entropy)
    return _contribute(source, path, check_name(name), Source, entropy=data)


def beacon(
    source: AnyPath, path: AnyPath, hash: str | bytes, iterations: int, *, name: str = ""
) -> Contribution:
    """Add public randomness to powers of tau, which ends their ceremony.

    hash         up to 255 bytes, or hexadecimal digits, that nobody could foresee
    iterations   from 10 to 63: SHA-256 is applied 2^iterations times
    """
    found = Beacon.of(hash, iterations)
    return _contribute(source, path, check_name(name), Source, beacon=found)


def _contribute(
    source: AnyPath, path: AnyPath, name: str, make: Callable[..., Source], **given: bytes | Beacon
) -> Contribution:
    files.claim([path], [source])
    old = read(source)
    if old.power != old.ceremony_power:
        raise ParamError(
            "source", f"powers cut from 2^{old.ceremony_power} to 2^{old.power}",
            "the whole file of the ceremony: its hashes cover all points",
        )  # fmt: skip
    secrets = make(old.groups, **given)
    previous = old.steps[-1] if old.steps else first_step(old.groups, old.power)
    with tempfile.TemporaryDirectory(dir=Path(files.name_of(path)).resolve().parent) as folder:
        scratch = Path(folder) / "points"
        step = _core.wiped(lambda: _multiply(old, previous, secrets, name, scratch))
        points = files.mapped(scratch)
        steps = [*old.steps, _answered(old, step, points)]
        files.write(path, _written(old, points, steps))
    return steps[-1].contribution


def key_pairs(source: Source, challenge: bytes) -> tuple[list[Tensor], tuple[PublicKey, ...]]:
    """Secrets tau, alpha and beta, and the proofs that they are known."""
    groups = source.groups
    secrets, bases = source.draw(len(SECRETS))
    keys = []
    for index, (secret, base) in enumerate(zip(secrets, bases, strict=True)):
        pair = stored(base) + stored(ops.curve_mul(secret, base))
        point = proof_base(groups, index, challenge, pair)
        half = len(pair) // 2
        keys.append(PublicKey(pair[:half], pair[half:], stored(ops.curve_mul(secret, point))))
    return secrets, tuple(keys)


def proof_base(groups: Groups, index: int, challenge: bytes, pair: bytes) -> Tensor:
    """The point of G2 to which a pair of G1 is bound."""
    hasher = CeremonyHash()
    hasher.update(bytes([index]))
    hasher.update(challenge)
    absorb(hasher, groups, pair)
    return point_of(groups, hasher.digest())


def _multiply(old: PowersOfTau, previous: Step, source: Source, name: str, scratch: Path) -> Step:
    """Write the new points, and return the step but for its challenge."""
    groups = old.groups
    challenge = previous.contribution.challenge
    secrets, keys = key_pairs(source, challenge)
    tau, alpha, beta = secrets
    one = scalars(groups.name, [1])
    firsts = {TAU1: one, TAU2: one, ALPHA1: alpha, BETA1: beta, BETA2: beta}
    hasher = CeremonyHash()
    hasher.update(challenge)
    try:
        files.write(
            scratch,
            (
                piece
                for number in POWERS
                for piece in _section(old, number, firsts[number], tau, hasher)
            ),
        )
    finally:
        for secret in secrets:
            secret.zeroize()
    points = files.mapped(scratch)
    places = [(TAU1, 1), (TAU2, 1), (ALPHA1, 0), (BETA1, 0), (BETA2, 0)]
    after = tuple(_point(old, points, number, index) for number, index in places)
    state = hasher.state()
    absorb_keys(hasher, groups, keys)
    told = Contribution(previous.contribution.number + 1, name, source.beacon, hasher.digest(), b"")
    return Step(told, after, keys, state)


def _section(
    old: PowersOfTau, number: int, first: Tensor, tau: Tensor, hasher: CeremonyHash
) -> Iterator[bytes]:
    """The points of a section times first tau^i, piece by piece, which the response hashes."""
    groups, group = old.groups, POWERS[number]
    size, count = groups.size(group), old.count(number)
    most = _CHUNK_BYTES // size
    powers = ops.powers(tau[0], min(count, most))
    # The chunk's powers begin where the last chunk's ended.
    step = powers[-1:] * tau
    factor = first
    for begin in range(0, count, most):
        length = min(most, count - begin)
        points = groups.points(old.sections.slice(number, begin * size, length * size), group)
        check_group(points, f"{old.path}: ptau, section {number}", begin)
        made = ops.curve_mul(powers[:length] * factor, points)
        hasher.points(ops.to_canonical(made), groups.name, group, compressed=True)
        factor = factor * step
        yield stored(made)


def _offsets(old: PowersOfTau) -> dict[int, tuple[int, int]]:
    """Where each section lies in the scratch file, and its bytes."""
    places, at = {}, 0
    for number, group in POWERS.items():
        length = old.count(number) * old.groups.size(group)
        places[number] = (at, length)
        at += length
    return places


def _point(old: PowersOfTau, points: Tensor, number: int, index: int) -> bytes:
    begin, size = _offsets(old)[number][0], old.groups.size(POWERS[number])
    at = begin + index * size
    return memoryview(points[at : at + size]).tobytes()


def _answered(old: PowersOfTau, step: Step, points: Tensor) -> Step:
    """The step with its challenge: the hash of its response and of all points."""
    groups, hasher = old.groups, CeremonyHash()
    hasher.update(step.contribution.hash)
    for number, (begin, length) in _offsets(old).items():
        absorb_points(hasher, groups, points[begin : begin + length], POWERS[number])
    told = step.contribution
    told = Contribution(told.number, told.name, told.beacon, told.hash, hasher.digest())
    return Step(told, step.after, step.keys, step.state)


def absorb_points(
    hasher: CeremonyHash, groups: Groups, octets: Tensor, group: int, *, compressed: bool = False
) -> None:
    """Hash a section's points, piece by piece."""
    size = groups.size(group)
    most = _CHUNK_BYTES // size * size
    for begin in range(0, octets.shape[0], most):
        points = groups.points(octets[begin : begin + most], group)
        hasher.points(ops.to_canonical(points), groups.name, group, compressed=compressed)


def _written(old: PowersOfTau, points: Tensor, steps: list[Step]) -> Iterator[bytes]:
    yield start("ptau", _SECTIONS)
    yield header(old.groups, old.power, old.ceremony_power)
    for number, (begin, length) in _offsets(old).items():
        yield head(number, length)
        for at in range(begin, begin + length, _CHUNK_BYTES):
            end = min(at + _CHUNK_BYTES, begin + length)
            yield memoryview(points[at:end]).tobytes()
    yield section(CONTRIBUTIONS, u32(len(steps)), *(step.to_bytes() for step in steps))
