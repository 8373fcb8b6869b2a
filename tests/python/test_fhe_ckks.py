"""CKKS arithmetic against the same arithmetic on complex numbers."""

from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import (
    EncodeError,
    KeyMismatchError,
    LevelError,
    MissingKeyError,
    ParamError,
    ScaleError,
)
from cloakwork.fhe.ciphertext import residues
from python.fhe_setup import ckks, error, measured_bits, unit_slots

KEYS = ckks()
A, B = unit_slots(KEYS, 1), unit_slots(KEYS, 2)
X, Y = KEYS.encrypt(A), KEYS.encrypt(B)
SLOTS = KEYS.context.slots
FIRST = np.arange(SLOTS)
MANUAL = ckks(manual=True)
M, N = MANUAL.encrypt(A), MANUAL.encrypt(B)
CLOSE = 1e-6

Operation = Callable[[fhe.CkksCiphertext], fhe.CkksCiphertext]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda x, y: x + y, A + B),
        (lambda x, y: x - y, A - B),
        (lambda x, y: -x, -A),
        (lambda x, y: x * y, A * B),
        (lambda x, y: (x * y).relinearize(), A * B),
        (lambda x, y: (x * y).rescale(), A * B),
        (lambda x, y: (x * y).relinearize().rescale(), A * B),
        (lambda x, y: x.square(), A * A),
        (lambda x, y: x * y + x, A * B + A),
        (lambda x, y: x - x * y, A - A * B),
        (lambda x, y: (x + y) * (x - y), (A + B) * (A - B)),
        (lambda x, y: x * 0.5, A / 2),
        (lambda x, y: 3 * x - 1, 3 * A - 1),
        (lambda x, y: 1.5 - x, 1.5 - A),
        (lambda x, y: x * 0 + 1, 0 * A + 1),
        (lambda x, y: x * (1 + 2j) + 1j, A * (1 + 2j) + 1j),
        (lambda x, y: x * B, A * B),
        (lambda x, y: B * x + A, A * B + A),
        (
            lambda x, y: x + np.r_[1.0, 2.0, np.zeros(SLOTS - 2)],
            A + np.r_[1.0, 2.0, np.zeros(SLOTS - 2)],
        ),
        (lambda x, y: x - KEYS.context.encode(B), A - B),
        (lambda x, y: x - FIRST, A - FIRST),
        (lambda x, y: x - FIRST.astype(np.uint8), A - FIRST),
        (lambda x, y: x - (FIRST - 128).astype(np.int8), A - FIRST + 128),
        (lambda x, y: x - FIRST.tolist(), A - FIRST),
        (lambda x, y: FIRST.tolist() - x, FIRST - A),
        (lambda x, y: x - np.uint8(3), A - 3),
        (lambda x, y: x - np.array(3, dtype=np.uint64), A - 3),
        (lambda x, y: x * np.array(0.5) + np.array(2), A / 2 + 2),
        (lambda x, y: cw.asarray(3.0) - x, 3 - A),
        (lambda x, y: x * KEYS.context.encode(B), A * B),
        (lambda x, y: np.float64(0.25) * x + np.int64(2), A / 4 + 2),
        (lambda x, y: x.rotate(1), np.roll(A, -1)),
        (lambda x, y: x.rotate(3), np.roll(A, -3)),
        (lambda x, y: x.rotate(-2), np.roll(A, 2)),
        (lambda x, y: x.rotate(0), A),
        (lambda x, y: (x * y).rotate(1), np.roll(A * B, -1)),
        (lambda x, y: x.conjugate(), A.conj()),
        (lambda x, y: x.inner_sum(7), sum(np.roll(A, -i) for i in range(7))),
        (lambda x, y: x.inner_sum(SLOTS), np.full(SLOTS, A.sum())),
        (
            lambda x, y: (x * y).rescale().rotate(3) + x.conjugate() * 0.5,
            np.roll(A * B, -3) + A.conj() * 0.5,
        ),
        (lambda x, y: (x * y) * (x * y), (A * B) ** 2),
        (lambda x, y: x * y * y + x, A * B * B + A),
        (lambda x, y: x.square().square().square() + y, A**8 + B),
    ],
)
def test_circuits_compute_what_they_say(
    operation: Callable[[fhe.CkksCiphertext, fhe.CkksCiphertext], fhe.CkksCiphertext],
    expected: np.ndarray,
) -> None:
    result = operation(X, Y)
    assert error(KEYS, result, expected) < CLOSE
    assert measured_bits(KEYS, result, expected) >= result.precision_estimate()


