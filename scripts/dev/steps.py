"""Steps of a check, each a process with a limit; the report is a whole file after every step.

A step that fails, crashes or hangs loses only itself: the next ones run. Nothing but Python's own
library is needed here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scripts.dev.console import Words, say

PASSED, NO_TIME = "passed", "not begun: no time left"
_TAIL = 1500
_SHOWN = 160


@dataclass(frozen=True)
class Step:
    """A command, and the seconds after which it and all that it started are killed."""

    name: str
    command: Words
    limit: float


@dataclass
class Ended:
    """How a step ended.

    status   "passed", or what came instead: an exit status, a signal, the limit, no time left
    result   the last line that it printed, where that is JSON
    tail     the end of its output, where it did not pass
    """

    name: str
    status: str
    seconds: float = 0.0
    result: Any = None
    tail: str = ""


@dataclass
class Report:
    """The steps that have ended, in the file `report.json` of a folder; logs lie beside it."""

    folder: Path
    seconds: float
    env: Mapping[str, str]
    ended: list[Ended] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def passed(self) -> bool:
        """Whether all steps passed."""
        return all(one.status == PASSED for one in self.ended)

    @property
    def left(self) -> float:
        """Seconds until no step begins any more."""
        return self.seconds - (time.monotonic() - self._began)

    def run(self, step: Step) -> Ended:
        """Run a step, and write the report with its end."""
        return self.add(self.attempt(step))

    def attempt(self, step: Step) -> Ended:
        """Run a step, whose end is not yet in the report."""
        if self.left <= 0:
            return Ended(step.name, NO_TIME)
        log = self.log(step.name)
        began = time.monotonic()
        status = _status(step, log, self.env)
        seconds = round(time.monotonic() - began, 1)
        text = log.read_text(errors="replace")
        tail = "" if status == PASSED else text[-_TAIL:]
        return Ended(step.name, status, seconds, _last_json(text), tail)

    def add(self, ended: Ended) -> Ended:
        """Enter an end, and write the report."""
        with self._lock:
            self.ended.append(ended)
        self.write()
        shown = json.dumps(ended.result) if ended.result is not None else ended.tail.strip()
        say(f"{ended.name}: {ended.status}, {ended.seconds} s {shown[-_SHOWN:]}".rstrip())
        return ended

    def log(self, name: str) -> Path:
        """The file of a step's output."""
        logs = self.folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        kept = "".join(letter if letter.isalnum() else "-" for letter in name)
        return logs / f"{kept}.txt"

    def write(self) -> None:
        """Replace the file as a whole: a reader finds the last report or this one."""
        with self._lock:
            found = {
                "passed": self.passed,
                "seconds": round(time.monotonic() - self._began, 1),
                "steps": [asdict(one) for one in self.ended],
            }
            temporary = self.folder / "report.json.new"
            temporary.write_text(json.dumps(found, indent=1) + "\n")
            temporary.replace(self.folder / "report.json")


def _status(step: Step, log: Path, env: Mapping[str, str]) -> str:
    with log.open("wb") as sink:
        try:
            process = subprocess.Popen(
                [str(word) for word in step.command],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=dict(env),
                start_new_session=True,
            )
        except OSError as error:
            return f"cannot start {step.command[0]}: {error.strerror}"
        try:
            code = process.wait(step.limit)
        except subprocess.TimeoutExpired:
            _kill(process)
            return f"over its limit of {step.limit:g} s"
        except BaseException:
            _kill(process)
            raise
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return PASSED if code == 0 else f"failed with {code}"


def _kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_json(text: str) -> Any:
    """The value of the last line, if it is a JSON object."""
    last = text.rstrip().rsplit("\n", 1)[-1]
    try:
        return json.loads(last) if last.startswith("{") else None
    except ValueError:
        return None
