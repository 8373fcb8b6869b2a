"""Compiling within a memory budget: what does not keep to it is not tried, and predictions hold."""

from __future__ import annotations

import re
import subprocess
import sys
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import backend, fhe
from cloakwork.compiler import search
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.compiler.memory import Memory, peak_of
from cloakwork.compiler.plans import Layouts
from cloakwork.errors import MemoryBudgetError, ParamError
from cloakwork.programs.options import bytes_of
from python.compiled_graphs import perceptron, sample_of

SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
# A second compilation in a process that has loaded everything by a first.
_MEASURED = """
import re, sys
from cloakwork import fhe
from cloakwork.compiler.building import Builder
from cloakwork.errors import ParamError
from python.compiled_graphs import perceptron, sample_of

def resident(name):
    # Not getrusage, whose peak begins with that of the process that started this one.
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(status[name].split()[0]) << 10

def rectified():
    builder = Builder(name="relu")
    return builder.graph([builder.function(builder.input("x", (6,)), "relu")])

graph = {"squares": lambda: perceptron((24, 16, 4)), "relu": rectified}[sys.argv[1]]()
sample = sample_of(graph, 48)
options = {"optimize": sys.argv[2], "insecure": True}
fhe.compile(graph, sample, degree=2**11, **options)
try:
    fhe.compile(graph, sample, degree=int(sys.argv[3]), memory_budget="1MiB", **options)
except ParamError as refusal:
    budget = re.search(r"at least (\\d+MiB)", str(refusal))[1]
before = resident("VmRSS")
made = fhe.compile(graph, sample, degree=int(sys.argv[3]), memory_budget=budget, **options)
taken = resident("VmHWM") - before
print(budget, taken, made.report.predicted_bytes, made.report.kept_bytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")
@pytest.mark.parametrize(
    ("model", "mode", "degree"),
    [
        ("squares", "latency", 2**13),
        ("squares", "memory", 2**13),
        ("squares", "throughput", 2**12),
        ("relu", "latency", 2**13),
        ("relu", "throughput", 2**12),
    ],
)
def test_a_process_stays_under_the_least_budget_that_is_stated(
    model: str, mode: str, degree: int
) -> None:
    words = [sys.executable, "-c", _MEASURED, model, mode, str(degree)]
    tests = Path(__file__).parents[1]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tests)
    assert done.returncode == 0, done.stderr
    budget, taken, predicted, kept = done.stdout.split()
    most = bytes_of(budget)
    assert most is not None
    assert int(taken) <= most
    assert 0 < int(kept) <= int(predicted)
    # Rounded up to whole MiB.
    assert most - 2**20 < int(predicted) <= most


def compiled(**options: Any) -> CompiledModel:
    graph = perceptron((8, 4, 2))
    return fhe.compile(graph, sample_of(graph, 24), **{**SMALL, **options})


def least_of(refusal: pytest.ExceptionInfo[ParamError]) -> str:
    found = re.search(r"at least (\d+MiB)", str(refusal.value))
    assert found is not None
    return found[1]


@pytest.mark.parametrize("mode", ["latency", "memory", "throughput"])
def test_the_least_budget_is_stated_before_anything_is_tried_and_suffices(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(search, "tried", None)
        patch.setattr(search, "untried", None)
        with pytest.raises(ParamError, match=r"memory_budget: got 1MiB") as refusal:
            compiled(optimize=mode, memory_budget="1MiB")
    report = compiled(optimize=mode, memory_budget=least_of(refusal)).report
    budget = bytes_of(least_of(refusal))
    assert report.memory_budget == budget
    assert 0 < report.kept_bytes <= report.predicted_bytes <= budget
    assert f"within {budget / 2**20:.1f} MiB" in report.describe()
    found = report.to_json()
    assert found["kept_bytes"] == report.kept_bytes


def test_bytes_and_text_are_one_budget_and_anything_else_is_refused() -> None:
    assert compiled(memory_budget=2**30).report.memory_budget == 2**30
    assert compiled(memory_budget="1GiB").report.memory_budget == 2**30
    assert compiled().report.memory_budget is None
    for wrong in ("much", "-1", -1, 1.5, "16EiB"):
        with pytest.raises(ParamError, match="memory_budget"):
            compiled(memory_budget=wrong)


def test_a_budget_changes_nothing_of_what_keeps_to_it() -> None:
    free, within = compiled(), compiled(memory_budget="4GiB")
    assert free.context.parameters.scale == within.context.parameters.scale
    assert free.report.chosen == within.report.chosen


def test_a_trial_beyond_the_budget_is_replaced_by_a_recording_without_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Errors of a small degree suffice: the keys of the large one are never made."""
    graph = perceptron((20, 12, 3))
    sample, peaks = sample_of(graph, 24), []

    def noted(layouts: Layouts) -> Any:
        peaks.append(peak_of(layouts))
        return peaks[-1]

    monkeypatch.setattr(search, "peak_of", noted)
    options: dict[str, Any] = {"degree": 2**14, "insecure": True, "precision": 0.5}
    whole = fhe.compile(graph, sample, **options)
    assert whole.report.trial_seconds < np.inf
    budget = max(one.recorded for one in peaks) + 2**20
    assert budget < max(one.total for one in peaks)
    made = fhe.compile(graph, sample, memory_budget=budget, **options)
    assert made.report.trial_seconds == np.inf
    assert made.report.kept_bytes <= made.report.predicted_bytes <= budget
    client, server = made.split()
    with client.keygen():
        found = client.decrypt(server.run(client.encrypt(sample["x"][0])))
    right = graph.run({"x": sample["x"][:1]})[graph.outputs[0]]
    assert np.abs(found - right).max() <= made.report.error


