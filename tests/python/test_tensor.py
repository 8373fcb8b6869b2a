"""Tensors against NumPy arrays: views, indexing, conversion, the buffer protocol, secrets."""

import copy
import pickle
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import OpError, ParamError, SecretError, TensorIndexError
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

DTYPES = {
    "bool": np.bool_, "int8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "uint8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def same(tensor: cw.Tensor, array: NDArray[Any]) -> None:
    assert tensor.shape == array.shape
    assert tensor.ndim == array.ndim
    np.testing.assert_array_equal(np.asarray(tensor), array, strict=True)


@pytest.mark.parametrize(("name", "dtype"), DTYPES.items())
def test_every_dtype_goes_both_ways(name: str, dtype: type[np.generic]) -> None:
    array = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    tensor = cw.asarray(array)
    assert (tensor.dtype, tensor.nbytes, tensor.size) == (name, array.nbytes, 6)
    assert tensor.strides == array.strides
    same(tensor, array)
    assert np.asarray(tensor).dtype == dtype
    assert tensor[1, 2].item() == array[1, 2].item()
    assert type(tensor[1, 2].item()) is type(array[1, 2].item())


@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=0, max_dims=16, min_side=0, max_side=2)))
def test_all_ranks_and_empty_shapes_go_both_ways(array: NDArray[np.int64]) -> None:
    same(cw.asarray(array), array)
    same(cw.asarray(array.T), array.T)


def test_a_rank_of_17_is_refused() -> None:
    with pytest.raises(ParamError, match="at most 16 axes"):
        cw.asarray(np.zeros((1,) * 17))


def test_arrays_are_shared_in_and_out_unless_copied() -> None:
    array = np.arange(6).reshape(2, 3)
    shared_in, tensor = cw.asarray(array), cw.tensor(array)
    array[0, 0] = 99
    assert shared_in[0, 0].item() == 99
    assert tensor[0, 0].item() == 0
    shared = np.asarray(tensor)
    shared[0, 0] = 77
    assert tensor[0, 0].item() == 77
    assert np.shares_memory(np.asarray(tensor[0]), shared)
    assert not np.shares_memory(tensor.numpy(), shared)


def test_exported_memory_outlives_its_tensor() -> None:
    shared = np.asarray(cw.asarray(np.arange(100_000))[::2])
    np.testing.assert_array_equal(shared, np.arange(0, 100_000, 2))


def test_strided_views_are_exported_as_they_are() -> None:
    array = np.arange(24).reshape(2, 3, 4)
    tensor = cw.asarray(array)
    view = tensor.moveaxis(0, 2)[1:, ::2]
    same(view, np.moveaxis(array, 0, 2)[1:, ::2])
    assert view.strides == np.moveaxis(array, 0, 2)[1:, ::2].strides
    memory = memoryview(tensor)
    assert (memory.shape, memory.format, memory.readonly) == ((2, 3, 4), "l", False)
    assert bytes(memory) == array.tobytes()
    assert memoryview(tensor.moveaxis(0, 2)).tobytes() == np.moveaxis(array, 0, 2).tobytes()


def test_what_shows_an_element_twice_is_read_only() -> None:
    shared = np.asarray(cw.zeros((1, 2), "i64").expand(0, 3))
    assert shared.shape == (3, 2)
    with pytest.raises(ValueError, match="read-only"):
        shared[0, 0] = 1


def test_big_endian_and_odd_arrays_are_converted() -> None:
    same(cw.asarray(np.array([1, 2], dtype=">i4")), np.array([1, 2], dtype=np.int32))
    same(cw.asarray(np.arange(6)[::-2]), np.arange(6)[::-2])
    same(cw.asarray([[1, 2], [3, 4]], "uint8"), np.array([[1, 2], [3, 4]], dtype=np.uint8))
    same(cw.asarray([0, 2**63], "u64"), np.array([0, 2**63], dtype=np.uint64))
    same(cw.asarray([0.1], "f32"), np.array([0.1], dtype=np.float32))
    same(cw.asarray([7], np.int32), np.array([7], dtype=np.int32))
    same(cw.asarray(7), np.array(7))
    same(cw.asarray(b"ab" and memoryview(b"ab")), np.array([97, 98], dtype=np.uint8))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([2**63], "i64"), ([-1], "uint8"), ([300], "int8"), ([1.5], "i64"),
        (np.array([1.5]), "i32"),
        (np.array([2**40]), "i32"), (np.array([1e300]), "f32"), (["a"], "i64"), ([1 + 2j], "uint8"),
    ],
)  # fmt: skip
def test_elements_that_do_not_survive_are_refused(values: Any, dtype: str) -> None:
    with pytest.raises(ParamError):
        cw.asarray(values, dtype)


