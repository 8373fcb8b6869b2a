"""The greater and the less, signs and neighbours."""

from __future__ import annotations

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.array_api.common import Operand

_maximum = _core.elementwise("maximum")
_minimum = _core.elementwise("minimum")
_positive = _core.elementwise("positive")
_copysign = _core.elementwise("copysign")
_nextafter = _core.elementwise("nextafter")
_hypot = _core.elementwise("hypot")


def maximum(x1: Operand, x2: Operand, /) -> Tensor:
    """The greater of each pair of real elements; NaN if one is.

    >>> import cloakwork as cw
    >>> cw.maximum(cw.asarray([1, 5]), 3)
    Tensor([3, 5], dtype=i64)
    """
    return _maximum(x1, x2)


def minimum(x1: Operand, x2: Operand, /) -> Tensor:
    """The less of each pair of real elements; NaN if one is.

    >>> import cloakwork as cw
    >>> cw.minimum(cw.asarray([1, 5]), 3)
    Tensor([1, 3], dtype=i64)
    """
    return _minimum(x1, x2)


def copysign(x1: Operand, x2: Operand, /) -> Tensor:
    """The magnitude of the first of each pair with the sign of the second: floats.

    >>> import cloakwork as cw
    >>> cw.copysign(cw.asarray([1.0, 2.0]), -1.0)
    Tensor([-1., -2.], dtype=f64)
    """
    return _copysign(x1, x2)


def nextafter(x1: Operand, x2: Operand, /) -> Tensor:
    """The float next to the first of each pair on the way to the second.

    >>> import cloakwork as cw
    >>> cw.nextafter(cw.asarray([1.0]), 2.0) > 1
    Tensor([ True], dtype=bool)
    """
    return _nextafter(x1, x2)


def hypot(x1: Operand, x2: Operand, /) -> Tensor:
    """The length of the hypotenuse over each pair of floats.

    >>> import cloakwork as cw
    >>> cw.hypot(cw.asarray([3.0]), 4.0)
    Tensor([5.], dtype=f64)
    """
    return _hypot(x1, x2)


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Each real element, but no less than `min` and no greater than `max`; NaN where one is.

    >>> import cloakwork as cw
    >>> cw.clip(cw.asarray([1, 5, 9]), 2, 8)
    Tensor([2, 5, 8], dtype=i64)
    """
    result = x if min is None else _maximum(x, min)
    return _positive(result) if max is None else _minimum(result, max)
