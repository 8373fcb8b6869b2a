"""Tensors that share one array: an operand is read before an overlapping result is written."""

from __future__ import annotations

import cloakwork as cw
import numpy as np
import pytest

LARGE = 200_000


@pytest.mark.parametrize("count", [6, LARGE])
def test_slices_are_written_from_the_array_as_it_was(count):
    for target, source in [(slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))]:
        ours, theirs = np.arange(count), np.arange(count)
        cw.asarray(ours)[target] = ours[source]
        theirs[target] = theirs[source]
        np.testing.assert_array_equal(ours, theirs)
    ours, theirs = np.arange(count), np.arange(count)
    cw.asarray(ours)[::-1] = ours
    theirs[::-1] = theirs.copy()
    np.testing.assert_array_equal(ours, theirs)


def test_an_own_tensor_is_written_from_an_array_over_it():
    a = cw.asarray(np.arange(6)).copy()
    a[::-1] = np.asarray(a)
    np.testing.assert_array_equal(a, np.arange(6)[::-1])


@pytest.mark.parametrize("count", [8, LARGE])
def test_operators_in_place_read_the_array_as_it_was(count):
    ours, theirs = np.arange(count), np.arange(count)
    tensor = cw.asarray(ours)
    tensor[1:] += ours[:-1]
    theirs[1:] += theirs[:-1].copy()
    np.testing.assert_array_equal(ours, theirs)
    tensor *= ours[::-1]
    theirs *= theirs[::-1].copy()
    np.testing.assert_array_equal(ours, theirs)


def test_index_and_mask_writes_read_the_array_as_it_was():
    a = cw.asarray(np.arange(6)).copy()
    a[cw.asarray([5, 4, 3, 2, 1, 0])] = np.asarray(a)
    np.testing.assert_array_equal(a, [5, 4, 3, 2, 1, 0])
    ours = np.arange(6)
    cw.asarray(ours)[cw.asarray([1, 2, 3, 4, 5])] = ours[:5]
    np.testing.assert_array_equal(ours, [0, 0, 1, 2, 3, 4])
    ours = np.arange(6)
    cw.asarray(ours)[cw.asarray(ours)] = ours[::-1]
    np.testing.assert_array_equal(ours, [5, 4, 3, 2, 1, 0])
    ours = np.array([0, 1, 1, 0, 1, 1])
    cw.asarray(ours)[cw.asarray(ours).astype(cw.bool)] = ours[1:5]
    theirs = np.array([0, 1, 1, 0, 1, 1])
    theirs[theirs.astype(bool)] = theirs[1:5].copy()
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("count", [6, 1000])
def test_an_op_s_out_may_be_another_tensor_of_its_operand_s_array(count):
    ours = np.arange(count)
    left, right = cw.asarray(ours[:-1]), cw.asarray(ours[:-1])
    cw.ops.add(left, right, out=cw.asarray(ours[1:]))
    np.testing.assert_array_equal(ours[1:], 2 * np.arange(count - 1))
    # The same again, with calls prepared.
    expected = ours.copy()
    expected[1:] = 2 * ours[:-1]
    cw.ops.add(cw.asarray(ours[:-1]), cw.asarray(ours[:-1]), out=cw.asarray(ours[1:]))
    np.testing.assert_array_equal(ours, expected)


def test_a_key_of_random_numbers_is_read_by_its_strides():
    words = np.array([12345, 111, 678, 222], dtype=np.uint64)
    for key in (words[::2], words[::-1][:2], words[2:0:-1], np.broadcast_to(words[:1], (2,))):
        for op in (cw.ops.philox_uniform, cw.ops.philox_normal):
            for dtype in ("f32", "f64"):
                strided = op(cw.asarray(key), (5,), dtype)
                dense = op(cw.asarray(key.copy()), (5,), dtype)
                np.testing.assert_array_equal(strided, dense)
                traced = cw.trace(lambda k, op=op, dtype=dtype: op(k[::2], (5,), dtype), words)
                expected = op(cw.asarray(words[::2].copy()), (5,), dtype)
                np.testing.assert_array_equal(traced.run(words).outputs[0], expected)
