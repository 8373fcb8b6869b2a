"""Plaintext matrices times encrypted vectors: against NumPy, in every layout and shape."""

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
    NoiseError,
    ParamError,
)
from cloakwork.fhe.circuits.diagonals import Diagonals, Layout, best_steps, steps_of
from python.fhe_setup import bgv, centred, ckks, measured_bits

# An estimate is a bound for all slots and any values: it may be this much too careful.
LOOSE_BITS = 9.0
SHAPES = [(1, 1), (3, 3), (1, 30), (30, 1), (20, 7), (7, 20), (64, 64), (128, 100)]


def keys_for(keys: fhe.Keys, matrix: fhe.Matrix) -> fhe.Keys:
    keys.add(matrix.rotations)
    return keys


def vectors(matrix: fhe.Matrix, seed: int) -> np.ndarray:
    """As many as a ciphertext holds."""
    generator = np.random.default_rng(seed)
    count = matrix._vectors
    if isinstance(matrix.context, fhe.BgvContext):
        return generator.integers(-30000, 30000, (count, matrix.shape[1]))
    return generator.uniform(-1, 1, (count, matrix.shape[1]))


def product(values: np.ndarray, given: np.ndarray) -> np.ndarray:
    return np.einsum("mn,cn->cm", values, given)


@pytest.mark.parametrize("layout", ["blocks", "tiled"])
@pytest.mark.parametrize("shape", SHAPES)
def test_ckks_products_stay_within_their_estimate(shape: tuple[int, int], layout: Layout) -> None:
    keys = ckks(256, 3)
    values = np.random.default_rng(sum(shape)).normal(size=shape)
    matrix = fhe.Matrix(keys.context, values, layout=layout)
    keys_for(keys, matrix)
    given = vectors(matrix, 1)
    result = (matrix @ keys.encrypt(matrix.pack(given))).rescale()
    assert result.level == keys.context.parameters.level - 1
    assert result.scale == keys.context.scales[result.level]
    # All slots count, those that hold zeros too; the transposed matrix lays results out.
    transposed = fhe.Matrix(keys.context, values.T, layout=layout)
    expected = transposed.pack(product(values, given))
    measured = measured_bits(keys, result, expected)
    np.testing.assert_allclose(matrix.unpack(expected), product(values, given))
    assert measured >= result.precision_estimate()
    assert measured <= result.precision_estimate() + LOOSE_BITS
    assert measured > 20


@pytest.mark.parametrize("special", [0, 2])
@pytest.mark.parametrize("layout", ["blocks", "tiled"])
@pytest.mark.parametrize("shape", SHAPES)
def test_bgv_products_are_exact(shape: tuple[int, int], layout: Layout, special: int) -> None:
    keys = bgv(256, 5, special=special)
    values = np.random.default_rng(sum(shape)).integers(-30000, 30000, shape)
    matrix = fhe.Matrix(keys.context, values, layout=layout)
    keys_for(keys, matrix)
    given = vectors(matrix, 2)
    result = matrix @ keys.encrypt(matrix.pack(given))
    assert result.noise_budget() > 0
    found = matrix.unpack(keys.decrypt(result))
    np.testing.assert_array_equal(found, centred(product(values, given)))


def test_what_stands_beside_a_blocks_vector_changes_nothing() -> None:
    keys = ckks(256, 3)
    values = np.random.default_rng(3).normal(size=(5, 6))
    matrix = fhe.Matrix(keys.context, values)
    keys_for(keys, matrix)
    slots = np.random.default_rng(4).uniform(-1, 1, keys.context.slots)
    x = keys.encrypt(slots)
    with pytest.raises(ParamError, match=r"packing: got all 128 slots .*encrypt\(matrix\.pack"):
        matrix @ x
    found = keys.decrypt(matrix @ x.with_packing(matrix.packing)).reshape(-1, 8)
    expected = product(values, slots.reshape(-1, 8)[:, :6])
    np.testing.assert_allclose(found[:, :5], expected, atol=1e-6)
    np.testing.assert_allclose(found[:, 5:], 0.0, atol=1e-6)


