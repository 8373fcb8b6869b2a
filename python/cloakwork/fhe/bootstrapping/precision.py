"""The error that a bootstrapping adds, from the sizes of its moduli.

Every division rounds by about R = sqrt(N / 12 (1 + 2 N / 3)) in each slot, beside the scale there:

- a coefficient over K q_0 by R / S, S the scale of the sine's argument.  It counts K q_0
  times in the coefficient itself, and sqrt(2 n) coefficients add up in a slot;
- the sine's own roundings, several times as much: by the factors below, which are measured;
- each map to slots, by its share of the factor q_0 / 2 pi and the growth of the maps after it;
- the cube of the sine, at most (2 pi)^2 / 6 |c|^3 / q_0^2 of a coefficient c, or the fifth power
  after an arcsine, 3 (2 pi)^4 / 40 |c|^5 / q_0^4.  As the sum of |c|^2 is at most the mean square
  of slots, the same holds for b^3 and b^5, b the bound of the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, pi

from cloakwork.fhe.bootstrapping.sine import Sine
from cloakwork.fhe.ckks.slot_errors import SlotError
from cloakwork.fhe.estimates.noise import TAIL_LOG2, independent, rounding, total
from cloakwork.fhe.parameters import Parameters

# log2 of the sine's own roundings beside that of its argument: measured over degrees 2^8 to 2^12
# and 4 to 2048 slots as 1.5 without double angles, as 2.2 to 2.9 with them.
_ALONE_LOG2, _DOUBLED_LOG2 = 1.8, 3.0


def argument_error(degree: int, scale_log2: float) -> float:
    """log2 of the deviation of the sine's argument, by the last division before it."""
    return log2(degree / 12 * (1 + 2 * degree / 3)) / 2 - scale_log2


def sine_error(degree: int, width: int, scale_log2: float) -> float:
    """log2 of the error that an approximation of the sine may have beside that of its argument."""
    return argument_error(degree, scale_log2) + log2(2 * pi * width) - 3.0


@dataclass(frozen=True)
class Errors:
    """The parameters that decide the error of a bootstrapping.

    slots     n, a period of the values
    ratio     q_0 over the scale of its operands
    sine      the sine, and the scale of its argument
    maps      the scale after each map to slots, and log2 of the growth of errors by those after it
    arcsine   whether an arcsine follows the sine
    copies    times that the values repeat: before the last division errors are those of the mean
    """

    parameters: Parameters
    slots: int
    ratio: float
    sine: Sine
    argument: float
    maps: tuple[tuple[float, float], ...]
    copies: int
    arcsine: bool

    @property
    def random(self) -> float:
        """log2 of the deviation of a slot's error by roundings."""
        coefficient = argument_error(self.parameters.degree, log2(self.argument))
        coefficient += log2(self.sine.width * self.ratio) + log2(2 * self.slots) / 2
        steps = coefficient + (_DOUBLED_LOG2 if self.sine.doublings else _ALONE_LOG2)
        round_off = rounding(self.parameters, 1)
        *early, last = (round_off - log2(scale) + growth for scale, growth in self.maps)
        if self.copies == 1:
            return independent(coefficient, steps, *early, last)
        # Two copies add up, and coefficients stand in one of them.
        pairs = log2(self.copies / 2) / 2
        mean = (coefficient - pairs, steps - pairs, *(each + 0.5 - pairs for each in early))
        return independent(*mean, last)

    def systematic(self, bound: float) -> float:
        """log2 of a bound on the error by the sine, for values up to 2^bound."""
        power = log2((2 * pi) ** 2 / 6) + 3 * bound - 2 * log2(self.ratio)
        if self.arcsine:
            # The seventh power adds at most 0.6 times the square of the angle to the fifth.
            more = log2(1 + 0.6 * (2 * pi * 2**bound / self.ratio) ** 2)
            power = log2(3 * (2 * pi) ** 4 / 40) + 5 * bound - 4 * log2(self.ratio) + more
        # Errors of the interpolation have no common sign, but one function makes them all.
        curve = log2(self.sine.error) + log2(self.ratio / (2 * pi)) + log2(2 * self.slots)
        curve = min(curve, log2(self.sine.error * self.ratio) + log2(2 * self.slots) / 2 + 2.0)
        return total(power, curve)

    def added_to(self, error: SlotError, scale: float, bound: float) -> SlotError:
        """The error of a result at a scale, from that of the operand at this scale."""
        size, slots = log2(scale), self.parameters.slots
        slot = self.random + size
        repeated = log2(slots / self.slots) / 2
        fresh = SlotError(slot, slot + repeated, slot + repeated)
        fixed = SlotError.constant(self.systematic(bound) + size - TAIL_LOG2, slots, 1)
        return error.plus_independent(fresh).plus(fixed)

    def precision(self, bound: float) -> float:
        """Bits b such that slots are within 2^-b, for exact values up to 2^bound."""
        return -total(self.random + TAIL_LOG2, self.systematic(bound))
