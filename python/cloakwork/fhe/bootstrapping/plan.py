"""The levels, scales and linear maps of a bootstrapping.

From the top: maps from coefficients to slots, the sine, maps from slots to coefficients; their
results have the level of fresh ciphertexts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2, pi

import numpy as np

from cloakwork.errors import LevelError, ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.bootstrapping import factors
from cloakwork.fhe.bootstrapping.factors import Diagonals
from cloakwork.fhe.bootstrapping.precision import Errors, sine_error
from cloakwork.fhe.bootstrapping.sine import (
    ARCSINE_DEPTH,
    Sine,
    arcsine,
    before_arcsine,
    sine,
    width_of,
)
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.keys.encapsulation import WEIGHT
from cloakwork.once import once

# Floats hold no better approximation of the sine.
_LEAST_ERROR = -44.0
_MAPS_MOST = 4


@dataclass(frozen=True, eq=False)
class Step:
    """One linear map: its level, the scale of its diagonals, and that of its result."""

    level: int
    diagonals: float
    result: float


def sine_for(degree: int, slots: int, modulus_log2: float) -> Sine:
    """The sine for n slots, whose error is below that of an argument with a modulus' scale."""
    width = width_of(WEIGHT, 2 * slots)
    error = sine_error(degree, width, modulus_log2)
    return sine(width, max(round(error), _LEAST_ERROR))


class Plan:
    """The steps of a bootstrapping with their levels.

    slots        n
    to_slots     the number of maps from coefficients to slots; to_values: of maps back
    arcsine      whether an arcsine follows the sine
    """

    def __init__(
        self, context: CkksContext, slots: int, to_slots: int, to_values: int, arcsine: bool
    ) -> None:
        self.context, self.slots, self.arcsine = context, slots, arcsine
        parameters = context.parameters
        self.low = parameters.fresh_level
        self.sine = sine_for(parameters.degree, slots, log2(parameters.moduli[-1]))
        self.after_sine = self.low + to_values
        self.before_sine = self.after_sine + self.sine.depth + ARCSINE_DEPTH * arcsine
        self.top = self.before_sine + to_slots
        if self.top > parameters.level:
            raise LevelError(
                "bootstrapping",
                f"{self.top - self.low} reserved levels",
                parameters.reserved,
                "make the context by fhe.bootstrapping_context(...), or take fewer maps",
            )
        self.steps_to_slots = self._steps(
            self.top, to_slots, self.unit, float(parameters.moduli[self.before_sine])
        )
        self.sine_scale = float(parameters.moduli[self.after_sine])
        self.steps_to_values = self._steps(
            self.after_sine, to_values, self.sine_scale, context.scales[self.low]
        )
        if self.is_sparse:
            last = self.steps_to_values[-1]
            small = replace(last, diagonals=last.diagonals / (self.copies // 2))
            self.steps_to_values[-1] = small

    def reduced(self, x: CkksCiphertext) -> CkksCiphertext:
        """2 pi t / q_0 modulo 2 pi of t / (K q_0) in [-1, 1], as far as the sine is that."""
        if not self.arcsine:
            return self.sine(x, self.sine_scale)
        low = self.after_sine + 1
        moduli = self.context.parameters.moduli[low : low + ARCSINE_DEPTH]
        return arcsine(self.sine(x, before_arcsine(self.sine_scale, moduli)))

    @property
    def copies(self) -> int:
        """Times that a vector of n values repeats in all slots."""
        return self.context.slots // self.slots

    @property
    def is_sparse(self) -> bool:
        """Whether real and imaginary parts of coefficients fit into one ciphertext."""
        return self.copies > 1

    @property
    def ratio(self) -> float:
        """The first modulus over the scale of its level."""
        return self.context.parameters.moduli[0] / self.context.scales[0]

    @property
    def unit(self) -> float:
        """The scale at which raised coefficients, summed over copies, are in [-1, 1]."""
        return float(self.sine.width) * self.context.parameters.moduli[0] * self.copies

    @property
    def sums(self) -> list[int]:
        """The rotations whose sum makes vectors repeat: n, 2 n, ... below N / 2."""
        return [self.slots << log for log in range(self.copies.bit_length() - 1)]

    def _steps(self, level: int, count: int, start: float, stop: float) -> list[Step]:
        """From one scale to another by equal factors; the last one gives it exactly."""
        found, scale = [], start
        for number in range(count):
            last = self.context.parameters.moduli[level - number]
            wanted = stop if number == count - 1 else scale * (stop / start) ** (1 / count)
            found.append(Step(level - number, wanted * last / scale, wanted))
            scale = wanted
        return found

    def maps_to_slots(self) -> list[Diagonals]:
        """Half the coefficients; if sparse, the second copy holds imaginary parts as real ones."""
        stages = factors.coefficient_stages(self.slots)
        maps = factors.grouped(stages, len(self.steps_to_slots))
        half = np.full(self.slots, 0.5 + 0.0j)
        after = np.concatenate((half, -1j * half)) if self.is_sparse else half
        maps[-1] = factors.scaled(maps[-1], after)
        return factors.turned(maps, self.slots)

    def maps_to_values(self) -> list[Diagonals]:
        """The inverse; if sparse, up to a sum of the two copies."""
        count = len(self.steps_to_values)
        maps = factors.grouped(factors.slot_stages(self.slots), count)
        maps = [factors.scaled(each, (self.ratio / (2 * pi)) ** (1 / count)) for each in maps]
        maps = factors.turned(maps, self.slots)
        if self.is_sparse:
            # The slots before this map repeat every 2 n, so that offsets stay as they are.
            one = np.ones(self.slots, dtype=np.complex128)
            maps[0] = factors.scaled(maps[0], 1.0, np.concatenate((one, 1j * one)))
        return maps

    @once
    def errors(self) -> Errors:
        """The model of its error: every later map lets errors grow by its factor and stages."""
        count = len(self.steps_to_values)
        growth = (log2(self.ratio / (2 * pi)) + (self.slots.bit_length() - 1) / 2) / count
        maps = tuple(
            (step.result, (count - 1 - number) * growth)
            for number, step in enumerate(self.steps_to_values)
        )
        argument = self.steps_to_slots[-1].result
        parameters = self.context.parameters
        return Errors(
            parameters, self.slots, self.ratio, self.sine, argument, maps, self.copies, self.arcsine
        )


def checked_slots(slots: int | None, most: int) -> int:
    """A power of two from 2 to N / 2."""
    if slots is None:
        return most
    allowed = f"a power of two from 2 to {most}"
    found = whole_number("slots", slots, allowed)
    if not 2 <= found <= most or found & (found - 1):
        raise ParamError("slots", slots, allowed)
    return found


def checked_maps(slots: int, name: str, given: int) -> int:
    """The number of linear maps: 1 to 4, and no more than there are butterfly stages."""
    check_count(name, given, _MAPS_MOST)
    return min(given, slots.bit_length() - 1)


def check_count(name: str, given: int, most: int) -> None:
    """ParamError unless it is a whole number from 1."""
    if not 1 <= whole_number(name, given, f"1 to {most}") <= most:
        raise ParamError(name, given, f"1 to {most}")
