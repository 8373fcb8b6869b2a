"""A sheet of small pictures, each in a frame whose colour says whether a model read it right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

RIGHT, WRONG, PAPER = (46, 160, 67), (207, 34, 46), (255, 255, 255)
_FRAME, _GAP = 2, 3


def sheet(
    images: NDArray[np.float64], right: NDArray[np.bool_], *, columns: int = 20, zoom: int = 3
) -> Bytes:
    """Pixels [height, width, 3] of images [n, height, width] or [n, 3, height, width], 0 to 1.

    They stand in rows of `columns`, enlarged `zoom` times, in the order given.
    """
    channels = images if images.ndim == 4 else images[:, None].repeat(3, axis=1)
    pixels = np.rint(np.clip(channels, 0, 1) * 255).astype(np.uint8).transpose(0, 2, 3, 1)
    pixels = pixels.repeat(zoom, axis=1).repeat(zoom, axis=2)
    count, height, width, _ = pixels.shape
    border = _FRAME + _GAP
    rows = -(-count // columns)
    tiles = np.full((rows * columns, height + 2 * border, width + 2 * border, 3), PAPER, np.uint8)
    inner = tiles[:count, _GAP:-_GAP, _GAP:-_GAP]
    inner[:] = np.where(right[:, None, None, None], *np.array((RIGHT, WRONG), np.uint8))
    inner[:, _FRAME:-_FRAME, _FRAME:-_FRAME] = pixels
    grid = tiles.reshape(rows, columns, *tiles.shape[1:]).transpose(0, 2, 1, 3, 4)
    return np.ascontiguousarray(grid.reshape(rows * tiles.shape[1], -1, 3))
