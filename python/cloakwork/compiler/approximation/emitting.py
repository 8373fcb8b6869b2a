"""The nodes of chosen recipes: scalings fold into the affine maps around them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.approximation.choosing import Applied, Choice
from cloakwork.compiler.approximation.recipes import JUMPS
from cloakwork.compiler.building import diagonal
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Evaluate, Function, Node, Product
from cloakwork.compiler.simplifying import simplified

__all__ = ["emitted"]

Floats = NDArray[np.float64]


def emitted(graph: Graph, choice: Choice) -> Graph:
    """The graph with each Function as Evaluates, and perhaps a Product; simplified."""
    emission = _Emission(graph, choice)
    for node in graph.nodes:
        emission.take(node)
    return simplified(replace(graph, nodes=tuple(emission.nodes)))


class _Emission:
    def __init__(self, graph: Graph, choice: Choice) -> None:
        self.graph, self.choice = graph, choice
        self.nodes: list[Node] = []
        self.names = {node.output for node in graph.nodes}
        self.readers = graph.readers()
        # The scaled argument of a function, by the function's output.
        self.units: dict[str, str] = {}

    def take(self, node: Node) -> None:
        if isinstance(node, Function):
            self._function(node, self.choice[node.output])
            return
        self.nodes.append(node)
        reader = self._only_function(node)
        if isinstance(node, Affine) and reader is not None:
            self._scale_at_once(node, reader)

    def _only_function(self, node: Node) -> Function | None:
        """The one Function that reads a value, where all others that do are Affines."""
        readers = self.readers[node.output]
        functions = [reader for reader in readers if isinstance(reader, Function)]
        others = [reader for reader in readers if not isinstance(reader, Function | Affine)]
        is_free = len(functions) == 1 and not others and node.output not in self.graph.kept
        return functions[0] if is_free and len(readers) > 1 else None

    def _scale_at_once(self, node: Affine, reader: Function) -> None:
        """The scaled value comes from the Affine, and other readers undo the scaling."""
        weight, shift = _to_unit(self.choice[reader.output], node.size)
        unit = self.units[reader.output] = self._name(f"{reader.output}.unit")
        terms = tuple((name, diagonal(weight) @ matrix) for name, matrix in node.terms)
        made = Affine(unit, node.shape, terms, weight * node.bias + shift, source=node.source)
        undone = ((unit, diagonal(1 / weight)),)
        self.nodes[-1:] = [made, replace(node, terms=undone, bias=-shift / weight)]

    def _function(self, node: Function, applied: Applied) -> None:
        unit = self.units.get(node.output)
        if unit is None:
            weight, shift = _to_unit(applied, node.size)
            unit = self._name(f"{node.output}.unit")
            terms = ((node.input, diagonal(weight)),)
            self.nodes.append(Affine(unit, node.shape, terms, shift, source=node.source))
        value, composition = unit, applied.recipe.composition
        scales = applied.domain.scales
        scaled = scales is not None and node.kind not in JUMPS
        steps = len(composition.stages) + (composition.form == "gate") + scaled
        names = [self._name(f"{node.output}.{step}") for step in range(steps - 1)] + [node.output]
        for stage in composition.stages:
            made = Evaluate(names.pop(0), node.shape, value, stage, source=node.source)
            value = made.output
            self.nodes.append(made)
        if composition.form == "gate":
            gate = Product(names.pop(0), node.shape, unit, value, source=node.source)
            value = gate.output
            self.nodes.append(gate)
        if scaled:
            assert scales is not None
            terms = ((value, diagonal(scales)),)
            bias = np.zeros(node.size)
            self.nodes.append(Affine(names.pop(0), node.shape, terms, bias, source=node.source))

    def _name(self, stem: str) -> str:
        found, count = stem, 0
        while found in self.names:
            count += 1
            found = f"{stem}.{count}"
        self.names.add(found)
        return found


def _to_unit(applied: Applied, size: int) -> tuple[Floats, Floats]:
    """Weights and shifts [size] that bring arguments to [-1, 1]."""
    wanted, scales = applied.recipe.wanted, applied.domain.scales
    weight = np.broadcast_to(1.0 / (wanted.half * (1.0 if scales is None else scales)), (size,))
    return weight.copy(), np.full(size, -wanted.middle / wanted.half)
