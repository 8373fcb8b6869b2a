"""The difference of points that snarkjs computes from bytes behind the powers of tau.

snarkjs hashes one difference too many where a domain has 2^15 points or more: with powers of just
that domain it reads the head of the next section as a point.  Its coordinates exceed the prime, so
that the result depends on the order and the wrapping of ffjavascript 0.3's operations, which are
repeated here on integers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class _Words:
    """Operations modulo a prime on numbers of `bits` bits that reduce once, in Montgomery form."""

    prime: int
    bits: int

    def add(self, a: int, b: int) -> int:
        return self._once(a + b)

    def subtract(self, a: int, b: int) -> int:
        found = a - b
        return found if found >= 0 else (found + self.prime) % (1 << self.bits)

    def multiply(self, a: int, b: int) -> int:
        product, whole = a * b, 1 << self.bits
        factor = -product * pow(self.prime, -1, whole) % whole
        return self._once((product + factor * self.prime) >> self.bits)

    def _once(self, value: int) -> int:
        over = value - self.prime
        return over % (1 << self.bits) if over >= 0 else value


def difference(first: bytes, second: bytes, prime: int) -> bytes:
    """The point `first - second`, both as a file has them; `second` is a point of the curve."""
    width = len(first) // 2
    of = _Words(prime, 8 * width)
    x1, y1, x2, y2 = (
        int.from_bytes(data[at : at + width], "little")
        for data in (first, second)
        for at in (0, width)
    )
    y2 = of.subtract(0, y2)
    h, r = of.subtract(x2, x1), of.subtract(y2, y1)
    i = of.multiply(h, h)
    i = of.add(i, i)
    i = of.add(i, i)
    j, r, v = of.multiply(h, i), of.add(r, r), of.multiply(x1, i)
    x = of.subtract(of.subtract(of.multiply(r, r), j), of.add(v, v))
    own = of.multiply(y1, j)
    y = of.subtract(of.multiply(of.subtract(v, x), r), of.add(own, own))
    z = of.add(h, h)
    # Affine, in Montgomery form again.
    unit = pow(1 << of.bits, -1, prime)
    inverse = pow(z * unit, -1, prime)
    x, y = x * inverse**2 % prime, y * inverse**3 % prime
    return x.to_bytes(width, "little") + y.to_bytes(width, "little")
