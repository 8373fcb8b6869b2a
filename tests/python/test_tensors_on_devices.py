"""Tensors on devices: calls on them run there, and give what the host gives."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import Tensor
from cloakwork.device import PythonDevice, takes
from cloakwork.errors import ContentsError, DeviceError, ParamError, SecretError
from python.made_up_cuda import variables

ON = "sim:0"
RANDOM = np.random.default_rng(7)

Call = Callable[..., Any]


class Counting(PythonDevice):
    """A device that counts its calls."""

    name = "counting"
    calls: ClassVar[list[str]] = []

    @takes("int64")
    def add(self, out: Any, a: Any, b: Any) -> None:
        self.calls.append("add")
        out[...] = a + b

    def copy(self, out: Any, a: Any) -> None:
        out[...] = a


@pytest.fixture(scope="module")
def counting() -> str:
    return cw.device.register(Counting())


def there(values: Any) -> Tensor:
    return cw.asarray(values, device=ON)


def test_a_tensor_moves_to_a_device_and_back() -> None:
    x = cw.asarray(np.arange(6.0))
    y = x.to(ON)
    assert (x.device, y.device, y.to_device("cpu").device) == ("cpu", ON, "cpu")
    assert y.to(ON) is y
    assert repr(y) == "Tensor([0., 1., 2., 3., 4., 5.], dtype=f64, device=sim:0)"
    back = y.to("cpu")
    back[0] = 9
    assert np.array_equal(np.asarray(y), np.arange(6.0))


def test_calls_run_on_the_device_once_an_element_is_wanted(counting: str) -> None:
    Counting.calls.clear()
    x = cw.asarray([1, 2, 3], device=counting)
    y = x + x
    z = y + x + y
    assert (z.device, Counting.calls) == (counting, [])
    assert z.tolist() == [5, 10, 15]
    assert Counting.calls.count("add") == 3
    assert (z + z).tolist() == [10, 20, 30]
    assert Counting.calls.count("add") == 4


@pytest.mark.parametrize(
    "make",
    [
        lambda: cw.zeros((2, 3), device=ON), lambda: cw.ones(3, "i32", device=ON),
        lambda: cw.empty((2,), device=ON), lambda: cw.full((2, 2), 7, device=ON),
        lambda: cw.arange(1, 8, 3, device=ON), lambda: cw.linspace(0, 1, 5, device=ON),
        lambda: cw.eye(3, device=ON), lambda: cw.zeros_like(there([1, 2])),
        lambda: cw.full_like(there([1, 2]), 4), lambda: cw.tensor([1, 2], device=ON),
        lambda: cw.from_dlpack(np.arange(3), device=ON), lambda: cw.rand((2, 2), device=ON),
        lambda: cw.astype(cw.asarray([1.5]), "i64", device=ON),
        lambda: cw.fft.fftfreq(4, device=ON), lambda: cw.asarray([True], device=ON, copy=True),
    ],
)  # fmt: skip
def test_tensors_are_made_on_a_device(make: Call) -> None:
    assert make().device == ON


CALLS: list[Call] = [
    lambda x, y: x * 2 + y, lambda x, y: x @ y.T, lambda x, y: cw.concat([x, y], axis=1),
    lambda x, y: cw.stack([x, y, x]), lambda x, y: cw.sort(x, axis=0), lambda x, y: x[1:, ::2],
    lambda x, y: x[x > y], lambda x, y: x[[2, 0]], lambda x, y: cw.sum(x, axis=1) - cw.max(y),
    lambda x, y: cw.where(x > 0, x, y), lambda x, y: cw.roll(x, 3), lambda x, y: cw.argsort(y),
    lambda x, y: cw.cumulative_sum(x, axis=0), lambda x, y: cw.unique_values(x // 2),
    lambda x, y: cw.reshape(x, (2, -1)).moveaxis(0, 1), lambda x, y: cw.tril(x) + cw.triu(y, k=1),
    lambda x, y: cw.broadcast_to(x[0], (5, 4)), cw.isin, lambda x, y: -x ** 2,
    lambda x, y: cw.meshgrid(x[0], y[1])[0], lambda x, y: cw.repeat(x, 2, axis=0),
    lambda x, y: cw.take_along_axis(x, cw.argsort(y, axis=1), axis=1), lambda x, y: x.T.copy(),
    lambda x, y: x + np.arange(4), lambda x, y: cw.expand_dims(x, 0), lambda x, y: cw.flip(x),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["i64", "f64", "int8", "f32"])
def test_calls_give_what_the_host_gives(dtype: str) -> None:
    for call in CALLS:
        x, y = (RANDOM.integers(-9, 9, (4, 4)) for _ in range(2))
        own = [cw.asarray(cw.astype(cw.asarray(one), dtype)) for one in (x, y)]
        expected = call(*own)
        got = call(*(one.to(ON) for one in own))
        assert got.device == ON
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert np.asarray(got).tobytes() == np.asarray(expected).tobytes()


def test_random_chains_of_calls_give_what_the_host_gives() -> None:
    steps: list[Call] = [one for one in CALLS if one(*two()).shape == (4, 4)]
    assert len(steps) > 5
    for _ in range(60):
        host = list(two())
        away = [one.to(ON) for one in host]
        for _ in range(RANDOM.integers(1, 12)):
            step = steps[RANDOM.integers(len(steps))]
            a, b = RANDOM.integers(len(host), size=2)
            # Operands of either side go together.
            mixed = [away[a], host[b] if RANDOM.integers(3) == 0 else away[b]]
            host.append(step(host[a], host[b]) % 101)
            away.append(step(*mixed) % 101)
            if RANDOM.integers(4) == 0:
                assert np.array_equal(np.asarray(away[-1]), np.asarray(host[-1]))
        for one, other in zip(host, away, strict=True):
            assert np.array_equal(np.asarray(one), np.asarray(other))


def two() -> tuple[Tensor, Tensor]:
    x, y = RANDOM.integers(-50, 50, (2, 4, 4))
    return cw.asarray(x), cw.asarray(y)


def test_operands_of_the_host_are_taken_as_they_are_at_the_call() -> None:
    array = np.arange(4)
    shared = cw.asarray(array)
    y = there([10, 10, 10, 10]) + shared
    array[:] = 0
    shared[0] = 77
    assert y.tolist() == [10, 11, 12, 13]


def test_tensors_on_a_device_are_not_written_in_place() -> None:
    x = there([1, 2, 3])
    pending = x + x
    host = cw.asarray([1, 2, 3])
    writes: list[Callable[[Tensor], object]] = [
        lambda t: t.__iadd__(1), lambda t: t.__setitem__(0, 5), lambda t: t.__imatmul__(t),
        lambda t: cw.ops.copy(host, out=t), lambda t: t.__setitem__([0, 1], 5),
    ]  # fmt: skip
    for write in writes:
        for target in (x, pending):
            with pytest.raises(TypeError, match=f"tensors on {ON} are not written in place"):
                write(target)
    assert (x.tolist(), pending.tolist()) == ([1, 2, 3], [2, 4, 6])
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 1


def test_a_tensor_of_the_host_takes_elements_of_a_device() -> None:
    host = cw.zeros(3, "i64")
    host[1:] = there([4, 5])
    assert (host.device, host.tolist()) == ("cpu", [0, 4, 5])


def test_operands_on_two_devices_are_refused() -> None:
    with pytest.raises(ParamError, match=r"operands on sim:0 and on sim:1.*x\.to"):
        there([1]) + cw.asarray([1], device="sim:1")


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("gpu:7", "unknown device 'gpu:7'"), ("disk:0", "unknown device 'disk:0'"),
        ("", "unknown device"), ("sim:00", "unknown device"), ("cuda:0", "cuda:0"),
        ("./nothing.so", "cannot be read"),
    ],
)  # fmt: skip
def test_a_device_that_holds_no_tensors_is_refused(device: str, words: str) -> None:
    for make in (lambda: cw.asarray([1], device=device), lambda: cw.asarray([1]).to(device)):
        with pytest.raises((DeviceError, cw.errors.CloakworkError), match=words):
            make()
    assert cw.asarray([1]).to("cpu").device == "cpu"


def test_secrets_stay_with_the_host() -> None:
    secret = cw.asarray([1, 2, 3])
    secret.mark_secret()
    with pytest.raises(SecretError, match="stays in the host's memory"):
        secret.to(ON)
    found = there([1, 1, 1]) + secret
    assert (found.device, found.tolist()) == ("cpu", [2, 3, 4])


def test_wrong_contents_are_told_once_wanted_and_other_results_stay() -> None:
    x = there([5, 6, 7])
    right = x * 2
    wrong = cw.take_along_axis(x, there([0, 9, 1]), axis=0)
    after = right + 1
    with pytest.raises(ContentsError, match="indices from -3 to 2, got 9"):
        wrong.tolist()
    assert (right.tolist(), after.tolist()) == ([10, 12, 14], [11, 13, 15])
    assert right.device == after.device == ON
    assert (x + 1).tolist() == [6, 7, 8]


def test_shapes_and_dtypes_are_checked_at_the_call() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        there([1, 2]) + there([1, 2, 3])


def test_many_calls_do_not_pile_up() -> None:
    x = there(np.zeros(4, np.int64))
    for _ in range(3000):
        x = x + 1
    assert x.tolist() == [3000] * 4


def test_traced_functions_and_batches_take_tensors_on_devices() -> None:
    x = there([1.0, 2.0])
    pending = x * 3
    program = cw.trace(lambda t: t + x + pending, cw.asarray([0.0, 0.0]))
    assert program.run(cw.asarray([1.0, 1.0])).outputs[0].tolist() == [5.0, 9.0]
    with cw.batch():
        here = x + 1
    with cw.batch(device=ON):
        also = pending + 1
    assert (here.tolist(), also.tolist()) == ([2.0, 3.0], [4.0, 7.0])
    assert program.run(x, device=ON).outputs[0].tolist() == [5.0, 10.0]


def test_threads_take_each_other_s_tensors() -> None:
    found: list[Tensor] = []
    x = there([1, 2])
    pending = x + x

    def work() -> None:
        found.append(pending + 1)
        found.append(found[0] * x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(one.tolist() in ([3, 5], [3, 10]) for one in found)
    assert pending.tolist() == [2, 4]


def test_number_of_threads_changes_no_result() -> None:
    values = RANDOM.normal(size=(50, 50))
    found = []
    for count in (1, 3):
        cw.set_threads(count)
        found.append(np.asarray(cw.sum(there(values) @ there(values).T, axis=0)).tobytes())
    cw.set_threads(None)
    assert found[0] == found[1]


def _in_child(x: Tensor) -> str:
    try:
        return str((x + 1).tolist())
    except cw.errors.CloakworkError as error:
        return str(error)


def test_a_forked_child_is_told_that_the_memory_is_its_parent_s() -> None:
    x = there([1, 2])
    context = multiprocessing.get_context("fork")
    receives, sends = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sends.send(_in_child(x)))
    child.start()
    assert receives.poll(20)
    assert "forked; move it to the cpu before the fork" in receives.recv()
    child.join()


def test_pickles_hold_the_elements() -> None:
    x = there([1, 2]) + 1
    copy = pickle.loads(pickle.dumps(x))
    assert (copy.device, copy.tolist()) == ("cpu", [2, 3])


def test_field_elements_live_on_devices() -> None:
    x = cw.asarray([3, 5], dtype="bn254.fr")
    y = (x.to(ON) * x) ** 2
    assert (y.device, [int(one) for one in y]) == (ON, [81, 625])


def test_other_libraries_get_copies() -> None:
    x = there([1.0, 2.0])
    assert x.__dlpack_device__() == (1, 0)
    got = np.from_dlpack(x)
    got[0] = 5
    assert x.tolist() == [1.0, 2.0]
    with pytest.raises(BufferError, match=r"lies on sim:0.*copy=False forbids"):
        x.__dlpack__(copy=False)
    with pytest.raises(ValueError, match="the elements move to sim:0"):
        cw.asarray([1.0], dtype="f64").to("cpu") and cw.asarray(x.to("cpu"), device=ON, copy=False)


GPU = """
import cloakwork as cw, numpy as np
x = cw.asarray(np.arange(6.0), device="cuda:0")

