"""Products of many matrices, by NumPy's name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.linear import matmul
from cloakwork.errors import ParamError
from cloakwork.tensors.conversion import asarray


def multi_dot(arrays: Sequence[ArrayLike | Tensor], /) -> Tensor:
    """The product of matrices in the order with the fewest multiplications.

    The first may be a vector, which is a row, and the last a column; their axes are removed.

    >>> import cloakwork as cw
    >>> cw.linalg.multi_dot([[[1, 2], [3, 4]], [[1, 0], [0, 1]], [1, 10]])
    Tensor([21, 43], dtype=i64)
    """
    pieces = [asarray(array) for array in arrays]
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
    cuts = _cuts(sizes)

    def product(first: int, stop: int) -> Tensor:
        if stop - first == 1:
            return pieces[first]
        cut = cuts[first, stop]
        return matmul(product(first, cut), product(cut, stop))

    return product(0, len(pieces))


def _cuts(sizes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to cut the product of the matrices `first` to `stop`; matrix i has `sizes[i:i + 2]`."""
    cuts: dict[tuple[int, int], int] = {}

    @cache
    def cost(first: int, stop: int) -> int:
        if stop - first == 1:
            return 0
        least, cuts[first, stop] = min(
            (
                cost(first, cut) + cost(cut, stop) + sizes[first] * sizes[cut] * sizes[stop],
                cut,
            )
            for cut in range(first + 1, stop)
        )
        return least

    cost(0, len(sizes) - 1)
    return cuts