@pytest.mark.parametrize("values", [np.array([1], "f2"), ["a"], [2**70], np.array(["2020"], "M8")])
def test_kinds_of_elements_that_are_none_are_refused(values: Any) -> None:
    with pytest.raises(ParamError, match="dtype"):
        cw.asarray(values)


@pytest.mark.parametrize("dtype", ["i65", "", "complex256", "float128"])
def test_unknown_dtypes_are_refused_with_those_that_exist(dtype: str) -> None:
    with pytest.raises(ParamError, match="int8, int16, int32, int64"):
        cw.asarray([1], dtype)
    with pytest.raises(ParamError, match="int8, int16, int32, int64"):
        cw.empty(3, dtype)


def test_asarray_of_a_tensor_is_itself_unless_converted() -> None:
    tensor = cw.asarray([1, 2])
    assert cw.asarray(tensor) is tensor
    assert cw.asarray(tensor, "i64") is tensor
    same(cw.asarray(tensor, "i32"), np.array([1, 2], dtype=np.int32))


ARRAY = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
TENSOR = cw.asarray(ARRAY)


def _keys(dim: int) -> st.SearchStrategy[Any]:
    bound = st.none() | st.integers(-dim - 2, dim + 2)
    slices = st.builds(slice, bound, bound, st.none() | st.integers(-3, 3).filter(bool))
    return st.integers(-dim, dim - 1) | slices | st.just(slice(None))


@given(st.tuples(*map(_keys, ARRAY.shape)), st.integers(0, 4), st.data())
def test_indexing_is_numpys(keys: tuple[Any, ...], kept: int, data: Any) -> None:
    key = list(keys[:kept])
    if data.draw(st.booleans()):
        cut = data.draw(st.integers(0, kept))
        key[cut:] = [..., *[keys[axis] for axis in range(4 - kept + cut, 4)]]
    for _ in range(data.draw(st.integers(0, 2))):
        key.insert(data.draw(st.integers(0, len(key))), None)
    expected = ARRAY[tuple(key)]
    same(TENSOR[tuple(key)], expected)
    assert expected.size == 0 or np.shares_memory(
        np.asarray(TENSOR[tuple(key)]), np.asarray(TENSOR)
    )


def test_a_single_key_needs_no_tuple() -> None:
    same(TENSOR[1], ARRAY[1])
    same(TENSOR[-1], ARRAY[-1])
    same(TENSOR[...], ARRAY)
    same(TENSOR[None], ARRAY[None])
    same(TENSOR[np.int64(1)], ARRAY[1])


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (2, "index 2 is out of range for axis 0 of size 2"),
        (-3, "out of range"),
        ((0, 0, 0, 0, 0), "5 indices for a tensor of 4 axes"),
        ((..., ...), "only one"),
        (1.0, "float64, expected an integer"),
        ("a", "got 'a', expected an integer"),
        ((slice(None), np.array([0, 3])), "index 3 is out of range for axis 1 of size 3"),
    ],
)
def test_other_indices_are_refused(key: Any, message: str) -> None:
    with pytest.raises(TensorIndexError, match=message) as raised:
        TENSOR[key]
    assert isinstance(raised.value, IndexError)


def test_writing_through_a_view_writes_the_tensor() -> None:
    base = cw.zeros((2, 3), "i64")
    cw.ops.set_const_val(base[1, 1:], 5)
    same(base, np.array([[0, 0, 0], [0, 5, 5]]))


@given(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4), st.data())
def test_reshape_is_numpys_also_of_what_is_not_contiguous(
    shape: tuple[int, ...], data: Any
) -> None:
    array = np.arange(np.prod(shape)).reshape(shape).T
    factors = data.draw(st.permutations(shape))
    open_axis = data.draw(st.none() | st.integers(0, len(factors) - 1))
    if open_axis is not None:
        factors[open_axis] = -1
    tensor = cw.asarray(np.asarray(array.T)).moveaxis(0, -1) if len(shape) == 2 else None
    if tensor is not None:
        same(tensor.reshape(*factors), array.reshape(factors))
    same(cw.asarray(array).reshape(tuple(factors)), array.reshape(factors))


