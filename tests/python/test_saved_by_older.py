"""Programs that an older version saved: read, run, and written again byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest

SAVED = Path(__file__).parents[1] / "vectors" / "saved"
FILES = sorted(p.name for p in SAVED.iterdir() if p.suffix in {".cwk", ".txt"})
FILES += ["instructions.json", "transcript.json"]
RECORDED = sorted(p.name.removesuffix(".values.json") for p in SAVED.glob("*.values.json"))


def test_there_are_files_of_every_kind():
    assert len(RECORDED) == 5
    assert {"instructions.cwk", "traced.cwk", "transcript.cwk"} < set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_written_again_byte_for_byte(name, tmp_path):
    target = tmp_path / name
    cw.load(SAVED / name).save(target)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written == {one: (SAVED / one).read_bytes() for one in written}
    constants = f"{name}.constants"
    assert (constants in written) == (SAVED / constants).exists()


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_program_gives_the_results_that_it_gave(name):
    values = json.loads((SAVED / f"{name}.values.json").read_text())
    program = cw.load(SAVED / f"{name}.cwk")
    outputs = program.run(*values["inputs"]).outputs
    assert [np.asarray(one).tolist() for one in outputs] == values["outputs"]


@pytest.mark.parametrize("suffix", ["cwk", "json"])
def test_a_transcript_gives_what_it_expects(suffix):
    assert cw.load(SAVED / f"transcript.{suffix}").run(verify=True).mismatches == []


@pytest.mark.parametrize("suffix", ["cwk", "json", "txt"])
def test_instructions_give_what_they_gave(suffix):
    outcome = cw.load(SAVED / f"instructions.{suffix}").run({"x": [1, 2, 3, 4]})
    assert outcome["scaled"].tolist() == [10, 20, 30, 40]
    returned = next(value for name, value in outcome.outputs.items() if name != "scaled")
    assert returned.tolist() == [0, 2, 4, 6]


def test_a_recorded_function_of_fields_gives_what_it_gave():
    outcome = cw.load(SAVED / "traced.cwk").run({"a": [1, 2, 3, 4], "s": 7})
    assert outcome["product"].tolist() == [7, 14, 21, 28]
    assert outcome["sum"].tolist() == [2, 4, 6, 8]
