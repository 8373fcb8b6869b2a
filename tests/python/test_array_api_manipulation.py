"""Shapes change as NumPy's do."""

from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from python.numpy_oracle import ALL, arrays, axes_of, same

Array = np.ndarray[Any, Any]


@given(data=st.data(), array=arrays(ALL))
def test_axes_in_another_order(data: st.DataObject, array: Array) -> None:
    tensor = cw.asarray(array)
    order = tuple(data.draw(st.permutations(range(array.ndim))))
    same(cw.permute_dims(tensor, order), array.transpose(order))
    some = data.draw(st.lists(st.sampled_from(order), unique=True)) if order else []
    targets = order[: len(some)]
    same(cw.moveaxis(tensor, tuple(some), targets), np.moveaxis(array, some, targets))
    if array.ndim > 1:
        same(cw.matrix_transpose(tensor), array.mT)


@given(data=st.data(), array=arrays(ALL))
def test_axes_of_size_one(data: st.DataObject, array: Array) -> None:
    axes = data.draw(st.lists(st.integers(0, array.ndim + 1), unique=True, min_size=2, max_size=2))
    wide = np.expand_dims(array, tuple(axes))
    same(cw.expand_dims(cw.asarray(array), tuple(axes)), wide)
    same(cw.squeeze(cw.asarray(wide), tuple(axes)), array)


@given(data=st.data(), array=arrays(ALL))
def test_flip_and_roll(data: st.DataObject, array: Array) -> None:
    tensor = cw.asarray(array)
    axes = data.draw(axes_of(array))
    same(cw.flip(tensor, axis=axes), np.flip(array, axes))
    shift = data.draw(st.integers(-9, 9))
    if axes != ():
        same(cw.roll(tensor, shift, axis=axes), np.roll(array, shift, axes))


@given(data=st.data(), array=arrays(ALL))
def test_reshape(data: st.DataObject, array: Array) -> None:
    shape = data.draw(
        st.sampled_from([array.shape[::-1], (array.size,), (1, array.size, 1), (-1,)])
    )
    same(cw.reshape(cw.asarray(array), shape), array.reshape(shape))
    assert not np.shares_memory(np.asarray(cw.reshape(cw.asarray(array), shape, copy=True)), array)


def test_reshape_without_a_copy_is_a_view_or_an_error() -> None:
    tensor = cw.arange(6)
    view = cw.reshape(tensor, (2, 3), copy=False)
    view[0, 0] = 9
    assert int(tensor[0]) == 9
    with pytest.raises(ValueError, match="copy"):
        cw.reshape(view.T, (6,), copy=False)


@pytest.mark.parametrize("run", [1, 2, 3, 4, 8, 64, 1000, 5000])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64, np.complex128])
def test_copies_of_elements_that_repeat(run: int, dtype: Any) -> None:
    array = np.arange(-9, 51).reshape(3, 20).astype(dtype)
    tensor = cw.asarray(array)
    for one, source in (
        (tensor, array),
        (tensor[:, ::-2], array[:, ::-2]),
        (tensor.T, array.T),
        (tensor[1:, 3], array[1:, 3]),
    ):
        repeated = np.repeat(source[..., None], run, axis=-1)
        spread = cw.expand_dims(one, axis=-1).expand(source.ndim, run)
        same(cw.asarray(spread, copy=True), repeated)
        # Into a view of which every second row, or column, stays as it is.
        for step in ((slice(None, None, 2),), (..., slice(None, None, 2))):
            shape = np.array(repeated.shape)
            shape[0 if len(step) == 1 else -1] *= 2
            wanted, found = np.zeros(shape, dtype), cw.zeros(tuple(shape), dtype=one.dtype)
            wanted[step] = repeated
            found[step] = spread
            same(found, wanted)


@given(data=st.data(), first=arrays(ALL))
def test_tensors_joined(data: st.DataObject, first: Array) -> None:
    kind = [name for name in ALL if np.dtype(name).kind == first.dtype.kind]
    second = data.draw(arrays(kind, first.shape))
    pair = [cw.asarray(first), cw.asarray(second)]
    same(cw.concat(pair, axis=None), np.concat([first, second], axis=None))
    for axis in range(first.ndim):
        same(cw.concat(pair, axis=axis), np.concat([first, second], axis=axis))
    for axis in range(-first.ndim - 1, first.ndim + 1):
        same(cw.stack(pair, axis=axis), np.stack([first, second], axis=axis))
    for axis in range(first.ndim):
        slices = cw.unstack(pair[0], axis=axis)
        assert len(slices) == first.shape[axis]
        for actual, expected in zip(slices, np.unstack(first, axis=axis), strict=True):
            same(actual, expected)


@given(data=st.data(), array=arrays(ALL))
def test_repeat_and_tile(data: st.DataObject, array: Array) -> None:
    tensor = cw.asarray(array)
    times = data.draw(st.integers(0, 3))
    same(cw.repeat(tensor, times), np.repeat(array, times))
    for axis in range(array.ndim):
        same(cw.repeat(tensor, times, axis=axis), np.repeat(array, times, axis=axis))
        counts = data.draw(hnp.arrays("int64", array.shape[axis], elements=st.integers(0, 3)))
        actual = cw.repeat(tensor, cw.asarray(counts), axis=axis)
        same(actual, np.repeat(array, counts, axis=axis))
    repetitions = tuple(data.draw(st.lists(st.integers(0, 3), max_size=4)))
    same(cw.tile(tensor, repetitions), np.tile(array, repetitions))


@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=4, min_side=0))
def test_broadcasting(shapes: hnp.BroadcastableShapes) -> None:
    assert cw.broadcast_shapes(*shapes.input_shapes) == shapes.result_shape
    given_arrays = [np.full(shape, 7) for shape in shapes.input_shapes]
    for tensor in cw.broadcast_arrays(*map(cw.asarray, given_arrays)):
        same(tensor, np.full(shapes.result_shape, 7))


def test_sizes_that_are_open_stay_open() -> None:
    assert cw.broadcast_shapes((None, 1), (2,)) == (None, 2)
    assert cw.broadcast_shapes() == ()


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (cw.concat, ([],)), (cw.concat, ([cw.zeros(2), cw.zeros((2, 2))],)),
        (cw.stack, ([cw.zeros(2), cw.zeros(3)],)), (cw.squeeze, (cw.zeros(2), 0)),
        (cw.broadcast_to, (cw.zeros(2), (3,))), (cw.broadcast_shapes, ((2,), (3,))),
        (cw.permute_dims, (cw.zeros((2, 2)), (0,))), (cw.repeat, (cw.zeros(2), -1)),
        (cw.repeat, (cw.zeros(2), cw.asarray([1, -1]))), (cw.reshape, (cw.zeros(4), (3,))),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_value_errors(function: Any, arguments: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        function(*arguments)


@pytest.mark.parametrize("axis", [2, -3, 5])
def test_axes_that_are_not_there_are_index_errors_and_value_errors(axis: int) -> None:
    for function in (cw.flip, cw.sum, cw.sort, cw.concat):
        argument = [cw.zeros((2, 2))] if function is cw.concat else cw.zeros((2, 2))
        for error in (IndexError, ValueError):
            with pytest.raises(error, match="axis"):
                function(argument, axis=axis)
    with pytest.raises(IndexError, match="each axis once"):
        cw.expand_dims(cw.zeros(2), (0, 0))
