"""Medians and quantiles that leave out NaN, by NumPy's names."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor, bool_, float64
from cloakwork.array_api.common import Axis, axes_of, cast
from cloakwork.array_api.creation import full, ones_like
from cloakwork.array_api.elementwise.comparison import isnan
from cloakwork.array_api.manipulation import moveaxis
from cloakwork.array_api.searching import count_nonzero
from cloakwork.array_api.sorting import sort
from cloakwork.numpy_names.averages import (
    TAKING,
    Method,
    between,
    fractions_of,
    hundredths,
    is_number,
    kept,
    lines_of,
    reals_of,
)
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import asarray


def nanmedian(x: ArrayLike | Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The median of the elements that are not NaN along axes, or of all; NaN for none.

    Float64 for integers.  TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.nanmedian([5.0, cw.nan, 1.0, 2.0])
    Tensor(2., dtype=f64)
    """
    return _reduced(x, 0.5, axis, "mean", keepdims)


def nanpercentile(
    x: ArrayLike | Tensor,
    /,
    q: ArrayLike,
    axis: Axis = None,
    *,
    method: Method = "linear",
    keepdims: bool = False,
) -> Tensor:
    """As `nanquantile`, with `q` of 0 to 100.

    >>> import cloakwork as cw
    >>> cw.nanpercentile([1.0, cw.nan, 2.0], 50)
    Tensor(1.5, dtype=f64)
    """
    return nanquantile(x, hundredths(q), axis, method=method, keepdims=keepdims)


def nanquantile(
    x: ArrayLike | Tensor,
    /,
    q: ArrayLike,
    axis: Axis = None,
    *,
    method: Method = "linear",
    keepdims: bool = False,
) -> Tensor:
    """As `quantile`, of the elements that are not NaN; NaN where there are none.

    >>> import cloakwork as cw
    >>> cw.nanquantile([1.0, cw.nan, 2.0], [0.5, 1.0])
    Tensor([1.5, 2. ], dtype=f64)
    """
    fractions_of(q, method)
    return _reduced(x, q, axis, method, keepdims)


def _reduced(
    x: ArrayLike | Tensor, q: ArrayLike, axis: Axis, method: str, keepdims: bool
) -> Tensor:
    """Quantiles, or for the method "mean" the mean of the two next elements."""
    fractions, takes = reals_of(q), method in TAKING
    x = operand(x)
    axes = axes_of(axis, x.ndim)
    # NaN are last, and no others are chosen where all are NaN.
    ordered = sort(lines_of(x, axes, takes=takes and x.size > 0))
    ordered = ordered if takes or is_number(q) else cast(ordered, float64)
    if ordered.shape[-1] == 0:
        found = full((fractions.size, *ordered.shape[:-1]), float("nan"), dtype=ordered.dtype)
    else:
        is_float = ordered.dtype.kind in "fc"
        counted = ~isnan(ordered) if is_float else ones_like(ordered, dtype=bool_)
        numbers = cast(count_nonzero(counted, axis=-1, keepdims=True), float64)
        places = ops.maximum(numbers - 1.0, asarray(0.0)) * asarray(fractions.ravel())
        found = moveaxis(between(ordered, places, method), -1, 0)
    found = kept(found, x.shape, axes) if keepdims else found
    return found.reshape((*fractions.shape, *found.shape[1:]))
