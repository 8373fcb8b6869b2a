"""The source distribution: it has everything that a build reads, and a wheel can be built from it.

The gate compares what the compilers read for the build of this tree with what the distribution
holds, which takes a second; `build_wheel` builds from it as `pip install` of it would.
"""

from __future__ import annotations

import re
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.dev.aarch64 import built_kernels
from scripts.dev.console import ROOT, DevError, Words, call_or_fail, say, step
from scripts.dev.environment import PROFILE, PYTHON, VENV, environment

_OUT = ROOT / "target" / "sdist"
_PROFILE = ROOT / "target" / PROFILE
# Written anew by maturin, which keeps only the members that the extension needs.
_REWRITTEN = re.compile(r"(.*/)?Cargo\.(toml|lock)|pyproject\.toml")


def make() -> Path:
    """Make the distribution of this tree and return its file."""
    shutil.rmtree(_OUT, ignore_errors=True)
    maturin: Words = [VENV / "bin" / "maturin", "sdist", "--out", _OUT]
    step("making the source distribution", maturin, _OUT.with_suffix(".log"), environment())
    (made,) = _OUT.glob("*.tar.gz")
    return made


def check() -> None:
    """Refuse a distribution that lacks a file which the build of this tree read."""
    made = make()
    read = set(files_read())
    wrong = sorted(findings(read, contents(made)))
    if wrong:
        hint = "`include` of tool.maturin in pyproject.toml lists what is not a crate's"
        shown = "\n".join(f"  - {line}" for line in wrong[:20])
        raise DevError(f"{made.name}: {len(wrong)} files are wrong; {hint}\n{shown}", 1)
    say(f"{made.name} has all {len(read)} files that the build read")


def build_wheel(folder: Path) -> Path:
    """Build the wheel from the distribution with full optimisation, as `pip install` does."""
    made = make()
    options: Words = ["--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    env = {**environment(), "CLOAKWORK_BUILD_ISA": "all", "CARGO_TARGET_DIR": str(_OUT / "target")}
    call_or_fail([PYTHON, "-m", "pip", "wheel", *options, made], env)
    (wheel,) = folder.glob("cloakwork-*.whl")
    return wheel


def files_read() -> Iterator[str]:
    """Files that compilers read for the extension, and the package's, from the root."""
    (library,) = _PROFILE.glob("lib_core.d")
    yield from _inside(rule_files(library.read_text()))
    kernels = built_kernels()
    for rule in kernels.glob("objects/*.d") if kernels else ():
        yield from _inside(rule_files(rule.read_text()))
    package = ROOT / "python" / "cloakwork"
    for path in package.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so":
            yield path.relative_to(ROOT).as_posix()


def rule_files(rule: str) -> list[Path]:
    """The files of a compiler's rule, `target: file file`; a space in a name has a backslash."""
    _, _, files = rule.replace("\\\n", " ").partition(": ")
    lines = files.split("\n", 1)[0]
    return [Path(name.replace("\\ ", " ")) for name in re.findall(r"(?:\\ |\S)+", lines)]


def contents(archive: Path) -> dict[str, bytes]:
    """The files of a distribution by their names from its root."""
    found = {}
    with tarfile.open(archive) as opened:
        for member in opened:
            source = opened.extractfile(member)
            if source is not None:
                found[member.name.partition("/")[2]] = source.read()
    return found


def findings(read: Iterable[str], held: dict[str, bytes]) -> Iterator[str]:
    """The faults of a distribution with these files."""
    for name in read:
        if name not in held:
            yield f"{name}: not in it"
        elif not _REWRITTEN.fullmatch(name) and held[name] != (ROOT / name).read_bytes():
            yield f"{name}: other contents than here"


def _inside(paths: Iterable[Path]) -> Iterator[str]:
    """Those of the paths that are sources of this tree, from its root."""
    for path in paths:
        resolved = (ROOT / path).resolve()
        is_own = resolved.is_relative_to(ROOT) and not resolved.is_relative_to(ROOT / "target")
        if is_own and resolved.is_file():
            yield resolved.relative_to(ROOT).as_posix()
