"""No option is ignored: every option of every command acts on every kind of file, or is refused.

The table has a row for each option that the command line declares; an option without one fails.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
import typer
from cloakwork import zk
from cloakwork.cli import (
    ceremonies,
    compiling,
    main,
    models,
    plain,
    proving,
    serving,
    specializing,
    vendors,
    witness,
)
from cloakwork.cli.commands import app
from cloakwork.device import skeleton
from cloakwork.programs.runnable import Runnable
from cloakwork.serving import Limits
from cloakwork.zk.circom import statements, systems, witnesses
from cloakwork.zk.groth16 import setting
from python.ceremony_rows import CEREMONIES
from python.demo_rows import DEMOS
from python.export_rows import GROTH16, exporting
from python.heal_writer import HealWriter
from python.prover_server_rows import PROVER_SERVER

X = np.arange(8, dtype=np.uint64)


def _transcript(folder: Path) -> Path:
    writer = HealWriter()
    a = writer.upload(X.astype(np.int64))
    out = writer.empty([8])
    writer.op("_modsum_tcc", a, 1, 97, out, out=out)
    writer.download(out, X.astype(np.int64) + 1)
    return writer.write(folder / "t.json")


def _transcript_container(folder: Path) -> Path:
    cw.heal.load(_transcript(folder)).save(folder / "t.cwk")
    return folder / "t.cwk"


def _recorded(folder: Path) -> Path:
    cw.trace(lambda x: x + x, X).save(folder / "recorded.cwk")
    return folder / "recorded.cwk"


@zk.program(inputs={"x": zk.tensor("u64", 8)})
def doubled(x: cw.Tensor) -> cw.Tensor:
    return x + x


def _function(folder: Path) -> Path:
    doubled.program.save(folder / "function.cwk")
    return folder / "function.cwk"


def _instructions(name: str) -> Callable[[Path], Path]:
    def save(folder: Path) -> Path:
        b = zk.ProgramBuilder()
        x = b.input("x", zk.tensor("u64", 8))
        out = b.allocate(zk.tensor("u64", 8))
        b.call("add", out=[out], args=[x, x])
        b.ret(out)
        return b.build().save(folder / name)

    return save


def _transcript_text(folder: Path) -> Path:
    (folder / "t.cw").write_text(cw.heal.load(_transcript(folder)).text())
    return folder / "t.cw"


def _recorded_text(folder: Path) -> Path:
    (folder / "recorded.cw").write_text(cw.load(_recorded(folder)).text())
    return folder / "recorded.cw"


def _folder_of_instructions(folder: Path) -> Path:
    return _instructions("p")(folder).parent


TRANSCRIPTS: dict[str, Callable[[Path], Path]] = {
    "a transcript": _transcript,
    "a transcript as text": _transcript_text,
    "a transcript's container": _transcript_container,
}
PROGRAMS: dict[str, Callable[[Path], Path]] = {
    "a recorded program": _recorded,
    "a recorded program as text": _recorded_text,
    "a function over fields": _function,
    "instructions in a container": _instructions("p.cwk"),
    "instructions in JSON": _instructions("p.json"),
    "instructions as text": _instructions("p.txt"),
    "instructions in a folder": _folder_of_instructions,
}
KINDS = TRANSCRIPTS | PROGRAMS


@dataclass
class Seen:
    """The effect of a command: status and output, and the options with which the engine ran."""

    folder: Path
    status: int = 0
    out: str = ""
    err: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    compared: tuple[bool, bool] = (False, False)

    @property
    def facts(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Row:
    """A way to give an option of a command, and a test that it acted.

    given      the addition to the command line; {} is the test's folder
    acts       whether the option took effect
    only       the kinds of files that it applies to; it is refused by name for the others
    """

    given: str
    acts: Callable[[Seen], object]
    only: frozenset[str] = frozenset(KINDS)


def ran(name: str, value: object) -> Callable[[Seen], bool]:
    """Whether the engine got an option; "folder" means the test's folder."""
    return lambda seen: (
        seen.status == 0 and seen.options.get(name) == (seen.folder if value == "folder" else value)
    )


