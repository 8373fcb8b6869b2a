"""Compiled models beside TenSEAL, OpenFHE and Concrete-ML: the same model on the same data.

    python benches/model_peers.py                  # all cases
    python benches/model_peers.py tree forest      # some

Each side is a process of its own with one thread, and they work in turns: keys once, then in each
round the next input is encrypted, run and decrypted by all.  Times are medians of CPU time without
the first round.  Sizes are those of what is sent; errors and labels are compared with the model in
plain, for the inputs of all rounds.  docs/performance.md has the settings and their sources.

Concrete-ML's arithmetic is exact on integers of a few bits, the others' approximate on reals: for
Concrete-ML a last row compares its quantized model in plain with the model, on all of the test set.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from measured.rows import record
from sides.side import Side, SideError, peer_side

ROOT = Path(__file__).resolve().parent.parent
STEPS = ("encrypt", "run", "decrypt")
# Concrete-ML makes keys by threads of another library.
ONE_THREAD = {"RAYON_NUM_THREADS": "1"}

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Library:
    """A peer: its environment, its side, the kinds of models that it has, and options."""

    name: str
    folder: str
    script: str
    kinds: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)


LINEAR = ("logistic", "network")
LIBRARIES = (
    Library("TenSEAL", "tenseal", "tenseal_models_side.py", LINEAR),
    Library("OpenFHE", "openfhe", "openfhe_models_side.py", LINEAR),
    Library("Concrete-ML", "concrete", "concrete_models_side.py", (*LINEAR, "tree", "forest")),
    Library(
        "Concrete-ML, 10 bits", "concrete", "concrete_models_side.py", ("tree",), {"tree_bits": 10}
    ),
)


@dataclass(frozen=True)
class Case:
    """A model and how often it is run; no rounds: the first is measured."""

    title: str
    kind: str
    arrays: Callable[[], Arrays]
    rounds: int


@dataclass
class Column:
    """The results of a side."""

    side: Side
    taken: dict[str, list[float]] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    answers: Any = None

    def time(self, operation: str) -> None:
        """Run an operation once more."""
        (seconds,) = self.side.run(operation)
        self.taken.setdefault(operation, []).append(seconds.cpu)

    def seconds(self, operation: str) -> float:
        """The median, without the first of several."""
        found = self.taken[operation]
        return median(found[1:] or found)


def main(words: Sequence[str]) -> int:
    """Measure the cases that the words name, or all."""
    warnings.simplefilter("ignore")
    unknown = [word for word in words if word not in CASES]
    if unknown:
        print(f"no such model: {unknown[0]}; there are: {', '.join(CASES)}", file=sys.stderr)
        return 2
    _install()
    for name in words or CASES:
        print(f"-- {name}: {CASES[name].title}", flush=True)
        _case(name, CASES[name])
    return 0


def _install() -> None:
    """Peers, where dev.py is beside this folder."""
    sys.path.append(str(ROOT))
    from scripts.dev.peers import MODEL_PEERS, ensure_peers

    ensure_peers(MODEL_PEERS)


def _case(name: str, case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        arrays = case.arrays()
        np.savez(Path(folder) / "model.npz", **arrays)
        columns = []
        for side in _sides(case, folder):
            columns.append(Column(stack.enter_context(side)))
            print(f"{side.name}: {side.facts['settings']}", flush=True)
        _measure(columns, case.rounds)
        for column in columns:
            stem = Path(folder) / column.side.name
            column.sizes = json.loads(stem.with_suffix(".json").read_text())
            column.answers = np.load(stem.with_suffix(".npy"))
        _show(name, columns, arrays["plain"])
        _show_quantized(Path(folder), columns, arrays["plain"])


def _sides(case: Case, folder: str) -> list[Side]:
    wanted = {"name": "cloakwork", "folder": folder, "case": case.kind}
    found = [Side("cloakwork", sys.executable, "cloakwork_models_side.py", wanted)]
    for library in LIBRARIES:
        if case.kind in library.kinds:
            given = {**wanted, **library.options, "name": library.name}
            side = peer_side(library.name, library.folder, library.script, given, ONE_THREAD)
            found += [side] if side else []
    return found


def _measure(columns: list[Column], rounds: int) -> None:
    """All operations in turns. A peer that fails is left out of the rest, with its reason."""
    _each(columns, "keygen", 1 + min(rounds, 1))
    for _ in range(1 + rounds):
        for step in STEPS:
            _each(columns, step, 1)
    _each(columns, "report", 1)


def _each(columns: list[Column], operation: str, times: int) -> None:
    for _ in range(times):
        for column in list(columns):
            try:
                column.time(operation)
            except SideError as error:
                if column is columns[0]:  # ours
                    raise
                print(f"left out: {error}", flush=True)
                columns.remove(column)


def _show(name: str, columns: list[Column], plain: Any) -> None:
    """A row for each figure: ours, and the others' with their ratio to ours."""
    print(f"{'':22}" + "".join(f"{column.side.name:>24}" for column in columns))
    _row(name, "compile", "s", [column.side.facts.get("compile") for column in columns])
    for operation, unit, factor in (
        ("keygen", "s", 1.0),
        ("encrypt", "ms", 1e3),
        ("run", "s", 1.0),
        ("decrypt", "ms", 1e3),
    ):
        found = [column.seconds(operation) * factor for column in columns]
        _row(name, operation, unit, found)
    for label, key, unit, factor in (
        ("keys", "key_bytes", "MB", 1e-6),
        ("input", "input_bytes", "kB", 1e-3),
        ("result", "result_bytes", "kB", 1e-3),
    ):
        _row(name, label, unit, [column.sizes[key] * factor for column in columns])
    peaks = [column.side.peak_bytes() / 1e9 for column in columns]
    _row(name, "peak memory, all", "GB", peaks)
    lines: dict[str, list[str]] = {"largest error": [], "same label": [], "refused": []}
    for column in columns:
        right = plain[: len(column.answers)]
        kept = ~np.isnan(column.answers).any(axis=1)
        error = np.abs(column.answers - right)[kept].max(initial=0.0)
        same = (column.answers.argmax(axis=1) == right.argmax(axis=1))[kept]
        lines["largest error"].append(f"{error:.2g}")
        lines["same label"].append(f"{same.sum()} of {kept.sum()}")
        lines["refused"].append(str((~kept).sum()))
    for label, texts in lines.items():
        print(f"{label:22}" + "".join(f"{text:>24}" for text in texts), flush=True)


