"""`dev.py gpu-check`: each fault loses its own step, and is named; benchmarks run on any device."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from python.made_up_cuda import variables

from scripts.dev import cuda, gpu_check, gpu_programs, gpu_rows, gpu_stage
from scripts.dev.console import ROOT, DevError
from scripts.dev.steps import Report

# Rows as `replay-gpu` plays them, with planted faults.
PLAYER = """#!{python}
import os, sys, time
ROWS = {{
    "good": [("add_i64_cuda", "11")],
    "wrong": [("mul_i64_cuda", "99"), ("neg_i64_cuda", "33")],
    "faulty": [("a_i64_cuda", "1"), ("b_i64_cuda", "address"), ("c_i64_cuda", "3")],
    "hangs": [("d_i64_cuda", "hang"), ("e_i64_cuda", "5")],
    "crashes": [("f_i64_cuda", "6"), ("g_i64_cuda", "crash")],
    "near": [("exp_f64_cuda", "77")],
    "none": [],
}}
if sys.argv[1] != "--module":
    print("exp_f64_cuda 1 0x1.0000000000001p+0")
    sys.exit()
behind = len(sys.argv) == 3
for row, what in ROWS[sys.argv[2]]:
    if behind:
        print(row, "begins", flush=True)
        if what == "address":
            print(row, "failed cuStreamSynchronize CUDA_ERROR_ILLEGAL_ADDRESS cw_b_grid")
            sys.exit(3)
        if what == "hang":
            time.sleep(600)
        if what == "crash":
            os.kill(os.getpid(), 11)
        print(row, 1, what, flush=True)
    behind |= row == sys.argv[-1]
"""
NUMBERS = "cos_f64_portable 1 0x1.8p+0\nexp_f64_portable 1 0x1.0p+0\n"
# Of the module that is right, and of all.
ONE = "add_i64_portable 1 11\n"
DIGESTS = (
    ONE
    + """mul_i64_portable 1 22
neg_i64_portable 1 33
a_i64_portable 1 1
b_i64_portable 1 2
c_i64_portable 1 3
d_i64_portable 1 4
e_i64_portable 1 5
f_i64_portable 1 6
g_i64_portable 1 7
exp_f64_portable 1 88
"""
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `gpu-stage` makes it, with the package of this tree and few ops."""
    folder = tmp_path_factory.mktemp("built")
    package = ROOT / "python"
    with ZipFile(folder / "cloakwork-0-abi3.whl", "w") as wheel:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                wheel.write(path, path.relative_to(package))
    (folder / gpu_rows.PLAYER).write_text(PLAYER.format(python=sys.executable))
    (folder / gpu_rows.PLAYER).chmod(0o755)
    (folder / gpu_rows.NUMBERS).write_text(NUMBERS)
    (folder / gpu_rows.DIGESTS).write_text(ONE)
    facts = {"commit": "0123456789ab", "modules": ["good"], "ops": ["add", "sum"], "programs": []}
    (folder / gpu_stage.FACTS).write_text(json.dumps(facts))
    return folder


def called(*words: str | Path, settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "dev.py", "gpu-check", *words]
    return subprocess.run(
        command, env=variables(settings), capture_output=True, text=True, check=False, timeout=600
    )


def checked(built: Path, out: Path, settings: str) -> subprocess.CompletedProcess[str]:
    """A call for correctness alone, at small sizes, with time for a busy machine."""
    part = ["--only", "correctness", "--seconds", "600", "--small"]
    return called("--built", built, "--out", out, *part, settings=settings)


def steps_of(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "correctness" / "report.json").read_text())
    return {step["name"]: step for step in found["steps"]}


def test_a_device_that_computes_right_passes(built: Path, tmp_path: Path) -> None:
    done = checked(built, tmp_path, settings="memory=8589934592")
    found = steps_of(tmp_path)
    assert done.returncode == 0, done.stdout
    assert {step["status"] for step in found.values()} == {"passed"}
    assert found["rows of good"]["result"]["rows"] == 1
    assert found["conform add and 1 more"]["result"] == {}
    assert found["blocks"]["result"]["wrong"] == ""


def test_a_broken_context_fails_the_steps_that_it_breaks(built: Path, tmp_path: Path) -> None:
    done = checked(built, tmp_path, settings="break_in=add_:700")
    found = steps_of(tmp_path)
    assert done.returncode == 1
    assert found["context"]["status"] == "passed"
    assert found["one add"]["status"] == "failed with 1"
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in found["one add"]["tail"]
    assert found["rows of good"]["status"] == "passed"
    held = found["conform add and 1 more"]
    assert held["status"] == "failed with 1"
    failed = held["result"]["add"]["failed"]
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in failed
    assert "; the last kernel of the queue was add_" in failed


