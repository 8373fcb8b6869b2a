"""CKKS arithmetic against the same arithmetic on complex numbers."""

from collections.abc import Callable

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import EncodeError, LevelError, MissingKeyError, ScaleError
from hypothesis import given, settings
from hypothesis import strategies as st
from python.fhe_setup import Setup, slots, small_setup

SETUP = small_setup()
EVALUATOR = SETUP.evaluator
A, B = slots(SETUP, (3,), seed=1), slots(SETUP, (3,), seed=2)
CLOSE = 1e-7


def error(ciphertext: fhe.Ciphertext, expected: np.ndarray, setup: Setup = SETUP) -> float:
    return float(np.abs(setup.decrypt(ciphertext) - expected).max())


def test_sums_and_differences() -> None:
    a, b = SETUP.encrypt(A), SETUP.encrypt(B)
    assert error(EVALUATOR.add(a, b), A + B) < CLOSE
    assert error(EVALUATOR.subtract(a, b), A - B) < CLOSE
    assert error(EVALUATOR.add_plain(a, fhe.encode(SETUP.context, B)), A + B) < CLOSE


def test_constants_are_added_to_every_slot_of_their_ciphertext() -> None:
    a = SETUP.encrypt(A)
    constants = np.array([-2.5, 0.0, 1000.0])
    assert error(EVALUATOR.add_constants(a, constants), A + constants[:, np.newaxis]) < CLOSE
    assert error(EVALUATOR.add_constants(a, 0.5), A + 0.5) < CLOSE


def test_operands_stay_as_they_were() -> None:
    a, b = SETUP.encrypt(A), SETUP.encrypt(B)
    before = np.array(a.data), np.array(b.data)
    plaintext = fhe.encode(SETUP.context, B)
    for result in (
        EVALUATOR.add(a, b), EVALUATOR.subtract(a, b), EVALUATOR.add_plain(a, plaintext),
        EVALUATOR.multiply(a, b), EVALUATOR.square(a), EVALUATOR.rescale(a),
        EVALUATOR.weighted_sums(a, np.ones((2, 3))), EVALUATOR.add_constants(a, 1.0),
    ):  # fmt: skip
        assert result.data is not a.data
    np.testing.assert_array_equal(np.array(a.data), before[0])
    np.testing.assert_array_equal(np.array(b.data), before[1])


def test_plain_products_rescale() -> None:
    product = EVALUATOR.multiply_plain(SETUP.encrypt(A), fhe.encode(SETUP.context, B))
    assert product.scale == 2.0**80
    assert error(product, A * B) < CLOSE
    rescaled = EVALUATOR.rescale(product)
    assert rescaled.level == 2
    assert rescaled.scale == 2.0**80 / SETUP.parameters.moduli[3]
    assert error(rescaled, A * B) < CLOSE


@pytest.mark.parametrize("level", [3, 2, 1])
def test_products_relinearize_at_every_level(level: int) -> None:
    a = EVALUATOR.drop_to_level(SETUP.encrypt(A), level)
    b = EVALUATOR.drop_to_level(SETUP.encrypt(B), level)
    for product, expected in ((EVALUATOR.multiply(a, b), A * B), (EVALUATOR.square(a), A * A)):
        assert tuple(product.data.shape) == (3, 2, 64, level + 1)
        assert error(product, expected) < CLOSE
        assert error(EVALUATOR.rescale(product), expected) < CLOSE


@pytest.mark.parametrize("batch", [(), (1,), (2, 2)])
def test_products_keep_the_shape_of_their_batch(batch: tuple[int, ...]) -> None:
    values = slots(SETUP, batch)
    a = SETUP.encrypt(values)
    assert error(EVALUATOR.multiply(a, a), values**2) < CLOSE
    assert error(EVALUATOR.rescale(EVALUATOR.square(a)), values**2) < CLOSE


def test_the_whole_chain_can_be_used() -> None:
    power, expected = SETUP.encrypt(A), A
    for _ in range(3):
        power, expected = EVALUATOR.rescale(EVALUATOR.square(power)), expected**2
    assert power.level == 0
    assert error(power, expected) < 1e-5


