"""Noise flooding: decryptions that may be shown to others."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, floor, log2

from cloakwork import _core, arrays, ops
from cloakwork.errors import ParamError
from cloakwork.fhe.plaintext import Plaintext
from cloakwork.fhe.samplers import wiped

_WORD_BITS = 64
_MOST_BITS = 62


def flood(plaintext: Plaintext, noise: float, bits: float) -> Plaintext:
    """Add uniform noise of about 2^b to every coefficient, b = noise + bits.

    Under BGV it is a multiple of t.

    noise   log2 of what the coefficients' own errors stay below
    bits    0 or more: the sum is within 2^-bits of a distribution that does not depend on them,
            a coefficient

    Raises ParamError where the noise would reach 2^62, or a quarter of the modulus.
    """
    basis = plaintext.context.tables.chain(plaintext.level)
    t = plaintext.context.parameters.plain_modulus or 1
    # A known number has none, 2^-inf; what is not there is flooded as if it were 1.
    noise = max(noise, 0.0)
    room = min(_MOST_BITS, sum(map(log2, basis.moduli)) - 2)
    if not 0 <= bits <= room - noise:
        most = max(floor(room - noise), 0)
        raise ParamError("flood_bits", bits, f"0 to {most}, so that the noise fits the modulus")
    words = _core.random_words([*plaintext.data.shape[:-1]])
    size = max(ceil(noise + bits - log2(t)), 0)
    with wiped(words), wiped(_centred(words, size)) as sample:
        mask = basis.reduce(sample)
    with wiped(mask):
        ops.modmul(mask, basis.constant(t), basis.q, out=mask)
        batch = mask if mask.ndim == 3 else mask.unsqueeze(0)
        basis.ntt(batch, out=batch)
        return replace(plaintext, data=ops.modsum(plaintext.data, mask, basis.q))


def _centred(words: _core.Tensor, bits: int) -> _core.Tensor:
    """The top bits + 1 bits of random words as numbers in [-2^bits, 2^bits)."""
    shift = arrays.asarray(_WORD_BITS - bits - 1, "u64")
    with wiped(ops.bitwise_right_shift(words, shift)) as kept:
        return ops.subtract(ops.astype(kept, "i64"), arrays.asarray(1 << bits))
