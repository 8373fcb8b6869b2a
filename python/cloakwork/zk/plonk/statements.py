"""PLONK's verifying keys and proofs: snarkjs's `vkey.json` and `proof.json`.

Points and scalars are canonical little-endian bytes, one after the other; a point is x then y, and
infinity is all zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from cloakwork import _core
from cloakwork.lazy import public
from cloakwork.recognition import expecting
from cloakwork.zk.circom.statements import NamedCurve, Source, text_of

if TYPE_CHECKING:
    pass


@public("cloakwork.zk.plonk")
@dataclass(frozen=True)
class VerifyingKey(NamedCurve):
    """A verifying key of PLONK.

    public    number of public signals
    power     binary logarithm of the domain's size
    scalars   k1 and k2, the factors of the permutation's columns, and the domain's root of unity
    points    commitments to Qm, Ql, Qr, Qo, Qc, S1, S2, S3, in G1
    x2        tau in G2
    """

    curve: str
    public: int
    power: int
    scalars: bytes
    points: bytes
    x2: bytes

    _sent_as: ClassVar[str] = "PlonkVerifyingKey"

    @classmethod
    def load(cls, source: Source | Self) -> Self:
        """Read snarkjs's JSON: a file of it, or what `json.load` gave.

        Raises LoadError, with the path to the wrong member.
        """
        if isinstance(source, cls):
            return source
        with expecting("a verifying key, vkey.json", source, "vkey"):
            return cls(*_core.plonk_key_of(*text_of(source, "verifying key")))

    @property
    def parts(self) -> tuple[str, int, int, bytes, bytes, bytes]:
        """All of it in order."""
        return self.curve, self.public, self.power, self.scalars, self.points, self.x2

    def to_json(self) -> str:
        """The text that `snarkjs zkey export verificationkey` writes, byte for byte."""
        return _core.plonk_key_text(self.parts)

    def __repr__(self) -> str:
        return f"VerifyingKey({self.curve}, public={self.public}, domain=2^{self.power})"


@public("cloakwork.zk.plonk")
@dataclass(frozen=True)
class Proof(NamedCurve):
    """A PLONK proof.

    points        A, B, C, Z, T1, T2, T3, Wxi, Wxiw, in G1
    evaluations   a, b, c, s1 and s2 at xi, and z at xi w
    """

    curve: str
    points: bytes
    evaluations: bytes

    _sent_as: ClassVar[str] = "PlonkProof"

    @classmethod
    def load(cls, source: Source | Self) -> Self:
        """Read snarkjs's JSON: a file of it, or what `json.load` gave.

        Raises LoadError for JSON that is wrong.
        """
        if isinstance(source, cls):
            return source
        with expecting("a proof, proof.json", source, "proof"):
            return cls(*_core.plonk_proof_of(*text_of(source, "proof")))

    @property
    def parts(self) -> tuple[str, bytes, bytes]:
        """All of it in order."""
        return self.curve, self.points, self.evaluations

    def to_json(self) -> str:
        """The text that `snarkjs plonk prove` writes, byte for byte."""
        return _core.plonk_proof_text(self.parts)

    def __repr__(self) -> str:
        return f"Proof({self.curve}, plonk)"
