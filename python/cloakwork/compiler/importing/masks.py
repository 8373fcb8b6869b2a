"""Constants of -1e4 and the like, by which exporters mask: exponentials without them, times 0.

What is masked is e^x with an x that is a thousand or more below all others: 0.  Its exponential is
computed of x without the mask instead, and then left out, so that the check that no input leaves
the domain of e^x, which is no thousand wide, holds for what is masked, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.building import diagonal, fresh_name
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Function, Node
from cloakwork.compiler.simplifying import simplified
from cloakwork.errors import ModelError

Floats = NDArray[np.float64]

__all__ = ["without_masks"]

_EXPONENTIAL = "exp"
# A mask, and the most of what it hides and of what is left: e^(2 * 100 - 1000) is 0, also with the
# widest margin with which e^x can be approximated.
_MASK, _MOST = -1e3, 100.0


def without_masks(graph: Graph, sample: Mapping[str, ArrayLike]) -> Graph:
    """The same results, without masks before exponentials.

    sample   what is encrypted, [batch, *shape] by name: a constant is a mask where all else is as
             near to 0 as the arguments without one
    """
    arguments = {
        node.output: node
        for node in graph.nodes
        if isinstance(node, Affine) and (node.bias <= _MASK).any()
    }
    wanted = [
        node
        for node in graph.nodes
        if isinstance(node, Function) and node.kind == _EXPONENTIAL and node.input in arguments
    ]
    try:
        ranges = graph.trace_ranges(sample) if wanted else {}
    except ModelError:
        # A sample without results is refused where it is checked.
        return graph
    made: dict[str, tuple[Node, ...]] = {}
    for node in wanted:
        argument = arguments[node.input]
        hidden = argument.bias <= _MASK
        if _masks(argument.bias, hidden, ranges[node.input]):
            made[node.output] = _without(node, argument, hidden, graph)
    if not made:
        return graph
    nodes = [one for node in graph.nodes for one in made.get(node.output, (node,))]
    return simplified(replace(graph, nodes=tuple(nodes)))


def _masks(bias: Floats, hidden: NDArray[np.bool_], reach: tuple[Floats, Floats]) -> bool:
    """Whether constants are masks: without them arguments are like the others, and near 0."""
    if hidden.all():
        return False
    low, high = (edge[~hidden] for edge in reach)
    least, most = float(low.min()), float(high.max())
    width = most - least
    below, above = ((edge - bias)[hidden] for edge in reach)
    within = below.min() >= least - width and above.max() <= most + width
    return bool(within and max(-least, most) + width <= _MOST)


def _without(
    node: Function, argument: Affine, hidden: NDArray[np.bool_], graph: Graph
) -> tuple[Node, ...]:
    """The exponential of the argument without its mask, and 0 in place of what is hidden."""
    names = {one.output for one in graph.nodes}
    bare, whole = (fresh_name(f"{node.output} {what}", names) for what in ("unmasked", "of all"))
    kept = diagonal(np.where(hidden, 0.0, 1.0))
    kept.eliminate_zeros()
    return (
        replace(argument, output=bare, bias=np.where(hidden, 0.0, argument.bias)),
        replace(node, output=whole, input=bare),
        Affine(node.output, node.shape, ((whole, kept),), np.zeros(node.size), source=node.source),
    )
