"""Everyday expressions: powers, quotients, sums, elements; errors that list alternatives."""

import copy
import io
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import (
    AxisError,
    EncryptedValueError,
    LoadError,
    MissingKeyError,
    ParamError,
    TensorIndexError,
)
from python.fhe_setup import T, bgv, centred, ckks, error, integer_slots, measured_bits, unit_slots

KEYS, EXACT = ckks(256, 6), bgv()
SLOTS = KEYS.context.slots
A = unit_slots(KEYS, 1)
X = KEYS.encrypt(A)
K = integer_slots(EXACT, 2)
Y = EXACT.encrypt(K)
BATCH = unit_slots(KEYS, 3, (5,))


@pytest.fixture(scope="module")
def all_steps() -> fhe.Keys:
    return KEYS.context.keygen(rotations="all")


@pytest.mark.parametrize("exponent", [1, 2, 3, 5, 6, 7, 8, 15, 16, 33])
def test_powers_take_the_fewest_levels(exponent: int) -> None:
    result = X**exponent
    depth = math.ceil(math.log2(exponent))
    assert result.rescale().level == KEYS.context.parameters.level - depth
    assert measured_bits(KEYS, result, A**exponent) >= result.precision_estimate() > 15
    if exponent < 9:
        np.testing.assert_array_equal(EXACT.decrypt(Y**exponent), power_mod(K, exponent))
        manual = ckks(256, 6, manual=True)
        by_hand = manual.encrypt(A) ** exponent
        assert measured_bits(manual, by_hand, A**exponent) > 15


def power_mod(values: np.ndarray, exponent: int) -> np.ndarray:
    return centred([pow(int(value), exponent, T) for value in values])


def test_other_ways_to_say_a_power() -> None:
    for result in (X**2.0, X ** np.int64(2), pow(X, 2), np.power(X, 2), np.square(X)):
        assert error(KEYS, result, A**2) < 1e-6
    assert error(KEYS, X**0, np.ones(SLOTS)) < 1e-6
    np.testing.assert_array_equal(EXACT.decrypt(Y**0), np.ones_like(K))


@pytest.mark.parametrize(
    "divisor", [2, -4, 0.5, 3.0, 1 + 2j, np.float32(8), np.array(5), Fraction(2, 3)]
)
def test_numbers_divide(divisor: complex) -> None:
    result = X / divisor
    assert error(KEYS, result, A / divisor) < 1e-6
    assert measured_bits(KEYS, result, A / divisor) >= result.precision_estimate()


def test_arrays_divide_what_is_held() -> None:
    values = np.linspace(1, 2, SLOTS)
    assert error(KEYS, X / values, A / values) < 1e-6
    assert error(KEYS, X / cw.asarray(values), A / values) < 1e-6
    three = KEYS.encrypt([2.0, 4.0, 6.0]) / [2, 4, 3]
    np.testing.assert_allclose(KEYS.decrypt(three)[:4].real, [1, 1, 2, 0], atol=1e-6)
    for zero in (0, 0.0, np.zeros(SLOTS), [1.0] * (SLOTS - 1) + [0.0]):
        with pytest.raises(ZeroDivisionError):
            X / zero


@pytest.mark.parametrize("length", [1, 3, 64, 100, SLOTS])
def test_sums_of_vectors_stand_in_their_first_slot(length: int, all_steps: fhe.Keys) -> None:
    values = np.random.default_rng(length).uniform(-1, 1, length)
    # Slots after the vector do not count.
    x = all_steps.encrypt(values) + 1 - 1.0 * np.ones(length)
    for total in (x.sum(), x.sum(0), x.sum(axis=-1), np.sum(x), np.sum(x, axis=0)):
        assert total.shape == (1,)
        assert all_steps.decrypt(total)[0].real == pytest.approx(values.sum(), abs=1e-5)


