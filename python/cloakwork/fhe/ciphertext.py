"""Ciphertexts: what CKKS and BGV have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import (
    EncodeError,
    KeyMismatchError,
    LevelError,
    MissingKeyError,
    ParamError,
)
from cloakwork.fhe import everyday, noise, steps
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.evaluation import EvaluationKeys
from cloakwork.fhe.layout import batched, like, limb_range, parts, residues
from cloakwork.fhe.noise import independent
from cloakwork.fhe.packing import Packing
from cloakwork.fhe.refusals import Refusals
from cloakwork.fhe.streams import Stored
from cloakwork.fhe.switching import product, relinearized, switched
from cloakwork.fhe.tables import Basis
from cloakwork.programs import clients
from cloakwork.programs.clients import Client

if TYPE_CHECKING:
    from cloakwork.fhe.container import PathLike
    from cloakwork.fhe.context import Context
    from cloakwork.fhe.plaintext import Plaintext


# Estimates this close, in bits, are one.
ESTIMATE_SLACK = 1e-6


def _steps(given: object) -> int:
    """Those of a rotation; ParamError for what is no whole number."""
    return whole_number("steps", given, "a whole number of steps")


def _number(other: Any) -> Any:
    """An array without axes as its number, which stands for all slots."""
    if isinstance(other, np.ndarray | Tensor) and other.ndim == 0:
        return other.item()
    return other


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Ciphertext(Refusals, Stored):
    """(c0, c1, ...) with c0 + c1 s + ... = message + noise mod q_0 ... q_level, or a batch.

    data         int64 [parts, N, level + 1] or [B, parts, N, level + 1], canonical residues in
                 the NTT domain, bit-reversed; three parts after a product, until something needs
                 two (`relinearize`)
    noise        log2 of the estimated standard deviation of the noise in the embedding
    key          the secret's fingerprint
    evaluation   keys that operators take; `using` gives others
    seed         of a fresh ciphertext: what its last part is expanded from
    packing      which values it holds, and where in its slots
    claimed      whether its estimates are what a file says, or come from such ones

    Ciphertexts never change; operators make new ones.
    """

    context: Context
    data: Tensor
    level: int
    noise: float
    key: str
    packing: Packing
    evaluation: EvaluationKeys | None = None
    seed: bytes | None = None
    claimed: bool = False

    @property
    def parts(self) -> int:
        """Polynomials: 2, or 3 after a product."""
        return self.data.shape[-3]

    @property
    def batch(self) -> int | None:
        """How many ciphertexts these are; None: one, without an axis for it."""
        return self.data.shape[0] if self.data.ndim == 4 else None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the values that it holds: (n,), or (count, n) if packed; (B, ...) of a batch."""
        return (*self.data.shape[:-3], *self.packing.shape)

    def with_packing(self, packing: Packing) -> Self:
        """The same slots, of which you know that they hold values so; see `context.packing`.

        What a rotation or `inner_sum` leaves holds all slots until it is said otherwise.
        ParamError for the packing of other slots.
        """
        whole = self.context.whole
        if (packing.slots, packing.row) != (whole.slots, whole.row):
            raise ParamError("packing", packing, f"one of {whole.slots} slots")
        return replace(self, packing=packing)

    def _laid(self, op: str, values: NDArray[Any]) -> NDArray[Any]:
        """An operand's values [slots] or [B, slots], each where its partner lies."""
        laid = self.packing.lay(values, op)
        self._check_rows(op, laid.shape[:-1])
        return laid

    def _check_rows(self, op: str, lead: tuple[int, ...]) -> None:
        """ParamError unless there are as many rows of values as ciphertexts, or one of either."""
        if lead not in ((), (1,)) and self.batch not in (None, 1, *lead):
            allowed = f"{self.batch} rows of values, or one, to {op} {self.batch} ciphertexts"
            raise ParamError("batch", lead[0], allowed)

    def _check_packing(self, op: str, plaintext: Plaintext) -> None:
        """EncodeError for a plaintext whose values are fewer, or lie elsewhere."""
        self._check_rows(op, plaintext.data.shape[:-2])
        found = plaintext.packing
        if found is None or found.is_whole or found == self.packing:
            return
        raise EncodeError(
            f"{op}: a plaintext of {found}; this ciphertext holds {self.packing}: encode as many, "
            f"or a value for each of all {self.context.slots} slots (0 where there is none)"
        )

    @property
    def basis(self) -> Basis:
        """The moduli of its level, with their transform."""
        return self.context.tables.chain(self.level)

    @property
    def modulus_log2(self) -> float:
        """log2 of the modulus at its level."""
        return log2(self.basis.modulus)

    @property
    def keys(self) -> EvaluationKeys:
        """Its evaluation keys; MissingKeyError if it has none."""
        if self.evaluation is None:
            raise MissingKeyError(
                "this ciphertext came without evaluation keys: ciphertext.using(keys.evaluation)"
            )
        clients.meet(self.evaluation)
        return self.evaluation

    def using(self, evaluation: EvaluationKeys | None) -> Self:
        """The same ciphertext with these evaluation keys; KeyMismatchError if they do not fit."""
        if evaluation is None:
            return replace(self, evaluation=None)
        self.context.check(evaluation, "using")
        if evaluation.key != self.key:
            raise KeyMismatchError(
                "using", "key", self.key, evaluation.key, "take the evaluation keys of its secret"
            )
        return replace(self, evaluation=evaluation)

    @property
    def as_claimed(self) -> Self:
        """The same ciphertext, whose estimates are no better known than a file's."""
        return replace(self, claimed=True)

    def seeded(self, seed: bytes) -> Self:
        """The same ciphertext, known to have its last part from this seed."""
        return replace(self, seed=seed)

    def carried(self, example: Ciphertext | None = None) -> Tensor:
        """Its residues, for a program; errors unless it is as the program's example.

        Raises KeyMismatchError for other parameters, LevelError for another level, ScaleError for
        another scale, ParamError for another number of parts, another packing or factor, or for
        more noise or larger values than its estimates were made with.
        """
        if example is not None:
            example.context.check(self, "run")
            if self.packing != example.packing and not example.packing.is_whole:
                allowed = f"{example.packing}, as in the example"
                raise ParamError("packing", self.packing, allowed)
            if example.level != self.level:
                hint = "bring it to the level of the example"
                raise LevelError("run", f"level {example.level}", self.level, hint)
            self._as_traced(example)
        return self.data

    def carrying(self, tensor: Tensor, client: Client | None = None) -> Self:
        """The same ciphertext around other residues; of a client, if one is given."""
        if client is None:
            return replace(self, data=tensor, seed=None)
        kept = self.evaluation if client.key == self.key else None
        evaluation = client.companions if isinstance(client.companions, EvaluationKeys) else kept
        return replace(self, data=tensor, seed=None, key=client.key, evaluation=evaluation)

    @property
    def companions(self) -> EvaluationKeys | None:
        """What a program takes beside it: its evaluation keys."""
        return self.evaluation

    def described(self) -> dict[str, Any]:
        """All but its residues, as JSON's types."""
        from cloakwork.fhe.storage import described

        return described(self)

    def save(self, path: PathLike | BinaryIO) -> None:
        """Write it to a file, by its path or open; `fhe.load` reads it."""
        from cloakwork.fhe.storage import save_ciphertext

        save_ciphertext(path, self)

    @abstractmethod
    def coefficient_noise(self) -> float:
        """log2 of what the noise of every coefficient stays below, but with a small chance."""

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
        # Negated, integers of NumPy's types may be others.
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
        """To a whole number from 0 on, in as few levels as there can be: ceil(log2 exponent)."""
        return everyday.power(self, exponent)

    def __truediv__(self, divisor: Any) -> Self:
        """Over a number or an array of numbers, under CKKS; ZeroDivisionError for 0."""
        return everyday.quotient(self, divisor)

    def sum(self, axis: int | tuple[int, ...] | None = None) -> Self:
        """The sum along axes of `shape`, by default all.

        That of slots stands in the first slot of each vector, so that its axis stays, 1 long; the
        ciphertexts of a batch are added.  Takes about log2(n) rotations, which keys for powers of
        two are for.
        """
        return everyday.summed(self, axis)

    def __getitem__(self, key: int | slice) -> Self:
        """Ciphertexts of a batch: one, or a batch of some."""
        return everyday.picked(self, key)

    def __len__(self) -> int:
        return self.refuse_indices() if self.batch is None else self.batch

    def __iter__(self) -> Iterator[Self]:
        return map(self.__getitem__, range(len(self)))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's arrays leave operators to the ciphertexts that they meet."""
        return everyday.numpy_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        return everyday.numpy_function(self, function, args, options)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def square(self) -> Self:
        """`self * self`, with one product fewer."""
        a, _ = self._factors("square", self)
        data = steps.tensor_square(batched(a.data), a.basis)
        return a._multiplied(a, like(data, a.data))

    def relinearize(self) -> Self:
        """Two parts instead of three, by a key switch; what has two stays as it is.

        Noise   that of key switching: `describe` of the context names its digits
        """
        if self.parts == 2:
            return self
        data, tables = batched(self.data), self.context.tables
        key = self.keys.relinearization_key()
        out = relinearized(tables, self.level, data, key)
        return self._with(like(out, self.data), **self._switched_noise())

    def rotate_many(self, steps_list: Sequence[int]) -> list[Self]:
        """Rotations by each number of steps, as `_rotate`; those with a key share their digits.

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
            if element == 1 or element not in keys.galois:
                results.append(own._rotate(step)._turned_by(step))
                continue
            digits = steps.mod_up(data[:, 1], constants) if digits is None else digits
            acc = product(
                self.context.tables, self.level, digits, keys.galois[element], data[:, 0:1]
            )
            turned = own._turned(steps.mod_down(acc, constants), element)
            results.append(turned._turned_by(step))
        return results

    def inner_sum(self, count: int) -> Self:
        """Slot j becomes the sum of slots j to j + count - 1, around the row's end.

        Takes about log2(count) rotations, each by a power of two or by what is summed already.
        Raises ParamError unless 1 <= count <= slots of a row, MissingKeyError without the keys.
        """
        row = self.context.parameters.degree // 2
        count = whole_number("count", count, f"1 to {row} slots of a row")
        if not 1 <= count <= row:
            raise ParamError("count", count, f"1 to {row} slots of a row")
        return replace(self.strided_sum(count, 1), packing=self.context.whole)

    def strided_sum(self, count: int, stride: int) -> Self:
        """The same of slots that are `stride` apart; what it holds is taken to stay."""
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
        """Rotate (both rows) to the left, by a sum of the rotations that there are keys for."""
        result, step = self, _steps(step)
        row = self.context.parameters.degree // 2
        if step % row == 0:
            return result
        for taken in self.keys.route(step):
            result = result._automorphism(self.context.rotation_element(taken), f"rotation {taken}")
        return result

    def _automorphism(self, element: int, what: str, add: str = "rotations=[...]") -> Self:
        """The message's polynomial m(X) becomes m(X^element)."""
        own = self.relinearize()
        key = own.keys.galois_key(element, what, add)
        data = batched(own.data)
        out = switched(own.context.tables, own.level, data[:, 1], key, data[:, 0])
        return own._turned(out, element)

    def _turned(self, data: Tensor, element: int) -> Self:
        """Residues [B, 2, N, k] after their key switch, under the automorphism itself."""
        index = self.context.tables.automorphism(element)
        turned = like(steps.automorphism(data, index), self.data)
        return self._with(turned, **self._switched_noise())

    def _switched_noise(self) -> dict[str, Any]:
        """Fields of the noise after a key switch."""
        switch = noise.key_switch(self.context.parameters, self.level)
        return {"noise": independent(self.noise, switch)}

    def _turned_by(self, step: int) -> Self:
        """What was rotated holds its values elsewhere."""
        return replace(self, packing=self.packing.rotated(_steps(step)))

    def _divided(self) -> Tensor:
        """The residues over the last modulus, rounded.

        Three parts are relinearized if there is a key, in one division with the key switch's.
        """
        data, tables, level = batched(self.data), self.context.tables, self.level
        if level == 0:
            raise LevelError("rescale", "level 1 or more", 0, "begin with a longer modulus chain")
        joined = self.parts == 3 and self._joins_divisions
        if not joined:
            return like(steps.rescale(data, self.basis, tables.rescale(level)), self.data)
        constants = tables.key_switch(level)
        digits = steps.mod_up(data[:, 2], constants)
        key = self.keys.relinearization_key()
        acc = product(tables, level, digits, key, data[:, 0:2])
        special = tables.limbs(0, tables.special_limbs)
        divided = steps.joined_rescale(acc, special, tables.joined_rescale(level))
        return like(divided, self.data)

    @property
    def _joins_divisions(self) -> bool:
        has_key = self.evaluation is not None and self.evaluation.relinearization is not None
        return has_key and bool(self.context.parameters.special)

    def _divided_noise(self, before: float | None = None) -> float:
        """The noise of `_divided`, from that of before."""
        found = self.noise if before is None else before
        parameters, last = self.context.parameters, log2(self.basis.moduli[-1])
        if self.parts == 3 and self._joins_divisions:
            switched_noise = noise.key_switch(parameters, self.level)
            found = independent(found, switched_noise) - last
            return independent(found, noise.rounding(parameters, len(parameters.special) + 1))
        return independent(found - last, noise.rounding(parameters, 1, self.parts))

    def _cut(self, level: int) -> Self:
        """The same message with fewer limbs: a view; scale and noise stay."""
        return replace(self, data=limb_range(self.data, 0, level + 1), level=level, seed=None)

    def _with(self, data: Tensor, **changes: Any) -> Self:
        return replace(self, data=data, seed=None, **changes)

    def _picked(self, key: int | slice) -> Self:
        """One ciphertext of a batch, or a batch of some."""
        return self._with(self.data[key])

    def _raw_sum(self, other: Ciphertext) -> Tensor:
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
        steps.place(parts(a, fewer.parts, more.parts), basis.q, rest)
        return out

    def _body_plus(self, addend: Tensor) -> Tensor:
        """The residues with `addend` [N, k], [B, N, k] or [k] added to c0."""
        basis = self.basis
        batch = max(addend.shape[:-2], self.data.shape[:-3])
        out = residues((*batch, self.parts), basis.degree, basis.limbs)
        spread = addend.unsqueeze(addend.ndim - 2) if addend.ndim > 1 else addend
        ops.modsum(parts(self.data, 0, 1), spread, basis.q, out=parts(out, 0, 1))
        steps.place(parts(self.data, 1, self.parts), basis.q, parts(out, 1, self.parts))
        return out

    def _scaled_by(self, factor: Tensor) -> Tensor:
        """The residues times `factor` [N, k], [B, N, k] or [k]."""
        basis = self.basis
        batch = max(factor.shape[:-2], self.data.shape[:-3])
        spread = factor.unsqueeze(factor.ndim - 2) if factor.ndim > 1 else factor
        out = residues((*batch, self.parts), basis.degree, basis.limbs)
        return ops.modmul(self.data, spread, basis.q, out=out)

    def _product(self, other: Self) -> Self:
        a, b = batched(self.data), batched(other.data)
        if a.shape[0] != b.shape[0]:
            count = max(a.shape[0], b.shape[0])
            a = a if a.shape[0] == count else a.expand(0, count)
            b = b if b.shape[0] == count else b.expand(0, count)
        data = steps.tensor_product(a, b, self.basis)
        return self._multiplied(other, like(data, max(self.data, other.data, key=_rank)))

    def _fits(self, op: str, other: Ciphertext) -> EvaluationKeys | None:
        """The keys of both; KeyMismatchError where parameters, secrets or batches differ."""
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
        """Both with the keys of either, and what the result holds; errors where they do not fit."""
        keys, packing = self._fits(op, other), self.packing.joined(other.packing, op)
        assert isinstance(other, type(self))
        claimed = self.claimed or other.claimed
        a, b = (
            replace(own, evaluation=keys, packing=packing, claimed=claimed) for own in (self, other)
        )
        return a, b

    def _met(self, op: str, other: Ciphertext) -> tuple[Self, Self]:
        """Both with two parts at one level, as factors of a product."""
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
        """The same values at a lower level; LevelError for one that is not there."""

    def _as_traced(self, example: Ciphertext) -> None:
        """What the results of a program say of themselves is what its examples said."""
        if self.parts != example.parts:
            hint = "relinearize both, or neither"
            raise ParamError("parts", self.parts, f"{example.parts}, as in the example; {hint}")
        if self.noise > example.noise + ESTIMATE_SLACK:
            allowed = f"2^{example.noise:.1f} or less; trace with an example as noisy as inputs"
            raise ParamError("noise", f"2^{self.noise:.1f}", allowed)

    @abstractmethod
    def _settled(self) -> Self:
        """Two parts, and nothing that waits to be divided."""

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
        """Both at one level and scale."""

    @abstractmethod
    def _factors(self, op: str, other: Ciphertext) -> tuple[Self, Self]:
        """Both with two parts at one level."""

    @abstractmethod
    def _sum(self, other: Self) -> Self: ...

    @abstractmethod
    def _multiplied(self, other: Self, data: Tensor) -> Self:
        """The product's ciphertext around its residues."""

    @abstractmethod
    def _plus(self, other: Any) -> Any:
        """The sum with what is no ciphertext; NotImplemented for what is no operand."""

    @abstractmethod
    def _times(self, other: Any) -> Any:
        """The product with what is no ciphertext; NotImplemented for what is no operand."""

    def __repr__(self) -> str:
        batch = "" if self.batch is None else f"batch={self.batch}, "
        return f"Ciphertext({batch}level={self.level}, parts={self.parts}{self._state()})"

    @abstractmethod
    def _state(self) -> str: ...


def _rank(data: Tensor) -> int:
    return data.ndim
