"""Choices between tensors, nested tensors as one, and functions of lines, by NumPy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.array_api.common import axis_of, no_empty, tensor_of, weak_operand
from cloakwork.array_api.datatypes import result_type
from cloakwork.array_api.manipulation import concat, moveaxis, stack, unstack
from cloakwork.array_api.searching import where
from cloakwork.errors import DTypeError, ParamError
from cloakwork.tensors.arrays import operand


def select(
    condlist: Sequence[ArrayLike | Tensor],
    choicelist: Sequence[ArrayLike | Tensor],
    /,
    default: ArrayLike | Tensor = 0,
) -> Tensor:
    """Each element from the choice of the first condition that holds there, else `default`.

    Conditions are bool; all broadcast, and the dtypes of choices and default are promoted.

    >>> import cloakwork as cw
    >>> x = cw.asarray([1, 5, 9])
    >>> cw.select([x < 3, x < 7], [x, 10 * x], -1)
    Tensor([ 1, 50, -1], dtype=i64)
    """
    conditions = [operand(one, f"condlist[{place}]") for place, one in enumerate(condlist)]
    choices = [weak_operand(one, f"choicelist[{place}]") for place, one in enumerate(choicelist)]
    no_empty(len(conditions), "condlist", "one condition or more")
    if len(choices) != len(conditions):
        raise ParamError("choicelist", f"{len(choices)} choices", f"{len(conditions)}, as condlist")
    for place, condition in enumerate(conditions):
        if condition.dtype.kind != "b":
            raise DTypeError(f"condlist[{place}]", condition.dtype.name, "bool")
    rest = weak_operand(default, "default")
    dtype = result_type(*choices, rest)
    found = tensor_of(rest, dtype, "default")
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        found = where(condition, tensor_of(choice, dtype, "choicelist"), found)
    return found


def block(arrays: ArrayLike | Tensor | list[Any], /) -> Tensor:
    """Nested lists of arrays as one: joined along the last axis inside, and so on outwards.

    >>> import cloakwork as cw
    >>> cw.block([[cw.ones((1, 2)), cw.zeros((1, 1))], [cw.arange(3)]])
    Tensor([[1., 1., 0.],
            [0., 1., 2.]], dtype=f64)
    """
    depth = _depth(arrays, "arrays")
    rank = max(depth, _rank(arrays))
    return ops.copy(_joined(arrays, rank, depth))


def _depth(arrays: Any, place: str) -> int:
    """How deep lists are nested; ParamError unless they are so everywhere."""
    if isinstance(arrays, tuple):
        raise ParamError(place, "a tuple", "lists, nested, of arrays")
    if not isinstance(arrays, list):
        return 0
    no_empty(len(arrays), place, "one array or more in each list")
    depths = [_depth(part, f"{place}[{i}]") for i, part in enumerate(arrays)]
    for i, depth in enumerate(depths):
        if depth != depths[0]:
            expected = f"lists as deep as in {place}[0], {depths[0]}"
            raise ParamError(f"{place}[{i}]", f"depth {depth}", expected)
    return depths[0] + 1


def _rank(arrays: Any) -> int:
    """The most axes of an array."""
    return max(map(_rank, arrays)) if isinstance(arrays, list) else operand(arrays, "arrays").ndim


def _joined(arrays: Any, rank: int, depth: int) -> Tensor:
    if isinstance(arrays, list):
        return concat([_joined(part, rank, depth - 1) for part in arrays], axis=-depth)
    x = operand(arrays, "arrays")
    return x.reshape((1,) * (rank - x.ndim) + x.shape)


def apply_along_axis(
    func1d: Callable[..., Any],
    axis: int,
    x: ArrayLike | Tensor,
    /,
    *args: Any,
    **kwargs: Any,
) -> Tensor:
    """`func1d(line, *args, **kwargs)` of each line of `x` along an axis, in place of that axis.

    The results are arrays of one shape, whose dtypes are promoted.  The function is called once a
    line: one that takes tensors with an `axis` is faster without this.

    >>> import cloakwork as cw
    >>> cw.apply_along_axis(lambda line: line[::-1], 1, [[1, 2], [3, 4]])
    Tensor([[2, 1],
            [4, 3]], dtype=i64)
    """
    x = operand(x)
    place = axis_of(axis, x.ndim)
    lines = moveaxis(x, place, -1)
    rest = lines.shape[:-1]
    if 0 in rest:
        raise ParamError("x", f"shape {x.shape}", f"elements along all axes but {axis}")
    made = [operand(func1d(line, *args, **kwargs), "func1d") for line in unstack(_rows(lines))]
    found = stack(made)
    found = found.reshape((*rest, *found.shape[1:]))
    added = tuple(range(place, place + made[0].ndim))
    return moveaxis(found, tuple(range(len(rest), len(rest) + made[0].ndim)), added)


def _rows(lines: Tensor) -> Tensor:
    """All lines along the last axis as rows of a matrix."""
    rows = 1
    for size in lines.shape[:-1]:
        rows *= size
    return lines.reshape((rows, lines.shape[-1]))
