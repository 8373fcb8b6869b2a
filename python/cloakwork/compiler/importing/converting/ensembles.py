"""Ensembles of trees whose conversion by skl2onnx fails, or needs more than sums of leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.importing.converting.joined import bag
from cloakwork.compiler.importing.converting.nodes import Nodes, Rows
from cloakwork.compiler.importing.converting.stacked import boosted_scores

Floats = NDArray[np.float64]
Outputs = dict[str, str]

__all__ = ["ENSEMBLES"]


def isolation(own: Any, n: Nodes) -> Outputs | None:
    """2^-(the mean depth of leaves / that of random trees), with what is missing below each."""
    if own.max_samples_ < 2:
        return None
    rows = Rows()
    pairs = zip(own.estimators_, own.estimators_features_, strict=True)
    for estimator, features in pairs:
        tree = estimator.tree_
        depths = tree.compute_node_depths()
        below = _average_depth(tree.n_node_samples)
        rows.add_fitted(tree, (depths + below - 1.0).__getitem__, features)
    depth = n.trees(rows.lists, 1, 0.0)
    whole = len(own.estimators_) * float(_average_depth(np.array([own.max_samples_]))[0])
    share = n.op("Exp", n.affine(depth, [[-np.log(2.0) / whole]]))
    scores = n.affine(share, [[-1.0]], -own.offset_)
    return {"label": n.inside(scores), "scores": scores}


def _average_depth(counts: Any) -> Floats:
    """The mean depth of so many samples in a random tree (Liu, Ting, Zhou: Isolation Forest)."""
    many = np.maximum(np.asarray(counts, dtype=np.float64), 3.0)
    usual = 2.0 * (np.log(many - 1.0) + np.euler_gamma) - 2.0 * (many - 1.0) / many
    return np.where(counts <= 1, 0.0, np.where(counts == 2, 1.0, usual))


def boosted(own: Any, n: Nodes) -> Outputs | None:
    """AdaBoost of trees: each votes with its weight; the sums are scores of a softmax."""
    trees = [getattr(estimator, "tree_", None) for estimator in own.estimators_]
    classes = len(own.classes_)
    if classes < 2 or getattr(own, "algorithm", "SAMME") == "SAMME.R":
        return None
    if None in trees:
        return boosted_scores(own, n)
    rows, total = Rows(), float(own.estimator_weights_.sum())
    for estimator, weight in zip(own.estimators_, own.estimator_weights_, strict=False):
        values, known = estimator.tree_.value[:, 0], estimator.classes_

        def vote(node: int, values: Any = values, known: Any = known, w: float = weight) -> Any:
            chosen = own.classes_ == known[int(values[node].argmax())]
            if classes == 2:
                return [2.0 * w / total * (1.0 if chosen[1] else -1.0)]
            return w / total * np.where(chosen, 1.0, -1.0 / (classes - 1))

        rows.add_fitted(estimator.tree_, vote)
    scores = n.trees(rows.lists, 1 if classes == 2 else classes, 0.0)
    halves = [[-0.5, 0.5]] if classes == 2 else np.eye(classes) / (classes - 1)
    both = n.affine(scores, halves)
    return {"label": n.label(both, own.classes_), "probabilities": n.op("Softmax", both, axis=1)}


def bagged(own: Any, n: Nodes) -> Outputs | None:
    """The mean of trees, each of some features."""
    if any(not hasattr(estimator, "tree_") for estimator in own.estimators_):
        return bag(own, n)
    targets = 0
    rows, count = Rows(), len(own.estimators_)
    classes = getattr(own, "classes_", None)
    for estimator, features in zip(own.estimators_, own.estimators_features_, strict=True):
        values = estimator.tree_.value
        found = values[:, :, 0] if classes is None else _shares(values[:, 0], estimator, classes)
        rows.add_fitted(estimator.tree_, (found / count).__getitem__, features)
        targets = found.shape[1]
    sums = n.trees(rows.lists, targets, 0.0)
    if classes is None:
        return {"variable": sums}
    shares = n.affine(sums, [[-1.0, 1.0]], [1.0, 0.0]) if targets == 1 else sums
    return {"label": n.label(shares, classes), "probabilities": shares}


def _shares(counts: Floats, estimator: Any, classes: Any) -> Floats:
    """[nodes, classes] of a tree that may not know all classes; of two classes the second's."""
    found = np.zeros((len(counts), len(classes)))
    # Trees of a bag are fitted to the numbers of classes.
    found[:, estimator.classes_.astype(np.int64)] = counts
    found /= found.sum(axis=1, keepdims=True)
    return found[:, 1:] if len(classes) == 2 else found


def histograms(own: Any, n: Nodes) -> Outputs | None:
    """Gradient boosting on bins; skl2onnx gives ONNX booleans where it takes integers."""
    if own._preprocessor is not None or np.any(own.is_categorical_):
        return None
    rows, targets = Rows(), int(own.n_trees_per_iteration_)
    for stage in own._predictors:
        for target, predictor in enumerate(stage):
            nodes = predictor.nodes
            names = ("feature_idx", "num_threshold", "left", "right")
            listed = list(zip(*(nodes[name].tolist() for name in names), strict=True))
            pairs = zip(nodes["is_leaf"].tolist(), nodes["value"].tolist(), strict=True)
            leaves = {
                number: (target, value) for number, (is_leaf, value) in enumerate(pairs) if is_leaf
            }
            rows.add(listed, leaves)
    scores = n.trees(rows.lists, targets, np.ravel(own._baseline_prediction))
    if not hasattr(own, "classes_"):
        link = str(own.loss)
        return {"variable": n.op("Exp", scores) if link in ("poisson", "gamma") else scores}
    both = n.affine(scores, [[-0.5, 0.5]]) if targets == 1 else scores
    return {"label": n.label(both, own.classes_), "probabilities": n.op("Softmax", both, axis=1)}


ENSEMBLES: dict[str, Callable[[Any, Nodes], Outputs | None]] = {
    "AdaBoostClassifier": boosted,
    "BaggingClassifier": bagged,
    "BaggingRegressor": bagged,
    "HistGradientBoostingClassifier": histograms,
    "HistGradientBoostingRegressor": histograms,
    "IsolationForest": isolation,
}
