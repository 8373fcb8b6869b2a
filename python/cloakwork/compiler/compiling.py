"""`fhe.compile`: a model becomes an encrypted program, with the least parameters that suffice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, groupby, islice
from math import ceil, inf, log2
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.accepted import accepted_inputs, largest_deviation
from cloakwork.compiler.approximation.approximate import approximate
from cloakwork.compiler.approximation.options import ApproximationOptions
from cloakwork.compiler.approximation.report import ApproximationRow
from cloakwork.compiler.boxes import (
    box_of,
    in_units,
    sizes_of_outputs,
    stated_bounds,
    units_of,
    with_units_of_outputs,
)
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.compiler.costs import MEASURED, Ring, Work
from cloakwork.compiler.cutting import cut
from cloakwork.compiler.deep import SCALES, deepened
from cloakwork.compiler.description import Description, Guard
from cloakwork.compiler.doubting import doubted, without_doubts
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.guarding import Guarded, guarded, unguarded
from cloakwork.compiler.importing import from_model
from cloakwork.compiler.layouts import power_above
from cloakwork.compiler.lowering.emission import Emitter, Ranges, Refreshes
from cloakwork.compiler.lowering.folding import folded, joined
from cloakwork.compiler.lowering.planning import GraphPlan, Planner
from cloakwork.compiler.lowering.throughput import BatchEmitter, BatchPlan
from cloakwork.compiler.nodes import Function
from cloakwork.compiler.options import MODES, REVEALED, Mode, Options
from cloakwork.compiler.parameters import LEAST_SCALE, Limits, choices, largest_scale, room_of
from cloakwork.compiler.plans import Layouts, is_cheaper, ring_of, sizes_of
from cloakwork.compiler.ports import Port
from cloakwork.compiler.reach import Range
from cloakwork.compiler.report import Alternative, CompileReport
from cloakwork.compiler.sensitivity import Sensitivity
from cloakwork.compiler.tolerances import tolerances_of
from cloakwork.compiler.trials import Trial, diverged, seconds_of, tried, untried
from cloakwork.errors import ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.bootstrapping.context import bootstrapping_parameters
from cloakwork.fhe.ckks import CkksContext
from cloakwork.fhe.parameters import check_degree
from cloakwork.fhe.schemes import ckks
from cloakwork.fhe.security import asked_security, secure_degrees
from cloakwork.fhe.sizing import Sizes
from cloakwork.programs.program import Program

Floats = NDArray[np.float64]
# The bits by which a cheaper scale is to be more exact than needed, and the share of the time that
# it must not exceed to be worth another trial.
_SPARE_BITS, _WORTH = 2, 0.75
# The bits by which the error of one trial may be above that of another with the same scale.
_TRIAL_BITS = 4
# The bits by which the scale of a trial is above that of one whose results were noise alone.
_DIVERGED_BITS = 4
# A trial at the plan's own degree is not made if its keys or its runs take more than this, and if
# errors at a small degree, grown with the degree and by this factor for chance, suffice.
_TRIAL_BYTES, _TRIAL_SECONDS, _GROWN = 1 << 29, 8.0, 1.5
# Trials are made at a small degree first, from this one on, where that is smaller by this factor;
# the noise of a slot grows at least with the root of the degree, and a trial is off by some bits.
_PILOT_DEGREE, _PILOT_FACTOR, _PILOT_BITS = 1 << 11, 8, 1
# The least width of a range, relative to the widest of the value.
_LEAST_WIDTH = 0.1
# Inputs may be beyond the sample by so many times the margin, where guards tell if it is too much.
_ACCEPTED = 4.0
# Domains of guarded models have at least this margin: norms need some room.
_LEAST_MARGIN = 0.1
# The levels between bootstrappings for which layouts are compared.
_NOMINAL_LEVELS = 8


def compiled(model: Any, sample: Any, **given: Any) -> CompiledModel:
    """`fhe.compile` with all of its options."""
    security = asked_security(given["security"], given["insecure"])
    if security is not None:
        secure_degrees(security)
    limits = Limits(security, _degree(given["degree"]))
    if given["reveal"] not in REVEALED:
        allowed = " or ".join(f'"{one}"' for one in REVEALED)
        raise ParamError("reveal", repr(given["reveal"]), allowed)
    graph, values = _graph(model, sample, given["reveal"])
    if graph.client_head is not None and given["bounds"] is not None:
        encrypted = [node.output for node in graph.inputs]
        if not isinstance(given["bounds"], Mapping):
            allowed = f"ranges of what the client makes of the inputs, by name: {encrypted}"
            raise ParamError("bounds", repr(given["bounds"]), allowed)
    own = Options.checked(
        given["scheme"],
        given["optimize"],
        limits,
        margin=given["margin"],
        precision=given["precision"],
        bounds=stated_bounds(graph, given["bounds"]),
        bootstrap=given["bootstrap"],
        guard=given["guard"],
    )
    # Inputs beyond stated bounds will not come: the sample is one of those that will.
    within = {
        name: np.clip(one, *(edge.reshape(one.shape[1:]) for edge in own.bounds[name]))
        if name in own.bounds
        else one
        for name, one in values.items()
    }
    return _Compiler(graph, within, own).model()


def _degree(degree: int | None) -> int | None:
    if degree is None:
        return None
    found = whole_number("degree", degree, "a power of two")
    check_degree(found)
    return found


def _graph(model: Any, sample: Any, reveal: str) -> tuple[Graph, dict[str, Floats]]:
    """The model as a graph, and its checked sample [batch, *shape] by name."""
    graph = from_model(model, sample)
    # Whoever made a graph decided what the client computes.
    if reveal == "scores" and graph is not model:
        graph = cut(graph)
    values = graph.check_inputs(graph.prepare(sample))
    given = {node.output: values[node.output].reshape(-1, *node.shape) for node in graph.inputs}
    return graph, given


def _too_deep(refusal: Exception, mode: Mode) -> Exception:
    """What refuses a model for which no chain is long enough."""
    if mode == "throughput" and isinstance(refusal, ParamError):
        refusal.add_note('bootstrapping is there for optimize="latency" and "memory"')
    if isinstance(refusal, StopIteration):
        return ParamError("depth", "more levels than any chain has", "bootstrap=True")
    return refusal


class _Tried(NamedTuple):
    """A plan whose program was run."""

    layouts: Layouts
    context: CkksContext
    program: Program
    trial: Trial
    stated: dict[str, float]

    def excess(self, wanted: Mapping[str, float]) -> float:
        """log2 of how much more the largest stated error is than wanted."""
        return max(log2(max(self.stated[name] / wanted[name], 2.0**-60)) for name in wanted)


def _check_precision(graph: Graph, sample: dict[str, Floats], precision: float | None) -> None:
    """ParamError for an error below what floats tell apart: no approximation is searched for it."""
    if precision is None:
        return
    largest = max(float(np.abs(values).max()) for values in graph.run(sample).values())
    least = largest * float(np.finfo(np.float64).eps)
    if precision < least:
        allowed = f"at least {least:.2g}, the last bit of outputs of up to {largest:.3g}"
        raise ParamError("precision", precision, allowed)


def _box(
    graph: Graph, sample: Mapping[str, Floats], options: Options, share: float
) -> dict[str, Range]:
    """The range of each element of each input, with so many times the margin."""
    margin = share * options.margin
    return {
        node.output: options.bounds.get(node.output)
        or box_of(node, sample[node.output].reshape(-1, node.size), margin)
        for node in graph.inputs
    }


class _Compiler:
    """One compilation."""

    def __init__(self, graph: Graph, sample: dict[str, Floats], options: Options) -> None:
        _check_precision(graph, sample, options.precision)
        self.options, self.approximations = options, ""
        self.functions: tuple[ApproximationRow, ...] = ()
        boxes = [_box(graph, sample, options, share) for share in (_ACCEPTED, 1.0)]
        self.units = units_of(graph, boxes[0])
        self.wide, self.narrow = map(self._in_units, boxes)
        self.sizes = sizes_of_outputs(graph, sample)
        graph, gained = doubted(graph, boxes[0], self.sizes)
        self.given_sample = sample = {
            name: values / self.units[name].reshape(values.shape[1:])
            for name, values in sample.items()
        }
        graph = replace(graph, doubts=dict.fromkeys(graph.doubts, ""))
        graph = in_units(graph if options.guard else without_doubts(graph), self.units)
        self.given = graph
        made = joined(folded(self._approximated(graph)), is_cheaper)
        made = with_units_of_outputs(made, self.wide, sample)
        self.bare = without_doubts(made)
        guards = None
        if options.guard:
            guards = guarded(made, self.wide, sample, options.margin, gained)
        self.unproven = () if guards is None else guards.unproven
        self._take(None if self.unproven else guards)
        self.approximation_error = self._approximation_error()

    def _in_units(self, box: Mapping[str, Range]) -> dict[str, Range]:
        units = self.units
        return {name: (low / units[name], high / units[name]) for name, (low, high) in box.items()}

    def _take(self, guards: Guarded | None) -> None:
        """Compile with these guards, or the bare graph."""
        self.graph = self.bare if guards is None else guards.graph
        self.guards, self.box = guards, self.narrow if guards is None else self.wide
        passed = slice(None) if guards is None else guards.passed(self.given_sample)
        sample = {name: values[passed] for name, values in self.given_sample.items()}
        count = len(next(iter(sample.values())))
        order, self.sensitivity = Sensitivity.of(self.graph, sample).ordered(count)
        self.sample = {name: values[order] for name, values in sample.items()}
        self._plans: dict[tuple[Mode, int], GraphPlan] = {}
        self._deep_plans: dict[int, GraphPlan] = {}
        self.ranges = self._ranges()
        self.expected = self.graph.run(self.sample)

    def _approximated(self, graph: Graph) -> Graph:
        if not any(isinstance(node, Function) for node in graph.nodes):
            return graph
        margin = self.options.margin
        own = ApproximationOptions(
            max(margin, _LEAST_MARGIN) if self.options.guard else margin, self.options.precision
        )
        made = approximate(graph, self.given_sample, own, self.wide)
        self.approximations, self.functions = str(made), made.rows
        return made.graph

    def _approximation_error(self) -> float:
        """On the sample, but for inputs that are refused."""
        exact, found = (
            one.in_units_of_results(one.run(self.sample)) for one in (self.given, self.bare)
        )
        return max(float(np.abs(exact[x] - one).max()) for x, one in found.items())

    def _ranges(self) -> Ranges:
        """The range of each element on the sample, with the margin; of inputs those accepted."""
        found = {}
        for name, (low, high) in self.graph.trace_ranges(self.sample).items():
            found[name] = self.box[name] if name in self.box else self._widened(low, high)
        return found

    def _widened(self, low: Floats, high: Floats) -> Range:
        width = high - low
        most = float(width.max()) or float(np.abs(high).max()) or 1.0
        more = self.options.margin * np.maximum(width, _LEAST_WIDTH * most) + 1e-9 * most
        return low - more, high + more

    @property
    def known(self) -> Ranges:
        """The ranges of outputs: of all accepted inputs that pass the guards, if there are some."""
        return self.ranges if self.guards is None else {**self.ranges, **self.guards.reach}

    def model(self) -> CompiledModel:
        """The first degree and the cheapest scale whose measured error is small enough.

        With bootstrapping where that is asked for, or where no chain has as many levels.
        """
        mode = self.options.mode
        if self.options.bootstrap is True:
            return self._model_deep()
        found = self._candidates(mode)
        try:
            first = next(found)
        except (ParamError, StopIteration) as refusal:
            self._check_guards(refusal)
            if self.options.bootstrap is False or mode == "throughput":
                raise _too_deep(refusal, mode) from refusal
            try:
                return self._model_deep()
            except ParamError as other:
                refusal.add_note(f"with bootstrapping: {other}")
                raise refusal from other
        return self._model(self._precise(chain([first], found), self._tolerances()))

    def _model_deep(self) -> CompiledModel:
        """With bootstrapping, and without guards."""
        self._take(None)
        return self._model(self._tried_deep(self._deepest(), self._tolerances()))

    def _check_guards(self, refusal: Exception) -> None:
        """ParamError where parameters have room for the model, and not for its guards."""
        guards = self.guards
        if guards is None:
            return
        self._take(None)
        if self._first(self.options.mode) is None:
            return
        reach, sample = (
            max(float(np.abs(edge).max()) for name in self.graph.outputs for edge in ranges[name])
            for ranges in (guards.reach, self.ranges)
        )
        raise ParamError(
            "guard",
            f"outputs of up to {reach:.3g} for inputs within their bounds, with "
            f"{guards.checks} range checks, and no parameters with room for them",
            f"outputs like the sample's, up to {sample:.3g}: narrower bounds=, a larger degree=, "
            "or guard=False, with which inputs unlike the sample may give wrong results silently",
        ) from refusal

    def _precise(self, found: Iterator[Layouts], wanted: Mapping[str, float]) -> _Tried:
        last, pilot, most, least = None, None, 0, 0
        for layouts in self._by_time(found):
            bits = layouts.sizes.scale
            if pilot is not None:
                gained = bits - pilot.layouts.sizes.scale + _TRIAL_BITS
                if gained < pilot.excess(wanted):
                    most = max(most, bits)
                    continue
            if bits < least:
                continue
            small = self._at_small_degree(layouts)
            if small is not None and small.excess(wanted) > _PILOT_BITS:
                last, most = last or small, max(most, bits)
                continue
            last = self._untried(layouts, small, wanted) or self._tried(layouts)
            if last.excess(wanted) <= 0:
                return self._cheaper(last, wanted)
            most = max(most, bits)
            # Errors that grew beyond all values do not tell how far smaller noise brings them.
            pilot = None if diverged(last.trial.errors, self.expected) else last
            least = bits + (_DIVERGED_BITS if pilot is None else 0)
        assert last is not None
        raise self._imprecise(last, wanted, most)

    def _imprecise(self, pilot: _Tried, wanted: Mapping[str, float], most: int) -> ParamError:
        """What was found; scales of up to `most` bits were tried, or are too small for certain."""
        sizes = pilot.layouts.sizes
        name = max(wanted, key=lambda one: pilot.stated[one] / wanted[one])
        error, least = (own[name] * self._unit(name) for own in (pilot.stated, wanted))
        got = f"errors of {error:.2g} with a scale of 2^{sizes.scale} at degree {sizes.degree}"
        if most > sizes.scale:
            got += f", about {error * 2.0 ** (sizes.scale - most):.2g} with the largest, 2^{most}"
        return ParamError("precision", got, f"at most {least:.2g}: accept a larger error")

    def _tried_deep(self, first: Layouts, wanted: Mapping[str, float]) -> _Tried:
        """With the first scale whose measured error is small enough."""
        tried = self._tried(first)
        for bits in SCALES[1:]:
            gained = bits - tried.layouts.sizes.scale + _TRIAL_BITS
            if 0 < tried.excess(wanted) <= gained:
                tried = self._tried(self._deepest(bits))
        if tried.excess(wanted) > 0:
            raise self._imprecise(tried, wanted, max(SCALES))
        return tried

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

            plan = Planner(self.graph, degree // 2, price, chained=True).plan()
            self._deep_plans[degree] = plan
        deep = deepened(plan, self.ranges, self.options.limits, bits)
        return Layouts(mode, plan, sizes_of(deep.parameters), deep)

    @staticmethod
    def _by_time(found: Iterator[Layouts]) -> Iterator[Layouts]:
        """Those of two degrees by their time, then those of the next two."""
        degrees = groupby(found, key=lambda one: one.sizes.degree)
        while True:
            pair = [list(own) for _, own in islice(degrees, 2)]
            if not pair:
                return
            yield from sorted(chain(*pair), key=lambda one: one.seconds)

    def _cheaper(self, pilot: _Tried, wanted: Mapping[str, float]) -> _Tried:
        """With the scale for which key switches are cheapest, if the error stays small enough."""
        mode, plan, sizes, _ = pilot.layouts
        least = sizes.scale + ceil(pilot.excess(wanted)) + _SPARE_BITS
        security = self.options.limits.security
        room = room_of(self.known, self.graph.outputs)
        scales = (range(bits, bits - 1, -1) for bits in range(max(least, LEAST_SCALE), sizes.scale))
        found = (largest_scale(plan.depth, room, sizes.degree, security, own) for own in scales)
        others = [Layouts(mode, plan, other) for other in found if other is not None]
        best = min(others, key=lambda one: one.seconds, default=pilot.layouts)
        if best.seconds > _WORTH * pilot.layouts.seconds:
            return pilot
        small = self._at_small_degree(best)
        if small is not None and small.excess(wanted) > _PILOT_BITS:
            return pilot
        tried = self._untried(best, small, wanted) or self._tried(best)
        return tried if tried.excess(wanted) <= 0 else pilot

    def _at_small_degree(self, layouts: Layouts) -> _Tried | None:
        """A trial with the same moduli at a degree without security, which takes little time.

        Its errors are those that the degree of the layouts has at least.  None where no degree is
        much smaller, or the model would be laid out with more levels.
        """
        sizes, mode = layouts.sizes, layouts.mode
        widest = max(node.size for node in self.graph.nodes)
        degree = max(_PILOT_DEGREE, 2 * power_above(widest))
        if mode == "throughput" or sizes.degree < _PILOT_FACTOR * degree:
            return None
        small = replace(sizes, degree=degree)
        plan = self._plan(mode, small)
        if plan.depth > layouts.plan.depth:
            return None
        found = self._tried(Layouts(mode, plan, small), layouts.seconds)
        more = (sizes.degree / degree) ** 0.5
        stated = {name: more * error for name, error in found.stated.items()}
        return found._replace(layouts=layouts, stated=stated)

    def _untried(
        self, layouts: Layouts, small: _Tried | None, wanted: Mapping[str, float]
    ) -> _Tried | None:
        """The program of a plan whose trial costs too much, with errors from a small degree.

        None where the trial is cheap, or where errors may be too large: only a trial tells then.
        """
        seconds = seconds_of(self.expected, layouts.seconds)
        if small is None or (layouts.key_bytes < _TRIAL_BYTES and seconds < _TRIAL_SECONDS):
            return None
        # What noise a slot has grows at most with the degree, of which `small` has the root.
        more = _GROWN * (layouts.sizes.degree / small.context.parameters.degree) ** 0.5
        grown = small._replace(stated={name: more * own for name, own in small.stated.items()})
        if grown.excess(wanted) > 0:
            return None
        context = self._context(layouts.sizes, False)
        emitter = self._emitter(layouts, context)
        program, bound = untried(emitter, self._trial_of(layouts), context, self.sample)
        trial = replace(small.trial, bound=bound, seconds=inf)
        return grown._replace(context=context, program=program, trial=trial)

    def _tried(self, layouts: Layouts, pilot_of: float | None = None) -> _Tried:
        """The trial of a plan; `pilot_of` the seconds of another, which alone is to be secure."""
        deep, is_pilot = layouts.deep, pilot_of is not None
        context = self._context(layouts.sizes, is_pilot) if deep is None else deep.context
        emitter = self._emitter(layouts, context)
        sample, estimate = (self.sample, self.expected), pilot_of or layouts.seconds
        program, trial = tried(emitter, self._trial_of(layouts), context, sample, estimate)
        stated = self.sensitivity.stated(trial.differences)
        return _Tried(layouts, context, program, trial, stated)

    def _emitter(self, layouts: Layouts, context: CkksContext) -> Emitter | BatchEmitter:
        if isinstance(layouts.plan, BatchPlan):
            return BatchEmitter(layouts.plan, context, self.ranges)
        if layouts.deep is not None:
            deep = layouts.deep
            refreshes = Refreshes(deep.placing, deep.bootstrapping)
            compact = deep.compact_weights or layouts.mode == "memory"
            return Emitter(layouts.plan, context, self.ranges, compact=compact, refreshes=refreshes)
        return Emitter(layouts.plan, context, self.ranges, compact=layouts.mode == "memory")

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

    def _candidates(self, mode: Mode) -> Iterator[Layouts]:
        """Plans by ascending degree."""
        room = room_of(self.known, self.graph.outputs)
        batch, limits = BatchPlan(self.graph), self.options.limits
        for sizes in choices(batch.depth, room, limits):
            if mode == "throughput":
                yield Layouts(mode, batch, sizes)
                continue
            plan = self._plan(mode, sizes)
            # Values that are moved to other layouts may take more levels.
            scales = range(sizes.scale, 21, -1)
            found = largest_scale(plan.depth, room, sizes.degree, limits.security, scales)
            if found is not None:
                yield Layouts(mode, plan, found)

    def _plan(self, mode: Mode, sizes: Sizes) -> GraphPlan:
        known = self._plans.get((mode, sizes.degree))
        if known is not None:
            return known
        bytes_alone = mode == "memory"

        def price(work: Work, used: int) -> float:
            ring = ring_of(sizes, used)
            return ring.bytes_of(work) if bytes_alone else MEASURED.seconds(work, ring)

        found = Planner(self.graph, sizes.degree // 2, price).plan()
        self._plans[mode, sizes.degree] = found
        return found

    def _unit(self, output: str) -> float:
        """The largest unit of an output's elements."""
        return float(self.graph.units[output].max()) if output in self.graph.units else 1.0

    def _tolerances(self) -> dict[str, float]:
        """The largest error of each output."""
        own, guards = self.options.precision, self.guards
        outputs = {name: self.expected[name] for name in self.bare.outputs}
        if own is None:
            found = tolerances_of(self.graph, outputs)
        else:
            found = {name: own / self._unit(name) for name in outputs}
        if guards is not None and guards.checks:
            found[guards.output] = guards.error
        return found

    def _model(self, found: _Tried) -> CompiledModel:
        layouts, stated = found.layouts, found.stated
        report = self._report(found)
        described = self._description(
            layouts, stated, report.to_json() | {"text": report.describe()}
        )
        return CompiledModel(found.program, described, graph=self.graph, report=report)

    def _trial_of(self, layouts: Layouts) -> Description:
        """Of inputs that are encrypted as they are: the sample is what a head makes."""
        return replace(self._description(layouts, {}, {}), head=None)

    def _description(
        self, layouts: Layouts, errors: Mapping[str, float], report: Mapping[str, Any]
    ) -> Description:
        levels = layouts.key_levels
        return Description(
            self.graph.name,
            tuple(self._port(layouts.plan, node.output, 0.0) for node in self.graph.inputs),
            tuple(
                self._port(layouts.plan, name, errors.get(name, 0.0)) for name in self.bare.outputs
            ),
            tuple(levels.rotations),
            levels.products is not None,
            self.graph.client_tail,
            report,
            levels,
            self._guard(layouts.plan, errors),
            self.graph.client_head,
        )

    def _guard(self, plan: GraphPlan | BatchPlan, errors: Mapping[str, float]) -> Guard | None:
        """What the client checks; None where results may be wrong without a word."""
        own = self.guards
        if own is None:
            return None
        if not own.checks:
            return Guard(None, ())
        port = self._port(plan, own.output, errors.get(own.output, 0.0))
        most = own.limit - own.error
        return Guard(
            replace(port, low=np.zeros(1), high=np.array([most])),
            tuple(map(str, own.norms)),
            own.doubts,
        )

    def _port(self, plan: GraphPlan | BatchPlan, name: str, error: float) -> Port:
        low, high = self.known[name]
        layout = plan.layout(name) if isinstance(plan, GraphPlan) else None
        units = self.units.get(name)
        if units is None:
            low, high = low.min(keepdims=True), high.max(keepdims=True)
            units = self.graph.units.get(name, np.ones(1))
        low, high, error = low * units, high * units, error * float(units.max())
        return Port(name, tuple(self.graph[name].shape), low, high, layout, error, units)

    def _report(self, found: _Tried) -> CompileReport:
        layouts, context, trial = found.layouts, found.context, found.trial
        others = (mode for mode in MODES if mode != self.options.mode)
        alternatives = [self._alternative(self._first(mode)) for mode in others]
        chosen = self._alternative(layouts)
        assert chosen is not None
        return CompileReport(
            name=self.graph.name,
            chosen=chosen,
            others=tuple(one for one in alternatives if one is not None),
            nodes=layouts.nodes,
            parameters=context.describe(),
            approximations=self.approximations,
            functions=self.functions,
            sample_rows=min(len(values) for values in self.given_sample.values()),
            client=self._client_steps(),
            error=max(found.stated[name] * self._unit(name) for name in self.bare.outputs),
            errors={
                name: (found.stated[name] * self.graph.units.get(name, np.ones(1))).tolist()
                for name in self.bare.outputs
            },
            approximation_error=self.approximation_error,
            largest_output=self._largest_output(),
            error_bound=trial.bound * max(map(self._unit, self.bare.outputs)),
            trial_inputs=trial.count,
            trial_seconds=trial.seconds,
            cost_factor=MEASURED.error,
            bootstrapping="" if layouts.deep is None else layouts.deep.describe(),
            accepted_error=self._accepted_error(found),
            accepted=self._accepted(),
        )

    def _client_steps(self) -> str:
        """One line for each of what the client computes."""
        head, tail = self.graph.client_head, self.graph.client_tail
        return "\n".join(filter(None, ["" if head is None else head.describe(), tail.describe()]))

    def _largest_output(self) -> float:
        found = self.graph.in_units_of_results(self.expected)
        return max(float(np.abs(found[name]).max()) for name in self.bare.outputs)

    def _accepted_error(self, found: _Tried) -> float | None:
        """The largest error of inputs that the client accepts; None where that is not known."""
        if self.guards is None:
            return None
        inputs = accepted_inputs(self.guards, self.box, self.sample)
        names = self.bare.outputs
        least = max(found.stated[name] * self._unit(name) for name in names)
        elsewhere = Sensitivity.of(self.graph, inputs).above(self.sensitivity, names)
        changed = 0.0
        if self.functions:
            changed = largest_deviation(self.given, self.bare, self.guards, inputs, self.sizes)
        return least * max(elsewhere, 1.0) + max(changed, self.approximation_error)

    def _accepted(self) -> str:
        """Which inputs have right results, in words."""
        if self.guards is None and self.options.guard and not self.unproven:
            return unguarded("with bootstrapping")
        if self.guards is None:
            return unguarded("without guards" if not self.options.guard else "", self.unproven)
        return self.guards.describe(self.given_sample)

    def _first(self, mode: Mode) -> Layouts | None:
        """The first plan without bootstrapping; None if there is none."""
        try:
            return next(self._candidates(mode), None)
        except ParamError:
            return None

    def _alternative(self, layouts: Layouts | None) -> Alternative | None:
        """What a way of layout would cost; None where no parameters have room for it."""
        if layouts is None:
            return None
        sizes, plan, deep = layouts.sizes, layouts.plan, layouts.deep
        batch = isinstance(plan, BatchPlan)
        counts = [
            node.size if isinstance(plan, BatchPlan) else plan.layout(node.output).count
            for node in self.graph.inputs
        ]
        return Alternative(
            mode=layouts.mode,
            degree=sizes.degree,
            depth=plan.depth,
            inputs=sizes.degree // 2 if batch else 1,
            seconds=layouts.seconds,
            rotations=len(layouts.key_levels.rotations),
            key_bytes=layouts.key_bytes,
            constant_bytes=plan.constant_bytes(layouts.ring, compact=layouts.mode == "memory")
            if deep is None
            else deep.constant_bytes,
            ciphertext_bytes=sum(counts) * 2 * len(sizes.moduli) * sizes.degree * 8,
        )
