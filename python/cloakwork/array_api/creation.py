"""Creation of tensors, by a shape or like another tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any, Literal

from numpy.typing import ArrayLike

from cloakwork import _core, ops
from cloakwork._core import DType, Tensor, complex128, float64, int64
from cloakwork.array_api.common import REAL_OF, Scalar, number, real_number, tensor_of, whole
from cloakwork.errors import DTypeError, ParamError, TraceError
from cloakwork.tensors.arrays import converted, of_array, operand
from cloakwork.tensors.conversion import DTypeLike, asarray, on_device, placed
from cloakwork.tensors.native import shortcut

Shape = int | Sequence[int]


@shortcut
def zeros(shape: Shape, dtype: DTypeLike | None = None, *, device: str | None = None) -> Tensor:
    """A tensor of zeros, float64 unless said otherwise.

    >>> import cloakwork as cw
    >>> cw.zeros((1, 2))
    Tensor([[0., 0.]], dtype=f64)
    """
    if device is None and (made := _core.zeros_at_once(shape, dtype)) is not None:
        return made
    on_device(device)
    made = ops.zeros(_sizes(shape), float64 if dtype is None else _core.dtype(dtype))
    return placed(made, device)


@shortcut
def empty(shape: Shape, dtype: DTypeLike | None = None, *, device: str | None = None) -> Tensor:
    """A tensor to be written; it reads as zeros until it is.

    >>> import cloakwork as cw
    >>> cw.empty((2, 3), dtype=cw.int8).shape
    (2, 3)
    """
    if device is None and (made := _core.zeros_at_once(shape, dtype)) is not None:
        return made
    on_device(device)
    made = ops.empty(_sizes(shape), float64 if dtype is None else _core.dtype(dtype))
    return placed(made, device)


def ones(shape: Shape, dtype: DTypeLike | None = None, *, device: str | None = None) -> Tensor:
    """A tensor of ones, float64 unless said otherwise.

    >>> import cloakwork as cw
    >>> cw.ones(2, dtype="i32")
    Tensor([1, 1], dtype=i32)
    """
    return full(shape, 1, dtype=float64 if dtype is None else dtype, device=device)


def full(
    shape: Shape,
    fill_value: Scalar | Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Tensor:
    """A tensor filled with one value, of the value's own dtype unless said otherwise.

    Raises ValueError if the dtype cannot hold the value.

    >>> import cloakwork as cw
    >>> cw.full((2, 2), 7)
    Tensor([[7, 7],
            [7, 7]], dtype=i64)
    """
    if device is None and (made := _core.full_at_once(shape, fill_value, dtype)) is not None:
        return made
    on_device(device)
    return placed(_core.filled(_sizes(shape), _scalar(fill_value, dtype)), device)


def _scalar(value: Scalar | Tensor, dtype: DTypeLike | None) -> Tensor:
    """A value as a tensor."""
    made = _core.number(value, dtype) if isinstance(value, int | float) else None
    if made is not None:
        return made
    return converted(value, None if dtype is None else _core.dtype(dtype), "fill_value")


def _device(x: Tensor, device: str | None) -> str | None:
    """The device of a tensor like another: that one's, unless said otherwise."""
    own = x.device if device is None else device
    return None if own == "cpu" else own


