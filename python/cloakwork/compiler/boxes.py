"""The inputs that a model will accept: a range for each element, from a sample or as stated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.compiler.approximation.domains import possible_ranges
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Input, Node
from cloakwork.compiler.reach import Range, widened
from cloakwork.errors import ParamError

__all__ = [
    "box_of",
    "in_units",
    "sizes_of_outputs",
    "stated_bounds",
    "units_of",
    "with_units_of_outputs",
]

Floats = NDArray[np.float64]

# Features of which this share has ranges of at least this share of the widest are of one unit, as
# pixels are, and share one range; unless most of them are constant.
_MOST_FEATURES, _ALIKE, _VARYING = 0.75, 0.125, 0.5
# What features of ranges of their own are scaled to, at most: far above the noise of slots.
_SIZE_LOG2, _MOST_LOG2 = 4, 190
# Outputs are scaled to the size above where the largest on the sample is beyond these.
_LEAST_OUTPUT_LOG2, _MOST_OUTPUT_LOG2 = -6, 40
# Rounding must not refuse an element of the sample.
_ROUNDING = 1e-9


def stated_bounds(graph: Graph, bounds: Any) -> dict[str, Range]:
    """The option `bounds` as ranges float64 [size] by name; ParamError names what is wrong."""
    nodes = {node.output: node for node in graph.inputs}
    if bounds is None:
        return {}
    given = bounds if isinstance(bounds, Mapping) else dict.fromkeys(nodes, bounds)
    return {name: _stated(name, edges, nodes) for name, edges in given.items()}


def _stated(name: str, edges: Any, nodes: Mapping[str, Input]) -> Range:
    allowed = (
        f"(low, high) with low < high of the inputs {list(nodes)}: finite numbers, or arrays of an "
        "input's shape with low <= high"
    )
    refusal = ParamError("bounds", repr({name: edges}), allowed)
    if name not in nodes or not isinstance(edges, tuple | list) or len(edges) != 2:
        raise refusal
    shape = nodes[name].shape
    try:
        pair = [np.asarray(edge) for edge in edges]
        if any(edge.dtype.kind not in "fiu" for edge in pair):
            raise refusal
        low, high = (np.broadcast_to(edge.astype(np.float64), shape).ravel() for edge in pair)
    except ValueError as error:
        raise refusal from error
    if not (np.isfinite([low, high]).all() and (low <= high).all() and (low < high).any()):
        raise refusal
    return low, high


def box_of(node: Input, sample: Floats, margin: float) -> Range:
    """The range of each element [size], from a sample [rows, size] with the margin.

    Elements of pictures and sequences share one range, and so do features of one unit.  A feature
    that is constant has a range as wide as its value; if it is 0, from 0 to 1.
    """
    low, high = sample.min(axis=0), sample.max(axis=0)
    width = high - low
    varying = width > 0
    alike = np.mean(width[varying] >= _ALIKE * width.max()) if varying.any() else 1.0
    if len(node.shape) != 1 or (alike >= _MOST_FEATURES and varying.mean() >= _VARYING):
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
        width = high - low
    low = np.where(width == 0, np.where(low < 0, 2 * low, 0.0), low)
    high = np.where(width == 0, np.where(high > 0, 2 * high, np.where(high < 0, 0.0, 1.0)), high)
    least, most = widened(low, high, margin)
    more = _ROUNDING * (high - low)
    return least - more, most + more


def units_of(graph: Graph, box: Mapping[str, Range]) -> dict[str, Floats]:
    """The divisors of the elements [size] of each input: powers of two.

    The noise of all slots has one size: features of small ranges would drown in it.  1 where all
    elements have one range, and where more than affine maps, which take the units in, read them.
    """
    readers, found = graph.readers(), {}
    for node in graph.inputs:
        low, high = box[node.output]
        sizes = np.maximum(np.abs(low), np.abs(high))
        own = np.ones(node.size)
        sizes = np.clip(sizes, 0.0, 2.0**_MOST_LOG2)
        mapped = all(isinstance(reader, Affine) for reader in readers[node.output])
        if mapped and node.output not in graph.kept and sizes.min() < _ALIKE * sizes.max():
            least = np.where(sizes > 2.0**-_MOST_LOG2, sizes, 1.0)
            own = np.exp2(np.ceil(np.log2(least)) - _SIZE_LOG2)
        found[node.output] = own
    return found


def in_units(graph: Graph, units: Mapping[str, Floats]) -> Graph:
    """The same model of inputs that are divided by their units."""
    if all((own == 1.0).all() for own in units.values()):
        return graph
    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node, Affine) and not units.keys().isdisjoint(node.inputs):
            terms = tuple(
                (name, sparse.csr_array(matrix * units[name]) if name in units else matrix)
                for name, matrix in node.terms
            )
            nodes.append(replace(node, terms=terms))
        else:
            nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def sizes_of_outputs(graph: Graph, sample: Mapping[str, Floats]) -> dict[str, Floats]:
    """By output: the largest value of each element on a sample, [size]; of zeros that of others."""
    found = {
        name: np.abs(values).reshape(len(values), -1).max(axis=0)
        for name, values in graph.run(sample).items()
    }
    largest = max(float(own.max()) for own in found.values()) or 1.0
    return {name: np.where(own > 0, own, largest) for name, own in found.items()}


def with_units_of_outputs(
    graph: Graph, box: Mapping[str, Range], sample: Mapping[str, Floats]
) -> Graph:
    """The same model of outputs that are divided by their units, where affine maps give them.

    Elements of a vector whose ranges for all accepted inputs are smaller than the widest are
    multiplied, so that the noise, which is of one size in all slots, is as small beside each; and
    outputs far from 1 are brought near it.

    box      by input: the range of each element [size]
    sample   inputs [rows, *shape] by name
    """
    readers, found = graph.readers(), dict[str, Floats]()
    reach, outputs = possible_ranges(graph, box), graph.run(sample)
    for name in graph.outputs:
        node = graph[name]
        if isinstance(node, Affine) and not readers[name] and name not in graph.doubts.values():
            own = _units_of_output(node, reach[name], outputs[name].reshape(-1, node.size))
            if (own != 1.0).any():
                found[name] = own
    nodes = [
        replace(
            node,
            terms=tuple(
                (name, sparse.csr_array(sparse.diags_array(1 / found[node.output]) @ matrix))
                for name, matrix in node.terms
            ),
            bias=node.bias / found[node.output],
        )
        if isinstance(node, Affine) and node.output in found
        else node
        for node in graph.nodes
    ]
    return replace(graph, nodes=tuple(nodes), units=found)


def _units_of_output(node: Affine, reach: Range, sample: Floats) -> Floats:
    own = np.ones(node.size)
    sizes = np.maximum(*map(np.abs, reach))
    most = float(sizes.max())
    if len(node.shape) == 1 and 0 < most < np.inf and sizes.min() < _ALIKE * most:
        shares = np.where(sizes > 0, sizes / most, 1.0)
        own = np.exp2(np.clip(np.ceil(np.log2(shares)), -_MOST_LOG2, 0))
    largest = float(np.abs(sample / own).max())
    if largest > 0:
        exponent = int(np.ceil(np.log2(largest)))
        if not _LEAST_OUTPUT_LOG2 <= exponent <= _MOST_OUTPUT_LOG2:
            own = own * 2.0 ** (exponent - _SIZE_LOG2)
    return np.clip(own, 2.0**-_MOST_LOG2, 2.0**_MOST_LOG2)
