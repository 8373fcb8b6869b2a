"""Batches compute the same results as single calls."""

import threading
from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core
from cloakwork.errors import (
    CloakworkError,
    ContentsError,
    DeviceError,
    ParamError,
    SecretError,
    TraceError,
)


def arrays(count: int) -> tuple[cw.Tensor, cw.Tensor]:
    generator = np.random.default_rng(count)
    return cw.asarray(generator.random(count)), cw.asarray(generator.random(count))


@pytest.mark.parametrize("count", [0, 1, 7, 2048, 2049, 300_000])
def test_a_chain_has_the_bits_of_its_calls(count: int) -> None:
    a, b = arrays(count)
    expected = (np.asarray(a) * np.asarray(b) + 1.5) / np.asarray(b) - np.asarray(a)
    with cw.batch():
        result = (a * b + 1.5) / b - a
    assert np.array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_bit(threads: int) -> None:
    a, b = arrays(1_000_001)
    expected = np.asarray(a) * np.asarray(b) + np.asarray(a)
    cw.set_threads(threads)
    try:
        with cw.batch():
            result = a * b + a
    finally:
        cw.set_threads(None)
    assert np.array_equal(np.asarray(result), expected)


def test_views_broadcasts_and_products_mix() -> None:
    a = cw.asarray(np.arange(12.0).reshape(3, 4))
    row = cw.asarray([1.0, 2.0, 3.0, 4.0])
    with cw.batch():
        product = a @ a.T
        shifted = a[:, ::-1] * row + 1
        total = cw.sum(shifted, axis=0)
    x = np.asarray(a)
    assert np.array_equal(np.asarray(product), x @ x.T)
    assert np.array_equal(np.asarray(total), (x[:, ::-1] * np.asarray(row) + 1).sum(axis=0))


def test_looking_at_a_result_runs_what_waits() -> None:
    a, b = arrays(5)
    with cw.batch():
        c = a + b
        first = float(c[0])
        d = c * 2
    assert first == float(a[0]) + float(b[0])
    assert np.array_equal(np.asarray(d), (np.asarray(a) + np.asarray(b)) * 2)


def test_writing_to_an_operand_does_not_change_what_was_called_before() -> None:
    a, b = arrays(5)
    before = np.asarray(a).copy()
    with cw.batch():
        c = a + b
        a += 1
    assert np.array_equal(np.asarray(c), before + np.asarray(b))
    assert np.array_equal(np.asarray(a), before + 1)


def test_a_batch_inside_a_batch_is_part_of_it() -> None:
    a, b = arrays(5)
    with cw.batch():
        with cw.batch():
            c = a + b
        d = c + 1
    assert np.array_equal(np.asarray(d), np.asarray(a) + np.asarray(b) + 1)


def test_after_an_error_inside_what_was_called_before_has_its_results() -> None:
    a, b = arrays(5)
    made: list[cw.Tensor] = []

    def fail() -> None:
        with cw.batch():
            made.append(a + b)
            made.append(made[0] * cw.asarray([1.0, 2.0]))

    with pytest.raises(ValueError, match="broadcast"):
        fail()
    assert len(made) == 1
    assert np.array_equal(np.asarray(made[0]), np.asarray(a) + np.asarray(b))
    assert repr(made[0]).startswith("Tensor([")


def test_what_does_not_depend_on_a_call_that_fails_has_its_results() -> None:
    a = cw.asarray([3, 5, 8])
    made: list[cw.Tensor] = []

    def fail() -> None:
        with cw.batch():
            made.append(a + 1)
            made.append(cw.ops.modmul(a, a, cw.asarray([0])))
            made.append(made[1] + 1)
            made.append(cw.sum(made[0][1:] * a[1:]))

    with pytest.raises(ContentsError, match="a modulus"):
        fail()
    assert made[0].tolist() == [4, 6, 9]
    assert made[3].item() == 6 * 5 + 9 * 8
    for lost in (made[1], made[2]):
        with pytest.raises(ContentsError, match="a modulus"):
            lost.tolist()


