"""Reductions that leave out NaN, by NumPy's names."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.array_api import statistical
from cloakwork.array_api.common import Axis, axes_of, cast, real_number, require, some_along
from cloakwork.array_api.creation import full
from cloakwork.array_api.datatypes import FLOATING, REAL, finfo
from cloakwork.array_api.elementwise.comparison import isnan
from cloakwork.array_api.searching import argmax, argmin, count_nonzero, where
from cloakwork.array_api.utility import all as every
from cloakwork.array_api.utility import any as some
from cloakwork.errors import ParamError
from cloakwork.numpy_names.averages import cumprod, cumsum
from cloakwork.numpy_names.comparison import isneginf, isposinf
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import DTypeLike


def nansum(
    x: ArrayLike | Tensor,
    /,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    keepdims: bool = False,
) -> Tensor:
    """The sum of the elements that are not NaN along axes, or of all; dtypes are those of `sum`.

    >>> import cloakwork as cw
    >>> cw.nansum([1.0, cw.nan, 2.0])
    Tensor(3., dtype=f64)
    """
    filled = _filled(operand(x), 0.0)
    return statistical.sum(filled, axis=axis, dtype=dtype, keepdims=keepdims)


def nanmean(
    x: ArrayLike | Tensor,
    /,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    keepdims: bool = False,
) -> Tensor:
    """The mean of the elements that are not NaN along axes, or of all; NaN for none.

    With `dtype` the elements are converted to it before.

    >>> import cloakwork as cw
    >>> cw.nanmean([1.0, cw.nan, 2.0])
    Tensor(1.5, dtype=f64)
    """
    x = _as(x, dtype)
    if x.dtype.name not in FLOATING:
        return statistical.mean(x, axis=axis, keepdims=keepdims)
    return nansum(x, axis, keepdims=keepdims) / _count(x, axis, keepdims)


def nanvar(
    x: ArrayLike | Tensor,
    /,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
) -> Tensor:
    """The variance of the elements that are not NaN; NaN for `ddof` elements or fewer.

    The divisor is the number of such elements minus `ddof`.

    >>> import cloakwork as cw
    >>> cw.nanvar([1.0, cw.nan, 3.0])
    Tensor(1., dtype=f64)
    """
    x = _as(x, dtype)
    if x.dtype.name not in FLOATING:
        x = x.astype("float64")
    squares = ops.square(ops.abs(x - nanmean(x, axis, keepdims=True)))
    freedom = _count(x, axis, keepdims) - real_number(ddof, "ddof")
    # A distance of an infinity may be NaN, and counts: only elements are left out.
    total = statistical.sum(where(isnan(x), 0.0, squares), axis=axis, keepdims=keepdims)
    return total / cast(where(freedom > 0.0, freedom, _nan(freedom)), total.dtype)


def _nan(like: Tensor) -> Tensor:
    """NaN of a dtype."""
    return full((), float("nan"), dtype=like.dtype)


def nanstd(
    x: ArrayLike | Tensor,
    /,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
) -> Tensor:
    """The square root of `nanvar`.

    >>> import cloakwork as cw
    >>> cw.nanstd([1.0, cw.nan, 3.0])
    Tensor(1., dtype=f64)
    """
    return ops.sqrt(nanvar(x, axis, dtype, ddof=ddof, keepdims=keepdims))


def _as(x: ArrayLike | Tensor, dtype: DTypeLike | None) -> Tensor:
    """A tensor, converted where a dtype is given."""
    return operand(x) if dtype is None else operand(x).astype(dtype)


def nanmax(x: ArrayLike | Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The greatest element that is not NaN along axes, or of all; NaN where all are NaN.

    ValueError for no elements, TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.nanmax([1.0, cw.nan, 2.0])
    Tensor(2., dtype=f64)
    """
    x = operand(x)
    found = statistical.max(_filled(x, float("-inf")), axis=axis, keepdims=keepdims)
    return _or_nan(found, x, axis, keepdims)


