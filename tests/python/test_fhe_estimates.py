"""Estimates hold where errors are shared: by rows of a batch, by slots, by the same plaintext."""

from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import EncodeError, NoiseError, ParamError, ScaleError
from cloakwork.fhe.estimates.bounds import Bound
from numpy.typing import NDArray
from python.fhe_setup import measured_bits

BATCH = 64
# The most that an estimate may be below the measured precision.
SHARP_BITS = 6.0
CONTEXT = fhe.ckks(1024, [50, 40, 40], [50], insecure=True)
KEYS = CONTEXT.keygen(rotations="all")
BY_HAND = fhe.ckks(1024, [50, 40, 40], [50], insecure=True, levels="manual").keygen()
GENERATOR = np.random.default_rng(5)
VALUES = GENERATOR.uniform(-1, 1, CONTEXT.slots)
ROWS = np.zeros((BATCH, CONTEXT.slots))
ONES = np.ones((1, BATCH))
ORTHOGONAL = np.linalg.qr(GENERATOR.normal(size=(8, 8)))[0]
MATRIX = fhe.Matrix(CONTEXT, ORTHOGONAL, period=8)
KEYS.add(MATRIX.rotations)

Turned = Callable[[Any], Any]


def check_estimate(x: fhe.Ciphertext, expected: Any, keys: fhe.Keys = KEYS) -> None:
    below = measured_bits(keys, x, expected) - x.precision_estimate()
    assert 0 <= below <= SHARP_BITS


def blocks(values: NDArray[Any]) -> NDArray[Any]:
    return np.asarray((values.reshape(-1, 8) @ ORTHOGONAL.T).reshape(-1))


SHARED: dict[str, tuple[Turned, Turned]] = {
    "sums with an array": (lambda x: x + ROWS, lambda v: v),
    "products with an array": (lambda x: x * (ROWS + 0.5), lambda v: v / 2),
    "sums with a batch": (lambda x: x + KEYS.encrypt(ROWS, batch=True), lambda v: v),
    "sums of a batch": (lambda x: KEYS.encrypt(ROWS, batch=True) - x, lambda v: -v),
    "products with a batch": (lambda x: x * KEYS.encrypt(ROWS + 1, batch=True), lambda v: v),
    "a batch of one": (lambda x: x[0] * 1 + ROWS if x.batch else x + ROWS, lambda v: v),
    "sums of slots": (
        lambda x: (x + ROWS).inner_sum(4),
        lambda v: sum(np.roll(v, -i) for i in range(4)),
    ),
    "rotations": (lambda x: (x + ROWS).rotate(3), lambda v: np.roll(v, -3)),
    "divisions": (lambda x: ((x + ROWS) * 0.5).rescale(), lambda v: v / 2),
    "matrices": (
        lambda x: (MATRIX @ (x + ROWS).with_packing(MATRIX.packing)).rescale(),
        blocks,
    ),
    "plaintexts": (
        lambda x: (x + ROWS) * CONTEXT.encode(VALUES, scale=2.0**20),
        lambda v: v * VALUES,
    ),
    "polynomials": (lambda x: fhe.Polynomial([0.5, 0.25])(x + ROWS), lambda v: 0.5 + v / 4),
}


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("batch", [False, True])
def test_rows_that_share_an_error_add_it_up(name: str, batch: bool) -> None:
    computed, expected = SHARED[name]
    x = KEYS.encrypt(VALUES[np.newaxis] if batch else VALUES, batch=batch)
    rows = computed(x)
    check_estimate(rows.weighted_sums(ONES), BATCH * expected(VALUES))
    # One row alone is off by no more than before.
    assert rows[3].precision_estimate() == rows.precision_estimate()


@pytest.mark.parametrize("scale", [2.0**14, 2.0**20])
def test_equal_values_are_encoded_with_one_error(scale: float) -> None:
    rows = KEYS.encrypt(np.tile(VALUES, (BATCH, 1)), batch=True)
    product = (rows * CONTEXT.encode(VALUES, scale=scale)).weighted_sums(ONES)
    check_estimate(product, BATCH * VALUES**2)
    many = np.tile(VALUES, (512, 1))
    encrypted = BY_HAND.encrypt(many, batch=True, scale=2.0**20).weighted_sums(np.ones((1, 512)))
    check_estimate(encrypted, 512 * VALUES, BY_HAND)


