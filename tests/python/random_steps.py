"""Inputs and steps of random expressions, as they are called on tensors and on NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rng = np.random.Generator

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS, *FLOATS, "complex64", "complex128"]
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0])
# Results of more elements are not computed with.
_MOST = 200_000

EXACT_FLOATS = ["sqrt", "floor", "ceil", "trunc", "round", "isnan", "isfinite", "signbit", "abs"]
FUNCTIONS = ["exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "tanh", "atan"]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]
LOGIC = ["logical_and", "logical_or", "logical_xor"]


@dataclass
class Step:
    """A call on earlier values, by their places."""

    text: str
    operands: list[int]
    function: Callable[..., Any]
    # Units in the last place, of the largest element where they are summed; 0 for exact results.
    units: float = 0
    sums: bool = False
    # Whether it adds or multiplies floats in an order of its own.
    reduces: bool = False
    # Whether NumPy says which zero is the greater one.
    orders_zeros: bool = True
    # The name and numbers for `execute_batch`.
    operation: str | None = None
    numbers: tuple[Any, ...] = ()

    def differs(self, found: Array, expected: Array, values: list[Array]) -> str:
        """How a result differs from NumPy's; "" if it does not."""
        if (found.dtype, found.shape) != (expected.dtype, expected.shape):
            return f"{found.dtype}{found.shape}, expected {expected.dtype}{expected.shape}"
        if expected.dtype.kind == "c" and not np.all(np.isfinite(expected)):
            return ""  # C and NumPy differ about infinities of complex numbers
        within = 0.0
        if self.units and expected.dtype.kind in "fc":
            unit = self.units * np.finfo(expected.dtype).eps
            within = unit * self._reach(values) if self.sums else 0.0
            close = np.isclose(found, expected, rtol=unit, atol=within or 1e-44, equal_nan=True)
        else:
            close = (found == expected) | (np.isnan(found) & np.isnan(expected))
            if expected.dtype.kind == "f" and self.orders_zeros:
                close &= (np.signbit(found) == np.signbit(expected)) | np.isnan(expected)
        if np.all(close):
            return ""
        place = tuple(int(axis[0]) for axis in np.nonzero(~np.atleast_1d(close)))
        got, wanted = (np.atleast_1d(array)[place] for array in (found, expected))
        return f"{got!r}, expected {wanted!r} at {place}, within {within}"

    def _reach(self, values: list[Array]) -> float:
        """What sums and products of the operands can be at most, without infinities."""
        sizes = [np.abs(values[place].astype(np.complex128)) for place in self.operands]
        largest = [np.max(size[np.isfinite(size)], initial=0) for size in sizes]
        return float(np.prod(largest) * max(size.size for size in sizes))


def inputs(rng: Rng, large: int) -> list[Array]:
    """One to three arrays whose shapes broadcast, in some layout."""
    sizes = rng.choice([0, 1, 2, 3, 4, 7], rng.integers(0, 4), p=_SIZES)
    shape = tuple(int(size) for size in sizes)
    if large:
        shape = (large,)
    return [_array(rng, shape) for _ in range(int(rng.integers(1, 4)))]


_SIZES = [0.04, 0.16, 0.2, 0.25, 0.25, 0.1]


def _array(rng: Rng, shape: tuple[int, ...]) -> Array:
    dtype = np.dtype(str(rng.choice(DTYPES)))
    shape = tuple(1 if size < 9 and rng.random() < 0.15 else size for size in shape)
    shape = shape[int(rng.integers(len(shape) + 1)) :] if rng.random() < 0.15 else shape
    values = rng.integers(0 if dtype.kind in "bu" else -9, 10, shape).astype(dtype)
    if dtype.kind in "fc":
        values = values + rng.choice([0, 0.5, 0.1], shape).astype(dtype)
    if dtype.kind == "c":
        values = values + dtype.type(1j) * rng.integers(-3, 4, shape).astype(dtype)
    if dtype.kind == "f" and rng.random() < 0.3:
        values = np.where(rng.random(shape) < 0.3, rng.choice(SPECIAL, shape), values)
    return _laid_out(rng, np.asarray(values, dtype=dtype))


