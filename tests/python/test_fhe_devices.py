"""Ciphertexts on devices: the same residues as on the host, and secrets stay there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import KeyMismatchError, MissingKeyError, ParamError
from numpy.typing import NDArray
from python.fhe_setup import bgv, ckks, integer_slots, unit_slots

ON = "sim:0"
Circuit = Callable[[Any, Any], Any]


def same(one: Any, other: Any) -> bool:
    return np.array_equal(np.asarray(one.data), np.asarray(other.data))


CKKS: dict[str, Circuit] = {
    "sum": lambda x, y: x + y - 2.5, "product": lambda x, y: x * y,
    "square": lambda x, _: x.square(),
    "constants": lambda x, y: x * 3 + 1.5, "rotations": lambda x, y: x.rotate(3) + y.conjugate(),
    "many rotations": lambda x, y: x.rotate_many([1, 2])[1], "depth": lambda x, y: (x * y * x) ** 2,
    "a sum of slots": lambda x, y: x.inner_sum(4), "minus": lambda x, y: -(x - y),
    "values": lambda x, y: x * half_of(x) + half_of(x), "quotient": lambda x, y: x / 3,
    "polynomial": lambda x, y: fhe.Polynomial([0.25, 0.5, 0, 1])(x),
}  # fmt: skip
BGV: dict[str, Circuit] = {
    "sum": lambda x, y: x + y - 2, "product": lambda x, y: x * y + 1,
    "rotations": lambda x, y: x.rotate_rows(3) + y.rotate_columns(),
    "switch": lambda x, y: (x * y).mod_switch(), "power": lambda x, y: x ** 3,
}  # fmt: skip


def half_of(x: Any) -> NDArray[np.float64]:
    return np.linspace(-1, 1, x.context.slots)


@pytest.mark.parametrize("name", CKKS)
def test_ckks_gives_the_same_residues_on_a_device(name: str) -> None:
    keys = ckks()
    a, b = (keys.encrypt(unit_slots(keys, seed) * 0.5) for seed in (1, 2))
    here = CKKS[name](a, b)
    there = CKKS[name](a.to(ON), b.to(ON))
    assert (there.device, there.level, there.noise) == (ON, here.level, here.noise)
    assert same(here, there)
    assert np.array_equal(keys.decrypt(there), keys.decrypt(here))


@pytest.mark.parametrize("name", BGV)
def test_bgv_gives_the_same_residues_on_a_device(name: str) -> None:
    keys = bgv()
    a, b = (keys.encrypt(integer_slots(keys, seed)) for seed in (1, 2))
    here = BGV[name](a, b)
    there = BGV[name](a.to(ON), b.to(ON))
    assert (there.device, there.level) == (ON, here.level)
    assert same(here, there)
    assert np.array_equal(keys.decrypt(there), keys.decrypt(here))


def test_a_matrix_and_a_batch_follow_the_ciphertext() -> None:
    keys = ckks()
    values = unit_slots(keys, 3, (4,)).real
    rows = np.random.default_rng(4).normal(size=(8, 8)) / 8
    matrix = fhe.Matrix(keys.context, rows)
    keys.add(matrix.rotations)
    batch = keys.encrypt(matrix.pack(values[0, :8]))
    here, there = matrix @ batch, matrix @ batch.to(ON)
    assert there.device == ON
    assert same(here, there)
    many = keys.encrypt(values, batch=True)
    assert same(many.sum(axis=0), many.to(ON).sum(axis=0))
    assert same(many[1:3], many.to(ON)[1:3])


def test_an_operand_of_the_host_is_brought_to_the_device() -> None:
    keys = ckks()
    a, b = (keys.encrypt(unit_slots(keys, seed)) for seed in (1, 2))
    for mixed in (a.to(ON) * b, b * a.to(ON)):
        assert mixed.device == ON
        assert same(mixed, a * b)


def test_keys_are_brought_to_a_device_once() -> None:
    keys = ckks()
    a, b = (keys.encrypt(unit_slots(keys, seed)).to(ON) for seed in (1, 2))
    assert a.keys.relinearization is b.keys.relinearization
    assert a.keys.relinearization is not keys.evaluation.relinearization
    assert a.keys.relinearization.data.device == ON
    back = a.to("cpu")
    assert (back.device, back.keys.relinearization) == ("cpu", keys.evaluation.relinearization)
    assert a.to(ON) is a


def test_what_is_refused_on_the_host_is_refused_on_a_device() -> None:
    keys, others = ckks(), bgv()
    a = keys.encrypt(unit_slots(keys, 1)).to(ON)
    with pytest.raises(KeyMismatchError):
        a + others.encrypt(integer_slots(others, 1))
    with pytest.raises(MissingKeyError):
        a.using(None).rotate(1)


def test_saved_ciphertexts_are_those_of_the_host() -> None:
    keys = ckks()
    a = keys.encrypt(unit_slots(keys, 1))
    moved = a.to(ON)
    assert (moved * moved).to_bytes() == (a * a).to_bytes()
    assert moved.keys.to_bytes() == keys.evaluation.to_bytes()


def test_a_traced_circuit_runs_on_a_device_with_ciphertexts_of_one() -> None:
    keys = ckks()
    a = keys.encrypt(unit_slots(keys, 1))
    program = cw.trace(lambda x: x * x + x, a)
    expected = program.run(a).outputs[0]
    there = program.run(a.to(ON), device=ON).outputs[0]
    assert same(expected, there)


def test_a_thread_that_decrypts_while_another_goes_on_changes_no_value() -> None:
    keys = ckks()
    x = keys.encrypt(unit_slots(keys, 1))
    here = x.rotate(1) + x
    for _ in range(4):
        turned = x.to(ON).rotate(1)
        reader = threading.Thread(target=keys.decrypt, args=(turned,))
        reader.start()
        there = turned + x
        reader.join()
        assert same(here, there)


def test_ciphertexts_on_two_devices_are_refused() -> None:
    keys = ckks()
    a = keys.encrypt(unit_slots(keys, 1))
    with pytest.raises(ParamError, match="operands on sim:0 and on sim:1"):
        (a.to(ON) * a.to("sim:1")).to("cpu")
