"""Bootstrapping: values and estimates, on programs and devices, and what is refused before work."""

from functools import cache
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import (
    KeyMismatchError,
    LevelError,
    LoadError,
    MissingKeyError,
    ParamError,
)
from cloakwork.fhe.bootstrapping import factors
from cloakwork.fhe.bootstrapping.sine import sine, tail_log2, width_of
from cloakwork.fhe.encoding.embedding import embed
from cloakwork.fhe.keys.encapsulation import WEIGHT
from numpy.typing import NDArray

DEGREE, LEVELS = 256, 2
Values = NDArray[np.complex128]
Set = tuple[fhe.Bootstrapping, fhe.Keys]


@cache
def made(slots: int, iterations: int = 1, *, degree: int = DEGREE) -> Set:
    context = fhe.bootstrapping_context(LEVELS, slots, degree=degree, insecure=True)
    bootstrapping = fhe.Bootstrapping(context, slots, iterations=iterations)
    keys = context.keygen()
    keys.add_bootstrapping(bootstrapping)
    return bootstrapping, keys


def disk(seed: int, count: int) -> Values:
    """Complex numbers up to 1."""
    draw = np.random.default_rng(seed)
    return np.sqrt(draw.random(count)) * np.exp(2j * np.pi * draw.random(count))


def bits(found: Values, expected: Values) -> float:
    return float(-np.log2(np.abs(found[: len(expected)] - expected).max()))


def reversed_bits(count: int) -> NDArray[np.int64]:
    order = np.zeros(1, dtype=np.int64)
    while len(order) < count:
        order = np.concatenate((2 * order, 2 * order + 1))
    return order


@pytest.mark.parametrize("groups", [1, 2, 3, 4])
@pytest.mark.parametrize("slots", [16, 64])
def test_the_factored_maps_are_the_embedding_up_to_the_order_of_bits(
    slots: int, groups: int
) -> None:
    coefficients = np.random.default_rng(slots).normal(size=2 * slots)
    paired = coefficients[:slots] + 1j * coefficients[slots:]
    expected, found = embed(coefficients, 2 * slots), paired[reversed_bits(slots)]
    back = expected
    for each in factors.grouped(factors.slot_stages(slots), groups):
        found = factors.applied(each, found)
    np.testing.assert_allclose(found, expected, atol=1e-11)
    for each in factors.grouped(factors.coefficient_stages(slots), groups):
        back = factors.applied(each, back)
    np.testing.assert_allclose(back, paired[reversed_bits(slots)], atol=1e-11)


