"""The CUDA kernels: compiled without a GPU, checked, packed into one fatbin a module.

A module is a folder of `cuda/kernels`: `units.cu`, one unit a thread, or a file of its own of tuned
kernels. Each becomes PTX by NVRTC, machine code of two GPUs by ptxas, and one fatbin in
`target/cuda`. `crates/kernels/build.rs` embeds the fatbins whose `digest` fits the sources.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from scripts.dev import nvrtc
from scripts.dev.console import ROOT, DevError, Words, call_or_fail, say

OUT = ROOT / "target" / "cuda"
SOURCES = ("cuda", "csrc")
# One release: a newer compiler writes PTX that drivers of CUDA 13.0 refuse.
WHEELS = ("nvidia-cuda-nvrtc==13.0.88", "nvidia-cuda-nvcc==13.0.88")
PTX_VERSION = ".version 9.0"
# PTX for later GPUs, and machine code for these.
PTX_TARGET, TARGETS = 80, (80, 90)
# A thread's memory outside registers: it is reserved for every thread that the GPU can hold.
FRAME_BYTES = 16896
# Larger all the same: one thread that expands constants with arrays of its own.
LARGE_FRAMES = {"cw_prepare_kPoseidonConstants"}

_MODULES = ("kernels/*/*.cu", "driver/*.cu")
_INCLUDES = (".", "cuda/units", "csrc", "csrc/include", "cuda/libc")
_OPTIONS = [
    f"-arch=compute_{PTX_TARGET}",
    "-std=c++17",
    "-default-device",
    "--device-int128",
    "-DCW_CUDA",
    "--pre-include=builtins.h",
    # As in crates/kernels/build.rs: a product and a sum stay two roundings.
    "--fmad=false",
    # "Unrecognized #pragma": GCC's.
    "-diag-suppress=161,186",
    *(f"-I{ROOT / folder}" for folder in _INCLUDES),
]
# What is not tuned is compiled for size, and quickly.
_UNITS = ["-DCW_CUDA_UNITS", "-Ofc=mid"]


@dataclass(frozen=True)
class Module:
    """One source file, which becomes one fatbin."""

    name: str
    source: Path

    @property
    def is_tuned(self) -> bool:
        """Whether its kernels are written for GPUs; these must not spill registers."""
        return self.source.name != "units.cu"

    @property
    def fatbin(self) -> Path:
        """The result."""
        return OUT / f"{self.name}.fatbin"


@dataclass(frozen=True)
class Resources:
    """What ptxas says of one function."""

    symbol: str
    registers: int
    frame: int
    spills: int


def modules() -> list[Module]:
    """All modules, in order of their names: the folder of a `units.cu`, else the file."""
    paths = [path for pattern in _MODULES for path in (ROOT / "cuda").glob(pattern)]
    found = [
        Module(path.parent.name if path.stem in ("units", "queue") else path.stem, path)
        for path in paths
    ]
    names = [module.name for module in found]
    if len(set(names)) != len(names):
        raise DevError(f"cuda/kernels: two modules of one name: {', '.join(sorted(names))}")
    return sorted(found, key=lambda module: module.name)


def build(names: Sequence[str] = ()) -> None:
    """Compile all modules, or those named, check them, and write the digest of the sources."""
    own = [module for module in modules() if not names or module.name in names]
    if len(own) < len(names):
        known = ", ".join(module.name for module in modules())
        raise DevError(f"cuda: modules are {known}; got {' '.join(names)}")
    sources = digest()
    (OUT / "digest").unlink(missing_ok=True)
    wheels = _install()
    say(f"cuda: compiling {len(own)} modules")
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda module: _ensure_compiled(wheels, module, sources), own))
    size = sum(module.fatbin.stat().st_size for module in own)
    say(f"cuda: {size / 1e6:.1f} MB of fatbins in {OUT}")
    if not names:
        (OUT / "digest").write_text(sources)


def digest() -> str:
    """FNV-1a of the sources' paths and contents; build.rs computes the same."""
    value = 0xCBF29CE484222325
    for path in _sources():
        for part in (path.relative_to(ROOT).as_posix().encode(), path.read_bytes()):
            for byte in part:
                value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def _sources() -> Iterator[Path]:
    """The files that fatbins are made from, in order of their paths as text."""
    found = [path for folder in SOURCES for path in (ROOT / folder).rglob("*") if path.is_file()]
    return iter(sorted(found, key=lambda path: path.relative_to(ROOT).as_posix()))


