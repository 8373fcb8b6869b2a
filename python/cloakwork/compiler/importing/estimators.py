"""Estimators of scikit-learn, by skl2onnx."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing.walking import from_onnx
from cloakwork.errors import ModelError


def from_estimator(model: Any, sample: Any = None) -> Graph:
    """The graph of a fitted estimator or pipeline; a sample [batch, features] tells its input."""
    try:
        from skl2onnx import to_onnx
    except ImportError as error:
        raise ModelError(
            "reading an estimator needs the skl2onnx package: pip install 'cloakwork[models]'"
        ) from error
    name = type(model).__name__
    width = getattr(model, "n_features_in_", None)
    if width is None and sample is not None:
        width = np.asarray(sample).shape[-1]
    if width is None:
        raise ModelError(f"{name}: expected a fitted estimator, found no number of features")
    model, classes = _by_pairs(model)
    options = {"zipmap": False} if hasattr(model, "predict_proba") else None
    try:
        with catch_warnings():
            # Of attributes of estimators that skl2onnx reads.
            simplefilter("ignore", FutureWarning)
            proto = to_onnx(
                model,
                np.zeros((1, int(width)), dtype=np.float32),
                options=None if options is None else {id(model): options},
                target_opset={"": 18, "ai.onnx.ml": 3},
            )
    except Exception as error:  # skl2onnx has its own classes for what it cannot convert
        raise ModelError(f"{name}: skl2onnx cannot convert it: {error}") from error
    graph = from_onnx(proto)
    return graph if classes == 0 else _one_vs_rest(graph, classes)


def _by_pairs(model: Any) -> tuple[Any, int]:
    """A support vector classifier with one score a pair of classes, and the number of classes.

    0, and the same model, for any other.  Scores of one class against the rest are made from votes,
    which cost the client nothing, and a server a comparison each.
    """
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    classes = len(getattr(last, "classes_", ()))
    one_vs_rest = getattr(last, "decision_function_shape", None) == "ovr"
    if not one_vs_rest or classes <= 2 or hasattr(last, "predict_proba"):
        return model, 0
    own = copy(last)
    own.decision_function_shape = "ovo"
    if last is model:
        return own, classes
    made = copy(model)
    made.steps = [*model.steps[:-1], (model.steps[-1][0], own)]
    return made, classes


def _one_vs_rest(graph: Graph, classes: int) -> Graph:
    tail = graph.client_tail
    label, scores = tail.results
    step = ClientStep("decision_function", "one_vs_rest", (scores,), {"classes": classes})
    made = ClientTail((label, step.output), (*tail.steps, step))
    return replace(graph, client_tail=made)
