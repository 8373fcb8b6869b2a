"""Elements added, removed, chosen and ordered by NumPy's names, compared with NumPy."""

from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import CloakworkError, DTypeError, ParamError, TensorIndexError, TraceError
from numpy.typing import NDArray

from .numpy_oracle import both, same

RNG = np.random.default_rng(11)
SHAPES = [(), (0,), (5,), (4, 3), (3, 0), (2, 4, 3)]
DTYPES = ["bool", "int8", "uint64", "float32", "complex128"]


def some(shape: tuple[int, ...], dtype: str = "int64") -> NDArray[Any]:
    return RNG.integers(0, 9, shape).astype(dtype)


def axes(shape: tuple[int, ...]) -> list[Any]:
    return [None, *range(-len(shape) - 1, len(shape) + 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_insertions_and_deletions_are_numpys(shape: tuple[int, ...]) -> None:
    places: list[Any] = [
        0, -1, 3, 9, -9, 1.5, [],
        [0], [2, 0, 0], [1, -1], [9, 0], [[0, 1]], slice(None), slice(1, 9, 2),
        slice(None, None, -1), np.asarray([True, False, True]), np.asarray([1], "uint8"),
        np.asarray([0.5]), np.asarray([]),
    ]  # fmt: skip
    for dtype in DTYPES:
        x = some(shape, dtype)
        for axis in axes(shape):
            for place in places:
                both("delete", x, place, axis)
                both("insert", x, place, 7, axis)
                both("insert", x, place, [6, 7], axis)
                both("insert", x, place, some((3,), dtype), axis)
                both("insert", x, place, [[5], [6], [7]], axis)


def test_masks_of_all_places_delete() -> None:
    x = some((4, 3))
    for mask in ([True, False, True, False], [True], [[True] * 4]):
        both("delete", x, np.asarray(mask), 0)
        same(cw.delete(x, cw.asarray([0, 2]), 0), x[[1, 3]])
    with pytest.raises(TensorIndexError, match=r"obj: got 4, expected -4 to 3, .* 4 elements"):
        cw.delete(x, [0, 4], 0)
    with pytest.raises(TensorIndexError, match="expected -4 to 4"):
        cw.insert(x, [-5, 0], 1, 0)  # NumPy takes it for the place before the last


@pytest.mark.parametrize("dtype", DTYPES)
def test_shapes_are_filled_as_numpy_fills_them(dtype: str) -> None:
    for shape in SHAPES:
        x = some(shape, dtype)
        for new in ((), (0,), 3, (2, 5), (7, 0), (3, 2, 4), (-1,), (-1, -2)):
            both("resize", x, new)
    x = some((3,))
    assert not np.shares_memory(np.asarray(cw.resize(x, 3)), x)


def test_zeros_are_trimmed_as_numpy_trims_them() -> None:
    for shape in ((7,), (4, 5), (3, 4, 2), (0,), (2, 0)):
        for share in (0.0, 0.2, 1.0):
            x = np.where(RNG.random(shape) < share, 3, 0)
            for trim in ("fb", "bf", "f", "b", "FB", "x", ""):
                for axis in (None, 0, -1, 3, (), (0, -1)):
                    both("trim_zeros", x, trim, axis)
    same(cw.trim_zeros([[0, 0], [0, 1]]), [[1]])


@pytest.mark.parametrize(
    "nested",
    [
        [[1, 2], 3], [1, [2]], [], [[]], (1, 2), [[1, 2], [3, 4]], [[[1]], [[2]]], 5, [1.5, 2],
        [np.ones((2, 2)), np.zeros((2, 1))], [[np.ones((2, 2))], [np.zeros(2)]],
        [[np.ones((2, 2))], [np.zeros(3)]], [np.ones((2, 1, 2)), np.zeros((1, 2))],
        [[np.int8([1]), np.float32([2])], [np.asarray([True]), 4]],
    ],
)  # fmt: skip
def test_blocks_are_numpys(nested: Any) -> None:
    both("block", nested)


def test_selections_are_numpys() -> None:
    for dtype in ("int8", "float32", "complex64"):
        x, y = some((3, 1), dtype), some((4,), dtype)
        conditions = [RNG.random((3, 4)) < 0.4, RNG.random(4) < 0.5, RNG.random((2, 1, 1)) < 0.5]
        for default in (0, 2.5, True, np.int16(7), x):
            both("select", conditions, [x, y, 3], default)
            both("select", conditions[:1], [2], default)
    for wrong in (([], []), ([[True]], [1, 2]), ([[1]], [1]), ([[True] * 2], [[1, 2, 3]])):
        both("select", *wrong)


def middle(line: Any, by: int = 1) -> Any:
    return line[1:3] * by


@pytest.mark.parametrize("shape", [(3,), (3, 4), (2, 3, 4), (0, 3), (3, 0), ()])
def test_functions_of_lines_are_numpys(shape: tuple[int, ...]) -> None:
    x = some(shape, "float64")
    for axis in range(-4, 4):
        both("apply_along_axis", lambda line: line.sum(), axis, x, rtol=1e-12)
        both("apply_along_axis", middle, axis, x, by=3)
        both("apply_along_axis", lambda line: line[:, None] * line[:2], axis, x)


def test_results_of_lines_have_one_shape() -> None:
    sizes = iter((1, 2))
    with pytest.raises(ParamError, match="one shape"):
        cw.apply_along_axis(lambda line: line[: next(sizes)], 1, [[1, 2], [3, 4]])


def test_orders_by_several_keys_are_numpys() -> None:
    for shape in ((9,), (2, 6), (0,), (3, 2, 5), ()):
        for count in (1, 2, 3):
            keys = [RNG.integers(0, 3, shape).astype(d) for d in ("int8", "float64", "bool")]
            for axis in range(-3, 3):
                both("lexsort", keys[:count], axis)
                both("lexsort", np.asarray(keys[:count]), axis)
    same(cw.lexsort(cw.asarray([[3, 1], [0, 0]])), [1, 0])
    for wrong in ((), [[1, 2], [1]], 5):
        both("lexsort", wrong)
    with pytest.raises(DTypeError):
        cw.lexsort([[1j, 2.0]])


@pytest.mark.parametrize("dtype", ["int16", "float32", "uint64", "bool"])
def test_partitions_have_the_kth_in_place(dtype: str) -> None:
    for shape in ((7,), (3, 5)):
        x = some(shape, dtype)
        for axis in (None, 0, -1):
            size = x.size if axis is None else x.shape[axis]
            for kth in (0, size - 1, -1, [0, -2]):
                found = np.asarray(cw.partition(x, kth, axis))
                places = np.asarray(cw.argpartition(x, kth, axis))
                whole, along = (x.reshape(-1), 0) if axis is None else (x, axis)
                expected = np.partition(whole, kth, along)
                for one in np.atleast_1d(kth):
                    np.testing.assert_array_equal(found.take(one, along), expected.take(one, along))
                np.testing.assert_array_equal(np.take_along_axis(whole, places, along), found)
    for wrong in (9, -9, 1.0, True, [[0]], [0, 9]):
        for name in ("partition", "argpartition"):
            with pytest.raises(CloakworkError, match="kth"):
                getattr(cw, name)(some((4,), dtype), wrong)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: cw.insert(a, [1, 2], a[:2], 0),
        lambda a: cw.delete(a, -1, 1),
        lambda a: cw.resize(a, (5, 4)),
        lambda a: cw.block([[a, a[:, :1]], [a[:1], 5]]),
        lambda a: cw.select([a > 4, a < 2], [a, -a], 3.0),
        lambda a: cw.apply_along_axis(lambda line: line - line[0], 0, a),
        lambda a: cw.lexsort([a, a % 2]),
        lambda a: cw.partition(a, 1),
        lambda a: cw.flipud(cw.fliplr(a)),
    ],
)
def test_traces_and_devices_give_what_the_host_gives(call: Callable[[Any], Any]) -> None:
    x = some((3, 4), "float64")
    expected = np.asarray(call(cw.asarray(x)))
    same(cw.trace(call, cw.asarray(x)).run({"a": x})["out0"], expected)
    there = call(cw.asarray(x, device="sim:0"))
    assert there.device == "sim:0"
    same(there.to("cpu"), expected)


def test_a_trace_refuses_what_depends_on_elements() -> None:
    x = cw.asarray([1, 0, 2])
    for call in (cw.trim_zeros, lambda a: cw.delete(x, a), lambda a: cw.insert(x, a, 1)):
        with pytest.raises(TraceError):
            cw.trace(call, x)


def test_flips_are_numpys() -> None:
    for shape in SHAPES:
        both("fliplr", some(shape))
        both("flipud", some(shape))


def test_choices_and_members_take_lists_and_arrays() -> None:
    mask, x = [True, False, True], np.asarray([1.5, 2.0, 3.0])
    for first, second in ((x, 0), ([1, 2, 3], x), (cw.asarray(x), [7, 8, 9]), (1, 2.5)):
        same(cw.where(mask, first, second), np.where(mask, first, second))
        same(cw.where(cw.asarray(mask), first, second), np.where(mask, first, second))
    same(cw.isin(cw.asarray(x), [2, 3]), np.isin(x, [2, 3]))
    same(cw.isin([[1, 2]], x), np.isin([[1, 2]], x))