@pytest.mark.parametrize("length", [1, 5, 128, 129, 200, 256])
def test_sums_of_integers_cross_both_rows(length: int) -> None:
    keys = EXACT.context.keygen(rotations="all")
    values = np.random.default_rng(length).integers(-99, 99, length)
    x = keys.encrypt(values) + 5 - np.full(length, 5)
    assert keys.decrypt(x.sum())[0] == centred(values.sum())
    batch = keys.encrypt(np.stack([values, 2 * values]), batch=True)
    assert (batch.sum(1).shape, batch.sum(0).shape) == ((2, 1), (length,))
    assert keys.decrypt(batch.sum())[0] == centred(3 * values.sum())


@pytest.mark.parametrize("count", [1, 3, 16, 17, 32])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
def test_sums_of_packed_vectors_follow_numpy(count: int, axis: Any) -> None:
    keys = EXACT.context.keygen(rotations="all")
    matrix = fhe.Matrix(keys.context, np.ones((8, 5), dtype=int))
    values = np.random.default_rng(count).integers(-9, 9, (count, 5))
    total = keys.encrypt(matrix.pack(values)).sum(axis)
    found = keys.decrypt(total).reshape(-1, 8)
    want = values.sum(axis, keepdims=True)
    assert total.shape in (want.shape, want.shape[1:])
    np.testing.assert_array_equal(found[: len(want), : want.shape[1]], want)


def test_axes_that_are_not_there_are_named() -> None:
    for axis in (1, -2, (0, 3), "rows", 0.5):
        with pytest.raises(AxisError, match=r"one of x\.shape = \(128,\)"):
            X.sum(axis)  # type: ignore[arg-type]


def test_batches_are_sequences_of_ciphertexts() -> None:
    x = KEYS.encrypt(BATCH, batch=True)
    assert len(x) == 5
    assert x.shape == (5, SLOTS)
    for index in (0, 4, -1, np.int64(2)):
        assert x[index].batch is None
        assert error(KEYS, x[index] * 2, 2 * BATCH[index]) < 1e-6
    for key in (slice(1, 3), slice(None, None, 2), slice(-2, None), slice(0, 99)):
        assert error(KEYS, x[key].rotate(1), np.roll(BATCH[key], -1, axis=1)) < 1e-6
    assert [error(KEYS, one, own) < 1e-6 for one, own in zip(x, BATCH, strict=True)] == [True] * 5
    assert error(KEYS, x.sum(0), BATCH.sum(axis=0)) < 1e-6
    assert error(KEYS, x[1:4].sum(0), BATCH[1:4].sum(axis=0)) < 1e-6
    for wrong in (5, -6, 1.0, "0", (0, 1), slice(3, 3), None, [0, 1]):
        with pytest.raises(TensorIndexError):
            x[wrong]  # type: ignore[index]


