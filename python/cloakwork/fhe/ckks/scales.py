"""Levels and scales of CKKS ciphertexts, and the matching of operands' levels and scales."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isclose, log2
from typing import TYPE_CHECKING, Self

from cloakwork.errors import LevelError, ScaleError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ckks.estimates import Estimated
from cloakwork.fhe.estimates.bounds import log2_of

if TYPE_CHECKING:
    from cloakwork.fhe.ckks.context import CkksContext


# Scales this close count as equal: the relative error of a sum is then below 2^-30.
_SCALE_TOLERANCE = 2.0**-30
# The relative difference of equal scales by rounding of floats; estimates allow for it.
_EQUAL_SCALES = 2.0**-50
# A product with an integer this large brings any scale to any other within 2^-21 of it.
_LEAST_FACTOR = 1 << 20


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Scaled(Estimated):
    """A ciphertext at a level and a scale."""

    context: CkksContext

    def rescale(self) -> Self:
        """Divide by the last modulus, rounding to nearest.

        Level    level - 1
        Scale    scale / q_level.  With levels="auto", a ciphertext at its level's scale is returned
                 unchanged
        Noise    the noise before, divided by q_level, and sqrt((1 + h) / 12) per coefficient for
                 the rounding; h, about 2 N / 3, is the Hamming weight of the secret

        With a key, a product of three parts is relinearized in the same division.
        """
        if self.context.automatic and not self._pending:
            return self
        lowest = self.context.lowest
        if self.level <= lowest:
            hint = "all levels are used up: begin with a longer modulus chain"
            raise LevelError("rescale", f"level {lowest + 1} or more", self.level, hint)
        last = self.basis.moduli[-1]
        scale = self.scale / last
        if scale < 1.0:
            raise ScaleError(
                "rescale",
                f"a scale above the last modulus, 2^{log2(last):.2f}",
                log2(self.scale),
                "there is nothing to rescale: multiply first",
            )
        grown = self._divided_fields()
        return self._with(self._divided(), level=self.level - 1, scale=scale, **grown)

    def lower(self, level: int) -> Self:
        """The same values at a lower level.

        With levels="auto" at that level's scale, by a product with a constant and a rescaling;
        with levels="manual" limbs are dropped, and the scale stays.
        """
        lowest = self.context.lowest
        level = whole_number("level", level, f"a level from {lowest} to {self.level}")
        if not lowest <= level <= self.level:
            allowed = f"a target from {lowest} to {self.level}"
            raise LevelError("lower", allowed, level, "levels only fall")
        if level == self.level:
            return self
        if not self.context.automatic:
            return self._cut(level)
        own = self._settled()
        return own if own.level <= level else own._lowered(level)

    @property
    def _pending(self) -> bool:
        """Whether the scale is that of a product rather than that of the level."""
        return log2(self.scale) > 1.5 * log2(self.context.scales[self.level])

    def _settled(self) -> Self:
        """Rescaled until the scale is that of the level; with two parts."""
        own = self
        while own._pending:
            own = own.rescale()
        return own.relinearize()

    def _lowered(self, level: int) -> Self:
        """From the scale of one level to that of a lower one."""
        above, target = self._cut(level + 1), self.context.scales[level]
        wanted = target * above.basis.moduli[-1]
        if wanted < self.scale:
            hint = "encode nearer to the scale of the level"
            raise ScaleError("lower", f"2^{log2(wanted):.2f} or less", log2(self.scale), hint)
        scaled = above._weighted(round(wanted / self.scale))._called(wanted)
        return replace(scaled.rescale(), scale=target)

    def _weighted(self, integer: int) -> Self:
        """The residues and the scale times an integer."""
        data = self._scaled_by(self.basis.constant(integer))
        grown = self.noise + log2(integer)
        return self._with(data, noise=grown, scale=self.scale * integer)

    def _called(self, scale: float) -> Self:
        """The same residues with a nearby scale; the difference is added to the error."""
        return replace(self, scale=scale, **self._off(abs(scale - self.scale)))

    def _alike(self, op: str, other: Ciphertext) -> tuple[Self, Self]:
        a, b = self._paired(op, other)
        if not self.context.automatic:
            a._same_level(op, b.level)
            a._same_scale(op, b.scale)
            return a, b
        while a.level != b.level:
            high, low = (a, b) if a.level > b.level else (b, a)
            high = high._towards(low)
            a, b = (high, b) if a.level > b.level else (a, high)
        return a._equalled(b)

    def _towards(self, low: Self) -> Self:
        """One step from a higher level to that of `low`."""
        if self._pending:
            return self.rescale()
        if low._pending and low.scale >= _LEAST_FACTOR * self.scale:
            factor = round(low.scale / self.scale)
            return self._cut(low.level)._weighted(factor)._called(low.scale)
        return self._lowered(low.level)

    def _equalled(self, other: Self) -> tuple[Self, Self]:
        """Both operands, at the same level, brought to one scale."""
        if isclose(self.scale, other.scale, rel_tol=_SCALE_TOLERANCE):
            return self, other
        small, large = (self, other) if self.scale < other.scale else (other, self)
        ratio = large.scale / small.scale
        factor = round(ratio)
        if factor > 1 and isclose(factor, ratio, rel_tol=_SCALE_TOLERANCE):
            small = small._weighted(factor)._called(large.scale)
            return (small, large) if self.scale < other.scale else (large, small)
        if self.level <= self.context.lowest:
            self._same_scale("add", other.scale)
        target = self.context.scales[self.level - 1]
        return self._brought(target)._alike("add", other._brought(target))

    def _brought(self, target: float) -> Self:
        """A level lower: at this scale, or only rescaled if it is a product already."""
        wanted = target * self.basis.moduli[-1]
        if self._pending and wanted < _LEAST_FACTOR * self.scale:
            return self.rescale()
        return self._weighted(round(wanted / self.scale))._called(wanted).rescale()

    def _as_traced(self, example: Ciphertext) -> None:
        super()._as_traced(example)
        assert isinstance(example, type(self))
        apart = abs(self.scale / example.scale - 1.0)
        if apart > _EQUAL_SCALES:
            known = f"the scale 2^{log2(example.scale):.9f} of the example"
            needed = f"{known}, not a scale that differs by 2^{log2(apart):.1f} of it"
            raise ScaleError("run", needed, log2(self.scale), "encode at the example's scale")

    def _same_scale(self, op: str, scale: float) -> None:
        if not isclose(self.scale, scale, rel_tol=_SCALE_TOLERANCE):
            raise ScaleError(
                op,
                f"the scale 2^{log2(self.scale):.9f} of the first operand",
                log2_of(scale),
                "rescale, or encode at the first operand's scale",
            )

    def _product_scale(self, op: str, scale: float) -> None:
        """An error unless a message of size 1 fits below Q / 2 with the product's scale."""
        product = log2(self.scale) + log2(scale)
        if product + 1 < self.modulus_log2:
            return
        if self.context.automatic:
            raise LevelError(
                op,
                f"room for a product of scale 2^{product:.1f} below 2^{self.modulus_log2:.1f}",
                self.level,
                "all levels are used up: begin with a longer modulus chain",
            )
        raise ScaleError(
            op,
            f"less than half the modulus 2^{self.modulus_log2:.2f}",
            product,
            "rescale first, or begin with a longer chain",
        )
