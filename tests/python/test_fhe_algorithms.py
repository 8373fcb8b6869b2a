"""Matrices, polynomials and the rest, composed at random: within the estimate, or exactly."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from python.fhe_setup import T, bgv, centred, ckks, integer_slots, measured_bits, rolled

WIDTH, LEVELS = 8, 8
# Each step's estimate is a bound, and bounds multiply.
LOOSE_BITS = 16.0

Step = tuple[int, Callable[[Any], Any], Callable[[np.ndarray], np.ndarray]]


def in_blocks(matrix: np.ndarray, slots: np.ndarray) -> np.ndarray:
    return (slots.reshape(-1, WIDTH) @ matrix.T).reshape(-1)


def ckks_step(keys: fhe.Keys, generator: np.random.Generator, room: int) -> Step:
    """(levels, encrypted, plain) of a step from numbers within 1 to numbers within 1."""
    kind = generator.integers(4)
    if kind == 0:
        values = generator.uniform(-1, 1, (WIDTH, WIDTH))
        values /= np.abs(values).sum(axis=1, keepdims=True)
        matrix = fhe.Matrix(keys.context, values)
        keys.add(matrix.rotations)
        return 1, lambda x: matrix @ x.with_packing(matrix.packing), lambda a: in_blocks(values, a)
    if kind == 1 and room >= 2:
        coefficients = generator.uniform(-1, 1, 1 + int(generator.integers(1, 2 ** min(room, 4))))
        polynomial = fhe.Polynomial(coefficients / np.abs(coefficients).sum())
        return polynomial.depth, polynomial, polynomial
    if kind == 2 and room >= 3:
        cosine = fhe.chebyshev(np.cos, 7, (-1.0, 1.0))
        return 3, cosine, cosine
    return 1, lambda x: x * x.rotate(1), lambda a: a * np.roll(a, -1)


@pytest.mark.parametrize("seed", range(12))
def test_ckks_compositions_stay_within_their_estimate(seed: int) -> None:
    keys, generator = ckks(256, LEVELS), np.random.default_rng(seed)
    steps: list[Step] = []
    while (room := LEVELS - sum(levels for levels, _, _ in steps)) > 0:
        steps.append(ckks_step(keys, generator, room))
    values = generator.uniform(-1, 1, keys.context.slots)
    x = keys.encrypt(values)
    for _, encrypted, plain in steps:
        x, values = encrypted(x), plain(values)
    x = x.rescale()
    assert x.level == 0
    measured = measured_bits(keys, x, values)
    assert measured >= x.precision_estimate()
    assert measured <= x.precision_estimate() + LOOSE_BITS
    assert measured > 15


def bgv_step(keys: fhe.Keys, generator: np.random.Generator) -> Step:
    kind = generator.integers(3)
    if kind == 0:
        values = generator.integers(-T // 2, T // 2, (WIDTH, WIDTH))
        matrix = fhe.Matrix(keys.context, values)
        keys.add(matrix.rotations)
        return (
            1,
            lambda x: matrix @ x.with_packing(matrix.packing),
            lambda a: centred(in_blocks(values, a)),
        )
    if kind == 1:
        coefficients = generator.integers(-100, 100, 4)
        c0, c1, c2, c3 = (int(c) for c in coefficients)
        return (
            2,
            fhe.Polynomial(coefficients),
            lambda a: centred(c0 + a * centred(c1 + a * centred(c2 + a * c3))),
        )
    return 1, lambda x: x * x.rotate(1) - 3, lambda a: centred(a * rolled(a, 1) - 3)


@pytest.mark.parametrize("seed", range(12))
def test_bgv_compositions_are_exact(seed: int) -> None:
    keys, generator = bgv(256, 9), np.random.default_rng(seed)
    values = integer_slots(keys, seed)
    x = keys.encrypt(values)
    depth = 0
    while depth < 5:
        levels, encrypted, plain = bgv_step(keys, generator)
        x, values, depth = encrypted(x.using(keys.evaluation)), plain(values), depth + levels
    assert x.noise_budget() > 0
    np.testing.assert_array_equal(keys.decrypt(x), values)
