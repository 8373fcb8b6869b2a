"""Run the package's networks encrypted on their whole test sets, and compare with plain results.

    python -m scripts.agreement [NETWORK ...] [--most N]

A row for each network: how many inputs; the stated error, of encryption and of approximations; the
largest error found; of how many inputs the plain scores differ by more than twice the stated
error ("clear"), and of how many of these the label is the same, which must be all; how many labels
are the same, and right, of all. Exit status 1 where a clear input has another label, or an error is
larger than stated. Networks take minutes, and up to 12 GB.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np
from cloakwork import fhe, models
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.compiler.importing import from_model
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Rows of the test set that are the sample where the package has no other data.
_SAMPLE = 200


@dataclass(frozen=True)
class Data:
    """A test set: inputs [n, *shape] with labels [n], a sample, and the bounds of all inputs."""

    sample: Floats
    inputs: Floats
    labels: NDArray[np.int64]
    bounds: tuple[float, float]
    mode: Literal["latency", "throughput"]


def cancer() -> Data:
    """256 patients."""
    own = models.load_cancer()
    inputs, labels = own.standardised, own.labels.astype(np.int64)
    return Data(inputs[:_SAMPLE], inputs, labels, (-own.cut, own.cut), "throughput")


def sentiment() -> Data:
    """1000 sentences."""
    own = models.load_reviews()
    inputs, labels = own.embed(own.sentences), own.labels.astype(np.int64)
    most = float(np.abs(own.vectors).max())
    return Data(inputs[:_SAMPLE], inputs, labels, (-most, most), "throughput")


def digits(mode: Literal["latency", "throughput"]) -> Data:
    """899 digits; the sample is the training half."""
    own = models.load_digits()
    images = own.images.reshape(-1, 1, 8, 8)
    train, test = own.train_index, own.test_index
    return Data(images[train], images[test], own.labels[test], (0.0, 1.0), mode)


def fashion() -> Data:
    """1000 pictures of clothes."""
    own = models.load_fashion()
    return Data(own.planes[:_SAMPLE], own.planes, own.labels, (0.0, 1.0), "latency")


NETWORKS: dict[str, Callable[[], Data]] = {
    "cancer": cancer,
    "sentiment": sentiment,
    "digits_mlp": lambda: digits("throughput"),
    "digits_cnn": lambda: digits("latency"),
    "fashion_mlp": fashion,
    "fashion_cnn": fashion,
}
HEAD = (
    "| network | inputs | mode, degree | stated error | largest error | clear | same label, clear "
    "| same label, all | right, plain | right, encrypted | run |"
)


def encrypted_scores(model: CompiledModel, inputs: Floats) -> tuple[Floats, float]:
    """Scores [n, classes], and the seconds of the server."""
    client, server = model.split()
    client.keygen()
    size = min(model.description.capacity(model.context.slots), len(inputs))
    parts, seconds = [], 0.0
    for start in range(0, len(inputs), size):
        part = inputs[start : start + size]
        encrypted = client.encrypt(part)
        started = perf_counter()
        results = server.run(encrypted, client.evaluation)
        seconds += perf_counter() - started
        (found,) = client.outputs(results, len(part)).values()
        parts.append(found.reshape(len(part), -1))
    return np.concatenate(parts), seconds


def labels_of(scores: Floats) -> NDArray[np.int64]:
    """The class of the largest score; of one score, whether it is positive."""
    return np.asarray(scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0, np.int64)


def margins(scores: Floats) -> Floats:
    """Of the two largest scores half the difference; of one score its size."""
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    ordered = np.sort(scores, axis=1)
    return np.asarray((ordered[:, -1] - ordered[:, -2]) / 2)


def agreement(name: str, most: int | None) -> bool:
    """Print a network's row; whether all is as stated."""
    data = NETWORKS[name]()
    inputs, labels = data.inputs[:most], data.labels[:most]
    graph = from_model(models.network_path(name))
    model = fhe.compile(graph, data.sample, optimize=data.mode, bounds=data.bounds)
    found, seconds = encrypted_scores(model, inputs)
    exact = _only(graph.run(inputs))
    assert model._graph is not None
    compiled = _only(model._graph.run(inputs))
    report = model.report
    stated = report.error + report.approximation_error
    clear = margins(exact) > stated
    same = labels_of(found) == labels_of(exact)
    # Of the approximations, the sample's largest error is stated: other inputs may have a larger.
    off = float(np.abs(found - compiled).max()), float(np.abs(compiled - exact).max())
    right = [float((labels_of(one) == labels).mean()) for one in (exact, found)]
    held = bool(same[clear].all()) and off[0] <= report.error
    print(
        f"| {name} | {len(inputs)} | {data.mode}, {model.context.parameters.degree} "
        f"| {report.error:.2g} + {report.approximation_error:.2g} | {off[0]:.2g} + {off[1]:.2g} "
        f"| {clear.sum()} | {same[clear].sum()} | {same.sum()} "
        f"| {right[0]:.2%} | {right[1]:.2%} | {seconds:.3g} s |",
        flush=True,
    )
    return held


def _only(values: dict[str, Any]) -> Floats:
    (found,) = values.values()
    return np.asarray(found).reshape(len(found), -1)


def main(words: list[str]) -> int:
    """All networks, or those that are named."""
    parser = argparse.ArgumentParser(prog="scripts.agreement", description=__doc__)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(NETWORKS))
    parser.add_argument("--most", type=int, metavar="N", help="only the first N inputs")
    asked = parser.parse_args(words)
    if unknown := set(asked.networks) - NETWORKS.keys():
        parser.error(f"unknown networks: {', '.join(sorted(unknown))}")
    print(HEAD, "|---" * HEAD.count(" | ") + "|---|", sep="\n", flush=True)
    held = [agreement(name, asked.most) for name in asked.networks or NETWORKS]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
