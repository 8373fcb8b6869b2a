"""Bounds hold for all admitted values, are tight, and are required."""

from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import EncodeError, NoiseError, ParamError
from cloakwork.fhe.circuits.diagonals import Diagonals, blockwise
from cloakwork.fhe.ckks.slot_errors import Norms, SlotError
from cloakwork.fhe.estimates.bounds import Bound
from cloakwork.fhe.estimates.ranges import slope_log2, value_range
from python.fhe_setup import ckks, measured_bits

SLOTS = 64
# An estimate is a bound, a bit or two above the mean error; a single error is one draw.
ONE_DRAW_BITS = 8.0
KEYS = ckks(256, 8)


def drawn(generator: np.random.Generator, bound: Bound) -> np.ndarray:
    """Values that a bound admits, corners among them."""
    shape = np.broadcast_shapes(bound.low.shape, bound.magnitude.shape, (SLOTS,))
    part = generator.random((2, *shape)).round(int(generator.integers(0, 4)))
    re = bound.low + (bound.high - bound.low) * part[0]
    values = re + 1j * bound.imaginary * (2 * part[1] - 1)
    return values * np.minimum(1.0, bound.magnitude / np.maximum(np.abs(values), 1e-300))


def some_bound(generator: np.random.Generator) -> Bound:
    low, high = np.sort(generator.normal(size=2)) * 3
    choices = [
        Bound.real(low, high),
        Bound.circle(abs(high)),
        Bound.of(generator.normal(size=SLOTS), SLOTS),
        Bound.real(low, high).where(generator.random(SLOTS) < 0.3),
        Bound.of(generator.normal(size=9) + 1j * generator.normal(size=9), SLOTS),
    ]
    return choices[generator.integers(len(choices))]


OPERATIONS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a + -b,
    lambda a, b: a.squared() if isinstance(a, Bound) else a * a,
    lambda a, b: a.times(-1.5 + 0.5j) if isinstance(a, Bound) else a * (-1.5 + 0.5j),
    lambda a, b: a.plus(2.0) if isinstance(a, Bound) else a + 2.0,
    lambda a, b: a.turned(3, SLOTS) if isinstance(a, Bound) else np.roll(a, -3),
]


def check_holds(bound: Bound, values: np.ndarray) -> None:
    more = 1e-9 * (1 + bound.largest)
    assert (values.real >= bound.low - more).all()
    assert (values.real <= bound.high + more).all()
    assert (np.abs(values.imag) <= bound.imaginary + more).all()
    assert (np.abs(values) <= bound.magnitude + more).all()
    assert np.sqrt(np.square(np.abs(values)).mean()) <= bound.rms + more


@pytest.mark.parametrize("operation", OPERATIONS)
def test_bounds_of_results_hold_for_all_values(operation: Callable[[Any, Any], Any]) -> None:
    generator = np.random.default_rng(1)
    for _ in range(60):
        a, b = some_bound(generator), some_bound(generator)
        result = operation(a, b)
        for _ in range(5):
            check_holds(result, operation(drawn(generator, a), drawn(generator, b)))


def test_squares_of_real_numbers_are_not_negative() -> None:
    square = Bound.real(-3.0, 2.0).squared()
    assert (square.low, square.high) == (0.0, pytest.approx(9.0))
    assert Bound.real(-3.0, -2.0).squared().low == pytest.approx(4.0)
    # Products of different numbers of the same interval may be.
    assert (Bound.real(-3.0, 2.0) * Bound.real(-3.0, 2.0)).low == pytest.approx(-6.0)


def test_products_of_complex_numbers_on_a_circle_stay_on_it() -> None:
    found = Bound.circle(1.0)
    for _ in range(10):
        found = found * Bound.circle(1.0)
    assert found.largest == pytest.approx(1.0)


