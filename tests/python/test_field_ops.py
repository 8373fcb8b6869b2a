"""Ops on elements of prime fields, against Python's integers."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import ops, zk
from cloakwork._core import Tensor
from python.field_numbers import FIELDS, PRIMES, decode, encode, numbers


@pytest.mark.parametrize("field", FIELDS)
def test_words_become_elements_and_back(field: str) -> None:
    values = numbers(field, 300)
    assert decode(encode(values, field)) == values
    assert decode(encode(values, field, (3, 4, 25))[:, 1::2, ::-1]) == [
        values[100 * i + 25 * j + k] for i in range(3) for j in (1, 3) for k in range(24, -1, -1)
    ]


@pytest.mark.parametrize("field", FIELDS)
def test_a_number_that_is_not_below_the_prime_is_named(field: str) -> None:
    with pytest.raises(cw.errors.OpError, match="element 2"):
        encode([1, 2, PRIMES[field], 3], field)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("count", [1, 7, 8, 33, 47, 56, 65, 1056, 1500])
def test_arithmetic_is_that_of_integers_modulo_the_prime(field: str, count: int) -> None:
    p, a, b = PRIMES[field], numbers(field, count, 1), numbers(field, count, 2)
    x, y = encode(a, field), encode(b, field)
    assert decode(ops.add(x, y)) == [(u + v) % p for u, v in zip(a, b, strict=True)]
    assert decode(ops.subtract(x, y)) == [(u - v) % p for u, v in zip(a, b, strict=True)]
    assert decode(ops.multiply(x, y)) == [u * v % p for u, v in zip(a, b, strict=True)]
    assert decode(ops.negative(x)) == [-u % p for u in a]
    assert decode(ops.square(x)) == [u * u % p for u in a]
    inverses = [pow(v, -1, p) if v else 0 for v in b]
    assert decode(ops.reciprocal(y)) == inverses
    assert decode(ops.divide(x, y)) == [u * v % p for u, v in zip(a, inverses, strict=True)]


@pytest.mark.parametrize("field", FIELDS)
def test_products_whose_words_are_next_to_zero_or_to_the_prime(field: str) -> None:
    """The highest limbs decide whether p is subtracted; if they are equal, all limbs do."""
    p, source = PRIMES[field], random.Random(field)
    bits = range(0, p.bit_length() - 1, 5)
    words = [w % p for bit in bits for w in (1 << bit, -(1 << bit), (1 << bit) - 1)]
    radix = pow(2, -32 if p < 2**32 else -64 * ((p.bit_length() + 63) // 64), p)
    expected = [w * radix % p for w in words]
    for _ in range(8):
        a = [source.randrange(1, p) for _ in words]
        b = [v * pow(u, -1, p) % p for u, v in zip(a, expected, strict=True)]
        x, y = encode(a, field), encode(b, field)
        assert decode(ops.multiply(x, y)) == expected
        assert decode(ops.multiply(x, y, out=x)) == expected
        assert decode(ops.square(y)) == [v * v % p for v in b]
    if p % 4 == 3:
        roots = [pow(v, (p + 1) // 4, p) for v in expected]
        pairs = [(u, v) for u, v in zip(roots, expected, strict=True) if u * u % p == v]
        assert len(pairs) > 8
        assert decode(ops.square(encode([u for u, _ in pairs], field))) == [v for _, v in pairs]


@pytest.mark.parametrize("field", FIELDS)
def test_words_may_lie_anywhere(field: str) -> None:
    values = numbers(field, 90)
    words = np.asarray(ops.to_canonical(encode(values, field)))
    turned = cw.asarray(np.ascontiguousarray(words.T)).T
    assert decode(ops.from_canonical(turned, field)) == values
    assert decode(ops.from_canonical(cw.asarray(words)[::-2], field)) == values[::-2]
    out = cw.asarray(np.zeros_like(words.T)).T
    ops.to_canonical(encode(values, field), out=out)
    assert np.array_equal(np.asarray(out), words)
    wrong = words.copy()
    wrong[77] = [(PRIMES[field] >> (64 * i)) & (2**64 - 1) for i in range(words.shape[1])]
    for given in (cw.asarray(wrong), cw.asarray(np.ascontiguousarray(wrong.T)).T):
        with pytest.raises(cw.errors.OpError, match="element 77"):
            ops.from_canonical(given, field)


@pytest.mark.parametrize("field", FIELDS)
def test_strides_and_broadcasts_change_nothing(field: str) -> None:
    p, a, b = PRIMES[field], numbers(field, 60, 3), numbers(field, 5, 4)
    x, y = encode(a, field, (12, 5)), encode(b, field)
    rows = [a[5 * i : 5 * i + 5] for i in range(12)]
    expected = [u * v % p for row in rows for u, v in zip(row, b, strict=True)]
    assert decode(ops.multiply(x, y)) == expected
    turned = ops.multiply(x[::-2].T, encode([b[0]], field, ()))
    assert decode(turned) == [rows[i][j] * b[0] % p for j in range(5) for i in range(11, -1, -2)]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("op", "python"),
    [
        (ops.equal, operator.eq),
        (ops.not_equal, operator.ne),
        (ops.less, operator.lt),
        (ops.less_equal, operator.le),
        (ops.greater, operator.gt),
        (ops.greater_equal, operator.ge),
    ],
)
def test_elements_compare_as_their_numbers(
    field: str, op: Callable[[Tensor, Tensor], Tensor], python: Callable[[int, int], bool]
) -> None:
    a, b = numbers(field, 90, 5), numbers(field, 90, 6)
    b[::3] = a[::3]
    got = np.asarray(op(encode(a, field), encode(b, field)))
    assert got.tolist() == [python(u, v) for u, v in zip(a, b, strict=True)]


@pytest.mark.parametrize("field", FIELDS)
def test_powers_have_integer_exponents(field: str) -> None:
    p, a = PRIMES[field], numbers(field, 40, 7)
    exponents = [0, 1, 5, -1, -3, 2**63 - 1, 12, 12] + [5] * 32
    got = decode(ops.field_pow(encode(a, field), cw.asarray(np.array(exponents, np.int64))))
    inverse = [pow(u, -1, p) if u else 0 for u in a]
    assert got == [
        pow(u, e, p) if e >= 0 else pow(v, -e, p)
        for u, v, e in zip(a, inverse, exponents, strict=True)
    ]
    got = decode(ops.field_pow(encode(a, field), cw.asarray(-7)))
    assert got == [pow(v, 7, p) for v in inverse]


@pytest.mark.parametrize("field", FIELDS)
def test_integers_become_elements(field: str) -> None:
    p = PRIMES[field]
    for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"):
        own = np.dtype(dtype)
        limits = (0, 1)
        if dtype != "bool":
            limits = np.iinfo(own).min, np.iinfo(own).max
        values = np.array([limits[0], limits[1], 0, 1], own)
        got = decode(ops.astype(cw.asarray(values), field))
        assert got == [int(value) % p for value in values]
    with pytest.raises(cw.errors.OpError, match="integers"):
        ops.astype(cw.asarray([1.5]), field)


@pytest.mark.parametrize("field", FIELDS)
def test_sums_and_products_along_axes(field: str) -> None:
    p, a = PRIMES[field], numbers(field, 3 * 5 * 7, 8)
    x = encode(a, field, (3, 5, 7))
    grid = np.array(a, object).reshape(3, 5, 7)
    for axes in ([0], [1], [2], [0, 2], [0, 1, 2]):
        total = grid.sum(axis=tuple(axes)) % p
        assert decode(ops.sum(x, axes)) == np.ravel(total).tolist()
        product = grid
        for axis in sorted(axes, reverse=True):
            product = np.multiply.reduce(product, axis=axis) % p
        assert decode(ops.prod(x, axes)) == np.ravel(product).tolist()
    running = decode(ops.cumulative_sum(encode(a, field), 0))
    assert running == [sum(a[: i + 1]) % p for i in range(len(a))]


def test_long_sums_are_cut_into_chunks() -> None:
    a = numbers("bn254.fr", 300, 9)
    wide = cw.broadcast_to(encode(a, "bn254.fr"), (1000, 300))
    assert decode(ops.sum(wide, [0, 1])) == [1000 * sum(a) % PRIMES["bn254.fr"]]


@pytest.mark.parametrize("field", FIELDS)
def test_elements_are_moved_and_chosen(field: str) -> None:
    a, b = numbers(field, 24, 10), numbers(field, 24, 11)
    x, y = encode(a, field, (4, 6)), encode(b, field, (4, 6))
    assert decode(ops.contiguous(x.T)) == [a[6 * i + j] for j in range(6) for i in range(4)]
    condition = np.arange(24).reshape(4, 6) % 3 == 0
    got = decode(ops.where(x, y, cw.asarray(condition)))
    assert got == [u if i % 3 == 0 else v for i, (u, v) in enumerate(zip(a, b, strict=True))]
    assert decode(cw.take(encode(a, field), cw.asarray([5, 0, -1]))) == [a[5], a[0], a[23]]
    assert decode(ops.zeros([3], field)) == [0, 0, 0]


def test_neighbouring_steps_fuse_and_give_the_same() -> None:
    p, a, b = PRIMES["bn254.fr"], numbers("bn254.fr", 5000, 12), numbers("bn254.fr", 5000, 13)
    x, y = encode(a, "bn254.fr"), encode(b, "bn254.fr")

    def polynomial(x: Tensor, y: Tensor) -> Tensor:
        return ops.subtract(ops.multiply(ops.add(x, y), x), ops.square(y))

    program = cw.trace(polynomial, x, y)
    text = program._core.plan_text()
    assert "together" in text
    assert "arena 0 B" in text
    (got,) = program.run(x, y).outputs
    expected = [((u + v) * u - v * v) % p for u, v in zip(a, b, strict=True)]
    assert decode(got) == expected == decode(polynomial(x, y))


@pytest.mark.parametrize("field", FIELDS)
def test_instruction_sets_give_the_same_elements(field: str) -> None:
    a, b = numbers(field, 1700, 14), numbers(field, 1700, 15)
    x, y, point = encode(a, field), encode(b, field), encode(b[:1], field, ())
    two = cw.asarray(11)
    found = []
    for isa in cw.detect_devices().isas:
        with cw.select_backend(f"cpu_{isa}"):
            results = [ops.multiply(x, y), ops.divide(x, y), ops.field_pow(x, two)]
            results += [ops.evaluate(x, point), ops.kate_div(x, point), ops.scan_mul(x, point)]
            if zk.field(field).two_adicity >= 10:
                results.append(ops.field_ntt(x[:1024], coset_shift=encode([5], field, ())))
            found.append([decode(result) for result in results])
    assert all(results == found[0] for results in found)
