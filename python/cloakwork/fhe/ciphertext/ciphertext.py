"""The operators of ciphertexts, and the matching of their operands."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import KeyMismatchError, LevelError, ParamError
from cloakwork.fhe.ciphertext import array_operators
from cloakwork.fhe.ciphertext.rotations import Rotations
from cloakwork.fhe.keys.evaluation import EvaluationKeys
from cloakwork.fhe.rns import evaluator
from cloakwork.fhe.rns.layout import batched, like, residues
from cloakwork.lazy import public
from cloakwork.programs import clients

if TYPE_CHECKING:
    pass


@public("cloakwork.fhe")
class Ciphertext(Rotations):
    """An encrypted vector of any scheme; operators compute slot by slot and make new ones."""

    def __add__(self, other: Any) -> Self:
        """Slot by slot; with a ciphertext, a plaintext, a number or an array of values."""
        if isinstance(other, Ciphertext):
            a, b = self._alike("add", other)
            return a._sum(b)
        result: Self = self._plus(_number(other))
        return result

    __radd__ = __add__

    def __sub__(self, other: Any) -> Self:
        if isinstance(other, Ciphertext | int | float | complex):
            return self.__add__(-other)
        # Negation can overflow NumPy's integers.
        negated: Self = -self + other
        return -negated

    def __rsub__(self, other: Any) -> Self:
        return (-self).__add__(other)

    def __neg__(self) -> Self:
        basis = self.basis
        out = residues(self.data.shape[:-2], basis.degree, basis.limbs)
        return self._with(ops.modneg(self.data, basis.q, out=out))

    def __mul__(self, other: Any) -> Self:
        """Slot by slot; with a ciphertext, a plaintext, a number or an array of values.

        A product of ciphertexts has three parts until something needs two.
        """
        if isinstance(other, Ciphertext):
            a, b = self._factors("multiply", other)
            return a._product(b)
        result: Self = self._times(_number(other))
        return result

    __rmul__ = __mul__

    def __pos__(self) -> Self:
        return self

    def __pow__(self, exponent: object) -> Self:
        """To a nonnegative integer power, in the fewest possible levels: ceil(log2 exponent)."""
        return array_operators.power(self, exponent)

    def __truediv__(self, divisor: Any) -> Self:
        """Over a number or an array of numbers, under CKKS; ZeroDivisionError for 0."""
        return array_operators.quotient(self, divisor)

    def sum(self, axis: int | tuple[int, ...] | None = None) -> Self:
        """The sum along axes of `shape`, by default all.

        A sum of slots is in the first slot of each vector, so that its axis stays with length 1;
        the ciphertexts of a batch are added.  Takes about log2(n) rotations, for which keys for
        powers of two suffice.
        """
        return array_operators.summed(self, axis)

    def __getitem__(self, key: int | slice) -> Self:
        """Ciphertexts of a batch: one, or a batch of some."""
        return array_operators.picked(self, key)

    def __len__(self) -> int:
        return self.refuse_indices() if self.batch is None else self.batch

    def __iter__(self) -> Iterator[Self]:
        return map(self.__getitem__, range(len(self)))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's arrays leave operators to ciphertexts."""
        return array_operators.numpy_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        return array_operators.numpy_function(self, function, args, options)

    def square(self) -> Self:
        """`self * self`, with one polynomial product fewer."""
        a, _ = self._factors("square", self)
        data = a._tensor_square(batched(a.data))
        return a._multiplied(a, like(data, a.data))

    def _product(self, other: Self) -> Self:
        a, b = batched(self.data), batched(other.data)
        if a.shape[0] != b.shape[0]:
            count = max(a.shape[0], b.shape[0])
            a = a if a.shape[0] == count else a.expand(0, count)
            b = b if b.shape[0] == count else b.expand(0, count)
        data = self._tensor(a, b)
        return self._multiplied(other, like(data, max(self.data, other.data, key=_rank)))

    def _tensor(self, a: Tensor, b: Tensor) -> Tensor:
        """The product's residues: [B, 2, N, k] twice -> [B, 3, N, k]."""
        return evaluator.tensor_product(a, b, self.basis)

    def _tensor_square(self, a: Tensor) -> Tensor:
        return evaluator.tensor_square(a, self.basis)

    def _fits(self, op: str, other: Ciphertext) -> EvaluationKeys | None:
        """The keys of both; errors for different parameters, secrets or batches."""
        self.context.check(other, op)
        clients.pair(self.key, other.key)
        if other.key != self.key:
            raise KeyMismatchError(
                op, "key", self.key, other.key, "operands must be encrypted under one secret"
            )
        if self.batch not in (None, 1, other.batch) and other.batch not in (None, 1):
            raise ParamError("batch", other.batch, f"{self.batch} ciphertexts, or one, for {op}")
        return self.evaluation or other.evaluation

    def _paired(self, op: str, other: Ciphertext) -> tuple[Self, Self]:
        """Both operands with their common keys and packing; errors where they do not match."""
        keys, packing = self._fits(op, other), self.packing.joined(other.packing, op)
        assert isinstance(other, type(self))
        claimed = self.claimed or other.claimed
        a, b = (
            replace(own, evaluation=keys, packing=packing, claimed=claimed) for own in (self, other)
        )
        return a, b

    def _met(self, op: str, other: Ciphertext) -> tuple[Self, Self]:
        """Both operands with two parts at one level, as factors of a product."""
        a, b = self._paired(op, other)
        if self.context.automatic:
            a = a._settled()
            b = a if other is self else b._settled()
            level = min(a.level, b.level)
            a, b = a.lower(level), b.lower(level)
        else:
            a._same_level(op, b.level)
        a = a.relinearize()
        return a, a if other is self else b.relinearize()

    @abstractmethod
    def lower(self, level: int) -> Self:
        """The same values at a lower level; LevelError for an invalid level."""

    @abstractmethod
    def _settled(self) -> Self:
        """The ciphertext with two parts, and with pending rescalings done."""

    def _same_level(self, op: str, level: int) -> None:
        if self.level != level:
            raise LevelError(
                op,
                f"operands at one level (the first is at {self.level})",
                level,
                "bring the higher one down with lower(level), or encode lower",
            )

    @abstractmethod
    def _alike(self, op: str, other: Ciphertext) -> tuple[Self, Self]:
        """Both operands at one level and scale."""

    @abstractmethod
    def _factors(self, op: str, other: Ciphertext) -> tuple[Self, Self]:
        """Both operands with two parts at one level."""

    @abstractmethod
    def _sum(self, other: Self) -> Self: ...

    @abstractmethod
    def _multiplied(self, other: Self, data: Tensor) -> Self:
        """The product's ciphertext around its residues."""

    @abstractmethod
    def _plus(self, other: Any) -> Any:
        """The sum with another kind of operand; NotImplemented for unsupported ones."""

    @abstractmethod
    def _times(self, other: Any) -> Any:
        """The product with another kind of operand; NotImplemented for unsupported ones."""


def _number(other: Any) -> Any:
    """A 0-d array as its number, which applies to all slots; other values unchanged."""
    if isinstance(other, np.ndarray | Tensor) and other.ndim == 0:
        return other.item()
    return other


def _rank(data: Tensor) -> int:
    return data.ndim
