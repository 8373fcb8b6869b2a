"""Kernels under AddressSanitizer and UndefinedBehaviorSanitizer: all tests that call them.

The kernels are instrumented, the Rust around them is not; its allocations are AddressSanitizer's,
so that an access outside an operand is detected. Families without their own suite beside the
kernels (curve, field, hash, poly) run in the suites of the engine: random programs with every
instruction set, and points against schoolbook arithmetic.
"""

from __future__ import annotations

import resource
import subprocess
import time

from scripts.dev import rust_tests
from scripts.dev.console import ROOT, DevError, call, say
from scripts.dev.environment import environment
from scripts.dev.toolchain import require_rust

_TARGET = "x86_64-unknown-linux-gnu"
# Checks as calls and less optimisation: the same findings from code that compiles much faster.
_CXXFLAGS = (
    "-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined "
    "--param asan-instrumentation-with-call-threshold=0"
)
_LINK = ("-Wl,--no-as-needed", "-lasan", "-lubsan")
_PACKAGES = ("cloakwork-kernels", "cloakwork-run", "cloakwork-testing")
# `symbols` compares the imports of plain objects, which instrumented ones do not share;
# `constant_time` steps through plain kernels and starts valgrind, which does not run beside
# AddressSanitizer; `laws` damages files and texts, which kernels do not read.
_LEFT_OUT = ("symbols", "constant_time", "laws")


def sanitize() -> int:
    """Build the kernels with both sanitizers and run their tests on every instruction set."""
    cargo = require_rust()
    runtime = subprocess.run(
        ["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if not runtime.startswith("/"):
        raise DevError("sanitize needs g++ with its sanitizers (Debian: apt install g++)")
    variables = {
        "CXXFLAGS": _CXXFLAGS,
        "CLOAKWORK_BUILD_ISA": "all",
        "CARGO_TARGET_DIR": str(ROOT / "target" / "sanitize"),
        "RUSTFLAGS": " ".join(f"-C link-arg={flag}" for flag in _LINK),
    }
    say("building the tests that call kernels, with sanitizers")
    packages = [word for name in _PACKAGES for word in ("-p", name)]
    build = [cargo, "test", *packages, "--target", _TARGET]
    programs = rust_tests.build(build, {**environment(), **variables})
    failed = [
        program.name
        for program in programs
        if program.name.rpartition("/")[2] not in _LEFT_OUT and not _passes(program, runtime)
    ]
    say("no finding" if not failed else f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def _passes(program: rust_tests.Program, runtime: str) -> bool:
    # Tests of allocations that no machine has expect a null.
    asan = "detect_leaks=0:allocator_may_return_null=1"
    options = {"ASAN_OPTIONS": asan, "LD_PRELOAD": runtime}
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    passed = call(program.command, {**environment(), **options}) == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    elapsed = time.monotonic() - start
    took = f"{elapsed:.0f} s, {processor:.0f} s of processor"
    say(f"{program.name}: {'ok' if passed else 'FAILED'}, {took}")
    return passed
