"""Outside input: text with terminal escapes, files without an end, odd numbers."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import cloakwork as cw
import pytest
from cloakwork.cli import main, show
from python.command_line import INTERRUPTIBLE
from python.heal_writer import HealWriter, small_transcript
from rich.console import Console

Capture = pytest.CaptureFixture[str]
ESCAPE = "\x1b"


def dressed(segment: str, op: str) -> HealWriter:
    """A transcript whose writer chooses the names."""
    writer = HealWriter()
    writer.segment(segment)
    a = writer.upload([1, 2])
    writer.download(writer.op(op, a, 0, out=writer.new_name()), [[1, 2]])
    writer.segment(None)
    return writer


@pytest.mark.parametrize("command", ["check", "inspect", "run"])
@pytest.mark.parametrize("op", ["unsqueeze", f"un{ESCAPE}[2Jknown[/b]"])
def test_names_in_a_file_neither_command_a_terminal_nor_are_markup(
    command: str, op: str, tmp_path: Path, capsys: Capture
) -> None:
    path = dressed(f"[/b] {ESCAPE}[31m\n[bold]up", op).write(tmp_path / "[b]t.json")
    status = main([command, str(path)])
    text = "".join(capsys.readouterr())
    assert status == (0 if op == "unsqueeze" else 2)
    assert ESCAPE not in text
    assert "internal error" not in text
    assert "[bold]up" in text


def test_a_long_name_is_short_in_each_finding(tmp_path: Path) -> None:
    path = dressed("s" * 10_000, "o" * 10_000).write(tmp_path / "t.json")
    findings = cw.heal.load(path).check()
    assert findings
    assert all(len(finding.message) < 400 for finding in findings)


def test_a_wrong_count_says_what_belongs_where(tmp_path: Path) -> None:
    writer = HealWriter()
    a = writer.upload([1, 2])
    writer.op("_modmul_ttt", a, a, a, out=a)
    finding = cw.heal.load(writer.write(tmp_path / "t.json")).check()[-1]
    assert finding.code == "argument-count"
    assert finding.hint == "in order: a, b, q, out"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device")
def test_a_device_is_refused_before_it_is_read(capsys: Capture) -> None:
    assert main(["check", "/dev/zero"]) == 2
    assert "expected a file or a pipe, got a device" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_transcript_comes_through_a_pipe(tmp_path: Path) -> None:
    path = small_transcript().write(tmp_path / "t.json")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", path, pipe]):
        result = cw.heal.load(pipe).run(verify=True)
    assert result.mismatches == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_ctrl_c_ends_the_waiting_for_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = [*INTERRUPTIBLE, "check", str(pipe)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        # A writer that can be opened without waiting says that the command waits for one.
        writer = None
        while writer is None and process.poll() is None:
            try:
                writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                time.sleep(0.01)
        # Once, at any time: also between opening and reading.
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=300)
        finally:
            process.kill()
            if writer is not None:
                os.close(writer)
    assert (process.returncode, err) == (130, "cloakwork: interrupted\n")


@pytest.mark.parametrize("threads", [-1, 2**70])
def test_threads_that_no_integer_holds_are_refused_as_others_are(
    threads: int, tmp_path: Path
) -> None:
    transcript = cw.heal.load(small_transcript().write(tmp_path / "t.json"))
    with pytest.raises(cw.errors.ParamError, match="1 to 4096"):
        transcript.run(threads=threads)


def test_a_budget_beyond_all_memory_is_refused(tmp_path: Path) -> None:
    transcript = cw.heal.load(small_transcript().write(tmp_path / "t.json"))
    with pytest.raises(cw.errors.ParamError, match="less than 16 EiB"):
        transcript.run(memory_budget="99999999999TiB")


def test_an_option_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    transcript = cw.heal.load(small_transcript().write(tmp_path / "t.json"))
    with pytest.raises(
        TypeError, match="no option thread; there are device, fallback, devices, threads"
    ):
        transcript.run(thread=2)  # type: ignore[call-arg]


def test_bisection_says_so_where_every_op_is_right(tmp_path: Path, capsys: Capture) -> None:
    writer = HealWriter()
    writer.download(writer.upload([1, 2, 3]), [1, 2, 4])
    assert main(["run", str(writer.write(tmp_path / "t.json")), "--bisect"]) == 1
    said = capsys.readouterr().out
    assert "no op is wrong (" in said
    assert "compared with the slow references of their ops" in said


def test_a_report_fits_a_terminal_of_80_columns(tmp_path: Path) -> None:
    transcript = cw.heal.load(small_transcript().write(tmp_path / "t.json"))
    with (tmp_path / "out.txt").open("w+") as file:
        show.report(transcript.run().report, Console(file=file, width=80))
        file.seek(0)
        lines = file.read().splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("_modmul_ttt ") for line in lines)


@pytest.mark.parametrize("command", [["check"], ["run", "--verify"], ["run", "--bisect"]])
def test_a_damaged_tensor_of_a_container_is_no_difference_but_damage(
    command: list[str], tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "t.cwk"
    cw.heal.load(small_transcript().write(tmp_path / "t.json")).save(path)
    assert main([*command, str(path)]) == 0
    contents = bytearray(path.read_bytes())
    contents[-1] ^= 1
    path.write_bytes(contents)
    capsys.readouterr()
    assert main([*command, str(path)]) == 2
    assert "expected a tensor with hash" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "inspect"])
def test_a_refused_program_is_json_for_whoever_asked(
    command: str, tmp_path: Path, capsys: Capture
) -> None:
    path = dressed("up", "unknown").write(tmp_path / "t.json")
    assert main([command, str(path), "--json"]) == 2
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert "unknown-op" in [finding["code"] for finding in findings]


def test_the_generation_is_an_option(tmp_path: Path, capsys: Capture) -> None:
    path = small_transcript().write(tmp_path / "t.json")
    assert main(["run", str(path), "--generation", "later", "--verify"]) == 0
    assert main(["run", str(path), "--generation", "third"]) == 2
    assert "is not one of 'first', 'later'" in capsys.readouterr().err
