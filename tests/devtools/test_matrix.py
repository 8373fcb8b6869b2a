"""`dev.py matrix`: other Pythons, and portable kernels on aarch64; missing parts are reported."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.dev import aarch64, commands, interpreters, matrix, pythons
from scripts.dev.console import ROOT, DevError

THIS = (sys.version_info[0], sys.version_info[1])


def lines(**rows: str) -> str:
    return "".join(f"{symbol} 1 {text}\n" for symbol, text in rows.items())


def test_what_a_part_lacks_is_said_and_required_on_demand(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []
    monkeypatch.setitem(matrix.PARTS, "pythons", lambda: ran.append("pythons"))
    monkeypatch.setitem(matrix.PARTS, "aarch64", lambda: "no emulator here")
    assert matrix.run([]) == 0
    assert "aarch64 skipped: no emulator here" in capsys.readouterr().out
    assert ran == ["pythons"]
    with pytest.raises(DevError, match=r"^aarch64: no emulator here$"):
        matrix.run(["aarch64", "--required"])
    with pytest.raises(DevError, match="matrix takes pythons, aarch64 and --required, got: riscv"):
        matrix.run(["riscv"])


def test_absent_tools_are_named_with_their_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lacks = aarch64.lacking()
    assert lacks is not None
    assert lacks.startswith("aarch64-linux-gnu-g++ and qemu-aarch64 not installed (Debian: apt")
    monkeypatch.setattr(shutil, "which", lambda tool: tool)
    monkeypatch.setattr(aarch64, "ROOT", tmp_path)
    assert aarch64.lacking() == "the kernels are not built here: `dev.py setup` builds them"


def test_the_newest_build_of_the_kernels_is_the_one_that_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aarch64, "ROOT", tmp_path)
    for digest in ("00", "11"):
        folder = tmp_path / "target" / "fast" / "build" / f"cloakwork-kernels-{digest}" / "out"
        folder.mkdir(parents=True)
        (folder / "libcloakwork_kernels_common.a").touch()
    newest = folder / "libcloakwork_kernels_common.a"
    newest.write_text("x")
    assert aarch64.built_kernels() == newest.parent


def test_rows_that_differ_and_rows_of_one_machine_are_found() -> None:
    here = aarch64.digests(lines(add_i8_portable="aa", sub_i8_portable="bb", mul_i8_portable="cc"))
    there = aarch64.digests(lines(add_i8_portable="aa", sub_i8_portable="b0", or_i8_portable="dd"))
    assert aarch64.differing(here, there) == {
        "sub_i8_portable",
        "mul_i8_portable",
        "or_i8_portable",
    }


def test_a_row_that_nothing_calls_is_refused_but_for_the_one_that_needs_real_data() -> None:
    assert aarch64.digests("lookup_rows_u64_portable uncalled\n") == {}
    with pytest.raises(DevError, match=r"new_u64_portable: no launch .* calls it"):
        aarch64.digests("new_u64_portable uncalled\n")


@pytest.mark.parametrize(
    ("symbol", "rests"),
    [
        ("hypot_f64_portable", True),
        ("abs_c128_portable", True),
        ("abs_i64_portable", False),
        ("add_f64_portable", False),
        ("field_pow_bn254_fr_portable", False),
    ],
)
def test_bits_are_asked_of_all_but_functions_of_c_s_library(symbol: str, rests: bool) -> None:
    assert aarch64.by_library(symbol) is rests


@pytest.mark.parametrize(
    ("symbol", "here", "there", "agrees"),
    [
        ("hypot_f64_portable", (1.0, 2.0), (1.0, 2.0 + 2**-50), True),
        ("hypot_f64_portable", (1.0, 2.0), (1.0, 2.0 + 2**-45), False),
        ("exp_f32_portable", (1.0,), (1.0 + 2**-21,), True),
        ("exp_f32_portable", (float("inf"),), (1e300,), False),
        ("exp_f32_portable", (float("nan"),), (float("nan"),), True),
        ("exp_f32_portable", (float("nan"),), (0.0,), False),
        # A small part beside a large one: the magnitude counts.
        ("log_c128_portable", (1.0, 1e-20), (1.0, 2e-20), True),
        ("log_c128_portable", (1e-20, 1e-20), (1e-20, 2e-20), False),
    ],
)
def test_functions_of_c_s_library_agree_within_their_bounds(
    symbol: str, here: tuple[float, ...], there: tuple[float, ...], agrees: bool
) -> None:
    left, right = (
        lines(**{symbol: " ".join(value.hex() for value in side)}) for side in (here, there)
    )
    assert (list(aarch64.too_far(left, right)) == []) is agrees


def test_every_row_is_called_by_a_launch_here_and_gives_the_same_twice() -> None:
    if aarch64.built_kernels() is None:
        pytest.skip("the kernels are not built here")
    aarch64._OUT.mkdir(parents=True, exist_ok=True)
    player = aarch64._host_player()
    output = aarch64._output(player)
    assert len(aarch64.digests(output)) > 1000
    assert aarch64._output(player) == output
    [row] = aarch64._output([*player, "hypot_f64_portable"]).splitlines()
    assert aarch64.digests(output)["hypot_f64_portable"] != []
    assert len(row.split()) > 100


def test_pythons_are_those_of_supported_versions_but_the_environment_s_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert pythons._oldest_supported() == (3, 11)
    found = {THIS: "this", (3, 99): "another"}
    monkeypatch.setattr(interpreters, "since", lambda _: found)
    assert pythons.others() == {"3.99": "another"}


def test_pythons_that_start_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for minor, body in ((41, "exit 0"), (42, "exit 1")):
        path = tmp_path / f"python3.{minor}"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    assert interpreters.since((3, 40)) == {(3, 41): str(tmp_path / "python3.41")}


def test_smoke_tests_exist_and_their_requirements_are_the_project_s() -> None:
    assert [name for name in pythons.SMOKE if not (ROOT / name).is_file()] == []
    names = [requirement.split(">")[0] for requirement in pythons._requirements()]
    assert sorted(names) == ["hypothesis", "numpy", "pytest", "rich", "typer"]


def test_smoke_tests_that_fail_are_told_with_their_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pythons, "_environment", lambda *_: tmp_path)
    called: list[dict[str, str]] = []

    def fail(_: object, variables: dict[str, str]) -> int:
        called.append(variables)
        return 1

    monkeypatch.setattr(pythons, "call", fail)
    with pytest.raises(DevError, match=r"Python 3\.99: the smoke tests fail"):
        pythons.check("3.99", "another")
    assert called[0]["PYTHONPATH"] == str(ROOT / "python")


def test_ci_requires_what_it_could_install() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    required = "if has_tools; then python3 dev.py matrix --required; else python3 dev.py matrix; fi"
    assert required in script
    assert script.rstrip().endswith("python3 dev.py test")
    assert subprocess.run(["bash", "-n", ROOT / ".ci" / "run"], check=False).returncode == 0
    assert "matrix" in [command.name for command in commands.COMMANDS]
