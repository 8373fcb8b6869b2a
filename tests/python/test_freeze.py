"""Frozen tensors, and the constants that ops keep with them."""

from __future__ import annotations

from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core, ops
from cloakwork.errors import OpError, ParamError
from cloakwork.modular.negacyclic import Transform
from cloakwork.modular.primes import ntt_primes


def test_a_tensor_that_nothing_else_sees_is_frozen_in_place() -> None:
    tensor = cw.arange(5)
    assert not tensor.is_frozen
    assert tensor.freeze() is tensor
    assert tensor.is_frozen
    assert tensor[1:3].is_frozen
    assert tensor.freeze() is tensor


def test_what_others_see_is_copied_and_keeps_its_order_of_axes() -> None:
    base = cw.asarray(np.arange(6).reshape(2, 3))
    view = base.moveaxis(0, 1)
    frozen = view.freeze()
    base[0, 0] = 99
    assert frozen.strides == view.strides
    assert np.asarray(frozen).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert not base.is_frozen


def test_memory_of_others_is_copied() -> None:
    array = np.arange(4)
    frozen = cw.asarray(array, copy=False).freeze()
    array[0] = 7
    assert np.asarray(frozen).tolist() == [0, 1, 2, 3]


def test_nothing_writes_a_frozen_tensor() -> None:
    frozen = cw.asarray(np.arange(4)).freeze()
    with pytest.raises(OpError, match="read-only"):
        frozen[0] = 1
    with pytest.raises(OpError, match="read-only"):
        ops.modsum(frozen, 1, 17, out=frozen)
    assert not np.asarray(frozen).flags.writeable
    assert np.asarray(frozen).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("exported", [np.asarray, memoryview, np.from_dlpack])
def test_memory_that_python_sees_is_not_frozen_in_place(exported: Any) -> None:
    tensor = cw.arange(4) + 17
    shared = exported(tensor)
    frozen = tensor.freeze()
    shared[0] = 0
    assert np.asarray(tensor).tolist() == [0, 18, 19, 20]
    assert np.asarray(frozen).tolist() == [17, 18, 19, 20]
    assert not tensor.is_frozen
    del shared
    assert tensor.freeze() is tensor


def test_a_frozen_tensor_is_not_zeroed_under_what_was_derived_from_it() -> None:
    moduli, x = cw.asarray([17, 19]).freeze(), cw.asarray([[5, 6]])
    assert np.asarray(ops.modmul(x, x, moduli)).tolist() == [[8, 17]]
    with pytest.raises(ParamError, match="zeroize: got read-only memory"):
        moduli.zeroize()
    with pytest.raises(ParamError, match="zeroize"):
        moduli[:1].zeroize()
    assert np.asarray(ops.modmul(x, x, moduli)).tolist() == [[8, 17]]
    array = np.arange(3)
    array.flags.writeable = False
    with pytest.raises(ParamError, match="zeroize"):
        cw.asarray(array, copy=False).zeroize()


def _transforms(transform: Transform, x: cw.Tensor, limbs: slice) -> np.ndarray:
    tables = {"perm": transform.perm, "q": transform.q[limbs], "psi": transform.psi[limbs]}
    return np.asarray(ops.ntt(x[..., limbs].unsqueeze(0).unsqueeze(2), axis=-3, **tables))


def test_constants_of_frozen_tables_serve_every_slice_of_them() -> None:
    degree, moduli = 512, ntt_primes(512, [45, 50, 55, 60])
    rng = np.random.default_rng(1)
    x = cw.asarray(np.stack([rng.integers(0, q, degree) for q in moduli], axis=-1))
    plain, frozen = Transform(degree, moduli), Transform(degree, moduli)
    for name in ("perm", "q", "psi"):
        setattr(frozen, name, getattr(frozen, name).freeze())
    for limbs in (slice(0, 4), slice(0, 2), slice(1, 3), slice(3, 4), slice(0, 4)):
        for _ in range(2):
            expected = _transforms(plain, x, limbs)
            assert np.array_equal(_transforms(frozen, x, limbs), expected)


def test_frozen_tables_outlive_their_names_and_others_at_the_same_place_are_not_mistaken() -> None:
    degree = 256
    for bits in (40, 41, 42, 43):
        transform = Transform(degree, ntt_primes(degree, [bits]))
        x = cw.asarray(np.arange(degree).reshape(degree, 1))
        expected = _transforms(transform, x, slice(0, 1))
        for name in ("perm", "q", "psi"):
            setattr(transform, name, getattr(transform, name).freeze())
        assert np.array_equal(_transforms(transform, x, slice(0, 1)), expected)


def test_a_program_holds_a_frozen_tensor_in_any_order_of_axes() -> None:
    base = np.arange(12).reshape(3, 4)
    weights = cw.asarray(base).moveaxis(0, 1).freeze()
    program = cw.trace(lambda x: ops.modsum(x, weights, 1000), cw.zeros((4, 3), "i64"))
    result = program.run(np.ones((4, 3), dtype=np.int64)).outputs[0]
    assert np.array_equal(np.asarray(result), base.T + 1)
    part = cw.asarray(base).freeze()[1:, 1:3]
    program = cw.trace(lambda x: ops.modsum(x, part, 1000), cw.zeros((2, 2), "i64"))
    result = program.run(np.ones((2, 2), dtype=np.int64)).outputs[0]
    assert np.array_equal(np.asarray(result), base[1:, 1:3] + 1)


def test_results_of_residues_lie_as_their_operands_do() -> None:
    limbs = cw.empty((3, 64), "i64").moveaxis(-1, -2)
    limbs[...] = 5
    q = cw.asarray([17, 19, 23])
    assert ops.modmul(limbs, limbs, q).strides == (8, 512)
    assert ops.modmul(limbs.contiguous(), limbs, q).strides == (24, 8)
    assert np.asarray(ops.modmul(limbs, limbs, q)).tolist() == [[8, 6, 2]] * 64


def test_what_is_not_written_yet_has_its_shape_and_is_an_empty_of_a_program() -> None:
    room = _core.unwritten((3, 5), "i64")
    assert (room.shape, room.dtype) == ((3, 5), "i64")
    assert _core.unwritten((0, 4), "f32").size == 0

    def squares(x: cw.Tensor) -> cw.Tensor:
        return ops.modmul(x, x, 17, out=_core.unwritten(x.shape, "i64"))

    program = cw.trace(squares, cw.zeros(3, "i64"))
    assert np.asarray(program.run([2, 5, 6]).outputs[0]).tolist() == [4, 8, 2]
    assert "empty" in str(program)


def test_a_program_holds_the_whole_of_a_frozen_tensor_once_and_takes_parts_of_it() -> None:
    base = np.arange(2 * 3 * 64).reshape(2, 3, 64)
    whole = cw.asarray(base).freeze()

    def sums(x: cw.Tensor) -> cw.Tensor:
        total = ops.modsum(x, whole[1, 0:2, :].moveaxis(-1, 0), 1000)
        total = ops.modsum(total, whole[0, 1:3, :].moveaxis(-1, 0), 1000)
        return ops.modsum(total, whole[1, 0:2, :].moveaxis(-1, 0), 1000)

    program = cw.trace(sums, cw.zeros((64, 2), "i64"))
    assert str(program).count("host_to_device") == 2
    result = np.asarray(program.run(np.zeros((64, 2), dtype=np.int64)).outputs[0])
    assert np.array_equal(result, (2 * base[1, 0:2].T + base[0, 1:3].T) % 1000)
