"""The peer of benchmarks of proofs: snarkjs, from npm."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from cloakwork.demo.merkle import CIRCUITS
from cloakwork.demo.node import Missing, Node

_ROOT = Path(__file__).resolve().parents[2]


def beside_snarkjs(compare: Callable[[Node, Path], int]) -> int:
    """Call with Node's packages and an empty folder; 0, in words, where npm cannot bring them."""
    try:
        node = Node.install(CIRCUITS / "package.json", _ROOT / "out" / "node")
    except Missing as missing:
        print(f"snarkjs is left out, and so is this: {missing}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return compare(node, Path(folder))
