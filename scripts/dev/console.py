"""Output of a command for the developer: steps with timings, and errors as text."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

Words = Sequence[str | Path]

ROOT = Path(__file__).resolve().parents[2]
INTERRUPTED = 130
# Names the file in which the build of C++ reports its finished units (crates/csrc).
PROGRESS = "CLOAKWORK_PROGRESS"
_STARTED = time.monotonic()
_HEARTBEAT_SECONDS = 20.0
_TAIL_LINES = 40
_TAIL_COLUMNS = 300  # pip lists every version ever released
_PROGRESS_COLUMNS = 80
# A line of cargo's log, and one of the file that PROGRESS names: `csrc 17/43 avx2-field 23.4 s`.
_CRATE = re.compile(r"^ *Compiling (\S+) v\d", re.MULTILINE)
_UNIT = re.compile(r"^csrc (\d+)/(\d+) ", re.MULTILINE)


class DevError(Exception):
    """A command cannot continue. The message gives the reason and the remedy."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


def say(message: str) -> None:
    """Print one progress line with the seconds since `dev.py` started."""
    _print(f"[{time.monotonic() - _STARTED:6.1f} s] {message}\n")


def call(command: Words, env: Mapping[str, str] | None = None) -> int:
    """Run a command from the root of the repository, its output shown as it comes."""
    try:
        process = subprocess.Popen([str(part) for part in command], cwd=ROOT, env=env)
    except OSError as error:
        raise DevError(f"cannot start {command[0]}: {error.strerror}") from None
    return _exit_status(_wait_through_interrupt(process))


def call_or_fail(command: Words, env: Mapping[str, str] | None = None) -> None:
    """Run a command as `call` does; raise with its exit status if it fails."""
    status = call(command, env)
    if status != 0:
        words = shlex.join(str(part) for part in command[:3])
        raise DevError(f"`{words} ...` failed with exit status {status}", status)


def step(title: str, command: Words, log: Path, env: Mapping[str, str] | None = None) -> None:
    """Run a long command quietly into `log`, with signs of progress; on failure show its end.

    If `env` has PROGRESS, its file is emptied here, and read together with the log.
    """
    say(title)
    began = time.monotonic()
    log.parent.mkdir(parents=True, exist_ok=True)
    progress = Path(env[PROGRESS]) if env and PROGRESS in env else None
    if progress:
        progress.write_bytes(b"")
    with log.open("wb") as sink:
        try:
            process = subprocess.Popen(
                [str(part) for part in command],
                cwd=ROOT,
                env=env,
                stdout=sink,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        except OSError as error:
            raise DevError(f"cannot start {command[0]}: {error.strerror}") from None
        status = _exit_status(_watch(process, log, progress))
    if status != 0:
        _print_tail(log)
        where = os.path.relpath(log, ROOT)
        raise DevError(f"{title}: failed with exit status {status}; the log is {where}", status)
    say(f"{title}: done in {time.monotonic() - began:.1f} s")


def progress_line(log: str, units: str) -> str:
    """Compose one line from a log that is being written, and from the reports of C++ units.

    While cargo compiles, the last crate, the number of crates, and the units; else the last line.
    """
    found = _UNIT.findall(units)
    cxx = [f"C++: {found[-1][0]} of {found[-1][1]} units"] if found else []
    crates = _CRATE.findall(log)
    if crates and not re.search(r"^ *Finished ", log, re.MULTILINE):
        last = crates[-1].removeprefix("cloakwork-")
        return " · ".join([f"Rust: {last}, {_count(len(crates), 'crate')}", *cxx])
    lines = (line.strip() for line in reversed(log.split("\n")))
    return next((line[:_PROGRESS_COLUMNS] for line in lines if line), "...")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _watch(process: subprocess.Popen[bytes], log: Path, progress: Path | None) -> int:
    """Wait for the process; meanwhile show its progress, rewritten in place on a terminal."""
    on_terminal = sys.stdout.isatty()
    try:
        while True:
            try:
                return process.wait(timeout=1.0 if on_terminal else _HEARTBEAT_SECONDS)
            except subprocess.TimeoutExpired:
                line = progress_line(_text(log), _text(progress) if progress else "")
                if on_terminal:
                    _print(f"\r\x1b[K[{time.monotonic() - _STARTED:6.1f} s]   {line}")
                else:
                    say(f"  {line}")
    except KeyboardInterrupt:
        process.wait()
        raise
    finally:
        if on_terminal:
            _print("\r\x1b[K")


def _text(path: Path) -> str:
    """Read a file that another process writes; it may end within a character."""
    return path.read_text("utf-8", "replace") if path.exists() else ""


def _print(text: str) -> None:
    """Print; characters that the terminal's encoding lacks become question marks."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), end="", flush=True)


def _print_tail(log: Path) -> None:
    lines = _text(log).splitlines()
    if len(lines) > _TAIL_LINES:
        _print(f"  ... {len(lines) - _TAIL_LINES} lines before these\n")
    for line in lines[-_TAIL_LINES:]:
        _print(f"  {line[:_TAIL_COLUMNS]}\n")


def _wait_through_interrupt(process: subprocess.Popen[bytes]) -> int:
    """Wait; on Ctrl-C the child, which got it too, ends by itself and prints its own message."""
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()
        return INTERRUPTED


def _exit_status(status: int) -> int:
    """Map death by a signal to what a shell reports."""
    return status if status >= 0 else 128 - status
