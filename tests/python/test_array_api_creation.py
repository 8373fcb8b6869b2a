"""Tensors are made as NumPy's arrays are, and share memory with their sources."""

import array
import math
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import DTypeError, ParamError
from hypothesis import given
from hypothesis import strategies as st
from python.numpy_oracle import ALL, NUMERIC, REAL, arrays, same

Array = np.ndarray[Any, Any]


@given(data=st.data(), array=arrays(ALL))
def test_shapes_and_values(data: st.DataObject, array: Array) -> None:
    dtype = data.draw(st.sampled_from(ALL))
    like = cw.asarray(array)
    same(cw.zeros(array.shape, dtype=dtype), np.zeros(array.shape, dtype))
    same(cw.ones(array.shape, dtype=dtype), np.ones(array.shape, dtype))
    same(cw.full(array.shape, 1, dtype=dtype), np.full(array.shape, 1, dtype))
    same(cw.zeros_like(like), np.zeros_like(array))
    same(cw.ones_like(like, dtype=dtype), np.ones_like(array, dtype=dtype))
    same(cw.full_like(like, 1), np.full_like(array, 1))
    assert cw.empty_like(like).shape == cw.empty(array.shape).shape == array.shape


@given(
    start=st.integers(-50, 50), stop=st.integers(-50, 50),
    step=st.integers(-9, 9).filter(bool),
    dtype=st.sampled_from([None, "int8", "i64", "f32", "f64"]),
)  # fmt: skip
def test_arange_of_integers(start: int, stop: int, step: int, dtype: str | None) -> None:
    name = None if dtype is None else cw.dtype(dtype).name
    expected = np.arange(start, stop, step, dtype=name)
    same(cw.arange(start, stop, step, dtype=dtype), expected)


def test_arange_of_floats_of_unsigned_integers_and_of_nothing() -> None:
    same(cw.arange(0.5, 3), np.arange(0.5, 3))
    same(cw.arange(4), np.arange(4))
    same(cw.arange(9, 1, -3, dtype="uint8"), np.arange(9, 1, -3, dtype="u1"))
    same(cw.arange(0, 1, 1000, dtype="int8"), np.arange(0, 1, dtype="i1"))
    same(cw.arange(5, 5, dtype="f32"), np.arange(5, 5, dtype="f4"))
    same(cw.arange(2**64 - 3, 2**64 - 1, dtype="u64"), np.array([2**64 - 3, 2**64 - 2]))
    for arguments in ((0, 1, 0), (0.0, 1.0, 0.0), (0, math.inf), (math.nan, 1)):
        with pytest.raises(ValueError, match="expected"):
            cw.arange(*arguments)
    with pytest.raises(ValueError, match="int8"):
        cw.arange(0, 300, 150, dtype="int8")
    with pytest.raises(TypeError, match="integers or floats"):
        cw.arange(2, dtype="bool")


@given(
    start=st.integers(-9, 9), stop=st.integers(-9, 9), num=st.integers(0, 20),
    endpoint=st.booleans(), dtype=st.sampled_from(["float32", "float64", "complex64"]),
)  # fmt: skip
def test_linspace(start: int, stop: int, num: int, endpoint: bool, dtype: str) -> None:
    expected = np.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    same(cw.linspace(start, stop, num, endpoint=endpoint, dtype=dtype), expected, 1e-6)


def test_linspace_of_complex_numbers_ends_where_it_should() -> None:
    points = cw.linspace(0, 1 + 1j, 3)
    same(points, [0, 0.5 + 0.5j, 1 + 1j])
    assert float(cw.linspace(0, 0.1, 7)[-1]) == 0.1
    with pytest.raises(ValueError, match="num"):
        cw.linspace(0, 1, -1)


@given(rows=st.integers(0, 4), columns=st.none() | st.integers(0, 4), k=st.integers(-6, 6))
def test_diagonals(rows: int, columns: int | None, k: int) -> None:
    same(cw.eye(rows, columns, k=k), np.eye(rows, columns, k=k))
    array = np.arange(rows * (columns or 3) * 2).reshape(2, rows, columns or 3)
    same(cw.tril(cw.asarray(array), k=k), np.tril(array, k))
    same(cw.triu(cw.asarray(array), k=k), np.triu(array, k))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("count", range(4))
def test_meshgrid(indexing: Any, count: int) -> None:
    lists = [np.arange(i + 2) for i in range(count)]
    tensors = cw.meshgrid(*map(cw.asarray, lists), indexing=indexing)
    for actual, expected in zip(tensors, np.meshgrid(*lists, indexing=indexing), strict=True):
        same(actual, expected)


