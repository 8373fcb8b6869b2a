"""Selection of the primes of a modulus chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import lcm

from cloakwork.errors import ParamError
from cloakwork.modular.primes import is_prime

# Moduli up to this size use the fast kernels of processors that multiply 52-bit words.
_FAST_BITS = 50
# Entries of `moduli` up to this value are sizes in bits; larger ones are primes.
BITS_MAX = 61
# The largest factor between a prime and its requested size.
_REACH = 0.29


def _nearest(centre: int, step: int) -> Iterator[int]:
    """Numbers = 1 mod `step` by their distance from `centre`, within a factor of about 1.4."""
    base = centre - (centre - 1) % step
    yield base
    for distance in range(step, int(centre * _REACH), step):
        yield base + distance
        yield base - distance


@dataclass
class Picker:
    """Chooses distinct primes = 1 mod 2 N for a ring degree.

    `wanted`: primes of the chain should also be 1 modulo this number, if there are enough of them.
    Under BGV it is the plaintext modulus, so that switching moduli multiplies plaintexts by 1.
    """

    degree: int
    taken: set[int]
    wanted: int = 1

    def prime(self, bits: int, centre: int | None = None) -> int:
        """A free prime near `centre`, by default 2^bits; below 2^50 where bits <= 50."""
        centre = centre or 1 << bits
        limit = 1 << (_FAST_BITS if bits <= _FAST_BITS else BITS_MAX + 1)
        steps = dict.fromkeys((lcm(2 * self.degree, self.wanted), 2 * self.degree))
        for step in steps:
            for candidate in _nearest(centre, step):
                if 2 < candidate < limit and candidate not in self.taken and is_prime(candidate):
                    self.taken.add(candidate)
                    return candidate
        raise ParamError(
            "too_few_primes",
            f"one more modulus of {bits} bits",
            f"larger moduli: no prime is left near 2^{bits} = 1 mod {2 * self.degree}",
        )

    def given(self, moduli: Sequence[int]) -> list[int]:
        """The moduli, sizes up to 61 still to be chosen."""
        self.taken |= {q for q in moduli if q > BITS_MAX}
        for bits in moduli:
            if bits <= BITS_MAX and not self.degree.bit_length() < bits:
                raise ParamError(
                    "modulus_bits",
                    bits,
                    f"{self.degree.bit_length() + 1} to {BITS_MAX} bits, or a prime",
                )
        return list(moduli)


def special_primes(picker: Picker, special: Sequence[int]) -> tuple[int, ...]:
    """The auxiliary moduli of key switching."""
    sizes = picker.given(special)
    return tuple(size if size > BITS_MAX else picker.prime(size) for size in sizes)


def chain_primes(
    picker: Picker, moduli: Sequence[int], scale: float | None = None
) -> tuple[int, ...]:
    """The chain q_0, q_1, ...

    With a scale, the primes of its size are chosen from the top down so that the scale after
    each rescaling, scale^2 / q, stays as near to it as primes allow: the next prime compensates
    the error of one prime, which would otherwise double (after Kim, Papadimitriou and Polyakov,
    ePrint 2020/1118, who alternate larger and smaller primes instead).
    """
    chosen: list[int] = []
    current = scale
    for size in reversed(picker.given(moduli)):
        near = None
        if scale and current and size <= BITS_MAX and abs(2.0**size / scale - 1.0) < _REACH:
            near = round(current * current / scale)
        chosen.append(size if size > BITS_MAX else picker.prime(size, near))
        if scale and current:
            current = min(max(current * current / chosen[-1], scale / 2), scale * 2)
    return tuple(reversed(chosen))
