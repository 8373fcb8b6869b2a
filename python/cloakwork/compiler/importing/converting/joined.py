"""Estimators made of others of any kind: the server computes each, the client joins them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cloakwork.compiler.importing.converting.nodes import Nodes
from cloakwork.compiler.importing.converting.responses import scores
from cloakwork.compiler.importing.converting.stacked import counted
from cloakwork.errors import ModelError

Outputs = dict[str, str]

__all__ = ["JOINED", "bag"]


def _mean(n: Nodes, shares: list[str], classes: Any, weights: Any = None) -> Outputs:
    """The weighted mean of the probabilities of several."""
    each = np.ones(len(shares)) if weights is None else np.asarray(weights, dtype=np.float64)
    found = n.own("Average", *shares, weights=each / each.sum())
    return {"label": n.label(found, classes), "probabilities": found}


def _shares(n: Nodes, parts: Iterable[tuple[Any, Any]], classes: Any) -> list[str] | None:
    """The probabilities of each (estimator, features); None where one has none of all classes."""
    found = []
    for estimator, features in parts:
        known = getattr(estimator, "classes_", ())
        if not hasattr(estimator, "predict_proba") or len(known) != len(classes):
            return None
        results = n.part(estimator, features)
        if len(results) != 2:
            return None
        found.append(results[1])
    return found


def bag(own: Any, n: Nodes) -> Outputs | None:
    """Each of some features."""
    parts = list(zip(own.estimators_, own.estimators_features_, strict=True))
    if not hasattr(own, "classes_"):
        values = [n.part(estimator, features) for estimator, features in parts]
        if any(len(results) != 1 for results in values):
            return None
        weights = np.full(len(parts), 1.0 / len(parts))
        return {"variable": n.own("Average", *(one for (one,) in values), weights=weights)}
    shares = _shares(n, parts, own.classes_)
    return None if shares is None else _mean(n, shares, own.classes_)


def vote(own: Any, n: Nodes) -> Outputs | None:
    """The mean of probabilities, or the label of most."""
    if own.voting != "soft":
        return counted(own, n)
    shares = _shares(n, ((one, None) for one in own.estimators_), own.classes_)
    weights = own._weights_not_none
    return None if shares is None else _mean(n, shares, own.classes_, weights)


def one_against_one(own: Any, n: Nodes) -> Outputs | None:
    """Scores of each pair of classes: the client counts who wins."""
    parts, classes = own.estimators_, own.classes_
    if own.pairwise_indices_ is not None:
        return None
    found = [scores(n, part, n.x, n.width) for part in parts]
    known = [one[0] for one in found if one is not None and one[1] == 1]
    if len(known) < len(parts):
        raise ModelError(
            "OneVsOneClassifier: expected linear classifiers or support vector machines, found "
            f"{type(parts[0]).__name__}; take one of them, or OneVsRestClassifier"
        )
    # A pair's score is that of its second class.
    joined = n.joined(known)
    if len(classes) == 2:
        return {"label": n.label(n.affine(joined, [[-1.0, 1.0]]), classes)}
    against = n.own("OneVsRest", n.affine(joined, -np.eye(len(parts))), classes=[len(classes)])
    return {"label": n.label(against, classes), "scores": against}


def several(own: Any, n: Nodes) -> Outputs | None:
    """A classifier for each target."""
    found = {}
    for number, estimator in enumerate(own.estimators_):
        results = n.part(estimator)
        if len(results) != 2:
            return None
        found[f"label {number}"], found[f"probabilities {number}"] = results
    return found


def regressors(own: Any, n: Nodes) -> Outputs | None:
    """A regressor for each target."""
    results = [n.part(estimator) for estimator in own.estimators_]
    if any(len(one) != 1 for one in results):
        return None
    return {"variable": n.joined([value for (value,) in results])}


def of_target(own: Any, n: Nodes) -> Outputs | None:
    """A regressor of a function of the target, whose inverse the client computes."""
    results = n.part(own.regressor_)
    made = own.transformer_
    inverse = getattr(made, "inverse_func", None)
    if len(results) != 1:
        return None
    (value,) = results
    if type(made).__name__ == "StandardScaler":
        value = n.op("Mul", value, n.constant(1.0 if made.scale_ is None else made.scale_))
        return {
            "variable": n.op("Add", value, n.constant(0.0 if made.mean_ is None else made.mean_))
        }
    known: dict[Any, Callable[[str], str]] = {
        None: lambda x: x,
        np.exp: lambda x: n.op("Exp", x),
        np.expm1: lambda x: n.op("Sub", n.op("Exp", x), n.constant([1.0])),
        np.square: lambda x: n.op("Mul", x, x),
        np.tanh: lambda x: n.op("Tanh", x),
    }
    if type(made).__name__ != "FunctionTransformer" or inverse not in known:
        return None
    return {"variable": known[inverse](value)}


def within(attribute: str) -> Callable[[Any, Nodes], Outputs]:
    """Results of an estimator from those of the fitted ones that it holds."""
    return lambda own, n: _results(n.part(getattr(own, attribute)))


def selected(own: Any, n: Nodes) -> Outputs:
    """An estimator of some of the features."""
    return _results(n.part(own.estimator_, np.flatnonzero(own.get_support())))


def _results(names: list[str]) -> Outputs:
    known = {1: ["variable"], 2: ["label", "probabilities"]}
    others = [f"result {number}" for number, _ in enumerate(names)]
    return dict(zip(known.get(len(names), others), names, strict=True))


JOINED: dict[str, Callable[[Any, Nodes], Outputs | None]] = {
    "FrozenEstimator": within("estimator"),
    "MultiOutputClassifier": several,
    "MultiOutputRegressor": regressors,
    "OneVsOneClassifier": one_against_one,
    "RFE": selected,
    "RFECV": selected,
    "SelfTrainingClassifier": within("estimator_"),
    "TransformedTargetRegressor": of_target,
    "VotingClassifier": vote,
}
