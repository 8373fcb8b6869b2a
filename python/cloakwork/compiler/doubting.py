"""Doubts: values that bound how far outputs are off where the argument of a jump is next to it.

An encrypted sign s rises from -1 to 1 next to its jump, and is on the right side of 0: it is off
by at most 1 - |s| <= 1 - s^2.  A step t = (1 + s) / 2 is off by at most half of that, 2 t (1 - t).
The sum over the elements of a value, each times how far outputs change at most with it, bounds how
far an output is off.  Trees bring doubts of their own, which are tighter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.compiler.approximation.domains import possible_ranges
from cloakwork.compiler.approximation.recipes import JUMPS
from cloakwork.compiler.functions import FUNCTIONS
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Function, Node, Product
from cloakwork.compiler.reach import Range
from cloakwork.compiler.simplifying import simplified

__all__ = ["doubted", "without_doubts"]

Floats = NDArray[np.float64]

# The largest slopes of functions, whatever their arguments are.
_SLOPES = {
    "abs": 1.0, "asinh": 1.0, "atan": 1.0, "celu": 1.0, "cos": 1.0, "erf": 1.13, "gelu": 1.13,
    "gelu_tanh": 1.13, "mish": 1.09, "relu": 1.0, "sigmoid": 0.25, "silu": 1.1, "sin": 1.0,
    "softplus": 1.0, "softsign": 1.0, "tanh": 1.0,
}  # fmt: skip
# Those with slopes of at most their parameters, or 1, or the product of these.
_BENT = {"elu", "leaky_relu", "selu"}
# Those without a value, or of any slope, at 0.
_ONE_SIDED = {"log", "reciprocal", "rsqrt", "sqrt"}
# The slopes of others are measured at ends, by steps of this share, and may be larger by a factor.
_BETWEEN, _STEP = 1.05, 1e-6


def doubted(
    graph: Graph, box: Mapping[str, Range], sizes: Mapping[str, Floats]
) -> tuple[Graph, dict[str, float]]:
    """The graph with doubts of all jumps, and by doubt how far outputs are off where it is 1.

    That is relative to the size of each element of an output, and infinite where it is not known:
    behind other jumps, and of jumps whose arguments approximations change, which may bring them to
    the other side.

    box     by input: the range of each element [size]
    sizes   by output: the size of each element [size], above 0
    """
    jumps = [node for node in graph.nodes if isinstance(node, Function) and _is_jump(node)]
    if not jumps and not graph.doubts:
        return graph, {}
    rates = _rates(graph, possible_ranges(graph, box), sizes)
    bounded, changed = _bounded(graph), _changed(graph)
    nodes: list[Node] = list(graph.nodes)
    gained = {
        doubt: float(rates[value].sum(axis=1).max()) if value in rates else inf
        for doubt, value in graph.doubts.items()
    }
    if any(node.output in bounded and node.input in changed for node in jumps):
        gained = dict.fromkeys(gained, inf)
    for node in jumps:
        most = rates[node.output].max(axis=0) if node.output in rates else np.zeros(1)
        if node.output in bounded or not most.any():
            continue
        most = np.full_like(most, inf) if node.input in changed else most
        square, doubt = _doubt_of(graph, node, most)
        nodes += [square, doubt]
        gained[doubt.output] = float(most.max()) / JUMPS[node.kind][0]
    doubts = {**graph.doubts, **dict.fromkeys(gained.keys() - graph.doubts.keys(), "")}
    return replace(graph, nodes=tuple(nodes), doubts=doubts), gained


def _changed(graph: Graph) -> set[str]:
    """The values that depend on functions, which approximations change."""
    found: set[str] = set()
    for node in graph.nodes:
        if isinstance(node, Function) or found.intersection(node.inputs):
            found.add(node.output)
    return found


def without_doubts(graph: Graph) -> Graph:
    """The outputs alone."""
    return simplified(replace(graph, doubts={})) if graph.doubts else graph


def _doubt_of(graph: Graph, node: Function, most: Floats) -> tuple[Product, Affine]:
    """The squares of a jump's values, and the doubt: 1 where the most important is off by most."""
    taken = {other.output for other in graph.nodes}
    names = (f"{node.output}^2", f"doubt of {node.output}")
    while taken.intersection(names):
        names = (f"{names[0]}.", f"{names[1]}.")
    square = Product(names[0], node.shape, node.output, node.output, source=node.source)
    # All that is unknown is unknown alike.
    shares = np.where(most == inf, 1.0, 0.0) if most.max() == inf else most / most.max()
    # Of v = w s + c, w times what bounds the error: w^2 (1 - s^2) = w^2 - c^2 + 2 c v - v^2.
    weight, shift = JUMPS[node.kind]
    row = sparse.csr_array(shares[np.newaxis])
    terms = [(square.output, -row)] + ([(node.output, 2 * shift * row)] if shift else [])
    bias = np.array([(weight**2 - shift**2) * shares.sum()])
    return square, Affine(names[1], (1,), tuple(terms), bias, source=node.source)


