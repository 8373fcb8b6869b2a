"""Averages, counts and comparisons by NumPy's names, compared with NumPy."""

import warnings
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import DTypeError, ParamError, TraceError
from numpy.typing import NDArray

from .numpy_oracle import both, same

RNG = np.random.default_rng(8)
SHAPES = [(1,), (6,), (3, 4), (2, 3, 5)]


def some(shape: tuple[int, ...], dtype: str, *, holes: bool = False) -> NDArray[Any]:
    made = RNG.integers(0, 9, shape).astype(dtype)
    if dtype.startswith("float"):
        made += RNG.random(shape).astype(dtype)
        if holes:
            made[RNG.random(shape) < 0.4] = np.nan
    return made


def axes_of(shape: tuple[int, ...]) -> list[Any]:
    return [None, 0, -1, *([(0, 1)] if len(shape) > 1 else [])]


def cases(*dtypes: str, holes: bool = False) -> list[Any]:
    return [
        (some(shape, dtype, holes=holes), axis)
        for shape in SHAPES
        for dtype in dtypes
        for axis in axes_of(shape)
    ]


def test_averages_are_numpys() -> None:
    for x, axis in cases("int8", "uint64", "float32", "float64", "bool"):
        for keepdims in (False, True):
            same(cw.median(x, axis, keepdims=keepdims), np.median(x, axis, keepdims=keepdims), 1e-6)
            if x.dtype != bool:
                same(cw.ptp(x, axis, keepdims=keepdims), np.ptp(x, axis, keepdims=keepdims))
                weights = RNG.random(x.shape)
                expected = np.average(x, axis, weights, keepdims=keepdims)
                if not isinstance(axis, tuple):
                    actual = cw.average(x, axis, weights, keepdims=keepdims)
                    same(actual, expected, 1e-6)
        if not isinstance(axis, tuple):
            same(cw.cumsum(x, axis), np.cumsum(x, axis), 1e-5)
            same(cw.cumprod(x, axis), np.cumprod(x, axis), 1e-5)
    x = some((3, 4), "float64")
    same(cw.average(x, 1, [1, 2, 3, 4]), np.average(x, 1, [1, 2, 3, 4]), 1e-12)


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantiles_are_numpys(method: Any) -> None:
    for x, axis in cases("int16", "float32", "float64"):
        for q in (0.0, 0.3, 0.5, 1.0, [0.1, 0.9], [[0.25], [0.77]]):
            for keepdims in (False, True):
                found = cw.quantile(x, q, axis, method=method, keepdims=keepdims)
                expected = np.quantile(x, q, axis, method=method, keepdims=keepdims)
                assert found.shape == expected.shape
                np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)
                if method == "linear":
                    assert found.dtype == expected.dtype
        same(cw.percentile(x, 40, axis), np.percentile(x, 40, axis), 1e-5)


def test_nan_makes_medians_and_quantiles_nan() -> None:
    for x, axis in cases("float32", "float64", holes=True):
        same(cw.median(x, axis), np.median(x, axis), 1e-5)
        same(cw.quantile(x, 0.3, axis), np.quantile(x, 0.3, axis), 1e-5)
    assert np.isnan(float(cw.median([])))
    assert float(cw.quantile([np.inf, np.inf], 0.5)) == np.inf


