"""Where a model stops being computed encrypted: the client computes its end from what it decrypts.

A sigmoid, a quotient or a logarithm takes the server many levels, and the client nothing.  The end
of a model moves to the client as far as it reads no more numbers than the model has outputs, and
has no trained weights: sums, averages, scales, products and functions, of scores.  So the client
sees scores where it would see probabilities or labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Function, Input, Node, Product
from cloakwork.compiler.reach import Range, possible

__all__ = ["client_step", "cut"]

# An affine map with more different weights, or biases, is taken to be trained.
_DIFFERENT_WEIGHTS = 2
# Functions that make much of a small error near the end of their domain, and the arguments from
# which on they do not.
_STEEP = {"log": 1.0, "reciprocal": 1.0, "rsqrt": 1.0, "sqrt": 1.0}


def cut(graph: Graph) -> Graph:
    """The same results, with the end of the graph among the client's steps."""
    moved = _without_first_maps(graph, _furthest(graph))
    taken = {node.output for node in moved}
    sizes = {node.output: node.size for node in graph.nodes}
    before, after = (sum(sizes[x] for x in own) for own in (graph.outputs, _read(graph, taken)))
    if after >= before and not any(isinstance(node, Function | Product) for node in moved):
        return graph
    steps = (*map(client_step, moved), *graph.client_tail.steps)
    outputs = tuple(_read(graph, taken))
    tail = ClientTail(graph.client_tail.results, steps)
    nodes = tuple(_needed(graph, {*outputs, *graph.doubts}))
    return replace(graph, nodes=nodes, outputs=outputs, client_tail=tail)


def _read(graph: Graph, taken: set[str]) -> Iterable[str]:
    """The values that a client reads who computes those taken, in order."""
    read = {name for node in graph.nodes if node.output in taken for name in node.inputs}
    wanted = (read | set(graph.outputs)) - taken
    return [node.output for node in graph.nodes if node.output in wanted]


def _furthest(graph: Graph) -> list[Node]:
    """The most nodes at the end that read no more numbers than the outputs have."""
    readers, sizes = graph.readers(), {node.output: node.size for node in graph.nodes}
    inputs = {node.output for node in graph.inputs}
    most = sum(sizes[name] for name in graph.outputs)
    doubtful = {*graph.doubts, *graph.doubts.values()}
    taken: set[str] = set()
    best: set[str] = set()
    for node in reversed(graph.nodes):
        stays = not _can_move(node) or node.output in doubtful
        if stays or any(reader.output not in taken for reader in readers[node.output]):
            continue
        taken.add(node.output)
        read = list(_read(graph, taken))
        few = sum(sizes[name] for name in read) <= most and inputs.isdisjoint(read)
        if few and _is_tame(graph, taken, read):
            best = set(taken)
    return [node for node in graph.nodes if node.output in best]


def _is_tame(graph: Graph, taken: set[str], read: Iterable[str]) -> bool:
    """Whether no function that is steep somewhere gets such arguments, whatever is decrypted."""
    reach: dict[str, Range] = {}
    for name in read:
        size = graph[name].size
        reach[name] = np.full(size, -np.inf), np.full(size, np.inf)
    for node in graph.nodes:
        if node.output not in taken:
            continue
        least = _STEEP.get(node.kind, -np.inf) if isinstance(node, Function) else -np.inf
        if any((reach[name][0] < least).any() for name in node.inputs):
            return False
        reach[node.output] = possible(node, reach)
    return True


def _can_move(node: Node) -> bool:
    if isinstance(node, Affine):
        few = len(np.unique(node.bias)) <= _DIFFERENT_WEIGHTS
        return few and all(_is_untrained(matrix) for _, matrix in node.terms)
    return isinstance(node, Product | Function)


def _is_untrained(matrix: Any) -> bool:
    """Whether each row weighs its elements alike, with few different weights in all."""
    first = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    leading = matrix.data[np.minimum(matrix.indptr[first], max(matrix.nnz - 1, 0))]
    alike = bool((matrix.data == leading).all())
    return alike and len(np.unique(matrix.data)) <= _DIFFERENT_WEIGHTS


def _without_first_maps(graph: Graph, moved: list[Node]) -> list[Node]:
    """Without affine maps of what is decrypted, where their results are no more numbers."""
    sizes = {node.output: node.size for node in graph.nodes}
    while True:
        taken = {node.output for node in moved}
        read = sum(sizes[name] for name in _read(graph, taken))
        for node in moved:
            if isinstance(node, Affine) and taken.isdisjoint(node.inputs):
                other = taken - {node.output}
                if sum(sizes[name] for name in _read(graph, other)) <= read:
                    moved = [one for one in moved if one is not node]
                    break
        else:
            return moved


def _needed(graph: Graph, wanted: set[str]) -> Iterable[Node]:
    """The inputs, and the nodes on which some values depend, in order."""
    for node in reversed(graph.nodes):
        if node.output in wanted:
            wanted |= set(node.inputs)
    return [node for node in graph.nodes if node.output in wanted or isinstance(node, Input)]


def client_step(node: Node) -> ClientStep:
    """A node that the server would compute, as the client computes it."""
    shape = list(node.shape)
    if isinstance(node, Affine):
        matrices = [_entries(matrix) for _, matrix in node.terms]
        parameters: dict[str, Any] = {"matrices": matrices, "bias": node.bias.tolist()}
        return ClientStep(node.output, "linear", node.inputs, parameters | {"shape": shape})
    if isinstance(node, Product):
        return ClientStep(node.output, "product", node.inputs, {"shape": shape})
    assert isinstance(node, Function)
    named = {"name": node.kind, "options": dict(node.parameters), "shape": shape}
    return ClientStep(node.output, "function", node.inputs, named)


def _entries(matrix: Any) -> dict[str, list[Any]]:
    own = matrix.tocoo()
    return {
        "rows": own.row.tolist(),
        "columns": own.col.tolist(),
        "weights": own.data.tolist(),
    }
