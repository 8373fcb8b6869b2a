"""Functions take what `asarray` takes: each gives what it gives of tensors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import cloakwork as cw
import numpy as np
import pytest

A, B, M = [3, 1, 2], [2, 0, 1], [[1, 2], [3, 4]]
# By name: the function of one or more operands, and the operands.
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "conj": (cw.conj, ([1j, 2],)),
    "imag": (cw.imag, ([1j, 2],)),
    "real": (cw.real, ([1j, 2],)),
    "zeros_like": (cw.zeros_like, (A,)),
    "ones_like": (cw.ones_like, (A,)),
    "empty_like": (lambda x: cw.empty_like(x) * 0, (A,)),
    "full_like": (lambda x: cw.full_like(x, 7), (A,)),
    "tril": (cw.tril, (M,)),
    "triu": (cw.triu, (M,)),
    "meshgrid": (cw.meshgrid, (A, B)),
    "broadcast_arrays": (cw.broadcast_arrays, (A, M[0][:1])),
    "take": (cw.take, (A, B)),
    "take_along_axis": (cw.take_along_axis, (A, B)),
    "searchsorted": (cw.searchsorted, ([1, 2, 3], A)),
    "searchsorted, sorter": (lambda x, y, s: cw.searchsorted(x, y, sorter=s), (A, B, [1, 2, 0])),
    "concat": (lambda *x: cw.concat(x), (A, B)),
    "stack": (lambda *x: cw.stack(x, axis=1), (A, B)),
    "tile": (lambda x: cw.tile(x, 2), (A,)),
    "repeat": (cw.repeat, (A, B)),
    "matmul": (cw.matmul, (M, M)),
    "tensordot": (lambda x, y: cw.tensordot(x, y, axes=1), (A, B)),
    "vecdot": (cw.vecdot, (A, B)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("make", [list, np.asarray], ids=["list", "array"])
def test_what_is_no_tensor_is_taken_as_one(name: str, make: Callable[[Any], Any]) -> None:
    call, operands = CALLS[name]
    expected, found = call(*map(cw.asarray, operands)), call(*map(make, operands))
    pairs = (
        zip(expected, found, strict=True) if isinstance(expected, tuple) else [(expected, found)]
    )
    for one, other in pairs:
        assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())


def test_sizes_and_ends_may_be_integers_of_numpy() -> None:
    two = np.int32(2)
    assert cw.arange(two, np.int64(5)).dtype == cw.int64
    assert cw.arange(two, np.int64(5)).tolist() == [2, 3, 4]
    assert cw.zeros(two).shape == cw.zeros(np.array([2])).shape == (2,)
    assert cw.full((two, 1), 3).tolist() == [[3], [3]]
    assert cw.ones(cw.asarray(2)).tolist() == [1, 1]


def test_elements_of_fields_are_refused_in_words() -> None:
    x = cw.asarray([1, 2], "bn254.fr")
    for call in (
        lambda: cw.around(x, 1),
        lambda: cw.histogram2d(x, x),
        lambda: cw.histogram2d([1, 2], [1, 2], weights=x),
        lambda: cw.ediff1d(x, to_end=1),
        lambda: cw.trapezoid([1.0, 2.0], x),
        lambda: cw.gradient([1.0, 2.0], x),
    ):
        with pytest.raises((cw.errors.DTypeError, cw.errors.OpTypeError), match=r"bn254\.fr"):
            call()


def test_variances_of_infinities_are_numpys() -> None:
    x = [1.0, np.inf, np.nan, 2.0]
    with np.errstate(invalid="ignore"):
        expected = np.nanvar(x), np.nanstd(x)
    assert np.isnan([*expected, float(cw.nanvar(x)), float(cw.nanstd(x))]).all()


def test_places_of_unsigned_numbers_may_descend() -> None:
    places = np.array([200, 7], dtype=np.uint8)
    given, as_float = [1.0, 3.0], places.astype(np.float64)
    assert float(cw.trapezoid(given, places)) == np.trapezoid(given, as_float)
    expected = np.gradient(given, as_float)
    np.testing.assert_allclose(np.asarray(cw.gradient(given, places)), expected, rtol=1e-15)
    with pytest.raises(cw.errors.DTypeError, match="x: got bool"):
        cw.trapezoid(given, [True, False])


def test_products_of_many_matrices_are_as_numpys() -> None:
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    assert np.asarray(cw.linalg.multi_dot([turn] * 520)).tolist() == np.eye(2).tolist()
    sizes = [5, 2, 7, 1, 3, 4]
    generator = np.random.default_rng(0)
    chain = [generator.integers(-9, 9, shape).astype(float) for shape in pairwise(sizes)]
    assert np.array_equal(np.asarray(cw.linalg.multi_dot(chain)), np.linalg.multi_dot(chain))
