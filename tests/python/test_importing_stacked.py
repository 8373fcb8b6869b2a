"""Estimators fitted to others, of votes, chains and columns, against scikit-learn's own methods."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.client_ensembles import ENSEMBLE_KINDS
from cloakwork.compiler.client_features import FEATURE_KINDS
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing import from_model
from cloakwork.errors import ModelError, OutsideError

pytest.importorskip("skl2onnx")
from sklearn import (
    calibration,
    cluster,
    compose,
    ensemble,
    frozen,
    gaussian_process,
    impute,
    kernel_approximation,
    linear_model,
    model_selection,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.feature_extraction.text import TfidfTransformer

SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
DRAW = np.random.default_rng(0)
CLASSES = DRAW.integers(0, 3, 150)
X = DRAW.normal(size=(150, 4)) + 1.5 * np.eye(3, 4)[CLASSES]
NAMED = np.array(["ash", "birch", "cedar"])[CLASSES]
TWO = CLASSES == 1
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
SEVERAL = np.stack([CLASSES == 0, CLASSES == 2, CLASSES == 1], axis=1).astype(int)
COUNTS = DRAW.integers(0, 4, (150, 4)).astype(np.float64)
HOLES = X.copy()
HOLES[[3, 7], [0, 2]] = np.nan
# Queries that no model has seen.
QUERIES = np.random.default_rng(9).normal(size=(40, 4)) + np.eye(3, 4)[np.arange(40) % 3]

Logistic, Ridge = linear_model.LogisticRegression, linear_model.Ridge
Bayes, Linear = naive_bayes.GaussianNB, svm.LinearSVC
Stack, Calibrated = ensemble.StackingClassifier, calibration.CalibratedClassifierCV
Fixed, Vote = model_selection.FixedThresholdClassifier, ensemble.VotingClassifier
SHORT = tree.DecisionTreeClassifier(max_depth=2)
FOREST = ensemble.RandomForestClassifier(3, max_depth=2, random_state=0)
BOOSTED = ensemble.HistGradientBoostingClassifier(max_iter=2, max_depth=2)
NETWORK = neural_network.MLPClassifier((4,), random_state=0)


def chain(*steps: Any) -> Any:
    return pipeline.make_pipeline(preprocessing.StandardScaler(), *steps)


# Those of linear parts are encrypted; others, of more levels, are compared as graphs.
ENCRYPTED: dict[str, tuple[Any, Any]] = {
    "stack of two classes": (
        Stack([("a", Logistic()), ("b", linear_model.RidgeClassifier())], cv=2), TWO),
    "stack of regressors": (ensemble.StackingRegressor(
        [("a", Ridge()), ("b", chain(preprocessing.PolynomialFeatures(2), Ridge()))], cv=2,
        passthrough=True), Y),
    "stack with its input": (Stack([("a", Linear()), ("b", Linear(C=0.1))], cv=2,
                                   passthrough=True), NAMED),
    "stack under a pipeline": (Stack([("a", Logistic()), ("b", Linear())], cv=2,
                                     final_estimator=chain(Logistic())), TWO),
    "calibrated": (Calibrated(Linear(), cv=2), NAMED),
    "calibrated, two": (Calibrated(Linear(), cv=2), TWO),
    "calibrated probabilities": (Calibrated(Bayes(), cv=2), NAMED),
    "calibrated probabilities of two": (Calibrated(Bayes(), cv=2), TWO),
    "calibrated once": (Calibrated(chain(Logistic()), cv=2, ensemble=False), NAMED),
    "threshold": (Fixed(Logistic(), threshold=0.3), TWO),
    "threshold of the first class": (Fixed(Logistic(), threshold=0.3, pos_label=False), TWO),
    "threshold of scores": (Fixed(Linear(), threshold=0.3), TWO),
    "tuned threshold": (model_selection.TunedThresholdClassifierCV(Logistic(), cv=2), TWO),
    "medians": (ensemble.AdaBoostRegressor(Ridge(), n_estimators=5, random_state=0), Y),
    "boosted linear models": (ensemble.AdaBoostClassifier(Logistic(), n_estimators=3), NAMED),
    "boosted bayes": (ensemble.AdaBoostClassifier(Bayes(), n_estimators=3), TWO),
    "regressors in turn": (multioutput.RegressorChain(Ridge(), order=[2, 0, 1]),
                           np.stack([Y, X[:, 0], X[:, 1] ** 2], axis=1)),
    "classifiers in turn": (multioutput.ClassifierChain(Logistic(), order=[2, 0, 1]), SEVERAL),
    "probabilities in turn": (
        multioutput.ClassifierChain(Logistic(), chain_method="predict_proba"), SEVERAL),
    "scores in turn": (multioutput.ClassifierChain(Linear()), SEVERAL),
    "most votes": (Vote([("a", Logistic()), ("b", Bayes()), ("c", Linear())], weights=[1, 2, 2]),
                   NAMED),
    "several labels": (multiclass.OneVsRestClassifier(Logistic()), SEVERAL),
    "several scores": (multiclass.OneVsRestClassifier(Linear()), SEVERAL),
    "pairs of machines": (multiclass.OneVsOneClassifier(svm.SVC(kernel="linear")), NAMED),
    "halves": (cluster.BisectingKMeans(5, random_state=0), None),
}  # fmt: skip
GRAPHS: dict[str, tuple[Any, Any]] = {
    "stack of three": (Stack([("a", Logistic()), ("b", Bayes())], cv=2), NAMED),
    "stack of trees": (Stack([("a", SHORT), ("b", FOREST)], cv=2), TWO),
    "stack of networks": (Stack(
        [("a", chain(NETWORK)), ("b", "drop"), ("c", Vote([("a", Logistic()), ("b", Bayes())],
                                                          voting="soft"))], cv=2), NAMED),
    "stack of machines": (Stack([("a", svm.SVC()), ("b", svm.SVC(kernel="linear"))], cv=2), TWO),
    "stack under a tree": (Stack([("a", Linear()), ("b", Linear(C=0.1))],
                                 final_estimator=SHORT, cv=2), NAMED),
    "stack under a machine": (Stack([("a", Logistic()), ("b", SHORT)],
                                    final_estimator=Linear(), cv=2), NAMED),
    "stack under a bag": (Stack([("a", Logistic()), ("b", Linear())], cv=2,
                                final_estimator=ensemble.BaggingClassifier(Logistic(), 2)), TWO),
    "stack under medians": (ensemble.StackingRegressor([("a", Ridge())], cv=2,
        final_estimator=ensemble.AdaBoostRegressor(Ridge(), n_estimators=2, random_state=0)), Y),
    "stack of a threshold": (Stack([("a", Fixed(Bayes(), threshold=0.3))], cv=2), TWO),
    "stack of rows of length one": (ensemble.StackingRegressor(
        [("a", pipeline.make_pipeline(preprocessing.Normalizer(), Ridge()))], cv=2), Y),
    "chain of one": (multioutput.RegressorChain(
        ensemble.AdaBoostRegressor(Ridge(), n_estimators=2, random_state=0)), Y[:, np.newaxis]),
    "stack of a search": (Stack([("a", model_selection.GridSearchCV(Logistic(), {"C": [1, 2]}))],
                                cv=2), TWO),
    "calibrated forest": (Calibrated(FOREST, cv=2), NAMED),
    "calibrated boosting": (Calibrated(BOOSTED, cv=2), TWO),
    "medians of trees": (ensemble.AdaBoostRegressor(n_estimators=3, random_state=0), Y),
    "pairs of Gaussian machines": (multiclass.OneVsOneClassifier(svm.SVC()), NAMED),
    "chain of trees": (multioutput.RegressorChain(tree.DecisionTreeRegressor(max_depth=2)),
                       np.stack([Y, X[:, 0]], axis=1)),
    "votes of trees": (Vote([("a", Logistic()), ("b", SHORT), ("c", Linear())]), TWO),
}  # fmt: skip
if hasattr(calibration, "_TemperatureScaling"):
    ENCRYPTED["temperature"] = (Calibrated(Linear(), cv=2, method="temperature"), NAMED)
    ENCRYPTED["temperature, two"] = (Calibrated(Logistic(), cv=2, method="temperature"), TWO)
METHODS = {"label": "predict", "labels": "predict", "variable": "predict",
           "probabilities": "predict_proba", "scores": "decision_function"}  # fmt: skip


def fitted(estimator: Any, target: Any, x: Any = X) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(x, target)


def check(found: Any, estimator: Any, rows: Any, off: float) -> None:
    """Each result is that of its own method; labels exactly."""
    one = "variable" if np.asarray(found).dtype.kind == "f" else "label"
    for name, values in (found if isinstance(found, dict) else {one: found}).items():
        wanted = np.asarray(getattr(estimator, METHODS[name])(rows))
        own = np.asarray(values).reshape(len(rows), -1)
        if name.startswith("label"):
            assert np.array_equal(own, wanted.reshape(len(rows), -1)), name
            continue
        if wanted.ndim == 1:
            # Of two classes both have a score.
            own, wanted = own[:, -1:], wanted[:, np.newaxis]
        np.testing.assert_allclose(own, wanted, atol=off * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("name", ENCRYPTED)
def test_encrypted_results_are_those_of_the_estimator(name: str) -> None:
    estimator = fitted(*ENCRYPTED[name])
    model = fhe.compile(estimator, X, precision=0.01, **SMALL)
    client, server = model.split()
    with client.keygen():
        for row in QUERIES[:5]:
            found = client.decrypt(server.run(client.encrypt(row)))
            check(found, estimator, row[np.newaxis], 0.01)


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_compute_what_the_estimator_does(name: str) -> None:
    estimator = fitted(*GRAPHS[name])
    check(from_model(estimator, X).predict(QUERIES), estimator, QUERIES, 2e-3)


@pytest.mark.parametrize("last", [
    Logistic(), chain(Logistic()), model_selection.GridSearchCV(Logistic(), {"C": [1]}),
])  # fmt: skip
def test_probabilities_of_a_logistic_last_estimator_are_left_to_the_client(last: Any) -> None:
    stack = Stack([("a", Linear()), ("b", Linear(C=0.1))], final_estimator=last, cv=2)
    graph = from_model(fitted(stack, TWO), X)
    assert {step.kind for step in graph.client_tail.steps} == {"argmax", "labels", "softmax"}
    assert {type(node).__name__ for node in graph.nodes} == {"Affine", "Input"}


@pytest.mark.parametrize("chosen", [None, 0, 1])
@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
def test_a_score_that_equals_the_threshold_has_its_class(method: str, chosen: int | None) -> None:
    if method == "predict_proba":
        # Leaves with the shares 1/2, 1 and 0 of the second class.
        x = np.repeat([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], 10, axis=0)
        target = np.array([0, 1] * 5 + [1] * 10 + [0] * 10)
        part: Any = tree.DecisionTreeClassifier(max_depth=2).fit(x, target)
        level = 0.5
    else:
        x, target = np.eye(2)[[0, 1, 0, 1]] * [[1.0], [1.0], [2.0], [2.0]], np.array([0, 1, 0, 1])
        part = Linear().fit(x, target)
        part.coef_, part.intercept_ = np.array([[-0.5, 0.5]]), np.zeros(1)
        level = -0.5 if chosen is None else 0.5
    estimator = Fixed(frozen.FrozenEstimator(part), threshold=level, pos_label=chosen,
                      response_method=method).fit(x, target)  # fmt: skip
    graph = from_model(estimator, x)
    found = graph.finish(graph.run(graph.prepare(x)))["label"]
    scores = getattr(part, method)(x)
    scores = scores[:, 0 if chosen == 0 else 1] if scores.ndim == 2 else scores
    assert (np.abs(scores) == abs(level)).any()
    assert np.array_equal(found, estimator.predict(x))


def test_calibrated_classifiers_take_one_level_and_the_client_has_the_rest() -> None:
    graph = from_model(fitted(Calibrated(Linear(), cv=3), NAMED), X)
    kinds = {step.kind for step in graph.client_tail.steps}
    assert kinds == {"sigmoid", "normalize", "average", "argmax", "labels"}
    assert len([node for node in graph.nodes if type(node).__name__ != "Input"]) <= 3


def test_a_forest_within_a_stack_is_right_or_refused() -> None:
    estimator = fitted(*GRAPHS["stack of trees"])
    client, server = fhe.compile(estimator, X, precision=0.05, **SMALL).split()
    told = 0
    with client.keygen():
        for row in QUERIES[:6]:
            try:
                found = client.decrypt(server.run(client.encrypt(row)))
            except OutsideError:
                told += 1
                continue
            check({"probabilities": found["probabilities"]}, estimator, row[np.newaxis], 0.1)
    assert told < 6


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "isotonic": (Calibrated(Linear(), cv=2, method="isotonic"), NAMED,
                 "found 'isotonic'.*take method='sigmoid'"),
    "scores of boosting": (
        Calibrated(ensemble.GradientBoostingClassifier(n_estimators=2), cv=2), NAMED,
        "those of GradientBoostingClassifier; take linear models"),
    "labels in a stack": (Stack([("a", Logistic())], cv=2, stack_method="predict"), NAMED,
                          "labels of LogisticRegression; take stack_method='predict_proba'"),
    "machines of three": (Stack([("a", svm.SVC())], cv=2), NAMED,
                          "those of SVC; take stack_method='predict_proba'"),
    "neighbours in a stack": (Stack([("a", neighbors.KNeighborsClassifier())], cv=2), NAMED,
                              "KNeighborsClassifier: expected an estimator whose results do not"),
    "one against the rest": (
        Stack([("a", linear_model.SGDClassifier(loss="log_loss", random_state=0))], cv=2), NAMED,
        "SGDClassifier: expected estimators whose probabilities.*take linear models"),
    "labels of a machine": (Vote([("a", svm.SVC(probability=True, kernel="poly"))]), TWO,
                            "^SVC: .*found labels by scores; take probability=False"),
    "labels of machines of three": (Vote([("a", chain(svm.NuSVC(probability=True, nu=0.3)))]),
                                    NAMED, "^NuSVC: .*take probability=False"),
    "boosted machines": (
        ensemble.AdaBoostClassifier(svm.SVC(probability=True, kernel="poly"), n_estimators=2), TWO,
        "^SVC: .*take probability=False"),
    "a last machine": (Stack([("a", Logistic())], final_estimator=svm.SVC(probability=True), cv=2),
                       TWO, "^SVC: .*take probability=False"),
    "a vote with a threshold": (Vote([("a", Fixed(Bayes(), threshold=0.49))]), TWO,
                                "found a threshold; take the estimator within it"),
    "a vote of a stack with a threshold": (
        Vote([("a", Stack([("a", Logistic())], cv=2,
                          final_estimator=Fixed(Bayes(), threshold=0.49)))]), TWO,
        "^FixedThresholdClassifier: .*put the threshold around the whole"),
    "a last threshold": (
        Stack([("a", Logistic())], final_estimator=Fixed(Bayes(), threshold=0.49), cv=2), TWO,
        "^FixedThresholdClassifier: .*put the threshold around the whole"),
    "a last tuned threshold": (
        Stack([("a", Logistic())], cv=2, final_estimator=chain(
            model_selection.TunedThresholdClassifierCV(Bayes(), cv=2))), TWO,
        "^TunedThresholdClassifierCV: .*put the threshold around the whole"),
    "one cluster": (cluster.BisectingKMeans(1), None,
                    "the same result for all; fit it with two clusters"),
    "medians in a stack": (
        ensemble.StackingRegressor([("a", ensemble.AdaBoostRegressor(Ridge()))], cv=2), Y,
        "^AdaBoostRegressor: .*encrypted, found WeightedMedian of a client; take linear models"),
    "a bag under medians": (
        ensemble.AdaBoostRegressor(ensemble.BaggingRegressor(Ridge(), 2), n_estimators=2), Y,
        "^BaggingRegressor: .*found Average of a client; take linear models"),
    "boosted votes in a stack": (
        Stack([("a", ensemble.AdaBoostClassifier(Logistic(), n_estimators=2))], cv=2), TWO,
        "^AdaBoostClassifier: expected estimators whose probabilities.*take linear models"),
    "several targets": (Stack([("a", SHORT)], final_estimator=SHORT, cv=2), SEVERAL,
                        "expected one target, found several"),
    "a process of points": (gaussian_process.GaussianProcessRegressor(
        gaussian_process.kernels.RBF(1e-5), optimizer=None), Y, "found 1e-05.*add a WhiteKernel"),
    "pairs of trees": (multiclass.OneVsOneClassifier(SHORT), NAMED,
                       "found DecisionTreeClassifier; take one of them"),
    "trees in turn": (multioutput.ClassifierChain(SHORT), SEVERAL,
                      "found .*DecisionTreeClassifier.*take LogisticRegression"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_variants_without_a_formula_are_refused_with_a_remedy(name: str) -> None:
    estimator, target, words = REFUSED[name]
    with pytest.raises(ModelError, match=words) as refused:
        from_model(fitted(estimator, target), X)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("estimator", [
    Stack([("a", Logistic())]), Calibrated(Linear()), Fixed(Logistic()),
    multioutput.ClassifierChain(Logistic()), multioutput.RegressorChain(Ridge()),
    ensemble.AdaBoostRegressor(), cluster.BisectingKMeans(), TfidfTransformer(),
    preprocessing.OneHotEncoder(), impute.SimpleImputer(),
    compose.ColumnTransformer([("a", preprocessing.StandardScaler(), [0])]),
], ids=lambda one: type(one).__name__)  # fmt: skip
def test_unfitted_estimators_are_refused(estimator: Any) -> None:
    with pytest.raises(ModelError, match="expected a fitted"):
        from_model(estimator, X)


Columns, Union = compose.ColumnTransformer, pipeline.FeatureUnion
BINS = preprocessing.KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")
STEPS: dict[str, tuple[Any, Any]] = {
    "length one": (preprocessing.Normalizer(), X),
    "largest one": (preprocessing.Normalizer("max"), X),
    "filled": (impute.SimpleImputer(), HOLES),
    "filled and marked": (impute.SimpleImputer(add_indicator=True, strategy="median"), HOLES),
    "filled zeros": (impute.SimpleImputer(missing_values=0.0), COUNTS),
    "marked": (impute.MissingIndicator(), HOLES),
    "all marked": (impute.MissingIndicator(features="all"), HOLES),
    "weighted columns": (compose.ColumnTransformer(
        [("a", preprocessing.StandardScaler(), [0]), ("b", "passthrough", [1])],
        transformer_weights={"a": 3.0, "b": 0.5}), X),
    "rare terms": (TfidfTransformer(), COUNTS),
    "logarithms of terms": (TfidfTransformer(sublinear_tf=True, norm="l1"), COUNTS),
    "terms": (TfidfTransformer(use_idf=False, norm=None), COUNTS),
    "additive": (kernel_approximation.AdditiveChi2Sampler(), COUNTS),
    "additive, three": (kernel_approximation.AdditiveChi2Sampler(sample_steps=3), COUNTS),
    "skewed": (kernel_approximation.SkewedChi2Sampler(n_components=6, random_state=0), np.abs(X)),
    "sketches": (kernel_approximation.PolynomialCountSketch(n_components=8, random_state=0), X),
    "odd sketches": (kernel_approximation.PolynomialCountSketch(
        degree=3, n_components=7, coef0=1.5, gamma=0.3, random_state=0), X),
    "leaves": (ensemble.RandomTreesEmbedding(n_estimators=3, max_depth=2, random_state=0), X),
    "targets": (preprocessing.TargetEncoder(random_state=0), COUNTS),
    "unknown ordinals": (preprocessing.OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1), COUNTS),
    "rare categories": (preprocessing.OneHotEncoder(
        min_frequency=40, drop="first", handle_unknown="ignore"), COUNTS),
    "unknown are rare": (preprocessing.OneHotEncoder(
        max_categories=2, handle_unknown="infrequent_if_exist"), COUNTS),
    "missing is a category": (preprocessing.OneHotEncoder(),
                              np.where(COUNTS == 1, np.nan, COUNTS)),
    "columns": (Columns([("a", pipeline.make_pipeline(impute.SimpleImputer(),
                                                      preprocessing.StandardScaler()), [0, 2]),
                         ("b", BINS, [1]), ("c", "drop", [3])]), HOLES),
    "columns that pass": (Columns([("a", impute.SimpleImputer(), [0, 2])],
                                  remainder="passthrough"), HOLES),
    "union": (Union([("a", preprocessing.StandardScaler()), ("b", preprocessing.Normalizer()),
                     ("c", "passthrough"), ("d", "drop")], transformer_weights={"a": 2.0}), X),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_steps_before_encryption_are_those_of_the_estimator(name: str) -> None:
    step, x = STEPS[name]
    step = fitted(step, CLASSES, x)
    rows = np.concatenate([x[:30], x[np.random.default_rng(4).permutation(150)[:30]]])
    wanted = step.transform(rows)
    wanted = wanted.toarray() if hasattr(wanted, "toarray") else np.asarray(wanted, np.float64)
    np.testing.assert_allclose(from_model(step, x).predict(rows)["features"], wanted, atol=1e-6)
    whole = fitted(pipeline.make_pipeline(step, Ridge()), Y, x)
    found = from_model(whole, x).predict(rows)["variable"]
    np.testing.assert_allclose(np.ravel(found), whole.predict(rows), atol=1e-3)


@pytest.mark.parametrize("name", ["columns", "unknown are rare", "odd sketches", "logarithms of "
                                  "terms", "targets", "filled and marked"])  # fmt: skip
def test_steps_before_encryption_are_encrypted(name: str) -> None:
    step, x = STEPS[name]
    whole = fitted(pipeline.make_pipeline(step, Ridge()), CLASSES * 1.0, x)
    client, server = fhe.compile(whole, x, **SMALL).split()
    with client.keygen():
        for row in x[2:6]:
            found = client.decrypt(server.run(client.encrypt(row)))
            assert np.abs(found - whole.predict(row[np.newaxis])).max() < 0.01


def test_the_means_of_targets_stay_on_the_server() -> None:
    encoder = preprocessing.TargetEncoder(random_state=0)
    whole = fitted(pipeline.make_pipeline(encoder, Ridge()), Y, COUNTS)
    description = fhe.compile(whole, COUNTS, **SMALL).description
    told, head = str(description.to_json()), description.head
    assert head is not None
    assert {step.kind for step in head.steps.steps}.isdisjoint({"linear", "mapped"})
    means = np.concatenate(whole[0].encodings_)
    for kept in (means, means - whole[0].target_mean_):
        assert not any(f"{one:.9}"[:9] in told for one in kept)


def test_what_steps_do_not_take_is_refused() -> None:
    strict = from_model(fitted(impute.MissingIndicator(), None, HOLES), HOLES)
    row = X[0].copy()
    row[1] = np.nan
    with pytest.raises(ModelError, match=r"nothing missing but in the columns \[0, 2\]"):
        strict.predict(row)
    additive = fitted(kernel_approximation.AdditiveChi2Sampler(), None, COUNTS)
    with pytest.raises(ModelError, match="expected values of 0 or more"):
        from_model(additive, COUNTS).predict([-1.0, 0.0, 1.0, 2.0])
    counts = fitted(TfidfTransformer(sublinear_tf=True), None, COUNTS)
    with pytest.raises(ModelError, match="expected counts of 0 or more"):
        from_model(counts, COUNTS).predict([-1.0, 0.0, 1.0, 2.0])
    passing = fitted(STEPS["columns that pass"][0], None, HOLES)
    row[1] = np.nan
    graph = from_model(passing, HOLES)
    with pytest.raises(ModelError, match=r"found nan|NaN"):
        graph.predict(row)


@pytest.mark.parametrize(("step", "x", "words"), [
    (preprocessing.OrdinalEncoder(min_frequency=40), COUNTS, "rare ones in groups; fit it without"),
    (preprocessing.OrdinalEncoder(), np.where(COUNTS == 1, np.nan, COUNTS), "put a SimpleImputer"),
    (preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
     COUNTS, "set one before fit"),
    (impute.SimpleImputer(missing_values=0.0, add_indicator=True), COUNTS, "give NaN for what"),
    (impute.MissingIndicator(missing_values=0), COUNTS, "give NaN for what is missing"),
    (impute.MissingIndicator(), X, "found none; fit it with features='all'"),
    (Columns([("a", "drop", [0])], remainder="drop"), COUNTS, "keeps a column"),
])  # fmt: skip
def test_options_of_steps_without_a_formula_are_refused(step: Any, x: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        from_model(fitted(step, CLASSES, x), x)


def test_steps_of_ensembles_refuse_parameters_that_do_not_fit() -> None:
    """Of a file: as errors of the step, never others."""
    x = np.array([[0.5, -1.0], [2.0, 1.0]])
    for kind, wrong in (
        ("ballots", {"known": [[0, 1]], "weights": [1.0, 2.0]}),
        ("ballots", {"known": [[0, -1]], "weights": [1.0]}),
        ("ballots", {"known": [[0, 1, 2]], "weights": [1.0]}),
        ("ballots", {"known": [], "weights": []}),
        ("weighted_median", {"weights": [1.0]}),
        ("chained", {"weights": [[0.0]], "order": [0], "read": "labels", "result": "labels"}),
        ("chained", {"weights": np.eye(2), "order": [0, 0], "read": "labels", "result": "labels"}),
        ("chained", {"weights": np.eye(2), "order": [0, 1], "read": "x", "result": "labels"}),
        ("descended", {"left": [0, -1], "right": [-1, -2]}),
        ("descended", {"left": [2, -1], "right": [-1, -2]}),
        ("descended", {"left": [], "right": []}),
    ):
        with pytest.raises((ValueError, IndexError)):
            ENSEMBLE_KINDS[kind](x, **wrong)
    for kind, wrong in (
        ("chi_squared", {"steps": 0, "interval": 0.5}),
        ("chi_squared", {"steps": 1 << 40, "interval": 0.5}),
        ("of_length_one", {"norm": "l3"}),
        ("weighted_counts", {"weights": [1.0, 2.0, 3.0]}),
        ("missing", {"columns": [5]}),
        ("columns", {"columns": [5]}),
    ):
        with pytest.raises((ValueError, IndexError)):
            FEATURE_KINDS[kind](np.abs(x), **wrong)


def test_a_way_down_and_a_median_by_hand() -> None:
    down = ENSEMBLE_KINDS["descended"]
    scores = np.array([[-1.0, 0.5], [1.0, -2.0], [-1.0, -0.5]])
    assert down(scores, left=[1, -1], right=[-3, -2]).tolist() == [1, 2, 0]
    median = ENSEMBLE_KINDS["weighted_median"]
    assert median(np.array([[3.0, 1.0, 2.0]]), weights=[1.0, 1.0, 5.0]).tolist() == [[2.0]]


def test_graphs_without_a_head_stay_without_one() -> None:
    """All columns, and nothing that only the client computes: one ciphertext of the input."""
    scaled = Columns([("a", preprocessing.StandardScaler(), [0, 1]),
                      ("b", preprocessing.MinMaxScaler(), [2, 3])])  # fmt: skip
    graph = from_model(fitted(scaled, None), X)
    assert isinstance(graph, Graph)
    assert graph.client_head is None
    some = fitted(Columns([("a", preprocessing.StandardScaler(), [0, 1])]), None)
    head = from_model(some, X).client_head
    assert head is not None
    assert [step.kind for step in head.steps.steps] == ["columns"]
