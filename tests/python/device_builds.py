"""Drivers built from sources with the system's compilers, once in a session of tests."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from cloakwork.device import include_dir

ROOT = Path(__file__).parents[2]
C_EXAMPLE = ROOT / "examples" / "devices" / "c" / "mychip.c"
CPP_EXAMPLE = ROOT / "examples" / "devices" / "cpp" / "mychip.cpp"
PYTHON_EXAMPLE = ROOT / "examples" / "devices" / "python" / "mychip.py"
PLANTED = ROOT / "tests" / "devices" / "planted.c"
SHIM = ROOT / "tests" / "devices" / "shim.cpp"
MISBEHAVING = ROOT / "tests" / "devices" / "misbehaving.c"

LANGUAGES = ("c", "cpp", "python")
"""Those of the example devices."""

_WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
_COMPILERS = {
    ".c": ["cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L"],
    ".cpp": ["c++", "-std=c++17"],
}

PLANTED_BUGS = {
    "element": "-DPLANTED_ELEMENT=64",
    "race": "-DPLANTED_RACE",
    "lifetime": "-DPLANTED_LIFETIME",
    "stride": "-DPLANTED_STRIDE",
    "modulus": "-DPLANTED_MODULUS",
}
"""The flag of each bug of `tests/devices/planted.c`, which says what is wrong."""


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="cloakwork-devices-"))


def example(language: str) -> str:
    """The example device in a language, for `device=`; a library is built."""
    if language == "python":
        return f"{PYTHON_EXAMPLE}:MyChip"
    return str(built({"c": C_EXAMPLE, "cpp": CPP_EXAMPLE}[language], name=f"in{language}"))


def example_or_host(language: str) -> str:
    """The same; the host on a machine that cannot build it."""
    return example(language) if language == "python" or has_compilers() else "cpu"


def has_compilers() -> bool:
    """Whether this machine can build drivers."""
    return all(shutil.which(words[0]) for words in _COMPILERS.values())


@cache
def built(source: Path, *flags: str, name: str = "mychip") -> Path:
    """The shared library of a source; warnings are errors. `name` replaces that of the driver."""
    number = len(list(_folder().iterdir()))
    folder = _folder() / str(number)
    folder.mkdir()
    library = folder / f"lib{name}.so"
    text = source.read_text().replace('"mychip"', f'"{name}"').replace('"planted"', f'"{name}"')
    text = text.replace('"misbehaving"', f'"{name}"').replace('"fused"', f'"{name}"')
    own = folder / source.name
    own.write_text(text.replace('"../../examples/', f'"{ROOT}/examples/'))
    options = [*_WARNINGS, "-O2", "-shared", "-fPIC", f"-I{include_dir()}", *flags]
    subprocess.run([*_COMPILERS[source.suffix], *options, str(own), "-o", str(library)], check=True)
    return library
