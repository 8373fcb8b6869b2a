"""A stream of seeded random numbers for simulations, after NumPy's `Generator`."""

from __future__ import annotations

import hashlib
import itertools
import math
import secrets
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import _core, ops
from cloakwork._core import DType, Tensor, float64
from cloakwork.array_api.common import axis_of, require, weak_operand, whole
from cloakwork.array_api.creation import arange
from cloakwork.array_api.datatypes import KINDS, REAL
from cloakwork.array_api.indexing import take
from cloakwork.array_api.manipulation import broadcast_shapes
from cloakwork.array_api.searching import searchsorted
from cloakwork.array_api.sorting import argsort
from cloakwork.errors import ParamError
from cloakwork.lazy import public
from cloakwork.tensors.arrays import operand
from cloakwork.tensors.conversion import DTypeLike, asarray

Size = int | Sequence[int] | None
Number = float | ArrayLike | Tensor
_WORD = 2**64
# How far the sum of probabilities may be from 1, as in NumPy.
_SLACK = math.sqrt(np.finfo(np.float64).eps)


def default_rng(seed: int | None = None) -> Generator:
    """A generator of random numbers for simulations; not for cryptography: see `cloakwork.random`.

    The same seed (below 2^128) gives the same numbers on every machine, for any number of threads;
    None gives different numbers each time.  The numbers are not NumPy's.

    >>> import cloakwork as cw
    >>> cw.default_rng(1).permutation(5).shape
    (5,)
    """
    if seed is None:
        seed = secrets.randbits(128)
    if not 0 <= whole(seed, "seed") < _WORD**2:
        raise ParamError("seed", seed, "0 to 2^128 - 1")
    return Generator(seed)


