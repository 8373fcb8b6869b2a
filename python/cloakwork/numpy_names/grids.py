"""Triangles, and indices of elements, by NumPy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import whole
from cloakwork.array_api.creation import ones, tril
from cloakwork.array_api.indexing import indices_of
from cloakwork.errors import ParamError
from cloakwork.tensors.conversion import DTypeLike, asarray

Order = Literal["C", "F"]


def tri(N: int, /, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Ones in the lower triangle `[N, M]`, up to the diagonal `k` above the main one, else zeros.

    `M` is `N` if not given; float64 unless said otherwise.

    >>> import cloakwork as cw
    >>> cw.tri(2, 3, 1, "int64")
    Tensor([[1, 1, 0],
            [1, 1, 1]], dtype=i64)
    """
    rows = whole(N, "N")
    return tril(ones((rows, rows if M is None else whole(M, "M")), dtype=dtype), k=k)


def tril_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and columns of the lower triangle of `[n, m]`, up to diagonal `k`: int64.

    >>> import cloakwork as cw
    >>> cw.tril_indices(2)
    (Tensor([0, 1, 1], dtype=i64), Tensor([0, 0, 1], dtype=i64))
    """
    rows, columns = np.tril_indices(
        _size("n", n), whole(k, "k"), None if m is None else _size("m", m)
    )
    return asarray(rows), asarray(columns)


def triu_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and columns of the upper triangle of `[n, m]`, from diagonal `k` on: int64.

    >>> import cloakwork as cw
    >>> cw.triu_indices(2)
    (Tensor([0, 0, 1], dtype=i64), Tensor([0, 1, 1], dtype=i64))
    """
    rows, columns = np.triu_indices(
        _size("n", n), whole(k, "k"), None if m is None else _size("m", m)
    )
    return asarray(rows), asarray(columns)


def unravel_index(
    indices: ArrayLike | Tensor, shape: int | Sequence[int], /, order: Order = "C"
) -> tuple[Tensor, ...]:
    """The indices along each axis of a shape, of indices of its elements in row-major order.

    `order` "F" is column-major.  ParamError for an index out of range.  NumPy computes it: not in a
    trace.

    >>> import cloakwork as cw
    >>> cw.unravel_index([1, 5], (2, 3))
    (Tensor([0, 1], dtype=i64), Tensor([1, 2], dtype=i64))
    """
    given = np.asarray(indices_of(indices))
    found = _by_numpy("indices", lambda: np.unravel_index(given, shape, order))
    return tuple(asarray(part) for part in found)


def ravel_multi_index(
    multi_index: Sequence[ArrayLike | Tensor] | Tensor,
    dims: Sequence[int],
    /,
    mode: str | tuple[str, ...] = "raise",
    order: Order = "C",
) -> Tensor:
    """The indices in row-major order of elements, given by their indices along each axis.

    Of an index out of range `mode`, one or one an axis, makes a ParamError ("raise"), the remainder
    ("wrap") or the nearest index ("clip").  `order` "F" is column-major.  NumPy computes it: not in
    a trace.

    >>> import cloakwork as cw
    >>> cw.ravel_multi_index(([0, 1], [1, 2]), (2, 3))
    Tensor([1, 5], dtype=i64)
    """
    given = tuple(np.asarray(indices_of(part, "multi_index")) for part in multi_index)
    ravel: Callable[..., Any] = np.ravel_multi_index
    return asarray(_by_numpy("multi_index", lambda: ravel(given, dims, mode, order)))


def _size(name: str, size: int) -> int:
    if whole(size, name) < 0:
        raise ParamError(name, size, "0 or more")
    return whole(size, name)


def _by_numpy(place: str, make: Callable[[], Any]) -> Any:
    """The result of NumPy; its refusals as ParamError."""
    try:
        return make()
    except (ValueError, TypeError) as error:
        raise ParamError(place, error, "arguments that fit") from error
