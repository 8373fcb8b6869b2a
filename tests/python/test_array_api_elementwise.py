"""Elementwise functions agree with NumPy's, for any dtype, layout, and pair of operands."""

from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from python.numpy_oracle import ALL, COMPLEX, FLOATS, INTEGERS, NUMERIC, REAL, arrays, same

FLOATING = [*FLOATS, *COMPLEX]
BITS = ["bool", *INTEGERS]
UNARY = {
    "abs": NUMERIC, "bitwise_invert": BITS, "ceil": REAL, "conj": NUMERIC, "floor": REAL,
    "isfinite": NUMERIC, "isinf": NUMERIC, "isnan": NUMERIC, "logical_not": ["bool"],
    "negative": NUMERIC, "positive": NUMERIC, "reciprocal": FLOATING, "round": REAL,
    "sign": REAL, "signbit": FLOATS, "square": NUMERIC, "trunc": REAL,
}  # fmt: skip
TRANSCENDENTAL = [
    "sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
]  # fmt: skip
BINARY = {
    "add": NUMERIC, "subtract": NUMERIC, "multiply": NUMERIC, "maximum": REAL, "minimum": REAL,
    "equal": ALL, "not_equal": ALL, "less": REAL, "less_equal": REAL, "greater": REAL,
    "greater_equal": REAL, "bitwise_and": BITS, "bitwise_or": BITS, "bitwise_xor": BITS,
    "logical_and": ["bool"], "logical_or": ["bool"], "logical_xor": ["bool"],
    "copysign": FLOATS, "nextafter": FLOATS,
}  # fmt: skip
ROUNDED = ["divide", "hypot", "atan2", "logaddexp"]
# For complex numbers with infinite parts, libraries differ in undefined cases.
INEXACT = {"reciprocal", "square", "multiply"}


def rtol_of(dtype: np.dtype[Any]) -> float:
    return 1e-5 if dtype.itemsize == (8 if dtype.kind == "c" else 4) else 1e-12


@st.composite
def pairs(draw: st.DrawFn, dtypes: list[str], special: bool = False) -> list[np.ndarray[Any, Any]]:
    """Two arrays that broadcast, of dtypes of one kind."""
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4))
    first = draw(arrays(dtypes, shapes.input_shapes[0], special=special))
    kind = [name for name in dtypes if np.dtype(name).kind == first.dtype.kind]
    return [first, draw(arrays(kind, shapes.input_shapes[1], special=special))]


@pytest.mark.parametrize("name", UNARY)
@given(data=st.data())
def test_functions_of_one_operand(name: str, data: st.DataObject) -> None:
    array = data.draw(arrays(UNARY[name], special=name not in INEXACT))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(array)
    rtol = rtol_of(array.dtype) if name in INEXACT | {"abs"} and array.dtype.kind == "c" else 0.0
    same(getattr(cw, name)(cw.asarray(array)), expected, rtol)


@pytest.mark.parametrize("name", TRANSCENDENTAL)
@given(array=arrays(FLOATING))
def test_transcendental_functions(name: str, array: np.ndarray[Any, Any]) -> None:
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(array)
    actual = getattr(cw, name)(cw.asarray(array))
    if array.dtype.kind == "c":  # infinite results may be of any direction
        finite = np.isfinite(expected)
        same(actual[cw.asarray(finite)], expected[finite], 20 * rtol_of(array.dtype))
    else:
        same(actual, expected, 20 * rtol_of(array.dtype))


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
def test_functions_of_two_operands(name: str, data: st.DataObject) -> None:
    first, second = data.draw(pairs(BINARY[name], special=name not in INEXACT))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(first, second)
    same(getattr(cw, name)(cw.asarray(first), cw.asarray(second)), expected)


@pytest.mark.parametrize("name", ROUNDED)
@given(pair=pairs(FLOATS))
def test_functions_of_two_operands_that_round(name: str, pair: list[Any]) -> None:
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*pair)
    same(getattr(cw, name)(*map(cw.asarray, pair)), expected, rtol_of(expected.dtype))


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@given(pair=pairs(REAL))
def test_division_with_remainder(name: str, pair: list[Any]) -> None:
    first, second = pair
    second = np.where(second == 0, np.ones_like(second), second)
    same(getattr(cw, name)(cw.asarray(first), cw.asarray(second)), getattr(np, name)(first, second))


@given(array=arrays(INTEGERS))
def test_integers_over_zero_are_zero(array: np.ndarray[Any, Any]) -> None:
    same(cw.asarray(array) // 0, np.zeros_like(array))
    same(cw.asarray(array) % 0, np.zeros_like(array))


@given(array=arrays(INTEGERS), places=st.integers(0, 7))
def test_shifts_and_powers_of_integers(array: np.ndarray[Any, Any], places: int) -> None:
    tensor = cw.asarray(array)
    same(cw.bitwise_left_shift(tensor, places), np.bitwise_left_shift(array, places))
    same(cw.bitwise_right_shift(tensor, places), np.bitwise_right_shift(array, places))
    same(cw.pow(tensor, places), np.pow(array, places))


@given(array=arrays(REAL), low=st.integers(0, 4), high=st.integers(5, 9))
def test_clip(array: np.ndarray[Any, Any], low: int, high: int) -> None:
    tensor = cw.asarray(array)
    same(cw.clip(tensor, low, high), np.clip(array, low, high))
    same(cw.clip(tensor, max=high), np.clip(array, None, high))
    same(cw.clip(tensor, low), np.clip(array, low, None))
    same(cw.clip(tensor), array)


@given(array=arrays(NUMERIC))
def test_components(array: np.ndarray[Any, Any]) -> None:
    same(cw.real(cw.asarray(array)), array.real)
    same(cw.imag(cw.asarray(array)), array.imag)


@pytest.mark.parametrize("scalar", [True, 3, 2.5, 1 - 2j])
@given(array=arrays(ALL))
def test_numbers_of_python_take_the_dtype_of_tensors(
    scalar: complex, array: np.ndarray[Any, Any]
) -> None:
    if array.dtype.kind == "b" and scalar is True:
        return  # NumPy's sum of booleans is a boolean; it is undefined here
    same(cw.multiply(cw.asarray(array), scalar), array * scalar)
    same(cw.multiply(scalar, cw.asarray(array)), scalar * array)


@given(pair=pairs(ALL))
def test_kinds_promote_as_in_numpy(pair: list[Any]) -> None:
    other = pair[1].real.astype("float32")
    same(cw.equal(cw.asarray(pair[0]), cw.asarray(other)), np.equal(pair[0], other))


@pytest.mark.parametrize("dtype", ["c64", "c128"])
def test_the_hyperbolic_tangent_of_infinity_has_the_zero_of_its_operand(dtype: str) -> None:
    ends = cw.tanh(cw.asarray([complex(cw.inf, 2), complex(cw.inf, -2)], dtype=dtype))
    same(ends, np.array([1, 1], dtype=ends.dtype.name))
    same(cw.signbit(cw.imag(ends)), [False, True])


@pytest.mark.parametrize("name", ["less", "maximum", "floor_divide", "remainder", "atan2"])
def test_complex_numbers_have_no_order(name: str) -> None:
    with pytest.raises(TypeError):
        getattr(cw, name)(cw.asarray([1j]), cw.asarray([1j]))


def test_unsigned_and_signed_64_bits_do_not_meet() -> None:
    with pytest.raises(TypeError, match="u64"):
        cw.add(cw.asarray([1], dtype="u64"), cw.asarray([1]))
