"""Checks of one machine's build elsewhere: other Pythons, another architecture, GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scripts.dev import aarch64, aarch64_rust, cuda, cuda_shim, pythons
from scripts.dev.console import DevError, say

REQUIRED = "--required"


def run(words: Sequence[str]) -> int:
    """Run the named parts, or all; report requirements that a part lacks, or insist on them."""
    required = REQUIRED in words
    names = [word for word in words if word != REQUIRED]
    for name in names:
        if name not in PARTS:
            raise DevError(f"matrix takes {', '.join(PARTS)} and {REQUIRED}, got: {name}")
    for name in names or PARTS:
        lacks = PARTS[name]()
        if lacks and required:
            raise DevError(f"{name}: {lacks}", 1)
        if lacks:
            say(f"{name} skipped: {lacks}")
    return 0


def _pythons() -> None:
    """Run every Python of the machine; having only the environment's own one is not a failure."""
    found = pythons.others()
    say(f"pythons: {', '.join(found) or 'no other version'} besides that of .venv")
    for version, python in found.items():
        pythons.check(version, python)


def _aarch64() -> str | None:
    lacks = aarch64.lacking()
    if lacks is None:
        aarch64.check()
    return lacks


def _aarch64_rust() -> str | None:
    lacks = aarch64_rust.lacking()
    if lacks is None:
        aarch64_rust.check()
    return lacks


def _cuda() -> str | None:
    """Run every CUDA row on this processor; compile all modules as for a GPU."""
    cuda_shim.check()
    lacks = cuda.lacking()
    if lacks is None:
        cuda.build()
        return None
    return f"modules are not compiled for GPUs: {lacks}"


PARTS: dict[str, Callable[[], str | None]] = {
    "pythons": _pythons,
    "aarch64": _aarch64,
    "aarch64-rust": _aarch64_rust,
    "cuda": _cuda,
}
