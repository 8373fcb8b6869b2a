"""Devices, backends, threads and memory: by call, by `with`, and by the environment."""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, asdict, replace
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core, backend
from cloakwork.errors import DeviceError, ParamError

ROOT = Path(__file__).parents[2]
ISAS = cw.devices()[0]["available_isas"]
"""Instruction sets that run here, the best last."""


def in_a_process(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {k: v for k, v in os.environ.items() if not k.startswith("CLOAKWORK_")}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=own | environment, capture_output=True, text=True, check=False
    )


def test_devices_are_those_of_the_machine() -> None:
    info = backend.detect_devices()
    assert info.cpu_cores == len(os.sched_getaffinity(0))
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 2**20 < info.memory_limit_bytes <= total
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if "flags" in flags:
        for name in ("avx2", "avx512ifma"):
            assert getattr(info, f"has_{name}") == (f" {name} " in flags)
        parts = ("avx512f", "avx512dq", "avx512vl", "avx512bw")
        assert info.has_avx512 == all(f" {part} " in flags for part in parts)
    assert info.isas == tuple(ISAS)
    assert (info.gpu_count, info.gpu_names, info.has_gpu) == (0, (), False)
    assert info.platform_system == "Linux"
    with pytest.raises(FrozenInstanceError):
        info.gpu_count = 1  # type: ignore[misc]


@pytest.mark.parametrize("isa", ISAS)
def test_a_backend_holds_to_the_end_of_its_block(isa: str) -> None:
    before = backend.current_backend()
    with backend.select_backend(f"cpu_{isa}") as selection:
        assert selection.name == backend.current_backend() == f"cpu_{isa}"
        assert cw.devices()[0]["isa"] == isa
        assert backend.detect_devices().forced_backend == f"cpu_{isa}"
        with backend.select_backend("cpu_portable"):
            assert backend.current_backend() == "cpu_portable"
            a = cw.asarray(np.arange(100)) * 3 + 1
        assert backend.current_backend() == f"cpu_{isa}"
        assert a.tolist() == (cw.asarray(np.arange(100)) * 3 + 1).tolist()
    assert backend.current_backend() == before
    assert backend.detect_devices().forced_backend is None


@pytest.fixture
def _from_the_environment() -> Iterator[None]:
    """A context without a selected backend, before the test and after it."""
    backend.select_backend("auto")
    yield
    backend.select_backend("auto")


OTHERS = [f"cpu_{isa}" for isa in ISAS[-2:]]