def _row(name: str, label: str, unit: str, found: Sequence[float | None]) -> None:
    ours = found[0]
    texts = [f"{ours:.4g}" if ours is not None else "-"]
    for theirs in found[1:]:
        ratio = f" x {theirs / ours:.3g}" if theirs is not None and ours else ""
        texts.append("-" if theirs is None else f"{theirs:.4g}{ratio}")
    print(f"{label + ', ' + unit:22}" + "".join(f"{text:>24}" for text in texts), flush=True)
    if ours is not None:
        record(f"{name}: {label}", unit, ours)


def _show_quantized(folder: Path, columns: list[Column], plain: Any) -> None:
    for column in columns:
        path = folder / f"{column.side.name}.quantized.npy"
        if path.exists():
            found = np.load(path)
            same = (found.argmax(axis=1) == plain.argmax(axis=1)).sum()
            error = np.abs(found - plain).max()
            print(
                f"{column.side.name}, quantized in plain: same label {same} of {len(plain)},"
                f" largest error {error:.2g}",
                flush=True,
            )


def _logistic() -> Arrays:
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    x, labels = load_breast_cancer(return_X_y=True)
    x = StandardScaler().fit(x[:400]).transform(x)
    model = LogisticRegression().fit(x[:400], labels[:400])
    stored = {"weights": model.coef_, "bias": model.intercept_}
    return {**_split(x, labels, 400, model.predict_proba), **stored}


def _network() -> Arrays:
    """Hidden weights as scikit-learn finds them for ReLU; the last layer fitted to squares."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    x, labels = load_digits(return_X_y=True)
    x = x / 16
    first = MLPClassifier((32,), max_iter=400, random_state=0).fit(x[:1000], labels[:1000])
    weights, bias = first.coefs_[0], first.intercepts_[0]
    squares = (x @ weights + bias) ** 2
    last = LogisticRegression(max_iter=3000).fit(squares[:1000], labels[:1000])
    stored = {"w0": weights.T, "b0": bias, "w1": last.coef_, "b1": last.intercept_}
    arrays = _split(x, labels, 1000, lambda _: last.decision_function(squares[1000:]))
    return {**arrays, **stored}


def _trees(count: int, depth: int) -> Callable[[], Arrays]:
    def arrays() -> Arrays:
        from sides.trees import fitted
        from sklearn.datasets import load_breast_cancer

        x, labels = load_breast_cancer(return_X_y=True)
        model = fitted(count, depth, x[:400], labels[:400])
        shape = np.array([count, depth])
        return {**_split(x, labels, 400, model.predict_proba), "shape": shape}

    return arrays


def _split(x: Any, labels: Any, count: int, plain: Callable[[Any], Any]) -> Arrays:
    """The first inputs as sample, with their labels; the others, with the results in plain."""
    return {
        "sample": x[:count],
        "labels": labels[:count],
        "x": x[count:],
        "plain": plain(x[count:]),
    }


CASES = {
    "logistic": Case(
        "breast cancer, logistic regression of 30 features", "logistic", _logistic, 15
    ),
    "network": Case("digits of 8 x 8, 64-32-10 with squares", "network", _network, 5),
    "tree": Case("breast cancer, a decision tree of depth 5", "tree", _trees(1, 5), 7),
    "forest": Case(
        "breast cancer, 20 trees of depth 4, Concrete-ML's defaults", "forest", _trees(20, 4), 3
    ),
    "large": Case(
        "breast cancer, 100 trees of depth 6, the first run", "forest", _trees(100, 6), 0
    ),
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
