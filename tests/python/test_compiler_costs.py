"""The cost model: what it counts, and that it can be fitted to a machine."""

from __future__ import annotations

from dataclasses import fields

import pytest
from cloakwork.compiler.costs import MEASURED, Ring, Work
from cloakwork.compiler.measuring import measure
from cloakwork.compiler.parameters import largest_scale
from cloakwork.errors import ParamError
from cloakwork.fhe.sizing import Sizes, Wanted, least_sizes

RING = Ring(2**13, 6, 2, 3)


def test_a_fitted_model_says_how_far_it_is_off_the_times_that_it_was_fitted_to() -> None:
    costs, found = measure([(2**11, 3, 1), (2**12, 4, 2)])
    assert len(found) == 10
    assert all(one.seconds > 0 for one in found)
    for one in found:
        ratio = costs.seconds(one.work, one.ring) / one.seconds
        assert 1 / costs.error <= ratio * 1.001
        assert ratio <= costs.error * 1.001
    # Within an order of magnitude of those that come with the package, on any machine.
    assert 0.1 < costs.butterfly / MEASURED.butterfly < 30 or costs.product > 0


FIELDS = [field.name for field in fields(Work)]


@pytest.mark.parametrize("field", FIELDS)
def test_every_kind_of_work_costs_something_and_more_at_higher_levels(field: str) -> None:
    work = Work(**{field: 1.0})
    lower = Ring(RING.degree, RING.limbs - 2, RING.special, RING.digits - 1)
    assert MEASURED.seconds(work, RING) > MEASURED.seconds(work, lower) > 0
    assert MEASURED.seconds(work.times(3), RING) == pytest.approx(3 * MEASURED.seconds(work, RING))


def test_work_adds_up_field_by_field() -> None:
    both = Work(babies=2, giants=1) + Work(giants=3, sums=4)
    assert both == Work(babies=2, giants=4, sums=4)
    apart = MEASURED.seconds(Work(babies=2, giants=1), RING)
    apart += MEASURED.seconds(Work(giants=3, sums=4), RING)
    assert MEASURED.seconds(both, RING) == pytest.approx(apart)


def test_more_special_moduli_mean_fewer_digits_and_cheaper_rotations() -> None:
    few, many = Ring(2**14, 12, 1, 12), Ring(2**14, 12, 4, 3)
    assert MEASURED.seconds(Work(turns=1), many) < MEASURED.seconds(Work(turns=1), few) / 2
    chosen = least_sizes(Wanted(10), 2**15, 128)
    assert chosen.digits <= 3


@pytest.mark.parametrize("security", [128, 256, None])
@pytest.mark.parametrize("degree", [2**12, 2**14, 2**15])
def test_what_the_search_for_a_scale_leaves_out_has_no_room(
    degree: int, security: int | None
) -> None:
    def searched(depth: int, room: float, bits: int) -> Sizes | None:
        try:
            return least_sizes(Wanted(depth, room, scale=bits), degree, security)
        except ParamError:
            return None

    for depth, room, bits in ((1, 3.0, 28), (4, 25.5, 30), (9, 12.0, 40), (18, 60.0, 26)):
        found = largest_scale(depth, room, degree, security, range(bits, bits - 6, -1))
        every = (searched(depth, room, own) for own in range(bits, bits - 6, -1))
        assert found == next(filter(None, every), None)
