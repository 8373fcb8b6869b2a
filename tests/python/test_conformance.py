"""Reports of conformance and of comparisons between devices."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core
from cloakwork.cli import main
from cloakwork.device import Comparison, Failure, conform, diff
from cloakwork.errors import ParamError, SecretError

X = np.arange(6, dtype=np.int64)

WRONG = {
    "step": 3, "op": "multiply", "part": None, "kernels": ["multiply_i64"], "segment": "layer",
    "name": "c", "place": "result", "last_written": None, "index": [0, 2], "got": "-77",
    "expected": "4", "different": 1, "total": 6, "failed": None, "alone": True, "first_step": 3,
    "last_step": 3, "wrong_runs": 5, "runs": 5,
}  # fmt: skip


def program() -> cw.Program:
    return cw.trace(lambda x: x * x + 1, X)


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The engine reports this difference, which a test may change."""
    found: dict[str, Any] = dict(WRONG)

    def compared(core: Any, *_: object, secret: bool, **__: object) -> tuple[str, Any]:
        facts = {"compared": 2, "rounded": 0, "unjudged": 0, "difference": found}
        return json.dumps(facts), None if secret else core

    monkeypatch.setattr(_core, "diff", compared)
    return found


def test_a_simulated_device_passes_and_its_report_is_the_same_for_a_seed() -> None:
    options: dict[str, Any] = {"seed": 5, "ops": ["modsum", "mod"], "quick": True, "speed": False}
    report, again = (conform("sim:0", seconds=600, **options) for _ in range(2))
    assert report
    assert report.to_json() == again.to_json()
    assert report.op("mod").by_reference > 3
    assert report.untried == ()
    assert {tried for name, tried in report.sizes.items() if "i64" in name} == {(60, 60)}
    assert str(report).startswith("sim:0, seed 5: 2 of 2 ops pass in ")
    assert len(report.op("modsum").kernels) > 1


def test_a_seed_is_chosen_and_told() -> None:
    seeds = {conform("sim:0", ops=["modsum"], quick=True, seconds=0.1).seed for _ in range(2)}
    assert len(seeds) == 2


def test_ops_that_the_time_did_not_reach_are_not_said_to_be_unclaimed() -> None:
    report = conform("sim:0", ops=["modsum", "sort"], seconds=1e-9)
    assert (report.untried, report.unclaimed, report.is_cut) == (("modsum", "sort"), (), True)
    assert str(report).endswith("; 2 not tried")
    suite = ElementTree.fromstring(report.to_junit())
    assert suite.get("skipped") == "2"
    (reason,) = {case.get("message") for case in suite.iter("skipped")}
    assert reason == "the time was over before a call of it ran"


def test_times_are_beside_the_cpus() -> None:
    found = conform("sim:0", seed=1, ops=["modmul"], quick=True, seconds=600)
    speeds = found.op("modmul").speeds
    small, large = speeds
    assert 32 <= small.elements < 1 << 15 <= large.elements
    assert min(small.device_ns, small.host_ns, large.device_ns, large.host_ns) > 0
    assert large.ratio > 0


def test_a_report_is_one_test_case_an_op_for_junit() -> None:
    report = conform("sim:0", seed=1, ops=["modsum", "where"], quick=True, seconds=2)
    suite = ElementTree.fromstring(report.to_junit())
    cases = [case.get("name") for case in suite.iter("testcase")]
    assert cases == ["modsum", "where"]
    assert suite.get("failures") == "0"
    seed = suite.find("properties/property")
    assert seed is not None
    assert seed.get("value") == "1"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"ops": ["no_op"]}, "ops: got no_op"),
        ({"ops": "modsum"}, "ops: got modsum"),
        ({"seconds": 0}, "seconds: got 0"),
        ({"seconds": float("nan")}, "seconds: got nan"),
        ({"seed": -1}, "seed: got -1"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ParamError, match=named):
        conform("sim:0", **options)


def test_programs_are_equal_on_a_right_device() -> None:
    found = diff(program(), {"x": X}, device="sim:0")
    assert found
    assert (found.compared, str(found)) == (2, "2 results of steps are equal")
    assert found.to_json()["difference"] is None
    with pytest.raises(ParamError, match="a comparison with a difference"):
        found.dump("d.cw")


def test_a_difference_is_told_in_one_sentence(wrong: dict[str, Any]) -> None:
    found = diff(program(), {"x": X}, device="sim:0")
    assert not found
    assert str(found) == (
        'step 3: multiply in segment "layer" (%c, kernel multiply_i64): 1 of 6 elements differ, '
        "first at [0, 2]: expected 4, got -77; the step alone shows it: always, in 5 of 5 runs"
    )
    wrong.update(wrong_runs=2, alone=False, first_step=1, place="another tensor", last_written=0)
    text = str(diff(program(), {"x": X}, device="sim:0"))
    assert "changes a tensor last written in step 0: 1 of 6 elements differ" in text
    assert "steps 1 to 3 together show it: intermittent, in 2 of 5 runs" in text
    wrong.update(failed="sim:0: cannot launch a kernel: on fire", index=None, kernels=[])
    text = str(diff(program(), {"x": X}, device="sim:0"))
    assert "(%c, on the host): the device fails: sim:0: cannot launch a kernel: on fire" in text
    wrong.update(failed=None, different=0, total=0, wrong_runs=0)
    text = str(diff(program(), {"x": X}, device="sim:0"))
    assert "a result differed in one run, and in none that were to show it again" in text


def test_a_report_in_which_random_programs_alone_are_wrong_says_so() -> None:
    report = conform("sim:0", seed=1, ops=["modsum"], quick=True, seconds=0.1, speed=False)
    failure = Failure.of({**WRONG, "against": "the host", "program": None})
    wrong = replace(report, programs=3, program_failure=failure)
    assert not wrong
    assert str(wrong).endswith(" 3 random programs, of which the last is computed wrongly")


def test_the_command_ends_with_1_and_writes_the_step(
    wrong: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, dump = tmp_path / "p.cwk", tmp_path / "step.cw"
    program().save(file)
    np.save(tmp_path / "x.npy", X)
    line = ["diff", str(file), "--device", "sim:0", "--input", f"x={tmp_path / 'x.npy'}"]
    assert main([*line, "--dump", str(dump)]) == 1
    assert "first difference: step 3: multiply" in capsys.readouterr().out
    assert "multiply" in dump.read_text()
    assert main([*line, "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)["difference"]
    assert (facts["step"], facts["index"], facts["intermittent"]) == (3, [0, 2], False)
    assert facts["message"].startswith("step 3")
    assert wrong["step"] == 3


def test_secret_inputs_are_compared_and_no_program_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = cw.asarray(X)
    secret.mark_secret()
    given: list[bool] = []
    engine = _core.diff

    def noted(*args: Any, **options: Any) -> tuple[str, Any]:
        text, shown = engine(*args, **options)
        given.append(args[1][0].is_secret)
        return text, shown

    monkeypatch.setattr(_core, "diff", noted)
    assert diff(program(), {"x": secret}, device="sim:0")
    assert given == [True]


def test_a_dump_of_a_secret_is_refused(wrong: dict[str, Any]) -> None:
    facts = dict(wrong, got=None, expected=None)
    found = Comparison("sim:0", "cpu", cw.device.Difference.of(facts), 2, 0, 0, None)
    assert "expected" not in str(found)
    with pytest.raises(SecretError, match="must not hold a secret"):
        found.dump("d.cw")