OF_TRANSCRIPTS = frozenset(TRANSCRIPTS)
FILES: dict[tuple[str, str], Row] = {
    ("run", "--verify"): Row("--verify", lambda s: s.compared == (True, False), OF_TRANSCRIPTS),
    ("run", "--bisect"): Row("--bisect", lambda s: s.compared == (False, True), OF_TRANSCRIPTS),
    ("run", "--device"): Row("--device gpu:9", lambda s: s.status == 2 and "gpu:9" in s.err),
    ("run", "--no-fallback"): Row(
        "--no-fallback --device sim:0 --json",
        lambda s: "host" not in s.facts["report"]["coverage"]["runs"],
    ),
    ("run", "--isolate"): Row(
        "--isolate", lambda s: s.status == 2 and "run in no process of their own" in s.err
    ),
    ("run", "--timeout"): Row(
        "--timeout 5", lambda s: s.status == 2 and "run in no process of their own" in s.err
    ),
    ("run", "--threads"): Row(
        "--threads 2 --json", lambda s: ran("threads", 2)(s) and s.facts["report"]["threads"] == 2
    ),
    ("run", "--memory-budget"): Row(
        "--memory-budget 10B", lambda s: s.status == 2 and "budget is 10 B" in s.err
    ),
    ("run", "--spill-dir"): Row("--spill-dir {}", ran("spill_dir", "folder")),
    ("run", "--profile"): Row(
        "--profile {}/profile",
        lambda s: json.loads((s.folder / "profile").read_text())["traceEvents"],
    ),
    ("run", "--schedule-seed"): Row("--schedule-seed 7", ran("schedule_seed", 7)),
    ("run", "--passes"): Row("--no-passes", ran("optimize", False)),
    ("run", "--generation"): Row("--generation first", lambda s: s.status == 0, OF_TRANSCRIPTS),
    ("run", "--input"): Row(
        "--input nothing={}/x.npy", lambda s: s.status == 2 and "--input: got nothing" in s.err
    ),
    ("run", "--keys"): Row(
        "--keys {}/x.npy", lambda s: s.status == 2 and "evaluation keys" in s.err
    ),
    ("run", "--insecure"): Row(
        "--insecure", lambda s: s.status == 2 and "expected ciphertexts as inputs" in s.err
    ),
    ("run", "--output"): Row(
        "--output {}/results", lambda s: len([*(s.folder / "results").iterdir()]) == 1
    ),
    ("run", "--out"): Row("--out {}/y.npy", lambda s: (s.folder / "y.npy").is_file()),
    ("run", "--json"): Row("--json", lambda s: s.facts["outputs"][0]["shape"] == [8]),
    ("check", "--generation"): Row("--generation first", lambda s: s.status == 0, OF_TRANSCRIPTS),
    ("check", "--json"): Row("--json", lambda s: isinstance(s.facts, list)),
    ("inspect", "--threads"): Row("--threads 2 --json", lambda s: s.facts["threads"] == 2),
    ("inspect", "--isolate"): Row(
        "--device sim:0 --isolate", lambda s: s.status == 2 and "isolate: got sim:0" in s.err
    ),
    ("inspect", "--timeout"): Row("--timeout nan", lambda s: s.status == 2 and "above 0" in s.err),
    ("inspect", "--device"): Row("--device sim:0 --plan", lambda s: "sim:0@" in s.out),
    ("inspect", "--no-fallback"): Row(
        "--no-fallback --device sim:0 --json", lambda s: "host" not in s.facts["on_device"]["runs"]
    ),
    ("inspect", "--plan"): Row("--plan", lambda s: "arena" in s.out),
    ("inspect", "--passes"): Row("--passes", lambda s: "; common-subexpressions: " in s.out),
    ("inspect", "--generation"): Row(
        "--generation first --json", lambda s: s.facts["generation"] == "first", OF_TRANSCRIPTS
    ),
    ("convert", "--generation"): Row("--generation first", lambda s: s.status == 0, OF_TRANSCRIPTS),
    ("convert", "--branch"): Row(
        "--branch first", lambda s: (s.folder / "converted.json").is_file(), OF_TRANSCRIPTS
    ),
    ("convert", "--keep"): Row(
        "--keep copy", lambda s: (s.folder / "converted.json").is_file(), OF_TRANSCRIPTS
    ),
    ("inspect", "--json"): Row("--json", lambda s: s.facts["steps"] > 0),
    ("diff", "--device"): Row("--device sim:0", lambda s: s.status == 0 and "equal" in s.out),
    ("diff", "--reference"): Row(
        "--device cpu --reference sim:0 --json", lambda s: s.facts["reference"] == "sim:0"
    ),
    ("diff", "--input"): Row(
        "--device sim:0 --input nothing={}/x.npy",
        lambda s: s.status == 2 and "--input: got nothing" in s.err,
    ),
    ("diff", "--repeat"): Row(
        "--device sim:0 --repeat 0", lambda s: s.status == 2 and "repeat: got 0" in s.err
    ),
    ("diff", "--dump"): Row(
        "--device sim:0 --dump {}/d.cw", lambda s: s.status == 0 and "not written" in s.err
    ),
    ("diff", "--isolate"): Row(
        "--device sim:0 --isolate", lambda s: s.status == 2 and "isolate: got sim:0" in s.err
    ),
    ("diff", "--timeout"): Row(
        "--device sim:0 --timeout nan", lambda s: s.status == 2 and "above 0" in s.err
    ),
    ("diff", "--threads"): Row(
        "--device sim:0 --threads 0", lambda s: s.status == 2 and "threads: got 0" in s.err
    ),
    ("diff", "--json"): Row("--device sim:0 --json", lambda s: s.facts["difference"] is None),
}


