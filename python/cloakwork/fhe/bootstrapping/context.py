"""Parameters with room for bootstrapping."""

from __future__ import annotations

from math import ceil, floor, log2, prod

from cloakwork.errors import ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.bootstrapping.plan import checked_maps, checked_slots, sine_for
from cloakwork.fhe.bootstrapping.sine import ARCSINE_DEPTH
from cloakwork.fhe.chain import Picker, chain_primes, special_primes
from cloakwork.fhe.ckks import CkksContext
from cloakwork.fhe.estimates.bounds import Stated
from cloakwork.fhe.parameters import Parameters, check_degree
from cloakwork.fhe.schemes import context_of
from cloakwork.fhe.security import admit, asked_security, modulus_log2_limit

# Primes below 2^50 are the fastest; those of the sine are of this size for its precision.
_SIZE = 50
_LARGEST = 60
# Slots whose roundings leave a bit for a longer first modulus.
_FEW_SLOTS = 1 << 12
# More digits than this make keys too large, fewer are no faster.
_LEAST_DIGITS = 3


def bootstrapping_context(  # noqa: PLR0913 (a scheme has what it has)
    levels: int,
    slots: int | None = None,
    *,
    degree: int = 2**16,
    scale_bits: int = 40,
    ratio_bits: int | None = None,
    sine_bits: int = _SIZE,
    coeffs_to_slots: int = 3,
    slots_to_coeffs: int = 3,
    arcsine: bool = False,
    special: int | None = None,
    security: int = 128,
    insecure: bool = False,
    bound: Stated | None = None,
) -> CkksContext:
    """A context of CKKS whose ciphertexts have `levels` levels after each bootstrapping.

    levels           products in a row between bootstrappings; Meta-BTS takes one of them
    slots            those of `fhe.Bootstrapping`, by default degree / 2
    scale_bits       of the moduli that products consume
    ratio_bits       by which the first modulus is longer: values may be up to 2^(ratio_bits - 6).
                     By default 8, or 9 for up to 4,096 slots; with an arcsine 6, and values up to
                     2^(ratio_bits - 4).
                     Each bit more takes one from the precision of small values, and gives two to
                     the worst case of large ones
    sine_bits        of the moduli above them: up to 50 are the fastest; 60 give 10 bits more of
                     precision where the scale allows it
    special          special moduli, by default as many as the security leaves, up to a third of
                     the chain
    coeffs_to_slots, slots_to_coeffs, arcsine   as for `fhe.Bootstrapping`

    Raises ParamError if that many levels leave no room for a special modulus.

    >>> from cloakwork import fhe
    >>> context = fhe.bootstrapping_context(levels=10)
    >>> context.parameters.fresh_level, context.parameters.is_secure
    (10, True)
    """
    parameters = bootstrapping_parameters(
        levels,
        slots,
        degree=degree,
        scale_bits=scale_bits,
        ratio_bits=ratio_bits,
        sine_bits=sine_bits,
        coeffs_to_slots=coeffs_to_slots,
        slots_to_coeffs=slots_to_coeffs,
        arcsine=arcsine,
        special=special,
        security=asked_security(security, insecure),
    )
    admit(parameters, "fhe.bootstrapping_context", insecure=insecure)
    return context_of(parameters, bound=bound)  # type: ignore[return-value]  # the scheme is CKKS


def bootstrapping_parameters(  # noqa: PLR0913 (as above)
    levels: int,
    slots: int | None = None,
    *,
    degree: int = 2**16,
    scale_bits: int = 40,
    ratio_bits: int | None = None,
    sine_bits: int = _SIZE,
    coeffs_to_slots: int = 3,
    slots_to_coeffs: int = 3,
    arcsine: bool = False,
    special: int | None = None,
    security: int | None = 128,
) -> Parameters:
    """The parameters of `bootstrapping_context`; no security: without its check."""
    check_degree(degree)
    held = checked_slots(slots, degree // 2)
    ratio_bits = _ratio_bits(held, arcsine) if ratio_bits is None else ratio_bits
    for name, given, low, high in (
        ("levels", levels, 1, 60),
        ("scale_bits", scale_bits, 20, 52),
        ("ratio_bits", ratio_bits, 4, min(20, _LARGEST - scale_bits)),
        ("sine_bits", sine_bits, scale_bits, _LARGEST),
    ):
        if not low <= whole_number(name, given, f"{low} to {high}") <= high:
            raise ParamError(name, given, f"{low} to {high}")
    depth = sine_for(degree, held, sine_bits).depth + ARCSINE_DEPTH * bool(arcsine)
    depth += checked_maps(held, "coeffs_to_slots", coeffs_to_slots)
    depth += checked_maps(held, "slots_to_coeffs", slots_to_coeffs)
    scale = 2.0**scale_bits
    picker = Picker(degree, set())
    first = (picker.prime(scale_bits + ratio_bits),)
    upper = tuple(picker.prime(sine_bits) for _ in range(depth))
    lower = chain_primes(picker, [scale_bits] * levels, scale)
    chain = first + lower + upper
    count = _special_count(degree, chain, special, security)
    return Parameters(
        scheme="ckks",
        degree=degree,
        moduli=chain,
        special=special_primes(picker, [_SIZE if sine_bits <= _SIZE else sine_bits] * count),
        scale=scale,
        plain_modulus=0,
        digit_limbs=count,
        gadget_base_log2=0,
        security=security,
        reserved=depth,
    )


def _ratio_bits(slots: int, arcsine: bool) -> int:
    """The ratio that lets the worst slot of random values, and of equal ones, keep 15 bits.

    For many slots at 2^16 only an arcsine does.
    """
    if arcsine:
        return 6
    return 9 if slots <= _FEW_SLOTS else 8


def _special_count(
    degree: int, chain: tuple[int, ...], asked: int | None, security: int | None
) -> int:
    """Special moduli: a third of the chain, or as many as the security leaves."""
    most = ceil(len(chain) / _LEAST_DIGITS)
    if asked is not None:
        if not 1 <= whole_number("special", asked, f"1 to {len(chain)}") <= len(chain):
            raise ParamError("special", asked, f"1 to {len(chain)}")
        return asked
    if security is None:
        return most
    room = modulus_log2_limit(degree, security) - log2(prod(chain))
    size = max(log2(max(chain)), _SIZE)
    if room < size:
        allowed = (
            f"fewer levels: {log2(prod(chain)):.0f} bits of the chain leave {room:.0f} for special "
            f"moduli at degree {degree}"
        )
        raise ParamError("levels", len(chain), allowed)
    return min(most, floor(room / size))
