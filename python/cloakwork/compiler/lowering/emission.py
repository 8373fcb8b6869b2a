"""A planned graph as a function of ciphertexts, which is run or traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork import _core, ops
from cloakwork.compiler.layouts import Layout
from cloakwork.compiler.lowering.affine import AffinePlan, Term
from cloakwork.compiler.lowering.planning import GraphPlan, Step, shift_into
from cloakwork.compiler.nodes import Affine, Evaluate, Input, Product
from cloakwork.compiler.placing import Placing
from cloakwork.fhe.bootstrapping import Bootstrapping
from cloakwork.fhe.circuits.linear import LinearMap
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.rns.layout import residues

Floats = NDArray[np.float64]
# The range of each element of a value, by its name: float64 [size] each.
Ranges = Mapping[str, tuple[Floats, Floats]]

# A bound that says nothing about slots without an element.
UNBOUNDED = 1e100
# By how much slots without an element may be off the known number in them.
_EMPTY = 2.0**-6


@dataclass(frozen=True, eq=False)
class Refreshes:
    """Where values are bootstrapped, and how."""

    placing: Placing
    bootstrapping: Bootstrapping


class Emitter:
    """Computes a plan's values: `emitter(x=ciphertext, ...)` gives the outputs by name.

    A value of one ciphertext is a single one; of several, a batch.

    compact     keep the diagonals as coefficients
    refreshes   where to bootstrap, and the levels of values; None: no bootstrapping
    """

    def __init__(
        self,
        plan: GraphPlan,
        context: CkksContext,
        ranges: Ranges,
        *,
        compact: bool = False,
        refreshes: Refreshes | None = None,
    ) -> None:
        self.plan, self.context, self.ranges, self.compact = plan, context, ranges, compact
        self.refreshes = refreshes
        self._empty = plan.empty_values if refreshes is not None else {}
        self._last = {name: step for step in plan.steps for name in step.node.inputs}

    def __call__(self, given: Mapping[str, CkksCiphertext]) -> dict[str, CkksCiphertext]:
        """The outputs, rescaled."""
        values: dict[str, CkksCiphertext] = {}
        found: dict[str, CkksCiphertext] = {}
        for place, step in enumerate(self.plan.steps):
            name = step.node.output
            if self.refreshes is not None:
                self._refresh(values, self.refreshes.placing.refreshed[place])
                level = self.refreshes.placing.levels[place]
                values[name] = self._value(step, _lowered(step, values, level), given)
            else:
                low = self._low(step, values, next(iter(given.values())).level)
                values[name] = self._value(step, low, given)
            if name in self.plan.outputs:
                found[name] = values[name].rescale().relinearize()
            for read in set(step.node.inputs):
                if self._last[read] is step:
                    values.pop(read, None)
        return {name: found[name] for name in self.plan.outputs}

    def _low(
        self, step: Step, values: Mapping[str, CkksCiphertext], top: int
    ) -> Mapping[str, CkksCiphertext]:
        """The operands, at lower levels where what reads the step leaves room for it: cheaper."""
        level = top - self.plan.latest[step.node.output]
        if all(values[x].level - values[x]._pending <= level + u for x, u in step.uses.items()):
            return values
        return _lowered(step, values, level)

    def _refresh(self, values: dict[str, CkksCiphertext], names: tuple[str, ...]) -> None:
        """Bootstrap values in place."""
        assert self.refreshes is not None
        bootstrap = self.refreshes.bootstrapping
        for name in names:
            own = values[name]._settled()
            own = own.with_packing(bootstrap.packing)
            if own.batch is None:
                found = bootstrap(own)
            else:
                found = _joined(own, [bootstrap(one) for one in own])
            values[name] = found.with_packing(self.context.whole)

    def _value(
        self, step: Step, values: Mapping[str, CkksCiphertext], given: Mapping[str, CkksCiphertext]
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
        least, most = -UNBOUNDED, UNBOUNDED
        if name in self._empty:
            empty = self._empty[name]
            least, most = empty - _EMPTY, empty + _EMPTY
        edges = layout.place(low, least), layout.place(high, most)
        if found.batch is None:
            return found.with_bound(edges[0][0], edges[1][0])
        return found.with_bound(*edges)

    def _inside(self, x: CkksCiphertext, layout: Layout, polynomial: Any) -> CkksCiphertext:
        """With slots of no element moved into a polynomial's domain."""
        if polynomial.basis != "chebyshev":
            return x
        low, high = polynomial.domain
        own, shift = x.rescale(), shift_into(polynomial)
        if shift:
            own = self._plus(own, layout.place(np.zeros(layout.size), shift))
        # The ranges of a sample, of which the domain is an extension.
        return own.with_bound(low, high)

    def _affine(
        self, plan: AffinePlan, bias: Floats, values: Mapping[str, CkksCiphertext]
    ) -> CkksCiphertext:
        # A product takes a level; what is added to it as it is has the result's level.
        levels = (
            values[t.input].level - values[t.input]._pending - (t.factor is None)
            for t in plan.terms
        )
        level = 1 + min(levels)
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
        if plan.sums and not products:
            total = total.rescale().strided_sum(1 << len(plan.sums), plan.sums[0])
        return self._plus(total, plan.layout.place(bias)) if bias.any() else total

    def _product(self, term: Term, x: CkksCiphertext, layout: Layout, level: int) -> CkksCiphertext:
        own = x.rescale()
        own = own.lower(level) if own.level > level else own
        if term.is_slotwise:
            assert term.cover is not None
            diagonal = self._encoded(term.cover.blocks[0, 0][0], own.level, None)
            return own * diagonal
        steps, cover = term.steps, term.cover
        assert steps is not None
        assert cover is not None
        linear = LinearMap(
            self.context,
            cover.blocks,
            (steps.outputs, steps.inputs),
            baby_steps=term.baby_steps,
            chained=steps.stride > 0,
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


def _lowered(
    step: Step, values: Mapping[str, CkksCiphertext], level: int
) -> dict[str, CkksCiphertext]:
    """The operands of a step, at the levels that its result's level needs."""
    found = {}
    for name, used in step.uses.items():
        own = values[name]._settled()
        found[name] = own.lower(level + used) if own.level > level + used else own
    return found


def _joined(batch: CkksCiphertext, parts: Sequence[CkksCiphertext]) -> CkksCiphertext:
    """Ciphertexts of one level, of the values of a batch, as one; errors are those of the first."""
    first = parts[0]
    out = residues((len(parts), first.parts), first.basis.degree, first.basis.limbs)
    for place, one in enumerate(parts):
        ops.copy(one.data, out=out[place])
    return first._with(out, bound=batch.bound)
