"""The arguments that each function must accept: the sample's, widened, within what is possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.approximation.recipes import JUMPS
from cloakwork.compiler.functions import FUNCTIONS
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Function, Input
from cloakwork.compiler.reach import Range, possible, widened
from cloakwork.errors import ModelError

__all__ = ["Domain", "bits_of_jump", "domain_of", "possible_ranges"]

Floats = NDArray[np.float64]

# Functions with f(b x) = b f(x) for b > 0; those with jumps have f(b x) = f(x).
_HOMOGENEOUS = {"abs", "leaky_relu", "relu"}
# Elements of one node get scales of their own where their ranges differ by more than this factor.
_ALIKE = 8.0
# A domain around 0 becomes symmetric if its shorter side has at least this share of the longer.
_NEARLY_SYMMETRIC = 0.5
_BITS_MAX = 30
# The least scale of an element, relative to the largest: of arguments that are exact, and of those
# that earlier approximations change, whose errors may be larger than the values of some elements.
_LEAST_SCALE, _LEAST_CHANGED_SCALE = 1e-6, 0.25
_LEAST_LENGTH = 2.0**-10
# Functions that are not finite at 0.
_SINGULAR = {"log", "reciprocal", "rsqrt"}
# Functions that are finite at 0, and not defined below.
_ROOTS = {"sqrt"}
# A domain covers all possible arguments where that makes it longer by no more than this factor; of
# a jump, where it makes no element's longer than that: a factor of 2 costs half a level or so.
_WHOLE, _WHOLE_JUMP = 1.25, 32.0
# A jump's domain is longer by this factor where earlier approximations change its arguments: they
# may go beyond what is possible, and the polynomials of a jump diverge there.
_CHANGED_JUMP = 1.1


@dataclass(frozen=True)
class Domain:
    """The domain of a function: x_i / scales[i] from low to high.

    scales   float64 [size], or None for 1 in every element
    """

    low: float
    high: float
    scales: Floats | None = None


def possible_ranges(graph: Graph, inputs: Mapping[str, Range]) -> dict[str, Range]:
    """The least and largest value that each element can have, by interval arithmetic."""
    found = dict(inputs)
    for node in graph.nodes:
        if not isinstance(node, Input):
            found[node.output] = possible(node, found)
    return found


def domain_of(
    node: Function, sample: Range, possible: Range, margin: float, *, changed: bool = False
) -> Domain:
    """The domain of a function, from the ranges [size] of its arguments on a sample.

    changed   whether its arguments depend on earlier functions, whose approximations change them

    Pictures have one scale: of so many elements, some would leave domains of their own.

    ModelError where the function is not finite between arguments of the sample.
    """
    low, high = widened(*sample, margin)
    # Rounding of interval arithmetic must not exclude a value of the sample.
    low = np.minimum(np.maximum(low, possible[0]), sample[0])
    high = np.maximum(np.minimum(high, possible[1]), sample[1])
    if node.kind in JUMPS:
        sizes, most = np.maximum(-low, high), np.maximum(-possible[0], possible[1])
        if bool((most <= _WHOLE_JUMP * sizes).all()):
            sizes = np.maximum(sizes, most)
        sizes = sizes * (_CHANGED_JUMP if changed else 1.0)
        return Domain(-1.0, 1.0, np.where(sizes > 0, sizes, 1.0))
    low, high = _whole(low, high, *possible)
    if node.kind in _SINGULAR:
        low, high = _beside_zero(node, sample, (low, high), margin)
    if node.kind in _ROOTS:
        low = np.maximum(low, np.maximum(sample[0], 0.0) / (1 + 2 * margin))
    _check_finite(node, low, high)
    sizes = np.maximum(-low, high)
    apart = len(node.shape) == 1
    if apart and node.kind in _HOMOGENEOUS and sizes.max() > _ALIKE * sizes.min():
        least = _LEAST_CHANGED_SCALE if changed else _LEAST_SCALE
        scales = np.maximum(sizes, least * sizes.max())
        return Domain(*_shaped((low / scales).min(), (high / scales).max()), scales)
    return Domain(*_shaped(low.min(), high.max()))


def _whole(low: Floats, high: Floats, least: Floats, most: Floats) -> Range:
    """All that is possible, where that is not much more."""
    first, last = min(float(least.min()), float(low.min())), max(most.max(), float(high.max()))
    if last - first <= _WHOLE * float(high.max() - low.min()):
        return np.minimum(low, least), np.maximum(high, most)
    return low, high


def _check_finite(node: Function, low: Floats, high: Floats) -> None:
    """ModelError where the function has no finite value at an end of its domain."""
    ends = np.array([low.min(), high.max()])
    with np.errstate(all="ignore"):
        found = FUNCTIONS[node.kind].define(ends, **node.parameters)
    if not np.isfinite(found).all():
        raise ModelError(
            f"{node.place}: {node.kind} of values from {ends[0]:.6g} to {ends[1]:.6g}, those of "
            "the sample with the margin, is not finite everywhere: take a smaller margin, or a "
            "sample of smaller values"
        )


def bits_of_jump(domain: Domain, values: Floats) -> int:
    """How small |x| / scale is, -log2, but for 0.1 % of arguments [rows, size], and 0."""
    shares = np.abs(values if domain.scales is None else values / domain.scales)
    ordered = np.sort(shares[shares > 0])
    least = float(ordered[len(ordered) // 1000]) if len(ordered) else 1.0
    return int(min(max(ceil(-log2(least)), 1), _BITS_MAX))


def _beside_zero(node: Function, sample: Range, widest: Range, margin: float) -> Range:
    """A range on one side of 0, where the function is not finite."""
    low, high = float(sample[0].min()), float(sample[1].max())
    if low <= 0 <= high:
        raise ModelError(
            f"{node.place}: {node.kind} of values from {low:.6g} to {high:.6g} on the sample; "
            "expected values on one side of 0: give a sample like the data, or add a constant"
        )
    near = 1 + 2 * margin
    if low > 0:
        return np.maximum(widest[0], sample[0] / near), widest[1]
    return widest[0], np.minimum(widest[1], sample[1] / near)


def _shaped(low: float, high: float) -> tuple[float, float]:
    """A domain of a length above 0, symmetric about 0 if it nearly is."""
    low, high = float(low), float(high)
    if low < 0 < high and min(-low, high) >= _NEARLY_SYMMETRIC * max(-low, high):
        return -max(-low, high), max(-low, high)
    least = _LEAST_LENGTH * max(abs(low), abs(high))
    if high - low <= least:
        more = least if least > 0 else 1.0
        return (low, high + more) if low >= 0 else (low - more, high)
    return low, high
