"""Verification of proofs of any system: the verifying key tells which."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork import _core
from cloakwork.recognition import expecting
from cloakwork.zk.circom.statements import Public, Source, VerifyingKey, is_text, text_of


def system_of(vkey: Source) -> str:
    """The system of a verifying key's file: "groth16" or "plonk"."""
    with expecting("a verifying key, vkey.json", vkey, "vkey"):
        text, name = text_of(vkey, "verifying key")
        # Other libraries' files are all of Groth16; other JSON is refused by its reader.
        return (_core.json_protocol(text, name, True) if is_text(text) else None) or "groth16"


def verify(vkey: Source, public: Source | Sequence[int] | Public, proof: Source) -> bool:
    """`zk.groth16.verify` or `zk.plonk.verify`, as the verifying key says."""
    if system_of(vkey) == "plonk":
        from cloakwork.zk.plonk.verifying import verify as verify_plonk

        return verify_plonk(vkey, public, proof)
    from cloakwork.zk.groth16.verifying import verify as verify_groth16

    return verify_groth16(VerifyingKey.load(vkey), public, proof)
