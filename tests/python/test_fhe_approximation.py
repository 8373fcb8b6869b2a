"""Polynomials of least error, the composite sign and ReLU: errors are as stated, and least."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.approximation import recipes
from cloakwork.errors import EncodeError, LevelError, MissingKeyError, ParamError
from cloakwork.fhe.approximation import comparison
from cloakwork.fhe.approximation.known_degrees import KNOWN
from python.fhe_setup import ckks, error
from scipy import special

Function = Callable[[Any], Any]
POINTS = 100_001
# Also for arguments of types that the signatures exclude.
ANY: Any = fhe
DOMAINS: list[tuple[Function, int, Any, Any]] = [
    (np.sin, 3, (-1, 1), "odd"),
    (np.abs, 8, (-1, 1), "even"),
    (np.abs, 64, (-3.5, 3.5), "even"),
    (np.exp, 10, (-1, 1), None),
    (np.exp, 16, (-20, 0), None),
    (np.tanh, 31, (-8, 8), "odd"),
    (special.erf, 27, (-5, 5), "odd"),
    (special.expit, 30, (-16, 9), None),
    (np.sign, 15, [(-1, -0.05), (0.05, 1)], "odd"),
    (np.sign, 31, [(-4, -(2**-10)), (2**-10, 4)], "odd"),
    (np.sign, 14, [(-1, -0.3), (0.05, 0.4), (0.6, 1)], None),
    (lambda x: np.maximum(x, 0), 15, (-3, 2), None),
    (lambda x: np.maximum(x, 0), 127, (-3, 2), None),
    (np.reciprocal, 15, (1, 3000), None),
    (lambda x: np.maximum(x, 0), 23, (-0.2, 1), None),
    (np.sign, 31, [(-1, -(2**-12)), (2**-12, 1)], "odd"),
    (lambda x: 1 / x, 31, (0.01, 1), None),
    (lambda x: np.cos(3 * x) + np.abs(x - 0.3), 40, (-2, 5), None),
    (np.zeros_like, 5, (0, 1), None),
    (np.ones_like, 0, (-1e-9, 1e9), None),
]


def points_of(domain: Any) -> np.ndarray:
    """Evenly spaced points and as many near each end."""
    rows = np.atleast_2d(np.asarray(domain, dtype=float))
    even = [np.linspace(a, b, POINTS) for a, b in rows]
    near = [(b - a) * np.geomspace(1e-12, 1, POINTS) for a, b in rows]
    from_ends = [(a + n, b - n) for (a, b), n in zip(rows, near, strict=True)]
    found = np.concatenate([[0.0], *even, *(half for pair in from_ends for half in pair)])
    return np.concatenate([found[(found >= a) & (found <= b)] for a, b in rows])


@pytest.mark.parametrize(("function", "degree", "domain", "parity"), DOMAINS)
def test_a_stated_error_is_the_largest_of_many_points(
    function: Function, degree: int, domain: Any, parity: Any
) -> None:
    found = fhe.minimax(function, degree, domain, parity)
    points = points_of(domain)
    measured = float(np.abs(found(points) - function(points)).max())
    assert found.error is not None
    assert 0.99 * found.error - 1e-12 <= measured <= found.error
    assert found.degree <= degree
    own = np.array(found.coefficients)
    if parity is not None:
        assert not own[0 if parity == "odd" else 1 :: 2].any()


@pytest.mark.parametrize(("function", "degree", "domain", "parity"), DOMAINS[:16])
def test_errors_alternate_at_one_more_point_than_there_are_coefficients(
    function: Function, degree: int, domain: Any, parity: Any
) -> None:
    """Chebyshev's criterion: no polynomial of the degree has a smaller error."""
    found = fhe.minimax(function, degree, domain, parity)
    points = np.sort(points_of(domain))
    if parity is not None:
        points = points[points >= 0]
    errors = found(points) - function(points)
    large = np.sign(errors[np.abs(errors) >= 0.999 * found.error])
    alternations = 1 + int((large[1:] != large[:-1]).sum())
    count = degree + 1 if parity is None else (degree + 1 + (parity == "even")) // 2
    assert alternations >= count + 1


