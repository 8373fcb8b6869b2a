"""The plan of a whole graph: the layout of every value, the diagonals, the depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from cloakwork.compiler.costs import Costs, Ring, Work
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.layouts import Grid, Layout
from cloakwork.compiler.lowering.affine import AffinePlan, Candidates, Meeting, scalar_factor
from cloakwork.compiler.nodes import Affine, Evaluate, Function, Input, Node, Product
from cloakwork.compiler.report import NodeCost
from cloakwork.errors import ModelError
from cloakwork.once import once

# The share of the cost below which a plan is worth its other rotations, which may need more keys.
_WORTH = 0.95


@dataclass(frozen=True, eq=False)
class Step:
    """A node with the layout of its value, and how it is computed.

    depth     levels used up so far, where pending rescalings count
    affine    of an affine node
    """

    node: Node
    layout: Layout
    depth: int
    affine: AffinePlan | None = None

    @property
    def used(self) -> int:
        """The levels used up where it is computed; of a polynomial, in the middle."""
        if self.affine is not None:
            return self.depth - self.affine.uses_level
        if isinstance(self.node, Evaluate):
            return self.depth - (int(self.node.polynomial.depth) + 1) // 2
        return self.depth - isinstance(self.node, Product)

    @property
    def uses(self) -> dict[str, int]:
        """The levels between each operand and the result."""
        node = self.node
        if self.affine is not None:
            return {term.input: int(term.factor is None) for term in self.affine.terms}
        if isinstance(node, Evaluate):
            return {node.input: int(node.polynomial.depth)}
        return dict.fromkeys(node.inputs, 1)

    @property
    def work(self) -> Work:
        """The work, except that of a polynomial at lower levels."""
        if self.affine is not None:
            return self.affine.work
        count = self.layout.count
        if isinstance(self.node, Product):
            same = self.node.a == self.node.b
            return Work(squares=count) if same else Work(tensors=count)
        if isinstance(self.node, Evaluate):
            switches = self.node.polynomial.key_switches
            return Work(tensors=count * switches, plain_products=count * switches)
        return Work()

    def constant_bytes(self, ring: Ring, *, compact: bool) -> int:
        """Of the encoded weights: diagonals over all limbs, or their coefficients, and biases.

        Diagonals that repeat are held once, but those of single products.
        """
        if self.affine is None:
            return 0
        whole = 1 if compact else ring.limbs + ring.special
        found = self.layout.count * max(ring.limbs - 1, 1) * ring.degree * 8
        for term in self.affine.terms:
            if term.is_slotwise:
                found += ring.limbs * ring.degree * 8
            elif term.cover is not None:
                values = min(2 * term.cover.period, ring.degree)
                found += term.diagonals * whole * values * 8
        return found


@dataclass(frozen=True, eq=False)
class GraphPlan:
    """The steps in order; `outputs` are names of values."""

    slots: int
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    spare: Mapping[str, int]

    @property
    def depth(self) -> int:
        """Levels that the chain needs."""
        return max(step.depth + self.spare.get(step.node.output, 0) for step in self.steps)

    @once
    def latest(self) -> dict[str, int]:
        """The levels that may be used up at each value, by its name, so that the rest fits."""
        pairs = [(step.node.output, step.uses) for step in self.steps]
        return latest_of(pairs, self.outputs, self.spare, self.depth)

    def used(self, step: Step) -> int:
        """The levels used up where a step is computed, with operands as low as the rest allows."""
        return step.used + self.latest[step.node.output] - step.depth

    @once
    def rotations(self) -> dict[int, int]:
        """The steps that need keys, and the levels used up where each key is first used."""
        found: dict[int, int] = {}
        for step in self.steps:
            for turn in step.affine.rotations if step.affine else ():
                near = self.nearest(turn)
                if near:
                    found[near] = min(found.get(near, self.depth), self._begin(step))
        return dict(sorted(found.items()))

    def nearest(self, turn: int) -> int:
        """The same rotation of slots, between -slots / 2 and slots / 2."""
        return (turn + self.slots // 2 - 1) % self.slots - self.slots // 2 + 1

    @property
    def first_product(self) -> int | None:
        """The levels used up where ciphertexts are first multiplied; None if they are not."""
        products = (step for step in self.steps if isinstance(step.node, Product | Evaluate))
        return min(map(self._begin, products), default=None)

    def _begin(self, step: Step) -> int:
        """The levels used up where the work of a step begins."""
        return self.latest[step.node.output] - max(step.uses.values(), default=0)

    def layout(self, name: str) -> Layout:
        """Of a value."""
        return next(step.layout for step in self.steps if step.node.output == name)

    @property
    def empty_values(self) -> dict[str, float]:
        """The value of slots that have no element, by the name of the whole."""
        found: dict[str, float] = {}
        for step in self.steps:
            node, value = step.node, 0.0
            if step.affine is not None:
                value = sum((t.factor or 0) * found[t.input] for t in step.affine.terms)
            elif isinstance(node, Evaluate):
                moved = found[node.input] + shift_into(node.polynomial)
                value = float(node.polynomial(np.array([moved]))[0])
            elif isinstance(node, Product):
                value = found[node.a] * found[node.b]
            found[node.output] = value
        return found

    def costs(self, costs: Costs, ring: Callable[[int], Ring]) -> Iterator[NodeCost]:
        """The estimated cost of each step, given the ring after so many levels."""
        for step in self.steps:
            plan = step.affine
            yield NodeCost(
                step.node.output,
                type(step.node).__name__,
                str(step.node.source),
                self.used(step),
                0 if plan is None else sum(term.diagonals for term in plan.terms),
                0 if plan is None else len(plan.rotations),
                costs.seconds(step.work, ring(self.used(step))),
            )

    def constant_bytes(self, ring: Callable[[int], Ring], *, compact: bool) -> int:
        """Of the encoded weights: diagonals over all limbs, or their coefficients, and biases."""
        return sum(
            step.constant_bytes(ring(self.used(step)), compact=compact) for step in self.steps
        )


def latest_of(
    steps: Sequence[tuple[str, Mapping[str, int]]],
    outputs: Sequence[str],
    spare: Mapping[str, int],
    depth: int,
) -> dict[str, int]:
    """The most levels that may be used up at each value of steps in order.

    steps   names of values, each with the levels between its operands and it
    spare   levels that some outputs keep
    depth   levels that the chain has
    """
    found = {name: depth - spare.get(name, 0) for name in outputs}
    for name, uses in reversed(steps):
        own = found.setdefault(name, depth)
        for operand, used in uses.items():
            found[operand] = min(found.get(operand, depth), own - used)
    return found


def planned(
    graph: Graph,
    slots: int,
    price: Callable[[Work, int], float],
    levels: int,
    *,
    chained: bool = False,
) -> GraphPlan:
    """The cheapest of three plans: node by node, with joined values alike, and those beside others.

    None is better for all: layers for many tokens have few diagonals where results stand beside
    their operands, and what is then joined from several such results has many.

    price    what some work costs after so many of these levels are used up; below 0 where a plan
             needs more than these
    Raises ModelError as `Planner.plan` does.
    """
    found = [
        Planner(graph, slots, price, chained=chained, joined=joined, beside=beside).plan()
        for joined, beside in ((False, False), (True, False), (True, True))
    ]

    def cost(plan: GraphPlan) -> float:
        spare = levels - plan.depth
        return sum(price(step.work, plan.used(step) + spare) for step in plan.steps)

    best, least = found[0], cost(found[0])
    for plan in found[1:]:
        own = cost(plan)
        if own < _WORTH * least:
            best, least = plan, own
    return best


class Planner:
    """Chooses the layouts of a graph's values, node by node, by estimated time.

    slots    of a ciphertext
    price    what some work costs after so many levels are used up
    chained  whether giant steps are taken one after the other: fewer keys
    joined   whether values whose slots meet get one layout, where they have a choice
    beside   whether results may stand beside the values that they are made from
    """

    def __init__(
        self,
        graph: Graph,
        slots: int,
        price: Callable[[Work, int], float],
        *,
        chained: bool = False,
        joined: bool = False,
        beside: bool = False,
    ) -> None:
        self.graph, self.slots, self.price, self.chained = graph, slots, price, chained
        self.readers, self.kin = graph.readers(), _kin(graph) if joined else {}
        self.beside = beside
        self.steps: dict[str, Step] = {}
        # Values that are 0 in slots without an element.
        self.zeros: set[str] = set()

    def plan(self) -> GraphPlan:
        """All steps; ModelError for a function that no polynomial approximates."""
        for node in self.graph.nodes:
            if isinstance(node, Input):
                self._input(node)
            elif isinstance(node, Affine):
                self._affine(node)
            elif isinstance(node, Product):
                self._product(node)
            elif isinstance(node, Evaluate):
                own = self.steps[node.input]
                depth = own.depth + node.polynomial.depth
                self.steps[node.output] = Step(node, own.layout, depth)
            else:
                raise ModelError(_unexpected(node))
        order = [self.steps[name] for name in self._order()]
        return GraphPlan(self.slots, tuple(order), self.graph.outputs, self.graph.spare_levels)

    def _order(self) -> list[str]:
        """Names in the order of computation; conversions of layouts stand before their reader."""
        return list(self.steps)

    def _price(self, depth: int) -> Callable[[Work], float]:
        return lambda work: self.price(work, depth)

    def _input(self, node: Input) -> None:
        """A layout at once, unless a single affine map may choose it."""
        readers = self.readers[node.output]
        free = len(readers) == 1 and isinstance(readers[0], Affine)
        if free and node.output not in self.graph.outputs:
            return
        self.steps[node.output] = Step(node, self._images(node) or self._dense(node), 0)

    def _dense(self, node: Node) -> Layout:
        return Layout.dense(node.size, self.slots)

    def _images(self, node: Input) -> Layout | None:
        """In a grid, where a convolution reads it."""
        for reader in self.readers[node.output]:
            geometry = reader.source.geometry
            if geometry is not None and np.prod(geometry.inputs) == node.size:
                grid = Grid(*geometry.inputs[1:], 1)
                return Layout.images(geometry.inputs, self.slots, grid)
        return None

    def _affine(self, node: Affine) -> None:
        known: dict[str, Layout | None] = {}
        free = [name for name in node.inputs if name not in self.steps]
        for name in free[1:]:
            given = self.graph[name]
            self.steps[name] = Step(given, self._dense(given), 0)
        for name in node.inputs:
            known[name] = self.steps[name].layout if name in self.steps else None
        depth = max((self.steps[n].depth for n in node.inputs if n in self.steps), default=0)
        price = self._price(depth)
        meeting = Meeting(self._wanted(node), self._joined(node), self.beside)
        found = Candidates(
            node, known, self.slots, price, meeting, chained=self.chained, zeros=self.zeros
        )
        plan, layouts = found.best()
        if all(term.factor is None or term.input in self.zeros for term in plan.terms):
            self.zeros.add(node.output)
        for name in free[:1]:
            self.steps[name] = Step(self.graph[name], layouts[name], 0)
        self.steps[node.output] = Step(node, plan.layout, self._depth(plan), plan)

    def _depth(self, plan: AffinePlan) -> int:
        """Levels used up after a plan."""
        used = (self.steps[t.input].depth + (t.factor is None) for t in plan.terms)
        return max(used)

    def _joined(self, node: Affine) -> list[Layout]:
        """The layout of a value whose slots meet this one's, if it has one."""
        others = (name for name in self.kin.get(node.output, ()) if name in self.steps)
        return [self.steps[name].layout for name in islice(others, 1)]

    def _wanted(self, node: Affine) -> list[Layout]:
        """The layouts of values that meet this one in a product or a sum."""
        found = []
        for reader in self.readers[node.output]:
            for name in reader.inputs:
                other = self.steps.get(name)
                if other is not None and other.layout.size == node.size:
                    found.append(other.layout)
        return found

    def _product(self, node: Product) -> None:
        a, b = node.inputs
        first, second = self.steps[a], self.steps[b]
        if first.layout != second.layout:
            second = self._converted(second, first.layout)
            node = Product(node.output, node.shape, a, second.node.output, source=node.source)
        if {first.node.output, second.node.output} & self.zeros:
            self.zeros.add(node.output)
        depth = max(first.depth, second.depth) + 1
        self.steps[node.output] = Step(node, first.layout, depth)

    def _converted(self, step: Step, layout: Layout) -> Step:
        """A value moved to another layout, as an affine map that is the identity."""
        name = f"{step.node.output} moved"
        while name in self.steps:
            name += "'"
        size = step.node.size
        identity = sparse.csr_array(sparse.eye_array(size))
        node = Affine(name, step.node.shape, ((step.node.output, identity),), np.zeros(size))
        own: Mapping[str, Layout | None] = {step.node.output: step.layout}
        price = self._price(step.depth)
        found = Candidates(node, own, self.slots, price, Meeting([layout]), chained=self.chained)
        plans = (plan for plan, _ in found._all() if plan.layout == layout)
        plan = min(plans, key=lambda each: price(each.work))
        made = Step(node, layout, self._depth(plan), plan)
        self.steps[name] = made
        return made


