"""Operations on plain numbers and tensors: `arith`, and `tensor` also of ciphertexts."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.fhe.heir.text import Operation
from cloakwork.fhe.heir.values import boxed, dtype_of, shape_of

Binary = Callable[[Any, Any], Any]
_WHOLE_BITS = 62


def _truncated(a: Any, b: Any) -> Any:
    """The quotient, rounded towards zero."""
    found = np.floor_divide(np.abs(a), np.abs(b)) * (np.sign(a) * np.sign(b))
    return found if isinstance(found, np.ndarray) else int(found)


def _ceiling(a: Any, b: Any) -> Any:
    return -((-a) // b)


BINARY: dict[str, Binary] = {
    "arith.addi": operator.add, "arith.addf": operator.add, "arith.subi": operator.sub,
    "arith.subf": operator.sub, "arith.muli": operator.mul, "arith.mulf": operator.mul,
    "arith.divf": operator.truediv, "arith.floordivsi": operator.floordiv,
    "arith.ceildivsi": _ceiling, "arith.divsi": _truncated,
    "arith.remsi": lambda a, b: a - b * _truncated(a, b),
    "arith.andi": operator.and_, "arith.ori": operator.or_, "arith.xori": operator.xor,
    "arith.minsi": np.minimum, "arith.maxsi": np.maximum,
    "arith.minimumf": np.minimum, "arith.maximumf": np.maximum,
}  # fmt: skip
_COMPARED: dict[str, Binary] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
COMPARISONS = ("arith.cmpi", "arith.cmpf")
_INTEGER_DIVISIONS = ("arith.floordivsi", "arith.ceildivsi", "arith.divsi", "arith.remsi")
UNARY: dict[str, Callable[[Any], Any]] = {
    "arith.negf": operator.neg, "arith.index_cast": operator.pos, "arith.extsi": operator.pos,
    "arith.trunci": operator.pos, "arith.extf": operator.pos, "arith.truncf": operator.pos,
    "arith.sitofp": lambda a: a * 1.0,
}  # fmt: skip


def numeric(operation: Operation, values: list[Any]) -> Any:
    """The value of an operation of `arith`; LoadError for operands that are no numbers."""
    for value in values:
        numbers = isinstance(value, int | float | np.integer | np.floating)
        if not numbers and not (isinstance(value, np.ndarray) and value.dtype != object):
            raise operation.wrong(f"numbers, found {type(value).__name__}")
    if operation.name in UNARY:
        found = UNARY[operation.name](_given(operation, values, 1)[0])
    else:
        a, b = _given(operation, values, 2)
        if operation.name in COMPARISONS:
            return _compared(operation, a, b)
        if operation.name in _INTEGER_DIVISIONS and not np.all(b):
            raise operation.wrong("a divisor other than 0")
        found = BINARY[operation.name](a, b)
    if isinstance(found, int) and found.bit_length() > _WHOLE_BITS:
        raise operation.wrong("integers below 2^62")
    return found


def _compared(operation: Operation, a: Any, b: Any) -> Any:
    """1 or 0, by a predicate such as slt, ult or one."""
    predicate = operation.header.partition(",")[0].strip()
    found = _COMPARED.get(predicate if predicate in _COMPARED else predicate[1:])
    if found is None or predicate[0] == "u":
        raise operation.wrong(f"a signed or ordered predicate, found {predicate[:20]!r}")
    result = found(a, b)
    return result.astype(np.int64) if isinstance(result, np.ndarray) else int(result)


def _given(operation: Operation, values: list[Any], count: int) -> list[Any]:
    if len(values) != count:
        raise operation.wrong(f"{count} operands, found {len(values)}")
    return values


def empty(operation: Operation) -> NDArray[Any]:
    """`tensor.empty`: zeros, or places for ciphertexts."""
    shape = shape_of(operation.result_type, operation)
    return np.zeros(shape.sizes, dtype=dtype_of(shape.element) if shape.is_number else object)


def splat(operation: Operation, value: Any) -> NDArray[Any]:
    """`tensor.splat`: one value everywhere."""
    found = empty(operation)
    return boxed([value] * found.size, found.shape) if found.dtype == object else found + value


def from_elements(operation: Operation, values: list[Any]) -> NDArray[Any]:
    """`tensor.from_elements`, in the order of the last axis."""
    found = empty(operation)
    if found.size != len(values):
        raise operation.wrong(f"{found.size} elements, found {len(values)}")
    flat = found.reshape(-1)
    for place, value in enumerate(values):
        flat[place] = value
    return found


def array(operation: Operation, value: Any) -> NDArray[Any]:
    """A tensor operand."""
    if not isinstance(value, np.ndarray):
        raise operation.wrong(f"a tensor, found {type(value).__name__}")
    return value


def index(operation: Operation, value: Any) -> int:
    """A whole number operand."""
    if not isinstance(value, int | np.integer):
        raise operation.wrong(f"a whole number, found {type(value).__name__}")
    return int(value)


def within(operation: Operation, held: NDArray[Any], places: list[int]) -> tuple[int, ...]:
    """The place of an element; LoadError beside the tensor."""
    inside = all(0 <= at < size for at, size in zip(places, held.shape, strict=False))
    if len(places) != held.ndim or not inside:
        raise operation.wrong(f"an index into {held.shape}, found {places}")
    return tuple(places)


def window(
    operation: Operation, shape: tuple[int, ...], value_of: Callable[[str], Any]
) -> tuple[slice, ...]:
    """[offsets] [sizes] [steps] of a slice, which lies within a shape."""
    lists = re.findall(r"\[([^\]]*)\]", operation.header)
    if len(lists) != 3:
        raise operation.wrong("[offsets] [sizes] [steps]")
    rows = [[_number(operation, part, value_of) for part in text.split(",") if part.strip()]
            for text in lists]  # fmt: skip
    if any(len(row) != len(shape) for row in rows):
        raise operation.wrong(f"{len(shape)} offsets, sizes and steps")
    found = []
    for start, count, step, size in zip(*rows, shape, strict=True):
        if step < 1 or count < 0 or start < 0 or (count and start + (count - 1) * step >= size):
            raise operation.wrong(f"a slice within {shape}, found {lists}")
        found.append(slice(start, start + count * step, step))
    return tuple(found)


def _number(operation: Operation, text: str, value_of: Callable[[str], Any]) -> int:
    text = text.strip()
    if text.startswith("%"):
        return index(operation, value_of(text))
    if not re.fullmatch(r"-?\d{1,18}", text):
        raise operation.wrong(f"a number, found {text[:40]!r}")
    return int(text)
