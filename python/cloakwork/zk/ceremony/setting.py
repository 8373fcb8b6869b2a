"""A circuit's Groth16 key from powers of tau: what phase 2 begins with.

A, B and C of a wire are sums of Lagrange points, one a constraint; the same of tau alpha and tau
beta give IC and C.  The points of H are the odd Lagrange points of the double domain.
"""

from __future__ import annotations

from dataclasses import dataclass

import cloakwork as cw
from cloakwork import _core, files, ops
from cloakwork._core import CeremonyHash, Tensor
from cloakwork.errors import ParamError
from cloakwork.zk.ceremony.contributions import absorb, stored
from cloakwork.zk.ceremony.keys import KeyCeremony, read_key
from cloakwork.zk.ceremony.overrun import difference
from cloakwork.zk.ceremony.powers_file import (
    ALPHA1,
    BETA1,
    BETA2,
    TAU1,
    PowersOfTau,
    check_not_known,
    read,
)
from cloakwork.zk.ceremony.sections import AnyPath
from cloakwork.zk.ceremony.sums import Terms, sums_of
from cloakwork.zk.circom.files import Circuit, Matrix, read_r1cs
from cloakwork.zk.circom.statements import VerifyingKey
from cloakwork.zk.groth16.algebra import MONTGOMERY_R, in_scalars, point_bytes, scalars
from cloakwork.zk.groth16.setting import _left_rows, _padded

# Points that snarkjs hashes at once: from two such pieces on it hashes one point more.
_HASHED = 1 << 14


def setup(
    r1cs: AnyPath | Circuit, ptau: AnyPath, zkey: AnyPath, *, vkey: AnyPath | None = None
) -> KeyCeremony:
    """Make a circuit's key from prepared powers of tau, and write it to `zkey`.

    The key is that of `snarkjs groth16 setup`, byte for byte.  Until somebody contributes
    (`contribute_key`), everyone knows delta, and can prove false statements.

    vkey    the file for its verifying key, which each contribution changes

    The powers are not checked: that is `verify`'s.

    Raises LoadError for a damaged file, ParamError for powers of another curve, not prepared, or
    too few for the circuit, and ProofError for powers to which no party has contributed.
    """
    files.claim([zkey, vkey], [ptau, *([] if isinstance(r1cs, Circuit) else [r1cs])])
    circuit = r1cs if isinstance(r1cs, Circuit) else read_r1cs(r1cs)
    powers = read(ptau)
    _fits(circuit, powers)
    check_not_known(powers)
    _core.unrecorded(lambda: _write(circuit, powers, zkey, vkey))
    return read_key(zkey)


def _fits(circuit: Circuit, powers: PowersOfTau) -> None:
    if circuit.curve != powers.curve:
        raise ParamError("ptau", f"powers over {powers.curve}", f"{circuit.curve}, the circuit's")
    if not powers.prepared:
        hint = "prepared powers: cloakwork ptau prepare, or snarkjs powersoftau prepare phase2"
        raise ParamError("ptau", "powers without Lagrange points", hint)
    if circuit.domain > 1 << powers.power:
        needed = circuit.domain.bit_length() - 1
        expected = f"{needed} or more, for the circuit's domain of 2^{needed} rows"
        raise ParamError("power of ptau", powers.power, expected)


@dataclass(frozen=True)
class _Lagrange:
    """Lagrange points of the circuit's domain: of tau in both groups, times alpha, times beta."""

    tau1: Tensor
    tau2: Tensor
    alpha1: Tensor
    beta1: Tensor
    odd: Tensor


def _lagrange(powers: PowersOfTau, domain: int) -> _Lagrange:
    def of(number: int, group: int, count: int) -> Tensor:
        size = powers.groups.size(group)
        start = (count - 1) * size
        return powers.groups.points(powers.sections.slice(number, start, count * size), group)

    odd = ops.contiguous(of(12, 1, 2 * domain)[1::2])
    return _Lagrange(
        of(12, 1, domain), of(13, 2, domain), of(14, 1, domain), of(15, 1, domain), odd
    )


def _entries(matrix: Matrix) -> tuple[Tensor, Tensor, Tensor]:
    """Wire, row and value of each entry."""
    entries = cw.arange(matrix.entries, dtype="i64")
    rows = cw.searchsorted(matrix.starts, entries, side="right") - 1
    return matrix.columns, rows, matrix.values


def _joined(parts: list[tuple[Tensor, Tensor, Tensor]]) -> Terms:
    sums, places, values = (cw.concat(list(part)) for part in zip(*parts, strict=True))
    return Terms(sums, places, values)


