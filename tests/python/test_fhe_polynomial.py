"""Polynomials of encrypted values: against NumPy, in as few levels as there can be."""

from collections.abc import Callable
from math import ceil, log2, prod
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import LevelError, MissingKeyError, NoiseError, ParamError
from cloakwork.fhe.circuits.schedule import Node, schedule
from python.fhe_setup import T, bgv, centred, ckks, integer_slots, measured_bits

DEGREES = [1, 2, 3, 4, 5, 6, 7, 8, 11, 15, 16, 23, 31, 47, 63, 64, 100, 127, 128, 255]
# Powers of values below their bound are smaller than it says, the more so the higher they are.
LOOSE_BITS = 7.0


def reals(keys: fhe.Keys, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, keys.context.slots)


def budget_left(keys: fhe.Keys, ciphertext: fhe.Ciphertext) -> float:
    """Bits between the largest coefficient of a ciphertext's content and half its modulus."""
    basis, whole = ciphertext.basis, prod(ciphertext.basis.moduli)
    hidden = keys.decrypt_plaintext(ciphertext).data
    residues = np.asarray(basis.intt(hidden.unsqueeze(0)))[0].astype(object)
    parts = (
        residues[:, i] * (whole // q * pow(whole // q, -1, q)) for i, q in enumerate(basis.moduli)
    )
    largest = max(min(n % whole, whole - n % whole) for n in sum(parts))
    return log2(whole) - 1 - log2(largest)


def value_of(node: Node, powers: Callable[[int], Any]) -> Any:
    """A schedule, followed in plain."""
    total = sum(c * powers(i) for i, c in node.terms)
    return total + sum(value_of(q, powers) * powers(m) for m, q in node.products)


@pytest.mark.parametrize("chebyshev", [False, True])
@pytest.mark.parametrize("degree", [0, *DEGREES])
def test_a_schedule_is_its_polynomial_in_as_few_levels(degree: int, chebyshev: bool) -> None:
    coefficients = np.random.default_rng(degree).uniform(-1, 1, degree + 1)
    plan = schedule(tuple(coefficients.tolist()), chebyshev)
    x = np.linspace(-1, 1, 33)
    basis = np.polynomial.chebyshev.Chebyshev if chebyshev else np.polynomial.Polynomial
    found = value_of(plan.root, lambda i: basis.basis(i)(x))
    np.testing.assert_allclose(found, basis(coefficients)(x), atol=1e-9)
    assert plan.root.depth == ceil(log2(degree + 1))
    depths = {0: 0, 1: 0}
    for power, (a, b) in plan.powers.items():
        assert a + b == power
        assert a - b in depths or not chebyshev
        depths[power] = max(depths[a], depths[b]) + 1
    for node in plan.root.nodes():
        assert all(depths[i] < node.depth for i, _ in (*node.terms, *node.products) if i)
        assert all(quotient.depth < node.depth for _, quotient in node.products)
    # Paterson and Stockmeyer: about 2 sqrt(d), and the splits that keep it shallow.
    assert plan.key_switches <= 2 * np.sqrt(degree) + np.log2(degree + 1)


@pytest.mark.parametrize("basis", ["power", "chebyshev"])
@pytest.mark.parametrize("degree", DEGREES)
def test_ckks_polynomials_stay_within_their_estimate(degree: int, basis: Any) -> None:
    keys = ckks(256, 8)
    values = reals(keys, degree)
    coefficients = np.random.default_rng(degree).uniform(-1, 1, degree + 1)
    polynomial = fhe.Polynomial(coefficients, basis)
    result = polynomial(keys.encrypt(values))
    assert polynomial.depth == ceil(log2(degree + 1))
    assert result.level == keys.context.parameters.level - polynomial.depth
    assert result.scale == keys.context.scales[result.level]
    measured = measured_bits(keys, result, polynomial(values))
    assert measured >= result.precision_estimate()
    assert measured <= result.precision_estimate() + LOOSE_BITS + log2(degree + 1)
    assert measured > 12


@pytest.mark.parametrize("special", [0, 2])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5, 7, 8, 15, 31])
def test_bgv_polynomials_are_exact(degree: int, special: int) -> None:
    keys = bgv(256, 9, special=special)
    values = integer_slots(keys, degree)
    coefficients = np.random.default_rng(degree).integers(-T, T, degree + 1)
    result = fhe.Polynomial(coefficients)(keys.encrypt(values))
    expected = np.zeros(len(values), dtype=object)
    for coefficient in coefficients[::-1]:
        expected = (expected * values + int(coefficient)) % T
    np.testing.assert_array_equal(keys.decrypt(result), centred(expected.astype(np.int64)))
    assert result.noise_budget() > 0


