"""A made-up driver of NVIDIA's (tests/cuda), whose GPUs run the processor's kernels."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from scripts.dev.aarch64 import built_kernels
from scripts.dev.console import ROOT

_SOURCES = ROOT / "tests" / "cuda"
_FLAGS = ("-std=c++20", "-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")


def variables(settings: str = "", *, kernels: bool = True, old: bool = False) -> dict[str, str]:
    """The environment of a process that has these GPUs: `Settings` of tests/cuda/world.h.

    kernels   the library of kernels is there, too.
    old       the driver lacks a function.
    """
    libcuda = _built("libcuda.cc", "old" if old else "new", *(["-DMADE_UP_OLD"] if old else []))
    found = {"LD_LIBRARY_PATH": str(libcuda.parent), "MADE_UP_CUDA": settings}
    if kernels:
        found["CLOAKWORK_CUDA_KERNELS"] = str(_built_with_kernels())
    return os.environ | found


@cache
def _built_with_kernels() -> Path:
    folder = built_kernels()
    if folder is None:
        pytest.skip("cargo has built no kernels in this tree")
    archives = [str(path) for path in sorted(folder.glob("*.a"))]
    group = ["-DMADE_UP_OWN_ROWS", "-Wl,--start-group", *archives, "-Wl,--end-group"]
    return _built("kernels.cc", "kernels", *group)


@cache
def _built(source: str, name: str, *options: str) -> Path:
    """A library, compiled unless it is newer than its sources."""
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    library = ROOT / "target" / "made_up_cuda" / name / "libcuda.so.1"
    inputs = [
        *_SOURCES.iterdir(), *(ROOT / "cuda" / "driver").iterdir(),
        *(ROOT / "csrc" / "include" / "cloakwork").iterdir(),
        *(Path(option) for option in options if option.endswith(".a")),
    ]  # fmt: skip
    newest = max(path.stat().st_mtime for path in inputs)
    if library.exists() and library.stat().st_mtime > newest:
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    # Another process may be at it: each writes its own file, and the last one counts.
    own = library.with_suffix(f".{os.getpid()}")
    include = f"-I{ROOT / 'csrc' / 'include'}"
    command = [*compiler.split(), *_FLAGS, include, str(_SOURCES / source), *options]
    subprocess.run([*command, "-o", str(own)], check=True)
    own.replace(library)
    return library
