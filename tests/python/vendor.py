"""A vendor's library for tests, built once a process: tests/devices/fused.c."""

import subprocess
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tests" / "devices" / "fused.c"


@cache
def library() -> Path:
    """The library, which stays where it is: a driver is loaded from one place."""
    folder = Path(tempfile.mkdtemp(prefix="cloakwork-vendor-"))
    file = folder / "libfused.so"
    include = ROOT / "csrc" / "include"
    command = ["cc", "-shared", "-fPIC", "-O2", "-I", str(include), str(SOURCE), "-o", str(file)]
    subprocess.run(command, check=True)
    return file
