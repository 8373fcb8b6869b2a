"""`dev.py` on machines that lack something, with words unknown to it, and when tools fail."""

from __future__ import annotations

import ast
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.dev import commands, environment, locks, toolchain
from scripts.dev.console import ROOT, DevError, call, step

DEV = ROOT / "dev.py"


def run_dev(
    *args: str, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DEV), *args]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def install_script(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def test_help_names_every_command_from_any_folder(tmp_path: Path) -> None:
    answer = run_dev("--help", cwd=tmp_path)
    assert answer.returncode == 0
    assert re.findall(r"^  ([\w-]+)", answer.stdout, re.MULTILINE) == [
        "demo", "test", "setup", "shell", "check", "fix", "gen", "lock", "notices", "bench", "fuzz",
        "sanitize", "matrix", "cuda", "gpu-stage", "gpu-check", "sdist", "wheel", "release-check",
    ]  # fmt: skip


def test_make_knows_the_same_commands() -> None:
    makefile = (ROOT / "Makefile").read_text()
    aliases = re.search(r"^COMMANDS := (.*)$", makefile, re.MULTILINE)
    assert aliases is not None
    assert aliases[1].split() == [command.name for command in commands.COMMANDS]


def test_an_unknown_command_is_refused_with_the_list() -> None:
    answer = run_dev("tset")
    assert answer.returncode == 2
    assert "no command named tset" in answer.stderr
    assert "  test " in answer.stderr


def test_an_argument_that_a_command_does_not_take_is_refused() -> None:
    answer = run_dev("setup", "--fast")
    assert (answer.returncode, answer.stderr) == (
        2,
        "dev.py: setup takes no arguments, got: --fast\n",
    )


@pytest.mark.parametrize(
    ("given", "run"),
    [
        ([], ["digits"]),
        (["--out", "here"], ["digits", "--out", "here"]),
        (["dot"], ["dot"]),
        (["sharpen", "--threads", "1"], ["sharpen", "--threads", "1"]),
    ],
)
def test_demo_runs_the_one_that_is_named(
    given: list[str], run: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[list[object]] = []

    def note(command: list[object], _: object) -> int:
        called.append(command)
        return 0

    built: list[locks.Lock] = []
    monkeypatch.setattr(commands, "ensure_built", built.append)
    monkeypatch.setattr(commands, "call", note)
    assert commands.demo(given) == 0
    assert called[0][1:] == ["demo", *run]
    assert built == [locks.DEMO], "a demo installs what demos need"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    """The build stays as it is: the test covers the steps after it."""
    monkeypatch.setattr(commands, "ensure_built", lambda *_: None)


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("status", [0, 1])
def test_a_demo_that_passed_says_how_to_get_the_command(
    status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "call", lambda *_: status)
    assert commands.demo([]) == status
    assert ("python3 dev.py shell" in capsys.readouterr().out) is (status == 0)


def test_snapshots_are_accepted_by_the_test_that_pins_them(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[tuple[list[str], str | None]] = []

    def note(command: list[str], env: dict[str, str]) -> None:
        called.append((command[1:], env.get("UPDATE_EXPECT")))

    monkeypatch.setattr(commands, "require_rust", lambda: "cargo")
    monkeypatch.setattr(commands, "call_or_fail", note)
    assert commands.fix(["--snapshots"]) == 0
    [(words, update)] = called
    assert words[0] == "test"
    tests = [name for flag, name in itertools.pairwise(words) if flag == "--test"]
    assert tests == ["programs", "passes"]
    assert update == "1"
    assert all((ROOT / "crates/testing/tests" / f"{name}.rs").is_file() for name in tests)
    with pytest.raises(DevError, match=r"fix takes --snapshots or no argument, got: --plans"):
        commands.fix(["--plans"])


def test_a_shell_finds_the_command_and_its_python(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import shutil, sys; print(shutil.which('cloakwork'), sys.prefix)"
    started = "from scripts.dev import commands; commands.ensure_built = lambda *_: None"
    call_it = f"{started}; commands.main(['shell', 'python', '-c', {script!r}])"
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    answer = subprocess.run(
        [sys.executable, "-c", call_it], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == [str(ROOT / ".venv" / "bin" / "cloakwork"), str(ROOT / ".venv")]


@pytest.mark.usefixtures("built")
def test_a_shell_that_is_absent_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHELL", "/nowhere/sh")
    assert commands.main(["shell"]) == 2
    assert "cannot start /nowhere/sh: No such file" in capsys.readouterr().err


def test_everything_missing_is_named_at_once_without_a_traceback(tmp_path: Path) -> None:
    bare = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    answer = run_dev("setup", env=bare)
    assert answer.returncode == 2
    for missing in ("cargo", "rustc", "cc, which", "a C++17 compiler"):
        assert f"\n  - {missing}" in answer.stderr
    assert "rustup.rs" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_an_old_rust_and_an_old_compiler_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_script(tmp_path, "rustc", "echo 'rustc 1.70.0 (0000000 2023-05-31)'")
    install_script(tmp_path, "cargo", "exit 0")
    install_script(tmp_path, "cc", "exit 0")
    install_script(tmp_path, "c++", "echo 'unrecognized option -std=c++17' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(DevError) as caught:
        toolchain.require_all()
    lines = str(caught.value).splitlines()
    assert lines[0] == "this machine lacks"
    assert re.match(r"  - rustc 1\.\d+ or newer, this is 1\.70: rustup update", lines[1])
    assert lines[2].startswith("  - a C++17 compiler with 128-bit integers, ")
    assert len(lines) == 3


def test_cargo_is_found_where_rustup_puts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_script(tmp_path / "bin", "cargo", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    assert toolchain.find_tool("cargo") == str(tmp_path / "bin" / "cargo")


def test_an_old_python_gets_a_sentence() -> None:
    ast.parse(DEV.read_text(), feature_version=(3, 7))
    pretend = "import runpy, sys; sys.version_info = (3, 9, 2); runpy.run_path(sys.argv[1])"
    answer = subprocess.run(
        [sys.executable, "-c", pretend, str(DEV)], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 1
    assert answer.stderr.startswith("dev.py: needs Python 3.11 or newer, this is 3.9.2.")


def test_a_tool_s_exit_status_and_death_by_signal_are_passed_on() -> None:
    assert call(["sh", "-c", "exit 7"]) == 7
    assert call(["sh", "-c", "kill -TERM $$"]) == 143


def test_a_tool_that_cannot_start_is_named(tmp_path: Path) -> None:
    with pytest.raises(DevError, match=r"cannot start .*absent: No such file"):
        call([tmp_path / "absent"])


def test_a_failing_step_shows_the_end_of_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "step.log"
    script = "i=0; while [ $i -lt 60 ]; do echo line $i; i=$((i + 1)); done; exit 3"
    with pytest.raises(DevError, match="counting: failed with exit status 3") as caught:
        step("counting", ["sh", "-c", script], log)
    assert caught.value.status == 3
    shown = capsys.readouterr().out
    assert "... 20 lines before these" in shown
    assert "  line 20\n" in shown
    assert shown.endswith("  line 59\n")
    assert "line 19\n" not in shown


def test_main_turns_an_expected_failure_into_words_and_a_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> str:
        raise DevError("this machine lacks\n  - cargo: here is how", 2)

    monkeypatch.setattr(commands, "require_rust", refuse)
    assert commands.main(["fuzz"]) == 2
    assert capsys.readouterr().err == "dev.py: this machine lacks\n  - cargo: here is how\n"


def test_a_link_to_the_checkout_of_any_name_is_the_checkout(tmp_path: Path) -> None:
    link = tmp_path / "my code, Übung"
    link.symlink_to(ROOT)
    answer = subprocess.run(
        [sys.executable, str(link / "dev.py"), "lock", "--none"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (answer.returncode, answer.stderr.count("lock takes")) == (2, 1)
    code = (
        "from scripts.dev import locks as l; print([x.path.relative_to(l.ROOT) for x in l.LOCKS])"
    )
    subprocess.run(
        [sys.executable, "-c", code], cwd=link, env={"PYTHONPATH": str(link)}, check=True
    )


def test_a_compiler_may_be_a_path_with_spaces_or_have_words_before_it(tmp_path: Path) -> None:
    install_script(tmp_path / "my tools", "c++", "exit 0")
    compiler = str(tmp_path / "my tools" / "c++")
    assert toolchain.words_of(compiler) == [compiler]
    assert toolchain.words_of("ccache c++") == ["ccache", "c++"]
    assert toolchain.words_of(f"ccache '{compiler}'") == ["ccache", compiler]


def test_the_build_s_digest_sees_names_bytes_and_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "crates" / "a.rs"
    source.parent.mkdir()
    source.write_text("fn a() {}")
    monkeypatch.setattr(environment, "ROOT", tmp_path)

    def digest() -> str:
        return environment._digest(environment._build_inputs())

    seen = [digest()]
    assert digest() == seen[0]
    source.write_text("fn b() {}")
    seen.append(digest())
    source.rename(source.with_name("b.rs"))
    seen.append(digest())
    monkeypatch.setenv("CXXFLAGS", "-O0 -fno-builtin")
    seen.append(digest())
    (tmp_path / "Cargo.toml").write_text("[workspace]")
    seen.append(digest())
    assert len(set(seen)) == len(seen)


def test_the_build_s_digest_sees_cuda_kernels_only_if_builds_embed_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, module = tmp_path / "digest", tmp_path / "ntt.digest"
    monkeypatch.setattr(environment, "_FATBINS", claim)

    def seen() -> list[bytes]:
        return list(environment._fatbins())

    absent = seen()
    claim.write_text("")
    module.write_text("of some options")
    assert seen() == absent
    claim.write_text("of all sources")
    assert seen() == [b"of all sources", b"of some options"]


def test_tools_run_inside_the_environment_whatever_the_shell_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONDA_PREFIX", "elsewhere")
    monkeypatch.setenv("VIRTUAL_ENV", "elsewhere")
    env = environment.environment()
    assert "CONDA_PREFIX" not in env
    assert env["VIRTUAL_ENV"] == str(ROOT / ".venv")
    assert env["PATH"].split(os.pathsep)[0] == str(ROOT / ".venv" / "bin")
    assert shutil.which("sh", path=env["PATH"]) is not None