@pytest.mark.parametrize("layout", ["blocks", "tiled"])
@pytest.mark.parametrize("shape", [(8, 8), (3, 7), (1, 5), (6, 1)])
def test_bounds_of_matrix_products_are_the_rows_largest_sums(
    shape: tuple[int, int], layout: Any
) -> None:
    generator = np.random.default_rng(2)
    matrix = generator.normal(size=shape) + 1j * generator.normal(size=shape) * (layout == "blocks")
    period = 1 << (max(shape) - 1).bit_length()
    cut = Diagonals(matrix, SLOTS, period, layout)
    for given in (Bound.real(0.0, 1.0), Bound.circle(2.0), some_bound(generator)):
        found = blockwise(cut, given, 2.0 ** Norms.of(matrix).spectral * period)
        for _ in range(20):
            values = drawn(generator, given)
            product = sum(cut.slots(k) * np.roll(values, -k) for k in cut.offsets())
            check_holds(found, np.asarray(product))
    real = blockwise(Diagonals(matrix.real, SLOTS, period, "blocks"), Bound.real(0.0, 1.0), 1e9)
    sums = np.maximum(matrix.real, 0.0).sum(axis=1)
    np.testing.assert_allclose(real.high[: shape[0]], sums, rtol=1e-9)


@pytest.mark.parametrize("chebyshev", [False, True])
@pytest.mark.parametrize("degree", [1, 2, 3, 7, 15, 40])
def test_ranges_of_polynomials_hold_and_are_tight(degree: int, chebyshev: bool) -> None:
    generator = np.random.default_rng(degree)
    basis = np.polynomial.chebyshev.chebval if chebyshev else np.polynomial.polynomial.polyval
    for _ in range(5):
        coefficients = generator.normal(size=degree + 1)
        low, high = np.sort(generator.uniform(-1, 1, 2))
        found = value_range(tuple(coefficients), chebyshev, Bound.real(low, high))
        values = basis(np.linspace(low, high, 20_001), coefficients)
        assert found.low <= values.min()
        assert values.max() <= found.high
        spread = np.ptp(values) + 1e-9
        assert found.high - values.max() < 1e-4 * spread
        assert values.min() - found.low < 1e-4 * spread


@pytest.mark.parametrize("chebyshev", [False, True])
@pytest.mark.parametrize("error", [2.0**-30, 2.0**-10, 0.1])
def test_slopes_hold_for_errors_in_every_direction(chebyshev: bool, error: float) -> None:
    generator = np.random.default_rng(3)
    basis = np.polynomial.chebyshev.chebval if chebyshev else np.polynomial.polynomial.polyval
    for degree in (1, 2, 5, 15):
        coefficients = generator.normal(size=degree + 1)
        slope = slope_log2(tuple(coefficients), chebyshev, Bound.real(-1.0, 1.0), np.log2(error))
        x = np.linspace(-1, 1, 999)
        for phase in np.exp(1j * np.linspace(0, 2 * np.pi, 9)):
            off = np.abs(basis(x + error * phase, coefficients) - basis(x, coefficients)).max()
            assert off <= error * 2.0**slope * (1 + 1e-6)
    assert slope_log2((1.0, 2.0), False, Bound.real(-1.0, 1.0), -20.0) == pytest.approx(1.0)


def test_errors_of_sums_are_those_that_are_drawn() -> None:
    generator = np.random.default_rng(4)
    drawn_errors = generator.normal(size=(4000, 32)) * 2.0**-5
    error = SlotError.even(-5.0)
    shares = generator.uniform(0, 1, 32)
    first, second = generator.normal(size=(12, 32)), np.ones((5, 12))
    given, met = drawn_errors * shares, error.met(shares)
    for matrix in (first, second):
        norms = Norms.of(matrix)
        share = np.broadcast_to(met.share, (matrix.shape[1],))
        given, met = given @ matrix.T, norms.of_shares(matrix, share).grown(met)
        measured = np.log2(given.std(axis=0).max())
        assert measured <= met.slot + 0.05
        assert met.slot <= measured + 1.5
    # All sums of ones are the same error, which independent errors would not be.
    assert met.joint >= np.log2(np.linalg.norm(np.cov(given.T), 2)) / 2 - 0.05