def _laid_out(rng: Rng, array: Array) -> Array:
    """The array transposed, backwards, or with gaps."""
    choice = int(rng.integers(5))
    if choice == 0:
        return np.ascontiguousarray(array.T).T
    if choice == 1 and array.ndim:
        return np.ascontiguousarray(array[::-1])[::-1]
    if choice == 2 and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    return array


def step(rng: Rng, values: list[Array], row_major: list[bool]) -> Step:
    """A step that NumPy and the tensors compute alike.

    row_major   whether the elements of each value are: the order of additions depends on strides
                (docs/tensor.md), and inputs of programs are row-major, so that sums of floats are
                of values that are
    """
    while True:
        place = int(rng.integers(len(values)))
        if rng.random() < 0.5:
            place = len(values) - 1  # long expressions, not many short ones
        if values[place].size > _MOST:
            continue
        makers = [_of_one, _of_two, _of_two, _with_number, _layout, _layout, _reduction, _other]
        made = makers[int(rng.integers(len(makers)))](rng, values, place)
        if made is None:
            continue
        if not made.reduces or all(row_major[operand] for operand in made.operands):
            return made


def _call(name: str, operands: list[int], *numbers: Any, units: float = 0) -> Step:
    given = ", ".join([*(f"v{place}" for place in operands), *map(repr, numbers)])
    function = lambda xp, *arrays: getattr(xp, name)(*arrays, *numbers)  # noqa: E731
    return Step(f"{name}({given})", operands, function, units, operation=name, numbers=numbers)


def _of_one(rng: Rng, values: list[Array], place: int) -> Step | None:
    kind = values[place].dtype.kind
    if kind == "b":
        return _call("logical_not", [place])
    if kind in "iu":
        names = ["negative", "abs", "square", "sign", "bitwise_invert"]
        return _call(str(rng.choice(names)), [place])
    if kind == "c":
        return _call(str(rng.choice(["negative", "positive", "conj", "real", "imag"])), [place])
    if rng.random() < 0.5:
        return _call(str(rng.choice([*EXACT_FLOATS, "negative", "square", "sign"])), [place])
    return _call(str(rng.choice(FUNCTIONS)), [place], units=8)


def _of_two(rng: Rng, values: list[Array], place: int) -> Step | None:
    other = int(rng.integers(len(values)))
    a, b = values[place], values[other]
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return None
    kinds = {a.dtype.kind, b.dtype.kind}
    if kinds == {"i", "u"} and "uint64" in (a.dtype.name, b.dtype.name):
        return None  # a TypeError, as docs/tensor.md says
    if int(np.prod(shape)) > _MOST:
        return None
    kind: str = np.result_type(a, b).kind
    if kind == "f" and not (np.all(np.isfinite(a)) and np.all(np.isfinite(b)) and np.all(b)):
        kind = "special"
    if a.dtype == b.dtype and a.shape == shape and kind != "b" and rng.random() < 0.1:
        return Step(f"copy of v{place}, += v{other}", [place, other], _added)
    return _binary(rng, kind, [place, other])


def _added(xp: Any, a: Any, b: Any) -> Any:
    copy = xp.asarray(a, copy=True)
    copy += b
    return copy


REAL = ["add", "subtract", "multiply", "maximum", "minimum", "divide", "hypot", "atan2",
        "copysign", "logaddexp", *COMPARISONS]  # fmt: skip
_NAMES = {
    "b": [*LOGIC, *BITS, "equal", "not_equal"],
    "i": ["add", "subtract", "multiply", "maximum", "minimum", "floor_divide", "remainder",
          "divide", *COMPARISONS, *BITS],
    "f": [*REAL, "floor_divide", "remainder"],
    # The standard's quotients of infinities, and by 0, are not NumPy's (docs/from-numpy.md).
    "special": REAL,
    "c": ["add", "subtract", "multiply", "equal", "not_equal"],
}  # fmt: skip
_INEXACT = {"hypot", "atan2", "logaddexp"}


