"""Rust's tests: built by one call of cargo, then run side by side, the longest first.

`cargo test` runs one program after the other, so that a long test leaves the other cores idle.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from scripts.dev.console import ROOT, DevError, say
from scripts.dev.environment import processors

# Without the interface to Python, which links no libpython: pytest tests it through Python.
SCOPE = ("--workspace", "--exclude", "cloakwork-py", "--exclude", "cloakwork-extension")
# Seconds of each program in the last run here, by its name.
_DURATIONS = ROOT / "target" / "rust-tests.json"
# Those that begin first where nothing has run yet; a new program begins before them.
_LONGEST = (
    "run/tests/models",
    "kernels/tests/elementwise",
    "testing/tests/conformance",
    "kernels/tests/symbols",
    "run/tests/curve",
    "run/tests/cuda",
)


@dataclass(frozen=True)
class Program:
    """A program of tests: its name (`run/tests/models`), the command, and where it runs."""

    name: str
    command: tuple[str, ...]
    folder: Path


@dataclass(frozen=True)
class Ended:
    """How a program of tests ended, with all that it printed."""

    program: Program
    status: int
    output: str
    seconds: float


def run(cargo: str, profile: str, env: Mapping[str, str]) -> None:
    """Build and run all tests of the workspace and of documentation; raise if one fails."""
    programs = [*build([cargo, "test", *SCOPE, "--profile", profile], env)]
    documentation = (cargo, "test", "--doc", "--locked", *SCOPE, "--profile", profile, "--quiet")
    programs.append(Program("examples in documentation", documentation, ROOT))
    programs.sort(key=_order(_durations()))
    say(f"{len(programs)} programs of tests")
    failed, seconds = [], {}
    for ended in run_all(programs, env):
        seconds[ended.program.name] = round(ended.seconds, 1)
        if ended.status != 0:
            failed.append(ended)
        say(f"{ended.program.name}: {_closing(ended)}, {ended.seconds:.0f} s")
    _DURATIONS.write_text(json.dumps(seconds, indent=1, sort_keys=True) + "\n")
    if failed:
        for ended in failed:
            print(f"\n---- {ended.program.name}\n{ended.output}", flush=True)
        names = ", ".join(sorted(ended.program.name for ended in failed))
        raise DevError(f"{len(failed)} of {len(programs)} programs of tests failed: {names}", 1)


def build(command: Sequence[str], env: Mapping[str, str]) -> list[Program]:
    """Call cargo to build tests without running them; return the programs that it made."""
    words = [*command, "--locked", "--no-run", "--message-format", "json-render-diagnostics"]
    done = subprocess.run(
        words, cwd=ROOT, env=dict(env), stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        raise DevError("Rust's tests do not compile", done.returncode)
    return list(executables(done.stdout))


def executables(messages: str) -> Iterator[Program]:
    """The programs of tests in what cargo said, with the folders of their crates."""
    for line in messages.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("executable") and message.get("profile", {}).get("test"):
            folder = Path(message["manifest_path"]).parent
            kind = message["target"]["kind"][0]
            own = f"tests/{message['target']['name']}" if kind == "test" else f"src ({kind})"
            name = f"{folder.name}/{own}"
            yield Program(name, (message["executable"], "--quiet"), folder)


def run_all(programs: Iterable[Program], env: Mapping[str, str]) -> Iterator[Ended]:
    """Run programs, as many at once as there are cores; yield each when it has ended."""
    with ThreadPoolExecutor(processors()) as pool:
        running = [pool.submit(_ended, program, env) for program in programs]
        for future in as_completed(running):
            yield future.result()


def _ended(program: Program, env: Mapping[str, str]) -> Ended:
    began = time.monotonic()
    try:
        done = subprocess.run(
            program.command,
            cwd=program.folder,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        return Ended(program, 1, f"cannot start: {error}", 0.0)
    return Ended(program, done.returncode, done.stdout, time.monotonic() - began)


def _closing(ended: Ended) -> str:
    """The line about a program: its number of tests, or that it failed."""
    if ended.status != 0:
        return f"FAILED with exit status {ended.status}"
    results = [line for line in ended.output.splitlines() if line.startswith("test result: ok. ")]
    passed = sum(int(line.split()[3]) for line in results)
    return f"{passed} passed" if results else "ok"


def _order(known: Mapping[str, float]) -> Callable[[Program], float]:
    """A key that sorts programs by their last durations, the longest first."""
    if not known:
        return lambda one: _LONGEST.index(one.name) if one.name in _LONGEST else len(_LONGEST)
    return lambda one: -known.get(one.name, float("inf"))


def _durations() -> dict[str, float]:
    try:
        found = json.loads(_DURATIONS.read_text())
        return {str(name): float(seconds) for name, seconds in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