@of_array
def zeros_like(
    x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """Zeros of the shape of `x`, and of its dtype unless said otherwise.

    >>> import cloakwork as cw
    >>> cw.zeros_like(cw.asarray([3, 4]))
    Tensor([0, 0], dtype=i64)
    """
    return zeros(x.shape, x.dtype if dtype is None else dtype, device=_device(x, device))


@of_array
def empty_like(
    x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """As `empty`, of the shape of `x`, and of its dtype unless said otherwise.

    >>> import cloakwork as cw
    >>> cw.empty_like(cw.asarray([3, 4])).shape
    (2,)
    """
    return empty(x.shape, x.dtype if dtype is None else dtype, device=_device(x, device))


@of_array
def ones_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """Ones of the shape of `x`, and of its dtype unless said otherwise.

    >>> import cloakwork as cw
    >>> cw.ones_like(cw.asarray([3, 4]))
    Tensor([1, 1], dtype=i64)
    """
    return ones(x.shape, x.dtype if dtype is None else dtype, device=_device(x, device))


@of_array
def full_like(
    x: Tensor,
    /,
    fill_value: Scalar | Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Tensor:
    """A tensor filled with one value, of the shape of `x`, and of its dtype unless said otherwise.

    >>> import cloakwork as cw
    >>> cw.full_like(cw.asarray([3, 4]), 9)
    Tensor([9, 9], dtype=i64)
    """
    own = x.dtype if dtype is None else dtype
    return full(x.shape, fill_value, dtype=own, device=_device(x, device))


@shortcut
def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Tensor:
    """Equally spaced numbers from `start` (default 0) to `stop`, which is excluded: one axis.

    int64 if all three are integers, else float64, unless said otherwise.  Raises ValueError for a
    step of 0 and for an infinite range.

    >>> import cloakwork as cw
    >>> cw.arange(1, 8, 3)
    Tensor([1, 4, 7], dtype=i64)
    """
    if (
        device is None
        and dtype is None
        and (made := _core.range_at_once(start, stop, step)) is not None
    ):
        return made
    on_device(device)
    if stop is None:
        start, stop = 0, start
    start, stop = real_number(start, "start"), real_number(stop, "stop")
    step = real_number(step, "step")
    exact = isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)
    wanted = _core.dtype(dtype) if dtype is not None else (int64 if exact else float64)
    if wanted.kind not in "iuf":
        raise DTypeError("dtype", wanted.name, "integers or floats")
    count = _count(start, stop, step)
    if count and wanted.kind != "f":
        least, most = _BOUNDS[wanted.name]
        last = start + (count - 1) * step
        if not (least <= start <= most and least <= last <= most):
            _hold("start", start, wanted)
            _hold("stop", last, wanted)
    if not exact and wanted.kind != "f":
        steps = ops.arange(asarray(float(start)), asarray(float(step)), count)
        return placed(ops.astype(steps, wanted), device)
    # With at most one element, the dtype need not hold the step.
    step = step if count > 1 else 0
    if wanted.kind == "u" and step < 0:
        step += 2 ** (8 * wanted.itemsize)  # the same step, as unsigned integers wrap
    made = ops.arange(_scalar(start if count else 0, wanted), _scalar(step, wanted), count)
    return placed(made, device)


def _whole(number: Any) -> Any:
    """An integer of any library as Python's; all else as it is, for others to take or to refuse."""
    try:
        return index(number)
    except TraceError:
        raise
    except TypeError:
        return number


def _sizes(shape: Any) -> Any:
    """A shape that may be an array of sizes; all else as it is, for others to take or to refuse."""
    return tuple(shape) if getattr(shape, "ndim", 0) == 1 else _whole(shape)


# The least and the greatest number of each integer dtype.
_BOUNDS = {f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)} | {
    f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)
}


def _hold(rule: str, number: float, wanted: DType) -> None:
    """ParamError for an end of a range that an integer dtype cannot hold."""
    least, most = _BOUNDS[wanted.name]
    if not (math.isfinite(number) and least <= math.trunc(number) <= most):
        raise ParamError(rule, number, f"a range within {wanted}, {least} to {most}")


