"""Parameters for a plan: the largest scale that each secure degree has room for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import log2

import numpy as np

from cloakwork.compiler.lowering.emission import Ranges
from cloakwork.compiler.nodes import Affine, Node
from cloakwork.errors import ParamError
from cloakwork.fhe.security import modulus_log2_limit, secure_degrees
from cloakwork.fhe.sizing import Sizes, Wanted, least_sizes

# Bits of scales: the least, those that are tried in turn, and those that most models need.
LEAST_SCALE = 22
_SCALES = range(40, LEAST_SCALE - 1, -1), range(48, 40, -1)
_USUAL_SCALES = range(30, 41)
# Bits between the largest value at the last levels and the modulus: a sign, and partial sums.
_SPARE_BITS = 3.0
# Degrees for tests without security.
_TOYS = tuple(1 << log for log in range(11, 17))


@dataclass(frozen=True)
class Limits:
    """The limits of parameters.

    security   in bits, None without a check
    degree     this one alone; None: any
    """

    security: int | None = 128
    degree: int | None = None

    @property
    def degrees(self) -> tuple[int, ...]:
        """Those to try, ascending."""
        if self.degree is not None:
            return (self.degree,)
        return _TOYS if self.security is None else secure_degrees(self.security)


def room_of(nodes: Iterable[Node], outputs: tuple[str, ...], ranges: Ranges) -> float:
    """Bits before the point that outputs need, and what is added to become them.

    A bias may be larger than all results: that of features around 2000 makes up for their weights.
    """
    last = [node for node in nodes if node.output in outputs]
    edges = [edge for node in last for edge in ranges[node.output]]
    edges += [node.bias for node in last if isinstance(node, Affine)]
    largest = max(float(np.abs(edge).max()) for edge in edges)
    return max(log2(max(largest, 1.0)), 0.0) + _SPARE_BITS


def choices(depth: int, room: float, limits: Limits) -> Iterator[Sizes]:
    """The sizes of each degree, from the least on, with larger and larger scales.

    First the cheapest from 2^30 on, then the largest up to 2^40, then up to 2^48.

    Raises ParamError, naming the largest depth, if none has room.
    """
    found = False
    for degree in limits.degrees:
        usual = [
            largest_scale(depth, room, degree, limits.security, range(bits, bits - 1, -1))
            for bits in _USUAL_SCALES
        ]
        cheapest = min(filter(None, usual), key=lambda own: own.products, default=None)
        tried = (largest_scale(depth, room, degree, limits.security, own) for own in _SCALES)
        for sizes in dict.fromkeys((cheapest, *tried)):
            if sizes is not None:
                found = True
                yield sizes
    if not found:
        least_sizes(Wanted(depth, room, scale=LEAST_SCALE), limits.degrees[-1], limits.security)


def largest_scale(
    depth: int, room: float, degree: int, security: int | None, scales: range
) -> Sizes | None:
    """The sizes with the largest of some scales at a degree; None if there is room for none."""
    found = (_sizes(depth, room, degree, security, bits) for bits in scales)
    return next(filter(None, found), None)


@lru_cache(maxsize=1 << 12)
def _sizes(depth: int, room: float, degree: int, security: int | None, bits: int) -> Sizes | None:
    """The sizes with a scale; None where it has no room."""
    # The moduli, and special ones as large as the last: refusals by the search take much longer.
    least = bits * (depth + 1) + room + bits
    if security is not None and least > modulus_log2_limit(degree, security):
        return None
    try:
        return least_sizes(Wanted(depth, room, scale=bits), degree, security)
    except ParamError:
        return None
