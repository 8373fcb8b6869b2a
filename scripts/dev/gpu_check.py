"""The check on a machine with a GPU: build with CUDA kernels, tests, conformance, figures."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scripts.dev import cuda, rust_tests
from scripts.dev.console import ROOT, DevError, Words, call, say
from scripts.dev.environment import PROFILE, PYTHON, VENV, ensure_built, environment
from scripts.dev.toolchain import require_rust

DEVICE = "cuda:0"
DEMOS = {"digits": "digits.json", "disease": "disease.json", "sharpen": "sharpen.json"}
CONFORM_SECONDS = 300
# Asked in a process of its own: the driver is not to be initialized in this one.
_PROBE = """
import ctypes, sys
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError:
    sys.exit("libcuda.so.1 is not found, or cannot be loaded")
count = ctypes.c_int()
if code := cuda.cuInit(0):
    sys.exit(f"cuInit gives error {code}")
if code := cuda.cuDeviceGetCount(ctypes.byref(count)):
    sys.exit(f"cuDeviceGetCount gives error {code}")
if count.value == 0:
    sys.exit("the NVIDIA driver lists no GPU")
"""


@dataclass
class Step:
    """A part of the check and its end."""

    name: str
    status: int = 0
    seconds: float = 0.0


@dataclass
class Report:
    """All parts, and the figures of the benchmarks."""

    machine: dict[str, Any] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every part passed; figures that miss what was asked do not fail it."""
        return all(step.status == 0 for step in self.steps)


def run(args: Sequence[str]) -> int:
    """Check this machine's GPU; `--json FILE` writes the report there."""
    out = _file_of(args)
    reason = missing_gpu(environment())
    if reason:
        raise DevError(f"gpu-check needs a GPU: {reason}")
    cuda.build()
    ensure_built()
    folder = ROOT / "target" / "gpu-check"
    folder.mkdir(parents=True, exist_ok=True)
    report = Report(machine=_machine())
    for name, command in steps(folder).items():
        say(name)
        began = time.monotonic()
        status = call(command, environment())
        report.steps.append(Step(name, status, time.monotonic() - began))
    figures = folder / "figures.json"
    if figures.exists():
        report.figures = json.loads(figures.read_text())["rows"]
    if out:
        out.write_text(json.dumps(asdict(report), indent=2) + "\n")
    print("\n".join(table(report)))
    return 0 if report.passed else 1


def missing_gpu(env: Mapping[str, str]) -> str:
    """Why CUDA has no GPU in processes with these variables; "" if it has one."""
    command = [sys.executable, "-c", _PROBE]
    done = subprocess.run(command, env=dict(env), capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return done.stderr.strip() or f"asking for it ended with exit status {done.returncode}"


def steps(folder: Path) -> dict[str, Words]:
    """The parts, in order, by their names."""
    program = VENV / "bin" / "cloakwork"
    rust = ["test", "--locked", *rust_tests.SCOPE, "--profile", PROFILE, "--quiet"]
    found: dict[str, Words] = {
        "Rust's tests of the driver": [require_rust(), *rust, "--test", "cuda"],
        "Python's tests of the driver": [PYTHON, "-m", "pytest", "tests/python/test_cuda.py", "-q"],
        "conform": [
            program, "conform", DEVICE,
            "--seconds", str(CONFORM_SECONDS), "--junit", folder / "conform.xml",
        ],
    }  # fmt: skip
    for demo, file in DEMOS.items():
        found[f"demo {demo}"] = [program, "demo", demo, "--out", folder]
        found[f"diff of {demo}"] = [program, "diff", folder / file, "--device", DEVICE]
    figures = folder / "figures.json"
    figures.unlink(missing_ok=True)
    found["benchmarks"] = [PYTHON, ROOT / "benches" / "gpu.py", "--json", figures]
    return found


def table(report: Report) -> list[str]:
    """The report in lines."""
    lines = ["", ", ".join(gpu["name"] for gpu in report.machine.get("gpus", []))]
    for step in report.steps:
        state = "passed" if step.status == 0 else f"failed with {step.status}"
        lines.append(f"{step.name:<46} {step.seconds:8.1f} s   {state}")
    for row in report.figures:
        state = row["wrong"] or ("reached" if row["is_reached"] else "not reached")
        bound = f"{'>=' if row['more_is_better'] else '<='} {row['asked']:g}"
        lines.append(f"{row['name']:<46} {row['value']:8.3f} {row['unit']:<3} {bound:<8} {state}")
    return lines


def _machine() -> dict[str, Any]:
    """The facts of the machine, as `cloakwork devices` tells them."""
    command = [str(VENV / "bin" / "cloakwork"), "devices", "--json"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)[0]["machine"]
    return found


def _file_of(args: Sequence[str]) -> Path | None:
    match list(args):
        case []:
            return None
        case ["--json", file]:
            return Path(file)
        case other:
            raise DevError(f"gpu-check takes --json FILE or no argument, got: {' '.join(other)}")
