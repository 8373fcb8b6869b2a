"""Orders of elements, by NumPy's names."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

import numpy as np
from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import axis_of
from cloakwork.array_api.creation import zeros
from cloakwork.array_api.indexing import take_along_axis
from cloakwork.array_api.manipulation import unstack
from cloakwork.array_api.sorting import argsort, sort
from cloakwork.errors import DTypeError, ParamError
from cloakwork.tensors.arrays import operand


def lexsort(keys: Sequence[ArrayLike | Tensor] | Tensor, /, axis: int = -1) -> Tensor:
    """The int64 indices that sort by the last key, equal ones by the key before it, and so on.

    Keys of one shape, or the slices of a tensor along its first axis, are sorted along `axis` of
    each.  Equal in all keys, elements keep their order.  TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.lexsort(([3, 1, 2], [0, 0, -1]))
    Tensor([2, 1, 0], dtype=i64)
    """
    given = unstack(keys) if isinstance(keys, Tensor) else keys
    rows = [operand(key, f"keys[{place}]") for place, key in enumerate(given)]
    if not rows:
        raise ParamError("keys", "none", "one key or more")
    shape = rows[0].shape
    for place, row in enumerate(rows):
        if row.shape != shape:
            raise ParamError(f"keys[{place}]", f"shape {row.shape}", f"{shape}, as the first key")
    if not shape and axis in (0, -1):
        return zeros((), dtype="int64")
    place = axis_of(axis, len(shape))
    order = argsort(rows[0], axis=place)
    for row in rows[1:]:
        again = argsort(take_along_axis(row, order, axis=place), axis=place)
        order = take_along_axis(order, again, axis=place)
    return order


def partition(x: ArrayLike | Tensor, kth: int | Sequence[int], /, axis: int | None = -1) -> Tensor:
    """The elements with each `kth` in its sorted place: none before is greater, none after less.

    All elements as one axis if `axis` is None.  Here the result is sorted as a whole.

    >>> import cloakwork as cw
    >>> cw.partition([3, 1, 2], 1)[1]
    Tensor(2, dtype=i64)
    """
    x, place = _checked(x, kth, axis)
    return sort(x, axis=place)


def argpartition(
    x: ArrayLike | Tensor, kth: int | Sequence[int], /, axis: int | None = -1
) -> Tensor:
    """The int64 indices of the elements in the order of `partition`.

    >>> import cloakwork as cw
    >>> cw.argpartition([3, 1, 2], 0)[0]
    Tensor(1, dtype=i64)
    """
    x, place = _checked(x, kth, axis)
    return argsort(x, axis=place)


def _checked(
    x: ArrayLike | Tensor, kth: int | Sequence[int], axis: int | None
) -> tuple[Tensor, int]:
    """A tensor and the axis to sort; errors for places that the axis does not have."""
    x = operand(x)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    place = axis_of(axis, x.ndim)
    given = np.asarray(kth)
    if given.dtype.kind not in "iu":
        raise DTypeError("kth", given.dtype.name, "integers")
    if given.ndim > 1:
        raise ParamError("kth", f"{given.ndim} axes", "a place, or several along one axis")
    size = x.shape[place]
    wrong = given[(given < -size) | (given >= size)]
    if wrong.size and size:
        expected = f"{-size} to {size - 1}, as the axis has {size} elements"
        raise ParamError("kth", index(wrong.reshape(-1)[0]), expected)
    return x, place
