"""The report of a compiled model: sizes, errors, costs, and costs of the alternatives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cloakwork.compiler.approximation.report import ApproximationRow

# Of fewer inputs the chance that a value leaves its domain cannot be told.
FEW_ROWS = 40


@dataclass(frozen=True)
class Alternative:
    """A way to lay out a model, with its estimated costs; others with the scale that was chosen.

    mode              "latency", "memory" or "throughput"
    inputs            samples that one run takes, at most
    seconds           of a run on one core, by the cost model
    key_bytes         of the evaluation keys
    constant_bytes    of the encoded weights
    ciphertext_bytes  of an encrypted input in memory
    """

    mode: str
    degree: int
    depth: int
    inputs: int
    seconds: float
    rotations: int
    key_bytes: int
    constant_bytes: int
    ciphertext_bytes: int

    def describe(self) -> str:
        """One line."""
        return (
            f"{self.mode}: degree {self.degree}, {self.depth} levels, up to {self.inputs} "
            f"input{'s' if self.inputs > 1 else ''} in about {_seconds(self.seconds)}; "
            f"{self.rotations} rotation keys, keys {_size(self.key_bytes)}, weights "
            f"{_size(self.constant_bytes)}, encrypted input {_size(self.ciphertext_bytes)}"
        )


@dataclass(frozen=True)
class NodeCost:
    """A node of the graph: the levels used before it, and its estimated cost.

    With bootstrapping, used_levels are those below the level of a fresh ciphertext, and refreshed
    counts the ciphertexts that are bootstrapped just before it.
    """

    name: str
    kind: str
    source: str
    used_levels: int
    diagonals: int
    rotations: int
    seconds: float
    refreshed: int = 0

    def describe(self, width: int) -> str:
        """One line."""
        times = f", {self.refreshed} bootstrapped before" if self.refreshed else ""
        return (
            f"  {self.name.ljust(width)}  {self.kind:8} after {self.used_levels} levels, "
            f"{self.diagonals} diagonals, {self.rotations} rotations, "
            f"{_seconds(self.seconds)}{times}"
        )


@dataclass(frozen=True)
class CompileReport:
    """The report of `fhe.compile`.

    chosen            what was compiled, and `others`, which were not
    parameters        in words
    approximations    of functions by polynomials, and what the client computes, in words
    functions         the approximations, each with its domain, its error and the chance that an
                      input of the model leaves the domain
    sample_rows       inputs of the sample, from which ranges and domains come
    error             the largest error of an output by encryption, for inputs like the sample: by
                      the errors of trials, and by how sensitive outputs are to noise in values
    errors            the same by output: of each element, or one for all
    trial_inputs      how many inputs were tried
    trial_seconds     of one encrypted run on this machine, with all threads; inf where trials were
                      at a smaller degree alone
    approximation_error   the largest on the sample: what polynomials change
    largest_output    on the sample
    error_bound       the largest error of an output by encryption while values stay within their
                      ranges, except with a chance of about 2^-15; inf where the estimate leaves no
                      precision
    cost_factor       by which the cost model may be off
    bootstrapping     how often, of how many slots, and where; empty without it
    accepted          which inputs have right results, in words
    accepted_error    the largest error of an output, before the client's own steps, by encryption
                      and approximations, for any input that the client accepts and whose results it
                      does not refuse: an estimate from random ones.  None where inputs unlike the
                      sample may give wrong results
    result_errors     by result that is a number and that the client computes by steps of its own:
                      how far it is off where outputs have the `errors`, for inputs of the sample;
                      empty where outputs are the results.  Labels are right or another
    accepted_result_errors   the same where outputs have the `accepted_error`, for random inputs and
                      for outputs at the ends of what interval arithmetic allows
    client_decides    whether the client makes labels or comparisons of outputs, which may differ
                      where these are nearer to each other, or to a threshold, than the error
    memory_budget     of compiling, in bytes; None without one
    predicted_bytes   the largest predicted peak of a trial: its keys, encoded weights and run
    kept_bytes        the largest measured one, of the tensors and arenas of this process, beyond
                      those at the start; Python's own memory is beside it
    """

    name: str
    chosen: Alternative
    others: tuple[Alternative, ...]
    nodes: tuple[NodeCost, ...]
    parameters: str
    approximations: str
    functions: tuple[ApproximationRow, ...]
    sample_rows: int
    client: str
    error: float
    approximation_error: float
    largest_output: float
    error_bound: float
    trial_inputs: int
    trial_seconds: float
    cost_factor: float
    errors: Mapping[str, list[float]] = field(default_factory=dict)
    bootstrapping: str = ""
    accepted: str = ""
    accepted_error: float | None = None
    result_errors: Mapping[str, float] = field(default_factory=dict)
    accepted_result_errors: Mapping[str, float] = field(default_factory=dict)
    client_decides: bool = False
    memory_budget: int | None = None
    predicted_bytes: int = 0
    kept_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON's types; what is infinite is null."""
        found = json.loads(json.dumps(asdict(self)))
        return {
            **found,
            "error_bound": _finite(self.error_bound),
            "trial_seconds": _finite(self.trial_seconds),
            **{
                name: {result: _finite(error) for result, error in found[name].items()}
                for name in ("result_errors", "accepted_result_errors")
            },
        }

    def describe(self) -> str:
        """A page of text."""
        bound = (
            f"at most {self.error_bound:.2g} while values stay within their ranges"
            if self.error_bound < self.largest_output
            else "the estimate for all values within their ranges leaves no precision"
        )
        changed = (
            f"; that of approximations at most {self.approximation_error:.2g} on the sample"
            if self.approximations
            else ""
        )
        lines = [
            f"{self.name}: {self.chosen.describe()}",
            self.parameters,
            f"error of outputs by encryption: at most {self._errors()} for inputs like the sample "
            f"(from {self.trial_inputs} trial inputs); {bound}{changed}",
            self._accepted(),
            *self._results(),
            self._measured(),
            self._memory(),
        ]
        if self.sample_rows < FEW_ROWS:
            lines.append(
                f"the sample has {self.sample_rows} input{'s' if self.sample_rows > 1 else ''}: "
                f"ranges and domains are uncertain with fewer than {FEW_ROWS}"
            )
        lines += [f"instead, {other.describe()}" for other in self.others]
        widest = max((len(node.name) for node in self.nodes), default=0)
        lines += [self.bootstrapping] if self.bootstrapping else []
        lines += [node.describe(widest) for node in self.nodes]
        return "\n".join([*lines, *filter(None, [self.approximations, self.client])])

    def _errors(self) -> str:
        """The largest, and how much smaller those of other elements are."""
        least = min((min(each) for each in self.errors.values()), default=self.error)
        less = f" ({least:.2g} of the element of the smallest range)" if least < self.error else ""
        return f"{self.error:.2g}{less}"

    def _results(self) -> list[str]:
        """A line on results that the client computes, if these are numbers."""
        if not self.result_errors:
            return []
        parts = []
        for name, error in self.result_errors.items():
            most = self.accepted_result_errors.get(name)
            others = "" if most is None else f" ({most:.2g} for other accepted ones)"
            parts.append(f"{name} {error:.2g}{others}")
        what = "error of what the client computes, by encryption, for inputs like the sample"
        return [f"{what}: {', '.join(parts)}"]

    def _measured(self) -> str:
        """How long a run took, and whether estimates fit this machine as it is."""
        if self.trial_seconds == float("inf"):
            return "no run was made at this degree: errors are those of a small one, grown with it"
        ratio = self.trial_seconds / self.chosen.seconds if self.chosen.seconds > 0 else 1.0
        factor = f"a factor of {self.cost_factor:g}"
        if 1 / self.cost_factor <= ratio <= self.cost_factor:
            fit = f"estimates are within {factor}"
        else:
            fit = (
                f"{ratio:.2g} times the estimate: estimates are within {factor} on one core with "
                "AVX-512 IFMA and nothing beside it, and compare ways of layout on any machine"
            )
        return f"measured: {_seconds(self.trial_seconds)} a run here; {fit}"

    def _memory(self) -> str:
        """The memory of compiling, in words."""
        within = "" if self.memory_budget is None else f", within {_size(self.memory_budget)}"
        return (
            f"compiling took {_size(self.kept_bytes)} for trials, predicted at most "
            f"{_size(self.predicted_bytes)}{within}"
        )

    def _accepted(self) -> str:
        if self.accepted_error is None:
            return self.accepted
        error = f"{self.accepted_error:.2g}"
        near = ", within which labels may differ" if self.client_decides else ""
        return f"{self.accepted}; with an error of outputs estimated at up to {error}{near}"


def _seconds(seconds: float) -> str:
    if seconds >= 10:
        return f"{seconds:.0f} s"
    return f"{seconds:.2g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB"
