"""Progress of compiling: records before each stage, lines on standard error, and its end."""

from __future__ import annotations

import io
import re
from dataclasses import FrozenInstanceError
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe, patience
from cloakwork.cli import progress as lines
from cloakwork.cli.progress import Bar, Lines, busy
from cloakwork.cli.words import Invocation, in_words
from cloakwork.compiler.progress import Progress, amount
from cloakwork.demo.stage import Phases
from cloakwork.errors import ParamError
from python.compiled_graphs import perceptron, sample_of
from rich.console import Console

SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
GRAPH = perceptron((8, 4, 2))
SAMPLE = sample_of(GRAPH, 24)


def test_records_are_small_and_immutable_and_tell_the_stages_in_order() -> None:
    told: list[Progress] = []
    made = fhe.compile(GRAPH, SAMPLE, progress=told.append, **SMALL)
    stages = [one.stage for one in told]
    assert stages[0] == "import"
    assert stages[-1] == "report"
    assert {"guard", "plan", "trial"} <= set(stages)
    trial = told[stages.index("trial")]
    assert trial.degree == 2**11
    assert trial.candidate == 1
    assert trial.left > 0
    assert trial.seconds > 0
    assert trial.bytes == made.report.predicted_bytes
    assert all((one.candidate, one.left) == (0, 0) for one in told if one.degree == 0)
    with pytest.raises(FrozenInstanceError):
        trial.left = 3  # type: ignore[misc]


def test_candidates_are_counted_down() -> None:
    told: list[Progress] = []
    with pytest.raises(ParamError, match="precision"):
        fhe.compile(GRAPH, SAMPLE, precision=1e-12, progress=told.append, **SMALL)
    tried = [one for one in told if one.degree]
    assert len({one.candidate + one.left for one in tried}) == 1
    assert [one.candidate for one in tried] == sorted({one.candidate for one in tried})


@pytest.mark.parametrize("stage", ["import", "guard", "plan", "trial", "report"])
def test_an_exception_of_the_callable_ends_compiling(stage: str) -> None:
    class StoppedError(Exception):
        pass

    def stop(told: Progress) -> None:
        if told.stage == stage:
            raise StoppedError

    with pytest.raises(StoppedError):
        fhe.compile(GRAPH, SAMPLE, progress=stop, **SMALL)
    # Nothing is left half made: the next compilation is like any other.
    assert fhe.compile(GRAPH, SAMPLE, **SMALL).report.error > 0


def test_what_cannot_be_called_is_refused_before_the_model_is_read() -> None:
    with pytest.raises(ParamError, match="progress: got 'yes', expected a callable"):
        fhe.compile("no such file", SAMPLE, progress="yes")  # type: ignore[arg-type]


def test_a_record_is_a_line_with_its_estimates() -> None:
    told = Progress("trial", 2, 5, 2**14, 3.25, 2**20 + 1)
    assert str(told) == "trial of candidate 2, 5 left: degree 16384, about 3.2 s, 2MiB"
    assert str(Progress("plan")) == "planning layouts and parameters"
    assert amount(2**20) == "1MiB"


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


SHORT, LONG = Progress("plan"), Progress("trial", 1, 0, 2**15, 4.0)


def shown(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, seconds: float, *, quiet: bool = False
) -> str:
    """What is printed of a short stage and a long one, after so many seconds."""
    clock = iter([0.0, seconds, seconds])
    monkeypatch.setattr(lines, "perf_counter", lambda: next(clock))
    monkeypatch.setattr("sys.stderr", stream)
    with in_words(Invocation(quiet=quiet)), Lines() as progress:
        progress(SHORT)
        progress(LONG)
    return stream.getvalue()


def test_lines_are_plain_without_a_terminal_and_only_for_what_is_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert shown(monkeypatch, io.StringIO(), 0.5) == f"{LONG}\n"
    assert shown(monkeypatch, io.StringIO(), 2.5) == f"{SHORT}\n{LONG}\n"
    assert not shown(monkeypatch, io.StringIO(), 2.5, quiet=True)


def test_a_terminals_line_is_rewritten_and_cleared_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    found = shown(monkeypatch, Terminal(), 2.5)
    assert "\n" not in found
    texts = re.split(r"\r\x1b\[2K", found)
    assert texts == ["", str(SHORT), str(LONG)[:39], ""]
    assert not shown(monkeypatch, Terminal(), 2.5, quiet=True)


def test_a_bar_without_a_terminal_is_a_line_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = [0.0, 1.0, 2.5, 3.0, 12.0, 13.0, 60.0]
    for quiet, told in ((False, "proving: 20 %\nproving: 50 %\n"), (True, "")):
        clock, stream = iter(times), io.StringIO()
        monkeypatch.setattr(lines, "perf_counter", lambda own=clock: next(own))
        monkeypatch.setattr("sys.stderr", stream)
        with in_words(Invocation(quiet=quiet)), Bar("proving") as bar:
            for done in range(1, len(times)):
                bar(done if done < 6 else 10, 10)
        assert stream.getvalue() == told


@pytest.mark.parametrize("seconds", [0.0, 600.0])
def test_long_work_without_steps_is_named_without_a_terminal(
    seconds: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(patience, "PATIENCE_SECONDS", seconds)
    told = Event()
    write = patience._tell
    monkeypatch.setattr(patience, "_tell", lambda text: (write(text), told.set()))

    def work() -> None:
        if seconds == 0:
            assert told.wait(60)
            told.clear()

    with busy("loading keys"):
        work()
    phases = Phases(["run"], Console(file=io.StringIO()))
    with phases.progress, phases.phase("run"):
        work()
    with in_words(Invocation(quiet=True)), busy("quiet"):
        pass
    assert capsys.readouterr().err == ("loading keys\nrun ...\n" if seconds == 0 else "")
    assert phases.seconds["run"] < 600


def test_the_command_passes_the_budget_and_shows_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cloakwork.cli import main
    from python.test_compiled_commands import SAMPLE as OWN
    from python.test_compiled_commands import save_onnx

    save_onnx(tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", OWN)
    monkeypatch.setattr(lines, "PATIENCE_SECONDS", 0.0)
    out = tmp_path / "m.cwk"
    words = ["compile", str(tmp_path / "m.onnx"), "--data", str(tmp_path / "x.npy"), "-o", str(out)]
    assert main([*words, "--memory-budget", "1MiB"]) == 2
    said = capsys.readouterr().err
    assert re.search(r"--memory-budget: got 1MiB, expected at least \d+MiB", said), said
    assert not out.exists()
    assert main([*words, "--memory-budget", "1GiB"]) == 0
    done = capsys.readouterr()
    assert "trial of candidate 1" in done.err
    assert "within 1024.0 MiB" in done.out
    assert main([*words, "--quiet"]) == 0
    assert not capsys.readouterr().err
