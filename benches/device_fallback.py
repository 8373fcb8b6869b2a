"""Fallback: the digits transcript on a simulated device that lacks one kernel.

A launch and a transfer of the device take a fixed time, so that the whole run does, too. A step
that has no kernel there runs on the host, with transfers, or by its expansion. What remains of the
run without these transfers is compared with the device that has all kernels. The time of transfers
is that of a run with a profile, in which nothing overlaps them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from measured.rows import record

DELAYS = "launch_us=500,transfer_us=200"
LACKED = ("modmul", "ntt", "intt", "modmul_axis_sum", "modneg")
ROUNDS = 5
LIMIT = 1.2


@dataclass(frozen=True)
class Run:
    """A device's runs: the least time, and the transfers that steps on the host cause."""

    seconds: float
    transfers: int
    bytes: int
    transfer_seconds: float
    on_host: int
    expanded: int


def fallback() -> None:
    """Print the time of a run without its transfers beside the device that has all kernels."""
    with tempfile.TemporaryDirectory() as folder:
        file = _transcript(Path(folder))
        whole = _measured(file, DELAYS)
        print(f"digits on a device that has all kernels: {whole.seconds * 1e3:.0f} ms")
        for kernel in LACKED:
            found = _measured(file, f"{DELAYS},lacks={kernel}")
            ratio = (found.seconds - found.transfer_seconds) / whole.seconds
            print(
                f"without {kernel + ':':16} {found.seconds * 1e3:5.0f} ms, "
                f"{found.on_host} steps on the host and {found.expanded} expanded, "
                f"{found.transfers} transfers of {found.bytes / 2**20:.0f} MiB in "
                f"{found.transfer_seconds * 1e3:.0f} ms; "
                f"without these {ratio:.2f} of all kernels, limit {LIMIT}"
            )
            record(f"digits without {kernel}, transfers aside, beside all kernels", "x", ratio)


def _transcript(folder: Path) -> Path:
    from cloakwork.demo import digits

    digits.run(folder)
    return folder / digits.TRANSCRIPT_NAME


def _measured(file: Path, settings: str) -> Run:
    """Runs in a process of their own: the settings hold for a process."""
    command = [sys.executable, __file__, str(file)]
    environment = {**os.environ, "CLOAKWORK_SIM": settings}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return Run(**json.loads(done.stdout))


def _run(file: Path) -> dict[str, float]:
    import cloakwork as cw

    transcript = cw.heal.load(file)
    result = transcript.run(device="sim:0", verify=True)
    if result.mismatches:
        sys.exit(f"{file} on sim:0 differs from the file")
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        transcript.run(device="sim:0", profile=False)
        times.append(time.perf_counter() - begun)
    coverage = transcript.run(device="sim:0", profile=True).report.coverage
    return {
        "seconds": min(times),
        "transfers": coverage.transfers.count,
        "bytes": coverage.transfers.bytes,
        "transfer_seconds": coverage.transfers.measured_seconds or 0.0,
        "on_host": coverage.runs.get("host", 0),
        "expanded": coverage.runs.get("expansion", 0),
    }


if __name__ == "__main__":
    print(json.dumps(_run(Path(sys.argv[1]))))
