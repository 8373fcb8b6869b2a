"""Sorting."""

from __future__ import annotations

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.array_api.common import axis_of, require
from cloakwork.array_api.datatypes import KINDS, REAL
from cloakwork.tensors.arrays import of_array

_SORTABLE = (*KINDS["bool"], *REAL)


@of_array
def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements sorted along an axis, ascending or descending; NaN last.

    The order is always stable.  TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.sort(cw.asarray([3, 1, 2]))
    Tensor([1, 2, 3], dtype=i64)
    """
    require(x, _SORTABLE, "x", "real numbers, which have an order")
    return ops.sort(x, axis_of(axis, x.ndim), descending=descending)


@of_array
def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The int64 indices that sort the elements along an axis; NaN last.

    The order is always stable, also descending.  TypeError for complex numbers.

    >>> import cloakwork as cw
    >>> cw.argsort(cw.asarray([3, 1, 2]))
    Tensor([1, 2, 0], dtype=i64)
    """
    require(x, _SORTABLE, "x", "real numbers, which have an order")
    return ops.argsort(x, axis_of(axis, x.ndim), descending=descending)