@pytest.mark.parametrize("degree", [2, 4, 8, 15, 16])
@pytest.mark.parametrize(("ring", "loose"), [(64, 40), (256, 10), (1024, 8)])
def test_bgv_noise_stays_within_its_estimate(ring: int, loose: float, degree: int) -> None:
    # A few slots may reach a value with a chance of 2^-40; typical values are far smaller.
    keys = bgv(ring, 9)
    coefficients = np.random.default_rng(degree).integers(1, T, degree + 1)
    x = keys.encrypt(integer_slots(keys, degree))
    power = x
    for _ in range(degree.bit_length() - 1):
        power = power.square()
    results = (fhe.Polynomial(coefficients)(x), power)
    over = [budget_left(keys, result) - result.noise_budget() for result in results]
    assert min(over) >= 0
    assert max(over) <= loose


@pytest.mark.parametrize("domain", [(-1.0, 1.0), (-8.0, 8.0), (0.0, 1.0), (1.0, 4.0)])
def test_functions_are_followed_over_their_domain(domain: tuple[float, float]) -> None:
    keys = ckks(256, 8)
    sine = fhe.chebyshev(np.sin, 23, domain)
    values = np.linspace(*domain, keys.context.slots)
    np.testing.assert_allclose(sine(values), np.sin(values), atol=1e-6)
    result = sine(keys.encrypt(values, bound=domain))
    # 2 / (b - a) is an integer for (-1, 1) and (0, 1); elsewhere it takes a level.
    assert sine.depth == (5 if domain[1] <= 1 else 6)
    assert result.level == keys.context.parameters.level - sine.depth
    measured = measured_bits(keys, result, sine(values))
    assert result.precision_estimate() <= measured
    assert measured <= result.precision_estimate() + LOOSE_BITS + 5


def test_odd_functions_need_fewer_powers() -> None:
    odd = fhe.chebyshev(np.sin, 15, (-1.0, 1.0))
    assert not any(odd.coefficients[::2])
    dense = fhe.Polynomial(np.random.default_rng(0).normal(size=16), "chebyshev")
    assert odd.key_switches <= dense.key_switches
    values = reals(ckks(), 1)
    np.testing.assert_allclose(odd(values), np.sin(values), atol=1e-12)


def test_a_product_that_waits_for_its_rescaling_is_rescaled_first() -> None:
    keys = ckks(256, 8)
    values = reals(keys, 2)
    x = keys.encrypt(values)
    cubic = fhe.Polynomial([0.5, -1.0, 0.0, 2.0])
    result = cubic(x * x)
    assert result.level == keys.context.parameters.level - 3
    assert measured_bits(keys, result, cubic(values**2)) >= result.precision_estimate()
    chained = cubic(cubic(x) * 0.25)
    assert measured_bits(keys, chained, cubic(cubic(values) / 4)) >= chained.precision_estimate()


def test_complex_values_and_batches() -> None:
    keys = ckks(256, 8)
    values = reals(keys, 3) + 1j * reals(keys, 4)
    batch = np.stack([values, values.conj(), 0.5 * values])
    cubic = fhe.Polynomial([0.5, -1.0, 0.25, 2.0])
    result = cubic(keys.encrypt(batch, bound=2**0.5, batch=True))
    assert measured_bits(keys, result, cubic(batch)) >= result.precision_estimate()


