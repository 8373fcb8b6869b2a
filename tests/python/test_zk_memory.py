"""What devices may hold, and where programs put what they allocate."""

from __future__ import annotations

import pytest
from cloakwork import zk
from cloakwork.errors import MemoryBudgetError, ParamError, ProgramError

ALLOCATIONS = (("a", "cpu"), ("b", "cpu"), ("s", "sim:0"))


def on_two_devices(**budget: int) -> zk.Program:
    """A program that holds 8 KiB on a device, and 16 KiB at a time on the host."""
    lines = [f"budget {name.replace('_', ':')} is={most}" for name, most in budget.items()]
    lines += ["main {"]
    lines += [f"Allocate id={n} device={on} typ=u64<1024> zero=true" for n, on in ALLOCATIONS]
    lines += [
        "Transfer src_id=a dst_id=s src_device=cpu dst_device=sim:0",
        "Transfer src_id=s dst_id=b src_device=sim:0 dst_device=cpu",
        "Deallocate id=a",
        "Deallocate id=s",
        "Return id=b",
        "}",
    ]
    return zk.Program.parse("program version=1 curve=bn254\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("budget", [{}, {"sim_0": 8192}, {"sim_0": 8192, "sim_1": 0}])
def test_a_program_within_its_budgets_runs(budget: dict[str, int]) -> None:
    program = on_two_devices(**budget, cpu=1 << 20)
    assert program.budget["cpu"] == 1 << 20
    assert program.run().outputs["b"].tolist() == [0] * 1024


def test_a_device_that_would_hold_too_much_is_refused_before_the_run() -> None:
    text = r"V17: sim:0 holds 8.0 KiB at the program's peak, and its budget is 7.9 KiB"
    with pytest.raises(MemoryBudgetError, match=text) as caught:
        on_two_devices(sim_0=8128).run()
    assert (caught.value.peak_bytes, caught.value.budget_bytes) == (8192, 8128)
    with pytest.raises(MemoryBudgetError):
        on_two_devices(cpu=4096).run()


def test_budgets_of_a_call_count_instead_of_the_programs() -> None:
    program = on_two_devices(sim_0=100)
    program.run(budget={"sim:0": "8KiB"})
    with pytest.raises(MemoryBudgetError, match="sim:0"):
        program.run(budget="1GiB")
    with pytest.raises(MemoryBudgetError, match="sim:0"):
        program.run(budget={"sim:0": "8000B", "cpu": "1GiB"})
    with pytest.raises(ParamError, match="tpu:0"):
        program.run(budget={"tpu:0": 5})


def in_places(offset: int, *, freed: bool) -> zk.Program:
    """Two tensors of 64 bytes in a pool, the first at byte 64 and freed early, or not."""
    b = zk.ProgramBuilder(auto_free=False)
    first = b.allocate(zk.tensor("u64", 8), at=("p", 64), zero=True)
    if freed:
        b.free(first)
    second = b.allocate(zk.tensor("u64", 8), at=("p", offset), zero=True, name="second")
    if not freed:
        b.free(first)
    b.ret(second)
    return b.build()


@pytest.mark.parametrize(("offset", "freed"), [(0, False), (128, False), (64, True), (0, True)])
def test_places_that_are_free_may_be_taken(offset: int, freed: bool) -> None:
    assert in_places(offset, freed=freed).run().outputs["second"].tolist() == [0] * 8


def test_a_place_that_is_taken_is_refused() -> None:
    with pytest.raises(ProgramError, match=r"V16.*bytes 64 to 128.*memory of main/0 there"):
        in_places(64, freed=False)