@pytest.mark.parametrize("name", ["nansum", "nanmean", "nanmax", "nanmin", "nanstd", "nanvar"])
def test_reductions_leave_out_nan(name: str) -> None:
    for x, axis in cases("int32", "float32", "float64", holes=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(np, name)(x, axis, keepdims=True)
        same(getattr(cw, name)(x, axis, keepdims=True), expected, 1e-5)
    z = np.asarray([1 + 2j, np.nan, 3 - 1j])
    if name not in ("nanmax", "nanmin"):
        same(getattr(cw, name)(z), getattr(np, name)(z), 1e-12)


def quiet(name: str, *args: Any, **options: Any) -> Any:
    """What NumPy gives, without its warnings of lines of NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(np, name)(*args, **options)


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantiles_leave_out_nan(method: Any) -> None:
    for x, axis in cases("int16", "float32", "float64", holes=True):
        for q in (0.0, 0.3, 0.5, 1.0, [0.1, 0.9], [[0.25], [0.77]]):
            for keepdims in (False, True):
                options = {"method": method, "keepdims": keepdims}
                found = cw.nanquantile(x, q, axis, **options)
                # NumPy's shapes and dtypes of several quantiles depend on which lines are NaN.
                like = cw.quantile(x, q, axis, **options)
                assert (found.shape, found.dtype) == (like.shape, like.dtype)
                if np.ndim(q) < 2:
                    expected = quiet("nanquantile", x, q, axis, **options)
                    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)
        same(cw.nanpercentile(x, 40, axis), quiet("nanpercentile", x, 40, axis), 1e-5)
        same(cw.nanmedian(x, axis, keepdims=True), quiet("nanmedian", x, axis, keepdims=True), 1e-5)


def test_medians_of_no_numbers_are_nan() -> None:
    for x in ([], [[]], np.zeros((0, 3)), [np.nan], [[np.nan, 1.0], [np.nan, 3.0]]):
        for axis in (None, 0, -1):
            same(cw.nanmedian(x, axis), quiet("nanmedian", x, axis))
            same(cw.nanquantile(x, 0.2, axis), quiet("nanquantile", x, 0.2, axis))
    assert cw.nanquantile(np.zeros((0, 3)), [0.2, 0.3], 0).shape == (2, 3)
    inf = np.inf
    for x in ([inf, inf, np.nan], [-inf, inf], [1.0, inf]):
        same(cw.nanmedian(x), quiet("nanmedian", x))
    for q in (2, -1, [0.5, 1.5]):
        with pytest.raises(ParamError, match="q: got"):
            cw.nanquantile([1.0], q)


@pytest.mark.parametrize("name", ["nanprod", "nancumsum", "nancumprod"])
def test_products_and_cumulative_sums_leave_out_nan(name: str) -> None:
    for x, axis in cases("int32", "float32", "float64", "bool", holes=True):
        if not isinstance(axis, tuple) or name == "nanprod":
            same(getattr(cw, name)(x, axis), quiet(name, x, axis), 1e-4)
            same(getattr(cw, name)(x, axis, "f64"), quiet(name, x, axis, "float64"), 1e-12)
    z = np.asarray([1 + 2j, np.nan, 3 - 1j])
    same(getattr(cw, name)(z), getattr(np, name)(z), 1e-12)


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin"])
def test_places_of_extremes_leave_out_nan(name: str) -> None:
    for x, axis in cases("int32", "float32", "float64", "bool", holes=True):
        if not isinstance(axis, tuple):
            both(name, x, axis=axis)
            both(name, x, axis=axis, keepdims=True)
    for x in ([np.nan], [[np.nan, 1.0], [np.nan, 2.0]], [], np.zeros((0, 3)), [np.nan, np.inf]):
        for axis in (None, 0, 1, -1, 2):
            both(name, x, axis=axis)
    with pytest.raises(ParamError, match="x: got NaN alone"):
        getattr(cw, name)([np.nan])


def test_special_numbers_are_replaced_and_found() -> None:
    for dtype in ("float32", "float64"):
        x = np.asarray([np.nan, np.inf, -np.inf, -0.0, 3], dtype)
        same(cw.nan_to_num(x), np.nan_to_num(x))
        same(cw.nan_to_num(x, 1.0, 2.0, 3.0), np.nan_to_num(x, True, 1.0, 2.0, 3.0))
        same(cw.isposinf(x), np.isposinf(x))
        same(cw.isneginf(x), np.isneginf(x))
        for equal in (False, True):
            expected = np.isclose(x, x[:, None], equal_nan=equal)
            same(cw.isclose(x, x[:, None], equal_nan=equal), expected)
            assert cw.array_equal(x, x, equal_nan=equal) == np.array_equal(x, x, equal_nan=equal)
            for other in (x, x[:2], [x, x], x[None, :, None]):
                assert cw.array_equiv(x[:3], other) == np.array_equiv(x[:3], other)
            assert cw.allclose(x, x, equal_nan=equal) == np.allclose(x, x, equal_nan=equal)
    same(cw.isclose([1, 2], np.asarray([2, 2], "uint8")), np.isclose([1, 2], [2, 2]))
    assert not cw.array_equal([1], [1, 2])
    with pytest.raises(DTypeError):
        cw.nan_to_num([1j])


def test_counts_are_numpys() -> None:
    for shape in [(0,), (7,), (3, 4)]:
        x = RNG.integers(0, 5, shape)
        same(cw.argwhere(x), np.argwhere(x))
        same(cw.flatnonzero(x), np.flatnonzero(x))
        flat = x.reshape(-1)
        same(cw.bincount(flat, minlength=3), np.bincount(flat, minlength=3))
        same(cw.bincount(flat, flat * 0.5), np.bincount(flat, flat * 0.5))
        for actual, expected in zip(cw.histogram(x, 4), np.histogram(x, 4), strict=True):
            same(actual, expected)
        every = {"return_index": True, "return_inverse": True, "return_counts": True}
        for actual, expected in zip(cw.unique(x, **every), np.unique(x, **every), strict=True):
            same(actual, expected)
    same(cw.unique([np.nan, 1.0, np.nan]), np.unique([np.nan, 1.0, np.nan]))
    with pytest.raises(ParamError):
        cw.bincount([-1])
    with pytest.raises(ParamError):
        cw.histogram([1.0], 0)


def test_bins_are_numpys() -> None:
    x = np.asarray([-1.0, 0.0, 0.5, 1.0, 2.0, 7.0, np.inf, -np.inf, np.nan])
    for bins in ([0.0, 1.0, 1.0, 2.0], [2.0, 1.0, 0.0], [], [1.0]):
        for right in (False, True):
            same(cw.digitize(x, bins, right=right), np.digitize(x, bins, right))
    same(cw.interp(x, [0.0, 1.0, 3.0], [1.0, 5.0, 2.0]), np.interp(x, [0.0, 1.0, 3.0], [1, 5, 2]))
    for bins in ([1.0, 0.0, 2.0], [[1.0]]):
        with pytest.raises(ParamError):
            cw.digitize(x, bins)
    with pytest.raises(ParamError):
        cw.interp(x, [], [])


def test_correlations_are_numpys() -> None:
    for x in (
        RNG.random((3, 8)),
        RNG.random(5),
        RNG.integers(0, 9, (4, 6)),
        1j * RNG.random((2, 5)),
    ):
        for rowvar in (True, False):
            same(cw.cov(x, rowvar=rowvar, ddof=0), np.cov(x, rowvar=rowvar, ddof=0), 1e-12)
            if x.ndim == 2 and x.dtype != complex:
                same(cw.corrcoef(x, rowvar=rowvar), np.corrcoef(x, rowvar=rowvar), 1e-12)
        same(cw.cov(x), np.cov(x), 1e-12)
        same(cw.cov(x, bias=True), np.cov(x, bias=True), 1e-12)


def test_wrong_arguments_are_refused() -> None:
    for call in (
        lambda: cw.quantile([1.0], 2), lambda: cw.percentile([1.0], -1), lambda: cw.quantile([], 0),
        lambda: cw.quantile([1.0], 0.5, method="best"),  # type: ignore[arg-type]
        lambda: cw.average([1.0, 2.0], weights=[1.0]), lambda: cw.cov(cw.zeros((1, 1, 1))),
    ):  # fmt: skip
        with pytest.raises(ParamError):
            call()
    with pytest.raises(DTypeError):
        cw.median([1j])


def test_traces_record_medians_and_refuse_what_numpy_computes() -> None:
    x = cw.asarray([3.0, 1.0, 2.0, 8.0])
    program = cw.trace(
        lambda a: cw.median(a) + cw.quantile(a, 0.3) + cw.nanvar(a) + cw.nanmedian(a), x
    )
    expected = np.median(x) + np.quantile(x, 0.3) + np.var(x) + np.median(x)
    assert float(program.run({"a": x})["out0"]) == pytest.approx(expected)
    for refused in (cw.unique, cw.allclose, lambda a, *_: cw.interp(a, [0.0], [1.0])):
        with pytest.raises(TraceError):
            cw.trace(lambda a, f=refused: f(a) if f is cw.unique else f(a, a), x)
