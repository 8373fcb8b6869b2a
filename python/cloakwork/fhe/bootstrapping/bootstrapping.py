"""CKKS bootstrapping: a ciphertext without levels becomes one with levels, of the same values.

    raise the modulus      c + q_0 I in place of each coefficient c       (`raising`)
    coefficients to slots  a few linear maps                               (`factors`)
    reduce modulo q_0      a sine, slot by slot                            (`sine`)
    slots to coefficients  a few linear maps                               (`factors`)

Cheon, Han, Kim, Kim and Song, ePrint 2018/153, with the improvements that these files name.
"""

from __future__ import annotations

from dataclasses import replace
from math import floor, log2

import numpy as np

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.errors import LevelError, MissingKeyError, ParamError
from cloakwork.fhe.bootstrapping import factors
from cloakwork.fhe.bootstrapping.factors import Diagonals
from cloakwork.fhe.bootstrapping.plan import Plan, check_count, checked_maps, checked_slots
from cloakwork.fhe.bootstrapping.precision import argument_error
from cloakwork.fhe.bootstrapping.raising import raised
from cloakwork.fhe.circuits.linear import LinearTransform
from cloakwork.fhe.circuits.powers import divided
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.ckks.slot_errors import SlotError
from cloakwork.fhe.encoding import embedding
from cloakwork.fhe.encoding.packing import Packing
from cloakwork.fhe.estimates.bounds import Bound
from cloakwork.fhe.estimates.noise import TAIL_LOG2, independent, rounding, total
from cloakwork.fhe.keys.encapsulation import WEIGHT, check_encapsulation
from cloakwork.fhe.keys.evaluation import CONJUGATION
from cloakwork.fhe.places import on_its_device
from cloakwork.fhe.rns import evaluator
from cloakwork.fhe.rns.layout import residues
from cloakwork.fhe.rns.tables import frozen
from cloakwork.lazy import public
from cloakwork.sending import Constant

# The ratio of the modulus to the largest values: the sine is then off by 2^-9 of them, and so is
# the arcsine of it.
_RATIO_LOG2, _ARCSINE_RATIO_LOG2 = 6.0, 4.0
# Primes and scales are this near to powers of two.
_NEARLY = 1 + 2.0**-12
# Other slots of a vector alone are to hold less than this, relative to the bound.
_EMPTY = 2.0**-40
_ITERATIONS_MOST = 3
_SHOWN = 8


