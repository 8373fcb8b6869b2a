"""Output of a command for the developer: steps with timings, and errors as text."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

Words = Sequence[str | Path]

ROOT = Path(__file__).resolve().parents[2]
INTERRUPTED = 130
_STARTED = time.monotonic()
_HEARTBEAT_SECONDS = 20.0
_TAIL_LINES = 40
_TAIL_COLUMNS = 300  # pip lists every version ever released


class DevError(Exception):
    """A command cannot continue. The message gives the reason and the remedy."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


def say(message: str) -> None:
    """Print one progress line with the seconds since `dev.py` started."""
    print(f"[{time.monotonic() - _STARTED:6.1f} s] {message}", flush=True)


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
    """Run a long command quietly into `log`, with signs of progress; on failure show its end."""
    say(title)
    began = time.monotonic()
    log.parent.mkdir(parents=True, exist_ok=True)
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
        status = _exit_status(_watch(process, log))
    if status != 0:
        _print_tail(log)
        where = os.path.relpath(log, ROOT)
        raise DevError(f"{title}: failed with exit status {status}; the log is {where}", status)
    say(f"{title}: done in {time.monotonic() - began:.1f} s")


def _watch(process: subprocess.Popen[bytes], log: Path) -> int:
    """Wait for the process; meanwhile show its last line, rewritten in place on a terminal."""
    on_terminal = sys.stdout.isatty()
    try:
        while True:
            try:
                return process.wait(timeout=1.0 if on_terminal else _HEARTBEAT_SECONDS)
            except subprocess.TimeoutExpired:
                last = _last_line(log)
                if on_terminal:
                    seconds = time.monotonic() - _STARTED
                    print(f"\r\x1b[K[{seconds:6.1f} s]   {last[:80]}", end="", flush=True)
                else:
                    say(f"  {last}")
    except KeyboardInterrupt:
        process.wait()
        raise
    finally:
        if on_terminal:
            print("\r\x1b[K", end="", flush=True)


def _last_line(log: Path) -> str:
    """Return the last line of a log that is still being written."""
    with log.open("rb") as source:
        source.seek(max(0, log.stat().st_size - 4096))
        lines = source.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "...")


def _print_tail(log: Path) -> None:
    lines = log.read_text(errors="replace").splitlines()
    if len(lines) > _TAIL_LINES:
        print(f"  ... {len(lines) - _TAIL_LINES} lines before these")
    for line in lines[-_TAIL_LINES:]:
        print(f"  {line[:_TAIL_COLUMNS]}")
    sys.stdout.flush()


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
