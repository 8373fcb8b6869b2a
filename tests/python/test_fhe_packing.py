"""Packing of ciphertexts: operands need equal slot positions; other positions are refused."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import EncodeError, LoadError, ParamError
from cloakwork.fhe.circuits.diagonals import Layout
from python.fhe_setup import bgv, centred, ckks
from python.test_fhe_files import resealed

KEYS = ckks(256, 6)
SLOTS = KEYS.context.slots


def integers(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return generator.integers(-30000, 30000, shape)


def layers(
    context: Any, widths: list[int], layout: Layout, seed: int
) -> tuple[list[fhe.Matrix], list[np.ndarray]]:
    """Matrices of one period that follow each other, and their biases."""
    generator = np.random.default_rng(seed)
    exact = isinstance(context, fhe.BgvContext)
    period = 1 << (max(widths) - 1).bit_length()
    matrices, biases = [], []
    for width, height in pairwise(widths):
        values = generator.normal(size=(height, width)) / width
        bias = generator.normal(size=height)
        if exact:
            values, bias = integers(generator, (height, width)), integers(generator, (height,))
        matrices.append(fhe.Matrix(context, values, layout=layout, period=period))
        biases.append(bias)
    return matrices, biases


@pytest.mark.parametrize(
    ("layout", "count"),
    [("blocks", None), ("blocks", 1), ("blocks", 3), ("blocks", 8), ("tiled", None), ("tiled", 1)],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_bias_is_added_to_every_packed_vector(
    layout: Layout, count: int | None, seed: int
) -> None:
    widths = [int(width) for width in np.random.default_rng(seed).integers(2, 17, 4)]
    matrices, biases = layers(KEYS.context, widths, layout, seed)
    for matrix in matrices:
        KEYS.add(matrix.rotations)
    shape = (widths[0],) if count is None else (count, widths[0])
    vectors = np.random.default_rng(seed).uniform(-1, 1, shape)
    x, expected = KEYS.encrypt(matrices[0].pack(vectors)), vectors
    for matrix, bias in zip(matrices, biases, strict=True):
        x = (matrix @ x).rescale() + bias
        expected = expected @ np.asarray(matrix._diagonals.matrix).T.real + bias
    held = expected if layout == "blocks" and count else expected.reshape(-1, widths[-1])[0]
    assert x.shape == held.shape
    # Zeros between vectors are not promised; where vectors lie, the estimate holds.
    found = matrices[-1].unpack(KEYS.decrypt(x))[: count or 1].real
    error = np.abs(found - expected.reshape(-1, widths[-1])).max()
    assert error < 2.0 ** -x.precision_estimate() < 1e-4


@pytest.mark.parametrize("layout", ["blocks", "tiled"])
def test_a_bias_is_added_in_both_of_bgv_s_rows(layout: Layout) -> None:
    keys = bgv(256, 5)
    matrices, biases = layers(keys.context, [7, 12, 4], layout, 3)
    for matrix in matrices:
        keys.add(matrix.rotations)
    given = integers(np.random.default_rng(4), (matrices[0]._vectors, 7))
    x, expected = keys.encrypt(matrices[0].pack(given)), given
    for matrix, bias in zip(matrices, biases, strict=True):
        x = matrix @ x + bias
        expected = centred(expected @ matrix._diagonals.matrix.T + bias)
    np.testing.assert_array_equal(matrices[-1].unpack(keys.decrypt(x)), expected)
    weights = integers(np.random.default_rng(5), expected.shape)
    found = matrices[-1].unpack(keys.decrypt(x * weights - weights))
    np.testing.assert_array_equal(found, centred(expected * weights - weights))


def test_matrices_of_other_periods_are_refused_with_the_period_that_fits() -> None:
    context = KEYS.context
    first, second = fhe.Matrix(context, np.ones((5, 12))), fhe.Matrix(context, np.ones((3, 5)))
    KEYS.add([*first.rotations, *second.rotations])
    for layout in ("blocks", "tiled"):
        first = fhe.Matrix(context, np.ones((5, 12)), layout=layout)  # type: ignore[arg-type]
        second = fhe.Matrix(context, np.ones((3, 5)), layout=layout)  # type: ignore[arg-type]
        KEYS.add([*first.rotations, *second.rotations])
        between = first @ KEYS.encrypt(first.pack(np.ones((1, 12))))
        with pytest.raises(ParamError, match="make the matrices with period=16"):
            second @ between
    # A single vector needs no period: only its own slots count.
    blocks = fhe.Matrix(context, np.ones((5, 12)))
    alone = fhe.Matrix(context, np.ones((3, 5))) @ (blocks @ KEYS.encrypt(np.ones(12)))
    np.testing.assert_allclose(KEYS.decrypt(alone)[:3].real, 60, atol=1e-4)
    for period in (12, 8, 1 << 20):
        with pytest.raises(ParamError, match=r"period: got .* expected a power of two from 16"):
            fhe.Matrix(context, np.ones((5, 12)), period=period)


def test_what_is_not_packed_for_a_matrix_is_refused() -> None:
    matrix = fhe.Matrix(KEYS.context, np.ones((5, 6)), layout="tiled")
    KEYS.add(matrix.rotations)
    for x in (KEYS.encrypt(np.ones(6)), KEYS.encrypt(np.ones(SLOTS)), KEYS.encrypt(np.ones(5))):
        with pytest.raises(ParamError, match=r"repeated every 8 slots: encrypt\(matrix\.pack"):
            matrix @ x
    blocks = fhe.Matrix(KEYS.context, np.ones((5, 6)))
    for x in (KEYS.encrypt(np.ones(5)), KEYS.encrypt(np.ones(7)), KEYS.encrypt(matrix.pack(
        np.ones(6))).rotate(1)):  # fmt: skip
        with pytest.raises(ParamError, match="expected vectors of 6, alone, or one every 8 slots"):
            blocks @ x
    # A rotation by whole periods keeps repeated values.
    turned = KEYS.encrypt(matrix.pack(np.arange(6.0))).rotate(8)
    np.testing.assert_allclose(KEYS.decrypt(matrix @ turned)[:5].real, 15, atol=1e-4)
    with pytest.raises(ParamError, match="packing: got a vector of 3, expected one of 128 slots"):
        KEYS.encrypt([1.0]).with_packing(ckks(128).context.packing(3))


@pytest.mark.parametrize("operator", ["+", "-", "*"])
def test_operands_that_are_shorter_than_what_is_held_are_refused(operator: str) -> None:
    def computed(x: Any, other: Any) -> Any:
        return {"+": lambda: x + other, "-": lambda: x - other, "*": lambda: x * other}[operator]()

    for keys, held in ((KEYS, SLOTS), (bgv(), bgv().context.slots)):
        x = keys.encrypt(np.arange(held))
        padded = np.pad([1, 2, 3], (0, held - 3))
        for short in ([1, 2, 3], np.array([1, 2, 3]), cw.asarray([1, 2, 3]), (1, 2, 3)):
            with pytest.raises(
                EncodeError, match=rf"holds all {held} slots.*np\.pad\(values, \(0,"
            ):
                computed(x, short)
        with pytest.raises(EncodeError, match=f"a plaintext of a vector of 3; .* all {held} slots"):
            computed(x, keys.context.encode([1, 2, 3]))
        with pytest.raises(EncodeError, match="holds a vector of 4: give as many"):
            computed(keys.encrypt([1, 2, 3, 4]), [1, 2, 3])
        with pytest.raises(ParamError, match="a vector of 4 and a vector of 3"):
            computed(keys.encrypt([1, 2, 3, 4]), keys.encrypt([1, 2, 3]))
        whole = np.round(keys.decrypt(computed(x, padded)).real, 2)
        plain = computed(np.arange(held), padded)
        np.testing.assert_array_equal(whole, plain)
        own = np.round(keys.decrypt(computed(keys.encrypt([4, 5, 6]), [1, 2, 3])).real, 2)
        np.testing.assert_array_equal(own[:3], computed(np.array([4, 5, 6]), np.array([1, 2, 3])))
        np.testing.assert_array_equal(own[3:], 0)
        # As in NumPy, one value is that of all.
        one = np.round(keys.decrypt(computed(x, [2])).real, 2)
        np.testing.assert_array_equal(one, computed(np.arange(held), 2))


def test_a_picture_is_no_batch_unless_it_is_called_one() -> None:
    picture = np.arange(64.0).reshape(8, 8) / 64
    for encrypt in (KEYS.encrypt, KEYS.public.encrypt, KEYS.context.encode):
        with pytest.raises(
            EncodeError, match=r"batch=True makes 8 .*reshape\(-1\) holds all 64 in"
        ):
            encrypt(picture)
    batch, one = KEYS.encrypt(picture, batch=True), KEYS.encrypt(picture.reshape(-1))
    assert (batch.shape, one.shape) == ((8, 8), (64,))
    np.testing.assert_allclose(KEYS.decrypt(batch)[:, :8], picture, atol=1e-6)
    with pytest.raises(EncodeError, match=r"batch=True; give \[B, n\]"):
        KEYS.encrypt([1.0], batch=True)
    with pytest.raises(ParamError, match="batch"):
        batch + np.ones((3, 8))
    np.testing.assert_allclose(
        KEYS.decrypt(batch * picture[0])[:, :8], picture * picture[0], atol=1e-6
    )


def test_rotations_leave_slots_and_with_packing_says_what_they_hold() -> None:
    x = KEYS.encrypt([1.0, 2.0, 3.0])
    assert x.rotate(0).shape == x.conjugate().shape == (x * x).shape == (3,)
    for turned in (x.rotate(1), x.rotate_many([1])[0], x.inner_sum(3), x + x.rotate(1)):
        assert turned.shape == (SLOTS,)
        with pytest.raises(EncodeError, match="all 128 slots"):
            turned * [1.0, 2.0]
    held = x.rotate(1).with_packing(KEYS.context.packing(2))
    np.testing.assert_allclose(KEYS.decrypt(held * [10.0, 100.0])[:3].real, [20, 300, 0], atol=1e-6)


def test_programs_take_what_is_packed_as_their_examples() -> None:
    matrix = fhe.Matrix(KEYS.context, np.eye(4))
    one, three = (KEYS.encrypt(matrix.pack(np.ones((count, 4)))) for count in (1, 3))
    bias = [1.0, 2.0, 3.0, 4.0]
    program = cw.trace(lambda x: x + bias, three)
    (result,) = program.run(three).outputs
    assert result.shape == (3, 4)
    with pytest.raises(ParamError, match=r"packing: got 1 vector of 4, .*expected 3 vectors"):
        program.run(one)
    # A program of all slots accepts any contents of them.
    whole = cw.trace(lambda x: x + 1, KEYS.encrypt(np.ones(SLOTS)))
    assert whole.run(one).outputs[0].shape == (SLOTS,)


def test_files_say_what_ciphertexts_hold(tmp_path: Path) -> None:
    matrix = fhe.Matrix(KEYS.context, np.ones((5, 6)))
    for number, x in enumerate((KEYS.encrypt(matrix.pack(np.ones((2, 6)))), KEYS.encrypt([1.0]))):
        path = tmp_path / str(number)
        x.save(path)
        assert KEYS.evaluation.load(path).packing == x.packing
        assert KEYS.evaluation.load(path).shape == x.shape
    good = {"length": 6, "period": 8, "count": 2, "tiled": False}
    for wrong in (
        3, {}, good | {"length": 0}, good | {"length": 9}, good | {"period": 6},
        good | {"count": 17}, good | {"tiled": 1}, good | {"period": "8"},
        good | {"more": 1}, good | {"count": -1}, good | {"length": 1.5},
        good | {"period": 10**400},
    ):  # fmt: skip
        with pytest.raises(LoadError):
            fhe.load(resealed(tmp_path / "0", fields={"packing": wrong}), insecure=True)


def drawn_shape(generator: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Mostly one that broadcasts to a shape, now and then one that does not."""
    kept = shape[generator.integers(0, len(shape) + 1) :]
    drawn = tuple(1 if generator.random() < 0.25 else length for length in kept)
    return tuple(length + (generator.random() < 0.08) for length in drawn)


