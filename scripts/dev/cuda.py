"""The CUDA kernels: compiled without a GPU, checked, packed into one fatbin a module.

A module is a folder of `cuda/kernels`: `units.cu`, one unit a thread, or a file of its own of tuned
kernels. Each becomes PTX by NVRTC, machine code of several GPUs by ptxas, and one fatbin in
`target/cuda`, made again when a file that it includes changes. `crates/csrc/build` embeds the
fatbins if their `digest` is that of all sources.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scripts.dev import cuda_sources, locks, nvrtc
from scripts.dev.console import ROOT, DevError, Words, call_or_fail, say
from scripts.dev.environment import processors

OUT = ROOT / "target" / "cuda"
# One release: a newer compiler writes PTX that drivers of CUDA 13.0 refuse.
WHEELS = locks.group("cuda")
PTX_VERSION = ".version 9.0"
# PTX for later GPUs, and machine code for these: a driver compiles the PTX of `poly` for a minute.
PTX_TARGET, TARGETS = 80, (80, 90, 100, 120)
# A thread's memory outside registers: it is reserved for every thread that the GPU can hold.
FRAME_BYTES = 16896
# A tuned kernel that works in memory anyway may spill this part of its frame.
SPILLED_PART = 16

_MODULES = ("kernels/*/*.cu", "driver/*.cu")
_INCLUDES = (".", "cuda/units", "csrc", "csrc/include", "cuda/libc")
_PRELUDE = "builtins.h"
_OPTIONS = [
    f"-arch=compute_{PTX_TARGET}",
    "-std=c++17",
    "-default-device",
    "--device-int128",
    "-DCW_CUDA",
    f"--pre-include={_PRELUDE}",
    # As in crates/csrc/build: a product and a sum stay two roundings.
    "--fmad=false",
    # "Unrecognized #pragma": GCC's.
    "-diag-suppress=161,186",
]
# What is not tuned calls large functions: a copy of them for each row takes long to compile.
_UNITS = ["-DCW_CUDA_UNITS"]
# Compiled for size, and quickly: else it has twice the bytes, and takes twice as long.
_FOR_SIZE = {"poly": ["-Ofc=mid"]}


@dataclass(frozen=True)
class Module:
    """One source file, which becomes one fatbin."""

    name: str
    source: Path

    @property
    def is_tuned(self) -> bool:
        """Whether its kernels are written for GPUs; these must keep registers in registers."""
        return self.source.name != "units.cu"

    @property
    def fatbin(self) -> Path:
        """The result."""
        return OUT / f"{self.name}.fatbin"

    @property
    def options(self) -> list[str]:
        """The compiler's options but for folders."""
        own = [] if self.is_tuned else [*_UNITS, *_FOR_SIZE.get(self.name, [])]
        return [*_OPTIONS, *own]

    def digest(self) -> str:
        """A digest of all that its fatbin is made from."""
        folders = [ROOT / folder for folder in _INCLUDES]
        how = " ".join([*WHEELS, PTX_VERSION, str(TARGETS), *self.options])
        return cuda_sources.digest_of(self.source, folders, [ROOT / "cuda/libc" / _PRELUDE], how)


@dataclass(frozen=True)
class Compilers:
    """Where NVRTC's libraries are, and the programs ptxas and fatbinary."""

    libraries: Path
    programs: Path


@dataclass(frozen=True)
class Resources:
    """The facts of ptxas about one function on one target."""

    target: int
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


def build(names: Sequence[str] = (), compilers: Compilers | None = None) -> None:
    """Compile all modules, or those named, check them, and write the digest of the sources.

    compilers   by default those of WHEELS, which are installed
    """
    everything = modules()
    own = [module for module in everything if not names or module.name in names]
    if len(own) < len(set(names)):
        known = ", ".join(module.name for module in everything)
        raise DevError(f"cuda: modules are {known}; got {' '.join(names)}")
    OUT.mkdir(parents=True, exist_ok=True)
    sources = cuda_sources.digest()
    stale = [module for module in own if not _is_made(module)]
    if stale:
        _claim("")
        _make(compilers or _install(), stale)
    for path in set(OUT.glob("*.fatbin")) - {module.fatbin for module in everything}:
        path.unlink()
    size = sum(module.fatbin.stat().st_size for module in own)
    say(f"cuda: {len(own)} modules, {size / 1e6:.1f} MB of fatbins in {OUT}")
    if all(_is_made(module) for module in everything):
        _claim(sources)


