"""Random tensors for cryptography: the operating system's entropy, stretched by ChaCha20.

Nothing here can be seeded.  A program must not contain randomness, so that all of these raise
TraceError inside a function that is being traced.
"""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork import _core, ops
from cloakwork.errors import ParamError

# The standard deviation of the sampler's table.
_SIGMA = 3.2


def uniform_mod(shape: Sequence[int], q: _core.Tensor | int) -> _core.Tensor:
    """Uniform residues, i64: within 2^-66 of uniform in [0, q).

    q   one modulus, or [k] for the last axis
    """
    words = _core.random_words([*shape, 2])
    try:
        return ops.uniform_mod(words, q)
    finally:
        words.zeroize()


def ternary(shape: Sequence[int]) -> _core.Tensor:
    """-1, 0 and 1, i64, each with probability 1/3 within 2^-62."""
    words = _core.random_words([*shape])
    try:
        return ops.ternary(words)
    finally:
        words.zeroize()


def gaussian(shape: Sequence[int], sigma: float = _SIGMA) -> _core.Tensor:
    """The discrete Gaussian on the integers, i64, in constant time.

    sigma   the standard deviation; ParamError for any but 3.2
    """
    if sigma != _SIGMA:
        raise ParamError("sigma", sigma, f"{_SIGMA}, the standard deviation of the table")
    words = _core.random_words([*shape, 2])
    try:
        return ops.gaussian(words)
    finally:
        words.zeroize()
