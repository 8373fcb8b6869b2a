"""Estimators of scikit-learn, by skl2onnx, and by conversions of our own where it has none.

Models of XGBoost and LightGBM are read from their own JSON, whether scikit-learn's or a Booster.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from cloakwork.compiler.client_columns import ColumnNames, names_of
from cloakwork.compiler.client_head import ClientHead
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.client_texts import TextColumn, as_table, restored
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing.converting import OPSETS, chosen, converted
from cloakwork.compiler.importing.converting.boosting import (
    booster_predictions,
    booster_width,
    is_booster,
)
from cloakwork.compiler.importing.converting.categories import texts_of, with_texts
from cloakwork.compiler.importing.proving import Original, Rows
from cloakwork.compiler.importing.reading import shortened
from cloakwork.compiler.importing.walking import from_onnx
from cloakwork.errors import ModelError
from cloakwork.wording import installing

# What a result may stand for.
_METHODS = (
    "predict", "predict_proba", "decision_function", "transform", "score_samples",
    "predict_log_proba",
)  # fmt: skip
# What the results may be off: LIBSVM stops its iteration for probabilities early.
_FLOATS, _LIBSVM = 1e-3, 1e-2
_ADVICE = (
    "this estimator is converted to something else: take another version of skl2onnx, or give an "
    "ONNX file of your own"
)


def from_estimator(given: Any, sample: Any = None) -> tuple[Graph, Original]:
    """The graph of a fitted estimator or pipeline, or a Booster, and the estimator.

    A sample [batch, features] tells its input.
    """
    try:
        from skl2onnx import to_onnx
    except ImportError as error:
        raise ModelError(
            f"reading an estimator needs the skl2onnx package: {installing('models')}"
        ) from error
    name = type(given).__name__
    names = _names(given, sample)
    if names is not None:
        sample = names.in_order(sample, f"{name}: sample")
    width = booster_width(given) if is_booster(given) else getattr(given, "n_features_in_", None)
    if width is None and sample is not None:
        width = np.asarray(sample).shape[-1]
    if width is None:
        raise ModelError(f"{name}: expected a fitted estimator, found no number of features")
    model, classes = _by_pairs(chosen(given))
    last = model.steps[-1][1] if hasattr(model, "steps") else model

    def others(part: Any, features: int) -> Any:
        _check_numbers(part)
        try:
            with catch_warnings():
                # Of attributes of estimators that skl2onnx reads.
                simplefilter("ignore", FutureWarning)
                return to_onnx(
                    part,
                    np.zeros((1, features), dtype=np.float32),
                    options=_options(part),
                    target_opset=OPSETS,
                )
        except Exception as error:  # skl2onnx has its own classes for what it cannot convert
            if type(error).__name__ == "MissingShapeCalculator":
                kind = re.search(r"(\w+)'>", str(error))
                raise ModelError(
                    f"{name}: expected estimators with a conversion to ONNX, found "
                    f"{kind.group(1) if kind else 'one'} without: docs/coverage.md lists those "
                    "that compile; or give an ONNX file"
                ) from error
            said = str(error)
            if "'xgboost." in said or "'lightgbm." in said:
                raise ModelError(
                    f"{name}: expected models of XGBoost and LightGBM by themselves, at the end of "
                    "a Pipeline, or in a search, a bag, a soft vote or a MultiOutputRegressor; "
                    "compile those within it one by one"
                ) from error
            raise ModelError(f"{name}: skl2onnx cannot convert it: {shortened(error)}") from error

    graph = _without_fractions(from_onnx(converted(model, int(width), others, sample))[0])
    graph = _with_texts(graph, given, int(width), sample)
    if names is not None:
        graph = _with_names(graph, int(width), names)
    if classes:
        graph = _with_scores(graph, "one_vs_rest", {"classes": classes})
    elif _is_binary_machine(last):
        # ONNX gives the scores of two classes with the opposite sign.
        graph = _with_scores(graph, "affine", {"scale": -1.0})
    off = _LIBSVM if getattr(last, "probability", False) is True else _FLOATS
    return graph, Original(
        name, lambda rows: _results(given, sample, graph, rows), False, _ADVICE, off=off
    )


def _names(model: Any, sample: Any) -> ColumnNames | None:
    """The names of the columns that a model was fitted to; None for a model without."""
    first = _first(model)
    found = getattr(model, "feature_names_in_", None)
    found = getattr(first, "feature_names_in_", None) if found is None else found
    if is_booster(model):
        own = getattr(model, "feature_name", None)
        found = model.feature_names if own is None else own()
        if own is not None and found == [f"Column_{place}" for place, _ in enumerate(found)]:
            found = None
    if found is None:
        return None
    names, given = tuple(str(name) for name in found), names_of(sample)
    if given is not None and tuple(name.replace(" ", "_") for name in given) == names:
        # LightGBM has no spaces in names.
        names = given
    return ColumnNames(names, type(first).__name__ == "ColumnTransformer")


def _first(model: Any) -> Any:
    """The step of a model that reads its input: pipelines and searches hand on what they get."""
    while True:
        found = getattr(model, "best_estimator_", None)
        steps = [own for _, own in getattr(model, "steps", ()) if own not in (None, "passthrough")]
        if found is None and not steps:
            return model
        model = steps[0] if found is None else found


def _with_names(graph: Graph, width: int, names: ColumnNames) -> Graph:
    """With the names that a table's columns have."""
    head = graph.client_head or _plain_head(width)
    return replace(graph, client_head=replace(head, columns=dict.fromkeys(head.inputs, names)))


def _plain_head(width: int) -> ClientHead:
    """A head that hands on its input."""
    return ClientHead({"X": (width,)}, ClientTail(("X",)))