def test_operands_stay_as_they_were() -> None:
    before = np.array(X.data)
    for operation in (
        lambda: X + Y, lambda: X * Y, (X * Y).rescale, lambda: X.rotate(1),
        lambda: X + 1, lambda: X * 0.5, lambda: -X, lambda: X.lower(1), lambda: X.inner_sum(3),
        lambda: X.rotate_many([1, 2]), lambda: X + B, X.square,
    ):  # fmt: skip
        operation()
    np.testing.assert_array_equal(np.array(X.data), before)


@pytest.mark.parametrize("special", [0, 1, 2, 3])
def test_every_form_of_key_switching_works_at_every_level(special: int) -> None:
    keys = ckks(128, 4, special=special)
    a = unit_slots(keys, 3)
    # Gadget digits of 13 bits leave noise of about that size.
    close = 1e-5 if special else 1e-3
    for level in (4, 3, 2, 1):
        x = keys.encrypt(a, level=level)
        assert error(keys, x.square().relinearize(), a * a) < 1e-4
        assert error(keys, x.square().rescale(), a * a) < 1e-4
        assert error(keys, x.rotate(2), np.roll(a, -2)) < close
        assert measured_bits(keys, x.rotate(2), np.roll(a, -2)) >= x.rotate(2).precision_estimate()


def test_hoisted_rotations_are_rotations() -> None:
    steps = [1, 0, 2, 3, -1]
    many = X.rotate_many(steps)
    for step, rotated in zip(steps, many, strict=True):
        assert error(KEYS, rotated, np.roll(A, -step)) < CLOSE
        # Sharing digits changes no bit.
        np.testing.assert_array_equal(np.array(rotated.data), np.array(X.rotate(step).data))


def test_one_division_rounds_what_two_would() -> None:
    joined, apart = (X * Y).rescale(), (X * Y).relinearize().rescale()
    assert (joined.level, joined.scale) == (apart.level, apart.scale)
    distance = np.abs(KEYS.decrypt(joined) - KEYS.decrypt(apart)).max()
    assert 0 < distance < 2.0 ** -(joined.precision_estimate() - 1)


@pytest.mark.parametrize("count", [1, 3])
def test_batches_are_computed_on_one_by_one(count: int) -> None:
    a, b = unit_slots(KEYS, 4, (count,)), unit_slots(KEYS, 5, (count,))
    x, y = (KEYS.encrypt(values, batch=True) for values in (a, b))
    assert x.batch == count
    assert error(KEYS, (x * y).rescale() + x, a * b + a) < CLOSE
    assert error(KEYS, x.rotate(1), np.roll(a, -1, axis=1)) < CLOSE
    assert error(KEYS, x * Y, a * B) < CLOSE
    assert error(KEYS, X + y, A + b) < CLOSE
    assert error(KEYS, x * A + b, a * A + b) < CLOSE
    assert error(KEYS, x * A[np.newaxis] + B[np.newaxis], a * A + B) < CLOSE
    assert error(KEYS, x.rotate_many([2])[0], np.roll(a, -2, axis=1)) < CLOSE
    assert error(KEYS, KEYS.public.encrypt(a, batch=True), a) < CLOSE


def test_batches_that_differ_are_refused() -> None:
    x, y = (KEYS.encrypt(np.ones((count, 4)), batch=True) for count in (2, 3))
    for operation in (lambda: x + y, lambda: x * y):
        with pytest.raises(ParamError, match="batch"):
            operation()


def test_weighted_sums_are_a_matrix_product() -> None:
    a = unit_slots(KEYS, 6, (3,))
    weights = np.array([[1.0, -2.5, 0.125], [0.0, 40.0, 3.0]])
    sums = KEYS.encrypt(a, batch=True).weighted_sums(weights)
    rescaled = sums.rescale()
    assert rescaled.scale == pytest.approx(KEYS.context.scales[rescaled.level], rel=2**-40)
    assert error(KEYS, rescaled, weights @ a) < 1e-4
    assert measured_bits(KEYS, rescaled, weights @ a) >= rescaled.precision_estimate()
    constants = rescaled.add_constants([-2.5, 1000.0])
    assert error(KEYS, constants, weights @ a + np.array([[-2.5], [1000.0]])) < 1e-4


