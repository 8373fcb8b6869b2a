"""The base of the sides of benches/model_peers.py: inputs, operations, answers.

A side has `keygen`, `encrypt`, `run` and `decrypt`; each encryption takes the next input, and each
decryption keeps its answer. Python 3.10 and NumPy are enough.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np


def given(argument: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request of a side (`folder` of files, `case`, options), and the arrays of the model."""
    wanted = json.loads(argument)
    with np.load(Path(wanted["folder"]) / "model.npz") as stored:
        return wanted, {name: stored[name] for name in stored.files}


class Work:
    """The operations of a side, one input after the other."""

    def __init__(self, wanted: dict[str, Any], inputs: Any, own: Any) -> None:
        self._stem = Path(wanted["folder"]) / wanted["name"]
        self._inputs, self._own = inputs, own
        self._next = 0
        self._answers: list[Any] = []
        self._encrypted: Any = None
        self._result: Any = None

    def operations(self) -> dict[str, Any]:
        """By name."""
        names = ("keygen", "encrypt", "run", "decrypt", "report")
        return {name: getattr(self, name) for name in names}

    def keygen(self) -> None:
        """All keys of a client."""
        self._own.keygen()

    def encrypt(self) -> None:
        """The next input."""
        self._encrypted = self._own.encrypt(self._inputs[self._next % len(self._inputs)])
        self._next += 1

    def run(self) -> None:
        """The model on the last encrypted input."""
        self._result = self._own.run(self._encrypted)

    def decrypt(self) -> None:
        """The last result."""
        self._answers.append(self._own.decrypt(self._result))

    def report(self) -> None:
        """Write the answers, and the sizes of keys and ciphertexts."""
        np.save(self._stem.with_suffix(".npy"), np.asarray(self._answers, np.float64))
        sizes = self._own.sizes(self._encrypted, self._result)
        self._stem.with_suffix(".json").write_text(json.dumps(sizes))
