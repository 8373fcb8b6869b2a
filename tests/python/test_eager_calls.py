"""Repeated calls: with other elements, layouts, types, instruction sets, in threads."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core, ops
from cloakwork.errors import CloakworkError, OpError
from numpy.typing import NDArray

Array = NDArray[Any]
# Few shapes and types, so that calls of one kind are repeated often.
SHAPES = [(1,), (4,), (2, 3), (3, 2), (0, 3)]
DTYPES = ["f8", "f4", "i8", "i4", "u1"]
LAYOUTS: list[Callable[[Array], Array]] = [
    lambda x: x,
    lambda x: x.T,
    lambda x: x[::-1],
    lambda x: np.broadcast_to(x, (2, *x.shape)),
]
CALLS: list[tuple[Callable[[cw.Tensor], cw.Tensor], Callable[[Array], Any]]] = [
    (lambda x: x + x, lambda x: x + x),
    (lambda x: x * 3, lambda x: x * 3),
    (lambda x: x < 2, lambda x: x < 2),
    (cw.sum, np.sum),
    (lambda x: cw.sum(x, axis=-1), lambda x: np.sum(x, axis=-1)),
    (lambda x: cw.where(x > 1, x, 0), lambda x: np.where(x > 1, x, x.dtype.type(0))),
    (lambda x: cw.astype(x, cw.int64), lambda x: x.astype(np.int64)),
    (lambda x: cw.reshape(x, (-1,)), lambda x: x.reshape(-1)),
    (lambda x: cw.concat([x, x]), lambda x: np.concatenate([x, x])),
    (cw.sort, np.sort),
    (cw.flip, np.flip),
    (lambda x: x[x > 1], lambda x: x[x > 1]),
    (lambda x: x[cw.asarray([0, -1])], lambda x: x[[0, -1]]),
    (lambda x: x @ x[0], lambda x: x @ x[0]),
]


def drawn(source: np.random.Generator) -> Array:
    shape, dtype = SHAPES[source.integers(len(SHAPES))], DTYPES[source.integers(len(DTYPES))]
    array = source.integers(0, 6, shape).astype(dtype)
    return LAYOUTS[source.integers(len(LAYOUTS))](array)


def outcome(call: Callable[[], Any]) -> Any:
    """The result of a call, or the text of its error."""
    try:
        return call()
    except (CloakworkError, TypeError, ValueError, IndexError) as error:
        return f"{type(error).__name__}: {error}"


def first_time(call: Callable[[], Any]) -> Any:
    """The same in a thread that has made no call yet."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(outcome(call)))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("seed", range(4))
def test_calls_in_any_order_give_numpys_results(seed: int) -> None:
    source = np.random.default_rng(seed)
    compared = 0
    for _ in range(600):
        array = drawn(source)
        ours, theirs = CALLS[source.integers(len(CALLS))]
        try:
            expected = np.asarray(theirs(array))
        except (ValueError, IndexError):
            continue
        compared += 1
        np.testing.assert_array_equal(np.asarray(ours(cw.asarray(array))), expected)
    assert compared > 400


def modular(q: Any, dtype: str = "i64") -> Callable[[], list[int]]:
    return lambda: ops.modmul(cw.asarray([3, 5], dtype), cw.asarray([4, 6], dtype), q).tolist()


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (modular(7), modular(0)),
        (modular(7), modular(2**62)),
        (modular(7, "i32"), modular(2**31, "i32")),
        (modular(cw.asarray([7, 9])), modular(cw.asarray([7, 1]))),
        (
            lambda: ops.take_along_axis(cw.arange(4), cw.asarray([3, 0]), 0).tolist(),
            lambda: ops.take_along_axis(cw.arange(4), cw.asarray([3, 4]), 0).tolist(),
        ),
        (
            lambda: cw.arange(4)[cw.asarray([3, 0])],
            lambda: cw.arange(4)[cw.asarray([3, -5])],
        ),
        (
            lambda: ops.from_canonical(cw.asarray([5], "u64"), "goldilocks").tolist(),
            lambda: ops.from_canonical(cw.asarray([2**64 - 1], "u64"), "goldilocks").tolist(),
        ),
        (
            lambda: cw.asarray([1, 2], cw.bn254_fr) ** 3 == 1,
            lambda: cw.asarray([1, 2], cw.bn254_fr) ** 1.5,
        ),
        (lambda: cw.sum(cw.ones((2, 3)), axis=1), lambda: cw.sum(cw.ones((2, 3)), axis=2)),
        (lambda: ops.sum(cw.ones((2, 3)), [1]), lambda: ops.sum(cw.ones((2, 3)), [5])),
        (lambda: cw.ones((2, 3)) @ cw.ones(3), lambda: cw.ones((2, 3)) @ cw.ones(2)),
    ],
)
def test_what_is_refused_after_a_good_call_is_refused_in_the_same_words(
    good: Callable[[], Any], bad: Callable[[], Any]
) -> None:
    good(), good()
    told = outcome(bad)
    assert isinstance(told, str)
    assert told == first_time(bad)
    good()


