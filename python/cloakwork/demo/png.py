"""PNG files of 8-bit pixels (W3C, Portable Network Graphics, third edition)."""

from __future__ import annotations

from pathlib import Path
from zlib import compress, crc32

import numpy as np
from numpy.typing import NDArray

from cloakwork import files

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPE = {1: 0, 3: 2}


def write_png(path: Path, pixels: NDArray[np.uint8]) -> None:
    """Write uint8 [height, width, 3] (red, green, blue) or [height, width] (grey)."""
    height, width = pixels.shape[:2]
    rows = pixels.reshape(height, -1)
    # Each row begins with its filter; 0 means none.
    lines = np.concatenate((np.zeros((height, 1), np.uint8), rows), axis=1)
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    depth = bytes((8, _COLOUR_TYPE[rows.shape[1] // width], 0, 0, 0))
    chunks = (
        _chunk(b"IHDR", size + depth), _chunk(b"IDAT", compress(lines.tobytes(), 9)),
        _chunk(b"IEND", b""),
    )  # fmt: skip
    files.write(path, [_SIGNATURE, *chunks])


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = crc32(kind + data).to_bytes(4, "big")
    return len(data).to_bytes(4, "big") + kind + data + check
