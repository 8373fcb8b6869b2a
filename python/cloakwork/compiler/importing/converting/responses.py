"""Scores, probabilities and predictions of estimators within others, in terms of the server.

What an estimator is fitted to is computed encrypted: the client has results at the end alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.importing.converting.nodes import Nodes, Rows
from cloakwork.errors import ModelError

Floats = NDArray[np.float64]

__all__ = ["binary_map", "both", "predictions", "probabilities", "resolved", "scores"]

# Linear classifiers, by how their scores become probabilities.
_LINEAR = {
    "LinearDiscriminantAnalysis": True, "LinearSVC": False, "LogisticRegression": True,
    "LogisticRegressionCV": True, "PassiveAggressiveClassifier": False, "Perceptron": False,
    "RidgeClassifier": False, "RidgeClassifierCV": False, "SGDClassifier": False,
}  # fmt: skip
_TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier")
_FORESTS = ("ExtraTreesClassifier", "RandomForestClassifier")
# Those whose own conversion ends with the softmax of what `decision_function` gives.
_WITH_SOFTMAX = ("HistGradientBoostingClassifier", "QuadraticDiscriminantAnalysis")
# Nodes whose results are the client's.
_CLIENTS = {
    "Average", "LinearClassifier", "Normalizer", "OneVsRest", "SVMClassifier",
    "TreeEnsembleClassifier",
}  # fmt: skip
_ACTIVATIONS = {"identity": "", "logistic": "Sigmoid", "relu": "Relu", "tanh": "Tanh"}
_REMEDY = (
    "take linear models, trees, forests, networks, naive Bayes or support vector machines of two "
    "classes, or compile the estimators one by one"
)


def resolved(n: Nodes, own: Any, x: str, width: int) -> tuple[Any, str, int]:
    """The last estimator of a pipeline, a search or a frozen one, and its features of a value."""
    for attribute in ("best_estimator_", "estimator"):
        if type(own).__name__ == "FrozenEstimator" or attribute == "best_estimator_":
            own = getattr(own, attribute, own)
    if not hasattr(own, "steps"):
        return own, x, width
    before = [step for _, step in own.steps[:-1] if step is not None and step != "passthrough"]
    last = own.steps[-1][1]
    if before:
        (x,) = _one(n.part_of(own[:-1], x, width), own)
        width = int(last.n_features_in_)
    return resolved(n, last, x, width)


def _one(results: list[str], own: Any) -> list[str]:
    if len(results) != 1:
        raise ModelError(
            f"{type(own).__name__}: expected one result, found {len(results)}; {_REMEDY}"
        )
    return results


def _is_ours(own: Any, kinds: Iterable[str]) -> bool:
    return type(own).__module__.startswith("sklearn.") and type(own).__name__ in kinds


def scores(n: Nodes, own: Any, x: str, width: int) -> tuple[str, int] | None:
    """What `decision_function` gives, [batch, k], of two classes [batch, 1], and k.

    None where the estimator has none, or one that is not known here.
    """
    own, x, width = resolved(n, own, x, width)
    if _is_ours(own, _LINEAR):
        coefficients = np.atleast_2d(own.coef_)
        if len(coefficients) != _scores_of(own):
            return None
        bias = np.broadcast_to(np.ravel(own.intercept_), (len(coefficients),))
        return n.affine(x, coefficients.T, bias), len(coefficients)
    if _is_ours(own, ("NuSVC", "SVC")) and len(own.classes_) == 2:
        kernels = _kernels(n, own, x)
        dual = np.asarray(own.dual_coef_.todense() if own._sparse else own.dual_coef_)
        return None if kernels is None else (n.affine(kernels, dual.T, own.intercept_), 1)
    if not _is_ours(own, _WITH_SOFTMAX):
        return None
    (found,) = n.giver(n.part_of(own, x, width)[1], "Softmax").input
    count = len(own.classes_)
    return (n.affine(found, [[-1.0], [1.0]]), 1) if count == 2 else (found, count)


def _scores_of(own: Any) -> int:
    count = len(own.classes_)
    return 1 if count == 2 else count


def _kernels(n: Nodes, own: Any, x: str) -> str | None:
    vectors = own.support_vectors_
    if own._sparse:
        vectors = vectors.toarray()
    if own.kernel == "linear":
        return n.affine(x, vectors.T)
    return n.gaussians(x, vectors, float(own._gamma)) if own.kernel == "rbf" else None


def both(n: Nodes, share: str) -> str:
    """[batch, 2] of the second class's share [batch, 1]."""
    return n.affine(share, [[-1.0, 1.0]], [1.0, 0.0])


