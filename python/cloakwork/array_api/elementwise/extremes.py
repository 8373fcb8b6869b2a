"""The greater and the less, signs and neighbours."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork._core import Tensor
from cloakwork.array_api.common import WEAK, Operand
from cloakwork.array_api.elementwise.arithmetic import positive
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.native import native


@native
def maximum(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The greater of each pair of real elements; NaN if one is.

    >>> import cloakwork as cw
    >>> cw.maximum(cw.asarray([1, 5]), 3)
    Tensor([3, 5], dtype=i64)
    """


@native
def minimum(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The less of each pair of real elements; NaN if one is.

    >>> import cloakwork as cw
    >>> cw.minimum(cw.asarray([1, 5]), 3)
    Tensor([1, 3], dtype=i64)
    """


@native
def copysign(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The magnitude of the first of each pair with the sign of the second: floats.

    >>> import cloakwork as cw
    >>> cw.copysign(cw.asarray([1.0, 2.0]), -1.0)
    Tensor([-1., -2.], dtype=f64)
    """


@native
def nextafter(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The float next to the first of each pair on the way to the second.

    >>> import cloakwork as cw
    >>> cw.nextafter(cw.asarray([1.0]), 2.0) > 1
    Tensor([ True], dtype=bool)
    """


@native
def hypot(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /) -> Tensor:
    """The length of the hypotenuse over each pair of floats.

    >>> import cloakwork as cw
    >>> cw.hypot(cw.asarray([3.0]), 4.0)
    Tensor([5.], dtype=f64)
    """


def clip(
    x: Tensor | ArrayLike,
    /,
    min: Operand | ArrayLike | None = None,
    max: Operand | ArrayLike | None = None,
) -> Tensor:
    """Each real element, but no less than `min` and no greater than `max`; NaN where one is.

    An integer of Python's beyond the dtype bounds nothing, or is an OverflowError: see `maximum`.

    >>> import cloakwork as cw
    >>> cw.clip(cw.asarray([1, 5, 9]), 2, 8)
    Tensor([2, 5, 8], dtype=i64)
    """
    result = operand(x)
    if min is not None:
        try:
            result = maximum(result, min if type(min) in WEAK else operand(min, "min"))
        except OverflowError:
            if not (isinstance(min, int) and min < 0):
                raise
    if max is not None:
        try:
            return minimum(result, max if type(max) in WEAK else operand(max, "max"))
        except OverflowError:
            if not (isinstance(max, int) and max > 0):
                raise
    return positive(result)
