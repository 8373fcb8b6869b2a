"""The runnable examples of pages in docs/ give the documented results."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
# The list of ops is generated from docstrings, which have their own tests.
PAGES = sorted(
    page.name
    for page in DOCS.glob("*.md")
    if page.name != "ops.md" and ">>> " in page.read_text("utf-8")
)


def test_the_tensor_has_a_page_that_runs() -> None:
    assert "tensor.md" in PAGES


@pytest.mark.parametrize("name", PAGES)
def test_examples_of_a_page_hold(name: str) -> None:
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    failed, _ = doctest.testfile(str(DOCS / name), module_relative=False, optionflags=options)
    assert failed == 0