def _binary(rng: Rng, kind: str, operands: list[int], *numbers: Any) -> Step:
    name = str(rng.choice(_NAMES["i" if kind == "u" else kind]))
    products = kind == "c" and name == "multiply"
    made = _call(name, operands, *numbers, units=8 if name in _INEXACT or products else 0)
    # Near 0 a logarithm of a sum is as exact as its operands.
    made.sums = products or name == "logaddexp"
    made.orders_zeros = name not in ("maximum", "minimum")
    return made


def _with_number(rng: Rng, values: list[Array], place: int) -> Step | None:
    kind: str = values[place].dtype.kind
    number = int(rng.integers(0, 5))
    if kind == "b":
        return _binary(rng, "b", [place], bool(number % 2))
    if kind in "iuf" and rng.random() < 0.15:
        return _call("pow", [place], number % 4, units=4)
    half = kind in "fc" and rng.random() < 0.5
    if kind == "f" and not (np.all(np.isfinite(values[place])) and number):
        kind = "special"
    return _binary(rng, kind, [place], number / 2 if half else number)


def _keyed(place: int, key: tuple[Any, ...]) -> Step:
    return Step(f"v{place}[{key!r}]", [place], lambda _, a: a[key])


def _named(name: str, place: int, **options: Any) -> Step:
    function = lambda xp, a: getattr(xp, name)(a, **options)  # noqa: E731
    return Step(f"{name}(v{place}, **{options})", [place], function)


def _written(rng: Rng, array: Array, place: int) -> Step:
    """A copy, with what views of it are written."""
    keys = [tuple(_slice(rng, size) for size in array.shape) for _ in range(2)]
    number = rng.integers(0, 5, 2).astype(array.dtype)

    def function(xp: Any, a: Any) -> Any:
        copy = xp.asarray(a, copy=True)
        part = copy[keys[0]]
        part[...] = xp.asarray(number[0])
        part[keys[1]] = xp.asarray(number[1])
        return part

    return Step(f"copy of v{place}, {keys[0]} and of that {keys[1]} written", [place], function)


def _layout(rng: Rng, values: list[Array], place: int) -> Step | None:
    array = values[place]
    if array.ndim == 0:
        return _named("reshape", place, shape=(1, 1))
    axis = int(rng.integers(-array.ndim, array.ndim))
    size = array.shape[axis]
    order = tuple(int(axis) for axis in rng.permutation(array.ndim))
    before = [slice(None)] * (axis % array.ndim)
    one = (*before, int(rng.integers(-size, size)) if size else slice(None))
    steps = [
        _written(rng, array, place),
        _keyed(place, tuple(_slice(rng, size) for size in array.shape)),
        _keyed(place, one),
        _call("permute_dims", [place], order),
        _named("reshape", place, shape=(array.size,)),
        _named("expand_dims", place, axis=axis),
        _named("flip", place, axis=axis),
        _named("roll", place, shift=int(rng.integers(-4, 5)), axis=axis),
        _taken(rng, place, size, axis),
        _joined(place, axis, str(rng.choice(["concat", "stack"]))),
    ]
    return steps[int(rng.integers(len(steps)))]


def _slice(rng: Rng, size: int) -> slice:
    start, stop = (int(end) for end in rng.integers(-size - 1, size + 2, 2))
    step = int(rng.choice([1, 1, 2, -1, -2]))
    return slice(start, stop, step) if rng.random() < 0.5 else slice(None, None, step)


def _taken(rng: Rng, place: int, size: int, axis: int) -> Step:
    some = rng.integers(0, size, 3).tolist() if size else []

    def function(xp: Any, a: Any) -> Any:
        return xp.take(a, xp.asarray(some, dtype="int64"), axis=axis)

    return Step(f"take(v{place}, {some}, axis={axis})", [place], function)


def _joined(place: int, axis: int, name: str) -> Step:
    function = lambda xp, a: getattr(xp, name)([a, a], axis=axis)  # noqa: E731
    return Step(f"{name}([v{place}, v{place}], axis={axis})", [place], function)