def test_a_tiled_result_is_tiled_again() -> None:
    keys = ckks(256, 3)
    values = np.random.default_rng(5).normal(size=(8, 8)) / 4
    matrix = fhe.Matrix(keys.context, values, layout="tiled")
    keys_for(keys, matrix)
    given = np.random.default_rng(6).uniform(-1, 1, 8)
    result = matrix @ (matrix @ keys.encrypt(matrix.pack(given)))
    found = matrix.unpack(keys.decrypt(result))
    np.testing.assert_allclose(found[0], values @ values @ given, atol=1e-6)


def test_complex_entries_and_batches_of_ciphertexts() -> None:
    keys = ckks(256, 3)
    generator = np.random.default_rng(7)
    values = generator.normal(size=(6, 5)) + 1j * generator.normal(size=(6, 5))
    matrix = fhe.Matrix(keys.context, values)
    keys_for(keys, matrix)
    given = generator.uniform(-1, 1, (3, 5))
    batch = keys.encrypt(matrix.pack(given[:, np.newaxis]), batch=True)
    found = keys.decrypt(matrix @ batch)[:, :6]
    np.testing.assert_allclose(found, product(values, given), atol=1e-6)


def test_zero_diagonals_cost_nothing() -> None:
    context = ckks(256, 3).context
    identity = fhe.Matrix(context, np.eye(64))
    assert (identity.diagonals, identity.rotations) == (1, [])
    shifts = np.eye(64, k=1) + np.eye(64, k=-1) + np.eye(64)
    assert fhe.Matrix(context, shifts).diagonals == 3
    dense = fhe.Matrix(context, np.ones((64, 64)), layout="tiled")
    assert dense.diagonals == 64
    assert len(dense.rotations) <= 20


@pytest.mark.parametrize("special", [0, 2])
def test_a_matrix_of_zeros_gives_zeros(special: int) -> None:
    keys = bgv(256, 5, special=special)
    matrix = fhe.Matrix(keys.context, np.zeros((4, 4), dtype=int))
    assert not keys.decrypt(matrix @ keys.encrypt([1, 2, 3, 4])).any()


def test_baby_steps_may_be_chosen() -> None:
    keys = ckks(256, 3)
    values, given = np.random.default_rng(8).normal(size=(2, 16, 16))
    row = keys.context.parameters.degree // 2
    for count in (1, 3, 16, row - 1, row):
        matrix = fhe.Matrix(keys.context, values, baby_steps=count)
        keys_for(keys, matrix)
        found = matrix.unpack(keys.decrypt(matrix @ keys.encrypt(matrix.pack(given[:8]))))
        np.testing.assert_allclose(found[:8], product(values, given[:8]), atol=1e-5)


def test_diagonals_add_up_to_the_matrix() -> None:
    values = np.random.default_rng(9).normal(size=(5, 7))
    for layout in ("blocks", "tiled"):
        cut = Diagonals(values, 32, 8, layout)  # type: ignore[arg-type]
        given = np.random.default_rng(10).normal(size=7)
        slots = np.zeros(32)
        slots[:7] = given
        slots = np.tile(slots[:8], 4) if layout == "tiled" else slots
        total = sum(cut.slots(k) * np.roll(slots, -k) for k in cut.offsets())
        np.testing.assert_allclose(np.asarray(total)[:5], values @ given)


def test_steps_reach_every_offset_once() -> None:
    offsets = [-7, -3, 0, 1, 2, 9, 10, 30]
    for count in (1, 2, 4, 32):
        steps = steps_of(offsets, count)
        found = [
            (giant + steps.babies[place], offset)
            for giant, places in steps.giants
            for place, offset in places
        ]
        assert sorted(found) == [(offset, offset) for offset in offsets]
    assert len(best_steps(list(range(64)), 128, None).rotations) <= 20


