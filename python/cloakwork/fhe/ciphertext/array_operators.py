"""Powers, quotients, sums, indexing and NumPy functions of ciphertexts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from numbers import Complex, Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np

from cloakwork._core import Tensor
from cloakwork.errors import AxisError, LevelError, ParamError, TensorIndexError
from cloakwork.fhe.ciphertext.refusals import refuse
from cloakwork.fhe.operands import full_precision

if TYPE_CHECKING:
    from cloakwork.fhe.ciphertext import Ciphertext

Some = TypeVar("Some", bound="Ciphertext")
Rotations = Sequence[int] | Mapping[int, int] | Literal["all"]
Axes = int | tuple[int, ...] | None

# The largest multiplicative depth of a power.
_MOST_DEPTH = 64


def power(x: Some, exponent: object) -> Some:
    """X to a nonnegative integer power, with the least depth of products: ceil(log2 exponent)."""
    if not isinstance(exponent, int | np.integer | float) or not 0 <= exponent < inf:
        x.refuse_power(exponent)
    if exponent != int(exponent):
        x.refuse_power(exponent)
    number = int(exponent)
    if number.bit_length() > _MOST_DEPTH:
        wanted = f"a whole number below 2^{_MOST_DEPTH}: no chain of moduli is as long"
        raise ParamError("exponent", f"one of {number.bit_length()} bits", wanted)
    if number == 0:
        return x * 0 + 1
    if not x.context.automatic and number > 2:
        from cloakwork.fhe.circuits.polynomial import Polynomial

        if number.bit_length() - 1 > x.level:
            levels = f"{(number - 1).bit_length()} levels for this exponent"
            raise LevelError("power", levels, x.level, "begin with a longer modulus chain")
        return cast("Some", Polynomial([0] * number + [1])(cast("Any", x)))
    powers = {1: x}
    return _power(powers, number)


def _power(powers: dict[int, Some], number: int) -> Some:
    """The power as that of the largest power of two below the exponent times the rest."""
    if number not in powers:
        high = 1 << (number - 1).bit_length() - 1
        low = number - high
        a = _power(powers, high)
        powers[number] = a.square() if low == high else a * _power(powers, low)
    return powers[number]


def quotient(x: Some, divisor: Any) -> Some:
    """X over a number, or over an array of numbers that fits its packing."""
    known = isinstance(divisor, Complex | np.ndarray | Tensor | list | tuple)
    if not known or x.context.parameters.scheme != "ckks":
        x.refuse_quotient(divisor)
    numbers = full_precision(divisor)
    if numbers.dtype.kind not in "fc":
        x.refuse_quotient(divisor)
    if not numbers.all():
        raise ZeroDivisionError("x / y: a divisor is 0")
    with np.errstate(over="ignore"):
        inverse = 1 / numbers
    return x * (inverse.item() if inverse.ndim == 0 else inverse)


def picked(x: Some, key: Any) -> Some:
    """The ciphertexts of a batch at an index or in a slice."""
    if x.batch is None:
        x.refuse_indices()
    if isinstance(key, slice):
        count = len(range(*key.indices(x.batch)))
        if count == 0:
            raise TensorIndexError(f"{key}: out of range for {x.batch} ciphertexts")
        return x._picked(key)
    if not isinstance(key, int | np.integer) or isinstance(key, bool):
        raise TensorIndexError(f"{key!r}: a batch takes an integer or a slice; see x.rotate")
    if not -x.batch <= key < x.batch:
        raise TensorIndexError(f"{key}: a batch of {x.batch} ciphertexts")
    return x._picked(int(key))


def summed(x: Some, axis: Axes) -> Some:
    """Sums along axes of `x.shape`; sums of slots are in the first slot, and the axis stays."""
    rank = len(x.shape)
    given: Any = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    for own in given:
        whole = isinstance(own, int | np.integer) and not isinstance(own, bool)
        if not whole or not -rank <= own < rank:
            raise AxisError("axis", own, f"one of x.shape = {x.shape}")
    axes = sorted({int(own) % rank for own in given}, reverse=True)
    if len(axes) < len(given):
        raise AxisError("axis", axis, "each axis once")
    for own in axes:
        if x.batch is not None and own == 0:
            x = _added(x)
        elif own == rank - 1:
            x = _along_slots(x)
        else:
            x = _along_vectors(x)
    return x


def _added(x: Some) -> Some:
    """The sum of the ciphertexts of a batch, by recursive halving."""
    assert x.batch is not None
    half, odd = divmod(x.batch, 2)
    if half == 0:
        return x[0]
    pairs = _added(x[:half] + x[half : 2 * half])
    return pairs + x[2 * half] if odd else pairs


def _along_slots(x: Some) -> Some:
    """Sum each vector into its first slot."""
    held = x.packing
    found = _over_rows(x, held.length, 1)
    return replace(found, packing=held.first())


def _along_vectors(x: Some) -> Some:
    """Sum all vectors into the first one."""
    held = x.packing
    assert held.count is not None
    if held.tiled:
        turned = x.rotate_columns()  # type: ignore[attr-defined]  # integers alone have two rows
        both: Some = x + replace(turned, packing=held)
        return replace(both, packing=replace(held, count=None))
    found = _over_rows(x, held.count, held.period)
    return replace(found, packing=x.context.packing(held.length))


def _over_rows(x: Some, count: int, stride: int) -> Some:
    """The sum of `count` slots j, j + stride, ...; BGV's continue in the second row."""
    inside = x.packing.row // stride
    first = x.strided_sum(min(count, inside), stride)
    if count <= inside:
        return first
    second = first if count == 2 * inside else x.strided_sum(count - inside, stride)
    turned: Some = second.rotate_columns()  # type: ignore[attr-defined]
    whole = x.context.whole
    return replace(first, packing=whole) + replace(turned, packing=whole)


