"""Every error is one of Cloakwork's classes, carries its figures, and says them in a sentence."""

import ast
import importlib
import inspect
import pickle
import re
from pathlib import Path

import cloakwork as cw
import pytest
from cloakwork import _core, errors
from cloakwork.programs.report import Finding

FINDING = Finding(
    "error", "shape", 3, "main", "modmul", ["a"], "out", "i64[2]", "i64[3]", "", "step 3: wrong"
)
CALL = errors.OpError("modmul", "shape", "out", "i64[2]", "i64[3]", "use empty")
INSTANCES = [
    (errors.ParamError("degree", 3, "a power of two"), "degree: got 3, expected a power of two"),
    (CALL, "modmul: `out`: expected i64[2], got i64[3]; use empty"),
    (errors.OpError("ntt", "axis", "", "4 axes", "3", ""), "ntt: expected 4 axes, got 3"),
    (errors.ProgramError([FINDING]), "the program has 1 error:\nerror[shape] step 3: wrong"),
    (errors.ContentsError(7, CALL), f"step 7: {CALL}"),
    (errors.ContentsError(7, CALL, "main/3"), f"main/3: {CALL}"),
    (errors.MemoryBudgetError("needs more", 10, 5), "needs more"),
    (errors.InputError("in0", "i64[2]", "nothing"), "input in0: expected i64[2], got nothing"),
    (errors.OutOfMemoryError(1 << 40), "the system has no 1099511627776 bytes of memory to give"),
    (errors.DeviceError("tpu", ["cpu"]), "unknown device 'tpu'; available: cpu"),
    (
        errors.DeviceError("cuda:0", ["cpu"]),
        "unknown device 'cuda:0'; GPUs are devices: x.to(\"cuda:0\"), "
        'run(device="cuda:0"); available: cpu',
    ),
    (
        errors.DeviceError("cuda:0", ["cpu"], "no NVIDIA driver"),
        "unknown device 'cuda:0'; no NVIDIA driver; available: cpu",
    ),
    (errors.LoadError("line 3: expected a list"), "line 3: expected a list"),
]


@pytest.mark.parametrize(("error", "text"), INSTANCES)
def test_errors_say_their_figures_and_survive_pickling(error: Exception, text: str) -> None:
    assert isinstance(error, errors.CloakworkError)
    assert str(error) == text
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == text


def test_every_class_stands_under_one_base() -> None:
    members = inspect.getmembers(errors, inspect.isclass)
    classes = [c for _, c in members if c.__module__ == errors.__name__]
    assert len(classes) >= 15
    assert all(issubclass(c, errors.CloakworkError) for c in classes)
    assert all((c.__doc__ or "").strip() for c in classes)


def test_many_errors_are_counted_and_five_are_shown() -> None:
    warning = Finding("warning", "leak", 9, None, "", [], "", "", "", "", "step 9: leak")
    error = errors.ProgramError([FINDING] * 8 + [warning])
    assert len(error.errors) == 8
    assert len(error.findings) == 9
    assert str(error).count("step 3: wrong") == 5
    assert str(error).endswith("and 3 more")


def test_no_message_holds_an_element_of_a_secret() -> None:
    secret = cw.asarray([987654321987, 1])
    secret.mark_secret()
    for attempt in (
        lambda: cw.ops.modmul(secret, 1, 0),
        lambda: cw.ops.modmul(secret, cw.zeros(3, "i64"), 7),
        lambda: cw.ops.modmul(cw.zeros(2, "i64"), 1, secret[1:]),
        lambda: bool(secret),
        lambda: cw.trace(lambda x: cw.ops.modmul(x, secret, 7), secret),
    ):
        with pytest.raises(errors.CloakworkError) as raised:
            attempt()
        assert "987654321987" not in str(raised.value)


def _declared(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Functions and classes, and public constants."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    named = [node for node in body if isinstance(node, kinds)]
    # The stub's own types begin with one underscore.
    found: dict[str, ast.stmt] = {
        node.name: node for node in named if not re.match(r"_[^_]", node.name)
    }
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        found |= {name: node for name in names if not name.startswith("_")}
    return found


def test_the_stub_declares_what_the_extension_has() -> None:
    package = Path(importlib.import_module("cloakwork").__file__ or "").parent
    stub = _declared(ast.parse((package / "_core.pyi").read_text()).body)
    present = {name for name in vars(_core) if not name.startswith("__")} - {"_core"}
    assert set(stub) == present
    inherited = {"__buffer__", "__release_buffer__"}  # slots that Python shows from 3.12 on
    for name, node in stub.items():
        real = getattr(_core, name)
        if isinstance(node, ast.ClassDef):
            members = set(_declared(node.body))
            public = {member for member in vars(real) if not member.startswith("_")}
            assert public == {member for member in members if not member.startswith("_")}
            assert all(hasattr(real, member) for member in members - inherited)
        elif isinstance(node, ast.FunctionDef):
            assert callable(real)
