"""`fhe.compile`: a model becomes an encrypted program, with the least parameters that suffice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

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
from cloakwork.compiler.costs import MEASURED
from cloakwork.compiler.cutting import cut
from cloakwork.compiler.description import Description, Guard
from cloakwork.compiler.doubting import doubted, without_doubts
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.guarding import Guarded, guarded, unguarded
from cloakwork.compiler.importing import from_model
from cloakwork.compiler.lowering.emission import Ranges
from cloakwork.compiler.lowering.folding import folded, joined
from cloakwork.compiler.lowering.planning import GraphPlan
from cloakwork.compiler.lowering.throughput import BatchPlan
from cloakwork.compiler.memory import Memory
from cloakwork.compiler.nodes import Function
from cloakwork.compiler.options import MODES, REVEALED, Options
from cloakwork.compiler.parameters import Limits
from cloakwork.compiler.plans import Layouts, is_cheaper
from cloakwork.compiler.ports import Port
from cloakwork.compiler.progress import Reporter, silent
from cloakwork.compiler.reach import Range
from cloakwork.compiler.report import Alternative, CompileReport
from cloakwork.compiler.search import Problem, Search, Tried
from cloakwork.compiler.sensitivity import Sensitivity
from cloakwork.compiler.tolerances import errors_of_results, tolerances_of
from cloakwork.compiler.whole import decides, with_whole_outputs_rounded
from cloakwork.errors import ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.parameters import check_degree
from cloakwork.fhe.security import asked_security, secure_degrees
from cloakwork.programs.options import bytes_of

Floats = NDArray[np.float64]
# The least width of a range, relative to the widest of the value.
_LEAST_WIDTH = 0.1
# Inputs may be beyond the sample by so many times the margin, where guards tell if it is too much.
_ACCEPTED = 4.0
# Domains of guarded models have at least this margin: norms need some room.
_LEAST_MARGIN = 0.1


def compiled(model: Any, sample: Any, **given: Any) -> CompiledModel:
    """`fhe.compile` with all of its options."""
    budget, told = bytes_of(given["memory_budget"]), given["progress"]
    if told is not None and not callable(told):
        raise ParamError("progress", repr(told), "a callable that takes one record")
    reporter, memory = Reporter(silent if told is None else told), Memory(budget)
    security = asked_security(given["security"], given["insecure"])
    if security is not None:
        secure_degrees(security)
    limits = Limits(security, _degree(given["degree"]))
    if given["reveal"] not in REVEALED:
        allowed = " or ".join(f'"{one}"' for one in REVEALED)
        raise ParamError("reveal", repr(given["reveal"]), allowed)
    reporter.begin("import")
    graph, values = _graph(model, sample, given["reveal"])
    if (
        graph.client_head is not None
        and graph.client_head.steps.steps
        and given["bounds"] is not None
    ):
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
    return _Compiler(graph, within, own, (memory, reporter)).model()


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
    if graph is not model:
        graph = with_whole_outputs_rounded(cut(graph) if reveal == "scores" else graph)
    values = graph.check_inputs(graph.prepare(sample))
    given = {node.output: values[node.output].reshape(-1, *node.shape) for node in graph.inputs}
    return graph, given


def _too_deep() -> ParamError:
    """The error of a model whose layouts take more levels than any chain has."""
    return ParamError("depth", "more levels than any chain has", "bootstrap=True")


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

    def __init__(
        self,
        graph: Graph,
        sample: dict[str, Floats],
        options: Options,
        observed: tuple[Memory, Reporter],
    ) -> None:
        _check_precision(graph, sample, options.precision)
        self.options, self.approximations = options, ""
        self.memory, self.reporter = observed
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
        self.reporter.begin("guard")
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
        self.ranges = self._ranges()
        self.expected = self.graph.run(self.sample)
        problem = Problem(
            graph=self.graph,
            ranges=self.ranges,
            known=self.known,
            sample=self.sample,
            expected=self.expected,
            sensitivity=self.sensitivity,
            wanted=self._tolerances(),
            units={name: self._unit(name) for name in self.graph.outputs},
            described=self._trial_of,
        )
        self.search = Search(problem, self.options, self.memory, self.reporter)

    def _approximated(self, graph: Graph) -> Graph:
        if not any(isinstance(node, Function) for node in graph.nodes):
            return graph
        self.reporter.begin("approximate")
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
        self.reporter.begin("plan")
        mode = self.options.mode
        if self.options.bootstrap is True:
            return self._model_deep()
        try:
            found = list(self.search.candidates(mode))
            if not found:
                raise _too_deep()
        except ParamError as refusal:
            self._check_guards(refusal)
            if mode == "throughput":
                refusal.add_note('bootstrapping is there for optimize="latency" and "memory"')
            if self.options.bootstrap is False or mode == "throughput":
                raise
            try:
                return self._model_deep()
            except ParamError as other:
                refusal.add_note(f"with bootstrapping: {other}")
                raise refusal from other
        return self._model(self.search.best(found))

    def _model_deep(self) -> CompiledModel:
        """With bootstrapping, and without guards."""
        self._take(None)
        return self._model(self.search.best_deep())

    def _check_guards(self, refusal: Exception) -> None:
        """ParamError where parameters have room for the model, and not for its guards."""
        guards = self.guards
        if guards is None:
            return
        self._take(None)
        if self.search.first(self.options.mode) is None:
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

    def _model(self, found: Tried) -> CompiledModel:
        layouts, stated = found.errors.layouts, found.errors.stated
        self.reporter.begin("report")
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
        """The checks of the client; None where results may be wrong without a word."""
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

    def _report(self, found: Tried) -> CompileReport:
        layouts, trial, stated = found.errors
        others = (mode for mode in MODES if mode != self.options.mode)
        bits = layouts.sizes.scale
        alternatives = [self._alternative(self.search.at_scale(mode, bits)) for mode in others]
        chosen = self._alternative(layouts)
        assert chosen is not None
        inputs = self.sample
        if self.guards is not None:
            inputs = accepted_inputs(self.guards, self.box, self.sample)
        accepted = self._accepted_error(found, inputs)
        names = self.bare.outputs
        return CompileReport(
            name=self.graph.name,
            chosen=chosen,
            others=tuple(one for one in alternatives if one is not None),
            nodes=layouts.nodes,
            parameters=found.context.describe(),
            approximations=self.approximations,
            functions=self.functions,
            sample_rows=min(len(values) for values in self.given_sample.values()),
            client=self._client_steps(),
            error=max(stated[name] * self._unit(name) for name in self.bare.outputs),
            errors={
                name: (stated[name] * self.graph.units.get(name, np.ones(1))).tolist()
                for name in self.bare.outputs
            },
            approximation_error=self.approximation_error,
            largest_output=self._largest_output(),
            error_bound=trial.bound * max(map(self._unit, self.bare.outputs)),
            trial_inputs=trial.count,
            trial_seconds=trial.seconds,
            cost_factor=MEASURED.error,
            bootstrapping="" if layouts.deep is None else layouts.deep.describe(),
            accepted_error=accepted,
            accepted=self._accepted(),
            result_errors=self._result_errors(self.expected, stated),
            accepted_result_errors={}
            if accepted is None
            else self._result_errors(
                self._with_ends(inputs), {x: accepted / self._unit(x) for x in names}
            ),
            client_decides=decides(self.bare.client_tail),
            memory_budget=self.memory.given,
            predicted_bytes=self.memory.predicted,
            kept_bytes=self.memory.kept,
        )

    def _client_steps(self) -> str:
        """One line for each of what the client computes."""
        head, tail = self.graph.client_head, self.graph.client_tail
        return "\n".join(filter(None, ["" if head is None else head.describe(), tail.describe()]))

    def _largest_output(self) -> float:
        found = self.graph.in_units_of_results(self.expected)
        return max(float(np.abs(found[name]).max()) for name in self.bare.outputs)

    def _result_errors(
        self, outputs: Mapping[str, Floats], errors: Mapping[str, float]
    ) -> dict[str, float]:
        """How far what the client computes is off for some outputs; empty where it does nothing."""
        if not self.bare.client_tail.steps:
            return {}
        own = {name: outputs[name] for name in self.bare.outputs}
        return errors_of_results(self.bare, own, errors)

    def _with_ends(self, inputs: Mapping[str, Floats]) -> dict[str, Floats]:
        """The outputs of some inputs, after those at the ends of what accepted ones can give."""
        return {
            name: np.concatenate([np.reshape(self.known[name], (2, *own.shape[1:])), own])
            for name, own in self.bare.run(inputs).items()
        }

    def _accepted_error(self, found: Tried, inputs: Mapping[str, Floats]) -> float | None:
        """The largest error of inputs that the client accepts; None where that is not known."""
        if self.guards is None:
            return None
        names = self.bare.outputs
        least = max(found.errors.stated[name] * self._unit(name) for name in names)
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

    def _alternative(self, layouts: Layouts | None) -> Alternative | None:
        """The costs of a way of layout; None where no parameters have room for it."""
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
            constant_bytes=layouts.constant_bytes if deep is None else deep.constant_bytes,
            ciphertext_bytes=sum(counts) * 2 * len(sizes.moduli) * sizes.degree * 8,
        )