def test_a_stated_bound_is_asked_of_the_values() -> None:
    for bound, values in (((0.0, 1.0), [-0.5]), ((0.0, 1.0), [1j]), (1.0, [1.0 + 1.0j])):
        with pytest.raises(EncodeError, match="beyond their bound"):
            KEYS.encrypt(values, bound=bound)
    for bound in (0.0, -1.0, np.inf, (1.0, 0.0), (0.0, np.nan)):
        with pytest.raises(ParamError, match="bound: got"):
            KEYS.encrypt([0.5], bound=bound)
    x = KEYS.encrypt([0.25, 0.5], bound=(0.0, 0.5))
    assert str(x.bound) == "[0, 0.5]"
    assert str(KEYS.encrypt([1j]).bound) == "complex numbers up to 1"
    # Slots that were not given hold 0, and are known to.
    assert not (x + 0).bound.magnitude[2:].any()


def test_what_a_user_knows_narrows_a_bound() -> None:
    values = np.linspace(-0.5, 0.5, KEYS.context.slots)
    x = KEYS.encrypt(values)
    scaled = x * 4
    fourth = scaled * scaled
    assert str(fourth.bound) == "[0, 16]"
    known = fourth.with_bound(0.0, 4.0)
    assert str(known.bound) == "[0, 4]"
    assert (known * known).precision_estimate() > (fourth * fourth).precision_estimate() + 1
    found = known * known
    assert measured_bits(KEYS, found, (4 * values) ** 4) >= found.precision_estimate()
    # Known bounds stay, and contradictions are refused.
    assert str(fourth.with_bound(100.0).bound) == "[0, 16]"
    with pytest.raises(ParamError, match=r"a bound that intersects \[0, 16\]"):
        fourth.with_bound(-2.0, -1.0)
    for wrong in ((np.nan,), (0.0,), (2.0, 1.0), (-1.0,)):
        with pytest.raises(ParamError, match="bound"):
            x.with_bound(*wrong)


def test_what_is_known_may_differ_from_slot_to_slot() -> None:
    x = KEYS.encrypt([0.5, 0.25, -1.0])
    known = x.with_bound([0.5, 0.25, 1.0])
    np.testing.assert_allclose(known.bound.high[:4], [0.5, 0.25, 1.0, 0.0])
    ranged = x.with_bound([0.5, 0.0, -1.0], [0.5, 1.0, -1.0])
    np.testing.assert_allclose(ranged.bound.low[:4], [0.5, 0.0, -1.0, 0.0])
    with pytest.raises(EncodeError, match="shape"):
        x.with_bound([1.0, 2.0])


def test_a_wrong_statement_is_found_by_the_secret() -> None:
    wrong = KEYS.encrypt([0.5]).with_bound(0.25)
    with pytest.raises(NoiseError, match="beyond their bound"):
        KEYS.decrypt(wrong)


def test_values_outside_of_a_domain_are_refused_before_any_work() -> None:
    sine = fhe.chebyshev(np.sin, 15, (-1.0, 1.0))
    x = KEYS.encrypt(np.linspace(-1, 1, KEYS.context.slots))
    assert sine(x).level == x.level - 4
    with pytest.raises(ParamError, match=r"domain: got values in \[-2, 2\].*domain \[-1, 1\]"):
        sine(x * 2)
    with pytest.raises(ParamError, match="complex numbers up to 1"):
        sine(KEYS.encrypt([1j]))
    positive = fhe.chebyshev(np.sqrt, 7, (1.0, 4.0))
    with pytest.raises(ParamError, match=r"slots that were not given hold 0"):
        positive(KEYS.encrypt([2.0], bound=(1.0, 4.0)))
    known = sine((x * 2).with_bound(-1.0, 1.0))
    assert known.level == x.level - 4


