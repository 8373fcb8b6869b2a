"""Pictures for the networks of the demonstrations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pictures:
    """Pictures for a network.

    sample   [m, *shape], like those to come: it determines ranges
    test     [n, *shape], with labels int64 [n]
    shown    [n, height, width] or [n, 3, height, width], 0 to 1, for the sheet
    """

    sample: Floats
    test: Floats
    labels: NDArray[np.int64]
    shown: Floats
    source: str
