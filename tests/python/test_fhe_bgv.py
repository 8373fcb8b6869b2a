"""BGV arithmetic against the same arithmetic on integers mod t: exact."""

from collections.abc import Callable

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import EncodeError, LevelError, MissingKeyError, NoiseError, ParamError
from cloakwork.fhe.bgv.integers import small_ratio
from python.fhe_setup import T, bgv, centred, integer_slots, rolled

KEYS = bgv()
A, B = integer_slots(KEYS, 1), integer_slots(KEYS, 2)
X, Y = KEYS.encrypt(A), KEYS.encrypt(B)
SLOTS = KEYS.context.slots
FIRST = np.arange(SLOTS)
LEAST = (FIRST - 128).clip(-128, 127)


def exact(keys: fhe.Keys, ciphertext: fhe.Ciphertext, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(keys.decrypt(ciphertext), centred(expected))
    assert isinstance(ciphertext, fhe.BgvCiphertext)
    assert ciphertext.noise_budget() > 0


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda x, y: x + y, A + B),
        (lambda x, y: x - y, A - B),
        (lambda x, y: -x, -A),
        (lambda x, y: x * y, A * B),
        (lambda x, y: (x * y).relinearize(), A * B),
        (lambda x, y: (x * y).mod_switch(), A * B),
        (lambda x, y: x.mod_switch(), A),
        (lambda x, y: x.square(), A * A),
        (lambda x, y: x * y + x, A * B + A),
        (lambda x, y: x * 7 - 5, A * 7 - 5),
        (lambda x, y: 3 - x * 65536, 3 + A),
        (lambda x, y: x * 0 + 1, 0 * A + 1),
        (lambda x, y: x * B + A, A * B % T + A),
        (lambda x, y: x * KEYS.context.encode(B) - KEYS.context.encode(A), A * B % T - A),
        (
            lambda x, y: x + np.r_[1, 2, np.zeros(SLOTS - 2, int)],
            A + np.r_[1, 2, np.zeros(SLOTS - 2, int)],
        ),
        (lambda x, y: x - FIRST, A - FIRST),
        (lambda x, y: x - FIRST.astype(np.uint16), A - FIRST),
        (lambda x, y: x - LEAST.astype(np.int8), A - LEAST),
        (lambda x, y: x - FIRST.tolist(), A - FIRST),
        (lambda x, y: x - np.uint64(3) * np.array(5, dtype=np.uint64), A - 15),
        (lambda x, y: x * np.array(3) + np.array(2), 3 * A + 2),
        (lambda x, y: cw.asarray(3) - x, 3 - A),
        (lambda x, y: x.rotate_rows(1), rolled(A, 1)),
        (lambda x, y: x.rotate_rows(3), rolled(A, 3)),
        (lambda x, y: x.rotate_rows(-2), rolled(A, -2)),
        (lambda x, y: x.rotate_columns(), np.roll(A, SLOTS // 2)),
        (lambda x, y: x.inner_sum(6), sum(rolled(A, i) for i in range(6))),
        (lambda x, y: (x * y).mod_switch().rotate_rows(2) - x, rolled(A * B % T, 2) - A),
        (lambda x, y: (x * y) * (x * y), (A * B % T) ** 2),
        (lambda x, y: x.square().square() + y, (A * A % T) ** 2 % T + B),
    ],
)
def test_circuits_compute_what_they_say(
    operation: Callable[[fhe.BgvCiphertext, fhe.BgvCiphertext], fhe.BgvCiphertext],
    expected: np.ndarray,
) -> None:
    exact(KEYS, operation(X, Y), expected)


@pytest.mark.parametrize("t", [65537, 12289, 786433])
@pytest.mark.parametrize("special", [0, 1, 3])
def test_other_plain_moduli_and_key_switching(t: int, special: int) -> None:
    keys = bgv(128, 5, t=t, special=special)
    a = integer_slots(keys, 3)
    x = keys.encrypt(a)
    want = centred(a * a % t * a + a, t)
    np.testing.assert_array_equal(keys.decrypt(x.square() * x + x), want)
    np.testing.assert_array_equal(keys.decrypt(x.rotate_rows(3)), centred(rolled(a, 3), t))