def _reduction(rng: Rng, values: list[Array], place: int) -> Step | None:
    array = values[place]
    kind, ndim = array.dtype.kind, array.ndim
    axis = None if ndim == 0 or rng.random() < 0.3 else int(rng.integers(-ndim, ndim))
    name = str(rng.choice(["any", "all", "count_nonzero", "sum", "prod", "max", "min", "mean"]))
    reduced = array.size if axis is None else array.shape[axis]
    is_order = name in ("max", "min")
    if (is_order and (kind in "bc" or reduced == 0)) or (name == "mean" and kind != "f"):
        return None
    if name in ("sum", "prod", "mean") and (kind == "b" or reduced == 0):
        return None
    if name == "prod" and (reduced > 9 or kind == "c"):
        return None
    made = _named(name, place, axis=axis, keepdims=bool(rng.integers(2)))
    made.units = {"sum": 4, "prod": 8, "mean": 4}.get(name, 0)
    made.orders_zeros = not is_order
    made.sums = name in ("sum", "mean")
    made.reduces = kind in "fc" and name in ("sum", "prod", "mean")
    return made


def _other(rng: Rng, values: list[Array], place: int) -> Step | None:
    array = values[place]
    if array.ndim == 0 or array.dtype.kind in "bc" or rng.random() < 0.4:
        choose = _where if rng.random() < 0.5 else _converted
        return choose(rng, values, place)
    axis = int(rng.integers(-array.ndim, array.ndim))
    name = str(rng.choice(["cumulative_sum", "sort", "argmax", "argmin", "argsort", "matmul"]))
    if name == "matmul":
        return _product(values, place)
    if name == "argsort":
        return Step(f"argsort(v{place}), stable", [place], partial(_places, axis=axis))
    if name.startswith("arg") and array.shape[axis] == 0:
        return None
    made = _named(name, place, axis=axis)
    made.orders_zeros = name != "sort"
    if name == "cumulative_sum":
        made.units, made.sums, made.reduces = 4, True, array.dtype.kind == "f"
    return made


def _places(xp: Any, a: Any, axis: int) -> Any:
    return xp.argsort(a, axis=axis, stable=True)


def _where(rng: Rng, values: list[Array], place: int) -> Step | None:
    same = [n for n, other in enumerate(values) if other.dtype == values[place].dtype]
    conditions = [n for n, other in enumerate(values) if other.dtype.kind == "b"]
    if not conditions:
        return None
    condition, other = int(rng.choice(conditions)), int(rng.choice(same))
    try:
        shapes = [values[n].shape for n in (condition, place, other)]
        if int(np.prod(np.broadcast_shapes(*shapes))) > _MOST:
            return None
    except ValueError:
        return None
    return _call("where", [condition, place, other])


def _converted(rng: Rng, values: list[Array], place: int) -> Step | None:
    array = values[place]
    to = np.dtype(str(rng.choice(DTYPES)))
    if array.dtype.kind == "c" and to.kind not in "cb":
        return None
    if array.dtype.kind in "f" and to.kind in "iu":
        limit = np.abs(np.where(np.isfinite(array), array, np.inf)).max(initial=0)
        if limit > 100 or (to.kind == "u" and np.any(array <= -1)):
            return None  # unspecified, here and in NumPy
    return Step(f"astype(v{place}, {to})", [place], lambda xp, a: xp.astype(a, _dtype(xp, to)))


def _dtype(xp: Any, dtype: np.dtype[Any]) -> Any:
    return dtype if xp is np else dtype.name


def _product(values: list[Array], place: int) -> Step | None:
    a = values[place]
    if not np.all(np.isfinite(a)):
        return None
    for other, b in enumerate(values):
        fits = b.ndim == a.ndim == 2 and a.shape[1] == b.shape[0] and a.dtype == b.dtype
        if fits and np.all(np.isfinite(b)):
            made = _call("matmul", [place, other], units=4)
            made.sums, made.reduces = True, a.dtype.kind in "fc"
            return made
    return None
