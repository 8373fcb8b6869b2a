"""Whether PLONK proofs hold."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork import _core
from cloakwork.zk.circom.statements import Public, Source
from cloakwork.zk.groth16.verifying import signals_of
from cloakwork.zk.plonk.statements import Proof, VerifyingKey

__all__ = ["verify"]


def verify(
    vkey: Source | VerifyingKey, public: Source | Sequence[int] | Public, proof: Source | Proof
) -> bool:
    """Whether a proof holds for public signals under a verifying key.

    Each is a file of snarkjs's JSON, the result of `json.load`, or the object; public signals may
    be integers.  Costs two pairings and a sum of 18 points, a few milliseconds.

    Raises LoadError for other JSON, and ProofError if the proof cannot be judged: a point outside
    its curve or group, or different curves or numbers of signals.
    """
    key = VerifyingKey.load(vkey)
    signals = signals_of(public, key.curve)
    return _core.plonk_verify(key.parts, signals.data, Proof.load(proof).parts)
