"""`.venv`: made once; requirements installed, extension built, each when its inputs changed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.dev.console import ROOT, Words, say, step
from scripts.dev.toolchain import require_all

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
# One Cargo profile for all that dev.py builds: nothing is compiled twice. Wheels use `release`.
PROFILE = "fast"
_STATE = VENV / "dev"
_EXTRAS = ("models", "dev")
_SOURCE_TREES = ("crates", "csrc", "cuda")
# Of the CUDA kernels that builds embed (`dev.py cuda`).
_FATBINS = ROOT / "target" / "cuda" / "digest"
_SOURCE_FILES = ("Cargo.toml", "Cargo.lock", "pyproject.toml")
_BUILD_VARIABLES = ("CC", "CFLAGS", "CXX", "CXXFLAGS", "RUSTFLAGS")


def ensure_environment() -> None:
    """Make `.venv` and install the requirements of pyproject.toml, unless they are installed."""
    if not _interpreter_works():
        require_all()
        log = ROOT / ".venv.log"  # not inside .venv, which is cleared
        title = f"making .venv with Python {sys.version.split()[0]}"
        step(title, [sys.executable, "-m", "venv", "--clear", VENV], log)
        log.unlink()
    requirements = _requirements()
    digest = _digest([sys.version.encode(), str(ROOT).encode(), *map(str.encode, requirements)])
    if _stamp("requirements") == digest:
        return
    pip: Words = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", *requirements]
    step(f"installing {len(requirements)} requirements", pip, _STATE / "pip.log", environment())
    _write_stamp("requirements", digest)


def ensure_built() -> None:
    """Bring `.venv` to the state in which `import cloakwork` matches the sources."""
    ensure_environment()
    digest = _digest(_build_inputs())
    extension = ROOT / "python" / "cloakwork" / "_core.abi3.so"
    if _stamp("build") == digest and extension.exists() and (VENV / "bin" / "cloakwork").exists():
        say("build is up to date")
        return
    require_all()
    maturin: Words = [VENV / "bin" / "maturin", "develop", "--profile", PROFILE]
    step("building the extension", maturin, _STATE / "build.log", environment())
    _write_stamp("build", digest)


def environment() -> dict[str, str]:
    """Return the variables for tools: inside `.venv`, independent of the calling shell."""
    env = dict(os.environ)
    for name in ("CONDA_PREFIX", "PYTHONHOME"):
        env.pop(name, None)
    home = Path(env.get("CARGO_HOME", Path.home() / ".cargo"))
    env["VIRTUAL_ENV"] = str(VENV)
    env["PATH"] = os.pathsep.join([str(VENV / "bin"), env.get("PATH", ""), str(home / "bin")])
    env["PYO3_PYTHON"] = str(PYTHON)
    return env


def _interpreter_works() -> bool:
    if not PYTHON.exists():
        return False
    probe = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode == 0


def _requirements() -> list[str]:
    """List the package's requirements at run time and the additional ones of its developers."""
    with (ROOT / "pyproject.toml").open("rb") as source:
        project = tomllib.load(source)["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(line for name in _EXTRAS for line in extras[name])]


def _build_inputs() -> Iterator[bytes]:
    """Yield all inputs of the extension: place, interpreter, variables, source bytes."""
    yield str(ROOT).encode()
    yield sys.version.encode()
    for name in _BUILD_VARIABLES:
        yield f"{name}={os.environ.get(name, '')}".encode()
    yield from _fatbins()
    for path in sorted(_source_files()):
        yield str(path.relative_to(ROOT)).encode()
        yield path.read_bytes()


def _fatbins() -> Iterator[bytes]:
    """Yield what the CUDA kernels are made from, if builds embed them."""
    sources = _FATBINS.read_bytes() if _FATBINS.exists() else b""
    yield sources
    if sources:
        yield from (path.read_bytes() for path in sorted(_FATBINS.parent.glob("*.digest")))


def _source_files() -> Iterator[Path]:
    yield from (ROOT / name for name in _SOURCE_FILES if (ROOT / name).exists())
    for tree in _SOURCE_TREES:
        yield from (path for path in (ROOT / tree).rglob("*") if path.is_file())


def _digest(parts: Iterable[bytes]) -> str:
    """Hash the parts with their lengths, so that moving bytes between parts shows."""
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def _stamp(name: str) -> str | None:
    path = _STATE / f"{name}.sha256"
    return path.read_text().strip() if path.exists() else None


def _write_stamp(name: str, digest: str) -> None:
    _STATE.mkdir(parents=True, exist_ok=True)
    (_STATE / f"{name}.sha256").write_text(digest + "\n")
