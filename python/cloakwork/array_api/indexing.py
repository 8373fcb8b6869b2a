"""Selection of elements by tensors of indices."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork import _core, ops
from cloakwork._core import Tensor, int64
from cloakwork.array_api.common import axis_of, only_axis
from cloakwork.array_api.datatypes import KINDS
from cloakwork.errors import DTypeError, TensorIndexError
from cloakwork.tensors.arrays import of_array, operand

_MOST = 2**63 - 1


def indices_of(x: Tensor | ArrayLike, place: str = "indices") -> Tensor:
    """Indices as int64; TypeError unless they are integers, IndexError for one beyond int64."""
    x = operand(x, place)
    if x.dtype == int64:
        return x
    if x.dtype.name not in KINDS["integral"]:
        raise DTypeError(place, x.dtype.name, "an integer dtype")
    if x.dtype.name == "uint64" and bool(ops.any(x > _MOST, tuple(range(x.ndim)))):
        raise TensorIndexError(f"{place}: a number of {place} is beyond 2^63")
    return ops.astype(x, int64)


def take(
    x: Tensor | ArrayLike, indices: Tensor | ArrayLike, /, *, axis: int | None = None
) -> Tensor:
    """The slices of `x` at `indices` along an axis, in the order of the indices.

    The axes of `indices` replace the axis; negative indices count from the end.  IndexError for an
    index out of range.

    >>> import cloakwork as cw
    >>> cw.take(cw.asarray([5, 6, 7]), cw.asarray([2, 0]))
    Tensor([7, 5], dtype=i64)
    """
    x = operand(x)
    return _core.take(x, indices_of(indices), only_axis(axis, x.ndim))


@of_array
def take_along_axis(x: Tensor, indices: Tensor | ArrayLike, /, *, axis: int = -1) -> Tensor:
    """`out[.., i, ..] = x[.., indices[.., i, ..], ..]` along an axis.

    Both must have the same number of axes; they broadcast along the other axes.  Negative indices
    count from the end; IndexError for an index out of range.

    >>> import cloakwork as cw
    >>> cw.take_along_axis(cw.asarray([[5, 6], [7, 8]]), cw.asarray([[1], [0]]))
    Tensor([[6],
            [7]], dtype=i64)
    """
    return ops.take_along_axis(x, indices_of(indices), axis_of(axis, x.ndim))
