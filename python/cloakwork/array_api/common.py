"""Helpers of the namespace's functions: axes, shapes, and operands of one dtype."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from numpy.typing import ArrayLike

from cloakwork import _core, ops
from cloakwork._core import DType, Tensor
from cloakwork.errors import AxisError, DTypeError, ParamError
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import asarray

Scalar = bool | int | float | complex
Operand = Tensor | Scalar
Axis = int | tuple[int, ...] | None
Pieces = Sequence[Tensor | ArrayLike] | Tensor

REAL_OF = {"complex64": _core.float32, "complex128": _core.float64}
COMPLEX_OF = {"float32": _core.complex64, "float64": _core.complex128}


def axis_of(axis: SupportsIndex, rank: int) -> int:
    """An axis counted from 0; AxisError if it is out of range, DTypeError for a truth."""
    if type(axis) is bool:
        raise DTypeError("axis", axis, "an integer")
    place = index(axis)
    if not -rank <= place < rank:
        raise AxisError("axis", place, f"-{rank} to {rank - 1}" if rank else "none: no axes here")
    return place % rank


def axes_of(axis: Axis | Sequence[int], rank: int) -> tuple[int, ...]:
    """One axis, several or all (None), each counted from 0; AxisError for a repeated axis."""
    if axis is None:
        return tuple(range(rank))
    given = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(axis_of(one, rank) for one in given)
    if len(set(axes)) < len(axes):
        raise AxisError("axis", given, "each axis once")
    return axes


def only_axis(axis: int | None, rank: int) -> int:
    """An axis, which may be omitted for a tensor of one axis."""
    if axis is not None:
        return axis_of(axis, rank)
    if rank != 1:
        raise AxisError("axis", None, f"an axis, as there are {rank} to choose from")
    return 0


def shape_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape, which may be an array of sizes, or one size, as a tuple."""
    if isinstance(shape, tuple | list) or getattr(shape, "ndim", 0) == 1:
        return tuple(shape)  # type: ignore[arg-type]  # several sizes
    return (index(shape),)  # type: ignore[arg-type]  # an integer of any kind


def some_along(x: Tensor, axes: tuple[int, ...]) -> None:
    """ParamError for a reduction without identity of no elements, also where none would result."""
    if 0 in x.shape and 0 in (sizes := tuple(x.shape[axis] for axis in axes)):
        place = axes[sizes.index(0)]
        raise ParamError("x", f"shape {x.shape}", f"an element or more along axis {place}")


def cast(x: Tensor, dtype: DType) -> Tensor:
    """The tensor itself if it has that dtype, else a converted tensor."""
    return x if x.dtype == dtype else ops.astype(x, dtype)


def tensor_of(x: Operand, dtype: DType) -> Tensor:
    """An operand as a tensor of that dtype."""
    return cast(x, dtype) if isinstance(x, Tensor) else asarray(x, dtype=dtype)


def tensors_of(arrays: Pieces) -> list[Tensor]:
    """One or more tensors, lists or arrays as tensors; DTypeError names one that is none."""
    pieces = []
    for place, piece in enumerate(arrays):
        try:
            pieces.append(operand(piece))
        except DTypeError as error:
            expected = "a tensor, or numbers that cloakwork.asarray takes"
            raise DTypeError(f"arrays[{place}]", type(piece).__name__, expected) from error
    no_empty(len(pieces), "arrays", "one tensor or more")
    return pieces


def window(rank: int, axis: int, part: slice | int) -> tuple[slice | int, ...]:
    """The key that selects a range of one axis."""
    return (*(slice(None),) * axis, part, *(slice(None),) * (rank - axis - 1))


def require(x: Tensor, names: Sequence[str], place: str, expected: str) -> None:
    """DTypeError unless the tensor's dtype is one of the given ones."""
    if x.dtype.name not in names:
        raise DTypeError(place, x.dtype.name, expected)


def no_empty(size: int, place: str, expected: str) -> None:
    """ParamError for an empty tensor."""
    if size == 0:
        raise ParamError(place, "none", expected)