def _kin(graph: Graph) -> dict[str, list[str]]:
    """By value, all that products, sums and polynomials join to it: their slots meet one by one."""
    found: dict[str, list[str]] = {}
    for node in graph.nodes:
        joined = found[node.output] = [node.output]
        for name in node.inputs if _is_slotwise(node) else ():
            if found[name] is not joined:
                other, joined = sorted((found[name], joined), key=len)
                joined += other
                found.update(dict.fromkeys(other, joined))
    return found


def _is_slotwise(node: Node) -> bool:
    """Whether each element comes from the same element of all operands alone."""
    if isinstance(node, Affine):
        return all(scalar_factor(matrix) is not None for _, matrix in node.terms)
    return isinstance(node, Product | Evaluate)


def shift_into(polynomial: Any) -> float:
    """The number added to slots without an element, to bring them into a polynomial's domain."""
    low, high = polynomial.domain
    inside = polynomial.basis != "chebyshev" or low <= 0.0 <= high
    return 0.0 if inside else (low + high) / 2


def _unexpected(node: Node) -> str:
    kind = f" {node.kind}" if isinstance(node, Function) else ""
    return (
        f"{type(node).__name__}{kind} {node.output!r}: expected an affine map, a product or a "
        "polynomial: approximate functions first"
    )
