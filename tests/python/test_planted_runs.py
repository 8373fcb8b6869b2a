"""Bugs that are planted in the example device show in runs; without them the device is right."""

from __future__ import annotations

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import ops
from cloakwork.device import diff

from python import device_builds as builds

pytestmark = pytest.mark.skipif(not builds.has_compilers(), reason="no compiler for drivers")

RNG = np.random.default_rng(5)
SMALL, BIG = 97, 2305843009218281473


def words(q: int, *shape: int) -> np.ndarray:
    return RNG.integers(0, q, shape)


PROGRAMS = {
    "element": (lambda a, b: ops.modmul(a, b, SMALL), words(SMALL, 8, 8), words(SMALL, 8, 8)),
    "race": (lambda a, b: ops.modmul(a, b, SMALL), words(SMALL, 5), words(SMALL, 5)),
    "stride": (
        lambda a, b: ops.modsum(a, b[:, ::2], SMALL),
        words(SMALL, 4, 4),
        words(SMALL, 4, 8),
    ),
    "modulus": (lambda a, b: ops.modmul(a, b, BIG), words(BIG, 5), words(BIG, 5)),
}
"""A program for each bug that the engine's own use of a driver shows."""


def results(device: str, program: str) -> np.ndarray:
    function, *arrays = PROGRAMS[program]
    given = [cw.asarray(array) for array in arrays]
    (out,) = cw.trace(function, *given).run(*given, device=device).outputs
    return np.asarray(out)


def difference(bug: str, program: str) -> np.ndarray:
    """Indices at which a device with the bug gives another result than the host."""
    flags = [builds.PLANTED_BUGS[bug]] if bug else []
    device = str(builds.built(builds.PLANTED, *flags, name=f"planted_{bug}"))
    return np.argwhere(results(device, program) != results("cpu", program))


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_device_without_a_bug_is_right(program: str) -> None:
    assert difference("", program).size == 0


@pytest.mark.parametrize("bug", PROGRAMS)
def test_each_bug_shows_in_its_program(bug: str) -> None:
    assert difference(bug, bug).size > 0


def test_the_bugs_are_where_the_table_says() -> None:
    assert difference("element", "element").tolist() == [[4, 0]]
    for bug, others in (("element", "race"), ("stride", "modulus"), ("modulus", "race")):
        assert difference(bug, others).size == 0, f"{bug} shows in {others}"


WRONG_OP = {
    "element": "modmul",
    "race": "modmul",
    "stride": "modsum",
    "modulus": "modmul",
}


@pytest.mark.parametrize("bug", PROGRAMS)
def test_diff_names_the_step_and_the_element_of_each_bug(bug: str) -> None:
    device = str(builds.built(builds.PLANTED, builds.PLANTED_BUGS[bug], name=f"planted_{bug}"))
    function, *arrays = PROGRAMS[bug]
    program = cw.trace(function, *map(cw.asarray, arrays))
    inputs = dict(zip(program.inputs, arrays, strict=True))
    found = diff(program, inputs, device=device).difference
    assert found is not None
    assert found.op == WRONG_OP[bug]
    if bug == "element":
        assert (found.index, found.different, found.total) == ((4, 0), 1, 64)
