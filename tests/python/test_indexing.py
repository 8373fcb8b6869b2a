"""Keys with tensors, lists and masks against NumPy: reads, writes, and errors."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import ops
from cloakwork.errors import (
    ContentsError,
    OpError,
    ParamError,
    SecretError,
    TensorIndexError,
    TraceError,
)
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

Array = NDArray[Any]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def same(tensor: cw.Tensor, array: Array) -> None:
    np.testing.assert_array_equal(np.asarray(tensor), array, strict=True)


@st.composite
def indices(draw: st.DrawFn, size: int, picked: tuple[int, ...]) -> Array:
    """Indices into an axis, of a shape that broadcasts to `picked`."""
    dropped = draw(st.integers(0, len(picked)))
    shape = tuple(draw(st.sampled_from([1, n])) for n in picked[dropped:])
    shape = (0,) * len(shape) if size == 0 else shape
    elements = st.integers(-size, size - 1) if size else st.just(0)
    dtype = draw(st.sampled_from(["i4", "i8", "i8"]))
    found: Array = draw(hnp.arrays(np.dtype(dtype), shape, elements=elements))
    return found


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Keys of every kind of entry, mixed, that mostly fit the shape."""
    picked = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3))
    key: list[Any] = []
    axis = 0
    while axis < len(shape) and draw(st.integers(0, 5)):
        size = shape[axis]
        kind = draw(st.sampled_from(["indices", "indices", "indices", "mask", "slice", "int"]))
        if kind == "mask":
            rank = draw(st.integers(1, len(shape) - axis))
            key.append(draw(hnp.arrays(np.bool_, shape[axis : axis + rank])))
            axis += rank
            continue
        if kind == "int" and size:
            key.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            key.append(draw(st.slices(size)))
        else:
            key.append(draw(indices(size, picked)))
        axis += 1
    extras = st.sampled_from([None, True, np.bool_(True), np.array(False), Ellipsis])
    for extra in draw(st.lists(extras, max_size=2)):
        if not (extra is Ellipsis and any(part is Ellipsis for part in key)):
            key.insert(draw(st.integers(0, len(key))), extra)
    return tuple(key)


def own(part: Any, how: int) -> Any:
    """An entry as a tensor, as nested lists, or as it is."""
    if isinstance(part, np.ndarray) and how < 2:
        return part.tolist() if how and part.size else cw.asarray(part)
    return part


@dataclass(frozen=True)
class Case:
    """A view of numbers that count up, and a key in NumPy's words and in ours."""

    shape: tuple[int, ...]
    axes: list[int]
    slices: tuple[Any, ...]
    key: tuple[Any, ...]
    own_key: tuple[Any, ...]

    @property
    def array(self) -> Array:
        base = np.arange(np.prod(self.shape, dtype=int)).reshape(self.shape)
        return base.transpose(self.axes)[self.slices]

    @property
    def tensor(self) -> cw.Tensor:
        base = cw.asarray(np.arange(np.prod(self.shape, dtype=int)).reshape(self.shape))
        return ops.transpose(base, self.axes)[self.slices]


STEPS = [slice(None), slice(None), slice(None, None, -1), slice(None, None, 2)]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    shape = draw(SHAPES)
    axes = draw(st.permutations(range(len(shape))) | st.just(range(len(shape))))
    slices = draw(st.tuples(*[st.sampled_from(STEPS)] * len(shape)))
    case = Case(shape, [*axes], (..., *slices), (), ())
    key = draw(keys(case.array.shape))
    own_key = tuple(own(part, draw(st.integers(0, 2))) for part in key)
    return replace(case, key=key, own_key=own_key)


def masks_nothing(key: Any) -> bool:
    """Whether a mask has no elements: with that the array API takes axes of any size."""
    parts = key if isinstance(key, tuple) else (key,)
    masks = [part for part in parts if isinstance(part, np.ndarray) and part.dtype == bool]
    return any(mask.size == 0 for mask in masks)


@given(cases())
def test_every_key_picks_what_it_picks_in_numpy(case: Case) -> None:
    try:
        expected = case.array[case.key]
    except IndexError:
        if not masks_nothing(case.key):
            with pytest.raises(IndexError):
                case.tensor[case.own_key]
        return
    same(case.tensor[case.own_key], np.asarray(expected))


@pytest.mark.parametrize(
    ("shape", "key"),
    [
        ((3, 3), (np.zeros(0, int), np.array(5))),
        ((3, 3), (np.zeros(0, int), np.array([5]))),
        ((1, 0, 0), (..., np.array(False), np.array([0]))),
    ],
)
def test_indices_that_broadcast_to_nothing_are_judged_as_in_numpy(
    shape: tuple[int, ...], key: Any
) -> None:
    array = np.zeros(shape)
    try:
        expected = array[key]
    except IndexError:
        with pytest.raises(TensorIndexError):
            cw.asarray(array)[key]
    else:
        same(cw.asarray(array)[key], expected)


