"""Angles in radians and hyperbolic functions, of floats and complex numbers."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import Operand
from cloakwork.tensors.native import native


@native
def sin(x: Operand | ArrayLike, /) -> Tensor:
    """The sine of each element.

    >>> import cloakwork as cw
    >>> cw.sin(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """


@native
def cos(x: Operand | ArrayLike, /) -> Tensor:
    """The cosine of each element.

    >>> import cloakwork as cw
    >>> cw.cos(cw.asarray([0.0]))
    Tensor([1.], dtype=f64)
    """


@native
def tan(x: Operand | ArrayLike, /) -> Tensor:
    """The tangent of each element.

    >>> import cloakwork as cw
    >>> cw.tan(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """


@native
def asin(x: Operand | ArrayLike, /) -> Tensor:
    """The angle whose sine each element is.

    >>> import cloakwork as cw
    >>> cw.asin(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """


@native
def acos(x: Operand | ArrayLike, /) -> Tensor:
    """The angle whose cosine each element is.

    >>> import cloakwork as cw
    >>> cw.acos(cw.asarray([1.0]))
    Tensor([0.], dtype=f64)
    """


@native
def atan(x: Operand | ArrayLike, /) -> Tensor:
    """The angle whose tangent each element is.

    >>> import cloakwork as cw
    >>> cw.atan(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """


@native
def atan2(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The angle of the point (x2, x1) of each pair of floats, from -pi to pi.

    >>> import cloakwork as cw
    >>> cw.atan2(cw.asarray([0.0]), 1.0)
    Tensor([0.], dtype=f64)
    """


@native
def sinh(x: Operand | ArrayLike, /) -> Tensor:
    """The hyperbolic sine of each element.

    >>> import cloakwork as cw
    >>> cw.sinh(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """


@native
def cosh(x: Operand | ArrayLike, /) -> Tensor:
    """The hyperbolic cosine of each element.

    >>> import cloakwork as cw
    >>> cw.cosh(cw.asarray([0.0]))
    Tensor([1.], dtype=f64)
    """


@native
def tanh(x: Operand | ArrayLike, /) -> Tensor:
    """The hyperbolic tangent of each element.

    >>> import cloakwork as cw
    >>> cw.tanh(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """


@native
def asinh(x: Operand | ArrayLike, /) -> Tensor:
    """The number whose hyperbolic sine each element is.

    >>> import cloakwork as cw
    >>> cw.asinh(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """


@native
def acosh(x: Operand | ArrayLike, /) -> Tensor:
    """The number whose hyperbolic cosine each element is.

    >>> import cloakwork as cw
    >>> cw.acosh(cw.asarray([1.0]))
    Tensor([0.], dtype=f64)
    """


@native
def atanh(x: Operand | ArrayLike, /) -> Tensor:
    """The number whose hyperbolic tangent each element is.

    >>> import cloakwork as cw
    >>> cw.atanh(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """
