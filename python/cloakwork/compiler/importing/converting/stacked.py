"""Estimators that are fitted to results of others, and such that vote with weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.importing.converting.nodes import Nodes, Rows
from cloakwork.compiler.importing.converting.responses import (
    binary_map,
    check_labels,
    final_predictions,
    final_probabilities,
    is_logistic,
    predictions,
    probabilities,
    resolved,
    scores,
)
from cloakwork.compiler.importing.reading import ML_DOMAIN
from cloakwork.errors import ModelError

Floats = NDArray[np.float64]
Outputs = dict[str, str]

__all__ = ["STACKED", "boosted_scores", "counted"]


def _refused(own: Any, expected: str, found: Any, change: str) -> ModelError:
    return ModelError(f"{type(own).__name__}: expected {expected}, found {found}; {change}")


def stack(own: Any, n: Nodes) -> Outputs:
    """An estimator of what others give for the input, and perhaps of the input."""
    if isinstance(getattr(own, "classes_", None), list):
        raise _refused(own, "one target", "several", "fit a stack for each target")
    classes = getattr(own, "classes_", None)
    values, width = list[str](), 0
    parts = [part for part in own.estimators_ if not isinstance(part, str)]
    methods = [one for one in own.stack_method_ if one is not None]
    for part, method in zip(parts, methods, strict=True):
        value, count = _response(own, part, method, n)
        values.append(value)
        width += count
    if own.passthrough:
        values.append(n.x)
        width += n.width
    return _finished(own.final_estimator_, classes, n, n.joined(values), width)


def _response(own: Any, part: Any, method: str, n: Nodes) -> tuple[str, int]:
    """The values that the last estimator of a stack reads of another, and their number."""
    if method == "predict_proba":
        found, count = probabilities(n, part, n.x, n.width), len(own.classes_)
        return (n.affine(found, [[0.0], [1.0]]), 1) if count == 2 else (found, count)
    if method == "decision_function":
        known = scores(n, part, n.x, n.width)
        if known is None:
            raise _refused(
                own, "scores that are known", f"those of {type(part).__name__}",
                "take stack_method='predict_proba', or linear models",
            )  # fmt: skip
        return known
    if hasattr(part, "classes_"):
        raise _refused(
            own, "probabilities or scores of its classifiers", f"labels of {type(part).__name__}",
            "take stack_method='predict_proba' or 'decision_function'",
        )  # fmt: skip
    return predictions(n, part, n.x, n.width), 1


def _finished(last: Any, classes: Any, n: Nodes, x: str, width: int) -> Outputs:
    """The results of the last estimator of a stack, which has classes by their numbers."""
    if classes is None:
        return {"variable": final_predictions(n, last, x, width)}
    last, x, width = resolved(n, last, x, width)
    known, logistic = scores(n, last, x, width), is_logistic(last)
    if known is None or (hasattr(last, "predict_proba") and not logistic):
        check_labels(last)
        shares = final_probabilities(n, last, x, width)
        return {"label": n.label(shares, classes), "probabilities": shares}
    found, count = known
    if count == 1:
        found = n.affine(found, [[-0.5, 0.5]] if logistic else [[-1.0, 1.0]])
    label = n.label(found, classes)
    if not logistic:
        return {"label": label, "scores": found}
    return {"label": label, "probabilities": n.op("Softmax", found, axis=1)}


def calibrated(own: Any, n: Nodes) -> Outputs:
    """The mean of probabilities by Platt's sigmoids or a temperature, which the client computes."""
    classes = own.classes_
    found = [_calibrated(own, one, n) for one in own.calibrated_classifiers_]
    weights = np.full(len(found), 1.0 / len(found))
    shares = found[0] if len(found) == 1 else n.own("Average", *found, weights=weights)
    return {"label": n.label(shares, classes), "probabilities": shares}


def _calibrated(own: Any, one: Any, n: Nodes) -> str:
    """The probabilities of one fold."""
    part, count = one.estimator, len(one.classes)
    if one.method not in ("sigmoid", "temperature"):
        raise _refused(
            own, "calibration by 'sigmoid' or 'temperature'", repr(one.method),
            "whose steps are scores of training rows: take method='sigmoid'",
        )  # fmt: skip
    if len(part.classes_) != count:
        raise _refused(own, "all classes in each fold", len(part.classes_), "take fewer folds")
    known = scores(n, part, n.x, n.width)
    if known is None and hasattr(part, "decision_function"):
        raise _refused(
            own, "scores that are known", f"those of {type(part).__name__}",
            "take linear models, or estimators with probabilities alone",
        )  # fmt: skip
    if one.method == "temperature":
        if known is None:
            raise _refused(own, "scores for a temperature", "probabilities",
                           "take method='sigmoid'")  # fmt: skip
        beta = float(one.calibrators[0].beta_)
        matrix = beta * (np.array([[-1.0, 1.0]]) if known[1] == 1 else np.eye(known[1]))
        return n.op("Softmax", n.affine(known[0], matrix), axis=1)
    slopes = np.array([-float(each.a_) for each in one.calibrators])
    offsets = np.array([-float(each.b_) for each in one.calibrators])
    if known is None:
        if count == 2:
            # The first class has 1 - p: the sigmoid of the negative.
            slopes, offsets = np.repeat(slopes, 2), np.array([-slopes[0] - offsets[0], offsets[0]])
        logits = n.own("PerClass", _shares(part, n), times=slopes, plus=offsets)
    elif count == 2:
        logits = n.affine(known[0], slopes * [[-1.0, 1.0]], offsets * [-1.0, 1.0])
    else:
        logits = n.affine(known[0], np.diag(slopes), offsets)
    each = n.op("Sigmoid", logits)
    return each if count == 2 else n.op("Normalizer", each, domain=ML_DOMAIN, norm="L1")


