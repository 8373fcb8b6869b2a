"""How a polynomial of degree d is evaluated in ceil(log2(d + 1)) levels.

Paterson and Stockmeyer's method with the depth of Bossuat, Mouchet, Troncoso-Pastoriza and
Hubaux, ePrint 2020/1203: a polynomial is cut at the largest power of two that it reaches,
p = q T_m + r, until the remainder is short, and q is cut further where it would be too deep.
All terms of one depth are summed before they are relinearized and rescaled, so that a sum of
products costs one key switch.

T_i is x^i, or the Chebyshev polynomial of degree i.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Node:
    """A sum of terms and products, which needs `depth` levels when it is rescaled.

    coefficients   of the whole sum
    terms          (i, c) for c T_i; T_0 is 1
    products       (m, quotient) for T_m times another sum
    """

    depth: int
    coefficients: tuple[float, ...]
    terms: tuple[tuple[int, float], ...]
    products: tuple[tuple[int, Node], ...]

    def nodes(self) -> Iterator[Node]:
        """It and all quotients within it."""
        yield self
        for _, quotient in self.products:
            yield from quotient.nodes()


@dataclass(frozen=True)
class Schedule:
    """The sums of a polynomial, and the powers that they need.

    powers   i -> (a, b), in order: T_i comes from T_a T_b, and from T_(a - b) if Chebyshev's
    """

    root: Node
    powers: dict[int, tuple[int, int]]

    @property
    def key_switches(self) -> int:
        """Relinearizations: one per power, one per sum with products."""
        return len(self.powers) + sum(bool(node.products) for node in self.root.nodes())


def depth_of(degree: int) -> int:
    """Levels of a polynomial of a degree: ceil(log2(degree + 1))."""
    return degree.bit_length()


def _power_depth(power: int) -> int:
    """Levels of T_i: ceil(log2 i)."""
    return max(power - 1, 0).bit_length()


@lru_cache(maxsize=64)
def schedule(coefficients: tuple[float, ...], chebyshev: bool) -> Schedule:
    """The cheapest of the cuts into parts of degree below 1, 2, 4, ..."""
    depth = depth_of(len(coefficients) - 1)
    found = [_schedule(coefficients, chebyshev, 1 << log, depth) for log in range(depth + 1)]
    return min(found, key=lambda each: (each.key_switches, len(each.powers)))


def _schedule(coefficients: tuple[float, ...], chebyshev: bool, short: int, depth: int) -> Schedule:
    root = _node(list(coefficients), chebyshev, short, depth)
    needed = {number for node in root.nodes() for number, _ in (*node.terms, *node.products)}
    return Schedule(root, _powers(needed - {0, 1}, chebyshev))


def _node(coefficients: list[float], chebyshev: bool, short: int, depth: int) -> Node:
    whole = tuple(coefficients)
    products, terms = [], {}
    while len(coefficients) > 1:
        degree = len(coefficients) - 1
        if degree < short and _power_depth(degree) < depth:
            break
        power = 1 << (degree.bit_length() - 1)
        quotient, coefficients = _divided(coefficients, power, chebyshev)
        if len(quotient) == 1:
            terms[power] = quotient[0]
        else:
            products.append((power, _node(quotient, chebyshev, short, depth - 1)))
    terms |= {number: value for number, value in enumerate(coefficients) if value}
    return Node(depth, whole, tuple(sorted(terms.items())), tuple(products))


def _divided(
    coefficients: list[float], power: int, chebyshev: bool
) -> tuple[list[float], list[float]]:
    """(q, r) with p = q T_m + r for m <= degree < 2 m.

    Chebyshev's T_(m + j) is 2 T_m T_j - T_(m - j).
    """
    quotient, rest = coefficients[power:], coefficients[:power]
    if chebyshev:
        for number, value in enumerate(quotient[1:], 1):
            rest[power - number] -= value
        quotient = [quotient[0], *(2 * value for value in quotient[1:])]
    while len(rest) > 1 and rest[-1] == 0:
        rest.pop()
    return quotient, rest


def _powers(needed: set[int], chebyshev: bool) -> dict[int, tuple[int, int]]:
    """Factors of each power that is needed and of those that they need, in order."""
    found: dict[int, tuple[int, int]] = {}

    def parts(power: int, high: int) -> set[int]:
        low = power - high
        return {high, low, high - low} if chebyshev else {high, low}

    def add(power: int) -> None:
        if power <= 1 or power in found:
            return
        highest = 1 << (_power_depth(power) - 1)
        high = min(
            range(-(-power // 2), highest + 1),
            key=lambda high: sum(part > 1 and part not in found for part in parts(power, high)),
        )
        for part in sorted(parts(power, high)):
            add(part)
        found[power] = (high, power - high)

    for power in sorted(needed):
        add(power)
    return found
