"""`dev.py gpu-check`: without a GPU it says so; its benchmarks run on any device."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import typer
from cloakwork.cli.commands import app
from python.made_up_cuda import variables

from scripts.dev import gpu_check
from scripts.dev.console import ROOT
from scripts.dev.gpu_check import Report, Step, missing_gpu, table

FIGURE = {
    "name": "NTT", "value": 1.25, "unit": "us", "asked": 0.8, "more_is_better": False,
    "wrong": "", "is_reached": False,
}  # fmt: skip


def called(*words: str, settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "dev.py"), "gpu-check", *words]
    env = variables(settings, kernels=False)
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


def test_without_a_gpu_it_says_so_and_exits_with_2() -> None:
    done = called(settings="devices=0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dev.py: gpu-check needs a GPU: cuInit gives error 100\n"


def test_wrong_arguments_are_refused_before_anything_is_built() -> None:
    done = called("--fast", settings="")
    assert done.returncode == 2
    assert "gpu-check takes --json FILE or no argument, got: --fast" in done.stderr


def test_a_gpu_is_found_where_its_driver_lists_one() -> None:
    assert missing_gpu(variables(kernels=False)) == ""
    assert missing_gpu(variables("init=999", kernels=False)) == "cuInit gives error 999"


def test_the_table_has_a_line_for_each_step_and_figure(tmp_path: Path) -> None:
    names = list(gpu_check.steps(tmp_path))
    assert "conform" in names
    steps = [Step(name, int(name == "conform"), 1.5) for name in names]
    report = Report({"gpus": [{"name": "NVIDIA H200"}]}, steps, [FIGURE])
    _, machine, *lines = table(report)
    assert machine == "NVIDIA H200"
    assert [line.split("  ")[0].strip() for line in lines] == [*names, "NTT"]
    assert sum("failed with 1" in line for line in lines) == 1
    assert lines[-1].endswith("1.250 us  <= 0.8   not reached")
    assert not report.passed


def test_the_commands_that_it_calls_take_their_options(tmp_path: Path) -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    for words in gpu_check.steps(tmp_path).values():
        if Path(words[0]).name != "cloakwork":
            continue
        name, *rest = map(str, words[1:])
        context = group.make_context(name, [name, *rest], resilient_parsing=True)
        command = group.commands[name]
        if isinstance(command, typer.core.TyperCommand):
            assert command.make_context(name, rest, parent=context).params


def test_the_benchmarks_give_right_results_on_a_device(tmp_path: Path) -> None:
    names = ["ntt", "node", "relinearize", "field_ntt", "msm", "modmul"]
    out = tmp_path / "figures.json"
    command = [sys.executable, "gpu.py", *names, "--device", "sim:0", "--small", "--json", str(out)]
    done = subprocess.run(
        command, cwd=ROOT / "benches", capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # Figures of small sizes would be read as those of the sizes that the names give.
    assert done.stdout.count("at a small size: the right result\n") == len(names)
    assert "asked" not in done.stdout
    rows = json.loads(out.read_text())["rows"]
    assert len(rows) == len(names)
    assert [row["wrong"] for row in rows] == [""] * len(names)
