"""Linear maps given by diagonals: against NumPy, traced, compact, over several ciphertexts."""

from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import EncodeError, LevelError, MissingKeyError, ParamError
from cloakwork.fhe.encoding.encoded import (
    coefficients_of,
    encoded_values,
    expanded_values,
    filled,
    periodic_values,
)
from python.fhe_setup import bgv, ckks

# An estimate is a bound for all slots and any values: it may be this much too careful.
LOOSE_BITS = 9.0
Blocks = dict[tuple[int, int], dict[int, np.ndarray]]


def random_blocks(seed: int, shape: tuple[int, int], slots: int, *, complex_: bool) -> Blocks:
    """Some diagonals in most blocks, of any offset and of periods that divide the slots."""
    draw = np.random.default_rng(seed)
    found: Blocks = {}
    for output in range(shape[0]):
        for given in range(shape[1]):
            offsets = draw.choice(np.arange(-slots // 2, slots // 2), draw.integers(0, 6), False)
            own = {}
            for offset in offsets:
                values = draw.normal(size=slots >> draw.integers(0, 4))
                own[int(offset)] = values + 1j * draw.normal(size=len(values)) * complex_
            found[output, given] = own
    return found


def applied(blocks: Blocks, shape: tuple[int, int], values: np.ndarray) -> np.ndarray:
    """[inputs, slots] -> [outputs, slots], by the definition."""
    slots = values.shape[1]
    out = np.zeros((shape[0], slots), np.complex128)
    for (output, given), own in blocks.items():
        for offset, diagonal in own.items():
            whole = np.tile(diagonal, slots // len(diagonal))
            out[output] += whole * np.roll(values[given], -offset)
    return out


@pytest.mark.parametrize("seed", range(12))
def test_maps_of_several_ciphertexts_stay_within_their_estimate(seed: int) -> None:
    keys, draw = ckks(256, 3), np.random.default_rng(seed)
    slots, shape = keys.context.slots, tuple(draw.integers(1, 5, 2).tolist())
    complex_ = bool(seed % 2)
    blocks = random_blocks(seed, shape, slots, complex_=complex_)
    blocks[0, 0][int(draw.integers(3, 9))] = draw.normal(size=slots)
    options = {"compact": seed % 3 == 0, "chained": seed % 4 > 1}
    mapped = fhe.LinearMap(keys.context, blocks, shape, **options)
    keys.add(mapped.rotations)
    values = draw.uniform(-1, 1, (shape[1], slots)) + 1j * complex_ * draw.uniform(-1, 1, slots)
    result = (mapped @ keys.encrypt(values / 2, batch=True)).rescale()
    expected = applied(blocks, shape, values / 2)
    assert (result.batch, result.level) == (shape[0], 2)
    assert result.scale == keys.context.scales[2]
    measured = -np.log2(np.abs(keys.decrypt(result) - expected).max())
    assert result.precision_estimate() <= measured <= result.precision_estimate() + LOOSE_BITS


@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize("baby_steps", [None, 1, 4, 128])
def test_a_transform_of_one_ciphertext_is_the_sum_of_its_rotations(
    baby_steps: int | None, chained: bool
) -> None:
    keys, draw = ckks(256, 3), np.random.default_rng(5)
    diagonals = {offset: draw.normal(size=128) for offset in (-60, -3, 0, 1, 2, 17, 64)}
    transform = fhe.LinearTransform(keys.context, diagonals, baby_steps=baby_steps, chained=chained)
    keys.add(transform.rotations)
    values = draw.uniform(-1, 1, 128)
    found = keys.decrypt(transform @ keys.encrypt(values))
    expected = applied({(0, 0): diagonals}, (1, 1), values[None])[0]
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_chained_giant_steps_have_one_key() -> None:
    context = ckks(256, 3).context
    diagonals = {offset: np.ones(128) for offset in range(32)}
    steps = [
        fhe.LinearTransform(context, diagonals, baby_steps=4, chained=each).rotations
        for each in (False, True)
    ]
    assert steps == [[1, 2, 3, *range(4, 32, 4)], [1, 2, 3, 4]]


@pytest.mark.parametrize("period", [1, 2, 32])
def test_diagonals_that_repeat_are_kept_once(period: int) -> None:
    context, draw = ckks(256, 3).context, np.random.default_rng(period)
    rows = draw.normal(size=(3, period)) + 1j * draw.normal(size=(3, period))
    short = periodic_values(context, rows, 2, 2.0**30)
    assert short is not None
    assert short.shape[1] == 2 * period
    found = filled(short, context.tables.extended(2))
    whole = encoded_values(context, np.tile(rows, 128 // period), 2, 2.0**30)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(whole))
    assert periodic_values(context, rows, 2, 2.0**70) is None


@pytest.mark.parametrize("run", [1, 2, 4, 8, 16, 64, 128])
def test_values_are_repeated_in_a_row(run: int) -> None:
    basis = ckks(256, 3).context.tables.extended(2)
    draw = np.random.default_rng(run)
    rows = draw.integers(0, 1 << 40, (3, 256 // run, basis.limbs))
    short = cw.asarray(np.ascontiguousarray(rows.transpose(0, 2, 1))).moveaxis(1, 2)
    np.testing.assert_array_equal(np.asarray(filled(short, basis)), rows.repeat(run, axis=1))


@pytest.mark.parametrize("period", [2, 16, 128])
def test_compact_diagonals_that_repeat_take_few_coefficients(period: int) -> None:
    context, draw = ckks(256, 3).context, np.random.default_rng(period)
    basis, rows = context.tables.extended(2), draw.normal(size=(3, period))
    short = coefficients_of(context, np.tile(rows, 128 // period), 2.0**30)
    assert short.shape == (3, 2 * period)
    found = filled(expanded_values(short, basis), basis)
    whole = encoded_values(context, np.tile(rows, 128 // period), 2, 2.0**30)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(whole))


def test_chained_giant_steps_cross_gaps_by_a_key_of_their_own() -> None:
    context = ckks(256, 3).context
    offsets = [0, 4, 8, 40, 44, 48]
    diagonals = {offset: np.ones(128) for offset in offsets}
    whole = fhe.LinearTransform(context, diagonals, baby_steps=4, chained=True)
    # From 40 down to 8 is a gap of 8 strides, and so few kinds of gaps have keys.
    assert whole.rotations == [4, 32]
    assert whole.steps.turned == 5


def test_compact_diagonals_give_the_same_residues_at_every_level() -> None:
    keys, draw = ckks(256, 3), np.random.default_rng(6)
    diagonals = {offset: draw.normal(size=128) for offset in (0, 3, 9)}
    whole, compact = (
        fhe.LinearTransform(keys.context, diagonals, compact=each) for each in (False, True)
    )
    keys.add(whole.rotations)
    x = keys.encrypt(draw.uniform(-1, 1, 128))
    for level in (3, 2, 1):
        own = x.lower(level)
        np.testing.assert_array_equal(
            np.asarray((whole @ own).data), np.asarray((compact @ own).data)
        )
    memory = sum(rows.nbytes for rows in compact._at(3, compact._scale(3)))
    assert memory * 6 == sum(rows.nbytes for rows in whole._at(3, whole._scale(3)))


def test_a_chosen_scale_is_that_of_the_product() -> None:
    keys = ckks(256, 3)
    transform = fhe.LinearTransform(keys.context, {0: [0.5]})
    x = keys.encrypt([0.25, 0.5])
    found = transform.apply(x, scale=2.0**31)
    assert found.scale == x.scale * 2.0**31
    np.testing.assert_allclose(keys.decrypt(found)[:2], [0.125, 0.25], atol=1e-6)


def test_a_traced_map_gives_the_residues_of_an_eager_one() -> None:
    keys, draw = ckks(256, 3), np.random.default_rng(7)
    blocks = random_blocks(3, (2, 2), 128, complex_=True)
    for compact in (False, True):
        mapped = fhe.LinearMap(keys.context, blocks, (2, 2), compact=compact)
        keys.add(mapped.rotations)
        batch = keys.encrypt(draw.uniform(-1, 1, (2, 128)), batch=True)
        program = cw.trace(lambda x, own=mapped: own @ x, batch)
        expected = np.asarray((mapped @ batch).data)
        for device in ("cpu", "sim:0"):
            found = program.run(batch, device=device)["out0"]
            np.testing.assert_array_equal(np.asarray(found.data), expected)
        transcript = program.to_heal()
        assert transcript.run(verify=True).mismatches == []


def test_a_map_without_diagonals_gives_zeros() -> None:
    keys = ckks(256, 3)
    mapped = fhe.LinearMap(keys.context, {(0, 0): {3: [0.0]}}, (2, 1))
    assert (mapped.rotations, mapped.diagonals) == ([], 0)
    found = keys.decrypt(mapped @ keys.encrypt([[1.0, 2.0]], batch=True))
    np.testing.assert_allclose(found, np.zeros((2, 128)), atol=1e-6)


def test_results_carry_the_stated_packing() -> None:
    keys = ckks(256, 3)
    packing = keys.context.packing(5)
    transform = fhe.LinearTransform(keys.context, {0: [1.0]}, packing=packing)
    assert (transform @ keys.encrypt(np.ones(128))).shape == (5,)


@pytest.mark.parametrize(
    ("blocks", "shape", "error", "words"),
    [
        ({(0, 0): {0: [1.0] * 3}}, (1, 1), EncodeError, "shape \\(3,\\).*divisor of the 128"),
        ({(0, 0): {0: []}}, (1, 1), EncodeError, "divisor"),
        ({(0, 0): {0: [[1.0]]}}, (1, 1), EncodeError, "divisor"),
        ({(0, 0): {0: [np.nan]}}, (1, 1), EncodeError, "offset 0 holds NaN"),
        ({(0, 0): {0: ["a"]}}, (1, 1), EncodeError, "numbers"),
        ({(0, 0): {0: [1e80]}}, (1, 1), EncodeError, "no modulus holds"),
        ({(0, 0): {1.5: [1.0]}}, (1, 1), ParamError, "offset"),
        ({(0, 0): {1: [1.0], 129: [1.0]}}, (1, 1), ParamError, "differ mod 128"),
        ({(1, 0): {1: [1.0]}}, (1, 1), ParamError, "blocks"),
        ({(0, -1): {1: [1.0]}}, (1, 1), ParamError, "blocks"),
        ({}, (0, 1), ParamError, "shape"),
        ({}, (1, 1.0), ParamError, "shape"),
    ],
)
def test_wrong_diagonals_are_refused(
    blocks: Any, shape: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        fhe.LinearMap(ckks(256, 3).context, blocks, shape)


def test_wrong_contexts_packings_and_operands_are_refused() -> None:
    keys = ckks(256, 3)
    context = keys.context
    with pytest.raises(ParamError, match="CKKS"):
        fhe.LinearTransform(bgv().context, {0: [1.0]})
    gadget = fhe.ckks(256, moduli=[50, 40], insecure=True)
    with pytest.raises(ParamError, match="special"):
        fhe.LinearTransform(gadget, {0: [1.0]})
    with pytest.raises(ParamError, match="packing"):
        fhe.LinearTransform(context, {0: [1.0]}, packing=ckks(512, 3).context.whole)
    transform = fhe.LinearTransform(context, {0: [1.0], 11: [1.0]})
    x = keys.encrypt([1.0])
    with pytest.raises(MissingKeyError, match="11"):
        transform @ context.keygen(rotations=[1]).encrypt([1.0])
    with pytest.raises(ParamError, match="a batch of 2"):
        fhe.LinearMap(context, {}, (1, 2)) @ x
    with pytest.raises(ParamError, match="a batch of 1"):
        transform @ keys.encrypt(np.ones((3, 4)), batch=True)
    with pytest.raises(TypeError):
        transform @ np.ones(128)
    with pytest.raises(LevelError):
        fhe.LinearTransform(context, {0: [1.0]}) @ x.lower(0)
