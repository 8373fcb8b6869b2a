"""Train the logistic regression of `cloakwork demo disease` on the Wisconsin breast cancer table.

    python -m scripts.train_cancer [--out python/cloakwork/models/data]

Needs scikit-learn, only for the table, and onnx. Writes `cancer.zip`: the model, and the test part
of the table; and `cancer.onnx`: the model as Gemm and Sigmoid, on standardised features.

Features are standardised and clipped at three deviations, so that every patient's score stays in
|z| < 16, a domain for polynomials that approximate the sigmoid. Weight decay was chosen by
five-fold cross-validation inside the training part (`--cross-validate` repeats that); the test part
is used once, to print the accuracy.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from cloakwork.models.stored import pack
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, train_test_split

from scripts.onnx_graphs import OnnxGraph

Floats = NDArray[np.float64]

SOURCE = (
    "Breast Cancer Wisconsin (Diagnostic), W. Wolberg, O. Mangasarian, N. Street and W. Street, "
    "1993, UCI Machine Learning Repository, https://doi.org/10.24432/C5DW2B (which scikit-learn "
    "ships)"
)
LICENCE = "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/"
SEED = 20240917
# As many as fit the demo's ciphertext.
TEST_ROWS = 256
WEIGHT_DECAY = 0.02
CUT = 3.0
NEWTON_STEPS = 20


def train(features: Floats, labels: Floats, decay: float) -> tuple[Floats, float]:
    """Weights and bias that minimise the mean log loss plus decay / 2 |w|^2, by Newton's method."""
    table = np.column_stack((features, np.ones(len(features))))
    penalty = decay * np.append(np.ones(features.shape[1]), 0.0)
    weights = np.zeros(table.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = 1.0 / (1.0 + np.exp(-table @ weights))
        slope = table.T @ (chance - labels) / len(labels) + penalty * weights
        curvature = (table.T * (chance * (1 - chance))) @ table / len(labels)
        weights -= np.linalg.solve(curvature + np.diag(penalty), slope)
    return weights[:-1], float(weights[-1])


def cross_validate(features: Floats, labels: Floats, decay: float) -> float:
    """Mean accuracy over five folds."""
    scores = []
    for fit, held in StratifiedKFold(5, shuffle=True, random_state=SEED).split(features, labels):
        weights, bias = train(features[fit], labels[fit], decay)
        scores.append(((features[held] @ weights + bias > 0) == labels[held]).mean())
    return float(np.mean(scores))


def to_onnx(weights: Floats, bias: float) -> bytes:
    graph = OnnxGraph("cancer", "features", weights.shape)
    score = graph.gemm("score", "features", weights[None], np.array([bias]))
    graph.add("Sigmoid", "chance", score)
    return graph.contents("chance", (1,), source=SOURCE, licence=LICENCE)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the model of the demo `dot`.")
    parser.add_argument("--weight-decay", type=float, default=WEIGHT_DECAY)
    parser.add_argument("--cross-validate", action="store_true", help="score only; write nothing")
    parser.add_argument("--out", type=Path, default=Path("python/cloakwork/models/data"))
    options = parser.parse_args()

    table = load_breast_cancer()
    # In scikit-learn 0 is malignant, the class to be found.
    labels = (table.target == 0).astype(np.float64)
    fit, held = train_test_split(
        np.arange(len(labels)), test_size=TEST_ROWS, random_state=SEED, stratify=labels
    )
    mean, deviation = table.data[fit].mean(axis=0), table.data[fit].std(axis=0)
    features = np.clip((table.data - mean) / deviation, -CUT, CUT)
    if options.cross_validate:
        score = cross_validate(features[fit], labels[fit], options.weight_decay)
        print(f"weight decay {options.weight_decay}: {score:.4f}")
        return
    weights, bias = train(features[fit], labels[fit], options.weight_decay)
    scores = features @ weights + bias
    right = (scores > 0) == labels
    print(
        f"train {right[fit].mean():.4f}  test {right[held].mean():.4f}",
        f"max |score| {np.abs(scores).max():.2f}",
    )
    arrays = {
        "features": table.data[np.sort(held)],
        "labels": labels[np.sort(held)].astype(np.uint8),
        "mean": mean,
        "deviation": deviation,
        "weights": weights,
        "bias": np.array(bias),
        "cut": np.array(CUT),
    }
    names = [str(name) for name in table.feature_names]
    pack(options.out / "cancer.zip", arrays, {"names": names, "source": SOURCE, "licence": LICENCE})
    (options.out / "cancer.onnx").write_bytes(to_onnx(weights, bias))


if __name__ == "__main__":
    main()
