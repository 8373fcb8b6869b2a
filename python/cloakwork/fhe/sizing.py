"""The search for parameters: the least degree and chain for a depth, within the tables."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite, log, log2

from cloakwork.errors import ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.operands import is_number
from cloakwork.fhe.security import modulus_log2_limit, secure_degrees

# Primes below 2^49 are those of the fastest kernels.
_BITS_MAX = 49
# Moduli of the largest chain, at least, beside a special one.
_LEAST_LIMBS = 2
_SCALE_BITS_MAX = 48
# Bits of a scale if no precision is asked for, and of results before the point.
SCALE_BITS, ROOM_BITS = 40, 8
# With insecure=True: the degrees for tests.
_TOY_DEGREES = tuple(1 << log for log in range(10, 18))
_DEPTH_MAX = 100
# How many times the primes of a chain there must be near their size: the nearest keep the scale.
_SPARE_PRIMES = 2


@dataclass(frozen=True)
class Wanted:
    """The needs of a chain.

    depth      levels: products, one after another
    room       bits of results before the point, with the sign
    precision  bits after the point that a rescaled product keeps; None: a scale of 2^40
    scale      bits of the scale instead of a precision
    """

    depth: int
    room: float = ROOM_BITS
    precision: float | None = None
    scale: int | None = None

    def __post_init__(self) -> None:
        depth = whole_number("depth", self.depth, f"0 to {_DEPTH_MAX} levels")
        if not 0 <= depth <= _DEPTH_MAX:
            raise ParamError("depth", depth, f"0 to {_DEPTH_MAX} levels")
        if not (is_number(self.room) and 1 <= self.room <= 2 * _BITS_MAX - 2):
            raise ParamError("room", self.room, f"1 to {2 * _BITS_MAX - 2} bits before the point")
        if self.precision is not None:
            if self.scale is not None:
                raise ParamError("precision", self.precision, "no scale with it, which implies it")
            if not (is_number(self.precision) and isfinite(self.precision)):
                raise ParamError("precision", self.precision, "a number of bits")

    def scale_bits(self, degree: int) -> int:
        """Bits of the scale at a degree."""
        if self.scale is not None:
            return self.scale
        if self.precision is None:
            return SCALE_BITS
        return ceil(self.precision + rescaled_log2(degree))


@dataclass(frozen=True)
class Sizes:
    """A chain's sizes in bits; `moduli` and `special` are arguments of `fhe.ckks`."""

    degree: int
    moduli: tuple[int, ...]
    special: tuple[int, ...]
    scale: int

    @property
    def bits(self) -> int:
        """Of all moduli."""
        return sum(self.moduli) + sum(self.special)

    @property
    def digits(self) -> int:
        """Of a key switch at the highest level."""
        return -(-len(self.moduli) // len(self.special))

    @property
    def products(self) -> float:
        """Modular products per coefficient in a key switch at the highest level: its cost."""
        limbs, special = len(self.moduli), len(self.special)
        whole = limbs + special
        transforms = self.digits * whole + 2 * special + 2 * limbs
        conversions = (self.digits - 1) * limbs + limbs * whole + 2 * special * limbs
        return transforms * log2(self.degree) / 2 + conversions + 2 * self.digits * whole


def rescaled_log2(degree: int) -> float:
    """log2 of the largest error of a slot by the rounding of a rescaling: 12 deviations."""
    return log2(12.0) + log2(degree * (1 + 2 * degree / 3) / 12) / 2


def least_sizes(wanted: Wanted, degree: int | None, security: int | None) -> Sizes:
    """The sizes of the least degree, or of this one, and of the cheapest key switch there.

    security   in bits; None: without the tables, a small degree for tests
    Raises ParamError, which names the largest depth that fits.
    """
    degrees = _degrees(degree, security)
    for candidate in degrees:
        found = _cheapest(wanted, wanted.depth, candidate, security)
        if found is not None:
            return found
    largest = degrees[-1]
    depths = range(wanted.depth - 1, -1, -1)
    fits = next((d for d in depths if _cheapest(wanted, d, largest, security)), None)
    where = f"degree {largest}" + ("" if security is None else f" for {security}-bit security")
    scale = wanted.scale_bits(largest)
    most = "no depth fits" if fits is None else f"at most {fits} levels"
    allowed = f"{most} at {where} with a scale of 2^{scale}: take less depth, or less precision"
    raise ParamError("depth", wanted.depth, f"{allowed}, or bootstrap")


def _degrees(degree: int | None, security: int | None) -> tuple[int, ...]:
    if degree is not None:
        return (degree,)
    return _TOY_DEGREES if security is None else secure_degrees(security)


def _cheapest(wanted: Wanted, depth: int, degree: int, security: int | None) -> Sizes | None:
    """None if nothing fits the degree."""
    scale = wanted.scale_bits(degree)
    if not degree.bit_length() < scale <= _SCALE_BITS_MAX:
        return None
    moduli = (*_base(scale + wanted.room), *(scale,) * depth)
    counts = [place + 1 for place, _ in enumerate(moduli)]
    found = [_with_special(degree, moduli, scale, count) for count in counts]
    if security is not None:
        limit = modulus_log2_limit(degree, security)
        # Primes may be a little above their size.
        found = [sizes for sizes in found if sizes and sizes.bits + 0.01 * len(moduli) <= limit]
    fitting = [sizes for sizes in found if sizes]
    return min(fitting, key=lambda sizes: (sizes.products, sizes.bits), default=None)


def _base(bits: float) -> tuple[int, ...]:
    """The modulus, or two, that hold results when all levels are used up."""
    whole = ceil(bits)
    if whole <= _BITS_MAX:
        return (whole,)
    return (-(-whole // 2), whole // 2)


def _primes_near(bits: int, degree: int) -> float:
    """About how many primes = 1 mod 2 N there are within a factor of 1.3 of 2^bits."""
    return 0.53 * 2.0**bits / degree / log(2.0**bits)


def _with_special(degree: int, moduli: tuple[int, ...], scale: int, count: int) -> Sizes | None:
    """With `count` special moduli, together as large as the largest digit."""
    numbers = range(-(-len(moduli) // count))
    digits = [sum(moduli[count * number : count * (number + 1)]) for number in numbers]
    each = -(-max(digits) // count)
    needed = _SPARE_PRIMES * (len(moduli) + count)
    if each > _BITS_MAX or min(_primes_near(bits, degree) for bits in (scale, each)) < needed:
        return None
    return Sizes(degree, moduli, (each,) * count, scale)


def largest_moduli(degree: int, security: int | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """BFV: (moduli, special) of equal sizes in bits that fill the table of security.

    Up to four are special, a quarter of them.  Raises ParamError for degrees that are too small
    for two and a special one.
    """
    limit = modulus_log2_limit(degree, 128 if security is None else security)
    count = -(-limit // _BITS_MAX)
    # Primes may be a little above their size.
    each = int((limit - 0.01 * count) / count)
    special = min(max(count // 4, 1), 4)
    if count - special < _LEAST_LIMBS:
        allowed = "4096 or more without moduli, which key switching needs room for"
        raise ParamError("degree", degree, allowed)
    return (each,) * (count - special), (each,) * special
