"""Whether powers of tau are those of their contributions, by pairings.

Sums with random factors of 128 bits from the operating system stand for all points of a section: if
one pair of neighbours has another ratio, so do the sums, but for one in 2^128 choices.
"""

from __future__ import annotations

from cloakwork import _core, ops
from cloakwork._core import CeremonyHash, Tensor
from cloakwork.errors import ProofError
from cloakwork.zk.ceremony.contributions import (
    check_beacon,
    check_contributed,
    check_group,
    check_ratio,
    stored,
)
from cloakwork.zk.ceremony.powers import absorb_points, proof_base
from cloakwork.zk.ceremony.powers_file import (
    ALPHA1,
    BETA1,
    BETA2,
    LAGRANGE,
    POWERS,
    SECRETS,
    TAU1,
    TAU2,
    PowersOfTau,
    Step,
    absorb_keys,
    first_step,
    read,
)
from cloakwork.zk.ceremony.preparing import powers_of
from cloakwork.zk.ceremony.sections import AnyPath, Groups
from cloakwork.zk.groth16.algebra import from_words

_CHUNK_POINTS = 1 << 15
_NAMES = {TAU1: "tau in G1", TAU2: "tau in G2", ALPHA1: "alpha tau", BETA1: "beta tau"}


def verify(path: AnyPath) -> PowersOfTau:
    """Read powers of tau, and check all that a reader can check.

    Each contribution proves that its maker knew its secrets, and follows the one before it; the
    points are powers of the last one's; each point is in its group; the hashes are those of the
    points; Lagrange points, if there are any, are those of the powers.

    Raises LoadError for a damaged file, and ProofError for one that does not hold: it names the
    contribution or the section, and what fails.  A file without a party's contribution is
    refused: everyone knows its secrets, and those of beacons.
    """
    found = read(path)
    _core.unrecorded(lambda: _verify(found))
    return found


def _verify(found: PowersOfTau) -> None:
    check_contributed(found.contributions, found.path, "tau", "ptau")
    previous = first_step(found.groups, found.ceremony_power)
    first = previous
    for step in found.steps:
        check_step(found.groups, step, previous, found.path)
        previous = step
    before = found.steps[-2] if found.steps[1:] else first
    _check_powers(found)
    if found.power == found.ceremony_power:
        _check_hashes(found, before)
    if found.prepared:
        for number, source in LAGRANGE.items():
            _check_lagrange(found, number, source)


def check_step(groups: Groups, step: Step, previous: Step, path: str) -> None:
    """Raise ProofError unless a contribution's secrets are known and follow the previous one."""
    told = step.contribution
    place = f"{path}: {told}"
    challenge = previous.contribution.challenge
    bases = [
        stored(proof_base(groups, index, challenge, key.base + key.multiple))
        for index, key in enumerate(step.keys)
    ]
    for name, key, base in zip(SECRETS, step.keys, bases, strict=True):
        what = f"{place}: the proof that {name} is known does not hold"
        check_ratio(groups, (key.base, key.multiple), (base, key.multiple2), what)
    # tau in G1 and G2, alpha and beta in G1, beta in G2.
    for index, which, name in ((0, 0, "tau in G1"), (2, 1, "alpha in G1"), (3, 2, "beta in G1")):
        what = f"{place}: {name} is not the previous one times its secret"
        pair = (previous.after[index], step.after[index])
        check_ratio(groups, pair, (bases[which], step.keys[which].multiple2), what)
    for index, which, name in ((1, 0, "tau in G2"), (4, 2, "beta in G2")):
        what = f"{place}: {name} is not the previous one times its secret"
        key = step.keys[which]
        pair = (previous.after[index], step.after[index])
        check_ratio(groups, (key.base, key.multiple), pair, what)
    # Last, as it may take half an hour.
    if told.beacon is not None:
        check_beacon(groups, told.beacon, step.keys, place)


def random_factors(curve: str, count: int) -> Tensor:
    """Scalars [count] of 128 bits from the operating system."""
    wide = ops.zeros((count, 4), _core.uint64)
    wide[:, :2] = _core.random_words((count, 2))
    return from_words(curve, wide)