def test_a_rotation_may_be_by_any_step_that_powers_of_two_add_up_to(all_steps: fhe.Keys) -> None:
    assert len(all_steps.evaluation.rotations) == 7
    for step in (1, 77, -1, 127):
        turned = all_steps.encrypt(A).rotate(step)
        assert error(all_steps, turned, np.roll(A, -step)) < 1e-5
    for wrong in ("some", "1", 3, 1.5, [1.5], [None], None, [[1]]):
        with pytest.raises(ParamError, match=r'rotations: got .* "all": powers of two'):
            KEYS.context.keygen(rotations=wrong)  # type: ignore[arg-type]


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda x: x > 0, "fhe.chebyshev"), (lambda x: x > 0, "fhe.chebyshev"),
    (lambda x: x >= X, "fhe.chebyshev"), (lambda x: x < [1.0], "fhe.chebyshev"),
    (lambda x: x <= np.ones(SLOTS), "fhe.chebyshev"), (lambda x: np.ones(SLOTS) > x, "chebyshev"),
    (lambda x: x == 1, "`is` compares"), (lambda x: x != X, "`is` compares"),
    (lambda x: np.ones(3) == x, "fhe.chebyshev"), (lambda x: max(x, 0), "fhe.chebyshev"),
    (lambda x: x if x else 0, "decrypt first"), (lambda x: not x, "decrypt first"),
    (float, "keys.decrypt"), (int, "keys.decrypt"), (complex, "keys.decrypt"),
    (round, "cannot be rounded"), (lambda x: x // 2, "cannot be rounded"),
    (lambda x: 7 // x, "cannot be rounded"),
    (lambda x: x % 2, "cannot be rounded"), (lambda x: divmod(x, 2), "cannot be rounded"),
    (lambda x: np.ones(3) % x, "cannot be rounded"), (abs, "x.square"), (len, "x.shape"),
    (list, "x.rotate"), (lambda x: x[0], "x.rotate"), (lambda x: 3 in x, "x.rotate"),
    (lambda x: x**0.5, r"lambda v: v \*\* 0.5"), (lambda x: x**-1, r"lambda v: v \*\* -1"),
    (lambda x: x**x, "fhe.chebyshev"), (lambda x: 2**x, "fhe.chebyshev"),
    (lambda x: x ** np.array([1, 2]), "fhe.chebyshev"), (lambda x: 1 / x, "lambda v: 1 / v"),
    (lambda x: x / "2", r"fhe.chebyshev|pow\(n, -1, t\)"), (lambda x: x / x, "lambda v: 1 / v"),
    (lambda x: np.ones(3) / x, "lambda v: 1 / v"), (np.sin, r"fhe.chebyshev\(np.sin, degree"),
    (np.exp, r"chebyshev\(np.exp"), (np.sqrt, "chebyshev"), (np.abs, "chebyshev"),
    (np.floor, "cannot be rounded"), (lambda x: np.hypot(x, 1), "np.hypot.*operators"),
    (lambda x: np.sum(x, where=[True]), "np.sum.*x.sum"), (lambda x: np.arctan2(1, x), "arctan2"),
    (lambda x: np.maximum(x, 0), r"lambda v: np.maximum\(v, 0\)"),
    (lambda x: np.eye(3) @ x, r"fhe.Matrix\(context, weights\) @ x"),
    (lambda x: [[1.0]] @ x, r"fhe.Matrix\(context, weights\) @ x"),
    (lambda x: x @ np.eye(3), r"fhe.Matrix\(context, weights.T\) @ x"),
    (lambda x: x @ x, r"\(x \* y\).sum\(\)"), (lambda x: np.dot(np.eye(3), x), "fhe.Matrix"),
    (np.add.reduce, "use operators"), (lambda x: np.add(x, 1, out=np.ones(3)), "out="),
    (np.asarray, "decrypt first"), (lambda x: np.array([x, x]), "decrypt first"),
    (math.sqrt, "keys.decrypt"), (np.mean, "np.mean.*x.sum"),
    (lambda x: np.stack([x]), "operators"),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(REFUSED)))
@pytest.mark.parametrize("x", [X, Y], ids=["ckks", "bgv"])
def test_what_encryption_cannot_is_an_error_that_names_what_can(
    place: int, x: fhe.Ciphertext
) -> None:
    attempt, hint = REFUSED[place]
    with pytest.raises(TypeError, match=hint) as raised:
        attempt(x)
    assert isinstance(raised.value, EncryptedValueError)
    if "chebyshev" in raised.value.hint:
        assert (x is X) == ("BGV" not in raised.value.hint)


def test_bgv_divides_by_no_number() -> None:
    with pytest.raises(TypeError, match=r"x \* pow\(n, -1, t\)"):
        Y / 2  # type: ignore[operator]
    even = EXACT.encrypt([2, 4, -6])
    np.testing.assert_array_equal(EXACT.decrypt(even * pow(2, -1, T))[:3], [1, 2, -3])


def test_ciphertexts_may_stand_in_sets_and_lists() -> None:
    assert len({X, X, Y}) == 2
    assert X in [X, Y]
    assert X != None  # noqa: E711
    assert +X is X
    assert copy.copy(X) is X
    apart = copy.deepcopy(X)
    assert error(KEYS, apart, A) < 1e-6
    apart.data[...] = 0
    assert error(KEYS, X, A) < 1e-6


