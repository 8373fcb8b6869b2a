"""The arguments that each function must accept: the sample's, widened, within what is possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, inf, log2

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.approximation.recipes import JUMPS
from cloakwork.compiler.functions import FUNCTIONS
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Function, Input, Node, Product
from cloakwork.errors import ModelError

__all__ = ["Domain", "bits_of_jump", "domain_of", "possible_ranges", "widened"]

Floats = NDArray[np.float64]
Range = tuple[Floats, Floats]

# Functions that never fall.
_RISING = {
    "erf", "exp", "leaky_relu", "log", "relu", "sigmoid", "sign", "softplus", "softsign", "sqrt",
    "step", "tanh",
}  # fmt: skip
# Functions with f(b x) = b f(x) for b > 0; those with jumps have f(b x) = f(x).
_HOMOGENEOUS = {"abs", "leaky_relu", "relu"}
_SIZES, _WAVES = {"abs"}, {"cos", "sin"}
# Functions that fall where arguments are above 0.
_FALLING = {"reciprocal", "rsqrt"}
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
# Values that stand for infinity in sums, and those above which a sum is unknown.
_LARGE, _UNKNOWN = 1e200, 1e150


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
            with np.errstate(all="ignore"):
                low, high = _possible(node, found)
            found[node.output] = (
                np.where(np.isnan(low), -inf, low),
                np.where(np.isnan(high), inf, high),
            )
    return found


def widened(low: Floats, high: Floats, margin: float) -> Range:
    """A range with a share of its width added on each side."""
    more = margin * (high - low)
    return low - more, high + more


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
    sizes = np.maximum(-low, high)
    if node.kind in JUMPS:
        scales = np.where(sizes > 0, sizes, 1.0)
        return Domain(-1.0, 1.0, scales)
    if node.kind in _SINGULAR:
        low, high = _beside_zero(node, sample, (low, high), margin)
    apart = len(node.shape) == 1
    if apart and node.kind in _HOMOGENEOUS and sizes.max() > _ALIKE * sizes.min():
        least = _LEAST_CHANGED_SCALE if changed else _LEAST_SCALE
        scales = np.maximum(sizes, least * sizes.max())
        return Domain(*_shaped((low / scales).min(), (high / scales).max()), scales)
    return Domain(*_shaped(low.min(), high.max()))


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


def _possible(node: Node, read: Mapping[str, Range]) -> Range:
    if isinstance(node, Affine):
        return _affine(node, read)
    if isinstance(node, Product):
        (a, b), (c, d) = read[node.a], read[node.b]
        corners = [np.where((p == 0) | (q == 0), 0.0, p * q) for p in (a, b) for q in (c, d)]
        low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
        if node.a == node.b:
            low = np.where((a <= 0) & (b >= 0), 0.0, np.minimum(a * a, b * b))
        return low, high
    if isinstance(node, Function):
        return _function(node, *read[node.input])
    raise ModelError(f"{node.output!r}: expected a model before approximation, found {node!r}")


def _affine(node: Affine, read: Mapping[str, Range]) -> Range:
    low, high = node.bias.copy(), node.bias.copy()
    for name, matrix in node.terms:
        up, down = matrix.maximum(0).tocsr(), matrix.minimum(0).tocsr()
        # Infinities become large numbers, since 0 times infinity is none.
        least, most = (np.clip(edge, -_LARGE, _LARGE) for edge in read[name])
        low += up @ least + down @ most
        high += up @ most + down @ least
    return np.where(low < -_UNKNOWN, -inf, low), np.where(high > _UNKNOWN, inf, high)


def _function(node: Function, low: Floats, high: Floats) -> Range:
    def values(x: Floats) -> Floats:
        return np.asarray(FUNCTIONS[node.kind].define(x, **node.parameters))

    if node.kind in _RISING and not (node.kind == "leaky_relu" and node.parameters["slope"] < 0):
        start, stop = FUNCTIONS[node.kind].domain
        return values(np.maximum(low, start)), values(np.minimum(high, stop))
    if node.kind in _SIZES:
        least = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        return least, np.maximum(np.abs(low), np.abs(high))
    if node.kind in _FALLING and bool((low > 0).all()):
        return values(high), values(low)
    if node.kind in _WAVES:
        return np.full_like(low, -1.0), np.ones_like(high)
    # GELU, SiLU and Mish have their least values -0.17, -0.279 and -0.309, and stay below x.
    is_gated = node.kind in ("gelu", "gelu_tanh", "silu", "mish")
    floor = -0.31 if is_gated else 0.0 if node.kind == "rsqrt" else -inf
    return np.full_like(low, floor), np.maximum(high, 0.0) if is_gated else np.full_like(high, inf)
