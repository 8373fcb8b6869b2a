"""What the machine tells about itself, and GPU drivers that are absent, broken, old or there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cloakwork import backend
from cloakwork.device.machine import machine
from python.command_line import COMMAND

# A management library of one made-up GPU. Functions are left out, or fail, as macros say.
LIBRARY = r"""
#include <string.h>
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory;
int nvmlInit_v2(void) { return INIT; }
int nvmlShutdown(void) { return 0; }
const char* nvmlErrorString(int code) { return "some error"; }
#ifndef OLD
int nvmlSystemGetCudaDriverVersion_v2(int* version) { *version = 13000; return 0; }
#endif
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  strncpy(text, "580.159.03", length); return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) { *count = GPUS; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { *device = &memset; return 0; }
int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  strncpy(name, "Made-up [GPU]", length); return 0;
}
int nvmlDeviceGetMemoryInfo_v2(void* device, memory* found) {
  found->total = 1ull << 37; return 0;
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  *major = 9; *minor = 0; return LOST;
}
"""


def devices(folder: Path | None, *options: str) -> str:
    """What `cloakwork devices` prints where libraries are looked up in a folder."""
    found = {} if folder is None else {"LD_LIBRARY_PATH": str(folder)}
    command = [*COMMAND, "devices", *options]
    done = subprocess.run(
        command, env=os.environ | found, capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def driver(folder: Path, **macros: int) -> Path:
    """A folder with a management library that behaves as macros say."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    source = folder / "library.c"
    source.write_text(LIBRARY)
    defined = {"INIT": 0, "GPUS": 1, "LOST": 0} | macros
    words = [f"-D{name}={value}" for name, value in defined.items()]
    library = folder / "libnvidia-ml.so.1"
    command = [compiler, "-shared", "-fPIC", "-w", *words, str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return folder


def test_a_gpu_is_listed_with_its_driver_and_why_programs_do_not_run_on_it(tmp_path: Path) -> None:
    folder = driver(tmp_path)
    found = json.loads(devices(folder, "--json"))[0]["machine"]
    gpu = {"name": "Made-up [GPU]", "memory_bytes": 2**37, "compute_capability": [9, 0]}
    assert found["gpus"] == [gpu]
    assert found["gpu_driver"] == {"version": "580.159.03", "cuda": [13, 0]}
    text = devices(folder)
    assert "GPUs: Made-up [GPU] of 128.0 GiB, compute capability 9.0\n" in text
    assert "GPU driver: 580.159.03, CUDA 13.0\n" in text
    assert "GPU use: no NVIDIA driver: libcuda.so.1 is not found, or cannot be loaded\n" in text


@pytest.mark.parametrize(
    ("macros", "reason"),
    [
        ({"GPUS": 0}, "the NVIDIA driver lists no GPU"),
        ({"INIT": 9}, "the NVIDIA driver does not work: "),
        ({"INIT": 18}, "the NVIDIA driver does not work: "),
        ({"LOST": 15}, "the NVIDIA driver does not work: "),
        ({"LOST": 12345}, "the NVIDIA driver does not work: "),
        ({"OLD": 1}, "the NVIDIA driver is too old: libnvidia-ml.so.1 lacks "),
    ],
)
def test_a_driver_without_use_is_told_and_nothing_else_fails(
    macros: dict[str, int], reason: str, tmp_path: Path
) -> None:
    rows = json.loads(devices(driver(tmp_path, **macros), "--json"))
    assert rows[0]["name"] == "cpu"
    assert rows[0]["machine"]["gpus"] == []
    assert rows[0]["machine"]["gpu_reason"].startswith(reason)


def test_a_library_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("not a library")
    assert "no NVIDIA driver: libnvidia-ml.so.1 cannot be loaded" in devices(tmp_path)


def test_facts_are_those_of_the_system() -> None:
    found = machine()
    assert found is machine()
    info = backend.detect_devices()
    assert (info.cpu_model, info.caches, info.numa_nodes) == (
        found.model, found.caches, found.numa_nodes,
    )  # fmt: skip
    cpuinfo = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if "model name" in cpuinfo:
        assert found.model is not None
        assert found.model in cpuinfo
    if Path("/sys/devices/system/cpu/cpu0/cache/index0/size").exists():
        assert found.caches == tuple(sorted(found.caches, key=lambda cache: cache.level))
        assert {cache.level for cache in found.caches} >= {1}
    assert all(node.memory_bytes is None or node.memory_bytes > 0 for node in found.numa_nodes)
    assert (info.gpu_count == 0) == bool(info.gpu_reason)