@pytest.mark.parametrize("shape", [(5,), (-1, -1), (-1, 4), (7, -1), (-2,), (0, -1)])
def test_shapes_of_other_sizes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises((ParamError, OpError)):
        cw.zeros(6, "i64").reshape(*shape)


def test_layout_methods_are_numpys() -> None:
    same(TENSOR.moveaxis(1, -1), np.moveaxis(ARRAY, 1, -1))
    same(TENSOR[:, :1].squeeze(1), ARRAY[:, 0])
    same(TENSOR.unsqueeze(-1), ARRAY[..., None])
    same(TENSOR.unsqueeze(0).expand(0, 3), np.broadcast_to(ARRAY, (3, *ARRAY.shape)))
    same(TENSOR.flatten(), ARRAY.ravel())
    same(TENSOR.flatten(1, 2), ARRAY.reshape(2, 12, 5))
    moved = TENSOR.moveaxis(0, 3)
    assert moved.contiguous().strides == np.ascontiguousarray(np.moveaxis(ARRAY, 0, 3)).strides
    same(moved.contiguous(), np.moveaxis(ARRAY, 0, 3))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.squeeze(0), lambda t: t.moveaxis(0, 4), lambda t: t.unsqueeze(6),
        lambda t: t.expand(0, 2), lambda t: t.flatten(2, 1), lambda t: t.expand(0, 0),
    ],
)  # fmt: skip
def test_layout_methods_refuse_what_the_ops_refuse(call: Any) -> None:
    with pytest.raises(OpError) as raised:
        call(TENSOR)
    assert raised.value.code in ("axis", "shape", "range")
    assert isinstance(raised.value, ValueError)


def test_len_iteration_and_truth_are_those_of_arrays() -> None:
    assert len(TENSOR) == 2
    for row, expected in zip(TENSOR, ARRAY, strict=True):
        same(row, expected)
    assert bool(cw.asarray([3])) is True
    assert bool(cw.asarray([[0]])) is False
    for wrong in (len, iter):
        with pytest.raises(TypeError, match="without axes"):
            wrong(cw.asarray(1))
    with pytest.raises(ValueError, match="needs one element"):
        bool(TENSOR)
    with pytest.raises(ValueError, match="this tensor has 120"):
        TENSOR.item()


def test_repr_shows_small_tensors_and_summarises_large_ones() -> None:
    assert repr(cw.asarray([[1, -2]])) == "Tensor([[ 1, -2]], dtype=i64)"
    assert repr(cw.asarray(5)) == "Tensor(5, dtype=i64)"
    assert repr(cw.zeros((0, 2), "int8")) == "Tensor([], shape=(0, 2), dtype=int8)"
    large = repr(cw.zeros((1000, 1000), "i64"))
    assert len(large) < 500
    assert "..." in large
    assert "shape=(1000, 1000)" in large


def test_a_secret_is_not_shown_copied_or_tested() -> None:
    secret = cw.asarray([123456789, 2])
    assert not secret.is_secret
    view = secret[:1]
    secret.mark_secret()
    assert secret.is_secret
    assert view.is_secret
    for tensor in (secret, view):
        assert "<secret>" in repr(tensor)
        assert "123456789" not in repr(tensor) + str(tensor)
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(SecretError, match=r"is not (copied|pickled)"):
                attempt(tensor)
    with pytest.raises(SecretError):
        bool(view)


def test_zeroing_reaches_every_view() -> None:
    tensor = cw.asarray([1, 2, 3])
    view, shared = tensor[1:], np.asarray(tensor)
    tensor.mark_secret()
    view.zeroize()
    assert shared.tolist() == [0, 0, 0]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["bool", "int8", "u64", "f32"])
def test_tensors_survive_pickling_and_copying(name: str, protocol: int) -> None:
    array = np.arange(24).reshape(2, 3, 4).astype(DTYPES[name])
    tensor = cw.asarray(array.copy())
    for view, expected in ((tensor, array), (tensor[:, ::-1, 1:], array[:, ::-1, 1:])):
        copies = [pickle.loads(pickle.dumps(view, protocol)), copy.copy(view), copy.deepcopy(view)]
        for made in copies:
            same(made, expected)
            assert not np.shares_memory(np.asarray(made), np.asarray(tensor))
    same(pickle.loads(pickle.dumps(tensor[0, 0, 0], protocol)), array[0, 0, 0])


