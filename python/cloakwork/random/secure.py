"""Random tensors for cryptography: the operating system's entropy, stretched by ChaCha20.

Nothing here can be seeded.  A program must not contain randomness, so that all of these raise
TraceError inside a function that is being traced.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from cloakwork import _core, ops
from cloakwork.array_api.common import real_number, shape_of, whole
from cloakwork.errors import ParamError
from cloakwork.tensors.arrays import operand

# The standard deviation of the sampler's table.
_SIGMA = 3.2


def uniform_mod(shape: Sequence[int], q: _core.Tensor | ArrayLike | int) -> _core.Tensor:
    """Uniform residues, i64: within 2^-66 of uniform in [0, q).

    q   one modulus, or [k] for the last axis
    """
    moduli = q if isinstance(q, int) else operand(q, "q")
    words = _core.random_words([*_sizes(shape), 2])
    try:
        return ops.uniform_mod(words, moduli)
    finally:
        words.zeroize()


def ternary(shape: Sequence[int]) -> _core.Tensor:
    """-1, 0 and 1, i64, each with probability 1/3 within 2^-62."""
    words = _core.random_words(_sizes(shape))
    try:
        return ops.ternary(words)
    finally:
        words.zeroize()


def gaussian(shape: Sequence[int], sigma: float = _SIGMA) -> _core.Tensor:
    """The discrete Gaussian on the integers, i64, in constant time.

    sigma   the standard deviation; ParamError for any but 3.2
    """
    if real_number(sigma, "sigma") != _SIGMA:
        raise ParamError("sigma", sigma, f"{_SIGMA}, the standard deviation of the table")
    words = _core.random_words([*_sizes(shape), 2])
    try:
        return ops.gaussian(words)
    finally:
        words.zeroize()


def _sizes(shape: Sequence[int]) -> list[int]:
    return [whole(size, "shape") for size in shape_of(shape)]
