"""Random calls of functions of NumPy's and of ours, some of them wrong: in axes, shapes, dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rng = np.random.Generator
# The arguments of a call, by position and by name.
Call = tuple[tuple[Any, ...], dict[str, Any]]
_DTYPES = ["bool", "int8", "int64", "uint8", "float32", "float64", "complex128"]

_REDUCTIONS = (
    "sum prod mean std var max min any all count_nonzero median ptp nansum nanprod nanmean nanmax "
    "nanmin nanvar nanmedian"
)
_CUMULATIVE = "cumulative_sum cumulative_prod cumsum cumprod nancumsum nancumprod"
_ONE = (
    "abs negative sqrt exp log sin isnan isfinite signbit sign square floor ceil trunc round "
    "logical_not bitwise_invert conj real imag reciprocal fliplr flipud ravel matrix_transpose "
    "atleast_3d nonzero cov unique linalg.inv linalg.det linalg.cholesky linalg.qr linalg.svd "
    "linalg.eigh linalg.slogdet linalg.pinv linalg.svdvals linalg.trace linalg.diagonal"
)
_TWO = (
    "add subtract multiply divide floor_divide remainder power bitwise_and bitwise_or "
    "bitwise_left_shift equal less logical_and maximum hypot copysign logaddexp nextafter matmul "
    "vecdot dot inner outer kron convolve correlate polyval append union1d linalg.outer"
)


def array(rng: Rng, least: int = 0, most: int = 3, dtype: str = "") -> NDArray[Any]:
    """Small numbers, with `least` to `most` axes, some of them empty."""
    shape = rng.integers(0, 4, rng.integers(least, most + 1))
    return rng.integers(0, 5, shape).astype(dtype or str(rng.choice(_DTYPES)))


def axis(rng: Rng) -> int:
    return int(rng.integers(-4, 4))


def _axis_or_none(rng: Rng) -> int | None:
    return None if rng.random() < 0.2 else axis(rng)


def _axes(rng: Rng) -> Any:
    several = tuple(axis(rng) for _ in range(rng.integers(0, 3)))
    return [None, axis(rng), several][rng.integers(3)]


def _integers(rng: Rng, least: int, most: int) -> tuple[int, ...]:
    return tuple(int(one) for one in rng.integers(least, most, rng.integers(0, 4)))


def _pieces(rng: Rng) -> list[NDArray[Any]]:
    first = array(rng)
    return [first if rng.random() < 0.8 else array(rng) for _ in range(rng.integers(0, 4))]


def _mode(rng: Rng) -> str:
    return str(rng.choice(["constant", "edge", "wrap", "reflect", "symmetric", "no"]))


def _order(rng: Rng) -> Any:
    return [None, "fro", "nuc", 0, 1, 2, np.inf, 3, "x"][rng.integers(9)]


# How to call a function: with arrays, and what may be wrong.
_SHAPED: dict[str, Callable[[Rng], Call]] = {
    "reshape": lambda r: ((array(r), _integers(r, -2, 4)), {}),
    "permute_dims": lambda r: ((array(r), _integers(r, -4, 4)), {}),
    "broadcast_to": lambda r: ((array(r), _integers(r, -1, 4)), {}),
    "resize": lambda r: ((array(r), _integers(r, -1, 4)), {}),
    "tile": lambda r: ((array(r), _integers(r, -1, 3)), {}),
    "expand_dims": lambda r: ((array(r),), {"axis": _axes(r) or 0}),
    "squeeze": lambda r: ((array(r),), {"axis": _axes(r) or 0}),
    "moveaxis": lambda r: ((array(r), axis(r), axis(r)), {}),
    "swapaxes": lambda r: ((array(r), axis(r), axis(r)), {}),
    "rot90": lambda r: ((array(r), axis(r), (axis(r), axis(r))), {}),
    "flip": lambda r: ((array(r),), {"axis": _axes(r)}),
    "roll": lambda r: ((array(r, 1), axis(r)), {"axis": _axes(r)}),
    "concat": lambda r: ((_pieces(r),), {"axis": _axis_or_none(r)}),
    "stack": lambda r: ((_pieces(r),), {"axis": axis(r)}),
    "unstack": lambda r: ((array(r),), {"axis": axis(r)}),
    "vstack": lambda r: ((_pieces(r),), {}),
    "hstack": lambda r: ((_pieces(r),), {}),
    "column_stack": lambda r: ((_pieces(r),), {}),
    "repeat": lambda r: ((array(r), int(r.integers(-1, 3))), {"axis": _axis_or_none(r)}),
    "split": lambda r: ((array(r), int(r.integers(-1, 4))), {"axis": axis(r)}),
    "array_split": lambda r: ((array(r), int(r.integers(-1, 4))), {"axis": axis(r)}),
    "pad": lambda r: ((array(r), r.integers(-1, 3, r.integers(0, 3)).tolist(), _mode(r)), {}),
    "diag": lambda r: ((array(r), axis(r)), {}),
    "eye": lambda r: ((axis(r), axis(r)), {"k": axis(r)}),
    "linspace": lambda r: ((0.0, 1.0, axis(r)), {}),
    "arange": lambda r: ((axis(r), axis(r), axis(r)), {}),
}
_CHOSEN: dict[str, Callable[[Rng], Call]] = {
    "sort": lambda r: ((array(r),), {"axis": axis(r)}),
    "argsort": lambda r: ((array(r),), {"axis": axis(r)}),
    "argmax": lambda r: ((array(r),), {"axis": _axis_or_none(r)}),
    "argmin": lambda r: ((array(r),), {"axis": _axis_or_none(r)}),
    "nanargmax": lambda r: ((array(r),), {"axis": _axis_or_none(r)}),
    "partition": lambda r: ((array(r), axis(r)), {"axis": _axis_or_none(r)}),
    "take": lambda r: ((array(r), array(r, dtype="int64")), {"axis": axis(r)}),
    "take_along_axis": lambda r: ((array(r), array(r, dtype="int64")), {"axis": axis(r)}),
    "insert": lambda r: ((array(r), axis(r), array(r)), {"axis": _axis_or_none(r)}),
    "delete": lambda r: ((array(r), axis(r)), {"axis": _axis_or_none(r)}),
    "unique": lambda r: ((array(r),), {"axis": _axis_or_none(r)}),
    "bincount": lambda r: ((array(r),), {}),
    "where": lambda r: ((array(r, dtype="bool"), array(r), array(r)), {}),
    "clip": lambda r: ((array(r), array(r), array(r)), {}),
    "quantile": lambda r: ((array(r), axis(r) / 4, _axes(r)), {}),
    "diff": lambda r: ((array(r),), {"axis": axis(r), "n": axis(r)}),
    "gradient": lambda r: ((array(r),), {"axis": _axis_or_none(r)}),
    "trapezoid": lambda r: ((array(r),), {"axis": axis(r)}),
    "average": lambda r: ((array(r),), {"axis": _axis_or_none(r), "weights": array(r) + 1}),
    "interp": lambda r: ((array(r), array(r, 0, 2), array(r, 0, 2)), {}),
    "unravel_index": lambda r: ((array(r, dtype="int64"), _integers(r, 0, 4)), {}),
    "tensordot": lambda r: ((array(r), array(r)), {"axes": ([axis(r)], [axis(r)])}),
    "linalg.solve": lambda r: ((array(r, 1), array(r)), {}),
    "linalg.cross": lambda r: ((array(r), array(r)), {"axis": axis(r)}),
    "linalg.matrix_power": lambda r: ((array(r, dtype="float64"), axis(r)), {}),
    "linalg.norm": lambda r: ((array(r), _order(r), _axes(r)), {}),
    "linalg.vector_norm": lambda r: ((array(r),), {"axis": _axes(r), "ord": _order(r) or 0}),
    "linalg.matrix_norm": lambda r: ((array(r),), {"ord": _order(r)}),
    "linalg.multi_dot": lambda r: ((_pieces(r),), {}),
    "fft.fft": lambda r: ((array(r),), {"axis": axis(r), "n": axis(r)}),
    "fft.irfft": lambda r: ((array(r),), {"axis": axis(r), "n": axis(r)}),
    "fft.rfftn": lambda r: ((array(r),), {"axes": (axis(r), axis(r))}),
    "fft.fftshift": lambda r: ((array(r, 1),), {"axes": _axes(r)}),
}


def _reduced(rng: Rng) -> Call:
    return (array(rng),), {"axis": _axes(rng), "keepdims": bool(rng.integers(2))}


CALLS: dict[str, Callable[[Rng], Call]] = {
    **dict.fromkeys(_REDUCTIONS.split(), _reduced),
    **dict.fromkeys(_CUMULATIVE.split(), lambda r: ((array(r),), {"axis": _axis_or_none(r)})),
    **dict.fromkeys(_ONE.split(), lambda r: ((array(r),), {})),
    **dict.fromkeys(_TWO.split(), lambda r: ((array(r), array(r)), {})),
    **_SHAPED,
    **_CHOSEN,
}
