"""Places of bootstrapping: the cheapest of all, with made-up costs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress, product
from math import inf

import numpy as np
import pytest
from cloakwork.compiler.placing import Refresh, Stage, placed
from cloakwork.errors import ParamError


def stage(name: str, reads: Mapping[str, int], cost: float = 1.0, **options: int) -> Stage:
    """A stage whose time grows with its level."""
    return Stage(name, reads, lambda level: cost * (level + 1), **options)


def sequence(*levels: int, live: tuple[int, ...] = ()) -> list[Stage]:
    """An input, and stages one after the other."""
    own = live or (1,) * len(levels)
    later = (
        stage(f"{place + 1}", {f"{place}": used}, live=own[place])
        for place, used in enumerate(levels)
    )
    return [stage("0", {}), *later]


def cheapest(stages: list[Stage], top: int, refresh: Refresh) -> float:
    """The least time over all places and all levels, tried one by one."""
    best = inf
    subsets = [
        [tuple(compress(own.reads, chosen)) for chosen in product((0, 1), repeat=len(own.reads))]
        for own in stages
    ]
    made = {own.name: own for own in stages}
    for places in product(*subsets):
        for levels in product(range(max(top, refresh.level_out) + 1), repeat=len(stages)):
            held: dict[str, int] = {}
            seconds = 0.0
            for own, refreshed, level in zip(stages, places, levels, strict=True):
                if any(held[name] < refresh.level_in for name in refreshed):
                    break
                held |= dict.fromkeys(refreshed, refresh.level_out)
                seconds += refresh.seconds * sum(made[name].live for name in refreshed)
                most = min((held[x] - used for x, used in own.reads.items()), default=top)
                if level > most:
                    break
                held[own.name], seconds = level, seconds + own.seconds(level)
            else:
                best = min(best, seconds)
    return best


@pytest.mark.parametrize("seed", range(8))
def test_no_other_places_are_cheaper(seed: int) -> None:
    generator = np.random.default_rng(seed)

    def used() -> int:
        return int(generator.integers(0, 3))

    def cost() -> float:
        return float(generator.uniform(0.1, 3))

    stages = [
        stage("x", {}, cost()),
        stage("a", {"x": used()}, cost(), live=int(generator.integers(1, 3))),
        stage("b", {"a": used()}, cost()),
        stage("sum", {"b": used(), "a" if seed % 2 else "x": used()}, cost()),
    ]
    refresh = Refresh(float(generator.uniform(0.5, 6)), int(generator.integers(0, 2)), 3)
    top = int(generator.integers(2, 4))
    found = placed(stages, top, refresh)
    assert found.seconds == pytest.approx(cheapest(stages, top, refresh))


def test_a_chain_that_is_long_enough_needs_none() -> None:
    found = placed(sequence(2, 1, 2), 5, Refresh(100.0, 0, 4))
    assert found.count == 0
    assert found.levels == (5, 3, 2, 0)


def test_a_refresh_stands_where_the_fewest_ciphertexts_live() -> None:
    found = placed(sequence(2, 1, 1, 2, live=(8, 8, 1, 8)), 4, Refresh(50.0, 0, 4))
    assert found.refreshed == ((), (), (), (), ("3",))


def test_a_value_that_waits_is_not_refreshed_where_the_sum_can_be() -> None:
    """The levels of x suffice up to the sum, those of the other operand do not."""
    stages = [
        stage("input", {}), stage("x", {"input": 1}), stage("a", {"x": 3}), stage("b", {"a": 3}),
        stage("sum", {"b": 1, "x": 0}), stage("y", {"sum": 4}),
    ]  # fmt: skip
    found = placed(stages, 5, Refresh(100.0, 0, 4))
    assert found.refreshed == ((), (), (), ("a",), (), ("sum",))


def test_stages_begin_as_low_as_they_can() -> None:
    assert placed(sequence(1, 1), 9).levels == (2, 1, 0)


def test_values_that_are_too_large_are_not_refreshed() -> None:
    stages = [
        stage("x", {}), stage("a", {"x": 2}, refreshes=False), stage("b", {"a": 1}),
        stage("c", {"b": 1}),
    ]  # fmt: skip
    assert placed(stages, 3, Refresh(9.0, 0, 3)).refreshed[-1] == ("b",)
    with pytest.raises(ParamError, match="b: at most 2 levels"):
        placed(stages, 2, Refresh(9.0, 0, 2))


def test_what_no_refresh_makes_possible_is_refused_by_its_name() -> None:
    with pytest.raises(ParamError, match="2: at most 4 levels"):
        placed(sequence(1, 5), 4, Refresh(1.0, 1, 4))
    with pytest.raises(ParamError, match="2: levels that a chain of 4 has left"):
        placed(sequence(2, 3), 4)
    with pytest.raises(ParamError, match="top"):
        placed(sequence(1), 2, last=3)
    with pytest.raises(ParamError, match="last"):
        placed(sequence(2), 3, last=2)


@pytest.mark.parametrize(("seconds", "low", "high"), [(0.0, 0, 4), (inf, 0, 4), (1.0, 4, 4)])
def test_a_refresh_that_gains_nothing_is_refused(seconds: float, low: int, high: int) -> None:
    with pytest.raises(ParamError):
        Refresh(seconds, low, high)
