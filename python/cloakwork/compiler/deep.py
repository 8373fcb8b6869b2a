"""Models deeper than any chain: the context, the places and the keys of their bootstrapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import log2

import numpy as np

from cloakwork.compiler.costs import MEASURED, Ring, Work
from cloakwork.compiler.description import KeyLevels
from cloakwork.compiler.lowering.emission import Ranges
from cloakwork.compiler.lowering.planning import GraphPlan, Step
from cloakwork.compiler.nodes import Evaluate
from cloakwork.compiler.parameters import Limits, room_of
from cloakwork.compiler.placing import Placing, Refresh, Stage, placed
from cloakwork.compiler.report import NodeCost
from cloakwork.errors import ParamError
from cloakwork.fhe.bootstrapping import Bootstrapping
from cloakwork.fhe.bootstrapping.context import bootstrapping_parameters
from cloakwork.fhe.bootstrapping.plan import sine_for
from cloakwork.fhe.ckks import CkksContext
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.schemes import context_of
from cloakwork.once import once

# The levels that are tried between two bootstrappings.
_LEVELS = range(3, 25)
# Bits of scales, from cheap to exact.
SCALES = (37, 40)
# Bits between the values and the first modulus that are tried, and those that bootstrapping needs.
_RATIOS, _BELOW = (8, 10, 12, 14), 6.0
# Diagonals are kept as coefficients where they would take more bytes otherwise.
_COMPACT_ABOVE = 1 << 31
_MAPS = 3


@dataclass(frozen=True, eq=False)
class Deep:
    """A plan with bootstrapping.

    slots     of a bootstrapping: the values that it takes repeat in these
    refresh   its estimated time and levels
    """

    plan: GraphPlan
    parameters: Parameters
    slots: int
    refresh: Refresh
    placing: Placing

    @once
    def context(self) -> CkksContext:
        """Of the parameters."""
        found = context_of(self.parameters)
        assert isinstance(found, CkksContext)
        return found

    @property
    def compact(self) -> bool:
        """Whether the diagonals of bootstrapping are kept as coefficients."""
        return self._map_bytes(compact=False) > _COMPACT_ABOVE

    @property
    def map_bytes(self) -> int:
        """Of the encoded diagonals of bootstrapping."""
        return self._map_bytes(compact=self.compact)

    def _map_bytes(self, *, compact: bool) -> int:
        whole = 1 if compact else len(self.parameters.moduli) + len(self.parameters.special)
        diagonals = sum(work.products for work, _ in _maps(self.parameters, self.slots))
        return int(diagonals) * whole * self.parameters.degree * 8

    @once
    def bootstrapping(self) -> Bootstrapping:
        """With its maps."""
        return Bootstrapping(self.context, self.slots, compact=self.compact)

    @property
    def seconds(self) -> float:
        """The estimated time of a run."""
        return self.placing.seconds

    def ring(self, level: int) -> Ring:
        """At a level."""
        return Ring.of(self.parameters, level)

    @property
    def used_at(self) -> Iterator[tuple[Step, int]]:
        """The steps, each with the level at which its work begins."""
        for step, level in zip(self.plan.steps, self.placing.levels, strict=True):
            yield step, level + max(step.uses.values(), default=0)

    @property
    def refreshed(self) -> dict[str, tuple[str, ...]]:
        """The operands that are bootstrapped, by the value before which they are."""
        pairs = zip(self.plan.steps, self.placing.refreshed, strict=True)
        return {step.node.output: names for step, names in pairs if names}

    def costs(self) -> Iterator[NodeCost]:
        """The estimated cost of each step."""
        top = self.parameters.fresh_level
        seconds = _step_seconds(self.parameters)
        refreshed = self.refreshed
        for (step, begin), level in zip(self.used_at, self.placing.levels, strict=True):
            plan, names = step.affine, refreshed.get(step.node.output, ())
            live = sum(self.plan.layout(name).count for name in names)
            yield NodeCost(
                step.node.output,
                type(step.node).__name__,
                str(step.node.source),
                top - begin,
                0 if plan is None else sum(term.diagonals for term in plan.terms),
                0 if plan is None else len(plan.rotations),
                seconds(step, level),
                live,
            )

    @property
    def compact_weights(self) -> bool:
        """Whether the diagonals of weights are kept as coefficients."""
        return self._weight_bytes(compact=False) > _COMPACT_ABOVE

    @property
    def constant_bytes(self) -> int:
        """Of the encoded weights."""
        return self._weight_bytes(compact=self.compact_weights)

    def _weight_bytes(self, *, compact: bool) -> int:
        """Of diagonals over all limbs, or their coefficients: those that repeat are shorter."""
        found, degree = 0, self.parameters.degree
        for step, level in self.used_at:
            ring = self.ring(level)
            limbs = 1 if compact else ring.limbs + ring.special
            for term in step.affine.terms if step.affine else ():
                period = 0 if term.cover is None else term.cover.period
                found += 8 * limbs * term.diagonals * min(2 * period, degree)
        return found

    @once
    def key_levels(self) -> KeyLevels:
        """The highest level at which each key is used."""
        own = self.bootstrapping
        rotations = dict(own.rotation_levels)
        for step, level in self.used_at:
            for turn in step.affine.rotations if step.affine else ():
                near = self.plan.nearest(turn)
                if near:
                    rotations[near] = max(rotations.get(near, 0), level)
        others = own.key_levels
        return KeyLevels(
            dict(sorted(rotations.items())),
            others["products"],
            others["conjugation"],
            others["raising"],
        )

    def describe(self) -> str:
        """How often, of how many slots, where."""
        places = ", ".join(
            f"{' and '.join(names)} before {output}" for output, names in self.refreshed.items()
        )
        kept = ", its diagonals as coefficients" if self.compact else ""
        weights = "; weights as coefficients" if self.compact_weights else ""
        return (
            f"bootstrapping: {self.placing.count} times of {self.slots} slots, about "
            f"{self.refresh.seconds:.2g} s each{kept}; from level {self.refresh.level_in} to "
            f"{self.refresh.level_out}{weights}: {places}"
        )


def deepened(plan: GraphPlan, ranges: Ranges, limits: Limits, scale_bits: int) -> Deep:
    """The cheapest levels and places; ParamError where none suffice.

    The number of levels between two bootstrappings is tried from few to many: more of them need
    fewer bootstrappings, each of more limbs, and leave fewer bits for special moduli.
    """
    degree = 2 * plan.slots
    largest = _largest(plan, ranges)
    room = room_of((step.node for step in plan.steps), plan.outputs, ranges)
    slots = max(*(step.layout.period for step in plan.steps), 2)
    refusal = ParamError("depth", plan.depth, "fewer levels, or a larger degree")
    for ratio in _RATIOS:
        if ratio < room:
            continue
        found = []
        for levels in _LEVELS:
            try:
                parameters = bootstrapping_parameters(
                    levels,
                    slots,
                    degree=degree,
                    scale_bits=scale_bits,
                    ratio_bits=ratio,
                    security=limits.security,
                )
            except ParamError as error:
                refusal = error
                break
            refresh = Refresh(refresh_seconds(parameters, slots), 0, levels)
            able = {name: value <= 2.0 ** (ratio - _BELOW) for name, value in largest.items()}
            try:
                placing = _placed(plan, parameters, refresh, able)
            except ParamError as error:
                refusal = error
                continue
            found.append(Deep(plan, parameters, slots, refresh, placing))
        if found:
            return min(found, key=lambda deep: deep.seconds)
    raise refusal


def _placed(
    plan: GraphPlan, parameters: Parameters, refresh: Refresh, able: Mapping[str, bool]
) -> Placing:
    seconds = _step_seconds(parameters)

    def stage(step: Step) -> Stage:
        times = [seconds(step, level) for level in range(refresh.level_out + 1)]
        name = step.node.output
        return Stage(name, step.uses, times.__getitem__, step.layout.count, able[name])

    stages = [stage(step) for step in plan.steps]
    return placed(stages, refresh.level_out, refresh, results=plan.outputs)


def _step_seconds(parameters: Parameters) -> Callable[[Step, int], float]:
    """The time of a step whose result has a level."""
    known: dict[tuple[int, int], float] = {}

    def seconds(step: Step, level: int) -> float:
        key = id(step), level
        if key not in known:
            most = max(step.uses.values(), default=0)
            # A polynomial's products are spread over its levels.
            middle = level + (most + 1) // 2 if isinstance(step.node, Evaluate) else level + most
            middle = min(middle, parameters.level)
            known[key] = MEASURED.seconds(step.work, Ring.of(parameters, middle))
        return known[key]

    return seconds


def _largest(plan: GraphPlan, ranges: Ranges) -> dict[str, float]:
    """The largest value of any slot, by the value's name."""
    empty = plan.empty_values
    found = {}
    for step in plan.steps:
        name = step.node.output
        edges = ranges.get(name)
        if edges is None:
            # Moved to another layout, or scaled: the same values.
            edges = ranges[step.node.inputs[0]]
        found[name] = max(abs(empty[name]), *(float(np.abs(edge).max()) for edge in edges))
    return found


def _maps(parameters: Parameters, slots: int) -> Iterator[tuple[Work, int]]:
    """The work of the linear maps of a bootstrapping, each with its level."""
    stages = slots.bit_length() - 1
    count = min(_MAPS, stages)
    for number in range(count):
        diagonals = 2 ** (-(-stages // count) + 1) - 1
        steps = diagonals**0.5
        work = Work(
            ups=1, babies=1.4 * steps, giants=0.7 * steps, products=diagonals, downs=1, rescales=1
        )
        yield work, parameters.level - number
        yield work, parameters.fresh_level + count - number


def refresh_seconds(parameters: Parameters, slots: int) -> float:
    """The estimated time of one bootstrapping."""
    total = 0.0
    for work, level in _maps(parameters, slots):
        total += MEASURED.seconds(work, Ring.of(parameters, level))
    sine = sine_for(parameters.degree, slots, log2(parameters.moduli[-1]))
    switches = sine.polynomial.key_switches + sine.doublings
    times = 1 if slots < parameters.degree // 2 else 2
    middle = (parameters.level + parameters.fresh_level) // 2
    work = Work(tensors=times * switches, plain_products=times * switches, turns=2)
    return total + MEASURED.seconds(work, Ring.of(parameters, middle))
