"""Ethereum's arithmetic of both curves: precompiled contracts, encodings of points, prices.

Sources: EIP-196 and EIP-197 (BN254; prices of EIP-1108), EIP-2537 (BLS12-381), EIP-170 (sizes).
"""

from __future__ import annotations

from dataclasses import dataclass

from cloakwork.errors import ParamError, ProofError
from cloakwork.fields.parameters import CURVES, MODULI, ORDERS
from cloakwork.zk.circom.statements import VerifyingKey
from cloakwork.zk.forms import points

_WORD_BITS = 256


@dataclass(frozen=True)
class Chain:
    """A curve on a chain; a call gets twice its price, so that a refused one cannot cost all gas.

    words      of 256 bits a coordinate has
    reversed   whether a coordinate of G2 has its part of i first
    add        address and price of the sum of two points of G1
    multiply   address and price of a product, for each signal
    pairing    address and price of the product of four pairings
    signals    the most that fit into the 24,576 bytes of a contract, by its language
    """

    curve: str
    words: int
    reversed: bool
    add: tuple[int, int]
    multiply: tuple[int, int]
    pairing: tuple[int, int]
    signals: dict[str, int]

    @property
    def order(self) -> int:
        """The prime of scalars."""
        return ORDERS[self.curve]

    @property
    def prime(self) -> int:
        """The prime of coordinates."""
        return MODULI[CURVES[self.curve]["fq"]]

    @property
    def width(self) -> int:
        """Bytes of a coordinate in this package's points."""
        return -(-self.prime.bit_length() // 64) * 8

    def point(self, data: bytes, parts: int, *, negated: bool = False) -> list[int]:
        """The words of a point whose coordinates have 1 or 2 parts."""
        size = self.width
        starts = range(0, len(data), size)
        numbers = [int.from_bytes(data[at : at + size], "little") for at in starts]
        x, y = numbers[:parts], numbers[parts:]
        if negated:
            y = [-number % self.prime for number in y]
        ordered = [part[::-1] if self.reversed else part for part in (x, y)]
        return [word for part in ordered for number in part for word in self._split(number)]

    def points(self, data: bytes) -> list[list[int]]:
        """The words of points of G1."""
        size = 2 * self.width
        starts = range(0, len(data), size)
        return [self.point(data[at : at + size], 1) for at in starts]

    def _split(self, number: int) -> list[int]:
        high = range(self.words - 1, -1, -1)
        mask = (1 << _WORD_BITS) - 1
        return [number >> _WORD_BITS * index & mask for index in high]


CHAINS = {
    "bn254": Chain(
        "bn254", 1, True, add=(6, 150), multiply=(7, 6_000), pairing=(8, 181_000),
        signals={"solidity": 270, "vyper": 150},
    ),
    "bls12_381": Chain(
        "bls12_381", 2, False, add=(11, 375), multiply=(12, 12_000), pairing=(15, 168_100),
        signals={"solidity": 140, "vyper": 130},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Constants:
    """The words of a checked key's points, of G1 and G2.

    All but beta2 and IC are negated, so that the product of e(A, B), e(-alpha, beta),
    e(sum of IC, -gamma) and e(C, -delta) is 1 for a proof that holds.
    """

    chain: Chain
    alpha1: list[int]
    beta2: list[int]
    gamma2: list[int]
    delta2: list[int]
    ic: list[list[int]]

    @property
    def public(self) -> int:
        """Number of public signals."""
        return len(self.ic) - 1


def constants(key: VerifyingKey, language: str) -> Constants:
    """The constants of a contract in a language.

    Raises ProofError for a point outside of its group, or at infinity where no key has one, and
    ParamError for more signals than fit into a contract.
    """
    chain = CHAINS[key.curve]
    most = chain.signals[language]
    if key.public > most:
        expected = (
            f"at most {most}: more points do not fit into a contract (24,576 bytes, "
            "EIP-170). Give the circuit one public signal, the hash of the others"
        )
        raise ParamError("public signals", key.public, expected)
    for name, group in (
        ("alpha1", "g1"), ("beta2", "g2"), ("gamma2", "g2"), ("delta2", "g2"), ("ic", "g1"),
    ):  # fmt: skip
        data = getattr(key, name)
        check_points(name, data, f"{key.curve}.{group}")
        if name != "ic" and not any(data):
            raise ProofError(f"{name} is at infinity, where no verifying key has it")
    return Constants(
        chain,
        chain.point(key.alpha1, 1, negated=True),
        chain.point(key.beta2, 2),
        chain.point(key.gamma2, 2, negated=True),
        chain.point(key.delta2, 2, negated=True),
        chain.points(key.ic),
    )


def check_points(name: str, data: bytes, group: str) -> None:
    """Raise ProofError unless canonical bytes are points of the group, one or more."""
    try:
        points.check_points(data, group)
    except points.Invalid as error:
        raise ProofError(f"{name}: {error}") from None