def test_by_hand_rescaling_restores_the_scale() -> None:
    keys = ckks(256, 3, manual=True)
    matrix = fhe.Matrix(keys.context, [[1.0, 2.0], [3.0, 4.0]])
    keys_for(keys, matrix)
    result = (matrix @ keys.encrypt([0.5, 0.25])).rescale()
    assert result.scale == pytest.approx(keys.context.parameters.scale, rel=1e-12)
    assert measured_bits(keys, result, [1.0, 2.5] + [0] * 126) >= result.precision_estimate()


@pytest.mark.parametrize("make", [ckks, bgv])
@pytest.mark.parametrize("special", [0, 2])
def test_a_program_of_a_product_is_the_product(make: Any, special: int) -> None:
    keys = make(256, 3, special=special)
    matrix = fhe.Matrix(keys.context, np.random.default_rng(11).integers(-9, 9, (12, 12)))
    x = keys_for(keys, matrix).encrypt(np.arange(12))
    # The encoding is empty so far: values that are encoded during a trace outlive the trace.
    program = cw.trace(lambda x: matrix @ x, x)
    eager = matrix @ x
    (traced,) = program.run(x).outputs
    np.testing.assert_array_equal(np.asarray(traced.data), np.asarray(eager.data))
    assert (traced.noise, traced.level) == (eager.noise, eager.level)
    heal = program.to_heal()
    result = heal.run(verify=True)
    assert not result.mismatches
    np.testing.assert_array_equal(
        keys.decrypt(program.results(result.outputs)[0]), keys.decrypt(eager)
    )


def test_missing_keys_are_named_before_any_work() -> None:
    keys = ckks(256, 3).context.keygen(rotations=[1])
    matrix = fhe.Matrix(keys.context, np.ones((4, 4)))
    with pytest.raises(MissingKeyError, match=r"rotations \[.*2.*\].*matrix\.rotations"):
        matrix @ keys.encrypt([1, 2, 3, 4])
    assert not matrix._encoded


def test_levels_and_noise_that_do_not_suffice_are_refused() -> None:
    keys = ckks(256, 3)
    matrix = fhe.Matrix(keys.context, np.eye(4))
    with pytest.raises(LevelError, match="level 1 or more"):
        matrix @ keys.encrypt([1, 2, 3, 4], level=0)
    small = bgv(256, 0)
    one = fhe.Matrix(small.context, np.full((2, 2), 30000))
    once = one @ keys_for(small, one).encrypt([1, 2])
    with pytest.raises(NoiseError, match="matrix @ ciphertext"):
        one @ once


def test_what_does_not_fit_is_refused() -> None:
    keys, other = ckks(256, 3), ckks(256, 4)
    matrix = fhe.Matrix(keys.context, np.eye(4))
    with pytest.raises(KeyMismatchError):
        matrix @ other.encrypt([1, 2, 3, 4])
    with pytest.raises(TypeError):
        matrix @ np.ones(4)
    for values in ([1.0, 2.0], np.zeros((0, 3)), np.zeros((129, 1))):
        with pytest.raises(EncodeError, match=r"expected \[m, n\], each from 1 to 128"):
            fhe.Matrix(keys.context, values)
    with pytest.raises(EncodeError, match="not finite"):
        fhe.Matrix(keys.context, [[np.nan]])
    with pytest.raises(EncodeError, match="not integers"):
        fhe.Matrix(bgv().context, [[0.5]])
    with pytest.raises(ParamError, match="layout"):
        fhe.Matrix(keys.context, np.eye(2), layout="rows")  # type: ignore[arg-type]
    with pytest.raises(ParamError, match="baby_steps"):
        fhe.Matrix(keys.context, np.eye(2), baby_steps=0)


def test_vectors_that_do_not_fit_are_refused() -> None:
    matrix = fhe.Matrix(ckks(256, 3).context, np.ones((3, 5)), layout="tiled")
    for given in (np.ones(4), np.ones((2, 5)), np.ones((0, 5)), np.ones((1, 1, 1, 5))):
        with pytest.raises(EncodeError, match=r"\[5\] or \[count, 5\]"):
            matrix.pack(given)
    with pytest.raises(ParamError, match="slots"):
        matrix.unpack(np.ones(5))
