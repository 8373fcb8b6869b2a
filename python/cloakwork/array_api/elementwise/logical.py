"""Truth, and the bits of integers."""

from __future__ import annotations

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.array_api.common import Operand

_logical_and = _core.elementwise("logical_and")
_logical_or = _core.elementwise("logical_or")
_logical_xor = _core.elementwise("logical_xor")
_logical_not = _core.elementwise("logical_not")
_bitwise_and = _core.elementwise("bitwise_and")
_bitwise_or = _core.elementwise("bitwise_or")
_bitwise_xor = _core.elementwise("bitwise_xor")
_bitwise_invert = _core.elementwise("bitwise_invert")
_bitwise_left_shift = _core.elementwise("bitwise_left_shift")
_bitwise_right_shift = _core.elementwise("bitwise_right_shift")


def logical_and(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether both of each pair of bool elements hold.

    >>> import cloakwork as cw
    >>> cw.logical_and(cw.asarray([True, False]), True)
    Tensor([ True, False], dtype=bool)
    """
    return _logical_and(x1, x2)


def logical_or(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether one of each pair of bool elements holds, or both.

    >>> import cloakwork as cw
    >>> cw.logical_or(cw.asarray([True, False]), False)
    Tensor([ True, False], dtype=bool)
    """
    return _logical_or(x1, x2)


def logical_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether one of each pair of bool elements holds, but not both.

    >>> import cloakwork as cw
    >>> cw.logical_xor(cw.asarray([True, False]), True)
    Tensor([False,  True], dtype=bool)
    """
    return _logical_xor(x1, x2)


def logical_not(x: Tensor, /) -> Tensor:
    """Whether each bool element does not hold.

    >>> import cloakwork as cw
    >>> cw.logical_not(cw.asarray([True, False]))
    Tensor([False,  True], dtype=bool)
    """
    return _logical_not(x)


def bitwise_and(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits that are set in both of each pair: integers and bool.

    >>> import cloakwork as cw
    >>> cw.bitwise_and(cw.asarray([6, 5]), 3)
    Tensor([2, 1], dtype=i64)
    """
    return _bitwise_and(x1, x2)


def bitwise_or(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits that are set in one of each pair, or in both: integers and bool.

    >>> import cloakwork as cw
    >>> cw.bitwise_or(cw.asarray([6, 5]), 3)
    Tensor([7, 7], dtype=i64)
    """
    return _bitwise_or(x1, x2)


def bitwise_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits that are set in one of each pair, but not in both: integers and bool.

    >>> import cloakwork as cw
    >>> cw.bitwise_xor(cw.asarray([6, 5]), 3)
    Tensor([5, 6], dtype=i64)
    """
    return _bitwise_xor(x1, x2)


def bitwise_invert(x: Tensor, /) -> Tensor:
    """The bits that are not set in each element: integers and bool.

    >>> import cloakwork as cw
    >>> cw.bitwise_invert(cw.asarray([0, 5]))
    Tensor([-1, -6], dtype=i64)
    """
    return _bitwise_invert(x)


def bitwise_left_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits of the first of each pair moved left by the second: integers.

    A shift by the width or more gives 0.

    >>> import cloakwork as cw
    >>> cw.bitwise_left_shift(cw.asarray([1, 3]), 2)
    Tensor([ 4, 12], dtype=i64)
    """
    return _bitwise_left_shift(x1, x2)


def bitwise_right_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits of the first of each pair moved right by the second: integers.

    The sign fills what becomes free, also for shifts by the width or more.

    >>> import cloakwork as cw
    >>> cw.bitwise_right_shift(cw.asarray([8, -8]), 2)
    Tensor([ 2, -2], dtype=i64)
    """
    return _bitwise_right_shift(x1, x2)
