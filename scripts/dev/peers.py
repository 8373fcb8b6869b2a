"""Libraries that benchmarks compare with, each in an environment of its own under `.venv/peers`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scripts.dev import interpreters, locks
from scripts.dev.console import DevError, say, step
from scripts.dev.environment import VENV
from scripts.dev.locks import Lock

FOLDER = VENV / "peers"


@dataclass(frozen=True)
class Peer:
    """A lock of one package, and the Python that its wheel is for (None: any)."""

    lock: Lock
    version: tuple[int, int] | None = None
    # What is downloaded, where it is much.
    size: str = ""

    @property
    def name(self) -> str:
        """The package, and its folder."""
        return self.lock.name


# Of encrypted arithmetic, and of encrypted models.
PEERS = (
    Peer(locks.TENSEAL),
    Peer(locks.OPENFHE, (3, 10)),
)
MODEL_PEERS = (*PEERS, Peer(locks.CONCRETE, (3, 11), "2.4 GB"))


def ensure_peers(peers: Iterable[Peer] | None = None) -> None:
    """Install missing peers. A peer that cannot be installed is left out, with its reason."""
    for peer in PEERS if peers is None else peers:
        folder = FOLDER / peer.name
        stamp = folder / "installed"
        if stamp.exists() and stamp.read_bytes() == peer.lock.content():
            continue
        python = _interpreter(peer.version)
        if python is None:
            wanted = ".".join(map(str, peer.version or ()))
            say(f"{peer.name} is left out: there is no Python {wanted} here")
            continue
        try:
            _install(peer, python, folder)
        except DevError as error:
            say(f"{peer.name} is left out: {error}")
            continue
        stamp.write_bytes(peer.lock.content())


def _install(peer: Peer, python: str, folder: Path) -> None:
    log = FOLDER / f"{peer.name}.log"
    step(f"making an environment for {peer.name}", [python, "-m", "venv", "--clear", folder], log)
    title = f"installing {peer.name}" + (f", {peer.size}" if peer.size else "")
    step(title, locks.install(folder / "bin" / "python", peer.lock), log)


def _interpreter(version: tuple[int, int] | None) -> str | None:
    return sys.executable if version is None else interpreters.find(version)