def declared() -> Iterator[tuple[str, Any]]:
    """Every option that a command declares, with the command's whole name."""

    def walk(group: Any, name: str) -> Iterator[tuple[str, Any]]:
        for option in group.params:
            if option.param_type_name == "option":
                yield name, option
        for one, command in getattr(group, "commands", {}).items():
            yield from walk(command, f"{name} {one}".strip())

    return walk(typer.main.get_command(app), "")


def _longest(option: Any) -> str:
    return str(max(option.opts, key=len))


OF_ALL_COMMANDS = {"--debug", "--version", "--install-completion", "--show-completion"}


def test_every_option_that_is_declared_has_a_row() -> None:
    names = {(command, _longest(option)) for command, option in declared()}
    # test_isolation.py has those of conform: they need a driver's library.
    elsewhere = {("conform", "--isolate"), ("conform", "--timeout")}
    elsewhere |= {("", option) for option in OF_ALL_COMMANDS}
    # test_cli_answers.py has these.
    elsewhere |= {pair for pair in names if pair[1] in {"--json", "--quiet"}}
    rows = {*FILES, *OWN_FILES, *elsewhere}
    assert names == rows


def _of(command: str, file: Path) -> list[str]:
    inputs = file.parent / "x.npy"
    np.save(inputs, X)
    needs = command in {"run", "diff"} and file.stem not in {"t"}
    if command == "convert":
        form = "json" if file.stem in {"t", "p"} else "cwk"
        return [command, str(file), str(file.parent / f"converted.{form}")]
    return [command, str(file), *(["--input", f"x={inputs}"] if needs else [])]


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Record the arguments of the engine's runs, and run them."""
    found, run = Seen(tmp_path), Runnable._run

    def noted(
        self: Runnable, inputs: Any, verify: bool, bisect: bool, options: Any,
        *rest: Any, **more: Any,
    ) -> Any:  # fmt: skip
        found.options, found.compared = dict(options), (verify, bisect)
        return run(self, inputs, verify, bisect, options, *rest, **more)

    monkeypatch.setattr(Runnable, "_run", noted)
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("command", "option"), FILES)
def test_an_option_acts_or_is_refused(
    command: str, option: str, kind: str, seen: Seen, capsys: pytest.CaptureFixture[str]
) -> None:
    row = FILES[command, option]
    line = _of(command, KINDS[kind](seen.folder))
    line += [word.replace("{}", str(seen.folder)) for word in row.given.split()]
    if option == "--spill-dir":
        line += ["--memory-budget", "1GiB"]
    seen.status = main(line)
    seen.out, seen.err = capsys.readouterr()
    if kind in row.only:
        assert row.acts(seen), (seen.status, seen.out, seen.err)
    else:
        assert (seen.status, bool(seen.out)) == (2, "--json" in line)
        assert f"{option}: got a " in seen.err
        assert "expected a transcript: no other program" in seen.err


