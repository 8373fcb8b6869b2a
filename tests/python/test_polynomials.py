"""Transforms and polynomials over prime fields, against Python's integers."""

from __future__ import annotations

import random

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import ops
from python.field_numbers import FIELDS, PRIMES, decode, encode, numbers

GENERATORS = {
    "bn254.fr": 5,
    "bls12_381.fr": 5,
    "goldilocks": 7,
    "babybear": 31,
    "koalabear": 3,
    "pasta.fp": 5,
    "pasta.fq": 5,
}


def transform(values: list[int], root: int, p: int) -> list[int]:
    """sum_j values[j] root^(j k), k = 0 .. n."""
    if len(values) == 1:
        return values
    square = root * root % p
    even, odd = transform(values[::2], square, p), transform(values[1::2], square, p)
    half, power = len(values) // 2, 1
    result = [0] * len(values)
    for i in range(half):
        turned = odd[i] * power % p
        result[i] = (even[i] + turned) % p
        result[i + half] = (even[i] - turned) % p
        power = power * root % p
    return result


@pytest.mark.parametrize("field", sorted(GENERATORS))
@pytest.mark.parametrize("log", [*range(13), 15])
def test_transforms_are_values_on_cosets(field: str, log: int) -> None:
    p, n = PRIMES[field], 1 << log
    a, shift = numbers(field, n, log), random.Random(log).randrange(1, p)
    root = pow(GENERATORS[field], (p - 1) // n, p)
    x, s = encode(a, field), encode([shift], field, ())
    values = transform(a, root, p)
    assert decode(ops.field_ntt(x, inverse=False)) == values
    coset = transform([u * pow(shift, i, p) % p for i, u in enumerate(a)], root, p)
    shifted = ops.field_ntt(x, inverse=False, coset_shift=s)
    assert decode(shifted) == coset
    assert decode(ops.field_ntt(shifted, inverse=True, coset_shift=s)) == a
    assert decode(ops.field_ntt(ops.field_ntt(x, inverse=False), inverse=True)) == a
    unscaled = ops.field_ntt(x, inverse=True, scale=False)
    assert decode(unscaled) == transform(a, pow(root, -1, p), p)


@pytest.mark.parametrize("field", sorted(GENERATORS))
def test_the_largest_elements_are_transformed(field: str) -> None:
    p = PRIMES[field]
    radix = {"goldilocks": 0, "babybear": 32, "koalabear": 32}.get(field, 256)
    largest = (p - 1) * pow(2, -radix, p) % p  # p - 1 in memory
    for log in (6, 9, 12):
        n = 1 << log
        root = pow(GENERATORS[field], (p - 1) // n, p)
        for a in ([largest] * n, [largest * (i % 2) for i in range(n)]):
            got = decode(ops.field_ntt(encode(a, field), inverse=False))
            assert got == transform(a, root, p)


def test_rows_are_transformed_wherever_they_lie() -> None:
    field, n = "bn254.fr", 128
    p = PRIMES[field]
    a = numbers(field, 3 * 2 * n)
    root = pow(5, (p - 1) // n, p)
    x = encode(a, field, (3, 2, n))
    expected = [transform(a[at : at + n], root, p) for at in range(0, len(a), n)]
    assert decode(ops.field_ntt(x, inverse=False)) == [u for row in expected for u in row]
    across = ops.field_ntt(encode(a[: n * 6], field, (n, 6)).T, inverse=False)
    columns = [transform(a[j : n * 6 : 6], root, p) for j in range(6)]
    assert decode(across) == [u for row in columns for u in row]


def test_a_length_beyond_the_two_adicity_and_what_is_no_power_of_two_are_refused() -> None:
    with pytest.raises(cw.errors.OpError, match="power of two"):
        ops.field_ntt(encode([1, 2, 3], "bn254.fr"), inverse=False)
    long = cw.broadcast_to(encode([1], "babybear"), (1 << 28,))
    with pytest.raises(cw.errors.OpError, match="27"):
        ops.field_ntt(long, inverse=False)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("n", [0, 1, 5, 127, 128, 129, 1024, 2500])
def test_values_quotients_and_running_products(field: str, n: int) -> None:
    p, a = PRIMES[field], numbers(field, n, n)
    point = numbers(field, 3, 99)[2]
    x, b = encode(a, field), encode([point], field, ())
    quotient, value = [0] * n, 0
    for i in range(n - 1, -1, -1):
        quotient[i] = value
        value = (a[i] + point * value) % p
    assert decode(ops.evaluate(x, b)) == [value]
    assert decode(ops.kate_div(x, b)) == quotient
    if n:
        assert decode(ops.kate_div(x, b, keep=False)) == quotient[:-1]
    nonzero = [u or 1 for u in a]
    products, product = [], point
    for u in nonzero:
        products.append(product)
        product = product * u % p
    assert decode(ops.scan_mul(encode(nonzero, field), b)) == products
    assert decode(ops.powers(b, n)) == [pow(point, i, p) for i in range(n)]


def test_polynomials_are_evaluated_together() -> None:
    field, p = "bls12_381.fr", PRIMES["bls12_381.fr"]
    a, point = numbers(field, 6 * 300), 12345
    got = decode(ops.evaluate(encode(a, field, (2, 3, 300)), encode([point], field, ())))
    rows = [a[at : at + 300] for at in range(0, len(a), 300)]
    assert got == [sum(u * pow(point, i, p) for i, u in enumerate(row)) % p for row in rows]


@pytest.mark.parametrize("field", FIELDS)
def test_powers_are_distributed(field: str) -> None:
    p, a, powers = PRIMES[field], numbers(field, 37), numbers(field, 8, 1)
    got = decode(ops.distribute_powers(encode(a, field), encode(powers, field)))
    assert got == [u * powers[i % 8] % p for i, u in enumerate(a)]


@pytest.mark.parametrize("field", FIELDS)
def test_inverses_of_many(field: str) -> None:
    p, a = PRIMES[field], numbers(field, 700)
    got = decode(ops.batch_invert(encode(a, field)))
    assert got == [pow(u, -1, p) if u else 0 for u in a]
    a = [u or 1 for u in a]
    a[123] = 0
    with pytest.raises(cw.errors.OpError, match="element 123"):
        ops.batch_invert(encode(a, field), strict=True)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_the_polynomial_through_points(field: str, n: int) -> None:
    p = PRIMES[field]
    coefficients = numbers(field, n, 3)
    xs = random.Random(n).sample(range(1000), n)
    ys = [sum(c * pow(x, i, p) for i, c in enumerate(coefficients)) % p for x in xs]
    assert decode(ops.interpolate(encode(xs, field), encode(ys, field))) == coefficients


def test_points_over_the_same_place_are_refused() -> None:
    with pytest.raises(cw.errors.OpError, match="elements 1 and 3"):
        ops.interpolate(encode([1, 2, 3, 2], "bn254.fr"), encode([1, 2, 3, 4], "bn254.fr"))


@pytest.mark.parametrize("field", FIELDS)
def test_sparse_matrices_times_vectors(field: str) -> None:
    p, source = PRIMES[field], random.Random(field)
    x = numbers(field, 50)
    rows = [[source.randrange(50) for _ in range(source.choice([0, 1, 3, 40]))] for _ in range(30)]
    values = numbers(field, sum(map(len, rows)), 1)
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    columns = np.array([column for row in rows for column in row], np.int64)
    got = ops.sparse_matvec(
        cw.asarray(starts), cw.asarray(columns), encode(values, field), encode(x, field)
    )
    taken = iter(values)
    assert decode(got) == [sum(next(taken) * x[column] for column in row) % p for row in rows]


def test_sparse_matrices_that_point_outside_are_refused() -> None:
    values, x = encode([1, 2], "bn254.fr"), encode([1, 2, 3], "bn254.fr")
    good = cw.asarray([0, 1, 2]), cw.asarray([0, 2])
    assert decode(ops.sparse_matvec(*good, values, x)) == [1, 6]
    with pytest.raises(cw.errors.OpError, match="columns"):
        ops.sparse_matvec(good[0], cw.asarray([0, 3]), values, x)
    for starts in ([0, 1, 3], [1, 1, 2], [0, 3, 2]):
        with pytest.raises(cw.errors.OpError, match="starts"):
            ops.sparse_matvec(cw.asarray(starts), good[1], values, x)
