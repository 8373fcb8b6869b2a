"""The cost of homomorphic operations: a model of seconds and bytes, fitted to measured times."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import log2
from typing import Self

from cloakwork.fhe.parameters import Parameters


@dataclass(frozen=True)
class Work:
    """Operations at one level.

    ups, babies, giants, downs   of hoisted maps: digits of an input; products of digits with a
                                 key; giant steps; divisions by the special moduli
    products                     of both parts with a diagonal, over all limbs and special ones
    turns                        rotations by themselves
    plain_products               of both parts with a plaintext
    squares, tensors             products of ciphertexts, with their key switch and rescaling
    rescales                     of both parts
    sums                         limb products of weighted sums, by ciphertext
    """

    ups: float = 0
    babies: float = 0
    giants: float = 0
    products: float = 0
    downs: float = 0
    turns: float = 0
    plain_products: float = 0
    squares: float = 0
    tensors: float = 0
    rescales: float = 0
    sums: float = 0

    def __add__(self, other: Work) -> Work:
        """Both."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Work(*(a + b for a, b in pairs))

    def times(self, count: float) -> Work:
        """So many of it."""
        return Work(*(count * getattr(self, f.name) for f in fields(self)))


@dataclass(frozen=True)
class Elements:
    """Elementary operations per coefficient of the ring.

    butterflies   of number-theoretic transforms: log2(N) / 2 per coefficient and limb
    conversions   multiply-adds of base conversions
    products      multiply-adds of residues that are read from memory
    calls         kernels started
    """

    butterflies: float = 0.0
    conversions: float = 0.0
    products: float = 0.0
    calls: float = 0.0

    def __add__(self, other: Elements) -> Elements:
        """Both."""
        return Elements(
            self.butterflies + other.butterflies,
            self.conversions + other.conversions,
            self.products + other.products,
            self.calls + other.calls,
        )

    def times(self, count: float) -> Elements:
        """So many of it."""
        return Elements(
            count * self.butterflies,
            count * self.conversions,
            count * self.products,
            count * self.calls,
        )


@dataclass(frozen=True)
class Ring:
    """The sizes on which costs depend.

    limbs, special, digits   of the level at which an operation is done
    """

    degree: int
    limbs: int
    special: int
    digits: int

    @classmethod
    def of(cls, parameters: Parameters, level: int) -> Self:
        """At a level of these parameters."""
        limbs = level + 1
        digits = -(-limbs // parameters.digit_limbs)
        return cls(parameters.degree, limbs, len(parameters.special), digits)

    def _transforms(self, count: float) -> Elements:
        return Elements(butterflies=count * log2(self.degree) / 2)

    @property
    def up(self) -> Elements:
        """The digits of a polynomial, over all limbs."""
        whole = self.limbs + self.special
        conversions = Elements(conversions=self.limbs * whole, calls=2)
        return self._transforms(self.digits * whole) + conversions

    @property
    def key(self) -> Elements:
        """The products of digits with a key, and the automorphism."""
        whole = self.limbs + self.special
        return Elements(products=2 * whole * (self.digits + 1), calls=2)

    @property
    def down(self) -> Elements:
        """The division of one polynomial by the special moduli."""
        work = Elements(conversions=self.special * self.limbs, products=self.limbs, calls=2)
        return self._transforms(self.special + self.limbs) + work

    @property
    def rescale(self) -> Elements:
        """The division of two polynomials by the last modulus."""
        return self._transforms(2 * self.limbs) + Elements(products=4 * self.limbs, calls=2)

    def bytes_of(self, work: Work) -> float:
        """The memory of some work: compact diagonals, and a key for each rotation."""
        key = 16 * self.degree * self.digits * (self.limbs + self.special)
        rotations = work.babies + work.giants + work.turns
        return (
            8 * self.degree * (work.products + work.plain_products * self.limbs) + rotations * key
        )

    def elements(self, work: Work) -> Elements:
        """The elementary operations of some work."""
        whole = self.limbs + self.special
        both = self.down.times(2)
        switch = self.up + self.key + both
        square = Elements(products=4 * self.limbs, calls=2) + switch + self.rescale
        costs = {
            "ups": self.up,
            "babies": self.key,
            "giants": self.down + self.up + self.key + Elements(products=2 * whole, calls=2),
            "products": Elements(products=2 * whole, calls=0.1),
            "downs": both,
            "turns": switch,
            "plain_products": Elements(products=2 * self.limbs, calls=1),
            "squares": square,
            "tensors": square,
            "rescales": self.rescale,
            "sums": Elements(products=2 * self.limbs, calls=0.1),
        }
        total = Elements()
        for name, cost in costs.items():
            total += cost.times(getattr(work, name))
        return total


@dataclass(frozen=True)
class Costs:
    """Seconds of elementary operations on one core.

    butterfly, conversion, product   per coefficient
    call                             per kernel
    error                            the largest factor between a measured time and this model
    """

    butterfly: float
    conversion: float
    product: float
    call: float
    error: float

    def seconds(self, work: Work, ring: Ring) -> float:
        """Of some work at a level."""
        found = ring.elements(work)
        each = (
            found.butterflies * self.butterfly
            + found.conversions * self.conversion
            + found.products * self.product
        )
        return each * ring.degree + found.calls * self.call


# Fitted by `measuring.measure` on one core with AVX-512 IFMA; conversions are hidden by transforms.
MEASURED = Costs(butterfly=0.6e-9, conversion=0.05e-9, product=0.5e-9, call=10e-6, error=2.0)
