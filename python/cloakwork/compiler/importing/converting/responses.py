"""Scores, probabilities and predictions of estimators within others, in terms of the server.

What an estimator is fitted to is computed encrypted: the client has results at the end alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.importing.converting.nodes import Nodes, Rows
from cloakwork.compiler.importing.heads import HEAD_OPS
from cloakwork.compiler.importing.tails import _OWN_KINDS, CLIENT_OPS
from cloakwork.compiler.importing.values import HANDLERS
from cloakwork.errors import ModelError

Floats = NDArray[np.float64]

__all__ = [
    "binary_map", "both", "check_labels", "final_predictions", "final_probabilities", "is_logistic",
    "predictions", "probabilities", "resolved", "scores",
]  # fmt: skip

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
# Nodes of ONNX of whose scores the client makes probabilities.
_CLASSIFIERS = ("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier")
# Those that give labels by a rule of their own, and estimators whose labels are those of others.
_MACHINES = ("NuSVC", "SVC")
_THRESHOLDS = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")
_DELEGATES = {
    "OneVsRestClassifier": "estimators_", "RFE": "estimator_", "RFECV": "estimator_",
    "SelfTrainingClassifier": "estimator_", "StackingClassifier": "final_estimator_",
}  # fmt: skip
_ACTIVATIONS = {"identity": "", "logistic": "Sigmoid", "relu": "Relu", "tanh": "Tanh"}
_REMEDY = (
    "take linear models, trees, forests, networks, naive Bayes or support vector machines of two "
    "classes, or compile the estimators one by one"
)


def resolved(n: Nodes, own: Any, x: str, width: int) -> tuple[Any, str, int]:
    """The last estimator of a pipeline, a search or a frozen one, and its features of a value."""
    own = _found(own)
    if not hasattr(own, "steps"):
        return own, x, width
    before = [step for _, step in own.steps[:-1] if step is not None and step != "passthrough"]
    last = own.steps[-1][1]
    if before:
        (x,) = _one(n.part_of(own[:-1], x, width), own)
        width = int(last.n_features_in_)
    return resolved(n, last, x, width)


def _found(own: Any) -> Any:
    """The estimator that a search found, or that is frozen; any other as it is."""
    for attribute in ("best_estimator_", "estimator"):
        if type(own).__name__ == "FrozenEstimator" or attribute == "best_estimator_":
            own = getattr(own, attribute, own)
    return own


def check_labels(own: Any) -> None:
    """ModelError where `predict` does not give the class of the largest probability."""
    own = _found(own)
    if hasattr(own, "steps"):
        return check_labels(own.steps[-1][1])
    if _is_ours(own, _DELEGATES):
        for part in np.atleast_1d(getattr(own, _DELEGATES[type(own).__name__])):
            check_labels(part)
    found = ""
    if _is_ours(own, _THRESHOLDS):
        found = "a threshold; take the estimator within it, or put the threshold around the whole"
    elif _is_ours(own, _MACHINES) and hasattr(own, "predict_proba"):
        found = (
            "labels by scores; take probability=False with two classes and kernel='linear' or "
            "'rbf', or a linear model"
        )
    if found:
        raise ModelError(
            f"{type(own).__name__}: expected an estimator within another whose label is the class "
            f"of the largest probability, found {found}"
        )
    return None


def _one(results: list[str], own: Any) -> list[str]:
    if len(results) != 1:
        raise ModelError(
            f"{type(own).__name__}: expected one result, found {len(results)}; {_REMEDY}"
        )
    return results


def _is_ours(own: Any, kinds: Iterable[str]) -> bool:
    return type(own).__module__.startswith("sklearn.") and type(own).__name__ in kinds


def scores(n: Nodes, own: Any, x: str, width: int) -> tuple[str, int] | None:
    """The result of `decision_function`, [batch, k], of two classes [batch, 1], and k.

    None where the estimator has none, or one that is not known here.
    """
    own, x, width = resolved(n, own, x, width)
    if _is_ours(own, _LINEAR):
        coefficients = np.atleast_2d(own.coef_)
        if len(coefficients) != _scores_of(own):
            return None
        bias = np.broadcast_to(np.ravel(own.intercept_), (len(coefficients),))
        return n.affine(x, coefficients.T, bias), len(coefficients)
    if _is_ours(own, _MACHINES) and len(own.classes_) == 2:
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
    """The result of `predict_proba`, [batch, classes], encrypted; ModelError if unknown."""
    own, x, width = resolved(n, own, x, width)
    first = len(n.nodes)
    found = final_probabilities(n, own, x, width)
    if _kind_of_client(n, first, x, found):
        raise _unknown(own, "estimators whose probabilities can be computed encrypted")
    return found


def final_probabilities(n: Nodes, own: Any, x: str, width: int) -> str:
    """As `probabilities`, which no node of the server reads: the client may compute them."""
    own, x, width = resolved(n, own, x, width)
    if not hasattr(own, "predict_proba") or isinstance(own.classes_, list):
        raise _unknown(own, "estimators with probabilities of one target")
    for kinds, make in _PROBABILITIES:
        if _is_ours(own, kinds):
            found = make(n, own, x, width)
            if found is None:
                raise _unknown(own, "estimators whose probabilities can be computed encrypted")
            return found
    results = n.part_of(own, x, width)
    if len(results) != 2:
        raise _unknown(own, "estimators whose probabilities can be computed encrypted")
    return results[1]


def _kind_of_client(n: Nodes, first: int, x: str, value: str) -> str:
    """The kind of a node after `first` on which a value depends and that only a client computes.

    Nothing if there is none.  Steps before encryption are the client's, and count as none.
    """
    constants = {"", *(tensor.name for tensor in n.tensors)}
    early = {n.x} & {x}
    for node in n.nodes[first:]:
        if node.op_type in HEAD_OPS and early.union(constants).issuperset(node.input):
            early.update(node.output)
    wanted = {value}
    for node in reversed(n.nodes[first:]):
        if wanted.isdisjoint(node.output) or not early.isdisjoint(node.output):
            continue
        kind = str(node.op_type)
        alone = kind in CLIENT_OPS and ("", kind) not in HANDLERS
        if alone or kind in _OWN_KINDS or kind in _CLASSIFIERS:
            return kind
        wanted.update(node.input)
    return ""


def _unknown(own: Any, expected: str, found: str = "another") -> ModelError:
    return ModelError(f"{type(own).__name__}: expected {expected}, found {found}; {_REMEDY}")


def is_logistic(own: Any) -> bool:
    """Whether probabilities are the softmax of linear scores, of two classes the sigmoid."""
    if not _is_ours(own, _LINEAR):
        return False
    name = type(own).__name__
    logistic = _LINEAR[name] or getattr(own, "loss", "") == "log_loss"
    # One against the rest would need a quotient.
    joint = name != "SGDClassifier" and getattr(own, "solver", "") != "liblinear"
    joint = joint and getattr(own, "multi_class", "auto") != "ovr"
    return logistic and (joint or len(own.classes_) == 2)


def _linear(n: Nodes, own: Any, x: str, width: int) -> str | None:
    found = scores(n, own, x, width)
    if not is_logistic(own) or found is None:
        return None
    values, count = found
    return both(n, n.op("Sigmoid", values)) if count == 1 else n.op("Softmax", values, axis=1)


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
    """The result of a regressor's `predict`, [batch, targets], encrypted."""
    first = len(n.nodes)
    found = final_predictions(n, own, x, width)
    if kind := _kind_of_client(n, first, x, found):
        raise _unknown(
            own, "regressors whose predictions can be computed encrypted", f"{kind} of a client"
        )
    return found


def final_predictions(n: Nodes, own: Any, x: str, width: int) -> str:
    """As `predictions`, which no node of the server reads: the client may compute them."""
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
