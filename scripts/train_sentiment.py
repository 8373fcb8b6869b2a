"""Train vectors of words, and a network that says whether a sentence of a review is positive.

    pip download --no-deps --no-binary :all: vaderSentiment==3.3.2
    python -m scripts.train_sentiment vaderSentiment-3.3.2.tar.gz

Needs torch (2.15 was used), onnx, scikit-learn (for the split), and the source package of
vaderSentiment, which holds the sentences that its authors let 20 readers rate.  Writes
`sentiment.onnx` and `sentiment.zip`: vectors, test sentences and the weights once more.

Sentences rated between -1 and 1 are left out.  A sentence is the mean of its words' vectors; the
network, 32 to 32 with GELU to 1, is trained together with them.  The number of epochs, the decay
and the dropout were chosen on a fifth of the training sentences (`--validate`); the test sentences
are used once, to print the accuracy.
"""

from __future__ import annotations

import argparse
import io
import tarfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from cloakwork.models.sentiment import words_of
from cloakwork.models.stored import pack
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from scripts.onnx_graphs import OnnxGraph

SOURCE = (
    "Sentences of product and film reviews with ratings of 20 readers, C. Hutto and E. Gilbert, "
    "VADER, ICWSM 2014 (which the source package of vaderSentiment 3.3.2 ships)"
)
LICENCE = "MIT, Copyright 2016 C.J. Hutto"
SEED = 20240917
SIZE = 32
WORDS = 6000
CLEAR = 1.0
TEST_SENTENCES = 1000
BATCH = 64
# Of one word's vector; so they also bound a sentence's.
LARGEST = 3.0
# Vectors are stored as int8, in units of this.
STEP = LARGEST / 127

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Recipe:
    """The settings of training; the defaults gave the shipped model."""

    epochs: int = 20
    decay: float = 0.1
    dropout: float = 0.5


def read(package: Path) -> tuple[list[str], NDArray[np.float64], Indices]:
    """Sentences, mean ratings, and 0 for products or 1 for films."""
    with tarfile.open(package) as outer:
        (name,) = (name for name in outer.getnames() if name.endswith("hutto_ICWSM_2014.tar.gz"))
        inner = outer.extractfile(name)
        assert inner is not None
        held = io.BytesIO(inner.read())
    sentences, ratings, kinds = [], [], []
    with tarfile.open(fileobj=held) as files:
        for kind, part in enumerate(("amazon", "movie")):
            text = files.extractfile(f"hutto_ICWSM_2014/{part}ReviewSnippets_GroundTruth.txt")
            assert text is not None
            for line in text.read().decode().splitlines():
                _, rating, sentence = line.split("\t", 2)
                if abs(float(rating)) >= CLEAR:
                    sentences.append(sentence)
                    ratings.append(float(rating))
                    kinds.append(kind)
    return sentences, np.array(ratings), np.array(kinds)


class Network(nn.Module):
    """Means of vectors, then the two layers; one vector more stands for no word."""

    def __init__(self, words: int, dropout: float) -> None:
        super().__init__()
        self.vectors = nn.EmbeddingBag(words + 1, SIZE, mode="mean", padding_idx=words)
        nn.init.uniform_(self.vectors.weight, -0.5, 0.5)
        self.hidden, self.output = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, words: Tensor) -> Tensor:
        """Logits [n] of indices of words [n, longest], padded."""
        embedding = self.dropout(self.vectors(words))
        hidden = nn.functional.gelu(self.hidden(embedding))
        return self.output(hidden)[:, 0]


def indexed(sentences: list[str], words: list[str]) -> Tensor:
    """[n, longest]: indices of known words, then len(words)."""
    places = {word: index for index, word in enumerate(words)}
    rows = [[places[w] for w in words_of(s) if w in places] for s in sentences]
    table = np.full((len(rows), max(map(len, rows))), len(words))
    for row, known in zip(table, rows, strict=True):
        row[: len(known)] = known
    return torch.from_numpy(table)


