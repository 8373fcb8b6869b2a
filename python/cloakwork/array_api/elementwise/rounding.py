"""Integers near real elements, which stay of their dtype."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import Operand
from cloakwork.tensors.native import native


@native
def ceil(x: Operand | ArrayLike, /) -> Tensor:
    """The least integer that is not below each element.

    >>> import cloakwork as cw
    >>> cw.ceil(cw.asarray([1.5, -1.5]))
    Tensor([ 2., -1.], dtype=f64)
    """


@native
def floor(x: Operand | ArrayLike, /) -> Tensor:
    """The greatest integer that is not above each element.

    >>> import cloakwork as cw
    >>> cw.floor(cw.asarray([1.5, -1.5]))
    Tensor([ 1., -2.], dtype=f64)
    """


@native
def trunc(x: Operand | ArrayLike, /) -> Tensor:
    """The integer next to each element on the way to 0.

    >>> import cloakwork as cw
    >>> cw.trunc(cw.asarray([1.5, -1.5]))
    Tensor([ 1., -1.], dtype=f64)
    """


@native
def round(x: Operand | ArrayLike, /) -> Tensor:
    """The integer nearest to each element, the even one of two; complex numbers by component.

    >>> import cloakwork as cw
    >>> cw.round(cw.asarray([0.5, 1.5]))
    Tensor([0., 2.], dtype=f64)
    """
