"""Random expressions at once, in batches, as lists and as programs, on one thread and on two."""

import cloakwork as cw
import pytest

from python import random_expressions


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("first", range(0, 600, 100))
def test_all_ways_of_an_expression_give_the_same_and_numpys_values(first: int) -> None:
    wrong = {
        seed: [random_expressions.drawn(seed)[0].text(), *found]
        for seed in range(first, first + 100)
        if (found := list(random_expressions.findings(seed)))
    }
    assert not wrong


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_wrong_function_is_found_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    known, calls = cw.subtract, []

    def off(a: cw.Tensor, b: cw.Tensor) -> cw.Tensor:
        calls.append(a)
        return known(a, b) if len(calls) == 1 else known(b, a)

    monkeypatch.setattr(cw, "subtract", off)
    seeds = [seed for seed in range(200) if "subtract" in random_expressions.drawn(seed)[0].text()]
    found: list[str] = []
    for seed in seeds:
        calls.clear()
        found += random_expressions.findings(seed)
    for way in ("in a batch", "by a program", "at once, 2"):
        assert any(way in text for text in found), way
    monkeypatch.setattr(cw, "subtract", lambda a, b: known(b, a))
    assert any("by NumPy" in text for seed in seeds for text in random_expressions.findings(seed))


def test_sameness_is_of_bits_but_for_nan() -> None:
    import numpy as np

    one = np.array([0.0, np.nan, 1.0])
    assert random_expressions.is_same(one, np.array([0.0, -np.nan, 1.0]))
    assert not random_expressions.is_same(one, np.array([-0.0, np.nan, 1.0]))
    assert not random_expressions.is_same(one, np.nextafter(one, 2))
    assert not random_expressions.is_same(one, one.astype(np.float32))
    assert random_expressions.is_same(one * 1j, one * 1j)
