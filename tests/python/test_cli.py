"""The command line: its output, its exit status, and its errors for bad input."""

import json
import os
import signal
import subprocess
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.cli import main
from cloakwork.programs import loading
from python.command_line import COMMAND, INTERRUPTIBLE
from python.heal_writer import HealWriter, small_transcript

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return small_transcript().write(tmp_path / "good.json")


def wrong_expectation() -> HealWriter:
    writer = HealWriter()
    a = writer.upload([1, 2, 3])
    writer.download(a, [1, 2, 4])
    return writer


def run(capsys: Capture, *arguments: str | Path) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return status, out, err


def test_run_says_memory_totals_and_that_all_is_well(good: Path, capsys: Capture) -> None:
    status, out, err = run(capsys, "run", good, "--verify")
    assert status == 0
    assert err.startswith("memory: peak ")
    assert "_modmul_ttt" in out
    assert "compute_block_1" in out
    assert "1 output compared, all as expected" in out


def test_run_without_verification_says_so(tmp_path: Path, capsys: Capture) -> None:
    path = wrong_expectation().write(tmp_path / "t.json")
    status, out, _ = run(capsys, "run", path)
    assert status == 0
    assert "not compared" in out


@pytest.mark.parametrize("flag", ["--verify", "--bisect"])
def test_a_difference_is_status_one(flag: str, tmp_path: Path, capsys: Capture) -> None:
    path = wrong_expectation().write(tmp_path / "t.json")
    status, out, _ = run(capsys, "run", path, flag)
    assert status == 1
    assert "1 of 3 elements differ, first at [2]: expected 4, got 3" in out
    assert "1 of 1 outputs differ" in out


def test_run_prints_json(good: Path, tmp_path: Path, capsys: Capture) -> None:
    status, out, _ = run(capsys, "run", good, "--verify", "--json", "--threads", "2")
    facts = json.loads(out)
    assert status == 0
    assert facts["outputs"] == [{"name": "4", "shape": [2, 2, 2], "dtype": "i64"}]
    assert (facts["compared"], facts["mismatches"]) == (True, [])
    assert facts["report"]["threads"] == 2
    status, out, _ = run(capsys, "run", good, "--json")
    assert (status, json.loads(out)["compared"]) == (0, False)
    path = wrong_expectation().write(tmp_path / "t.json")
    status, out, _ = run(capsys, "run", path, "--verify", "--json")
    assert (status, json.loads(out)["mismatches"][0]["index"]) == (1, [2])


def test_run_writes_a_profile(good: Path, tmp_path: Path, capsys: Capture) -> None:
    profile = tmp_path / "profile.json"
    assert run(capsys, "run", good, "--profile", profile)[0] == 0
    assert json.loads(profile.read_text())["traceEvents"]


def test_check_prints_findings_in_order(tmp_path: Path, capsys: Capture) -> None:
    writer = HealWriter()
    a = writer.upload([1, 2, 3])
    writer.op("_modmul_tcc", a, 2, 0, a, out=a)
    writer.op("frobnicate", a, out=a)
    path = writer.write(tmp_path / "t.json")
    status, out, _ = run(capsys, "check", path)
    assert status == 2
    lines = out.splitlines()
    assert lines[0].startswith("error[modulus] step 1: _modmul_tcc: `q`")
    assert lines[1].startswith("error[unknown-op] step 2: frobnicate")
    assert lines[-1].startswith("2 errors")
    status, out, _ = run(capsys, "check", path, "--json")
    assert status == 2
    assert [finding["code"] for finding in json.loads(out)[:2]] == ["modulus", "unknown-op"]


def test_warnings_alone_are_status_zero(tmp_path: Path, capsys: Capture) -> None:
    path = wrong_expectation().write(tmp_path / "t.json")
    status, out, _ = run(capsys, "check", path)
    assert status == 0
    assert out.startswith("warning[leak]")
    assert out.endswith("0 errors, 1 warning\n")


