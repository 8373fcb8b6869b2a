"""Residues with operators; `cloakwork.mod` makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

from numpy.typing import DTypeLike, NDArray

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import DTypeError, ParamError
from cloakwork.lazy import public
from cloakwork.tensors import printing

if TYPE_CHECKING:
    from cloakwork.modular import Modulus

# Residues, Tensors, arrays and nested lists of integers, or an integer of any size.
Integers = Any


@public("cloakwork")
class Residues:
    """Residues modulo a `Modulus`, as an int64 tensor with values in [0, q)."""

    # NumPy's arrays leave operators to residues.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, modulus: Modulus, tensor: Tensor) -> None:
        self.modulus, self.tensor = modulus, tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.tensor.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.tensor.ndim

    @property
    def size(self) -> int:
        """Number of residues."""
        return self.tensor.size

    def reshape(self, *shape: int | tuple[int, ...]) -> Residues:
        """The same residues in another shape; the axis of several moduli stays last."""
        made = self.tensor.reshape(*shape)
        if self.modulus.several and made.shape[-1:] != self.shape[-1:]:
            raise ParamError("shape", made.shape, f"a last axis of {self.shape[-1]}, the moduli")
        return Residues(self.modulus, made)

    def __len__(self) -> int:
        if self.ndim == self.modulus.several:
            raise TypeError("len() of residues without axes")
        return len(self.tensor)

    def __iter__(self) -> Iterator[Residues]:
        if self.ndim == self.modulus.several:
            raise TypeError("iteration over residues without axes")
        return (Residues(self.modulus, row) for row in self.tensor)

    def __getitem__(self, key: Any) -> Residues:
        return Residues(self.modulus, self.tensor[self._key(key)])

    def __setitem__(self, key: Any, value: Integers) -> None:
        self.tensor[self._key(key)] = self.modulus(value).tensor

    def _key(self, key: Any) -> Any:
        """The key with all of the axis of several moduli."""
        if not self.modulus.several:
            return key
        parts = key if isinstance(key, tuple) else (key,)
        rest = () if any(part is Ellipsis for part in parts) else (...,)
        return (*parts, *rest, slice(None))

    def __add__(self, other: Integers) -> Residues:
        return self._with(ops.modsum, other)

    __radd__ = __add__

    def __sub__(self, other: Integers) -> Residues:
        return self + -self.modulus(other)

    def __rsub__(self, other: Integers) -> Residues:
        return (-self).__add__(other)

    def __mul__(self, other: Integers) -> Residues:
        return self._with(ops.modmul, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Integers) -> Residues:
        return self * self.modulus.inverse(other)

    def __rtruediv__(self, other: Integers) -> Residues:
        return self.modulus.inverse(self).__mul__(other)

    def __pow__(self, exponent: SupportsIndex) -> Residues:
        if not hasattr(exponent, "__index__") or isinstance(exponent, Tensor):
            raise DTypeError("exponent", type(exponent).__name__, "one integer")
        times = index(exponent)
        base = self if times >= 0 else self.modulus.inverse(self)
        return self.modulus.power(base, [abs(times)] * len(self.modulus.moduli))

    def __neg__(self) -> Residues:
        return Residues(self.modulus, ops.modneg(self.tensor, self.modulus.operand))

    def __pos__(self) -> Residues:
        return self

    def __eq__(self, other: Integers) -> Tensor:  # type: ignore[override]
        return ops.equal(self.tensor, self.modulus(other).tensor)

    def __ne__(self, other: Integers) -> Tensor:  # type: ignore[override]
        return ops.not_equal(self.tensor, self.modulus(other).tensor)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return self.tensor.__array__(dtype, copy)

    def __repr__(self) -> str:
        q = self.modulus.q
        shown = [*q] if isinstance(q, tuple) else q
        return f"Residues({printing.elements(self.tensor, 'Residues(')}, mod {shown})"

    def _with(self, op: Callable[..., Tensor], other: Integers) -> Residues:
        other = self.modulus(other)
        return Residues(self.modulus, op(self.tensor, other.tensor, self.modulus.operand))
