"""Powers, logarithms and roots of floats and complex numbers."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import Operand
from cloakwork.tensors.native import native


@native
def exp(x: Operand | ArrayLike, /) -> Tensor:
    """E to the power of each element.

    >>> import cloakwork as cw
    >>> cw.exp(cw.asarray([0.0, 1.0]))
    Tensor([1.        , 2.71828183], dtype=f64)
    """


@native
def expm1(x: Operand | ArrayLike, /) -> Tensor:
    """E to the power of each element, less 1: exact near 0.

    >>> import cloakwork as cw
    >>> cw.expm1(cw.asarray([0.0, 1e-20]))
    Tensor([0.e+00, 1.e-20], dtype=f64)
    """


@native
def log(x: Operand | ArrayLike, /) -> Tensor:
    """The natural logarithm of each element.

    >>> import cloakwork as cw
    >>> cw.log(cw.asarray([1.0, cw.e]))
    Tensor([0., 1.], dtype=f64)
    """


@native
def log1p(x: Operand | ArrayLike, /) -> Tensor:
    """The natural logarithm of 1 and each element: exact near 0.

    >>> import cloakwork as cw
    >>> cw.log1p(cw.asarray([0.0, 1e-20]))
    Tensor([0.e+00, 1.e-20], dtype=f64)
    """


@native
def log2(x: Operand | ArrayLike, /) -> Tensor:
    """The logarithm to base 2 of each element.

    >>> import cloakwork as cw
    >>> cw.log2(cw.asarray([1.0, 8.0]))
    Tensor([0., 3.], dtype=f64)
    """


@native
def log10(x: Operand | ArrayLike, /) -> Tensor:
    """The logarithm to base 10 of each element.

    >>> import cloakwork as cw
    >>> cw.log10(cw.asarray([1.0, 1000.0]))
    Tensor([0., 3.], dtype=f64)
    """


@native
def logaddexp(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """`log(exp(a) + exp(b))` of each pair of floats, without overflow.

    >>> import cloakwork as cw
    >>> cw.logaddexp(cw.asarray([1000.0]), -cw.inf)
    Tensor([1000.], dtype=f64)
    """


@native
def sqrt(x: Operand | ArrayLike, /) -> Tensor:
    """The square root of each element; NaN for negative floats.

    >>> import cloakwork as cw
    >>> cw.sqrt(cw.asarray([4.0, 9.0]))
    Tensor([2., 3.], dtype=f64)
    """
