"""Whether an imported graph computes what the given model computes: both are run and compared.

The inputs are those of the sample, values near them, and mixtures: each feature of such a row is
that of another row of the sample, so that a model with a choice takes its other ways as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import thread_time
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.client_texts import as_table
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine
from cloakwork.errors import ModelError
from cloakwork.once import once

Values = NDArray[Any]
Floats = NDArray[np.float64]
# Inputs [batch, *shape] by name.
Rows = Mapping[str, Floats]

_SEED = 3
# Rows of the sample; as many others are near these, and mixed of these.
_MOST_ROWS = 64
_KINDS = ("of the sample", "near the sample", "mixed of the sample")
# Relative to the width of a feature's range: values near the sample, and beyond a tie.
_NEAR, _NUDGE = 0.01, 1e-5
# What float32 may round away, relative to the largest value of a result; and of its inputs.
_ROUNDING, _LEAST = 1e-3, 1e-12
# Multiplications of the graph, and seconds of the model, that a proof may take.
_MOST_WORK, _SECONDS = 1 << 25, 0.2
# Rows that differ and are looked at again; draws that a label within rounding may take.
_MOST_AGAIN, _DRAWS = 8, 32


@dataclass(frozen=True)
class Original:
    """A model as it was given.

    run     of rows: for each result of the graph, in order, the arrays that may stand for it, by
            the name of what gives them
    alone   whether it is run on one row at a time: control flow sees a batch of 1, too
    advice  what to do where the graph computes something else
    blame   of one row: the first node whose value differs, or nothing
    off     what rounding may change, relative to the largest value of a result
    runs    whether anything here runs it as it is: if not, nothing is compared
    """

    name: str
    run: Callable[[Rows], Sequence[Mapping[str, Values]]]
    alone: bool
    advice: str
    blame: Callable[[Rows], str] = lambda rows: ""
    off: float = _ROUNDING
    runs: bool = True


class _Outcome(NamedTuple):
    """The results of graph and model on the rows where both have one."""

    rows: Rows
    kinds: NDArray[np.int64]
    own: Mapping[str, Values]
    given: Sequence[Mapping[str, Values]]


def with_batch(result: Any) -> Values:
    """The result for one row with a batch axis, which some models drop."""
    found = np.asarray(result)
    return found if found.shape[:1] == (1,) else found[np.newaxis]


def prove(graph: Graph, original: Original, sample: Any) -> None:
    """ModelError where the graph computes something else than the model, beyond float32's rounding.

    Rows on which either has no value are left out: what a sample must fulfil is checked elsewhere.
    """
    picked = _picked(graph, sample)
    if picked is None or not original.runs:
        return
    if graph.client_head is not None:
        # Rows are numbers: texts are the places of their categories.
        graph = replace(graph, client_head=graph.client_head.of_places())
    head = graph.client_head
    # Estimators compute with float64, and clients of a head compare with it.
    exact = not original.alone and head is not None and bool(head.steps.steps)
    rows, kinds, widths = _probes(picked, _affordable(graph), exact=exact)
    with catch_warnings(), np.errstate(all="ignore"):
        simplefilter("ignore")
        outcome = _outcome(graph, original, rows, kinds)
        if outcome is not None:
            _Comparison(graph, original, outcome, widths).check()


def encrypted_rows(graph: Graph, sample: Any) -> Rows | None:
    """The values to encrypt for some rows of the sample; None where the graph refuses them."""
    picked, head = _picked(graph, sample), graph.client_head
    if picked is None or head is None:
        return picked
    try:
        return head.of_places().run(picked)
    except ModelError:
        return None


def _picked(graph: Graph, sample: Any) -> Rows | None:
    """Rows of the sample [rows, *shape]; None for a sample that the graph refuses."""
    head = graph.client_head
    first = graph.inputs[0].output if head is None else next(iter(head.inputs))
    given = sample if isinstance(sample, Mapping) else {first: sample}
    try:
        has_texts = head is not None and bool(head.texts)
        array = as_table if has_texts else np.asarray
        if head is not None:
            given = {name: head.in_order(name, values) for name, values in given.items()}
        arrays = {name: array(values) for name, values in given.items()}
        count = min(len(values) for values in arrays.values())
        places = np.linspace(0, count - 1, min(count, _MOST_ROWS)).astype(np.int64)
        found = graph.check_given({name: values[places] for name, values in arrays.items()})
    except (ModelError, TypeError, ValueError, IndexError):
        return None
    return found


def _affordable(graph: Graph) -> int:
    """How many rows the graph is run on, at least one of each kind."""
    work = sum(node.nonzeros if isinstance(node, Affine) else 4 * node.size for node in graph.nodes)
    return int(max(_MOST_WORK // max(work, 1), len(_KINDS)))


def _probes(picked: Rows, most: int, *, exact: bool) -> tuple[Rows, NDArray[np.int64], Rows]:
    """Rows with their kinds in turn, at most so many; and the width of each feature.

    exact   as they are: else models compute with float32, and all see the same numbers
    """
    draw = np.random.default_rng(_SEED)
    found, widths = {}, {}
    for name, own in picked.items():
        known = np.nan_to_num(own)
        low, high = known.min(axis=0), known.max(axis=0)
        # What is always whole may be an index or a category, and stays so.
        whole = (known == np.rint(known)).all(axis=0)
        widths[name] = np.where(whole, 0.0, high - low)
        near = np.clip(own + _NEAR * widths[name] * draw.uniform(-1, 1, own.shape), low, high)
        mixed = np.take_along_axis(own, draw.integers(0, len(own), own.shape), axis=0)
        turns = np.stack([own, near, mixed], axis=1).reshape(-1, *own.shape[1:])
        rounded = turns if exact else turns.astype(np.float32).astype(np.float64)
        found[name] = rounded[:most]
    count = len(next(iter(found.values())))
    return found, np.arange(count) % len(_KINDS), widths


def _outcome(
    graph: Graph, original: Original, rows: Rows, kinds: NDArray[np.int64]
) -> _Outcome | None:
    parts = []
    for places in _model_parts(original, kinds):
        part = {name: values[places] for name, values in rows.items()}
        try:
            parts.append((places, original.run(part)))
        except ModelError:
            raise
        except Exception as error:  # of any library
            if 0 in kinds[places]:
                raise ModelError(
                    f"{original.name}: expected a model that runs on the sample, found "
                    f"{type(error).__name__}: {error}; run it on the sample by itself first"
                ) from error
    found = _graph_values(graph, rows, np.concatenate([places for places, _ in parts]))
    if found is None:
        return None
    kept, own = found
    order = {place: number for number, place in enumerate(np.concatenate([p for p, _ in parts]))}
    chosen = np.array([order[place] for place in kept])
    given = [
        {
            label: np.concatenate([part[index][label] for _, part in parts])[chosen]
            for label in first
        }
        for index, first in enumerate(parts[0][1])
    ]
    return _Outcome({n: v[kept] for n, v in rows.items()}, kinds[kept], own, given)


def _model_parts(original: Original, kinds: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The rows that the model is run on at once: each alone while there is time, or a kind."""
    if not original.alone:
        for kind, _ in enumerate(_KINDS):
            places = np.flatnonzero(kinds == kind)
            if places.size:
                yield places
        return
    start = thread_time()
    for place, _ in enumerate(kinds):
        if place >= len(_KINDS) and thread_time() - start > _SECONDS:
            return
        yield np.array([place])


