"""NumPy's functions on tensors, by NumPy's two protocols for them: the results are tensors.

Universal functions that Cloakwork has are its own.  All others, and NumPy's other functions, run in
NumPy on the tensors' memory; arrays and scalars that they return become tensors, but for elements
that no tensor has.  Of a traced tensor there is no memory: TraceError names it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np

import cloakwork
from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.array_api.common import whole

# NumPy's names of universal functions, and ours.
_OPERATORS = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide",
    "floor_divide": "floor_divide", "remainder": "remainder", "power": "pow", "matmul": "matmul",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "equal": "equal", "not_equal": "not_equal", "less": "less", "less_equal": "less_equal",
    "greater": "greater", "greater_equal": "greater_equal",
}  # fmt: skip
# The same for those that NumPy also has for bool, and for integers, which it converts to floats of
# some size.
_OF_NUMBERS = {"negative": "negative", "absolute": "abs"}
_OF_FLOATS = {
    "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "log2": "log2",
    "log10": "log10", "sqrt": "sqrt", "square": "square", "sin": "sin", "cos": "cos",
    "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "conjugate": "conj",
}  # fmt: skip


def apply_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """The result of `ufunc.method(*inputs, **options)`, where some inputs are tensors."""
    name = _own(ufunc.__name__, inputs)
    if name is not None and method == "__call__" and not options:
        return getattr(cloakwork, name)(*inputs)
    if ufunc is np.divmod and method == "__call__" and not options:
        return cloakwork.floor_divide(*inputs), cloakwork.remainder(*inputs)
    out = options.get("out")
    if out is not None:
        options["out"] = tuple(_array(one) for one in out)
    found = getattr(ufunc, method)(*_arrays(inputs), **_arrays(options))
    return _tensors(found, () if out is None else out)


def _own(name: str, inputs: tuple[Any, ...]) -> str | None:
    """Our name of a universal function, if it is one for these inputs."""
    kinds = {x.dtype.kind if isinstance(x, Tensor) else "" for x in inputs}
    # Of elements of fields ours says what it takes.
    if kinds <= set("fcV") and name in _OF_FLOATS:
        return _OF_FLOATS[name]
    if kinds <= set("iufcV") and name in _OF_NUMBERS:
        return _OF_NUMBERS[name]
    return _OPERATORS.get(name)


def apply_function(
    function: Callable[..., Any],
    types: tuple[type, ...],
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """The result of a function of NumPy's that is no universal one; some arguments have tensors."""
    if not all(issubclass(kind, (Tensor, np.ndarray)) for kind in types):
        return NotImplemented
    out = options.get("out")
    found = function(*_arrays(args), **_arrays(options))
    return _tensors(found, () if out is None else out if isinstance(out, tuple) else (out,))


def rounded(x: Tensor, decimals: SupportsIndex | None) -> Tensor:
    """`round(x, decimals)`, as NumPy rounds."""
    if decimals is None or whole(decimals, "decimals") == 0:
        return cloakwork.round(x)
    found: Tensor = _tensors(np.round(_array(x), whole(decimals, "decimals")), ())
    return found


def _array(value: Any) -> Any:
    """A tensor as an array in the same memory; other values unchanged."""
    return np.asarray(value) if isinstance(value, Tensor) else value


def _arrays(value: Any) -> Any:
    """A structure of Python's with arrays for its tensors."""
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(_arrays(one) for one in value)
    if type(value) is dict:
        return {key: _arrays(one) for key, one in value.items()}
    return _array(value)


def _tensors(found: Any, out: tuple[Any, ...]) -> Any:
    """Results with tensors for arrays and scalars; what was given as `out` is itself the result."""
    if type(found) in (tuple, list):
        outs = out if len(out) == len(found) else (None,) * len(found)
        pairs = zip(found, outs, strict=True)
        return type(found)(_tensors(one, () if o is None else (o,)) for one, o in pairs)
    if isinstance(found, tuple) and hasattr(found, "_fields"):
        return type(found)(*(_tensors(one, ()) for one in found))
    if len(out) == 1 and out[0] is not None:
        return out[0]
    if isinstance(found, np.generic) or type(found) is np.ndarray:
        return _tensor(np.asarray(found))
    return found


def _tensor(array: np.ndarray[Any, Any]) -> Any:
    """An array as a tensor; the array itself if its elements are none of a tensor's."""
    known = array.dtype.name in _NAMES
    return cloakwork.asarray(array) if known else array


_NAMES = frozenset(dtype.name for dtype in _core.DTYPES)
