"""`cargo check` of the crates for aarch64, with Debian's compiler; nothing is installed.

apt reads indexes of amd64 and arm64 into a folder below target/, where the packages are unpacked
once; the machine's indexes and packages stay as they are. cargo is the one of the build.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

from scripts.dev import rust_tests
from scripts.dev.console import ROOT, DevError, Words, say, step
from scripts.dev.toolchain import needed_rust, require_rust, rust_version

_TARGET = "aarch64-unknown-linux-gnu"
_OUT = ROOT / "target" / "aarch64"
_DEBIAN = _OUT / "debian"
_RUSTC = _DEBIAN / "usr" / "bin" / "rustc"
# The compiler, and the standard library for build scripts and for the target.
_COMPILER, _LIBRARY, _FOR_TARGET = "rustc-web", "libstd-rust-web-dev", "libstd-rust-web-dev:arm64"
_TOOLS = ("apt-get", "apt-cache", "dpkg-query", "dpkg-deb")
# Without the interface to Python, whose libraries take half a minute more.
_SCOPE: Words = [*rust_tests.SCOPE, "--locked"]


class Unavailable(Exception):
    """Debian's packages cannot be had here; the message gives the reason."""


def lacking() -> str | None:
    """Requirements of this check that are missing, as text; None if it can run."""
    try:
        _fetch()
    except Unavailable as reason:
        return str(reason)
    return None


def check() -> None:
    """Check the crates; raise if one does not compile."""
    target: Words = ["--target", _TARGET, "--target-dir", _OUT / "check"]
    command: Words = [require_rust(), "check", *_SCOPE, *target]
    step("aarch64: cargo check with Debian's rustc", command, _OUT / "check.log", _environment())


def unfit(shown: str, needed: tuple[int, ...]) -> str | None:
    """The reason why the packages that `apt-cache show` describes cannot be used, or None."""
    versions = re.findall(r"^Version: (\S+)", shown, re.MULTILINE)
    if len(versions) != 2 or len(set(versions)) != 1:
        return f"apt's sources have no {_COMPILER} with {_FOR_TARGET} of the same version"
    if tuple(map(int, re.findall(r"\d+", versions[0])[:2])) < needed:
        return f"Debian's rustc is {versions[0]}, the crates need {'.'.join(map(str, needed))}"
    return None


def chosen(dependencies: Collection[str], installed: Collection[str]) -> list[str]:
    """Packages to download: Rust's, and the libraries they need that the machine lacks."""
    absent = set(dependencies) - set(installed)
    rust = {name for name in dependencies if name.startswith("libstd-rust-")}
    return sorted({_COMPILER, _FOR_TARGET} | rust | absent)


def _environment() -> dict[str, str]:
    """The variables with which Debian's compiler starts, and C++ is not compiled."""
    libraries = ":".join(map(str, _DEBIAN.glob("usr/lib/*-linux-gnu")))
    found = {"RUSTC": str(_RUSTC), "LD_LIBRARY_PATH": libraries, "CLOAKWORK_SKIP_CPP": "1"}
    return {**os.environ, **found}


def _is_usable() -> bool:
    version = rust_version(str(_RUSTC), _environment())
    return version is not None and version >= needed_rust()


def _fetch() -> None:
    """Download and unpack the packages, unless they are there."""
    if _is_usable():
        return
    absent = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if absent:
        raise Unavailable(f"{' and '.join(absent)} not installed (they are Debian's)")
    say("aarch64: downloading Debian's rustc")
    folder = _OUT / "packages"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("lists/partial", "cache/archives/partial", "unpacked"):
        (folder / name).mkdir(parents=True)
    updated = _apt(folder, "apt-get", "update")
    shown = _apt(folder, "apt-cache", "show", "--no-all-versions", _COMPILER, _FOR_TARGET)
    if reason := unfit(shown.stdout, needed_rust()):
        raise Unavailable("; ".join([reason, *updated.stderr.splitlines()[:1]]))
    _unpack(folder)
    if not _is_usable():
        raise DevError(f"aarch64: Debian's rustc does not start: {_RUSTC} --version", 1)


def _unpack(folder: Path) -> None:
    """Download the packages into `folder`, which becomes the compiler's when all are unpacked."""
    depends = ("depends", "--important", "--recurse", _LIBRARY)
    listed = _apt(folder, "apt-cache", *depends).stdout
    known = _output(["dpkg-query", "--show", "--showformat", "${Package}\n"]).stdout
    names = chosen(re.findall(r"^[\w.+-]+$", listed, re.MULTILINE), known.split())
    downloaded = _apt(folder, "apt-get", "download", *names)
    if downloaded.returncode != 0:
        raise Unavailable(f"apt-get download: {downloaded.stderr.strip()}")
    for package in sorted(folder.glob("*.deb")):
        unpacked = _output(["dpkg-deb", "--extract", package, folder / "unpacked"])
        if unpacked.returncode != 0:
            raise DevError(f"aarch64: {package.name}: {unpacked.stderr.strip()}", 1)
    shutil.rmtree(_DEBIAN, ignore_errors=True)
    (folder / "unpacked").rename(_DEBIAN)
    shutil.rmtree(folder)


def _apt(folder: Path, tool: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run apt with both architectures, and with its state and its downloads in `folder`."""
    options = [
        "APT::Architectures::=arm64",
        f"Dir::State={folder}",
        "Dir::State::status=/dev/null",
        f"Dir::Cache={folder / 'cache'}",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
        "Acquire::http::Timeout=10",
    ]
    return _output([tool, "--quiet", *(f"--option={one}" for one in options), *words], folder)


def _output(command: Words, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False
    )
