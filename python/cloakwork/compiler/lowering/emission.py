"""A planned graph as a function of ciphertexts, which is run or traced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork import _core
from cloakwork.compiler.layouts import Layout
from cloakwork.compiler.lowering.affine import AffinePlan, Term
from cloakwork.compiler.lowering.planning import GraphPlan, Step
from cloakwork.compiler.nodes import Affine, Evaluate, Input, Product
from cloakwork.fhe.circuits.linear import LinearMap
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.encoding.plaintext import Plaintext

Floats = NDArray[np.float64]
# The range of each element of a value, by its name: float64 [size] each.
Ranges = Mapping[str, tuple[Floats, Floats]]

# A bound that says nothing about slots without an element.
UNBOUNDED = 1e100


class Emitter:
    """Computes a plan's values: `emitter(x=ciphertext, ...)` gives the outputs by name.

    A value of one ciphertext is a single one; of several, a batch.

    compact   keep the diagonals as coefficients
    """

    def __init__(
        self, plan: GraphPlan, context: CkksContext, ranges: Ranges, *, compact: bool = False
    ) -> None:
        self.plan, self.context, self.ranges, self.compact = plan, context, ranges, compact
        self._last = {name: step for step in plan.steps for name in step.node.inputs}

    def __call__(self, given: Mapping[str, CkksCiphertext]) -> dict[str, CkksCiphertext]:
        """The outputs, rescaled."""
        values: dict[str, CkksCiphertext] = {}
        found: dict[str, CkksCiphertext] = {}
        for step in self.plan.steps:
            name = step.node.output
            values[name] = self._value(step, values, given)
            if name in self.plan.outputs:
                found[name] = values[name].rescale().relinearize()
            for read in set(step.node.inputs):
                if self._last[read] is step:
                    values.pop(read, None)
        return {name: found[name] for name in self.plan.outputs}

    def _value(
        self, step: Step, values: dict[str, CkksCiphertext], given: Mapping[str, CkksCiphertext]
    ) -> CkksCiphertext:
        node = step.node
        if isinstance(node, Input):
            return given[node.output]
        if isinstance(node, Affine):
            assert step.affine is not None
            found = self._affine(step.affine, node.bias, values)
        elif isinstance(node, Product):
            a, b = values[node.a], values[node.b]
            found = a.square() if node.a == node.b else a * b
        else:
            assert isinstance(node, Evaluate)
            inside = self._inside(values[node.input], step.layout, node.polynomial)
            found = node.polynomial(inside)
        return self._bounded(found, node.output, step.layout)

    def _bounded(self, found: CkksCiphertext, name: str, layout: Layout) -> CkksCiphertext:
        """With the range of the value, where one is known."""
        if name not in self.ranges:
            return found
        low, high = self.ranges[name]
        edges = layout.place(low, -UNBOUNDED), layout.place(high, UNBOUNDED)
        if found.batch is None:
            return found.with_bound(edges[0][0], edges[1][0])
        return found.with_bound(*edges)

    def _inside(self, x: CkksCiphertext, layout: Layout, polynomial: Any) -> CkksCiphertext:
        """With slots of no element moved into a polynomial's domain."""
        if polynomial.basis != "chebyshev":
            return x
        low, high = polynomial.domain
        own = x.rescale()
        if not low <= 0.0 <= high:
            nothing = np.zeros(layout.size)
            own = self._plus(own, layout.place(nothing, (low + high) / 2))
        # The ranges of a sample, of which the domain is an extension.
        return own.with_bound(low, high)

    def _affine(
        self, plan: AffinePlan, bias: Floats, values: Mapping[str, CkksCiphertext]
    ) -> CkksCiphertext:
        level = min(values[t.input].level - values[t.input]._pending for t in plan.terms)
        products = [t for t in plan.terms if t.factor is None]
        parts = [self._product(t, values[t.input], plan.layout, level) for t in products]
        total = parts[0] if parts else None
        for part in parts[1:]:
            total = total + part if total is not None else part
        if plan.sums and total is not None:
            total = total.strided_sum(1 << len(plan.sums), plan.sums[0])
        total = None if total is None else total.rescale()
        for term in plan.terms:
            if term.factor is None:
                continue
            own = values[term.input]
            multiple = own if term.factor == 1 else own * term.factor
            total = multiple if total is None else total + multiple
        assert total is not None
        return self._plus(total, plan.layout.place(bias)) if bias.any() else total

    def _product(self, term: Term, x: CkksCiphertext, layout: Layout, level: int) -> CkksCiphertext:
        own = x.rescale()
        own = own.lower(level) if own.level > level else own
        if term.is_slotwise:
            diagonal = self._encoded(term.blocks[0, 0][0], own.level, None)
            return own * diagonal
        steps = term.steps
        assert steps is not None
        linear = LinearMap(
            self.context,
            term.blocks,
            (steps.outputs, steps.inputs),
            baby_steps=term.baby_steps,
            compact=self.compact,
        )
        single = own.batch is None
        if single and linear.shape != (1, 1):
            own = own._with(own.data.unsqueeze(0))
        found = linear @ own
        return found[0] if found.batch is not None and layout.count == 1 else found

    def _encoded(self, slots: Floats, level: int, scale: float | None) -> Plaintext:
        """A plaintext of slots [period] or [B, slots], encoded once."""
        if slots.ndim == 1:
            slots = np.tile(slots, self.context.slots // slots.size)
        batch = slots.ndim == 2
        found: Plaintext = _core.unrecorded(
            lambda: self.context.encode(slots, level=level, scale=scale, batch=batch)
        )
        return found

    def _plus(self, x: CkksCiphertext, slots: Floats) -> CkksCiphertext:
        """Plus slots [ciphertexts, slots]."""
        values = slots[0] if x.batch is None else slots
        return x + self._encoded(values, x.level, x.scale)
