"""Small tensors made, joined, written, picked from or converted without an op are as by the op."""

import operator
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import CloakworkError, DTypeError

DTYPES = ["bool", "int8", "uint8", "int32", "uint64", "float32", "float64", "complex64"]
SHAPES: list[Any] = [0, 3, (), (2, 3), [4, 1], (2, 0), (64, 64), (65, 64)]


def same(found: cw.Tensor, expected: np.ndarray[Any, Any]) -> None:
    assert found.dtype.name == expected.dtype.name
    assert found.shape == expected.shape
    assert np.asarray(found).tobytes() == expected.tobytes()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_filled_tensors_are_numpys(shape: Any, dtype: str) -> None:
    same(cw.zeros(shape, dtype=dtype), np.zeros(shape, dtype=dtype))
    same(cw.ones(shape, dtype=dtype), np.ones(shape, dtype=dtype))
    value = {"b": True, "i": 7, "u": 7, "f": 0.1, "c": 0.1j}[np.dtype(dtype).kind]
    same(cw.full(shape, value, dtype=dtype), np.full(shape, value, dtype=dtype))
    same(cw.full(shape, value), np.full(shape, value))


def test_shapes_and_values_that_are_wrong_are_refused_as_ever() -> None:
    for shape in (-1, (2, -3), "3", 2.5, (1,) * 17, (2**40, 2**40), None):
        for make in (cw.zeros, cw.ones, cw.empty, lambda shape: cw.full(shape, 2)):
            with pytest.raises((CloakworkError, TypeError)):
                make(shape)  # type: ignore[operator]
    for value, dtype in ((300, "uint8"), (-1, "uint16"), (0.5, "int64"), (1j, "float64")):
        with pytest.raises((CloakworkError, TypeError, OverflowError)):
            cw.full(2, value, dtype=dtype)
    with pytest.raises(DTypeError):
        cw.zeros(2, dtype="f5")
    assert cw.zeros(2, dtype="bn254.fr").tolist() == [0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3,), (0,), (2, 3), (4, 1, 2)], ids=str)
def test_joined_tensors_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    generator = np.random.default_rng(len(shape))
    arrays = [generator.integers(0, 2, shape).astype(dtype) for _ in range(3)]
    tensors = [cw.asarray(array, copy=True) for array in arrays]
    same(cw.concat(tensors), np.concatenate(arrays))
    same(cw.stack(tensors), np.stack(arrays))
    same(cw.stack(tuple(tensors), axis=-1), np.ascontiguousarray(np.stack(arrays, axis=-1)))
    strided = [tensors[0][::-1], tensors[1]]
    same(cw.concat(strided), np.concatenate([arrays[0][::-1], arrays[1]]))
    longer = np.concatenate([arrays[0], arrays[0]])
    same(cw.concat([tensors[1], cw.asarray(longer)]), np.concatenate([arrays[1], longer]))


def test_pieces_that_do_not_fit_are_refused_as_ever() -> None:
    a, b = cw.zeros((2, 3)), cw.zeros((2, 4))
    for call in (
        lambda: cw.concat([a, b]),
        lambda: cw.stack([a, b]),
        lambda: cw.concat([]),
        lambda: cw.concat([cw.zeros(()), cw.zeros(())]),
        lambda: cw.stack([a, 1.0]),  # type: ignore[list-item]
    ):
        with pytest.raises((CloakworkError, TypeError)):
            call()
    mixed = cw.concat([cw.zeros(1, dtype="int8"), cw.ones(1)])
    assert mixed.dtype == cw.float64
    assert mixed.tolist() == [0.0, 1.0]


