"""Random inputs that a client accepts, unlike the sample: what errors they have."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.graph import Graph
from cloakwork.compiler.guarding import Guarded
from cloakwork.compiler.nodes import Affine, Input
from cloakwork.compiler.reach import Range

__all__ = ["accepted_inputs", "largest_deviation"]

Floats = NDArray[np.float64]

# Inputs that are drawn, at most and at least, and the products that a run of all may take.
_MOST, _LEAST, _PRODUCTS = 2000, 64, 5e7
# The largest deviation of others is taken to be at most so many times that of those drawn.
_UNSEEN = 2.5


def accepted_inputs(
    made: Guarded, box: Mapping[str, Range], sample: Mapping[str, Floats]
) -> dict[str, Floats]:
    """Inputs [rows, *shape] by name within the box, for which all guards pass; some of the sample.

    A third of those drawn are uniform, a third lie between these and the sample's, and a third
    have each element of another row of the sample.
    """
    generator, count = np.random.default_rng(0), _count(made.graph)
    drawn = {
        node.output: _drawn(node, box[node.output], sample[node.output], count, generator)
        for node in made.graph.inputs
    }
    found = {name: np.concatenate([sample[name][:count], values]) for name, values in drawn.items()}
    passed = made.passed(found)
    return {name: values[passed] for name, values in found.items()}


def _count(graph: Graph) -> int:
    products = sum(
        matrix.nnz for node in graph.nodes if isinstance(node, Affine) for _, matrix in node.terms
    )
    return int(np.clip(_PRODUCTS / max(products, 1), _LEAST, _MOST))


def _drawn(
    node: Input, edges: Range, sample: Floats, count: int, generator: np.random.Generator
) -> Floats:
    rows = sample.reshape(len(sample), node.size)
    found = generator.uniform(*edges, (count, node.size))
    third = count // 3
    near = rows[generator.integers(len(rows), size=third)]
    found[:third] = near + generator.uniform(0, 1, (third, 1)) * (found[:third] - near)
    chosen = generator.integers(len(rows), size=(third, node.size))
    found[third : 2 * third] = rows[chosen, np.arange(node.size)]
    return np.clip(found, *edges).reshape(count, *node.shape)


def largest_deviation(
    exact: Graph,
    other: Graph,
    made: Guarded,
    inputs: Mapping[str, Floats],
    sizes: Mapping[str, Floats],
) -> float:
    """How far the outputs of two graphs are apart for some inputs, and likely for others.

    In the units of results.  Doubts say how far they are apart because of jumps; that is bounded,
    whatever was drawn.

    sizes   by output: of each element [size]
    """
    first, second = (one.in_units_of_results(one.run(inputs)) for one in (exact, other))
    doubts = np.clip(made.doubted(inputs), 0.0, None)[:, np.newaxis]
    apart = max(
        float((np.abs(x - second[name]).reshape(len(x), -1) - doubts * sizes[name]).max())
        for name, x in first.items()
    )
    largest = max(float(own.max()) for own in sizes.values())
    return _UNSEEN * max(apart, 0.0) + made.most * largest
