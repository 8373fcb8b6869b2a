"""Angles in radians and hyperbolic functions, of floats and complex numbers."""

from __future__ import annotations

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.array_api.common import Operand

_sin = _core.elementwise("sin")
_cos = _core.elementwise("cos")
_tan = _core.elementwise("tan")
_asin = _core.elementwise("asin")
_acos = _core.elementwise("acos")
_atan = _core.elementwise("atan")
_atan2 = _core.elementwise("atan2")
_sinh = _core.elementwise("sinh")
_cosh = _core.elementwise("cosh")
_tanh = _core.elementwise("tanh")
_asinh = _core.elementwise("asinh")
_acosh = _core.elementwise("acosh")
_atanh = _core.elementwise("atanh")


def sin(x: Tensor, /) -> Tensor:
    """The sine of each element.

    >>> import cloakwork as cw
    >>> cw.sin(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """
    return _sin(x)


def cos(x: Tensor, /) -> Tensor:
    """The cosine of each element.

    >>> import cloakwork as cw
    >>> cw.cos(cw.asarray([0.0]))
    Tensor([1.], dtype=f64)
    """
    return _cos(x)


def tan(x: Tensor, /) -> Tensor:
    """The tangent of each element.

    >>> import cloakwork as cw
    >>> cw.tan(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """
    return _tan(x)


def asin(x: Tensor, /) -> Tensor:
    """The angle whose sine each element is.

    >>> import cloakwork as cw
    >>> cw.asin(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """
    return _asin(x)


def acos(x: Tensor, /) -> Tensor:
    """The angle whose cosine each element is.

    >>> import cloakwork as cw
    >>> cw.acos(cw.asarray([1.0]))
    Tensor([0.], dtype=f64)
    """
    return _acos(x)


def atan(x: Tensor, /) -> Tensor:
    """The angle whose tangent each element is.

    >>> import cloakwork as cw
    >>> cw.atan(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """
    return _atan(x)


def atan2(x1: Operand, x2: Operand, /) -> Tensor:
    """The angle of the point (x2, x1) of each pair of floats, from -pi to pi.

    >>> import cloakwork as cw
    >>> cw.atan2(cw.asarray([0.0]), 1.0)
    Tensor([0.], dtype=f64)
    """
    return _atan2(x1, x2)


def sinh(x: Tensor, /) -> Tensor:
    """The hyperbolic sine of each element.

    >>> import cloakwork as cw
    >>> cw.sinh(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """
    return _sinh(x)


def cosh(x: Tensor, /) -> Tensor:
    """The hyperbolic cosine of each element.

    >>> import cloakwork as cw
    >>> cw.cosh(cw.asarray([0.0]))
    Tensor([1.], dtype=f64)
    """
    return _cosh(x)


def tanh(x: Tensor, /) -> Tensor:
    """The hyperbolic tangent of each element.

    >>> import cloakwork as cw
    >>> cw.tanh(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """
    return _tanh(x)


def asinh(x: Tensor, /) -> Tensor:
    """The number whose hyperbolic sine each element is.

    >>> import cloakwork as cw
    >>> cw.asinh(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """
    return _asinh(x)


def acosh(x: Tensor, /) -> Tensor:
    """The number whose hyperbolic cosine each element is.

    >>> import cloakwork as cw
    >>> cw.acosh(cw.asarray([1.0]))
    Tensor([0.], dtype=f64)
    """
    return _acosh(x)


def atanh(x: Tensor, /) -> Tensor:
    """The number whose hyperbolic tangent each element is.

    >>> import cloakwork as cw
    >>> cw.atanh(cw.asarray([0.0]))
    Tensor([0.], dtype=f64)
    """
    return _atanh(x)
