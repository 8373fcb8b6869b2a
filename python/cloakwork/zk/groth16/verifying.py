"""Groth16 over BN254 and BLS12-381, on snarkjs's files.  Source: J. Groth, eprint 2016/260."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork import _core
from cloakwork.errors import ProofError
from cloakwork.fields.parameters import ORDERS
from cloakwork.zk.circom.statements import Proof, Public, Source, VerifyingKey

__all__ = ["verify"]


def verify(
    vkey: Source | VerifyingKey, public: Source | Sequence[int] | Public, proof: Source | Proof
) -> bool:
    """Whether a proof holds for public signals under a verifying key.

    Each is a file of snarkjs's or rapidsnark's JSON, the result of `json.load`, or the object;
    public signals may be integers.  A proof without a curve has that of the key.  Costs four
    pairings, a few milliseconds.

    Raises LoadError for other JSON, and ProofError if the proof cannot be judged: a point outside
    its curve or group, or different curves or numbers of signals.
    """
    key = VerifyingKey.load(vkey)
    signals = signals_of(public, key.curve)
    return _core.groth16_verify(key.parts, signals.data, Proof.load(proof, key.curve).parts)


def signals_of(given: Source | Sequence[int] | Public, curve: str) -> Public:
    """Public signals for a key over a curve; ProofError for another's, or not below its prime."""
    found = Public.load(given, curve)
    if found.curve != curve:
        raise ProofError(f"a key over {curve}, and public signals over {found.curve}")
    prime = ORDERS[curve]
    given_by_hand: tuple[object, ...] = found.signals
    for index, one in enumerate(given_by_hand):
        if not isinstance(one, int) or not 0 <= one < prime:
            raise ProofError(
                f"public signal {index}: expected an integer from 0 to below the prime of "
                f"{curve}'s scalars, got {one!r:.100}"
            )
    return found