_ARITHMETIC: dict[str, tuple[str, str]] = {
    "add": ("__add__", "__radd__"), "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"), "true_divide": ("__truediv__", "__rtruediv__"),
    "divide": ("__truediv__", "__rtruediv__"), "power": ("__pow__", "__rpow__"),
    "float_power": ("__pow__", "__rpow__"), "matmul": ("__matmul__", "__rmatmul__"),
}  # fmt: skip
_UNARY: dict[str, Callable[[Any], Any]] = {
    "negative": lambda x: -x, "positive": lambda x: x, "square": lambda x: x.square(),
    "conjugate": lambda x: x.conjugate() if hasattr(x, "conjugate") else x,
}  # fmt: skip


def numpy_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: Any) -> Any:
    """A NumPy ufunc on a ciphertext: arithmetic, or an error that names an alternative."""
    from cloakwork.fhe.ciphertext import Ciphertext

    name = ufunc.__name__
    own = next(value for value in inputs if isinstance(value, Ciphertext))
    if method != "__call__" or options:
        refuse(f"np.{name}.{method}", "use operators, without out= or where=")
    if name in _UNARY:
        return _UNARY[name](own)
    if name not in _ARITHMETIC:
        own.refuse_ufunc(name, ufunc.nin)
    left, right = inputs
    plain, mirrored = _ARITHMETIC[name]
    first = isinstance(left, Ciphertext)
    found: Any = getattr(left, plain)(right) if first else getattr(right, mirrored)(left)
    if found is NotImplemented:
        refuse(f"np.{name}", "operands are ciphertexts, numbers, arrays of numbers or plaintexts")
    return found


def numpy_function(
    x: Ciphertext, function: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """A NumPy function on a ciphertext: `np.sum`, `np.shape`, or an error."""
    if function is np.sum and len(args) <= 2 and options.keys() <= {"axis"}:
        return args[0].sum(*args[1:], **options)
    if function is np.shape and not options:
        return args[0].shape
    return x.refuse_function(function.__name__)


def steps_to_add(rotations: Any, row: int) -> list[int]:
    """The steps of `keygen(rotations=...)`; ParamError for other values."""
    if isinstance(rotations, str) and rotations == "all":
        return [1 << log for log in range(row.bit_length() - 1)]
    allowed = (
        "whole numbers of steps, such as [1, 2, -1], also with the level of each, as {1: 5}, or "
        '"all": powers of two reach every step'
    )
    if isinstance(rotations, str | bytes | Real) or not np.iterable(rotations):
        raise ParamError("rotations", repr(rotations), allowed)
    found = list(rotations)
    if not all(isinstance(step, Integral) for step in found):
        raise ParamError("rotations", found, allowed)
    return [int(step) for step in found]
