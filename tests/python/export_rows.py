"""Command lines of `cloakwork export`, one for each option."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

GROTH16 = Path(__file__).parents[1] / "vectors" / "groth16" / "bn128"


def exporting() -> Iterator[tuple[str, str, str, object]]:
    """Rows of `export`: form, arguments, option, and a check of the answer."""
    vkey, proof = GROTH16 / "mixed.vkey.json", GROTH16 / "mixed1.proof.json"
    public = GROTH16 / "mixed1.public.json"

    def of_bytes(count: int) -> Callable[[Any], bool]:
        return lambda facts: facts["written"][0]["bytes"] == count

    def wrote(facts: Any) -> bool:
        return bool(facts["written"][0]["path"] == "new")

    yield (
        "solidity",
        f"{vkey} --name Abc",
        "--name",
        lambda facts: "contract Abc {" in facts["text"],
    )
    for kind, given in (("solidity", vkey), ("vyper", vkey), ("snarkjs", vkey)):
        yield kind, f"{given} -o new", "--out", wrote
    yield "calldata", f"{vkey} {public} {proof} -o new", "--out", wrote
    yield "snarkjs", f"{public} -o new --curve bn254", "--curve", wrote
    for kind, packed, raw, signals in (("gnark", 164, 324, 108), ("arkworks", 128, 256, 104)):
        yield kind, f"{proof} -o new", "--out", of_bytes(packed)
        yield kind, f"{proof} -o new --uncompressed", "--compressed", of_bytes(raw)
        yield kind, f"{public} -o new --curve bn254", "--curve", of_bytes(signals)
