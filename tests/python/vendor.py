"""A vendor's library for tests, built once a process: fused.c and fused.toml in tests/devices."""

from functools import cache
from pathlib import Path

from python.device_builds import ROOT, built

SOURCE = ROOT / "tests" / "devices" / "fused.c"


@cache
def library(*flags: str, name: str = "fused") -> Path:
    """The library, with the declarations of its ops beside it."""
    file = built(SOURCE, *flags, name=name)
    file.with_suffix(".toml").write_bytes(SOURCE.with_suffix(".toml").read_bytes())
    return file
