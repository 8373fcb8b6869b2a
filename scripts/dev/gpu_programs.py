"""Programs of `dev.py gpu-check`, each a process: `python gpu_programs.py NAME [DEVICE]`.

They need the package, NumPy and a device. The last line of each is JSON; one that finds something
wrong says so there, and exits with 1.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

Found = dict[str, Any]
_LARGE = (1 << 20) + 3


def context(_: str) -> Found:
    """The driver alone: what it takes to begin."""
    times = [time.perf_counter()]
    cuda = ctypes.CDLL("libcuda.so.1")
    for call in (lambda: cuda.cuInit(0), lambda: _retain(cuda)):
        code = call()
        times.append(time.perf_counter())
        if code != 0:
            return {"wrong": f"error {code} of the driver"}
    version = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    init, made = (round((b - a) * 1e3, 1) for a, b in pairwise(times))
    return {"cuInit_ms": init, "context_ms": made, "driver": version.value}


def _retain(cuda: Any) -> int:
    made = ctypes.c_void_p()
    return int(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(made), 0))


def one_add(device: str) -> Found:
    """One small program, first and later runs."""
    import cloakwork as cw
    import numpy as np

    x = cw.arange(65536)
    program = cw.trace(lambda x: x * 3 + x, x)
    times = []
    for _ in range(4):
        began = time.perf_counter()
        result = program.run(x, device=device)
        times.append(round((time.perf_counter() - began) * 1e3, 3))
    right = np.array_equal(np.asarray(result.outputs[0]), np.arange(65536) * 4)
    return {"run_ms": times, "wrong": "" if right else "another sum"}


def ops(device: str) -> Found:
    """The names of all ops that have a reference."""
    import cloakwork as cw

    return {"ops": [name for name in dir(cw.ops) if _is_conformed(device, name)]}


def _is_conformed(device: str, name: str) -> bool:
    """Whether `conform` takes this name; it does nothing in no time."""
    from cloakwork.device import conform
    from cloakwork.errors import ParamError

    try:
        conform(device, ops=[name], seconds=0.001, speed=False)
    except ParamError:
        return False
    return True


def blocks(device: str) -> Found:
    """Launches of many blocks: calls of large operands, with the host's bits.

    Sums of floats may be added up in another order, so that these are near alone.
    """
    import cloakwork as cw
    import numpy as np

    draw = np.random.default_rng(1)
    wide = cw.asarray(draw.integers(-(2**40), 2**40, _LARGE))
    real = cw.asarray(draw.normal(size=_LARGE))
    square = cw.asarray(draw.normal(size=(257, 300)))
    scalars = cw.ops.astype(cw.asarray(draw.integers(1, 2**62, 1 << 14)), "bn254.fr")
    calls: dict[str, tuple[Callable[..., Any], Any]] = {
        "add": (lambda x: x + x, wide),
        "multiply": (lambda x: x * 3.5, real),
        "sum": (cw.sum, wide),
        "sum of floats, near": (cw.sum, real),
        "max": (cw.max, real),
        "argmax": (cw.argmax, wide),
        "cumulative_sum": (cw.cumulative_sum, wide),
        "sort": (cw.sort, wide[: 1 << 16]),
        "transpose": (lambda x: x.mT + 0.0, square),
        "matmul": (lambda x: x @ x.mT, cw.astype(square * 100, cw.int64)),
        "matmul of floats, near": (lambda x: x @ x.mT, square),
        "astype": (lambda x: cw.astype(x, cw.float32), wide),
        "field square": (cw.ops.square, scalars),
        "field_ntt": (cw.ops.field_ntt, scalars),
    }
    wrong = []
    for name, (call, x) in calls.items():
        program = cw.trace(call, x)
        here, there = program.run(x), program.run(x, device=device, fallback=False)
        if not _agree(here.outputs[0], there.outputs[0], "near" in name):
            wrong.append(name)
    return {"calls": len(calls), "wrong": ", ".join(wrong)}


def _agree(here: Any, there: Any, is_near: bool) -> bool:
    """Whether results have the same bits; of floats that are added up, whether they are near."""
    import numpy as np

    one, other = np.asarray(here), np.asarray(there)
    if is_near:
        return bool(np.allclose(one, other, rtol=1e-11, atol=1e-9))
    if one.dtype == object:  # integers, for elements of fields
        return bool(np.array_equal(one, other))
    return one.tobytes() == other.tobytes()


def transfers(device: str) -> Found:
    """Bytes that go to the device come back, of any size, order and type."""
    import cloakwork as cw
    import numpy as np

    draw, wrong, rates = np.random.default_rng(2), [], {}
    for count in (0, 1, 4095, (1 << 20) + 1, 1 << 26):
        given = draw.integers(0, 256, count, dtype=np.uint8)
        began = time.perf_counter()
        there = cw.asarray(given).to(device)
        back = np.asarray(there.to("cpu"))
        rates[str(count)] = round((time.perf_counter() - began) * 1e3, 3)
        if not np.array_equal(back, given):
            wrong.append(f"{count} bytes")
    grid = np.arange(6 * 1000 * 7).reshape(6, 1000, 7)
    for name, view in {"a slice": grid[::2, 5:-3, ::-1], "a transpose": grid.T}.items():
        if not np.array_equal(np.asarray(cw.asarray(view).to(device).to("cpu")), view):
            wrong.append(name)
    return {"there and back, ms": rates, "wrong": ", ".join(wrong)}


def checks(device: str) -> Found:
    """Checks that fail on purpose are said as on the host, and leave the device as it was."""
    import cloakwork as cw
    import numpy as np
    from cloakwork.errors import CloakworkError

    def taken(x: Any) -> Any:
        return cw.take(x, x, axis=0)

    good, bad = cw.asarray(np.arange(5000) % 7), cw.asarray(np.arange(5000) + 1)
    program, wrong = cw.trace(taken, good), []
    for number in range(3):
        said = []
        for place in ("cpu", device):
            try:
                program.run(bad, device=place)
            except CloakworkError as error:
                said.append(f"{type(error).__name__}: {error}".replace(device, "cpu"))
        if len(said) != 2 or said[0] != said[1]:
            wrong.append(f"round {number}: {said}")
        found = np.asarray(program.run(good, device=device).outputs[0])
        if not np.array_equal(found, np.asarray(good)[np.asarray(good)]):
            wrong.append(f"round {number}: another result behind it")
    return {"said": said[-1:], "wrong": "; ".join(wrong)}


def budget(device: str) -> Found:
    """A run that may not take the memory that it needs is refused; one that may goes on."""
    import cloakwork as cw
    import numpy as np
    from cloakwork.errors import MemoryBudgetError

    x = cw.asarray(np.arange(1 << 20))
    program = cw.trace(lambda x: cw.sort(x * 3)[::-1] + x, x)
    try:
        program.run(x, device=device, memory_budget=1 << 16)
        return {"wrong": "64 KiB were enough for 8 MiB"}
    except MemoryBudgetError as error:
        said = str(error)
    found = np.asarray(program.run(x, device=device).outputs[0])
    right = np.array_equal(found, np.arange(1 << 20)[::-1] * 3 + np.arange(1 << 20))
    return {"said": said, "wrong": "" if right else "another result behind it"}


PROGRAMS: dict[str, Callable[[str], Found]] = {
    function.__name__: function
    for function in (context, one_add, ops, blocks, transfers, checks, budget)
}


def main(words: list[str]) -> int:
    """Run one; exit 1 if it found something wrong."""
    name, device = [*words, "cuda:0"][:2]
    found = PROGRAMS[name](device)
    print(json.dumps(found), flush=True)
    return int(bool(found.get("wrong")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
