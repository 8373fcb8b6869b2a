"""Files of powers of tau: their header, their sizes, and their contributions."""

from __future__ import annotations

from dataclasses import dataclass

from cloakwork._core import CeremonyHash
from cloakwork.errors import LoadError
from cloakwork.fields.parameters import CURVES
from cloakwork.lazy import public
from cloakwork.recognition import expecting
from cloakwork.zk.ceremony.contributions import (
    HASH_BYTES,
    Contribution,
    PublicKey,
    absorb,
    check_contributed,
    digest_of,
    read_said,
    said,
    stored,
)
from cloakwork.zk.ceremony.sections import (
    NAMES,
    AnyPath,
    Cursor,
    Groups,
    Sections,
    section,
    u32,
)

HEADER, TAU1, TAU2, ALPHA1, BETA1, BETA2, CONTRIBUTIONS = range(1, 8)
# The groups of the sections with powers, and those of the sections with Lagrange points.
POWERS = {TAU1: 1, TAU2: 2, ALPHA1: 1, BETA1: 1, BETA2: 2}
LAGRANGE = {12: TAU1, 13: TAU2, 14: ALPHA1, 15: BETA1}
_STATE_BYTES = 216
MOST_POWER = 28
# Tau, alpha and beta.
SECRETS = ("tau", "alpha", "beta")
# The hash of nothing: the response before the first.
NOTHING = digest_of()


@dataclass(frozen=True)
class Step:
    """A contribution as a file has it.

    after    the points after it: tau in G1 and G2, alpha and beta in G1, beta in G2
    keys     of tau, alpha and beta
    state    the hash of its response, but for the keys
    """

    contribution: Contribution
    after: tuple[bytes, ...]
    keys: tuple[PublicKey, ...]
    state: bytes

    def to_bytes(self) -> bytes:
        """The step as a file has it."""
        told = self.contribution
        return b"".join([*self.after, keys_bytes(self.keys), self.state, told.challenge]) + said(
            told.name, told.beacon
        )


@public("cloakwork.zk.ceremony")
@dataclass(frozen=True, repr=False)
class PowersOfTau:
    """A `.ptau` file: powers of tau up to 2^power, in both groups, and who contributed.

    power            of the file: for circuits of up to 2^power rows
    ceremony_power   of the ceremony: larger where the file was cut
    prepared         whether the file has Lagrange points, which `setup` needs
    """

    path: str
    curve: str
    power: int
    ceremony_power: int
    prepared: bool
    contributions: tuple[Contribution, ...]
    steps: tuple[Step, ...]
    sections: Sections

    @property
    def groups(self) -> Groups:
        """The curve's groups."""
        return Groups(self.curve)

    def count(self, number: int) -> int:
        """Points of a section."""
        return counts(self.power)[number]

    def __repr__(self) -> str:
        return (
            f"PowersOfTau({self.curve}, power={self.power}, prepared={self.prepared}, "
            f"contributions={len(self.contributions)})"
        )


def check_not_known(found: PowersOfTau) -> None:
    """Raise ProofError where everyone knows tau: it is 1, or no party contributed.

    `verify` checks that the powers are those of the contributions.
    """
    size = found.groups.size(1)
    first, second = (found.sections.data(TAU1, at, size) for at in (0, size))
    check_contributed([] if first == second else found.contributions, found.path, "tau", "ptau")


def counts(power: int) -> dict[int, int]:
    """Points of each section."""
    size = 1 << power
    return {
        TAU1: 2 * size - 1, TAU2: size, ALPHA1: size, BETA1: size, BETA2: 1,
        12: 4 * size - 1, 13: 2 * size - 1, 14: 2 * size - 1, 15: 2 * size - 1,
    }  # fmt: skip


def header(groups: Groups, power: int, ceremony_power: int) -> bytes:
    """The section of the header."""
    size = groups.coordinate_bytes
    prime = groups.curve.fq.modulus.to_bytes(size, "little")
    return section(HEADER, u32(size), prime, u32(power), u32(ceremony_power))


def keys_bytes(keys: tuple[PublicKey, ...]) -> bytes:
    """Public keys: their pairs of G1, then their points of G2."""
    pairs = [key.base + key.multiple for key in keys]
    return b"".join(pairs + [key.multiple2 for key in keys])


