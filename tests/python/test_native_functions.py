"""Functions that are builtin, or stand behind one that is, do and say what they declare."""

from __future__ import annotations

import contextlib
import copy
import gc
import inspect
import pickle
import sys
from types import BuiltinFunctionType

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core
from cloakwork.array_api import elementwise
from cloakwork.errors import AxisError, ParamError

NATIVE = {
    name: function
    for name in cw.__all__
    if isinstance(function := getattr(cw, name), BuiltinFunctionType)
    and function.__module__.startswith(elementwise.__name__)
}


def test_most_element_wise_functions_are_builtin() -> None:
    assert len(NATIVE) >= 60
    assert {"add", "atan2", "equal", "exp", "isnan", "maximum", "pow"} <= NATIVE.keys()


@pytest.mark.parametrize("name", NATIVE)
def test_a_function_has_its_signature_its_text_and_its_place(name: str) -> None:
    function = NATIVE[name]
    assert function.__name__ == name
    parameters = inspect.signature(function).parameters
    assert list(parameters) in (["x"], ["x1", "x2"])
    assert {one.kind for one in parameters.values()} == {inspect.Parameter.POSITIONAL_ONLY}
    assert ">>> import cloakwork as cw" in inspect.getdoc(function)
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function


@pytest.mark.parametrize("name", NATIVE)
def test_wrong_arguments_are_refused_in_words(name: str) -> None:
    function, count = NATIVE[name], len(inspect.signature(NATIVE[name]).parameters)
    x = cw.ones(2, dtype="bool") if name.startswith("logical") else cw.ones(2)
    for given in (0, 3 - count, 3):
        words = f"{name} takes {count} positional arguments, got {given}"
        with pytest.raises(TypeError, match=words):
            function(*[x] * given)
    with pytest.raises(TypeError, match=f"of {name}: got str, expected a tensor, or numbers"):
        function(*["x"] * count)
    with pytest.raises(TypeError, match="takes no keyword arguments"):
        function(*[x] * count, out=x)


def test_functions_compute_what_operators_and_numpy_do() -> None:
    x = np.array([0.25, 1.5, 3.0])
    assert np.array_equal(cw.add(cw.asarray(x), 1), x + 1)
    assert np.array_equal(cw.sqrt(x), np.sqrt(x))
    assert float(cw.sqrt(2.25)) == 1.5
    assert list(map(float, map(cw.square, cw.asarray(x)))) == list(x * x)


def test_an_op_that_is_not_element_wise_has_no_such_function() -> None:
    for name in ("sum", "where", "nothing"):
        with pytest.raises(ParamError, match="an element-wise op of one operand or two"):
            _core.elementwise(name)


def test_methods_by_numpys_names_are_attributes_of_the_class() -> None:
    # Without a way to make missing attributes, Python finds methods without making bound ones.
    assert "__getattr__" not in vars(cw.Tensor)
    for name in ("sum", "mean", "clip", "ravel"):
        assert name in vars(cw.Tensor)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = cw.ones(2).nothing


_REDUCTION = "(x, /, *, axis=None, keepdims=False)"
_ACCUMULATION = "(x, /, *, axis=None, dtype=None, keepdims=False)"
SHORTCUTS = {
    "arange": "(start, /, stop=None, step=1, *, dtype=None, device=None)",
    "asarray": "(obj, /, dtype=None, *, device=None, copy=None)",
    "concat": "(arrays, /, *, axis=0)",
    "empty": "(shape, dtype=None, *, device=None)",
    "max": _REDUCTION,
    "min": _REDUCTION,
    "prod": _ACCUMULATION,
    "reshape": "(x, /, shape, *, copy=None)",
    "stack": "(arrays, /, *, axis=0)",
    "sum": _ACCUMULATION,
    "where": "(condition, x1, x2, /)",
    "zeros": "(shape, dtype=None, *, device=None)",
}
DTYPES = ("bool", "int8", "uint32", "int64", "float32", "float64", "complex128")


