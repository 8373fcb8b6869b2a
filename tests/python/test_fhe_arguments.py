"""Steps, levels, axes and values of the wrong type are refused by name, before any work."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import EncodeError, ParamError
from python.fhe_setup import bgv, centred, ckks, integer_slots, rolled, unit_slots

EXACT, NUMBERS = bgv(), ckks()
K = integer_slots(EXACT, 1)
SCHEMES = [
    pytest.param(EXACT, EXACT.encrypt(K), id="bgv"),
    pytest.param(NUMBERS, NUMBERS.encrypt(unit_slots(NUMBERS, 1)), id="ckks"),
]
WRONG: dict[str, Callable[[fhe.Keys, Any], object]] = {
    "rotate(1.0)": lambda keys, x: x.rotate(1.0),
    "rotate(True)": lambda keys, x: x.rotate(True),
    "rotate_many([1.0])": lambda keys, x: x.rotate_many([1.0]),
    "rotate_many(['1'])": lambda keys, x: x.rotate_many(["1"]),
    "inner_sum(2.0)": lambda keys, x: x.inner_sum(2.0),
    "inner_sum(True)": lambda keys, x: x.inner_sum(True),
    "lower(1.5)": lambda keys, x: x.lower(1.5),
    "lower(True)": lambda keys, x: x.lower(True),
    "sum(axis=True)": lambda keys, x: x.sum(axis=True),
    "sum(axis=(0, 0))": lambda keys, x: x.sum(axis=(0, 0)),
    "sum(axis=(0, -1))": lambda keys, x: x.sum(axis=(0, -1)),
    "encrypt level=1.5": lambda keys, x: keys.encrypt([1], level=1.5),
    "encrypt level=True": lambda keys, x: keys.public.encrypt([1], level=True),
    "encode level='1'": lambda keys, x: keys.context.encode([1], level="1"),
    "packing(3.0)": lambda keys, x: keys.context.packing(3.0),
    "packing(True)": lambda keys, x: keys.context.packing(True),
    "packing(3, period=0)": lambda keys, x: keys.context.packing(3, period=0),
    "packing(3, period=4.0)": lambda keys, x: keys.context.packing(3, period=4.0),
    "packing(3, count=1.0)": lambda keys, x: keys.context.packing(3, period=4, count=1.0),
    "Matrix period=4.0": lambda keys, x: fhe.Matrix(keys.context, [[1]], period=4.0),
    "Matrix baby_steps=2.0": lambda keys, x: fhe.Matrix(keys.context, [[1]], baby_steps=2.0),
}


@pytest.mark.parametrize("call", WRONG)
@pytest.mark.parametrize(("keys", "x"), SCHEMES)
def test_what_is_no_whole_number_is_refused_by_name(keys: fhe.Keys, x: Any, call: str) -> None:
    with pytest.raises(ParamError, match=r"level|steps|count|axis|length|period"):
        WRONG[call](keys, x)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize(("keys", "x"), SCHEMES)
def test_integers_of_numpys_types_are_integers(keys: fhe.Keys, x: Any, kind: Any) -> None:
    same = [
        (x.rotate(kind(1)), x.rotate(1)),
        (x.rotate_many([kind(1)])[0], x.rotate_many([1])[0]),
        (x.inner_sum(kind(2)), x.inner_sum(2)),
        (x.lower(kind(1)), x.lower(1)),
    ]
    for one, other in same:
        np.testing.assert_array_equal(keys.decrypt(one), keys.decrypt(other))
    assert keys.encrypt([1], level=kind(1)).level == 1
    assert keys.context.packing(kind(3), period=kind(4)) == keys.context.packing(3, period=4)


def test_rotations_by_integers_of_numpys_types_are_right() -> None:
    turned = EXACT.decrypt(EXACT.encrypt(K).rotate(np.int8(-1)))
    np.testing.assert_array_equal(turned, centred(rolled(K, -1)))


@pytest.mark.parametrize(
    "values", [["1", "2"], np.array(["1"], dtype=object), [b"1"], [None], [[1], [1, 2]], [{}]]
)
@pytest.mark.parametrize(("keys", "x"), SCHEMES)
def test_values_that_are_no_numbers_are_refused(keys: fhe.Keys, x: Any, values: Any) -> None:
    for attempt in (keys.encrypt, keys.public.encrypt, keys.context.encode):
        with pytest.raises(EncodeError, match=r"give numbers|make no array"):
            attempt(values)


def test_numbers_of_pythons_other_types_are_taken() -> None:
    found = NUMBERS.decrypt(NUMBERS.encrypt([Fraction(1, 2), Decimal("0.25"), 2**70 // 2**69]))
    np.testing.assert_allclose(found[:3], [0.5, 0.25, 2.0], atol=1e-4)


@pytest.mark.parametrize("option", [{"level": 0}, {"scale": 0}, {"scale": 0.0}, {"batch": True}])
@pytest.mark.parametrize(("keys", "x"), SCHEMES)
def test_options_beside_a_plaintext_are_refused(
    keys: fhe.Keys, x: Any, option: dict[str, Any]
) -> None:
    plaintext = keys.context.encode([1, 2])
    for encrypt in (keys.encrypt, keys.public.encrypt):
        with pytest.raises(ParamError, match=f"{next(iter(option))}: .* with a plaintext"):
            encrypt(plaintext, **option)
        assert encrypt(plaintext, level=None, scale=None, batch=False).level == x.level


@pytest.mark.parametrize("values", [[1, 2], EXACT.context.encode([1, 2])])
def test_options_that_there_are_not_are_refused(values: Any) -> None:
    for unknown in ({"foo": None}, {"factor": 1}):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            EXACT.public.encrypt(values, **unknown)  # type: ignore[arg-type]
