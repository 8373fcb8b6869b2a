"""Steps of a check: each loses only itself, and the report is whole after every one."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from scripts.dev.steps import NO_TIME, PASSED, Report, Step


def written(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text())


def is_running(pid: int) -> bool:
    """Whether a process is there, and more than a remainder that nobody has waited for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("code", "status", "result"),
    [
        ("print('words'); print('{\"a\": [1]}')", PASSED, {"a": [1]}),
        ("print('{not JSON')", PASSED, None),
        ("print('why'); raise SystemExit(3)", "failed with 3", None),
        ("import os; os.kill(os.getpid(), 11)", "ended by SIGSEGV", None),
    ],
)
def test_a_step_ends_as_its_process_does(
    tmp_path: Path, code: str, status: str, result: Any
) -> None:
    report = Report(tmp_path, 600.0, {})
    ended = report.run(Step("a/step", [sys.executable, "-c", code], 600.0))
    assert (ended.status, ended.result) == (status, result)
    found = written(tmp_path)
    assert found["passed"] is (status == PASSED)
    assert [one["status"] for one in found["steps"]] == [status]
    assert ("why" in ended.tail) is ("why" in code)


def test_all_that_a_step_started_ends_at_its_limit(tmp_path: Path) -> None:
    report = Report(tmp_path, 600.0, {})
    code = f"sleep 600 & echo $! > {shlex.quote(str(tmp_path / 'child'))}; wait"
    ended = report.run(Step("hangs", ["sh", "-c", code], 5.0))
    assert ended.status == "over its limit of 5 s"
    pid = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 60
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(pid)
    assert report.run(Step("next", [sys.executable, "-c", ""], 600.0)).status == PASSED


def test_what_cannot_start_or_has_no_time_is_said(tmp_path: Path) -> None:
    report = Report(tmp_path, 600.0, {})
    status = report.run(Step("none", [tmp_path / "none"], 60.0)).status
    assert status == f"cannot start {tmp_path / 'none'}: No such file or directory"
    late = Report(tmp_path, 0.0, {})
    assert late.run(Step("late", [sys.executable, "-c", ""], 60.0)).status == NO_TIME
    assert written(tmp_path)["passed"] is False