def test_written_numbers_are_numpys() -> None:
    for dtype, value in (("int8", -128), ("uint64", 2**64 - 1), ("float32", 0.1), ("bool", True)):
        array = np.zeros((2, 3), dtype=dtype)
        tensor = cw.zeros((2, 3), dtype=dtype)
        array[1, -2] = value
        tensor[1, -2] = value
        same(tensor, array)
        view, part = tensor[:, ::2], array[:, ::2]
        view[0, 1] = part[0, 1] = dtype == "bool" or 1
        same(tensor, array)
    x = cw.zeros(2, dtype="int8")
    with pytest.raises(OverflowError):
        x[0] = 128
    with pytest.raises(TypeError, match="item assignment"):
        x[0] = 0.5
    with pytest.raises(IndexError):
        x[2] = 1
    shared = np.zeros(2)
    shared.flags.writeable = False
    for fixed in (cw.asarray(shared), cw.ones(2).freeze()):
        before = fixed.tolist()
        with pytest.raises(CloakworkError):
            fixed[0] = 5.0
        assert fixed.tolist() == before


def test_reshaped_views_share_memory_from_where_they_begin() -> None:
    x = cw.arange(24)
    part = x[6:18]
    for shape in ((3, 4), [2, 6], (12,), (1, 12, 1), (2, -1)):
        assert part.reshape(shape).tolist() == np.arange(24)[6:18].reshape(shape).tolist()
    part.reshape(3, 4)[2, 3] = 100
    assert x[17].item() == 100
    for shape in ((5,), (-1, -1), (3, -4), (2.0, 6)):
        with pytest.raises((CloakworkError, TypeError)):
            part.reshape(shape)
    copied = part.reshape((3, 4), copy=True)
    copied[0, 0] = -1
    assert x[6].item() == 6


def test_arrays_without_a_buffer_are_refused_by_their_dtype() -> None:
    for array in (np.array(["2020-01-01"], dtype="M8[D]"), np.array([object()]), np.zeros(1, "V3")):
        with pytest.raises((CloakworkError, TypeError)):
            cw.asarray(array)
    assert cw.asarray(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5,), (5, 0), (5, 3), (5, 2, 2), (5, 300)], ids=str)
def test_picked_rows_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    array = np.random.default_rng(5).integers(0, 2, shape).astype(dtype)
    tensor = cw.asarray(array, copy=True)
    for indices in ([0, -1, 3], [[4], [-5]], [], 2):
        places = np.array(indices, dtype=np.int64)
        same(tensor[cw.asarray(places)], array[places])
        same(tensor[::-1][cw.asarray(places)], array[::-1][places])
    for mask in ([True, False, True, True, False], [False] * 5):
        same(tensor[cw.asarray(mask)], array[np.array(mask)])
        same(tensor[cw.asarray(mask[::-1])[::-1]], array[np.array(mask)])
    for wrong in (5, -6, -(2**63), 2**63 - 1):
        with pytest.raises(IndexError):
            tensor[cw.asarray([0, wrong])]
    with pytest.raises(IndexError):
        tensor[cw.asarray([True, False])]


def test_ranges_of_integers_are_numpys() -> None:
    cases: list[tuple[int, ...]] = [
        (0,), (7,), (-3,), (2, 9), (9, 2), (2, 9, 3), (9, 2, -3), (2, 9, -1), (0, 1, 2**63 - 1),
        (-(2**63), -(2**63) + 3), (2**63 - 4, 2**63 - 1), (0, -(2**63), -(2**63)), (5000,),
        (2**63 - 1, 2**63 - 10, -3), (True,),
    ]  # fmt: skip
    for case in cases:
        same(cw.arange(*case), np.arange(*case, dtype=np.int64))
    with pytest.raises(CloakworkError):
        cw.arange(1, 2, 0)
    with pytest.raises((CloakworkError, OverflowError)):
        cw.arange(2**63, 2**63 + 2)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions_are_numpys(dtype: str, to: str) -> None:
    values = np.array([0, 1, 2, 100, 0.5]).astype(dtype)
    for array in (values, values[:0], values[::2], values.reshape(5, 1), np.resize(values, 9000)):
        tensor = cw.asarray(array, copy=True)
        if dtype == "complex64" and to not in ("complex64", "bool"):
            for convert in (tensor.astype, lambda name, tensor=tensor: cw.astype(tensor, name)):
                with pytest.raises(DTypeError, match="real"):
                    convert(to)
            continue
        same(tensor.astype(to), array.astype(to))
        same(cw.astype(cw.asarray(array), to), array.astype(to))
    assert tensor.astype(dtype) is not tensor
    assert tensor.astype(dtype, copy=False) is tensor


