"""Arithmetic modulo one word, or modulo several: residue number systems.

>>> import cloakwork as cw
>>> ring = cw.mod(17)
>>> x, y = ring([3, 5]), ring([10, -1])
>>> x * y + 2, x / y, x**-1
(Residues([15, 14], mod 17), Residues([ 2, 12], mod 17), Residues([6, 7], mod 17))
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import overload

from numpy.typing import ArrayLike

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.array_api.common import shape_of
from cloakwork.errors import DTypeError, ParamError, SecretError, TraceError
from cloakwork.lazy import public
from cloakwork.modular.negacyclic import Transform, integers
from cloakwork.modular.primes import group_exponent, is_prime
from cloakwork.modular.residues import Integers, Residues
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import asarray

# One modulus, or several.
Moduli = int | Sequence[int] | Tensor | ArrayLike
# Lazy butterflies need 4 q < 2^64.
_MAX_MODULUS = 2**62 - 1


def mod(q: Moduli) -> Modulus:
    """The integers modulo `q`; with several moduli, one for each index of the last axis.

    q   from 2 to 2^62 - 1, else ParamError

    >>> import cloakwork as cw
    >>> cw.mod([17, 257])([[20, 20], [-1, -1]]) * 2
    Residues([[  6,  40],
              [ 15, 255]], mod [17, 257])
    """
    return Modulus(q)


@public("cloakwork")
class Modulus:
    """The integers modulo a number, or modulo each of several: what `mod` returns.

    Called on integers, of any sign, it makes `Residues` of them.  `moduli` are the numbers,
    `several` says whether they were given as a list, which has an axis.
    """

    def __init__(self, q: Moduli) -> None:
        is_array = not isinstance(q, int | Sequence)
        numbers: object = operand(q, "q").tolist() if is_array else q
        if isinstance(numbers, Sequence) and not isinstance(numbers, str | bytes):
            self.several, self.moduli = True, tuple(map(_modulus, numbers))
        else:
            self.several, self.moduli = False, (_modulus(numbers),)
        if not self.moduli:
            raise ParamError("q", "no modulus", "one or more")
        self._tensor = integers([*self.moduli])
        # The operand that the ops take.
        self.operand: Tensor | int = self._tensor if self.several else self.moduli[0]

    @property
    def q(self) -> int | tuple[int, ...]:
        """The modulus, or the moduli."""
        return self.moduli if self.several else self.moduli[0]

    def __call__(self, values: Integers) -> Residues:
        """Residues of integers; with several moduli, the last axis has their size, or size 1."""
        if isinstance(values, Residues):
            if values.modulus != self:
                raise ParamError("modulus", values.modulus, f"residues of {self}")
            return values
        if isinstance(values, int):
            return Residues(self, self._of_each([values % m for m in self.moduli]))
        tensor = self._words(operand(values, "values"))
        if self.several:
            tensor = ops.broadcast_to(tensor, self._spread(tensor.shape))
        # `modneg` accepts any word and returns a canonical residue: applied twice, it reduces.
        with _core.Scope(tensor):
            negated = ops.modneg(tensor, self.operand)
            return Residues(self, ops.modneg(negated, self.operand, out=negated))

    asarray = __call__

    def ntt(self, x: Integers) -> Residues:
        """The negacyclic NTT of polynomials: entry j is the polynomial at psi^(2 j + 1).

        Their coefficients run along the last axis; with several moduli, along the one before.
        There are N of them, a power of two; the moduli are primes = 1 mod 2 N, else ParamError.
        Psi is a primitive 2N-th root of unity.  Products become entry by entry:

        >>> import cloakwork as cw
        >>> ring = cw.mod(17)
        >>> ring.intt(ring.ntt([1, 2, 0, 0]) * ring.ntt([0, 0, 0, 1]))  # X^4 = -1
        Residues([15,  0,  0,  1], mod 17)
        """
        x = self(x)
        return Residues(self, self._transform(x).ntt(self._limbs(x)).reshape(x.shape))

    def intt(self, x: Integers) -> Residues:
        """Undo `ntt`."""
        x = self(x)
        return Residues(self, self._transform(x).intt(self._limbs(x)).reshape(x.shape))

    def sum(self, x: Integers, axis: int | tuple[int, ...] | None = None) -> Residues:
        """The sum along axes, by default all but that of several moduli."""
        x = self(x)
        own = self._limbs(x)
        rank = own.ndim - 1
        axes = [*range(rank)] if axis is None else [*shape_of(axis, "axis")]
        places = {a + x.ndim if a < 0 else a for a in axes}
        if len(places) < len(axes) or not places <= {*range(rank)}:
            raise ParamError("axis", axis, f"different axes of {rank} that hold no moduli")
        for place in sorted(places, reverse=True):
            own = ops.axis_modsum(own, place, self._tensor)
        return Residues(self, own if self.several else own.squeeze(own.ndim - 1))

    def inverse(self, x: Integers) -> Residues:
        """1 / x.  ParamError unless x is coprime to the moduli, which a trace cannot check."""
        if isinstance(x, int):
            return Residues(self, self._of_each([_inverse(x, m) for m in self.moduli]))
        x = self(x)
        found = self.power(x, [group_exponent(m) - 1 for m in self.moduli])
        try:
            is_one = bool(ops.all(found * x == 1, [*range(x.ndim)]))
        except (TraceError, SecretError):
            return found
        if not is_one:
            raise ParamError("divisor", "what has no inverse", f"residues coprime to {self.q}")
        return found

    def power(self, x: Residues, exponents: Sequence[int]) -> Residues:
        """`x ** exponents[i]` for modulus i; the exponents are not negative."""
        base, result = x.tensor, ops.broadcast_to(self(1).tensor, x.shape)
        one = integers(1)
        for place in reversed(range(max(exponents).bit_length())):
            result = ops.modmul(result, result, self.operand)
            bits = [bool(exponent >> place & 1) for exponent in exponents]
            if all(bits):
                result = ops.modmul(result, base, self.operand)
            elif any(bits):
                factor = ops.where(base, one, asarray(bits))
                result = ops.modmul(result, factor, self.operand)
        return Residues(self, result if any(exponents) else ops.copy(result))

    def _of_each(self, residues: list[int]) -> Tensor:
        return integers(residues if self.several else residues[0])

    def _words(self, tensor: Tensor) -> Tensor:
        """Congruent integers as int64."""
        if tensor.dtype.kind not in "iu":
            raise DTypeError("dtype", tensor.dtype.name, "an integer dtype")
        if tensor.dtype == "u64":
            tensor = tensor % ops.astype(self._of_each([*self.moduli]), "u64")
        return tensor.astype("i64", copy=False)

    def _spread(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape whose last axis has an index for each modulus."""
        limbs = len(self.moduli)
        if shape and shape[-1] not in (1, limbs):
            raise ParamError("shape", shape, f"a last axis of {limbs}, one for each modulus, or 1")
        return (*shape[:-1], limbs)

    def _limbs(self, x: Residues) -> Tensor:
        """[..., k]: with an axis for the moduli, even if there is one modulus."""
        return x.tensor if self.several else x.tensor.unsqueeze(x.ndim)

    def _transform(self, x: Residues) -> Transform:
        own = self._limbs(x)
        degree = own.shape[-2] if own.ndim > 1 else 0
        if degree < 1 or degree & (degree - 1):
            raise ParamError("shape", x.shape, "a power of two of coefficients, along their axis")
        for q in self.moduli:
            if q % (2 * degree) != 1 or not is_prime(q):
                raise ParamError("q", q, f"a prime = 1 mod {2 * degree}, for {degree} coefficients")
        return _transform(degree, self.moduli)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Modulus) and self.q == other.q

    def __hash__(self) -> int:
        return hash(self.q)

    def __repr__(self) -> str:
        return f"mod({[*self.moduli] if self.several else self.q})"