@given(array=arrays(ALL))
def test_arrays_share_their_memory(array: Array) -> None:
    tensor = cw.asarray(array, copy=False)
    same(tensor, array)
    assert array.size == 0 or np.shares_memory(np.asarray(tensor), array)
    copy = cw.asarray(array, copy=True)
    same(copy, array)
    assert not np.shares_memory(np.asarray(copy), array)
    same(cw.from_dlpack(tensor), array)


@given(array=arrays(ALL), dtype=st.sampled_from(ALL))
def test_asarray_keeps_elements_or_refuses(array: Array, dtype: str) -> None:
    if array.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        with pytest.raises(TypeError, match="complex"):
            cw.asarray(array, dtype=dtype)
        return
    with np.errstate(all="ignore"):
        expected = array.astype(dtype)
    if np.array_equal(expected, array):
        same(cw.asarray(array, dtype=dtype), expected)
        same(cw.asarray(cw.asarray(array), dtype=dtype), expected)
    else:
        with pytest.raises(ParamError, match="can hold"):
            cw.asarray(array, dtype=dtype)


@pytest.mark.parametrize(
    ("values", "dtype", "fits"),
    [
        ([2.0**63], "i64", False), ([2.0**64], "u64", False), ([2.0**32], "u32", False),
        ([2.0**31], "i32", False), ([-1], "u64", False), ([2**63], "i64", False),
        ([cw.nan], "i64", False), ([cw.inf], "f32", True), ([1e39], "f32", False),
        ([16777217], "f32", True), ([0.5], "bool", False), ([1, 0], "bool", True),
        ([-(2.0**63)], "i64", True), ([2.0**63], "u64", True), ([-0.0], "uint8", True),
    ],
)  # fmt: skip
def test_the_ends_of_what_dtypes_hold(values: list[float], dtype: str, fits: bool) -> None:
    for given_values in (values, np.asarray(values), cw.asarray(values)):
        if fits:
            assert cw.asarray(given_values, dtype=dtype).dtype == dtype
        else:
            with pytest.raises(ParamError, match="can hold"):
                cw.asarray(given_values, dtype=dtype)


@given(array=arrays(REAL), dtype=st.sampled_from(NUMERIC))
def test_astype_converts_regardless(array: Array, dtype: str) -> None:
    if array.dtype.kind == "f" and dtype.startswith("u"):
        array = np.abs(array)
    tensor = cw.asarray(array)
    same(cw.astype(tensor, dtype), array.astype(dtype))
    same(cw.astype(tensor, "bool"), array.astype(bool))
    assert cw.astype(tensor, tensor.dtype, copy=False) is tensor
    assert cw.astype(tensor, tensor.dtype) is not tensor


def test_python_values() -> None:
    same(cw.asarray(True), np.array(True))
    same(cw.asarray([1, True]), np.array([1, 1]))
    same(cw.asarray([[1, 2.5], [3, 4]]), np.array([[1, 2.5], [3, 4]]))
    same(cw.asarray((1, 2j)), np.array([1, 2j]))
    same(cw.asarray([]), np.array([]))
    same(cw.asarray(range(3)), np.arange(3))
    same(cw.asarray([cw.asarray(1), cw.asarray(2)]), np.array([1, 2]))
    same(cw.asarray(array.array("d", [1.5])), np.array([1.5]))
    same(cw.asarray(b"ab"), np.array([97, 98], dtype="u1"))
    same(cw.tensor([1, 2], dtype="f32"), np.array([1, 2], dtype="f4"))
    same(cw.asarray(np.float32(1.5)), np.float32(1.5))


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ([[1, 2], [3]], r"obj\[1\] of 1 elements after obj\[0\] of 2"),
        ([[[1], [2]], [[3], [4, 5]]], r"obj\[1\]\[1\] of 2"),
        ([1, [2]], r"obj\[1\], which is a sequence"), ([[2], 1], r"obj\[1\], which is a number"),
    ],
)  # fmt: skip
def test_ragged_sequences_are_refused_with_the_place(values: Any, place: str) -> None:
    with pytest.raises(ValueError, match=place):
        cw.asarray(values)


def test_what_cannot_be_without_a_copy() -> None:
    for values in ([1, 2], np.arange(2, dtype=">i4"), np.frombuffer(b"123456789", "i4", 2, 1)):
        assert cw.asarray(values).size == 2
        with pytest.raises(ValueError, match="copy"):
            cw.asarray(values, copy=False)
    with pytest.raises(ValueError, match="becomes"):
        cw.asarray(np.arange(2), dtype="f32", copy=False)