@public("cloakwork.fhe")
class Bootstrapping(Constant):
    """Bootstrapping of CKKS ciphertexts: `bootstrapping(x)` has the values of x and new levels.

    context          with reserved levels: `fhe.bootstrapping_context` makes one
    slots            n, a power of two from 2, by default all N / 2: x holds a vector of up to n
                     values alone, or vectors that repeat every n slots; the result repeats.  Fewer
                     slots take less time
    coeffs_to_slots  the levels, and linear maps, from coefficients to slots: 1 to 4, and at most
                     log2(n).  More levels are faster
    slots_to_coeffs  the same of the way back
    iterations       1 to 3: each further one bootstraps the error of those before it, which about
                     doubles the bits of precision (Meta-BTS: Bae, Cheon, Cho, Kim and Kim, ePrint
                     2022/1167), and takes as long again, and one level in all
    arcsine          take the arcsine of the sine, up to a fifth power: two levels more, and a first
                     modulus of a smaller ratio to the scale, which gives more precision
    compact          keep diagonals as coefficients: less memory, but slower; see `fhe.LinearMap`

    Values must be within `bound`; the error by the sine is up to 6.6 |value|^3 over the square of
    the ratio of the first modulus to the scale, 2^-13.3 for values of 1 and a ratio of 2^8.
    Results are at `level_out`.  A coefficient leaves the interval of the sine, and the result is
    then wrong, with a chance of 2^-40.

    Raises ParamError for other arguments, LevelError for too few reserved levels.
    """

    _stays = "it holds encodings of one context: send the context, and make it there"

    def __init__(
        self,
        context: CkksContext,
        slots: int | None = None,
        *,
        coeffs_to_slots: int = 3,
        slots_to_coeffs: int = 3,
        iterations: int = 1,
        arcsine: bool = False,
        compact: bool = False,
    ) -> None:
        _check_context(context)
        self.context = context
        self.slots = checked_slots(slots, context.slots)
        counts = {"coeffs_to_slots": coeffs_to_slots, "slots_to_coeffs": slots_to_coeffs}
        to_slots, to_values = (checked_maps(self.slots, *each) for each in counts.items())
        check_count("iterations", iterations, _ITERATIONS_MOST)
        self.iterations = iterations
        fresh = context.parameters.fresh_level
        if iterations > 1 and fresh == 0:
            raise LevelError("bootstrapping", "a level for iterations", 0, "take more moduli")
        self._plan = Plan(context, self.slots, to_slots, to_values, bool(arcsine))
        self._to_slots = self._transforms(self._plan.maps_to_slots(), compact)
        self._to_values = self._transforms(self._plan.maps_to_values(), compact)
        self._units: dict[int, Tensor] = {}

    def _transforms(self, maps: list[Diagonals], compact: bool) -> list[LinearTransform]:
        return [
            LinearTransform(
                self.context,
                each,
                baby_steps=factors.baby_steps(each, few=not self._plan.is_sparse),
                chained=True,
                compact=compact,
            )
            for each in maps
        ]

    @property
    def depth(self) -> int:
        """The levels that it uses above those of its results."""
        return self._plan.top - self._plan.low

    @property
    def level_out(self) -> int:
        """The level of results."""
        return self._plan.low - (self.iterations > 1)

    @property
    def bound(self) -> float:
        """The largest |value| of operands: 4 if the first modulus is 2^8 times the scale."""
        least = _ARCSINE_RATIO_LOG2 if self._plan.arcsine else _RATIO_LOG2
        return float(self._plan.ratio / 2.0**least * _NEARLY)

    @property
    def rotations(self) -> list[int]:
        """Steps that need a key; `keys.add_bootstrapping` makes them, and the other keys."""
        return sorted(self.rotation_levels)

    @property
    def rotation_levels(self) -> dict[int, int]:
        """The highest level at which each rotation is used, by its steps."""
        row, plan = self.context.slots, self._plan
        uses = [(plan.top, plan.sums), (plan.low, plan.sums[:1])]
        pairs = [(self._to_slots, plan.steps_to_slots), (self._to_values, plan.steps_to_values)]
        for transforms, steps in pairs:
            uses += [(s.level, each.rotations) for each, s in zip(transforms, steps, strict=True)]
        found: dict[int, int] = {}
        for level, rotations in uses:
            for step in rotations:
                near = step % row - row if step % row > row // 2 else step % row
                found[near] = max(found.get(near, 0), level)
        return found

    @property
    def key_levels(self) -> dict[str, int]:
        """The highest level at which each other key is used."""
        plan = self._plan
        return {
            "raising": plan.top,
            "conjugation": plan.before_sine + 1,
            "products": plan.before_sine,
        }

    @property
    def packing(self) -> Packing:
        """Of results of as many values as slots."""
        return self._packing_of(self.slots)

    def _packing_of(self, length: int) -> Packing:
        if not self._plan.is_sparse:
            return self.context.packing(length)
        return self.context.packing(length, period=self.slots, tiled=True)

    @property
    def precision(self) -> float:
        """Bits b such that slots are within 2^-b of the operand's, for values of up to 1.

        An estimate that holds except with a chance of 2^-15; docs/fhe.md has measured values.
        """
        bits = self._plan.errors.precision(min(log2(self.bound), 0.0))
        for _ in range(1, self.iterations):
            bits = -self._after(self._gain(bits))
        return bits

    def describe(self) -> str:
        """The levels and precision that it takes and gives, in words."""
        plan, parameters = self._plan, self.context.parameters
        sine, sparse = plan.sine, parameters.moduli[0] * max(parameters.special)
        to_slots, to_values = (
            " + ".join(str(each.diagonals) for each in own)
            for own in (self._to_slots, self._to_values)
        )
        after = " and its arcsine" if plan.arcsine else ""
        times = "" if self.iterations == 1 else f", {self.iterations} iterations"
        lines = [
            f"bootstrapping of {self.slots} slots{times}: level 0 to {self.level_out}, "
            f"{self.precision:.1f} bits for values up to {min(self.bound, 1.0):.3g}",
            f"levels: {len(self._to_slots)} to slots, {plan.before_sine - plan.after_sine} for the "
            f"sine{after}, {len(self._to_values)} back; from level {plan.top}",
            f"maps: {to_slots} diagonals to slots, {to_values} back; "
            f"{len(self.rotations)} rotations with keys",
            f"sine: within {sine.width} periods, degree {sine.polynomial.degree}, "
            f"{sine.doublings} double angles, error 2^{log2(sine.error):.1f}",
            f"sparse secret: weight {WEIGHT}, modulo 2^{log2(sparse):.1f}",
        ]
        return "\n".join(lines)

    @on_its_device
    def __call__(self, x: CkksCiphertext) -> CkksCiphertext:
        """The same values at `level_out`, at the scale of that level; of a batch one by one.

        Raises ParamError for another packing or values that may exceed `bound`, MissingKeyError,
        before any work.
        """
        self._check(x)
        own = x.lower(0)
        if self._plan.is_sparse and not own.packing.tiled:
            own = self._summed(own)
        if own.batch is None:
            found = self._one(own)
        else:
            found = self._batch_of([self._one(own[index]) for index in range(own.batch)])
        return replace(found, packing=self._packing_of(x.packing.length), bound=own.bound)

    def _one(self, own: CkksCiphertext) -> CkksCiphertext:
        found = self._bootstrapped(own)
        return self._refined(own, found) if self.iterations > 1 else found

    @staticmethod
    def _batch_of(found: list[CkksCiphertext]) -> CkksCiphertext:
        """Ciphertexts as a batch; operands may be equal, and then errors of them are."""
        first, errors = found[0], [each.error for each in found]
        data = residues((len(found), 2), first.basis.degree, first.basis.limbs)
        for index, each in enumerate(found):
            evaluator.place(each.data, first.basis.q, data[index])
        batch = first._with(data)
        slot, joint = (max(own) for own in zip(*((e.slot, e.joint) for e in errors), strict=True))
        error = SlotError.even(slot, joint, joint + log2(len(found)) / 2)
        return batch._with(data, **batch._erring(error))

    def _check(self, x: CkksCiphertext) -> None:
        if not isinstance(x, CkksCiphertext):
            raise ParamError("x", type(x).__name__, "a ciphertext of CKKS")
        self.context.check(x, "bootstrapping")
        self._check_packing(x)
        if not x.bound.largest <= self.bound:
            raise ParamError(
                "bound",
                f"values in {x.bound}",
                f"values within {self.bound:.4g}: x * (1 / 4), state a tighter bound by "
                "with_bound(...), or take a longer first modulus",
            )
        self._check_keys(x)

    def _check_packing(self, x: CkksCiphertext) -> None:
        held, slots = x.packing, self.slots
        if not self._plan.is_sparse or (held.tiled and slots % held.period == 0):
            return
        if held.period != held.slots or held.length > slots:
            allowed = f"up to {slots} values, alone or repeated every {slots} slots"
            raise ParamError("packing", str(held), allowed)
        others = float(np.broadcast_to(x.bound.magnitude, (held.slots,))[slots:].max())
        if others > _EMPTY * self.bound:
            allowed = (
                f"zeros in all slots from {slots}, whose sum comes back: state so by with_bound, "
                f"or with_packing(...) if values repeat every {slots} slots"
            )
            raise ParamError("packing", f"values of up to {others:.3g} in other slots", allowed)

    def _check_keys(self, x: CkksCiphertext) -> None:
        keys, element, needed = x.keys, self.context.element, self.key_levels
        levels = self.rotation_levels.items()
        turn = self.context.rotation_element
        missing = [f"rotation {step}" for step, own in levels if not keys.turns(turn(step), own)]
        if not keys.turns(element(CONJUGATION), needed["conjugation"]):
            missing.append("conjugation")
        if keys.relinearization is None or keys.relinearization.level < needed["products"]:
            missing.append("products")
        held = keys.encapsulation
        if held is None or held.leave.level < needed["raising"]:
            missing.append("raising")
        if missing:
            shown = ", ".join(missing[:_SHOWN]) + (", ..." if len(missing) > _SHOWN else "")
            raise MissingKeyError(
                f"bootstrapping needs keys that are missing or of lower levels: {shown}; "
                "keys.add_bootstrapping(bootstrapping) makes them"
            )

    def _summed(self, own: CkksCiphertext) -> CkksCiphertext:
        """With its rotations by n, 2 n, ...: every n slots hold their sum."""
        for step in self._plan.sums:
            own = own + own._rotate(step)
        return own

    def _bootstrapped(self, own: CkksCiphertext) -> CkksCiphertext:
        """From level 0 to that of fresh ciphertexts; the error of the operand stays."""
        plan = self._plan
        found = raised(own, plan.top)
        found = self._summed(replace(found, scale=plan.unit, bound=Bound.circle(1.0)))
        for each, step in zip(self._to_slots, plan.steps_to_slots, strict=True):
            found = divided(found) if found.level > step.level else found
            found = each.apply(found, scale=step.diagonals)
        found = self._reduced(found)
        for each, step in zip(self._to_values, plan.steps_to_values, strict=True):
            found = each.apply(found, scale=step.diagonals)
            if each is self._to_values[-1]:
                found = self._averaged(found)
            found = divided(found)
        scale = self.context.scales[plan.low]
        error = own.error.scaled(log2(scale / own.scale))
        error = plan.errors.added_to(error, scale, own.bound.size)
        return replace(found, scale=scale, bound=own.bound, **found._erring(error))

    def _averaged(self, found: CkksCiphertext) -> CkksCiphertext:
        """If sparse: the two copies together, and the mean over all pairs of copies.

        Copies have errors of their own, which the mean reduces, and which a further iteration,
        whose raising adds copies up, could not see.
        """
        if not self._plan.is_sparse:
            return found
        return replace(self._summed(found), scale=found.scale * (self._plan.copies // 2))

    def _reduced(self, found: CkksCiphertext) -> CkksCiphertext:
        """Coefficients modulo q_0: the sine of real parts, and unless sparse of imaginary ones.

        The conjugate is added before the division, beside which its key switch is precise.
        """
        turned = found.conjugate()
        real = self._sine(found + turned)
        if self._plan.is_sparse:
            return real
        imaginary = self._sine(self._times_unit(turned - found))
        return real + self._times_unit(imaginary)

    def _sine(self, own: CkksCiphertext) -> CkksCiphertext:
        """The sine of an argument in [-1, 1]."""
        own = divided(own)
        error = argument_error(self.context.parameters.degree, 0.0)
        known = replace(own, bound=Bound.real(-1.0, 1.0), **own._erring(SlotError.even(error)))
        return self._plan.reduced(known)

    def _times_unit(self, own: CkksCiphertext) -> CkksCiphertext:
        """All slots times i: the polynomial times X^(N / 2), without a level."""
        if own.level not in self._units:
            self._units[own.level] = _core.unrecorded(lambda: self._unit(own.level))
        return own._with(own._scaled_by(self._units[own.level]))

    def _unit(self, level: int) -> Tensor:
        basis = self.context.tables.chain(level)
        units = np.full(self.context.slots, 1j)
        return frozen(embedding.encode(units, 1.0, basis, basis.modulus))

    def _refined(self, own: CkksCiphertext, found: CkksCiphertext) -> CkksCiphertext:
        """Plus the difference to the operand, bootstrapped as much larger as it is small."""
        bits = self._plan.errors.precision(own.bound.size)
        addends = [(found, 0)]
        for _ in range(1, self.iterations):
            gain = self._gain(bits)
            joined = found if len(addends) == 1 else self._joined(addends)
            apart = (own - joined.lower(0)) * (1 << gain)
            apart = replace(apart, bound=Bound.circle(min(self.bound, 1.0)))
            addends.append((self._bootstrapped(apart), gain))
            bits = -self._after(gain)
        joined = self._joined(addends)
        size = log2(joined.scale)
        error = own.error.scaled(size - log2(own.scale))
        more = SlotError.even(-bits - TAIL_LOG2 + size)
        return replace(joined, **joined._erring(error.plus_independent(more)))

    def _joined(self, addends: list[tuple[CkksCiphertext, int]]) -> CkksCiphertext:
        """The sum of ciphertexts times 2^-gain each, a level below theirs."""
        level = self._plan.low
        target = self.context.scales[level - 1]
        wanted = target * self.context.parameters.moduli[level]
        summed: CkksCiphertext | None = None
        for found, gain in addends:
            small = replace(found, scale=found.scale * 2.0**gain)
            part = small._weighted(round(wanted / small.scale))
            part = replace(part, scale=wanted)
            summed = part if summed is None else summed + part
        assert summed is not None
        return replace(divided(summed), scale=target)

    def _gain(self, bits: float) -> int:
        """By how many bits errors may be enlarged to fit the bound."""
        return max(floor(bits + min(log2(self.bound), 0.0)), 0)

    def _after(self, gain: int) -> float:
        """log2 of the error after one more iteration: its own, and roundings at level 0 and 1."""
        plan, parameters = self._plan, self.context.parameters
        own = -plan.errors.precision(min(log2(self.bound), 0.0)) - gain
        least = min(self.context.scales[0], self.context.scales[plan.low - 1])
        rounded = independent(rounding(parameters, 1), rounding(parameters, 1)) - log2(least)
        return total(own, rounded + TAIL_LOG2)


def _check_context(context: CkksContext) -> None:
    if not isinstance(context, CkksContext):
        raise ParamError("context", type(context).__name__, "one of CKKS")
    if not context.automatic:
        raise ParamError("levels", context.levels, '"auto" for bootstrapping')
    if context.parameters.slot_order != "cloakwork":
        allowed = '"cloakwork" for bootstrapping, whose maps are made for that order'
        raise ParamError("slot_order", context.parameters.slot_order, allowed)
    check_encapsulation(context.parameters)
    if context.lowest:
        allowed = "a first modulus above the scale: level 0 must hold values"
        raise ParamError("moduli", context.parameters.moduli[0], allowed)
