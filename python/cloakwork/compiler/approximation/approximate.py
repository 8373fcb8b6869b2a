"""`approximate`: a Graph without Functions, with the errors that this causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.approximation.choosing import Applied, Choice, Precision, choices
from cloakwork.compiler.approximation.domains import (
    Domain,
    bits_of_jump,
    domain_of,
    possible_ranges,
)
from cloakwork.compiler.approximation.emitting import emitted
from cloakwork.compiler.approximation.options import ApproximationOptions
from cloakwork.compiler.approximation.outside import (
    METHOD,
    chance_beyond,
    extremes,
    harmless_share,
)
from cloakwork.compiler.approximation.recipes import JUMPS, Wanted, ladder, precise
from cloakwork.compiler.approximation.report import ApproximationRow, table
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Function
from cloakwork.compiler.reach import Range, widened
from cloakwork.errors import ModelError, ParamError

__all__ = ["Approximation", "approximate"]

Floats = NDArray[np.float64]

# The default precision, as a share of the largest output.
_PRECISION = 0.01
# The share of inputs whose outputs may deviate more if a model has jumps, next to which there is no
# precision: without a stated one, or where doubts tell of them.
_NEXT_TO_JUMPS = 0.05
# A label that deviations of this share of the largest output change is a tie, which any changes.
_TIE, _TIE_TRIALS = 1e-6, 8
# Rows of the sample on which each recipe is measured: so much work in all, within these numbers.
_SEARCH_WORK, _SEARCH_ROWS = 1 << 26, (8, 512)
# Elements of a batch that are computed at once.
_CHUNK_ELEMENTS = 1 << 22
_LEAST_OUTPUT = 1e-9


@dataclass(frozen=True, eq=False)
class Approximation:
    """A model whose functions are polynomials.

    graph          of Input, Affine, Product and Evaluate nodes; arguments of polynomials are scaled
                   to [-1, 1] by the affine maps before them
    rows           one for each function
    deviation      the largest deviation of an output on the sample
    share          the same, divided by the largest value of that output
    exceptions     inputs of the sample that deviate more than wanted, or change labels
    changed        results of the sample that are labels, and changed, by name; without ties, which
                   deviations of a millionth change
    """

    graph: Graph
    rows: tuple[ApproximationRow, ...]
    deviation: float
    share: float
    exceptions: int
    changed: Mapping[str, int]

    def __str__(self) -> str:
        changed = ", ".join(f"{count} of {name}" for name, count in self.changed.items() if count)
        return "\n".join(
            [
                table(self.rows),
                f"outputs deviate by up to {self.deviation:.3g} on the sample, "
                f"{100 * self.share:.2g} % of the largest; labels that change: {changed or 'none'}",
                f"leaves: {METHOD}",
            ]
        )


def approximate(
    graph: Graph,
    sample: Mapping[str, ArrayLike] | ArrayLike,
    options: ApproximationOptions | None = None,
    inputs: Mapping[str, Range] | None = None,
) -> Approximation:
    """Replace the functions of a graph by polynomials, the cheapest that suffice on a sample.

    sample   inputs [rows, *shape] by name, or the only input: like those that the model will get
    inputs   the ranges of all inputs that it will get, float64 [size] each; by default those of the
             sample with the margin

    Raises ModelError for a sample that does not fit, for functions that are not defined on it, and
    where no choice is as precise as wanted.
    """
    return _Approximating(graph, sample, options or ApproximationOptions(), inputs).result()


class _Approximating:
    def __init__(
        self,
        graph: Graph,
        sample: Mapping[str, ArrayLike] | ArrayLike,
        options: ApproximationOptions,
        inputs: Mapping[str, Range] | None,
    ) -> None:
        self.graph, self.options = graph, options
        self.sample = graph.check_inputs(sample)
        self.count = len(next(iter(self.sample.values())))
        self.functions = [node for node in graph.nodes if isinstance(node, Function)]
        self.ranges = graph.trace_ranges(self._shaped(self.sample))
        self.inputs = inputs or {
            node.output: widened(*self.ranges[node.output], options.margin) for node in graph.inputs
        }
        self.exact = self._outputs(graph)
        self.largest = {
            name: max(float(np.abs(values).max()), _LEAST_OUTPUT)
            for name, values in self.exact.items()
        }
        tolerances = {
            name: options.precision or _PRECISION * largest
            for name, largest in self.largest.items()
        }
        self.ties = self._ties()
        jumps = any(node.kind in JUMPS for node in self.functions)
        told = options.precision is None or bool(graph.doubts)
        next_to_jumps = _NEXT_TO_JUMPS if jumps and told else 0.0
        self.precision = Precision(tolerances, max(options.exceptions, next_to_jumps))

    def result(self) -> Approximation:
        """The first choice that is precise enough.

        Where doubts tell of inputs next to jumps, labels of as few of them may change, if no choice
        keeps them all.
        """
        least, worst, tolerable = (inf, inf), "", None
        for choice in self._choices():
            made = emitted(self.graph, choice)
            found = self._outputs(made)
            if self._is_precise(found):
                return self._approximation(choice, made, found)
            if self.graph.doubts and self._is_precise(found, self.precision.exceptions):
                # The last is the most exact.
                tolerable = choice, made, found
            failing = float(self._failing(found).mean())
            if (failing, self._share(found)) < least:
                least = failing, self._share(found)
                worst = f"{100 * least[1]:.3g} % of the largest output and changes "
                worst += f"{sum(self._changed(found).values())} labels"
        if tolerable is not None:
            return self._approximation(*tolerable)
        raise ModelError(
            f"{self.graph.name}: no approximation of its functions is precise enough on the "
            f"sample: the best deviates by up to {worst}, for {100 * least[0]:.3g} % of the inputs "
            "too much. Accept larger deviations by precision=; or bring the arguments of functions "
            "into narrower ranges, and those of the sample away from jumps, as thresholds of trees"
        )

    def _choices(self) -> Iterator[Choice]:
        """From cheap to exact; further recipes are made when those of before do not suffice."""
        if not self.functions:
            yield {}
            return
        work = sum(n.nonzeros for n in self.graph.nodes if isinstance(n, Affine))
        least, most = _SEARCH_ROWS
        rows = min(max(_SEARCH_WORK // max(work, 1), least), most)
        searched = {name: values[:: -(-self.count // rows)] for name, values in self.sample.items()}
        wanted = self._wanted(self._arguments(searched))
        ladders = {name: self._recipes(name, domain, w) for name, (domain, w) in wanted.items()}
        yield from choices(self.graph, searched, ladders, self.precision, self.options.level_cost)
        more = {
            name: [Applied(recipe, domain) for recipe in precise(w)]
            for name, (domain, w) in wanted.items()
        }
        if any(more.values()):
            ladders = {name: [*found, *more[name]] for name, found in ladders.items()}
            yield from choices(
                self.graph, searched, ladders, self.precision, self.options.level_cost
            )

    def _wanted(self, arguments: Mapping[str, Floats]) -> dict[str, tuple[Domain, Wanted]]:
        """The domain of each function, and the function of the scaled argument."""
        possible, found = possible_ranges(self.graph, self.inputs), {}
        changed: set[str] = set()
        for node in self.graph.nodes:
            if changed.intersection(node.inputs):
                changed.add(node.output)
            if not isinstance(node, Function):
                continue
            changed.add(node.output)
            own, margin = possible[node.input], self.options.margin
            sample = self.ranges[node.input]
            domain = domain_of(node, sample, own, margin, changed=node.input in changed)
            is_jump = node.kind in JUMPS
            bits = bits_of_jump(domain, arguments[node.output]) if is_jump else 0
            parameters = tuple(sorted(node.parameters.items()))
            wanted = Wanted(node.kind, parameters, domain.low, domain.high, bits)
            found[node.output] = domain, wanted
        return found

    def _recipes(self, name: str, domain: Domain, wanted: Wanted) -> list[Applied]:
        try:
            return [Applied(recipe, domain) for recipe in ladder(wanted)]
        except ParamError as error:
            raise ModelError(
                f"{wanted.kind} {name!r} on [{domain.low:.6g}, {domain.high:.6g}] has no "
                f"polynomial: {error}"
            ) from error

    def _arguments(self, sample: Mapping[str, Floats]) -> dict[str, Floats]:
        """The arguments of each function on a sample, [rows, size]."""
        readers: dict[str, list[str]] = {}
        for function in self.functions:
            readers.setdefault(function.input, []).append(function.output)
        return {
            reader: values
            for node, values in self.graph.steps(self._shaped(sample))
            for reader in readers.get(node.output, [])
        }

    def _is_precise(self, found: Mapping[str, Floats], labels: float | None = None) -> bool:
        """Whether few inputs deviate; and whether of so few labels change, by default as asked."""
        deviating = self.precision.deviations(found, self.exact) > 1
        if deviating.mean() > self.precision.exceptions:
            return False
        changed = [each.mean() for each in self._labels(found).values()]
        is_stated = self.options.precision is not None
        most = self.options.exceptions if labels is None else labels
        return is_stated or max(changed, default=0.0) <= most

    def _failing(self, found: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """The inputs of the sample that deviate too much, or change labels, [rows]."""
        failing = self.precision.deviations(found, self.exact) > 1
        if self.options.precision is None:
            for changed in self._labels(found).values():
                failing = failing | changed
        return np.asarray(failing)

    def _share(self, found: Mapping[str, Floats]) -> float:
        return self._most(found, self.largest)

    def _most(self, found: Mapping[str, Floats], units: Mapping[str, float]) -> float:
        off = [float(np.abs(found[n] - self.exact[n]).max()) / units[n] for n in found]
        return max(off) if np.isfinite(off).all() else inf

    def _labels(self, found: Mapping[str, Floats]) -> dict[str, NDArray[np.bool_]]:
        """The inputs for which a result changes that is a label, [rows], by name; ties aside."""
        return {
            name: changed & ~self.ties[name] for name, changed in self._other_labels(found).items()
        }

    def _other_labels(self, found: Mapping[str, Floats]) -> dict[str, NDArray[np.bool_]]:
        before, after = (self.graph.finish(self._whole(each)) for each in (self.exact, found))
        return {
            name: (before[name] != after[name]).reshape(self.count, -1).any(axis=1)
            for name in before
            if before[name].dtype.kind not in "fc"
        }

    def _ties(self) -> dict[str, NDArray[np.bool_]]:
        """The inputs whose exact labels change with the smallest deviations, [rows], by name."""
        draw = np.random.default_rng(0)
        found: dict[str, NDArray[np.bool_]] = {}
        for _ in range(_TIE_TRIALS):
            near = {
                name: values + _TIE * self.largest[name] * draw.choice([-1.0, 1.0], values.shape)
                for name, values in self.exact.items()
            }
            for name, changed in self._other_labels(near).items():
                found[name] = found[name] | changed if name in found else changed
        return found

    def _changed(self, found: Mapping[str, Floats]) -> dict[str, int]:
        return {name: int(changed.sum()) for name, changed in self._labels(found).items()}

    def _whole(self, flat: Mapping[str, Floats]) -> dict[str, Floats]:
        """Outputs [rows, size] in their shapes."""
        return {name: x.reshape(len(x), *self.graph[name].shape) for name, x in flat.items()}

    def _shaped(self, flat: Mapping[str, Floats]) -> dict[str, Floats]:
        return {
            node.output: flat[node.output].reshape(-1, *node.shape) for node in self.graph.inputs
        }

    def _parts(self, graph: Graph) -> Iterator[dict[str, Floats]]:
        """The sample in parts of a bounded size."""
        rows = max(1, _CHUNK_ELEMENTS // max(node.size for node in graph.nodes))
        for start in range(0, self.count, rows):
            yield {name: values[start : start + rows] for name, values in self.sample.items()}

    def _outputs(self, graph: Graph) -> dict[str, Floats]:
        """The outputs of a graph on the sample, [rows, size]."""
        found: dict[str, list[Floats]] = {name: [] for name in graph.outputs}
        for part in self._parts(graph):
            for node, values in graph.steps(self._shaped(part)):
                if node.output in found:
                    found[node.output].append(values)
        return {name: np.concatenate(values) for name, values in found.items()}

    def _approximation(
        self, choice: Choice, made: Graph, found: Mapping[str, Floats]
    ) -> Approximation:
        deviation = self._most(found, dict.fromkeys(found, 1.0))
        return Approximation(
            graph=made,
            rows=tuple(self._rows(choice)),
            deviation=deviation,
            share=self._share(found),
            exceptions=int(self._failing(found).sum()),
            changed=self._changed(found),
        )

    def _rows(self, choice: Choice) -> Iterator[ApproximationRow]:
        extreme: dict[str, list[Floats]] = {node.output: [] for node in self.functions}
        errors = dict.fromkeys(extreme, 0.0)
        for part in self._parts(self.graph):
            for name, values in self._arguments(part).items():
                applied = choice[name]
                extreme[name].append(extremes(applied, values))
                node = self.graph[name]
                off = applied(values) - node.values({node.inputs[0]: values})
                errors[name] = max(errors[name], float(np.abs(off).max()))
        for node in self.functions:
            found = np.concatenate(extreme[node.output])
            yield self._row(node, choice[node.output], found, errors[node.output])

    def _row(
        self, node: Function, applied: Applied, extreme: Floats, error: float
    ) -> ApproximationRow:
        recipe, scales = applied.recipe, applied.domain.scales
        low, high = (x if scales is None else x / scales for x in self.ranges[node.input])
        return ApproximationRow(
            node=node.output,
            function=node.kind,
            domain=(recipe.wanted.low, recipe.wanted.high),
            sample=(float(low.min()), float(high.max())),
            scaled=scales is not None,
            method=recipe.method,
            degrees=recipe.composition.degrees,
            depth=recipe.composition.depth,
            key_switches=recipe.composition.key_switches,
            error=recipe.error,
            gap=recipe.gap,
            error_sample=error,
            leaves=chance_beyond(extreme),
            harmless=harmless_share(applied),
        )