def test_without_options_every_kind_runs(seen: Seen, capsys: pytest.CaptureFixture[str]) -> None:
    for kind, save in KINDS.items():
        for command in ("run", "check", "inspect", "convert"):
            folder = seen.folder / kind / command
            folder.mkdir(parents=True)
            assert main(_of(command, save(folder))) == 0, (kind, command, capsys.readouterr().err)


Call = tuple[tuple[Any, ...], dict[str, Any]]


class Spy:
    """Stands for a function, and notes how it is called."""

    passed = True

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.calls.append((args, options))
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter((self, self))

    def __getattr__(self, name: str) -> Any:
        return self

    def got(self, value: object) -> bool:
        """Whether it was called with this value."""
        return any(value in args or value in options.values() for args, options in self.calls)


# Commands with files of their own: the called function, and a command line with an option's value.
PROVE = "prove key.zkey w.wtns"
WITNESS = "witness c.wasm i.json"
FULLPROVE = "fullprove c.wasm key.zkey i.json"
LIMITED: list[tuple[str, str, object]] = [
    ("--out", "new", Path("new")), ("--sym", "new", Path("new")), ("--timeout", "7", 7.0),
    ("--memory-limit", "3GiB", "3GiB"),
]  # fmt: skip
PROVED: list[tuple[str, str, object]] = [
    ("--public", "new", Path("new")), ("--r1cs", "new", Path("new")), ("--threads", "3", 3),
    ("--device", "sim:1", "sim:1"), ("--memory-budget", "3GiB", "3GiB"),
    ("--spill-dir", ".", Path(".")),
]  # fmt: skip
CONFORM = "conform sim:0 --json --quick --ops modsum --seconds 5"
SERVE = "serve m.cwk"
COMPILE = "compile m.onnx --data x.npy -o n.cwk"


def compiles(option: str, **value: Any) -> tuple[Any, str, str, object]:
    """A row of compile: its options go to `fhe.compile` together."""
    given = {"optimize": "latency", "precision": None, "margin": 0.25, "degree": None}
    given |= {"bootstrap": "auto", "guard": True, "reveal": "scores", "memory_budget": None}
    return compiling, "compile_file", f"{COMPILE} {option}", given | value


