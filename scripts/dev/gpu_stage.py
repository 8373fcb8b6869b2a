"""The folder for a machine with a GPU: a wheel with fatbins, the row players, what to expect.

That machine has no compiler of Rust, no network and no `.venv`: everything is made here, and the
folder says of which commit. `dev.py gpu-check --built FOLDER` runs it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scripts.dev import aarch64, cuda, gpu_programs, gpu_rows
from scripts.dev.console import ROOT, DevError, Words, call_or_fail, say
from scripts.dev.environment import PROFILE, PYTHON, VENV, ensure_built, environment
from scripts.dev.toolchain import words_of

OUT = ROOT / "target" / "gpu"
MOST_BYTES = 60 << 20
FACTS, FATBINS, ROWS = "stage.json", "fatbins", "rows.so"
# Of those with encrypted data the one whose ciphertexts are small: others have 11 MB and more.
DEMOS = ("disease",)
_PORTABLE = ROOT / "tests" / "portable"
_FLAGS = ["-std=c++20", "-O1", "-w", "-ffp-contract=off"]
_ROWS: Words = [
    ROOT / "cuda" / "table.cc",
    *sorted((ROOT / "csrc" / "kernels").glob("*/prepare.cc")),
]
# Finds the fatbins in FATBINS beside what it is linked into.
_IMAGES = _PORTABLE / "fatbins_beside.cc"
# The player finds the driver's library itself.
_PLAYER: Words = ["-DCW_REPLAY_GPU", "-static-libstdc++", "-static-libgcc", "-ldl"]
_INCLUDES = [f"-I{ROOT / folder}" for folder in (".", "csrc", "csrc/include", "tests/portable")]


@dataclass(frozen=True)
class Facts:
    """The contents of a folder: the commit, the modules of rows, ops, and programs with results."""

    commit: str
    modules: list[str]
    ops: list[str]
    programs: list[str]


def run(args: Sequence[str]) -> int:
    """Make the folder, target/gpu or the one that is named."""
    if len(args) > 1 or (args and args[0].startswith("-")):
        raise DevError(f"gpu-stage takes a folder or no argument, got: {' '.join(args)}")
    make(Path(args[0]).resolve() if args else OUT)
    return 0


def make(out: Path) -> Path:
    """Make a folder anew; refuse one that is too large to travel."""
    cuda.build()
    ensure_built()
    if out.exists() and not (out / FACTS).exists() and any(out.iterdir()):
        raise DevError(f"{out} has other files than gpu-stage makes: name another folder")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    _build_wheel(out)
    say("gpu-stage: the players of rows, and what the portable rows give")
    (out / FATBINS).mkdir()
    for module in cuda.modules():
        shutil.copy(module.fatbin, out / FATBINS)
    build_player(out, [_IMAGES])
    play_portable(out)
    programs = [_program(out, demo) for demo in DEMOS]
    modules = [module.name for module in cuda.modules()]
    facts = Facts(_commit(), modules, _ops(), programs)
    (out / FACTS).write_text(json.dumps(asdict(facts), indent=1) + "\n")
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if size > MOST_BYTES:
        raise DevError(f"{out} has {size / 2**20:.1f} MiB: {MOST_BYTES >> 20} MiB may travel", 1)
    say(f"gpu-stage: {size / 2**20:.1f} MiB in {out}")
    say(f"there: python3 dev.py gpu-check --built {os.path.relpath(out, ROOT)} --out DIR")
    return out


def read(built: Path) -> Facts:
    """The contents that a folder states."""
    try:
        return Facts(**json.loads((built / FACTS).read_text()))
    except (OSError, ValueError, TypeError) as error:
        reason = f"{built}: not made by `dev.py gpu-stage`: {FACTS}: {error}"
        raise DevError(reason) from None


def rebuild(out: Path, names: Sequence[str]) -> None:
    """With the CUDA toolkit and g++ alone: modules made anew, and the player and ROWS.

    `gpu-check` and everything else then take the kernels of ROWS instead of the wheel's, by
    CLOAKWORK_CUDA_KERNELS: a kernel can be mended where the GPU is.
    """
    read(out)
    cuda.build(names, cuda.toolkit())
    for module in cuda.modules():
        if not names or module.name in names:
            shutil.copy(module.fatbin, out / FATBINS)
    build_player(out, [_IMAGES])
    _compile([_IMAGES, *_ROWS, "-shared", "-fPIC"], out / ROWS)
    say(f"cuda: {out / ROWS} has the kernels: CLOAKWORK_CUDA_KERNELS names it")


def build_player(out: Path, images: Words) -> None:
    """Build the player of rows with a source of `cw_cuda_module`, and what else that takes."""
    _compile([_PORTABLE / "replay_cuda.cc", *images, *_ROWS, *_PLAYER], out / gpu_rows.PLAYER)


def play_portable(out: Path) -> None:
    """Write the digests of the portable rows, and numbers of those that a digest does not hold."""
    archives = aarch64.built_kernels()
    if archives is None:
        raise DevError("the kernels are not built here: `dev.py setup` builds them")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "replay"
        _compile([_PORTABLE / "replay.cc", *sorted(archives.glob("*.a")), "-static"], program)
        digests = _said([program])
        (out / gpu_rows.DIGESTS).write_text(digests)
        by_library = filter(aarch64.by_library, aarch64.digests(digests))
        (out / gpu_rows.NUMBERS).write_text(_said([program, *by_library]))


def _said(command: Words) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def _compile(words: Words, out: Path) -> None:
    """Compile C++ of this tree as for the host, without symbols."""
    compiler = words_of(os.environ.get("CXX") or "c++")
    call_or_fail([*compiler, *_FLAGS, *_INCLUDES, "-s", *words, "-o", out])


def _build_wheel(out: Path) -> None:
    options: Words = ["--locked", "--profile", PROFILE, "--out", out]
    call_or_fail([VENV / "bin" / "maturin", "build", *options], environment())


def _program(out: Path, demo: str) -> str:
    """Run a demo; its transcript, which has its results, without the text of numbers."""
    folder, name = ROOT / "target" / "gpu-demos", f"{demo}.cwk"
    cloakwork = VENV / "bin" / "cloakwork"
    call_or_fail([cloakwork, "demo", demo, "--out", folder], environment())
    call_or_fail([cloakwork, "convert", folder / f"{demo}.json", out / name], environment())
    return name


def _ops() -> list[str]:
    command: Words = [PYTHON, gpu_programs.__file__, "ops", "sim:0"]
    words = [str(word) for word in command]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout)["ops"]
    return found


def _commit() -> str:
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