@given(cases(), st.data())
def test_every_key_is_written_to_as_in_numpy(case: Case, data: st.DataObject) -> None:
    tensor, expected = case.tensor, case.array
    try:
        shape = expected[case.key].shape
    except IndexError:
        if not masks_nothing(case.key):
            with pytest.raises(IndexError):
                tensor[case.own_key] = 1
        return
    if data.draw(st.booleans()):
        shape = shape[data.draw(st.integers(0, len(shape))) :]
        shape = tuple(data.draw(st.sampled_from([1, n])) for n in shape)
        value: Any = -1 - np.arange(np.prod(shape, dtype=int)).reshape(shape)
        tensor[case.own_key] = cw.asarray(value)
    else:
        value = -1
        tensor[case.own_key] = value
    expected[case.key] = value
    same(tensor, expected)


CUBE = np.arange(60).reshape(3, 4, 5)


@pytest.mark.parametrize(
    "key",
    [
        [2, 0], [[0, 1], [2, -1]], (slice(None), [3, 0, -4]), ([0, 2], [1, -1]), ([0, 2], 3),
        ([0, 2], slice(None), [1, 4]), (slice(None), [0, 3], [1, 4]), (0, slice(None), [4, 0]),
        (slice(None), 0, [4, 0]), ([0, 1], ..., [2, 3]), ([[0], [2]], [1, 3]), (..., [1, 1, 1]),
        (None, [1], None, [2]), ([], 0), [], ([True, False, True], [0, 1]), (CUBE > 7), True,
        (slice(None), CUBE[0] > 9), ([2, 1], slice(3, None, -2), slice(None, None, 2)), False,
        (np.array(1), [0, 1]), (np.int8(2), np.array([1], "u1")), (slice(None), True, [1, 2]),
        (CUBE[:, 0, 0] > 9, slice(1, 3)), (CUBE[:, :, 0] > 9, [2]), np.array(2), np.bool_(True),
    ],
)  # fmt: skip
def test_each_kind_of_key_reads_and_writes(key: Any) -> None:
    same(cw.asarray(CUBE)[key], np.asarray(CUBE[key]))
    changed, tensor = CUBE.copy(), cw.asarray(CUBE.copy())
    changed[key] = -5
    tensor[key] = -5
    same(tensor, changed)
    value = np.arange(changed[key].size).reshape(changed[key].shape)
    changed[key] = value
    tensor[key] = value
    same(tensor, changed)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "u16", "i32", "u64", "f32", "f64", "c64", "c128"]
)
def test_each_dtype_is_picked_and_written(dtype: str) -> None:
    name = cw.asarray([0], dtype).dtype.name
    array = (np.arange(12).reshape(3, 4) % 5).astype(name)
    tensor = cw.asarray(array.copy())
    same(tensor[[2, 0, 2]], array[[2, 0, 2]])
    same(tensor[cw.asarray(array == 3)], array[array == 3])
    tensor[[1, 2], [0, 3]] = tensor[0, 1:3]
    array[[1, 2], [0, 3]] = array[0, 1:3]
    same(tensor, array)


@pytest.mark.usefixtures("no_garbage")
def test_a_large_view_is_neither_copied_to_read_nor_to_write_a_little() -> None:
    base = cw.zeros((50, 60, 70), "f32")
    i, k = cw.asarray([3, 7, 49]), cw.asarray([0, -1, 5])
    before = cw._core.memory_stats()["live_bytes"]
    picked = base[i, :, k]
    assert cw._core.memory_stats()["live_bytes"] - before < base.nbytes // 4
    assert picked.shape == (3, 60)
    base[i, :, k] = cw.asarray(np.arange(60), "f32")
    assert np.asarray(base)[7, :, -1].tolist() == list(range(60))
    assert np.asarray(base).sum() == 3 * sum(range(60))


def test_what_is_picked_is_a_copy() -> None:
    tensor = cw.asarray([1, 2, 3])
    picked = tensor[[0, 1]]
    picked[0] = 9
    assert tensor.tolist() == [1, 2, 3]


def test_values_may_come_from_the_tensor_that_is_written() -> None:
    tensor = cw.asarray([0, 1, 2, 3])
    tensor[[3, 2, 1, 0]] = tensor
    assert tensor.tolist() == [3, 2, 1, 0]
    tensor[tensor] = 7 - tensor
    assert tensor.tolist() == [7, 6, 5, 4]
    tensor = cw.asarray([2, 0, 1])
    tensor[tensor] = tensor[::-1]
    assert tensor.tolist() == [0, 2, 1]
    tensor[tensor > 0] = tensor[1]
    assert tensor.tolist() == [0, 2, 2]


