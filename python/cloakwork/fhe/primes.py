"""NTT-friendly primes and roots of unity, over Python integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from cloakwork.errors import ParamError

# Miller-Rabin with these bases decides every n below 3.3e24 (Sorenson and Webster, 2015).
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


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