def test_plaintexts_that_are_added_to_many_rows_are_decrypted() -> None:
    empty = BY_HAND.encrypt(np.zeros((512, 8)), batch=True, scale=2.0**20)
    plaintext = BY_HAND.context.encode(VALUES, scale=2.0**20)
    found = (empty * 0 + plaintext).weighted_sums(np.ones((1, 512)))
    check_estimate(found, 512 * VALUES, BY_HAND)


def test_the_same_plaintext_is_off_by_the_same_each_time() -> None:
    plaintext = BY_HAND.context.encode(VALUES, scale=2.0**20)
    added = BY_HAND.encrypt(VALUES, scale=2.0**20)
    for _ in range(64):
        added = added + plaintext
    check_estimate(added, 65 * VALUES, BY_HAND)
    product = BY_HAND.encrypt(VALUES)
    factor = BY_HAND.context.encode(VALUES, scale=2.0**14)
    for _ in range(4):
        product = product * factor
    check_estimate(product, VALUES**5, BY_HAND)


@pytest.mark.parametrize("log_scale", [8, 12, 16, 20, 24])
@pytest.mark.parametrize("held", [1, 2, 8])
def test_few_values_are_encoded_with_the_error_that_they_have(log_scale: int, held: int) -> None:
    keys = fhe.ckks(1 << 13, [50, 40, 40], [50], levels="manual").keygen()
    values = np.zeros(keys.context.slots)
    values[:held] = 1.0
    x, scale = keys.encrypt(np.ones_like(values)), 2.0**log_scale
    product = x * keys.context.encode(values, scale=scale)
    below = -np.log2(np.abs(keys.decrypt(product, check=False) - values).max())
    assert 0 <= below - product.precision_estimate() <= SHARP_BITS
    several = np.stack([np.full_like(values, 2.0**30), values])
    rows = keys.encrypt(several, scale=scale, batch=True)
    off = np.abs(keys.decrypt(rows, check=False) - several)[1].max()
    assert off <= 2.0 ** -rows.precision_estimate()


@pytest.mark.parametrize("entry", [1e-7, 1e-8, 1e-9])
def test_small_entries_of_matrices_are_encoded_with_the_error_that_they_have(entry: float) -> None:
    context = fhe.ckks(1 << 13, [50, 40], [50], insecure=True)
    matrix = fhe.Matrix(context, [[entry, 0.0], [0.0, 0.0]], period=context.slots)
    keys = context.keygen(rotations=matrix.rotations)
    found = matrix @ keys.encrypt([1.0, 1.0])
    expected = np.r_[entry, np.zeros(context.slots - 1)]
    check_estimate(found, expected, keys)


def test_what_was_decrypted_keeps_its_noise_as_a_plaintext() -> None:
    x = BY_HAND.encrypt(VALUES)
    noisy = (x * x).rescale()
    plaintext = BY_HAND.decrypt_plaintext(noisy)
    low = x.lower(noisy.level)
    check_estimate(low * plaintext, VALUES**3, BY_HAND)
    same = BY_HAND.encrypt(VALUES, level=noisy.level, scale=noisy.scale)
    check_estimate(same + plaintext, VALUES + VALUES**2, BY_HAND)


def test_rows_that_differ_are_as_sharp_in_each() -> None:
    values = GENERATOR.uniform(-1, 1, (BATCH, CONTEXT.slots))
    x = (KEYS.encrypt(values, batch=True) * 0.5).rescale()
    alone = (KEYS.encrypt(values[0]) * 0.5).rescale()
    found = x.inner_sum(16)
    assert found.precision_estimate() == alone.inner_sum(16).precision_estimate()
    assert found[2].precision_estimate() == found.precision_estimate()
    product = MATRIX @ x.with_packing(MATRIX.packing)
    same = MATRIX @ alone.with_packing(MATRIX.packing)
    assert product.precision_estimate() == same.precision_estimate()


def test_files_keep_what_rows_share() -> None:
    x = KEYS.encrypt(VALUES) + ROWS
    back: Any = fhe.from_bytes(x.to_bytes(), insecure=True)
    assert back.alike == x.alike == np.log2(BATCH) / 2