def _shares(part: Any, n: Nodes) -> str:
    """Probabilities that the client may compute."""
    results = n.part(part) if hasattr(part, "predict_proba") else []
    if len(results) != 2:
        raise _refused(
            part, "probabilities, or scores that are known", "none",
            "take linear models, trees, forests, networks or naive Bayes",
        )  # fmt: skip
    return results[1]


def thresholded(own: Any, n: Nodes) -> Outputs:
    """The class of a threshold where its score is as large or larger."""
    part = getattr(own, "estimator_", None) or own.estimator
    method = own.response_method
    if method == "auto":
        method = "predict_proba" if hasattr(part, "predict_proba") else "decision_function"
    level, first = _threshold(own, method)
    if method == "decision_function":
        known = scores(n, part, n.x, n.width)
        if known is None or known[1] != 1:
            raise _refused(
                own, "scores that are known", f"those of {type(part).__name__}",
                "take response_method='predict_proba', or a linear model",
            )  # fmt: skip
        values = n.affine(known[0], [[-1.0, 1.0]])
        named = {"scores": values}
    else:
        values = _shares(part, n)
        named = {"probabilities": values}
    # The score of one class beside the threshold, of which the score wins where they are equal.
    times, plus = ([1.0, 0.0], [0.0, level]) if first else ([0.0, 1.0], [level, 0.0])
    both = n.own("PerClass", values, times=times, plus=plus)
    return {"label": n.label(both, own.classes_, select_last_index=int(not first)), **named}


def _threshold(own: Any, method: str) -> tuple[float, bool]:
    """The threshold, and whether it is one of the first class."""
    if hasattr(own, "best_threshold_"):
        level, chosen = float(own.best_threshold_), own._curve_scorer._get_pos_label()
    else:
        given, chosen = own.threshold, own.pos_label
        usual = 0.5 if method == "predict_proba" else 0.0
        level = usual if isinstance(given, str) else float(given)
    return level, chosen is not None and bool(own.classes_[0] == chosen)


def medians(own: Any, n: Nodes) -> Outputs:
    """The weighted median of predictions, all of which the client sees."""
    parts = own.estimators_
    if all(hasattr(part, "tree_") for part in parts):
        rows = Rows()
        for number, part in enumerate(parts):
            values = part.tree_.value[:, 0, 0].tolist()
            rows.add_fitted(part.tree_, [(number, value) for value in values].__getitem__)
        found = n.trees(rows.lists, len(parts), 0.0)
    else:
        found = n.joined([predictions(n, part, n.x, n.width) for part in parts])
    weights = np.asarray(own.estimator_weights_[: len(parts)], dtype=np.float64)
    return {"variable": n.own("WeightedMedian", found, weights=weights)}


def regressors_in_turn(own: Any, n: Nodes) -> Outputs:
    """Each regressor reads the input and the predictions of those before it."""
    values: list[str] = []
    folded = _folded(own, n.width)
    if folded is not None:
        return {"variable": n.affine(n.x, *folded)}
    predicted = predictions if len(own.estimators_) > 1 else final_predictions
    for part in own.estimators_:
        x = n.joined([n.x, *values])
        values.append(predicted(n, part, x, n.width + len(values)))
    places = np.argsort(np.asarray(own.order_))
    return {"variable": n.columns(places, n.joined(values)) if len(values) > 1 else values[0]}


def _folded(own: Any, width: int) -> tuple[Floats, Floats] | None:
    """(matrix, bias) of a chain of linear regressors; None for others."""
    count = len(own.estimators_)
    maps, bias = np.zeros((width, count)), np.zeros(count)
    for place, part in enumerate(own.estimators_):
        weights = np.ravel(getattr(part, "coef_", ()))
        rows = np.random.default_rng(place).normal(size=(8, width + place))
        offset = float(np.ravel(getattr(part, "intercept_", 0.0))[0])
        if weights.size != width + place or not np.allclose(
            np.ravel(part.predict(rows)), rows @ weights + offset
        ):
            return None
        maps[:, place] = weights[:width] + maps[:, :place] @ weights[width:]
        bias[place] = offset + bias[:place] @ weights[width:]
    order = np.argsort(np.asarray(own.order_))
    return maps[:, order], bias[order]


