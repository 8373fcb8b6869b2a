"""The portable kernels on aarch64: compiled by Debian's cross compiler, run under qemu-user.

`tests/portable/replay.cc` runs each portable row on small operands: here as cargo built it, which
Rust's tests compare with the references, and under qemu. Integers, fields, points and the
arithmetic of floats agree to the bit; functions of the C library within the bounds of
docs/testing.md.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.dev.console import ROOT, DevError, say
from scripts.dev.environment import processors
from scripts.dev.toolchain import words_of

COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64"
_PACKAGES = "Debian: apt install g++-aarch64-linux-gnu qemu-user"
_SOURCE = ROOT / "tests" / "portable" / "replay.cc"
_OUT = ROOT / "target" / "aarch64"
_INCLUDES = [f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'csrc' / 'include'}"]
# As in crates/csrc/build, except for the optimisation: less compiles three times as fast.
_FLAGS = ["-std=c++17", "-O1"]
_KERNELS = [*_FLAGS, "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden"]
_KERNELS += ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]

_LONGEST = ("curve", "field", "poly", "reduction", "words")

# Rows that need real data: their operands decide where they write.
UNCALLED = {"lookup_rows_u64_portable"}
# Kernels that call the C library, and the distance in units in the last place that two libraries
# may have: twice the distance of either from the reference.
_REAL, _COMPLEX, _POWER = 10.0, 64.0, 800.0
_BY_LIBRARY = {
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp",
    "expm1", "hypot", "log", "log10", "log1p", "log2", "logaddexp", "pow", "sign", "sin", "sinh",
    "sqrt", "tan", "tanh",
}  # fmt: skip
_EPSILON = {"f32": 2.0**-23, "c64": 2.0**-23, "f64": 2.0**-52, "c128": 2.0**-52}


def lacking() -> str | None:
    """Requirements of this check that are missing, as text; None if it can run."""
    absent = [tool for tool in (COMPILER, EMULATOR) if shutil.which(tool) is None]
    if absent:
        return f"{' and '.join(absent)} not installed ({_PACKAGES})"
    if built_kernels() is None:
        return "the kernels are not built here: `dev.py setup` builds them"
    return None


def check() -> None:
    """Compile, run on both machines, compare; raise with the differences."""
    say("aarch64: compiling the portable kernels")
    _OUT.mkdir(parents=True, exist_ok=True)
    host, cross = _host_player(), _cross_player()
    say("aarch64: running them under qemu-user")
    here, there = digests(_output(host)), digests(_output(cross))
    suspects = differing(here, there)
    exact = sorted(symbol for symbol in suspects if not by_library(symbol))
    if exact:
        raise DevError(f"aarch64: other bits than here: {', '.join(exact)}", 1)
    names = sorted(suspects)
    far = list(too_far(_output([*host, *names]), _output([*cross, *names]))) if names else []
    if far:
        raise DevError("\n  - ".join(["aarch64: too far from here", *far]), 1)
    launches = sum(len(own) for own in here.values())
    say(f"aarch64: {launches} launches agree, {len(names)} rows of them within C's library's error")


def built_kernels() -> Path | None:
    """The folder of the newest archives of kernels that cargo built for this machine."""
    archives = (ROOT / "target").glob("*/build/cloakwork-csrc-*/out/libcloakwork_kernels.a")
    newest = max(archives, key=lambda path: path.stat().st_mtime, default=None)
    return newest.parent if newest else None


def digests(output: str) -> dict[str, list[str]]:
    """The digests of each row's launches, in order; refuse a row without launches."""
    found: dict[str, list[str]] = {}
    for line in output.splitlines():
        symbol, *rest = line.split()
        if rest == ["uncalled"]:
            if symbol not in UNCALLED:
                raise DevError(f"{symbol}: no launch of tests/portable/launches.h calls it", 1)
        else:
            found.setdefault(symbol, []).append(rest[-1])
    return found


def differing(here: Mapping[str, list[str]], there: Mapping[str, list[str]]) -> set[str]:
    """Rows whose digests differ, and rows of only one machine."""
    symbols = here.keys() | there.keys()
    return {symbol for symbol in symbols if here.get(symbol) != there.get(symbol)}


def by_library(symbol: str) -> bool:
    """Whether a row calls functions of the C library: `hypot_f64_portable`."""
    kernel, dtype, _ = symbol.split("_", 2)
    return kernel in _BY_LIBRARY and dtype in _EPSILON


def too_far(here: str, there: str) -> Iterator[str]:
    """Yield rows whose numbers on two machines are further apart than their bound."""
    for left, right in zip(here.splitlines(), there.splitlines(), strict=True):
        symbol, launch, *numbers = left.split()
        kernel, dtype, _ = symbol.split("_", 2)
        parts = 2 if dtype.startswith("c") else 1
        bound = _POWER if kernel == "pow" else _COMPLEX if parts == 2 else _REAL
        pairs = zip(_elements(numbers, parts), _elements(right.split()[2:], parts), strict=True)
        for place, (a, b) in enumerate(pairs):
            if not _near(a, b, bound * _EPSILON[dtype]):
                yield f"{symbol}, launch {launch}, element {place}: {a} here, {b} there"
                break


def _elements(numbers: list[str], parts: int) -> list[tuple[float, ...]]:
    values = [float.fromhex(number) for number in numbers]
    return [tuple(values[at : at + parts]) for at in range(0, len(values), parts)]


def _near(a: tuple[float, ...], b: tuple[float, ...], bound: float) -> bool:
    """Whether parts are within the bound of the magnitude; infinities and NaN must be equal."""
    magnitude = max((abs(part) for part in a if math.isfinite(part)), default=0.0)
    for x, y in zip(a, b, strict=True):
        same = x == y or (math.isnan(x) and math.isnan(y))
        finite = math.isfinite(x) and math.isfinite(y)
        if not same and not (finite and abs(x - y) <= bound * magnitude):
            return False
    return True


def _host_player() -> list[str]:
    archives = built_kernels()
    assert archives is not None
    compiler = words_of(os.environ.get("CXX") or "c++")
    player = _OUT / "replay-here"
    linked = list(map(str, sorted(archives.glob("*.a"))))
    _run([*compiler, *_FLAGS, *_INCLUDES, str(_SOURCE), *linked, "-o", str(player)])
    return [str(player)]


def _cross_player() -> list[str]:
    kernels = ROOT / "csrc" / "kernels"
    names = ("*/portable.cc", "*/prepare.cc", "table.cc", "check.cc")
    sources = sorted(path for name in names for path in kernels.glob(name))

    def compiled(source: Path) -> str:
        target = _OUT / f"{source.parent.name}-{source.stem}.o"
        _run([COMPILER, *_KERNELS, *_INCLUDES, "-c", str(source), "-o", str(target)])
        return str(target)

    # Those that compile longest first, so that the last one to begin is short.
    sources.sort(key=lambda path: (path.name != "portable.cc", path.parent.name not in _LONGEST))
    with ThreadPoolExecutor(processors()) as pool:
        objects = list(pool.map(compiled, sources))
    player = _OUT / "replay-there"
    _run([COMPILER, *_FLAGS, *_INCLUDES, str(_SOURCE), *objects, "-static", "-o", str(player)])
    return [EMULATOR, str(player)]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"aarch64: {command[0]} failed:\n{done.stderr.strip()}", done.returncode)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"aarch64: {' '.join(command[:2])} ended with {done.returncode}", 1)
    return done.stdout
