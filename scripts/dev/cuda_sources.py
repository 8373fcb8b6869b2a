"""The sources of CUDA modules: files that one module reads, and digests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from scripts.dev.console import ROOT, DevError

FOLDERS = ("cuda", "csrc")

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"\n]+)"|<([^>\n]+)>|(\S+))', re.MULTILINE)


def digest() -> str:
    """FNV-1a of all sources' paths and contents; build.rs computes the same."""
    value = 0xCBF29CE484222325
    for path in _sources():
        for part in (_name(path).encode(), path.read_bytes()):
            for byte in part:
                value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def digest_of(source: Path, folders: Sequence[Path], first: Sequence[Path], how: str) -> str:
    """A digest of one source, of all files that it includes, and of how it is compiled."""
    value = hashlib.sha256(how.encode())
    for path in sorted(files_of([source, *first], folders), key=_name):
        content = path.read_bytes()
        value.update(f"\n{_name(path)} {len(content)}\n".encode() + content)
    return value.hexdigest()


def files_of(sources: Sequence[Path], folders: Sequence[Path]) -> set[Path]:
    """These sources and all files that they include, in branches that are not compiled too."""
    found, left = set(sources), list(sources)
    while left:
        for path in _included(left.pop(), tuple(folders)):
            if path not in found:
                found.add(path)
                left.append(path)
    return found


def _included(path: Path, folders: tuple[Path, ...]) -> Iterator[Path]:
    """The files that a source names, as a compiler finds them. Others are of the system."""
    for quoted, pointed in _names(path):
        places = [path.parent, *folders] if quoted else folders
        candidates = (place / (quoted or pointed) for place in places)
        hit = next((candidate for candidate in candidates if candidate.is_file()), None)
        if hit is not None:
            yield hit.resolve()


@cache
def _names(path: Path) -> tuple[tuple[str, str], ...]:
    found = []
    for quoted, pointed, other in _INCLUDE.findall(path.read_text()):
        if other:
            raise DevError(f"{_name(path)}: `#include {other}` hides a file from `dev.py cuda`", 1)
        found.append((quoted, pointed))
    return tuple(found)


def _sources() -> list[Path]:
    """The files that fatbins are made from, in order of their paths as text."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    return sorted(found, key=_name)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
