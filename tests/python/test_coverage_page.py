"""docs/coverage.md says what compiles and what is refused, as it is."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("skl2onnx")
import onnx
import sklearn

from scripts import coverage

TEXT = coverage.PAGE.read_text(encoding="utf-8")
ROWS = {
    name: row.split(" | ")
    for row in TEXT.partition("## Ops of ONNX")[0].splitlines()
    if (name := row[2:].partition(" |")[0]) and row.startswith("| ") and name[0].isupper()
}
NAMES = list(coverage.names())


def is_compiled(name: str) -> bool:
    """As the page has it: the lines of refused estimators have two cells."""
    return len(ROWS[name]) > 2


def check(name: str) -> None:
    model, x = coverage.fitted(name)
    why = coverage.imported(model, x)
    assert bool(why) is not is_compiled(name), why
    if why:
        assert why[:60] in TEXT


def test_every_estimator_is_on_the_page() -> None:
    assert f"scikit-learn {sklearn.__version__} compile" in TEXT, "run python -m scripts.coverage"
    assert sorted(ROWS) == sorted(NAMES)
    counted = re.search(r"(\d+) of (\d+) estimators", TEXT)
    assert counted is not None
    assert [int(one) for one in counted.groups()] == [sum(map(is_compiled, ROWS)), len(ROWS)]


@pytest.mark.parametrize("name", NAMES[3::12])
def test_some_estimators_are_what_the_page_says(name: str) -> None:
    check(name)


@pytest.mark.large
@pytest.mark.parametrize("name", [name for number, name in enumerate(NAMES) if number % 12 != 3])
def test_estimators_are_what_the_page_says(name: str) -> None:
    check(name)


def test_every_op_is_on_the_page() -> None:
    assert f"ops of onnx {onnx.__version__}" in TEXT, "run python -m scripts.coverage"
    missing = [str(row) for row in coverage.operators() if str(row) not in TEXT]
    assert missing == []
