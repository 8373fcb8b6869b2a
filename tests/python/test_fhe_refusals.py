"""Ciphertexts that would decrypt to wrong values are refused, by the estimate or by the secret."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import EncodeError, NoiseError
from cloakwork.fhe.bgv.integers import sized
from cloakwork.fhe.estimates.bounds import Bound
from cloakwork.fhe.files.container import Contents
from cloakwork.fhe.files.storage import ciphertext_of, limbs_first
from python.fhe_setup import T, bgv, centred, ckks, integer_slots, rolled

Step = tuple[Callable[[Any], Any], Callable[[np.ndarray], np.ndarray]]

KEYS = bgv(256, 1)
A = integer_slots(KEYS, 1)
BY_HAND = fhe.bgv(
    256, T, [49, 49], [50, 50], insecure=True, levels="manual"
).keygen(rotations=[1, 2, 4, -1])  # fmt: skip


def step_of(keys: fhe.Keys, name: str) -> Step:
    """Something encrypted and the same in plain, that makes noise grow."""
    matrix = fhe.Matrix(keys.context, [[30000, -20000], [12345, 1]])
    keys.add(matrix.rotations)
    steps: dict[str, Step] = {
        "scalar": (lambda x: x * 12345, lambda a: a * 12345),
        "sum": (lambda x: x + x, lambda a: 2 * a),
        "difference": (lambda x: x - 3 * x, lambda a: -2 * a),
        "values": (lambda x: x * A, lambda a: a * A),
        "plaintext": (lambda x: x * keys.context.encode(A, level=x.level), lambda a: a * A),
        "rotation": (lambda x: 2 * x.rotate_rows(1), lambda a: 2 * rolled(a, 1)),
        "columns": (lambda x: x + x.rotate_columns(), lambda a: a + np.roll(a, len(a) // 2)),
        "inner sum": (lambda x: x.inner_sum(2), lambda a: a + rolled(a, 1)),
        "polynomial": (fhe.Polynomial([1, 12345]), lambda a: 12345 * a + 1),
        "matrix": (
            lambda x: matrix @ x.with_packing(matrix.packing),
            lambda a: (a.reshape(-1, 2) @ [[30000, 12345], [-20000, 1]]).reshape(-1),
        ),
        "mod switch": (
            lambda x: 12345 * (x.mod_switch() if x.level else x),
            lambda a: a * 12345,
        ),
    }  # fmt: skip
    return steps[name]


NAMES = [
    "scalar", "sum", "difference", "values", "plaintext", "rotation", "columns", "inner sum",
    "polynomial", "matrix", "mod switch",
]  # fmt: skip


def right_steps(keys: fhe.Keys, step: Step) -> Iterator[fhe.BgvCiphertext]:
    """Ciphertexts of one step more each, all of them exact."""
    encrypted, plain = step
    x: Any = keys.encrypt(A)
    values = A
    while True:
        np.testing.assert_array_equal(keys.decrypt(x), values)
        yield x
        x, values = encrypted(x), centred(plain(values))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("keys", [KEYS, BY_HAND])
def test_bgv_is_right_until_it_refuses(name: str, keys: fhe.Keys) -> None:
    found: list[fhe.BgvCiphertext] = []
    with pytest.raises(NoiseError, match="bits of noise budget; begin with a longer") as raised:
        found.extend(right_steps(keys, step_of(keys, name)))
    assert raised.value.budget_log2 < 0
    assert len(found) >= 2
    assert 0 <= found[-1].noise_budget() <= keys.noise_budget(found[-1])


@pytest.mark.parametrize("keys", [KEYS, BY_HAND])
def test_products_are_refused_before_any_work(keys: fhe.Keys) -> None:
    x = keys.encrypt(A)

    def on_and_on() -> None:
        power = x
        for _ in range(5):
            power = power * power

    with pytest.raises(NoiseError, match=r"multiply: would leave -.* at level"):
        on_and_on()


@pytest.mark.parametrize("levels", [0, 2])
def test_the_secret_finds_noise_that_the_estimate_does_not_know(levels: int) -> None:
    keys = bgv(256, levels)
    x = keys.encrypt([1, 2, 3])
    claimed = sized(x.sizes)
    for _ in range(4 * (levels + 1)):
        x = replace(x * 12345, **claimed)
    assert x.noise_budget() > 20
    assert keys.noise_budget(x) < 0.5
    with pytest.raises(NoiseError, match=r"the measured noise exceeds") as raised:
        keys.decrypt(x)
    # Measurements of the secret never appear in a log.
    assert raised.value.budget_log2 is None
    assert not any(character.isdigit() for character in repr(raised.value))
    wanted = centred([pow(12345, 4 * (levels + 1), T) * i for i in (1, 2, 3)])
    assert keys.decrypt(x, check=False)[:3].tolist() != wanted.tolist()


def test_a_budget_that_is_measured_is_that_of_the_noise() -> None:
    x = KEYS.encrypt(A)
    before = KEYS.noise_budget(x)
    assert KEYS.noise_budget(x * 1024) == pytest.approx(before - 10, abs=0.01)
    assert x.noise_budget() < before < x.noise_budget() + 6


CKKS = ckks(256, 3)
SLOTS = CKKS.context.slots


def test_ckks_values_that_may_outgrow_the_modulus_are_not_decrypted() -> None:
    x = CKKS.encrypt([1000.0]).lower(0)
    with pytest.raises(NoiseError, match=r"may outgrow the modulus.*longer first modulus"):
        CKKS.decrypt(x * 1000)
    # A holder of the secret measures.
    assert CKKS.decrypt(x * 10, check=False).shape == (SLOTS,)


def test_values_that_might_have_outgrown_the_modulus_are_decrypted_by_who_knows_better() -> None:
    x = CKKS.encrypt([1e-4], bound=1000.0).lower(0) * 1000
    assert x.precision_estimate() == -np.inf
    with pytest.raises(NoiseError, match="with_bound"):
        CKKS.decrypt(x)
    for known in (CKKS.decrypt(x.with_bound(1.0)), CKKS.decrypt(x, check=False)):
        assert abs(known[0] - 0.1) < 1e-4


def test_ckks_results_without_a_bit_left_are_not_decrypted() -> None:
    noisy = CKKS.encrypt([0.5], scale=2.0**6)
    assert noisy.precision_estimate() < 0
    with pytest.raises(NoiseError, match=r"decrypt: the estimate leaves -\d.* larger scale"):
        CKKS.decrypt(noisy)
    assert abs(CKKS.decrypt(noisy, check=False)[0] - 0.5) < 2.0 ** -noisy.precision_estimate()


def test_the_secret_finds_values_beyond_their_bound() -> None:
    x = CKKS.encrypt(np.full(SLOTS, 3.0), bound=4.0)
    with pytest.raises(NoiseError, match=r"beyond their bound, complex numbers up to 1, by more"):
        CKKS.decrypt(replace(x, bound=Bound.circle(1.0)))
    with pytest.raises(NoiseError, match=r"beyond their bound, \[0, 4\]"):
        CKKS.decrypt(replace(-x, bound=Bound.real(0.0, 4.0)))
    # 3^16 at the last level is above half the modulus.
    little = Bound.circle(2.0**-20)
    wrapped = replace(x.lower(0), bound=little)
    for _ in range(15):
        wrapped = replace(wrapped * 3, bound=little)
    with pytest.raises(NoiseError, match=r"decrypt: (values are beyond|the coefficients leave)"):
        CKKS.decrypt(wrapped)


def test_values_beyond_a_stated_bound_are_not_encrypted() -> None:
    for keys in (CKKS, CKKS.public):
        with pytest.raises(EncodeError, match=r"up to 2\^10, beyond their bound: \[-2, 2\]"):
            keys.encrypt([1.0, -1000.0], bound=2.0)
    bounded = fhe.ckks(64, [50, 40], insecure=True, bound=3.0).keygen(relinearization=False)
    with pytest.raises(EncodeError, match=r"beyond their bound: \[-3, 3\]"):
        bounded.encrypt([3.001])
    assert bounded.encrypt([3.0]).size == np.log2(3)


def test_a_bound_that_is_not_stated_holds_the_values() -> None:
    for value, size in ((0.0, 0), (0.25, 0), (1.0, 0), (1.001, 1), (-2.0, 1), (1000.0, 10)):
        assert CKKS.encrypt([value]).size == size
        assert CKKS.encrypt(CKKS.context.encode([value])).size == size


def test_large_inputs_are_promised_no_more_than_they_keep() -> None:
    # With the bound 1 the fourth power of 1000 was promised 20 bits, and had none.
    keys = fhe.ckks(256, [60, 40, 40, 40], [60], insecure=True).keygen()
    x = keys.encrypt([1000.0] * 128)
    fourth = (x * x) * (x * x)
    with pytest.raises(NoiseError):
        keys.decrypt(fourth.rescale().lower(0))
    off = np.abs(keys.decrypt(fourth) - 1000.0**4).max()
    assert off <= 2.0 ** -fourth.precision_estimate() < 1000.0**4 / 256


@pytest.mark.parametrize("bits", [30, 31, 32, 33, 34, 36])
def test_a_product_with_its_own_rotation_has_its_largest_coefficient_in_the_budget(
    bits: int,
) -> None:
    # p(X) p(1 / X) has the sum of squares of p as coefficient 0, alone: sqrt(N) times the others.
    keys = fhe.bgv(2**13, T, moduli=[bits, bits], special=[50]).keygen()
    values = integer_slots(keys, bits)
    x = keys.public.encrypt(values).using(keys.evaluation)
    try:
        product = x * x.rotate_columns()
    except NoiseError:
        assert bits < 33
        return
    assert bits > 31
    assert 0 <= product.noise_budget() <= keys.noise_budget(product) < product.noise_budget() + 3
    expected = centred(values * np.roll(values, len(values) // 2))
    np.testing.assert_array_equal(keys.decrypt(product), expected)


@pytest.mark.parametrize("share", [0.55, 0.7, 0.8, 0.9, 0.99])
def test_one_coefficient_that_came_around_is_refused(share: float) -> None:
    x = KEYS.encrypt(A)
    # A multiple of t in coefficient 0 alone: it changes no value until it leaves the modulus.
    around = round(share * x.basis.modulus / T) * T
    wrong = replace(x, data=x._body_plus(x.basis.constant(around)))
    assert KEYS.decrypt(wrong, check=False).tolist() != A.tolist()
    assert wrong.noise_budget() > 20
    with pytest.raises(NoiseError, match="noise exceeds the ciphertext's estimate"):
        KEYS.decrypt(wrong)


def test_what_leaves_no_bit_of_room_is_refused_whatever_the_estimate_says() -> None:
    x = KEYS.encrypt(A)
    near = round(0.3 * x.basis.modulus / T) * T
    full = replace(x, data=x._body_plus(x.basis.constant(near)))
    claims = x.modulus_log2 - 1
    filled = replace(full, coefficient=claims, noise=claims, value=claims)
    np.testing.assert_array_equal(KEYS.decrypt(filled, check=False), A)
    assert 0 <= filled.noise_budget() < KEYS.noise_budget(filled) < 1
    with pytest.raises(NoiseError, match="no room"):
        KEYS.decrypt(filled)


def test_plaintexts_count_by_their_own_norms() -> None:
    context = KEYS.context
    largest = context.batching.slots(np.full((1, context.slots), T // 2))[0]
    x = KEYS.encrypt(A)
    small, large = x * context.encode([3] * context.slots), x * context.encode(largest)
    assert small.coefficient == pytest.approx(x.noise + np.log2(3))
    assert small.noise == pytest.approx(x.noise + np.log2(3))
    # That of a uniform polynomial would be log2(3) / 2 less.
    assert large.coefficient == pytest.approx(x.noise + np.log2(T / 2 * context.slots**0.5), 0.001)
    values = A
    for _ in range(2):
        x, values = x * largest, centred(values * largest)
        assert x.noise_budget() <= KEYS.noise_budget(x)
        np.testing.assert_array_equal(KEYS.decrypt(x), values)


def test_encrypted_values_do_not_show_in_the_estimate() -> None:
    context = KEYS.context
    largest = context.batching.slots(np.full((1, context.slots), T // 2))[0]
    found = {KEYS.encrypt(values).sizes for values in (A, [0], largest, context.encode(largest))}
    assert len(found) == 1


def test_files_say_all_sizes_and_old_ones_the_largest_that_their_norm_allows() -> None:
    x = KEYS.encrypt(A) * KEYS.encrypt(A)
    assert fhe.from_bytes(x.to_bytes(), insecure=True).sizes == x.sizes
    fields = {name: value for name, value in x.described().items() if name != "coefficient"}
    contents = Contents(Path("old.ct"), "ciphertext", fields, {"data": limbs_first(x.data)})
    old = ciphertext_of(contents, x.context)
    assert (old.noise, old.coefficient, old.value) == (x.noise, x.noise, x.value)


def test_plaintexts_of_decryptions_count_with_their_noise() -> None:
    product = KEYS.encrypt(A) * KEYS.encrypt(A)
    plaintext = KEYS.decrypt_plaintext(product)
    assert plaintext.sizes == product.sizes
    again = KEYS.encrypt(plaintext)
    assert product.noise_budget() - 0.1 < again.noise_budget() <= product.noise_budget()
    assert again.noise_budget() <= KEYS.noise_budget(again)
    np.testing.assert_array_equal(KEYS.decrypt(again), centred(A * A))
    with pytest.raises(NoiseError):
        _ = product * plaintext
    with pytest.raises(NoiseError):
        _ = KEYS.encrypt(A) * replace(plaintext, sizes=None)
