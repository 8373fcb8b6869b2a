"""The UCI test digits, of which half trained the networks for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.models.stored import DATA, unpack


@dataclass(frozen=True)
class Digits:
    """1797 handwritten digits with their split.

    images   float64 [1797, 64], 0 to 1
    labels   int64 [1797]
    """

    images: NDArray[np.float64]
    labels: NDArray[np.int64]
    train_index: NDArray[np.int64]
    test_index: NDArray[np.int64]
    source: str
    licence: str


def load_digits() -> Digits:
    """The digits in the package; their source and licence come with them."""
    stored, texts = unpack(DATA / "digits.zip")
    return Digits(
        images=stored["images"].reshape(len(stored["labels"]), -1) / 16.0,
        labels=stored["labels"].astype(np.int64),
        train_index=stored["train_index"].astype(np.int64),
        test_index=stored["test_index"].astype(np.int64),
        **texts,
    )