def _check_powers(found: PowersOfTau) -> None:
    """Raise ProofError unless points of each section are powers of the last tau."""
    groups, last = found.groups, found.steps[-1]
    one = (stored(groups.generator(1)), stored(groups.generator(2)))
    starts = {
        TAU1: (one[0], last.after[0]), TAU2: (one[1], last.after[1]), ALPHA1: (last.after[2],),
        BETA1: (last.after[3],), BETA2: (last.after[4],),
    }  # fmt: skip
    for number, group in POWERS.items():
        place = f"{found.path}: ptau, section {number}"
        size = groups.size(group)
        got = found.sections.data(number, 0, len(starts[number]) * size)
        for index, expected in enumerate(starts[number]):
            if got[index * size : (index + 1) * size] != expected:
                generator = number in {TAU1, TAU2} and index == 0
                what = "the generator" if generator else f"that of {last.contribution}"
                raise ProofError(f"{place}: point {index} is not {what}")
        if number == BETA2:
            # The contribution's own, whose group the pairing check has seen.
            continue
        pair = _neighbours(found, number, place)
        what = f"{place}: the points are not powers of tau ({_NAMES[number]})"
        if group == 1:
            check_ratio(groups, pair, (one[1], last.after[1]), what)
        else:
            check_ratio(groups, (one[0], last.after[0]), pair, what)


def _neighbours(found: PowersOfTau, number: int, place: str) -> tuple[bytes, bytes]:
    """Sums of points, and of the points that follow them, with the same random factors."""
    groups, group, count = found.groups, POWERS[number], found.count(number)
    size, totals = groups.size(group), None
    for begin in range(0, count, _CHUNK_POINTS):
        # One point more: the first of the next chunk.
        length = min(_CHUNK_POINTS + 1, count - begin)
        points = groups.points(found.sections.slice(number, begin * size, length * size), group)
        check_group(points, place, begin)
        factors = random_factors(groups.name, length - 1)
        sums = [ops.msm(factors, part).reshape(1) for part in (points[:-1], points[1:])]
        totals = (
            sums
            if totals is None
            else [total + one for total, one in zip(totals, sums, strict=True)]
        )
    assert totals is not None
    return stored(totals[0]), stored(totals[1])


def _check_hashes(found: PowersOfTau, previous: Step) -> None:
    """Raise ProofError unless the last contribution's hashes are those of the points."""
    groups, last = found.groups, found.steps[-1]
    told = last.contribution
    response, challenge = CeremonyHash(), CeremonyHash()
    response.update(previous.contribution.challenge)
    challenge.update(told.hash)
    for number, group in POWERS.items():
        octets = found.sections.slice(number)
        absorb_points(challenge, groups, octets, group)
        absorb_points(response, groups, octets, group, compressed=True)
    absorb_keys(response, groups, last.keys)
    if response.digest() != told.hash:
        raise ProofError(
            f"{found.path}: {told}: the hash of its response is not that of the points"
        )
    if challenge.digest() != told.challenge:
        raise ProofError(f"{found.path}: {told}: its next challenge is not the hash of the points")


def _check_lagrange(found: PowersOfTau, number: int, source: int) -> None:
    """Raise ProofError unless sums of Lagrange points are those of powers.

    A polynomial with random coefficients r has sum_i r_i tau^i = sum_j r(w^j) L_j.
    """
    groups, group = found.groups, POWERS[source]
    size = groups.size(group)
    for log in range(found.power + 1 + (source == TAU1)):
        count = 1 << log
        start = (count - 1) * size
        points = groups.points(found.sections.slice(number, start, count * size), group)
        place = f"{found.path}: ptau, section {number}, the points of domain 2^{log}"
        try:
            _core.check_points(points)
        except ProofError as error:
            raise ProofError(f"{place}: {error}") from None
        factors = random_factors(groups.name, count)
        values = ops.field_ntt(factors) if log else factors
        powers = powers_of(found, source, count)
        if stored(ops.msm(factors, powers)) != stored(ops.msm(values, points)):
            raise ProofError(f"{place}: they are not those of the powers: cloakwork ptau prepare")
