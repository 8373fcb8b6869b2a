"""The CUDA kernels on the processor: compiled with `cuda/shim`, held to the portable kernels.

`tests/portable/replay_cuda.cc` runs each CUDA row on the launches of `tests/portable/launches.h`,
planned and launched as on a GPU: grids, blocks, barriers, scratch memory. `replay.cc` runs the
processor's rows. Results are equal to the bit, but for complex functions, which GPUs lack.
"""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.dev import aarch64, cuda
from scripts.dev.console import ROOT, DevError, say
from scripts.dev.environment import processors
from scripts.dev.toolchain import words_of

OUT = cuda.OUT / "shim"
LIBRARY = OUT / "libcloakwork_cuda_shim.so"
_PORTABLE, _CUDA = "_portable", "_cuda"
_TESTS = ROOT / "tests" / "portable"
_FLAGS = ["-O1", "-fPIC", "-ffp-contract=off", "-fno-math-errno", "-w"]
_INCLUDES = [f"-I{ROOT / folder}" for folder in (".", "csrc", "csrc/include", "tests/portable")]
_SHIM = ["-std=c++20", f"-I{ROOT / 'cuda' / 'units'}", *_INCLUDES]
_SHIM += ["-include", str(ROOT / "cuda" / "shim" / "shim.h")]


def check() -> None:
    """Compile, run both, compare; raise with the rows that differ."""
    say("cuda: compiling the kernels for this processor")
    OUT.mkdir(parents=True, exist_ok=True)
    build_library()
    cuda_player, player = _players()
    say("cuda: running them")
    own = aarch64.digests(_output(player))
    other = aarch64.digests(_renamed(_output(cuda_player)))
    suspects = sorted(aarch64.differing(own, other))
    exact = [symbol for symbol in suspects if not aarch64.by_library(symbol)]
    if exact:
        raise DevError(f"cuda: other bits than the portable rows: {', '.join(exact)}", 1)
    if suspects:
        here = _output([*player, *suspects])
        names = [symbol.removesuffix(_PORTABLE) + _CUDA for symbol in suspects]
        far = list(aarch64.too_far(here, _renamed(_output([*cuda_player, *names]))))
        if far:
            raise DevError("\n  - ".join(["cuda: too far from the portable rows", *far]), 1)
    launches = sum(len(digests) for digests in other.values())
    say(f"cuda: {len(other)} rows agree on {launches} launches, {len(suspects)} within a bound")


def build_library() -> None:
    """Compile every module, and the shim that runs them, into one library."""
    with ThreadPoolExecutor(processors()) as pool:
        objects = list(pool.map(_object, cuda.modules()))
    shim = [str(ROOT / "cuda" / "shim" / "shim.cc"), *objects, "-ldl", "-lm"]
    _run([*_compiler(), *_FLAGS, *_SHIM, "-shared", "-o", str(LIBRARY), *shim])


def _object(module: cuda.Module) -> str:
    target = OUT / f"{module.name}.o"
    own = [] if module.is_tuned else ["-DCW_CUDA_UNITS"]
    source = ["-x", "c++", "-c", str(module.source), "-o", str(target)]
    _run([*_compiler(), *_FLAGS, *own, *_SHIM, *source])
    return str(target)


def _players() -> tuple[list[str], list[str]]:
    """The programs that run the CUDA rows and the processor's."""
    archives = aarch64.built_kernels()
    if archives is None:
        raise DevError("cuda: the kernels are not built here: `dev.py setup` builds them")
    linked = [str(path) for path in sorted(archives.glob("*.a"))]
    common = [*_compiler(), "-std=c++17", *_FLAGS, *_INCLUDES]
    here, there = OUT / "replay", OUT / "replay-cuda"
    _run([*common, str(_TESTS / "replay.cc"), *linked, "-o", str(here)])
    table = str(ROOT / "cuda" / "table.cc")
    rpath = ["-Xlinker", "-rpath", "-Xlinker", str(OUT)]
    library = [f"-L{OUT}", "-lcloakwork_cuda_shim", *rpath]
    source = str(_TESTS / "replay_cuda.cc")
    _run([*common, source, table, *library, *linked, "-o", str(there)])
    return [str(there)], [str(here)]


def _renamed(output: str) -> str:
    """Give the rows of CUDA the names of the processor's."""
    lines = [line.split(" ", 1) for line in output.splitlines()]
    return "\n".join(f"{name.removesuffix(_CUDA)}{_PORTABLE} {rest}" for name, rest in lines)


def _compiler() -> list[str]:
    return words_of(os.environ.get("CXX") or "c++")


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"cuda: {command[0]} failed:\n{done.stderr.strip()[:4000]}", 1)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip()
        raise DevError(f"cuda: {Path(command[0]).name} ended with {done.returncode}: {said}", 1)
    return done.stdout
