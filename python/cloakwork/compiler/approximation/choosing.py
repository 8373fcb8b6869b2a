"""Which recipe each function takes: the cheapest for which outputs deviate little on the sample.

The deviation of the outputs is measured for each recipe of each function alone.  Deviations are
assumed to add up, and recipes are made more exact where that pays most, until the sum is within a
budget.  The whole is measured after that, from generous budgets to strict ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.approximation.domains import Domain
from cloakwork.compiler.approximation.recipes import JUMPS, Recipe
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Function, Input, Node
from cloakwork.errors import ModelError

__all__ = ["Applied", "Choice", "Precision", "choices"]

Floats = NDArray[np.float64]
Values = Mapping[str, Floats]
# Budgets for the sum of deviations, as multiples of the wanted one, in the order of trials.
_BUDGETS = (4.0, 2.0, 1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 0.001, 0.0)
# Recipes are measured until one deviates by less than this share of the wanted deviation.
_NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class Applied:
    """A recipe for a function with a domain."""

    recipe: Recipe
    domain: Domain

    def __call__(self, x: Floats) -> Floats:
        """The values for arguments float64 [batch, size]."""
        scales = self.domain.scales
        if scales is None:
            return self.recipe(x)
        found = self.recipe(x / scales)
        return found if self.recipe.wanted.kind in JUMPS else found * scales


Choice = Mapping[str, Applied]


@dataclass(frozen=True)
class _Rung:
    """A recipe of one function, with the deviation that it causes alone, in the wanted one."""

    applied: Applied
    cost: float
    deviation: float


@dataclass(frozen=True)
class Precision:
    """The goals of a choice.

    tolerances   the deviation of each output
    exceptions   the share of inputs for which it may be larger
    """

    tolerances: Mapping[str, float]
    exceptions: float

    def deviations(self, found: Values, exact: Values) -> Floats:
        """The largest deviation of an output for each input, [rows], in wanted ones."""
        each = [
            np.abs(values - exact[name]).max(axis=1) / self.tolerances[name]
            for name, values in found.items()
            if name in self.tolerances
        ]
        most = np.maximum.reduce(each) if each else np.zeros(1)
        return np.where(np.isfinite(most), most, inf)

    def deviation(self, found: Values, exact: Values) -> float:
        """The largest deviation but for exceptions, averaged with the mean of all.

        The mean tells recipes apart where too many inputs lie close to a jump.
        """
        ordered = np.sort(self.deviations(found, exact))
        largest = float(ordered[-1 - int(self.exceptions * len(ordered))])
        return (largest + float(ordered.mean())) / 2


def choices(
    graph: Graph,
    sample: Mapping[str, Floats],
    ladders: Mapping[str, list[Applied]],
    precision: Precision,
    level_cost: float,
) -> Iterator[Choice]:
    """Choices in the order of rising cost, as they are to be tried; the last is the most exact.

    sample       some inputs by name
    ladders      recipes by the function's output
    """
    jumps = {name: found[-1] for name, found in ladders.items() if found[-1].recipe.wanted.jumps}
    run = _Run(graph, sample, precision, jumps)
    rungs = {
        name: _front(
            run, name, sorted(found, key=lambda each: each.recipe.cost(level_cost)), level_cost
        )
        for name, found in ladders.items()
    }
    before: dict[str, Applied] = {}
    for budget in _BUDGETS:
        chosen = _raised(rungs, budget)
        if any(before.get(name) is not applied for name, applied in chosen.items()) or not before:
            yield chosen
        before = chosen


def _front(run: _Run, name: str, found: list[Applied], level_cost: float) -> list[_Rung]:
    """Recipes that deviate less than all cheaper ones."""
    kept: list[_Rung] = []
    for applied in sorted(found, key=lambda each: each.recipe.cost(level_cost)):
        deviation = run.deviation(name, applied)
        if not kept or deviation < kept[-1].deviation:
            kept.append(_Rung(applied, applied.recipe.cost(level_cost), deviation))
        if deviation <= _NEGLIGIBLE:
            break
    return kept


def _raised(rungs: Mapping[str, list[_Rung]], budget: float) -> dict[str, Applied]:
    """From the cheapest recipes on, the step that saves most deviation for its cost."""
    places = dict.fromkeys(rungs, 0)
    while True:
        left = sum(rungs[name][place].deviation for name, place in places.items())
        steps = [
            (_gain(rungs[name][place], rungs[name][other]), name, other)
            for name, place in places.items()
            for other, _ in enumerate(rungs[name][place + 1 :], place + 1)
        ]
        if left <= budget or not steps:
            return {name: rungs[name][place].applied for name, place in places.items()}
        _, name, place = max(steps, key=lambda step: step[0])
        places[name] = place


def _gain(now: _Rung, other: _Rung) -> float:
    if other.deviation == inf:
        return 0.0
    return (min(now.deviation, 1e300) - other.deviation) / max(other.cost - now.cost, 1e-9)


class _Run:
    """The exact values of a graph on a sample, and what changes with one function.

    jumps   of functions with jumps, the recipes by which changes go on: an exact jump hides them
    """

    def __init__(
        self, graph: Graph, sample: Values, precision: Precision, jumps: Mapping[str, Applied]
    ) -> None:
        self.graph, self.precision, self.jumps = graph, precision, jumps
        self.values: dict[str, Floats] = {}
        for node in graph.nodes:
            is_input = isinstance(node, Input)
            self.values[node.output] = sample[node.output] if is_input else node.values(self.values)

    def deviation(self, name: str, applied: Applied) -> float:
        """The deviation of outputs, in wanted ones, if only this function changes."""
        function = self.graph[name]
        assert isinstance(function, Function)
        changed = {name: applied(self.values[function.input])}
        for node in self._after(name):
            jump = self.jumps.get(node.output)
            if jump is not None and isinstance(node, Function):
                changed[node.output] = jump(changed[node.input])
                continue
            try:
                changed[node.output] = node.values({**self.values, **changed})
            except ModelError:
                return inf
        return self.precision.deviation(changed, self.values)

    def _after(self, name: str) -> Iterator[Node]:
        """The nodes that depend on a value, in order."""
        reached = {name}
        for node in self.graph.nodes:
            if node.output != name and reached & set(node.inputs):
                reached.add(node.output)
                yield node