def _install() -> Path:
    """Put the compiler's wheels into a folder of the build; return where its files are."""
    folder = OUT / "wheels"
    done = folder / "installed"
    if not done.exists() or done.read_text() != " ".join(WHEELS):
        say(f"cuda: installing {' and '.join(WHEELS)}")
        shutil.rmtree(folder, ignore_errors=True)
        pip: Words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        call_or_fail([*pip, "--target", folder, *WHEELS])
        done.write_text(" ".join(WHEELS))
    return folder / "nvidia" / "cu13"


def _ensure_compiled(wheels: Path, module: Module, sources: str) -> None:
    """Make and check the fatbin of a module, unless it is there, of these sources."""
    stamp = OUT / f"{module.name}.digest"
    if module.fatbin.exists() and stamp.exists() and stamp.read_text() == sources:
        return
    stamp.unlink(missing_ok=True)
    refuse_waste(module, _compile(wheels, module))
    stamp.write_text(sources)


def _compile(wheels: Path, module: Module) -> list[Resources]:
    """Make the fatbin of a module; return what its functions need on the last target."""
    ptx = OUT / f"{module.name}.ptx"
    options = _OPTIONS if module.is_tuned else [*_OPTIONS, *_UNITS]
    _run([sys.executable, nvrtc.__file__, wheels / "lib", module.source, ptx, *options])
    if PTX_VERSION not in ptx.read_text()[:2000]:
        raise DevError(f"cuda: {ptx} is not of {PTX_VERSION}: are the wheels {WHEELS}?")
    images = [f"--image3=kind=ptx,sm={PTX_TARGET},file={ptx}"]
    said = ""
    for target in TARGETS:
        cubin = ptx.with_suffix(f".{target}.cubin")
        said = _run([wheels / "bin" / "ptxas", "-v", f"-arch=sm_{target}", ptx, "-o", cubin])
        images.append(f"--image3=kind=elf,sm={target},file={cubin}")
    packer: Words = [wheels / "bin" / "fatbinary", "-64", "--compress-all", "--compress-mode=size"]
    _run([*packer, f"--create={module.fatbin}", *images])
    say(f"cuda: {module.name}: {module.fatbin.stat().st_size / 1e6:.2f} MB")
    return list(resources(said))


def _run(command: Words) -> str:
    """Run a quiet program; return what it said, or raise with it."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[:4000]
        raise DevError(f"cuda: {Path(words[0]).name} failed with {done.returncode}:\n{said}", 1)
    return done.stdout + done.stderr


def resources(said: str) -> Iterator[Resources]:
    """Read what `ptxas -v` says of each kernel; of functions that kernels call, just the frame."""
    pattern = re.compile(
        r"(?:Compiling entry function '(?P<entry>\w+)'.*\n.*)?Function properties for (?P<name>\w+)"
        r"\s+(?P<frame>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores,"
        r" (?P<loads>\d+) bytes spill loads(?:\n.*Used (?P<registers>\d+) registers)?"
    )
    for match in pattern.finditer(said):
        spills = int(match["stores"]) + int(match["loads"])
        registers = int(match["registers"] or 0)
        yield Resources(match["name"], registers, int(match["frame"]), spills)


def refuse_waste(module: Module, functions: Sequence[Resources]) -> None:
    """Raise for tuned kernels that spill registers, and for frames that are too large."""
    wrong = []
    if not functions:
        wrong.append("ptxas says nothing of its functions")
    for function in functions:
        if module.is_tuned and function.spills > 0:
            wrong.append(f"{function.symbol}: spills {function.spills} bytes of registers")
        if function.frame > FRAME_BYTES and function.symbol not in LARGE_FRAMES:
            wrong.append(f"{function.symbol}: a frame of {function.frame} bytes")
    if wrong:
        raise DevError("\n  - ".join([f"cuda: {module.name} wastes memory", *wrong]), 1)