def lacking() -> str | None:
    """The reason why the compilers cannot be had here; None if they are installed."""
    try:
        _install()
    except DevError as error:
        return f"{' and '.join(WHEELS)} cannot be installed: {error}"
    return None


def what_builds_hold() -> str:
    """Whether builds embed fatbins: those of these sources. One line for the developer."""
    claim = OUT / "digest"
    if claim.exists() and claim.read_text() == cuda_sources.digest():
        size = sum(path.stat().st_size for path in OUT.glob("*.fatbin"))
        return f"with CUDA kernels, {size / 1e6:.1f} MB"
    return "without CUDA kernels: `dev.py cuda` makes them"


def _claim(sources: str) -> None:
    """Say that all fatbins are of these sources, or of none. Builds start anew if this changes."""
    path = OUT / "digest"
    if sources != (path.read_text() if path.exists() else ""):
        path.write_text(sources)


def _make(compilers: Compilers, stale: Sequence[Module]) -> None:
    """Compile these modules; raise with the reasons of all that fail."""
    say(f"cuda: compiling {len(stale)} modules")
    with ThreadPoolExecutor(max_workers=processors()) as pool:
        reasons = [reason for reason in pool.map(partial(_reason, compilers), stale) if reason]
    if reasons:
        raise DevError("\n".join(reasons), 1)


def _reason(compilers: Compilers, module: Module) -> str | None:
    """Make the fatbin of a module; the reason why it is refused."""
    try:
        _make_one(compilers, module)
    except DevError as error:
        say(f"cuda: {module.name} is refused")
        return str(error)
    return None


def toolkit() -> Compilers:
    """The compilers of the CUDA toolkit whose nvcc is on the path."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise DevError("cuda --toolkit: no nvcc on the path, such as /usr/local/cuda/bin")
    root = Path(nvcc).resolve().parents[1]
    for name in ("lib64", "lib", "targets/x86_64-linux/lib"):
        if (root / name / nvrtc.LIBRARY).exists() and (root / name / nvrtc.BUILTINS).exists():
            return Compilers(root / name, root / "bin")
    wanted = f"{nvrtc.LIBRARY} and {nvrtc.BUILTINS}"
    raise DevError(f"cuda --toolkit: {root} has no {wanted}: its release is not that of {WHEELS}")


def _install() -> Compilers:
    """Put the compiler's wheels into a folder of the build; return where its files are."""
    folder = OUT / "wheels"
    done, lock = folder / "installed", locks.CUDA
    if not done.exists() or done.read_bytes() != lock.content():
        say(f"cuda: installing {' and '.join(WHEELS)}")
        shutil.rmtree(folder, ignore_errors=True)
        quietly = ["--quiet", "--root-user-action=ignore"]
        call_or_fail([*locks.install(sys.executable, lock), *quietly, "--target", folder])
        done.write_bytes(lock.content())
    root = folder / "nvidia" / "cu13"
    return Compilers(root / "lib", root / "bin")


def _stamp(module: Module) -> Path:
    return OUT / f"{module.name}.digest"


def _is_made(module: Module) -> bool:
    """Whether the fatbin of a module is there, of its sources and checked."""
    stamp = _stamp(module)
    return module.fatbin.exists() and stamp.exists() and stamp.read_text() == module.digest()