SPECIALIZE = "specialize p.cwk --for sim:0"
OWN_FILES: dict[tuple[str, str], tuple[Any, str, str, object]] = {
    ("conform", "--seed"): (None, "", f"{CONFORM} --seed 7", lambda facts: facts["seed"] == 7),
    ("conform", "--ops"): (None, "", CONFORM, lambda facts: len(facts["ops"]) == 1),
    ("conform", "--quick"): (
        None,
        "",
        "conform sim:0 --json --quick --ops modsum --seconds 60",
        lambda facts: facts["rounds"] == 44,
    ),
    ("conform", "--seconds"): (
        None,
        "",
        "conform sim:0 --json --seconds 0.01",
        lambda facts: facts["is_cut"],
    ),
    ("conform", "--json"): (None, "", CONFORM, lambda facts: facts["passed"]),
    ("conform", "--junit"): (
        None,
        "",
        f"{CONFORM} --junit new",
        lambda facts: "testcase" in Path("new").read_text(),
    ),
    ("setup", "--out"): (setting, "setup", "setup c.r1cs -o new", Path("new")),
    ("setup", "--vkey"): (setting, "setup", "setup c.r1cs -o new --vkey v", Path("v")),
    ("prove", "--out"): (systems, "prove", f"{PROVE} -o new", Path("new")),
    ("prove", "--public"): (systems, "prove", f"{PROVE} --public new", Path("new")),
    ("prove", "--r1cs"): (systems, "prove", f"{PROVE} --r1cs new", Path("new")),
    ("prove", "--device"): (systems, "prove", f"{PROVE} --device sim:1", "sim:1"),
    ("prove", "--threads"): (systems, "prove", f"{PROVE} --threads 3", 3),
    ("prove", "--memory-budget"): (systems, "prove", f"{PROVE} --memory-budget 3GiB", "3GiB"),
    ("prove", "--spill-dir"): (systems, "prove", f"{PROVE} --spill-dir .", Path(".")),
    ("prove", "--profile"): (systems, "prove", f"{PROVE} --profile new", Path("new")),
    ("prove", "--check"): (systems, "prove", f"{PROVE} --no-check", False),
    **{
        (command, option): (place, name, f"{line} {option} {word}", value)
        for command, place, name, line, rows in (
            ("witness", witnesses, "generate_witness", WITNESS, LIMITED),
            ("fullprove", systems, "prove", FULLPROVE, LIMITED + PROVED),
        )
        for option, word, value in rows
    },
    ("fullprove", "--check"): (systems, "prove", f"{FULLPROVE} --no-check", False),
    ("vkey", "--out"): (systems, "read_zkey", "vkey key.zkey -o new", Path("new")),
    ("verify", "--batch"): (
        None,
        "",
        f"verify {GROTH16 / 'mixed.vkey.json'} --batch {GROTH16} --json",
        lambda facts: len(facts["proofs"]) == 3,
    ),
    **{
        (f"export {kind}", option): (None, "", f"export {kind} {given} --json", check)
        for kind, given, option, check in exporting()
    },
    **CEREMONIES,
    **DEMOS,
    **PROVER_SERVER,
    ("specialize", "--for"): (specializing, "write", f"{SPECIALIZE} -o n.cwk", "sim:0"),
    ("specialize", "--out"): (specializing, "write", f"{SPECIALIZE} -o n.cwk", Path("n.cwk")),
    ("specialize", "--allow-fallback"): (
        specializing,
        "write",
        f"{SPECIALIZE} -o n.cwk --allow-fallback",
        True,
    ),
    ("compile", "--data"): (compiling, "compile_file", COMPILE, ["x.npy"]),
    ("compile", "--out"): (compiling, "compile_file", COMPILE, Path("n.cwk")),
    ("compile", "--for"): (compiling, "compile_file", f"{COMPILE} --for sim:0", "sim:0"),
    ("compile", "--optimize"): compiles("--optimize memory", optimize="memory"),
    ("compile", "--precision"): compiles("--precision 0.5", precision=0.5),
    ("compile", "--margin"): compiles("--margin 0.5", margin=0.5),
    ("compile", "--degree"): compiles("--degree 8192", degree=8192),
    ("compile", "--bootstrap"): compiles("--bootstrap", bootstrap=True),
    ("compile", "--guard"): compiles("--no-guard", guard=False),
    ("compile", "--reveal"): compiles("--reveal results", reveal="results"),
    ("compile", "--memory-budget"): compiles("--memory-budget 2GiB", memory_budget="2GiB"),
    ("decrypt", "--samples"): (models, "decrypt_file", "decrypt keys y.ct --samples 3", 3),
    ("decrypt", "--queries"): (models, "decrypt_file", "decrypt keys y.ct --queries 5", 5),
    ("decrypt", "--security"): (
        models,
        "decrypt_file",
        "decrypt keys y.ct --queries 5 --security 30",
        30,
    ),
    ("decrypt", "--noise-bits"): (
        models,
        "decrypt_file",
        "decrypt keys y.ct --queries 5 --noise-bits 20",
        20.0,
    ),
    ("decrypt", "--insecure"): (
        models,
        "decrypt_file",
        "decrypt keys y.ct --insecure",
        (Path("keys"), True),
    ),
    ("keygen", "--insecure"): (models, "make_keys", "keygen m.cwk -o new --insecure", True),
    ("encrypt", "--insecure"): (
        models,
        "encrypt_files",
        "encrypt m.cwk k x.npy -o y --insecure",
        True,
    ),
    ("query", "--insecure"): (
        serving,
        "ask",
        "query http://x keys x.npy --insecure",
        (Path("keys"), True),
    ),
    ("keygen", "--out"): (models, "make_keys", "keygen m.cwk -o new", Path("new")),
    ("encrypt", "--out"): (models, "encrypt_files", "encrypt m.cwk k x.npy -o y", Path("y")),
    ("decrypt", "--out"): (models, "decrypt_file", "decrypt keys y.ct -o new", Path("new")),
    ("query", "--out"): (serving, "ask", "query http://x keys x.npy -o new", Path("new")),
    ("query", "--ca"): (serving, "ask", "query http://x keys x.npy --ca c.pem", Path("c.pem")),
    ("query", "--timeout"): (serving, "ask", "query http://x keys x.npy --timeout 7", 7.0),
    ("query", "--token-file"): (serving, "ask", "query http://x k x.npy --token-file t", Path("t")),
    ("serve", "--token-file"): (serving, "start", f"{SERVE} --token-file t", Path("t")),
    ("serve", "--port"): (serving, "start", f"{SERVE} --port 7000", 7000),
    ("serve", "--host"): (serving, "start", f"{SERVE} --host ::1", "::1"),
    ("serve", "--store"): (serving, "start", f"{SERVE} --store new", Path("new")),
    ("serve", "--threads"): (serving, "start", f"{SERVE} --threads 3", Limits(threads=3)),
    ("serve", "--parallel"): (serving, "start", f"{SERVE} --parallel 2", Limits(parallel=2)),
    ("serve", "--queue"): (serving, "start", f"{SERVE} --queue 5", Limits(queue=5)),
    ("serve", "--memory-budget"): (
        serving,
        "start",
        f"{SERVE} --memory-budget 3GiB",
        Limits(memory_bytes=3 << 30),
    ),
    ("serve", "--keys-quota"): (
        serving,
        "start",
        f"{SERVE} --keys-quota 2GiB",
        Limits(keys_bytes=2 << 30),
    ),
    ("serve", "--run-seconds"): (
        serving,
        "start",
        f"{SERVE} --run-seconds 9",
        Limits(run_seconds=9.0),
    ),
    **{
        ("serve", f"--{option}"): (serving, "start", f"{SERVE} --{option} {given}", limits)
        for option, given, limits in (
            ("held-quota", "2GiB", Limits(held_bytes=2 << 30)),
            ("client-quota", "1GiB", Limits(client_bytes=1 << 30)),
            ("connections", "5", Limits(connections=5)),
            ("client-connections", "5", Limits(client_connections=5)),
            ("head-seconds", "3", Limits(head_seconds=3.0)),
            ("idle-seconds", "3", Limits(idle_seconds=3.0)),
            ("request-seconds", "3", Limits(request_seconds=3.0)),
            ("read-seconds", "3", Limits(read_seconds=3.0)),
            ("least-rate", "2KiB", Limits(rate_bytes=2048)),
        )
    },
    ("serve", "--ssl-certfile"): (serving, "start", f"{SERVE} --ssl-certfile c.pem", Path("c.pem")),
    ("serve", "--ssl-keyfile"): (serving, "start", f"{SERVE} --ssl-keyfile k.pem", Path("k.pem")),
    ("serve", "--insecure"): (serving, "start", f"{SERVE} --insecure", Limits(insecure=True)),
    ("devices", "--json"): (None, "", "devices --json", None),
    ("new-device", "--language"): (skeleton, "new_device", "new-device a --language cpp", "cpp"),
    ("new-device", "--out"): (skeleton, "new_device", "new-device a --out new", Path("new")),
}