def test_of_equal_indices_the_last_counts() -> None:
    tensor = cw.zeros(3, "i64")
    tensor[[1, 1, 1]] = [4, 5, 6]
    assert tensor.tolist() == [0, 6, 0]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ([3], "index 3 is out of range for axis 0 of size 3"),
        ((slice(None), [0, -5]), "index -5 is out of range for axis 1 of size 4"),
        (([0, 1], slice(None), [1, 5]), "index 5 is out of range for axis 2 of size 5"),
        (([0, 1], [0, 4]), "index 4 is out of range for axis 1 of size 4"),
        ((7, [0]), "index 7 is out of range for axis 0 of size 3"),
        (np.array([2**63 + 1], "u8"), "out of range for axis 0"),
        ([1.0], "float64"), ([0j], "complex128"), (np.array([]), "float64"), ("ab", "'ab'"),
        (([0], "ab"), "'ab'"), ([True, False], "does not fit axis 0 of size 3"),
        ((slice(None), CUBE[:, 0] > 1), "does not fit axis 1 of size 4"),
        (([0], [1], [2], [3]), "4 indices for a tensor of 3 axes"),
        ((..., [0], ...), "only one"), (([0, 1], [0, 1, 2]), "do not broadcast"),
        (np.zeros((3, 4, 5, 6), bool), "4 indices for a tensor of 3 axes"),
    ],
)  # fmt: skip
def test_keys_that_do_not_fit_are_refused(key: Any, text: str) -> None:
    tensor = cw.asarray(CUBE)
    with pytest.raises(TensorIndexError, match=text):
        tensor[key]
    with pytest.raises(TensorIndexError, match=text):
        tensor[key] = 0
    np.testing.assert_array_equal(np.asarray(tensor), CUBE)


def test_values_that_do_not_fit_are_refused() -> None:
    tensor = cw.zeros((3, 4), "i64")
    with pytest.raises(TypeError, match=r"expected elements of .*, got float64; convert"):
        tensor[[0]] = 1.5
    with pytest.raises(TypeError, match=r"expected elements of .*, got float64; convert"):
        tensor[cw.asarray([True, False, True])] = np.array([0.5])
    with pytest.raises(OverflowError):
        tensor[[0]] = 2**70
    with pytest.raises(ValueError, match="broadcasts to"):
        tensor[[0, 1]] = np.zeros((3, 4), int)
    with pytest.raises(ValueError, match="broadcasts to"):
        tensor[[0, 1]] = np.zeros((2, 1, 4), int)
    tensor[[0, 1]] = np.ones((1, 1, 4), np.int8)
    assert tensor.tolist() == [[1] * 4, [1] * 4, [0] * 4]


def test_a_secret_mask_decides_no_shape() -> None:
    mask = cw.asarray([True, False, True])
    mask.mark_secret()
    tensor = cw.asarray([1, 2, 3])
    with pytest.raises(SecretError):
        tensor[mask]
    tensor[mask] = 0
    assert tensor.tolist() == [0, 2, 0]


def test_a_trace_records_indices_and_refuses_masks() -> None:
    a, i, j = cw.asarray(CUBE), cw.asarray([2, 0]), cw.asarray([-1, 1])

    def several(a: cw.Tensor, i: cw.Tensor, j: cw.Tensor) -> list[cw.Tensor]:
        written = ops.copy(a)
        written[i, :, j] = a[0, :, :2].T
        written[i] = -1
        return [a[i], a[i, j], a[:, i, j], a[i, :, j], written]

    changed = CUBE.copy()
    changed[[2, 0], :, [-1, 1]] = CUBE[0, :, :2].T
    changed[[2, 0]] = -1
    program = cw.trace(several, a, i, j)
    i_, j_ = [2, 0], [-1, 1]
    expected = [CUBE[i_], CUBE[i_, j_], CUBE[:, i_, j_], CUBE[i_, :, j_], changed]
    for output, array in zip(program.run(a, i, j).outputs, expected, strict=True):
        same(output, array)
    for wrong in ([2, 3], [-4, 0]):
        with pytest.raises(ContentsError, match="expected indices"):
            program.run(a, wrong, j)
    with pytest.raises(TraceError, match="shape"):
        cw.trace(lambda a: a[a > 3], a)

    def clipped(a: cw.Tensor) -> cw.Tensor:
        result = ops.copy(a)
        result[a > 3] = 3
        return result

    same(cw.trace(clipped, a).run(a).outputs[0], np.minimum(CUBE, 3))


