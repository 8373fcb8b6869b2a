"""The values that each element of a graph can have, by interval arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.functions import FUNCTIONS
from cloakwork.compiler.nodes import Affine, Evaluate, Function, Node, Product
from cloakwork.errors import ModelError
from cloakwork.fhe.estimates.bounds import Bound
from cloakwork.fhe.estimates.ranges import value_range

__all__ = ["Range", "possible", "widened"]

Floats = NDArray[np.float64]
Range = tuple[Floats, Floats]

# Functions that never fall.
_RISING = {
    "asinh", "atan", "erf", "exp", "leaky_relu", "log", "relu", "sigmoid", "sign", "sinh",
    "softplus", "softsign", "sqrt", "step", "tanh",
}  # fmt: skip
_SIZES, _WAVES = {"abs"}, {"cos", "sin"}
# Functions that fall where arguments are above 0.
_FALLING = {"reciprocal", "rsqrt"}
# Values that stand for infinity in sums, and those above which a sum is unknown.
_LARGE, _UNKNOWN = 1e200, 1e150


def widened(low: Floats, high: Floats, margin: float) -> Range:
    """A range with a share of its width added on each side."""
    more = margin * (high - low)
    return low - more, high + more


def possible(
    node: Node, read: Mapping[str, Range], sums: Mapping[str, float] | None = None
) -> Range:
    """The least and largest value of each element of a node, [size] each; infinite if unknown.

    read   the ranges of the values that it reads
    sums   of values without negative elements: the most that the sum of all elements can be
    """
    with np.errstate(all="ignore"):
        low, high = _possible(node, read, sums or {})
    return np.where(np.isnan(low), -inf, low), np.where(np.isnan(high), inf, high)


def _possible(node: Node, read: Mapping[str, Range], sums: Mapping[str, float]) -> Range:
    if isinstance(node, Affine):
        return _affine(node, read, sums)
    if isinstance(node, Product):
        (a, b), (c, d) = read[node.a], read[node.b]
        corners = [np.where((p == 0) | (q == 0), 0.0, p * q) for p in (a, b) for q in (c, d)]
        low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
        if node.a == node.b:
            low = np.where((a <= 0) & (b >= 0), 0.0, np.minimum(a * a, b * b))
        return low, high
    if isinstance(node, Function):
        return _function(node, *read[node.input])
    if isinstance(node, Evaluate):
        return _polynomial(node, *read[node.input])
    raise ModelError(f"{node.output!r}: expected a value that is computed, found {node!r}")


def _affine(node: Affine, read: Mapping[str, Range], sums: Mapping[str, float]) -> Range:
    low, high = node.bias.copy(), node.bias.copy()
    for name, matrix in node.terms:
        up, down = matrix.maximum(0).tocsr(), matrix.minimum(0).tocsr()
        # Infinities become large numbers, since 0 times infinity is none.
        least, most = (np.clip(edge, -_LARGE, _LARGE) for edge in read[name])
        below, above = up @ least + down @ most, up @ most + down @ least
        if name in sums:
            below = np.maximum(below, -sums[name] * _largest(-down))
            above = np.minimum(above, sums[name] * _largest(up))
        low, high = low + below, high + above
    return np.where(low < -_UNKNOWN, -inf, low), np.where(high > _UNKNOWN, inf, high)


def _largest(matrix: NDArray[np.float64]) -> Floats:
    """Of each row of a sparse matrix without negative elements."""
    found: Floats = matrix.max(axis=1).toarray().ravel()
    return found


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


def _polynomial(node: Evaluate, low: Floats, high: Floats) -> Range:
    """Of a polynomial over the widest range of its arguments."""
    own, least, most = node.polynomial, float(low.min()), float(high.max())
    if not (np.isfinite(least) and np.isfinite(most)):
        return np.full(node.size, -inf), np.full(node.size, inf)
    is_chebyshev = own.basis == "chebyshev"
    if is_chebyshev:
        start, stop = own.domain
        least, most = ((2 * edge - start - stop) / (stop - start) for edge in (least, most))
    found = value_range(tuple(map(float, own.coefficients)), is_chebyshev, Bound.real(least, most))
    return np.full(node.size, float(found.low)), np.full(node.size, float(found.high))
