"""Primes, roots of unity and orders, over Python's integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count
from math import gcd, lcm

from cloakwork.errors import ParamError

# Miller-Rabin with these bases decides every n below 3.3e24 (Sorenson and Webster, 2015).
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


# Parameters are checked each time that they are read.
@lru_cache(4096)
def is_prime(candidate: int) -> bool:
    """Whether `candidate` < 2^81 is prime; exact, not probable."""
    if candidate < 2:
        return False
    if any(candidate % p == 0 for p in _WITNESSES):
        return candidate in _WITNESSES
    twos = ((candidate - 1) & (1 - candidate)).bit_length() - 1
    odd = (candidate - 1) >> twos
    return all(_passes(candidate, base, odd, twos) for base in _WITNESSES)


def _passes(candidate: int, base: int, odd: int, twos: int) -> bool:
    power = pow(base, odd, candidate)
    if power in (1, candidate - 1):
        return True
    return any((power := power * power % candidate) == candidate - 1 for _ in range(twos - 1))


def _nearest_first(bits: int, step: int) -> Iterator[int]:
    """Numbers = 1 mod `step` by their distance from 2^bits, within a factor sqrt(2)."""
    centre, reach = (1 << bits) + 1, 29 * (1 << bits) // 100
    yield centre
    for distance in range(step, reach, step):
        yield centre - distance
        yield centre + distance


def ntt_primes(degree: int, bits: Sequence[int]) -> tuple[int, ...]:
    """Distinct primes q_i = 1 mod 2 * degree, each the nearest free one to 2^bits[i]."""
    chosen: list[int] = []
    for size in bits:
        free = (q for q in _nearest_first(size, 2 * degree) if q not in chosen and is_prime(q))
        q = next(free, None)
        if q is None:
            raise ParamError(
                "too_few_primes",
                f"{len(bits)} moduli, one of {size} bits",
                f"larger moduli: no prime is left near 2^{size} = 1 mod {2 * degree}",
            )
        chosen.append(q)
    return tuple(chosen)


def primitive_root(order: int, q: int) -> int:
    """A primitive `order`-th root of unity mod the prime q, for `order` a power of two | q - 1."""
    roots = (pow(x, (q - 1) // order, q) for x in count(2))
    return next(root for root in roots if pow(root, order // 2, q) == q - 1)


@lru_cache(maxsize=64)
def group_exponent(q: int) -> int:
    """The least e > 0 with x^e = 1 mod q for every x coprime to q (Carmichael's function)."""
    powers = dict.fromkeys(_prime_factors(q), 0)
    rest = q
    for p in powers:
        while rest % p == 0:
            rest //= p
            powers[p] += 1
    exponents = [(p - 1) * p ** (e - 1) >> (p == 2 and e > 2) for p, e in powers.items()]
    return lcm(*exponents)


def _prime_factors(number: int) -> set[int]:
    if number == 1:
        return set()
    if is_prime(number):
        return {number}
    factor = next((p for p in _WITNESSES if number % p == 0), 0) or _factor(number)
    return _prime_factors(factor) | _prime_factors(number // factor)


def _factor(number: int) -> int:
    """A proper factor of a composite number without small ones: Pollard's rho, Floyd's cycles."""
    for offset in count(1):
        slow = fast = 2
        factor = 1
        while factor == 1:
            slow = (slow * slow + offset) % number
            fast = (fast * fast + offset) % number
            fast = (fast * fast + offset) % number
            factor = gcd(slow - fast, number)
        if factor != number:
            return factor
    raise AssertionError("the offsets never end")
