"""The check on a machine with a GPU, which needs no compiler, no network and no `.venv`.

`dev.py gpu-stage` makes the folder that it runs from. Each step is a process with a limit, and
`report.json` is whole after every step: kernels that hang, crash or break the context lose their
own step alone. Correctness comes first, row by row; then speed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from scripts.dev import gpu_programs, gpu_rows, gpu_stage
from scripts.dev.console import ROOT, DevError, Words, say
from scripts.dev.environment import processors
from scripts.dev.steps import PASSED, Ended, Report, Step

DEVICE = "cuda:0"
# Seconds after which no step of a part begins.
PARTS = {"correctness": 250.0, "speed": 150.0}
BENCHES = ("node", "modmul", "add", "ntt", "field_ntt", "msm", "relinearize")
_CLI = "import sys; from cloakwork.cli import main; sys.argv[0] = 'cloakwork'; sys.exit(main())"
_FACTS = (
    "nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,memory.total --format=csv; "
    "nvcc --version | tail -2; python3 -V; ldd --version | head -1; nproc"
)
# Ops that one process of `conform` holds to references, its seconds, and processes at once.
_OPS, _SECONDS, _PROCESSES = 6, 8, min(max(4, processors() // 2), 8)


@dataclass(frozen=True)
class Check:
    """A staged folder, the device, and where the report goes."""

    built: Path
    device: str
    report: Report
    small: bool

    def program(self, name: str, limit: float) -> Ended:
        """A step of `gpu_programs`."""
        words: Words = [sys.executable, gpu_programs.__file__, name, self.device]
        return self.report.run(Step(name.replace("_", " "), words, limit))

    def cli(self, *words: str | Path) -> Words:
        """A call of the command line, which has no script here."""
        return [sys.executable, "-c", _CLI, *words]


def run(args: Sequence[str]) -> int:
    """Check a GPU from a folder that `gpu-stage` made, or that it makes now."""
    asked = _asked(args)
    built = asked.built
    if built is None:
        built = gpu_stage.make(gpu_stage.OUT)
    built = built.resolve()
    facts = gpu_stage.read(built)
    out = asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    passed = True
    with tempfile.TemporaryDirectory() as site:
        env = _environment(built, Path(site))
        for part in [asked.only] if asked.only else PARTS:
            folder = out / part
            folder.mkdir(exist_ok=True)
            report = Report(folder, asked.seconds or PARTS[part], env)
            check = Check(built, asked.device, report, asked.small)
            say(f"gpu-check: {part}, {report.seconds:g} s at most")
            _correctness(check, facts) if part == "correctness" else _speed(check)
            print("\n".join(table(report)), flush=True)
            passed &= report.passed
    return 0 if passed else 1


def table(report: Report) -> list[str]:
    """The steps in lines: what each found is in report.json."""
    lines = [f"{one.name:<40} {one.seconds:7.1f} s   {one.status}" for one in report.ended]
    return ["", *lines, f"{report.folder / 'report.json'}"]


def _correctness(check: Check, facts: gpu_stage.Facts) -> None:
    report = check.report
    report.run(Step("facts", ["sh", "-c", _FACTS], 20))
    if check.program("context", 30).status != PASSED:
        return  # Without a GPU all others would say the same.
    report.run(Step("devices", check.cli("devices", "--json"), 30))
    check.program("one_add", 60)
    gpu_rows.check(report, check.built, facts.modules)
    for name in ("blocks", "transfers", "checks", "budget"):
        check.program(name, 40)
    for program in facts.programs:
        diff = check.cli("diff", check.built / program, "--device", check.device, *_apart(check))
        report.run(Step(f"diff of {program}", diff, 60))
    groups = [facts.ops[at : at + _OPS] for at in range(0, len(facts.ops), _OPS)]
    with ThreadPoolExecutor(_PROCESSES) as pool:
        list(pool.map(lambda group: _conform(check, group), groups))


def _apart(check: Check) -> list[str]:
    """Options with which a kernel that breaks the context, or hangs, is named."""
    return ["--timeout", "15"] if check.device.startswith("cuda:") else []


def _conform(check: Check, ops: Sequence[str]) -> None:
    """Hold ops to their references; where their process is lost, one by one."""
    name = f"conform {ops[0]}" + (f" and {len(ops) - 1} more" if len(ops) > 1 else "")
    seconds = "1" if check.small else str(_SECONDS)
    options = ["--seconds", seconds, "--json", "--ops", ",".join(ops), *_apart(check)]
    words = check.cli("conform", check.device, *options)
    ended = check.report.attempt(Step(name, words, 5.0 * _SECONDS))
    found = _object(check.report.log(name)) if ended.seconds else None
    if found is None and len(ops) > 1 and ended.seconds:
        for op in ops:
            _conform(check, [op])
        return
    if found is not None:
        ended.result = {op["op"]: op["failure"] for op in found["ops"] if op["failure"]}
    check.report.add(ended)


def _object(log: Path) -> dict[str, Any] | None:
    """The JSON object of several lines that a process printed, if it came to that."""
    text = log.read_text(errors="replace")
    try:
        found: dict[str, Any] = json.loads(text[text.index("{") :])
    except ValueError:
        return None
    return found


def _speed(check: Check) -> None:
    bench = ROOT / "benches" / "gpu.py"
    for name in BENCHES:
        rows = check.report.folder / f"{name}.json"
        words: Words = [sys.executable, bench, name, "--device", check.device, "--json", rows]
        small: Words = ["--small"] if check.small else []
        ended = check.report.attempt(Step(f"bench {name}", [*words, *small], 75))
        if rows.exists():
            ended.result = json.loads(rows.read_text())["rows"]
        check.report.add(ended)


def _environment(built: Path, site: Path) -> Mapping[str, str]:
    """Unpack the wheel where nothing else is, and name that place to Python."""
    with ZipFile(_wheel(built)) as wheel:
        wheel.extractall(site)
    lacking = sorted(name for name in _needs(site) if find_spec(name) is None)
    if lacking:
        raise DevError(f"gpu-check needs {', '.join(lacking)}, which {sys.executable} lacks")
    path = os.pathsep.join([str(site), str(ROOT)])
    rows = built / gpu_stage.ROWS  # of kernels that were mended here
    mended = {"CLOAKWORK_CUDA_KERNELS": str(rows)} if rows.exists() else {}
    return os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"} | mended


def _needs(site: Path) -> Iterator[str]:
    """The packages that the wheel needs always, which have the names of their modules."""
    for facts in site.glob("cloakwork-*.dist-info/METADATA"):
        lines = re.finditer(r"^Requires-Dist: ([\w.-]+)[^;\n]*$", facts.read_text(), re.MULTILINE)
        yield from (line[1] for line in lines)


def _wheel(built: Path) -> Path:
    found = list(built.glob("cloakwork-*.whl"))
    if len(found) != 1:
        raise DevError(f"{built}: expected one wheel that `dev.py gpu-stage` made, found {found}")
    return found[0]


def _asked(args: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py gpu-check", description=run.__doc__)
    parser.add_argument("--built", type=Path, help="a folder of `dev.py gpu-stage`; else made now")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "gpu-check")
    parser.add_argument("--only", choices=list(PARTS), help="one part")
    parser.add_argument("--seconds", type=_seconds, help="after which no step begins")
    parser.add_argument("--device", default=DEVICE)
    parser.add_argument("--small", action="store_true", help="a test of this command, not of a GPU")
    return parser.parse_args(args)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got {text}")
    return seconds
