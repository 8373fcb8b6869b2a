"""Contracts in a test machine of Ethereum: `tests/evm`, in a process of node."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloakwork import files
from cloakwork.demo.node import Node

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "evm"
_SECONDS = 300


@dataclass(frozen=True)
class Answer:
    """What a call returned: bytes in hex, gas used, and the error that ended it."""

    returned: str
    gas: int
    error: str | None

    @property
    def holds(self) -> bool:
        assert self.error is None, self.error
        assert self.returned in (f"{0:064x}", f"{1:064x}"), self.returned
        return self.returned == f"{1:064x}"


@dataclass(frozen=True)
class Machine:
    """Node.js with the packages of `tests/evm`."""

    node: Node

    @classmethod
    def install(cls) -> Machine:
        """Raises Missing where node or its packages are missing."""
        node = Node.install(FOLDER / "package.json", ROOT / "out" / "evm")
        files.write(node.folder / "machine.mjs", (FOLDER / "machine.mjs").read_bytes())
        return cls(node)

    def run(
        self, contracts: dict[str, Any], calls: list[dict[str, Any]]
    ) -> tuple[list[Answer], dict[str, int]]:
        """Answers of calls, and bytes of contracts by name."""
        done = subprocess.run(
            ["node", str(self.node.folder / "machine.mjs")],
            input=json.dumps({"contracts": contracts, "calls": calls}),
            capture_output=True, text=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        return [Answer(**answer) for answer in found["answers"]], found["sizes"]
