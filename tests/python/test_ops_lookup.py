"""`cloakwork.ops`: functions that are created from their declarations on first use."""

import ast
import inspect
import pickle
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import cloakwork as cw
import pytest
from cloakwork import _core, ops

DECLARED = {
    node.name: node
    for node in ast.parse(Path(ops.__file__).with_suffix(".pyi").read_text()).body
    if isinstance(node, ast.FunctionDef)
}


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_an_op_is_what_the_stub_declares(name: str) -> None:
    function, declared = getattr(ops, name), DECLARED[name]
    assert function is getattr(ops, name)
    assert str(inspect.signature(function)).replace("'", "") == (
        f"({ast.unparse(declared.args).replace('=', ' = ')}) -> Tensor"
    )
    assert inspect.getdoc(function) == ast.get_docstring(declared)
    assert set(inspect.signature(function).parameters) == set(_core.Op(name).parameters)
    assert (function.__name__, function.__module__) == (name, "cloakwork.ops")


def test_every_declared_op_is_listed_and_no_other() -> None:
    assert ops.__all__ == sorted(DECLARED)
    assert set(ops.__all__) < set(dir(ops))
    with pytest.raises(AttributeError, match=r"^module 'cloakwork\.ops' has no attribute 'ad'$"):
        ops.ad  # noqa: B018


def test_help_shows_signatures_and_docstrings() -> None:
    shown = pydoc.plain(pydoc.render_doc(ops.modmul))
    assert "modmul(a: 'Tensor'" in shown
    assert ">>> cw.ops.modmul(" in shown
    assert "philox_normal(" in pydoc.plain(pydoc.render_doc(ops))


def test_arguments_are_checked_as_python_does_it() -> None:
    with pytest.raises(TypeError, match=r"^add\(\) missing 1 required positional argument: 'b'$"):
        ops.add(cw.asarray(1))
    with pytest.raises(TypeError, match=r"^add\(\) got an unexpected keyword argument 'c'$"):
        ops.add(cw.asarray(1), cw.asarray(1), c=1)


def test_parameters_reach_the_op_by_name_whatever_their_order() -> None:
    # The declaration has `out` before `elementwise_axis`, the signature behind it.
    rows = cw.asarray([[1, 2, 3]])
    made = ops.permute(rows, perms=cw.asarray([[2, 0, 1]]), perm_axis=1, elementwise_axis=0)
    assert made.tolist() == [[3, 1, 2]]


def test_an_op_pickles_by_its_name_and_its_annotations_have_a_meaning() -> None:
    assert pickle.loads(pickle.dumps(ops.add)) is ops.add
    assert get_type_hints(ops.astype)["dtype"] == _core.DType | str


def test_importing_compiles_no_op() -> None:
    code = "from cloakwork import ops; print([n for n in vars(ops) if n in set(ops.__all__)])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"
