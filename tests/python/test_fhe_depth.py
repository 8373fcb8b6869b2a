"""`fhe.ckks(depth=...)`: the parameters that a depth needs are found."""

from __future__ import annotations

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import ParamError


@pytest.mark.parametrize("depth", [0, 1, 2, 5, 10, 24, 30])
def test_a_depth_gives_as_many_levels_at_the_least_secure_degree(depth: int) -> None:
    parameters = fhe.ckks(depth=depth).parameters
    assert parameters.is_secure
    assert parameters.level == depth
    assert max(parameters.moduli + parameters.special) < 1 << 49
    with pytest.raises(ParamError, match=r"depth: got .* at most|no depth fits"):
        fhe.ckks(parameters.degree // 2, depth=depth)


def test_products_in_sequence_use_up_just_the_depth() -> None:
    keys = fhe.ckks(depth=3, insecure=True, room=4).keygen(conjugation=False)
    found = keys.encrypt([0.5, -1.0, 0.75])
    for _ in range(3):
        found = (found * found).rescale()
    assert found.level == 0
    values = keys.decrypt(found)[:3].real
    assert np.allclose(values, np.array([0.5, -1.0, 0.75]) ** 8, atol=1e-6)


@pytest.mark.parametrize("precision", [10.0, 20.0, 24.5])
def test_a_product_keeps_the_precision_that_is_asked_for(precision: float) -> None:
    keys = fhe.ckks(depth=1, precision=precision, insecure=True).keygen(conjugation=False)
    values = np.linspace(-1, 1, keys.context.slots)
    found = (keys.encrypt(values) * keys.encrypt(values)).rescale()
    assert np.abs(keys.decrypt(found) - values**2).max() < 2.0 ** (1 - precision)


def test_the_bound_of_values_decides_the_room_of_results() -> None:
    wide = fhe.ckks(depth=2, bound=2.0**6).parameters
    narrow = fhe.ckks(depth=2, bound=1.0).parameters
    assert wide.moduli[0] > narrow.moduli[0] << 4
    assert fhe.ckks(depth=2, room=30.0).parameters.level == 3


def test_an_impossible_depth_names_the_largest_that_fits() -> None:
    with pytest.raises(ParamError) as caught:
        fhe.ckks(2**13, depth=9)
    assert "at most 2 levels at degree 8192 for 128-bit security" in str(caught.value)
    assert fhe.ckks(2**13, depth=2).parameters.level == 2
    with pytest.raises(ParamError, match="no depth fits"):
        fhe.ckks(depth=2, precision=60)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"depth": 3, "moduli": [50, 40]}, "moduli"),
        ({"depth": 3, "special": [50]}, "special"),
        ({"depth": 3, "digits": 2}, "digits"),
        ({"depth": -1}, "depth"),
        ({"depth": 1.5}, "depth"),
        ({"depth": 3, "scale": 3.0}, "scale"),
        ({"depth": 3, "scale": 2.0**40, "precision": 10}, "precision"),
        ({"depth": 3, "precision": float("nan")}, "precision"),
        ({"depth": 3, "room": 0}, "room"),
        ({"depth": 3, "security": 100}, "security"),
        ({"degree": 2**13, "moduli": [50, 40], "precision": 12}, "precision"),
        ({"degree": 2**13, "moduli": [50, 40], "room": 12}, "room"),
        ({"moduli": [50, 40]}, "degree"),
        ({"degree": 2**13}, "modulus_count"),
    ],
)
def test_options_that_contradict_are_named(options: dict[str, object], rule: str) -> None:
    with pytest.raises(ParamError) as caught:
        fhe.ckks(**options)  # type: ignore[arg-type]
    assert caught.value.rule == rule