def _write(circuit: Circuit, powers: PowersOfTau, zkey: AnyPath, vkey: AnyPath | None) -> None:
    curve, wires, domain = circuit.curve, circuit.wires, circuit.domain
    groups, public = powers.groups, circuit.public + 1
    left, right = _left_rows(circuit), _padded(in_scalars(curve, circuit.b), domain)
    output = in_scalars(curve, circuit.c)
    base = _lagrange(powers, domain)
    (wire_a, row_a, value_a), (wire_b, row_b, value_b), (wire_c, row_c, value_c) = map(
        _entries, (left, right, output)
    )
    # Sums of A, of B, and of beta A + alpha B + C, over tau's, alpha's and beta's points.
    terms = _joined([
        (wire_a, row_a, value_a),
        (wire_b + wires, row_b, value_b),
        (wire_a + 2 * wires, row_a + 2 * domain, value_a),
        (wire_b + 2 * wires, row_b + domain, value_b),
        (wire_c + 2 * wires, row_c, value_c),
    ])  # fmt: skip
    table = cw.concat([base.tau1, base.alpha1, base.beta1])
    sums = sums_of(terms, table, 3 * wires)
    a, b1, mixed = (sums[at * wires : (at + 1) * wires] for at in range(3))
    b2 = sums_of(Terms(wire_b, row_b, value_b), base.tau2, wires)
    alpha1, beta1 = (
        groups.points(powers.sections.slice(number, 0, groups.size(1)), 1)
        for number in (ALPHA1, BETA1)
    )
    beta2 = groups.points(powers.sections.slice(BETA2), 2)
    g1, g2 = groups.generator(1), groups.generator(2)
    ic, private = mixed[:public], mixed[public:]
    points = [alpha1, beta1, beta2, g2, g1, g2, ic, a, b1, b2, private, base.odd]
    factor = scalars(curve, [MONTGOMERY_R])
    matrices = [[m.starts, m.columns, m.values * factor] for m in (left, right)]
    key = VerifyingKey(curve, *(point_bytes(points[index]) for index in (0, 2, 3, 5, 6)))
    beside = [] if vkey is None else [(files.name_of(vkey), key.to_json())]
    counts, rest = (wires, circuit.public, domain), (beside, _circuit_hash(powers, points, domain))
    _core.write_zkey(files.name_of(zkey), curve, counts, points, matrices, rest)


def _circuit_hash(powers: PowersOfTau, points: list[Tensor], domain: int) -> bytes:
    """The hash of a key before its first contribution."""
    alpha1, beta1, beta2, gamma2, delta1, delta2, ic, a, b1, b2, private, _ = points
    curve, hasher = powers.curve, CeremonyHash()

    def take(points: Tensor, group: int, *, counted: bool = False) -> None:
        if counted:
            hasher.update(points.shape[0].to_bytes(4, "big"))
        hasher.points(ops.to_canonical(points), curve, group)

    for point, group in (
        (alpha1, 1),
        (beta1, 1),
        (beta2, 2),
        (gamma2, 2),
        (delta1, 1),
        (delta2, 2),
    ):
        take(point, group)
    take(ic, 1, counted=True)
    # The points of H as differences tau^(i + n) - tau^i.
    size = powers.groups.size(1)
    octets = powers.sections.slice(TAU1, 0, (2 * domain - 1) * size)
    tau = powers.groups.points(octets, 1)
    take(tau[domain:] - tau[: domain - 1], 1, counted=True)
    if domain > _HASHED:
        absorb(hasher, powers.groups, _beyond(powers, domain))
    for found in (private, a, b1):
        take(found, 1, counted=True)
    take(b2, 2, counted=True)
    return hasher.digest()


def _beyond(powers: PowersOfTau, domain: int) -> bytes:
    """One difference more, which snarkjs hashes: tau^(2n - 1) - tau^(n - 1).

    Where the powers end with tau^(2n - 2), the bytes behind them take the place of the first point.
    """
    groups, sections = powers.groups, powers.sections
    size = groups.size(1)
    begin = sections.places[TAU1][0] + (2 * domain - 1) * size
    first = memoryview(sections.octets[begin : begin + size]).tobytes()
    second = sections.data(TAU1, (domain - 1) * size, size)
    if 2 * domain - 1 < powers.count(TAU1):
        return stored(groups.points(first, 1) - groups.points(second, 1))
    return difference(first, second, groups.curve.fq.modulus)
