"""Operations on ciphertexts, or on outlines of them when a text is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cloakwork import _core
from cloakwork.fhe.bgv.integers import IntegerCiphertext
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ckks import CkksCiphertext
from cloakwork.fhe.context import Context
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.heir.text import Operation
from cloakwork.fhe.heir.values import Plain

Bootstrap = Callable[[Any], Any]
# Names of HEIR, by what they do here.  `rotate_cols` moves columns: both rows rotate.
KINDS: dict[str, str] = {
    "add": "addition", "radd": "addition", "sub": "difference", "rsub": "difference",
    "mul": "product", "rmul": "product",
    "add_plain": "plain addition", "radd_plain": "plain addition",
    "sub_plain": "plain difference", "rsub_plain": "plain difference",
    "mul_plain": "plain product", "rmul_plain": "plain product", "negate": "negative",
    "rnegate": "negative", "relinearize": "relinearization", "rotate": "rotation",
    "rotate_cols": "rotation", "rotate_rows": "exchange", "rescale": "division",
    "modulus_switch": "division", "level_reduce": "lower level", "bootstrap": "bootstrapping",
    "mul_scalar": "scalar product",
}  # fmt: skip


# The methods of ciphertexts that do it, and how many operands those take, if not two.
_OPERATORS = {
    "addition": "__add__", "difference": "__sub__", "product": "__mul__",
    "scalar product": "__mul__", "negative": "__neg__", "relinearization": "relinearize",
    "exchange": "rotate_columns",
}  # fmt: skip
_TAKEN = {"negative": 1, "relinearization": 1, "exchange": 1}


def kind_of(name: str) -> str | None:
    """The function of an operation of `ckks`, `bgv` or `lwe`; None for others."""
    dialect, _, own = name.partition(".")
    return KINDS.get(own) if dialect in ("ckks", "bgv", "lwe") else None


@dataclass(frozen=True)
class Declared:
    """The level of a ciphertext by its type, None if it states none, and its parts."""

    level: int | None
    parts: int


def declared(expanded: str) -> Declared | None:
    """The level and parts by an expanded type; None if it is no ciphertext's."""
    if not re.search(r"!lwe\.(?:new_)?r?lwe_ciphertext\b", expanded):
        return None
    level = re.search(r"\bcurrent\s*=\s*(\d{1,4})\b", expanded)
    parts = re.search(r"\bsize\s*=\s*(\d{1,4})\b", expanded)
    return Declared(int(level[1]) if level else None, int(parts[1]) if parts else 2)


class Evaluator(Protocol):
    """Operations on ciphertexts of one kind."""

    def holds(self, value: Any) -> bool:
        """Whether a value is a ciphertext."""

    def apply(self, kind: str, operation: Operation, values: list[Any], wanted: Declared) -> Any:
        """The result, of the level that its type declares."""


@dataclass(frozen=True)
class Outline:
    """A ciphertext of which only level and parts are known."""

    level: int | None
    parts: int = 2


class Outlines:
    """Follows levels and parts through a program, and collects its rotations."""

    def __init__(self) -> None:
        self.rotations: set[int] = set()

    def holds(self, value: Any) -> bool:
        """Whether a value is an outline."""
        return isinstance(value, Outline)

    def apply(
        self, kind: str, operation: Operation, values: list[Any], wanted: Declared
    ) -> Outline:
        """The outline of a result; LoadError where it is not what the type declares."""
        own: list[Outline] = [value for value in values if isinstance(value, Outline)]
        if kind == "rotation":
            self.rotations.add(steps(operation, values))
        found = self._result(kind, operation, own, wanted)
        if wanted.level is not None and found.level not in (None, wanted.level):
            raise operation.wrong(f"a result at level {found.level}, declared {wanted.level}")
        if found.parts != wanted.parts:
            raise operation.wrong(f"a result of {found.parts} parts, declared {wanted.parts}")
        return replace(found, level=wanted.level if found.level is None else found.level)

    def _result(
        self, kind: str, operation: Operation, own: list[Outline], wanted: Declared
    ) -> Outline:
        first = own[0]
        if kind in ("addition", "difference", "product"):
            a, b = own
            if None not in (a.level, b.level) and a.level != b.level:
                raise operation.wrong(f"operands at one level, found {a.level} and {b.level}")
            parts = a.parts + b.parts - 1 if kind == "product" else max(a.parts, b.parts)
            return replace(a, parts=parts)
        if kind == "relinearization":
            return replace(first, parts=2)
        if kind == "bootstrapping":
            return Outline(wanted.level)
        if kind in ("division", "lower level"):
            return replace(first, level=_below(operation, kind, first.level))
        return first


