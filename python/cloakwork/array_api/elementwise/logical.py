"""Truth, and the bits of integers."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import Operand
from cloakwork.tensors.native import native


@native
def logical_and(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """Whether both of each pair of bool elements hold.

    >>> import cloakwork as cw
    >>> cw.logical_and(cw.asarray([True, False]), True)
    Tensor([ True, False], dtype=bool)
    """


@native
def logical_or(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """Whether one of each pair of bool elements holds, or both.

    >>> import cloakwork as cw
    >>> cw.logical_or(cw.asarray([True, False]), False)
    Tensor([ True, False], dtype=bool)
    """


@native
def logical_xor(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """Whether one of each pair of bool elements holds, but not both.

    >>> import cloakwork as cw
    >>> cw.logical_xor(cw.asarray([True, False]), True)
    Tensor([False,  True], dtype=bool)
    """


@native
def logical_not(x: Operand | ArrayLike, /) -> Tensor:
    """Whether each bool element does not hold.

    >>> import cloakwork as cw
    >>> cw.logical_not(cw.asarray([True, False]))
    Tensor([False,  True], dtype=bool)
    """


@native
def bitwise_and(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The bits that are set in both of each pair: integers and bool.

    >>> import cloakwork as cw
    >>> cw.bitwise_and(cw.asarray([6, 5]), 3)
    Tensor([2, 1], dtype=i64)
    """


@native
def bitwise_or(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The bits that are set in one of each pair, or in both: integers and bool.

    >>> import cloakwork as cw
    >>> cw.bitwise_or(cw.asarray([6, 5]), 3)
    Tensor([7, 7], dtype=i64)
    """


@native
def bitwise_xor(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The bits that are set in one of each pair, but not in both: integers and bool.

    >>> import cloakwork as cw
    >>> cw.bitwise_xor(cw.asarray([6, 5]), 3)
    Tensor([5, 6], dtype=i64)
    """


@native
def bitwise_invert(x: Operand | ArrayLike, /) -> Tensor:
    """The bits that are not set in each element: integers and bool.

    >>> import cloakwork as cw
    >>> cw.bitwise_invert(cw.asarray([0, 5]))
    Tensor([-1, -6], dtype=i64)
    """


@native
def bitwise_left_shift(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The bits of the first of each pair moved left by the second: integers.

    A shift by the width or more gives 0.

    >>> import cloakwork as cw
    >>> cw.bitwise_left_shift(cw.asarray([1, 3]), 2)
    Tensor([ 4, 12], dtype=i64)
    """


@native
def bitwise_right_shift(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The bits of the first of each pair moved right by the second: integers.

    The sign fills what becomes free, also for shifts by the width or more.

    >>> import cloakwork as cw
    >>> cw.bitwise_right_shift(cw.asarray([8, -8]), 2)
    Tensor([ 2, -2], dtype=i64)
    """