def test_files_tell_computed_bounds_as_powers_of_two() -> None:
    x = KEYS.encrypt(VALUES, bound=(-1.0, 1.5))
    sent: Any = fhe.from_bytes(x.to_bytes(), insecure=True)
    again: Any = fhe.from_bytes(sent.to_bytes(), insecure=True)
    assert str(x.bound) == str(sent.bound) == str(again.bound)
    weighted = x * 7.654321 + 1.25
    shown: Any = fhe.from_bytes(weighted.to_bytes(), insecure=True)
    assert str(shown.bound) == "[-8, 16]"
    assert shown.bound.rms == 16.0
    assert str(weighted.bound) == "[-6.404, 12.73]"
    positive: Any = fhe.from_bytes((x * 0.1 + 5.0).to_bytes(), insecure=True)
    assert str(positive.bound) == "[4, 8]"
    assert positive.bound.holds((x * 0.1 + 5.0).bound)
    assert str(fhe.from_bytes((x * -0.1 - 5.0).to_bytes(), insecure=True).bound) == "[-8, -4]"


def test_programs_from_files_take_inputs_by_their_exact_bounds(tmp_path: Any) -> None:
    example = KEYS.encrypt([0.5], bound=0.5) * 3
    cw.trace(lambda x: x * 1.25, example).save(tmp_path / "scaled.cwk")
    program: Any = cw.load(tmp_path / "scaled.cwk")
    result = program.run(KEYS.encrypt([0.25], bound=0.5) * 3)["out0"]
    assert str(result.bound) == "[-1.875, 1.875]"
    assert str(fhe.from_bytes(result.to_bytes(), insecure=True).bound) == "[-2, 2]"
    with pytest.raises(ParamError, match="bound: got"):
        program.run(KEYS.encrypt([0.25], bound=2.0))


@pytest.mark.parametrize("apart", [2.0**-31, -(2.0**-34)])
def test_scales_that_are_nearly_equal_count_what_is_between_them(apart: float) -> None:
    x = KEYS.encrypt(VALUES)
    near = x.scale * (1 + apart)
    plaintext = CONTEXT.encode(VALUES, scale=near)
    check_estimate(x + plaintext, 2 * VALUES)
    check_estimate(x + KEYS.encrypt(VALUES, scale=near), 2 * VALUES)
    program = cw.trace(lambda x: x + x, x)
    with pytest.raises(ScaleError, match=r"scale .* of the example, not a scale that"):
        program.run(KEYS.encrypt(VALUES, scale=near))


def test_programs_take_no_larger_mean_than_their_example() -> None:
    example = (MATRIX @ KEYS.encrypt(MATRIX.pack(VALUES.reshape(-1, 8)))).rescale()
    example = example.with_packing(CONTEXT.whole)
    low, high = float(example.bound.low.min()), float(example.bound.high.max())
    large = KEYS.encrypt(np.full(CONTEXT.slots, 2.5), level=example.level, bound=(low, high))
    assert not example.bound.holds(large.bound)
    assert example.bound.holds(Bound.real(-0.5, 0.5))
    program = cw.trace(lambda x: x.lower(0) * 8, example)
    with pytest.raises(ParamError, match=r"bound: got .*root mean square 2.* trace with the bound"):
        program.run(large)


@pytest.mark.parametrize("degree", [1024, 1 << 13])
def test_products_with_conjugates_leave_the_modulus_the_room_that_they_take(degree: int) -> None:
    keys = fhe.ckks(degree, [50, 40, 40], [50], insecure=True).keygen(rotations=[1])
    values = np.exp(2j * np.pi * GENERATOR.random(keys.context.slots))
    x = keys.encrypt(values)
    for y, exact in (
        (x * x.conjugate(), np.ones_like(values)),
        (x * x.rotate(1).conjugate(), values * np.roll(values, -1).conj()),
    ):
        product = y.rescale()
        for number in (1, 100, 450, 600, 5000):
            low = product.lower(0) * number
            if low.precision_estimate() > -np.inf:
                assert measured_bits(keys, low, number * exact) >= low.precision_estimate()
    # All of |x|^2 is in one coefficient, of which half a modulus holds 2^9.
    assert (product.lower(0) * 450).precision_estimate() > -np.inf
    with pytest.raises(NoiseError):
        keys.decrypt((x * x.conjugate()).rescale().lower(0) * 600)


def test_equal_values_that_come_around_a_modulus_are_refused() -> None:
    # 4096 in every slot is one coefficient of four times the modulus, so almost no budget is left.
    ones = KEYS.encrypt(np.ones(CONTEXT.slots), bound=(0.0, 1.0)).lower(0)
    many = ones.inner_sum(512) * 8
    assert many.precision_estimate() == -np.inf
    assert np.abs(KEYS.decrypt(many, check=False)).max() < 1.0
    assert KEYS.noise_budget(many) > 15
    with pytest.raises(NoiseError, match="may outgrow the modulus"):
        KEYS.decrypt(many)