def test_an_interrupted_batch_leaves_nothing_behind() -> None:
    a, b = arrays(5000)  # fewer elements do not wait
    made: list[cw.Tensor] = []

    def abandon() -> None:
        with cw.batch():
            made.append(a + b)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        abandon()
    with pytest.raises(TraceError):
        float(made[0][0])
    assert np.array_equal(np.asarray(a + b), np.asarray(a) + np.asarray(b))


def test_calls_on_few_elements_are_computed_in_order_with_those_that_wait() -> None:
    small, _ = arrays(4)
    large = cw.zeros(5000)
    with cw.batch():
        first = small + 1.0  # nothing waits yet
        small += 1.0
        second = small * 2.0
        wide = large + small[0]
        third = small - 1.0
        small *= 3.0
        fourth = second + small
    start = np.asarray(arrays(4)[0])
    assert first.tolist() == (start + 1).tolist()
    assert second.tolist() == ((start + 1) * 2).tolist()
    assert wide[7].item() == start[0] + 1
    assert third.tolist() == ((start + 1) - 1).tolist()
    assert fourth.tolist() == ((start + 1) * 2 + (start + 1) * 3).tolist()


def test_wrong_calls_and_secrets_are_refused_at_the_call() -> None:
    a, _ = arrays(3)
    with cw.batch(), pytest.raises(ValueError, match="broadcast"):
        a + cw.asarray([1.0, 2.0])
    secret = cw.asarray([1.0])
    secret.mark_secret()
    with cw.batch(), pytest.raises(SecretError):
        secret + a


def test_operations_with_slots() -> None:
    a, b = arrays(4)
    results = cw.execute_batch([("add", a, b), ("multiply", cw.Slot(0), a), ("negative", b)])
    x, y = np.asarray(a), np.asarray(b)
    assert [np.asarray(r).tolist() for r in results] == [((x + y) * x).tolist(), (-y).tolist()]
    for wrong in ([("no such function", a)], [("add", cw.Slot(0), a)], [("_core", a)]):
        with pytest.raises(ParamError):
            cw.execute_batch(wrong)
    assert _core.batch_begin() is True  # no batch was left open
    _core.batch_end(abandon=True)


def test_operations_take_keywords_lists_and_names_with_their_namespace() -> None:
    a, b = arrays(4)
    x, y = np.asarray(a), np.asarray(b)
    square = np.arange(16.0).reshape(4, 4) + 20 * np.eye(4)
    found = cw.execute_batch(
        [
            ("add", a, b),
            ("sum", cw.Slot(0), {"axis": 0, "keepdims": True}),
            ("concat", [cw.Slot(0), a], {"axis": -1}),
            ("clip", a, {"max": cw.Slot(1)}),
            ("linalg.solve", cw.asarray(square), cw.Slot(0)),
            ["fft.rfft", b],
            ("ops.abs", a),
        ]
    )
    # All but slots 0 and 1 are results.
    expected = [
        np.concat([x + y, x], axis=-1),
        np.clip(x, None, (x + y).sum(keepdims=True)),
        np.linalg.solve(square, x + y),
        np.fft.rfft(y),
        np.abs(x),
    ]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-12)


@pytest.mark.parametrize(
    ("operations", "text"),
    [
        ([()], r"operations\[0\]: got \(\), expected a tuple of a function's name"),
        ([5], r"operations\[0\]: got 5, expected a tuple"),
        (["add"], r"operations\[0\]: got 'add', expected a tuple"),
        (5, "operations: got int, expected a sequence of tuples"),
        ("add", "operations: got str, expected a sequence of tuples"),
        ([("linalg.nothing", 1.0)], "operation: got linalg.nothing, expected the name"),
        ([("linalg.LinAlgError", 1.0)], "operation: got linalg.LinAlgError, expected the name"),
        ([("fft.of_array", 1.0)], "operation: got fft.of_array, expected the name"),
        ([("linalg._core", 1.0)], "operation: got linalg._core, expected the name"),
        ([("fhe.ckks", 1.0)], "operation: got fhe.ckks, expected the name"),
        ([("os.system", "true")], "operation: got os.system, expected the name"),
        ([("linalg.", 1.0)], "operation: got linalg., expected the name"),
        ([("save", "file")], "operation: got save, expected the name"),
        ([("sum", cw.Slot(0), {"axis": 0})], "slot: got 0, expected none"),
        ([("abs", cw.ones(1)), ("sum", [cw.Slot(1)])], "slot: got 1, expected an earlier"),
    ],
)
def test_what_is_no_operation_is_refused_by_its_place(operations: Any, text: str) -> None:
    with pytest.raises(ParamError, match=text):
        cw.execute_batch(operations)
    assert _core.batch_begin() is True
    _core.batch_end(abandon=True)


