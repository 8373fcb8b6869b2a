"""Train the digits model: 64 -> hidden -> 10 with a square activation, exported as ONNX.

    python scripts/train_digits.py [--hidden 32] [--out python/cloakwork/models]

Needs scikit-learn (for the images alone) and onnx.  Writes `data/digits.zip` (images, labels and
the split) and `data/digits_square.onnx`.  The same NumPy build gives the same bytes again.

CKKS computes the square activation exactly with one multiplication. Weight decay has two purposes:
it generalises, and it keeps hidden values within |h| <= 8, so that logits stay far below the
headroom of the last modulus and a relative error of 2^-20 stays far below 1e-3.
Weight decay and epochs were chosen by five-fold cross-validation inside the training half
(`--cross-validate` repeats that); the test half is touched once, to print the accuracy.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from cloakwork.models.stored import pack
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, train_test_split

Floats = NDArray[np.float64]
Weights = list[Floats]  # hidden weight [H, 64], hidden bias, output weight [10, H], output bias

SOURCE = (
    "Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, 1998, UCI Machine "
    "Learning Repository, https://doi.org/10.24432/C50P49 (the test set, which scikit-learn ships)"
)
LICENCE = "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/"
SEED = 20240917
BATCH = 128
LEARNING_RATE = 0.01


@dataclass(frozen=True)
class Recipe:
    """The settings of training; the defaults gave the shipped model."""

    hidden: int = 32
    epochs: int = 120
    weight_decay: float = 1e-3


def shifted(images: Floats) -> Floats:
    """Images [n, 64] and their shifts by one pixel in four directions: [5 n, 64]."""
    padded = np.pad(images.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    corners = ((1, 1), (0, 1), (2, 1), (1, 0), (1, 2))
    views = [padded[:, row : row + 8, column : column + 8] for row, column in corners]
    return np.concatenate(views).reshape(-1, 64)


def forward(weights: Weights, images: Floats) -> tuple[Floats, Floats]:
    """Hidden values before the square, and logits."""
    hidden = images @ weights[0].T + weights[1]
    return hidden, (hidden * hidden) @ weights[2].T + weights[3]


def gradients(weights: Weights, images: Floats, targets: Floats, decay: float) -> Weights:
    """Gradients of softmax cross-entropy with weight decay, in the order of `weights`."""
    hidden, logits = forward(weights, images)
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    at_logits = exponentials / exponentials.sum(axis=1, keepdims=True) - targets
    at_logits /= len(images)
    at_hidden = 2 * hidden * (at_logits @ weights[2])
    return [
        at_hidden.T @ images + decay * weights[0],
        at_hidden.sum(axis=0),
        at_logits.T @ (hidden * hidden) + decay * weights[2],
        at_logits.sum(axis=0),
    ]


def train(images: Floats, labels: NDArray[np.int64], recipe: Recipe) -> Weights:
    """Adam over shuffled batches with a cosine learning rate."""
    generator = np.random.default_rng(SEED)
    inputs, targets = shifted(images), np.tile(np.eye(10)[labels], (5, 1))
    weights: Weights = [
        generator.normal(0, 1 / 8, (recipe.hidden, 64)),
        np.zeros(recipe.hidden),
        generator.normal(0, recipe.hidden**-0.5, (10, recipe.hidden)),
        np.zeros(10),
    ]
    mean, variance = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    step = 0
    for epoch in range(recipe.epochs):
        rate = LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * epoch / recipe.epochs))
        order = generator.permutation(len(inputs))
        for batch in np.array_split(order, -(-len(order) // BATCH)):
            step += 1
            slopes = gradients(weights, inputs[batch], targets[batch], recipe.weight_decay)
            for w, m, v, slope in zip(weights, mean, variance, slopes, strict=True):
                m += 0.1 * (slope - m)
                v += 0.001 * (slope * slope - v)
                w -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return weights


def accuracy(weights: Weights, images: Floats, labels: NDArray[np.int64]) -> float:
    return float((forward(weights, images)[1].argmax(axis=1) == labels).mean())


def cross_validate(images: Floats, labels: NDArray[np.int64], recipe: Recipe) -> float:
    """Mean accuracy over five folds."""
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED).split(images, labels)
    scores = [
        accuracy(train(images[fit], labels[fit], recipe), images[held], labels[held])
        for fit, held in folds
    ]
    return float(np.mean(scores))


def to_onnx(weights: Weights) -> onnx.ModelProto:
    """Gemm, Mul (the square), Gemm over float32 pixels scaled to [0, 1]."""
    names = ("hidden.weight", "hidden.bias", "output.weight", "output.bias")
    nodes = [
        helper.make_node("Gemm", ["pixels", *names[:2]], ["hidden"], name="hidden", transB=1),
        helper.make_node("Mul", ["hidden", "hidden"], ["squared"], name="square"),
        helper.make_node("Gemm", ["squared", *names[2:]], ["logits"], name="output", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", 64])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])],
        [
            numpy_helper.from_array(w.astype(np.float32), name)
            for w, name in zip(weights, names, strict=True)
        ],
    )
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8, producer_name="cloakwork")
    helper.set_model_props(model, {"training_data": SOURCE, "training_data_licence": LICENCE})
    onnx.checker.check_model(model)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description="Train and export the digits model.")
    parser.add_argument("--hidden", type=int, default=Recipe.hidden)
    parser.add_argument("--epochs", type=int, default=Recipe.epochs)
    parser.add_argument("--weight-decay", type=float, default=Recipe.weight_decay)
    parser.add_argument("--cross-validate", action="store_true", help="score only; write nothing")
    parser.add_argument("--out", type=Path, default=Path("python/cloakwork/models"))
    options = parser.parse_args()
    recipe = Recipe(options.hidden, options.epochs, options.weight_decay)

    digits = load_digits()
    images, labels = digits.data / 16.0, digits.target.astype(np.int64)
    fit, held = train_test_split(
        np.arange(len(labels)), test_size=0.5, random_state=SEED, stratify=labels
    )
    if options.cross_validate:
        print(f"{recipe}: {cross_validate(images[fit], labels[fit], recipe):.4f}")
        return
    weights = [
        w.astype(np.float32).astype(np.float64) for w in train(images[fit], labels[fit], recipe)
    ]
    hidden, logits = forward(weights, images)
    print(
        f"train {accuracy(weights, images[fit], labels[fit]):.4f}",
        f"test {accuracy(weights, images[held], labels[held]):.4f}",
        f"max |hidden| {np.abs(hidden).max():.2f}  max |logit| {np.abs(logits).max():.2f}",
    )

    data = options.out / "data"
    data.mkdir(parents=True, exist_ok=True)
    arrays = {
        "images": digits.images.astype(np.uint8),
        "labels": labels.astype(np.uint8),
        "train_index": np.sort(fit).astype(np.int16),
        "test_index": np.sort(held).astype(np.int16),
    }
    pack(data / "digits.zip", arrays, {"source": SOURCE, "licence": LICENCE})
    (data / "digits_square.onnx").write_bytes(
        to_onnx(weights).SerializeToString(deterministic=True)
    )


if __name__ == "__main__":
    main()
