"""Encoding against the canonical embedding written out."""

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import EncodeError, LevelError
from cloakwork.fhe.encoding import embed, embed_inverse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from python.fhe_setup import slots, small_setup

SETUP = small_setup(degree=32)


def slow_embedding(coefficients: NDArray[np.float64], degree: int) -> NDArray[np.complex128]:
    """Evaluate at zeta^(5^j) for each j, term by term."""
    exponents = [pow(5, j, 2 * degree) for j in range(degree // 2)]
    powers = np.outer(exponents, np.arange(degree)) % (2 * degree)
    return np.asarray(coefficients @ np.exp(1j * np.pi / degree * powers).T)


@pytest.mark.parametrize("degree", [8, 64, 1024])
def test_embedding_evaluates_at_the_orbit_of_five(degree: int) -> None:
    coefficients = np.random.default_rng(degree).normal(size=(3, degree))
    expected = slow_embedding(coefficients, degree)
    np.testing.assert_allclose(embed(coefficients, degree), expected, atol=1e-9)
    np.testing.assert_allclose(embed_inverse(expected, degree), coefficients, atol=1e-12)


@pytest.mark.parametrize("degree", [64, 8192])
def test_encoding_is_accurate_to_1e_9_at_scale_2_to_40(degree: int) -> None:
    setup = small_setup(degree, (60, 40))
    values = 4 * slots(setup, (2,))
    plaintext = fhe.encode(setup.context, values)
    assert tuple(plaintext.data.shape) == (2, degree, 2)
    assert np.abs(fhe.decode(setup.context, plaintext) - values).max() < 1e-9


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_level_encodes_and_decodes(level: int) -> None:
    values = slots(SETUP)
    plaintext = fhe.encode(SETUP.context, values, level=level, scale=2.0**35)
    assert tuple(plaintext.data.shape) == (32, level + 1)
    assert np.abs(fhe.decode(SETUP.context, plaintext) - values).max() < 1e-8


def test_residues_are_those_of_the_rounded_coefficients() -> None:
    values = slots(SETUP)
    plaintext = fhe.encode(SETUP.context, values)
    ring = SETUP.context.top
    wanted = np.rint(embed_inverse(values, 32) * 2.0**40).astype(np.int64)
    residues = np.asarray(ring.intt(plaintext.data))
    np.testing.assert_array_equal(residues, wanted[:, np.newaxis] % np.array(ring.moduli))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1000, 1000), min_size=1, max_size=16))
def test_missing_slots_hold_zero(values: list[float]) -> None:
    decoded = fhe.decode(SETUP.context, fhe.encode(SETUP.context, values))
    padded = np.pad(values, (0, 16 - len(values)))
    np.testing.assert_allclose(decoded, padded, atol=1e-8)


def test_products_of_polynomials_are_products_of_slots() -> None:
    a, b = slots(SETUP, seed=1), slots(SETUP, seed=2)
    ring = SETUP.context.top
    product = fhe.Plaintext(
        fhe.evaluator.ops.modmul(
            fhe.encode(SETUP.context, a).data, fhe.encode(SETUP.context, b).data, ring.q
        ),
        level=3,
        scale=2.0**80,
    )
    assert np.abs(fhe.decode(SETUP.context, product) - a * b).max() < 1e-9


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 2.0**30, -(2.0**30)])
def test_values_that_do_not_fit_are_refused(bad: float) -> None:
    with pytest.raises(EncodeError, match="finite and below"):
        fhe.encode(SETUP.context, [bad] * 16)


def test_values_must_fit_the_modulus_of_the_level() -> None:
    with pytest.raises(EncodeError, match=r"below 2\^59\.00"):
        fhe.encode(SETUP.context, [2.0**20] * 16, level=0)


def test_too_many_values_are_refused() -> None:
    with pytest.raises(EncodeError, match="17 values on the last axis; degree 32 has 16 slots"):
        fhe.encode(SETUP.context, np.zeros(17))


@pytest.mark.parametrize("level", [-1, 4])
def test_levels_outside_the_chain_are_refused(level: int) -> None:
    with pytest.raises(LevelError, match="a level from 0 to 3"):
        fhe.encode(SETUP.context, [1.0], level=level)