def _modulus(q: object) -> int:
    allowed = f"an integer from 2 to {_MAX_MODULUS}"
    try:
        number = index(q)  # type: ignore[arg-type]
    except TypeError:
        raise ParamError("q", q, allowed) from None
    if not 2 <= number <= _MAX_MODULUS:
        raise ParamError("q", number, allowed)
    return number


def _inverse(number: int, q: int) -> int:
    try:
        return pow(number, -1, q)
    except ValueError:
        raise ParamError("divisor", number, f"an integer coprime to {q}") from None


@lru_cache(maxsize=16)
def _transform(degree: int, moduli: tuple[int, ...]) -> Transform:
    return Transform(degree, moduli)


@overload
def ntt(x: Residues) -> Residues: ...
@overload
def ntt(x: Tensor | ArrayLike, q: Moduli) -> Tensor: ...
def ntt(x: Residues | Tensor | ArrayLike, q: Moduli | None = None) -> Residues | Tensor:
    """The negacyclic NTT of residues, or of a tensor's modulo `q`; see `Modulus.ntt`.

    >>> import cloakwork as cw
    >>> cw.ntt(cw.asarray([1, 0, 0, 0]), 17)
    Tensor([1, 1, 1, 1], dtype=i64)
    """
    ring = _ring("ntt", x, q)
    return ring.ntt(x) if isinstance(x, Residues) else ring.ntt(x).tensor


@overload
def intt(x: Residues) -> Residues: ...
@overload
def intt(x: Tensor | ArrayLike, q: Moduli) -> Tensor: ...
def intt(x: Residues | Tensor | ArrayLike, q: Moduli | None = None) -> Residues | Tensor:
    """Undo `ntt`.

    >>> import cloakwork as cw
    >>> cw.intt(cw.asarray([1, 1, 1, 1]), 17)
    Tensor([1, 0, 0, 0], dtype=i64)
    """
    ring = _ring("intt", x, q)
    return ring.intt(x) if isinstance(x, Residues) else ring.intt(x).tensor


def _ring(name: str, x: Residues | Tensor | ArrayLike, q: Moduli | None) -> Modulus:
    if isinstance(x, Residues) == (q is not None):
        raise TypeError(f"{name}: expected residues, or a tensor and a modulus")
    return x.modulus if isinstance(x, Residues) else mod(q)  # type: ignore[arg-type]