def test_relinearization_noise_has_the_size_that_the_docstring_says() -> None:
    zero = SETUP.encrypt(np.zeros((32, 32)))
    ring, parameters = SETUP.context.top, SETUP.parameters
    # Of zeros the product itself is tiny, so what is left is the noise of the key switch.
    product = SETUP.secret.decrypt(EVALUATOR.multiply(zero, zero))
    coefficients = np.asarray(ring.intt(product.data))[..., 0]
    q = parameters.moduli[0]
    centred = (coefficients + q // 2) % q - q // 2
    digits = ring.digit_count(parameters.gadget_base_log2)
    expected = 3.2 * 2.0**parameters.gadget_base_log2 * (digits * parameters.degree / 3) ** 0.5
    # Digits have the mean 2^w / 2, whose share (three quarters) one key's errors decide for the
    # whole batch: it varies from key to key, while the rest cannot fall below half.
    assert 0.4 * expected < centred.astype(np.float64).std() < 3 * expected


@settings(max_examples=20, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda rows: st.lists(
            st.lists(st.floats(-50, 50), min_size=3, max_size=3), min_size=rows, max_size=rows
        )
    )
)
def test_weighted_sums_are_a_matrix_product(weights: list[list[float]]) -> None:
    sums = EVALUATOR.weighted_sums(SETUP.encrypt(A), weights)
    rescaled = EVALUATOR.rescale(sums)
    assert rescaled.scale == 2.0**40
    assert error(rescaled, np.array(weights) @ A) < 50 * CLOSE


def test_rescaling_rounds_to_nearest() -> None:
    # With a tiny secret-free ciphertext (m, 0) the division is visible coefficient by coefficient.
    q_last = SETUP.parameters.moduli[3]
    halves = np.array([0, 1, q_last // 2, q_last // 2 + 1, q_last, -1, -(q_last // 2) - 1])
    ring, lower = SETUP.context.top, SETUP.context.ring(2, "test")
    integers = np.zeros((2, 64), dtype=np.int64)
    integers[0, : len(halves)] = halves
    data = ring.ntt(ring.residues(fhe.encoding.cw.asarray(integers)))
    rescaled = EVALUATOR.rescale(fhe.Ciphertext(data, 3, 1.0))
    got = np.asarray(lower.intt(rescaled.data))[0, : len(halves), 0]
    assert got.tolist() == [0, 0, 0, 1, 1, 0, lower.moduli[0] - 1]


def test_dropping_levels_keeps_message_and_scale() -> None:
    dropped = EVALUATOR.drop_to_level(SETUP.encrypt(A), 0)
    assert (dropped.level, dropped.scale) == (0, 2.0**40)
    assert tuple(dropped.data.shape) == (3, 2, 64, 1)
    assert error(dropped, A) < CLOSE
    with pytest.raises(LevelError, match="levels only go down"):
        EVALUATOR.drop_to_level(dropped, 1)


Operation = Callable[[fhe.Ciphertext, fhe.Ciphertext], fhe.Ciphertext]


@pytest.mark.parametrize("operation", [EVALUATOR.add, EVALUATOR.subtract, EVALUATOR.multiply])
def test_levels_must_agree(operation: Operation) -> None:
    a = SETUP.encrypt(A)
    with pytest.raises(LevelError, match=r"operands at one level \(the first is at 3\)") as raised:
        operation(a, EVALUATOR.drop_to_level(a, 1))
    assert raised.value.level == 1


@pytest.mark.parametrize("operation", [EVALUATOR.add, EVALUATOR.subtract])
def test_scales_must_agree(operation: Operation) -> None:
    a = SETUP.encrypt(A)
    other = SETUP.public.encrypt(fhe.encode(SETUP.context, A, scale=2.0**41))
    with pytest.raises(ScaleError, match=r"2\^40.* got scale 2\^41") as raised:
        operation(a, other)
    assert raised.value.scale_log2 == 41


def test_products_must_stay_below_the_modulus() -> None:
    a = EVALUATOR.drop_to_level(SETUP.encrypt(A), 0)
    with pytest.raises(ScaleError, match=r"less than half the modulus 2\^60"):
        EVALUATOR.multiply(a, a)


def test_level_zero_has_nothing_to_rescale() -> None:
    with pytest.raises(LevelError, match="level 1 or more"):
        EVALUATOR.rescale(EVALUATOR.drop_to_level(SETUP.encrypt(A), 0))


def test_products_need_the_relinearization_key() -> None:
    a = SETUP.encrypt(A)
    with pytest.raises(MissingKeyError, match="relinearization key"):
        fhe.Evaluator(SETUP.context).multiply(a, a)


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(EncodeError, match="finite and below"):
        EVALUATOR.weighted_sums(SETUP.encrypt(A), [[float("nan"), 0.0, 0.0]])
