"""Methods of tensors by NumPy's names and with NumPy's parameters.

`cloakwork.Tensor` gets them when the package is imported.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from cloakwork._core import Tensor

if TYPE_CHECKING:
    import cloakwork
    from cloakwork.array_api.common import Axis, Operand
    from cloakwork.tensors.conversion import DTypeLike
else:
    # The package imports this module first; its functions are looked up by calls.
    cloakwork = sys.modules["cloakwork"]


def sum(
    self: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
) -> Tensor:
    """See `cloakwork.sum`."""
    _no_out(out)
    return cloakwork.sum(self, axis=axis, dtype=dtype, keepdims=keepdims)


def prod(
    self: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
) -> Tensor:
    """See `cloakwork.prod`."""
    _no_out(out)
    return cloakwork.prod(self, axis=axis, dtype=dtype, keepdims=keepdims)


def mean(
    self: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
) -> Tensor:
    """See `cloakwork.mean`; integers are computed as float64."""
    _no_out(out)
    return cloakwork.mean(_floating(self, dtype), axis=axis, keepdims=keepdims)


def std(
    self: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0.0,
    keepdims: bool = False,
) -> Tensor:
    """See `cloakwork.std`; integers are computed as float64."""
    _no_out(out)
    values = _floating(self, dtype)
    return cloakwork.std(values, axis=axis, correction=ddof, keepdims=keepdims)


def var(
    self: Tensor,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0.0,
    keepdims: bool = False,
) -> Tensor:
    """See `cloakwork.var`; integers are computed as float64."""
    _no_out(out)
    values = _floating(self, dtype)
    return cloakwork.var(values, axis=axis, correction=ddof, keepdims=keepdims)


def max(self: Tensor, axis: Axis = None, out: None = None, keepdims: bool = False) -> Tensor:
    """See `cloakwork.max`."""
    _no_out(out)
    return cloakwork.max(self, axis=axis, keepdims=keepdims)


def min(self: Tensor, axis: Axis = None, out: None = None, keepdims: bool = False) -> Tensor:
    """See `cloakwork.min`."""
    _no_out(out)
    return cloakwork.min(self, axis=axis, keepdims=keepdims)


def any(self: Tensor, axis: Axis = None, out: None = None, keepdims: bool = False) -> Tensor:
    """See `cloakwork.any`."""
    _no_out(out)
    return cloakwork.any(self, axis=axis, keepdims=keepdims)


def all(self: Tensor, axis: Axis = None, out: None = None, keepdims: bool = False) -> Tensor:
    """See `cloakwork.all`."""
    _no_out(out)
    return cloakwork.all(self, axis=axis, keepdims=keepdims)


def argmax(
    self: Tensor, axis: int | None = None, out: None = None, *, keepdims: bool = False
) -> Tensor:
    """See `cloakwork.argmax`."""
    _no_out(out)
    return cloakwork.argmax(self, axis=axis, keepdims=keepdims)


def argmin(
    self: Tensor, axis: int | None = None, out: None = None, *, keepdims: bool = False
) -> Tensor:
    """See `cloakwork.argmin`."""
    _no_out(out)
    return cloakwork.argmin(self, axis=axis, keepdims=keepdims)


def cumsum(
    self: Tensor, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Tensor:
    """See `cloakwork.cumsum`."""
    _no_out(out)
    return cloakwork.cumsum(self, axis, dtype)


def cumprod(
    self: Tensor, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Tensor:
    """See `cloakwork.cumprod`."""
    _no_out(out)
    return cloakwork.cumprod(self, axis, dtype)


def ravel(self: Tensor) -> Tensor:
    """See `cloakwork.ravel`."""
    return cloakwork.ravel(self)


def round(self: Tensor, decimals: int = 0, out: None = None) -> Tensor:
    """The elements to so many decimals, as `round(x, decimals)`."""
    _no_out(out)
    return self.__round__(decimals)


def clip(
    self: Tensor, min: Operand | None = None, max: Operand | None = None, out: None = None
) -> Tensor:
    """See `cloakwork.clip`."""
    _no_out(out)
    return cloakwork.clip(self, min, max)


def dot(self: Tensor, b: Operand, out: None = None) -> Tensor:
    """See `cloakwork.dot`; a number of Python's takes the dtype of the tensor."""
    _no_out(out)
    is_number = isinstance(b, bool | int | float | complex)
    if is_number:
        return self * b
    if not isinstance(b, Tensor):
        from cloakwork.tensors.arrays import operand

        b = operand(b, "b")
    return cloakwork.dot(self, b)


def transpose(self: Tensor, *axes: Any) -> Tensor:
    """A view with the axes in another order: the opposite one, unless said otherwise."""
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return cloakwork.transpose(self, given or None)


def take(self: Tensor, indices: Tensor, axis: int | None = None) -> Tensor:
    """See `cloakwork.take`; of all elements in row-major order without an axis."""
    values, axis = (self.reshape(-1), 0) if axis is None else (self, axis)
    return cloakwork.take(values, indices, axis=axis)


def repeat(self: Tensor, repeats: int | Tensor, axis: int | None = None) -> Tensor:
    """See `cloakwork.repeat`."""
    return cloakwork.repeat(self, repeats, axis=axis)


def argsort(self: Tensor, axis: int | None = -1) -> Tensor:
    """See `cloakwork.argsort`."""
    values, axis = (self.reshape(-1), 0) if axis is None else (self, axis)
    return cloakwork.argsort(values, axis=axis)


def nonzero(self: Tensor) -> tuple[Tensor, ...]:
    """See `cloakwork.nonzero`."""
    return cloakwork.nonzero(self)


def conj(self: Tensor) -> Tensor:
    """The complex conjugates; the elements themselves where they are real."""
    return cloakwork.conj(self) if self.dtype.kind == "c" else self


def tobytes(self: Tensor) -> bytes:
    """The elements in row-major order as bytes of this machine's byte order."""
    return bytes(memoryview(self.contiguous()).cast("B")) if self.size else b""


def _floating(x: Tensor, dtype: DTypeLike | None) -> Tensor:
    if dtype is not None:
        return x.astype(dtype)
    return x if x.dtype.kind in "fc" else x.astype(cloakwork.float64)


def _no_out(out: object) -> None:
    if out is not None:
        from cloakwork.errors import ParamError

        how = "None: methods return new tensors; assign with x[...] = result"
        raise ParamError("out", type(out).__name__, how)


METHODS = (
    all, any, argmax, argmin, argsort, clip, conj, cumprod, cumsum, dot, max, mean, min, nonzero,
    prod, ravel, repeat, round, std, sum, take, tobytes, transpose, var,
)  # fmt: skip


def attach() -> None:
    """Give them to the class: an attribute of the class is found faster than one that is made."""
    for method in METHODS:
        setattr(Tensor, method.__name__, method)
