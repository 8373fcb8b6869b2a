"""What NumPy refuses is refused by Cloakwork's error; what it accepts, unless the standard says."""

from __future__ import annotations

import warnings
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import CloakworkError, ParamError

from .refused_calls import CALLS, Rng

TRIES = 60
# Ours of another name than NumPy's.
OURS = {"power": "pow"}
# Words of refusals that follow the array API standard: what has no order, and bool, which is no
# number.
STANDARD = ("bool", "complex128", "real numbers", "no axes", "any prime field")
# Calls that NumPy accepts, for these reasons.
STRICTER = {
    "cumulative_sum": "a number has no axis, also not the only one",
    "cumulative_prod": "a number has no axis, also not the only one",
    "reshape": "-2 is no size; NumPy finds sizes for it as for -1",
    "tile": "negative counts are refused for arrays without elements, too",
    "repeat": "negative counts are refused for arrays without elements, too",
    "partition": "places are checked for arrays without elements, too",
    "take": "indices are checked for arrays without elements, too",
    "take_along_axis": "indices are checked for arrays without elements, too",
    "diff": "the axis is checked for n = 0, too",
    "linalg.multi_dot": "numbers and stacks are no matrices",
    "fft.rfftn": "axes are named once",
    "fft.fftshift": "axes are named once",
}
# Calls that NumPy refuses.
KINDER = {
    "average": "no elements, and weights of sum 0, give NaN",
    "median": "NumPy cannot reshape its own result without elements",
    "quantile": "NumPy cannot reshape its own result without elements, nor subtract bool",
    "linalg.inv": "rounding decides whether a pivot of a singular matrix is 0",
    "linalg.solve": "rounding decides whether a pivot of a singular matrix is 0",
    "linalg.matrix_power": "rounding decides whether a pivot of a singular matrix is 0",
}


def found(namespace: Any, name: str) -> Any:
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def as_tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return cw.asarray(value)
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return [cw.asarray(piece) for piece in value]
    return value


def outcome(namespace: Any, name: str, args: Any, options: Any) -> Any:
    """The result of a call, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return found(namespace, name)(*args, **options)
        except Exception as error:
            return error


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_refused_where_numpy_refuses_them(name: str) -> None:
    rng: Rng = np.random.default_rng(sum(name.encode()))
    for _ in range(TRIES):
        args, options = CALLS[name](rng)
        theirs = outcome(np, name, args, options)
        tensors = [as_tensors(one) for one in args]
        named = {key: as_tensors(one) for key, one in options.items()}
        ours = outcome(cw, OURS.get(name, name), tensors, named)
        call = f"{name}(*{args}, **{options}): {theirs!r}, {ours!r}"
        if not isinstance(ours, Exception):
            assert not isinstance(theirs, Exception) or name in KINDER, call
            continue
        assert isinstance(ours, CloakworkError), call
        if not isinstance(theirs, Exception):
            assert name in STRICTER or any(word in str(ours) for word in STANDARD), call


def test_enough_calls_of_each_kind_are_tried() -> None:
    refused = accepted = 0
    for name, make in CALLS.items():
        rng: Rng = np.random.default_rng(1)
        for _ in range(8):
            if isinstance(outcome(np, name, *make(rng)), Exception):
                refused += 1
            else:
                accepted += 1
    assert min(refused, accepted) > 400


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "nanmax", "nanargmin", "ptp"])
def test_extremes_of_no_elements_are_refused_though_none_result(name: str) -> None:
    with pytest.raises(
        ParamError, match=r"x: got shape \(0, 0, 2\), expected an element .* axis 0"
    ):
        getattr(cw, name)(cw.zeros((0, 0, 2)), axis=0)
    assert getattr(cw, name)(cw.zeros((0, 3)), axis=1).shape == (0,)
    with pytest.raises(ParamError, match="axis 0"):
        cw.trace(lambda a: getattr(cw, name)(a, axis=0), cw.zeros((0, 0)))


def test_the_place_of_a_mistake_is_named() -> None:
    x = cw.zeros((2, 3))
    for call, place in (
        (lambda: cw.eye(2, -1), "n_cols: got -1"),
        (lambda: cw.pad(cw.asarray(1), -1), "pad_width: got -1"),
        (lambda: cw.unique(x, axis=2), "axis: got 2, expected -2 to 1"),
        (lambda: cw.linalg.vector_norm(x, ord="fro"), "ord: got 'fro'"),  # type: ignore[arg-type]
        (lambda: cw.linalg.norm(x, axis=()), "axis: got ()"),
    ):
        with pytest.raises(ParamError) as caught:
            call()
        assert place in str(caught.value)
    assert cw.average(np.int8([1, 3]), weights=np.uint8([1, 1])).dtype == cw.float64


def test_axes_sizes_and_counts_are_integers() -> None:
    x: Any = cw.zeros((2, 3))
    wrong: list[Any] = [
        lambda: cw.sum(x, axis=True), lambda: cw.argmax(x, axis=False), lambda: cw.cumsum(x, True),
        lambda: cw.sort(x, axis=True), lambda: cw.concat([x, x], axis=True),
        lambda: x.max(axis=(0, True)),
        lambda: cw.expand_dims(x, None), lambda: cw.eye(1.5), lambda: cw.eye(2, 1.5),
        lambda: cw.eye(2, k=cw.nan), lambda: cw.linspace(0, 1, np.float64(2)),
        lambda: cw.split(x, (1.0,), 1), lambda: cw.array_split(x, "0"), lambda: cw.tri(2, k=1.5),
        lambda: cw.sum(x, axis=1.0), lambda: cw.tril(x, k=cw.nan), lambda: cw.triu(x, k=0.5),
    ]  # fmt: skip
    for number, call in enumerate(wrong):
        try:
            made = call()
        except TypeError:
            continue
        pytest.fail(f"call {number} gave {made}")
