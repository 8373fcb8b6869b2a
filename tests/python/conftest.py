"""What the tests of the Python surface have in common."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import cache

import cloakwork as cw
import pytest
import typer.main


@pytest.fixture(autouse=True)
def _as_the_environment_says() -> Iterator[None]:
    """No test leaves threads or a backend to those after it: they would outrank the environment."""
    yield
    cw.set_threads(None)
    cw.select_backend("auto")


@pytest.fixture(scope="session", autouse=True)
def _one_tree_of_commands() -> Iterator[None]:
    """Build the tree of commands once: typer takes 0.1 s for it in each call of `main`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


@pytest.fixture
def no_garbage() -> Iterator[None]:
    """Nothing that earlier tests left in cycles is freed while a test counts live bytes."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
