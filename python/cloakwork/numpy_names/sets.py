"""Sets of elements, by NumPy's names; NaN occurs once in a set.

How many elements a set has depends on the elements: NumPy computes it, so not in a trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork._core import Tensor
from cloakwork.array_api.common import cast
from cloakwork.array_api.datatypes import result_type
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import asarray


def union1d(x1: ArrayLike | Tensor, x2: ArrayLike | Tensor, /) -> Tensor:
    """The distinct elements of both, in ascending order.

    >>> import cloakwork as cw
    >>> cw.union1d([3, 1], [2, 3])
    Tensor([1, 2, 3], dtype=i64)
    """
    return asarray(np.union1d(*_arrays(x1, x2)))


def intersect1d(
    x1: ArrayLike | Tensor,
    x2: ArrayLike | Tensor,
    /,
    assume_unique: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """The elements that occur in both, each once, in ascending order.

    If `return_indices`, also the first index of each in both, row-major: int64.  `assume_unique`
    promises that the elements of each are distinct, which saves a sort.

    >>> import cloakwork as cw
    >>> cw.intersect1d([3, 1, 2], [2, 3, 5])
    Tensor([2, 3], dtype=i64)
    """
    find: Callable[..., Any] = np.intersect1d
    made = find(*_arrays(x1, x2), assume_unique=assume_unique, return_indices=return_indices)
    if isinstance(made, tuple):
        values, first, second = map(asarray, made)
        return values, first, second
    return asarray(made)


def setdiff1d(
    x1: ArrayLike | Tensor, x2: ArrayLike | Tensor, /, assume_unique: bool = False
) -> Tensor:
    """The elements of `x1` that do not occur in `x2`, each once, in ascending order.

    If `assume_unique`, the elements of each are distinct, and the result has the order of `x1`.

    >>> import cloakwork as cw
    >>> cw.setdiff1d([3, 1, 2, 1], [2])
    Tensor([1, 3], dtype=i64)
    """
    pieces = operand(x1, "x1"), operand(x2, "x2")
    result_type(*pieces)  # both have one
    first, second = map(np.asarray, pieces)
    return asarray(np.setdiff1d(first, second, assume_unique=assume_unique))


def setxor1d(
    x1: ArrayLike | Tensor, x2: ArrayLike | Tensor, /, assume_unique: bool = False
) -> Tensor:
    """The elements that occur in one of both alone, each once, in ascending order.

    `assume_unique` promises that the elements of each are distinct, which saves a sort.

    >>> import cloakwork as cw
    >>> cw.setxor1d([3, 1, 2], [2, 5])
    Tensor([1, 3, 5], dtype=i64)
    """
    first, second = _arrays(x1, x2)
    return asarray(np.setxor1d(first, second, assume_unique=assume_unique))


def _arrays(x1: ArrayLike | Tensor, x2: ArrayLike | Tensor) -> list[NDArray[Any]]:
    """The elements of both as NumPy's arrays of the promoted dtype; TraceError in a trace."""
    pieces = operand(x1, "x1"), operand(x2, "x2")
    dtype = result_type(*pieces)
    return [np.asarray(cast(piece, dtype)) for piece in pieces]