@pytest.mark.usefixtures("_from_the_environment")
def test_blocks_of_two_threads_that_overlap_keep_apart() -> None:
    before = backend.current_backend()
    turns = [threading.Event() for _ in range(4)]
    seen: dict[str, list[str]] = {}

    def work(name: str, own: tuple[int, int], others: tuple[int, int]) -> None:
        first = backend.current_backend()
        with backend.select_backend(name):
            turns[own[0]].set()
            turns[others[0]].wait()
            cw.asarray([1.0, 2.0]) + 1
            seen[name] = [first, backend.current_backend(), backend.explain_last_dispatch()]
        seen[name].append(backend.current_backend())
        turns[own[1]].set()
        turns[others[1]].wait()
        seen[name].append(backend.current_backend())

    names = ["cpu_portable", OTHERS[-1]]
    threads = [
        threading.Thread(target=work, args=(names[0], (0, 1), (2, 3))),
        threading.Thread(target=work, args=(names[1], (2, 3), (0, 1))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    for name in names:
        kernel = f"add_f64_{name.removeprefix('cpu_').replace('avx512ifma', 'avx512')}"
        assert seen[name] == [before, name, f"{kernel}: 2 units, 1 thread", before, before]
    assert backend.current_backend() == before


@pytest.mark.usefixtures("_from_the_environment")
def test_blocks_of_tasks_that_overlap_keep_apart() -> None:
    async def work(name: str, waits: int) -> list[str]:
        with backend.select_backend(name):
            seen = []
            for _ in range(waits):
                await asyncio.sleep(0)
                seen.append(backend.current_backend())
        await asyncio.sleep(0)
        return [*seen, backend.current_backend()]

    async def both() -> list[list[str]]:
        tasks = [work("cpu_portable", 2), work(OTHERS[-1], 5), work(OTHERS[0], 3)]
        return await asyncio.gather(*tasks)

    before = backend.current_backend()
    seen = asyncio.run(both())
    assert seen[0] == ["cpu_portable"] * 2 + [before]
    assert seen[1] == [OTHERS[-1]] * 5 + [before]
    assert seen[2] == [OTHERS[0]] * 3 + [before]
    assert backend.current_backend() == before


@pytest.mark.usefixtures("_from_the_environment")
def test_of_blocks_that_end_in_another_order_the_one_that_is_left_counts() -> None:
    def open_block(name: str) -> Iterator[None]:
        with backend.select_backend(name):
            yield

    before = backend.current_backend()
    first, second = open_block("cpu_portable"), open_block(OTHERS[-1])
    next(first)
    next(second)
    assert backend.current_backend() == OTHERS[-1]
    first.close()
    assert backend.current_backend() == OTHERS[-1]
    second.close()
    assert backend.current_backend() == before


@pytest.mark.usefixtures("_from_the_environment")
def test_a_call_inside_of_a_block_holds_to_the_end_of_it() -> None:
    backend.select_backend(OTHERS[0])
    selection = backend.select_backend("cpu_portable")
    with selection:
        backend.select_backend(OTHERS[-1])
        assert backend.current_backend() == OTHERS[-1]
        with selection:
            assert backend.current_backend() == "cpu_portable"
        assert backend.current_backend() == OTHERS[-1]
    assert backend.current_backend() == OTHERS[0]


@pytest.mark.usefixtures("_from_the_environment")
def test_a_new_thread_begins_with_what_the_environment_says() -> None:
    before, seen = backend.current_backend(), list[str]()
    with backend.select_backend("cpu_portable"):
        thread = threading.Thread(target=lambda: seen.append(backend.current_backend()))
        thread.start()
        thread.join()
    assert seen == [before]


def test_what_was_planned_before_is_planned_anew_for_another_backend() -> None:
    a = cw.asarray(np.arange(8.0))
    program = cw.trace(lambda x: cw.sin(x) @ x + cw.max(x), a)
    for backends in (("cpu_portable", OTHERS[-1]), (OTHERS[-1], "cpu_portable")):
        for name in backends:
            with backend.select_backend(name):
                report = program.run(a).report
                assert report is not None
                kernels = {step.kernel for step in report.steps() if step.kernel}
                shown = program.inspect().ops
                assert {kernel for op in shown for kernel in op.kernels} <= kernels
                assert all(k.endswith("_portable") for k in kernels) == (name == "cpu_portable")


@pytest.mark.parametrize("name", ["sin", "add", "max", "take", "matmul"])
def test_every_call_takes_the_kernel_that_is_selected(name: str) -> None:
    x = cw.asarray(np.arange(16.0).reshape(4, 4))[:, ::-1]
    calls = {"add": lambda: x + x, "matmul": lambda: x @ x, "max": lambda: cw.max(x, axis=0),
             "take": lambda: cw.take(x, cw.asarray([1, 0]), axis=0)}  # fmt: skip
    for selected in ("cpu_portable", OTHERS[-1], "cpu_portable"):
        with backend.select_backend(selected):
            calls.get(name, lambda: getattr(cw, name)(x))()
            kernel = backend.explain_last_dispatch().partition(":")[0]
        assert kernel.endswith("_portable") == (selected == "cpu_portable"), kernel


def test_a_backend_is_restored_after_an_error() -> None:
    before = backend.current_backend()
    with pytest.raises(ZeroDivisionError), backend.select_backend("cpu_portable"):
        raise ZeroDivisionError
    assert backend.current_backend() == before


def test_a_backend_stays_without_a_block() -> None:
    backend.select_backend("cpu_portable")
    assert backend.current_backend() == "cpu_portable"
    selection = backend.select_backend("auto")
    assert repr(selection) == "Selection('auto')"
    assert backend.detect_devices().forced_backend is None


def test_the_general_names_mean_the_best() -> None:
    for name in ("cpu", "cpu_simd")[: 1 if ISAS == ["portable"] else 2]:
        with backend.select_backend(name):
            assert backend.current_backend() == f"cpu_{ISAS[-1]}"
    with backend.select_backend("auto"):
        isa = os.environ.get("CLOAKWORK_ISA", ISAS[-1])
        assert backend.current_backend() == f"cpu_{isa}"
    assert {"auto", "cpu", "cpu_portable"} <= set(backend.available_backends())


@pytest.mark.parametrize("name", ["", "numpy", "cpu_sse2", "CPU", "avx2", "cpu_"])
def test_unknown_backends_are_refused_with_those_that_exist(name: str) -> None:
    before = backend.current_backend()
    with pytest.raises(ParamError, match=r"one of auto, cpu, .*cpu_portable"):
        backend.select_backend(name)
    assert backend.current_backend() == before


@pytest.mark.parametrize("name", ["gpu", "cuda", "cuda:0", "gpu:1"])
def test_a_gpu_is_refused_with_what_is_missing(name: str) -> None:
    for attempt in (backend.select_backend, backend.memory_stats):
        with pytest.raises(DeviceError, match=r"GPUs are devices: x\.to\("):
            attempt(name)
    with pytest.raises(DeviceError, match=r"GPUs are devices: x\.to\(|no NVIDIA driver"):
        cw.asarray([1]).to_device(name)


SHOW = """
import json, cloakwork as cw
from cloakwork import backend
cw.asarray([1, 2]) + 1
print(json.dumps([backend.current_backend(), backend.detect_devices().forced_backend]))
"""


def test_the_environment_chooses_where_no_call_did() -> None:
    def chosen(**environment: str) -> Any:
        return json.loads(in_a_process(SHOW, **environment).stdout)

    best = f"cpu_{ISAS[-1]}"
    assert chosen() == [best, None]
    assert chosen(CLOAKWORK_BACKEND="") == [best, None]
    assert chosen(CLOAKWORK_BACKEND="auto") == [best, None]
    assert chosen(CLOAKWORK_BACKEND="cpu_portable") == ["cpu_portable", "cpu_portable"]
    assert chosen(CLOAKWORK_BACKEND="cpu", CLOAKWORK_ISA="portable") == ["cpu_portable", "cpu"]
    assert chosen(CLOAKWORK_ISA="")[0] == best
    assert chosen(CLOAKWORK_ISA="portable") == ["cpu_portable", None]
    code = SHOW.replace("cw.asarray", "backend.select_backend('cpu')\ncw.asarray")
    shown = in_a_process(code, CLOAKWORK_BACKEND="cpu_portable").stdout
    assert json.loads(shown) == [best, "cpu"]
    code = SHOW.replace("cw.asarray", "backend.select_backend('auto')\ncw.asarray")
    shown = in_a_process(code, CLOAKWORK_BACKEND="cpu_portable").stdout
    assert json.loads(shown) == ["cpu_portable", "cpu_portable"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("numpy", "ParamError: CLOAKWORK_BACKEND: got numpy, expected auto, cpu,"),
        ("gpu", "DeviceError: unknown device 'gpu'; GPUs are devices"),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        "backend.current_backend()", "backend.detect_devices()", "backend.select_backend('auto')",
        "cloakwork.asarray([1]) + 1",
    ],
)  # fmt: skip
def test_a_wrong_environment_is_an_error_of_the_first_call(
    value: str, text: str, call: str
) -> None:
    code = f"import cloakwork; from cloakwork import backend; print('imported'); {call}"
    process = in_a_process(code, CLOAKWORK_BACKEND=value)
    assert process.stdout == "imported\n"
    assert text in process.stderr


@pytest.mark.parametrize("value", ["numpy", "gpu"])
def test_a_call_chooses_in_spite_of_a_wrong_environment(value: str) -> None:
    code = SHOW.replace("cw.asarray", "backend.select_backend('cpu_portable')\ncw.asarray")
    process = in_a_process(code, CLOAKWORK_BACKEND=value)
    assert json.loads(process.stdout) == ["cpu_portable", "cpu_portable"]


def test_threads_are_as_many_as_asked_for() -> None:
    try:
        backend.set_threads(3)
        assert backend.get_threads() == cw.devices()[0]["threads"] == 3
    finally:
        backend.set_threads(None)
    code = "from cloakwork import backend; print(backend.get_threads())"
    assert in_a_process(code, CLOAKWORK_THREADS="5").stdout == "5\n"
    assert int(in_a_process(code).stdout) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("count", [0, -1, 5000, 2**70])
def test_numbers_of_threads_that_are_none_are_refused(count: int) -> None:
    with pytest.raises(ParamError, match="1 to 4096"):
        backend.set_threads(count)


@pytest.mark.usefixtures("no_garbage")
def test_memory_is_counted_and_given_back() -> None:
    before = backend.memory_stats()
    tensor = cw.zeros(3_000_000, "f64")
    during = backend.memory_stats()
    assert during.live_bytes - before.live_bytes >= tensor.nbytes
    assert during.peak_bytes >= during.live_bytes
    del tensor
    assert backend.memory_stats().live_bytes == before.live_bytes
    backend.release_cached()
    after = backend.memory_stats()
    assert after.cached_bytes == 0
    assert after.peak_bytes < during.peak_bytes
    assert set(asdict(after)) == {"live_bytes", "peak_bytes", "cached_bytes"}


def test_thresholds_are_those_of_the_engine() -> None:
    def constant(path: str, name: str) -> int:
        found = re.search(rf"const {name}: \w+ = ([\d_<< ]+);", (ROOT / path).read_text())
        assert found
        number, _, shift = found[1].replace("_", "").partition("<<")
        return int(number) << int(shift or 0)

    own = backend.thresholds()
    assert own.release_elements == constant("crates/py/src/guard.rs", "RELEASE_NS")
    assert own.parallel_elements == 2 * constant("crates/plan/src/graph/mod.rs", "SPLIT_NS")
    assert own.stream_bytes == constant("crates/ops/src/elementwise/mod.rs", "STREAM_BYTES")
    assert own.huge_page_bytes == constant("crates/run/src/memory/pages.rs", "HUGE_PAGE_BYTES")
    assert own.alignment_bytes == constant("crates/run/src/memory/cache.rs", "LINE_BYTES")
    tensors = [cw.zeros(n, "uint8") for n in (1, 3, 1000, 10**6)] + [cw.asarray([1]) + 1]
    assert all(np.asarray(t).ctypes.data % own.alignment_bytes == 0 for t in tensors)
    assert _core.memory_stats()["live_bytes"] > 0


def test_thresholds_decide_how_many_threads_share_a_call_and_nothing_else() -> None:
    tensor = cw.asarray(np.linspace(0.0, 1.0, 10_000))
    before = backend.thresholds()
    cw.set_threads(2)
    try:
        few = tensor * 3.0
        assert "1 thread" in backend.explain_last_dispatch()
        assert backend.set_thresholds(release_elements=0, parallel_elements=1000) == before
        assert backend.thresholds() == replace(before, release_elements=0, parallel_elements=1000)
        assert (tensor * 3.0).tolist() == few.tolist()
        assert "2 threads" in backend.explain_last_dispatch()
        backend.set_thresholds(parallel_elements=1)
        assert backend.thresholds().parallel_elements == 2
        assert backend.thresholds().release_elements == 0
        for wrong in (-1, 1.5, True, 2**63, "many"):
            with pytest.raises(ParamError, match="parallel_elements"):
                backend.set_thresholds(parallel_elements=wrong)  # type: ignore[arg-type]
    finally:
        cw.set_threads(None)
        backend.set_thresholds(
            release_elements=before.release_elements, parallel_elements=before.parallel_elements
        )
    assert backend.thresholds() == before
