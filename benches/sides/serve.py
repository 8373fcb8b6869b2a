"""The loop of every side of a comparison: make its objects once, then run requested operations.

A side is a separate process, with separate memory and possibly another interpreter; so this module
supports Python 3.10. It reads a line of JSON `{"run": "rotate", "times": 3}` and answers `{"cpu":
[...], "wall": [...]}`, in seconds for each run.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def serve(operations: dict[str, Callable[[], object]], facts: dict[str, Any]) -> None:
    """Answer requests until the input ends; the first line written lists the operations."""
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
    """Write one line, and flush it."""
    print(json.dumps(what), flush=True)


def status_bytes(key: str) -> int:
    """Memory of this process. The peak of getrusage survives exec, this one does not."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key + ":")) * 1024
