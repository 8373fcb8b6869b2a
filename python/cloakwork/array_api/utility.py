"""Truths and differences."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.array_api.common import Axis, axes_of, axis_of, whole, window
from cloakwork.array_api.manipulation import concat
from cloakwork.errors import ParamError
from cloakwork.tensors.arrays import of_array, operand


@of_array
def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether all elements along axes are nonzero; true if there are none.

    >>> import cloakwork as cw
    >>> cw.all(cw.asarray([[True, False], [True, True]]), axis=1)
    Tensor([False,  True], dtype=bool)
    """
    return ops.all(x, axes_of(axis, x.ndim), keepdims=keepdims)


@of_array
def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether some element along axes, or one of all, is not 0; it is not so for none.

    >>> import cloakwork as cw
    >>> cw.any(cw.asarray([[True, False], [False, False]]), axis=1)
    Tensor([ True, False], dtype=bool)
    """
    return ops.any(x, axes_of(axis, x.ndim), keepdims=keepdims)


@of_array
def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | ArrayLike | None = None,
    append: Tensor | ArrayLike | None = None,
) -> Tensor:
    """The differences of neighbours along an axis, `n` times over; whether they differ, for bool.

    What is prepended and appended has the shape of `x` but for that axis.

    >>> import cloakwork as cw
    >>> cw.diff(cw.asarray([1, 4, 9]))
    Tensor([3, 5], dtype=i64)
    """
    if whole(n, "n") < 0:
        raise ParamError("n", n, "0 or more")
    place = axis_of(axis, x.ndim)
    ends = (prepend, "prepend"), (x, "x"), (append, "append")
    given = [operand(piece, name) for piece, name in ends if piece is not None]
    values = concat(given, axis=place) if len(given) > 1 else x
    later = window(x.ndim, place, slice(1, None))
    earlier = window(x.ndim, place, slice(None, -1))
    for _ in range(n):
        after, before = values[later], values[earlier]
        values = after != before if x.dtype.name == "bool" else after - before
    return values