@pytest.mark.parametrize("factor", [1, 2, T - 1])
def test_values_are_encoded_times_a_factor(factor: int) -> None:
    encoded = KEYS.context.encode(A, factor=factor)
    np.testing.assert_array_equal(KEYS.context.decode(encoded), A)
    exact(KEYS, X + encoded, 2 * A)
    exact(KEYS, KEYS.encrypt(encoded) * Y, A * B)


@pytest.mark.parametrize("factor", [0, -1, T])
def test_factors_that_say_nothing_are_refused(factor: int) -> None:
    with pytest.raises(ParamError, match=r"factor: got .* expected 1 to 65536"):
        KEYS.context.encode(A, factor=factor)


def test_factors_of_switched_moduli_are_balanced() -> None:
    # Moduli that are not 1 mod t multiply plaintexts when they are switched.
    primes = fhe.bgv(128, 12289, [49] * 4, [50], insecure=True).parameters.moduli
    awkward = fhe.chain.Picker(128, set())
    context = fhe.bgv(128, 12289, [awkward.prime(45) for _ in range(4)], [50], insecure=True)
    assert any(q % 12289 != 1 for q in context.parameters.moduli)
    assert all(q % 12289 == 1 for q in primes)
    keys = context.keygen()
    a = integer_slots(keys, 4)
    x = keys.encrypt(a)
    switched = x.mod_switch()
    assert switched.factor != 1
    for result, expected in (
        (switched + x, 2 * a),
        (switched * 3 + 1, 3 * a + 1),
        (switched + a, 2 * a),
        (switched - context.encode(a, level=2), 0 * a),
        (switched * switched - x, a * a - a),
        (switched * a, a * a),
    ):
        np.testing.assert_array_equal(keys.decrypt(result), centred(expected, 12289))


@pytest.mark.parametrize("t", [97, 65537, (1 << 31) - 1])
def test_ratios_are_of_about_half_the_size(t: int) -> None:
    generator = np.random.default_rng(t)
    for ratio in generator.integers(1, t, 50):
        u, v = small_ratio(int(ratio), t)
        assert (u * int(ratio) - v) % t == 0
        assert 0 < abs(u) <= t**0.5 + 1
        assert abs(v) <= t**0.5 + 1


def test_hoisted_rotations_are_rotations() -> None:
    for step, rotated in zip([1, 0, 2, 3], X.rotate_many([1, 0, 2, 3]), strict=True):
        exact(KEYS, rotated, rolled(A, step))
        np.testing.assert_array_equal(np.array(rotated.data), np.array(X.rotate_rows(step).data))


def test_batches_are_computed_on_one_by_one() -> None:
    a, b = integer_slots(KEYS, 5, (3,)), integer_slots(KEYS, 6, (3,))
    x = KEYS.encrypt(a, batch=True)
    y = KEYS.public.encrypt(b, batch=True).using(KEYS.evaluation)
    exact(KEYS, x * y + x, a * b % T + a)
    exact(KEYS, x * Y, a * B)
    exact(KEYS, x.rotate_rows(1) + A, rolled(a, 1) + A)


def test_moduli_are_switched_before_noise_would_multiply() -> None:
    power, expected = X, A
    for _ in range(5):
        power, expected = power * power, expected * expected % T
        exact(KEYS, power, expected)

    def on_and_on(power: fhe.Ciphertext) -> None:
        for _ in range(3):
            power = power * power

    with pytest.raises(NoiseError, match="longer modulus chain") as raised:
        on_and_on(power)
    assert raised.value.budget_log2 < 0


def test_lower_levels_hold_the_same_values() -> None:
    for level in range(5):
        lowered = X.lower(level)
        assert lowered.level == level
        exact(KEYS, lowered, A)
        exact(KEYS, (X * Y).lower(level) if level else X, A * B if level else A)
    with pytest.raises(LevelError, match="levels only fall"):
        X.lower(1).lower(2)
    with pytest.raises(LevelError, match="level 1 or more"):
        X.lower(0).mod_switch()


