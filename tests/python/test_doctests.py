"""The examples in docstrings say what is so."""

import doctest
import importlib
import pkgutil

import cloakwork
import pytest

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(cloakwork.__path__, "cloakwork.")
    if not module.name.endswith("_core")
)


@pytest.mark.parametrize("name", ["cloakwork", *MODULES])
def test_examples_in_docstrings_hold(name: str) -> None:
    module = importlib.import_module(name)
    for lazy in dir(module):  # what is made when it is asked for is searched, too
        getattr(module, lazy)
    failed, _ = doctest.testmod(module, verbose=False)
    assert failed == 0


def test_every_op_but_those_with_keys_has_an_example() -> None:
    ops = importlib.import_module("cloakwork.ops")
    silent = {name for name in ops.__all__ if ">>>" not in getattr(ops, name).__doc__}
    assert silent == {"hybrid_key_switch", "key_switch", "relinearize"}