def same(one: cw.Tensor, other: cw.Tensor) -> None:
    """Two tensors of one dtype, shape and bits."""
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", SHORTCUTS)
def test_functions_with_a_shortcut_are_builtin_with_the_signature_of_the_declaration(
    name: str,
) -> None:
    function = getattr(cw, name)
    assert isinstance(function, BuiltinFunctionType)
    assert ">>> import cloakwork as cw" in inspect.getdoc(function)
    assert pickle.loads(pickle.dumps(function)) is function
    assert str(inspect.signature(function)) == SHORTCUTS[name]
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        function(*[cw.ones(2)] * (3 if name == "where" else 1), nothing=1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_plain_reductions_are_those_with_every_argument(name: str, dtype: str) -> None:
    function = getattr(cw, name)
    if name in ("max", "min") and dtype == "complex128":
        with pytest.raises(TypeError, match="which have an order"):
            function(cw.ones(2, dtype=dtype))
        return
    x = cw.astype(cw.asarray(np.arange(24).reshape(2, 3, 4) % 5), dtype)
    for values in (x, x[0, 0, 0], x.mT, x[:, ::2]):
        # A tuple of axes is the declaration's.
        every = tuple(range(values.ndim))
        same(function(values), function(values, axis=every))
        same(function(values, keepdims=True), function(values, axis=every, keepdims=True))
        for axis in every:
            for keeps in (False, True):
                plain = function(values, axis=axis, keepdims=keeps)
                same(plain, function(values, axis=(axis,), keepdims=keeps))
                same(plain, function(values, keepdims=keeps, axis=axis - values.ndim))


def test_wrong_plain_calls_have_the_errors_of_the_declaration() -> None:
    x = cw.ones((2, 3))
    with pytest.raises(AxisError, match=r"axis: got 2, expected -2 to 1"):
        cw.sum(x, axis=2)
    with pytest.raises(AxisError, match=r"axis: got -3, expected -2 to 1"):
        cw.max(x, axis=-3)
    with pytest.raises(TypeError, match="an integer"):
        cw.sum(x, axis=True)
    with pytest.raises(ParamError, match="an element or more along axis 0"):
        cw.min(cw.zeros((0, 3)))
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        cw.where(x, x)
    with pytest.raises(ParamError, match="one tensor or more"):
        cw.concat([])
    with pytest.raises(AxisError, match="got 1180591620717411303424"):
        cw.sum(x, axis=2**70)


def test_plain_creations_are_those_with_every_argument() -> None:
    same(cw.zeros((2, 3)), cw.zeros((2, 3), device="cpu"))
    same(cw.zeros(3, "int8"), cw.zeros(3, dtype="int8"))
    same(cw.zeros(3, None), cw.zeros(3))
    same(cw.arange(2, 9, 3), cw.arange(2, 9, 3, device="cpu"))
    array = np.arange(6.0).reshape(2, 3)
    same(cw.asarray(array), cw.asarray(array, device="cpu"))
    assert np.shares_memory(np.asarray(cw.asarray(array)), array)
    same(cw.asarray(np.array(3.0)), cw.asarray(3.0))
    for given in (3, 2.5, True, 1j, [1, 2], [1.5], [[1], [2]], 2**63):
        same(cw.asarray(given), cw.asarray(given, copy=None))
    x = cw.asarray(array)
    same(cw.reshape(x, (3, 2)), cw.reshape(x, (3, 2), copy=None))
    same(cw.reshape(x, -1), x.reshape(-1))
    same(cw.stack([x, x]), cw.stack([x, x], axis=0))
    same(cw.concat([x, x]), cw.concat([x, x], axis=0))
    mask = x > 2
    same(cw.where(mask, x, -x), cw.where(np.asarray(mask), x, -x))


def test_calls_keep_no_references() -> None:
    def calls(x: cw.Tensor) -> None:
        cw.exp(x), cw.add(x, x), cw.sum(x), cw.sum(x, axis=0), cw.sum(x, axis=(0, 1))
        for wrong in ({"axis": 7}, {"keyword_of_this_test": x}):
            with contextlib.suppress(TypeError, ValueError):
                cw.sum(x, **wrong)
        with contextlib.suppress(TypeError):
            cw.add(x, "x")

    # What other tests left behind may name texts that they have in common, and go meanwhile.
    x, names = cw.ones((2, 2)), ("axis", "keyword_of_this_test")
    calls(x)
    gc.collect()
    before = [sys.getrefcount(one) for one in (x, *names)]
    for _ in range(1000):
        calls(x)
    assert [sys.getrefcount(one) for one in (x, *names)] == before