def test_errors_that_meet_their_conjugates_add_up_in_one_coefficient() -> None:
    keys = fhe.ckks(1 << 13, [50, 40], [50], levels="manual").keygen()
    # Noise above the error that the conjugation adds.
    noisy = keys.encrypt(np.zeros(keys.context.slots), scale=2.0**10, bound=2.0**-19) * 1024
    square = noisy * noisy.conjugate()
    data = keys.context.decode(keys.decrypt_plaintext(square)) * square.scale
    coefficient = float(np.abs(data.mean()))
    assert np.log2(coefficient) <= square.coefficient_noise()


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.complex64, np.int8, np.longdouble])
def test_operands_of_few_bits_are_taken_as_they_are(kind: type) -> None:
    x = KEYS.encrypt(VALUES)
    number, array = kind(3), np.full(CONTEXT.slots, 3, kind)
    for divisor in (number, array, np.array(3, kind)):
        check_estimate(x / divisor, VALUES / 3)
    for operand in (number, array):
        check_estimate(x * operand, VALUES * 3)
        check_estimate(operand - x, 3 - VALUES)
    check_estimate(x / cw.asarray(3.0, dtype="f32"), VALUES / 3)
    if kind(3).dtype.kind != "c":
        scale = kind(100)
        assert CONTEXT.encode(VALUES, scale=scale).scale == 100.0
        found = fhe.Polynomial([kind(1), kind(3)])(x)
        check_estimate(found, 1 + 3 * VALUES)
        rows = KEYS.encrypt(np.tile(VALUES, (2, 1)), batch=True)
        check_estimate(rows.weighted_sums(np.array([[3, 1]], kind)), 4 * VALUES)
        check_estimate(rows.add_constants(np.array([3, 3], kind)), VALUES + 3)


IMAGINARY: dict[str, Callable[[Any], Any]] = {
    "values": lambda rows: rows.add_constants([1j, 1]),
    "weights": lambda rows: rows.weighted_sums(np.array([[1j, 1]])),
    "bound": lambda rows: rows.with_bound(np.array(1 + 2j)),
}


@pytest.mark.parametrize("name", IMAGINARY)
def test_imaginary_parts_are_refused_where_there_is_no_room_for_them(name: str) -> None:
    rows = KEYS.encrypt(np.ones((2, 4)), batch=True)
    with pytest.raises(ParamError, match=f"{name}: got .*complex.*real numbers"):
        IMAGINARY[name](rows)


MISFITS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda x: x * 10**400, EncodeError, r"2\^1024"),
    (lambda x: x + 10**400, EncodeError, r"2\^1024"),
    (lambda x: x / 10**400, EncodeError, r"2\^1024"),
    (lambda x: x**10**400, ParamError, "exponent"),
    (lambda x: x ** (1 << 100), ParamError, "exponent"),
    (lambda x: KEYS.encrypt([1.0], bound=[0, 3]), ParamError, r"bound: got \[0, 3\].*\(low, high"),
    (lambda x: KEYS.encrypt([1.0], bound="a"), ParamError, "bound: got 'a'"),
    (lambda x: KEYS.encrypt([1.0], bound=(3,)), ParamError, "bound"),
    (lambda x: KEYS.encrypt([1.0], bound=10**400), ParamError, "bound"),
    (lambda x: KEYS.encrypt([1.0], scale="a"), ParamError, "scale: got 'a'"),
    (lambda x: fhe.ckks(1024, [50, 40], [50], insecure=True, bound=[0, 1]), ParamError, "bound"),
    (lambda x: x.with_bound(None), ParamError, "bound"),
    (lambda x: x.with_bound("1"), ParamError, "bound"),
    (lambda x: fhe.Matrix(CONTEXT, np.full((4, 4), 1e307)), EncodeError, "norm"),
    (
        lambda x: (
            KEYS.encrypt(np.ones((3, 4)), batch=True) * CONTEXT.encode(np.ones((2, 4)), batch=True)
        ),
        ParamError,
        "batch: got 2, expected 3 rows",
    ),
]


@pytest.mark.parametrize("number", range(len(MISFITS)))
def test_what_is_no_operand_is_refused_by_name(number: int) -> None:
    computed, kind, what = MISFITS[number]
    with pytest.raises(kind, match=what):
        computed(KEYS.encrypt(VALUES))
