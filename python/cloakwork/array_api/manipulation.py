"""Manipulation of shapes and axes; joining, splitting and repeating tensors."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from numpy.typing import ArrayLike

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.array_api.common import (
    Axis,
    Pieces,
    axes_of,
    axis_of,
    shape_of,
    tensors_of,
    whole,
    window,
)
from cloakwork.array_api.creation import arange
from cloakwork.array_api.datatypes import result_type
from cloakwork.array_api.indexing import indices_of, take
from cloakwork.errors import DTypeError, ParamError
from cloakwork.tensors.arrays import of_array, operand
from cloakwork.tensors.native import shortcut


@of_array
def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """A view of `x` repeated to that shape; ValueError where it does not broadcast.

    >>> import cloakwork as cw
    >>> cw.broadcast_to(cw.asarray([1, 2]), (2, 2))
    Tensor([[1, 2],
            [1, 2]], dtype=i64)
    """
    return ops.broadcast_to(x, shape_of(shape))


def broadcast_shapes(*shapes: Sequence[int | None]) -> tuple[int | None, ...]:
    """The shape to which the given shapes broadcast; None for an axis of unknown size.

    Raises ValueError where they do not broadcast.

    >>> import cloakwork as cw
    >>> cw.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    known = [_known(shape) for shape in shapes]
    rank = max(map(len, known), default=0)
    wide = [(1,) * (rank - len(shape)) + shape for shape in known]
    return tuple(_common(sizes, shapes) for sizes in zip(*wide, strict=True))


def _known(shape: object) -> tuple[int | None, ...]:
    """A shape whose sizes are integers, or None where they are unknown."""
    if isinstance(shape, tuple | list):
        return tuple(None if size is None else whole(size, "shapes") for size in shape)
    return shape_of(shape, "shapes")  # type: ignore[arg-type]  # an array, or refused


def _common(sizes: tuple[int | None, ...], shapes: tuple[Sequence[int | None], ...]) -> int | None:
    known = {size for size in sizes if size is not None} - {1}
    if len(known) > 1:
        got = ", ".join(str(tuple(shape)) for shape in shapes)
        raise ParamError("shapes", got, "shapes that agree from the last axis on, or have size 1")
    if known:
        return known.pop()
    return None if None in sizes else 1


def broadcast_arrays(*arrays: Tensor | ArrayLike) -> tuple[Tensor, ...]:
    """Views of the arrays, repeated to their common broadcast shape.

    >>> import cloakwork as cw
    >>> cw.broadcast_arrays(cw.asarray(1), cw.asarray([2, 3]))[0]
    Tensor([1, 1], dtype=i64)
    """
    given = [operand(array, f"arrays[{place}]") for place, array in enumerate(arrays)]
    sizes = broadcast_shapes(*(array.shape for array in given))
    shape = [size for size in sizes if size is not None]  # all sizes are known
    return tuple(ops.broadcast_to(array, shape) for array in given)


@shortcut
@of_array
def reshape(x: Tensor, /, shape: int | Sequence[int], *, copy: bool | None = None) -> Tensor:
    """The same elements, row-major, in another shape; one size may be -1 and is computed.

    A view where the layout allows; ValueError where it does not and `copy` is False.

    >>> import cloakwork as cw
    >>> cw.reshape(cw.arange(6), (2, -1))
    Tensor([[0, 1, 2],
            [3, 4, 5]], dtype=i64)
    """
    return x.reshape(shape_of(shape), copy=copy)


@of_array
def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """A view whose axis i is axis `axes[i]` of `x`.

    >>> import cloakwork as cw
    >>> cw.permute_dims(cw.asarray([[1, 2], [3, 4]]), (1, 0))
    Tensor([[1, 3],
            [2, 4]], dtype=i64)
    """
    order = axes_of(shape_of(axes, "axes"), x.ndim)
    if len(order) < x.ndim:
        raise ParamError("axes", tuple(axes), f"all {x.ndim} axes")
    return ops.transpose(x, order)


