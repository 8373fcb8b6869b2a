"""Batches compute what the same calls do one by one."""

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core
from cloakwork.errors import ParamError, SecretError, TraceError


def arrays(count: int) -> tuple[cw.Tensor, cw.Tensor]:
    generator = np.random.default_rng(count)
    return cw.asarray(generator.random(count)), cw.asarray(generator.random(count))


@pytest.mark.parametrize("count", [0, 1, 7, 2048, 2049, 300_000])
def test_a_chain_has_the_bits_of_its_calls(count: int) -> None:
    a, b = arrays(count)
    expected = (np.asarray(a) * np.asarray(b) + 1.5) / np.asarray(b) - np.asarray(a)
    with cw.batch():
        result = (a * b + 1.5) / b - a
    assert np.array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_bit(threads: int) -> None:
    a, b = arrays(1_000_001)
    expected = np.asarray(a) * np.asarray(b) + np.asarray(a)
    cw.set_threads(threads)
    try:
        with cw.batch():
            result = a * b + a
    finally:
        cw.set_threads(None)
    assert np.array_equal(np.asarray(result), expected)


def test_views_broadcasts_and_products_mix() -> None:
    a = cw.asarray(np.arange(12.0).reshape(3, 4))
    row = cw.asarray([1.0, 2.0, 3.0, 4.0])
    with cw.batch():
        product = a @ a.T
        shifted = a[:, ::-1] * row + 1
        total = cw.sum(shifted, axis=0)
    x = np.asarray(a)
    assert np.array_equal(np.asarray(product), x @ x.T)
    assert np.array_equal(np.asarray(total), (x[:, ::-1] * np.asarray(row) + 1).sum(axis=0))


def test_looking_at_a_result_runs_what_waits() -> None:
    a, b = arrays(5)
    with cw.batch():
        c = a + b
        first = float(c[0])
        d = c * 2
    assert first == float(a[0]) + float(b[0])
    assert np.array_equal(np.asarray(d), (np.asarray(a) + np.asarray(b)) * 2)


def test_writing_to_an_operand_does_not_change_what_was_called_before() -> None:
    a, b = arrays(5)
    before = np.asarray(a).copy()
    with cw.batch():
        c = a + b
        a += 1
    assert np.array_equal(np.asarray(c), before + np.asarray(b))
    assert np.array_equal(np.asarray(a), before + 1)


def test_a_batch_inside_a_batch_is_part_of_it() -> None:
    a, b = arrays(5)
    with cw.batch():
        with cw.batch():
            c = a + b
        d = c + 1
    assert np.array_equal(np.asarray(d), np.asarray(a) + np.asarray(b) + 1)


def test_an_abandoned_batch_leaves_nothing_behind() -> None:
    a, b = arrays(5)
    made: list[cw.Tensor] = []

    def abandon() -> None:
        with cw.batch():
            made.append(a + b)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        abandon()
    with pytest.raises(TraceError):
        float(made[0][0])
    assert np.array_equal(np.asarray(a + b), np.asarray(a) + np.asarray(b))


def test_wrong_calls_and_secrets_are_refused_at_the_call() -> None:
    a, _ = arrays(3)
    with cw.batch(), pytest.raises(ValueError, match="broadcast"):
        a + cw.asarray([1.0, 2.0])
    secret = cw.asarray([1.0])
    secret.mark_secret()
    with cw.batch(), pytest.raises(SecretError):
        secret + a


def test_operations_with_slots() -> None:
    a, b = arrays(4)
    results = cw.execute_batch([("add", a, b), ("multiply", cw.Slot(0), a), ("negative", b)])
    x, y = np.asarray(a), np.asarray(b)
    assert [np.asarray(r).tolist() for r in results] == [((x + y) * x).tolist(), (-y).tolist()]
    for wrong in ([("no such function", a)], [("add", cw.Slot(0), a)], [("_core", a)]):
        with pytest.raises(ParamError):
            cw.execute_batch(wrong)
    assert _core.batch_begin() is True  # nothing was left open
    _core.batch_end(abandon=True)


def test_a_fused_chain_needs_no_memory_for_what_passes() -> None:
    example = cw.zeros(100_000, dtype="f32")
    program = cw.trace(lambda a, b: a * b + a, example, example)
    text = program._core.plan_text()
    assert "together" in text
    assert "arena 0 B" in text
