"""What every side of a comparison does: it makes its objects once, then runs what it is told.

A side is a process of its own, so that its memory is its own and its interpreter may be another
one; hence nothing here needs more than Python 3.10.  It reads a line of JSON
`{"run": "rotate", "times": 3}` and answers `{"cpu": [...], "wall": [...]}` in seconds a run.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def serve(operations: dict[str, Callable[[], object]], facts: dict[str, Any]) -> None:
    """Answer requests until the input ends; the first line that is written says what there is."""
    answer({"operations": list(operations), "facts": facts})
    for line in sys.stdin:
        request = json.loads(line)
        name = request["run"]
        if name == "memory":
            answer({"peak_bytes": status_bytes("VmHWM")})
            continue
        cpu, wall = [], []
        for _ in range(request["times"]):
            began_cpu, began = time.process_time(), time.perf_counter()
            operations[name]()
            wall.append(time.perf_counter() - began)
            cpu.append(time.process_time() - began_cpu)
        answer({"cpu": cpu, "wall": wall})


def answer(what: object) -> None:
    """Write one line, at once."""
    print(json.dumps(what), flush=True)


def status_bytes(key: str) -> int:
    """Memory of this process: the peak that getrusage gives survives exec, this one does not."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key + ":")) * 1024
