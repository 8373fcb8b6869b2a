"""Rotations of slots, and sums over slots by rotations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from cloakwork._core import Tensor
from cloakwork.errors import ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.ciphertext.residues import ResidueArithmetic
from cloakwork.fhe.rns import evaluator
from cloakwork.fhe.rns.key_switching import product, switched
from cloakwork.fhe.rns.layout import batched, like

if TYPE_CHECKING:
    pass


def _steps(given: object) -> int:
    """The steps of a rotation; ParamError unless they are an integer."""
    return whole_number("steps", given, "a whole number of steps")


class Rotations(ResidueArithmetic):
    """A ciphertext whose slots move by automorphisms, each followed by a key switch."""

    @abstractmethod
    def __add__(self, other: Any) -> Self:
        """Slot by slot."""

    def rotate_many(self, steps_list: Sequence[int]) -> list[Self]:
        """Rotations by each number of steps; those with a key share their digits.

        Hoisted (Halevi and Shoup, ePrint 2018/244): the digits of c1 are computed once.
        """
        own, keys = self.relinearize(), self.keys
        steps_list = [_steps(step) for step in steps_list]
        elements = [self.context.rotation_element(step) for step in steps_list]
        if not self.context.parameters.special:
            return [own._rotate(step)._turned_by(step) for step in steps_list]
        constants = self.context.tables.key_switch(self.level)
        data = batched(own.data)
        digits = None
        results: list[Self] = []
        for step, element in zip(steps_list, elements, strict=True):
            if element == 1 or not keys.turns(element, self.level):
                results.append(own._rotate(step)._turned_by(step))
                continue
            digits = evaluator.mod_up(data[:, 1], constants) if digits is None else digits
            acc = product(
                self.context.tables, self.level, digits, keys.galois[element], data[:, 0:1]
            )
            turned = own._turned(evaluator.mod_down(acc, constants), element)
            results.append(turned._turned_by(step))
        return results

    def inner_sum(self, count: int) -> Self:
        """Slot j becomes the sum of slots j to j + count - 1, around the row's end.

        Takes about log2(count) rotations, each by a power of two or by the length summed so far.
        Raises ParamError unless 1 <= count <= slots of a row, MissingKeyError without the keys.
        """
        row = self.context.parameters.degree // 2
        count = whole_number("count", count, f"1 to {row} slots of a row")
        if not 1 <= count <= row:
            raise ParamError("count", count, f"1 to {row} slots of a row")
        return replace(self.strided_sum(count, 1), packing=self.context.whole)

    def strided_sum(self, count: int, stride: int) -> Self:
        """As `inner_sum` over slots that are `stride` apart; the packing stays."""
        block, size = self.relinearize(), 1
        total: Self | None = None
        offset = 0
        while True:
            if count & size:
                total = block if total is None else total + block._rotate(offset * stride)
                offset += size
            if 2 * size > count:
                # The top bit of count is set.
                assert total is not None
                return total
            block = block + block._rotate(size * stride)
            size *= 2

    def _rotate(self, step: int) -> Self:
        """Rotate (both rows) to the left, by rotations for which there are keys."""
        result, step = self, _steps(step)
        row = self.context.parameters.degree // 2
        if step % row == 0:
            return result
        for taken in self.keys.route(step, self.level):
            result = result._automorphism(self.context.rotation_element(taken), f"rotation {taken}")
        return result

    def _automorphism(self, element: int, what: str, add: str = "rotations=[...]") -> Self:
        """The message's polynomial m(X) becomes m(X^element)."""
        own = self.relinearize()
        key = own.keys.galois_key(element, own.level, what, add)
        data = batched(own.data)
        out = switched(own.context.tables, own.level, data[:, 1], key, data[:, 0])
        return own._turned(out, element)

    def _turned(self, data: Tensor, element: int) -> Self:
        """Apply the automorphism to residues [B, 2, N, k] after their key switch."""
        index = self.context.tables.automorphism(element)
        turned = like(evaluator.automorphism(data, index), self.data)
        return self._with(turned, **self._switched_noise())

    def _turned_by(self, step: int) -> Self:
        """The same ciphertext with the packing of a rotation."""
        return replace(self, packing=self.packing.rotated(_steps(step)))
