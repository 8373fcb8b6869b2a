"""Generators of random numbers: repeatable, advancing, and distributed as they say."""

from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import ParamError


def test_a_seed_repeats_a_stream_and_each_call_advances_it() -> None:
    first, second = cw.default_rng(5), cw.default_rng(5)
    for call in range(3):
        a, b = first.random(4), second.random(4)
        assert a.tolist() == b.tolist(), call
    assert first.random(4).tolist() != a.tolist()
    assert cw.default_rng(6).random(4).tolist() != cw.default_rng(5).random(4).tolist()
    assert cw.default_rng().random(4).tolist() != cw.default_rng().random(4).tolist()


def test_numbers_are_the_same_on_every_machine() -> None:
    rng = cw.default_rng(2026)
    assert rng.integers(100, size=6).tolist() == [17, 89, 39, 67, 57, 79]
    assert rng.permutation(6).tolist() == [0, 5, 4, 3, 2, 1]


def test_numbers_do_not_depend_on_threads() -> None:
    whole = cw.default_rng(1).random(200_000).tolist()
    cw.set_threads(1)
    try:
        assert cw.default_rng(1).random(200_000).tolist() == whole
    finally:
        cw.set_threads(None)


def test_moments_are_those_of_the_distribution() -> None:
    rng = cw.default_rng(3)
    for drawn, mean, deviation in (
        (rng.random(100_000), 0.5, 12**-0.5),
        (rng.uniform(-1.0, 3.0, 100_000), 1.0, 4 * 12**-0.5),
        (rng.standard_normal(100_000), 0.0, 1.0),
        (rng.normal(5.0, 2.0, 100_000), 5.0, 2.0),
    ):
        assert float(cw.mean(drawn)) == pytest.approx(mean, abs=0.03)
        assert float(cw.std(drawn)) == pytest.approx(deviation, abs=0.03)
    assert rng.normal(cw.asarray([1.0, 2.0]), 0.5).shape == (2,)
    assert rng.random().shape == ()
    assert rng.random(3, "f32").dtype == cw.float32


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(0, 5, "i64"), (-3, 4, "int8"), (-(2**63), 2**63, "i64"), (0, 2**64, "u64"), (7, 8, "uint8"),
     (0, 3 * 2**62, "u64")],
)  # fmt: skip
def test_integers_lie_within_their_range(low: int, high: int, dtype: str) -> None:
    drawn = cw.default_rng(4).integers(low, high, (50, 20), dtype)
    values = np.asarray(drawn)
    assert drawn.dtype == cw.dtype(dtype)
    assert low <= int(values.min())
    assert int(values.max()) < high
    if high - low < 10:
        assert set(values.ravel().tolist()) == set(range(low, high))
    else:
        assert float(values.mean()) == pytest.approx((low + high) / 2, abs=(high - low) / 20)


def test_permutations_hold_each_element_once() -> None:
    rng = cw.default_rng(5)
    assert sorted(rng.permutation(100).tolist()) == list(range(100))
    x = np.arange(12).reshape(3, 4)
    assert sorted(rng.permutation(x).tolist()) == x.tolist()
    assert sorted(rng.permutation(x, axis=1)[0].tolist()) == [0, 1, 2, 3]
    assert rng.permutation(0).shape == (0,)


def test_choices_follow_their_probabilities() -> None:
    rng = cw.default_rng(6)
    p = [0.5, 0.0, 0.2, 0.3]
    counts = np.bincount(np.asarray(rng.choice(4, 100_000, p=p)), minlength=4)
    np.testing.assert_allclose(counts / 100_000, p, atol=0.01)
    firsts = [int(rng.choice(4, 1, replace=False, p=p)[0]) for _ in range(2000)]
    np.testing.assert_allclose(np.bincount(firsts, minlength=4) / 2000, p, atol=0.05)
    assert sorted(rng.choice(4, 3, replace=False, p=p).tolist()) == [0, 2, 3]
    assert sorted(rng.choice([5, 6, 7], (3,), replace=False).tolist()) == [5, 6, 7]
    assert rng.choice(np.zeros((3, 2)), (4, 5)).shape == (4, 5, 2)
    assert rng.choice([5, 6, 7]).shape == ()


def test_wrong_arguments_are_refused() -> None:
    rng = cw.default_rng(7)
    calls: list[Any] = [
        lambda: cw.default_rng(-1), lambda: cw.default_rng(2**128), lambda: rng.integers(0),
        lambda: rng.integers(300, dtype="uint8"), lambda: rng.integers(3, dtype="f32"),
        lambda: rng.choice(3, 4, replace=False), lambda: rng.choice(2, p=[0.5, 0.6]),
        lambda: rng.choice(2, p=[1.0]), lambda: rng.choice(0), lambda: rng.normal(0.0, -1.0),
        lambda: rng.choice(3, 3, replace=False, p=[0.5, 0.5, 0.0]),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ParamError):
            call()
