"""Part of the Wisconsin breast cancer table, and a model trained on the other part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.models.stored import DATA, unpack

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cancer:
    """Measurements of cell nuclei, with a model that was not trained on them.

    features   float64 [n, 30], as measured
    labels     bool [n]: malignant
    names      of the features
    mean, deviation, cut   the offset, the divisor and the limit of `standardised`
    weights, bias          of the logistic regression on standardised features
    """

    features: Floats
    labels: NDArray[np.bool_]
    names: list[str]
    mean: Floats
    deviation: Floats
    cut: float
    weights: Floats
    bias: float
    source: str
    licence: str

    @property
    def standardised(self) -> Floats:
        """[n, 30], between -cut and cut."""
        return np.clip((self.features - self.mean) / self.deviation, -self.cut, self.cut)

    def scores(self) -> Floats:
        """[n]: the logits, positive for malignant."""
        return np.asarray(self.standardised @ self.weights + self.bias)


def load_cancer() -> Cancer:
    """The table and model in the package; source and licence come with them."""
    stored, texts = unpack(DATA / "cancer.zip")
    return Cancer(
        features=stored["features"],
        labels=stored["labels"].astype(np.bool_),
        mean=stored["mean"],
        deviation=stored["deviation"],
        cut=float(stored["cut"]),
        weights=stored["weights"],
        bias=float(stored["bias"]),
        **texts,
    )
