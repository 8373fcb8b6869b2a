"""Norms, condition numbers and least squares by NumPy's names, compared with NumPy."""

from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import AxisError, ParamError

from .numpy_oracle import same

RNG = np.random.default_rng(9)
INF = float("inf")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_norms_are_numpys(dtype: str) -> None:
    x = (RNG.random((3, 4, 2)) - 0.5).astype(dtype)
    norm, expected = cw.linalg.norm, np.linalg.norm
    same(norm(cw.asarray(x)), expected(x), 1e-5)
    for keepdims in (False, True):
        for order in (None, 0, 1, -1, 2, 3, 0.5, INF, -INF):
            same(
                norm(cw.asarray(x), order, 1, keepdims=keepdims),
                expected(x, order, 1, keepdims=keepdims),
                1e-4,
            )
        for order in (None, "fro", "nuc", 1, -1, 2, -2, INF, -INF):
            for axes in ((0, 1), (2, 0), (-1, -2)):
                same(
                    norm(cw.asarray(x), order, axes, keepdims=keepdims),
                    expected(x, order, axes, keepdims=keepdims),
                    1e-4,
                )


def test_condition_numbers_are_numpys() -> None:
    x = RNG.random((5, 3, 3)) + np.eye(3)
    orders: list[Any] = [None, 2, -2, 1, -1, INF, -INF, "fro", "nuc"]
    for p in orders:
        same(cw.linalg.cond(cw.asarray(x), p), np.linalg.cond(x, p), 1e-9)
    same(cw.linalg.cond(cw.asarray(x[:, :2])), np.linalg.cond(x[:, :2]), 1e-9)


def test_least_squares_are_numpys() -> None:
    for shape, right in (((6, 3), (6,)), ((6, 3), (6, 2)), ((2, 4), (2,)), ((3, 3), (3, 1))):
        a, b = RNG.random(shape), RNG.random(right)
        made = cw.linalg.lstsq(cw.asarray(a), cw.asarray(b))
        for actual, expected in zip(made, np.linalg.lstsq(a, b), strict=True):
            same(actual, expected, 1e-9)


def test_wrong_arguments_are_refused() -> None:
    x = cw.zeros((2, 3, 4))
    for call in (
        lambda: cw.linalg.norm(x, "fro", 0), lambda: cw.linalg.norm(x[0], "no"),
        lambda: cw.linalg.cond(cw.zeros((0, 2))), lambda: cw.linalg.cond(cw.zeros((2, 3)), 1),
        lambda: cw.linalg.lstsq(x, x), lambda: cw.linalg.lstsq(cw.zeros((2, 2)), cw.zeros(3)),
    ):  # fmt: skip
        with pytest.raises(ParamError):
            call()
    with pytest.raises(AxisError):
        cw.linalg.norm(x, 2)