@pytest.mark.parametrize("weights", [np.ones(3), np.ones((2, 4)), np.ones((1, 2, 3))])
def test_weights_must_fit_the_batch(weights: np.ndarray) -> None:
    with pytest.raises(ParamError, match="weights"):
        KEYS.encrypt(np.ones((3, 2)), batch=True).weighted_sums(weights)
    with pytest.raises(ParamError, match="weights"):
        X.weighted_sums(np.ones((2, 1)))
    with pytest.raises(ParamError, match="values"):
        KEYS.encrypt(np.ones((3, 2)), batch=True).add_constants([1.0])


def test_levels_go_down_to_their_own_scale() -> None:
    for level in range(5):
        lowered = X.lower(level)
        assert lowered.level == level
        assert lowered.scale == KEYS.context.scales[level]
        assert error(KEYS, lowered, A) < CLOSE
    with pytest.raises(LevelError, match="levels only fall"):
        X.lower(1).lower(2)


@pytest.mark.parametrize("bound", [None, 4.0])
def test_sums_of_products_of_other_scales_are_what_they_say(bound: float | None) -> None:
    x, y = (KEYS.encrypt([value] * 8, bound=bound) for value in (3.0, 2.0))
    result = x * KEYS.context.encode([1] * 8, scale=1.5 * 2**40) + y * y
    assert result.level == KEYS.context.parameters.level - 2
    measured = measured_bits(KEYS, result, [7.0] * 8 + [0.0] * (SLOTS - 8))
    assert measured >= result.precision_estimate() > 25


SCALES = [
    (2.0**44, 1.37 * 2.0**43), (2.0**70, 1.1 * 2.0**40), (1.3 * 2.0**62, 2.0**80),
    (2.0**120, 1.7 * 2.0**119), (2.0**41, 2.0**40), (2.0**59, 1.3 * 2.0**61), (2.0**80, 2.0**60),
]  # fmt: skip


@pytest.mark.parametrize("levels", [(4, 4), (4, 3), (3, 4), (4, 2)])
@pytest.mark.parametrize("scales", SCALES)
def test_any_two_scales_meet(scales: tuple[float, float], levels: tuple[int, int]) -> None:
    x, y = (
        KEYS.encrypt(values, scale=scale, level=level)
        for values, scale, level in zip((A, B), scales, levels, strict=True)
    )
    for result in (x + y, y + x):
        assert measured_bits(KEYS, result, A + B) >= result.precision_estimate() > 10


def test_scales_between_those_of_short_moduli_meet() -> None:
    context = fhe.ckks(256, [40, 30, 30, 30], [50], insecure=True)
    keys = context.keygen(conjugation=False)
    x, y = keys.encrypt(A, scale=2.0**44), keys.encrypt(B, scale=1.37 * 2.0**43)
    assert (x + y).level == 2
    assert measured_bits(keys, x + y, A + B) >= (x + y).precision_estimate() > 15


def test_scales_that_have_no_level_left_to_meet_are_named() -> None:
    x, y = X.lower(0), KEYS.encrypt(B, level=0, scale=2.0**39.5)
    with pytest.raises(ScaleError, match=r"add: needs the scale 2\^39\.99.* got scale 2\^39\.5"):
        x + y