def test_a_fused_chain_needs_no_memory_for_what_passes() -> None:
    example = cw.zeros(100_000, dtype="f32")
    program = cw.trace(lambda a, b: a * b + a, example, example)
    text = program._core.plan_text()
    assert "together" in text
    assert "arena 0 B" in text


class Expressions:
    """Random expressions over views of one array, computed on tensors and on NumPy's arrays."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        dtype = self.rng.choice(["f8", "f4", "i8"])
        base = self.rng.integers(-9, 9, (6, 4, 4)).astype(dtype)
        self.arrays, self.tensors = [base], [cw.asarray(base)]

    def view(self) -> None:
        """One more view of an array that is there."""
        key: list[int | slice] = []
        place = int(self.rng.integers(len(self.arrays)))
        for size in self.arrays[place].shape:
            kind = self.rng.integers(4)
            start = int(self.rng.integers(max(size, 1)))
            if kind == 0 and size:
                key.append(start)
            elif kind == 1:
                key.append(slice(start, None))
            elif kind == 2:
                key.append(slice(None, None, -1))
            else:
                key.append(slice(None))
        self.arrays.append(self.arrays[place][tuple(key)])
        self.tensors.append(self.tensors[place][tuple(key)])

    def call(self) -> None:
        """One more result of an operator or a function."""
        i, j = (int(place) for place in self.rng.integers(len(self.arrays), size=2))
        x, y, t, u = self.arrays[i], self.arrays[j], self.tensors[i], self.tensors[j]
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            y, u = x, t
        match int(self.rng.integers(8)):
            case 0:
                self.both(x + y, t + u)
            case 1:
                self.both(x - y, t - u)
            case 2:
                self.both(x * y, t * u)
            case 3:
                self.both(x * 3 - 1, t * 3 - 1)
            case 4:
                self.both(np.where(x > y, x, y), cw.where(t > u, t, u))
            case 5:
                self.both(x.T, cw.permute_dims(t, tuple(reversed(range(t.ndim)))))
            case 6 if x.ndim:
                self.both(np.sum(x, axis=0), cw.sum(t, axis=0, dtype=t.dtype))
            case _:
                self.both(x.reshape(-1), t.reshape(-1))

    def both(self, array: Any, tensor: cw.Tensor) -> None:
        self.arrays.append(np.asarray(array))
        self.tensors.append(tensor)

    def compare(self) -> None:
        for array, tensor in zip(self.arrays, self.tensors, strict=True):
            assert np.asarray(tensor).dtype == array.dtype
            assert np.allclose(np.asarray(tensor), array, rtol=1e-5)


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_random_expressions_over_views_are_numpys(first: int) -> None:
    for seed in range(first, first + 100):
        expressions = Expressions(seed)
        for _ in range(3):
            expressions.view()
        with cw.batch():
            for _ in range(6):
                expressions.call()
                expressions.view()
        expressions.compare()


def test_a_copy_of_an_array_is_made_at_once() -> None:
    array = np.arange(4.0)
    with cw.batch():
        copies = [
            cw.tensor(array), cw.asarray(array, copy=True), cw.asarray(array, "f32"),
            cw.tensor(array, "c128"), cw.tensor(memoryview(array)), cw.tensor(cw.asarray(array)),
        ]  # fmt: skip
        sums = [copy + 1 for copy in copies]
        array[:] = 7
    # An operand that is already a tensor is copied when the batch runs the call.
    assert [one.tolist() for one in sums] == 5 * [[1, 2, 3, 4]] + [[8, 8, 8, 8]]


VIEWS: dict[str, Callable[[Any], Any]] = {
    "column": lambda a: a[:, 1],
    "backwards": lambda a: a[::-1, ::2],
    "transposed": lambda a: a.T,
    "flat": lambda a: a.reshape(-1),
    "of a view": lambda a: a.T[1:].T[0],
}


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("read", [True, False])
@pytest.mark.parametrize("name", VIEWS)
def test_views_of_a_batch_share_memory_once_it_has_run(name: str, read: bool, few: bool) -> None:
    start = np.arange(12.0).reshape(3, 4) if few else np.arange(9000.0).reshape(90, 100)
    expected = start + 1
    view_of_expected = VIEWS[name](expected)
    with cw.batch():
        a = cw.asarray(start) + 1
        view = VIEWS[name](a)
        other = VIEWS[name](view.reshape(1, -1)) if name == "flat" else view
        if read:
            view.tolist()
        a += 10
    expected += 10
    assert np.array_equal(np.asarray(view), view_of_expected)
    assert np.array_equal(np.asarray(a), expected)
    view *= 2
    view_of_expected *= 2
    a[0] = 5
    expected[0] = 5
    for found, wanted in ((view, view_of_expected), (a, expected)):
        assert np.array_equal(np.asarray(found), wanted)
    assert np.shares_memory(np.asarray(other), np.asarray(a))


def test_a_view_whose_base_is_gone_is_a_result_of_its_own() -> None:
    with cw.batch():
        column = (cw.zeros((100, 100)) + 1)[:, 3]
    column += 1
    assert column.tolist() == [2.0] * 100
    with cw.batch():
        base = cw.zeros((100, 100)) + 1
        first, second = base[0], base.T[0]
        del base
    first += 1
    assert second[0].item() == 2.0
    assert second[1].item() == 1.0


def test_views_of_a_failed_batch_say_why() -> None:
    made: list[cw.Tensor] = []

    def record() -> None:
        good = cw.asarray([3.0, 4.0]) + 1
        bad = cw.ops.take_along_axis(good, cw.asarray([5]), 0)
        made.extend([good, good[1:], bad, bad.reshape(1, 1)])

    with pytest.raises(CloakworkError), cw.batch():
        record()
    good, part, *views = made
    part += 1
    assert good.tolist() == [4.0, 6.0]
    for view in views:
        with pytest.raises(CloakworkError):
            view.tolist()


def test_a_part_of_a_traced_tensor_may_be_its_mask() -> None:
    def written(x: cw.Tensor) -> cw.Tensor:
        copy = x & True
        copy[copy[::-1]] = False
        return copy

    x = cw.asarray([True, True, False])
    assert written(x).tolist() == [True, False, False]
    assert cw.trace(written, x).run(x).outputs[0].tolist() == [True, False, False]


def test_threads_that_want_a_result_at_the_same_time_wait_for_one_run() -> None:
    found: list[object] = []

    def use(tensor: cw.Tensor) -> None:
        try:
            found.append(np.asarray(tensor)[5])
        except TraceError as error:
            found.append(error)

    for _ in range(20):
        with cw.batch():
            result = cw.asarray(np.arange(300_000.0)) * 2 + 1
            threads = [threading.Thread(target=use, args=(result,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            threads[-1].join()
        use(result)
        for thread in threads:
            thread.join()
    assert found == [11.0] * 80


def test_a_batch_runs_on_the_device_that_it_names() -> None:
    a = cw.asarray(np.arange(12.0).reshape(3, 4))
    with cw.batch(device="sim:0"):
        total = cw.sum(a @ a.T + 1.0, axis=0)
        with cw.batch():
            doubled = total * 2.0
    expected = (np.asarray(a) @ np.asarray(a).T + 1.0).sum(axis=0)
    assert np.array_equal(np.asarray(total), expected)
    assert np.array_equal(np.asarray(doubled), 2.0 * expected)


def test_a_batch_on_another_device_than_the_batch_around_is_refused() -> None:
    with (
        cw.batch(device="sim:0"),
        pytest.raises(TraceError, match="a batch on sim:1 inside a batch on sim:0"),
        cw.batch(device="sim:1"),
    ):
        pass
    with pytest.raises(DeviceError, match="unknown device 'tpu:0'"), cw.batch(device="tpu:0"):
        pass
