"""Wheels for older systems: linked against an old C library, on a machine with a newer one.

The linker binds a function to its newest version in the machine's C library, so that a wheel would
need that library. Here the linker sees stubs instead: libraries of the same names that list each
function at its newest version up to 2.28, and contain no code. On the user's machine the real
library has all of those versions. Functions that came later and that Rust's standard library calls
(`stat64` and the like) are built from older ones.
"""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from scripts.dev.console import ROOT, DevError, Words

# manylinux_2_28: Debian 10, RHEL 8, Ubuntu 20.04 and everything since.
NEWEST = (2, 28)
_STUBS = ROOT / "target" / "glibc-2.28"
# Functions that moved into libc.so.6 later come from libraries that still exist with these
# versions.
_FORMER = {"libpthread.so.0": r"pthread_\w+|sem_\w+", "libdl.so.2": r"dl\w+"}
_LIBRARIES = ("libc.so.6", "libm.so.6")
_SYMBOL = re.compile(
    r"^\s*\d+:\s+[0-9a-f]+\s+(?P<size>\S+)\s+(?P<type>\w+)\s+(?P<bind>GLOBAL|WEAK)\s+\w+\s+"
    r"(?P<section>\w+)\s+(?P<name>[\w.]+)@{1,2}(?P<version>[\w.]+)",
    re.MULTILINE,
)
# glibc before 2.33 had these only in its static part; the number is the layout's of `struct stat`.
_LATER = """
__attribute__((visibility("hidden"))) int {name}64({parameters}void* out) {{
  extern int __{old}64(int, {types}void*);
  return __{old}64({layout}, {arguments}out);
}}
"""
_STATS = (
    ("stat", "xstat", "const char* path, ", "const char*, ", "path, "),
    ("lstat", "lxstat", "const char* path, ", "const char*, ", "path, "),
    ("fstat", "fxstat", "int file, ", "int, ", "file, "),
)
LATER_NAMES = {f"{name}64" for name, *_ in _STATS}


@dataclass(frozen=True)
class Symbol:
    """A symbol that a library defines, or needs, at one version."""

    name: str
    version: tuple[int, ...]
    is_there: bool
    is_weak: bool
    is_data: bool
    size: int

    @property
    def node(self) -> str:
        """The version as the linker spells it."""
        return "GLIBC_" + ".".join(map(str, self.version))


def symbols(listing: str) -> Iterator[Symbol]:
    """The versioned symbols of the C library in the output of `readelf --dyn-syms -W`."""
    for match in _SYMBOL.finditer(listing):
        kind, _, version = match["version"].partition("_")
        if kind != "GLIBC" or not re.fullmatch(r"[\d.]+", version):
            continue
        yield Symbol(
            match["name"],
            tuple(map(int, version.split("."))),
            match["section"] != "UND",
            match["bind"] == "WEAK",
            match["type"] == "OBJECT",
            int(match["size"], 0),
        )


def listed(library: Path | str) -> list[Symbol]:
    """The versioned symbols of a library on the disk."""
    command = ["readelf", "--dyn-syms", "--wide", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"readelf cannot read {library}: {done.stderr.strip()}")
    return list(symbols(done.stdout))


def as_it_was(found: Iterable[Symbol]) -> dict[str, Symbol]:
    """The newest version of each name that is old enough."""
    kept: dict[str, Symbol] = {}
    for symbol in found:
        known = kept.get(symbol.name)
        older = known is not None and known.version >= symbol.version
        if symbol.is_there and symbol.version <= NEWEST and not older:
            kept[symbol.name] = symbol
    return kept


def too_new(found: Iterable[Symbol]) -> list[Symbol]:
    """Symbols that a library needs at a version that older systems lack."""
    return [s for s in found if not s.is_there and not s.is_weak and s.version > NEWEST]


def link_arguments() -> Words:
    """Arguments of rustc that link against the old C library; none for another C library."""
    if platform.libc_ver()[0] != "glibc":
        return []
    shim = _STUBS / "later.o"
    _make_stubs(_STUBS)
    return ["-C", f"link-arg=-L{_STUBS}", "-C", f"link-arg={shim}"]


def check_wheels(folder: Path) -> str:
    """The name of the newest wheel; DevError if it needs a symbol that older systems lack."""
    wheel = max(folder.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    unpacked = _STUBS / "wheel"
    with ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".so")]
        for name in names:
            archive.extract(name, unpacked)
    for name in names:
        if wrong := too_new(listed(unpacked / name)):
            needs = ", ".join(sorted(f"{symbol.name}@{symbol.node}" for symbol in wrong))
            newest = ".".join(map(str, NEWEST))
            raise DevError(f"{wheel.name}: {name} needs more than glibc {newest}: {needs}", 1)
    return wheel.name


def _make_stubs(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    there = {name: as_it_was(listed(_library(name))) for name in _LIBRARIES}
    common = there["libc.so.6"]
    for name, pattern in _FORMER.items():
        moved = [symbol for symbol in common if re.fullmatch(pattern, symbol)]
        there[name] = {symbol: common.pop(symbol) for symbol in moved}
    for name, found in there.items():
        _make_stub(folder, name, found)
    (folder / "libc.so").unlink()
    # The part of the C library that is linked into each object file.
    static = _library("libc_nonshared.a")
    library = folder / "libc.so.6"
    (folder / "libc.so").write_text(f'GROUP ( "{library}" "{static}" )\n')
    layout = "1" if platform.machine() == "x86_64" else "0"
    source = "".join(
        _LATER.format(
            name=name, old=old, parameters=parameters, types=types, arguments=arguments,
            layout=layout,
        )
        for name, old, parameters, types, arguments in _STATS
    )  # fmt: skip
    (folder / "later.c").write_text(source)
    _compile(["-O2", "-fPIC", "-c", folder / "later.c", "-o", folder / "later.o"])


def _make_stub(folder: Path, name: str, found: dict[str, Symbol]) -> None:
    """A library of this name with these symbols and no code."""
    lines = []
    for symbol in found.values():
        kind = "object" if symbol.is_data else "function"
        place = ".data" if symbol.is_data else ".text"
        lines += [
            place, f".globl {symbol.name}", f".type {symbol.name}, %{kind}", f"{symbol.name}:",
            f".size {symbol.name}, {max(symbol.size, 1)}", f".skip {max(symbol.size, 1)}",
        ]  # fmt: skip
    lines.append('.section .note.GNU-stack,"",%progbits')
    nodes: dict[tuple[int, ...], list[Symbol]] = {}
    for symbol in found.values():
        nodes.setdefault(symbol.version, []).append(symbol)
    script = [
        f"{group[0].node} {{ global: {' '.join(f'{symbol.name};' for symbol in group)} }};"
        for _, group in sorted(nodes.items())
    ]
    (folder / "stub.s").write_text("\n".join([*lines, ""]))
    (folder / "stub.map").write_text("\n".join([*script, ""]))
    _compile([
        "-shared", "-nostdlib", f"-Wl,-soname,{name}", f"-Wl,--version-script={folder}/stub.map",
        folder / "stub.s", "-o", folder / name,
    ])  # fmt: skip
    short = folder / (name.partition(".so")[0] + ".so")
    short.unlink(missing_ok=True)
    short.symlink_to(name)


def _library(name: str) -> str:
    """The path at which the compiler finds a library."""
    command = ["cc", f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _compile(arguments: Words) -> None:
    command = ["cc", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"the stubs of the C library: {done.stderr.strip()[:500]}")