@pytest.mark.parametrize(
    "key",
    [
        (np.array([0, -1]), np.array([2, 1])),
        (np.array([[1], [0]]), np.array([0, -3, 2])),
        (np.array([1, 0]), 2),
        (slice(None), np.array([0, 2]), np.array([3, -4])),
        (slice(0, 2), [2, 0, 1]),
        (slice(None, None, -1), 1, np.array([[3], [0]], np.int32)),
    ],
)
def test_indices_of_neighbouring_axes_take_no_detour_through_python(
    key: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a key went through Python")

    monkeypatch.setattr("cloakwork.tensors.indexing.get", refuse)
    array = np.arange(24).reshape(2, 3, 4)
    tensors = tuple(cw.asarray(part) if isinstance(part, np.ndarray) else part for part in key)
    same(cw.asarray(array)[tensors], array[key])
    if not isinstance(key[0], slice):
        monkeypatch.setattr("cloakwork.tensors.indexing.put", refuse)
        written = cw.asarray(array, copy=True)
        written[tensors] = -7
        array[key] = -7
        same(written, array)


def test_an_index_of_several_that_is_out_of_range_is_named_with_its_axis() -> None:
    tensor, fine = cw.zeros((2, 3)), cw.asarray([0, 1])
    for key, axis in (((fine, cw.asarray([0, 3])), 1), ((cw.asarray([-3, 0]), fine), 0)):
        with pytest.raises(TensorIndexError, match=f"out of range for axis {axis} of size"):
            tensor[key]
        with pytest.raises(TensorIndexError, match=f"out of range for axis {axis} of size"):
            tensor[key] = 1.0
    same(tensor, np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("dtype", "numbers"), [("int8", [300, 1]), ("uint8", [-1, 1]), ("u32", (1, -2))]
)
def test_numbers_of_a_list_that_do_not_fit_are_refused(dtype: str, numbers: Any) -> None:
    a = cw.zeros(2, dtype=dtype)
    with pytest.raises(ParamError, match="expected elements that"):
        a[:] = numbers
    assert a.tolist() == [0, 0]
    with pytest.raises(ParamError, match="expected elements that"):
        a[..., [0, 1]] = numbers
    a[:] = [7, 1]
    assert a.tolist() == [7, 1]
    a[..., [1, 0]] = [3, 4]
    assert a.tolist() == [4, 3]


@pytest.mark.parametrize(
    ("key", "places"),
    [((..., [0]), [0, 2]), ((slice(None), [True, False]), [0, 2]), (([False, True], 0), [2])],
)
def test_an_element_of_an_extension_is_assigned_by_any_key(key: Any, places: list[int]) -> None:
    old, new = (1, 2, 3, 4), (9, 8, 7, 6)
    x = cw.asarray([[old] * 2] * 2, dtype="babybear.ext4")
    x[key] = new
    assert x.reshape([4]).tolist() == [new if place in places else old for place in range(4)]


def _added(row: cw.Tensor) -> None:
    row += 1


def _written(row: cw.Tensor) -> None:
    row[1:] = 0


def _at_a_place(row: cw.Tensor) -> None:
    row[0] = 0


def _by_a_mask(row: cw.Tensor) -> None:
    row[row > 1] = 0


def _as_a_result(row: cw.Tensor) -> None:
    cw.ops.add(row, row, out=row)


def _of_a_part(row: cw.Tensor) -> None:
    part = row[1:]
    part[...] = 7


WRITES = (_added, _written, _at_a_place, _by_a_mask, _as_a_result, _of_a_part)


@pytest.mark.parametrize("write", WRITES)
def test_a_part_of_a_view_that_repeats_elements_is_not_written(
    write: Callable[[cw.Tensor], None],
) -> None:
    x = cw.asarray([1, 2, 3])
    # NumPy's is read-only, too.
    assert not np.broadcast_to(np.asarray(x), (2, 3))[0].flags.writeable

    def written(x: cw.Tensor) -> cw.Tensor:
        row = cw.ops.broadcast_to(x, (2, 3))[0]
        write(row)
        return row

    with pytest.raises((ParamError, OpError), match="one write would change several"):
        written(x)
    with cw.batch(), pytest.raises((ParamError, OpError), match="one write would change several"):
        written(x)
    if write is not _by_a_mask:
        with pytest.raises((ParamError, OpError), match="one write would change several"):
            cw.trace(written, x)
    assert x.tolist() == [1, 2, 3]
    # A copy is its own, and parts of views that repeat nothing are written as ever.
    write(cw.ops.broadcast_to(x, (2, 3)).copy()[0])
    assert x.tolist() == [1, 2, 3]
    write(x[np.newaxis, ::-1].T[:, 0])
    assert x.tolist() != [1, 2, 3]


def test_a_part_of_a_view_that_repeats_elements_is_lent_as_read_only() -> None:
    x = cw.asarray([1, 2, 3])
    row = cw.ops.broadcast_to(x, (2, 3))[0]
    assert not np.asarray(row).flags.writeable
    assert not np.from_dlpack(row).flags.writeable
    assert np.asarray(x[:2]).flags.writeable
    assert (row + 1).tolist() == [2, 3, 4]
