"""NumPy's functions on tensors, methods by NumPy's names, and what Python asks of numbers."""

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import methods, zk
from cloakwork.array_api import protocols
from cloakwork.errors import ParamError, TraceError

Function = Callable[..., Any]

FUNCTIONS: dict[str, Function] = {
    "concatenate": lambda a, b: np.concatenate([a, b]),
    "concatenate, mixed": lambda a, _: np.concatenate([np.ones((1, 3)), a]),
    "stack": lambda a, b: np.stack((a, b), axis=1),
    "vstack": lambda a, b: np.vstack([a, b]),
    "where": lambda a, b: np.where(np.asarray(a) > 2, a, b),
    "clip": lambda a, _: np.clip(a, 2, 4),
    "sort": lambda a, _: np.sort(a, axis=0),
    "einsum": lambda a, b: np.einsum("ij,ij->i", a, b),
    "dot": lambda a, b: np.dot(a, np.transpose(b)),
    "norm": lambda a, _: np.linalg.norm(a),
    "fft": lambda a, _: np.fft.fft(a),
    "quantile": lambda a, _: np.quantile(a, [0.25, 0.5], axis=1),
    "outer": np.multiply.outer,
    "accumulate": lambda a, _: np.add.accumulate(a, axis=1),
    "divmod": lambda a, _: np.divmod(a, 2),
    "modf": lambda a, _: np.modf(a),
    "svd": lambda a, _: np.linalg.svd(a),
    "meshgrid": lambda a, b: np.meshgrid(a[0], b[0]),
    "nonzero": lambda a, _: np.nonzero(a),
    "keyword": lambda a, b: np.average(a, weights=b),
}