def absorb_keys(hasher: CeremonyHash, groups: Groups, keys: tuple[PublicKey, ...]) -> None:
    """Hash public keys, as responses do."""
    for key in keys:
        absorb(hasher, groups, key.base + key.multiple)
    for key in keys:
        absorb(hasher, groups, key.multiple2, 2)


def read(path: AnyPath) -> PowersOfTau:
    """Read powers of tau: header, sizes and contributions; `verify` checks that they hold.

    Points are not read.  Raises LoadError, with section and byte, for a damaged file.
    """
    with expecting("powers of tau, .ptau", path, "ptau"):
        sections = Sections.of(path, "ptau")
    curve, power, ceremony_power = _header(sections.cursor(HEADER))
    groups, of_points = Groups(curve), counts(power)
    for number, group in POWERS.items():
        count = of_points[number]
        sections.expect(number, count * groups.size(group), f"{count} points for power {power}")
    prepared = all(number in sections.places for number in LAGRANGE)
    for number, source in LAGRANGE.items():
        if prepared:
            count = of_points[number]
            size = count * groups.size(POWERS[source])
            sections.expect(number, size, f"{count} Lagrange points for power {power}")
    steps = _steps(sections.cursor(CONTRIBUTIONS), groups)
    told = tuple(step.contribution for step in steps)
    return PowersOfTau(sections.path, curve, power, ceremony_power, prepared, told, steps, sections)


def _header(cursor: Cursor) -> tuple[str, int, int]:
    """The curve, the power and the ceremony's."""
    prime = int.from_bytes(cursor.take(cursor.u32()), "little")
    primes = {Groups(name).curve.fq.modulus: name for name in NAMES if name in CURVES}
    if prime not in primes:
        cursor.at = 4
        raise cursor.wrong(f"the prime of coordinates of {' or '.join(NAMES)}", str(prime))
    power = cursor.u32()
    if not 1 <= power <= MOST_POWER:
        cursor.at -= 4
        raise cursor.wrong(f"a power from 1 to {MOST_POWER}", str(power))
    ceremony_power = cursor.u32()
    if not power <= ceremony_power <= MOST_POWER:
        cursor.at -= 4
        raise cursor.wrong(f"a ceremony's power from {power} to {MOST_POWER}", str(ceremony_power))
    cursor.end()
    return primes[prime], power, ceremony_power


def _steps(cursor: Cursor, groups: Groups) -> tuple[Step, ...]:
    count = cursor.u32()
    steps = tuple(_step(cursor, groups, index + 1) for index in range(count))
    cursor.end()
    return steps


def _step(cursor: Cursor, groups: Groups, number: int) -> Step:
    g1, g2 = groups.size(1), groups.size(2)
    after = tuple(cursor.take(groups.size(group)) for group in (1, 2, 1, 1, 2))
    pairs = [(cursor.take(g1), cursor.take(g1)) for _ in SECRETS]
    keys = tuple(PublicKey(*pair, cursor.take(g2)) for pair in pairs)
    state = cursor.take(_STATE_BYTES)
    try:
        hasher = CeremonyHash(state)
    except ValueError as error:
        raise LoadError(f"{cursor.sections.path}: ptau, contribution {number}: {error}") from None
    absorb_keys(hasher, groups, keys)
    challenge = cursor.take(HASH_BYTES)
    name, beacon = read_said(cursor)
    told = Contribution(number, name, beacon, hasher.digest(), challenge)
    return Step(told, after, keys, state)


def first_step(groups: Groups, power: int) -> Step:
    """The state of a ceremony before its first contribution: all secrets are 1."""
    one = [stored(groups.generator(group)) for group in (1, 2)]
    challenge = first_challenge(groups, power)
    told = Contribution(0, "", None, NOTHING, challenge)
    return Step(told, tuple(one[group - 1] for group in (1, 2, 1, 1, 2)), (), b"")


# Points that are hashed at once.
_HASHED_POINTS = 1 << 12


def first_challenge(groups: Groups, power: int) -> bytes:
    """The challenge to which the first contribution answers: the hash of generators."""
    hasher = CeremonyHash()
    hasher.update(NOTHING)
    for number, group in POWERS.items():
        count = counts(power)[number]
        one = stored(groups.generator(group))
        for start in range(0, count, _HASHED_POINTS):
            absorb(hasher, groups, one * min(_HASHED_POINTS, count - start), group)
    return hasher.digest()
