"""Devices: several of them, steps of a plug-in, calls there, digits without a kernel.

The simulated devices take a fixed time for each launch and transfer, so the shortest schedule is
known: the launches of the device that has most, one upload before them and one download after.
The plug-in is a library whose launches do nothing: a step of it is dispatch alone. It runs in this
process, and then in one of its own.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

LAUNCH_US, TRANSFER_US = 4000, 2000
os.environ["CLOAKWORK_SIM"] = f"launch_us={LAUNCH_US},transfer_us={TRANSFER_US}"

import cloakwork as cw  # noqa: E402 (reads the variable)
import numpy as np  # noqa: E402
from cloakwork.device import include_dir, load_driver  # noqa: E402
from device_division import division  # noqa: E402
from device_fallback import fallback  # noqa: E402
from measured.rows import record  # noqa: E402

ROUNDS = 7
CHAINS, LAUNCHES = 8, 3
STEPS = 20_000
CALLS = 100
LIBRARY = """
#include "cloakwork/simple_device.h"
static void none(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)launch, (void)begin, (void)end, (void)scratch;
}
static const cw_kernel_row rows[] = {CW_SIMPLE_ROW("add", none, CW_I64, CW_I64)};
CW_SIMPLE_DRIVER("NAME", rows)
"""


def main() -> None:
    """Print all figures."""
    overlap()
    dispatch()
    calls()
    division()
    fallback()


def overlap() -> None:
    """Independent chains on one, two and four devices."""
    x = np.arange(64, dtype=np.int64)

    def chains(*inputs: cw.Tensor) -> tuple[cw.Tensor, ...]:
        for _ in range(LAUNCHES):
            inputs = tuple(cw.cumulative_sum(one) for one in inputs)
        return inputs

    given = [x + i for i in range(CHAINS)]
    program = cw.trace(chains, *map(cw.asarray, given))
    for count in (1, 2, 4):
        devices = [f"sim:{index}" for index in range(count)]
        run = partial(program.run, *given, devices=devices, profile=False)
        run_ms = _best(run) / 1e6
        ideal_ms = (CHAINS // count * LAUNCHES * LAUNCH_US + 2 * TRANSFER_US) / 1e3
        share = 100 * ideal_ms / run_ms
        print(f"overlap on {count}: {run_ms:7.1f} ms, shortest {ideal_ms:7.1f} ms: {share:.0f} %")
        record(f"overlap on {count} devices, share of the shortest schedule", "%", share)


def dispatch() -> None:
    """A step of the processor, of a plug-in, and of one in a process of its own."""
    x = np.arange(4, dtype=np.int64)

    def chain(x: cw.Tensor) -> cw.Tensor:
        y = x
        for _ in range(STEPS):
            y = y + x
        return y

    program = cw.trace(chain, cw.asarray(x))
    with tempfile.TemporaryDirectory() as folder:
        for name, isolate in (("plugin", False), ("isolated", True)):
            load_driver(_compiled(Path(folder), name), isolate=isolate)
        for device in ("cpu", "plugin:0", "isolated:0"):
            run = partial(program.run, x, device=device, profile=False, threads=1, optimize=False)
            step_ns = _best(run) / STEPS
            print(f"a step of {device:12} {step_ns:8.1f} ns")
            record(f"a step of {device}", "ns", step_ns)


def calls() -> None:
    """Calls on tensors of a plug-in: recorded, run for the first time, and again."""
    x = cw.asarray(np.arange(4, dtype=np.int64), device="plugin:0")

    def work() -> cw.Tensor:
        y = x
        for _ in range(CALLS):
            y = y + x
        return y

    cw.release_cached()
    recorded = _best(work) / CALLS
    times = []
    for _ in range(ROUNDS):
        y = work()
        begun = time.perf_counter_ns()
        y.to("cpu")
        times.append((time.perf_counter_ns() - begun) / CALLS)
    for name, found in (("recorded", recorded), ("first", times[0]), ("again", min(times[1:]))):
        print(f"a call on a tensor of plugin:0, {name:9} {found:8.0f} ns of {CALLS}")
        record(f"a call on a tensor of plugin:0, {name}", "ns", found)


def _compiled(folder: Path, name: str) -> Path:
    source, library = folder / f"{name}.c", folder / f"lib{name}.so"
    source.write_text(LIBRARY.replace("NAME", name))
    command = ["cc", "-shared", "-fPIC", "-O2", f"-I{include_dir()}", "-o", str(library)]
    subprocess.run([*command, str(source)], check=True)
    return library


def _best(run: Callable[[], object]) -> float:
    """The least time of some runs in nanoseconds."""
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - begun)
    return min(times)


if __name__ == "__main__":
    main()