def probabilities(n: Nodes, own: Any, x: str, width: int) -> str:
    """What `predict_proba` gives, [batch, classes]; ModelError where that is not known here."""
    own, x, width = resolved(n, own, x, width)
    if not hasattr(own, "predict_proba") or isinstance(own.classes_, list):
        raise _unknown(own, "estimators with probabilities of one target")
    for kinds, make in _PROBABILITIES:
        if _is_ours(own, kinds):
            found = make(n, own, x, width)
            if found is None:
                raise _unknown(own, "estimators whose probabilities can be computed encrypted")
            return found
    first = len(n.nodes)
    results = n.part_of(own, x, width)
    made = {node.op_type for node in n.nodes[first:]}
    if len(results) != 2 or made & _CLIENTS:
        raise _unknown(own, "estimators whose probabilities can be computed encrypted")
    return results[1]


def _unknown(own: Any, expected: str) -> ModelError:
    return ModelError(f"{type(own).__name__}: expected {expected}, found another; {_REMEDY}")


def _linear(n: Nodes, own: Any, x: str, width: int) -> str | None:
    logistic = _LINEAR[type(own).__name__] or getattr(own, "loss", "") == "log_loss"
    found = scores(n, own, x, width)
    if not logistic or found is None:
        return None
    values, count = found
    if count == 1:
        return both(n, n.op("Sigmoid", values))
    # One against the rest would need a quotient.
    joint = type(own).__name__ != "SGDClassifier" and getattr(own, "solver", "") != "liblinear"
    ovr = getattr(own, "multi_class", "auto") == "ovr"
    return n.op("Softmax", values, axis=1) if joint and not ovr else None


def _forest(n: Nodes, own: Any, x: str, width: int) -> str | None:
    trees = getattr(own, "estimators_", [own])
    count, rows = len(own.classes_), Rows()
    for tree in (one.tree_ for one in trees):
        counts = tree.value[:, 0, :]
        shares = counts / counts.sum(axis=1, keepdims=True) / len(trees)
        kept = shares[:, 1:] if count == 2 else shares
        rows.add_fitted(tree, kept.__getitem__)
    if count < 2:
        return None
    found = n.trees(rows.lists, 1 if count == 2 else count, 0.0, x)
    return both(n, found) if count == 2 else found


def _network(n: Nodes, own: Any, x: str, width: int) -> str | None:
    kind = _ACTIVATIONS[own.activation]
    if own.out_activation_ == "logistic" and own.n_outputs_ > 1:
        return None
    for number, (weights, bias) in enumerate(zip(own.coefs_, own.intercepts_, strict=True), 1):
        x = n.affine(x, weights, bias)
        x = n.op(kind, x) if kind and number < len(own.coefs_) else x
    if own.n_outputs_ == 1:
        return both(n, n.op("Sigmoid", x))
    return n.op("Softmax", x, axis=1)


def _vote(n: Nodes, own: Any, x: str, width: int) -> str | None:
    if own.voting != "soft":
        return None
    given = own._weights_not_none
    each = np.ones(len(own.estimators_)) if given is None else np.asarray(given, np.float64)
    parts = [probabilities(n, part, x, width) for part in own.estimators_]
    weights = each / each.sum()
    return n.affine(n.joined(parts), np.kron(weights[:, np.newaxis], np.eye(len(own.classes_))))


_PROBABILITIES: list[tuple[Iterable[str], Callable[[Nodes, Any, str, int], str | None]]] = [
    (_LINEAR, _linear), ((*_TREES, *_FORESTS), _forest), (("MLPClassifier",), _network),
    (("VotingClassifier",), _vote),
]  # fmt: skip


def predictions(n: Nodes, own: Any, x: str, width: int) -> str:
    """What `predict` of a regressor gives, [batch, targets]."""
    if hasattr(own, "classes_"):
        raise _unknown(own, "regressors, or classifiers with probabilities or scores")
    (found,) = _one(n.part_of(own, x, width), own)
    return found


def binary_map(part: Any, width: int) -> tuple[Floats, float] | None:
    """The weights and the offset of a linear score of two classes; None for others."""
    weights = getattr(part, "coef_", ())
    if not hasattr(part, "decision_function") or np.shape(weights) != (1, width):
        return None
    return np.asarray(part.coef_[0], np.float64), float(np.ravel(part.intercept_)[0])
