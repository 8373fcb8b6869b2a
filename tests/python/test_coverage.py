"""What a device lacks: expanded, on the host, or refused; and the table of it."""

import json
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.cli import main
from cloakwork.errors import FallbackError
from python.vendor import library

Q = 1_000_003
X = np.arange(4096, dtype=np.int64) * 7919 - 9_999_991


def _expanded(x: cw.Tensor) -> cw.Tensor:
    return cw.ops.modneg(cw.ops.modmul(x, x, Q), Q)


def _sorted(x: cw.Tensor) -> cw.Tensor:
    return cw.ops.modmul(cw.sort(cw.ops.modmul(x, 3, Q)), 5, Q)


def test_an_op_that_a_device_lacks_is_expanded_there() -> None:
    program = cw.trace(_expanded, cw.asarray(X))
    coverage = program.coverage(device=str(library()), fallback=False)
    assert coverage.device == "fused:0"
    (row,) = [row for row in coverage.ops if row.op == "modneg"]
    assert (row.runs, row.into, row.steps) == ("expansion", ["modmul", "modsum"], 1)
    assert sum(coverage.runs.values()) == coverage.steps
    result = program.run(X, device="fused:0", fallback=False)
    np.testing.assert_array_equal(result.outputs[0], program.run(X).outputs[0])
    assert result.report.coverage.runs == coverage.runs
    assert not result.report.coverage.on_host


def test_an_op_without_an_expansion_runs_on_the_host_and_the_table_counts_its_transfers() -> None:
    program = cw.trace(_sorted, cw.asarray(X))
    result = program.run(X, device=str(library()))
    np.testing.assert_array_equal(result.outputs[0], program.run(X).outputs[0])
    coverage = result.report.coverage
    (row,) = [row for row in coverage.on_host if row.op in {"argsort", "sort"}]
    assert row.why is not None
    assert "fused:0 has no `sort` kernel" in row.why
    assert row.transfers == coverage.transfers
    assert row.transfers.measured_seconds is not None
    assert coverage.to_json()["transfers"]["bytes"] == row.transfers.bytes


def _checked(x: cw.Tensor) -> cw.Tensor:
    return cw.ops.modmul(x, 3, cw.ops.modmul(x, 5, Q))


def test_a_check_that_only_the_host_can_do_is_in_the_table_and_refused_without_fallback() -> None:
    program = cw.trace(_checked, cw.asarray(X[:64] + 9_999_993))
    coverage = program.coverage(device=str(library()))
    (row,) = coverage.on_host
    assert (row.op, row.runs, row.steps, row.transfers.count) == ("modmul", "host check", 1, 1)
    assert row.why is not None
    assert "fused:0 has no `check_range` kernel" in row.why
    with pytest.raises(FallbackError, match=r"modmul, would run its check of contents on the host"):
        program.coverage(device=str(library()), fallback=False)


def test_without_fallback_nothing_runs_and_all_such_steps_are_named() -> None:
    program = cw.trace(_sorted, cw.asarray(X))
    for ask in (
        lambda: program.run(X, device=str(library()), fallback=False),
        lambda: program.coverage(device=str(library()), fallback=False),
    ):
        with pytest.raises(FallbackError, match=r"no fallback: step \d+, sort, would") as caught:
            ask()
        ((_, op, why),) = caught.value.steps
        assert op == "sort"
        assert "has no `sort` kernel that takes i64" in why


def test_the_command_line_prints_the_table_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cw.trace(_sorted, cw.asarray(X)).save(tmp_path / "p.cwk")
    np.save(tmp_path / "x.npy", X)
    file, device = str(tmp_path / "p.cwk"), str(library())
    assert main(["inspect", file, "--device", device]) == 0
    out = capsys.readouterr().out
    assert "has no `sort` kernel" in out.replace("\n", " ")
    assert "steps for fused:0" in out
    assert main(["inspect", file, "--device", device, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["on_device"]["runs"]["host"] >= 1
    given = ["--input", f"x={tmp_path / 'x.npy'}", "--device", device]
    assert main(["run", file, *given, "--no-fallback"]) == 2
    refused = capsys.readouterr().err
    assert "no fallback" in refused
    assert "sort" in refused
    assert main(["run", file, *given, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)["report"]
    assert report["coverage"]["runs"]["host"] >= 1
    assert main(["inspect", file, "--passes", "--no-fallback"]) == 2