def test_by_hand_the_scale_is_that_of_the_parameters() -> None:
    keys = ckks(256, 5, manual=True)
    values = reals(keys, 5)
    quintic = fhe.Polynomial([0.5, -1.0, 0.25, 2.0, 0.0, 1.0])
    result = quintic(keys.encrypt(values))
    assert result.scale == keys.context.parameters.scale
    assert measured_bits(keys, result, quintic(values)) >= result.precision_estimate()


@pytest.mark.parametrize(
    ("make", "polynomial"),
    [
        (ckks, fhe.Polynomial(np.linspace(-1, 1, 8))),
        (ckks, fhe.chebyshev(np.exp, 7, (-2.0, 2.0))),
        (bgv, fhe.Polynomial([3, 1, 4, 1, 5])),
    ],
)
def test_a_program_of_a_polynomial_is_the_polynomial(make: Any, polynomial: Any) -> None:
    keys = make(256, 5)
    x = keys.encrypt(np.arange(16) % 2)
    eager = polynomial(x)
    program = cw.trace(polynomial, x)
    (traced,) = program.run(x).outputs
    np.testing.assert_array_equal(np.asarray(traced.data), np.asarray(eager.data))
    result = program.to_heal().run(verify=True)
    assert not result.mismatches
    np.testing.assert_array_equal(
        keys.decrypt(program.results(result.outputs)[0]), keys.decrypt(eager)
    )


def test_too_few_levels_are_named_before_any_work() -> None:
    keys = ckks(256, 3)
    with pytest.raises(LevelError, match=r"4 levels for degree 8, operand is at level 3"):
        fhe.Polynomial(np.ones(9))(keys.encrypt([0.5]))
    with pytest.raises(LevelError, match=r"2 levels for degree 1, operand is at level 1"):
        fhe.Polynomial([0.0, 1.0], "chebyshev", (0.0, 3.0))(keys.encrypt([0.5], level=1))
    x = keys.encrypt([0.5], level=2)
    with pytest.raises(LevelError, match=r"2 levels for degree 3, operand is at level 1"):
        fhe.Polynomial([0, 0, 0, 1])(x * x)


def test_noise_that_would_outgrow_the_modulus_is_named_before_any_work() -> None:
    keys = bgv(256, 2)
    deep = fhe.Polynomial(np.arange(1, 65))
    with pytest.raises(NoiseError, match=r"degree 63, 6 products deep, at level 2 with \d+ bits"):
        deep(keys.encrypt([1, 2, 3]))


def test_products_need_their_key_before_any_work() -> None:
    for keys in (ckks(256, 3), bgv(256, 3)):
        bare = keys.context.keygen(relinearization=False)
        with pytest.raises(MissingKeyError, match="relinearization"):
            fhe.Polynomial([0, 0, 1])(bare.encrypt([1]))
    bare = ckks(256, 3).context.keygen(relinearization=False)
    assert fhe.Polynomial([0.5, 2.0])(bare.encrypt([1])).level == 2


def test_polynomials_that_are_none_are_refused() -> None:
    for given in ([], [[1.0]], [np.inf], ["a"], [2**53], [1j]):
        with pytest.raises(ParamError, match="coefficients"):
            fhe.Polynomial(given)
    with pytest.raises(ParamError, match="basis"):
        fhe.Polynomial([1.0], "monomial")  # type: ignore[arg-type]
    for domain in ((1.0, 1.0), (2.0, 1.0), (0.0, np.inf)):
        with pytest.raises(ParamError, match="domain"):
            fhe.Polynomial([1.0], "chebyshev", domain)
    with pytest.raises(ParamError, match="degree"):
        fhe.chebyshev(np.sin, -1, (-1.0, 1.0))
    x = bgv(256, 3).encrypt([1])
    with pytest.raises(ParamError, match='"power" under BGV'):
        fhe.Polynomial([1, 2], "chebyshev")(x)
    with pytest.raises(ParamError, match="integers under BGV"):
        fhe.Polynomial([0.5, 2.0])(x)
