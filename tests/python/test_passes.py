"""Passes: the steps that they remove, and the results that they keep."""

import re
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import zk
from cloakwork.cli import main
from python.heal_writer import HealWriter

X = np.arange(8, dtype=np.int64)


def _twice(x: cw.Tensor) -> cw.Tensor:
    return (x * x + 1) + (x * x + 1)


def _kernels(program: cw.Program, *, optimize: bool) -> list[str]:
    return re.findall(r"\b(?:multiply|add)\w*", program.plan_text(threads=1, optimize=optimize))


def test_what_is_computed_twice_is_computed_once() -> None:
    program = cw.trace(_twice, X)
    assert len(_kernels(program, optimize=False)) == 5
    assert len(_kernels(program, optimize=True)) == 3
    for optimize in (False, True):
        result = program.run(X, optimize=optimize)
        np.testing.assert_array_equal(result.outputs[0], 2 * (X * X + 1))


def test_passes_are_shown_one_by_one_and_leave_the_program_alone() -> None:
    program = cw.trace(_twice, X)
    before = program.text()
    results = program.passes()
    assert [result.name for result in results][:2] == ["as written", "common-subexpressions"]
    assert results[1].removed["multiply"] == 1
    assert str(results[1]).startswith("common-subexpressions: ")
    assert results[0].text.count("multiply") == 2 > results[-1].text.count("multiply")
    assert program.text() == before


def test_saved_files_are_as_traced(tmp_path: Path) -> None:
    program = cw.trace(_twice, X)
    program.save(tmp_path / "fresh.cwk")
    program.run(X)
    program.save(tmp_path / "run.cwk")
    assert (tmp_path / "fresh.cwk").read_bytes() == (tmp_path / "run.cwk").read_bytes()


def test_the_command_line_shows_each_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.cwk"
    cw.trace(_twice, X).save(file)
    assert main(["inspect", "--passes", str(file)]) == 0
    out = capsys.readouterr().out
    assert "; as written" in out
    assert re.search(r"; common-subexpressions: .*-1 multiply", out)
    assert "; inversions: no change" in out
    assert main(["inspect", "--passes", "--plan", str(file)]) == 2
    assert "--plan" in capsys.readouterr().err


def _transcript(folder: Path, expected: int) -> Path:
    writer = HealWriter()
    a = writer.upload(X)
    sums = []
    for _ in range(2):
        out = writer.empty([8])
        writer.op("_modsum_tcc", a, 1, 97, out, out=out)
        sums.append(out)
    writer.download(sums[0], X + 1)
    writer.download(sums[1], X + expected)
    return writer.write(folder / "t.json")


def test_a_mismatch_is_told_as_without_passes(tmp_path: Path) -> None:
    transcript = cw.heal.load(_transcript(tmp_path, expected=2))
    told = [
        [str(mismatch) for mismatch in transcript.run(verify=True, optimize=optimize).mismatches]
        for optimize in (False, True)
    ]
    assert told[0] == told[1]
    assert len(told[0]) == 1


def test_a_search_for_the_wrong_op_runs_the_steps_as_written(tmp_path: Path) -> None:
    transcript = cw.heal.load(_transcript(tmp_path, expected=2))
    found = transcript.run(bisect=True)
    assert found.wrong_op is None
    assert "2 results compared" in str(found.compared)


def test_a_run_on_secrets_takes_the_plan_that_memory_tells_of() -> None:
    program = cw.trace(_twice, X)
    secret = cw.asarray(X)
    secret.mark_secret()
    runs = [program.run(value, threads=1) for value in (X, secret)]
    assert runs[0].report.planned_steps == runs[1].report.planned_steps
    assert np.array_equal(np.asarray(runs[0].outputs[0]), np.asarray(runs[1].outputs[0]))
    plain = program.run(secret, threads=1, optimize=False).report.planned_steps
    assert runs[1].report.planned_steps < plain


def test_user_functions_are_called_as_often_as_written() -> None:
    calls = []
    ty = zk.poly(4)
    b = zk.ProgramBuilder()
    x = b.input("x", ty)
    b.function("own", lambda x: calls.append(1) or x, outs=[ty], ins=[ty])
    results = [b.allocate(ty, name=f"y{i}") for i in range(3)]
    for result in results:
        b.call("own", out=[result], args=[x])
    b.ret(*results[:2])
    outcome = b.build().run({"x": [1, 2, 3, 4]})
    assert [outcome[name].tolist() for name in ("y0", "y1")] == [[1, 2, 3, 4]] * 2
    assert len(calls) == 3


def test_a_disk_that_the_program_names_is_used() -> None:
    b = zk.ProgramBuilder()
    x = b.input("x", zk.tensor("u64", 64))
    kept, back = b.allocate(x.type, device="disk"), b.allocate(x.type)
    b.transfer(x, kept)
    b.transfer(kept, back)
    b.ret(back)
    outcome = b.build().run({"x": range(64)})
    assert outcome.report.memory["file_bytes"] == 512


def test_optimize_is_an_option_by_name() -> None:
    with pytest.raises(TypeError, match=r"there are .*optimize"):
        cw.trace(_twice, X).run(X, optimise=True)
