"""A photograph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.models.stored import DATA, unpack


@dataclass(frozen=True)
class Photograph:
    """Pixels uint8 [height, width, 3], with their source."""

    pixels: NDArray[np.uint8]
    source: str
    licence: str


def load_photograph() -> Photograph:
    """The photograph in the package."""
    stored, texts = unpack(DATA / "photograph.zip")
    return Photograph(stored["pixels"], **texts)
