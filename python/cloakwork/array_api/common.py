"""Helpers of the namespace's functions: axes, shapes, and operands of one dtype."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from numpy.typing import ArrayLike

from cloakwork import _core, ops
from cloakwork._core import DType, Tensor
from cloakwork.errors import AxisError, CloakworkError, DTypeError, ParamError
from cloakwork.tensors.arrays import converted, operand

Scalar = bool | int | float | complex
Operand = Tensor | Scalar
# Types of operands that are taken as they are: a set, as a search among classes takes longer.
WEAK = frozenset((Tensor, bool, int, float, complex))
Axis = int | tuple[int, ...] | None
Pieces = Sequence[Tensor | ArrayLike] | Tensor

REAL_OF = {"complex64": _core.float32, "complex128": _core.float64}
COMPLEX_OF = {"float32": _core.complex64, "float64": _core.complex128}


def axis_of(axis: SupportsIndex, rank: int) -> int:
    """An axis counted from 0; AxisError if it is out of range, DTypeError for a truth."""
    if type(axis) is bool:
        raise DTypeError("axis", axis, "an integer")
    try:
        place = index(axis)
    except TypeError as error:
        raise _refused(error, axis, "axis") from None
    if not -rank <= place < rank:
        raise AxisError("axis", place, f"-{rank} to {rank - 1}" if rank else "none: no axes here")
    return place % rank


def whole(value: SupportsIndex, place: str) -> int:
    """An integer of any library as Python's; DTypeError with `place` for all else."""
    try:
        return index(value)
    except TypeError as error:
        raise _refused(error, value, place) from None


def _refused(error: TypeError, value: object, place: str) -> TypeError:
    """The error of an argument that is no integer; that of a trace is its own."""
    is_own = isinstance(error, CloakworkError)
    return error if is_own else DTypeError(place, type(value).__name__, "an integer")


def number(value: Operand | ArrayLike, place: str) -> Scalar:
    """A number of any library as Python's; DTypeError or ParamError with `place` for all else."""
    if isinstance(value, Scalar):
        return value
    found = operand(value, place)
    if found.ndim or found.dtype.kind == "V":
        raise ParamError(place, f"{found.dtype} of shape {found.shape}", "one number")
    made: Scalar = found.item()
    return made


def real_number(value: Operand | ArrayLike, place: str) -> float:
    """A real number of any library as Python's; see `number`."""
    found = number(value, place)
    if isinstance(found, complex):
        raise DTypeError(place, "complex", "a real number")
    return found


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


def shape_of(shape: int | Sequence[int], place: str = "shape") -> tuple[int, ...]:
    """A shape, which may be an array of sizes, or one size, as a tuple."""
    if isinstance(shape, tuple | list) or getattr(shape, "ndim", 0) == 1:
        return tuple(whole(size, place) for size in shape)  # type: ignore[union-attr]
    return (whole(shape, place),)  # type: ignore[arg-type]  # an integer of any kind


def some_along(x: Tensor, axes: tuple[int, ...]) -> None:
    """ParamError for a reduction without identity of no elements, also where none would result."""
    if 0 in x.shape and 0 in (sizes := tuple(x.shape[axis] for axis in axes)):
        place = axes[sizes.index(0)]
        raise ParamError("x", f"shape {x.shape}", f"an element or more along axis {place}")


def cast(x: Tensor, dtype: DType) -> Tensor:
    """The tensor itself if it has that dtype, else a converted tensor."""
    return x if x.dtype == dtype else ops.astype(x, dtype)


def weak_operand(x: Operand | ArrayLike, place: str) -> Operand:
    """A tensor, or a number of Python's, which takes the dtype of others; all else as a tensor."""
    return x if isinstance(x, Operand) else operand(x, place)


def tensor_of(x: Operand, dtype: DType, place: str = "x") -> Tensor:
    """An operand as a tensor of that dtype."""
    return cast(x, dtype) if isinstance(x, Tensor) else converted(x, dtype, place)


def tensors_of(arrays: Pieces) -> list[Tensor]:
    """One or more tensors, lists or arrays as tensors; DTypeError names one that is none."""
    pieces = []
    for place, piece in enumerate(arrays):
        pieces.append(piece if isinstance(piece, Tensor) else operand(piece, f"arrays[{place}]"))
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
