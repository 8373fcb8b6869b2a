"""Programs that are recorded without keys, where a trial would take gigabytes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler import search, trials
from cloakwork.compiler.client import Client
from cloakwork.compiler.server import Server
from cloakwork.errors import MemoryBudgetError
from cloakwork.fhe.keys import keys
from python.compiled_graphs import perceptron, sample_of

Given = tuple[Any, Any, Any, tuple[Any, Any], float]


@pytest.fixture(scope="module")
def given() -> Given:
    """What `tried` gets for a perceptron with a square: rotations and products."""
    found: list[Given] = []

    def kept(*given: Any) -> Any:
        found.append(given)
        return trials.tried(*given)

    graph = perceptron((20, 12, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "tried", kept)
        fhe.compile(graph, sample_of(graph, 24), degree=2**11, insecure=True)
    return found[-1]


def test_a_program_that_is_recorded_without_keys_serves_clients_with_keys(
    given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    emitter, described, context, (sample, expected), estimate = given
    assert described.rotations
    assert described.relinearization
    with_keys, trial = trials.tried(*given)
    with monkeypatch.context() as patch:
        patch.setattr(keys, "switching_key", None)
        program, bound = trials.untried(emitter, described, context, sample)
    assert program.inputs == with_keys.inputs
    assert program.types == with_keys.types
    assert bound == pytest.approx(trial.bound, rel=0.5)
    assert trials.seconds_of(expected, estimate) >= estimate
    client = Client(described, context)
    with client.keygen():
        result = Server(program).run(client.encrypt({n: x[0] for n, x in sample.items()}))
        found = client.unchecked(result, 1)
    for name, values in found.items():
        assert np.abs(values - expected[name][:1]).max() <= bound


def test_a_program_that_this_machine_cannot_run_is_refused_without_keys(
    given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    emitter, described, context, (sample, _), _ = given
    monkeypatch.setattr(trials, "memory_limit_bytes", lambda: 1 << 20)
    with pytest.raises(MemoryBudgetError, match="this machine"):
        trials.untried(emitter, described, context, sample)


@pytest.mark.parametrize(
    ("own", "other", "seconds", "bytes_", "outdone"),
    [
        (-0.5, -5.0, 1.05, 1, True),
        (0.9, -3.0, 1.1, 1, True),
        # Sure to pass, no more exact, slower, or beyond the budget.
        (-1.0, -5.0, 1.05, 1, False),
        (-0.5, -2.0, 1.05, 1, False),
        (-0.5, -5.0, 1.2, 1, False),
        (-0.5, -5.0, 1.05, 200, False),
    ],
)
def test_an_unsure_trial_is_left_out_for_one_as_fast_that_is_sure_to_pass(
    own: float, other: float, seconds: float, bytes_: int, outdone: bool
) -> None:
    def errors(excess: float) -> Any:
        return SimpleNamespace(excess=lambda _: excess)

    def candidate(layouts: Any, seconds: float, count: int) -> Any:
        return SimpleNamespace(layouts=layouts, seconds=seconds, peak=SimpleNamespace(total=count))

    searching: Any = SimpleNamespace(
        problem=SimpleNamespace(wanted={}),
        memory=SimpleNamespace(budget=100),
        _at_small_degree=errors,
    )
    others = [candidate(other, seconds, bytes_)]
    first = candidate(own, 1.0, 1)
    assert search.Search._is_outdone(searching, first, errors(own), others) == outdone
