"""Modular arithmetic against Python's integers: one modulus and several, eager and traced."""

from math import gcd
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import ParamError
from cloakwork.modular import intt, mod, ntt
from cloakwork.modular.primes import group_exponent, is_prime, ntt_primes, primitive_root
from cloakwork.modular.residues import Residues
from hypothesis import given, settings
from hypothesis import strategies as st

LARGEST = 2**62 - 1
MODULI = st.integers(2, LARGEST) | st.sampled_from([2, 3, 4, 2**61 - 1, 2**61, LARGEST])
WORDS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5)


def values(x: Residues) -> list[Any]:
    found: list[Any] = x.tensor.tolist()
    return found


@given(MODULI, WORDS, st.integers(), st.integers(0, 2**70))
def test_operators_are_those_of_pythons_integers(
    q: int, words: list[int], other: int, exponent: int
) -> None:
    ring = mod(q)
    x, y = ring(words), ring(words[::-1])
    pairs = [*zip(words, words[::-1], strict=True)]
    assert values(x) == [a % q for a in words]
    assert values(x + y) == [(a + b) % q for a, b in pairs]
    assert values(x - y) == [(a - b) % q for a, b in pairs]
    assert values(x * y) == [a * b % q for a, b in pairs]
    assert values(-x) == [-a % q for a in words]
    assert values(+x) == values(x)
    assert values(x**exponent) == [pow(a, exponent, q) for a in words]
    assert values(x + other) == values(other + x) == [(a + other) % q for a in words]
    assert values(x - other) == [(a - other) % q for a in words]
    assert values(other - x) == [(other - a) % q for a in words]
    assert values(other * x) == values(x * other) == [a * other % q for a in words]
    assert (x == y).tolist() == [(a - b) % q == 0 for a, b in pairs]
    assert (x != other).tolist() == [(a - other) % q != 0 for a in words]


@settings(deadline=None)
@given(MODULI, WORDS)
def test_division_is_by_what_is_coprime(q: int, words: list[int]) -> None:
    ring = mod(q)
    coprime = [a for a in words if gcd(a, q) == 1]
    if len(coprime) < len(words):
        with pytest.raises(ParamError, match="coprime"):
            1 / ring(words)
        with pytest.raises(ParamError, match="coprime"):
            ring(words) ** -1
    if coprime:
        x = ring(coprime)
        inverses = [pow(a, -1, q) for a in coprime]
        assert values(1 / x) == inverses
        assert values(3 / x) == [3 * a % q for a in inverses]
        assert values(x / x) == [1] * len(coprime)
        assert values(x**-3) == [pow(a, 3, q) for a in inverses]
        assert values(x / coprime[0]) == [a * inverses[0] % q for a in coprime]


