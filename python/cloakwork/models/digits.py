"""The UCI test digits and the model trained on half of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from cloakwork.models.square_mlp import SquareMlp


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
    with as_file(files(__package__) / "data" / "digits.npz") as path, np.load(path) as stored:
        images = stored["images"].reshape(len(stored["labels"]), -1) / 16.0
        return Digits(
            images=images,
            labels=stored["labels"].astype(np.int64),
            train_index=stored["train_index"].astype(np.int64),
            test_index=stored["test_index"].astype(np.int64),
            source=str(stored["source"]),
            licence=str(stored["licence"]),
        )


def load_digits_model() -> SquareMlp:
    """The 64 -> 32 -> 10 model in the package."""
    with as_file(files(__package__) / "digits.onnx") as path:
        return SquareMlp.from_onnx(path)