def classifiers_in_turn(own: Any, n: Nodes) -> Outputs:
    """Linear scores; the client adds what those before in the chain contribute."""
    parts, count = own.estimators_, len(own.estimators_)
    maps = [binary_map(part, n.width + place) for place, part in enumerate(parts)]
    read = getattr(own, "chain_method_", "predict")
    kinds = {"predict": "labels", "predict_proba": "probabilities", "decision_function": "scores"}
    logistic = all("LogisticRegression" in type(part).__name__ for part in parts)
    whole = all(np.array_equal(part.classes_, [0, 1]) for part in parts)
    linear = [one for one in maps if one is not None]
    if len(linear) < count or not whole or (read == "predict_proba" and not logistic):
        raise _refused(
            own, "linear classifiers of targets 0 and 1", sorted({type(p).__name__ for p in parts}),
            "take LogisticRegression, or MultiOutputClassifier, which has no chain",
        )  # fmt: skip
    couplings = np.zeros((count, count))
    for place, (weights, _) in enumerate(linear):
        couplings[place, :place] = weights[n.width :]
    matrix = np.stack([weights[: n.width] for weights, _ in linear], axis=1)
    scored = n.affine(n.x, matrix, [bias for _, bias in linear])
    name = "probabilities" if logistic else "scores"
    return {
        result: n.own("Chained", scored, weights=couplings, order=own.order_, read=kinds[read],
                      result=result)
        for result in ("labels", name)
    }  # fmt: skip


def counted(own: Any, n: Nodes) -> Outputs | None:
    """The label that most classifiers give, by the scores that each of them compares."""
    classes = np.arange(len(own.classes_))
    given = own._weights_not_none
    weights = np.ones(len(own.estimators_)) if given is None else np.asarray(given, np.float64)
    ballots = _ballots(own, own.estimators_, [classes] * len(own.estimators_), weights, n)
    return {"label": n.label(ballots, own.classes_)}


def _ballots(own: Any, parts: list[Any], known: list[Any], weights: Any, n: Nodes) -> str:
    values = []
    for part in parts:
        found = scores(n, part, n.x, n.width)
        if found is None:
            check_labels(part)
        values.append(_shares(part, n) if found is None else found[0])
    width = max(len(one) for one in known)
    table = np.full((len(known), width), -1.0)
    for row, one in zip(table, known, strict=True):
        row[: len(one)] = one
    return n.own("Ballots", *values, known=table, weights=weights)


def boosted_scores(own: Any, n: Nodes) -> Outputs | None:
    """AdaBoost of classifiers with scores: the client counts their labels with weights."""
    classes, count = own.classes_, len(own.classes_)
    if count < 2 or getattr(own, "algorithm", "SAMME") == "SAMME.R":
        return None
    parts = own.estimators_
    known = [np.searchsorted(classes, part.classes_) for part in parts]
    weights = np.asarray(own.estimator_weights_[: len(parts)], dtype=np.float64)
    shares = _ballots(own, parts, known, weights / weights.sum(), n)
    factor = 1.0 / (count - 1) ** 2
    logits = n.own("PerClass", shares, times=[count * factor] * count, plus=[-factor] * count)
    return {"label": n.label(logits, classes), "probabilities": n.op("Softmax", logits, axis=1)}


def halved(own: Any, n: Nodes) -> Outputs:
    """The cluster at the end of a way through halves: at each, that of the nearer centre."""
    moved = getattr(own, "_X_mean", 0.0)
    inner, left, right, maps = [own._bisecting_tree], list[int](), list[int](), list[Any]()
    if inner[0].left is None:
        raise _refused(own, "an estimator that reads its inputs", "one with the same result for "
                       "all", "fit it with two clusters or more")  # fmt: skip
    for node in inner:
        for side, child in ((left, node.left), (right, node.right)):
            if child.left is None:
                side.append(-1 - int(child.label))
            else:
                side.append(len(inner))
                inner.append(child)
        near, far = node.left.center + moved, node.right.center + moved
        maps.append((2.0 * (far - near), near @ near - far @ far))
    matrix = np.stack([weights for weights, _ in maps], axis=1)
    scored = n.affine(n.x, matrix, [offset for _, offset in maps])
    return {"label": n.own("Descended", scored, left=left, right=right)}


STACKED: dict[str, Callable[[Any, Nodes], Outputs | None]] = {
    "AdaBoostRegressor": medians,
    "BisectingKMeans": halved,
    "CalibratedClassifierCV": calibrated,
    "ClassifierChain": classifiers_in_turn,
    "FixedThresholdClassifier": thresholded,
    "RegressorChain": regressors_in_turn,
    "StackingClassifier": stack,
    "StackingRegressor": stack,
    "TunedThresholdClassifierCV": thresholded,
}
