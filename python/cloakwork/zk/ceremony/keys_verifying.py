"""Whether a circuit's key follows from powers of tau and from its contributions.

The key before the first contribution is made again: sections that no contribution changes must
equal its, byte for byte.  Random sums stand for the points of C and of H, as for powers.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.errors import ProofError
from cloakwork.fields.parameters import ORDERS
from cloakwork.zk.ceremony.contributions import (
    absorb,
    check_beacon,
    check_contributed,
    check_group,
    check_ratio,
    point_of,
    stored,
)
from cloakwork.zk.ceremony.keys import (
    B1,
    B2,
    COEFFICIENTS,
    HEADER,
    IC,
    A,
    C,
    H,
    KeyCeremony,
    KeyStep,
    absorbed,
    read_key,
)
from cloakwork.zk.ceremony.powers_file import TAU1, read
from cloakwork.zk.ceremony.sections import AnyPath, Sections
from cloakwork.zk.ceremony.setting import setup
from cloakwork.zk.ceremony.verifying import random_factors
from cloakwork.zk.circom.files import Circuit
from cloakwork.zk.groth16.algebra import scalars
from cloakwork.zk.protocol.fields import field

_CHUNK_BYTES = 1 << 22
_CHUNK_POINTS = 1 << 15
_KEPT = {
    IC: "the points of IC", COEFFICIENTS: "the coefficients", A: "the points of A",
    B1: "the points of B in G1", B2: "the points of B in G2",
}  # fmt: skip


def verify_key(r1cs: AnyPath | Circuit, ptau: AnyPath, zkey: AnyPath) -> KeyCeremony:
    """Read a circuit's key, and check that it follows from powers of tau and its contributions.

    Each contribution proves that its maker knew its secret, and follows the one before it; the key
    is the circuit's own, times the last delta.  The powers are not checked: that is `verify`'s.

    Raises LoadError for a damaged file, ParamError for powers that do not fit the circuit, and
    ProofError for a key that does not hold: it names the contribution or the section, and what
    fails.  A key without a party's contribution is refused: everyone knows delta.
    """
    found = read_key(zkey)
    with tempfile.TemporaryDirectory(dir=Path(found.path).resolve().parent) as folder:
        first = setup(r1cs, ptau, Path(folder) / "first.zkey")
        _core.unrecorded(lambda: _verify(found, first, ptau))
    return found


def _verify(found: KeyCeremony, first: KeyCeremony, ptau: AnyPath) -> None:
    path, groups = found.path, found.groups
    _same_circuit(found, first)
    check_contributed(found.contributions, path, "delta", "zkey")
    one = (stored(groups.generator(1)), stored(groups.generator(2)))
    delta = one[0]
    for index, step in enumerate(found.steps):
        _check_step(found, step, index, delta)
        delta = step.delta
    key = found.key.points
    last = found.steps[-1].contribution
    if stored(key["delta1"]) != delta:
        raise ProofError(f"{path}: zkey, section {HEADER}: delta in G1 is not that of {last}")
    delta2 = stored(key["delta2"])
    what = f"{path}: zkey, section {HEADER}: delta in G2 is not that in G1"
    check_ratio(groups, (one[0], delta), (one[1], delta2), what)
    for number in (C, H):
        _check_group(found, number)
    private = _divided(found, first)
    if private is not None:
        what = f"{path}: zkey, section {C}: the points of C are not the circuit's over delta"
        check_ratio(groups, private, (one[1], delta2), what)
    what = f"{path}: zkey, section {H}: the points of H are not those of the powers over delta"
    check_ratio(groups, _quotient(found, ptau), (one[1], delta2), what)


def _same_circuit(found: KeyCeremony, first: KeyCeremony) -> None:
    """Raise ProofError unless all that no contribution changes is the circuit's own."""
    path = found.path
    for name in ("curve", "wires", "public", "domain"):
        got, expected = getattr(found.key, name), getattr(first.key, name)
        if got != expected:
            raise ProofError(
                f"{path}: zkey, section {HEADER}: {name} {got}, the circuit has {expected}"
            )
    for name in ("alpha1", "beta1", "beta2", "gamma2"):
        if stored(found.key.points[name]) != stored(first.key.points[name]):
            raise ProofError(f"{path}: zkey, section {HEADER}: {name} is not that of the powers")
    for number, what in _KEPT.items():
        if not _equal(found.sections, first.sections, number):
            raise ProofError(f"{path}: zkey, section {number}: {what} are not the circuit's own")
    if found.circuit_hash != first.circuit_hash:
        raise ProofError(f"{path}: zkey, section 10: the hash of the circuit is another one")