def test_of_what_a_budget_refuses_the_least_is_kept() -> None:
    memory = Memory(100)
    assert [memory.allows(count) for count in (100, 500, 300, 400)] == [True, *[False] * 3]
    assert memory.least == 300
    with memory.holding(60):
        assert not memory.allows(50)
    assert memory.allows(50)


def test_without_a_budget_what_this_machine_has_no_memory_for_is_refused_before_it_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "tried", lambda *_: pytest.fail("a trial beyond the memory"))
    monkeypatch.setattr(backend, "memory_limit_bytes", lambda: 2**24)
    graph = perceptron((8, 4, 2))
    sample = sample_of(graph, 24)
    words = r"at least \d+MiB, by prediction, and this machine has 16MiB: "
    with pytest.raises(MemoryBudgetError, match=words + 'optimize="memory" takes less; a memory_'):
        fhe.compile(graph, sample, **SMALL)
    with pytest.raises(MemoryBudgetError, match="this machine has 16MiB; a memory_budget= beyond"):
        fhe.compile(graph, sample, optimize="memory", **SMALL)
    assert not Memory().allows(2**24 + 1)
    monkeypatch.undo()
    monkeypatch.setattr(backend, "memory_limit_bytes", lambda: 2**24)
    assert fhe.compile(graph, sample, memory_budget="1GiB", **SMALL).report.predicted_bytes > 2**24


def test_an_imprecise_candidate_within_the_budget_is_told_beside_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The cheaper scale fits, and the larger one that would be exact enough does not."""
    graph = perceptron((8, 4, 2))
    sample = sample_of(graph, 24)
    sizes = []

    def grown(layouts: Layouts) -> Any:
        peak = peak_of(layouts)
        sizes.append(layouts.sizes.scale)
        return peak if layouts.sizes.scale == min(sizes) else peak._replace(run=2**40)

    monkeypatch.setattr(search, "peak_of", grown)
    with pytest.raises(ParamError, match=r"memory_budget.*or a larger error: .*precision"):
        fhe.compile(graph, sample, precision=1e-8, memory_budget="1GiB", **SMALL)


def test_a_scale_between_one_too_small_and_one_too_large_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2^30 is not exact enough, the next that is tried does not fit: a few bits more do."""
    graph = perceptron((8, 4, 2))
    sample, scales = sample_of(graph, 24), list[int]()

    def grown(layouts: Layouts) -> Any:
        scales.append(layouts.sizes.scale)
        peak = peak_of(layouts)
        return peak._replace(run=2**40) if scales[-1] >= 40 else peak

    error = fhe.compile(graph, sample, precision=1.0, **SMALL).report.error
    monkeypatch.setattr(search, "peak_of", grown)
    # Here scales differ in memory alone.
    monkeypatch.setattr(search, "_WORTH", 1.0)
    made = fhe.compile(graph, sample, precision=error / 8, memory_budget="1GiB", **SMALL)
    assert made.report.error <= error / 8
    assert {30, 40} <= set(scales)
    assert 30 < scales[-1] < 40


def test_a_scale_between_two_is_tried_before_a_larger_degree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2^30 is not exact enough at the least degree, where large scales take long."""
    graph, least = perceptron((8, 4, 2)), 2**11
    sample, estimate = sample_of(graph, 24), vars(Layouts)["seconds"].fget

    def slower(layouts: Layouts) -> float:
        is_slow = layouts.sizes.degree == least and layouts.sizes.scale >= 40
        return 1e3 if is_slow else float(estimate(layouts))

    monkeypatch.setattr(Layouts, "seconds", property(slower))
    first = fhe.compile(graph, sample, precision=1.0, insecure=True)
    assert (first.context.parameters.degree, log2(first.context.parameters.scale)) == (least, 30)
    wanted = first.report.error / 8
    made = fhe.compile(graph, sample, precision=wanted, insecure=True)
    assert made.report.error <= wanted
    assert made.context.parameters.degree == least
    assert 30 < log2(made.context.parameters.scale) < 40


def test_other_ways_are_told_with_the_scale_that_was_chosen() -> None:
    """And not with that of the first candidate, which is not exact enough."""
    graph = perceptron((8, 4, 2))
    sample = sample_of(graph, 24)
    loose = fhe.compile(graph, sample, optimize="memory", precision=1.0).report.chosen
    made = fhe.compile(graph, sample, precision=1e-7)
    (told,) = (one for one in made.report.others if one.mode == "memory")
    assert told.degree == made.report.chosen.degree
    assert told.ciphertext_bytes == made.report.chosen.ciphertext_bytes
    assert (told.degree, told.key_bytes) > (loose.degree, loose.key_bytes)