def _count(start: float, stop: float, step: float) -> int:
    """The number of elements of an arange."""
    if step == 0:
        raise ParamError("step", step, "a number other than 0")
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        count = -((start - stop) // step)
    else:
        steps = (stop - start) / step
        if not math.isfinite(steps):
            raise ParamError("stop", stop, "a number that finite steps reach")
        count = math.ceil(steps)
    if count >= 2**63:
        raise ParamError("stop", stop, f"fewer than 2^63 steps of {step}")
    return max(count, 0)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` equally spaced numbers from `start` to `stop`, which is included if `endpoint`.

    complex128 if either is complex, else float64, unless said otherwise.  Computed in that dtype;
    integers are rounded down, as NumPy's are.

    >>> import cloakwork as cw
    >>> cw.linspace(0, 1, 5)
    Tensor([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=f64)
    """
    on_device(device)
    start, stop, num = number(start, "start"), number(stop, "stop"), whole(num, "num")
    if num < 0:
        raise ParamError("num", num, "0 or more")
    is_complex = any(isinstance(end, complex) for end in (start, stop))
    inner = complex128 if is_complex else float64
    wanted = inner if dtype is None else _core.dtype(dtype)
    if is_complex and wanted.name not in REAL_OF:
        raise DTypeError("dtype", wanted.name, "a complex dtype, as an end is complex")
    if num and wanted.kind in "iu":
        _hold("start", start.real, wanted)
        if endpoint and num > 1:
            _hold("stop", stop.real, wanted)
    places = ops.astype(arange(num), inner)
    intervals = max(num - 1 if endpoint else num, 1)
    points = places * ((stop - start) / intervals) + start
    if endpoint and num > 1:
        points[num - 1] = stop
    if wanted.kind in "iu":
        points = ops.floor(points)
    return placed(points if wanted == inner else ops.astype(points, wanted), device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Tensor:
    """A matrix of zeros with ones on the diagonal `k` above the main one; float64 unless said.

    >>> import cloakwork as cw
    >>> cw.eye(2, 3, k=1)
    Tensor([[0., 1., 0.],
            [0., 0., 1.]], dtype=f64)
    """
    on_device(device)
    n_rows, k = whole(n_rows, "n_rows"), whole(k, "k")
    n_cols = n_rows if n_cols is None else whole(n_cols, "n_cols")
    for name, size in (("n_rows", n_rows), ("n_cols", n_cols)):
        if size < 0:
            raise ParamError(name, size, "0 or more")
    k = max(-n_rows, min(k, n_cols))  # diagonals farther out are empty, too
    rows, columns = arange(n_rows)[:, None], arange(n_cols)
    wanted = float64 if dtype is None else _core.dtype(dtype)
    return placed(ops.astype(rows + k == columns, wanted), device)


@of_array
def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The matrices of `x` with zeros above the diagonal that is `k` above the main one.

    >>> import cloakwork as cw
    >>> cw.tril(cw.ones((2, 2)))
    Tensor([[1., 0.],
            [1., 1.]], dtype=f64)
    """
    rows, columns = _places(x, k)
    return ops.where(x, tensor_of(0, x.dtype), rows >= columns)


@of_array
def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The matrices of `x` with zeros below the diagonal that is `k` above the main one.

    >>> import cloakwork as cw
    >>> cw.triu(cw.ones((2, 2)))
    Tensor([[1., 1.],
            [0., 1.]], dtype=f64)
    """
    rows, columns = _places(x, k)
    return ops.where(x, tensor_of(0, x.dtype), rows <= columns)


def _places(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """For each row of a matrix its column on the diagonal `k`, and the columns' indices."""
    if x.ndim < 2:
        raise ParamError("x", f"{x.ndim} axes", "two axes or more")
    k = whole(k, "k")
    rows, columns = x.shape[-2:]
    k = max(-rows, min(k, columns))  # diagonals farther out are empty
    return arange(k, rows + k)[:, None], arange(columns)


def meshgrid(
    *arrays: Tensor | ArrayLike, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[Tensor, ...]:
    """Coordinate tensors: each vector along its own axis, repeated along the other axes.

    Vectors of n1, n2, ... elements give tensors `[n1, n2, ...]` for "ij", `[n2, n1, ...]` for "xy".

    >>> import cloakwork as cw
    >>> cw.meshgrid(cw.asarray([1, 2]), cw.asarray([3, 4]))[0]
    Tensor([[1, 2],
            [1, 2]], dtype=i64)
    """
    if indexing not in ("xy", "ij"):
        raise ParamError("indexing", repr(indexing), "'xy' or 'ij'")
    given = [operand(array, f"arrays[{place}]") for place, array in enumerate(arrays)]
    for array in given:
        if array.ndim != 1:
            raise ParamError("arrays", f"{array.ndim} axes", "one axis each")
    rank = len(given)
    axes = list(range(rank))
    if indexing == "xy" and rank > 1:
        axes[:2] = [1, 0]
    shape = [0] * rank
    for axis, array in zip(axes, given, strict=True):
        shape[axis] = array.size
    return tuple(
        _spread(array, axis, tuple(shape)) for axis, array in zip(axes, given, strict=True)
    )


def _spread(array: Tensor, axis: int, shape: tuple[int, ...]) -> Tensor:
    column = array.reshape(array.size, *(1,) * (len(shape) - axis - 1))
    return ops.copy(ops.broadcast_to(column, shape))


def from_dlpack(x: object, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """Another library's array as a tensor, in the same memory unless `copy` is True.

    Raises BufferError where the memory cannot be shared, TypeError if `x` does not support DLPack.

    >>> import cloakwork as cw
    >>> import numpy as np
    >>> cw.from_dlpack(np.asarray([1, 2]))
    Tensor([1, 2], dtype=i64)
    """
    on_device(device)
    return placed(_core.from_dlpack(x, copy=copy), device, copy)