def test_integers_that_kernels_read_are_those_of_each_call() -> None:
    a = cw.asarray([100, 200, 300])
    for q in [*range(2, 60), 2**61]:
        assert ops.modmul(a, 7, q).tolist() == [x * 7 % q for x in (100, 200, 300)]
        assert ops.modmul(a, q, 101).tolist() == [x * q % 101 for x in (100, 200, 300)]


def test_integers_that_shape_a_call_are_those_of_each_call() -> None:
    a = cw.asarray(np.arange(6).reshape(2, 3))
    for axis in (0, 1, -1, 0):
        assert np.array_equal(np.asarray(ops.sum(a, [axis])), np.arange(6).reshape(2, 3).sum(axis))
    for value in (3, -1, 3):
        assert ops.set_const_val(ops.copy(a), value).tolist() == [[value] * 3] * 2


def test_an_operand_at_another_distance_from_the_result_is_another_call() -> None:
    memory = cw.zeros(8, dtype=cw.int64)
    memory[...] = cw.arange(8)
    for start in (0, 4, 0):
        part = memory[start : start + 3]
        ops.modsum(part, part, 1000, out=part)
    assert memory.tolist() == [0, 4, 8, 3, 8, 10, 12, 7]
    ops.modsum(memory[0:3], 1, 1000, out=memory[4:7])
    with pytest.raises(OpError, match="elements"):
        ops.modsum(memory[0:3], 1, 1000, out=memory[1:4])


def test_memory_that_must_not_be_written_is_refused_after_memory_that_may_be() -> None:
    a = cw.asarray([1, 2])
    ops.modsum(a, a, 5, out=cw.zeros(2, dtype=cw.int64))
    array = np.zeros(2, np.int64)
    array.flags.writeable = False
    with pytest.raises(OpError, match="read-only"):
        ops.modsum(a, a, 5, out=cw.asarray(array))
    assert not array.any()


def test_indices_are_read_anew_unless_they_are_frozen() -> None:
    a, indices = cw.asarray([10, 20, 30]), cw.asarray([0, 1])
    frozen = cw.asarray([2, 2]).freeze()
    assert a[indices].tolist() == [10, 20]
    assert a[frozen].tolist() == [30, 30]
    indices[...] = cw.asarray([2, 0])
    assert a[indices].tolist() == [30, 10]
    assert a[frozen].tolist() == [30, 30]


def test_each_instruction_set_has_kernels_of_its_own() -> None:
    a = cw.asarray(np.arange(64).reshape(8, 8).T)
    symbols = set()
    for name in [*cw.available_backends(), *cw.available_backends()]:
        with cw.select_backend(name):
            assert ops.modmul(a, a, 1009).tolist() == (np.asarray(a) ** 2 % 1009).tolist()
            last = _core.last_dispatch()
            assert last is not None
            symbols.add(last[0])
    assert len(symbols) == len({symbol.split("modmul_i64_")[1] for symbol in symbols})


def test_threads_make_the_same_calls_at_once() -> None:
    def work(seed: int) -> bool:
        numbers = np.random.default_rng(seed % 3)
        for _ in range(150):
            array = numbers.integers(0, 9, (int(numbers.integers(1, 5)), 3))
            x = cw.asarray(array)
            picked = x[cw.asarray([0, -1])]
            if not (
                np.array_equal(np.asarray(cw.sum(x, axis=0)), array.sum(axis=0))
                and np.array_equal(np.asarray(picked), array[[0, -1]])
                and np.array_equal(np.asarray(x.T @ x), array.T @ array)
                and np.array_equal(np.asarray(ops.modmul(x, x, 5)), array * array % 5)
            ):
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(12)))


def test_a_forked_child_goes_on_with_calls_of_its_parent() -> None:
    def calls() -> list[Any]:
        x = cw.asarray([[1, 2], [3, 4]])
        return [cw.sum(x, axis=0).tolist(), (x @ x).tolist(), x[x > 1].tolist()]

    expected = calls()
    child = os.fork()
    if child == 0:
        os._exit(0 if calls() == expected and cw.sum(cw.ones(17)).item() == 17 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