def _equal(one: Sections, other: Sections, number: int) -> bool:
    length = one.size(number)
    return length == other.size(number) and all(
        one.data(number, begin, min(_CHUNK_BYTES, length - begin))
        == other.data(number, begin, min(_CHUNK_BYTES, length - begin))
        for begin in range(0, length, _CHUNK_BYTES)
    )


def _check_step(found: KeyCeremony, step: KeyStep, index: int, delta: bytes) -> None:
    """Raise ProofError unless a contribution's secret is known and follows the previous one."""
    groups, told, key = found.groups, step.contribution, step.key
    place = f"{found.path}: {told}"
    hasher = absorbed(found, index)
    absorb(hasher, groups, key.base + key.multiple)
    if hasher.digest() != told.transcript:
        raise ProofError(f"{place}: its transcript is not the hash of all before it")
    point = stored(point_of(groups, told.transcript))
    what = f"{place}: the proof that its secret is known does not hold"
    check_ratio(groups, (key.base, key.multiple), (point, key.multiple2), what)
    what = f"{place}: delta is not the previous one times its secret"
    check_ratio(groups, (delta, step.delta), (point, key.multiple2), what)
    if told.beacon is not None:
        check_beacon(groups, told.beacon, [key], place)


def _check_group(found: KeyCeremony, number: int) -> None:
    """Raise ProofError with the first point of a section that is not in G1."""
    size = found.groups.size(1)
    length = found.sections.size(number)
    most = _CHUNK_POINTS * size
    for begin in range(0, length, most):
        octets = found.sections.slice(number, begin, min(most, length - begin))
        place = f"{found.path}: zkey, section {number}"
        check_group(found.groups.points(octets, 1), place, begin // size)


def _divided(found: KeyCeremony, first: KeyCeremony) -> tuple[bytes, bytes] | None:
    """Sums of the points of C after and before all contributions; None where there are none."""
    after, before = found.key.points["c"], first.key.points["c"]
    if not after.shape[0]:
        return None
    factors = random_factors(found.key.curve, after.shape[0])
    sums = _stored_sum(factors, after), _stored_sum(factors, before)
    # Of wires that no constraint has, both are at infinity.
    return sums if any(sums[0] + sums[1]) else None


def _stored_sum(factors: Tensor, points: Tensor) -> bytes:
    return stored(ops.msm(factors, points).reshape(1))


def _quotient(found: KeyCeremony, ptau: AnyPath) -> tuple[bytes, bytes]:
    """Sums of the points of H, and of differences of powers, that are equal but for delta.

    For a polynomial q of degree below n - 1, q(tau) (tau^n - 1) has values -2 q(w_2n w_n^j) at the
    odd points of the double domain, and 0 at the others.
    """
    powers, domain = read(ptau), found.key.domain
    curve, size = powers.curve, powers.groups.size(1)
    tau = powers.groups.points(powers.sections.slice(TAU1, 0, (2 * domain - 1) * size), 1)
    factors = random_factors(curve, domain)
    factors[domain - 1 :] = scalars(curve, [0])
    own = factors[: domain - 1]
    before = ops.msm(own, tau[domain:]) - ops.msm(own, tau[: domain - 1])
    shift = scalars(curve, [field(f"{curve}.fr").root_number(2 * domain)])[0]
    values = ops.field_ntt(factors, coset_shift=shift) * scalars(curve, [ORDERS[curve] - 2])
    return _stored_sum(values, found.key.points["h"]), stored(before.reshape(1))
