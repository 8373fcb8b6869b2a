"""Files of tests/vectors, and every instruction set to hold against them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from cloakwork import backend
from numpy.typing import NDArray

FOLDER = Path(__file__).resolve().parents[1] / "vectors"
BACKENDS = [f"cpu_{isa}" for isa in backend.detect_devices().isas]
Words = NDArray[np.int64]


def load(name: str) -> dict[str, Any]:
    """A file, which must state its provenance first."""
    contents: dict[str, Any] = json.loads((FOLDER / name).read_text())
    assert list(contents)[:3] == ["source", "url", "generated_by"]
    return contents


def long_input(length: int, modulus: int) -> list[int]:
    """The rule that files state as `long_input`."""
    return [(i + 1) ** 3 * 0x9E3779B97F4A7C15 % 2**64 % modulus for i in range(length)]


def given(case: dict[str, Any], length: int, modulus: int) -> list[int]:
    """The input of a case: listed, or by the rule."""
    listed: list[int] | None = case.get("input")
    return long_input(length, modulus) if listed is None else listed


def agrees(case: dict[str, Any], key: str, got: Words) -> bool:
    """Whether words are those of the case, which lists them or their digest."""
    if key in case:
        return bool(np.array_equal(got, np.array(case[key], dtype=np.int64)))
    words = np.ascontiguousarray(got, dtype="<i8").tobytes()
    return bool(hashlib.sha256(words).hexdigest() == case[f"{key}_sha256"])


def bit_reversal(degree: int) -> Words:
    """Entry i is i with its log2(degree) bits in reverse order."""
    bits = degree.bit_length() - 1
    return np.array([int(f"{i:0{bits}b}"[::-1], 2) for i in range(degree)], dtype=np.int64)


def powers(root: int, degree: int, modulus: int) -> list[int]:
    """root^bitrev(i), as the transforms take their tables."""
    return [pow(root, int(exponent), modulus) for exponent in bit_reversal(degree)]
