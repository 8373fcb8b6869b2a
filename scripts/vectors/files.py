"""The form of a file of vectors: provenance first, then cases; long lists as digests."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "vectors"
LONG_INPUT = "(i + 1)^3 * 0x9E3779B97F4A7C15 mod 2^64, then mod the modulus"
# Longer lists are given by a rule and compared by a digest.
LISTED = 64


def long_input(length: int, modulus: int) -> list[int]:
    """Numbers below the modulus by the rule `LONG_INPUT`."""
    return [(i + 1) ** 3 * 0x9E3779B97F4A7C15 % 2**64 % modulus for i in range(length)]


def edge_input(length: int, modulus: int) -> list[int]:
    """0, 1, the largest and the middle residues, then the rule."""
    edges = [0, 1, modulus - 1, modulus // 2, modulus // 2 + 1]
    return (edges + long_input(length, modulus))[:length]


def digest(numbers: Sequence[int]) -> str:
    """SHA-256 of the numbers as little-endian words of 8 bytes."""
    return hashlib.sha256(b"".join(number.to_bytes(8, "little") for number in numbers)).hexdigest()


def listed(key: str, numbers: Sequence[int]) -> dict[str, object]:
    """The numbers, or their digest if they are many."""
    if len(numbers) <= LISTED:
        return {key: list(numbers)}
    return {f"{key}_sha256": digest(numbers)}


def made_by(script: str, *packages: str) -> str:
    """Name the software that made a file, with versions."""
    parts = [f"{package} {version(package)}" for package in packages]
    return ", ".join([f"scripts/vectors/{script}", *parts, f"Python {platform.python_version()}"])


def write_file(name: str, provenance: Mapping[str, str], contents: Mapping[str, object]) -> None:
    """Write one file, with one line for each list entry."""
    FOLDER.mkdir(exist_ok=True)
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in provenance.items()]
    for key, value in contents.items():
        if isinstance(value, list):
            rows = ",\n".join(f"  {json.dumps(row)}" for row in value)
            lines.append(f" {json.dumps(key)}: [\n{rows}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    (FOLDER / name).write_text("{\n" + ",\n".join(lines) + "\n}\n")
