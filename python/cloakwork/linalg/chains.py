"""Products of many matrices, by NumPy's name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import tensors_of
from cloakwork.array_api.linear import matmul
from cloakwork.errors import ParamError


def multi_dot(arrays: Sequence[ArrayLike | Tensor], /) -> Tensor:
    """The product of matrices in the order with the fewest multiplications.

    The first may be a vector, which is a row, and the last a column; their axes are removed.

    >>> import cloakwork as cw
    >>> cw.linalg.multi_dot([[[1, 2], [3, 4]], [[1, 0], [0, 1]], [1, 10]])
    Tensor([21, 43], dtype=i64)
    """
    pieces = tensors_of(arrays)
    last = len(pieces) - 1
    if last < 1:
        raise ParamError("arrays", f"{len(pieces)} arrays", "two or more")
    for place, piece in enumerate(pieces):
        if piece.ndim != 2 and (piece.ndim != 1 or 0 < place < last):
            expected = "a matrix, or a vector first or last"
            raise ParamError(f"arrays[{place}]", f"shape {piece.shape}", expected)
        if place and piece.shape[0] != pieces[place - 1].shape[-1]:
            expected = f"{pieces[place - 1].shape[-1]} rows, as the one before has columns"
            raise ParamError(f"arrays[{place}]", f"shape {piece.shape}", expected)
    rows = 1 if pieces[0].ndim == 1 else pieces[0].shape[0]
    columns = 1 if pieces[-1].ndim == 1 else pieces[-1].shape[-1]
    sizes = (rows, *(piece.shape[0] for piece in pieces[1:]), columns)
    # Products that hold others come first, and replace the first matrix of those that they hold.
    for first, cut in reversed(_products(_cuts(sizes))):
        pieces[first] = matmul(pieces[first], pieces[cut])
    return pieces[0]


def _products(cuts: dict[tuple[int, int], int]) -> list[tuple[int, int]]:
    """The products in an order in which each precedes those that it holds: two first matrices."""
    found: list[tuple[int, int]] = []
    left = [max(cuts, key=lambda ends: ends[1] - ends[0])]
    while left:
        first, stop = left.pop()
        if stop - first > 1:
            cut = cuts[first, stop]
            found.append((first, cut))
            left += [(first, cut), (cut, stop)]
    return found


def _cuts(sizes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to cut the product of the matrices `first` to `stop`; matrix i has `sizes[i:i + 2]`."""
    count = len(sizes) - 1
    cuts: dict[tuple[int, int], int] = {}
    between = np.array(sizes, dtype=np.float64)
    # The least costs of products by first matrix and end, and by end and first matrix.
    begun, ended = np.zeros((2, count + 1, count + 1))
    for length in range(2, count + 1):
        for first in range(count + 1 - length):
            stop = first + length
            inner = slice(first + 1, stop)
            costs = begun[first, inner] + ended[stop, inner]
            costs += between[first] * between[stop] * between[inner]
            least = int(costs.argmin())
            cuts[first, stop] = first + 1 + least
            begun[first, stop] = ended[stop, first] = costs[least]
    return cuts
