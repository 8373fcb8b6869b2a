"""Integers near real elements, which stay of their dtype."""

from __future__ import annotations

from cloakwork import _core
from cloakwork._core import Tensor

_ceil = _core.elementwise("ceil")
_floor = _core.elementwise("floor")
_trunc = _core.elementwise("trunc")
_round = _core.elementwise("round")


def ceil(x: Tensor, /) -> Tensor:
    """The least integer that is not below each element.

    >>> import cloakwork as cw
    >>> cw.ceil(cw.asarray([1.5, -1.5]))
    Tensor([ 2., -1.], dtype=f64)
    """
    return _ceil(x)


def floor(x: Tensor, /) -> Tensor:
    """The greatest integer that is not above each element.

    >>> import cloakwork as cw
    >>> cw.floor(cw.asarray([1.5, -1.5]))
    Tensor([ 1., -2.], dtype=f64)
    """
    return _floor(x)


def trunc(x: Tensor, /) -> Tensor:
    """The integer next to each element on the way to 0.

    >>> import cloakwork as cw
    >>> cw.trunc(cw.asarray([1.5, -1.5]))
    Tensor([ 1., -1.], dtype=f64)
    """
    return _trunc(x)


def round(x: Tensor, /) -> Tensor:
    """The integer nearest to each element, the even one of two; complex numbers by component.

    >>> import cloakwork as cw
    >>> cw.round(cw.asarray([0.5, 1.5]))
    Tensor([0., 2.], dtype=f64)
    """
    return _round(x)
