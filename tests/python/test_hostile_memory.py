"""Memory that another process writes during a call: results are undefined, the process survives."""

import subprocess
import sys
from pathlib import Path

HAMMERING = Path(__file__).with_name("hammering.py")
WRITES = 20_000
"""For each kind of call, right and wrong in turns."""


def test_no_contents_end_the_process_whenever_they_are_written() -> None:
    process = subprocess.run(
        [sys.executable, str(HAMMERING), str(WRITES)],
        capture_output=True, text=True, timeout=800, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout[-300:] + process.stderr[-1000:]
    lines = process.stdout.splitlines()
    assert len(lines) > 30
    counts = [line.rpartition(": ")[2].split() for line in lines]
    # Every kind read valid values at least once: at the end, when the writes have stopped.
    assert all(len(count) == 2 for count in counts)
