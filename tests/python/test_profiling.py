"""Profiles of calls: kernels, bytes and times; calls by name; tensors by their class."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import CloakworkError, DeviceError, DTypeError, ParamError


def test_calls_of_one_kernel_have_their_bytes() -> None:
    x, y = cw.ones(5000, dtype="f32"), cw.ones(5000, dtype="f32")
    start = time.perf_counter()
    with cw.profile() as measured:
        cw.exp(x)
        total = x + y
        total += y
        cw.exp(x[::2])
        cw.sum(x)
    took = time.perf_counter() - start
    assert [call.op for call in measured.calls] == ["exp", "add", "add", "exp", "sum"]
    assert [call.bytes for call in measured.calls] == [40_000, 60_000, 60_000, 20_000, 20_004]
    assert all(call.kernel.startswith(f"{call.op}_f32_") for call in measured.calls)
    assert {call.threads for call in measured.calls} == {1}
    starts = [call.start_seconds for call in measured.calls]
    assert starts == sorted(starts)
    assert all(call.seconds > 0 for call in measured.calls)
    assert measured.seconds < took
    assert [total.calls for total in measured.totals() if total.kernel.startswith("exp")] == [2]
    assert "exp_f32" in str(measured)
    assert "5 kernel calls" in str(measured)


def test_composite_calls_have_several_kernels() -> None:
    x = cw.asarray(np.random.default_rng(1).standard_normal((20, 30)))
    with cw.profile() as measured:
        cw.var(x, axis=0)
        cw.linalg.matrix_norm(x)
    assert len(measured.calls) > 4
    with cw.profile() as nothing:
        pass
    assert nothing.calls == ()
    assert str(nothing) == "0 kernel calls, 0.0 us"


def test_batches_and_programs_are_measured_by_their_steps() -> None:
    x = cw.ones(10_000)
    program = cw.trace(lambda a: cw.exp(a) * a + 1, x)
    with cw.profile() as measured:
        program.run(x)
    assert [call.op for call in measured.calls if call.kernel] == ["exp", "multiply", "add"]
    assert all(call.bytes > 0 for call in measured.calls if call.kernel)
    with cw.profile() as measured, cw.batch():
        kept = cw.tanh(x) - x
    assert [call.op for call in measured.calls if call.kernel] == ["tanh", "subtract"]
    few = cw.ones(3)
    with cw.profile() as measured, cw.batch():
        kept = [kept, cw.tanh(few) - few]
    assert [call.op for call in measured.calls] == ["tanh", "subtract"]
    assert all(total.seconds == 0 for total in program.run(x, profile=False).report.ops)


def test_profiles_may_be_nested_and_hold_one_thread() -> None:
    x = cw.ones(100)
    with cw.profile() as outer:
        x + x
        with cw.profile() as inner:
            x * x
        other = threading.Thread(target=lambda: x - x)
        other.start()
        other.join()
        x / x
    assert [call.op for call in inner.calls] == ["multiply"]
    assert [call.op for call in outer.calls] == ["add", "multiply", "divide"]
    with pytest.raises(ParamError, match="a new one"), outer:
        pass
    begun = time.perf_counter()
    with cw.profile() as after:
        x + x
    assert len(after.calls) == 1
    # From this profile's start, not from an earlier one's.
    assert after.calls[0].start_seconds < time.perf_counter() - begun


def test_a_profile_ends_with_an_error() -> None:
    x, measured = cw.ones(4), cw.profile()
    with pytest.raises(ValueError, match="broadcast"), measured:
        x + (x + x)[:3]
    assert [call.op for call in measured.calls] == ["add"]
    x * x
    assert len(measured.calls) == 1


def test_profiles_are_saved_for_perfetto(tmp_path: Path) -> None:
    x = cw.ones(100)
    with cw.profile() as measured:
        x + x
    measured.save(tmp_path / "calls.json")
    (event,) = json.loads((tmp_path / "calls.json").read_text())["traceEvents"]
    assert event["name"] == "add"
    assert event["dur"] == pytest.approx(measured.calls[0].seconds * 1e6)
    with pytest.raises(CloakworkError):
        measured.save(tmp_path)


def test_functions_are_called_by_name() -> None:
    x = cw.asarray([3.0, 1.0])
    assert cw.execute_op("add", x, x).tolist() == [6.0, 2.0]
    assert cw.execute_op("sort", x, descending=True).tolist() == [3.0, 1.0]
    assert cw.execute_op("concat", [x, x]).shape == (4,)
    q = cw.asarray([7, 8])
    assert cw.execute_op("modmul", q, q, 5).tolist() == [4, 4]
    wrong: list[Any] = [
        "no such", "_core", "__class__", "save", "load", "set_threads", "batch", "Tensor", "pi", 3,
        None, "execute_op", "linalg", "trace", "errors", "",
    ]  # fmt: skip
    for name in wrong:
        for call in (cw.execute_op, lambda name, x: cw.execute_batch([(name, x)])):
            with pytest.raises(ParamError, match="function of tensors"):
                call(name, x)


def test_tensors_are_made_by_their_class() -> None:
    array = np.arange(3.0)
    made = cw.Tensor(array)
    array[0] = 7
    assert made.tolist() == [0.0, 1.0, 2.0]
    assert cw.Tensor([1, 2], "f32").dtype == cw.float32
    assert cw.Tensor([[1], [2]], dtype=cw.uint8, device="cpu").shape == (2, 1)
    assert cw.Tensor(made) is not made
    assert cw.Tensor(5, "bn254.fr").tolist() == 5
    with pytest.raises(TypeError):
        cw.Tensor()  # type: ignore[call-arg]
    with pytest.raises(DTypeError):
        cw.Tensor([1], "u8")
    with pytest.raises(DeviceError):
        cw.Tensor([1], device="cuda:9")
    with pytest.raises(ParamError):
        cw.Tensor([1.5], dtype="i64")
