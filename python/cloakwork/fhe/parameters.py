"""Parameters of a scheme: their rules, descriptions and fingerprint."""

from __future__ import annotations

from dataclasses import dataclass, fields
from hashlib import blake2b
from json import dumps
from math import log2, prod
from typing import Any

from cloakwork.errors import ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.encoding.exponents import GENERATORS, SlotOrder
from cloakwork.fhe.security import admit, check_security, is_secure, modulus_log2_limit
from cloakwork.lazy import public
from cloakwork.modular.primes import is_prime
from cloakwork.once import once

ERROR_SIGMA = 3.2

# Products of residues use 128 bits, and sums 63.
_MODULUS_MAX = 1 << 62
_DEGREE_MIN, _DEGREE_MAX = 8, 1 << 17
_LIMBS_MAX = 128
# The bits by which a digit may exceed the special moduli; the noise grows by as much.
_DIGIT_SLACK_LOG2 = 8.0


@public("cloakwork.fhe")
@dataclass(frozen=True)
class Parameters:
    """Parameters of a scheme over Z_Q[X] / (X^N + 1); made by `fhe.ckks`, `fhe.bgv` and `fhe.bfv`.

    scheme             "ckks", "bgv" or "bfv"
    degree             N, a power of two
    moduli             the chain q_0, q_1, ...: primes = 1 mod 2 N, dropped from the end
    special            the auxiliary primes of key switching; without any, HEAL's gadget form
    scale              CKKS: that of fresh plaintexts; 0 under BGV and BFV
    plain_modulus      BGV and BFV: t; 0 under CKKS
    digit_limbs        limbs per digit of key switching; digits = ceil(limbs / digit_limbs)
    gadget_base_log2   without special moduli: digits are in [0, 2^gadget_base_log2)
    security           the checked security in bits; None with `insecure=True`
    slot_order         the library in whose order slots stand: "cloakwork", "seal", "openfhe" or
                       "lattigo"; see `fhe.to_library`
    reserved           CKKS: levels at the top of the chain that only bootstrapping uses; their
                       scales are their moduli, and fresh ciphertexts begin below them

    Raises ParamError, whose `rule` names the broken rule.
    """

    scheme: str
    degree: int
    moduli: tuple[int, ...]
    special: tuple[int, ...]
    scale: float
    plain_modulus: int
    digit_limbs: int
    gadget_base_log2: int
    security: int | None
    slot_order: SlotOrder = "cloakwork"
    reserved: int = 0

    def __post_init__(self) -> None:
        check_degree(self.degree)
        if self.slot_order not in GENERATORS:
            raise ParamError("slot_order", self.slot_order, f"one of {', '.join(GENERATORS)}")
        _check_moduli(self.degree, self.moduli, self.special)
        if self.special:
            self._check_digits()
        else:
            self._check_gadget()
        if self.scheme == "ckks":
            if self.plain_modulus != 0:
                raise ParamError("plain_modulus", self.plain_modulus, "0: CKKS has none")
            if not 0 <= self.reserved < len(self.moduli):
                raise ParamError("reserved", self.reserved, f"0 to {len(self.moduli) - 1} levels")
            _check_scale(self.scale, self.moduli[: self.fresh_level + 1])
        else:
            if self.reserved != 0:
                name = self.scheme.upper()
                raise ParamError("reserved", self.reserved, f"0: {name} has no bootstrapping")
            _check_plain_modulus(self.degree, self.plain_modulus, self.moduli + self.special)
        check_security(self.degree, self.moduli + self.special, self.security)

    def __reduce__(self) -> tuple[Any, ...]:
        """Unpickling checks the parameters again, and warns of less than 128 bits."""
        return self._unpickled, tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def _unpickled(cls, *values: Any) -> Parameters:
        found = cls(*values)
        admit(found, "a pickle", insecure=True)
        return found

    def _check_digits(self) -> None:
        if not 1 <= self.digit_limbs <= len(self.moduli):
            raise ParamError("digit_limbs", self.digit_limbs, f"1 to {len(self.moduli)} limbs")
        widest = max(sum(map(log2, digit)) for digit in self.digits)
        if widest > self.special_log2 + _DIGIT_SLACK_LOG2:
            raise ParamError(
                "special_too_small",
                f"digits of up to {widest:.1f} bits over {self.special_log2:.1f} special bits",
                "special moduli about as large as a digit, or the noise of key switching swallows "
                "the result: take more special moduli, or more digits",
            )

    def _check_gadget(self) -> None:
        widest = min(self.moduli).bit_length() - 1
        if not 1 <= self.gadget_base_log2 <= widest:
            raise ParamError(
                "gadget_base_log2",
                self.gadget_base_log2,
                f"1 to {widest}, so that digits lie below every modulus",
            )

    @property
    def digits(self) -> list[tuple[int, ...]]:
        """The chain, divided into the digits of hybrid key switching."""
        step = self.digit_limbs
        count = -(-len(self.moduli) // step)
        starts = [step * number for number in range(count)]
        return [self.moduli[start : start + step] for start in starts]

    @property
    def slots(self) -> int:
        """The number of values in a plaintext: N / 2 under CKKS, otherwise N, with batching."""
        return self.degree // 2 if self.scheme == "ckks" else self.degree

    @property
    def error_multiple(self) -> int:
        """The common divisor of all errors: t under BGV, otherwise 1."""
        return self.plain_modulus if self.scheme == "bgv" else 1

    @property
    def level(self) -> int:
        """The highest level: limbs - 1."""
        return len(self.moduli) - 1

    @property
    def fresh_level(self) -> int:
        """The level of fresh ciphertexts: the highest that is not reserved."""
        return self.level - self.reserved

    @property
    def modulus_log2(self) -> float:
        """log2 of the chain's product, Q."""
        return log2(prod(self.moduli))

    @property
    def special_log2(self) -> float:
        """log2 of the special moduli's product, P."""
        return log2(prod(self.special))

    @property
    def generator(self) -> int:
        """Of the rotations: X -> X^(generator^r) rotates slots by r."""
        return GENERATORS[self.slot_order]

    def fields(self) -> dict[str, Any]:
        """All fields by name, as JSON's types; those with a default only where they differ."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        found |= {"scale": self.scale.hex()}
        found |= {"moduli": list(self.moduli), "special": list(self.special)}
        if self.slot_order == "cloakwork":
            del found["slot_order"]
        if not self.reserved:
            del found["reserved"]
        return found

    @property
    def is_secure(self) -> bool:
        """Whether the parameters have 128 bits of security by the tables."""
        return is_secure(self.degree, self.moduli + self.special)

    @once
    def fingerprint(self) -> str:
        """32 hexadecimal digits that identify these parameters."""
        text = dumps(self.fields(), sort_keys=True)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def key_bytes(self, level: int | None = None) -> int:
        """Bytes of an evaluation key of a level in memory, by default the highest.

        Raises ParamError for a level that the chain does not have.
        """
        level = self.level if level is None else whole_number("level", level)
        if not 0 <= level <= self.level:
            raise ParamError("level", level, f"0 to {self.level}")
        limbs = level + 1
        digits = -(-limbs // self.digit_limbs) if self.special else gadget_digits(self, limbs)
        return 2 * digits * (len(self.special) + limbs) * 8 * self.degree

    @property
    def _levels_in_words(self) -> str:
        return (
            "no levels to manage"
            if self.scheme == "bfv"
            else f"{self.fresh_level} levels to use up"
        )

    def describe(self) -> str:
        """All parameters in words, one per line."""
        limbs, special = len(self.moduli), len(self.special)
        polynomial = 8 * self.degree
        lines = [
            f"{self.scheme.upper()}, degree {self.degree}, {self.slots} slots",
            f"moduli: {_sizes(self.moduli)}; log2 Q = {self.modulus_log2:.1f}, "
            + self._levels_in_words,
        ]
        if self.reserved:
            lines.append(f"reserved for bootstrapping: the {self.reserved} levels above these")
        if special:
            lines.append(
                f"key switching: hybrid, {len(self.digits)} digits of up to {self.digit_limbs} "
                f"limbs, special moduli {_sizes(self.special)}, log2 P = {self.special_log2:.1f}"
            )
        else:
            lines.append(f"key switching: gadget, digits of {self.gadget_base_log2} bits")
        if self.scheme == "ckks":
            lines.append(f"scale: 2^{log2(self.scale):.3f}")
        else:
            lines.append(f"plaintexts: mod {self.plain_modulus}")
        if self.slot_order != "cloakwork":
            lines.append(f"slots: in the order of {self.slot_order}")
        whole = self.modulus_log2 + self.special_log2
        if self.security is None:
            lines.append(f"security: not checked (insecure=True); log2 QP = {whole:.1f}")
        else:
            limit = modulus_log2_limit(self.degree, self.security)
            lines.append(
                f"security: {self.security} bits; log2 QP = {whole:.1f}, at most {limit} "
                "(ePrint 2024/463, Table 5.2)"
            )
        lines.append(
            f"a ciphertext takes {_mebibytes(2 * limbs * polynomial)}, a key of key switching "
            f"{_mebibytes(self.key_bytes())}, half of it in a file; one of level "
            f"{self.level // 2} takes {_mebibytes(self.key_bytes(self.level // 2))}"
        )
        return "\n".join(lines)


def gadget_digits(parameters: Parameters, limbs: int | None = None) -> int:
    """The number of digits to base 2^gadget_base_log2 of values mod the first `limbs` moduli."""
    whole = prod(parameters.moduli[:limbs])
    return -(-whole.bit_length() // parameters.gadget_base_log2)


def check_degree(degree: int) -> None:
    """ParamError unless the degree is a power of two in the supported range."""
    if not _DEGREE_MIN <= degree <= _DEGREE_MAX or degree & (degree - 1):
        raise ParamError("degree", degree, f"a power of two from {_DEGREE_MIN} to {_DEGREE_MAX}")


def _check_moduli(degree: int, moduli: tuple[int, ...], special: tuple[int, ...]) -> None:
    everything = moduli + special
    if not 1 <= len(moduli) <= _LIMBS_MAX or len(special) > _LIMBS_MAX:
        raise ParamError("modulus_count", len(moduli), f"1 to {_LIMBS_MAX} moduli")
    if len(set(everything)) != len(everything):
        raise ParamError("modulus_repeated", everything, "distinct moduli")
    for q in everything:
        if not 2 < q < _MODULUS_MAX:
            raise ParamError("modulus_range", q, "more than 2 and less than 2^62")
        if q % (2 * degree) != 1:
            raise ParamError("modulus_not_ntt_friendly", q, f"1 mod 2 * degree = {2 * degree}")
        if not is_prime(q):
            raise ParamError("modulus_not_prime", q, "a prime")


def _check_scale(scale: float, moduli: tuple[int, ...]) -> None:
    # Above 2^60 a value of 4 would not fit the 63 bits of a coefficient before reduction.
    if not 1.0 <= scale <= 2.0**60:
        raise ParamError("scale_range", scale, "a scale from 1 to 2^60")
    if 2 * scale >= prod(moduli):
        raise ParamError("scale_above_modulus", scale, "less than half the whole modulus")


def _check_plain_modulus(degree: int, t: int, moduli: tuple[int, ...]) -> None:
    if not 2 <= t < 1 << 31:
        raise ParamError("plain_modulus", t, "2 to 2^31 - 1")
    if any(q % t == 0 for q in moduli):
        raise ParamError("plain_modulus", t, "a number that shares no factor with the moduli")
    if not is_prime(t) or t % (2 * degree) != 1:
        raise ParamError(
            "plain_modulus_batching",
            t,
            f"a prime = 1 mod 2 * degree = {2 * degree}, as slots need: 65537 up to degree 32768",
        )


def _sizes(moduli: tuple[int, ...]) -> str:
    """The sizes in bits, with equal neighbours combined: 50 + 10 x 40."""
    sizes = [round(log2(q)) for q in moduli]
    runs: list[tuple[int, int]] = []
    for size in sizes:
        if runs and runs[-1][1] == size:
            runs[-1] = (runs[-1][0] + 1, size)
        else:
            runs.append((1, size))
    return " + ".join(f"{count} x {size}" if count > 1 else f"{size}" for count, size in runs)


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:.1f} MiB"


# Named by pickles of earlier versions.
_unpickled = Parameters._unpickled