def test_noise_budgets_hold_and_are_not_far_off() -> None:
    for ciphertext, message in (
        (X, A),
        (X * Y, A * B),
        ((X * Y).mod_switch(), A * B),
        (X.rotate_rows(1), rolled(A, 1)),
        (KEYS.public.encrypt(A), A),
    ):
        plaintext = KEYS.decrypt_plaintext(ciphertext)
        basis = KEYS.context.tables.chain(ciphertext.level)
        residues = np.asarray(basis.intt(plaintext.data.unsqueeze(0)))[0].astype(object)
        whole = 1
        for q in basis.moduli:
            whole *= q
        numbers = sum(
            residues[:, i] * (whole // q * pow(whole // q, -1, q))
            for i, q in enumerate(basis.moduli)
        )
        largest = max(min(n % whole, whole - n % whole) for n in numbers)
        left = whole.bit_length() - 1 - largest.bit_length()
        assert ciphertext.noise_budget() <= left + 1
        assert ciphertext.noise_budget() >= left - 8
        assert np.array_equal(KEYS.decrypt(ciphertext), centred(message))


@pytest.mark.parametrize("values", [[2**60 + 1, 2.0, 1], [2.0**53], [-(2.0**53)], [2**63, -1]])
def test_floats_that_need_not_be_what_was_meant_are_refused(values: list[float]) -> None:
    # NumPy makes floats of a list that holds one, and 2^60 + 1 becomes 2^60.
    context, single = KEYS.context, X.with_packing(KEYS.context.packing(len(values)))
    attempts: list[Callable[[], object]] = [
        lambda: single * values,
        lambda: single + values,
        lambda: values - single,
        lambda: KEYS.encrypt(values),
        lambda: KEYS.public.encrypt(np.array(values, dtype=object)),
        lambda: KEYS.encrypt([values, values], batch=True),
        lambda: context.encode(np.array(values)),
        lambda: fhe.Matrix(context, [values]),
        lambda: KEYS.encrypt(fhe.Matrix(context, np.ones((1, len(values)), int)).pack(values)),
    ]
    for attempt in attempts:
        with pytest.raises(EncodeError, match=r"2\^53|64 bits"):
            attempt()
    with pytest.raises(ParamError, match="integers under BGV, below 2\\^53"):
        fhe.Polynomial(np.array([1.0, 2.0**53]))(X)


def test_integers_and_floats_that_are_exact_are_taken() -> None:
    largest = [2**53 - 1, 2.0, 1]
    assert KEYS.decrypt(KEYS.encrypt(largest))[:3].tolist() == centred([2**53 - 1, 2, 1]).tolist()
    whole = [2**60 + 1, 2, -(2**63)]
    wanted = centred([value % T for value in whole])
    assert KEYS.decrypt(KEYS.encrypt(whole))[:3].tolist() == wanted.tolist()


@pytest.mark.parametrize(
    "values", [[0.5], [float("nan")], ["a"], [1j], [2.0**63], np.array([2**63], dtype=np.uint64)]
)
def test_what_is_no_integer_has_no_encoding(values: object) -> None:
    with pytest.raises(EncodeError):
        KEYS.encrypt(values)


def test_too_many_values_are_refused() -> None:
    with pytest.raises(EncodeError, match=f"{SLOTS + 1} values .* {SLOTS} slots"):
        KEYS.encrypt(np.ones(SLOTS + 1, dtype=int))
    with pytest.raises(ParamError, match="scale"):
        KEYS.encrypt([1], scale=2.0)
    with pytest.raises(ParamError, match="bound"):
        KEYS.encrypt([1], bound=2.0)


def test_missing_keys_are_named() -> None:
    bare = KEYS.context.keygen(relinearization=False, conjugation=False)
    with pytest.raises(MissingKeyError, match="exchange of the rows"):
        bare.encrypt(A).rotate_columns()
    with pytest.raises(MissingKeyError, match="add 5"):
        bare.encrypt(A).rotate_rows(5)


def test_by_hand_levels_must_agree() -> None:
    context = fhe.bgv(64, 257, [40] * 3, [45], insecure=True, levels="manual")
    keys = context.keygen()
    a = integer_slots(keys, 7)
    x = keys.encrypt(a)
    low = x.lower(1)
    for operation in (lambda: x + low, lambda: x * low, lambda: low + context.encode(a)):
        with pytest.raises(LevelError, match="operands at one level"):
            operation()
    product = (x * x).relinearize().mod_switch()
    np.testing.assert_array_equal(keys.decrypt(product), centred(a * a, 257))


def test_ciphertexts_say_what_they_are() -> None:
    assert "level=5, parts=2, budget=" in repr(X)
