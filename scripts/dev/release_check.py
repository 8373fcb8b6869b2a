"""Checks of a release beyond the gate: hours of one core, run by hand.

Each part that passes is written to docs/testing.md with the date and the commit.
"""

from __future__ import annotations

import datetime
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.dev import cuda_driver, matrix, sanitize, sdist
from scripts.dev.console import ROOT, DevError, Words, call_or_fail, say, step
from scripts.dev.environment import PYTHON, ensure_built, environment
from scripts.dev.locks import DEMO, install

PAGE = ROOT / "docs" / "testing.md"
_ROW = "| `{name}` | {date} | `{commit}` |"
_DEV: Words = [PYTHON, ROOT / "dev.py"]
# Random programs and files of `dev.py fuzz`.
_SEEDS = "20000"


def run(names: Sequence[str]) -> int:
    """Run the named parts, or all, from a commit without changes; note each that passes."""
    for name in names:
        if name not in PARTS:
            raise DevError(f"release-check takes {', '.join(PARTS)}, got: {name}")
    commit = _commit()
    ensure_built()
    for name in names or PARTS:
        say(f"release-check: {name}")
        lacks = PARTS[name]()
        if lacks:
            raise DevError(f"{name}: {lacks}", 1)
        note(name, commit)
    say(f"release-check: noted in {PAGE.relative_to(ROOT)}, which is to be committed")
    return 0


def note(name: str, commit: str) -> None:
    """Write the date and the commit of a part that passed into its row of the page."""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    text = PAGE.read_text(encoding="utf-8")
    row = _ROW.format(name=name, date=date, commit=commit)
    new, count = re.subn(rf"^\| `{re.escape(name)}` \|.*$", row, text, flags=re.MULTILINE)
    if count != 1:
        raise DevError(f"{PAGE.relative_to(ROOT)}: expected one row of {name}, found {count}", 1)
    PAGE.write_text(new, encoding="utf-8")


def _commit() -> str:
    """The commit of this tree, which must have no other changes than those notes."""
    git = ["git", "-C", str(ROOT)]
    status = subprocess.run(
        [*git, "status", "--porcelain", "--", ".", f":!{PAGE.relative_to(ROOT)}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if status.returncode != 0 or status.stdout:
        said = (status.stdout or status.stderr).strip()
        raise DevError(f"release-check is about a commit: commit or remove these first\n{said}")
    words = [*git, "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def _large() -> None:
    """Every test with its large cases, on all instruction sets of the processor."""
    call_or_fail([*_DEV, "test", "--all"], {**environment(), "CLOAKWORK_BUILD_ISA": "all"})


def _cuda() -> str | None:
    """The part of the matrix, which builds the kernels; programs on the made-up driver."""
    lacks = matrix.PARTS["cuda"]()
    cuda_driver.check()
    return lacks


def _sanitize() -> str | None:
    return "a suite failed" if sanitize.sanitize() else None


def _fuzz() -> None:
    call_or_fail([*_DEV, "fuzz", "--seeds", _SEEDS], environment())


def _wheel() -> None:
    """Build a wheel from the source distribution; run the first demo where nothing else is."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = sdist.build_wheel(folder)
        python = folder / "venv" / "bin" / "python"
        log = ROOT / "target" / "release-check.log"
        step("making an empty environment", [PYTHON, "-m", "venv", folder / "venv"], log)
        step("installing what a demo needs", install(python, DEMO), log, environment())
        pip: Words = [python, "-m", "pip", "install", "--no-index", "--no-deps", wheel]
        step(f"installing {wheel.name}", pip, log, environment())
        call_or_fail([python.with_name("cloakwork"), "demo", "digits"], environment())


PARTS: dict[str, Callable[[], str | None]] = {
    "wheel": _wheel,
    "large": _large,
    **matrix.PARTS,
    "cuda": _cuda,
    "sanitize": _sanitize,
    "fuzz": _fuzz,
}