@pytest.mark.parametrize("groups", [1, 2, 3, 4])
def test_turned_maps_have_the_same_product_and_offsets_from_0(groups: int) -> None:
    values = np.random.default_rng(groups).normal(size=64) + 0j
    for stages in (factors.slot_stages(64), factors.coefficient_stages(64)):
        maps = factors.grouped(stages, groups)
        turned = factors.turned(maps, 64)
        assert min(min(each) for each in turned) >= 0
        expected = found = values
        for each, own in zip(maps, turned, strict=True):
            expected, found = factors.applied(each, expected), factors.applied(own, found)
        np.testing.assert_allclose(found, expected, atol=1e-11)
        assert all(max(own) // factors.stride(own) < 2 * len(own) for own in turned)


def test_the_width_of_the_sine_follows_from_the_chance_of_a_sum_of_uniform_numbers() -> None:
    draws = np.random.default_rng(1).uniform(-0.5, 0.5, (200_000, WEIGHT + 1)).sum(axis=1)
    measured = np.log2((np.abs(draws) > 4.0).mean())
    assert abs(tail_log2(WEIGHT, 4.0) - measured) < 0.05
    assert tail_log2(WEIGHT, 17.0) == -np.inf
    width = width_of(WEIGHT, 2**16)
    assert tail_log2(WEIGHT, width) + 16 <= -40 < tail_log2(WEIGHT, width - 1) + 16


@pytest.mark.parametrize("error", [-20.0, -30.0, -40.0])
def test_the_sine_is_within_its_error_near_all_integers(error: float) -> None:
    found = sine(12, error)
    x = (np.arange(-11, 12)[:, np.newaxis] + np.linspace(-0.004, 0.004, 33)).ravel() / 12
    assert np.abs(found.values(x) - np.sin(2 * np.pi * 12 * x)).max() <= 1.01 * found.error
    assert np.log2(found.error) <= error
    assert found.depth <= 9


@pytest.mark.parametrize("slots", [4, 32, 128])
def test_a_ciphertext_without_levels_gets_new_ones_with_the_same_values(slots: int) -> None:
    bootstrapping, keys = made(slots)
    values = disk(slots, slots)
    result = bootstrapping(keys.encrypt(values, level=0))
    assert (result.level, result.scale) == (LEVELS, keys.context.scales[LEVELS])
    assert (result.shape, result.parts) == ((slots,), 2)
    measured = bits(keys.decrypt(result), values)
    assert result.precision_estimate() <= measured
    assert bootstrapping.precision - 0.1 <= result.precision_estimate() <= bootstrapping.precision
    squared = keys.decrypt(result * result)
    assert bits(squared, values * values) > result.precision_estimate() - 2


def test_equal_values_are_the_worst_case_of_the_sine() -> None:
    bootstrapping, keys = made(128)
    result = bootstrapping(keys.encrypt(np.ones(128), level=0))
    measured = bits(keys.decrypt(result), np.ones(128))
    assert result.precision_estimate() <= measured <= result.precision_estimate() + 0.5


@pytest.mark.parametrize("slots", [32, 128])
def test_an_arcsine_leaves_the_fifth_power(slots: int) -> None:
    context = fhe.bootstrapping_context(2, slots, degree=DEGREE, arcsine=True, insecure=True)
    bootstrapping, keys = fhe.Bootstrapping(context, slots, arcsine=True), context.keygen()
    keys.add_bootstrapping(bootstrapping)
    assert "sine and its arcsine" in bootstrapping.describe()
    assert bootstrapping.bound == pytest.approx(4.0, rel=2.0**-9)
    for values in (disk(slots, slots), np.ones(slots), np.full(slots, 3.9)):
        x = keys.encrypt(values, level=0)
        result = bootstrapping(x)
        measured = bits(keys.decrypt(result), values)
        assert result.precision_estimate() <= measured
    ones = bootstrapping(keys.encrypt(np.ones(slots), level=0))
    assert bits(keys.decrypt(ones), np.ones(slots)) > made(slots)[0].precision + 1
    with pytest.raises(LevelError, match="reserved"):
        fhe.Bootstrapping(made(slots)[1].context, slots, arcsine=True)


@pytest.mark.parametrize("seed", range(4))
def test_circuits_after_bootstrapping_stay_within_their_estimate(seed: int) -> None:
    draw = np.random.default_rng(seed)
    slots = int(draw.choice([4, 32, 128]))
    bootstrapping, keys = made(slots)
    values = disk(seed, slots) * draw.uniform(0.1, 1.0)
    x = keys.encrypt(values, level=int(draw.integers(0, 2)))
    if x.level:
        x, values = x * x, values * values
    weights = draw.normal(size=slots)
    tiled = np.tile(weights, DEGREE // 2 // slots)
    transform = fhe.LinearTransform(keys.context, {0: weights, slots // 2: weights[::-1]})
    keys.add(transform.rotations)
    result = bootstrapping(x).using(keys.evaluation)
    product = result * result + tiled[:slots] * result
    expected = values * values + weights * values
    assert product.precision_estimate() <= bits(keys.decrypt(product), expected)
    mapped = transform @ result
    expected = weights * values + weights[::-1] * np.roll(values, -(slots // 2))
    assert mapped.precision_estimate() <= bits(keys.decrypt(mapped), expected)


def test_iterations_bootstrap_the_error_of_those_before() -> None:
    bootstrapping, keys = made(128, 2)
    values = disk(7, 128)
    result = bootstrapping(keys.encrypt(values, level=0))
    assert result.level == bootstrapping.level_out == LEVELS - 1
    measured = bits(keys.decrypt(result), values)
    assert made(128)[0].precision + 8 < result.precision_estimate() <= measured


@pytest.mark.parametrize("slots", [32, 128])
def test_ciphertexts_of_a_batch_are_bootstrapped_one_by_one(slots: int) -> None:
    bootstrapping, keys = made(slots)
    values = disk(11, 3 * slots).reshape(3, slots)
    x = keys.encrypt(values, level=0, batch=True)
    result = bootstrapping(x)
    assert (result.batch, result.level, result.shape) == (3, LEVELS, (3, slots))
    found = keys.decrypt(result)
    for own, expected, alone in zip(found, values, x, strict=True):
        assert bits(own, expected) >= result.precision_estimate()
        np.testing.assert_array_equal(own, keys.decrypt(bootstrapping(alone)))
    total = keys.decrypt(result.sum(axis=0))
    assert bits(total, values.sum(axis=0)) >= result.sum(axis=0).precision_estimate()


@pytest.mark.parametrize("slots", [32, 128])
def test_iterations_reach_every_copy_of_few_slots(slots: int) -> None:
    context = fhe.bootstrapping_context(2, slots, degree=2048, insecure=True)
    bootstrapping, keys = fhe.Bootstrapping(context, slots, iterations=2), context.keygen()
    keys.add_bootstrapping(bootstrapping)
    values = disk(slots, slots)
    result = bootstrapping(keys.encrypt(values, level=0))
    expected = np.tile(values, 1024 // slots)
    assert 21 < result.precision_estimate() <= bits(keys.decrypt(result), expected)


def test_a_vector_alone_comes_back_repeated() -> None:
    bootstrapping, keys = made(32)
    values = disk(3, 20)
    result = bootstrapping(keys.encrypt(values, level=1))
    assert result.packing == keys.context.packing(20, period=32, tiled=True)
    expected = np.tile(np.concatenate((values, np.zeros(12))), 4)
    assert bits(keys.decrypt(result), expected) >= result.precision_estimate()
    again = bootstrapping(result)
    assert bits(keys.decrypt(again), expected) >= again.precision_estimate()


def test_programs_and_their_smallest_ops_give_the_same_residues() -> None:
    bootstrapping, keys = made(32)
    x = keys.encrypt(disk(4, 32), level=0)
    expected = np.asarray(bootstrapping(x).data)
    program = cw.trace(lambda x: bootstrapping(x), x)  # noqa: PLW0108 (an argument with a name)
    assert not [finding for finding in program.check() if finding.severity == "error"]
    (traced,) = program.run(x).outputs
    np.testing.assert_array_equal(np.asarray(traced.data), expected)
    (there,) = program.run(x, device="sim:0").outputs
    np.testing.assert_array_equal(np.asarray(there.data), expected)
    outputs = program.to_heal().run().outputs
    np.testing.assert_array_equal(np.asarray(program.results(outputs)[0].data), expected)


def test_devices_give_the_same_residues() -> None:
    bootstrapping, keys = made(32)
    x = keys.encrypt(disk(4, 32), level=0)
    there, here = bootstrapping(x.to("sim:0")), bootstrapping(x)
    assert there.device == "sim:0"
    np.testing.assert_array_equal(np.asarray(there.to("cpu").data), np.asarray(here.data))


def test_keys_of_bootstrapping_come_back_from_files(tmp_path: Path) -> None:
    bootstrapping, keys = made(32)
    keys.evaluation.save(tmp_path / "server.key")
    loaded = fhe.load(tmp_path / "server.key", insecure=True)
    x = keys.encrypt(disk(5, 32), level=0)
    found = bootstrapping(x.using(loaded))
    np.testing.assert_array_equal(np.asarray(found.data), np.asarray(bootstrapping(x).data))
    assert loaded.size_bytes == keys.evaluation.size_bytes
    assert keys.adopt(loaded) is loaded


def test_adopted_keys_must_lead_to_a_sparse_secret_and_back() -> None:
    bootstrapping, keys = made(32)
    own, other = keys.evaluation, keys.context.keygen()
    theirs = other.add_bootstrapping(bootstrapping)
    assert own.encapsulation is not None
    assert theirs.encapsulation is not None
    for enter, leave in (
        (own.encapsulation.enter, theirs.encapsulation.leave),
        (theirs.encapsulation.enter, own.encapsulation.leave),
    ):
        mixed = fhe.EvaluationKeys(
            keys.context, keys.key, encapsulation=type(own.encapsulation)(enter, leave)
        )
        with pytest.raises(KeyMismatchError):
            keys.adopt(mixed)


def test_missing_keys_are_named() -> None:
    bootstrapping, keys = made(32)
    x = keys.encrypt(disk(1, 32), level=0)
    lone = keys.context.keygen(conjugation=False)
    with pytest.raises(MissingKeyError, match=r"rotation .*add_bootstrapping"):
        bootstrapping(lone.encrypt([0.5], level=0))
    every = keys.context.keygen(rotations=bootstrapping.rotation_levels)
    with pytest.raises(MissingKeyError, match="add_bootstrapping"):
        bootstrapping(every.encrypt([0.5], level=0))
    with pytest.raises(MissingKeyError):
        bootstrapping(x.using(None))


def test_operands_that_would_come_back_wrong_are_refused() -> None:
    bootstrapping, keys = made(32)
    with pytest.raises(ParamError, match="with_bound"):
        bootstrapping(keys.encrypt([8.5], level=0))
    with pytest.raises(ParamError, match="alone or repeated"):
        bootstrapping(keys.encrypt(disk(1, 64), level=0))
    with pytest.raises(ParamError, match="in other slots"):
        bootstrapping(keys.encrypt([0.5, 0.25], level=0) + 0.25)
    with pytest.raises(ParamError, match="with_bound"):
        bootstrapping(keys.encrypt([[0.5], [8.5]], level=0, batch=True))
    with pytest.raises(ParamError, match="a ciphertext of CKKS"):
        bootstrapping([0.5])  # type: ignore[arg-type]
    with pytest.raises(KeyMismatchError):
        bootstrapping(made(4)[1].encrypt([0.5], level=0))
    with pytest.raises(KeyMismatchError):
        made(4)[1].add_bootstrapping(bootstrapping)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"slots": 3}, "slots"), ({"slots": 256}, "slots"), ({"slots": 1}, "slots"),
        ({"coeffs_to_slots": 5}, "coeffs_to_slots"), ({"slots_to_coeffs": 0}, "slots_to_coeffs"),
        ({"iterations": 4}, "iterations"), ({"iterations": True}, "iterations"),
    ],
)  # fmt: skip
def test_options_of_bootstrapping_are_checked(options: dict[str, int], rule: str) -> None:
    with pytest.raises(ParamError) as raised:
        fhe.Bootstrapping(made(128)[1].context, **options)  # type: ignore[arg-type]
    assert raised.value.rule == rule


def test_a_context_must_have_room() -> None:
    plain = fhe.ckks(256, [50, 40, 40], special=[50], insecure=True)
    with pytest.raises(LevelError, match="bootstrapping_context"):
        fhe.Bootstrapping(plain)
    with pytest.raises(LevelError):
        fhe.Bootstrapping(made(128)[1].context, coeffs_to_slots=4)
    manual = fhe.ckks(256, [50, 40], special=[50], insecure=True, levels="manual")
    with pytest.raises(ParamError, match="auto"):
        fhe.Bootstrapping(manual)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"levels": 0}, "levels"), ({"levels": 30}, "levels"), ({"scale_bits": 10}, "scale_bits"),
        ({"sine_bits": 61}, "sine_bits"), ({"sine_bits": 30}, "sine_bits"),
        ({"ratio_bits": 30}, "ratio_bits"), ({"ratio_bits": True}, "ratio_bits"),
        ({"special": 0}, "special"), ({"degree": 2**15}, "levels"),
        ({"special": 18}, "security_modulus"),
    ],
)  # fmt: skip
def test_options_of_the_context_are_checked(options: dict[str, int], rule: str) -> None:
    with pytest.raises(ParamError) as raised:
        fhe.bootstrapping_context(**({"levels": 5} | options))
    assert raised.value.rule == rule


def test_the_small_modulus_of_the_sparse_secret_is_checked() -> None:
    context = fhe.bootstrapping_context(
        1, 2, degree=2**15, scale_bits=20, sine_bits=40, coeffs_to_slots=1, slots_to_coeffs=1
    )
    with pytest.raises(ParamError) as raised:
        fhe.Bootstrapping(context, 2, coeffs_to_slots=1, slots_to_coeffs=1)
    assert raised.value.rule == "degree"


def test_fresh_ciphertexts_begin_below_reserved_levels() -> None:
    context = made(32)[1].context
    own = context.parameters
    assert own.fresh_level == LEVELS == own.level - own.reserved
    x = made(32)[1].encrypt([0.5])
    assert (x.level, x.scale) == (LEVELS, 2.0**40)
    assert made(32)[1].encrypt([0.5], level=own.level).level == own.level
    with pytest.raises(LoadError):
        fhe.from_bytes(made(32)[1].public.to_bytes())