@of_array
def moveaxis(x: Tensor, source: Axis, destination: Axis, /) -> Tensor:
    """A view with the axes `source` moved to `destination`; the others keep their order.

    >>> import cloakwork as cw
    >>> cw.moveaxis(cw.empty((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    sources, places = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(sources) != len(places):
        raise ParamError("destination", destination, f"{len(sources)} axes, as source has")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return ops.transpose(x, order)


@of_array
def expand_dims(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """A view with new axes of size 1 at those positions of the result.

    >>> import cloakwork as cw
    >>> cw.expand_dims(cw.empty((2, 3)), (0, -1)).shape
    (1, 2, 3, 1)
    """
    given: object = axis
    if given is None:
        raise DTypeError("axis", None, "an axis of the result, or several")
    rank = x.ndim + (len(axis) if isinstance(axis, tuple) else 1)
    added = axes_of(axis, rank)
    return x[tuple(None if place in added else slice(None) for place in range(rank))]


@of_array
def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """A view without those axes; ValueError unless their sizes are 1.

    >>> import cloakwork as cw
    >>> cw.squeeze(cw.empty((1, 2, 1)), (0, 2)).shape
    (2,)
    """
    gone = axes_of(axis, x.ndim)
    for place in gone:
        if x.shape[place] != 1:
            raise ParamError("axis", f"{place} of size {x.shape[place]}", "axes of size 1")
    return x[tuple(0 if place in gone else slice(None) for place in range(x.ndim))]


@of_array
def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    """A view reversed along those axes, or along all.

    >>> import cloakwork as cw
    >>> cw.flip(cw.asarray([1, 2, 3]))
    Tensor([3, 2, 1], dtype=i64)
    """
    turned = axes_of(axis, x.ndim)
    return x[tuple(slice(None, None, -1 if i in turned else None) for i in range(x.ndim))]


@shortcut
def concat(arrays: Pieces, /, *, axis: int | None = 0) -> Tensor:
    """The tensors joined along an axis; flattened first if `axis` is None.

    Their other axes must have equal sizes, else ValueError; their dtypes are promoted.

    >>> import cloakwork as cw
    >>> cw.concat([cw.asarray([1, 2]), cw.asarray([3])])
    Tensor([1, 2, 3], dtype=i64)
    """
    is_first = type(axis) is int and axis == 0
    if is_first and (made := _core.joined_at_once(arrays, stack=False)) is not None:
        return made
    pieces = tensors_of(arrays)
    if axis is None:
        pieces, axis = [piece.reshape(-1) for piece in pieces], 0
    dtype = result_type(*pieces)
    first = pieces[0].shape
    axis = axis_of(axis, len(first))
    for piece in pieces:
        rest = (piece.shape[:axis], piece.shape[axis + 1 :])
        if piece.ndim != len(first) or rest != (first[:axis], first[axis + 1 :]):
            raise ParamError("arrays", piece.shape, f"{first}, but for axis {axis}")
    return _core.joined(pieces, axis, dtype)


@shortcut
def stack(arrays: Pieces, /, *, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis of the result.

    >>> import cloakwork as cw
    >>> cw.stack([cw.asarray([1, 2]), cw.asarray([3, 4])], axis=1)
    Tensor([[1, 3],
            [2, 4]], dtype=i64)
    """
    is_first = type(axis) is int and axis == 0
    if is_first and (made := _core.joined_at_once(arrays, stack=True)) is not None:
        return made
    pieces = tensors_of(arrays)
    shape = pieces[0].shape
    for piece in pieces:
        if piece.shape != shape:
            raise ParamError("arrays", piece.shape, f"one shape, {shape}")
    return _core.joined(pieces, axis_of(axis, len(shape) + 1), result_type(*pieces), stack=True)