def test_inspect_prints_tables_json_and_the_plan(good: Path, capsys: Capture) -> None:
    status, out, _ = run(capsys, "inspect", good)
    assert status == 0
    for word in (
        "get_slice",
        "view",
        "modmul_i64_",
        "compute_block_1",
        "i64",
        "memory of a run: peak",
    ):
        assert word in out
    status, out, _ = run(capsys, "inspect", good, "--json")
    assert json.loads(out)["coverage"]["kernel"] == 2
    status, out, _ = run(capsys, "inspect", good, "--plan", "--threads", "1")
    assert "modneg_i64_" in out
    status, out, _ = run(capsys, "inspect", good, "--plan", "--json")
    assert any("modneg_i64_" in line for line in json.loads(out)["plan"])


def test_devices_and_version(capsys: Capture) -> None:
    status, out, _ = run(capsys, "devices", "--json")
    assert (status, [device["name"] for device in json.loads(out)]) == (0, ["cpu"])
    status, out, _ = run(capsys, "devices")
    assert (status, "cpu" in out) == (0, True)
    status, out, _ = run(capsys, "--version")
    assert (status, out) == (0, f"cloakwork {cw.__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"], ["run"], ["run", "a", "b"], ["check", "--frob", "x"], ["demo", "tea"],
        ["run", "x", "--threads"], ["run", "x", "--threads", "many"],
    ],
)  # fmt: skip
def test_mistakes_in_usage_are_status_two(arguments: list[str], capsys: Capture) -> None:
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert "Error:" in err


def test_files_that_cannot_be_read_are_named(tmp_path: Path, capsys: Capture) -> None:
    array = tmp_path / "array.npy"
    np.save(array, np.zeros(3))
    empty = tmp_path / "empty.json"
    empty.touch()
    for path, words in (
        (tmp_path / "none.json", "No such file"), (tmp_path, "Is a directory"),
        (array, "one NumPy array"), (empty, "an empty file"),
    ):  # fmt: skip
        for command in ("run", "check", "inspect"):
            status, out, err = run(capsys, command, path)
            assert (status, out) == (2, "")
            assert str(path) in err
            assert words in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_named(good: Path, capsys: Capture) -> None:
    good.chmod(0)
    status, _, err = run(capsys, "check", good)
    assert (status, "Permission denied" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--memory-budget", "100"], "the budget is 100 B"),
        (["--memory-budget", "0.1KiB"], "needs"),
        (["--memory-budget", "lots"], "2GiB"),
        (["--device", "gpu:0"], "available: cpu"),
        (["--threads", "0"], "1 to 4096"),
        (["--profile", "no/such/folder/t.json"], "no such folder"),
    ],
)
def test_refusals_of_a_run_are_status_two(
    options: list[str], words: str, good: Path, capsys: Capture
) -> None:
    status, out, err = run(capsys, "run", good, *options)
    assert (status, out) == (2, "")
    assert words in err


def test_debug_shows_the_traceback(tmp_path: Path, capsys: Capture) -> None:
    assert main(["--debug", "run", str(tmp_path / "none.json")]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_an_unexpected_error_is_words_that_ask_for_a_report(
    good: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "read", lambda *_, **__: 1 // 0)
    status, _, err = run(capsys, "check", good)
    assert status == 2
    assert "please report it" in err
    assert "ZeroDivisionError" in err


def long_program(path: Path) -> Path:
    """Some minutes of multiplications."""
    q = cw.asarray([2**61 - 1])

    def function(x: cw.Tensor) -> cw.Tensor:
        out = cw.empty(x.shape, "i64")
        for _ in range(20_000):
            cw.ops.modmul(x, x, q, out=out)
        return out

    large = cw.zeros((1 << 22,), "i64")
    program = cw.trace(function, large)
    transcript = cw.heal.Transcript(program._core.with_data([large], [large]))
    transcript.save(path)
    return path


def test_ctrl_c_ends_a_run_with_130(tmp_path: Path) -> None:
    path = long_program(tmp_path / "long.cwk")
    words = [*INTERRUPTIBLE, "run", str(path)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("memory: ")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert err.strip() == "cloakwork: interrupted"


def test_a_reader_that_leaves_is_no_error(good: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "inspect", str(good), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=600) in (0, 120)