class Theirs:
    def __init__(self, tensor):
        self.tensor, self.asked = tensor, []
    def __dlpack__(self, **options):
        self.asked.append(options.pop("stream"))
        return self.tensor.__dlpack__(**options)
    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

theirs = Theirs(x)
got = cw.from_dlpack(theirs)
assert (got.device, got.tolist(), theirs.asked) == ("cuda:0", x.tolist(), [1])
assert x.__dlpack_device__() == (2, 0)
try:
    cw.from_dlpack(theirs, copy=False)
except BufferError as error:
    assert "a tensor on a GPU is a copy" in str(error)
assert np.from_dlpack(x, device="cpu").tolist() == x.tolist()
try:
    x.__dlpack__(dl_device=(2, 1))
except BufferError as error:
    assert "expected (2, 0), where the tensor is" in str(error)
for stream, kind in (("x", TypeError), (True, TypeError), (0, ValueError), (-2, ValueError)):
    try:
        x.__dlpack__(stream=stream)
        raise SystemExit(f"stream {stream!r} was accepted")
    except kind as error:
        assert "stream: expected" in str(error)
for stream in (None, -1, 1, 2, 1 << 40):
    x.__dlpack__(stream=stream)
assert cw.__array_namespace_info__().devices() == ("cpu", "cuda:0", "cuda:1")
assert np.array_equal(np.asarray(x @ x), np.arange(6.0) @ np.arange(6.0))
y = (x.reshape(2, 3) + 1).to("cuda:1")
assert (y.device, y.tolist()) == ("cuda:1", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
print("done")
"""


def test_dlpack_shares_tensors_on_gpus() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(GPU)],
        env=variables("devices=2 seed=5"), capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_the_same_calls_again_see_the_elements_of_their_own_operands(counting: str) -> None:
    def work(scale: int, x: Tensor) -> list[int]:
        found: list[int] = (x * scale + np.arange(40) + x).tolist()
        return found

    for scale in (2, 3, 2):
        for start in (0, 5):
            values = np.arange(start, start + 40)
            for device in (ON, counting):
                expected = (values * scale + np.arange(40) + values).tolist()
                assert work(scale, cw.asarray(values, device=device)) == expected
    cw.release_cached()
    assert work(1, there(np.zeros(40, np.int64))) == list(range(40))


def test_a_thread_that_reads_while_another_goes_on_changes_no_value() -> None:
    for count in range(20):
        x = there(np.array([1000, 2000]) + count)
        y = x + 1
        reader = threading.Thread(target=y.tolist)
        reader.start()
        later = [y + k for k in range(50)]
        reader.join()
        for k, one in enumerate(later):
            assert one.tolist() == [1001 + count + k, 2001 + count + k]


def test_a_batch_that_another_thread_runs_changes_no_value() -> None:
    x = cw.asarray([1000, 2000])
    for _ in range(20):
        with cw.batch():
            y = x + 1
            reader = threading.Thread(target=y.tolist)
            reader.start()
            later = [y + k for k in range(50)]
            reader.join()
        assert [one.tolist() for one in later] == [[1001 + k, 2001 + k] for k in range(50)]


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (2, 0, 3), (0,), (0, 0)])
def test_tensors_without_elements_live_on_devices(shape: tuple[int, ...]) -> None:
    x = cw.zeros(shape, device=ON)
    calls: list[Call] = [
        lambda t: t + 1, lambda t: cw.concat([t, t]), lambda t: t.reshape(-1), cw.flip,
    ]  # fmt: skip
    for call in calls:
        assert call(x).tolist() == call(x.to("cpu")).tolist()
    if len(shape) > 1:
        assert x.mT.copy().tolist() == x.mT.tolist() == x.to("cpu").mT.tolist()


def test_errors_are_told_by_all_that_depends_on_them_and_by_nothing_else() -> None:
    x = there([5, 6, 7])
    wrong = cw.take_along_axis(x, there([9, 0, 1]), axis=0)
    after, right = wrong + 1, x + 1
    assert right.tolist() == [6, 7, 8]
    reads: list[Callable[[Tensor], object]] = [np.asarray, repr, lambda t: t.tolist(), np.sum]
    for lost in (wrong, after):
        for read in reads:
            with pytest.raises(ContentsError, match="got 9"):
                read(lost)
    cw.take_along_axis(x, there([9, 0, 1]), axis=0)
    assert (x + 2).tolist() == [7, 8, 9]


def test_a_device_that_fails_is_not_replaced_by_the_host() -> None:
    class Failing(PythonDevice):
        def add(self, out: Any, a: Any, b: Any) -> None:
            raise ValueError("no such thing today")

        def copy(self, out: Any, a: Any) -> None:
            out[...] = a

    x = cw.asarray([1, 2, 3], device=cw.device.register(Failing()))
    y = x + x
    for _ in range(2):
        with pytest.raises(cw.errors.CloakworkError, match="no such thing today"):
            y.tolist()


def test_scopes_refuse_two_devices_and_leave_secrets_on_the_host() -> None:
    x, other = there([1, 2]), cw.asarray([3, 4], device="sim:1")
    for call in (lambda: cw.concat([x, other]), lambda: cw.stack([x, other])):
        with pytest.raises(ParamError, match="operands on sim:0 and on sim:1"):
            call()
    secret = cw.asarray([5, 6])
    secret.mark_secret()
    joined = cw.concat([x, secret])
    assert (joined.device, joined.tolist()) == ("cpu", [1, 2, 5, 6])
    with pytest.raises(SecretError, match="the elements lie on sim:0"):
        x.mark_secret()
    assert x.freeze() is x
    assert x.is_frozen


@pytest.mark.usefixtures("no_garbage")
def test_calls_in_scopes_do_not_pile_up() -> None:
    x = there(np.zeros(2**20, np.int64))
    before = cw.memory_stats().live_bytes
    for _ in range(40):
        cw.concat([x, cw.zeros(2**20, "i64")])
    assert cw.memory_stats().live_bytes - before < 2**27


def test_residues_are_made_of_tensors_on_devices() -> None:
    ring = cw.mod(17)
    found = ring(there([20, -3])) + there([1, 1])
    assert [int(one) for one in np.asarray(found)] == [4, 15]