@given(st.integers(1, 3000))
def test_the_exponent_of_a_group_is_the_least(q: int) -> None:
    exponent = group_exponent(q)
    units = [a for a in range(1, q + 1) if gcd(a, q) == 1]
    assert all(pow(a, exponent, q) == 1 % q for a in units)
    smaller = [exponent // p for p in range(2, exponent + 1) if exponent % p == 0 and is_prime(p)]
    assert all(any(pow(a, e, q) != 1 % q for a in units) for e in smaller)


@pytest.mark.parametrize(
    "q", [2**61 - 1, 2**62 - 1, 2**61, (2**31 - 1) ** 2, (2**31 - 1) * 2147483629, 3**39]
)
def test_large_groups_have_their_exponent(q: int) -> None:
    exponent = group_exponent(q)
    assert all(pow(a, exponent, q) == 1 for a in range(1, 200) if gcd(a, q) == 1)


def test_several_moduli_run_along_the_last_axis() -> None:
    moduli = [17, 2**61 - 1, 100]
    ring = mod(moduli)
    numbers = [[1, 2, 3], [-7, 2**62, 33]]
    x = ring(numbers)
    assert x.shape == (2, 3)
    assert values(x) == [[a % q for a, q in zip(row, moduli, strict=True)] for row in numbers]
    assert values(x * x + 5) == [
        [(a * a + 5) % q for a, q in zip(row, moduli, strict=True)] for row in numbers
    ]
    assert values(x**11) == [
        [pow(a, 11, q) for a, q in zip(row, moduli, strict=True)] for row in numbers
    ]
    assert values(x / [5, 6, 7]) == [
        [a * pow(b, -1, q) % q for a, b, q in zip(row, [5, 6, 7], moduli, strict=True)]
        for row in numbers
    ]
    assert values(x / 3) == [
        [a * pow(3, -1, q) % q for a, q in zip(row, moduli, strict=True)] for row in numbers
    ]
    wide = 10**30
    assert values(ring(wide)) == [wide % q for q in moduli]
    spread = ring(cw.asarray([[5], [300]]))
    assert values(spread) == [[n % q for q in moduli] for n in (5, 300)]
    totals = [sum(column) for column in zip(*numbers, strict=True)]
    assert values(ring.sum(x)) == [total % q for total, q in zip(totals, moduli, strict=True)]


def test_moduli_given_as_a_tensor_are_those_numbers() -> None:
    assert mod(cw.asarray([17, 257])) == mod([17, 257])
    assert mod(cw.asarray(17)) == mod(17)
    assert mod(17) != mod([17])
    assert hash(mod(17)) == hash(mod(17))
    assert repr(mod(17)) == "mod(17)"
    assert repr(mod([17, 3])) == "mod([17, 3])"


def test_all_that_holds_integers_becomes_residues() -> None:
    ring = mod(1000)
    for dtype in ("int8", "i16", "i32", "i64", "uint8", "u16", "u32", "u64"):
        assert values(ring(cw.asarray([3, 120], dtype))) == [3, 120]
    assert values(ring(np.array([2**64 - 1, 5], np.uint64))) == [(2**64 - 1) % 1000, 5]
    assert values(ring(np.int8(-1))) == 999
    assert values(ring.asarray([[1, -1]])) == [[1, 999]]
    assert values(ring(2**200)) == 2**200 % 1000
    x = ring([1, 2])
    assert ring(x) is x
    assert values(np.array([5, 5]) * x) == [5, 10]
    assert values(cw.asarray([5, 5]) - x) == [4, 3]
    pair = [5, 5]
    assert values(pair * x) == [5, 10]
    assert np.asarray(x).tolist() == [1, 2]


def test_residues_are_indexed_and_written_to_as_tensors() -> None:
    ring = mod(10)
    x = ring([[1, 2, 3], [4, 5, 6]])
    assert (x.shape, x.ndim, x.size, len(x)) == ((2, 3), 2, 6, 2)
    assert [values(row) for row in x] == [[1, 2, 3], [4, 5, 6]]
    assert values(x[1, ::-1]) == [6, 5, 4]
    assert values(x.reshape(3, 2)[0]) == [1, 2]
    x[0] = 27
    x[1, 1:] = ring([8, 9])
    assert values(x) == [[7, 7, 7], [4, 8, 9]]
    several = mod([5, 7])([[1, 2], [3, 4], [0, 6]])
    assert values(several[1]) == [3, 4]
    assert values(several[..., ::2, None]) == [[[1, 2]], [[0, 6]]]
    several[1:] = 9
    assert values(several) == [[1, 2], [4, 2], [4, 2]]
    assert values(several.reshape(1, 3, 2)[0, 2]) == [4, 2]
    with pytest.raises(IndexError):
        several[0, 0]
    with pytest.raises(ParamError, match="the moduli"):
        several.reshape(6)
    with pytest.raises(TypeError, match="without axes"):
        len(several[0])


def test_repr_shows_residues_and_moduli() -> None:
    assert repr(mod(17)([3, 20])) == "Residues([3, 3], mod 17)"
    assert repr(mod([17, 3])([[3, 20]])) == "Residues([[3, 2]], mod [17, 3])"
    secret = mod(17)([3])
    secret.tensor.mark_secret()
    assert repr(secret) == "Residues(<secret>, mod 17)"


@pytest.mark.parametrize("axis", [None, 0, 1, -1, -3, (0, 2), (), (1, -1, 0)])
def test_sums_are_reduced(axis: Any) -> None:
    q = LARGEST
    numbers = np.random.default_rng(1).integers(0, q, (2, 3, 4))
    expected = numbers.astype(object).sum(axis=axis) % q
    assert values(mod(q).sum(numbers, axis)) == np.asarray(expected).tolist()


@pytest.mark.parametrize("axis", [2, -3, (0, 0), (0, -2), 9])
def test_axes_that_are_none_are_refused(axis: Any) -> None:
    with pytest.raises(ParamError, match="axis"):
        mod(5).sum(mod(5)([[1]]), axis)
    with pytest.raises(ParamError, match="hold no moduli"):
        mod([5, 7]).sum([[1, 1]], -1)


@pytest.mark.parametrize(("degree", "bits"), [(1, 20), (2, 20), (16, 61), (64, 30)])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (0,)])
def test_the_ntt_evaluates_at_odd_powers(degree: int, bits: int, batch: tuple[int, ...]) -> None:
    (q,) = ntt_primes(degree, [bits])
    ring, root = mod(q), primitive_root(2 * degree, q)
    numbers = np.random.default_rng(2).integers(0, q, (*batch, degree))
    transformed = ring.ntt(numbers)
    assert transformed.shape == numbers.shape
    assert values(ring.intt(transformed)) == numbers.tolist()
    points = [pow(root, 2 * j + 1, q) for j in range(degree)]
    got = transformed.tensor.reshape(-1 if numbers.size else 0, degree).tolist()
    for row, found in zip(numbers.reshape(-1, degree).astype(object), got, strict=True):
        expected = [sum(c * pow(x, i, q) for i, c in enumerate(row)) % q for x in points]
        assert found == expected


