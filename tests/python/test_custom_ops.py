"""Ops that a vendor declares: on its device, by their expansions elsewhere, and in every form."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.cli import main
from cloakwork.device import conform, custom_ops, load_driver, load_ops
from cloakwork.errors import DeclarationError, FallbackError, OpError, PlanError
from python.vendor import library

Q = 1_000_003
X = np.arange(96, dtype=np.int64).reshape(8, 12) * 7919 - 299_999


def _square_step(x: np.ndarray, step: int) -> np.ndarray:
    # Remainders with the sign of the dividend, as in C.
    return np.fmod(np.fmod(x * x, Q) + step, Q)


def test_an_op_is_a_function_that_computes_by_its_expansion_and_on_its_device_by_its_kernel() -> (
    None
):
    load_driver(library())
    declared = [op.name for op in custom_ops()]
    # Libraries of other tests in this process have declared some, too.
    first = declared.index("square_step")
    assert declared[first : first + 3] == ["square_step", "cube", "row_sums"]
    assert "square_step" in dir(cw.ops)
    x = cw.asarray(X)
    np.testing.assert_array_equal(cw.ops.square_step(x, Q), _square_step(X, 1))
    np.testing.assert_array_equal(cw.ops.square_step(x, Q, step=7), _square_step(X, 7))
    assert "step" in (cw.ops.square_step.__doc__ or "")
    for q in (97, 193, 97):
        np.testing.assert_array_equal(cw.ops.cube(x % q, q), (X % q) ** 3 % q)
    program = cw.trace(lambda x: cw.ops.square_step(x, Q, 5), x)
    there = program.run(X, device="fused:0", fallback=False)
    assert there.report.coverage.runs["device"] == 1
    np.testing.assert_array_equal(there.outputs[0], _square_step(X, 5))
    here = program.run(X)
    assert here.report.coverage.runs["expansion"] == 1
    np.testing.assert_array_equal(here.outputs[0], _square_step(X, 5))


def test_an_op_without_an_expansion_runs_on_its_device_alone() -> None:
    load_driver(library())
    b = np.arange(12, dtype=np.int64) - 5
    program = cw.trace(cw.ops.row_sums, cw.asarray(X), cw.asarray(b))
    result = program.run(X, b, device="fused:0", fallback=False)
    np.testing.assert_array_equal(result.outputs[0], X @ b)
    with pytest.raises(PlanError, match=r"`row_sums`, which .*libfused.toml declares"):
        program.run(X, b)
    with pytest.raises(OpError, match="row_sums: expected an op with an expansion"):
        cw.ops.row_sums(cw.asarray(X), cw.asarray(b))


def test_every_form_of_a_program_carries_it_by_name(tmp_path: Path) -> None:
    load_driver(library())
    program = cw.trace(lambda x: cw.ops.square_step(x, Q, 5), cw.asarray(X))
    assert "square_step" in program.text()
    program.save(tmp_path / "p.cwk")
    again = cw.load(tmp_path / "p.cwk")
    np.testing.assert_array_equal(again.run(X).outputs[0], _square_step(X, 5))
    transcript = program.to_transcript([X])
    transcript.save(tmp_path / "t.json")
    assert '"square_step"' in (tmp_path / "t.json").read_text()
    assert not cw.heal.load(tmp_path / "t.json").run(verify=True).mismatches
    there = cw.heal.load(tmp_path / "t.json").run(verify=True, device="fused:0", fallback=False)
    assert not there.mismatches


def test_a_file_of_declarations_is_enough_to_run_elsewhere(tmp_path: Path) -> None:
    load_driver(library())
    program = cw.trace(lambda x: cw.ops.cube(x, Q), cw.asarray(X))
    program.to_transcript([X]).save(tmp_path / "t.json")
    script = "import sys; from cloakwork.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "run", str(tmp_path / "t.json"), "--verify"]
    listed = {**os.environ, "CLOAKWORK_DRIVERS": str(library().with_suffix(".toml"))}
    assert subprocess.run(command, env=listed, check=False, capture_output=True).returncode == 0
    unknown = subprocess.run(command, check=False, capture_output=True, text=True)
    assert unknown.returncode == 2
    assert "expected the name of an op, got `cube`; a vendor's op is known once" in unknown.stderr
    assert "CLOAKWORK_DRIVERS names its driver" in unknown.stderr


def test_conform_holds_a_vendors_op_to_its_expansion() -> None:
    ops = ["cube", "square_step"]
    held: dict[str, Any] = {"seed": 1, "ops": ops, "quick": True, "seconds": 600, "speed": False}
    right = conform(str(library()), **held)
    assert right
    assert {op.op: op.cases > 5 for op in right.ops} == dict.fromkeys(ops, True)
    wrong = conform(str(library("-DWRONG_CUBE", name="wrong_cube")), **held)
    assert wrong.op("square_step").passed
    failure = wrong.op("cube").failure
    assert failure is not None
    assert failure.against == "the host"
    assert "cube" in (failure.program or "")


def test_conform_takes_a_vendors_op_by_name_before_anything_loaded_its_driver() -> None:
    options = ["--ops", "cube", "--quick", "--json"]
    command = [sys.executable, "-m", "cloakwork", "conform", str(library()), *options]
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert [op["op"] for op in json.loads(answer.stdout)["ops"]] == ["cube"]


IN_PLACE = """
[[op]]
name = "product_and_sum"
doc = "`out = (a * b % q + a) % q`, element by element."
operands = [
  { name = "a", dtypes = ["i64"] },
  { name = "b", like = "a" },
  { name = "q", like = "a", integer = true, contents = "modulus" },
]
result = { dtype = "a" }
in_place = true
expansion = '''
%out = modmul %a, %b, %q, %out
%out = modsum %out, %a, %q, %out
'''
"""


@pytest.mark.parametrize("alias", ["new_reference %0", "reshape %0, [4]"])
@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_an_expansion_that_reads_after_it_wrote_is_right_in_place(
    tmp_path: Path, alias: str, device: str
) -> None:
    (tmp_path / "in_place.toml").write_text(IN_PLACE)
    load_ops(tmp_path / "in_place.toml")
    (tmp_path / "p.cw").write_text(
        "generation later\n"
        "%0 = host_to_device i64[4] {1, 2, 3, 40}\n%1 = host_to_device i64[4] {5, 6, 7, 8}\n"
        f"%2 = {alias}\n%2 = product_and_sum %0, %1, 97, %2\n"
        'device_to_host %2, none -> output "r"\n'
    )
    a, b = np.array([1, 2, 3, 40]), np.array([5, 6, 7, 8])
    (result,) = cw.heal.load(tmp_path / "p.cw").run(device=device).outputs
    expected = (a * b % 97 + a) % 97
    np.testing.assert_array_equal(result, expected)
    x = cw.asarray(a.copy())
    cw.ops.product_and_sum(x, cw.asarray(b), 97, out=x)
    np.testing.assert_array_equal(x, expected)


def test_a_bad_declaration_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('[[op]]\nname = "bad"\noperands = [{ name = "a", dtypes = ["i65"] }]\n')
    with pytest.raises(DeclarationError, match=r"line 3: expected a list of dtypes") as caught:
        load_ops(file)
    assert (caught.value.file, caught.value.line) == (str(file), 3)


def test_a_program_is_specialized_in_exactly_the_ops_of_a_device(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load_driver(library())

    def work(x: cw.Tensor) -> cw.Tensor:
        cubed = cw.ops.modmul(cw.ops.modmul(x, x, Q), x, Q)
        return cw.ops.modneg(cubed, Q)

    program = cw.trace(work, cw.asarray(X))
    expected = program.run(X).outputs[0]
    made = program.specialize("fused:0")
    text = made.text()
    assert "cube" in text
    assert "modneg" not in text
    for device in ("cpu", "fused:0"):
        result = made.run(X, device=device, fallback=device == "cpu")
        np.testing.assert_array_equal(result.outputs[0], expected)

    file, out = str(tmp_path / "p.cwk"), str(tmp_path / "out.cwk")
    program.save(file)
    assert main(["specialize", file, "--for", str(library()), "-o", out]) == 0
    np.testing.assert_array_equal(cw.load(out).run(X).outputs[0], expected)


def test_what_is_left_of_a_program_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = cw.trace(lambda x: cw.sort(cw.ops.modmul(x, x, Q)), cw.asarray(X))
    program.save(tmp_path / "p.cwk")
    out = tmp_path / "out.cwk"
    line = ["specialize", str(tmp_path / "p.cwk"), "--for", str(library()), "-o", str(out)]
    assert main(line) == 2
    assert "sort" in capsys.readouterr().err
    assert not out.exists()
    assert main([*line, "--allow-fallback"]) == 0
    assert "1 step that fused:0 lacks" in capsys.readouterr().err
    np.testing.assert_array_equal(cw.load(out).run(X).outputs[0], program.run(X).outputs[0])
    with pytest.raises(FallbackError, match="cannot run all of the program: step"):
        program.specialize("fused:0")


@pytest.mark.parametrize(
    ("text", "line"), [(b"\xff", 1), (b"# a\n# b\xc3", 2), (b"a\n\n\xe4 = 1", 3)]
)
def test_declarations_in_another_encoding_say_the_line(
    text: bytes, line: int, tmp_path: Path
) -> None:
    (tmp_path / "ops.toml").write_bytes(text)
    with pytest.raises(DeclarationError, match=rf"ops\.toml, line {line}: expected text in UTF-8"):
        load_ops(tmp_path / "ops.toml")
