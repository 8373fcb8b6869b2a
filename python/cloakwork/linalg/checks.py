"""What all of these functions ask of their matrices, and of what comes out."""

from __future__ import annotations

from cloakwork import ops
from cloakwork._core import Tensor, float64
from cloakwork.array_api.common import cast
from cloakwork.array_api.datatypes import FLOATING
from cloakwork.errors import LinAlgError, ParamError

_MATRIX = (-2, -1)


def matrices(x: Tensor, place: str = "x") -> Tensor:
    """Matrices of floats or complex numbers, float64 for others; ValueError for fewer axes."""
    if x.ndim < 2:
        raise ParamError(place, f"shape {x.shape}", "two axes or more")
    return x if x.dtype.name in FLOATING else cast(x, float64)


def squares(x: Tensor, place: str = "x") -> Tensor:
    """Matrices of as many rows as columns; else ValueError."""
    x = matrices(x, place)
    if x.shape[-1] != x.shape[-2]:
        raise ParamError(place, f"shape {x.shape}", "as many rows as columns")
    return x


def computed(result: Tensor, axes: tuple[int, ...], what: str, *given: Tensor) -> Tensor:
    """The result; LinAlgError if a matrix has none though what was given for it is finite.

    `axes` are those of the result that belong to one matrix.
    """
    failed = ops.any(ops.isnan(result), axes)
    if not bool(ops.any(failed, tuple(range(failed.ndim)))):
        return result
    for x in given:
        failed = ops.logical_and(failed, ops.all(ops.isfinite(x), _MATRIX))
    if bool(ops.any(failed, tuple(range(failed.ndim)))):
        raise LinAlgError(what)
    return result