def train(table: Tensor, labels: Tensor, words: int, recipe: Recipe) -> Network:
    """AdamW with a rate that falls to 0; words are dropped at random."""
    torch.manual_seed(SEED)
    network = Network(words, recipe.dropout)
    steps = recipe.epochs * -(-len(table) // BATCH)
    optimizer = torch.optim.AdamW(network.parameters(), 3e-3, weight_decay=recipe.decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(recipe.epochs):
        for batch in torch.randperm(len(table)).split(BATCH):
            given = table[batch].masked_fill(
                torch.rand(len(batch), table.shape[1]) < recipe.dropout, words
            )
            loss = nn.functional.binary_cross_entropy_with_logits(network(given), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            with torch.no_grad():
                network.vectors.weight.clamp_(-LARGEST, LARGEST)
    return network.eval()


def fit_on(
    sentences: list[str], ratings: NDArray[np.float64], fit: Indices, recipe: Recipe
) -> tuple[list[str], Network]:
    """The commonest words of these sentences, and the network trained on them."""
    counts = Counter(word for i in fit for word in words_of(sentences[i]))
    words = [word for word, count in counts.most_common(WORDS) if count > 1]
    labels = torch.from_numpy((ratings[fit] > 0).astype(np.float32))
    table = indexed([sentences[i] for i in fit], words)
    network = train(table, labels, len(words), recipe)
    with torch.no_grad():
        network.vectors.weight.div_(STEP).round_().mul_(STEP)
    return words, network


@torch.no_grad()
def accuracy(
    network: Network, words: list[str], sentences: list[str], ratings: NDArray[np.float64]
) -> float:
    positive = network(indexed(sentences, words)).numpy() > 0
    return float((positive == (ratings > 0)).mean())


def layers_of(network: Network) -> dict[str, NDArray[np.float32]]:
    return {
        f"{name}_{kind}": getattr(getattr(network, name), kind).detach().numpy()
        for name in ("hidden", "output")
        for kind in ("weight", "bias")
    }


def to_onnx(layers: dict[str, NDArray[np.float32]]) -> bytes:
    graph = OnnxGraph("sentiment", "embedding", (SIZE,))
    graph.gemm("hidden", "embedding", layers["hidden_weight"], layers["hidden_bias"])
    graph.add("Gelu", "active", "hidden")
    graph.gemm("logit", "active", layers["output_weight"], layers["output_bias"])
    return graph.contents("logit", (1,), source=SOURCE, licence=LICENCE)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train and export the sentiment model.")
    parser.add_argument("package", type=Path, help="vaderSentiment-3.3.2.tar.gz")
    parser.add_argument("--epochs", type=int, default=Recipe.epochs)
    parser.add_argument("--decay", type=float, default=Recipe.decay)
    parser.add_argument("--dropout", type=float, default=Recipe.dropout)
    parser.add_argument("--validate", action="store_true", help="score only; write nothing")
    parser.add_argument("--out", type=Path, default=Path("python/cloakwork/models/data"))
    options = parser.parse_args()
    recipe = Recipe(options.epochs, options.decay, options.dropout)
    torch.set_num_threads(1)

    sentences, ratings, kinds = read(options.package)
    groups = 2 * kinds + (ratings > 0)
    fit, held = train_test_split(
        np.arange(len(ratings)), test_size=TEST_SENTENCES, random_state=SEED, stratify=groups
    )
    if options.validate:
        fit, held = train_test_split(fit, test_size=0.2, random_state=SEED, stratify=groups[fit])
    words, network = fit_on(sentences, ratings, fit, recipe)
    for name, part in (("train", fit), ("test", np.sort(held))):
        chosen = [sentences[i] for i in part]
        print(f"{name} {accuracy(network, words, chosen, ratings[part]):.4f}", end="  ")
    print(f"of {len(fit)} and {len(held)} sentences; {len(words)} words")
    if options.validate:
        return
    layers = layers_of(network)
    (options.out / "sentiment.onnx").write_bytes(to_onnx(layers))
    vectors = network.vectors.weight.detach().numpy()[: len(words)]
    arrays = {
        "vectors": np.rint(vectors / STEP).astype(np.int8),
        "step": np.array(STEP),
        "ratings": ratings[np.sort(held)].astype(np.float32),
        **layers,
    }
    texts = {
        "words": words,
        "sentences": [sentences[i] for i in np.sort(held)],
        "source": SOURCE,
        "licence": LICENCE,
    }
    pack(options.out / "sentiment.zip", arrays, texts)


if __name__ == "__main__":
    main()