def held_by(matrix: fhe.Matrix, shape: tuple[int, ...], slots: np.ndarray) -> np.ndarray:
    """The values of decrypted slots in the shape that the ciphertext says."""
    lead = slots.shape[:-1]
    rows = matrix.context.parameters.degree // 2 if matrix.packing.tiled else matrix.period
    found = slots.reshape(*lead, -1, rows)[..., : matrix.shape[0]]
    inner = shape[len(lead) :]
    return found[..., : inner[0], :] if len(inner) == 2 else found[..., 0, :]


@pytest.mark.parametrize("seed", range(60))
def test_operands_of_any_shape_broadcast_as_in_numpy_or_are_refused(seed: int) -> None:
    generator, keys = np.random.default_rng(seed), bgv(64, 6, t=257)
    layout: Layout = "tiled" if generator.random() < 0.4 else "blocks"
    matrix = fhe.Matrix(
        keys.context, np.eye(int(generator.integers(1, 9)), dtype=int), layout=layout,
        period=int(generator.choice([8, 16])),
    )  # fmt: skip
    counts = [None, 1, matrix._vectors] if layout == "tiled" else [None, 1, 2, matrix._vectors]
    count = counts[generator.integers(len(counts))]
    batch = generator.choice([None, 1, 3]) if count is not None else None
    shape = (matrix.shape[1],) if count is None else (count, matrix.shape[1])
    shape = shape if batch is None else (int(batch), *shape)
    plain = generator.integers(-99, 99, shape)
    x = keys.encrypt(matrix.pack(plain), batch=batch is not None)
    if layout == "tiled" and count == 1:
        plain = plain[..., 0, :]
    assert x.shape == plain.shape
    for _ in range(4):
        other = generator.integers(-99, 99, drawn_shape(generator, plain.shape))
        times = generator.random() < 0.4
        try:
            wanted = plain * other if times else plain - other
        except ValueError:
            wanted = None
        # Batches may grow, as in NumPy; the contents of one ciphertext may not.
        inner = len(x.packing.shape)
        if wanted is None or wanted.shape[-inner:] != x.packing.shape:
            with pytest.raises((EncodeError, ParamError), match=r"this ciphertext holds|batch"):
                x * other if times else x - other
            continue
        x, plain = x * other if times else x - other, centred(wanted, 257)
        assert x.shape == plain.shape
        np.testing.assert_array_equal(held_by(matrix, x.shape, keys.decrypt(x)), plain)