@pytest.mark.parametrize("dtype", DTYPES)
def test_assignments_with_an_operator_are_numpys(dtype: str) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    other = array[::-1].copy()
    numbers: dict[Any, Any] = {operator.iadd: 1, operator.isub: 1, operator.imul: 3}
    for assign, number in ({operator.ior: True} if dtype == "bool" else numbers).items():
        for operand in (other, other[::-1], other[0], np.array(number, dtype=dtype), number):
            ours, theirs = cw.asarray(array, copy=True), array.copy()
            given = cw.asarray(operand) if isinstance(operand, np.ndarray) else operand
            assert assign(ours, given) is ours
            assign(theirs, operand)
            same(ours, theirs)
        ours, theirs = cw.asarray(array, copy=True), array.copy()
        for written, own in ((ours, theirs), (ours[:, 1:], theirs[:, 1:])):
            assign(written, written)
            assign(own, own)
            assign(written, written[0, 0])
            assign(own, own[0, 0])
            same(ours, theirs)
        flat, array_flat = ours.reshape(6), theirs.reshape(6)
        assign(flat[:4], flat[2:])
        assign(array_flat[:4], array_flat[2:])
        same(ours, theirs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_squares_are_numpys(dtype: str) -> None:
    array = np.array([0, 1, 3, 200, 0.3, -0.0]).astype(dtype)
    tensor = cw.asarray(array)
    for exponent in (2, 2.0):
        if dtype == "bool" or (isinstance(exponent, float) and array.dtype.kind in "iu"):
            assert (tensor**exponent).tolist() == [float(x) ** 2 for x in array.tolist()]
            continue
        expected = array**exponent
        program = cw.trace(lambda x, e=exponent: x**e, tensor)
        for found in (tensor**exponent, program.run(tensor).outputs[0]):
            if array.dtype.kind == "c":  # NumPy's sign of zero depends on the place in the array
                assert found.tolist() == expected.tolist()
            else:
                same(found, expected)
    assert (cw.asarray([3], "bn254.fr") ** 2).tolist() == [9]


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64", "complex128"])
def test_every_way_to_square_gives_the_same_bits(dtype: str) -> None:
    generator = np.random.default_rng(2)
    array = generator.normal(0, 5, 4000).astype(dtype)
    if array.dtype.kind == "c":
        array += 1j * generator.normal(0, 5, 4000).astype(array.real.dtype)
    tensor, squared = cw.asarray(array), cw.asarray(array.copy())
    squared **= 2
    with cw.batch():
        waiting = tensor**2
    found = [
        squared, waiting, tensor**2, cw.pow(tensor, 2), cw.square(tensor), np.power(tensor, 2),
        cw.execute_batch([("pow", tensor, 2)])[0],
        cw.trace(lambda x: x**2, tensor).run(tensor).outputs[0],
    ]  # fmt: skip
    for one in found:
        assert np.asarray(one).tobytes() == np.asarray(tensor * tensor).tobytes()
    if array.dtype.kind != "c":
        assert np.asarray(squared).tobytes() == (array**2).tobytes()


def test_what_must_not_be_written_is_not_assigned_to() -> None:
    shared = np.zeros(2)
    shared.flags.writeable = False
    for fixed in (cw.asarray(shared), cw.ones(2).freeze()):
        before = fixed.tolist()
        for operand in (1.0, cw.ones(2)):
            with pytest.raises(CloakworkError):
                fixed += operand
        assert fixed.tolist() == before
    narrow = cw.ones(2, dtype="int8")
    for wrong in (0.5, 300, cw.ones(2), cw.ones((2, 2), dtype="int8")):
        with pytest.raises((CloakworkError, TypeError, OverflowError)):
            narrow += wrong
    array = np.arange(4.0)
    whole, part = cw.asarray(array), cw.asarray(array[:3])
    end = cw.asarray(array[1:])
    end += part  # two tensors of one array
    assert whole.tolist() == [0.0, 1.0, 3.0, 5.0]
