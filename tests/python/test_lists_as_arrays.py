"""Functions of a tensor take lists, numbers and other libraries' arrays, as NumPy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import DTypeError, OpTypeError
from numpy.typing import ArrayLike

Function = Callable[[Any], Any]

OF_ONE: dict[str, Function] = {
    **{
        name: getattr(cw, name)
        for name in (
            "all", "any", "argmax", "argmin", "argsort", "count_nonzero", "cumulative_prod",
            "cumulative_sum", "diff", "exp", "flip", "max", "mean", "min", "negative", "nonzero",
            "prod", "sort", "sqrt", "square", "std", "sum", "unique_all",
            "unique_counts", "unique_inverse", "unique_values", "unstack", "var",
        )
    },
    "broadcast_to": lambda x: cw.broadcast_to(x, (2, 3)),
    "expand_dims": lambda x: cw.expand_dims(x, 0),
    "moveaxis": lambda x: cw.moveaxis(x, 0, 0),
    "permute_dims": lambda x: cw.permute_dims(x, (0,)),
    "repeat": lambda x: cw.repeat(x, 2),
    "reshape": lambda x: cw.reshape(x, (3, 1)),
    "roll": lambda x: cw.roll(x, 1),
    "sum of axis 0": lambda x: cw.sum(x, axis=0, keepdims=True),
    "tile": lambda x: cw.tile(x, (2,)),
}  # fmt: skip


def parts(result: Any) -> list[cw.Tensor]:
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("name", OF_ONE)
@pytest.mark.parametrize("values", [[3, 1, 2], [2.5, 0.5, 4.0]])
def test_a_list_a_tuple_and_an_array_are_what_asarray_makes_of_them(
    name: str, values: list[float]
) -> None:
    function = OF_ONE[name]
    if name in ("exp", "sqrt") and isinstance(values[0], int):
        values = [float(value) for value in values]
    if name in ("all", "any"):
        values = [value > 2 for value in values]
    expected = parts(function(cw.asarray(values)))
    given: list[ArrayLike] = [values, tuple(values), np.array(values)]
    for one in given:
        found = parts(function(one))
        assert [x.dtype for x in found] == [x.dtype for x in expected]
        assert [x.tolist() for x in found] == [x.tolist() for x in expected]


@pytest.mark.parametrize("name", ["add", "divide", "equal", "maximum", "pow"])
def test_functions_of_two_take_lists_beside_tensors_and_numbers(name: str) -> None:
    ours, numpys = getattr(cw, name), getattr(np, {"pow": "power"}.get(name, name))
    x = [1.0, 4.0, 2.5]
    for a, b in ((x, x), (x, 2.0), (2.0, x), (x, cw.asarray(x)), (cw.asarray(x), x)):
        found = ours(a, b)
        assert isinstance(found, cw.Tensor)
        # NumPy's power is that of the processor or of libm: its last bit differs by machine.
        expected = numpys(np.asarray(a), np.asarray(b))
        if name == "pow":
            np.testing.assert_array_max_ulp(np.asarray(found), expected, maxulp=1)
        else:
            assert found.tolist() == expected.tolist()


def test_numbers_are_tensors_without_axes() -> None:
    assert cw.sum(3).tolist() == 3
    assert cw.max(2.5).tolist() == 2.5
    assert cw.mean(1).dtype == cw.float64


def test_what_is_no_array_is_refused_in_words() -> None:
    for function in (cw.sum, cw.max, cw.mean, cw.sort, cw.flip):
        with pytest.raises(DTypeError, match=r"x: got str, expected a tensor, or numbers"):
            function("abc")
        with pytest.raises(ValueError, match="length"):
            function([[1], [1, 2]])
    with pytest.raises(TypeError, match="x2 of add: got str"):
        _ = cw.ones(2) + "ab"


def test_floats_of_16_bits_are_refused_with_what_to_do() -> None:
    for dtype in ("float16", "bfloat16", np.float16, np.dtype("e")):
        with pytest.raises(DTypeError, match="no floats of 16 bits: convert them to float32"):
            cw.zeros(2, dtype=dtype)
    with pytest.raises(DTypeError, match="convert them to float32"):
        cw.asarray(np.ones(2, dtype=np.float16))


def test_numpys_functions_of_fields_say_what_is_taken() -> None:
    x = cw.asarray([1, 2], dtype="bn254.fr")
    for function in (np.sin, np.exp, np.sqrt):
        with pytest.raises(OpTypeError, match=r"f64, c64, c128, got bn254\.fr"):
            function(x)
