"""Places of bootstrapping: the cheapest of all, with made-up costs."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest
from cloakwork.compiler.placing import Refresh, Stage, placed
from cloakwork.errors import ParamError


def stage(levels: int, cost: float = 1.0, live: int = 1) -> Stage:
    """A stage whose time grows with its level."""
    return Stage(f"stage of {levels}", levels, lambda level: cost * (level + 1), live)


def cheapest(stages: list[Stage], top: int, refresh: Refresh) -> float:
    """The least time over all places and all levels, tried one by one."""
    best = inf
    for places in product([False, True], repeat=len(stages)):
        starts = product(range(max(top, refresh.level_out) + 1), repeat=len(stages))
        for levels in starts:
            level, seconds = top, 0.0
            for own, refreshed, begin in zip(stages, places, levels, strict=True):
                if refreshed:
                    if level < refresh.level_in:
                        break
                    level, seconds = refresh.level_out, seconds + own.live * refresh.seconds
                if not own.levels <= begin <= level:
                    break
                level, seconds = begin - own.levels, seconds + own.seconds(begin)
            else:
                best = min(best, seconds)
    return best


@pytest.mark.parametrize("seed", range(12))
def test_no_other_places_are_cheaper(seed: int) -> None:
    generator = np.random.default_rng(seed)
    stages = [
        stage(int(generator.integers(0, 3)), float(generator.uniform(0.1, 3)),
              int(generator.integers(1, 3)))
        for _ in range(4)
    ]  # fmt: skip
    refresh = Refresh(float(generator.uniform(0.5, 20)), int(generator.integers(0, 2)), 4)
    top = int(generator.integers(3, 6))
    found = placed(stages, top, refresh)
    assert found.seconds == pytest.approx(cheapest(stages, top, refresh))


def test_a_chain_that_is_long_enough_needs_none() -> None:
    found = placed([stage(2), stage(1), stage(2)], 5, Refresh(100.0, 0, 4))
    assert found.count == 0
    assert found.levels == (5, 3, 2)


def test_a_refresh_stands_where_the_fewest_ciphertexts_live() -> None:
    stages = [stage(2, live=1), stage(1, live=8), stage(1, live=1), stage(2, live=8)]
    found = placed(stages, 4, Refresh(50.0, 0, 4))
    assert found.refreshed == (False, False, True, False)


def test_stages_begin_as_low_as_they_can() -> None:
    found = placed([stage(1), stage(1)], 9)
    assert found.levels == (2, 1)


def test_what_no_refresh_makes_possible_is_refused_by_its_name() -> None:
    with pytest.raises(ParamError, match="stage of 5: at most 4 levels"):
        placed([stage(1), stage(5)], 4, Refresh(1.0, 1, 4))
    with pytest.raises(ParamError, match="stage of 3: levels that a chain of 4 has left"):
        placed([stage(2), stage(3)], 4)
    with pytest.raises(ParamError, match="top"):
        placed([stage(1)], 2, last=3)
    with pytest.raises(ParamError, match="last"):
        placed([stage(2)], 3, last=2)


@pytest.mark.parametrize(("seconds", "low", "high"), [(0.0, 0, 4), (inf, 0, 4), (1.0, 4, 4)])
def test_a_refresh_that_gains_nothing_is_refused(seconds: float, low: int, high: int) -> None:
    with pytest.raises(ParamError):
        Refresh(seconds, low, high)
