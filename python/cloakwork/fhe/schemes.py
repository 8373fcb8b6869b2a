"""`fhe.ckks`, `fhe.bgv` and `fhe.bfv`: contexts from users' parameters."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from weakref import WeakValueDictionary

from cloakwork.errors import ParamError
from cloakwork.fhe.bfv import BfvContext
from cloakwork.fhe.bgv import BgvContext
from cloakwork.fhe.chain import BITS_MAX, Picker, chain_primes, special_primes
from cloakwork.fhe.ckks import CkksContext
from cloakwork.fhe.context import Context, Levels
from cloakwork.fhe.estimates.bounds import Bound, Stated
from cloakwork.fhe.parameters import Parameters, check_degree
from cloakwork.fhe.security import admit, asked_security
from cloakwork.fhe.sizing import ROOM_BITS, Wanted, largest_moduli, least_sizes

# The noise of a key switch in HEAL's form is about its digits' size times N: under CKKS it has to
# be small beside the scale, under BGV and BFV beside the modulus.
_GADGET_BASE_LOG2 = {"ckks": 13, "bgv": 30, "bfv": 30}
# For 50-bit primes the scale is this far below 2^50, so that primes lie on both sides of it.
_CROWDED_BITS = 50


def ckks(  # noqa: PLR0913 (a scheme has what it has)
    degree: int | None = None,
    moduli: Sequence[int] | None = None,
    special: Sequence[int] = (),
    *,
    depth: int | None = None,
    precision: float | None = None,
    room: float | None = None,
    scale: float | None = None,
    security: int = 128,
    insecure: bool = False,
    digits: int | None = None,
    gadget_base_log2: int | None = None,
    levels: Levels = "auto",
    bound: Stated | None = None,
) -> CkksContext:
    """CKKS: approximate arithmetic on degree / 2 encrypted complex numbers.

    By `depth` alone, `ckks(depth=10)`, the least degree, and moduli below 2^49, are found that the
    tables of security allow; `describe()` names them.  Or all of them are given:

    degree     N, a power of two
    moduli     the chain, first to last: primes, or their sizes in bits (up to 61); a rescaling
               drops the last.  All except the first should be about the scale, and the first larger
               by the number of bits before the point of results; otherwise level 0 is not used
    special    the auxiliary primes of key switching, or their sizes; their product should be about
               the size of a digit.  Without any, HEAL's gadget form is used: larger keys, more
               noise
    depth      levels that products and polynomials may use up, instead of `moduli` and `special`:
               the number of special moduli is that of the cheapest key switch
    precision  with depth: bits after the point that a rescaled product keeps; default: those of a
               scale of 2^40
    room       with depth: bits before the point of results at the last level, with the sign, by
               default 8, or those of `bound`
    scale      of fresh ciphertexts, by default 2^bits of the last modulus
    security   128, 192 or 256: a modulus larger than the tables of 2024 allow (ePrint 2024/463)
               is refused
    insecure   no security check, but an InsecureWarning: only for tests and toys
    digits     of key switching; by default the number that the `special` moduli allow
    levels     "auto": operands are rescaled and brought to one level and scale automatically;
               "manual": operands at different levels or scales are an error
    bound      the bound of |values|, or (low, high) of real values, for estimates of precision:
               encrypting values beyond it is an error.  None: 1, or the least power of two that
               bounds the values, which reveals their size

    Sizes up to 50 bits choose primes below 2^50, which are twice as fast on processors with IFMA.

    Raises ParamError, whose `rule` names the broken rule.
    """
    if depth is not None:
        _check_searched(moduli, special, digits, gadget_base_log2)
        wanted = Wanted(depth, _room(room, bound), precision, _scale_bits(scale))
        found = least_sizes(wanted, degree, asked_security(security, insecure))
        degree, moduli, special = found.degree, found.moduli, found.special
        scale = 2.0**found.scale
    else:
        _check_given(moduli, precision, room)
    if degree is None or not moduli:
        allowed = "degree and moduli, or a depth: fhe.ckks(depth=10)"
        rule = "degree" if degree is None else "modulus_count"
        raise ParamError(rule, degree if degree is None else 0, allowed)
    check_degree(degree)
    picker = Picker(degree, set())
    if scale is None:
        scale = _default_scale(degree, moduli)
    picker.taken |= {q for q in special if q > BITS_MAX}
    chain = chain_primes(picker, moduli, scale)
    auxiliary = special_primes(picker, special)
    parameters = Parameters(
        scheme="ckks",
        degree=degree,
        moduli=chain,
        special=auxiliary,
        scale=float(scale),
        plain_modulus=0,
        digit_limbs=_digit_limbs(len(chain), len(auxiliary), digits),
        gadget_base_log2=_gadget_base("ckks", chain, auxiliary, gadget_base_log2),
        security=asked_security(security, insecure),
    )
    admit(parameters, "fhe.ckks", insecure=insecure)
    return _ckks_context(parameters, levels, bound)


def _check_searched(
    moduli: Sequence[int] | None, special: Sequence[int], digits: object, base: object
) -> None:
    """ParamError for what a search by depth finds itself."""
    given = {"moduli": moduli, "special": special, "digits": digits, "gadget_base_log2": base}
    for name, value in given.items():
        if value is not None and value != ():
            raise ParamError(name, value, "none with depth=..., which finds the moduli")


def _check_given(moduli: Sequence[int] | None, precision: float | None, room: float | None) -> None:
    """ParamError for options of a search where there is none."""
    for name, value in {"precision": precision, "room": room}.items():
        if value is not None:
            held = "" if moduli is None else ": given moduli have theirs"
            raise ParamError(name, value, f"none without depth=...{held}")


def _room(room: float | None, bound: Stated | None) -> float:
    """Bits before the point: as given, or of the stated bound of values, with a bit to spare."""
    if room is not None:
        return room
    if bound is None:
        return float(ROOM_BITS)
    return max(Bound.stated(bound).size, 0.0) + 2.0


def _scale_bits(scale: float | None) -> int | None:
    """log2 of a scale with depth=...; ParamError unless it is a power of two."""
    if scale is None:
        return None
    if not scale >= 1.0 or not log2(scale).is_integer():
        raise ParamError("scale", scale, "a power of two with depth=..., which chooses the moduli")
    return int(log2(scale))


def bgv(  # noqa: PLR0913
    degree: int,
    plain_modulus: int,
    moduli: Sequence[int],
    special: Sequence[int] = (),
    *,
    security: int = 128,
    insecure: bool = False,
    digits: int | None = None,
    gadget_base_log2: int | None = None,
    levels: Levels = "auto",
) -> BgvContext:
    """BGV: exact arithmetic on `degree` encrypted integers mod a prime, in two rows.

    plain_modulus   t, a prime = 1 mod 2 N: 65537 up to degree 32768

    The other parameters are as for `ckks`.  Sizes choose primes = 1 mod t if there are enough of
    them, so that switching moduli multiplies plaintexts by 1.
    """
    parameters = _integer_parameters(
        ("bgv", degree, plain_modulus),
        (moduli, special),
        (digits, gadget_base_log2, asked_security(security, insecure)),
    )
    admit(parameters, "fhe.bgv", insecure=insecure)
    return _bgv_context(parameters, levels)


def bfv(  # noqa: PLR0913
    degree: int,
    plain_modulus: int,
    moduli: Sequence[int] | None = None,
    special: Sequence[int] = (),
    *,
    security: int = 128,
    insecure: bool = False,
    digits: int | None = None,
    gadget_base_log2: int | None = None,
    levels: Levels = "auto",
) -> BfvContext:
    """BFV: exact arithmetic on `degree` encrypted integers mod a prime, in two rows.

    Nothing has to be switched or rescaled: the budget (`noise_budget`) says how many more products
    a ciphertext takes, about log2 N + log2 t bits or a few more for each.

    plain_modulus   t, a prime = 1 mod 2 N: 65537 up to degree 32768
    moduli          by default, with `special`, the largest that the degree allows for this security
    levels          "auto": while noise is far above the rounding, moduli go before products, which
                    costs no budget, and makes everything after it faster; "manual": only by
                    `mod_switch` and `lower`, and operands at different levels are an error

    The other parameters are as for `bgv`.
    """
    if moduli is None:
        if special or insecure:
            name = "insecure" if insecure else "special"
            raise ParamError(name, insecure or special, "moduli with it")
        moduli, special = largest_moduli(degree, asked_security(security, insecure))
    parameters = _integer_parameters(
        ("bfv", degree, plain_modulus),
        (moduli, special),
        (digits, gadget_base_log2, asked_security(security, insecure)),
    )
    admit(parameters, "fhe.bfv", insecure=insecure)
    return _bfv_context(parameters, levels)


def _integer_parameters(
    given: tuple[str, int, int],
    chosen: tuple[Sequence[int], Sequence[int]],
    options: tuple[int | None, int | None, int | None],
) -> Parameters:
    """Parameters of BGV and BFV: the primes are 1 mod t if there are enough of them."""
    (scheme, degree, plain_modulus), (moduli, special) = given, chosen
    digits, gadget_base_log2, security = options
    check_degree(degree)
    picker = Picker(degree, {plain_modulus, *(q for q in special if q > BITS_MAX)}, plain_modulus)
    chain = chain_primes(picker, moduli)
    picker.wanted = 1
    auxiliary = special_primes(picker, special)
    return Parameters(
        scheme=scheme,
        degree=degree,
        moduli=chain,
        special=auxiliary,
        scale=0.0,
        plain_modulus=plain_modulus,
        digit_limbs=_digit_limbs(len(chain), len(auxiliary), digits),
        gadget_base_log2=_gadget_base(scheme, chain, auxiliary, gadget_base_log2),
        security=security,
    )


def context_of(
    parameters: Parameters, levels: Levels = "auto", bound: Stated | None = None
) -> Context:
    """The context of parameters; the same object, with its tables, as long as it is referenced."""
    if parameters.scheme == "ckks":
        return _ckks_context(parameters, levels, bound)
    made = _bfv_context if parameters.scheme == "bfv" else _bgv_context
    return made(parameters, levels)


def _ckks_context(parameters: Parameters, levels: Levels, bound: Stated | None) -> CkksContext:
    if bound is not None:
        known = Bound.stated(bound)
        bound = (float(known.low), float(known.high)) if isinstance(bound, tuple) else float(bound)
    found = _CKKS.get((parameters, levels, bound))
    if found is None:
        found = _CKKS[parameters, levels, bound] = CkksContext(parameters, levels, bound)
    return found


def _bgv_context(parameters: Parameters, levels: Levels) -> BgvContext:
    found = _BGV.get((parameters, levels))
    if found is None:
        found = _BGV[parameters, levels] = BgvContext(parameters, levels)
    return found


def _bfv_context(parameters: Parameters, levels: Levels) -> BfvContext:
    found = _BFV.get((parameters, levels))
    if found is None:
        found = _BFV[parameters, levels] = BfvContext(parameters, levels)
    return found


_CKKS: WeakValueDictionary[tuple[Parameters, Levels, Stated | None], CkksContext] = (
    WeakValueDictionary()
)
_BGV: WeakValueDictionary[tuple[Parameters, Levels], BgvContext] = WeakValueDictionary()
_BFV: WeakValueDictionary[tuple[Parameters, Levels], BfvContext] = WeakValueDictionary()


def _default_scale(degree: int, moduli: Sequence[int]) -> float:
    """2^bits of the last modulus; lower where primes must stay below 2^50."""
    last = moduli[-1]
    if last > BITS_MAX:
        return 2.0 ** round(log2(last))
    if last != _CROWDED_BITS:
        return 2.0**last
    # Primes = 1 mod 2 N near 2^50 are about 2 N * 17 apart; half of them are to lie above.
    return 2.0**last - len(moduli) * degree * 17.0


def _digit_limbs(limbs: int, special: int, digits: int | None) -> int:
    if digits is None:
        return min(special, limbs) if special else 1
    if not 1 <= digits <= limbs:
        raise ParamError("digits", digits, f"1 to {limbs}, the moduli of the chain")
    return -(-limbs // digits)


def _gadget_base(
    scheme: str, chain: tuple[int, ...], special: tuple[int, ...], base_log2: int | None
) -> int:
    if special:
        if base_log2 is not None:
            raise ParamError("gadget_base_log2", base_log2, "no special moduli with it")
        return 0
    if base_log2 is not None:
        return base_log2
    return min(_GADGET_BASE_LOG2[scheme], min(chain).bit_length() - 1)
