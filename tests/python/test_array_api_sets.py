"""Sets of elements."""

from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from hypothesis import given
from python.numpy_oracle import ALL, NUMERIC, arrays, same

Array = np.ndarray[Any, Any]


@given(array=arrays(ALL))
def test_distinct_elements(array: Array) -> None:
    values, indices, inverse, counts = cw.unique_all(cw.asarray(array))
    expected = np.unique_all(array.reshape(-1))
    same(values, expected.values)
    same(indices, expected.indices)
    same(inverse, expected.inverse_indices.reshape(array.shape))
    same(counts, expected.counts)
    same(cw.unique_values(cw.asarray(array)), expected.values)
    same(cw.unique_counts(cw.asarray(array)).counts, expected.counts)
    same(cw.unique_inverse(cw.asarray(array)).inverse_indices, np.asarray(inverse))


@pytest.mark.parametrize("dtype", ["f32", "f64", "c64", "c128"])
def test_each_nan_is_distinct_and_zeros_are_one(dtype: str) -> None:
    tensor = cw.asarray([cw.nan, -0.0, cw.nan, 0.0], dtype=dtype)
    result = cw.unique_all(tensor)
    same(result.counts, [2, 1, 1])
    assert np.asarray(result.values)[0] == 0


@given(first=arrays(NUMERIC), second=arrays(NUMERIC))
def test_membership(first: Array, second: Array) -> None:
    second = second.astype(first.dtype) if first.dtype.kind == "c" else second.real.astype("int8")
    first = first if first.dtype.kind == "c" else first.astype("int8")
    same(cw.isin(cw.asarray(first), cw.asarray(second)), np.isin(first, second))
    inverted = cw.isin(cw.asarray(first), cw.asarray(second), invert=True)
    same(inverted, np.isin(first, second, invert=True))


def test_membership_of_numbers_and_of_nan() -> None:
    same(cw.isin(cw.asarray([1, 2]), 2), [False, True])
    same(cw.isin(2, cw.asarray([1, 2])), True)
    same(cw.isin(cw.asarray([cw.nan]), cw.asarray([cw.nan])), [False])
    same(cw.isin(cw.asarray([1]), cw.asarray([], dtype="i64")), [False])
