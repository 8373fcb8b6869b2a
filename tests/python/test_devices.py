"""Programs on a device whose memory the host cannot touch give the same results as on the host."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.cli import main, show
from cloakwork.errors import ContentsError, DeviceError, MemoryBudgetError, ParamError
from cloakwork.programs.report import MovedStep
from rich.console import Console

X = np.arange(4096, dtype=np.int64) % 97


def recorded() -> cw.Program:
    """Arithmetic, a sort, indices that the program computes, and a sum."""

    def f(x: cw.Tensor) -> tuple[cw.Tensor, cw.Tensor]:
        order = cw.argsort(x * 3 + 1)
        return cw.take(x, order), cw.sum(x * x)

    return cw.trace(f, cw.asarray(X))


def test_results_are_the_hosts_on_every_run() -> None:
    program = recorded()
    ordered, total = np.sort(X), int((X * X).sum())
    for device in ("cpu", "sim:0", "sim:0", "sim:1", "cpu"):
        first, second = program.run(X, device=device).outputs
        np.testing.assert_array_equal(np.asarray(first), ordered)
        assert int(second) == total


def test_several_devices_give_the_same_and_share_independent_steps() -> None:
    program = cw.trace(lambda x, y: (cw.sort(x * 3), cw.sort(y * 5)), cw.asarray(X), cw.asarray(X))
    expected = [np.sort(X * 3), np.sort((X + 1) * 5)]
    for _ in range(2):
        results = program.run(X, X + 1, devices=["sim:0", "sim:1"]).outputs
        for result, known in zip(results, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(result), known)
    plan = program.plan_text(device="sim:0,sim:1")
    assert "sim:0's queue of launches" in plan
    assert "sim:1's queue of launches" in plan


def test_a_long_step_is_divided_between_devices_and_the_plan_shows_it() -> None:
    numbers = np.arange(128 * 4096, dtype=np.int64).reshape(128, 4096)
    rows = cw.ops.astype(cw.asarray(numbers), "babybear")
    program = cw.trace(lambda x: cw.ops.field_ntt(cw.ops.field_ntt(x), inverse=True), rows)
    result = program.run(rows, devices=["sim:0", "sim:1"])
    assert result.outputs[0].to_bytes() == rows.to_bytes()
    plan = program.plan_text(device="sim:0,sim:1")
    assert "2 steps in parts on sim:0, sim:1" in plan
    assert "in parts" not in program.plan_text(device="sim:0")
    assert result.report.coverage.runs["device"] == 2


def test_devices_that_are_not_equal_are_refused() -> None:
    program = recorded()
    for devices in (["sim:0", "sim:0"], ["sim:0", "cpu"], [], "sim:0"):
        with pytest.raises(ParamError, match="device"):
            program.run(X, devices=devices)
    with pytest.raises(ParamError, match="beside"):
        program.run(X, device="sim:0", devices=["sim:1"])


def test_a_loaded_program_gives_the_same_on_every_run_and_says_what_the_device_gets_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.cwk"
    cw.trace(lambda x: cw.sum((x * 3 + 1) * x), cw.asarray(X)).save(file)
    program = cw.load(file)
    for offset in range(4):
        x = X + offset
        (total,) = program.run(x, device="sim:0").outputs
        assert int(total) == int(((x * 3 + 1) * x).sum())
    assert main(["inspect", str(file), "--plan", "--device", "sim:0"]) == 0
    assert "a segment of sim:0: " in capsys.readouterr().out
    assert main(["inspect", str(file), "--plan"]) == 0
    assert "segment" not in capsys.readouterr().out


def test_what_the_program_finds_wrong_is_told_there_too() -> None:
    program = cw.trace(cw.take, cw.asarray(X), cw.asarray(X))
    for device in ("cpu", "sim:0"):
        with pytest.raises(ContentsError, match=r"take|gather") as found:
            program.run(X, X + 4096, device=device)
        assert "4096" in str(found.value)


@pytest.mark.parametrize("device", ["gpu:0", "sim", "sim:-1", "sim:65536", "cuda:0", ""])
def test_a_device_that_is_not_there_is_refused_by_name(device: str) -> None:
    with pytest.raises(DeviceError, match="available: cpu, sim:<i>"):
        recorded().run(X, device=device)


def test_a_refused_budget_names_what_suffices_where_constants_are_uploaded_again(
    tmp_path: Path,
) -> None:
    """Eight constants of 128 KiB would fit one after the other, and not together."""
    count, size = 8, 1 << 14
    lines = [f"%w{i} = host_to_device i64[{size}] fill {i + 1}" for i in range(count)]
    lines += [f'%a = host_to_device input "a" i64[{size}]', f"%s = empty [{size}], i64"]
    lines += ["%s = modsum %a, %a, 1000003, %s"]
    for i in range(count):
        lines += [f"%s = modsum %s, %w{i}, 1000003, %s", f"free %w{i}"]
    text = "\n".join(["generation later", *lines, 'device_to_host %s, none -> output "s"', ""])
    (tmp_path / "p.cw").write_text(text)
    program, given = cw.load(tmp_path / "p.cw"), np.arange(size)
    expected = (2 * given + count * (count + 1) // 2) % 1_000_003
    with pytest.raises(MemoryBudgetError) as refused:
        program.run({"a": given}, device="sim:0", memory_budget={"sim:0": "300KiB"})
    (least,) = re.findall(r"sim:0 holds ([0-9.]+) KiB", str(refused.value))
    enough = {"sim:0": int(float(least) + 1) << 10}
    found = program.run({"a": given}, device="sim:0", memory_budget=enough).outputs[0]
    assert np.asarray(found).tolist() == expected.tolist()
    assert float(least) < count * 128


def test_a_budget_of_the_device_counts_what_it_holds() -> None:
    program = recorded()
    program.run(X, device="sim:0", memory_budget={"sim:0": "1MiB"})
    with pytest.raises(MemoryBudgetError, match="sim:0 holds"):
        program.run(X, device="sim:0", memory_budget={"sim:0": "16KiB"})


def test_the_profile_shows_transfers_and_every_step_of_a_segment(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    program, told = recorded(), []
    for _ in range(3):
        program.run(X, device="sim:0", profile=file)
        events = json.loads(file.read_text())["traceEvents"]
        told.append(sorted(event["name"] for event in events))
    assert {"upload", "download", "argsort", "multiply", "sum"} <= set(told[0])
    assert told[0] == told[1] == told[2]


def test_secret_inputs_give_the_same_there() -> None:
    program = cw.trace(cw.sort, cw.asarray(X))
    secret = cw.asarray(X.copy())
    secret.mark_secret()
    (result,) = program.run(secret, device="sim:0").outputs
    np.testing.assert_array_equal(np.asarray(result), np.sort(X))


def test_a_report_says_which_steps_ran_on_the_host_instead_and_why() -> None:
    report = recorded().run(X, device="sim:0").report
    assert report.elsewhere == []
    moved = MovedStep(3, "sort", "sim:0", "on the host: cheaper there than on sim:0")
    told = replace(report, elsewhere=[moved])
    assert told.to_json()["elsewhere"][0]["why"] == moved.why
    text = io.StringIO()
    show.report(told, Console(file=text, width=200))
    assert "1 step on the host instead of a device:" in text.getvalue()
    assert "step 3: sort on the host: cheaper there than on sim:0" in text.getvalue()


def test_the_command_states_and_judges_the_memory_of_the_device(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.arange(200_000)[::-1].copy()
    program = cw.trace(lambda x: cw.sum(cw.sort(x) + cw.sort(x * 3)), cw.asarray(x))
    program.save(tmp_path / "p.cwk")
    np.save(tmp_path / "x.npy", x)
    words, peak = program.memory(threads=2, device="sim:0")
    assert peak == program.run(x, device="sim:0", threads=2).report.peak_bytes
    assert peak != program.memory(threads=2)[1]
    given = ["--input", f"x={tmp_path / 'x.npy'}", "--threads", "2", "--device"]
    command = ["run", str(tmp_path / "p.cwk"), *given]
    assert main([*command, "sim:0", "--memory-budget", str(peak)]) == 0
    assert f"memory: {words}" in capsys.readouterr().err
    assert main([*command, "sim:0", "--memory-budget", "100"]) == 2
    assert main([*command, "nonsense"]) == 2
    assert "memory:" not in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "p.cwk"), "--plan", "--device", ""]) == 2