def test_numbers_for_simulations_come_from_their_seed() -> None:
    first, again = cw.randn((1000, 100), seed=5), cw.randn((1000, 100), seed=5)
    assert bool(cw.all(first == again))
    assert not bool(cw.any(first == cw.randn((1000, 100), seed=6)))
    assert abs(float(cw.mean(first))) < 0.02
    assert abs(float(cw.std(first)) - 1) < 0.02
    uniform = cw.rand(100_000, dtype="f32")
    assert uniform.dtype == cw.float32
    assert 0 <= float(cw.min(uniform)) <= float(cw.max(uniform)) < 1
    assert abs(float(cw.mean(uniform)) - 0.5) < 0.01
    assert not bool(cw.all(cw.rand(9) == cw.rand(9)))
    with pytest.raises(ValueError, match="seed"):
        cw.rand(1, seed=-1)


@pytest.mark.parametrize(
    "values",
    [
        [1.0, -0.0, float("inf")],
        [1, -(2**63), 2**63 - 1],
        [1, 2.5],
        [2.5, 1],
        [True, 2],
        [True, False],
        [np.float64(1.5), 2.0],
        [[1, 2], [3, 4]],
        [2**63],
        [],
    ],
)
def test_a_list_has_the_dtype_and_elements_that_numpy_gives_it(values: list[object]) -> None:
    expected = np.asarray(values)
    made = np.asarray(cw.asarray(values))  # type: ignore[arg-type]
    assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
    assert made.tobytes() == expected.tobytes()


def deep(levels: int) -> list[Any]:
    nested: list[Any] = [1]
    for _ in range(levels):
        nested = [nested]
    return nested


@pytest.mark.parametrize("values", [["a", [1]], [[1], "a"], deep(5000)])
def test_lists_of_another_form_are_refused_at_once(values: list[Any]) -> None:
    with pytest.raises(ParamError, match="expected nested sequences of equal lengths"):
        cw.asarray(values)


@pytest.mark.parametrize(
    ("ends", "dtype", "wrong"),
    [
        ((-7, 0.1), "u64", "start"), ((1e30, 3e30, 1e30), "int8", "start"),
        ((-2, 1), "uint8", "start"), ((0, 300, 100), "int8", "stop"),
        ((2**64 - 1, 2**64 + 1), "u64", "stop"),
    ],
)  # fmt: skip
def test_a_range_that_an_integer_dtype_cannot_hold_is_refused(
    ends: tuple[float, ...], dtype: str, wrong: str
) -> None:
    with pytest.raises(ParamError, match=f"{wrong}: got .* expected a range within {dtype}"):
        cw.arange(*ends, dtype=dtype)


def test_points_of_linspace_are_held_to_an_integer_dtype() -> None:
    for start, stop, wrong in ((-5, 5, "start"), (0, 256, "stop"), (0, float("nan"), "stop")):
        with pytest.raises(ParamError, match=f"{wrong}: got"):
            cw.linspace(start, stop, 3, dtype="uint8")
    assert cw.linspace(0, 255, 2, dtype="uint8").tolist() == [0, 255]
    assert cw.arange(0, 256, dtype="uint8").tolist() == list(range(256))


def test_indices_of_take_are_integers() -> None:
    for indices in ([0.5], True):
        with pytest.raises(DTypeError, match="indices"):
            cw.take(cw.zeros(3), indices, axis=0)


@pytest.mark.parametrize(
    ("range_", "text"),
    [
        ((2**63,), "stop"),
        ((-129, 2**63), "stop"),
        ((0.0, 1.0, 1e-300), "stop: got 1.0, expected fewer than 2\\^63 steps of 1e-300"),
        ((0, 2**70), "stop: got 1180591620717411303424, expected fewer than 2\\^63 steps of 1"),
    ],
)
def test_ranges_beyond_all_memory_are_refused_by_their_end(range_: Any, text: str) -> None:
    with pytest.raises(ParamError, match=text):
        cw.arange(*range_)


@pytest.mark.parametrize("ends", [(1, -2.5, 5, False), (-2.5, 300, 1, True), (-3.7, 3.7, 9, True)])
def test_linspace_of_integers_rounds_down(ends: tuple[float, float, int, bool]) -> None:
    start, stop, num, endpoint = ends
    expected = np.linspace(start, stop, num, endpoint=endpoint, dtype="int64")
    found = cw.linspace(start, stop, num, endpoint=endpoint, dtype="int64")
    assert found.tolist() == expected.tolist()