def _make_one(compilers: Compilers, module: Module) -> None:
    """Make and check the fatbin of a module."""
    began, sources = time.monotonic(), module.digest()
    _stamp(module).unlink(missing_ok=True)
    refuse_waste(module, _compile(compilers, module))
    _stamp(module).write_text(sources)
    size = module.fatbin.stat().st_size
    say(f"cuda: {module.name}: {size / 1e6:.2f} MB in {time.monotonic() - began:.0f} s")


def _compile(compilers: Compilers, module: Module) -> list[Resources]:
    """Make the fatbin of a module; return what its functions need on each target."""
    ptx = OUT / f"{module.name}.ptx"
    folders = [f"-I{ROOT / folder}" for folder in _INCLUDES]
    compiler: Words = [sys.executable, nvrtc.__file__, compilers.libraries]
    _run([*compiler, module.source, ptx, *module.options, *folders])
    if PTX_VERSION not in ptx.read_text()[:2000]:
        raise DevError(f"cuda: {ptx} is not of {PTX_VERSION}: are the compilers of {WHEELS}?")
    refuse_endless(module, ptx.read_text())
    images = [f"--image3=kind=ptx,sm={PTX_TARGET},file={ptx}"]
    needed: list[Resources] = []
    for target in TARGETS:
        cubin = ptx.with_suffix(f".{target}.cubin")
        assembler: Words = [compilers.programs / "ptxas", "-v", f"-arch=sm_{target}"]
        said = _run([*assembler, ptx, "-o", cubin])
        needed += resources(said, target)
        images.append(f"--image3=kind=elf,sm={target},file={cubin}")
    packer: Words = [compilers.programs / "fatbinary", "-64", "--compress-all"]
    _run([*packer, "--compress-mode=size", f"--create={module.fatbin}", *images])
    return needed


def _run(command: Words) -> str:
    """Run a quiet program; return what it said, or raise with it."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[:4000]
        raise DevError(f"cuda: {Path(words[0]).name} failed with {done.returncode}:\n{said}", 1)
    return done.stdout + done.stderr


def resources(said: str, target: int) -> Iterator[Resources]:
    """Read what `ptxas -v` says of each kernel; of functions that kernels call, just the frame."""
    pattern = re.compile(
        r"(?:Compiling entry function '(?P<entry>\w+)'.*\n.*)?Function properties for (?P<name>\w+)"
        r"\s+(?P<frame>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores,"
        r" (?P<loads>\d+) bytes spill loads(?:\n.*Used (?P<registers>\d+) registers)?"
    )
    for match in pattern.finditer(said):
        spills = int(match["stores"]) + int(match["loads"])
        registers = int(match["registers"] or 0)
        yield Resources(target, match["name"], registers, int(match["frame"]), spills)


def refuse_endless(module: Module, ptx: str) -> None:
    """Raise for a branch to itself: a function that calls itself at its end, as NVRTC writes it.

    So became `::copysign` of a constant in a `__builtin_copysign` that was made of it.
    """
    endless = re.search(r"^(\$L\w+):\s*bra(?:\.uni)?\s+\1;", ptx, re.MULTILINE)
    if endless:
        entries = re.findall(r"^\.visible \.entry (\w+)\($", ptx[: endless.start()], re.MULTILINE)
        where = f"at or behind {entries[-1]}" if entries else "in a function"
        raise DevError(f"cuda: {module.name}: a loop without an end, {where}", 1)


def refuse_waste(module: Module, functions: Sequence[Resources]) -> None:
    """Raise for tuned kernels that spill more than a part of their frame; for too large frames."""
    wrong = []
    if {function.target for function in functions} != set(TARGETS):
        wrong.append("ptxas says nothing of its functions")
    for function in functions:
        name = f"{function.symbol} on sm_{function.target}"
        if module.is_tuned and function.spills * SPILLED_PART > function.frame:
            wrong.append(f"{name}: spills {function.spills} bytes of registers")
        if function.frame > FRAME_BYTES:
            wrong.append(f"{name}: a frame of {function.frame} bytes")
    if wrong:
        raise DevError("\n  - ".join([f"cuda: {module.name} wastes memory", *wrong]), 1)
