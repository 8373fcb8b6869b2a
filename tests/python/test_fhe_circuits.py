"""Random circuits against plain computation: within the estimate (CKKS), exactly (BGV)."""

from collections.abc import Callable
from functools import cache
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from python.fhe_setup import T, bgv, centred, ckks, error, integer_slots, rolled, unit_slots

DEPTH = 8
# An estimate is a bound for all slots of any circuit: it may be this much too careful.
LOOSE_BITS = 8.0


def ckks_step(
    generator: np.random.Generator, x: Any, y: Any, a: np.ndarray, b: np.ndarray
) -> tuple[Any, np.ndarray]:
    """One level of a circuit over numbers of size 1."""
    step = int(generator.integers(-1, 5))
    phase = np.exp(2j * np.pi * generator.random(len(a)))
    choices: list[Callable[[], tuple[Any, np.ndarray]]] = [
        lambda: (x * y, a * b),
        lambda: (x.square(), a * a),
        lambda: (x * phase, a * phase),
        lambda: (x.rotate(step) * y.conjugate(), np.roll(a, -step) * b.conj()),
        lambda: ((x * y).rescale().rotate(step), np.roll(a * b, -step)),
        lambda: (x * y * 1, a * b),
        lambda: (x.conjugate() * -1.0 * y.rotate(1), -a.conj() * np.roll(b, -1)),
    ]
    return choices[generator.integers(len(choices))]()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", range(1, DEPTH + 1))
def test_ckks_circuits_stay_within_their_estimate(depth: int, seed: int) -> None:
    keys = ckks(256, DEPTH)
    generator = np.random.default_rng(100 * depth + seed)
    a, b = unit_slots(keys, depth), unit_slots(keys, depth + 50)
    x, y = keys.encrypt(a), keys.public.encrypt(b).using(keys.evaluation)
    for _ in range(depth):
        (x, a), (y, b) = ckks_step(generator, x, y, a, b), (x, a)
    result, expected = x + y * 3 - 1, a + 3 * b - 1
    measured = -np.log2(error(keys, result, expected))
    assert measured >= result.precision_estimate()
    assert measured <= result.precision_estimate() + LOOSE_BITS
    assert measured > 15


def bgv_step(
    generator: np.random.Generator, x: Any, y: Any, a: np.ndarray, b: np.ndarray
) -> tuple[Any, np.ndarray]:
    """One level of a circuit over integers mod t."""
    step, weights = int(generator.integers(-1, 5)), generator.integers(0, T, len(a))
    choices: list[Callable[[], tuple[Any, np.ndarray]]] = [
        lambda: (x * y, a * b),
        lambda: (x.square() + y, a * a + b),
        lambda: (x.rotate_rows(step) * y, rolled(a, step) * b),
        lambda: (x * weights * y, centred(a * centred(weights)) * b),
        lambda: (x.rotate_columns() * x - y * 7, np.roll(a, len(a) // 2) * a - 7 * b),
    ]
    return choices[generator.integers(len(choices))]()


@pytest.mark.parametrize("special", [0, 2, 3])
@pytest.mark.parametrize("depth", range(1, DEPTH + 1))
def test_bgv_circuits_are_exact(depth: int, special: int) -> None:
    keys = bgv(256, 2 * DEPTH, special=special)
    generator = np.random.default_rng(depth)
    a, b = integer_slots(keys, depth), integer_slots(keys, depth + 50)
    x: Any = keys.encrypt(a)
    y: Any = keys.public.encrypt(b).using(keys.evaluation)
    for _ in range(depth):
        (x, a), (y, b) = bgv_step(generator, x, y, a, b), (x, a)
        a = centred(a)
    np.testing.assert_array_equal(keys.decrypt(x + y), centred(a + b))
    assert x.noise_budget() > 0


def test_a_real_size_computes_as_deep_as_its_chain() -> None:
    keys = fhe.ckks(2**14, [50] + [40] * 7, [50, 44]).keygen(rotations=[1], conjugation=False)
    a = unit_slots(keys, 9)
    x, power = keys.encrypt(a), a
    for _ in range(7):
        x, power = x * x, power * power
    result = x.rescale()
    assert result.level == 0
    measured = -np.log2(error(keys, result, power))
    assert 0 <= measured - result.precision_estimate() < LOOSE_BITS


@pytest.mark.parametrize("power", [2, 4, 8])
@pytest.mark.parametrize("seed", range(3))
def test_powers_of_noise_alone_are_within_their_estimate(power: int, seed: int) -> None:
    # Without rescaling, by hand: errors that are one another's factors have heavy tails.
    keys = by_hand()
    x: Any = keys.encrypt(np.zeros(keys.context.slots), bound=2.0**-60)
    found = x * 1
    for _ in range(power - 1):
        found = found * (x if seed else x * 1)
    measured = -np.log2(error(keys, found, 0.0))
    assert measured >= found.precision_estimate() > 0


@cache
def by_hand() -> fhe.Keys:
    context = fhe.ckks(256, [50] + [40] * 9, [60] * 2, insecure=True, levels="manual")
    return context.keygen(conjugation=False)


def test_a_circuit_in_a_batch_on_a_device_has_the_same_bits() -> None:
    keys = ckks()
    ct = keys.encrypt(unit_slots(keys, 1))
    host = (ct * ct + ct).rotate(1)
    with cw.batch(device="sim:0"):
        there = (ct * ct + ct).rotate(1)
    assert np.array_equal(np.asarray(host.data), np.asarray(there.data))