def test_numpy_s_scalars_and_arrays_leave_arithmetic_to_ciphertexts() -> None:
    for result, expected in (
        (np.float64(2) * X, 2 * A), (np.arange(SLOTS) - X, np.arange(SLOTS) - A),
        (np.add(X, 1), A + 1), (np.subtract(1, X), 1 - A), (np.multiply(A, X), A * A),
        (np.negative(X), -A), (np.conjugate(X), A.conj()), (np.true_divide(X, 4), A / 4),
    ):  # fmt: skip
        assert isinstance(result, fhe.CkksCiphertext)
        assert error(KEYS, result, expected) < 1e-6
    assert np.shape(X) == (SLOTS,)


@pytest.mark.parametrize("keys", [KEYS, EXACT], ids=["ckks", "bgv"])
def test_bytes_and_open_files_hold_what_files_hold(keys: fhe.Keys, tmp_path: Path) -> None:
    x = keys.encrypt([1, 2, 3])
    things: list[Any] = [x, x * x, keys.public, keys.evaluation]
    for thing in things:
        thing.save(tmp_path / "path")
        with (tmp_path / "open").open("wb") as file:
            thing.save(file)
        held = (tmp_path / "path").read_bytes()
        assert held == (tmp_path / "open").read_bytes() == thing.to_bytes()
        with (tmp_path / "open").open("rb") as file:
            assert type(fhe.load(file, insecure=True)) is type(thing)
        for back in (
            fhe.from_bytes(held, insecure=True), type(thing).from_bytes(held, insecure=True),
            unpickled(thing), fhe.load(io.BytesIO(held), insecure=True),
        ):  # fmt: skip
            assert back.to_bytes() == held
            assert back.context is keys.context
        with pytest.raises(LoadError, match="128 bits"):
            fhe.from_bytes(held)
    with pytest.raises(LoadError, match="expected PublicKey, got"):
        fhe.PublicKey.from_bytes(x.to_bytes(), insecure=True)
    back = keys.evaluation.load(io.BytesIO(x.to_bytes()))
    np.testing.assert_array_equal(keys.decrypt(back * 2)[:3].round().real, [2, 4, 6])
    with pytest.raises(MissingKeyError, match="using"):
        unpickled(x).rotate(1)


def unpickled(thing: Any) -> Any:
    """The contents of a pickle, which has no `insecure` argument: it warns of a toy ring."""
    with pytest.warns(fhe.InsecureWarning, match="below 128 bits of security"):
        return pickle.loads(pickle.dumps(thing))


def test_pickles_of_what_is_secure_do_not_warn() -> None:
    context = fhe.bgv(2**12, 65537, [40, 40])
    for thing in (context, context.encode([1, 2]), context.keygen().public):
        assert type(pickle.loads(pickle.dumps(thing))) is type(thing)


def test_plaintexts_contexts_and_polynomials_survive_pickles_too() -> None:
    for context, values in ((KEYS.context, A), (EXACT.context, K)):
        assert unpickled(context) is context
        plaintext = unpickled(context.encode(values))
        np.testing.assert_allclose(context.decode(plaintext), values, atol=1e-6)
    sigmoid = fhe.chebyshev(np.tanh, 7, (-1, 1))
    again = pickle.loads(pickle.dumps(sigmoid))
    np.testing.assert_array_equal(again(np.linspace(-1, 1, 9)), sigmoid(np.linspace(-1, 1, 9)))


def test_secrets_go_to_files_of_their_own_alone() -> None:
    with pytest.raises(ParamError, match="a secret goes to a file of its owner's alone"):
        KEYS.save(io.BytesIO())  # type: ignore[arg-type]
    assert not hasattr(KEYS, "to_bytes")
    with pytest.raises(TypeError, match="neither copied nor pickled"):
        pickle.dumps(KEYS)


@pytest.mark.parametrize("wrong", [io.StringIO("text"), 3, None, object()])
def test_what_is_no_file_is_refused(wrong: Any) -> None:
    with pytest.raises(LoadError, match="expected a path, or a file"):
        fhe.load(wrong)
    with pytest.raises((ParamError, TypeError)):
        X.save(wrong)
    with pytest.raises(LoadError, match="expected bytes"):
        fhe.from_bytes(wrong)
