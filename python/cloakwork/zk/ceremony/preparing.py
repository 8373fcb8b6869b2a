"""Phase 2 of powers of tau: the points of Lagrange polynomials, for each size of domain.

L_j(tau) = 1/n sum_i w^(-ij) tau^i are the inverse transform of tau's powers, whose steps here are
sums of points and multiples by roots of unity.
"""

from __future__ import annotations

from collections.abc import Iterator

from cloakwork import _core, files, ops
from cloakwork._core import Tensor
from cloakwork.errors import ParamError
from cloakwork.fields.parameters import ORDERS
from cloakwork.zk.ceremony.contributions import stored
from cloakwork.zk.ceremony.powers_file import (
    LAGRANGE,
    POWERS,
    TAU1,
    PowersOfTau,
    counts,
    header,
    read,
)
from cloakwork.zk.ceremony.sections import AnyPath, head, start
from cloakwork.zk.groth16.algebra import joined, scalars
from cloakwork.zk.protocol.fields import curve as named

_SECTIONS = 11


def prepare(source: AnyPath, path: AnyPath) -> PowersOfTau:
    """Write powers of tau with the Lagrange points that `setup` needs.

    Each domain up to that of the file's power has points; those of tau in G1 have one domain more.
    Raises LoadError for a damaged file, and ParamError for a power whose domain has no transform.
    """
    files.claim([path], [source])
    old = read(source)
    if old.power >= named(old.curve).fr.two_adicity:
        raise ParamError("power", old.power, "a domain of half the roots of unity, for H")
    files.write(path, _core.unrecorded(lambda: _prepared(old)))
    return read(path)


def _prepared(old: PowersOfTau) -> Iterator[bytes]:
    yield start("ptau", _SECTIONS)
    yield header(old.groups, old.power, old.ceremony_power)
    for number in (*POWERS, 7):
        yield from old.sections.copied(number)
    for number, source in LAGRANGE.items():
        group = POWERS[source]
        size = old.groups.size(group)
        yield head(number, counts(old.power)[number] * size)
        for log in range(old.power + 1 + (source == TAU1)):
            yield stored(lagrange(old, source, log))


def powers_of(old: PowersOfTau, source: int, count: int) -> Tensor:
    """The first points of a section, [count]; at infinity beyond the section's end."""
    group = POWERS[source]
    size, held = old.groups.size(group), old.count(source)
    points = old.groups.points(old.sections.slice(source, 0, min(count, held) * size), group)
    if count <= held:
        return points
    return joined(points, old.groups.points(bytes((count - held) * size), group))


def lagrange(old: PowersOfTau, source: int, log: int) -> Tensor:
    """The Lagrange points of a domain of 2^log points."""
    points = powers_of(old, source, 1 << log)
    if log == 0:
        return points
    prime = ORDERS[old.curve]
    scale = scalars(old.curve, [pow(1 << log, -1, prime)])
    return ops.curve_mul(scale, transformed(points, old.curve, inverse=True))


def transformed(points: Tensor, curve: str, *, inverse: bool = False) -> Tensor:
    """The transform of points, [2^k], in natural order; its inverse is not divided by 2^k.

    A stage halves the length of blocks (decimation in frequency, in Stockham's order, which needs
    no bit reversal): sums, and differences times roots of unity.
    """
    count = points.shape[0]
    field = named(curve).fr
    root, prime = field.root_number(count), field.modulus
    root = pow(root, -1, prime) if inverse else root
    width = 1
    while width < count:
        half = count // (2 * width)
        # Block m has points m * width + lane of both halves.
        pairs = points.reshape(2, half, width)
        sums = pairs[0] + pairs[1]
        rest = pairs[0] - pairs[1]
        if half > 1:
            roots = ops.powers(scalars(curve, [pow(root, width, prime)])[0], half)
            # The first root is 1.
            rest[1:] = ops.curve_mul(roots[1:].reshape(half - 1, 1), rest[1:])
        made = ops.empty((half, 2, width), points.dtype)
        made[:, 0] = sums
        made[:, 1] = rest
        points = made.reshape(count)
        width *= 2
    return points
