"""Creation of tensors, by NumPy's names."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import number, real_number, whole
from cloakwork.array_api.creation import eye, zeros
from cloakwork.array_api.manipulation import concat
from cloakwork.array_api.searching import where
from cloakwork.errors import ParamError
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import DTypeLike, asarray


def array(
    x: ArrayLike | Tensor,
    /,
    dtype: DTypeLike | None = None,
    *,
    copy: bool | None = True,
    ndmin: int = 0,
) -> Tensor:
    """A new tensor with a copy of the elements of `x`, with `ndmin` axes or more; see `asarray`.

    >>> import cloakwork as cw
    >>> cw.array([1, 2], ndmin=2)
    Tensor([[1, 2]], dtype=i64)
    """
    made, ndmin = asarray(x, dtype, copy=copy), whole(ndmin, "ndmin")
    return made.reshape((1,) * (ndmin - made.ndim) + made.shape) if made.ndim < ndmin else made


def identity(n: int, /, dtype: DTypeLike | None = None) -> Tensor:
    """The identity matrix `[n, n]`, float64 unless said otherwise.

    >>> import cloakwork as cw
    >>> cw.identity(2)
    Tensor([[1., 0.],
            [0., 1.]], dtype=f64)
    """
    return eye(n, dtype=dtype)


def diag(x: ArrayLike | Tensor, /, k: int = 0) -> Tensor:
    """The diagonal `k` above the main one of a matrix, or a matrix of zeros but this diagonal.

    `[m, n]` gives a vector, and a vector a square matrix; ParamError for other numbers of axes.

    >>> import cloakwork as cw
    >>> cw.diag([1, 2])
    Tensor([[1, 0],
            [0, 2]], dtype=i64)
    """
    x, k = operand(x), whole(k, "k")
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ParamError("x", f"{x.ndim} axes", "a vector or a matrix")
    size = x.shape[0] + abs(k)
    rest = zeros(abs(k), dtype=x.dtype)
    rows = concat([x, rest] if k >= 0 else [rest, x], axis=0)
    return where(eye(size, k=k, dtype="bool"), rows[:, None], zeros((), dtype=x.dtype))


def diagonal(x: Tensor, k: int) -> Tensor:
    """The diagonal `k` above the main one of a matrix; empty where it lies outside."""
    rows, columns = x.shape
    start = k if k >= 0 else -k * columns
    count = max(min(rows + min(k, 0), columns - max(k, 0)), 0)
    return x.reshape(-1)[start : start + count * (columns + 1) : columns + 1][:count]


def logspace(
    start: float,
    stop: float,
    /,
    num: int = 50,
    *,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """`num` powers of `base` with exponents from `start` to `stop`, float64 unless said otherwise.

    >>> import cloakwork as cw
    >>> cw.logspace(0, 2, 3)
    Tensor([  1.,  10., 100.], dtype=f64)
    """
    start, stop = real_number(start, "start"), real_number(stop, "stop")
    base = real_number(base, "base")
    made = asarray(np.logspace(start, stop, _count(num), endpoint=endpoint, base=base))
    return made if dtype is None else made.astype(dtype)


def geomspace(
    start: complex,
    stop: complex,
    /,
    num: int = 50,
    *,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """`num` numbers from `start` to `stop` with equal ratios, float64 unless said otherwise.

    ParamError for an end of 0.

    >>> import cloakwork as cw
    >>> cw.geomspace(1, 100, 3)
    Tensor([  1.,  10., 100.], dtype=f64)
    """
    start, stop = number(start, "start"), number(stop, "stop")
    for name, end in (("start", start), ("stop", stop)):
        if end == 0:
            raise ParamError(name, end, "a number other than 0, as ratios are equal")
    made = asarray(np.geomspace(start, stop, _count(num), endpoint=endpoint))
    return made if dtype is None else made.astype(dtype)


def _count(num: int) -> int:
    if whole(num, "num") < 0:
        raise ParamError("num", num, "0 or more")
    return num
