"""Powers of a ciphertext, and sums of them, by a schedule.

Under CKKS no scales are adjusted: the scale of a sum is given, and determines the scale of every
quotient and the integer that represents every coefficient exactly.  Powers keep the scales of their
products, and drop limbs where a lower level uses them.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, log2

from cloakwork import ops
from cloakwork.fhe.bgv.integers import IntegerCiphertext, centred
from cloakwork.fhe.circuits.schedule import Node, Schedule
from cloakwork.fhe.ckks import CkksCiphertext
from cloakwork.fhe.ckks.slot_errors import EVEN, SlotError
from cloakwork.fhe.encoding.embedding import round_product
from cloakwork.fhe.estimates import noise
from cloakwork.fhe.estimates.bounds import Bound
from cloakwork.fhe.estimates.ranges import slope_log2, value_range
from cloakwork.fhe.rns import evaluator
from cloakwork.fhe.rns.layout import batched, like, parts


class CkksSums:
    """The powers of x, by number, and sums of them.

    x        two parts, at the scale of its level; for Chebyshev's polynomials within [-1, 1]
    precise  see `divided`
    """

    def __init__(
        self, x: CkksCiphertext, plan: Schedule, chebyshev: bool, *, precise: bool = False
    ) -> None:
        self.x, self.level, self.chebyshev, self.precise = x, x.level, chebyshev, precise
        self.moduli, self.bound = x.basis.moduli, x.bound
        # The noise of x counts once, times the slope; only the rounding is tracked here.
        self.powers = {1: replace(x, noise=-inf, coherence=0.0, alike=0.0, share=EVEN)}
        for power, (high, low) in plan.powers.items():
            self.powers[power] = self._power(power, high, low)

    def _power(self, power: int, high: int, low: int) -> CkksCiphertext:
        level = min(self.powers[high].level, self.powers[low].level)
        found = product(self.powers[high]._cut(level), self.powers[low]._cut(level))
        if self.chebyshev:
            found = self._chebyshev_product(found, high - low)
        if self.chebyshev:
            found = replace(found, bound=self._range(_unit(power)))
        return divided(found, precise=self.precise)

    def _chebyshev_product(self, found: CkksCiphertext, difference: int) -> CkksCiphertext:
        """2 T_a T_b - T_(a - b) from T_a T_b."""
        sums = Accumulator(found.scale, found)
        if difference:
            sums.add(self.powers[difference]._cut(found.level), -1.0)
            return sums.put_into(found)
        return add_constant(sums.put_into(found), -1.0)

    def result(self, root: Node, scale: float) -> CkksCiphertext:
        """The polynomial at a level `root.depth` below x, at this scale."""
        wanted = scale * self.moduli[self.level - root.depth + 1]
        whole = divided(self._sum(root, wanted), precise=self.precise)
        slope = self._slope(root.coefficients) + log2(scale / self.x.scale)
        error = whole.error.plus(self.x.error.scaled(slope))
        return replace(whole, scale=scale, **whole._erring(error))

    def _sum(self, node: Node, scale: float) -> CkksCiphertext:
        """A node before it is rescaled: three parts if it has products."""
        level = self.level - node.depth + 1
        x, sums = self.powers[1]._cut(level), Accumulator(scale)
        for power, quotient in node.products:
            factor = self.powers[power]._cut(level)
            wanted = scale / factor.scale
            inner = self._sum(quotient, wanted * self.moduli[level + 1])
            above = divided(inner, precise=self.precise)
            sums.add_product(product(replace(above, scale=wanted), factor))
        for power, coefficient in node.terms:
            if power:
                sums.add(self.powers[power]._cut(level), coefficient)
        found = replace(sums.put_into(x), bound=self._range(node.coefficients))
        return add_constant(found, dict(node.terms).get(0, 0.0))

    def _range(self, coefficients: tuple[float, ...]) -> Bound:
        """The bounds of the values of a polynomial of x."""
        return value_range(coefficients, self.chebyshev, self.bound)

    def _slope(self, coefficients: tuple[float, ...]) -> float:
        """log2 of the factor by which a polynomial amplifies the error of x."""
        near = self.x.noise + noise.TAIL_LOG2 - log2(self.x.scale)
        return slope_log2(coefficients, self.chebyshev, self.bound, near)


class Accumulator:
    """A sum of products and of multiples at one scale, with its noise."""

    def __init__(self, scale: float, twice: CkksCiphertext | None = None) -> None:
        """An empty sum, or twice one ciphertext."""
        self.scale, self.data = scale, None
        self.error = SlotError.even(-inf)
        if twice is not None:
            self.data = ops.modsum(twice.data, twice.data, twice.basis.q)
            self.error = twice.error.scaled(1)

    def add_product(self, found: CkksCiphertext) -> None:
        """Add a product of three parts at this scale; before any multiple."""
        self.error = self.error.plus(found.error)
        if self.data is None:
            self.data = found.data
        else:
            ops.modsum(self.data, found.data, found.basis.q, out=self.data)

    def add(self, power: CkksCiphertext, coefficient: float) -> None:
        """Add a coefficient times a power: the coefficient as an integer that gives the scale."""
        basis, integer = power.basis, round_product(coefficient, self.scale / power.scale)
        most = power.size + log2(power.scale) - 1.0 - noise.TAIL_LOG2
        grown = power.error.scaled(log2(max(abs(integer), 1)))
        self.error = self.error.plus(grown, power._constant(most))
        factor = basis.constant(integer)
        if self.data is None:
            self.data = power._scaled_by(factor)
        else:
            low = parts(self.data, 0, 2)
            ops.modmuladd(power.data, factor, low, basis.q, out=low)

    def put_into(self, like: CkksCiphertext) -> CkksCiphertext:
        """The sum as a ciphertext; zeros for an empty sum."""
        data = like._scaled_by(like.basis.constant(0)) if self.data is None else self.data
        return like._with(data, scale=self.scale, **like._erring(self.error))


def add_constant(own: CkksCiphertext, value: float) -> CkksCiphertext:
    """The values plus a number; the bound stays."""
    integer = round_product(value, own.scale)
    if integer == 0:
        return own
    data = own._body_plus(own.basis.constant(integer))
    return own._with(data, **own._off(0.5, 0.0))


def multiple(own: CkksCiphertext, weight: float, scale: float) -> CkksCiphertext:
    """The values times a number, at a higher scale."""
    sums = Accumulator(scale)
    sums.add(own, weight)
    return replace(sums.put_into(own), bound=own.bound.times(weight))


def product(a: CkksCiphertext, b: CkksCiphertext) -> CkksCiphertext:
    """Three parts, from two each at one level."""
    if a.data is b.data:
        return a._multiplied(a, like(evaluator.tensor_square(batched(a.data), a.basis), a.data))
    return a._product(b)


def divided(own: CkksCiphertext, *, precise: bool = False) -> CkksCiphertext:
    """Relinearized and divided by the last modulus, for any scale.

    In one division, whose rounding has the deviation of one of K + 1 limbs for K special moduli;
    `precise`: in two, of which only the last one's single limb counts.
    """
    own = own if own._fuses_divisions and not precise else own.relinearize()
    scale, grown = own.scale / own.basis.moduli[-1], own._divided_fields()
    return own._with(own._divided(), level=own.level - 1, scale=scale, **grown)


def _unit(number: int) -> tuple[float, ...]:
    """The coefficients of one of Chebyshev's polynomials."""
    return (*(0.0,) * number, 1.0)


class BgvSums:
    """The same mod t, where levels and factors are brought together by operators."""

    def __init__(self, x: IntegerCiphertext, plan: Schedule) -> None:
        self.modulus, self.powers = x.context.plain_modulus, {1: x}
        for power, (high, low) in plan.powers.items():
            a, b = self.powers[high], self.powers[low]
            self.powers[power] = (a.square() if high == low else a * b).relinearize()

    def result(self, node: Node) -> IntegerCiphertext:
        """The value of a node."""
        addends = [self.result(quotient) * self.powers[power] for power, quotient in node.products]
        for power, coefficient in node.terms:
            if power:
                addends.append(self.powers[power] * centred(int(coefficient), self.modulus))
        found = addends[0] if addends else self.powers[1] * 0
        for addend in addends[1:]:
            found = found + addend
        return found + centred(int(dict(node.terms).get(0, 0)), self.modulus)
