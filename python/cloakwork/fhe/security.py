"""The largest secure moduli: the tables of 2024 for uniform ternary secrets.

Security Guidelines for Implementing Homomorphic Encryption (Bossuat, Cammarota, Chillotti and
others, 2024, ePrint 2024/463), Table 5.2: classical attacks, errors of standard deviation 3.19.
"""

from __future__ import annotations

from math import prod

from cloakwork.errors import ParamError
from cloakwork.lazy import public

# Largest log2 of the whole modulus, special moduli included, by security level and log2 degree.
_LIMITS = {
    128: {10: 26, 11: 53, 12: 106, 13: 214, 14: 430, 15: 868, 16: 1747, 17: 3523},
    192: {11: 36, 12: 73, 13: 147, 14: 297, 15: 597, 16: 1199, 17: 2411},
    256: {11: 27, 12: 56, 13: 114, 14: 230, 15: 462, 16: 929, 17: 1866},
}


# The default security in bits.
_DEFAULT = 128


@public("cloakwork.fhe")
class InsecureWarning(UserWarning):
    """Keys or parameters with no or too little security are in use."""


def modulus_log2_limit(degree: int, security: int = 128) -> int:
    """Largest log2 of the product of all moduli for `security` bits at a ring degree.

    Raises ParamError for a level or a degree outside of the tables.

    >>> modulus_log2_limit(2**15)
    868
    """
    table = _LIMITS.get(security)
    if table is None:
        raise ParamError(
            "security", security, "128, 192 or 256 bits; insecure=True to skip the check"
        )
    limit = table.get(degree.bit_length() - 1)
    if limit is None:
        raise ParamError(
            "security_degree",
            degree,
            f"a degree from 2^{min(table)} to 2^{max(table)} for {security}-bit security; "
            "insecure=True to skip the check",
        )
    return limit


def secure_degrees(security: int) -> tuple[int, ...]:
    """The degrees of the table, ascending; ParamError for a security without one."""
    modulus_log2_limit(1 << 15, security)
    return tuple(1 << log for log in sorted(_LIMITS[security]))


def check_security(degree: int, moduli: tuple[int, ...], security: int | None) -> None:
    """ParamError if the product of all moduli, special ones too, is too large for the degree."""
    if security is None:
        return
    limit = modulus_log2_limit(degree, security)
    whole = prod(moduli)
    if whole > 1 << limit:
        raise ParamError(
            "security_modulus",
            f"{whole.bit_length() - 1} bits of modulus, special moduli included",
            f"at most {limit} at degree {degree} for {security}-bit security (ePrint 2024/463, "
            "Table 5.2): take fewer or smaller moduli, or a larger degree; insecure=True accepts "
            "them without security",
        )


def is_secure(degree: int, moduli: tuple[int, ...], security: int = 128) -> bool:
    """Whether these moduli, including special ones, have that security by the tables."""
    try:
        check_security(degree, moduli, security)
    except ParamError:
        return False
    return True


def asked_security(security: int | None, insecure: bool) -> int | None:
    """The security to check in bits; None for no check, only with `insecure`."""
    if not insecure:
        if security is None:
            allowed = "128, 192 or 256 bits; insecure=True to skip the check"
            raise ParamError("security", None, allowed)
        return security
    if security != _DEFAULT:
        raise ParamError("insecure", True, f"no security={security} with it: it skips the check")
    return None
