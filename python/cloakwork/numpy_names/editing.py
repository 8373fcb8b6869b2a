"""Elements added, removed and repeated along axes, by NumPy's names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.array_api.common import Axis, axes_of, axis_of, shape_of
from cloakwork.array_api.creation import zeros
from cloakwork.array_api.indexing import take
from cloakwork.array_api.manipulation import concat, moveaxis
from cloakwork.errors import DTypeError, ParamError, TensorIndexError
from cloakwork.numpy_names.counting import argwhere
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import asarray

# Where to insert or delete along an axis.
Places = slice | ArrayLike | Tensor


def insert(
    x: ArrayLike | Tensor,
    obj: Places,
    values: ArrayLike | Tensor,
    /,
    axis: int | None = None,
) -> Tensor:
    """`x` with `values` before the places `obj` of an axis, of all elements as one axis without it.

    `obj` is a place, several, a slice or a mask of places; they count in `x`.  The values broadcast
    and get the dtype of `x`.  IndexError for a place beyond the end.

    >>> import cloakwork as cw
    >>> cw.insert([1, 2, 3], [0, 3], [8, 9])
    Tensor([8, 1, 2, 3, 9], dtype=i64)
    """
    x, place = _along(x, axis)
    size = x.shape[place]
    places = _places(obj, size, size + 1)
    if places.ndim > 1:
        raise ParamError("obj", f"{places.ndim} axes", "a number, or places along one axis")
    added = operand(values, "values").astype(x.dtype)
    added = added.reshape((1,) * (x.ndim - added.ndim) + added.shape)
    if places.ndim == 0:
        added = moveaxis(added, 0, place)
    if places.size == 1:
        places = np.broadcast_to(places, added.shape[place])
    shape = (*x.shape[:place], places.size, *x.shape[place + 1 :])
    extra = added.ndim - x.ndim
    if extra and added.shape[:extra] != (1,) * extra:
        raise ParamError("values", f"shape {added.shape}", f"values that broadcast to {shape}")
    added = added.reshape(added.shape[extra:])
    # Each element of `x` stands between the values before it and those after it.
    keys = np.concatenate([places, np.arange(size)])
    order = np.lexsort([np.arange(keys.size) >= places.size, keys])
    return take(concat([ops.broadcast_to(added, shape), x], axis=place), asarray(order), axis=place)


def delete(x: ArrayLike | Tensor, obj: Places, /, axis: int | None = None) -> Tensor:
    """`x` without the places `obj` of an axis, of all elements as one axis without it.

    `obj` is a place, several, a slice or a mask of all places.  IndexError for a place beyond the
    end.

    >>> import cloakwork as cw
    >>> cw.delete([5, 6, 7, 8], [0, -1])
    Tensor([6, 7], dtype=i64)
    """
    x, place = _along(x, axis)
    size = x.shape[place]
    stays = np.ones(size, bool)
    stays[_places(obj, size, size, whole_mask=True)] = False
    return take(x, asarray(np.flatnonzero(stays)), axis=place)


def resize(x: ArrayLike | Tensor, new_shape: int | Sequence[int], /) -> Tensor:
    """The elements in row-major order, repeated or cut to fill a shape; 0 for no elements.

    >>> import cloakwork as cw
    >>> cw.resize([1, 2, 3], (2, 2))
    Tensor([[1, 2],
            [3, 1]], dtype=i64)
    """
    flat = operand(x).reshape(-1)
    shape = shape_of(new_shape, "new_shape")
    if any(size < 0 for size in shape):
        raise ParamError("new_shape", shape, "sizes of 0 or more")
    if flat.size == 0:
        return zeros(shape, dtype=flat.dtype)
    wanted = math.prod(shape)
    times = -(-wanted // flat.size)
    many = ops.broadcast_to(flat[None], (times, flat.size)).reshape(-1)
    return ops.copy(many[:wanted].reshape(shape))


def trim_zeros(
    x: ArrayLike | Tensor, /, trim: Literal["fb", "bf", "f", "b"] = "fb", axis: Axis = None
) -> Tensor:
    """A view without the slices of zeros at the front ("f") and back ("b") of axes, or of all.

    The shape depends on the elements: not in a trace.

    >>> import cloakwork as cw
    >>> cw.trim_zeros([0, 0, 1, 0, 2, 0])
    Tensor([1, 0, 2], dtype=i64)
    """
    given: object = trim
    ends = given.lower() if isinstance(given, str) else ""
    if ends not in ("fb", "bf", "f", "b"):
        raise ParamError("trim", repr(trim), "'f' for the front, 'b' for the back, or 'fb'")
    x = operand(x)
    axes = axes_of(axis, x.ndim)
    found = np.asarray(argwhere(x))
    none = found.size == 0
    starts = [0] * x.ndim if none else found.min(axis=0).tolist()
    stops = [0] * x.ndim if none else (found.max(axis=0) + 1).tolist()
    if none and ends == "f":
        starts = list(x.shape)
    parts = [
        slice(start if "f" in ends else 0, stop if "b" in ends else None)
        if place in axes
        else slice(None)
        for place, (start, stop) in enumerate(zip(starts, stops, strict=True))
    ]
    return x[tuple(parts)]


def _along(x: ArrayLike | Tensor, axis: int | None) -> tuple[Tensor, int]:
    """A tensor and the axis to change; flattened without one."""
    x = operand(x)
    return (x.reshape(-1), 0) if axis is None else (x, axis_of(axis, x.ndim))


def _places(obj: Places, size: int, most: int, *, whole_mask: bool = False) -> NDArray[Any]:
    """Places below `most`, counted from 0, of an axis of that size; one alone has no axes."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(size))
    given = np.asarray(operand(obj, "obj"))
    if given.dtype == bool and given.ndim:
        if given.ndim > 1 or (whole_mask and given.size != size):
            expected = f"one axis of size {size}" if whole_mask else "one axis"
            raise ParamError("obj", f"a mask of shape {given.shape}", expected)
        given = np.flatnonzero(given)
    if given.size == 0 and isinstance(obj, list | tuple):
        given = given.astype(np.int64)
    if given.dtype.kind not in "iu":
        raise DTypeError("obj", given.dtype.name, "integers, a slice or a mask")
    wrong = given[(given < -size) | (given >= most)]
    if wrong.size:
        expected = f"{-size} to {most - 1}, as the axis has {size} elements"
        raise TensorIndexError(f"obj: got {wrong.reshape(-1)[0]}, expected {expected}")
    return np.asarray(np.where(given < 0, given + size, given))