def _below(operation: Operation, kind: str, level: int | None) -> int | None:
    fall = 1 if kind == "division" else operation.integer("levelToDrop")
    if level is None:
        return None
    if fall is not None and not 0 < fall <= level:
        raise operation.wrong(f"to drop 1 to {level} levels, found {fall}")
    return level - (1 if fall is None else fall)


def steps(operation: Operation, values: list[Any]) -> int:
    """The steps of a rotation: an operand, or an attribute."""
    static = operation.integer("static_shift")
    if static is None:
        static = operation.integer("offset")
    found = values[1] if len(values) > 1 else static
    if not isinstance(found, int | np.integer):
        raise operation.wrong("steps as an operand or static_shift")
    return int(found)


class Encrypted:
    """Operations on real ciphertexts."""

    def __init__(self, context: Context, bootstrap: Bootstrap | None = None) -> None:
        self.context, self.bootstrap = context, bootstrap
        self._encoded: dict[tuple[int, int, float, int], tuple[Plain, Plaintext]] = {}

    def holds(self, value: Any) -> bool:
        """Whether a value is a ciphertext."""
        return isinstance(value, Ciphertext)

    def apply(self, kind: str, operation: Operation, values: list[Any], wanted: Declared) -> Any:
        """The result.  Levels are managed here, so that a division may have happened already."""
        first = values[0]
        if kind in _OPERATORS:
            return getattr(first, _OPERATORS[kind])(*values[1 : _TAKEN.get(kind, 2)])
        if kind.startswith("plain"):
            return self._with_plain(kind, *_plain_last(values))
        if kind == "rotation":
            return first.rotate(steps(operation, values))
        if kind == "bootstrapping":
            return self._bootstrapped(operation, first)
        return self._lowered(first, kind, wanted)

    def _with_plain(self, kind: str, x: Any, plain: Plain, swapped: bool) -> Any:
        if kind == "plain product":
            x = x._settled()
            return x * self._encode(plain, x, None)
        scale = x.scale if isinstance(x, CkksCiphertext) else None
        encoded = self._encode(plain, x, scale)
        if kind == "plain addition":
            return x + encoded
        return -x + encoded if swapped else x - encoded

    def _encode(self, plain: Plain, x: Any, scale: float | None) -> Plaintext:
        """The plaintext at a ciphertext's level, encoded once."""
        factor = x.factor if scale is None and isinstance(x, IntegerCiphertext) else 1
        key = (id(plain), x.level, scale or 0.0, factor)
        if key not in self._encoded:
            slots = tiled(plain.values, self.context.slots)
            made = _core.unrecorded(lambda: self.context.encode(slots, level=x.level, scale=scale))
            # The plaintext is held, so that its id stays its own.
            self._encoded[key] = plain, made
        return self._encoded[key][1]

    def _lowered(self, x: Any, kind: str, wanted: Declared) -> Any:
        if kind == "division" and isinstance(x, CkksCiphertext) and x._pending:
            x = x.rescale()
        elif kind == "division" and wanted.level is None and isinstance(x, IntegerCiphertext):
            return x.mod_switch()
        if wanted.level is None or x.level <= wanted.level:
            return x
        return x.lower(wanted.level)

    def _bootstrapped(self, operation: Operation, x: Any) -> Any:
        if self.bootstrap is None:
            raise operation.wrong(
                "bootstrap=..., a function of a ciphertext such as an fhe.Bootstrapping, with "
                "context=... of its parameters"
            )
        return self.bootstrap(x)


def _plain_last(values: list[Any]) -> tuple[Any, Plain, bool]:
    """The ciphertext and the plaintext, which may stand first, and whether it does."""
    a, b = values
    if isinstance(a, Plain):
        return b, a, True
    return a, b, False


def tiled(values: NDArray[Any], slots: int) -> NDArray[Any]:
    """The values, again and again in all slots: so HEIR packs fewer values than slots."""
    flat = values.reshape(-1)
    if flat.size and flat.size < slots and slots % flat.size == 0:
        return np.tile(flat, slots // flat.size)
    return flat
