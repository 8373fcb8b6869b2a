"""PLONK proving keys, as tensors over snarkjs's files."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import ClassVar

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.errors import LoadError, ProofError
from cloakwork.files import Readable, Source, source_of
from cloakwork.lazy import public
from cloakwork.once import once
from cloakwork.recognition import expecting
from cloakwork.sending import Here
from cloakwork.zk.plonk.statements import VerifyingKey

_Path = str | PathLike[str]


@public("cloakwork.zk.plonk")
@dataclass(frozen=True, repr=False)
class ProvingKey(Here):
    """A PLONK `.zkey` file.

    Beyond the circuit's wires there are those of additions, each of them f u + g v of wires u and v
    before it.  They are numbered by levels: those of a level follow from the levels before.

    wires         of the circuit and of additions; wire 0 is 0
    gates         rows of the domain in use
    shifts        scalars k1 and k2
    levels        additions of each level
    sources       i64: the two wires that each addition adds
    factors       scalars f and g of these wires
    maps          i64 `[domain]`: the wires a, b and c of each row; 0 where there is no gate
    polynomials   coefficients `[domain]` of Qm, Ql, Qr, Qo, Qc, S1, S2, S3
    commitments   points: commitments to them
    powers        points [domain + 6]: powers of tau
    """

    curve: str
    wires: int
    public: int
    domain: int
    gates: int
    shifts: Tensor
    levels: tuple[int, ...]
    sources: tuple[Tensor, Tensor]
    factors: tuple[Tensor, Tensor]
    maps: tuple[Tensor, Tensor, Tensor]
    polynomials: tuple[Tensor, ...]
    commitments: Tensor
    powers: Tensor
    verifying_key: VerifyingKey

    _stays: ClassVar[str] = "send the path of its file, and read it by zk.read_zkey"

    @once
    def size_log2(self) -> int:
        """Binary logarithm of the domain's size."""
        return self.domain.bit_length() - 1

    @property
    def additions(self) -> int:
        """Number of additions."""
        return sum(self.levels)

    @property
    def circuit_wires(self) -> int:
        """Wires of the circuit: the length of a witness."""
        return self.wires - self.additions

    @once
    def _passed(self) -> set[bool]:
        """The checks that the key has passed: with `groups`, or without."""
        return set()

    def check(self, *, groups: bool = False) -> None:
        """Raise ProofError unless proofs under this key hide the witness; once for a key.

        The powers of tau are on their curve and are powers of the number that the verifying key
        holds in G2, by sums with random factors; it is neither 0 nor in the domain; the verifying
        key's commitments are those of the key's polynomials.

        groups   hold each power over BLS12-381 to its group of prime order too, which takes long;
                 over BN254 all points of the curve are in the group.  `prove` does without: it
                 gives out no proof whose points are outside
        """
        from cloakwork.zk.plonk.checking import check_key

        if not self._passed & {True, groups}:
            _core.unrecorded(lambda: check_key(self, groups=groups))
            self._passed.add(groups)

    def __repr__(self) -> str:
        return (
            f"plonk.ProvingKey({self.curve}, wires={self.circuit_wires}, "
            f"additions={self.additions}, public={self.public}, gates={self.gates}, "
            f"domain=2^{self.size_log2})"
        )


def read_zkey(path: Readable | Source, *, check: bool = True) -> ProvingKey:
    """Read a PLONK proving key; `zk.read_zkey` reads one of any system.

    check   hold it to all that `ProvingKey.check` can see, with `groups`; a key that is used
            without is a key that you made yourself.  The points of the header are always checked

    Raises LoadError for a damaged or tampered key.
    """
    source = path if isinstance(path, Source) else source_of(path)
    name = source.name
    with expecting("a proving key, .zkey", *source.sources or [None], "zkey"):
        found = _core.read_plonk_zkey(name, source.contents)
    key = _key(found)
    if check:
        try:
            key.check(groups=True)
        except ProofError as error:
            raise LoadError(f"{name}: {error}") from None
    return key


def _key(found: _core._PlonkKey) -> ProvingKey:
    from cloakwork.zk.groth16.algebra import point_bytes, scalars
    from cloakwork.zk.protocol.fields import field

    curve, domain = found["curve"], found["domain"]
    root = scalars(curve, [field(f"{curve}.fr").root_number(domain)])
    numbers = point_bytes(found["shifts"]) + point_bytes(root)
    vkey = VerifyingKey(
        curve, found["public"], domain.bit_length() - 1, numbers, found["commitments"],
        found["x2"],
    )  # fmt: skip
    first, second = found["sources"]
    one, other = found["factors"]
    a, b, c = found["maps"]
    return ProvingKey(
        curve, found["wires"], found["public"], domain, found["gates"], found["shifts"],
        tuple(found["levels"]), (first, second), (one, other), (a, b, c),
        tuple(found["polynomials"]), found["commitment_points"], found["tau_powers"], vkey,
    )  # fmt: skip
