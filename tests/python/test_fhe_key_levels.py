"""Evaluation keys of a level: smaller, used at that level and below, refused above it."""

from collections.abc import Callable
from math import prod
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import (
    CloakworkError,
    KeyMismatchError,
    LevelError,
    LoadError,
    MissingKeyError,
    ParamError,
)
from numpy.typing import NDArray
from python.fhe_setup import bgv, ckks, error, integer_slots, rolled, unit_slots
from python.test_fhe_files import resealed

CONTEXT = ckks(manual=True).context
TOP = CONTEXT.parameters.level


def short(level: int, context: fhe.Context = CONTEXT) -> fhe.Keys:
    return context.keygen(rotations=[1, 2], level=level)


KEYS = short(2)


def gadget() -> fhe.Context:
    return fhe.ckks(256, [50] + [40] * 4, [], insecure=True, levels="manual")


def precise(keys: fhe.Keys, x: fhe.Ciphertext, expected: NDArray[np.complex128]) -> None:
    assert isinstance(x, fhe.CkksCiphertext)
    assert error(keys, x, expected) <= 2.0 ** -x.precision_estimate()


@pytest.mark.parametrize("make", [lambda: CONTEXT, gadget], ids=["hybrid", "gadget"])
def test_a_key_has_the_digits_and_limbs_of_its_level(make: Callable[[], fhe.Context]) -> None:
    context = make()
    parameters, sizes = context.parameters, []
    for level in range(TOP + 1):
        key = short(level, context).evaluation.relinearization
        assert key is not None
        assert key.level == level
        assert key.size_bytes == parameters.key_bytes(level) == 8 * prod(key.data.shape)
        sizes.append(key.size_bytes)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == parameters.key_bytes()


@pytest.mark.parametrize("make", [lambda: CONTEXT, gadget], ids=["hybrid", "gadget"])
@pytest.mark.parametrize("level", [0, 2, TOP])
def test_keys_of_a_level_compute_there_and_below(
    make: Callable[[], fhe.Context], level: int
) -> None:
    keys = short(level, make())
    a = unit_slots(keys, 3)
    for used in range(level + 1):
        x = keys.encrypt(a, level=used, scale=2.0**40)
        precise(keys, x.rotate(1), np.roll(a, -1))
        precise(keys, x.rotate_many([2])[0], np.roll(a, -2))
        precise(keys, x.conjugate(), a.conj())
    if level:
        x = keys.encrypt(a, level=level)
        precise(keys, (x * x).relinearize().rescale(), a * a)


def test_short_keys_compute_under_bgv() -> None:
    keys = short(2, bgv().context)
    values = integer_slots(keys, 5)
    x = keys.encrypt(values, level=2)
    assert np.array_equal(keys.decrypt(x.rotate(1)), rolled(values, 1))
    with pytest.raises(MissingKeyError, match="level 3"):
        keys.encrypt(values, level=3).rotate(1)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            lambda x: x.rotate(1),
            r"rotation by 1 at level 3: .* have keys \(none\) gives it; others are of lower "
            r"levels \(.*1: level 2, 2: level 2.*\); add 1",
        ),
        (lambda x: x.rotate_many([2]), "at level 3"),
        (lambda x: x.conjugate(), r"at level 3 needs a key of that level, this one is of level 2"),
        (
            lambda x: (x * x).relinearize(),
            r"products of ciphertexts at level 3 needs? a key of that level.*"
            r"keys.add\(relinearization=True, level=3\)",
        ),
        (
            lambda x: fhe.Matrix(x.context, np.ones((3, 3))) @ x,
            r"matrix needs keys of level 3 for the rotations \[.*keys.add\(matrix.rotations, lev",
        ),
    ],
)
def test_ciphertexts_above_a_key_are_refused(
    run: Callable[[fhe.Ciphertext], object], message: str
) -> None:
    keys = CONTEXT.keygen(rotations=dict.fromkeys([1, 2, *range(-4, 4)], 2), level=2)
    x = keys.encrypt(np.ones(3), level=3)
    with pytest.raises(MissingKeyError, match=message):
        run(x)


def test_three_parts_above_the_key_are_relinearized_after_rescaling() -> None:
    a = unit_slots(KEYS, 4)
    x = KEYS.encrypt(a, level=3)
    product = (x * x).rescale()
    assert (product.level, product.parts) == (2, 3)
    assert error(KEYS, product.relinearize(), a * a) < 1e-4