def same(found: Any, expected: Any) -> None:
    """A tensor for an array or a scalar, and the same for what is made of them."""
    if isinstance(expected, tuple | list):
        assert type(found) is type(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    assert isinstance(found, cw.Tensor)
    assert found.shape == np.shape(expected)
    assert found.dtype.name == np.asarray(expected).dtype.name
    assert np.array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy_give_tensors(name: str) -> None:
    a, b = np.arange(1.0, 7.0).reshape(2, 3), np.full((2, 3), 2.5)
    same(FUNCTIONS[name](cw.asarray(a), cw.asarray(b)), FUNCTIONS[name](a, b))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [*protocols._OF_NUMBERS, *protocols._OF_FLOATS, "cbrt", "rint"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float64", "complex64"])
def test_functions_of_one_operand_have_numpys_dtypes(name: str, dtype: str) -> None:
    ufunc, array = getattr(np, name), np.array([0, 1, 0.5]).astype(dtype)
    try:
        expected = ufunc(array)
    except TypeError:
        with pytest.raises(TypeError):
            ufunc(cw.asarray(array))
        return
    found = ufunc(cw.asarray(array))
    if expected.dtype == np.float16:
        assert type(found) is np.ndarray  # no tensor has them
        return
    assert isinstance(found, cw.Tensor)
    assert found.dtype.name == expected.dtype.name
    assert np.allclose(np.asarray(found), expected, rtol=1e-6, equal_nan=True)


def test_what_is_no_array_stays_what_numpy_returns() -> None:
    a = cw.asarray([[1.0, 2.0]])
    assert np.shape(a) == (1, 2)
    assert np.ndim(a) == 2
    assert np.array_equal(a, [[1.0, 2.0]]) is True
    assert np.allclose(a, a) is True
    assert isinstance(np.array2string(a), str)
    np.testing.assert_equal(a, np.array([[1.0, 2.0]]))
    np.testing.assert_allclose(a, a)
    assert isinstance(np.asarray(a), np.ndarray)


def test_a_given_out_is_the_result() -> None:
    a, out, own = cw.asarray([1.0, 4.0]), np.zeros(2), cw.zeros(2)
    assert np.sqrt(a, out=out) is out
    assert np.sqrt(a, out=own) is own
    assert np.cumsum(a, out=own) is own
    assert own.tolist() == [1.0, 5.0]
    assert out.tolist() == [1.0, 2.0]
    array = np.ones(2)
    array += a
    assert type(array) is np.ndarray
    assert array.tolist() == [2.0, 5.0]


def test_a_class_of_another_library_decides_itself() -> None:
    class Other:
        def __array_function__(self, *_: Any) -> str:
            return "other"

    both: list[Any] = [cw.ones(2), Other()]
    found: object = np.concatenate(both)
    assert found == "other"


@pytest.mark.parametrize("call", [np.sum, np.cbrt, np.median, lambda x: np.concatenate([x, x])])
def test_a_traced_tensor_has_no_memory_for_numpy(call: Function) -> None:
    with pytest.raises(TraceError, match="elements"):
        cw.trace(call, cw.ones(3))


def test_universal_functions_that_cloakwork_has_are_traced() -> None:
    program = cw.trace(lambda x: np.exp(np.add(x, 1.0)), cw.ones(2))
    assert np.allclose(np.asarray(program.run(cw.ones(2)).outputs[0]), np.exp(2.0))


METHODS: dict[str, list[dict[str, Any]]] = {
    "sum": [{}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}, {"dtype": "float32"}],
    "prod": [{}, {"axis": 1}],
    "mean": [{}, {"axis": 1, "keepdims": True}],
    "std": [{}, {"axis": 0, "ddof": 1}],
    "var": [{}, {"axis": 0}],
    "max": [{}, {"axis": -1}],
    "min": [{}, {"axis": 0}],
    "any": [{}, {"axis": 0}],
    "all": [{}, {"axis": 1}],
    "argmax": [{}, {"axis": 1}],
    "argmin": [{}, {"axis": 0, "keepdims": True}],
    "cumsum": [{}, {"axis": 1}],
    "cumprod": [{}, {"axis": 0}],
    "ravel": [{}],
    "round": [{}, {"decimals": 1}, {"decimals": -1}],
    "clip": [{"min": 2}, {"min": 2, "max": 4}],
    "transpose": [{}],
    "take": [{"indices": [0, 3]}, {"indices": [1], "axis": 1}],
    "repeat": [{"repeats": 2}, {"repeats": 2, "axis": 1}],
    "argsort": [{}, {"axis": 0}, {"axis": None}],
    "nonzero": [{}],
    "conj": [{}],
}


@pytest.mark.parametrize("dtype", ["float64", "int32", "complex128"])
@pytest.mark.parametrize("name", METHODS)
def test_methods_are_numpys(name: str, dtype: str) -> None:
    array = np.array([[3, 0, 15], [4, -1, 5]]).astype(dtype) / (1 if dtype == "int32" else 2)
    array = array.astype(dtype)
    if dtype == "complex128" and name in ("max", "min", "argmax", "argmin", "argsort", "clip"):
        with pytest.raises(TypeError):
            getattr(cw.asarray(array), name)(**METHODS[name][0])
        return
    for options in METHODS[name]:
        if dtype == "complex128" and "dtype" in options:
            continue
        found, expected = (getattr(x, name)(**options) for x in (cw.asarray(array), array))
        pairs = (
            zip(found, expected, strict=True)
            if isinstance(expected, tuple)
            else [(found, expected)]
        )
        for one, other in pairs:
            assert isinstance(one, cw.Tensor)
            assert one.dtype.name == np.asarray(other).dtype.name
            assert np.allclose(np.asarray(one), other, rtol=1e-14)


def test_methods_by_position_and_their_bytes() -> None:
    array = np.arange(6.0).reshape(2, 3)
    x = cw.asarray(array)
    assert x.sum(0).tolist() == [3.0, 5.0, 7.0]
    assert x.transpose(1, 0).shape == x.transpose((1, 0)).shape == (3, 2)
    assert x.dot(x.T).tolist() == array.dot(array.T).tolist()
    assert x.dot(2.0).tolist() == array.dot(2.0).tolist()
    assert x.T.tobytes() == array.T.tobytes()
    assert cw.zeros(0).tobytes() == b""
    with pytest.raises(ParamError, match="out"):
        x.sum(out=np.zeros(()))  # type: ignore[arg-type]


def test_every_method_is_tested_and_stands_in_the_stub() -> None:
    names = {method.__name__ for method in methods.METHODS}
    assert names == {*METHODS, "dot", "tobytes"}
    stub = (Path(cw.__file__).parent / "_core.pyi").read_text()
    assert all(f"    def {name}(" in stub for name in names)


def test_codes_that_mean_bits_here_and_bytes_in_numpy_are_refused() -> None:
    x = cw.zeros(2, dtype="int8")
    calls: list[Function] = [
        lambda code: cw.zeros(2, dtype=code),
        lambda code: cw.full(2, 1, dtype=code),
        lambda code: cw.asarray([1], code),
        lambda code: cw.asarray(np.zeros(2), code),
        x.astype,
        cw.dtype,
        cw.iinfo,
        lambda code: cw.sum(x, dtype=code),
        lambda code: cw.ops.astype(x, code),
        lambda code: x.dtype == code,
        lambda code: x.dtype in (cw.float32, code),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"'i8'.*expected int8, of 8 bits, or int64"):
            call("i8")
        with pytest.raises(TypeError, match=r"'u8'.*expected uint8, of 8 bits, or uint64"):
            call("u8")
    assert repr(x) == "Tensor([0, 0], dtype=int8)"
    assert repr(cw.zeros(1, dtype="|u1")) == "Tensor([0], dtype=uint8)"
    assert zk.tensor("u8", 4).dtype == "u8"  # programs' types count bits


def test_names_that_are_no_methods_are_refused() -> None:
    for name in ("sums", "_repr_html_", "__array_struct__"):
        with pytest.raises(AttributeError, match=name):
            getattr(cw.ones(1), name)
    assert not hasattr(cw.ones(1), "fill_")


def test_round_and_divmod() -> None:
    array = np.array([2.5, -7.25, 8.125])
    x = cw.asarray(array)
    assert round(x).tolist() == np.round(array).tolist()
    assert round(x, 1).tolist() == np.round(array, 1).tolist()
    for found, expected in (
        (divmod(x, 2), np.divmod(array, 2)),
        (divmod(20, x), np.divmod(20, array)),
    ):
        assert [one.tolist() for one in found] == [one.tolist() for one in expected]
    with pytest.raises(TypeError):
        divmod(x, "2")  # type: ignore[operator]


def test_tensors_have_weak_references() -> None:
    x = cw.ones(1)
    reference = weakref.ref(x)
    assert reference() is x
    del x
    assert reference() is None


@pytest.mark.parametrize("name", ["float32", "int64", "uint8", "bool", "complex128"])
def test_dtypes_are_numpys_dtypes(name: str) -> None:
    own = getattr(cw, name)
    assert np.dtype(own) == np.dtype(name)
    assert own.char == np.dtype(name).char
    assert np.zeros(1, dtype=own).dtype == np.dtype(name)
    assert cw.dtype(np.dtype(name).str) == own
    assert cw.zeros(1, dtype=np.dtype(name).str).dtype == own


def test_codes_with_a_byte_order_are_numpys() -> None:
    assert cw.dtype("<i8") == cw.int64
    assert cw.dtype("|u1") == cw.uint8
    for code in (">i8", "<i16", "<x4", "<", "<é4"):
        with pytest.raises(TypeError):
            cw.dtype(code)
    with pytest.raises(TypeError):
        np.dtype(cw.dtype("bn254.fr"))  # type: ignore[call-overload]
