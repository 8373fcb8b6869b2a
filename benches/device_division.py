"""Division: one long step on several simulated devices, against an equal share for each.

A launch of the device takes a time for each element that it visits, and a transfer a fixed time.
The shortest run on n devices takes an nth of the launches on one, an upload before and a download
after; of a multi-scalar multiplication, one more of each for the sums of the parts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import cloakwork as cw
import numpy as np
from cloakwork import ops, zk
from measured.rows import record

TRANSFER_US = 1000
ROUNDS = 5
COUNTS = (1, 2, 4)


@dataclass(frozen=True)
class Case:
    """The computation, its launches, and transfers one by one, on one device and more."""

    name: str
    elements_per_us: int
    transfers: tuple[int, int]


CASES = {
    "transforms": Case("64 transforms of 4096, squares, and back", 20, (2, 2)),
    "msm": Case("a multi-scalar multiplication of 4096 points", 40, (2, 4)),
}


def division() -> None:
    """Print each case on one device and more."""
    for key, case in CASES.items():
        settings = f"transfer_us={TRANSFER_US},elements_per_us={case.elements_per_us}"
        environment = {**os.environ, "CLOAKWORK_SIM": settings}
        command = [sys.executable, __file__, key]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        times = dict(zip(COUNTS, json.loads(done.stdout), strict=True))
        alone, several = (count * TRANSFER_US / 1e6 for count in case.transfers)
        print(f"{case.name} on one device: {times[1] * 1e3:.1f} ms")
        for count in COUNTS[1:]:
            shortest = (times[1] - alone) / count + several
            share = 100 * shortest / times[count]
            print(
                f"  on {count}: {times[count] * 1e3:.1f} ms, {times[1] / times[count]:.2f} times "
                f"as fast; shortest {shortest * 1e3:.1f} ms: {share:.0f} %"
            )
            record(f"{key} on {count} devices, share of the shortest run", "%", share)


def _run(key: str) -> list[float]:
    run = {"transforms": _transforms, "msm": _msm}[key]()
    results = [run(1)]
    times = []
    for count in COUNTS:
        own = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            result = run(count)
            own.append(time.perf_counter() - begun)
            results.append(result)
        times.append(min(own))
    if any(result != results[0] for result in results):
        sys.exit(f"{key}: results differ between numbers of devices")
    return times


def _devices(count: int) -> list[str]:
    return [f"sim:{index}" for index in range(count)]


def _elements(dtype: str, shape: tuple[int, ...]) -> cw.Tensor:
    found = ops.astype(cw.asarray(np.random.default_rng(1).integers(1, 2**62, shape)), dtype)
    for _ in range(4):
        found = ops.square(found)
    return found


def _transforms() -> Callable[[int], bytes]:
    def both_ways(x: cw.Tensor) -> cw.Tensor:
        values = ops.field_ntt(x, inverse=False)
        return ops.field_ntt(values * values, inverse=True)

    rows = _elements("babybear", (64, 4096))
    program = cw.trace(both_ways, rows)
    return lambda count: _result(program.run(rows, devices=_devices(count), profile=False))


def _msm() -> Callable[[int], bytes]:
    scalars = _elements("bn254.fr", (4096,))
    points = ops.curve_mul(scalars, zk.curve("bn254").g1_generator)
    program = cw.trace(ops.msm, scalars, points)
    return lambda count: _result(
        program.run(scalars, points, devices=_devices(count), profile=False)
    )


def _result(result: cw.Result) -> bytes:
    return result.outputs[0].to_bytes()


if __name__ == "__main__":
    print(json.dumps(_run(sys.argv[1])))