@pytest.mark.parametrize("plainly", [True, False])
@pytest.mark.parametrize(("command", "option"), OWN_FILES)
def test_an_option_reaches_what_it_is_for(
    command: str, option: str, plainly: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    place, name, line, value = OWN_FILES[command, option]
    words = line.split()
    if not plainly:
        monkeypatch.setattr(plain, "COMMANDS", {})
    monkeypatch.chdir(tmp_path)
    if place is None:
        assert main(words) == 0
        facts = json.loads(capsys.readouterr().out)
        assert value(facts) if callable(value) else facts
        return
    spy = Spy()
    monkeypatch.setattr(place, name, spy)
    # A proof's steps before and after it; saves are recorded too.
    monkeypatch.setattr(systems, "read_zkey", spy)
    monkeypatch.setattr(statements, "save", spy)
    monkeypatch.setattr(systems, "prover_of", spy)
    monkeypatch.setattr(witnesses, "generate_witness", spy)
    for module in (proving, witness):
        monkeypatch.setattr(module, "say_memory", spy)
    monkeypatch.setattr(compiling, "compile_file", spy)
    monkeypatch.setattr(compiling, "safe", spy)
    for module in (ceremonies, compiling, proving, vendors, witness):
        monkeypatch.setattr(module, "wrote", spy)
    assert main(words) == 0, capsys.readouterr().err
    assert spy.got(value), spy.calls


# Each use of these takes effect; the commands refuse uses that exclude each other.
REPEATED = {
    ("run", "--input"), ("run", "--output"), ("convert", "--keep"), ("conform", "--ops"),
    ("diff", "--input"), ("serve-prover", "--wasm"), ("compile", "--data"),
    ("demo sentiment", "--text"),
}  # fmt: skip


def test_an_option_that_is_given_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    acts_each_time = set()
    for command, option in declared():
        name = _longest(option)
        if option.multiple:
            acts_each_time.add((command, name))
            continue
        for word in (*option.opts, *option.secondary_opts) if command else ():
            once = [name, *([] if option.is_flag else ["1"])]
            again = [word, *([] if option.is_flag else ["2"])]
            # Also with all arguments there, which are read before typer is loaded.
            for line in ([*command.split(), *once, *again], [*PROVE.split(), *once, *again]):
                if line[0] != command.split()[0]:
                    continue
                assert main(line) == 2, line
                assert f"{name}: got it twice" in capsys.readouterr().err
    assert acts_each_time == REPEATED


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["x={}/1.npy", "x={}/2.npy"], "one place for x"),
        (["{}/one", "{}/two"], "expected one folder"),
        (["{}/one", "{}/one"], "expected one folder"),
        ([""], "got no text"),
        (["x={}/1.npy", ""], "got no text"),
        (["x="], "NAME=FILE.npy"),
        (["{}/one", "nothing={}/1.npy"], "got nothing"),
    ],
)
def test_places_of_results_that_exclude_each_other_are_refused(
    given: list[str], words: str, seen: Seen, capsys: pytest.CaptureFixture[str]
) -> None:
    file = seen.folder / "two.cwk"
    cw.trace(lambda x: {"x": x + x, "y": x * x}, X).save(file)
    np.save(seen.folder / "x.npy", X)
    line = ["run", str(file), "--input", f"x={seen.folder / 'x.npy'}"]
    before = sorted(seen.folder.iterdir())
    line += [word for one in given for word in ("--output", one.replace("{}", str(seen.folder)))]
    assert (main(line), capsys.readouterr().out) == (2, "")
    assert main(line) == 2
    assert words in capsys.readouterr().err
    assert sorted(seen.folder.iterdir()) == before