@pytest.mark.parametrize("degree", [3, 15])
def test_functions_keep_the_bound_of_their_values(degree: int) -> None:
    sigmoid = fhe.chebyshev(lambda v: 1 / (1 + np.exp(-v)), degree, (-4.0, 4.0))
    values = np.linspace(-4, 4, KEYS.context.slots)
    x = KEYS.encrypt(values, bound=4.0)
    result = sigmoid(x)
    # With the bound of its argument, 4, or none, it could not be followed by another.
    assert -0.15 < result.bound.low < sigmoid(values).min()
    assert sigmoid(values).max() < result.bound.high < 1.15
    twice = fhe.chebyshev(np.sin, 3, (-1.2, 1.2))(result)
    assert measured_bits(KEYS, twice, np.sin(sigmoid(values))) > 2
    assert twice.bound.largest < 1.0


def test_programs_take_what_their_example_admits() -> None:
    example = KEYS.encrypt([0.5, 0.25], bound=(0.0, 2.0))
    program = cw.trace(lambda x: x * x, example)
    (result,) = program.run(KEYS.encrypt([1.0, 2.0], bound=(0.0, 2.0))).outputs
    assert result.bound == (example * example).bound
    for bound in (2.0, (0.0, 3.0)):
        with pytest.raises(ParamError, match=r"bound: got .* trace with the bound"):
            program.run(KEYS.encrypt([1.0, 2.0], bound=bound))
    with pytest.raises(ParamError, match="bound"):
        # A third value lies where the example's holds none.
        program.run(KEYS.encrypt([1.0, 2.0, 1.0], bound=(0.0, 2.0)).with_packing(example.packing))


def test_bounds_come_back_from_files(tmp_path: Any) -> None:
    x = KEYS.encrypt([0.5, 0.25], bound=(-0.25, 2.0))
    (x * x).save(tmp_path / "x")
    back = KEYS.evaluation.load(tmp_path / "x")
    assert str(back.bound) == str((x * x).bound) == "[0, 4]"
    assert back.bound.rms == (x * x).bound.rms
    assert back.precision_estimate() == (x * x).precision_estimate()


def test_errors_that_became_equal_add_up() -> None:
    generator = np.random.default_rng(6)
    values = generator.uniform(-1, 1, (16, KEYS.context.slots))
    x: Any = KEYS.encrypt(values, batch=True)
    ones = np.ones((16, 16)) / 4
    for _ in range(3):
        x, values = x.weighted_sums(ones).rescale(), ones @ values
        measured = measured_bits(KEYS, x, values)
        assert 0 <= measured - x.precision_estimate() <= ONE_DRAW_BITS
    # If they were treated as independent, the second and third would add up to a quarter; the
    # errors of divisions are equal in equal ciphertexts too.
    assert x.alike > 1.5
    np.testing.assert_allclose(x.bound.high, 4**3 * np.ones((16, 1)), rtol=1e-6)


def test_weighted_sums_are_bounded_row_by_row() -> None:
    x = KEYS.encrypt(np.ones((2, 3)), bound=(0.0, 1.0), batch=True)
    found = x.weighted_sums([[1.0, 2.0], [-3.0, 0.5]])
    np.testing.assert_allclose(found.bound.low[:, 0], [0.0, -3.0], atol=1e-9)
    np.testing.assert_allclose(found.bound.high[:, 0], [3.0, 0.5], atol=1e-9)
    assert str(found[1].bound) == "[-3, 0.5]"
    assert str(found.rescale().add_constants([1.0, 2.0])[0].bound) == "[1, 4]"


def test_sums_by_composed_rotations_count_each_of_them() -> None:
    keys = fhe.ckks(256, [50, 40], [], insecure=True).keygen(rotations=[1], conjugation=False)
    values = np.random.default_rng(7).uniform(-1, 1, keys.context.slots)
    x = keys.encrypt(values)
    for count in (2, 7, 16):
        found = x.inner_sum(count)
        expected = sum(np.roll(values, -i) for i in range(count))
        below = measured_bits(keys, found, expected) - found.precision_estimate()
        assert 0 <= below <= ONE_DRAW_BITS
