"""BLAKE2Xb (Aumasson and others, 2016): as many pseudorandom bytes as are wanted, of a key.

`hashlib` computes its root, but not the outputs, whose tree has depth 0: their single compression
is written here, for all outputs at once.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_OUTPUT_BYTES = 64
_ROUNDS = 12
_IV = np.array(
    [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ],
    dtype=np.uint64,
)  # fmt: skip
_SIGMA = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)
_LANES = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip


def blake2xb(message: bytes, key: bytes, size: int) -> bytes:
    """`size` bytes, a multiple of 64, of a message under a key of 1 to 64 bytes."""
    assert size % _OUTPUT_BYTES == 0
    root = blake2b(message, key=key, digest_size=64, node_offset=size << 32).digest()
    outputs = size // _OUTPUT_BYTES
    # The parameter block of an output: 64 bytes, no key, fanout and depth 0; leaf length 64; its
    # number and the whole size; node depth 0, inner length 64.
    state = np.repeat(_IV[:, np.newaxis], outputs, axis=1)
    state[0] ^= np.uint64(_OUTPUT_BYTES | _OUTPUT_BYTES << 32)
    state[1] ^= np.arange(outputs, dtype=np.uint64) | np.uint64(size << 32)
    state[2] ^= np.uint64(_OUTPUT_BYTES << 8)
    words = np.zeros(16, dtype=np.uint64)
    words[:8] = np.frombuffer(root, dtype="<u8")
    found = _compressed(state, words)
    return np.ascontiguousarray(found.T).astype("<u8").tobytes()


def _compressed(state: Words, words: Words) -> Words:
    """States [8, n] after one last block of 64 bytes, words [16]."""
    mixed = np.concatenate((state, np.repeat(_IV[:, np.newaxis], state.shape[1], axis=1)))
    mixed[12] ^= np.uint64(_OUTPUT_BYTES)
    mixed[14] = ~mixed[14]
    for number in range(_ROUNDS):
        order = _SIGMA[number % len(_SIGMA)]
        for place, (a, b, c, d) in enumerate(_LANES):
            first, second = words[order[2 * place]], words[order[2 * place + 1]]
            mixed[a] += mixed[b] + first
            mixed[d] = _rotated(mixed[d] ^ mixed[a], 32)
            mixed[c] += mixed[d]
            mixed[b] = _rotated(mixed[b] ^ mixed[c], 24)
            mixed[a] += mixed[b] + second
            mixed[d] = _rotated(mixed[d] ^ mixed[a], 16)
            mixed[c] += mixed[d]
            mixed[b] = _rotated(mixed[b] ^ mixed[c], 63)
    return state ^ mixed[:8] ^ mixed[8:]


def _rotated(words: Words, bits: int) -> Words:
    """To the right."""
    return (words >> np.uint64(bits)) | (words << np.uint64(64 - bits))