_COMMAND = "import sys; from cloakwork.cli import main; sys.exit(main(sys.argv[1:]))"
_LIMITED = """
import resource, sys
from cloakwork.cli import main
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.exit(main(sys.argv[1:]))
"""


def test_results_are_written_all_or_none(tmp_path: Path) -> None:
    cw.trace(lambda x: {"a": x[:2], "b": x}, np.zeros(4096)).save(tmp_path / "two.cwk")
    np.save(tmp_path / "x.npy", np.zeros(4096))
    line = ["run", str(tmp_path / "two.cwk"), "--input", f"x={tmp_path / 'x.npy'}"]
    for program, status, names in ((_LIMITED, 2, []), (_COMMAND, 0, ["a.npy", "b.npy"])):
        words = [sys.executable, "-c", program, *line, "--output", str(tmp_path / "out")]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (done.returncode, "b.npy: " in done.stderr) == (status, status == 2), done.stderr
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names


@pytest.mark.parametrize("folder_first", [True, False])
def test_one_result_goes_where_it_is_told_and_the_folder_takes_the_others(
    folder_first: bool, seen: Seen
) -> None:
    folder = seen.folder
    cw.trace(lambda x: {"x": x + x, "y": x * x}, X).save(folder / "two.cwk")
    np.save(folder / "in.npy", X)
    places = [str(folder / "all"), f"x={folder / 'one.npy'}"]
    line = ["run", str(folder / "two.cwk"), "--input", f"x={folder / 'in.npy'}"]
    for place in places if folder_first else reversed(places):
        line += ["--output", place]
    assert main(line) == 0
    np.testing.assert_array_equal(np.load(folder / "one.npy"), X + X)
    assert [path.name for path in (folder / "all").iterdir()] == ["y.npy"]


