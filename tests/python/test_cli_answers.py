"""How commands answer: help, JSON, the written files, quiet runs, names that look like markup."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.cli import main, plain, show
from cloakwork.cli.commands import app
from cloakwork.cli.grouping import SECTIONS
from python.heal_writer import HealWriter, small_transcript
from typer.main import get_command

Capture = pytest.CaptureFixture[str]
COMMANDS: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
# A line of each command that is refused after its options were read.
REFUSED = {
    "run": "none.json", "check": "none.json", "inspect": "none.json", "convert": "none.json x.cwk",
    "compile": "none.onnx --data none.npy -o m.cwk", "keygen": "none.cwk -o keys",
    "encrypt": "none.cwk keys x.npy -o x.ct", "decrypt": "keys y.ct",
    "query": "http://127.0.0.1:1 keys x.npy", "prove": "none.zkey none.wtns",
    "witness": "none.wasm none.json", "fullprove": "none.wasm none.zkey none.json",
    "verify": "none.json none.json none.json", "vkey": "none.zkey", "setup": "none.r1cs -o k.zkey",
    "conform": "none:0", "diff": "none.json --device cpu", "new-device": "No",
    "specialize": "none.json --for cpu -o x.cwk",
}  # fmt: skip
# `export`, `ptau` and `zkey` are groups; their own tests have their commands.
WITHOUT_RESULT = {"serve", "serve-prover", "demo", "export", "ptau", "zkey"}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def has(name: str, option: str) -> bool:
    return any(option in param.opts for param in COMMANDS[name].params)


def test_every_command_with_a_result_prints_json() -> None:
    assert {name for name in COMMANDS if not has(name, "--json")} == WITHOUT_RESULT
    assert {*REFUSED, "devices"} == COMMANDS.keys() - WITHOUT_RESULT


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_an_error_is_one_json_object_too(name: str, quiet: bool, capsys: Capture) -> None:
    more = ["--quiet"] if quiet and has(name, "--quiet") else []
    assert main([name, *REFUSED[name].split(), "--json", *more]) == 2
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert error["status"] == 2
    # A busy machine may have told of its progress.
    assert err.endswith(f"cloakwork: {error['message']}\n")
    assert error["type"].endswith("Error")
    assert os.listdir() == []


def test_errors_of_usage_and_findings_are_json(capsys: Capture, place: Path) -> None:
    for line in (["chek", "--json"], ["run", "--json"], ["verify", "a", "--json"]):
        assert main(line) == 2
        out, err = capsys.readouterr()
        assert json.loads(out)["error"]["type"] == "UsageError"
        assert json.loads(out)["error"]["message"] in err
    writer = HealWriter()
    a = writer.upload([1, 2, 3])
    writer.op("frobnicate", a, out=a)
    writer.write(place / "t.json")
    assert main(["run", "t.json", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["error"]["type"] == "ProgramError"
    assert "unknown-op" in {one["code"] for one in found["findings"]}


WRITING = {
    "convert": ("t.json t.cwk", ["t.cwk"]),
    "run": ("t.json --profile p.json", ["p.json"]),
    "specialize": ("t.json --for cpu -o s.cwk", ["s.cwk"]),
    "new-device": ("mychip", ["mychip/Makefile", "mychip/README.md", "mychip/mychip.c"]),
}


@pytest.mark.parametrize("name", WRITING)
def test_written_files_are_named_with_their_sizes(name: str, capsys: Capture, place: Path) -> None:
    small_transcript().write(place / "t.json")
    rest, expected = WRITING[name]
    assert main([name, *rest.split(), "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    sizes = {one["path"]: one["bytes"] for one in found["written"]}
    assert sizes == {path: os.stat(path).st_size for path in expected}
    assert found["seconds"] > 0
    line = err.splitlines()[-1]
    assert line.startswith(f"wrote {expected[0]} (")
    assert line.endswith(" s")


def test_a_quiet_command_prints_results_alone(capsys: Capture, place: Path) -> None:
    small_transcript().write(place / "t.json")
    for line in (
        ["run", "t.json", "--verify", "-q"], ["convert", "t.json", "t.cwk", "--quiet"],
        ["new-device", "mychip", "-q"],
    ):  # fmt: skip
        assert main(line) == 0
        assert capsys.readouterr().err == ""


def test_errors_name_options_as_they_are_typed(capsys: Capture, place: Path) -> None:
    small_transcript().write(place / "t.json")
    for option, value in (("--threads", "0"), ("--memory-budget", "lots")):
        assert main(["run", "t.json", option, value]) == 2
        assert capsys.readouterr().err.startswith(f"cloakwork: {option}: got {value}, ")


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_help_has_sections_and_whole_summaries(
    columns: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= int(columns)
    text, at = " ".join(shown.split()), 0
    assert "..." not in text.partition("Programs:")[2]
    for title, names in SECTIONS.items():
        at = text.index(f"{title}:", at)
        for name in names:
            summary = " ".join(COMMANDS[name].help.split("\n\n")[0].split())
            at = text.index(f"{name} {summary}", at)
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)


NAMES = [":smile: [bold]x[/bold]", "[/x]", "[red]", ":1:-1:-1"]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_look_like_markup_are_printed_as_they_are(
    name: str, capsys: Capture, place: Path
) -> None:
    writer = HealWriter()
    writer.segment(name)
    a = writer.upload([1, 2, 3])
    writer.download(a, [1, 2, 4])
    writer.segment(None)
    writer.write(place / "t.json")
    for line in (["run", "t.json", "--verify"], ["inspect", "t.json"], ["check", "t.json"]):
        main(line)
        assert name in capsys.readouterr().out
    assert main(["run", f"{name}.json"]) == 2
    assert f"{name}.json: No such file" in capsys.readouterr().err


def test_control_characters_of_names_do_not_reach_the_terminal(capsys: Capture) -> None:
    for line in (
        ["run", "a\x1b[2J"],
        ["run", "t", "--device", "\x1b[2J"],
        ["keygen", "\x07", "-o", "k"],
    ):
        assert main(line) == 2
        out, err = capsys.readouterr()
        assert (out + err).replace("\n", "").isprintable()


def test_tables_keep_their_columns_on_a_narrow_terminal(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    transcript = cw.heal.load(small_transcript().write(place / "t.json"))
    show.report(transcript.run().report, show.console())
    found = sys.stdout.getvalue()  # type: ignore[attr-defined]
    assert "_modmul_ttt" in found
    assert "compute_block_1" in found


MODULE = [sys.executable, "-m", "cloakwork"]
COMPLETE = {"_CLOAKWORK_COMPLETE": "complete_bash"}


@pytest.mark.parametrize(
    ("line", "more", "word"),
    [
        ([*MODULE, "--version"], {}, f"cloakwork {cw.__version__}"),
        (MODULE, COMPLETE | {"COMP_WORDS": "cloakwork spec", "COMP_CWORD": "1"}, "specialize"),
        (MODULE, COMPLETE | {"COMP_WORDS": "cloakwork run --sp", "COMP_CWORD": "2"}, "--spill-dir"),
    ],
)
def test_the_module_runs_and_shells_complete(
    line: list[str], more: dict[str, str], word: str
) -> None:
    done = subprocess.run(
        line, env=os.environ | more, capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stdout.strip()) == (0, word), done.stderr


def test_an_interrupt_before_a_command_begins_is_a_sentence(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(line: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(plain, "read", interrupted)
    assert main(["devices"]) == 130
    assert capsys.readouterr().err == "cloakwork: interrupted\n"


def test_results_of_a_decryption_are_json(capsys: Capture) -> None:
    from cloakwork.cli.models import deliver
    from cloakwork.cli.words import Invocation, in_words

    values = {"x": np.array([1.5, np.nan]), "z": np.array([1 + 2j]), "n": np.array([[3]])}
    with in_words(Invocation(as_json=True)):
        deliver(values, {})
    found = json.loads(capsys.readouterr().out)
    assert found == {"results": {"x": [1.5, None], "z": [[1.0, 2.0]], "n": [[3]]}}
