"""Expressions of NumPy users have the same meaning here, or give a clear error."""

from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import DTypeError, OpError, ParamError

INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_quotients_of_integers_are_numpys(dtype: str) -> None:
    a = np.array([0, 1, 3, 100]).astype(dtype)
    b = np.array([0, 1, 7, 9]).astype(dtype)
    x, y = cw.asarray(a), cw.asarray(b)
    for quotient in (
        x / y,
        cw.divide(x, y),
        cw.trace(lambda s, t: s / t, x, y).run(x, y).outputs[0],
    ):
        assert quotient.dtype == cw.float64
        assert np.array_equal(np.asarray(quotient), a / b, equal_nan=True)
    if dtype != "bool":
        assert np.array_equal(np.asarray(x / 4), a / 4)
        assert np.array_equal(np.asarray(3 / (x + 1)), 3 / (a + 1).astype("f8"))
    with pytest.raises(TypeError, match="cannot hold; compute out of place"):
        x /= y


@pytest.mark.parametrize("shape", [(1, 3), (1, 1, 3), (1, 1, 1), (3,), (1,)])
def test_a_value_may_have_more_axes_of_one_element(shape: tuple[int, ...]) -> None:
    value = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    for key in (slice(None), slice(None, None, -1), ..., np.array([2, 0, 1])):
        array = np.zeros(3)
        tensor = cw.zeros(3)
        array[key] = value
        tensor[cw.asarray(key) if isinstance(key, np.ndarray) else key] = cw.asarray(value)
        assert np.array_equal(np.asarray(tensor), array)


def test_a_value_of_more_rows_is_refused() -> None:
    with pytest.raises(OpError):
        cw.zeros(3)[:] = cw.ones((2, 3))


@pytest.mark.parametrize("name", ["int", "float", "complex", "bool", "double", "long", "int32"])
def test_names_of_dtypes_mean_what_numpy_means(name: str) -> None:
    assert cw.zeros(1, dtype=name).dtype.name == np.dtype(name).name
    assert cw.zeros(1, dtype=np.dtype(name).name).dtype == name
    assert cw.asarray([1]).astype(name).dtype.name == np.dtype(name).name


@pytest.mark.parametrize("name", ["np.int", "numpy.float", "half", "float16", "object", "f", "d"])
def test_names_that_numpy_has_and_that_mean_nothing_here_are_refused(name: str) -> None:
    with pytest.raises(DTypeError):
        cw.zeros(1, dtype=name)


def test_integers_of_64_bits_stay_what_they_are() -> None:
    assert cw.asarray([2**40 + 5]).astype("int").tolist() == [2**40 + 5]
    assert cw.zeros(1, dtype="torch.int").dtype == cw.int32


REDUCTIONS = [
    "sum",
    "mean",
    "prod",
    "max",
    "min",
    "any",
    "all",
    "std",
    "median",
    "argmax",
    "cumsum",
]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_functions_of_numpy_compute_on_tensors(name: str) -> None:
    array = np.arange(1.0, 7.0).reshape(2, 3)
    function = getattr(np, name)
    for keywords in ({}, {"axis": 1}):
        got, expected = function(cw.asarray(array), **keywords), function(array, **keywords)
        assert isinstance(got, cw.Tensor)
        assert got.dtype.name == expected.dtype.name
        assert np.array_equal(np.asarray(got), expected)


def test_universal_functions_of_numpy_compute_on_tensors() -> None:
    array = np.array([1.0, 4.0, 9.0])
    tensor = cw.asarray(array)
    for got, expected in (
        (np.sqrt(tensor), np.sqrt(array)),
        (np.add.reduce(tensor), array.sum()),
        (np.hypot(tensor, array), np.hypot(array, array)),
        (np.cbrt(tensor), np.cbrt(array)),
        (np.sin(cw.asarray([1, 2], dtype="i16")), np.sin(np.array([1, 2], dtype="i2"))),
    ):
        assert isinstance(got, cw.Tensor)
        assert got.dtype.name == expected.dtype.name
        assert np.allclose(np.asarray(got), expected, rtol=1e-15)
    out = np.zeros(3)
    assert np.add(tensor, 1, out=out) is out
    assert np.array_equal(out, array + 1)
    out += tensor
    assert np.array_equal(out, 2 * array + 1)
    np.negative(tensor, out=tensor)
    assert np.array_equal(np.asarray(tensor), -np.array([1.0, 4.0, 9.0]))