@public("cloakwork")
class Generator:
    """A stream of random numbers, made by `default_rng`; each call advances it.

    Call i draws Philox 4x32-10 with a key that is the BLAKE2b hash of the seed and i.  A size of
    None is one number: a tensor without axes, or the shape of the parameters.  Not for
    cryptography.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed.to_bytes(16, "little")
        self._calls = itertools.count()

    def random(self, size: Size = None, dtype: DTypeLike = float64) -> Tensor:
        """Uniform numbers of [0, 1), of dtype float64 or float32."""
        return self._drawn(ops.philox_uniform, () if size is None else size, _core.dtype(dtype))

    def uniform(self, low: Number = 0.0, high: Number = 1.0, size: Size = None) -> Tensor:
        """Uniform numbers of [low, high), float64; both broadcast."""
        low, high = weak_operand(low, "low"), weak_operand(high, "high")
        return self.random(_shape(size, low, high)) * (high - low) + low

    def standard_normal(self, size: Size = None, dtype: DTypeLike = float64) -> Tensor:
        """Normally distributed numbers of mean 0 and variance 1, of dtype float64 or float32."""
        return self._drawn(ops.philox_normal, () if size is None else size, _core.dtype(dtype))

    def normal(self, loc: Number = 0.0, scale: Number = 1.0, size: Size = None) -> Tensor:
        """Normally distributed numbers of mean `loc` and standard deviation `scale`, float64."""
        loc, scale = weak_operand(loc, "loc"), weak_operand(scale, "scale")
        if isinstance(scale, complex) or (not isinstance(scale, Tensor) and not scale >= 0):
            raise ParamError("scale", scale, "a standard deviation of 0 or more")
        return self.standard_normal(_shape(size, loc, scale)) * scale + loc

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: DTypeLike = "i64",
        *,
        endpoint: bool = False,
    ) -> Tensor:
        """Uniform integers of [low, high), or [low, high] if `endpoint`; of [0, low) for one bound.

        Exactly uniform: words that would favour some integers are drawn again.
        """
        low, high = (0, low) if high is None else (low, high)
        low, high = whole(low, "low"), whole(high, "high")
        count = high - low + int(endpoint)
        wanted = _core.dtype(dtype)
        if wanted.kind not in "iu":
            raise ParamError("dtype", wanted.name, "an integer dtype")
        limits = np.iinfo(wanted.name)
        if count <= 0 or low < limits.min or low + count - 1 > limits.max:
            raise ParamError("low, high", (low, high), f"a range of integers within {wanted}")
        words = self._words(() if size is None else size)
        most = _WORD - _WORD % count
        while most < _WORD and (again := words >= np.uint64(most)).any():
            words[again] = self._words(int(again.sum()))
        places = words % np.uint64(count) if count < _WORD else words
        return asarray((places + np.uint64(low % _WORD)).astype(wanted.name))

    def permutation(self, x: int | ArrayLike | Tensor, *, axis: int = 0) -> Tensor:
        """The slices of an axis in random order, or the integers below a number."""
        items = arange(x) if isinstance(x, int) else operand(x)
        place = axis_of(axis, items.ndim)
        return take(items, argsort(self.random(items.shape[place])), axis=place)

    def choice(
        self,
        x: int | ArrayLike | Tensor,
        size: Size = None,
        *,
        replace: bool = True,
        p: ArrayLike | None = None,
    ) -> Tensor:
        """Random slices of the first axis, or integers below a number; all are equally likely.

        p   the probability of each, if they differ

        Without `replace`, none is chosen twice.
        """
        items = arange(x) if isinstance(x, int) else operand(x)
        axis_of(0, items.ndim)
        count, shape = items.shape[0], _sizes(size)
        shares = None if p is None else _probabilities(p, count)
        if count == 0 and 0 not in shape:
            raise ParamError("x", "no elements", "one or more to choose from")
        if replace and shares is None:
            places = self.integers(max(count, 1), size=shape)
        elif shares is not None and replace:
            ends = np.cumsum(shares)
            places = searchsorted(asarray(ends / ends[-1]), self.random(shape), side="right")
        else:
            places = self._distinct(count, shape, shares)
        return take(items, places.reshape(-1), axis=0).reshape((*shape, *items.shape[1:]))

    def _distinct(
        self, count: int, shape: tuple[int, ...], shares: NDArray[np.float64] | None
    ) -> Tensor:
        """Places that differ: the earliest of exponential clocks whose rates are the shares."""
        wanted, possible = math.prod(shape), count
        if shares is not None:
            possible = int(np.count_nonzero(shares))
        if wanted > possible:
            raise ParamError("size", shape, f"{possible} or fewer, without replacement")
        clocks = self.random(count)
        if shares is not None:
            rates = np.where(shares > 0, shares, np.nan)  # NaN comes last
            clocks = ops.log1p(-clocks) / asarray(-rates)
        return argsort(clocks)[:wanted].reshape(shape)

    def _words(self, size: int | Sequence[int]) -> NDArray[np.uint64]:
        """Uniform words of 64 bits: the upper 32 bits of two uniform numbers."""
        halves = np.asarray(self.random((*_sizes(size), 2))) * 2.0**32
        words = halves.astype(np.uint64)
        made: NDArray[np.uint64] = (words[..., 0] << np.uint64(32)) | words[..., 1]
        return np.asarray(made)

    def _drawn(
        self, draw: Callable[[Tensor, int | Sequence[int], DType], Tensor], size: Size, dtype: DType
    ) -> Tensor:
        """The numbers of the next call."""
        call = next(self._calls).to_bytes(8, "little")
        digest = hashlib.blake2b(
            self._seed + call, digest_size=16, person=b"cloakwork.rng"
        ).digest()
        words = [int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")]
        return draw(asarray(words, dtype="u64"), _sizes(size), dtype)


def _sizes(size: Size) -> tuple[int, ...]:
    if size is None:
        return ()
    return (size,) if isinstance(size, int) else tuple(size)


def _shape(size: Size, *parameters: Number) -> tuple[int, ...]:
    """The size, or the common shape of the parameters."""
    if size is not None:
        return _sizes(size)
    shapes = [one.shape for one in parameters if isinstance(one, Tensor)]
    return tuple(size for size in broadcast_shapes(*shapes) if size is not None)


def _probabilities(p: ArrayLike, count: int) -> NDArray[np.float64]:
    given = operand(p, "p")
    require(given, (*KINDS["bool"], *REAL), "p", "real numbers")
    shares = np.asarray(given).astype(np.float64)
    if shares.shape != (count,):
        raise ParamError("p", f"shape {shares.shape}", f"({count},): one probability each")
    if not np.all(shares >= 0) or abs(shares.sum() - 1) > _SLACK:
        raise ParamError("p", f"a sum of {shares.sum()}", "probabilities of 0 or more, of sum 1")
    return shares