def test_pickled_views_carry_their_own_elements_only() -> None:
    assert len(pickle.dumps(cw.zeros(10**6, "i64")[:3])) < 500


def test_empty_and_zeros_read_as_zeros() -> None:
    for make in (cw.empty, cw.zeros):
        same(make((2, 3), "i32"), np.zeros((2, 3), dtype=np.int32))
        same(make([], "f64"), np.zeros(()))
        same(make(3, "int64"), np.zeros(3, dtype=np.int64))


@pytest.mark.parametrize("shape", [-1, (2, -1), (2**50,), (1,) * 17, "ab", 1.5, (2**70,)])
def test_shapes_that_are_none_are_refused(shape: Any) -> None:
    with pytest.raises(OpError):
        cw.empty(shape, "i64")


def test_sizes_that_no_machine_has_are_refused() -> None:
    with pytest.raises(MemoryError):
        cw.empty((2**47,), "i64")


def test_ops_refuse_with_op_operand_expected_and_got() -> None:
    with pytest.raises(OpError) as raised:
        cw.ops.modmul(cw.asarray([1, 2]), cw.asarray([1], "i32"), 7)
    error = raised.value
    assert (error.op, error.code, error.operand) == ("modmul", "dtype", "b")
    assert (error.expected, error.got) == ("i64", "i32")
    assert str(error).startswith("modmul: `b`: expected i64, got i32")
    with pytest.raises(OpError, match=r"use cloakwork\.asarray"):
        cw.ops.modmul(np.array([1]), 1, 7)  # type: ignore[arg-type]
    with pytest.raises(OpError, match="64 bits"):
        cw.ops.modmul(cw.asarray([1]), 2**64, 7)
    with pytest.raises(OpError, match=r"`q`: expected a modulus .*, got 0"):
        cw.ops.modmul(cw.asarray([1]), 1, 0)
    with pytest.raises(OpError, match="modulus"):
        cw.ops.modmul(cw.asarray([1]), 1, cw.asarray([2**62 + 1]))


@given(
    hnp.arrays(np.int64, (2, 3), elements=st.integers(0, 2**62 - 58)),
    hnp.arrays(np.int64, (3,), elements=st.integers(0, 2**62 - 58)),
)
def test_products_and_sums_are_those_of_python_integers(
    a: NDArray[np.int64], b: NDArray[np.int64]
) -> None:
    q = np.array([2**62 - 57, 2**61 - 1, 97])
    a, b = a % q, b % q
    objects = [x.astype(object) for x in (a, b, q)]
    tensors = [cw.asarray(x) for x in (a, b, q)]
    product = cw.ops.modmul(*tensors)
    same(product, (objects[0] * objects[1] % objects[2]).astype(np.int64))
    out = cw.empty((2, 3), "i64")
    assert np.shares_memory(np.asarray(cw.ops.modsum(*tensors, out=out)), np.asarray(out))
    same(out, ((objects[0] + objects[1]) % objects[2]).astype(np.int64))


def test_random_tensors_have_their_distributions() -> None:
    small = np.asarray(cw.random.ternary((30_000,)))
    assert set(np.unique(small)) == {-1, 0, 1}
    assert np.abs(np.bincount(small + 1) - 10_000).max() < 500
    errors = np.asarray(cw.random.gaussian((200, 200)))
    assert errors.std() == pytest.approx(3.2, rel=0.03)
    assert abs(errors.mean()) < 0.1
    q = cw.asarray([3, 2**61 - 1])
    residues = np.asarray(cw.random.uniform_mod((10_000, 2), q))
    assert np.abs(np.bincount(residues[:, 0]) - 3333).max() < 400
    assert residues[:, 1].mean() == pytest.approx(2**60, rel=0.03)
    assert np.asarray(cw.random.uniform_mod((5,), 2)).max() <= 1
    assert cw.random.ternary((0, 3)).shape == (0, 3)


def test_random_tensors_differ_each_time() -> None:
    first, second = (np.asarray(cw.random.uniform_mod((4,), 2**61 - 1)) for _ in range(2))
    assert (first != second).all()


def test_another_sigma_than_the_tables_is_refused() -> None:
    with pytest.raises(ParamError, match="sigma"):
        cw.random.gaussian((3,), sigma=3.0)
