"""Each bug that is planted in a device is named by `conform` and by `diff`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from python.command_line import COMMAND

from python import device_builds as builds

pytestmark = pytest.mark.skipif(not builds.has_compilers(), reason="no compiler for drivers")

# The ops that are wrong; order and lifetimes concern any.
OPS = {
    "element": {"modmul"},
    "race": {"modmul", "modsum"},
    "lifetime": {"modmul", "modsum"},
    "stride": {"modsum"},
    "modulus": {"modmul"},
}

PROGRAM = """
segment "sums" {
  %a = host_to_device i64[16, 4] {WORDS}
  %t = moveaxis %a, 1, 0
  %b = empty [4, 16], i64
  %b = _modsum_ttc %a2, %t, 4611686018326724609, %b
}
segment "products" {
  %c = empty [4, 16], i64
  %c = _modmul_ttc %b, %t, 4611686018326724609, %c
  %d = empty [4, 16], i64
  %d = _modmul_ttc %c, %b, 4611686018326724609, %d
  device_to_host %d -> output "d"
}
"""


def device(bug: str) -> str:
    flag = builds.PLANTED_BUGS[bug]
    return str(builds.built(builds.PLANTED, flag, name=f"bug{bug}"))


def reported(*line: str) -> Any:
    """The JSON report of a command that ends with status 1, in a process of its own."""
    run = subprocess.run([*COMMAND, *line, "--json"], capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stderr
    return json.loads(run.stdout)


@pytest.fixture
def program(tmp_path: Path) -> str:
    words = ", ".join(str(4 * 10**18 // (i + 1)) for i in range(64))
    source = PROGRAM.replace("WORDS", words).replace("%a2", "%s")
    upload = f"%s = host_to_device i64[4, 16] {{{words}}}\nsegment"
    (tmp_path / "p.cw").write_text(source.strip().replace("segment", upload, 1))
    return str(tmp_path / "p.cw")


@pytest.mark.parametrize("bug", builds.PLANTED_BUGS)
def test_conform_names_it(bug: str) -> None:
    line = ["conform", device(bug), "--seed", "3", "--ops", "modmul,modsum", "--quick"]
    report = reported(*line, "--seconds", "600")
    wrong = {op["op"]: op["failure"] for op in report["ops"] if op["failure"]}
    assert wrong.keys() == OPS[bug]
    for op, failure in wrong.items():
        assert op in failure["op"]
        assert failure["failed"] or failure["index"] is not None
        assert op in (failure["program"] or op)


@pytest.mark.parametrize("bug", builds.PLANTED_BUGS)
def test_diff_names_it(bug: str, program: str, tmp_path: Path) -> None:
    dump = tmp_path / "step.json"
    line = ["diff", program, "--device", device(bug), "--dump", str(dump)]
    found = reported(*line)["difference"]
    assert any(op in found["op"] for op in OPS[bug]), found["message"]
    assert found["segment"] in {"sums", "products"}
    assert found["different"] >= 1
    again = reported("diff", str(dump), "--device", device(bug))["difference"]
    assert again["different"] == found["different"] or found["intermittent"]


def test_one_wrong_element_is_named_exactly(program: str) -> None:
    found = reported("diff", program, "--device", device("element"))["difference"]
    assert (found["op"], found["name"], found["segment"]) == ("_modmul_ttc", "c", "products")
    assert (found["index"], found["different"], found["total"]) == ([2, 0], 1, 64)
    assert int(found["got"]) - int(found["expected"]) == 1
    assert (found["alone"], found["wrong_runs"]) == (True, found["runs"])
