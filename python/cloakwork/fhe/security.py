"""The largest secure moduli: the tables of 2024 for uniform ternary secrets.

Security Guidelines for Implementing Homomorphic Encryption (Bossuat, Cammarota, Chillotti and
others, 2024, ePrint 2024/463), Table 5.2: classical attacks, errors of standard deviation 3.19.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import log2, prod
from typing import Protocol
from warnings import warn

from cloakwork.errors import LoadError, ParamError
from cloakwork.lazy import public

# Largest log2 of the whole modulus, special moduli included, by security level and log2 degree.
_LIMITS = {
    128: {10: 26, 11: 53, 12: 106, 13: 214, 14: 430, 15: 868, 16: 1747, 17: 3523},
    192: {11: 36, 12: 73, 13: 147, 14: 297, 15: 597, 16: 1199, 17: 2411},
    256: {11: 27, 12: 56, 13: 114, 14: 230, 15: 462, 16: 929, 17: 1866},
}


# The default security in bits.
_DEFAULT = 128

# Whether warnings of `admit` are left to a caller.
_QUIET: ContextVar[bool] = ContextVar("_QUIET", default=False)


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


class Moduli(Protocol):
    """Whatever has a ring and its moduli: `fhe.Parameters`."""

    @property
    def degree(self) -> int:
        """N, of the ring."""

    @property
    def moduli(self) -> tuple[int, ...]:
        """The chain."""

    @property
    def special(self) -> tuple[int, ...]:
        """The auxiliary primes of key switching."""


def admit(parameters: Moduli, place: str, *, insecure: bool = False) -> None:
    """Let parameters pass that have 128 bits of security: the one door for all of them.

    Contexts, files, pickles, descriptions, models and other libraries' files pass it.  `insecure`
    lets others pass, too, each time with an InsecureWarning.

    place   where the parameters are from, for words

    Raises LoadError for other parameters.
    """
    everything = parameters.moduli + parameters.special
    if is_secure(parameters.degree, everything):
        return
    got = f"{log2(prod(everything)):.0f} bits of modulus"
    if not insecure:
        expected = (
            f"128 bits of security at degree {parameters.degree}; insecure=True, --insecure in "
            "commands, accepts them"
        )
        raise LoadError(f"{place}: parameters: expected {expected}, got {got}")
    if not _QUIET.get():
        warn(
            f"{place}: parameters below 128 bits of security (degree {parameters.degree}, {got}): "
            "for tests and toys alone",
            InsecureWarning,
            stacklevel=_level_outside(),
        )


@contextmanager
def admitted_later() -> Iterator[None]:
    """Leave warnings to the caller, who admits the parameters of the result alone."""
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)


def _level_outside() -> int:
    """The stack level, for `warn` in the caller, of the first frame outside of this package."""
    frame, level = sys._getframe(1), 1
    package = __name__.partition(".")[0]
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level
