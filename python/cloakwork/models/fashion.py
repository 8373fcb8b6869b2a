"""Test images of Fashion-MNIST."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.models.stored import DATA, unpack

Floats = NDArray[np.float64]

_FRAME = 2


@dataclass(frozen=True)
class Fashion:
    """Grey pictures of clothes that the models were not trained on.

    images   float64 [1000, 28, 28], 0 to 1
    labels   int64 [1000]
    names    of the 10 classes
    """

    images: Floats
    labels: NDArray[np.int64]
    names: list[str]
    source: str
    licence: str

    @property
    def planes(self) -> Floats:
        """[1000, 1, 28, 28]: the input of `fashion_mlp` and `fashion_cnn`."""
        return self.images[:, None]

    @property
    def framed(self) -> Floats:
        """[1000, 3, 32, 32]: in a frame of zeros, three equal channels; the input of `resnet20`."""
        sides = (_FRAME, _FRAME)
        grey = np.pad(self.images, ((0, 0), sides, sides))
        return np.repeat(grey[:, None], 3, axis=1)


def load_fashion() -> Fashion:
    """The images in the package; source and licence come with them."""
    stored, texts = unpack(DATA / "fashion.zip")
    return Fashion(
        images=stored["images"] / 255.0, labels=stored["labels"].astype(np.int64), **texts
    )
