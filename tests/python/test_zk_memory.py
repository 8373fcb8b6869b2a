"""Memory budgets of devices, and the memory in which programs allocate."""

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
    assert caught.value.least_bytes is None
    with pytest.raises(MemoryBudgetError):
        on_two_devices(cpu=4096).run()


def test_budgets_of_a_call_count_instead_of_the_programs() -> None:
    program = on_two_devices(sim_0=100)
    program.run(memory_budget={"sim:0": "8KiB"})
    with pytest.raises(MemoryBudgetError, match="sim:0"):
        program.run(memory_budget="1GiB")
    with pytest.raises(MemoryBudgetError, match="sim:0"):
        program.run(memory_budget={"sim:0": "8000B", "cpu": "1GiB"})
    with pytest.raises(ParamError, match="tpu:0"):
        program.run(memory_budget={"tpu:0": 5})


def test_budgets_are_in_the_order_of_the_file() -> None:
    names = [*(f"sim_{number}" for number in (5, 0, 3, 6, 1)), "cpu", "sim_2", "sim_4"]
    program = on_two_devices(**dict.fromkeys(names, 1 << 20))
    assert list(program.budget) == [name.replace("_", ":") for name in names]


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
    with pytest.raises(ProgramError, match=r"V16.*bytes 64 to 128.*memory of main/0"):
        in_places(64, freed=False)


def test_what_a_device_computes_is_its_own_also_where_it_is_handed_out() -> None:
    b = zk.ProgramBuilder()
    ty = zk.tensor("u64", 4096)
    x = b.input("x", ty)
    outs = []
    for _ in range(3):
        there, back = b.allocate(ty, device="sim:0"), b.allocate(ty)
        b.transfer(x, there)
        b.call("mul", out=[there], args=[there, there])
        b.transfer(there, back)
        outs.append(back)
    b.ret(*outs)
    program = b.build()
    given = {"x": range(4096)}
    with pytest.raises(MemoryBudgetError, match="sim:0 holds"):
        program.run(given, memory_budget={"sim:0": 1000})
    result = program.run(given, memory_budget={"sim:0": 3 * 32768})
    assert [out.tolist()[-1] for out in result.outputs.values()] == [4095**2] * 3


def test_a_budget_of_the_host_is_told_as_it_was_said() -> None:
    program = on_two_devices()
    with pytest.raises(MemoryBudgetError, match=r"cpu holds.* its budget is 1000 B") as caught:
        program.run(memory_budget={"cpu": 1000})
    assert caught.value.budget_bytes == 1000
    least = caught.value.least_bytes
    assert least is not None
    assert program.run(memory_budget={"cpu": least}).outputs["b"].tolist() == [0] * 1024
    assert least == caught.value.peak_bytes
    assert "on disk" not in str(caught.value)
    with pytest.raises(ParamError, match="cpu: None"):
        program.run(memory_budget={"cpu": None})  # type: ignore[dict-item]
    with pytest.raises(ParamError, match=r"1\.5"):
        program.run(memory_budget="1.5")


def test_what_waits_on_disk_has_a_budget_too() -> None:
    b = zk.ProgramBuilder()
    ty = zk.tensor("u64", 8192)
    first = [b.allocate(ty, zero=True) for _ in range(6)]
    for times, one in enumerate(first):
        # No two of them are computed alike.
        for _ in range(times):
            b.call("add", out=[one], args=[one, one])
    for one in first[1:]:
        b.call("add", out=[first[0]], args=[first[0], one])
    b.ret(first[0])
    program = b.build()
    half = program.peak_memory(threads=1) // 2
    program.run(threads=1, memory_budget={"cpu": half})
    with pytest.raises(MemoryBudgetError, match="disk:0 holds"):
        program.run(threads=1, memory_budget={"cpu": half, "disk": 5})


def test_pools_of_two_devices_are_two() -> None:
    b = zk.ProgramBuilder()
    here = b.allocate(zk.tensor("u64", 8), at=("p", 0), zero=True)
    b.allocate(zk.tensor("u64", 8), at=("p", 0), device="sim:0", zero=True)
    b.ret(here)
    b.build()


def test_constants_have_names_of_files_in_one_folder() -> None:
    b = zk.ProgramBuilder()
    for name in ("../out", "a/b", "/out"):
        with pytest.raises(ParamError, match="constant"):
            b.constant(name, zk.tensor("u64", 4), bytes(32))
