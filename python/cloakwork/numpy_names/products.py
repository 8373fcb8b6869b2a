"""Products of vectors and matrices, by NumPy's names."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.linear import tensordot
from cloakwork.errors import ParamError
from cloakwork.tensors.arrays import operand


def dot(x1: ArrayLike | Tensor, x2: ArrayLike | Tensor, /) -> Tensor:
    """Sums of products over the last axis of `x1` and the last but one of `x2`, or its only one.

    The other axes of `x1` precede those of `x2`; a number multiplies.

    >>> import cloakwork as cw
    >>> cw.dot([1, 2], [3, 4])
    Tensor(11, dtype=i64)
    """
    x1, x2 = operand(x1, "x1"), operand(x2, "x2")
    if x1.ndim == 0 or x2.ndim == 0:
        return x1 * x2
    return _contracted(x1, x2, -1 if x2.ndim == 1 else -2)


def inner(x1: ArrayLike | Tensor, x2: ArrayLike | Tensor, /) -> Tensor:
    """Sums of products over the last axes of both; a number multiplies.

    >>> import cloakwork as cw
    >>> cw.inner([[1, 2], [3, 4]], [1, 10])
    Tensor([21, 43], dtype=i64)
    """
    x1, x2 = operand(x1, "x1"), operand(x2, "x2")
    if x1.ndim == 0 or x2.ndim == 0:
        return x1 * x2
    return _contracted(x1, x2, -1)


def _contracted(x1: Tensor, x2: Tensor, axis: int) -> Tensor:
    if x1.shape[-1] != x2.shape[axis]:
        expected = f"{x1.shape[-1]} elements along axis {axis}, as along the last axis of x1"
        raise ParamError("x2", f"shape {x2.shape}", expected)
    return tensordot(x1, x2, axes=((-1,), (axis,)))


def outer(x1: ArrayLike | Tensor, x2: ArrayLike | Tensor, /) -> Tensor:
    """The products of all pairs of elements: `[m, n]`, for `m` and `n` elements of any shape.

    >>> import cloakwork as cw
    >>> cw.outer([1, 2], [3, 4])
    Tensor([[3, 4],
            [6, 8]], dtype=i64)
    """
    return operand(x1, "x1").reshape(-1, 1) * operand(x2, "x2").reshape(1, -1)


def kron(x1: ArrayLike | Tensor, x2: ArrayLike | Tensor, /) -> Tensor:
    """The Kronecker product: each element of `x1`, multiplied by the whole of `x2`.

    The shape is the product of both shapes, which get leading axes of size 1.

    >>> import cloakwork as cw
    >>> cw.kron([1, 10], [[1, 2]])
    Tensor([[ 1,  2, 10, 20]], dtype=i64)
    """
    x1, x2 = operand(x1, "x1"), operand(x2, "x2")
    rank = max(x1.ndim, x2.ndim)
    shape1 = (1,) * (rank - x1.ndim) + x1.shape
    shape2 = (1,) * (rank - x2.ndim) + x2.shape
    left = x1.reshape([size for one in shape1 for size in (one, 1)])
    right = x2.reshape([size for one in shape2 for size in (1, one)])
    sizes = [first * second for first, second in zip(shape1, shape2, strict=True)]
    return (left * right).reshape(sizes)
