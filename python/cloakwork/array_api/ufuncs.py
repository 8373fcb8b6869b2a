"""NumPy's universal functions on tensors.

An operator between an array and a tensor computes a tensor.  All other functions run in NumPy on
the tensor's elements and return arrays, as NumPy's functions that use `__array__` do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import cloakwork
from cloakwork._core import Tensor

# NumPy's names of operators, and the functions that compute them here.
_OPERATORS = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide",
    "floor_divide": "floor_divide", "remainder": "remainder", "power": "pow", "matmul": "matmul",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "equal": "equal", "not_equal": "not_equal", "less": "less", "less_equal": "less_equal",
    "greater": "greater", "greater_equal": "greater_equal",
}  # fmt: skip


def apply(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The result of `ufunc.method(*inputs, **options)`, where some inputs are tensors."""
    operator = _OPERATORS.get(ufunc.__name__)
    if operator is not None and method == "__call__" and not options:
        return getattr(cloakwork, operator)(*inputs)
    given = [_array(value) for value in inputs]
    if (out := options.get("out")) is not None:
        options["out"] = tuple(_array(value) for value in out)
    return getattr(ufunc, method)(*given, **options)


def _array(value: Any) -> Any:
    """A tensor as an array in the same memory; other values unchanged."""
    return np.asarray(value) if isinstance(value, Tensor) else value
