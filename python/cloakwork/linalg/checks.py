"""Checks of matrices and of results, shared by all functions of linear algebra."""

from __future__ import annotations

from cloakwork import ops
from cloakwork._core import Tensor, float64
from cloakwork.array_api.common import cast
from cloakwork.array_api.datatypes import FLOATING
from cloakwork.array_api.searching import where
from cloakwork.errors import LinAlgError, ParamError, TraceError

_MATRIX = (-2, -1)
# Magnitudes within which sums of squares neither overflow nor underflow.
_LARGE = 2.0**400


def matrices(x: Tensor, place: str = "x") -> Tensor:
    """Floating-point or complex matrices, others as float64; ValueError for fewer than two axes."""
    if x.ndim < 2:
        raise ParamError(place, f"shape {x.shape}", "two axes or more")
    return x if x.dtype.name in FLOATING else cast(x, float64)


def squares(x: Tensor, place: str = "x") -> Tensor:
    """Square matrices; ValueError for others."""
    x = matrices(x, place)
    if x.shape[-1] != x.shape[-2]:
        raise ParamError(place, f"shape {x.shape}", "as many rows as columns")
    return x


def scaled(x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Matrices scaled near 1, and the powers of two `[.., 1]` that they were divided by.

    The matrices themselves, and None, where squares of their elements neither overflow nor
    underflow: always in single precision, which is computed in double.
    """
    if x.dtype.name not in ("float64", "complex128") or 0 in x.shape:
        return x, None
    sizes = ops.max(ops.abs(x), _MATRIX)[..., None]
    extreme = ops.logical_and(
        ops.logical_or(sizes > _LARGE, sizes < 1 / _LARGE),
        ops.logical_and(ops.isfinite(sizes), sizes > 0),
    )
    if not _holds(extreme):
        return x, None
    powers = where(extreme, 2.0 ** ops.floor(ops.log2(sizes)), 1.0)
    return x / powers[..., None], powers


def restored(values: Tensor, powers: Tensor | None) -> Tensor:
    """The values `[.., n]` of matrices, multiplied by the factors of `scaled` again."""
    return values if powers is None else values * powers


def computed(result: Tensor, axes: tuple[int, ...], what: str, *given: Tensor) -> Tensor:
    """The result; LinAlgError if a finite matrix has no finite result.

    `axes` are the axes of the result that belong to one matrix.  A trace records no check.
    """
    failed = ops.any(ops.isnan(result), axes)
    if not _holds(failed):
        return result
    for x in given:
        failed = ops.logical_and(failed, ops.all(ops.isfinite(x), _MATRIX))
    if _holds(failed):
        raise LinAlgError(what)
    return result


def _holds(truths: Tensor) -> bool:
    """Whether any condition holds; False for traced conditions."""
    try:
        return bool(ops.any(truths, tuple(range(truths.ndim))))
    except TraceError:
        return False
