"""CKKS parameters, checked against the 128-bit security table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from math import log2, prod

from cloakwork.errors import ParamError
from cloakwork.primes import is_prime, ntt_primes

# Largest log2 of the whole modulus for 128-bit classical security, uniform ternary secret, error
# of standard deviation 3.19: Security Guidelines for Implementing Homomorphic Encryption (2024,
# ePrint 2024/463), Table 5.2.  Keyed by the ring degree.
MODULUS_LOG2_LIMIT = {
    1 << 10: 26,
    1 << 11: 53,
    1 << 12: 106,
    1 << 13: 214,
    1 << 14: 430,
    1 << 15: 868,
    1 << 16: 1747,
    1 << 17: 3523,
}

ERROR_SIGMA = 3.2

# Products of residues go through 128 bits and sums through 63, so q < 2^62; the sizes near 2^bits
# reach at most 2^(bits + 0.37).
_MODULUS_MAX = 1 << 62
_BITS_MAX = 61
_DEGREE_MIN, _DEGREE_MAX = 8, 1 << 17
_LIMBS_MAX = 64


@dataclass(frozen=True)
class Parameters:
    """What a CKKS ring is: its degree, its modulus chain and the scale of fresh plaintexts.

    degree             N, a power of two; there are N / 2 slots
    moduli             primes q_0, q_1, ... = 1 mod 2 N; rescaling drops them from the end
    scale              of fresh plaintexts, a power of two or not
    gadget_base_log2   digits of key switching are in [0, 2^gadget_base_log2)
    insecure           accept a modulus above the 128-bit limit; for tests alone

    Give `moduli`, or let `Parameters.with_bits` choose primes of given sizes.

    Gadget base.  Relinearization adds noise of about 3.2 * 2^w * sqrt(digits * N / 3) to the
    coefficients of a product whose scale is scale^2, before it is rescaled.  With w = 30,
    N = 8192 and five digits that is 2^39, so 2^-1 after division by a 2^40 modulus: less than the
    rounding of the rescaling itself (about 2^5), at five digits instead of the seven of w = 20.

    Raises ParamError, whose `rule` names which rule is broken.
    """

    degree: int
    moduli: tuple[int, ...]
    scale: float
    _: KW_ONLY
    gadget_base_log2: int = 30
    insecure: bool = False

    @classmethod
    def with_bits(
        cls,
        degree: int,
        modulus_bits: Sequence[int],
        scale_log2: float,
        *,
        insecure: bool = False,
    ) -> Parameters:
        """Parameters whose i-th modulus is the free NTT-friendly prime nearest 2^modulus_bits[i].

        The gadget base is 2^30, or as much as the smallest modulus allows.
        """
        _check_degree(degree)
        for bits in modulus_bits:
            if not degree.bit_length() < bits <= _BITS_MAX:
                raise ParamError(
                    "modulus_bits", bits, f"{degree.bit_length() + 1} to {_BITS_MAX} bits a modulus"
                )
        base_log2 = min(cls.gadget_base_log2, min(modulus_bits, default=30) - 1)
        moduli = ntt_primes(degree, modulus_bits)
        return cls(degree, moduli, 2.0**scale_log2, gadget_base_log2=base_log2, insecure=insecure)

    def __post_init__(self) -> None:
        _check_degree(self.degree)
        _check_moduli(self.degree, self.moduli)
        self._check_scale()
        self._check_security()

    def _check_scale(self) -> None:
        # Above 2^60 a value of 4 would not fit the 63 bits of a coefficient before reduction.
        if not 1.0 <= self.scale <= 2.0**60:
            raise ParamError("scale_range", self.scale, "a scale from 1 to 2^60")
        if self.scale >= prod(self.moduli):
            raise ParamError("scale_above_modulus", self.scale, "less than the whole modulus")
        widest = min(self.moduli).bit_length() - 1
        if not 1 <= self.gadget_base_log2 <= widest:
            raise ParamError(
                "gadget_base_log2",
                self.gadget_base_log2,
                f"1 to {widest}, so that digits lie below every modulus",
            )

    def _check_security(self) -> None:
        if self.insecure:
            return
        limit = MODULUS_LOG2_LIMIT.get(self.degree)
        if limit is None:
            raise ParamError(
                "security_degree",
                self.degree,
                "a degree from 2^10 to 2^17 for 128-bit security (insecure=True to go on)",
            )
        if prod(self.moduli) > 1 << limit:
            raise ParamError(
                "security_modulus",
                f"log2 of the modulus {self.modulus_log2:.2f}",
                f"at most {limit} at degree {self.degree} for 128-bit security: take fewer or "
                "smaller moduli, or a larger degree (insecure=True to go on)",
            )

    @property
    def slots(self) -> int:
        """Values a plaintext holds: N / 2."""
        return self.degree // 2

    @property
    def level(self) -> int:
        """The level of fresh ciphertexts: limbs - 1."""
        return len(self.moduli) - 1

    @property
    def modulus_log2(self) -> float:
        """log2 of the product of all moduli."""
        return log2(prod(self.moduli))


def _check_degree(degree: int) -> None:
    if not _DEGREE_MIN <= degree <= _DEGREE_MAX or degree & (degree - 1):
        raise ParamError("degree", degree, f"a power of two from {_DEGREE_MIN} to {_DEGREE_MAX}")


def _check_moduli(degree: int, moduli: tuple[int, ...]) -> None:
    if not 1 <= len(moduli) <= _LIMBS_MAX:
        raise ParamError("modulus_count", len(moduli), f"1 to {_LIMBS_MAX} moduli")
    if len(set(moduli)) != len(moduli):
        raise ParamError("modulus_repeated", moduli, "distinct moduli")
    for q in moduli:
        if not 2 < q < _MODULUS_MAX:
            raise ParamError("modulus_range", q, "more than 2 and less than 2^62")
        if q % (2 * degree) != 1:
            raise ParamError("modulus_not_ntt_friendly", q, f"1 mod 2 * degree = {2 * degree}")
        if not is_prime(q):
            raise ParamError("modulus_not_prime", q, "a prime")
