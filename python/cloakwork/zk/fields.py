"""What is known of fields and curves: their primes, orders and generators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cloakwork import _core
from cloakwork._core import DType, Tensor
from cloakwork.errors import DTypeError, ParamError
from cloakwork.moduli import MODULI

if TYPE_CHECKING:
    from cloakwork.arrays import DTypeLike

# Whose powers are the roots of unity: the least non-residue, but for babybear the customary one.
_GENERATORS = {
    "bn254.fr": 5,
    "bn254.fq": 3,
    "bls12_381.fr": 5,
    "bls12_381.fq": 2,
    "goldilocks": 7,
    "babybear": 31,
}
_G1 = {
    "bn254": (1, 2),
    "bls12_381": (
        int(
            "17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac58"
            "6c55e83ff97a1aeffb3af00adb22c6bb",
            16,
        ),
        int(
            "08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3ed"
            "d03cc744a2888ae40caa232946c5e7e1",
            16,
        ),
    ),
}
_G2 = {
    "bn254": (
        (
            10857046999023057135944570762232829481370756359578518086990519993285655852781,
            11559732032986387107991004021392285783925812861821192530917403151452391805634,
        ),
        (
            8495653923123431417604973247489272438418190587263600148770280649306958101930,
            4082367875863433681332203403145435568316851327593401208105741076214120093531,
        ),
    ),
    "bls12_381": (
        (
            int(
                "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d177"
                "0bac0326a805bbefd48056c8c121bdb8",
                16,
            ),
            int(
                "13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049"
                "334cf11213945d57e5ac7d055d042b7e",
                16,
            ),
        ),
        (
            int(
                "0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c"
                "923ac9cc3baca289e193548608b82801",
                16,
            ),
            int(
                "0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab"
                "3f370d275cec1da1aaa9075ff05f79be",
                16,
            ),
        ),
    ),
}


@dataclass(frozen=True)
class Field:
    """A prime field: integers modulo `modulus`, tensors of `dtype`."""

    dtype: DType
    modulus: int
    bits: int
    two_adicity: int
    generator: int

    def __call__(self, values: object) -> Tensor:
        """The tensor of integers in [0, modulus), or of nested lists of them."""
        return _tensor(values, self.dtype)

    def root_of_unity(self, order: int) -> Tensor:
        """The root of unity of this order that transforms use: generator ** ((p - 1) / order).

        ParamError unless the order is a power of two that divides p - 1.
        """
        return self(self.root_number(order))

    def root_number(self, order: int) -> int:
        """The same as an integer in [0, modulus)."""
        if order < 1 or order & (order - 1) or order > 2**self.two_adicity:
            expected = f"a power of two up to 2^{self.two_adicity}"
            raise ParamError("order", order, expected)
        return pow(self.generator, (self.modulus - 1) // order, self.modulus)


@dataclass(frozen=True)
class Curve:
    """A curve with a pairing: its groups' dtypes, and the fields of scalars and coordinates."""

    name: str
    fr: Field
    fq: Field
    g1: DType
    g2: DType

    @property
    def g1_generator(self) -> Tensor:
        """The customary generator of G1: a point without axes."""
        return _tensor(_G1[self.name], self.g1)

    @property
    def g2_generator(self) -> Tensor:
        """The customary generator of G2: a point without axes."""
        return _tensor(_G2[self.name], self.g2)


def field(dtype: DTypeLike) -> Field:
    """The field of this dtype.

    There are "bn254.fr", "bn254.fq", "bls12_381.fr", "bls12_381.fq", "goldilocks" and "babybear".

    >>> from cloakwork import zk
    >>> zk.field("babybear").modulus
    2013265921
    """
    found = _core.dtype(dtype)
    if found.name not in MODULI:
        raise DTypeError("dtype", found, f"a field: {', '.join(MODULI)}")
    modulus = MODULI[found.name]
    even = modulus - 1
    two_adicity = (even & -even).bit_length() - 1
    return Field(found, modulus, modulus.bit_length(), two_adicity, _GENERATORS[found.name])


def curve(name: str) -> Curve:
    """The curve "bn254" or "bls12_381".

    >>> from cloakwork import zk
    >>> zk.curve("bn254").g1
    cloakwork.bn254_g1
    """
    if name not in _G1:
        raise ParamError("name", name, " or ".join(_G1))
    groups = [_core.dtype(f"{name}.{group}") for group in ("g1", "g2")]
    return Curve(name, field(f"{name}.fr"), field(f"{name}.fq"), *groups)


def _tensor(values: object, dtype: DType) -> Tensor:
    # Loaded where it is needed: NumPy comes with it.
    from cloakwork.arrays import asarray

    return asarray(values, dtype=dtype)  # type: ignore[arg-type]