@pytest.mark.parametrize("step", ["relinearized", "product"])
def test_both_factors_of_a_square_are_prepared_at_once(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By hand a square of three parts is relinearized; otherwise its division takes the key in.
    keys, x = (MANUAL, M) if step == "relinearized" else (KEYS, X)
    levels: list[int] = []
    switch = getattr(residues, step)

    def counted(tables: Any, level: int, *given: Any) -> cw.Tensor:
        levels.append(level)
        result: cw.Tensor = switch(tables, level, *given)
        return result

    monkeypatch.setattr(residues, step, counted)
    product = x * x
    for operation in (lambda: product * product, product.square):
        levels.clear()
        fourth = operation()
        assert levels == [4]
        if step == "product":
            assert error(keys, fourth, A**4) < CLOSE


def test_used_up_levels_are_named() -> None:
    bottom = X.lower(0)
    for operation in (
        lambda: bottom * bottom, lambda: bottom * 0.5, lambda: bottom * B, bottom.square,
    ):  # fmt: skip
        with pytest.raises(LevelError, match="all levels are used up"):
            operation()
    # Integers need no level.
    assert error(KEYS, bottom * 2 + 1, 2 * A + 1) < CLOSE


@pytest.mark.parametrize("values", [[float("nan")], [float("inf")], [1, complex("infj")]])
def test_what_is_not_finite_has_no_encoding(values: list[complex]) -> None:
    for operation in (
        lambda: KEYS.encrypt(values), lambda: KEYS.public.encrypt(values),
        lambda: X + np.array(values), lambda: X * np.array(values), lambda: X + values[-1],
        lambda: X * values[-1],
    ):  # fmt: skip
        with pytest.raises(EncodeError):
            operation()


def test_too_many_or_too_large_values_are_refused() -> None:
    with pytest.raises(EncodeError, match=f"{SLOTS + 1} values .* {SLOTS} slots"):
        KEYS.encrypt(np.ones(SLOTS + 1))
    with pytest.raises(EncodeError, match="axes"):
        KEYS.encrypt(np.ones((1, 2, 3)))
    for level, size in ((0, 2.0**10), (4, 2.0**170), (4, 1e300)):
        with pytest.raises(EncodeError, match=r"must be .* below"):
            KEYS.encrypt(np.full(SLOTS, size), level=level)
    with pytest.raises(EncodeError):
        X.lower(0) + 2.0**10
    with pytest.raises(LevelError, match="from 0 to 4"):
        KEYS.encrypt([1.0], level=5)
    with pytest.raises(ScaleError):
        KEYS.encrypt([1.0], scale=0.5)
    with pytest.raises(ParamError, match="bound"):
        KEYS.encrypt([1.0], bound=-1.0)


@pytest.mark.parametrize("size", [2.0**40, 2.0**60, 2.0**62])
def test_large_values_keep_the_precision_of_floats(size: float) -> None:
    values = size * np.array([1.0, -0.75, 1 / 3])
    x = KEYS.encrypt(values, bound=size)
    assert np.abs(KEYS.decrypt(x)[:3] / values - 1).max() < 2.0**-44
    assert np.abs(KEYS.decrypt(x * 0.5)[:3] / values - 0.5).max() < 2.0**-35


def test_other_secrets_and_parameters_do_not_mix() -> None:
    twin, other = KEYS.context.keygen(relinearization=False), ckks(128)
    for stranger, what in ((twin, "key"), (other, "parameters")):
        foreign = stranger.encrypt([1.0])
        for operation in (lambda f=foreign: X + f, lambda f=foreign: X * f):
            with pytest.raises(KeyMismatchError, match=what) as raised:
                operation()
            assert raised.value.what == what
        with pytest.raises(KeyMismatchError, match=what):
            KEYS.decrypt(foreign)
        with pytest.raises(KeyMismatchError):
            foreign.using(KEYS.evaluation)
    with pytest.raises(KeyMismatchError, match="parameters"):
        X + other.context.encode([1.0])
    with pytest.raises(KeyMismatchError, match="parameters"):
        KEYS.encrypt(other.context.encode([1.0]))


def test_missing_keys_are_named_with_what_to_add() -> None:
    bare = KEYS.context.keygen(relinearization=False, conjugation=False)
    x = bare.encrypt(A)
    with pytest.raises(MissingKeyError, match=r"rotation by 5.*\(none\).*add 5"):
        x.rotate(5)
    with pytest.raises(MissingKeyError, match=r"keygen\(conjugation=True\)"):
        x.conjugate()
    with pytest.raises(MissingKeyError, match=r"keygen\(relinearization=True\)"):
        (x * x).relinearize()
    with pytest.raises(MissingKeyError, match="using"):
        bare.public.encrypt(A).rotate(1)
    # A product needs no key until it is to have two parts again.
    assert error(bare, x * x, A * A) < CLOSE
    assert error(bare, (x * x).rescale(), A * A) < CLOSE
    bare.add([2])
    assert bare.evaluation.rotations == [2]
    with pytest.raises(MissingKeyError, match=r"\(2\)"):
        x.using(bare.evaluation).rotate(3)
    assert error(bare, x.using(bare.evaluation).rotate(6), np.roll(A, -6)) < CLOSE


def test_rotations_are_composed_of_as_few_as_there_are() -> None:
    # Keys of its own: tests of other files add some to those that all have.
    evaluation = KEYS.context.keygen(rotations=[1, 2, 4, -1]).evaluation
    assert evaluation.rotations == [-1, 1, 2, 4]
    assert sorted(evaluation.route(3, 0)) in ([1, 2], [4, SLOTS - 1])
    assert len(evaluation.route(SLOTS - 2, 0)) == 2
    assert evaluation.route(SLOTS, 0) == []
    assert sum(evaluation.route(77, 0)) % SLOTS == 77


@pytest.mark.parametrize("count", [0, SLOTS + 1])
def test_sums_of_no_slots_or_too_many_are_refused(count: int) -> None:
    with pytest.raises(ParamError, match="count"):
        X.inner_sum(count)


def test_what_is_no_operand_is_left_to_python() -> None:
    for stranger in ("text", None, object()):
        with pytest.raises(TypeError):
            X + stranger
        with pytest.raises(TypeError):
            stranger * X  # type: ignore[operator]
    with pytest.raises(TypeError):
        bool(np.ones(3) @ X)  # type: ignore[operator]


def test_ciphertexts_say_what_they_are() -> None:
    assert "level=4, parts=2, scale=2^40" in repr(X)
    assert "parts=3" in repr(X * Y)
    assert "batch=2" in repr(KEYS.encrypt(np.ones((2, 3)), batch=True))
    assert "CkksContext" not in repr(KEYS.context)


def test_by_hand_levels_and_scales_must_agree() -> None:
    with pytest.raises(LevelError, match=r"operands at one level \(the first is at 4\)") as raised:
        M + N.lower(2)
    assert raised.value.level == 2
    with pytest.raises(LevelError):
        M * N.lower(2)
    with pytest.raises(LevelError):
        M * MANUAL.context.encode(B, level=2)
    with pytest.raises(ScaleError, match=r"2\^40.* got scale 2\^80") as scale:
        M + M * N
    assert scale.value.scale_log2 == pytest.approx(80)
    with pytest.raises(ScaleError, match="rescale, or encode"):
        M + MANUAL.context.encode(B, scale=2.0**41)
    with pytest.raises(ScaleError, match="nothing to rescale"):
        MANUAL.encrypt(A, scale=2.0**30).rescale()
    with pytest.raises(ScaleError, match="less than half the modulus"):
        M.lower(0) * N.lower(0)
    with pytest.raises(LevelError, match="used up"):
        M.lower(0).rescale()


def test_by_hand_everything_is_done_by_hand() -> None:
    product = (M * N).relinearize()
    assert (product.level, product.scale) == (4, 2.0**80)
    rescaled = product.rescale()
    assert rescaled.scale == 2.0**80 / MANUAL.context.parameters.moduli[4]
    assert error(MANUAL, rescaled, A * B) < CLOSE
    dropped = M.lower(1)
    assert (dropped.level, dropped.scale) == (1, 2.0**40)
    assert error(MANUAL, dropped, A) < CLOSE
    assert error(MANUAL, dropped + N.lower(1), A + B) < CLOSE


def test_rescaling_rounds_to_nearest() -> None:
    # Without a secret, in (m, 0), the division is visible coefficient by coefficient.
    context = MANUAL.context
    last, top, lower = (
        context.parameters.moduli[4],
        context.tables.chain(4),
        context.tables.chain(3),
    )
    halves = np.array([0, 1, last // 2, last // 2 + 1, last, -1, -(last // 2) - 1])
    integers = np.zeros((2, context.parameters.degree), dtype=np.int64)
    integers[0, : len(halves)] = halves
    data = top.reduce(cw.asarray(integers)).unsqueeze(0)
    top.ntt(data, out=data)
    fields: dict[str, Any] = {
        "packing": context.whole,
        "bound": fhe.Bound.circle(1.0),
    }
    fields |= {"context": context, "level": 4, "noise": 0.0, "key": M.key}
    given = fhe.CkksCiphertext(data=data, scale=2.0**60, **fields)
    got = np.asarray(lower.intt(given.rescale().data))[0, 0, : len(halves), 0]
    assert got.tolist() == [0, 0, 0, 1, 1, 0, lower.moduli[0] - 1]
