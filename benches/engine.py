"""Benchmarks of the engine: kernels, steps, loading, memory, and the encrypted digits."""

from __future__ import annotations

import base64
import io
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measured.rows import record

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 5

# Memory from /proc: the peak of getrusage survives exec, this one does not.
STATUS = """
def status(key):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key + ":")) * 1024
"""


def kernels() -> None:
    """Kernels on one core for each instruction set; the peers: portable code and plain copies."""
    _recorded(speed_rows(_example("cloakwork-kernels", "speed")))


def speed_rows(lines: Iterable[str]) -> Iterator[tuple[str, float]]:
    """Read `modmul, 2^20   ns a word   portable 2.140  avx2 1.190`: nanoseconds by name."""
    for line in lines:
        copy = re.fullmatch(r"(plain copy of .+): ([\d.]+) ns a word", line)
        if copy:
            yield copy[1], float(copy[2])
        case = re.fullmatch(r"(.+?) +ns a \w+ +(.+)", line)
        for isa, each in re.findall(r"(\w+) ([\d.]+)", case[2]) if case else ():
            yield f"{case[1] if case else ''}, {isa}", float(each)


def overhead() -> None:
    """A million tiny steps; peers: NumPy's call and a dispatch by name, as HEAL's runtime does."""
    _recorded(overhead_rows(_example("cloakwork-run", "overhead")))
    _dispatch()


def overhead_rows(lines: Iterable[str]) -> Iterator[tuple[str, float]]:
    """Read `run  31.0 ns a step, ... (profile: true)`; a plan with tasks begins others."""
    plan = ""
    for line in lines:
        step = re.fullmatch(r"(\w+) +([\d.]+) ns a (?:step|task)(.*)", line)
        if step is None:
            continue
        tasks = re.search(r"with (\d+) tasks", step[3])
        plan = f", {tasks[1]} tasks" if tasks else plan
        option = re.search(r"profile: \w+|on \d threads", step[3])
        yield f"{step[1]}{plan}{', ' + option[0] if option else ''}", float(step[2])


def _recorded(rows: Iterable[tuple[str, float]]) -> None:
    found = list(rows)
    for name, nanoseconds in found:
        record(name, "ns", nanoseconds)
    if not found:
        raise RuntimeError("the example printed no figure: benches/engine.py reads other lines")


def _dispatch() -> None:
    """Print the time of a step for each peer."""
    left, right, out = np.array([3, 5]), np.array([3, 5]), np.empty(2, dtype=np.int64)
    calls = 200_000

    def numpy_calls() -> None:
        add = np.add
        for _ in range(calls):
            add(left, right, out=out)

    ops: dict[str, Any] = {"_modsum_ttt": np.add}
    names = {6: left, 7: right, 8: out}
    step = ("_modsum_ttt", (6, 7), 8)

    def dispatched_calls() -> None:
        for _ in range(calls):
            name, args, result = step
            names[result] = ops[name](*[names[arg] for arg in args], out=names[result])

    for label, seconds in _medians({"NumPy": numpy_calls, "by name": dispatched_calls}).items():
        print(f"peer, {label:10} {seconds / calls * 1e9:7.1f} ns a step")


def load() -> None:
    """A transcript that is mostly base64; peer: json, base64 and NumPy, as in HEAL's loader."""
    import cloakwork as cw

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "payload.json"
        tensors, elements = 24, 1 << 19
        path.write_text(json.dumps(_uploads(tensors, elements)))
        container = Path(folder) / "payload.cwk"
        cw.heal.load(path).save(container)
        megabytes = path.stat().st_size / 1e6
        ours = lambda: cw.heal.load(path)  # noqa: E731
        mapped = lambda: cw.heal.load(container)  # noqa: E731
        theirs = lambda: _load_in_python(path)  # noqa: E731
        peer = "json+base64+numpy"
        seconds = _medians({"cloakwork": ours, "container": mapped, peer: theirs}, ("ms", 1e3))
        theirs_seconds = seconds[peer]
        for label, taken in seconds.items():
            rate = f"{megabytes / taken:8.0f} MB/s of text" if label != "container" else ""
            ratio = theirs_seconds / taken
            print(f"{label:18} {taken * 1e3:9.2f} ms  {ratio:8.1f} x the peer  {rate}")
        script = f"import cloakwork as cw; t = cw.heal.load({str(path)!r})"
        decoded = tensors * elements * 8
        peak = _peak_bytes(script) - _peak_bytes("import cloakwork")
        limit = 1.3 * decoded + path.stat().st_size
        print(f"peak memory {peak / 1e6:.0f} MB; limit 1.3 x tensors + file: {limit / 1e6:.0f} MB")


