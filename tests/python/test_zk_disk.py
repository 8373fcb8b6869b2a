"""Data on disk is not in memory: allocations on `disk`, and constants in files.

Each program runs in a separate process, which reports its peak memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import zk
from cloakwork.errors import MemoryBudgetError, ParamError

MIB = 1 << 20
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
TELL = """
def held():
    with open("/proc/self/status") as status:
        return next(int(l.split()[1]) for l in status if l.startswith("VmHWM:")) * 1024
"""


def told(script: str, *args: Any) -> dict[str, Any]:
    """The JSON output of a script, run in a separate process."""
    line = [sys.executable, "-c", TELL + script, *map(str, args)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


WAITS = """
import json, sys
import numpy as np
from cloakwork import zk

device, n, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
b = zk.ProgramBuilder()
ty = zk.tensor("u64", n)
x = b.input("x", ty)
made, waiting = b.allocate(ty), []
for shift in range(8):
    b.call("add", out=[made], args=[x, x.rotate(shift)])
    waiting.append(b.allocate(ty, device=device))
    b.transfer(made, waiting[-1])
total = b.allocate(ty)
b.transfer(waiting[0], total)
for one in waiting[1:]:
    b.transfer(one, made)
    b.call("mul", out=[total], args=[total, made])
b.ret(total)
program = b.build()
values = np.arange(n, dtype=np.uint64)
before = held()
outcome = program.run({"x": values}, threads=2, spill_dir=folder, profile=False)
most = held() - before
expected = np.ones(n, dtype=np.uint64)
for shift in range(8):
    expected *= values + np.roll(values, -shift)
right = bool(np.array_equal(np.asarray(outcome[total.name]), expected))
print(json.dumps({
    "held": most, "right": right, "peak": program.peak_memory(threads=2),
    "memory": outcome.report.memory,
}))
"""


@LINUX
def test_what_is_allocated_on_disk_is_not_in_memory(tmp_path: Path) -> None:
    """Eight tensors of 8 MiB wait: on the processor they take 64 MiB, on disk a file does."""
    here = told(WAITS, "cpu", MIB, tmp_path)
    there = told(WAITS, "disk", MIB, tmp_path)
    assert here["right"]
    assert there["right"]
    assert here["memory"]["file_bytes"] == 0
    assert there["memory"]["file_bytes"] == 64 * MIB
    # A processor's tensors of other times share their places with some of those.
    assert 56 * MIB <= here["peak"] - there["peak"] <= 64 * MIB
    assert here["held"] > 64 * MIB
    # Of the file no more than a transfer touches is in memory at a time.
    assert there["held"] < here["held"] - 40 * MIB
    assert list(tmp_path.iterdir()) == []


CONSTANTS = """
import json, sys
from cloakwork import zk

before = held()
program = zk.Program.load(sys.argv[1])
program.validate()
loaded = held() - before
value = program.run(threads=1, profile=False)["v"].tolist()
print(json.dumps({
    "loaded": loaded, "held": held() - before, "value": value, "peak": program.peak_memory(),
}))
"""


def with_constant(folder: Path, dtype: str, elements: int) -> Path:
    """A program that reads the last element of a constant in a file."""
    each = cw.asarray([0], dtype=dtype).itemsize // 8
    words = np.zeros((elements, each), np.uint64)
    words[:, 0] = np.arange(elements)
    table = {"type": f"{dtype}<{elements}>", "file": "table.bin", "bytes": words.nbytes}
    tree = {
        "format": "program", "version": 1, "constants": {"table": table},
        "main": [
            {"op": "LoadConstant", "src": "table", "dst": "t"},
            {"op": "Allocate", "id": "v", "device": "cpu", "typ": dtype},
            {"op": "Element", "src": "t", "dst": "v", "index": elements - 1},
            {"op": "Return", "id": "v"},
        ],
    }  # fmt: skip
    folder.mkdir()
    (folder / "table.bin").write_bytes(words.tobytes())
    (folder / "program.json").write_text(json.dumps(tree))
    return folder


@LINUX
@pytest.mark.parametrize(
    ("dtype", "bytes_each", "most"), [("u64", 8, 16 * MIB), ("bn254.fr", 32, 96 * MIB)]
)
def test_a_constant_in_a_file_costs_what_it_is(
    tmp_path: Path, dtype: str, bytes_each: int, most: int
) -> None:
    """Numbers are read in the file; elements of a field are in memory once, as it has them."""
    n = 64 * MIB // bytes_each
    run = told(CONSTANTS, with_constant(tmp_path / "large", dtype, n))
    small = told(CONSTANTS, with_constant(tmp_path / "small", dtype, 16))
    assert run["value"] == n - 1
    assert run["held"] - small["held"] < most
    assert 64 * MIB <= run["peak"] <= 65 * MIB
    assert small["peak"] < MIB


def test_the_file_of_a_constant_stays_the_one_that_was_loaded(tmp_path: Path) -> None:
    program = zk.Program.load(with_constant(tmp_path / "one", "u64", 4))
    program.save(tmp_path / "two")
    assert int(zk.Program.load(tmp_path / "two").run()["v"]) == 3
    (tmp_path / "one" / "table.bin").write_bytes(bytes(32))
    with pytest.raises(ParamError, match=r"table\.bin, which has changed"):
        program.save(tmp_path / "three")


FORKS = """
import json, os, sys
from cloakwork import zk

b = zk.ProgramBuilder()
x = b.input("x", zk.tensor("u64", 512))
kept, back = b.allocate(x.type, device="disk"), b.allocate(x.type)
b.transfer(x, kept)
b.transfer(kept, back)
b.ret(back)
program = b.build()
program.run({"x": [0] * 512}, threads=1, profile=False)
child = os.fork()
values = [1 if child else 2] * 512
runs = [program.run({"x": values}, threads=1, profile=False) for _ in range(200)]
right = all(run[back.name].tolist() == values for run in runs)
if not child:
    os._exit(0 if right else 1)
print(json.dumps({"right": right and os.waitpid(child, 0)[1] == 0}))
"""


@LINUX
def test_a_forked_child_has_a_file_of_its_own() -> None:
    assert told(FORKS)["right"]


def test_disks_have_budgets_and_folders_of_their_own(tmp_path: Path) -> None:
    b = zk.ProgramBuilder()
    x = b.input("x", zk.tensor("u64", 64))
    kept, back = b.allocate(x.type, device="disk"), b.allocate(x.type)
    b.transfer(x, kept)
    b.transfer(kept[8:24], back[8:24])
    b.transfer(x[:8], back[:8])
    b.transfer(x[24:], back[24:])
    b.ret(back)
    program, values = b.build(), list(range(64))
    for workers in (1, 2, 3):
        for folder in (None, tmp_path, tmp_path, None):
            outcome = program.run({"x": values}, threads=workers, spill_dir=folder)
            assert outcome[back.name].tolist() == values
    assert (
        program.run({"x": values}, memory_budget={"disk": 512}).report.memory["file_bytes"] == 512
    )
    whole = program.run({"x": values}, threads=1, memory_budget=program.peak_memory(threads=1))
    assert whole.report.memory["spilled_bytes"] == 0
    with pytest.raises(MemoryBudgetError, match="disk"):
        program.run({"x": values}, memory_budget={"disk": 511})
    with pytest.raises(ParamError, match="spill_dir: got"):
        program.run({"x": values}, spill_dir=tmp_path / "missing")