def test_products_of_polynomials_are_entry_by_entry() -> None:
    moduli = ntt_primes(8, [20, 40])
    ring, rng = mod(moduli), np.random.default_rng(3)
    a, b = (rng.integers(0, 1000, (8, 1)) for _ in range(2))
    full = np.convolve(a[:, 0], b[:, 0])
    wrapped = full[:8] - np.append(full[8:], 0)
    product = ring.intt(ring.ntt(ring(a)) * ring.ntt(ring(b)))
    assert values(product) == [[int(c) % q for q in moduli] for c in wrapped]
    single = mod(moduli[0])
    x = ntt(cw.asarray(a[:, 0]), moduli[0])
    assert isinstance(x, cw.Tensor)
    assert x.tolist() == values(ntt(single(a[:, 0])))
    assert values(intt(single(x))) == intt(x, moduli[0]).tolist() == a[:, 0].tolist()


@pytest.mark.parametrize(
    ("q", "shape", "text"),
    [
        (17, (3,), "power of two"), (17, (0,), "power of two"), (17, (), "power of two"),
        (17, (16,), "prime = 1 mod 32"), (33, (16,), "prime"), (2, (1,), "prime"),
        ([97, 17], (16, 2), "17"), ([97], (1,), "power of two"),
    ],
)  # fmt: skip
def test_what_has_no_ntt_is_refused(q: Any, shape: tuple[int, ...], text: str) -> None:
    for transform in (mod(q).ntt, mod(q).intt):
        with pytest.raises(ParamError, match=text):
            transform(np.zeros(shape, int))


@pytest.mark.parametrize("q", [1, 0, -17, 2**62, 2**70, 2.5, "17", None, [], [17, 1], [[17]]])
def test_moduli_that_are_none_are_refused(q: Any) -> None:
    with pytest.raises(ParamError, match="q"):
        mod(q)


def test_operands_that_do_not_fit_are_refused() -> None:
    x = mod(17)([1, 2])
    with pytest.raises(ParamError, match=r"residues of mod\(17\)"):
        x + mod(19)([1, 2])
    with pytest.raises(TypeError, match="integer dtype"):
        x * np.array([0.5, 1.0])
    for wrong in (0.5, "1", None):
        with pytest.raises(TypeError):
            x + wrong
        with pytest.raises(TypeError):
            x / wrong
    with pytest.raises(TypeError):
        x**0.5  # type: ignore[operator]
    with pytest.raises(ValueError, match="shape"):
        x * [1, 2, 3]
    with pytest.raises(ParamError, match="last axis of 2"):
        mod([3, 5])([1, 2, 3])
    with pytest.raises(TypeError, match="a tensor and a modulus"):
        ntt(x, 17)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        hash(x)


def test_residues_are_recorded_by_a_trace() -> None:
    ring = mod([97, 193])

    def function(a: cw.Tensor, b: cw.Tensor) -> list[cw.Tensor]:
        x, y = ring(a), ring(b)
        assert "<traced>" in repr(x)
        product = ring.intt(ring.ntt(x) * ring.ntt(y))
        return [product.tensor, (x**5 - 3 / y).tensor, ring.sum(x).tensor, x == y]

    rng = np.random.default_rng(4)
    a, b = (cw.asarray(rng.integers(1, 97, (8, 2))) for _ in range(2))
    program = cw.trace(function, a, b)
    x, y = ring(a), ring(b)
    product = ring.intt(ring.ntt(x) * ring.ntt(y))
    expected = [product.tensor, (x**5 - 3 / y).tensor, ring.sum(x).tensor, x == y]
    for output, own in zip(program.run(a, b).outputs, expected, strict=True):
        assert output.tolist() == own.tolist()


def test_tables_made_in_a_trace_serve_after_it() -> None:
    ring = mod(12289)
    example = cw.asarray([1, 2, 3, 4])
    program = cw.trace(lambda a: ring.ntt(a).tensor, example)
    assert ring.ntt(example).tensor.tolist() == program.run(example).outputs[0].tolist()