def _graph_values(
    graph: Graph, rows: Rows, places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Mapping[str, Values]] | None:
    """The graph's results, and the rows on which it has any."""
    try:
        return places, graph.predict({name: values[places] for name, values in rows.items()})
    except ModelError:
        kept, found = [], []
        for place in places:
            try:
                found.append(graph.predict({n: v[place : place + 1] for n, v in rows.items()}))
            except ModelError:
                continue
            kept.append(place)
    if not kept:
        return None
    joined = {name: np.concatenate([one[name] for one in found]) for name in graph.results}
    return np.array(kept), joined


class _Comparison:
    """Of all results on all rows."""

    def __init__(self, graph: Graph, original: Original, outcome: _Outcome, widths: Rows) -> None:
        self.graph, self.original, self.outcome, self.widths = graph, original, outcome, widths
        self.draw = np.random.default_rng(_SEED)
        inputs = max(float(np.abs(np.nan_to_num(v)).max()) for v in outcome.rows.values())
        self.least = _LEAST * max(inputs, 1e-300)

    def check(self) -> None:
        for index, name in enumerate(self.graph.results):
            self._check_result(index, name)

    def _check_result(self, index: int, name: str) -> None:
        own, given = self.outcome.own[name], self.outcome.given[index]
        fitting = {label: values for label, values in given.items() if _fit(own, values)}
        if not fitting:
            shapes = " or ".join(f"{list(v.shape[1:])} of {label}" for label, v in given.items())
            raise ModelError(
                f"{self.original.name}: result {name!r}: expected values {shapes}, found "
                f"{list(own.shape[1:])} of the imported graph; {self.original.advice}"
            )
        wrong = {label: self._wrong(own, values) for label, values in fitting.items()}
        label = min(wrong, key=lambda one: int(wrong[one].sum()))
        places = np.flatnonzero(wrong[label])
        if not places.size:
            return
        left = [p for p in places[:_MOST_AGAIN] if not self._is_tie(index, name, label, p)]
        if left:
            raise self._difference(name, label, fitting[label], places, int(left[0]))

    def _tolerance(self, given: Values) -> float:
        finite = given[np.isfinite(given)]
        return self.original.off * float(np.abs(finite).max(initial=0.0)) + self.least

    def _wrong(self, own: Values, given: Values, tolerance: float | None = None) -> Values:
        """[rows]: whether they differ."""
        flat = own.reshape(len(own), -1)
        other = given.reshape(len(given), -1)
        if _is_label(own):
            return np.asarray((flat.astype(object) != other.astype(object)).any(axis=1))
        exact = other.astype(np.float64)
        most = self._tolerance(exact) if tolerance is None else tolerance
        # The model's own overflow is no difference.
        off = (np.abs(flat - exact) > most) & np.isfinite(exact)
        return np.asarray(off.any(axis=1))

    def _is_tie(self, index: int, name: str, label: str, place: int) -> bool:
        """Whether rounding alone may choose the other side."""
        row = {n: values[place : place + 1] for n, values in self.outcome.rows.items()}
        given = self.outcome.given[index][label]
        if _is_label(self.outcome.own[name]) and self._label_within(name, row, given[place]):
            return True
        if not any(width.any() for width in self.widths.values()):
            return False
        moved = {
            n: values + _NUDGE * self.widths[n] * self.draw.choice([-1.0, 1.0], values.shape)
            for n, values in row.items()
        }
        moved = {n: values.astype(np.float32).astype(np.float64) for n, values in moved.items()}
        try:
            own, other = self.graph.predict(moved)[name], self.original.run(moved)[index][label]
        except Exception:  # of any library, beyond the sample's range
            return False
        tolerance = None if _is_label(own) else self._tolerance(given.astype(np.float64))
        return not self._wrong(own, other, tolerance).any()

    def _label_within(self, name: str, row: Rows, wanted: Any) -> bool:
        """Whether scores within rounding of those of the graph give a label."""
        scores = self.graph.run(self.graph.prepare(row))
        for _ in range(_DRAWS):
            moved = {}
            for output, values in scores.items():
                largest = self._largest[output]
                moved[output] = values + self.original.off * largest * self.draw.uniform(
                    -1, 1, values.shape
                )
            found = self.graph.finish(moved)[name]
            if not self._wrong(found, np.asarray(wanted)[np.newaxis]).any():
                return True
        return False

    @once
    def _largest(self) -> dict[str, float]:
        """Of each score that the client decrypts."""
        scores = self.graph.run(self.graph.prepare(self.outcome.rows))
        return {output: float(np.abs(values).max()) for output, values in scores.items()}

    def _difference(
        self, name: str, label: str, given: Values, places: Values, place: int
    ) -> ModelError:
        own = self.outcome.own[name]
        row = {n: values[place : place + 1] for n, values in self.outcome.rows.items()}
        count, kind = len(own), _KINDS[int(self.outcome.kinds[place])]
        if _is_label(own):
            found = "another label"
        else:
            exact = given.astype(np.float64).reshape(count, -1)
            off = np.abs(own.reshape(count, -1)[place] - exact[place]).max()
            found = f"a value off by {off:.3g}, of {np.abs(exact).max():.3g} at most"
        blame = self.original.blame(row)
        return ModelError(
            f"{self.original.name}: result {name!r}: expected a graph that computes {label}, found "
            f"{found} on an input {kind} ({len(places)} of {count} inputs differ)"
            f"{'; first at ' + blame if blame else ''}; {self.original.advice}"
        )


def _is_label(values: Values) -> bool:
    return values.dtype.kind not in "fc"


def _fit(own: Values, given: Values) -> bool:
    """Whether rows have as many elements, numbers or labels alike."""
    if own.size != given.size or len(own) != len(given):
        return False
    return _is_label(own) or given.dtype.kind in "fiub"