def nanmin(x: ArrayLike | Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The least element that is not NaN along axes, or of all; NaN where all are NaN.

    ValueError for no elements, TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.nanmin([1.0, cw.nan, 2.0])
    Tensor(1., dtype=f64)
    """
    x = operand(x)
    found = statistical.min(_filled(x, float("inf")), axis=axis, keepdims=keepdims)
    return _or_nan(found, x, axis, keepdims)


def nanprod(
    x: ArrayLike | Tensor,
    /,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    keepdims: bool = False,
) -> Tensor:
    """The product of the elements that are not NaN along axes, or of all; dtypes as of `prod`.

    >>> import cloakwork as cw
    >>> cw.nanprod([2.0, cw.nan, 3.0])
    Tensor(6., dtype=f64)
    """
    filled = _filled(operand(x), 1.0)
    return statistical.prod(filled, axis=axis, dtype=dtype, keepdims=keepdims)


def nancumsum(
    x: ArrayLike | Tensor, /, axis: int | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """As `cumsum`, with 0 in place of NaN.

    >>> import cloakwork as cw
    >>> cw.nancumsum([1.0, cw.nan, 2.0])
    Tensor([1., 1., 3.], dtype=f64)
    """
    return cumsum(_filled(operand(x), 0.0), axis, dtype)


def nancumprod(
    x: ArrayLike | Tensor, /, axis: int | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """As `cumprod`, with 1 in place of NaN.

    >>> import cloakwork as cw
    >>> cw.nancumprod([2.0, cw.nan, 3.0])
    Tensor([2., 2., 6.], dtype=f64)
    """
    return cumprod(_filled(operand(x), 1.0), axis, dtype)


def nanargmax(
    x: ArrayLike | Tensor, /, axis: int | None = None, *, keepdims: bool = False
) -> Tensor:
    """The index of the greatest element that is not NaN along an axis, or of all: int64.

    The first one if several.  ValueError where all are NaN, so not in a trace; for no elements too.
    TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.nanargmax([1.0, cw.nan, 2.0])
    Tensor(2, dtype=i64)
    """
    x = _numbers(x, axis)
    return argmax(_filled(x, float("-inf")), axis=axis, keepdims=keepdims)


def nanargmin(
    x: ArrayLike | Tensor, /, axis: int | None = None, *, keepdims: bool = False
) -> Tensor:
    """The index of the least element that is not NaN along an axis, or of all: int64.

    The first one if several.  ValueError where all are NaN, so not in a trace; for no elements too.
    TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.nanargmin([1.0, cw.nan, 2.0])
    Tensor(0, dtype=i64)
    """
    x = _numbers(x, axis)
    return argmin(_filled(x, float("inf")), axis=axis, keepdims=keepdims)


def _numbers(x: ArrayLike | Tensor, axis: int | None) -> Tensor:
    """A tensor with a number that is not NaN along the axis; ParamError for others."""
    x = operand(x)
    some_along(x, axes_of(axis, x.ndim))
    if x.dtype.kind == "f" and bool(some(every(isnan(x), axis=axis))):
        raise ParamError("x", "NaN alone", "a number along the axis; or use argmax or argmin")
    return x


def nan_to_num(
    x: ArrayLike | Tensor,
    /,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """NaN and infinities replaced: by 0 and by the greatest and least finite number, unless said.

    TypeError for complex numbers: replace the parts.

    >>> import cloakwork as cw
    >>> cw.nan_to_num([cw.nan, 1.0, cw.inf], posinf=9.0)
    Tensor([0., 1., 9.], dtype=f64)
    """
    x = operand(x)
    require(x, ("bool", *REAL), "x", "real numbers; of complex ones replace real(x) and imag(x)")
    if x.dtype.kind != "f":
        return ops.copy(x)
    most = finfo(x.dtype).max
    made = where(isposinf(x), most if posinf is None else posinf, x)
    made = where(isneginf(x), -most if neginf is None else neginf, made)
    return where(isnan(x), nan, made)


def _filled(x: Tensor, value: float) -> Tensor:
    """`x` with a value in place of NaN."""
    if x.dtype.name not in FLOATING:
        return x
    return where(isnan(x), full((), value, dtype=x.dtype), x)


def _count(x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    """The number of elements that are not NaN, in the real dtype of `x`."""
    return cast(count_nonzero(~isnan(x), axis=axis, keepdims=keepdims), ops.abs(x).dtype)


def _or_nan(found: Tensor, x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    """NaN in place of extremes of no numbers."""
    if x.dtype.kind != "f":
        return found
    return where(every(isnan(x), axis=axis, keepdims=keepdims), _nan(x), found)
