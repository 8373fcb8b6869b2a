"""Programs that the machine must have: Rust, a C++17 compiler and a linker, venv and pip."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

from scripts.dev.console import ROOT, DevError

_RUST_HINT = "install it with rustup, https://rustup.rs, then open a new shell"
_CXX_HINT = (
    "Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install"
)


def require_rust() -> str:
    """Return the path of cargo, or raise with the missing parts of Rust and its linker."""
    _raise_if_any(_rust_findings())
    cargo = find_tool("cargo")
    assert cargo is not None
    return cargo


def require_all() -> str:
    """Return the path of cargo, or raise with everything that is missing for a build."""
    _raise_if_any(_venv_findings() + _rust_findings() + _cxx_findings())
    return require_rust()


def find_tool(name: str) -> str | None:
    """Find a program on PATH, or where rustup installs Rust's before a new shell is opened."""
    found = shutil.which(name)
    if found is None and name.startswith(("cargo", "rustc")):
        home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
        found = shutil.which(name, path=str(home / "bin"))
    return found


def rust_version(rustc: str, env: Mapping[str, str] | None = None) -> tuple[int, ...] | None:
    """Ask a compiler for its version; None if it does not start."""
    command = [rustc, "--version"]
    try:
        answer = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    except OSError:
        return None
    match = re.match(r"rustc (\d+)\.(\d+)", answer.stdout)
    return (int(match[1]), int(match[2])) if match else None


def needed_rust() -> tuple[int, ...]:
    """Read the workspace's rust-version, its only statement."""
    with (ROOT / "Cargo.toml").open("rb") as source:
        version = tomllib.load(source)["workspace"]["package"]["rust-version"]
    return tuple(int(part) for part in version.split(".")[:2])


def words_of(compiler: str) -> list[str]:
    """Split $CXX as cargo's builds do: a path with spaces is one word, `ccache c++` is two."""
    return [compiler] if Path(compiler).is_file() else shlex.split(compiler)


def _venv_findings() -> list[str]:
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        return ["Python's venv and ensurepip: Debian, Ubuntu: apt install python3-venv"]
    return []


def _rust_findings() -> list[str]:
    findings = [f"{tool}: {_RUST_HINT}" for tool in ("cargo", "rustc") if find_tool(tool) is None]
    rustc = find_tool("rustc")
    if rustc is not None:
        found, needed = rust_version(rustc), needed_rust()
        if found is None:
            findings.append(f"a working rustc: `{rustc} --version` fails; {_RUST_HINT}")
        elif found < needed:
            have, want = (".".join(map(str, version)) for version in (found, needed))
            findings.append(f"rustc {want} or newer, this is {have}: rustup update stable")
    if shutil.which("cc") is None:
        findings.append(f"cc, which rustc calls to link: {_CXX_HINT}")
    return findings


def _cxx_findings() -> list[str]:
    """Ask the compiler of the build: $CXX, else c++, which is g++ or clang++."""
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if compiler is None:
        return [f"a C++17 compiler (no c++ on PATH): {_CXX_HINT}"]
    probe = "static_assert(__cplusplus >= 201703L); unsigned __int128 word;"
    command = [*words_of(compiler), "-std=c++17", "-x", "c++", "-fsyntax-only", "-"]
    try:
        status = subprocess.run(
            command, input=probe, text=True, capture_output=True, check=False
        ).returncode
    except OSError as error:
        return [f"a C++17 compiler: cannot start {compiler}: {error.strerror}; {_CXX_HINT}"]
    if status != 0:
        return [f"a C++17 compiler with 128-bit integers, {compiler} is none: {_CXX_HINT}"]
    return []


def _raise_if_any(findings: list[str]) -> None:
    if findings:
        raise DevError("this machine lacks\n" + "\n".join(f"  - {line}" for line in findings))
