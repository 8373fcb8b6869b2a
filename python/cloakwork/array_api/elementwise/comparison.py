"""Comparisons, and what floats are: all bool."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import Operand
from cloakwork.tensors.native import native


@native
def equal(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """Whether each pair of elements is equal; NaN equals nothing.

    >>> import cloakwork as cw
    >>> cw.equal(cw.asarray([1, 2]), 2)
    Tensor([False,  True], dtype=bool)
    """


@native
def not_equal(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """Whether each pair of elements is not equal.

    >>> import cloakwork as cw
    >>> cw.not_equal(cw.asarray([1, 2]), 2)
    Tensor([ True, False], dtype=bool)
    """


@native
def less(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """Whether the first of each pair of real elements is less than the second.

    >>> import cloakwork as cw
    >>> cw.less(cw.asarray([1, 2]), 2)
    Tensor([ True, False], dtype=bool)
    """


@native
def less_equal(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """Whether the first of each pair of real elements is at most the second.

    >>> import cloakwork as cw
    >>> cw.less_equal(cw.asarray([1, 2]), 1)
    Tensor([ True, False], dtype=bool)
    """


@native
def greater(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """Whether the first of each pair of real elements is greater than the second.

    >>> import cloakwork as cw
    >>> cw.greater(cw.asarray([1, 2]), 1)
    Tensor([False,  True], dtype=bool)
    """


@native
def greater_equal(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """Whether the first of each pair of real elements is at least the second.

    >>> import cloakwork as cw
    >>> cw.greater_equal(cw.asarray([1, 2]), 2)
    Tensor([False,  True], dtype=bool)
    """


@native
def isfinite(x: Operand | ArrayLike, /) -> Tensor:
    """Whether each element is neither infinite nor NaN.

    >>> import cloakwork as cw
    >>> cw.isfinite(cw.asarray([1.0, cw.inf]))
    Tensor([ True, False], dtype=bool)
    """


@native
def isinf(x: Operand | ArrayLike, /) -> Tensor:
    """Whether each element is infinite; a complex number if a component is.

    >>> import cloakwork as cw
    >>> cw.isinf(cw.asarray([1.0, -cw.inf]))
    Tensor([False,  True], dtype=bool)
    """


@native
def isnan(x: Operand | ArrayLike, /) -> Tensor:
    """Whether each element is NaN; a complex number if a component is.

    >>> import cloakwork as cw
    >>> cw.isnan(cw.asarray([1.0, cw.nan]))
    Tensor([False,  True], dtype=bool)
    """


@native
def signbit(x: Operand | ArrayLike, /) -> Tensor:
    """Whether the sign of each float is minus, also that of -0 and of NaN.

    >>> import cloakwork as cw
    >>> cw.signbit(cw.asarray([0.0, -0.0]))
    Tensor([False,  True], dtype=bool)
    """
