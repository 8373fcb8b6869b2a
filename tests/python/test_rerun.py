"""Runs after the first: other inputs, other options, wrong inputs, several results at a time."""

from __future__ import annotations

import threading

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import InputError, ParamError

EXAMPLE = np.arange(4, dtype=np.int64)


def chain(a, b):
    for _ in range(10):
        a = a + b
    return a


def chained(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a + 10 * b


@pytest.fixture
def program() -> cw.Program:
    return cw.trace(chain, cw.asarray(EXAMPLE), cw.asarray(EXAMPLE))


def pair(seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    low, high = -(2**60), 2**60
    return random.integers(low, high, 4), random.integers(low, high, 4)


@pytest.mark.parametrize("options", [{}, {"threads": 1}, {"threads": 2, "profile": False}])
def test_each_run_computes_from_its_own_inputs(program, options):
    results = []
    for seed in range(5):
        a, b = pair(seed)
        results.append((program.run(cw.asarray(a), cw.asarray(b), **options), chained(a, b)))
    for result, expected in results:
        np.testing.assert_array_equal(np.asarray(result["out0"]), expected)


def test_all_ways_to_give_inputs_give_the_same(program):
    a, b = pair(1)
    whole = np.stack([a, b], axis=1)
    ways = [
        (cw.asarray(a), cw.asarray(b)),
        (a, b),
        (a.tolist(), cw.asarray(b)),
        ({"b": cw.asarray(b), "a": cw.asarray(a)},),
        (cw.asarray(whole)[:, 0], cw.asarray(whole)[:, 1]),
    ]
    for inputs in ways:
        np.testing.assert_array_equal(program.run(*inputs).outputs[0], chained(a, b))


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ((EXAMPLE,), ParamError),
        ((EXAMPLE, EXAMPLE, EXAMPLE), ParamError),
        ((EXAMPLE, np.arange(5)), InputError),
        ((EXAMPLE, EXAMPLE.astype(np.int32)), InputError),
        ((EXAMPLE.reshape(2, 2), EXAMPLE), InputError),
    ],
)
def test_wrong_inputs_are_refused_after_a_good_run_as_before_it(program, inputs, error):
    given = [cw.asarray(array) for array in inputs]
    with pytest.raises(error) as before:
        program.run(*given)
    program.run(EXAMPLE, EXAMPLE)
    program.run(cw.asarray(EXAMPLE), cw.asarray(EXAMPLE))
    with pytest.raises(error) as after:
        program.run(*given)
    assert str(after.value) == str(before.value)


@pytest.mark.parametrize("options", [{"threads": 0}, {"threads": 5000}, {"profil": True}])
def test_wrong_options_are_refused_after_a_good_run(program, options):
    tensors = cw.asarray(EXAMPLE), cw.asarray(EXAMPLE)
    program.run(*tensors)
    with pytest.raises((ParamError, TypeError)):
        program.run(*tensors, **options)


def test_a_result_and_its_report_stay_those_of_their_run(program):
    tensors = cw.asarray(EXAMPLE), cw.asarray(EXAMPLE)
    first = program.run(*tensors, threads=1)
    out = first.outputs[0]
    program.run(cw.asarray(EXAMPLE + 1), cw.asarray(EXAMPLE), threads=2)
    assert first.outputs[0] is out
    np.testing.assert_array_equal(out, chained(EXAMPLE, EXAMPLE))
    assert first.report is first.report
    assert first.report.threads == 1
    assert len(list(first.report.steps())) == first.report.planned_steps
    with pytest.raises(AttributeError):
        first.outputs = []


def test_an_output_may_be_the_next_runs_input(program):
    tensor, b = cw.asarray(EXAMPLE), cw.asarray(EXAMPLE)
    for _ in range(3):
        tensor = program.run(tensor, b).outputs[0]
    np.testing.assert_array_equal(tensor, EXAMPLE + 30 * EXAMPLE)


def test_runs_of_one_program_on_several_threads_do_not_mix(program):
    wrong = []

    def work(seed: int) -> None:
        for step in range(200):
            a, b = pair(1000 * seed + step)
            got = program.run(cw.asarray(a), cw.asarray(b)).outputs[0]
            if not np.array_equal(np.asarray(got), chained(a, b)):
                wrong.append((seed, step))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_secret_input_is_run_as_one(program):
    secret, b = cw.asarray(EXAMPLE.copy()), cw.asarray(EXAMPLE)
    program.run(secret, b)
    secret.mark_secret()
    np.testing.assert_array_equal(program.run(secret, b).outputs[0], chained(EXAMPLE, EXAMPLE))


@pytest.mark.parametrize("size", [1, 3, 64, 1000, 5000])
def test_fusions_of_one_block_and_of_many_agree_with_numpy(size):
    random = np.random.default_rng(size)
    a = random.integers(-(2**62), 2**62, size)
    b = random.integers(-(2**62), 2**62, (3, size))

    def function(x, y):
        z = (x + y) * x - y
        return z, z + 1, -(z * z)

    program = cw.trace(function, cw.asarray(a), cw.asarray(b))
    z = (a + b) * a - b
    for threads in (1, 2):
        for _ in range(2):
            got = program.run(cw.asarray(a), cw.asarray(b), threads=threads).outputs
            for one, expected in zip(got, (z, z + 1, -(z * z)), strict=True):
                np.testing.assert_array_equal(one, expected)
