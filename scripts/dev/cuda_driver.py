"""The CUDA driver with its kernels, both on the processor: programs on a made-up GPU.

A made-up libcuda (`tests/cuda/libcuda.cc`) runs the grids of the build's own rows, whose kernels
`cuda_shim` has compiled for the processor: all that a GPU gets is held to the references.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from scripts.dev import aarch64, cuda, cuda_shim, gpu_rows, gpu_stage
from scripts.dev.console import ROOT, DevError, Words, call_or_fail, say
from scripts.dev.environment import PYTHON, VENV, environment
from scripts.dev.steps import Report
from scripts.dev.toolchain import words_of

_TESTS = ROOT / "tests" / "cuda"
_FLAGS = ["-std=c++20", "-O1", "-fPIC", "-shared", f"-I{ROOT}", f"-I{ROOT / 'csrc' / 'include'}"]
DEVICE = "cuda:0"
_BENCHES = ("ntt", "node", "relinearize", "field_ntt", "msm", "modmul")


def check() -> None:
    """Build both libraries; run the benchmarks' programs and a short conformance there."""
    say("cuda: the driver on a made-up GPU")
    env = {**environment(), **variables(cuda_shim.LIBRARY)}
    call_or_fail([PYTHON, ROOT / "benches" / "gpu.py", *_BENCHES, "--small"], env)
    call_or_fail([VENV / "bin" / "cloakwork", "conform", DEVICE, "--quick"], env)
    _check_rows(env)


def variables(shim: Path) -> Mapping[str, str]:
    """Build the made-up driver and its kernels; the environment that names them."""
    archives = aarch64.built_kernels()
    if archives is None:
        raise DevError("cuda: the kernels are not built here: `dev.py setup` builds them")
    folder = cuda_shim.OUT / "driver"
    folder.mkdir(parents=True, exist_ok=True)
    libcuda, kernels = folder / "libcuda.so.1", folder / "libcloakwork_cuda_rows.so"
    compiler = words_of(os.environ.get("CXX") or "c++")
    _build([*compiler, *_FLAGS, str(_TESTS / "libcuda.cc")], libcuda, [])
    sources = [str(_TESTS / "shim_image.cc"), str(ROOT / "cuda" / "table.cc")]
    own_rows = [str(path) for path in sorted(archives.glob("*.a"))]
    linked = [str(shim), "-Xlinker", "-rpath", "-Xlinker", str(shim.parent), *own_rows]
    own = [f"-I{ROOT / 'csrc'}", _image_options()]
    _build([*compiler, *_FLAGS, *own, *sources], kernels, linked)
    return {"LD_LIBRARY_PATH": str(folder), "CLOAKWORK_CUDA_KERNELS": str(kernels)}


def _check_rows(env: Mapping[str, str]) -> None:
    """The player of rows that travels to a GPU, on the made-up one."""
    folder = cuda_shim.OUT / "stage"
    folder.mkdir(exist_ok=True)
    shim = cuda_shim.LIBRARY
    image: Words = [_image_options(), f"-I{_TESTS}", _TESTS / "shim_image.cc", shim]
    gpu_stage.build_player(folder, [*image, "-Xlinker", "-rpath", "-Xlinker", str(shim.parent)])
    gpu_stage.play_portable(folder)
    report = Report(folder, 3600.0, env)
    gpu_rows.check(report, folder, [module.name for module in cuda.modules()])
    if not report.passed:
        raise DevError(f"cuda: rows differ on the made-up GPU: {folder / 'report.json'}", 1)


def _image_options() -> str:
    modules = ", ".join(f'"{module.name}"' for module in cuda.modules())
    return f"-DMADE_UP_MODULES={modules}"


def _build(command: list[str], library: Path, linked: list[str]) -> None:
    call_or_fail([*command, "-o", str(library), *linked])
