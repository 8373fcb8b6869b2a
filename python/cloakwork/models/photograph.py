"""A photograph."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Photograph:
    """Pixels uint8 [height, width, 3], with where they come from."""

    pixels: NDArray[np.uint8]
    source: str
    licence: str


def load_photograph() -> Photograph:
    """The photograph in the package."""
    with as_file(files(__package__) / "data" / "photograph.npz") as path, np.load(path) as stored:
        return Photograph(stored["pixels"], str(stored["source"]), str(stored["licence"]))
