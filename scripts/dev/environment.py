"""`.venv`: made once; a lock installed, the extension built, each when its inputs changed."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.dev.console import PROGRESS, ROOT, Words, say, step
from scripts.dev.locks import DEV, Lock, install
from scripts.dev.toolchain import require_all

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
# One Cargo profile for all that dev.py builds: nothing is compiled twice. Wheels use `release`.
PROFILE = "fast"
# Of the first build: minutes of one core, measured from an empty target/ to the end.
FIRST_BUILD_MINUTES = 13.5
_STATE = VENV / "dev"
_EXTENSION = ROOT / "python" / "cloakwork" / "_core.abi3.so"
_SOURCE_TREES = ("crates", "csrc", "cuda")
# Of the CUDA kernels that builds embed (`dev.py cuda`).
_FATBINS = ROOT / "target" / "cuda" / "digest"
_SOURCE_FILES = ("Cargo.toml", "Cargo.lock", "pyproject.toml")
_BUILD_VARIABLES = ("CC", "CFLAGS", "CLOAKWORK_BUILD_ISA", "CXX", "CXXFLAGS", "RUSTFLAGS")


def ensure_environment(lock: Lock = DEV) -> None:
    """Make `.venv` and install a lock, unless that is done; DEV has the packages of DEMO, too."""
    if PYTHON.exists() and _stamp("requirements") in {_installed(lock), _installed(DEV)}:
        return
    if not _interpreter_works():
        require_all()
        log = ROOT / ".venv.log"  # not inside .venv, which is cleared
        title = f"making .venv with Python {sys.version.split()[0]}"
        step(title, [sys.executable, "-m", "venv", "--clear", VENV], log)
        log.unlink()
    title = f"installing the packages of {lock.path.relative_to(ROOT)}"
    step(title, install(PYTHON, lock), _STATE / "pip.log", environment())
    _write_stamp("requirements", _installed(lock))


def ensure_built(lock: Lock = DEV) -> None:
    """Bring `.venv` to the state in which `import cloakwork` matches the sources."""
    if is_first_build():
        require_all()
        say(first_build_line(processors()))
    ensure_environment(lock)
    digest = _digest(_build_inputs())
    if _stamp("build") == digest and _EXTENSION.exists() and (VENV / "bin" / "cloakwork").exists():
        say("build is up to date")
        return
    require_all()
    maturin: Words = [VENV / "bin" / "maturin", "develop", "--locked", "--profile", PROFILE]
    # maturin asks pip for the package's requirements: the lock has them, others are refused.
    env = {**environment(), PROGRESS: str(_STATE / "progress"), "PIP_NO_INDEX": "1"}
    step("building the extension", maturin, _STATE / "build.log", env)
    _write_stamp("build", digest)


def is_first_build() -> bool:
    """Whether everything is to be compiled: a build that was interrupted counts as none."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return not (_EXTENSION.exists() and (ROOT / target / PROFILE).is_dir())


def first_build_line(cores: int) -> str:
    """Say how long the first build takes on so many cores; it never promises under 2 minutes."""
    minutes = max(2, math.ceil(FIRST_BUILD_MINUTES / cores))
    machine = "1 core" if cores == 1 else f"{cores} cores"
    return f"first build: about {minutes} minutes on {machine}; later ones take seconds"


def processors() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux has it, macOS does not
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def environment() -> dict[str, str]:
    """Return the variables for tools: inside `.venv`, independent of the calling shell."""
    env = dict(os.environ)
    for name in ("CONDA_PREFIX", "PYTHONHOME"):
        env.pop(name, None)
    home = Path(env.get("CARGO_HOME", Path.home() / ".cargo"))
    env["VIRTUAL_ENV"] = str(VENV)
    env["PATH"] = os.pathsep.join([str(VENV / "bin"), env.get("PATH", ""), str(home / "bin")])
    env["PYO3_PYTHON"] = str(PYTHON)
    # Kernels of this machine (crates/csrc/build). Wheels, for all machines, set it to `all`.
    env.setdefault("CLOAKWORK_BUILD_ISA", "native")
    return env


def _interpreter_works() -> bool:
    """Whether `.venv` was made in this place, and its interpreter starts and has pip."""
    settings = VENV / "pyvenv.cfg"
    if not (PYTHON.exists() and settings.exists()):
        return False
    # Scripts in .venv name the folder that it was made for.
    if not any(line.endswith(f" {VENV}") for line in _lines(settings)):
        return False
    probe = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode == 0


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8", "surrogateescape").splitlines()


def _installed(lock: Lock) -> str:
    """Digest what decides which packages `.venv` has: place, interpreter, lock."""
    return _digest([os.fsencode(ROOT), _interpreter(), lock.content()])


def _interpreter() -> bytes:
    """Identify the interpreter of `.venv` without starting it: the system may replace it."""
    if not PYTHON.exists():
        return b""
    facts = PYTHON.stat()
    return f"{facts.st_size} {facts.st_mtime_ns} ".encode() + os.fsencode(PYTHON.resolve())


def _build_inputs() -> Iterator[bytes]:
    """Yield all inputs of the extension: place, interpreter, variables, source bytes."""
    yield os.fsencode(ROOT)
    yield _interpreter()
    for name in _BUILD_VARIABLES:
        yield f"{name}={os.environ.get(name, '')}".encode()
    yield from _fatbins()
    for path in sorted(_source_files()):
        yield os.fsencode(path.relative_to(ROOT))
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
