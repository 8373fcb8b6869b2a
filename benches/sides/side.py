"""A side of a comparison, seen from the benchmark: one process, asked over its pipes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).resolve().parent
# One core each, whatever the default of a side's library is.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class SideError(Exception):
    """A side did not start; the message is the last line that it wrote."""


@dataclass(frozen=True)
class Seconds:
    """Seconds of one operation: medians over rounds."""

    cpu: float
    wall: float


class Side:
    """A process that has made its objects and waits; a context manager that ends it."""

    def __init__(
        self,
        name: str,
        python: Path | str,
        script: str,
        wanted: object,
        variables: dict[str, str] | None = None,
    ) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [str(python), str(HERE / script), json.dumps(wanted)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_THREAD, **(variables or {})},
        )
        hello = self._read()
        self.operations: list[str] = hello["operations"]
        self.facts: dict[str, Any] = hello["facts"]

    def run(self, operation: str, times: int = 1) -> list[Seconds]:
        """Run an operation `times` times."""
        taken = self._ask({"run": operation, "times": times})
        return [Seconds(*pair) for pair in zip(taken["cpu"], taken["wall"], strict=True)]

    def peak_bytes(self) -> float:
        """Peak resident memory so far, including the interpreter's."""
        return float(self._ask({"run": "memory"})["peak_bytes"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._process.kill()
        self._process.communicate()

    def _ask(self, request: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            errors = self._process.communicate()[1].strip().splitlines() or ["it ended"]
            raise SideError(f"{self.name}: {errors[-1]}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def peer_side(
    name: str, folder: str, script: str, wanted: object, variables: dict[str, str] | None = None
) -> Side | None:
    """The side of a library in its environment, or None after printing the reason."""
    python = HERE.parent.parent / ".venv" / "peers" / folder / "bin" / "python"
    if not python.exists():
        print(f"{name} is left out: {folder} is not installed for this benchmark")
        return None
    try:
        return Side(name, python, script, wanted, variables)
    except SideError as error:
        print(f"left out: {error}")
        return None


class Local:
    """Operations of this process, measured like a side: each one `repeat` times."""

    def __init__(self, name: str, operations: dict[str, Callable[[], object]], repeat: int = 1):
        self.name, self.operations, self._repeat = name, operations, repeat

    def run(self, operation: str, times: int = 1) -> list[Seconds]:
        """Run an operation `times` times; seconds of one repetition."""
        work = self.operations[operation]
        taken = []
        for _ in range(times):
            cpu, wall = time.process_time(), time.perf_counter()
            for _ in range(self._repeat):
                work()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            taken.append(Seconds(cpu / self._repeat, wall / self._repeat))
        return taken


def in_turns(sides: Sequence[Side | Local], operation: str, rounds: int) -> dict[str, Seconds]:
    """Medians of the sides that know the operation, measured in turns after one unmeasured run."""
    sides = [side for side in sides if operation in side.operations]
    taken: dict[str, list[Seconds]] = {side.name: [] for side in sides}
    for side in sides:
        side.run(operation)
    for _ in range(rounds):
        for side in sides:
            taken[side.name] += side.run(operation)
    return {name: median(seconds) for name, seconds in taken.items()}


def median(seconds: Sequence[Seconds]) -> Seconds:
    """The median of each kind of time."""
    return Seconds(
        statistics.median(one.cpu for one in seconds),
        statistics.median(one.wall for one in seconds),
    )
