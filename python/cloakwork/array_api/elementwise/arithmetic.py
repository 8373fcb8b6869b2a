"""Sums, products and what comes of them."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import Operand
from cloakwork.tensors.native import native


@native
def add(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The sum of each pair of elements; integers wrap.

    >>> import cloakwork as cw
    >>> cw.add(cw.asarray([1, 2]), 10)
    Tensor([11, 12], dtype=i64)
    """


@native
def subtract(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The first of each pair less the second; integers wrap.

    >>> import cloakwork as cw
    >>> cw.subtract(cw.asarray([5, 7]), cw.asarray([1, 2]))
    Tensor([4, 5], dtype=i64)
    """


@native
def multiply(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The product of each pair of elements; integers wrap.

    >>> import cloakwork as cw
    >>> cw.multiply(cw.asarray([5, 7]), 2)
    Tensor([10, 14], dtype=i64)
    """


@native
def divide(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The quotient of each pair of elements: a float or complex number.

    Integers are divided as float64.

    >>> import cloakwork as cw
    >>> cw.divide(cw.asarray([1.0, 3.0]), 2)
    Tensor([0.5, 1.5], dtype=f64)
    """


@native
def floor_divide(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The greatest integer up to the quotient of each pair of real elements.

    Integers over 0 give 0.

    >>> import cloakwork as cw
    >>> cw.floor_divide(cw.asarray([7, -7]), 2)
    Tensor([ 3, -4], dtype=i64)
    """


@native
def remainder(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The remainder of each pair, with the sign of the divisor.

    Integers over 0 leave 0.

    >>> import cloakwork as cw
    >>> cw.remainder(cw.asarray([7, -7]), 4)
    Tensor([3, 1], dtype=i64)
    """


@native
def pow(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The first of each pair to the power of the second; integers wrap.

    >>> import cloakwork as cw
    >>> cw.pow(cw.asarray([2, 3]), 2)
    Tensor([4, 9], dtype=i64)
    """


@native
def negative(x: Operand | ArrayLike, /) -> Tensor:
    """The negative of each element; integers wrap.

    >>> import cloakwork as cw
    >>> cw.negative(cw.asarray([1, -2]))
    Tensor([-1,  2], dtype=i64)
    """


@native
def positive(x: Operand | ArrayLike, /) -> Tensor:
    """A copy of the tensor.

    >>> import cloakwork as cw
    >>> cw.positive(cw.asarray([1, -2]))
    Tensor([ 1, -2], dtype=i64)
    """


@native
def abs(x: Operand | ArrayLike, /) -> Tensor:
    """The absolute value of each element; real for complex numbers.

    The least integer is its own absolute value.

    >>> import cloakwork as cw
    >>> cw.abs(cw.asarray([-3, 4]))
    Tensor([3, 4], dtype=i64)
    """


@native
def square(x: Operand | ArrayLike, /) -> Tensor:
    """The product of each element and itself; integers wrap.

    >>> import cloakwork as cw
    >>> cw.square(cw.asarray([-3, 4]))
    Tensor([ 9, 16], dtype=i64)
    """


@native
def reciprocal(x: Operand | ArrayLike, /) -> Tensor:
    """One over each element: floats and complex numbers.

    >>> import cloakwork as cw
    >>> cw.reciprocal(cw.asarray([2.0, 4.0]))
    Tensor([0.5 , 0.25], dtype=f64)
    """


@native
def sign(x: Operand | ArrayLike, /) -> Tensor:
    """-1, 0 or 1 by the sign of each element; for complex numbers, z / abs(z).

    >>> import cloakwork as cw
    >>> cw.sign(cw.asarray([-3, 0, 4]))
    Tensor([-1,  0,  1], dtype=i64)
    """
