"""Reductions, order and search agree with NumPy's."""

import warnings
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from python.numpy_oracle import ALL, COMPLEX, FLOATS, NUMERIC, REAL, arrays, axes_of, same

Array = np.ndarray[Any, Any]
ORDERED = ["bool", *REAL]


def wide(array: Array) -> Array:
    """As wide as sums are."""
    return array.astype(
        {"u": "uint64", "i": "int64", "b": "int64"}.get(array.dtype.kind, array.dtype)
    )


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "count_nonzero"])
@given(data=st.data(), array=arrays(ALL))
def test_reductions_with_a_value_for_nothing(name: str, data: st.DataObject, array: Array) -> None:
    axis, keepdims = data.draw(axes_of(array)), data.draw(st.booleans())
    given_array = wide(array) if name in ("sum", "prod") else array
    if name == "count_nonzero":
        expected = np.sum(given_array != 0, axis=axis, keepdims=keepdims)
    else:
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(given_array, axis=axis, keepdims=keepdims)
    rtol = 1e-4 if array.dtype.kind in "fc" else 0
    same(getattr(cw, name)(cw.asarray(array), axis=axis, keepdims=keepdims), expected, rtol)


def refuses(name: str, array: Array, axis: Any, keepdims: bool) -> None:
    """Assert that an empty choice is refused, also where the result would have no elements."""
    with pytest.raises(ValueError, match="expected"):
        getattr(cw, name)(cw.asarray(array), axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("name", ["min", "max"])
@given(data=st.data(), array=arrays(ORDERED, special=True))
def test_extremes(name: str, data: st.DataObject, array: Array) -> None:
    axis, keepdims = data.draw(axes_of(array)), data.draw(st.booleans())
    try:
        expected = getattr(np, name)(array, axis=axis, keepdims=keepdims)
    except ValueError:
        refuses(name, array, axis, keepdims)
        return
    same(getattr(cw, name)(cw.asarray(array), axis=axis, keepdims=keepdims), expected)


@pytest.mark.parametrize("name", ["argmin", "argmax"])
@given(data=st.data(), array=arrays(ORDERED, special=True))
def test_where_extremes_are(name: str, data: st.DataObject, array: Array) -> None:
    axis = data.draw(st.sampled_from([None, *range(array.ndim)]))
    keepdims = data.draw(st.booleans())
    try:
        expected = getattr(np, name)(array, axis=axis, keepdims=keepdims)
    except ValueError:
        refuses(name, array, axis, keepdims)
        return
    same(getattr(cw, name)(cw.asarray(array), axis=axis, keepdims=keepdims), expected)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@given(data=st.data(), array=arrays([*FLOATS, *COMPLEX]))
def test_moments(name: str, data: st.DataObject, array: Array) -> None:
    axis, keepdims = data.draw(axes_of(array)), data.draw(st.booleans())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # means of empty slices
        expected = getattr(np, name)(array, axis=axis, keepdims=keepdims)
    same(getattr(cw, name)(cw.asarray(array), axis=axis, keepdims=keepdims), expected, 1e-5)


def test_the_unbiased_variance_and_means_of_integers() -> None:
    same(cw.var(cw.asarray([1.0, 2.0, 6.0]), correction=1), np.var([1.0, 2.0, 6.0], ddof=1))
    same(cw.mean(cw.asarray([1, 2])), np.float64(1.5))
    assert np.isnan(float(cw.var(cw.asarray([1.0]), correction=1)))


@given(data=st.data(), array=arrays(NUMERIC))
def test_running_sums_and_products(data: st.DataObject, array: Array) -> None:
    if array.ndim == 0:
        return
    axis, initial = data.draw(st.integers(0, array.ndim - 1)), data.draw(st.booleans())
    tensor = cw.asarray(array)
    for name in ("cumulative_sum", "cumulative_prod"):
        actual = getattr(cw, name)(tensor, axis=axis, include_initial=initial)
        function = getattr(np, name)
        expected = function(wide(array), axis=axis, include_initial=initial)
        same(actual, expected, 1e-4 if array.dtype.kind in "fc" else 0)


@given(array=arrays(REAL), dtype=st.sampled_from(NUMERIC))
def test_sums_in_another_dtype(array: Array, dtype: str) -> None:
    with np.errstate(all="ignore"):
        expected = np.sum(array.astype(dtype), dtype=dtype)
    if array.dtype.kind == "f" and dtype.startswith("u") and array.size and array.min() < 0:
        return  # the conversion of negative floats to unsigned integers is undefined
    same(cw.sum(cw.asarray(array), dtype=dtype), expected, 1e-4)


@given(data=st.data(), array=arrays(ORDERED))
def test_sort(data: st.DataObject, array: Array) -> None:
    if array.ndim == 0:
        return
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    tensor = cw.asarray(array)
    same(cw.sort(tensor, axis=axis), np.sort(array, axis=axis))
    same(cw.argsort(tensor, axis=axis), np.argsort(array, axis=axis, stable=True))
    same(cw.sort(tensor, axis=axis, descending=True), np.flip(np.sort(array, axis=axis), axis))
    order = cw.argsort(tensor, axis=axis, descending=True)
    same(cw.take_along_axis(tensor, order, axis=axis), np.flip(np.sort(array, axis=axis), axis))


def test_the_order_of_equal_elements_stays() -> None:
    tensor = cw.asarray([1, 0, 1, 0])
    same(cw.argsort(tensor), [1, 3, 0, 2])
    same(cw.argsort(tensor, descending=True), [0, 2, 1, 3])
    same(cw.sort(cw.asarray([cw.nan, 2.0, 1.0])), [1.0, 2.0, cw.nan])


@given(data=st.data(), array=arrays(REAL))
def test_searchsorted(data: st.DataObject, array: Array) -> None:
    kind = [name for name in REAL if np.dtype(name).kind == array.dtype.kind]
    values = data.draw(arrays(kind))
    ordered = np.sort(array.reshape(-1))
    for side in ("left", "right"):
        expected = np.searchsorted(ordered, values, side=side)
        same(cw.searchsorted(cw.asarray(ordered), cw.asarray(values), side=side), expected)
        flat = array.reshape(-1)
        sorter = cw.argsort(cw.asarray(flat))
        actual = cw.searchsorted(cw.asarray(flat), cw.asarray(values), side=side, sorter=sorter)
        same(actual, expected)


@given(array=arrays(ALL))
def test_nonzero(array: Array) -> None:
    if array.ndim == 0:
        return
    for actual, expected in zip(cw.nonzero(cw.asarray(array)), np.nonzero(array), strict=True):
        same(actual, expected)


@given(data=st.data(), array=arrays(ALL))
def test_where(data: st.DataObject, array: Array) -> None:
    condition = array != 0
    scalar = data.draw(st.sampled_from([True] if array.dtype.kind == "b" else [True, 7]))
    same(
        cw.where(cw.asarray(condition), cw.asarray(array), scalar),
        np.where(condition, array, scalar),
    )
    same(cw.where(cw.asarray(condition), 1, 2.5), np.where(condition, 1.0, 2.5))


@given(data=st.data(), array=arrays(ALL))
def test_take(data: st.DataObject, array: Array) -> None:
    if 0 in array.shape or array.ndim == 0:
        return
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    size = array.shape[axis]
    places = data.draw(st.lists(st.integers(-size, size - 1), max_size=5))
    indices = np.array(places, dtype=data.draw(st.sampled_from(["int8", "int64"])))
    same(cw.take(cw.asarray(array), cw.asarray(indices), axis=axis), np.take(array, indices, axis))
    order = np.argsort(array.real, axis=axis)
    actual = cw.take_along_axis(cw.asarray(array), cw.asarray(order), axis=axis)
    same(actual, np.take_along_axis(array, order, axis))


def test_indices_that_are_not_there() -> None:
    with pytest.raises(IndexError):
        cw.take(cw.asarray([1, 2]), cw.asarray([2]))
    with pytest.raises(IndexError):
        cw.take(cw.asarray([1, 2]), cw.asarray([2**63], dtype="u64"))
    with pytest.raises(TypeError, match="integer"):
        cw.take(cw.asarray([1, 2]), cw.asarray([0.0]))


@given(data=st.data(), array=arrays(NUMERIC))
def test_diff(data: st.DataObject, array: Array) -> None:
    if array.ndim == 0:
        return
    axis, times = data.draw(st.integers(0, array.ndim - 1)), data.draw(st.integers(0, 3))
    same(cw.diff(cw.asarray(array), axis=axis, n=times), np.diff(array, n=times, axis=axis))
    actual = cw.diff(cw.asarray(array), axis=axis, prepend=cw.asarray(array))
    same(actual, np.diff(array, axis=axis, prepend=array))


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax", "sort", "argsort"])
def test_complex_numbers_have_no_order(name: str) -> None:
    with pytest.raises(TypeError, match="order"):
        getattr(cw, name)(cw.asarray([1j, 2j]))