def test_a_rotation_takes_the_steps_whose_keys_reach_its_level() -> None:
    keys = CONTEXT.keygen(rotations={1: TOP, 2: 1})
    evaluation = keys.evaluation
    assert evaluation.rotation_levels == {1: TOP, 2: 1}
    assert evaluation.route(2, 1) == [2]
    assert evaluation.route(2, 2) == [1, 1]
    a = unit_slots(keys, 6)
    assert error(keys, keys.encrypt(a, level=2).rotate(2), np.roll(a, -2)) < 1e-4


def test_adding_replaces_keys_of_lower_levels_alone() -> None:
    keys = CONTEXT.keygen(rotations={1: 1, 2: 3}, level=2)
    before = keys.evaluation
    after = keys.add({1: 3, 2: 1}, relinearization=True, level=1)
    one, two = (CONTEXT.rotation_element(step) for step in (1, 2))
    assert after.galois[one].level == 3
    assert after.galois[two] is before.galois[two]
    assert after.relinearization is before.relinearization
    assert keys.add(relinearization=True).relinearization is not before.relinearization


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"level": TOP + 1}, LevelError),
        ({"level": -1}, LevelError),
        ({"level": 1.5}, ParamError),
        ({"level": True}, ParamError),
        ({"rotations": {1: TOP + 1}}, LevelError),
        ({"rotations": {1: "2"}}, ParamError),
        ({"rotations": {1.5: 2}}, ParamError),
    ],
)
def test_levels_that_the_chain_has_not_are_refused(
    given: dict[str, object], kind: type[CloakworkError]
) -> None:
    with pytest.raises(kind):
        CONTEXT.keygen(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [-1, TOP + 1, 0.5])
def test_key_bytes_refuses_other_levels(level: int) -> None:
    with pytest.raises(ParamError, match="level"):
        CONTEXT.parameters.key_bytes(level)


def test_keys_of_levels_survive_a_file(tmp_path: Path) -> None:
    keys = CONTEXT.keygen(rotations={1: 2, 2: TOP}, level=1)
    keys.evaluation.save(tmp_path / "keys")
    found = fhe.load(tmp_path / "keys", insecure=True)
    assert found.rotation_levels == {1: 2, 2: TOP}
    assert found.relinearization.level == 1
    assert keys.adopt(found) is found
    for element, key in found.galois.items():
        assert np.array_equal(
            np.asarray(key.data), np.asarray(keys.evaluation.galois[element].data)
        )


def test_keys_of_levels_are_checked_with_the_secret() -> None:
    other = CONTEXT.keygen(level=1, rotations={1: 2})
    forged = fhe.EvaluationKeys(CONTEXT, KEYS.key, None, other.evaluation.galois)
    with pytest.raises(KeyMismatchError):
        KEYS.adopt(forged)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"s^2": 3}, "tensor 's\\^2'"),
        ({"s^2": 1}, "tensor 's\\^2'"),
        ({"s^2": TOP + 1}, f"0 to {TOP}"),
        ({"s^2": -1}, f"0 to {TOP}"),
        ({"s^2": "2"}, f"0 to {TOP}"),
        ({"s^2": True}, f"0 to {TOP}"),
        ({}, "those of"),
        ({"s^2": 2, "5": 2}, "those of"),
    ],
)
def test_files_refuse_keys_whose_shape_does_not_fit_their_level(
    levels: dict[str, object], message: str, tmp_path: Path
) -> None:
    keys = CONTEXT.keygen(conjugation=False, level=2)
    keys.evaluation.save(tmp_path / "keys")
    with pytest.raises(LoadError, match=message):
        fhe.load(resealed(tmp_path / "keys", fields={"key_levels": levels}), insecure=True)


def test_files_without_levels_hold_keys_of_the_highest(tmp_path: Path) -> None:
    CONTEXT.keygen(conjugation=False).evaluation.save(tmp_path / "keys")
    found = fhe.load(resealed(tmp_path / "keys", without=("key_levels",)), insecure=True)
    assert found.relinearization.level == TOP


def test_programs_refuse_keys_of_another_level() -> None:
    program = cw.trace(lambda x: x.rotate(1), KEYS.encrypt([1.0], level=2))
    lower = short(1)
    with pytest.raises(
        CloakworkError, match=r"keys.galois.5: got i64\[2, 1, 256, 4\], expected i64\[2, 2"
    ):
        program.run(lower.encrypt([1.0], level=2))
