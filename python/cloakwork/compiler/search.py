"""The search of `fhe.compile`: candidates are costed, and tried until errors are small enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from math import ceil, inf, log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.costs import MEASURED, Ring, Work
from cloakwork.compiler.deep import SCALES, deepened
from cloakwork.compiler.description import Description
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.layouts import power_above
from cloakwork.compiler.lowering.emission import Emitter, Ranges, Refreshes
from cloakwork.compiler.lowering.planning import GraphPlan, planned
from cloakwork.compiler.lowering.throughput import BatchEmitter, BatchPlan
from cloakwork.compiler.memory import Memory, Peak, peak_of
from cloakwork.compiler.options import Mode, Options
from cloakwork.compiler.parameters import LEAST_SCALE, choices, largest_scale, room_of
from cloakwork.compiler.plans import Layouts, ring_of, sizes_of
from cloakwork.compiler.progress import Reporter
from cloakwork.compiler.sensitivity import Sensitivity
from cloakwork.compiler.trials import Trial, diverged, seconds_of, tried, untried
from cloakwork.errors import MemoryBudgetError, ParamError
from cloakwork.fhe.bootstrapping.context import bootstrapping_parameters
from cloakwork.fhe.ckks import CkksContext
from cloakwork.fhe.schemes import ckks
from cloakwork.fhe.sizing import Sizes
from cloakwork.programs.program import Program

__all__ = ["Problem", "Search", "Tried"]

Floats = NDArray[np.float64]
# The bits by which a cheaper scale is to be more exact than needed, and the share of the time that
# it must not exceed: before a candidate was tried, and to be worth another trial.
_SPARE_BITS, _EARLY, _WORTH = 2, 0.85, 0.75
# The bits by which the error of one trial may be above that of another with the same scale.
_TRIAL_BITS = 4
# The bits by which the scale of a trial is above that of one whose results were noise alone.
_DIVERGED_BITS = 4
# A trial at the plan's own degree is not made if its keys or its runs take more than this, and if
# errors at a small degree, grown with the degree and by this factor for chance, suffice.
_TRIAL_BYTES, _TRIAL_SECONDS, _GROWN = 1 << 29, 8.0, 1.5
# Trials are made at a small degree first, from this one on, where that is smaller by this factor,
# and at the candidate's own where their errors are above what is wanted by so many bits at most.
_PILOT_DEGREE, _PILOT_FACTOR, _PILOT_BITS = 1 << 11, 8, 1
# A candidate whose errors there are less than the first below what is wanted may fail its own trial
# as well as not: one that takes at most this factor more time, with errors by the second below, is
# tried instead.
_UNSURE_BITS, _SURE_BITS, _AS_FAST = 1, 3, 1.1
# The levels between bootstrappings for which layouts are compared.
_NOMINAL_LEVELS = 8
# Degrees whose candidates are compared by their time, before those of larger ones.
_DEGREES_AT_ONCE = 2


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem of a search.

    graph         of polynomials, with its guards
    ranges        of each element of each value, by name: of inputs those that are accepted
    known         the same, of outputs for all accepted inputs
    sample        inputs [rows, *shape] by name, those that trials run first; `expected` the outputs
    wanted        the largest error of each output; `units` the largest unit of its elements
    described     the description of a plan for its trial
    """

    graph: Graph
    ranges: Ranges
    known: Ranges
    sample: Mapping[str, Floats]
    expected: Mapping[str, Floats]
    sensitivity: Sensitivity
    wanted: Mapping[str, float]
    units: Mapping[str, float]
    described: Callable[[Layouts], Description]


class _Candidate(NamedTuple):
    """A plan with its estimated seconds of a run, and its predicted memory."""

    layouts: Layouts
    seconds: float
    peak: Peak

    @classmethod
    def of(cls, layouts: Layouts) -> _Candidate:
        return cls(layouts, layouts.seconds, peak_of(layouts))