def _bounded(graph: Graph) -> set[str]:
    """The values that doubts tell of: all on which they depend, up to jumps."""
    found = set(graph.doubts)
    for node in reversed(graph.nodes):
        if node.output in found and not _is_jump(node):
            found.update(node.inputs)
    return found


def _is_jump(node: Node) -> bool:
    return isinstance(node, Function) and node.kind in JUMPS


def _rates(
    graph: Graph, ranges: Mapping[str, Range], sizes: Mapping[str, Floats]
) -> dict[str, Floats]:
    """By value: how far each output's element changes at most with each of its own, [outputs, n].

    In terms of the sizes of outputs.  Values on which no output depends have none.
    """
    counts = [graph[name].size for name in graph.outputs]
    starts = np.cumsum([0, *counts])
    found: dict[str, Floats] = {}
    whole = np.diag(1 / np.concatenate([sizes[name] for name in graph.outputs]))
    for name, start, count in zip(graph.outputs, starts[:-1], counts, strict=True):
        found[name] = whole[:, start : start + count]
    for node in reversed(graph.nodes):
        if node.output not in found:
            continue
        for name, rate in _through(node, found[node.output], ranges):
            found[name] = found[name] + rate if name in found else rate
    return found


def _through(node: Node, rate: Floats, ranges: Mapping[str, Range]) -> Iterator[tuple[str, Floats]]:
    """The rates of what a node reads."""
    if isinstance(node, Affine):
        for name, matrix in node.terms:
            yield name, np.asarray((abs(matrix).T @ rate.T).T)
    elif isinstance(node, Product):
        for own, other in ((node.a, node.b), (node.b, node.a)):
            yield own, _times(rate, np.maximum.reduce([np.abs(edge) for edge in ranges[other]]))
    elif isinstance(node, Function):
        yield node.input, _times(rate, np.array(_slope(node, *ranges[node.input])))
    else:
        for name in node.inputs:
            yield name, np.full((len(rate), ranges[name][0].size), inf)


def _times(rate: Floats, factor: Floats) -> Floats:
    """Rates through a factor: 0 times infinity is 0."""
    with np.errstate(invalid="ignore"):
        return np.where(rate == 0, 0.0, rate * factor)


def _slope(node: Function, low: Floats, high: Floats) -> float:
    """The largest slope of a function between two arguments."""
    if node.kind in _SLOPES or node.kind in JUMPS:
        return _SLOPES.get(node.kind, inf)
    if node.kind in _BENT:
        return max(1.0, *map(abs, node.parameters.values())) ** len(node.parameters)
    least, most = float(low.min()), float(high.max())
    if node.kind in _ONE_SIDED and least <= 0 <= most:
        return inf
    kind = FUNCTIONS[node.kind]
    # All others are steepest at an end.
    ends = np.array([least, most])
    near = _STEP * np.abs(ends) + np.finfo(np.float64).tiny
    with np.errstate(all="ignore"):
        above, below = (kind.define(ends + s * near, **node.parameters) for s in (1, -1))
        found = float(np.abs((above - below) / (2 * near)).max())
    return _BETWEEN * found if np.isfinite(found) else inf
