"""Programs from npm that a demonstration runs: an external compiler and verifier."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cloakwork import files

# Seconds until a download or an external program is aborted.
_PATIENCE = 300
# No install scripts run, and an unresponsive network is a timeout.
_QUICKLY = ("--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")


class Missing(Exception):
    """Why node or one of its packages is missing; a sentence."""


@dataclass(frozen=True)
class Node:
    """Packages of a lock file, installed in a folder."""

    folder: Path

    @staticmethod
    def is_installed(manifest: Path, folder: Path) -> bool:
        """Whether the packages of `package-lock.json` are there; Missing without node or npm."""
        for tool in ("node", "npm"):
            if shutil.which(tool) is None:
                raise Missing(f"{tool} is not installed")
        stamp, lock = folder / "installed", manifest.with_name("package-lock.json")
        return stamp.exists() and files.read(stamp) == files.read(lock)

    @classmethod
    def install(cls, manifest: Path, folder: Path) -> Node:
        """Install the packages of `package-lock.json`, unless they are installed.

        Raises Missing where node or npm is absent, or the packages cannot be had.
        """
        lock = manifest.with_name("package-lock.json")
        stamp = folder / "installed"
        if not cls.is_installed(manifest, folder):
            folder.mkdir(parents=True, exist_ok=True)
            files.write(folder / "package.json", files.read(manifest))
            files.write(folder / "package-lock.json", files.read(lock))
            try:
                _run(["npm", "ci", *_QUICKLY], folder)
            except Missing as error:
                raise Missing(f"npm cannot install circom2 and snarkjs: {error}") from None
            files.write(stamp, files.read(lock))
        return cls(folder)

    def run(self, tool: str, *arguments: str, at: Path) -> subprocess.CompletedProcess[str]:
        """Run a package's program in a folder; Missing unless it succeeds."""
        program = self.folder / "node_modules" / ".bin" / tool
        return _run([str(program.resolve()), *arguments], at)


def _run(command: list[str], at: Path) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(
            command, cwd=at, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{command[0]}: {error}") from None
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        words = lines[-1] if lines else f"exit status {done.returncode}"
        raise Missing(f"{Path(command[0]).name}: {words}")
    return done
