"""Random circuits: no estimate exceeds the measured precision, and no error is silent."""

from collections.abc import Callable

import pytest
from python.fhe_random import (
    Tally,
    follow_bfv,
    follow_bgv,
    follow_ckks,
    follow_large_bfv,
    follow_large_bgv,
    tally_of,
)


@pytest.mark.parametrize("follow", [follow_ckks, follow_bgv, follow_bfv])
@pytest.mark.parametrize("seed", [0, 10_000])
def test_random_circuits_keep_what_they_promise(
    follow: Callable[[int, Tally], None], seed: int
) -> None:
    tally = tally_of(follow, 100, seed)
    assert not tally.broken
    assert len(tally.slack) >= 60
    assert min(tally.slack) >= 0


def test_products_of_rotated_copies_are_right_or_refused_over_large_rings() -> None:
    tally = tally_of(follow_large_bgv, 60, 0)
    assert not tally.broken
    assert len(tally.slack) >= 30
    assert tally.refused >= 10


def test_bfv_is_right_or_refused_over_large_rings() -> None:
    tally = tally_of(follow_large_bfv, 40, 0)
    assert not tally.broken
    assert len(tally.slack) >= 20
    assert tally.refused >= 5
