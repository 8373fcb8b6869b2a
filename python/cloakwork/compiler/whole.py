"""Values that are whole numbers in exact arithmetic: the client rounds them before it compares.

A count of comparisons is often equal to what it is compared with, and then noise would decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cloakwork.compiler.building import fresh_name
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Function, Input, Node, Product
from cloakwork.compiler.reach import Range, possible

__all__ = ["decides", "is_small_and_whole", "with_whole_outputs_rounded"]

# Outputs are off by 1 % of the largest by default: up to this, they round to what they are.
_MOST = 32
_JUMPS = {"sign", "step"}
# Steps of the client whose results jump where what they read is equal.
_DECIDING = {
    *("above", "argmax", "argmin", "ballots", "cast", "chained", "descended", "hardmax"),
    *("quantized", "sign", "top_indices", "votes", "weighted_median"),
}


def is_small_and_whole(nodes: Sequence[Node], wanted: str) -> bool:
    """Whether a value is made of comparisons alone, and small."""
    whole, reach = set[str](), dict[str, Range]()
    for node in nodes:
        if isinstance(node, Input):
            reach[node.output] = np.full(node.size, -np.inf), np.full(node.size, np.inf)
            continue
        reach[node.output] = possible(node, reach)
        if isinstance(node, Function):
            exact = node.kind in _JUMPS
        elif isinstance(node, Affine):
            numbers = [node.bias, *(matrix.data for _, matrix in node.terms)]
            exact = whole.issuperset(node.inputs)
            exact = exact and all((one == np.rint(one)).all() for one in numbers)
        else:
            exact = isinstance(node, Product) and whole.issuperset(node.inputs)
        whole.update([node.output] if exact else [])
    low, high = reach[wanted]
    return wanted in whole and bool(low.min() >= -_MOST and high.max() <= _MOST)


def with_whole_outputs_rounded(graph: Graph) -> Graph:
    """The same graph, whose client's steps read such outputs as whole numbers."""
    tail = graph.client_tail
    read = {name for step in tail.steps for name in step.inputs}
    names = [
        name for name in graph.outputs if name in read and is_small_and_whole(graph.nodes, name)
    ]
    taken = {*(node.output for node in graph.nodes), *(step.output for step in tail.steps)}
    rounded = {name: fresh_name(f"{name} rounded", taken) for name in names}
    steps = [ClientStep(own, "round", (name,)) for name, own in rounded.items()]
    for step in tail.steps:
        inputs = tuple(rounded.get(name, name) for name in step.inputs)
        steps.append(replace(step, inputs=inputs))
    return replace(graph, client_tail=ClientTail(tail.results, tuple(steps))) if names else graph


def decides(tail: ClientTail) -> bool:
    """Whether the client compares what noise changes: numbers that it did not round."""
    exact = {step.output for step in tail.steps if step.kind == "round"}
    for step in tail.steps:
        jumps = step.kind in _DECIDING or step.parameters.get("name") in _JUMPS
        if exact.issuperset(step.inputs):
            exact.add(step.output)
        elif jumps:
            return True
    return False
