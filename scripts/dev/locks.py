"""The versions and hashes of all Python packages that `dev.py` installs: `locks/NAME.txt`.

Each lock is a dependency group of pyproject.toml, resolved by uv for all platforms and Pythons at
once. Only `dev.py lock` changes one: a release on a registry does not.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.dev.console import ROOT, DevError, Words, say, step
from scripts.dev.toolchain import require_rust

FOLDER = ROOT / "scripts" / "dev" / "locks"
_UV = ROOT / "target" / "lock"


@dataclass(frozen=True)
class Lock:
    """A dependency group of pyproject.toml, and what is resolved with it."""

    name: str
    extras: tuple[str, ...] = ()
    # With the package's own requirements.
    has_package: bool = False
    # Without the requirements of its packages.
    is_bare: bool = False
    # Packages that others ask for and that are not installed.
    left_out: tuple[str, ...] = ()
    # The oldest Python that it is for; None: the package's.
    oldest: str | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return FOLDER / f"{self.name}.txt"

    def content(self) -> bytes:
        """The bytes of the file; DevError if it is absent."""
        try:
            return self.path.read_bytes()
        except OSError as error:
            where = self.path.relative_to(ROOT)
            hint = "restore it with git, or `python3 dev.py lock` writes it"
            raise DevError(f"{where}: expected a lock, got: {error.strerror}; {hint}") from None


# `develop` comes first: the others take its versions where they share a package with it.
DEV = Lock("develop", extras=("models", "serve"), has_package=True)
DEMO = Lock("demo", has_package=True)
SMOKE = Lock("smoke", has_package=True)
TENSEAL = Lock("tenseal")
OPENFHE = Lock("openfhe", oldest="3.10")
# torch's wheel loads most CUDA libraries when it is imported, without a GPU, too. It does without
# those for compiling on a GPU and for linear algebra; nothing here talks to a hub of models.
CONCRETE = Lock(
    "concrete",
    left_out=(
        *("nvidia-cuda-nvrtc-cu12", "nvidia-cusolver-cu12", "triton"),
        *("huggingface-hub", "hf-xet", "httpx2", "httpcore2", "h11", "anyio", "truststore"),
        *("coloredlogs", "humanfriendly", "idna", "importlib-resources", "onnxmltools"),
    ),
)
CUDA = Lock("cuda", is_bare=True)
TOOL = Lock("lock")
LOCKS = (DEV, DEMO, SMOKE, TENSEAL, OPENFHE, CONCRETE, CUDA, TOOL)


def install(python: str | Path, lock: Lock) -> Words:
    """Return the call of pip that installs a lock for an interpreter.

    pip refuses files of other hashes, and requirements that the lock lacks: without `--no-deps` it
    compares the lock with the requirements of each package. Modules are compiled when they are
    imported: pip would spend half of its time on compiling all.
    """
    options = ["--disable-pip-version-check", "--no-compile"]
    options += ["--require-hashes", "--only-binary", ":all:"]
    bare = ["--no-deps"] if lock.is_bare or lock.left_out else []
    return [python, "-m", "pip", "install", *options, *bare, "--requirement", lock.path]


def group(name: str) -> tuple[str, ...]:
    """Return the requirements that pyproject.toml states in a group, without included groups."""
    return tuple(row for row in pyproject()["dependency-groups"][name] if isinstance(row, str))


def oldest_python() -> tuple[int, int]:
    """Read the package's requires-python, its only statement."""
    major, minor = re.findall(r"\d+", pyproject()["project"]["requires-python"])[:2]
    return int(major), int(minor)


def pyproject() -> dict[str, Any]:
    """Read pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as source:
        return tomllib.load(source)


def renew(args: Sequence[str]) -> None:
    """Write all locks: with the versions that they have, except for those to upgrade.

    Cargo.lock gets crates that Cargo.toml files ask for and it lacks; `cargo update` upgrades it.
    """
    upgrades = _upgrades(args)
    cargo: Words = [require_rust(), "update", "--workspace"]
    step("locking crates", cargo, _UV.with_name("lock.log"))
    uv = _install_uv()
    for lock in LOCKS:
        log = _UV / f"{lock.name}.log"
        step(f"locking {lock.name}", [uv, *compile_words(lock), *upgrades], log)
    say(f"locks are written: review `git diff Cargo.lock {FOLDER.relative_to(ROOT)}`")


def compile_words(lock: Lock) -> list[str]:
    """Return the arguments with which uv writes a lock, from the root of the repository.

    The file names no registry: pip takes the one that the machine is set up for.
    """
    version = lock.oldest or "{}.{}".format(*oldest_python())
    words = ["pip", "compile", "--quiet", "--universal", "--python-version", version]
    words += ["--python", sys.executable, "--only-binary", ":all:", "--generate-hashes"]
    words += ["--no-emit-index-url", "--no-emit-find-links"]
    words += ["--custom-compile-command", "python3 dev.py lock"]
    words += ["--output-file", str(lock.path.relative_to(ROOT)), "--group", lock.name]
    words += ["pyproject.toml"] if lock.has_package else []
    words += [word for extra in lock.extras for word in ("--extra", extra)]
    words += ["--no-deps"] if lock.is_bare else []
    words += [word for name in lock.left_out for word in ("--no-emit-package", name)]
    if lock.has_package and lock is not DEV:
        words += ["--constraints", str(DEV.path.relative_to(ROOT))]
    return words


def _upgrades(args: Sequence[str]) -> list[str]:
    """Return uv's options for `--upgrade`, all packages, or `--upgrade NAME...`."""
    match list(args):
        case []:
            return []
        case ["--upgrade"]:
            return ["--upgrade"]
        case ["--upgrade", *names] if not any(name.startswith("-") for name in names):
            return [word for name in names for word in ("--upgrade-package", name)]
        case other:
            got = " ".join(other)
            raise DevError(f"lock takes --upgrade, --upgrade NAME... or no argument, got: {got}")


def _install_uv() -> Path:
    """Install uv, at its locked version, into an environment below target/; return its path."""
    stamp, log = _UV / "installed", _UV.with_name("lock.log")
    if not stamp.exists() or stamp.read_bytes() != TOOL.content():
        step("making an environment for uv", [sys.executable, "-m", "venv", "--clear", _UV], log)
        step("installing uv", install(_UV / "bin" / "python", TOOL), log)
        stamp.write_bytes(TOOL.content())
    return _UV / "bin" / "uv"
