"""Arithmetic on the residues of ciphertexts: sums, products, divisions, relinearization."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, Any, Self

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import LevelError
from cloakwork.fhe.ciphertext.data import CiphertextData
from cloakwork.fhe.estimates import noise
from cloakwork.fhe.estimates.noise import independent
from cloakwork.fhe.rns import evaluator
from cloakwork.fhe.rns.key_switching import product, relinearized
from cloakwork.fhe.rns.layout import batched, like, parts, residues

if TYPE_CHECKING:
    pass


class ResidueArithmetic(CiphertextData):
    """A ciphertext's residues as operands; levels, scales and bounds are the schemes'."""

    def relinearize(self) -> Self:
        """Two parts instead of three, by a key switch; unchanged with two parts.

        Noise   that of key switching: `describe` of the context names its digits
        """
        if self.parts == 2:
            return self
        data, tables = batched(self.data), self.context.tables
        key = self.keys.relinearization_key(self.level)
        out = relinearized(tables, self.level, data, key)
        return self._with(like(out, self.data), **self._switched_noise())

    def _switched_noise(self) -> dict[str, Any]:
        """Fields of the noise after a key switch."""
        switch = noise.key_switch(self.context.parameters, self.level)
        return {"noise": independent(self.noise, switch)}

    def _divided(self) -> Tensor:
        """The residues divided by the last modulus, rounded.

        With a key of this level, three parts are relinearized and divided in a single division.
        """
        data, tables, level = batched(self.data), self.context.tables, self.level
        if level == 0:
            raise LevelError("rescale", "level 1 or more", 0, "begin with a longer modulus chain")
        if self.parts < 3 or not self._fuses_divisions:
            return like(evaluator.rescale(data, self.basis, tables.rescale(level)), self.data)
        constants = tables.key_switch(level)
        digits = evaluator.mod_up(data[:, 2], constants)
        key = self.keys.relinearization_key(self.level)
        acc = product(tables, level, digits, key, data[:, 0:2])
        special = tables.limbs(0, tables.special_limbs)
        divided = evaluator.mod_down_and_rescale(acc, special, tables.mod_down_and_rescale(level))
        return like(divided, self.data)

    @property
    def _fuses_divisions(self) -> bool:
        """Whether relinearization and rescaling of three parts share one division."""
        if self.evaluation is None or not self.context.parameters.special:
            return False
        key = self.evaluation.relinearization
        return key is not None and key.level >= self.level

    def _divided_noise(self, before: float | None = None) -> float:
        """The noise of `_divided`, from that of before."""
        found = self.noise if before is None else before
        parameters, last = self.context.parameters, log2(self.basis.moduli[-1])
        if self.parts == 3 and self._fuses_divisions:
            switched_noise = noise.key_switch(parameters, self.level)
            found = independent(found, switched_noise) - last
            return independent(found, noise.rounding(parameters, len(parameters.special) + 1))
        return independent(found - last, noise.rounding(parameters, 1, self.parts))

    def _raw_sum(self, other: ResidueArithmetic) -> Tensor:
        """The sum of residues at one level, of two or three parts each."""
        more, fewer = (self, other) if self.parts >= other.parts else (other, self)
        a, b, basis = more.data, fewer.data, self.basis
        batch = max(a.shape[:-3], b.shape[:-3])
        out = residues((*batch, more.parts), basis.degree, basis.limbs)
        if more.parts == fewer.parts:
            return ops.modsum(a, b, basis.q, out=out)
        low = parts(out, 0, fewer.parts)
        ops.modsum(parts(a, 0, fewer.parts), b, basis.q, out=low)
        rest = parts(out, fewer.parts, more.parts)
        evaluator.place(parts(a, fewer.parts, more.parts), basis.q, rest)
        return out

    def _body_plus(self, addend: Tensor) -> Tensor:
        """The residues with `addend` [N, k], [B, N, k] or [k] added to c0."""
        basis = self.basis
        batch = max(addend.shape[:-2], self.data.shape[:-3])
        out = residues((*batch, self.parts), basis.degree, basis.limbs)
        spread = addend.unsqueeze(addend.ndim - 2) if addend.ndim > 1 else addend
        ops.modsum(parts(self.data, 0, 1), spread, basis.q, out=parts(out, 0, 1))
        evaluator.place(parts(self.data, 1, self.parts), basis.q, parts(out, 1, self.parts))
        return out

    def _scaled_by(self, factor: Tensor) -> Tensor:
        """The residues times `factor` [N, k], [B, N, k] or [k]."""
        basis = self.basis
        batch = max(factor.shape[:-2], self.data.shape[:-3])
        spread = factor.unsqueeze(factor.ndim - 2) if factor.ndim > 1 else factor
        out = residues((*batch, self.parts), basis.degree, basis.limbs)
        return ops.modmul(self.data, spread, basis.q, out=out)
