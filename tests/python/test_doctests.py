"""The examples in docstrings give the documented results."""

import ast
import doctest
import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any

import cloakwork
import pytest

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(cloakwork.__path__, "cloakwork.")
    if not module.name.endswith("_core")
)


class Finder(doctest.DocTestFinder):
    """Finds the examples of public classes in the modules that define them too."""

    def _from_module(self, module: ModuleType | None, object: Any) -> bool:
        if inspect.isclass(object) and module is not None:
            functions = filter(inspect.isfunction, vars(object).values())
            if any(function.__globals__ is vars(module) for function in functions):
                return True
        return bool(super()._from_module(module, object))  # type: ignore[misc]


def examples_in(source: str) -> int:
    """The number of examples in the docstrings of a module."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    parser = doctest.DocTestParser()
    return sum(len(parser.get_examples(ast.get_docstring(node) or "")) for node in nodes)


@pytest.mark.parametrize("name", ["cloakwork", *MODULES])
def test_examples_in_docstrings_hold(name: str) -> None:
    module = importlib.import_module(name)
    for lazy in dir(module):  # lazily created names are searched too
        getattr(module, lazy)
    runner = doctest.DocTestRunner(verbose=False)
    tests = Finder().find(module, name)
    for test in tests:
        runner.run(test)
    assert runner.failures == 0
    assert runner.tries >= examples_in(inspect.getsource(module))


def test_every_op_but_those_with_keys_has_an_example() -> None:
    ops = importlib.import_module("cloakwork.ops")
    silent = {name for name in ops.__all__ if ">>>" not in getattr(ops, name).__doc__}
    assert silent == {"hybrid_key_switch", "key_switch", "relinearize"}