def _check_numbers(part: Any) -> None:
    """ModelError for encoders of texts, which skl2onnx refuses with the texts in its words."""
    found = with_texts(part)
    if found is not None:
        raise ModelError(
            f"{type(part).__name__}: expected encoders of texts in a ColumnTransformer, pipeline, "
            "search, vote or stack, or in linear models of several classes or targets, found "
            f"{type(found).__name__} within another estimator; put it in front of that, in a "
            "pipeline"
        )


def _without_fractions(graph: Graph) -> Graph:
    """With categories that are whole: ONNX's cast would take 1.5 for 1, an estimator does not."""
    head = graph.client_head
    if head is None:
        return graph
    steps = tuple(
        ClientStep(step.output, "whole", step.inputs)
        if step.kind == "cast" and "int" in step.parameters["to"]
        else step
        for step in head.steps.steps
    )
    return replace(graph, client_head=replace(head, steps=replace(head.steps, steps=steps)))


def _with_texts(graph: Graph, model: Any, width: int, sample: Any) -> Graph:
    """With the columns of texts, which have encoders, or which nothing reads."""
    found = texts_of(model, range(width))
    encoded = list(found)
    given = as_table([] if sample is None else sample)
    if given.dtype.kind in "OUS" and given.ndim == 2:
        for place, column in enumerate(given.T):
            if place not in found and not _is_numeric(column):
                found[place] = TextColumn((), strict=False)
    if not found:
        return graph
    head = graph.client_head or _plain_head(width)
    head = replace(head, texts=dict.fromkeys(head.inputs, found))
    row = _accepted_row(head, given)
    for place in found if row is not None else ():
        readers = head.readers(row, place)
        if place not in encoded and readers:
            raise ModelError(
                f"{type(model).__name__}: expected texts of column {place} that go to a "
                "OneHotEncoder, OrdinalEncoder or TargetEncoder first, found other readers of "
                "them; encode them in a ColumnTransformer at the beginning of the pipeline, "
                "outside of bags and calibrations"
            )
        if readers & {"choice", "is_missing", "missing"}:
            raise ModelError(
                f"{type(model).__name__}: expected no indicator of missing values in column "
                f"{place}, which holds texts; add a column of numbers for it before fit"
            )
    return replace(graph, client_head=head)


def _accepted_row(head: ClientHead, given: Any) -> Any:
    """One of the first rows that the client's steps accept; None if there is none."""
    for row in given[:8] if given.ndim == 2 else ():
        try:
            head.run(row)
        except ModelError:
            continue
        return row
    return None


def _restored(head: ClientHead, name: str, values: Any, sample: Any) -> Any:
    """The rows that became these numbers: with texts, unknown ones as in the sample."""
    texts = head.texts.get(name)
    if not texts:
        return values
    given = as_table(sample).astype(object)
    others = {place: own.unknown_of(given[:, place]) for place, own in texts.items()}
    return restored(values, texts, others)


def _is_numeric(column: Any) -> bool:
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _options(model: Any) -> dict[int, dict[str, bool]] | None:
    """Those of skl2onnx with which a result is an array of scores or probabilities."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if type(last).__name__ == "LinearSVC":
        return {id(last): {"raw_scores": True}}
    if hasattr(model, "predict_proba") and not type(last).__name__.endswith("Mixture"):
        return {id(model): {"zipmap": False}}
    return None


def _results(model: Any, sample: Any, graph: Graph, rows: Rows) -> list[Mapping[str, Any]]:
    """The result of each method, in the forms of skl2onnx: any may stand for any result."""
    values: Any = np.concatenate([own.reshape(len(own), -1) for own in rows.values()], axis=1)
    if graph.client_head is not None:
        values = _restored(graph.client_head, next(iter(rows)), values, sample)
    if hasattr(sample, "columns"):
        values = type(sample)(values, columns=sample.columns)
        values = values.infer_objects() if hasattr(values, "infer_objects") else values
    found: dict[str, Any] = {}
    if is_booster(model):
        return [_forms("predict", booster_predictions(model, values)) for _ in graph.results]
    for method in _METHODS:
        # Some have the logarithms of what they do not have.
        if method == "predict_log_proba" and not hasattr(model, "predict_proba"):
            continue
        if hasattr(model, method):
            found.update(_forms(method, getattr(model, method)(values)))
    return [found for _ in graph.results]


def _forms(method: str, given: Any) -> dict[str, Any]:
    """A method's values; of two classes also the scores of both, of several targets each one's."""
    if isinstance(given, list):
        parts = [np.asarray(one) for one in given]
        return {f"{method}()[{place}]": one for place, one in enumerate(parts)}
    if hasattr(given, "toarray"):
        given = given.toarray()
    values = np.asarray(given)
    found = {f"{method}()": values}
    if method == "predict" and values.ndim == 2:
        columns = enumerate(values.T)
        found |= {f"{method}()[:, {place}]": column for place, column in columns}
    if method == "decision_function" and values.ndim == 1:
        found["decision_function() of both classes"] = np.stack([-values, values], axis=1)
    return found


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


def _is_binary_machine(last: Any) -> bool:
    """A support vector classifier of two classes, without probabilities."""
    by_pairs = hasattr(last, "decision_function_shape") and not hasattr(last, "predict_proba")
    return by_pairs and len(last.classes_) == 2


def _with_scores(graph: Graph, kind: str, parameters: Mapping[str, Any]) -> Graph:
    """With another last result, which the client makes from that of skl2onnx."""
    tail = graph.client_tail
    label, scores = tail.results
    step = ClientStep("decision_function", kind, (scores,), parameters)
    made = ClientTail((label, step.output), (*tail.steps, step))
    return replace(graph, client_tail=made)