OPERATORS: list[Any] = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b,
    lambda a, b: a // b, lambda a, b: a % b, lambda a, b: a ** (b % 5), lambda a, b: a & b,
    lambda a, b: a | b, lambda a, b: a ^ b, lambda a, b: a << (b % 5), lambda a, b: a >> (b % 5),
    lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b,
    lambda a, b: a > b, lambda a, b: a >= b, lambda a, b: a @ b,
]  # fmt: skip


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_between_arrays_and_tensors_are_the_tensors(operator: Any) -> None:
    a, b = np.array([7, 12, 3]), np.array([2, 5, 3])
    expected = operator(a, b)
    for x, y in ((a, cw.asarray(b)), (cw.asarray(a), b), (a[1], cw.asarray(b)[1:2])):
        if operator is OPERATORS[-1] and np.ndim(x) == 0:
            continue
        got = operator(x, y)
        assert isinstance(got, cw.Tensor)
        wanted = expected if np.ndim(x) else operator(a[1], b[1:2])
        assert np.array_equal(np.asarray(got), wanted)


class Legacy:
    """A library of the time when DLPack could not say that memory must not be written."""

    def __init__(self, tensor: cw.Tensor) -> None:
        self._tensor = tensor

    def __dlpack__(self) -> Any:
        return self._tensor.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()


def test_memory_that_may_be_immutable_is_not_written() -> None:
    owner = cw.asarray([1.0, 2.0, 3.0], copy=True)
    for made in (cw.asarray(Legacy(owner)), cw.from_dlpack(Legacy(owner))):
        with pytest.raises(OpError, match="read-only"):
            made[0] = 5.0
        with pytest.raises(OpError, match="read-only"):
            made += 1
    copied = cw.from_dlpack(Legacy(owner), copy=True)
    copied[0] = 5.0
    assert (owner.tolist(), copied.tolist()) == ([1.0, 2.0, 3.0], [5.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: cw.zeros((2**63,)), OpError, rf"shape.*integers of 64 bits, got {2**63}"),
        (lambda t: cw.ones(2**70), OpError, rf"shape.*integers of 64 bits, got {2**70}"),
        (lambda t: cw.concat([t, "one"]), DTypeError, r"arrays\[1\]: got str.*asarray"),
        (lambda t: cw.stack([object(), t]), DTypeError, r"arrays\[0\]: got object.*asarray"),
        (
            lambda t: cw.stack([[1], t]),
            ParamError,
            r"arrays: got \(2,\), expected one shape, \(1,\)",
        ),
        (
            lambda t: cw.execute_batch([("add", cw.Slot(0), t)]),
            ParamError,
            "slot: got 0, expected none: no operation comes before the first",
        ),
        (
            lambda t: cw.execute_batch([("add", t, t), ("add", cw.Slot(7), t)]),
            ParamError,
            "slot: got 7, expected an earlier operation, 0 to 0",
        ),
    ],
)
def test_wrong_calls_say_what_is_wrong(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(cw.asarray([1, 2]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_direction_of_an_infinite_number_is_numpys(dtype: str) -> None:
    parts = [np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0, 1e30]
    values = np.array([complex(re, im) for re in parts for im in parts]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = np.sign(values)
    got = np.asarray(cw.sign(cw.asarray(values)))
    for part in ("real", "imag"):
        assert np.allclose(getattr(got, part), getattr(expected, part), equal_nan=True)
