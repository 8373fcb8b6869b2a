"""Padding, by NumPy's name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.array_api.creation import full
from cloakwork.array_api.indexing import take
from cloakwork.array_api.manipulation import concat
from cloakwork.errors import ParamError
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import asarray

Mode = Literal["constant", "edge", "reflect", "symmetric", "wrap"]
_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def pad(
    x: ArrayLike | Tensor,
    pad_width: int | Sequence[Any],
    /,
    mode: Mode = "constant",
    *,
    constant_values: float | Sequence[Any] = 0,
) -> Tensor:
    """`x` with elements added before and after each axis: one number, a pair, or a pair an axis.

    "constant" adds `constant_values` (given likewise), "edge" the outermost elements, "reflect" and
    "symmetric" mirror the elements without and with the outermost one, "wrap" repeats the axis.

    >>> import cloakwork as cw
    >>> cw.pad([1, 2, 3], (1, 2), "reflect")
    Tensor([2, 1, 2, 3, 2, 1], dtype=i64)
    """
    x = operand(x)
    if mode not in _MODES:
        raise ParamError("mode", repr(mode), ", ".join(map(repr, _MODES)))
    widths = _pairs("pad_width", pad_width, x.ndim)
    given = np.asarray(pad_width)
    if given.dtype.kind not in "iu" or np.any(given < 0):
        raise ParamError("pad_width", pad_width, "integers of 0 or more")
    constants = _pairs("constant_values", constant_values, x.ndim)
    for axis, (pair, values) in enumerate(zip(widths, constants, strict=True)):
        if pair != (0, 0):
            x = (
                _constant(x, axis, pair, values)
                if mode == "constant"
                else _placed(x, axis, pair, mode)
            )
    return x if any(map(any, widths)) else ops.copy(x)


def _pairs(place: str, given: object, rank: int) -> list[tuple[Any, Any]]:
    """A pair for each axis."""
    try:
        pairs: list[list[Any]] = np.broadcast_to(np.asarray(given), (rank, 2)).tolist()
    except ValueError:
        expected = f"a number, a pair, or a pair for each of {rank} axes"
        raise ParamError(place, given, expected) from None
    return [(before, after) for before, after in pairs]


def _constant(x: Tensor, axis: int, pair: tuple[int, int], values: tuple[Any, Any]) -> Tensor:
    shapes = [(*x.shape[:axis], width, *x.shape[axis + 1 :]) for width in pair]
    before, after = (
        full(shape, operand(value, "constant_values").astype(x.dtype))
        for shape, value in zip(shapes, values, strict=True)
    )
    return concat([before, x, after], axis=axis)


def _placed(x: Tensor, axis: int, pair: tuple[int, int], mode: str) -> Tensor:
    """The slices at the indices that NumPy's padding of the axis's indices gives."""
    size = x.shape[axis]
    if size == 0:
        raise ParamError("x", f"shape {x.shape}", f"elements along axis {axis} to pad from")
    padded: Callable[..., Any] = np.pad
    places = padded(np.arange(size), pair, mode=mode)
    return take(x, asarray(places), axis=axis)
