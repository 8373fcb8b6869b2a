"""A graph on many inputs at once: a ciphertext for each element, an input in each slot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cloakwork.compiler.costs import Costs, Ring, Work
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.lowering.affine import scalar_factor
from cloakwork.compiler.lowering.emission import UNBOUNDED, Ranges
from cloakwork.compiler.lowering.planning import latest_of
from cloakwork.compiler.nodes import Affine, Evaluate, Function, Input, Node, Product
from cloakwork.compiler.report import NodeCost
from cloakwork.errors import ModelError
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.once import once


@dataclass(frozen=True, eq=False)
class BatchPlan:
    """Each value is a batch of as many ciphertexts as it has elements; nothing rotates."""

    graph: Graph

    @property
    def depths(self) -> dict[str, int]:
        """Levels used up by each value."""
        found: dict[str, int] = {}
        for node in self.graph.nodes:
            before = max((found[name] for name in node.inputs), default=0)
            found[node.output] = before + levels_of(node)
        return found

    @once
    def latest(self) -> dict[str, int]:
        """The levels that may be used up at each value, by its name, so that the rest fits."""
        pairs = [(n.output, dict.fromkeys(n.inputs, levels_of(n))) for n in self.graph.nodes]
        return latest_of(pairs, self.graph.outputs, self.graph.spare_levels, self.depth)

    @property
    def depth(self) -> int:
        """Levels that the chain needs."""
        spare = self.graph.spare_levels
        return max(depth + spare.get(name, 0) for name, depth in self.depths.items())

    @property
    def rotations(self) -> dict[int, int]:
        """None."""
        return {}

    @property
    def first_product(self) -> int | None:
        """The levels used up where ciphertexts are first multiplied; None if they are not."""
        products = (node for node in self.graph.nodes if isinstance(node, Product | Evaluate))
        return min((self.latest[one.output] - levels_of(one) for one in products), default=None)

    def work(self, node: Node) -> Work:
        """The work of a node."""
        if isinstance(node, Affine):
            products = sum(matrix.shape[0] * matrix.shape[1] for _, matrix in node.terms)
            return Work(sums=products, rescales=node.size)
        if isinstance(node, Product):
            return Work(squares=node.size) if node.a == node.b else Work(tensors=node.size)
        if isinstance(node, Evaluate):
            return Work(tensors=node.size * node.polynomial.key_switches)
        return Work()

    def costs(self, costs: Costs, ring: Callable[[int], Ring]) -> Iterator[NodeCost]:
        """The estimated cost of each node, given the ring after so many levels."""
        for node in self.graph.nodes:
            used = self.latest[node.output] - levels_of(node)
            if isinstance(node, Evaluate):
                used += node.polynomial.depth // 2
            seconds = costs.seconds(self.work(node), ring(used))
            kind, source = type(node).__name__, str(node.source)
            yield NodeCost(node.output, kind, source, used, 0, 0, seconds)

    def constant_bytes(self, ring: Callable[[int], Ring], *, compact: bool) -> int:
        """Of the encoded weights: a residue for each limb."""
        affine = (node for node in self.graph.nodes if isinstance(node, Affine))
        return sum(
            8 * ring(self.latest[node.output] - 1).limbs * matrix.shape[0] * matrix.shape[1]
            for node in affine
            for _, matrix in node.terms
        )


def levels_of(node: Node) -> int:
    """The levels that a node uses up."""
    if isinstance(node, Function):
        raise ModelError(f"{node.place}: expected a polynomial: approximate functions first")
    if isinstance(node, Evaluate):
        return int(node.polynomial.depth)
    if isinstance(node, Affine):
        return int(any(scalar_factor(matrix) is None for _, matrix in node.terms))
    return int(isinstance(node, Product))


class BatchEmitter:
    """Computes a graph's values: the outputs by name, each a batch of a ciphertext per element."""

    def __init__(self, plan: BatchPlan, context: CkksContext, ranges: Ranges) -> None:
        self.graph, self.context, self.ranges = plan.graph, context, ranges
        self.latest = plan.latest

    def __call__(self, given: Mapping[str, CkksCiphertext]) -> dict[str, CkksCiphertext]:
        """The outputs, rescaled."""
        values: dict[str, CkksCiphertext] = {}
        last = {name: node for node in self.graph.nodes for name in node.inputs}
        for node in self.graph.nodes:
            low = self._low(node, values, next(iter(given.values())).level)
            values[node.output] = self._bounded(self._value(node, low, given), node.output)
            for name in set(node.inputs) - set(self.graph.outputs):
                if last[name] is node:
                    del values[name]
        return {name: values[name].rescale().relinearize() for name in self.graph.outputs}

    def _low(
        self, node: Node, values: dict[str, CkksCiphertext], top: int
    ) -> dict[str, CkksCiphertext]:
        """The operands of a node, at lower levels where what reads it leaves room: cheaper."""
        level, found = top - self.latest[node.output] + levels_of(node), {}
        for name in node.inputs:
            own = values[name]
            if own.level - own._pending > level:
                own = own._settled().lower(level)
            found[name] = own
        return found

    def _value(
        self, node: Node, values: dict[str, CkksCiphertext], given: Mapping[str, CkksCiphertext]
    ) -> CkksCiphertext:
        if isinstance(node, Input):
            return given[node.output]
        if isinstance(node, Affine):
            return self._affine(node, values)
        if isinstance(node, Product):
            a, b = values[node.a], values[node.b]
            return a.square() if node.a == node.b else a * b
        assert isinstance(node, Evaluate)
        polynomial = node.polynomial
        inside = values[node.input].rescale()
        if polynomial.basis == "chebyshev":
            inside = inside.with_bound(*polynomial.domain)
        found: CkksCiphertext = polynomial(inside)
        return found

    def _affine(self, node: Affine, values: Mapping[str, CkksCiphertext]) -> CkksCiphertext:
        factors = {name: scalar_factor(matrix) for name, matrix in node.terms}
        level = min(values[name].level - values[name]._pending for name in node.inputs)
        total: CkksCiphertext | None = None
        for name, matrix in sorted(node.terms, key=lambda term: factors[term[0]] is not None):
            own, factor = values[name].rescale(), factors[name]
            if factor is not None:
                part = own if factor == 1 else own * factor
            else:
                own = own.lower(level) if own.level > level else own
                part = own.weighted_sums(matrix.toarray()).rescale()
            total = part if total is None else total + part
        assert total is not None
        return total.add_constants(node.bias) if node.bias.any() else total

    def _bounded(self, found: CkksCiphertext, name: str) -> CkksCiphertext:
        """With the range of each element, where it is known."""
        if name not in self.ranges:
            return found
        shape = len(self.ranges[name][0]), self.context.slots
        low, high = (np.broadcast_to(edge[:, np.newaxis], shape) for edge in self.ranges[name])
        return found.with_bound(np.maximum(low, -UNBOUNDED), np.minimum(high, UNBOUNDED))
