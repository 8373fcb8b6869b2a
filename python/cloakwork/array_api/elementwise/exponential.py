"""Powers, logarithms and roots of floats and complex numbers."""

from __future__ import annotations

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.array_api.common import Operand

_exp = _core.elementwise("exp")
_expm1 = _core.elementwise("expm1")
_log = _core.elementwise("log")
_log1p = _core.elementwise("log1p")
_log2 = _core.elementwise("log2")
_log10 = _core.elementwise("log10")
_logaddexp = _core.elementwise("logaddexp")
_sqrt = _core.elementwise("sqrt")


def exp(x: Tensor, /) -> Tensor:
    """E to the power of each element.

    >>> import cloakwork as cw
    >>> cw.exp(cw.asarray([0.0, 1.0]))
    Tensor([1.        , 2.71828183], dtype=f64)
    """
    return _exp(x)


def expm1(x: Tensor, /) -> Tensor:
    """E to the power of each element, less 1: exact near 0.

    >>> import cloakwork as cw
    >>> cw.expm1(cw.asarray([0.0, 1e-20]))
    Tensor([0.e+00, 1.e-20], dtype=f64)
    """
    return _expm1(x)


def log(x: Tensor, /) -> Tensor:
    """The natural logarithm of each element.

    >>> import cloakwork as cw
    >>> cw.log(cw.asarray([1.0, cw.e]))
    Tensor([0., 1.], dtype=f64)
    """
    return _log(x)


def log1p(x: Tensor, /) -> Tensor:
    """The natural logarithm of 1 and each element: exact near 0.

    >>> import cloakwork as cw
    >>> cw.log1p(cw.asarray([0.0, 1e-20]))
    Tensor([0.e+00, 1.e-20], dtype=f64)
    """
    return _log1p(x)


def log2(x: Tensor, /) -> Tensor:
    """The logarithm to base 2 of each element.

    >>> import cloakwork as cw
    >>> cw.log2(cw.asarray([1.0, 8.0]))
    Tensor([0., 3.], dtype=f64)
    """
    return _log2(x)


def log10(x: Tensor, /) -> Tensor:
    """The logarithm to base 10 of each element.

    >>> import cloakwork as cw
    >>> cw.log10(cw.asarray([1.0, 1000.0]))
    Tensor([0., 3.], dtype=f64)
    """
    return _log10(x)


def logaddexp(x1: Operand, x2: Operand, /) -> Tensor:
    """`log(exp(a) + exp(b))` of each pair of floats, without overflow.

    >>> import cloakwork as cw
    >>> cw.logaddexp(cw.asarray([1000.0]), -cw.inf)
    Tensor([1000.], dtype=f64)
    """
    return _logaddexp(x1, x2)


def sqrt(x: Tensor, /) -> Tensor:
    """The square root of each element; NaN for negative floats.

    >>> import cloakwork as cw
    >>> cw.sqrt(cw.asarray([4.0, 9.0]))
    Tensor([2., 3.], dtype=f64)
    """
    return _sqrt(x)
