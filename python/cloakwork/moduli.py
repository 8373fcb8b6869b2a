"""The primes of the fields that are dtypes, by name."""

from __future__ import annotations

_BN254 = 0x30644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD47
_BLS12_381 = int(
    "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf"
    "6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab",
    16,
)
MODULI = {
    "bn254.fr": 0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001,
    "bn254.fq": _BN254,
    "bls12_381.fr": 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001,
    "bls12_381.fq": _BLS12_381,
    "goldilocks": 2**64 - 2**32 + 1,
    "babybear": 15 * 2**27 + 1,
}
# The orders of the groups of points, which are the primes of scalars, by curve.
ORDERS = {curve: MODULI[f"{curve}.fr"] for curve in ("bn254", "bls12_381")}
