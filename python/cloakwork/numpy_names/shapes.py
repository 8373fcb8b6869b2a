"""Axes, joining and splitting, by NumPy's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.array_api.common import axes_of, axis_of, shape_of, tensors_of, whole, window
from cloakwork.array_api.manipulation import concat, flip
from cloakwork.errors import AxisError, ParamError
from cloakwork.tensors.arrays import operand

Arrays = Sequence[ArrayLike | Tensor]


def ravel(x: ArrayLike | Tensor, /) -> Tensor:
    """All elements, row-major, along one axis; a view where the layout allows.

    >>> import cloakwork as cw
    >>> cw.ravel([[1, 2], [3, 4]])
    Tensor([1, 2, 3, 4], dtype=i64)
    """
    return operand(x).reshape(-1)


def swapaxes(x: ArrayLike | Tensor, axis1: int, axis2: int, /) -> Tensor:
    """A view with two axes exchanged; AxisError for an axis that `x` does not have.

    >>> import cloakwork as cw
    >>> cw.swapaxes(cw.zeros((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    x = operand(x)
    first, second = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return ops.transpose(x, order)


def transpose(x: ArrayLike | Tensor, /, axes: Sequence[int] | None = None) -> Tensor:
    """A view whose axis i is axis `axes[i]` of `x`; without `axes`, in reverse order.

    >>> import cloakwork as cw
    >>> cw.transpose(cw.zeros((2, 3, 4))).shape
    (4, 3, 2)
    """
    x = operand(x)
    order = range(x.ndim)[::-1] if axes is None else axes_of(shape_of(axes, "axes"), x.ndim)
    if len(order) != x.ndim:
        raise AxisError("axes", axes, f"each of the {x.ndim} axes once")
    return ops.transpose(x, list(order))


def rot90(x: ArrayLike | Tensor, /, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """`x` rotated `k` times by 90 degrees, from the first of two axes towards the second.

    >>> import cloakwork as cw
    >>> cw.rot90([[1, 2], [3, 4]])
    Tensor([[2, 4],
            [1, 3]], dtype=i64)
    """
    x = operand(x)
    both = axes_of(shape_of(axes, "axes"), x.ndim)
    if len(both) != 2:
        raise AxisError("axes", axes, "two axes")
    first, second = both
    turns = whole(k, "k") % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, axis=(first, second))
    if turns == 1:
        return swapaxes(flip(x, axis=second), first, second)
    return flip(swapaxes(x, first, second), axis=second)


def fliplr(x: ArrayLike | Tensor, /) -> Tensor:
    """A view of `x` with its second axis reversed: the columns of a matrix.

    >>> import cloakwork as cw
    >>> cw.fliplr([[1, 2], [3, 4]])
    Tensor([[2, 1],
            [4, 3]], dtype=i64)
    """
    x = operand(x)
    if x.ndim < 2:
        raise ParamError("x", f"{x.ndim} axes", "two axes or more")
    return flip(x, axis=1)


def flipud(x: ArrayLike | Tensor, /) -> Tensor:
    """A view of `x` with its first axis reversed: the rows of a matrix.

    >>> import cloakwork as cw
    >>> cw.flipud([[1, 2], [3, 4]])
    Tensor([[3, 4],
            [1, 2]], dtype=i64)
    """
    x = operand(x)
    if x.ndim == 0:
        raise ParamError("x", "no axes", "one axis or more")
    return flip(x, axis=0)


def atleast_1d(x: ArrayLike | Tensor, /) -> Tensor:
    """`x` with one axis or more: a number becomes `[1]`.

    >>> import cloakwork as cw
    >>> cw.atleast_1d(5)
    Tensor([5], dtype=i64)
    """
    x = operand(x)
    return x if x.ndim else x.reshape(1)


def atleast_2d(x: ArrayLike | Tensor, /) -> Tensor:
    """`x` with two axes or more: `[n]` becomes `[1, n]`.

    >>> import cloakwork as cw
    >>> cw.atleast_2d([5, 6])
    Tensor([[5, 6]], dtype=i64)
    """
    x = atleast_1d(x)
    return x if x.ndim > 1 else x[None, :]


def atleast_3d(x: ArrayLike | Tensor, /) -> Tensor:
    """`x` with three axes or more: `[n]` becomes `[1, n, 1]`, and `[m, n]` becomes `[m, n, 1]`.

    >>> import cloakwork as cw
    >>> cw.atleast_3d([5, 6]).shape
    (1, 2, 1)
    """
    x = atleast_2d(x)
    return x if x.ndim > 2 else x[:, :, None]


def vstack(arrays: Arrays, /) -> Tensor:
    """The arrays joined along the first axis; vectors are rows.

    >>> import cloakwork as cw
    >>> cw.vstack([[1, 2], [3, 4]])
    Tensor([[1, 2],
            [3, 4]], dtype=i64)
    """
    return concat([atleast_2d(array) for array in tensors_of(arrays)], axis=0)


def hstack(arrays: Arrays, /) -> Tensor:
    """The arrays joined along the second axis; vectors along their only one.

    >>> import cloakwork as cw
    >>> cw.hstack([[1, 2], [3]])
    Tensor([1, 2, 3], dtype=i64)
    """
    pieces = [atleast_1d(array) for array in tensors_of(arrays)]
    return concat(pieces, axis=0 if pieces and pieces[0].ndim == 1 else 1)


def dstack(arrays: Arrays, /) -> Tensor:
    """The arrays joined along the third axis; `[n]` and `[m, n]` as in `atleast_3d`.

    >>> import cloakwork as cw
    >>> cw.dstack([[1, 2], [3, 4]])
    Tensor([[[1, 3],
             [2, 4]]], dtype=i64)
    """
    return concat([atleast_3d(array) for array in tensors_of(arrays)], axis=2)


def column_stack(arrays: Arrays, /) -> Tensor:
    """The arrays joined along the second axis; vectors are columns.

    >>> import cloakwork as cw
    >>> cw.column_stack([[1, 2], [3, 4]])
    Tensor([[1, 3],
            [2, 4]], dtype=i64)
    """
    pieces = [atleast_1d(array) for array in tensors_of(arrays)]
    return concat([piece[:, None] if piece.ndim == 1 else piece for piece in pieces], axis=1)


def append(x: ArrayLike | Tensor, values: ArrayLike | Tensor, /, axis: int | None = None) -> Tensor:
    """`values` after `x` along an axis; without one, all elements of both along one axis.

    >>> import cloakwork as cw
    >>> cw.append([1, 2], [[3], [4]])
    Tensor([1, 2, 3, 4], dtype=i64)
    """
    return concat([operand(x), operand(values, "values")], axis=axis)


def split(
    x: ArrayLike | Tensor, indices_or_sections: int | Sequence[int], /, axis: int = 0
) -> list[Tensor]:
    """Views of `x`, cut along an axis into equal sections or before each of the indices.

    ParamError where a number of sections does not divide the axis; `array_split` accepts that.

    >>> import cloakwork as cw
    >>> cw.split(cw.arange(4), 2)
    [Tensor([0, 1], dtype=i64), Tensor([2, 3], dtype=i64)]
    """
    x = operand(x)
    if isinstance(indices_or_sections, int) and indices_or_sections > 0:
        size = x.shape[axis_of(axis, x.ndim)]
        if size % indices_or_sections:
            expected = f"a divisor of {size}, the size of axis {axis}; or use array_split"
            raise ParamError("indices_or_sections", indices_or_sections, expected)
    return array_split(x, indices_or_sections, axis)


def array_split(
    x: ArrayLike | Tensor, indices_or_sections: int | Sequence[int], /, axis: int = 0
) -> list[Tensor]:
    """As `split`, but the first sections are longer by one where they cannot be equal.

    >>> import cloakwork as cw
    >>> [part.tolist() for part in cw.array_split(cw.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    x = operand(x)
    place = axis_of(axis, x.ndim)
    size = x.shape[place]
    given: Any = indices_or_sections
    if not hasattr(given, "__len__"):
        sections = whole(given, "indices_or_sections")
        if sections < 1:
            raise ParamError("indices_or_sections", sections, "1 section or more")
        least, longer = divmod(size, sections)
        cuts = [part * least + min(part, longer) for part in range(1, sections)]
    else:
        cuts = [whole(cut, "indices_or_sections") for cut in given]
    ends = zip([0, *cuts], [*cuts, size], strict=True)
    return [x[window(x.ndim, place, slice(start, stop))] for start, stop in ends]


concatenate = concat
__all__ = [
    "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "column_stack",
    "concatenate", "dstack", "fliplr", "flipud", "hstack", "ravel", "rot90", "split", "swapaxes",
    "transpose", "vstack",
]  # fmt: skip
