"""The components of complex numbers."""

from __future__ import annotations

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.array_api.common import REAL_OF
from cloakwork.array_api.creation import zeros_like
from cloakwork.tensors.arrays import of_array

_conj = _core.elementwise("conj")
_imag = _core.elementwise("imag")
_real = _core.elementwise("real")


@of_array
def real(x: Tensor, /) -> Tensor:
    """The real part of each element, which a real element is itself.

    >>> import cloakwork as cw
    >>> cw.real(cw.asarray([1 + 2j]))
    Tensor([1.], dtype=f64)
    """
    return _real(x) if x.dtype.name in REAL_OF else x


@of_array
def imag(x: Tensor, /) -> Tensor:
    """The imaginary part of each element, 0 for real elements.

    >>> import cloakwork as cw
    >>> cw.imag(cw.asarray([1 + 2j]))
    Tensor([2.], dtype=f64)
    """
    return _imag(x) if x.dtype.name in REAL_OF else zeros_like(x)


@of_array
def conj(x: Tensor, /) -> Tensor:
    """Each element with the sign of its imaginary part changed.

    >>> import cloakwork as cw
    >>> cw.conj(cw.asarray([1 + 2j]))
    Tensor([1.-2.j], dtype=c128)
    """
    return _conj(x) if x.dtype.name in REAL_OF else x