def memory() -> None:
    """Resident memory of a run beside the plan's prediction."""
    script = """
import numpy as np, cloakwork as cw
x = cw.asarray(np.ones((64, 1 << 18), dtype=np.int64))
q = 2305843009218281473
def chain(x):
    for _ in range(6):
        x = cw.ops.modmul(x, x, q)
    return cw.ops.axis_modsum(cw.ops.modsum(x, x, q).unsqueeze(-1), 0, cw.asarray([q]))
program = cw.trace(chain, x)
words, planned = program.memory(threads=1)
open("/proc/self/clear_refs", "w").write("5")  # the high-water mark starts again from here
before = status("VmRSS")
program.run(x, threads=1, profile=False)
grown = status("VmHWM") - before
print(f"plan: {words}")
print(f"run grew by {grown / 2**20:.1f} MiB, {grown / planned:.3f} x the plan")
"""
    subprocess.run([sys.executable, "-c", STATUS + script], check=True)


def digits() -> None:
    """The encrypted digits, one thread and two, by phase of the transcript's run."""
    import cloakwork as cw
    from cloakwork.demo import digits as demo

    with tempfile.TemporaryDirectory() as folder:
        demo.run(Path(folder))
        transcript = cw.heal.load(next(Path(folder).glob("*.json")))
        runs = {f"{n} threads": partial(transcript.run, threads=n) for n in (1, 2)}
        for run in runs.values():
            run()
        for label, seconds in _medians(runs, ("s", 1.0)).items():
            print(f"{label}: {seconds:.3f} s")
        report = transcript.run(threads=1).report
        for op in report.ops:
            per = op.seconds / max(op.operations, 1) * 1e9
            print(f"  {op.name:36} {op.seconds:8.3f} s  {per:8.2f} ns an operation")


def _example(package: str, example: str) -> Iterator[str]:
    """Run a Rust example, showing and yielding its lines."""
    command = ["cargo", "run", "--quiet", "--profile", "fast", "-p", package, "--example", example]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            yield line.rstrip("\n")
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)


def _medians(
    sides: Mapping[str, Callable[[], object]], unit: tuple[str, float] | None = None
) -> dict[str, float]:
    """Seconds of each side: medians of interleaved rounds, recorded if a unit is given."""
    taken: dict[str, list[float]] = {label: [] for label in sides}
    for _ in range(ROUNDS):
        for label, side in sides.items():
            start = time.perf_counter()
            side()
            taken[label].append(time.perf_counter() - start)
    if unit is not None:
        for label, seconds in taken.items():
            record(label, unit[0], *(unit[1] * each for each in seconds))
    return {label: statistics.median(seconds) for label, seconds in taken.items()}


def _peak_bytes(script: str) -> int:
    """Peak resident memory of a Python process that runs a script."""
    command = [sys.executable, "-c", f"{STATUS}\n{script}\nprint(status('VmHWM'))"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _uploads(tensors: int, elements: int) -> dict[str, object]:
    """Uploads of random tensors, each freed again, in HEAL's form."""
    random = np.random.default_rng(1)
    entries: list[object] = []
    for name in range(tensors):
        buffer = io.BytesIO()
        np.save(buffer, random.integers(0, 1 << 61, elements))
        data = base64.b64encode(buffer.getvalue()).decode()
        host = {"__type__": "HostTensor", "tensor_base64": {"type": "numpy", "data": data}}
        pointer = {"__type__": "DeviceTensorPointer", "dtype": "torch.int64", "inf_name": name}
        op = {
            "__type__": "DeviceOp",
            "name": "host_to_device",
            "args": [_argument("HOST_TENSOR", host)],
            "out": _argument("DEVICE_TENSOR", pointer),
        }
        free = {"__type__": "FreeDeviceTensor", "tensor_name": name}
        entries += [[_entry("DEVICE_OP"), op], [_entry("FREE_DEVICE_TENSOR"), free]]
    return {"__type__": "ExecutionTranscript", "transcript": entries}


def _argument(kind: str, value: object) -> dict[str, object]:
    arg_type = {"__type__": "DeviceOpArgType", "value": kind}
    return {"__type__": "DeviceOpArg", "arg_type": arg_type, "value": value}


def _entry(kind: str) -> dict[str, object]:
    return {"__type__": "ExecutionTranscriptOpType", "value": kind}


def _load_in_python(path: Path) -> object:
    def hook(entry: dict[str, object]) -> object:
        if entry.get("type") == "numpy":
            data = base64.b64decode(str(entry["data"]))
            return np.load(io.BytesIO(data), allow_pickle=False)
        return entry

    with path.open() as file:
        return json.load(file, object_hook=hook)
