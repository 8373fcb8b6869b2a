"""Libraries that benchmarks compare with, each in an environment of its own under `.venv/peers`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from scripts.dev import interpreters
from scripts.dev.console import DevError, say, step
from scripts.dev.environment import VENV

FOLDER = VENV / "peers"


@dataclass(frozen=True)
class Peer:
    """A package at one version, and the Python that its wheel is for (None: any)."""

    name: str
    requirement: str
    version: tuple[int, int] | None = None


PEERS = (
    Peer("tenseal", "tenseal==0.3.18"),
    # The wheel claims any Python 3, but contains a library for 3.10 only.
    Peer("openfhe", "openfhe==1.6.1.0.22.4", (3, 10)),
)


def ensure_peers() -> None:
    """Install missing peers. A peer that cannot be installed is left out, with its reason."""
    for peer in PEERS:
        folder = FOLDER / peer.name
        stamp = folder / "installed"
        if stamp.exists() and stamp.read_text() == peer.requirement:
            continue
        python = _interpreter(peer.version)
        if python is None:
            wanted = ".".join(map(str, peer.version or ()))
            say(f"{peer.requirement} is left out: there is no Python {wanted} here")
            continue
        try:
            _install(peer, python, folder)
        except DevError as error:
            say(f"{peer.requirement} is left out: {error}")
            continue
        stamp.write_text(peer.requirement)


def _install(peer: Peer, python: str, folder: Path) -> None:
    log = FOLDER / f"{peer.name}.log"
    step(f"making an environment for {peer.name}", [python, "-m", "venv", "--clear", folder], log)
    pip: list[str | Path] = [
        folder / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--only-binary",
        ":all:",
    ]
    step(f"installing {peer.requirement}", [*pip, peer.requirement], log)


def _interpreter(version: tuple[int, int] | None) -> str | None:
    return sys.executable if version is None else interpreters.find(version)
