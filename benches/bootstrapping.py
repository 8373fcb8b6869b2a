"""Bootstrapping at degree 2^16: CPU time of one core, precision, and the server's peak memory.

    python benches/bootstrapping.py

Keys are made by a process of its own, which writes files; a second process has the evaluation keys
and a ciphertext alone, as a server has.  Times are the least of a few runs.  The larger set takes
5 GB of memory and 2 GB of disk for a minute.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import cloakwork as cw
import numpy as np
from cloakwork import fhe
from measured.rows import record

RUNS = 3
LEVELS = 10
# Slots; options; our goals: seconds, bits of precision in every slot, and gigabytes of the server.
SETS: dict[int, tuple[dict[str, bool], dict[str, float]]] = {
    2**10: ({}, {"bootstrapping": 4.0, "worst precision": 15.0, "server's peak": 5.0}),
    2**15: (
        {"arcsine": True},
        {"bootstrapping": 7.0, "worst precision": 15.0, "server's peak": 5.0},
    ),
}


def main(words: list[str]) -> int:
    """Print all figures; with words: the part of a process."""
    if words:
        part, folder, slots = words
        {"keys": make, "server": serve, "client": read}[part](Path(folder), int(slots))
        return 0
    for slots, (_, asked) in SETS.items():
        _case(slots, asked)
    return 0


def _case(slots: int, asked: dict[str, float]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for part in ("keys", "server", "client"):
            command = [sys.executable, __file__, part, folder, str(slots)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found.update(json.loads(done.stdout))
    log = slots.bit_length() - 1
    for name, (value, unit) in found.items():
        goal, line = asked.get(name), f"2^{log} slots: {name:20} {value:8.2f} {unit}"
        if goal is not None:
            missed = value < goal if unit == "bits" else value > goal
            line += f"  asked {goal:g}{' MISSED' if missed else ''}"
        print(line, flush=True)
        record(f"2^{log} slots: {name}", unit, value)


def make(folder: Path, slots: int) -> None:
    """Keys and a ciphertext of random values of the unit disk."""
    cw.set_threads(1)
    options = SETS[slots][0]
    context = fhe.bootstrapping_context(LEVELS, slots, **options)
    bootstrapping, keys = fhe.Bootstrapping(context, slots, **options), context.keygen()
    begun = process_time()
    keys.add_bootstrapping(bootstrapping)
    taken = process_time() - begun
    keys.save(folder / "client.key")
    keys.evaluation.save(folder / "server.key")
    x = keys.encrypt(np.tile(_values(slots), context.slots // slots), level=0, bound=1.0)
    x.save(folder / "x.ct")
    size = keys.evaluation.size_bytes / 1e9
    _tell({"keys made": (taken, "s"), "evaluation keys": (size, "GB"), "client's peak": _peak()})


def serve(folder: Path, slots: int) -> None:
    """The least time of a few runs; no secret is here."""
    cw.set_threads(1)
    keys = fhe.load(folder / "server.key")
    x = keys.load(folder / "x.ct")
    if slots < keys.context.slots:
        x = x.with_packing(keys.context.packing(slots, period=slots, tiled=True))
    bootstrapping = fhe.Bootstrapping(keys.context, slots, compact=True, **SETS[slots][0])
    times = []
    for _ in range(RUNS):
        begun = process_time()
        found = bootstrapping(x)
        times.append(process_time() - begun)
    found.save(folder / "y.ct")
    first = {"first run": (times[0], "s"), "bootstrapping": (min(times), "s")}
    _tell({**first, "server's peak": _peak()})


def read(folder: Path, slots: int) -> None:
    """The precision of the result: of the worst slot, and by the mean of errors."""
    keys = fhe.load(folder / "client.key")
    y = keys.evaluation.load(folder / "y.ct")
    errors = np.abs(keys.decrypt(y)[:slots] - _values(slots))
    worst, mean = (float(-np.log2(error)) for error in (errors.max(), errors.mean()))
    estimate = float(y.precision_estimate())
    bits = {"worst precision": worst, "mean precision": mean, "estimate": estimate}
    _tell({name: (value, "bits") for name, value in bits.items()})


def _values(slots: int) -> Any:
    draw = np.random.default_rng(slots)
    return np.sqrt(draw.random(slots)) * np.exp(2j * np.pi * draw.random(slots))


def _peak() -> tuple[float, str]:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, "GB"


def _tell(found: dict[str, tuple[float, str]]) -> None:
    print(json.dumps(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