def test_options_have_one_name_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, set[str]] = {}
    for _, option in declared():
        names.setdefault(option.name or "", set()).update(option.opts)
    by_word = {word: name for name, words in names.items() for word in words}
    # No word means two things, and no old word is left.
    assert len(by_word) == sum(map(len, names.values()))
    assert not {"--workers", "--budget", "--trace"} & by_word.keys()
    for command in ("run x.json", "prove a b", "inspect x.json"):
        assert main([*command.split(), "--workers", "2"]) == 2
        assert "unknown option --workers; use --threads" in capsys.readouterr().err


def test_the_library_calls_options_as_the_command_does() -> None:
    b = zk.ProgramBuilder()
    b.ret()
    program = b.build()
    for run in (program.run, doubled.program.run, cw.trace(lambda x: x, X).run):
        for words in plain.RENAMED.items():
            old, new = (word[2:].replace("-", "_") for word in words)
            with pytest.raises(TypeError, match=f"no option {old}; it is called {new}"):
                run({"x": X} if run != program.run else {}, **{old: 1})
    words = {name.replace("_", "-") for name in cw.RunOptions.__annotations__}
    of_run = {_longest(option)[2:] for command, option in declared() if command == "run"}
    # The command says --passes, --no-passes, --no-fallback and --device sim:0,sim:1; its outputs
    # are files.
    assert words - of_run == {"progress", "optimize", "fallback", "devices", "outputs"}
