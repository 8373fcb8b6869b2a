"""Comparisons, and what floats are: all bool."""

from __future__ import annotations

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.array_api.common import Operand

_equal = _core.elementwise("equal")
_not_equal = _core.elementwise("not_equal")
_less = _core.elementwise("less")
_less_equal = _core.elementwise("less_equal")
_greater = _core.elementwise("greater")
_greater_equal = _core.elementwise("greater_equal")
_isfinite = _core.elementwise("isfinite")
_isinf = _core.elementwise("isinf")
_isnan = _core.elementwise("isnan")
_signbit = _core.elementwise("signbit")


def equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether each pair of elements is equal; NaN equals nothing.

    >>> import cloakwork as cw
    >>> cw.equal(cw.asarray([1, 2]), 2)
    Tensor([False,  True], dtype=bool)
    """
    return _equal(x1, x2)


def not_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether each pair of elements is not equal.

    >>> import cloakwork as cw
    >>> cw.not_equal(cw.asarray([1, 2]), 2)
    Tensor([ True, False], dtype=bool)
    """
    return _not_equal(x1, x2)


def less(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether the first of each pair of real elements is less than the second.

    >>> import cloakwork as cw
    >>> cw.less(cw.asarray([1, 2]), 2)
    Tensor([ True, False], dtype=bool)
    """
    return _less(x1, x2)


def less_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether the first of each pair of real elements is at most the second.

    >>> import cloakwork as cw
    >>> cw.less_equal(cw.asarray([1, 2]), 1)
    Tensor([ True, False], dtype=bool)
    """
    return _less_equal(x1, x2)


def greater(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether the first of each pair of real elements is greater than the second.

    >>> import cloakwork as cw
    >>> cw.greater(cw.asarray([1, 2]), 1)
    Tensor([False,  True], dtype=bool)
    """
    return _greater(x1, x2)


def greater_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether the first of each pair of real elements is at least the second.

    >>> import cloakwork as cw
    >>> cw.greater_equal(cw.asarray([1, 2]), 2)
    Tensor([False,  True], dtype=bool)
    """
    return _greater_equal(x1, x2)


def isfinite(x: Tensor, /) -> Tensor:
    """Whether each element is neither infinite nor NaN.

    >>> import cloakwork as cw
    >>> cw.isfinite(cw.asarray([1.0, cw.inf]))
    Tensor([ True, False], dtype=bool)
    """
    return _isfinite(x)


def isinf(x: Tensor, /) -> Tensor:
    """Whether each element is infinite; a complex number if a component is.

    >>> import cloakwork as cw
    >>> cw.isinf(cw.asarray([1.0, -cw.inf]))
    Tensor([False,  True], dtype=bool)
    """
    return _isinf(x)


def isnan(x: Tensor, /) -> Tensor:
    """Whether each element is NaN; a complex number if a component is.

    >>> import cloakwork as cw
    >>> cw.isnan(cw.asarray([1.0, cw.nan]))
    Tensor([False,  True], dtype=bool)
    """
    return _isnan(x)


def signbit(x: Tensor, /) -> Tensor:
    """Whether the sign of each float is minus, also that of -0 and of NaN.

    >>> import cloakwork as cw
    >>> cw.signbit(cw.asarray([0.0, -0.0]))
    Tensor([False,  True], dtype=bool)
    """
    return _signbit(x)