def test_packages_that_are_not_there_are_named_at_once(built: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(built, tmp_path / "built")
    with ZipFile(folder / "cloakwork-0-abi3.whl", "a") as wheel:
        needs = ("numpy>=2", "nonesuch>=1", "absent>=1 ; extra == 'serve'")
        lines = "\n".join(f"Requires-Dist: {need}" for need in needs)
        wheel.writestr("cloakwork-0.dist-info/METADATA", lines)
    done = called("--built", folder, "--out", tmp_path, settings="")
    assert done.returncode == 2
    assert f"gpu-check needs nonesuch, which {sys.executable} lacks" in done.stderr


def test_fatbins_are_found_beside_what_is_linked_with_them(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    library = tmp_path / "rows.so"
    source = ROOT / "tests" / "portable" / "fatbins_beside.cc"
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    (tmp_path / "fatbins").mkdir()
    (tmp_path / "fatbins" / "rns.fatbin").write_bytes(b"code\0of a GPU")
    module = ctypes.CDLL(str(library)).cw_cuda_module
    module.restype = ctypes.c_void_p
    size = ctypes.c_uint64(7)
    for _ in range(2):
        start = module(b"rns", ctypes.byref(size))
        assert ctypes.string_at(start, size.value) == b"code\0of a GPU"
        (tmp_path / "fatbins" / "rns.fatbin").unlink(missing_ok=True)
    assert (module(b"ntt", ctypes.byref(size)), size.value) == (None, 0)


def test_without_a_gpu_it_says_so_and_stops(built: Path, tmp_path: Path) -> None:
    assert checked(built, tmp_path, settings="devices=0").returncode == 1
    found = steps_of(tmp_path)
    assert list(found) == ["facts", "context"]
    assert found["context"]["result"] == {"wrong": "error 100 of the driver"}


def test_folders_and_words_that_are_wrong_are_refused(built: Path, tmp_path: Path) -> None:
    done = called("--built", tmp_path, settings="")
    assert done.returncode == 2
    assert f"{tmp_path}: not made by `dev.py gpu-stage`: stage.json" in done.stderr
    for words, said in {
        ("--fast",): "unrecognized arguments: --fast",
        ("--seconds", "0"): "expected seconds above 0, got 0",
        ("--seconds", "nan"): "expected seconds above 0, got nan",
        ("--only", "both"): "invalid choice: 'both'",
    }.items():
        done = called("--built", built, *words, settings="")
        assert done.returncode == 2
        assert said in done.stderr


@pytest.fixture
def every_row(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder with the digests of all rows."""
    monkeypatch.setattr(gpu_rows, "DIGESTS", "every-row.txt")
    (built / gpu_rows.DIGESTS).write_text(DIGESTS)
    return built


def test_a_row_that_fails_loses_only_itself(every_row: Path, tmp_path: Path) -> None:
    report = Report(tmp_path, 600.0, os.environ)
    modules = ["good", "wrong", "faulty", "crashes", "near", "none"]
    gpu_rows.check(report, every_row, modules)
    missing = report.ended.pop()
    assert missing.status == "failed: 2 rows", "a row that nobody played is not passed over"
    assert missing.result == {"missing": ["d_i64_portable", "e_i64_portable"]}
    found = {one.name.removeprefix("rows of "): one for one in report.ended}
    assert set(found) == set(modules)
    status = {name: one.status for name, one in found.items()}
    assert {name for name, said in status.items() if said == "passed"} == {"good", "near", "none"}
    assert found["wrong"].result == {
        "rows": 2, "other bits": ["mul_i64_cuda"], "too far": [], "lost": {},
    }  # fmt: skip
    fault = "cuStreamSynchronize CUDA_ERROR_ILLEGAL_ADDRESS cw_b_grid"
    assert found["faulty"].result["lost"] == {"b_i64_cuda": fault}
    assert found["faulty"].result["rows"] == 2, "those behind it were played"
    assert found["crashes"].result["lost"] == {"g_i64_cuda": "ended by SIGSEGV"}


def test_a_row_that_hangs_loses_only_itself(
    every_row: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_rows, "_SECONDS", 10.0)
    report = Report(tmp_path, 600.0, os.environ)
    gpu_rows.check(report, every_row, ["hangs"])
    found, _ = report.ended
    assert found.result["lost"] == {"d_i64_cuda": "over its limit of 10 s"}
    assert found.result["rows"] == 1


def test_rows_without_time_are_not_said_to_pass(built: Path, tmp_path: Path) -> None:
    report = Report(tmp_path, 0.0, os.environ)
    gpu_rows.check(report, built, ["good"])
    assert [one.status for one in report.ended] == ["not begun: no time left", "failed: 1 rows"]


@pytest.mark.parametrize("name", ["one_add", "blocks", "transfers", "checks", "budget"])
def test_its_programs_pass_on_a_device_that_computes_right(name: str) -> None:
    command = [sys.executable, gpu_programs.__file__, name, "sim:0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["wrong"] == ""


def test_a_stage_replaces_no_folder_of_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "build", lambda: None)
    monkeypatch.setattr(gpu_stage, "ensure_built", lambda: None)
    (tmp_path / "own").write_text("words")
    with pytest.raises(DevError, match="has other files than gpu-stage makes"):
        gpu_stage.make(tmp_path)
    assert (tmp_path / "own").read_text() == "words"


def test_the_benchmarks_give_right_results_on_a_device(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    command = [
        sys.executable, "gpu.py", *gpu_check.BENCHES, "--device", "sim:0", "--small", "--json",
        str(out),
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=ROOT / "benches", capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # Figures of small sizes would be read as those of the sizes that the names give.
    assert done.stdout.count("at a small size: the right result\n") == len(gpu_check.BENCHES)
    assert "asked" not in done.stdout
    rows = json.loads(out.read_text())["rows"]
    assert [row["wrong"] for row in rows] == [""] * len(gpu_check.BENCHES)
