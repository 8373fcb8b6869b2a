"""Instructions on the memory of other devices give the same results as on the host."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cloakwork import zk
from cloakwork.errors import DeviceError, MemoryBudgetError, ParamError, ProgramError
from cloakwork.zk import ProgramBuilder
from python.test_zk_program import predicted

DEVICES = ["sim:0", "gpu:0"]
X = [3, 1, 4, 1, 5, 9, 2, 6]

Body = Callable[[ProgramBuilder, Any, str], Any]


def in_place(name: str, **attributes: Any) -> Body:
    def body(b: ProgramBuilder, x: Any, device: str) -> Any:
        b.call(name, out=[x], args=[], **attributes)
        return x

    return body


def power(b: ProgramBuilder, x: Any, device: str) -> Any:
    out = b.allocate(zk.poly(8), device=device)
    b.call("pow", out=[out], args=[x], exponent=3)
    return out


def padded(b: ProgramBuilder, x: Any, device: str) -> Any:
    out = b.allocate(zk.poly(8), device=device)
    b.transfer(b.slice(x, 0, 3), out, pad=True)
    return out


def constant(b: ProgramBuilder, x: Any, device: str) -> Any:
    known = b.constant("known", zk.poly(8), list(range(8)), device=device)
    b.call("add", out=[x], args=[x, known])
    return x


def drawn(b: ProgramBuilder, x: Any, device: str) -> Any:
    b.blind(x, 7, 8)
    b.call("sub", out=[x], args=[x, x])
    return x


BODIES = {
    "pow": power,
    "pad": padded,
    "constant": constant,
    "blind": drawn,
    "ntt": in_place("ntt"),
    "fill_one": in_place("fill_one"),
    "fill_lagrange_one": in_place("fill_lagrange_one"),
    "batch_invert": in_place("batch_invert"),
}


def result(body: Body, device: str, run_on: str | None = None) -> list[int]:
    b = ProgramBuilder()
    x = b.input("x", zk.poly(8))
    there = b.allocate(zk.poly(8), device=device)
    b.transfer(x, there)
    made = body(b, there, device)
    y = b.allocate(zk.poly(8), name="y")
    b.transfer(made, y)
    b.ret(y)
    options: Any = {} if run_on is None else {"device": run_on}
    return b.build().run({"x": X}, **options).outputs["y"].tolist()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", BODIES)
def test_an_instruction_gives_the_same_in_a_device_s_memory(name: str, device: str) -> None:
    expected = result(BODIES[name], "cpu")
    assert result(BODIES[name], device) == expected
    assert result(BODIES[name], "cpu", run_on="sim:0") == expected


# A register that wraps around, a thread, a register that moves; no declarations of registers.
DRAWS = """program version=1 curve=bn254
input w type=bn254.fr<8> device=cpu
stream s device=sim:3
main {
LoadInput src=w dst=w
Allocate id=g device=DEVICE typ=bn254.fr<8>
Transfer src_id=w dst_id=g src_device=cpu dst_device=DEVICE
Rotation src=g dst=r shift=3
Fork new_thread=t {
Blind dst=r start=2 end=6
Allocate id=h device=DEVICE typ=bn254.fr<4>
FuncCall func=random arg_mut=[h]
MoveRegister src=h dst=m
Blind dst=m start=1 end=2
}
Join thread=t
Allocate id=a device=cpu typ=bn254.fr<8>
Transfer src_id=g dst_id=a src_device=DEVICE dst_device=cpu
Deallocate id=g
Allocate id=b device=cpu typ=bn254.fr<4>
Transfer src_id=m dst_id=b src_device=DEVICE dst_device=cpu
Deallocate id=m
Allocate id=f device=sim:3 typ=bn254.fr<2>
Blind dst=f start=0 end=2 stream=s
Allocate id=c device=cpu typ=bn254.fr<2>
Transfer src_id=f dst_id=c src_device=sim:3 dst_device=cpu stream=s
Record event=e stream=s
Wait event=e slave=cpu
Deallocate id=f
Return id=[a, b, c]
}
event e kind=gpu device=sim:3
"""


@pytest.mark.parametrize("device", ["cpu", *DEVICES, "sim:3"])
def test_random_elements_are_drawn_on_devices_that_no_declaration_names(device: str) -> None:
    program = zk.Program.parse(DRAWS.replace("DEVICE", device))
    assert "registers" not in json.loads(program.to_json())
    assert program.validate() == []
    expected = predicted(program, {"w": X}, 7)
    for threads in (1, 3):
        outputs = program.run({"w": X}, seed=7, threads=threads).outputs
        assert outputs.keys() == expected.keys()
        for name, values in expected.items():
            assert np.array_equal(outputs[name].tolist(), values), (name, threads)
    unseeded = [program.run({"w": X}).outputs["b"].tolist() for _ in range(2)]
    assert not set(unseeded[0]) & set(unseeded[1])


def test_random_elements_are_not_drawn_on_a_disk() -> None:
    with pytest.raises(ProgramError, match=r"V08 .* t/0: Blind: .*got disk:0; transfer the op"):
        zk.Program.parse(DRAWS.replace("DEVICE", "disk")).validate()


@pytest.mark.parametrize("device", [*DEVICES, "disk"])
def test_an_input_may_arrive_in_a_device_s_memory(device: str) -> None:
    b = ProgramBuilder()
    ty = zk.tensor("u64", 4)
    x, y = b.input("x", ty, device=device), b.allocate(ty, name="y")
    b.transfer(x, y)
    b.ret(y)
    program = b.build()
    assert program.run({"x": [1, 2, 3, 4]}).outputs["y"].tolist() == [1, 2, 3, 4]
    loaded = zk.Program.parse(program.to_text())
    assert loaded.run({"x": [1, 2, 3, 4]}).outputs["y"].tolist() == [1, 2, 3, 4]


def test_a_program_that_names_its_devices_is_not_put_on_another() -> None:
    with pytest.raises(ParamError, match=r"device: got sim:1, expected none: .* sim:0 among them"):
        result(BODIES["ntt"], "sim:0", run_on="sim:1")


@pytest.mark.parametrize("name", BODIES)
def test_gpu_0_of_a_program_is_the_device_of_the_run_and_gpu_1_the_next(name: str) -> None:
    expected = result(BODIES[name], "cpu")
    for gpu in ("gpu:0", "gpu:1"):
        assert result(BODIES[name], gpu, run_on="sim:0") == expected


def test_a_gpu_beyond_the_devices_of_a_driver_is_refused() -> None:
    with pytest.raises(DeviceError, match="unknown device 'gpu:1'"):
        result(BODIES["ntt"], "gpu:1", run_on="sim:65535")


def test_the_budget_of_a_gpu_is_that_of_the_device_to_which_it_is_bound() -> None:
    text = """program version=1 curve=bn254
budget gpu:0 is=4096
main {
Allocate id=a device=gpu:0 typ=u64<1024> zero=true
Allocate id=b device=cpu typ=u64<1024>
Transfer src_id=a dst_id=b src_device=gpu:0 dst_device=cpu
Deallocate id=a
Return id=b
}
"""
    program = zk.Program.parse(text)
    with pytest.raises(MemoryBudgetError, match="V17: sim:2 holds 8"):
        program.run(device="sim:2")


def test_a_transfer_between_two_devices_needs_room_for_the_tensor_alone() -> None:
    text = """program version=1 curve=bn254
budget sim:1 is=8192
main {
Allocate id=a device=sim:0 typ=u64<1024> zero=true
Allocate id=s device=sim:1 typ=u64<1024>
Transfer src_id=a dst_id=s src_device=sim:0 dst_device=sim:1
Deallocate id=a
Allocate id=b device=cpu typ=u64<1024>
Transfer src_id=s dst_id=b src_device=sim:1 dst_device=cpu
Deallocate id=s
Return id=b
}
"""
    outcome = zk.Program.parse(text).run()
    assert outcome.outputs["b"].tolist() == [0] * 1024
