"""Elements of fields and points of curves as dtypes of the tensor, against Python's integers."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import zk
from cloakwork.errors import DTypeError, OpError, ParamError
from hypothesis import given, settings
from hypothesis import strategies as st

from python import zk_oracles as oracle

FIELDS = list(oracle.P)
SIZES = oracle.BYTES


def edges(p: int) -> list[int]:
    return [0, 1, 2, p - 1, p - 2, p // 2, p // 3, 2**30 % p]


@pytest.mark.parametrize("dtype", FIELDS)
def test_numbers_go_in_and_come_out(dtype: str) -> None:
    values = edges(oracle.P[dtype])
    a = cw.asarray(values, dtype=dtype)
    assert a.shape == (8,)
    assert a.dtype == dtype
    assert a.itemsize == SIZES[dtype]
    assert a.tolist() == values
    assert [int(element) for element in a] == values
    assert a[3].item() == values[3]
    assert bool(a[1])
    assert not bool(a[0])
    assert np.asarray(a).dtype == object
    assert np.asarray(a).tolist() == values
    nested = cw.asarray([values[:4], values[4:]], dtype=dtype)
    assert nested.tolist() == [values[:4], values[4:]]
    assert cw.asarray(7, dtype=dtype).item() == 7


@pytest.mark.parametrize("dtype", FIELDS)
def test_words_and_bytes_are_canonical_and_little_endian(dtype: str) -> None:
    values = edges(oracle.P[dtype])
    size = SIZES[dtype]
    a = cw.asarray(values, dtype=dtype)
    encoded = b"".join(value.to_bytes(size, "little") for value in values)
    assert a.to_bytes() == encoded
    wide = max(size, 8)
    words = [
        [int.from_bytes(v.to_bytes(wide, "little")[i : i + 8], "little") for i in range(0, wide, 8)]
        for v in values
    ]
    assert a.to_words().tolist() == words
    assert cw.asarray(np.array(words, np.uint64), dtype=dtype).tolist() == values
    assert cw.asarray(a.to_words(), dtype=dtype).tolist() == values
    assert cw.asarray(encoded, dtype=dtype).tolist() == values
    table = np.frombuffer(encoded, np.uint8).reshape(2, 4, size)
    assert cw.asarray(table, dtype=dtype).shape == (2, 4)


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("wrong", [-1, "p", "p + 1", 2**400, 1.5, "text", None, (1, 2)])
def test_what_is_no_element_is_refused_by_its_place(dtype: str, wrong: object) -> None:
    p = oracle.P[dtype]
    value = {"p": p, "p + 1": p + 1}.get(wrong, wrong) if isinstance(wrong, str) else wrong
    with pytest.raises(ParamError, match=r"obj\[1\]\[0\]|obj|lengths"):
        cw.asarray([[1, 2], [value, 3]], dtype=dtype)
    if isinstance(value, int):
        with pytest.raises(ParamError, match=r"obj\[1\]\[0\]: .*p - 1"):
            cw.asarray([[1, 2], [value, 3]], dtype=dtype)


def test_words_that_are_not_canonical_name_the_element() -> None:
    p = oracle.P["bn254.fr"]
    words = np.zeros((3, 4), np.uint64)
    words[2] = np.frombuffer(p.to_bytes(32, "little"), np.uint64)
    with pytest.raises(ParamError, match=r"obj\[2\]: got an element that is not below the prime"):
        cw.asarray(words, dtype="bn254.fr")
    with pytest.raises(OpError, match="last axis of 4"):
        cw.asarray(np.zeros(3, np.uint64), dtype="bn254.fr")
    with pytest.raises(ParamError, match="last axis of 32"):
        cw.asarray(np.zeros(31, np.uint8), dtype="bn254.fr")


OPERATORS: list[tuple[Callable[..., Any], Callable[..., int]]] = [
    (operator.add, lambda a, b, p: (a + b) % p),
    (operator.sub, lambda a, b, p: (a - b) % p),
    (operator.mul, lambda a, b, p: a * b % p),
    (operator.truediv, lambda a, b, p: a * pow(b, p - 2, p) % p),
]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_arithmetic_is_that_of_integers_modulo_the_prime(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(FIELDS))
    p = oracle.P[dtype]
    element = st.one_of(st.sampled_from(edges(p)), st.integers(0, p - 1))
    count = data.draw(st.integers(1, 20))
    xs = data.draw(st.lists(element, min_size=count, max_size=count))
    ys = data.draw(st.lists(element, min_size=count, max_size=count))
    number = data.draw(st.integers(-(2**300), 2**300))
    a, b = cw.asarray(xs, dtype=dtype), cw.asarray(ys, dtype=dtype)
    for op, exact in OPERATORS:
        assert op(a, b).tolist() == [exact(x, y, p) for x, y in zip(xs, ys, strict=True)]
        assert op(a, number).tolist() == [exact(x, number % p, p) for x in xs]
        assert op(number, a).tolist() == [exact(number % p, x, p) for x in xs]
    assert (-a).tolist() == [-x % p for x in xs]
    exponent = data.draw(st.one_of(st.integers(-20, 20), st.integers(0, 2**260)))
    inverse = [pow(x, p - 2, p) for x in xs]
    bases = xs if exponent >= 0 else inverse
    assert (a**exponent).tolist() == [pow(x, abs(exponent), p) for x in bases]
    assert (a == b).tolist() == [x == y for x, y in zip(xs, ys, strict=True)]
    assert (a == number).tolist() == [x == number % p for x in xs]
    assert (a < b).tolist() == [x < y for x, y in zip(xs, ys, strict=True)]


def test_in_place_arithmetic_and_assignment() -> None:
    p = oracle.P["bn254.fr"]
    a = cw.asarray([1, 2, 3], dtype="bn254.fr")
    a += 1
    a *= cw.asarray(5, dtype="bn254.fr")
    a **= 2
    a -= 1
    assert a.tolist() == [99, 224, 399]
    a[1] = p - 1
    a[2:] = [7]
    assert a.tolist() == [99, p - 1, 7]
    with pytest.raises(ParamError, match="p - 1"):
        a[0] = p
    with pytest.raises(TypeError):
        a[0] = cw.asarray(3)
    assert a.tolist() == [99, p - 1, 7]


@pytest.mark.parametrize("dtype", [*FIELDS, "bn254.g1", "bls12_381.g1", "bn254.g2"])
def test_elements_of_any_size_are_written_to_places_that_indices_name(dtype: str) -> None:
    values: list[Any] = [0, 1, 2, 5]
    if dtype not in FIELDS:
        name, group = dtype.split(".")
        generator = getattr(zk.curve(name), f"{group}_generator")
        values = [None, generator.item(), (generator * 2).item(), (generator * 5).item()]
    a = cw.asarray(values, dtype=dtype)
    written = cw.ops.scatter(a, cw.asarray([2, -4, 2]), cw.asarray(values[1:], dtype=dtype))
    assert written.tolist() == [values[2], values[1], values[3], values[3]]
    a[[3, 0]] = cw.asarray(values[:2], dtype=dtype)
    assert a.tolist() == [values[1], values[1], values[2], values[0]]
    rows = cw.asarray([values, values[::-1]], dtype=dtype)
    turned = cw.ops.scatter(rows, cw.asarray([1, 0]), rows)
    assert turned.tolist() == [values[::-1], values]


def test_fields_do_not_mix() -> None:
    a, b = cw.asarray([1], dtype="bn254.fr"), cw.asarray([1], dtype="bls12_381.fr")
    for other in (b, cw.asarray([1]), np.asarray([1])):
        for op in (operator.add, operator.mul, operator.eq):
            with pytest.raises(TypeError, match=r"bn254\.fr.*(bls12_381\.fr|i64)|i64.*bn254"):
                op(a, other)
    for number in (1.5, 1j):
        with pytest.raises(TypeError, match=r"bn254\.fr"):
            operator.add(a, number)
    for wish in (float, complex):
        with pytest.raises(TypeError, match="not a number"):
            wish(a[0])
    assert not cw.can_cast("bn254.fr", "bls12_381.fr")
    assert cw.result_type(a, 3) == "bn254.fr"


def test_views_share_their_elements() -> None:
    a = cw.asarray([[1, 2, 3], [4, 5, 6]], dtype="bls12_381.fq")
    assert a.T.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert a[:, ::-1].tolist() == [[3, 2, 1], [6, 5, 4]]
    assert a.reshape(3, 2).tolist() == [[1, 2], [3, 4], [5, 6]]
    a[1][0] = 9
    assert a.T.contiguous().tolist() == [[1, 9], [2, 5], [3, 6]]
    assert cw.concat([a, a]).shape == (4, 3)
    assert cw.roll(a[0], 1).tolist() == [3, 1, 2]
    assert cw.where(a == 9, a, cw.zeros_like(a)).tolist() == [[0, 0, 0], [9, 0, 0]]


def test_creation() -> None:
    assert cw.zeros(2, dtype="goldilocks").tolist() == [0, 0]
    assert cw.ones(2, dtype="bn254.fq").tolist() == [1, 1]
    assert cw.full(2, 5, dtype="bn254.fr").tolist() == [5, 5]
    assert cw.empty((2, 1), dtype="babybear").shape == (2, 1)
    assert cw.asarray([], dtype="bn254.fr").shape == (0,)
    a = cw.full((2, 2), oracle.P["bn254.fr"] - 1, dtype="bn254.fr")
    assert cw.ones_like(a).tolist() == [[1, 1], [1, 1]]


def test_copies_and_pickles_are_equal_and_apart() -> None:
    a = cw.asarray([[5, 6], [7, 8]], dtype="bls12_381.fr")
    for other in (a.copy(), copy.copy(a), copy.deepcopy(a)):
        assert other.tolist() == a.tolist()
        other[0] = 0
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(a.T, protocol))
        assert again.dtype == a.dtype
        assert again.tolist() == a.T.tolist()
    assert a.tolist() == [[5, 6], [7, 8]]


def test_other_libraries_are_told_to_take_words() -> None:
    a = cw.asarray([5], dtype="bn254.fr")
    with pytest.raises(BufferError, match="words"):
        memoryview(a)
    with pytest.raises(BufferError, match="words"):
        np.from_dlpack(a)
    with pytest.raises(ValueError, match="copy=False"):
        np.asarray(a, copy=False)


def test_elements_are_shown_as_numbers() -> None:
    p = oracle.P["bn254.fr"]
    shown = repr(cw.asarray([1, p - 1], dtype="bn254.fr"))
    assert shown.split() == ["Tensor([1,", f"{p - 1}],", "dtype=bn254.fr)"]
    assert repr(cw.asarray([1, 2], dtype="goldilocks")) == "Tensor([1, 2], dtype=goldilocks)"
    long = repr(cw.ones(5000, dtype="bn254.fr"))
    assert long == "Tensor([1, 1, 1, ..., 1, 1, 1], shape=(5000,), dtype=bn254.fr)"


def test_what_is_known_of_a_field() -> None:
    for name, p in oracle.P.items():
        field = zk.field(name)
        assert (field.modulus, field.bits, field.dtype) == (p, p.bit_length(), name)
        assert pow(field.generator, (p - 1) // 2, p) == p - 1
        order = 2 ** min(field.two_adicity, 20)
        root = int(field.root_of_unity(order))
        assert pow(root, order // 2, p) == p - 1
        with pytest.raises(ParamError, match="power of two"):
            field.root_of_unity(2 ** (field.two_adicity + 1))
    assert cw.isdtype("bn254.fr", "field")
    assert not cw.isdtype("bn254.fr", "numeric")
    assert cw.isdtype("bn254.g1", "point")
    assert not cw.isdtype("i64", "field")
    for inquire in (cw.iinfo, cw.finfo):
        with pytest.raises(TypeError):
            inquire("bn254.fr")
    with pytest.raises(DTypeError):
        zk.field("i64")


def test_field_tensors_in_traces_and_batches() -> None:
    def f(a: cw.Tensor, b: cw.Tensor) -> cw.Tensor:
        return (a + 3) * b - a**5 / b

    a = cw.asarray([2, 3, 4], dtype="bn254.fr")
    b = cw.asarray([5, 6, 7], dtype="bn254.fr")
    expected = f(a, b).tolist()
    program = cw.trace(f, a, b)
    assert program.run(a, b).outputs[0].tolist() == expected
    with cw.batch():
        result = f(a, b)
    assert result.tolist() == expected


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "bool"])
def test_numbers_have_no_canonical_bytes(dtype: str) -> None:
    with pytest.raises(DTypeError, match="expected a field or the points of a curve"):
        cw.asarray([1, 0], dtype=dtype).to_bytes()
