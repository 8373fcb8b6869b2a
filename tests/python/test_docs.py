"""The runnable examples of pages in docs/ give the documented results."""

import doctest
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cloakwork import fhe

DOCS = Path(__file__).parents[2] / "docs"
# The list of ops is generated from docstrings, which have their own tests.
PAGES = sorted(
    page.name
    for page in DOCS.glob("*.md")
    if page.name != "ops.md" and ">>> " in page.read_text("utf-8")
)


def test_the_tensor_has_a_page_that_runs() -> None:
    assert "tensor.md" in PAGES


def toys_of_networks(compiled: Any, model: Any, *given: Any, **options: Any) -> Any:
    """A toy of a network that comes with the package; other models as they are."""
    toy = {"degree": 2**11, "insecure": True} if isinstance(model, Path) else {}
    return compiled(model, *given, **(options | toy))


SLOW = pytest.mark.slow(reason="the page searches polynomials for a deep model")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[SLOW] * (name == "models.md")) for name in PAGES]
)
def test_examples_of_a_page_hold(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fhe, "compile", partial(toys_of_networks, fhe.compile))
    examples_hold(name)


@pytest.mark.large
def test_examples_of_models_hold_at_full_size() -> None:
    examples_hold("models.md")


def examples_hold(name: str) -> None:
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    failed, _ = doctest.testfile(str(DOCS / name), module_relative=False, optionflags=options)
    assert failed == 0