@of_array
def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Views of the slices along an axis, without that axis.

    >>> import cloakwork as cw
    >>> cw.unstack(cw.asarray([[1, 2], [3, 4]]), axis=1)[0]
    Tensor([1, 3], dtype=i64)
    """
    place = axis_of(axis, x.ndim)
    return tuple(x[window(x.ndim, place, number)] for number in range(x.shape[place]))


@of_array
def roll(x: Tensor, /, shift: int | tuple[int, ...], *, axis: Axis = None) -> Tensor:
    """The elements shifted by `shift` along each axis, cyclically.

    Without an axis, the flattened elements are shifted.

    >>> import cloakwork as cw
    >>> cw.roll(cw.asarray([1, 2, 3]), 1)
    Tensor([3, 1, 2], dtype=i64)
    """
    given = shift if isinstance(shift, tuple) else (shift,)
    shifts = tuple(whole(one, "shift") for one in given)
    if axis is None:
        return _rolled(x.reshape(-1), builtins.sum(shifts), 0).reshape(x.shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    if len(shifts) != len(axes):
        raise ParamError("shift", shift, f"one shift for each of {len(axes)} axes")
    for places, one in zip(shifts, axes, strict=True):
        x = _rolled(x, places, axis_of(one, x.ndim))
    return x


def _rolled(x: Tensor, shift: int, axis: int) -> Tensor:
    size = x.shape[axis]
    cut = -shift % size if size else 0
    parts = (slice(cut, None), slice(0, cut))
    return concat([x[window(x.ndim, axis, part)] for part in parts], axis=axis)


@of_array
def repeat(x: Tensor, repeats: int | Tensor | ArrayLike, /, *, axis: int | None = None) -> Tensor:
    """Each element repeated along an axis; flattened first if `axis` is None.

    `repeats` is one number, or a number for each element of the axis.

    >>> import cloakwork as cw
    >>> cw.repeat(cw.asarray([5, 6]), 2)
    Tensor([5, 5, 6, 6], dtype=i64)
    """
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim)
    if isinstance(repeats, int):
        return _copies(x, repeats, axis, axis + 1)
    counts = indices_of(repeats, "repeats")
    if counts.ndim == 0:
        return _copies(x, int(counts), axis, axis + 1)
    size = x.shape[axis]
    counts = ops.broadcast_to(counts, (size,))
    if bool(ops.any(counts < 0, 0)):
        raise ParamError("repeats", "a negative number", "0 or more each")
    ends = ops.cumulative_sum(counts, 0)
    total = int(ends[-1]) if size else 0
    return take(x, ops.searchsorted(arange(total), ends, right=True), axis=axis)


@of_array
def tile(x: Tensor, repetitions: int | Sequence[int], /) -> Tensor:
    """`x` repeated as a whole, the given number of times along each axis, or along the last one.

    Missing axes of `x` are taken as axes of size 1, and missing repetitions as 1, on the left.

    >>> import cloakwork as cw
    >>> cw.tile(cw.asarray([1, 2]), (2, 2))
    Tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]], dtype=i64)
    """
    times = shape_of(repetitions, "repetitions")
    rank = max(x.ndim, len(times))
    times = (1,) * (rank - len(times)) + times
    x = x.reshape((1,) * (rank - x.ndim) + x.shape)
    for axis, number in enumerate(times):
        x = x if number == 1 else _copies(x, number, axis, axis)
    return x


def _copies(x: Tensor, times: int, axis: int, place: int) -> Tensor:
    """Copies along an axis: of the whole axis if the new axis precedes it, else of each element."""
    if times < 0:
        raise ParamError("repeats", times, "0 or more")
    shape = x.shape
    wide = x[(*(slice(None),) * place, None)]
    many = ops.broadcast_to(wide, (*shape[:place], times, *shape[place:]))
    return many.reshape((*shape[:axis], shape[axis] * times, *shape[axis + 1 :]))