@pytest.mark.parametrize("degree", [2, 9, 31, 100])
@pytest.mark.parametrize(
    ("function", "parity"),
    [(np.abs, "even"), (lambda x: 1 / (1 + x * x), "even"), (np.tanh, "odd"), (np.cbrt, "odd")],
)
def test_a_symmetry_that_is_not_named_costs_no_error(
    function: Function, parity: Any, degree: int
) -> None:
    """Their best polynomials have more alternations than the exchange asks for."""
    plain = fhe.minimax(function, degree, (-8, 8))
    named = fhe.minimax(function, degree, (-8, 8), parity)
    assert plain.error == pytest.approx(named.error, rel=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_random_functions_are_approximated_no_worse_than_by_interpolation(seed: int) -> None:
    draw = np.random.default_rng(seed)
    weights, waves = draw.normal(size=5), draw.uniform(0, 6, 5)
    kink = draw.uniform(-1, 1)

    def function(x: Any) -> Any:
        smooth = sum(w * np.sin(wave * x) for w, wave in zip(weights, waves, strict=True))
        return smooth + (seed % 2) * np.abs(x - kink)

    degree, start = int(draw.integers(0, 40)), float(draw.uniform(-3, 0))
    domain = (start, start + float(draw.uniform(0.5, 6)))
    best, interpolated = (make(function, degree, domain) for make in (fhe.minimax, fhe.chebyshev))
    points = points_of(domain)
    for found in (best, interpolated):
        assert found.error is not None
        assert float(np.abs(found(points) - function(points)).max()) <= found.error
    assert best.error <= interpolated.error * (1 + 1e-9) + 1e-12


def test_relative_errors_are_least_where_the_function_is_small() -> None:
    domain, points = (0.01, 1.0), np.linspace(0.01, 1.0, POINTS)
    relative = fhe.minimax(np.reciprocal, 31, domain, measure="relative")
    absolute = fhe.minimax(np.reciprocal, 31, domain)
    off = [float(np.abs(points * found(points) - 1).max()) for found in (relative, absolute)]
    # The best one is 2 / (T_32(z) + ...) of z = (b + a) / (b - a): about 2 exp(-32 * 0.2).
    assert off[0] < 0.0033
    assert off[0] < off[1] / 10


@pytest.mark.parametrize("degree", [8, 16, 64])
def test_the_error_for_the_absolute_value_is_that_of_bernstein(degree: int) -> None:
    error = fhe.minimax(np.abs, degree, (-1, 1), "even").error
    assert degree * error == pytest.approx(0.2801694990, rel=0.02)


def test_the_best_parabola_for_the_absolute_value_is_known() -> None:
    """It is x^2 + 1/8, with the error 1/8 at 0, 1/2 and 1."""
    assert fhe.minimax(np.abs, 2, (-1, 1)).error == pytest.approx(1 / 8, rel=1e-5)


FITS: list[tuple[Function, float, Any]] = [
    (special.expit, 1e-2, (-8, 8)),
    (special.expit, 1e-6, (-8, 8)),
    (special.expit, 1e-3, (-30, 30)),
    (np.tanh, 1e-4, (-5, 5)),
    (special.erf, 1e-5, (-4, 4)),
    (lambda x: x * special.ndtr(x), 1e-3, (-6, 6)),
    (lambda x: x * special.expit(x), 1e-3, (-6, 4)),
    (lambda x: np.logaddexp(0, x), 1e-4, (-10, 10)),
    (lambda x: np.maximum(x, 0), 0.01, (-1, 1)),
    (np.exp, 1e-4, (-20, 0)),
    (np.reciprocal, 1e-3, (0.05, 1)),
    (lambda x: 1 / np.sqrt(x), 1e-3, (0.1, 4)),
    (np.sqrt, 1e-3, (0.01, 2)),
    (np.ones_like, 1e-9, (-1, 1)),
    (lambda x: 1e3 + x / 1e3, 1e-9, (-1, 1)),
]


@pytest.mark.parametrize(("function", "most", "domain"), FITS)
def test_a_fit_has_its_error_at_the_least_degree(
    function: Function, most: float, domain: Any
) -> None:
    found, points = fhe.fit(function, most, domain), points_of(domain)
    assert found.error is not None
    assert found.error <= most
    assert float(np.abs(found(points) - function(points)).max()) <= found.error
    if found.degree > 1:
        less = fhe.minimax(function, found.degree - 1, domain).error
        assert less is not None
        assert less > most * (1 - 1e-6)


def test_fits_use_the_symmetry_of_functions() -> None:
    halves = [(special.expit, 0, 1), (lambda x: np.maximum(x, 0), 1, 0)]
    for function, simple, others in halves:
        found = np.array(fhe.fit(function, 0.01, (-4, 4)).coefficients)
        rest = np.delete(found, simple)
        kept = found[others::2]
        assert not np.setdiff1d(rest, kept).any()
    assert all(fhe.fit(special.expit, 0.01, (-4, 5)).coefficients)


ALPHAS = [(4, 2**-4), (8, 2**-8), (5.5, 1e-3), (1, 0.1), (12, 2**-12), (0.1, 2**-40)]


@pytest.mark.parametrize(("alpha", "most"), ALPHAS)
def test_a_composite_sign_keeps_its_error(alpha: float, most: float) -> None:
    found = fhe.sign(alpha, most)
    apart = 2.0**-alpha
    x = np.concatenate([np.linspace(apart, 1, POINTS), np.geomspace(apart, 1, POINTS)])
    assert found.error is not None
    assert found.error <= most
    for side in (1, -1):
        assert float(np.abs(found(side * x) - side).max()) <= found.error
    between = found(np.linspace(-apart, apart, POINTS))
    assert float(np.abs(between).max()) <= 1 + found.error
    assert found.depth == sum(stage.depth for stage in found.stages)


def test_compiled_models_search_no_degrees(monkeypatch: pytest.MonkeyPatch) -> None:
    def searches(alpha: float, most: float) -> tuple[int, ...]:
        raise AssertionError(f"({alpha}, {most}) is not known")

    monkeypatch.setattr(comparison, "searched", searches)
    comparison._least_degrees.cache_clear()
    for most in recipes._GATE_ERRORS:
        (found,) = comparison.gates(1.0, most)
        assert found.error is not None
        assert found.error <= most
    for bits in range(1, recipes._BITS_MAX + 1):
        for most in recipes._SIGN_ERRORS:
            assert fhe.sign(bits, most).error <= most  # type: ignore[operator]


@pytest.mark.parametrize(
    "wanted",
    [pytest.param(wanted, marks=[pytest.mark.large] * (wanted[0] > 6)) for wanted in KNOWN],
)
def test_known_degrees_are_those_of_the_search(wanted: tuple[float, float]) -> None:
    assert comparison.searched(*wanted) == KNOWN[wanted]


@pytest.mark.parametrize(("alpha", "most", "depth"), [(4, 2**-4, 6), (3, 0.03, 5), (5.5, 1e-3, 9)])
def test_no_sequence_of_stages_is_less_deep(alpha: float, most: float, depth: int) -> None:
    """Two stages in every order, each the best for what the one before reaches."""
    assert fhe.sign(alpha, most).depth == depth

    def reached(degrees: tuple[int, ...]) -> float:
        ratio, own = 2.0**-alpha, 1.0
        for degree in degrees:
            stage = fhe.minimax(np.sign, degree, [(-1, -ratio), (ratio, 1)], "odd")
            assert stage.error is not None
            own = stage.error
            ratio = (1 - own) / (1 + own)
        return own

    odd = range(3, 32, 2)
    levels = {degree: degree.bit_length() for degree in odd}
    pairs = [(a, b) for a in odd for b in odd if levels[a] + levels[b] < depth]
    less = [reached(degrees) for degrees in [*((a,) for a in odd if levels[a] < depth), *pairs]]
    assert min(less) > most


@pytest.mark.parametrize("bound", [1.0, 0.25, 7.3])
def test_a_sign_takes_values_up_to_its_bound(bound: float) -> None:
    found, unit = fhe.sign(3, 0.1, bound), fhe.sign(3, 0.1)
    x = np.linspace(-bound, bound, 1001)
    np.testing.assert_allclose(found(x), unit(x / bound), atol=1e-12)
    assert found.depth == unit.depth + (bound == 7.3)
    half = found.scaled(0.5, 0.5)
    np.testing.assert_allclose(half(x), found(x) / 2 + 0.5, atol=1e-12)
    assert half.error == found.error / 2
    assert half.depth == found.depth


@pytest.mark.parametrize("bound", [1.0, 13.0])
@pytest.mark.parametrize("share", [0.2, 0.03, 0.01, 0.004, 0.001, 0.0002])
def test_relu_keeps_its_error(bound: float, share: float) -> None:
    found = fhe.relu(bound, share * bound)
    x = np.concatenate([np.linspace(-bound, bound, POINTS), bound * np.geomspace(1e-6, 1, POINTS)])
    assert found.error is not None
    assert found.error <= share * bound
    assert float(np.abs(found(x) - np.maximum(x, 0)).max()) <= found.error


def test_encrypted_signs_and_relus_are_those_of_arrays() -> None:
    keys = ckks(2**11, 11)
    x = np.linspace(-1, 1, keys.context.slots)
    encrypted = keys.encrypt(x, bound=1.0)
    gate = fhe.Composition(fhe.sign(2, 0.1).scaled(0.5, 0.5).stages, "gate")
    for found in (fhe.sign(4, 2**-4), fhe.relu(1.0, 0.03), gate):
        result = found(encrypted)
        settled = result._settled()
        assert settled.level == encrypted.level - found.depth
        assert error(keys, result, found(x)) < 1e-4
    assert gate.form == "gate"
    assert error(keys, gate(encrypted), np.maximum(x, 0)) < 0.06


def test_a_gate_needs_no_automatic_levels() -> None:
    keys = ckks(2**9, 6, manual=True)
    x = np.linspace(-1, 1, keys.context.slots)
    gate = fhe.Composition(fhe.sign(2, 0.1).scaled(0.5, 0.5).stages, "gate")
    result = gate(keys.encrypt(x, bound=1.0))
    assert result.level == keys.context.parameters.level - gate.depth
    assert error(keys, result, gate(x)) < 1e-4


def test_a_composition_is_refused_before_any_work() -> None:
    keys, found = ckks(2**9, 6), fhe.sign(4, 2**-4)
    x = keys.encrypt([0.5], bound=1.0)
    with pytest.raises(LevelError, match="6 levels for stages of degrees"):
        found(x.lower(5))
    with pytest.raises(ParamError, match="domain"):
        found(keys.encrypt([1.5], bound=2.0))
    bare = x.context.keygen(relinearization=False)
    with pytest.raises(MissingKeyError, match="relinearization"):
        found(bare.encrypt([0.5], bound=1.0))


@pytest.mark.parametrize(
    ("rule", "call"),
    [
        ("domain", lambda: ANY.minimax(np.sin, 3, (float("nan"), 1.0))),
        ("domain", lambda: ANY.minimax(np.sin, 3, (1.0, -1.0))),
        ("domain", lambda: ANY.minimax(np.sin, 3, (1.0, 1.0 + 2**-52))),
        ("domain", lambda: ANY.minimax(np.sin, 3, (-float("inf"), 1.0))),
        ("domain", lambda: ANY.minimax(np.sin, 3, [(0.0, 1.0), (0.5, 2.0)])),
        ("domain", lambda: ANY.minimax(np.sin, 3, [])),
        ("domain", lambda: ANY.minimax(np.sin, 3, "ab")),
        ("domain", lambda: ANY.minimax(np.sin, 3, (-1.0, 2.0), "odd")),
        ("domain", lambda: ANY.chebyshev(np.sin, 3, (2.0, 1.0))),
        ("degree", lambda: ANY.minimax(np.sin, 256, (-1.0, 1.0))),
        ("degree", lambda: ANY.minimax(np.sin, -1, (-1.0, 1.0))),
        ("degree", lambda: ANY.minimax(np.sin, 0, (-1.0, 1.0), "odd")),
        ("degree", lambda: ANY.minimax(np.sin, True, (-1.0, 1.0))),
        ("degree", lambda: ANY.minimax(np.sin, 2.5, (-1.0, 1.0))),
        ("parity", lambda: ANY.minimax(np.exp, 3, (-1.0, 1.0), "odd")),
        ("parity", lambda: ANY.minimax(np.exp, 3, (-1.0, 1.0), "both")),
        ("measure", lambda: ANY.minimax(np.sin, 3, (-1.0, 1.0), measure="relative")),
        ("measure", lambda: ANY.minimax(np.exp, 3, (0.0, 1.0), measure="big")),
        ("function", lambda: ANY.minimax(np.log, 3, (-1.0, 1.0))),
        ("function", lambda: ANY.minimax(np.reciprocal, 3, (0.0, 1.0))),
        ("function", lambda: ANY.chebyshev(np.log, 3, (-1.0, 1.0))),
        ("function", lambda: ANY.minimax(lambda x: x[:2], 3, (-1.0, 1.0))),
        ("function", lambda: ANY.minimax(lambda x: x + 1j, 3, (-1.0, 1.0))),
        ("error", lambda: ANY.fit(np.sin, 0.0, (-1.0, 1.0))),
        ("error", lambda: ANY.fit(np.sin, -1.0, (-1.0, 1.0))),
        ("error", lambda: ANY.fit(np.sin, float("nan"), (-1.0, 1.0))),
        ("error", lambda: ANY.fit(np.sign, 0.01, (-1.0, 1.0))),
        ("domain", lambda: ANY.fit(np.sin, 0.01, (1.0, -1.0))),
        ("function", lambda: ANY.fit(np.log, 0.01, (-1.0, 1.0))),
        ("alpha", lambda: ANY.sign(0, 0.1)),
        ("alpha", lambda: ANY.sign(31, 0.1)),
        ("alpha", lambda: ANY.sign(float("nan"), 0.1)),
        ("error", lambda: ANY.sign(4, -0.1)),
        ("error", lambda: ANY.sign(4, 0.0)),
        ("error", lambda: ANY.sign(4, 0.6)),
        ("error", lambda: ANY.sign(4, 2**-41)),
        ("bound", lambda: ANY.sign(4, 0.1, -1.0)),
        ("bound", lambda: ANY.sign(4, 0.1, float("inf"))),
        ("error", lambda: ANY.relu(1.0, 2**-25)),
        ("error", lambda: ANY.relu(1.0, float("nan"))),
        ("bound", lambda: ANY.relu(0.0, 0.1)),
        ("stages", lambda: ANY.Composition([])),
        ("stages", lambda: ANY.Composition([np.sin])),
        ("form", lambda: ANY.Composition([fhe.Polynomial([0.0, 1.0])], "gates")),
        ("error", lambda: ANY.Composition([fhe.Polynomial([0.0, 1.0])], error=-1.0)),
        ("error", lambda: ANY.Polynomial([1.0], error=float("nan"))),
        ("weight", lambda: ANY.sign(2, 0.1).scaled(float("inf"))),
        ("domain", lambda: ANY.Composition([fhe.Polynomial([0.0, 2.0], "chebyshev")] * 2)),
    ],
)
def test_what_cannot_be_approximated_is_refused(rule: str, call: Callable[[], object]) -> None:
    with pytest.raises(ParamError) as raised:
        call()
    assert raised.value.rule == rule


def test_numbers_beyond_all_floats_are_refused() -> None:
    with pytest.raises((ParamError, EncodeError)):
        fhe.sign(4, 0.1, 10**400)


def test_a_relu_with_an_error_of_its_size_is_refused() -> None:
    with pytest.raises(ParamError, match="error"):
        fhe.relu(1.0, 0.5 + 1e-9)
    assert fhe.relu(1.0, 2**-12).error <= 2**-12
