"""`dev.py matrix`: other Pythons, aarch64, CUDA without a GPU; lacks are reported."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from devtools.lock_rules import requirements

from scripts.dev import (
    aarch64,
    aarch64_rust,
    commands,
    cuda,
    cuda_shim,
    interpreters,
    locks,
    matrix,
    pythons,
)
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
    monkeypatch.setattr(aarch64_rust, "lacking", lambda: "no packages here")
    monkeypatch.setattr(cuda_shim, "check", lambda: ran.append("cuda rows"))
    monkeypatch.setattr(cuda, "lacking", lambda: "no wheels here")
    assert matrix.run([]) == 0
    said = capsys.readouterr().out
    assert "aarch64 skipped: no emulator here" in said
    assert "aarch64-rust skipped: no packages here" in said
    assert "cuda skipped: modules are not compiled for GPUs: no wheels here" in said
    assert ran == ["pythons", "cuda rows"]
    with pytest.raises(DevError, match=r"^aarch64: no emulator here$"):
        matrix.run(["aarch64", "--required"])
    with pytest.raises(
        DevError, match="matrix takes pythons, aarch64, aarch64-rust, cuda and --req"
    ):
        matrix.run(["riscv"])


def test_the_part_of_gpus_runs_all_rows_and_compiles_all_modules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(cuda_shim, "check", lambda: ran.append("rows"))
    monkeypatch.setattr(cuda, "lacking", lambda: None)
    monkeypatch.setattr(cuda, "build", lambda: ran.append("modules"))
    assert matrix.run(["cuda"]) == 0
    assert ran == ["rows", "modules"]


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
        folder = tmp_path / "target" / "fast" / "build" / f"cloakwork-csrc-{digest}" / "out"
        folder.mkdir(parents=True)
        (folder / "libcloakwork_kernels.a").touch()
    newest = folder / "libcloakwork_kernels.a"
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


SHOWN = "Package: rustc-web\nVersion: {0}\n\nPackage: libstd-rust-web-dev\nVersion: {1}\n"


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        (SHOWN.format("1.96.0+dfsg1-1", "1.96.0+dfsg1-1"), None),
        (SHOWN.format("1.85.0+dfsg3-1", "1.85.0+dfsg3-1"), "Debian's rustc is 1.85.0+dfsg3-1, the"),
        (SHOWN.format("1.96.0+dfsg1-1", "1.95.0+dfsg1-1"), "apt's sources have no rustc-web with"),
        ("Package: rustc-web\nVersion: 1.96.0+dfsg1-1\n", "apt's sources have no rustc-web with"),
        ("", "apt's sources have no rustc-web with libstd-rust-web-dev:arm64 of the same version"),
    ],
)
def test_debian_s_rust_serves_if_it_is_new_enough_and_there_for_both_architectures(
    shown: str, reason: str | None
) -> None:
    found = aarch64_rust.unfit(shown, (1, 88))
    assert found is None if reason is None else found is not None and found.startswith(reason)


def test_debian_s_rust_is_downloaded_with_the_libraries_that_the_machine_lacks() -> None:
    needed = ["libstd-rust-web-dev", "libstd-rust-web-1.96", "libllvm22", "libc6", "libz3-4"]
    downloaded = {"rustc-web", "libstd-rust-web-dev:arm64", *needed[:3]}
    assert set(aarch64_rust.chosen(needed, ["libc6", "libz3-4"])) == downloaded
    # The standard library and the compiler lie in one folder even where they are installed.
    assert set(aarch64_rust.chosen(needed, needed)) == downloaded - {"libllvm22"}


def without_debian_s_rust(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with nothing in PATH or below target/."""
    monkeypatch.setenv("PATH", str(folder / "bin"))
    monkeypatch.setattr(aarch64_rust, "_OUT", folder)
    monkeypatch.setattr(aarch64_rust, "_RUSTC", folder / "rustc")


def test_a_machine_without_apt_and_one_without_network_skip_the_check_of_the_crates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_debian_s_rust(tmp_path, monkeypatch)
    assert aarch64_rust.lacking() == (
        "apt-get and apt-cache and dpkg-query and dpkg-deb not installed (they are Debian's)"
    )
    (tmp_path / "bin").mkdir()
    for tool in ("apt-get", "apt-cache", "dpkg-query", "dpkg-deb"):
        (tmp_path / "bin" / tool).write_text("#!/bin/sh\necho W: no network >&2\nexit 100\n")
        (tmp_path / "bin" / tool).chmod(0o755)
    lacks = aarch64_rust.lacking()
    assert lacks is not None
    assert lacks.startswith("apt's sources have no rustc-web with")
    assert lacks.endswith("; W: no network")


def test_a_compiler_that_is_unpacked_is_used_without_apt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_debian_s_rust(tmp_path, monkeypatch)
    (tmp_path / "rustc").write_text("#!/bin/sh\necho rustc 1.999.0\n")
    (tmp_path / "rustc").chmod(0o755)
    assert aarch64_rust.lacking() is None


def test_pythons_are_those_of_supported_versions_but_the_environment_s_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, int]] = []

    def since(version: tuple[int, int]) -> dict[tuple[int, int], str]:
        asked.append(version)
        return {THIS: "this", (3, 99): "another"}

    monkeypatch.setattr(interpreters, "since", since)
    assert pythons.others() == {"3.99": "another"}
    assert asked == [(3, 11)]


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
    asked = requirements(locks.SMOKE, locks.pyproject())
    names = [requirement.name for requirement in asked]
    assert sorted(names) == ["hypothesis", "numpy", "pytest", "rich", "typer"]


def test_an_environment_of_another_python_is_made_again_if_its_lock_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def note(title: str, *_: object) -> None:
        done.append(title)
        (tmp_path / "3.99").mkdir(exist_ok=True)

    monkeypatch.setattr(pythons, "FOLDER", tmp_path)
    monkeypatch.setattr(pythons, "step", note)
    pythons._environment("3.99", "another")
    pythons._environment("3.99", "another")
    assert done == ["making an environment for Python 3.99", "installing for Python 3.99"]
    (tmp_path / "3.99" / "installed").write_text("an older lock")
    pythons._environment("3.99", "another")
    assert len(done) == 4


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
    assert "\nif has_tools; then required=--required; fi\n" in script
    assert "\npython3 dev.py matrix aarch64 ${required:-}\n" in script
    assert "\npython3 dev.py sdist\n" in script
    assert script.rstrip().endswith("python3 dev.py test")
    assert subprocess.run(["bash", "-n", ROOT / ".ci" / "run"], check=False).returncode == 0
    assert "matrix" in [command.name for command in commands.COMMANDS]