class _Errors(NamedTuple):
    """The stated error of each output of a plan, and its trial."""

    layouts: Layouts
    trial: Trial
    stated: Mapping[str, float]

    def excess(self, wanted: Mapping[str, float]) -> float:
        """log2 of how much more the largest stated error is than wanted."""
        return max(log2(max(self.stated[name] / wanted[name], 2.0**-60)) for name in wanted)

    def gained(self, bits: int) -> int:
        """By how many bits another scale is larger."""
        return bits - self.layouts.sizes.scale

    def grown(self, factor: float) -> _Errors:
        """With errors that are larger by a factor."""
        return self._replace(stated={name: factor * own for name, own in self.stated.items()})


class Tried(NamedTuple):
    """A program that was run, or recorded, with its errors."""

    context: CkksContext
    program: Program
    errors: _Errors


class Search:
    """The search for one problem: the first degree and the cheapest scale that are exact enough."""

    def __init__(
        self, problem: Problem, options: Options, memory: Memory, reporter: Reporter
    ) -> None:
        self.problem, self.options = problem, options
        self.memory, self.reporter = memory, reporter
        self._plans: dict[tuple[Mode, int], GraphPlan] = {}
        self._deep_plans: dict[int, GraphPlan] = {}
        self._pilots: dict[Sizes, _Errors | None] = {}
        graph = problem.graph
        self._batch = BatchPlan(graph)
        self._room = room_of(graph.nodes, graph.outputs, problem.known)

    def candidates(self, mode: Mode) -> Iterator[Layouts]:
        """Plans by ascending degree; ParamError if there are none."""
        for sizes in choices(self._batch.depth, self._room, self.options.limits):
            # Values that are moved to other layouts may take more levels.
            found = self._laid_out(mode, sizes, range(sizes.scale, LEAST_SCALE - 1, -1))
            if found is not None:
                yield found

    def _laid_out(self, mode: Mode, sizes: Sizes, scales: range) -> Layouts | None:
        """The plan for these sizes, with the largest of some scales that it has room for."""
        if mode == "throughput":
            return Layouts(mode, self._batch, sizes)
        plan, security = self._plan(mode, sizes), self.options.limits.security
        found = largest_scale(plan.depth, self._room, sizes.degree, security, scales)
        return None if found is None else Layouts(mode, plan, found)

    def first(self, mode: Mode) -> Layouts | None:
        """The first plan without bootstrapping; None if there is none."""
        try:
            return next(self.candidates(mode), None)
        except ParamError:
            return None

    def at_scale(self, mode: Mode, bits: int) -> Layouts | None:
        """The plan of the least degree with this scale, without bootstrapping; None without one."""
        limits, depth, scales = self.options.limits, self._batch.depth, range(bits, bits - 1, -1)
        for degree in limits.degrees:
            sizes = largest_scale(depth, self._room, degree, limits.security, scales)
            found = None if sizes is None else self._laid_out(mode, sizes, scales)
            if found is not None:
                return found
        return None

    def best(self, found: list[Layouts]) -> Tried:
        """Of these candidates, by ascending degree; ParamError where none is exact enough."""
        wanted = self.problem.wanted
        last: _Errors | None = None
        pilot: _Errors | None = None
        between: _Errors | None = None
        most = least = 0
        ordered = _by_time(list(map(_Candidate.of, found)))
        for number, candidate in enumerate(ordered, 1):
            layouts, bits = candidate.layouts, candidate.layouts.sizes.scale
            if pilot is not None and pilot.excess(wanted) > pilot.gained(bits) + _TRIAL_BITS:
                most = max(most, bits)
                continue
            if bits < least:
                continue
            self.reporter.examine(number, len(ordered) - number)
            if pilot is not None and between is not pilot:
                between = pilot
                made = self._between(pilot, ordered[number - 1 :])
                if made is not None:
                    return made
            small = self._at_small_degree(layouts)
            if small is not None and small.excess(wanted) > _PILOT_BITS:
                last, most = last or small, max(most, bits)
                continue
            if small is not None and self._is_outdone(candidate, small, ordered[number:]):
                continue
            known = small
            if pilot is not None and _is_alike(pilot.layouts, layouts):
                # A scale between its own and this one may suffice.
                known = known or pilot
            cheaper = None if known is None else self._cheaper(layouts, known, _EARLY)
            if cheaper is not None:
                return cheaper
            made = self._made(candidate, small)
            if made is None:
                continue
            last = made.errors
            if last.excess(wanted) <= 0:
                if small is not None:
                    return made
                with self.memory.holding(candidate.peak.recorded):
                    return self._cheaper(layouts, last, _WORTH) or made
            # Its program and tables are not held while the next one is tried.
            del made
            most = max(most, bits)
            # Errors that grew beyond all values do not tell how far smaller noise brings them.
            pilot = None if diverged(last.trial.errors, self.problem.expected) else last
            least = bits + (_DIVERGED_BITS if pilot is None else 0)
        raise self._refusal(last, most)

    def best_deep(self) -> Tried:
        """With bootstrapping: the least degree, and the first scale that is exact enough."""
        wanted = self.problem.wanted
        made = self._with_budget(self._deepest())
        for bits in SCALES[1:]:
            errors = made.errors
            if 0 < errors.excess(wanted) <= errors.gained(bits) + _TRIAL_BITS:
                del made
                made = self._with_budget(self._deepest(bits))
        if made.errors.excess(wanted) > 0:
            raise self._imprecise(made.errors, max(SCALES))
        return made

    def _with_budget(self, layouts: Layouts) -> Tried:
        peak = peak_of(layouts)
        if not self.memory.allows(peak.total):
            raise self.memory.refusal(self.options.mode)
        self.reporter.examine(1, 0)
        return self._tried(layouts, peak)

    def _refusal(self, last: _Errors | None, most: int) -> ParamError | MemoryBudgetError:
        """Nothing that was tried is exact enough, or nothing was tried."""
        if self.memory.least is None:
            assert last is not None
            return self._imprecise(last, most)
        if last is None:
            return self.memory.refusal(self.options.mode)
        imprecise = f", or a larger error: within it, {self._imprecise(last, most)}"
        return self.memory.refusal(self.options.mode, imprecise)

    def _imprecise(self, pilot: _Errors, most: int) -> ParamError:
        """The errors found; scales of up to `most` bits were tried, or are surely too small."""
        sizes, wanted = pilot.layouts.sizes, self.problem.wanted
        name = max(wanted, key=lambda one: pilot.stated[one] / wanted[one])
        unit = self.problem.units.get(name, 1.0)
        error, least = (own[name] * unit for own in (pilot.stated, wanted))
        got = f"errors of {error:.2g} with a scale of 2^{sizes.scale} at degree {sizes.degree}"
        if most > sizes.scale:
            got += f", about {error * 2.0 ** (sizes.scale - most):.2g} with the largest, 2^{most}"
        return ParamError("precision", got, f"at most {least:.2g}: accept a larger error")

    def _between(self, pilot: _Errors, others: list[_Candidate]) -> Tried | None:
        """With a scale between a pilot's and a larger one of its plan, if the next takes longer."""
        for other in others:
            if other.layouts is others[0].layouts or not _is_alike(pilot.layouts, other.layouts):
                continue
            best = self._cheapest(other.layouts, pilot)
            if best is not None and best.seconds <= others[0].seconds:
                return self._cheaper(other.layouts, pilot, _EARLY)
        return None

    def _cheaper(self, layouts: Layouts, pilot: _Errors, worth: float) -> Tried | None:
        """With a scale below that of the layouts for which key switches are cheapest.

        pilot   errors, as tried or as predicted, of the same plan
        worth   the share of the layouts' time that it may take
        None where no scale is much cheaper, or where trials find errors too large.
        """
        wanted = self.problem.wanted
        for _ in range(2):
            best = self._cheapest(layouts, pilot)
            if best is None or best.seconds > worth * layouts.seconds:
                return None
            small = self._at_small_degree(best)
            if small is not None and small.excess(wanted) > _PILOT_BITS:
                return None
            made = self._made(_Candidate.of(best), small)
            if made is None or made.errors.excess(wanted) <= 0:
                return made
            # Its errors tell which scale suffices better than those at a small degree.
            pilot = made.errors
            del made
            if diverged(pilot.trial.errors, self.problem.expected):
                return None
        return None

    def _cheapest(self, layouts: Layouts, pilot: _Errors) -> Layouts | None:
        """The cheapest of smaller scales that suffice by the errors of a pilot."""
        mode, plan, sizes, _ = layouts
        least = pilot.layouts.sizes.scale + ceil(pilot.excess(self.problem.wanted)) + _SPARE_BITS
        security = self.options.limits.security
        scales = (range(bits, bits - 1, -1) for bits in range(max(least, LEAST_SCALE), sizes.scale))
        found = (
            largest_scale(plan.depth, self._room, sizes.degree, security, own) for own in scales
        )
        others = [Layouts(mode, plan, other) for other in found if other is not None]
        return min(others, key=lambda one: one.seconds, default=None)

    def _is_outdone(self, candidate: _Candidate, small: _Errors, others: list[_Candidate]) -> bool:
        """Whether a trial may well fail, and another candidate is as fast and sure to pass its."""
        wanted, budget = self.problem.wanted, self.memory.budget
        if small.excess(wanted) <= -_UNSURE_BITS:
            return False
        for other in others:
            if other.seconds > _AS_FAST * candidate.seconds or other.peak.total > budget:
                continue
            known = self._at_small_degree(other.layouts)
            if known is not None and known.excess(wanted) <= -_SURE_BITS:
                return True
        return False

    def _at_small_degree(self, layouts: Layouts) -> _Errors | None:
        """The trial of `_pilot`, made once."""
        if layouts.sizes not in self._pilots:
            self._pilots[layouts.sizes] = self._pilot(layouts)
        return self._pilots[layouts.sizes]

    def _pilot(self, layouts: Layouts) -> _Errors | None:
        """A trial with the same moduli at a degree without security, which takes little time.

        Its errors are grown in proportion to the degree, as the rounding of rescalings and key
        switches does.  None where no degree is much smaller, the model would be laid out with more
        levels, or the budget has no room for it.
        """
        sizes, mode = layouts.sizes, layouts.mode
        widest = max(node.size for node in self.problem.graph.nodes)
        degree = max(_PILOT_DEGREE, 2 * power_above(widest))
        if mode == "throughput" or sizes.degree < _PILOT_FACTOR * degree:
            return None
        small = replace(sizes, degree=degree)
        plan = self._plan(mode, small)
        if plan.depth > layouts.plan.depth:
            return None
        own = Layouts(mode, plan, small)
        peak = peak_of(own)
        if peak.total > self.memory.budget:
            return None
        found = self._tried(own, peak, layouts.seconds).errors
        return found._replace(layouts=layouts).grown(sizes.degree / degree)

    def _made(self, candidate: _Candidate, small: _Errors | None) -> Tried | None:
        """The trial of a candidate, or its program alone; None where the budget has no room.

        small   errors of a small degree, grown with the degree
        """
        layouts, _, peak = candidate
        enough = small is not None and small.grown(_GROWN).excess(self.problem.wanted) <= 0
        seconds = seconds_of(self.problem.expected, candidate.seconds)
        costly = layouts.key_bytes >= _TRIAL_BYTES or seconds >= _TRIAL_SECONDS
        if small is not None and enough and (costly or self.memory.budget < peak.total):
            if not self.memory.allows(peak.recorded):
                return None
            return self._untried(layouts, small.grown(_GROWN), peak)
        if not self.memory.allows(peak.total):
            return None
        return self._tried(layouts, peak)

    def _untried(self, layouts: Layouts, grown: _Errors, peak: Peak) -> Tried:
        """The program of a plan whose trial costs too much, with errors from a small degree."""
        self.reporter.begin("record", layouts.sizes.degree, count=peak.recorded)
        with self.memory.trial(peak.recorded, layouts.key_bytes):
            context = self._context(layouts.sizes, False)
            emitter, described = self._emitter(layouts, context), self.problem.described(layouts)
            program, bound = untried(emitter, described, context, self.problem.sample)
        trial = replace(grown.trial, bound=bound, seconds=inf)
        return Tried(context, program, grown._replace(layouts=layouts, trial=trial))

    def _tried(self, layouts: Layouts, peak: Peak, pilot_of: float | None = None) -> Tried:
        """The trial of a plan; `pilot_of` the seconds of another, which alone is to be secure."""
        deep, is_pilot = layouts.deep, pilot_of is not None
        given = self.problem.sample, self.problem.expected
        estimate = pilot_of or layouts.seconds
        self.reporter.begin(
            "pilot" if is_pilot else "trial",
            layouts.sizes.degree,
            seconds=seconds_of(self.problem.expected, layouts.seconds),
            count=peak.total,
        )
        with self.memory.trial(peak.total):
            context = self._context(layouts.sizes, is_pilot) if deep is None else deep.context
            emitter, described = self._emitter(layouts, context), self.problem.described(layouts)
            program, trial = tried(emitter, described, context, given, estimate)
        stated = self.problem.sensitivity.stated(trial.differences)
        return Tried(context, program, _Errors(layouts, trial, stated))

    def _emitter(self, layouts: Layouts, context: CkksContext) -> Emitter | BatchEmitter:
        ranges, deep = self.problem.ranges, layouts.deep
        if isinstance(layouts.plan, BatchPlan):
            return BatchEmitter(layouts.plan, context, ranges)
        if deep is not None:
            refreshes = Refreshes(deep.placing, deep.bootstrapping)
            compact = deep.compact_weights or layouts.mode == "memory"
            return Emitter(layouts.plan, context, ranges, compact=compact, refreshes=refreshes)
        return Emitter(layouts.plan, context, ranges, compact=layouts.mode == "memory")

    def _context(self, sizes: Sizes, insecure: bool) -> CkksContext:
        security = None if insecure else self.options.limits.security
        return ckks(
            sizes.degree,
            sizes.moduli,
            sizes.special,
            scale=2.0**sizes.scale,
            security=128 if security is None else security,
            insecure=security is None,
        )

    def _plan(self, mode: Mode, sizes: Sizes) -> GraphPlan:
        known = self._plans.get((mode, sizes.degree))
        if known is not None:
            return known
        bytes_alone = mode == "memory"

        def price(work: Work, used: int) -> float:
            ring = ring_of(sizes, used)
            return ring.bytes_of(work) if bytes_alone else MEASURED.seconds(work, ring)

        graph, slots = self.problem.graph, sizes.degree // 2
        levels = len(sizes.moduli) - 1
        found = planned(graph, slots, price, levels, chained=bytes_alone)
        self._plans[mode, sizes.degree] = found
        return found

    def _deepest(self, bits: int = SCALES[0]) -> Layouts:
        """With bootstrapping, at the least degree that has room for it."""
        refusal: ParamError | None = None
        for degree in self.options.limits.degrees:
            try:
                return self._deep(degree, bits)
            except ParamError as error:
                refusal = error
        assert refusal is not None
        raise refusal

    def _deep(self, degree: int, bits: int) -> Layouts:
        mode, security = self.options.mode, self.options.limits.security
        plan = self._deep_plans.get(degree)
        if plan is None:
            nominal = bootstrapping_parameters(_NOMINAL_LEVELS, degree=degree, security=security)
            ring, bytes_alone = Ring.of(nominal, _NOMINAL_LEVELS // 2), mode == "memory"

            def price(work: Work, used: int) -> float:
                return ring.bytes_of(work) if bytes_alone else MEASURED.seconds(work, ring)

            plan = planned(self.problem.graph, degree // 2, price, _NOMINAL_LEVELS, chained=True)
            self._deep_plans[degree] = plan
        deep = deepened(plan, self.problem.ranges, self.options.limits, bits)
        return Layouts(mode, plan, sizes_of(deep.parameters), deep)


def _is_alike(one: Layouts, other: Layouts) -> bool:
    """Whether the errors of one tell those of the other, but for the scale."""
    return one.plan is other.plan and one.sizes.degree == other.sizes.degree


def _by_time(found: list[_Candidate]) -> list[_Candidate]:
    """Those of two degrees by their time, then those of the next two."""
    degrees = (list(own) for _, own in groupby(found, key=lambda one: one.layouts.sizes.degree))
    ordered: list[_Candidate] = []
    while together := list(islice(degrees, _DEGREES_AT_ONCE)):
        ordered += sorted(chain(*together), key=lambda one: one.seconds)
    return ordered
