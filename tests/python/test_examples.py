"""The programs in examples/ run as they are."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_ends_well(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, example, tmp_path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    assert list(tmp_path.glob("*.json"))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 2
