"""Models of XGBoost and LightGBM, compared with the libraries' own predictions."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing import from_model
from cloakwork.errors import ModelError, OutsideError
from numpy.typing import NDArray

pytest.importorskip("skl2onnx")
pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")
import lightgbm
import xgboost
from sklearn import (
    calibration,
    compose,
    ensemble,
    model_selection,
    multiclass,
    pipeline,
    preprocessing,
)

# The sample is what the models are trained on.
pytestmark = pytest.mark.filterwarnings("ignore:.* of the sample are at thresholds of the model")
Floats = NDArray[np.float64]
SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(240, 4))
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
POSITIVE, SHARES = np.abs(Y) + 0.1, 1 / (1 + np.exp(-Y))
TWO, THREE = (Y > 0).astype(int), np.digitize(Y, [-0.5, 0.5])
NAMED = np.array(["ash", "birch", "cedar"])[THREE]
SEVERAL = np.stack([Y, POSITIVE], axis=1)
TARGETS = np.stack([TWO, THREE > 0, THREE > 1], axis=1).astype(int)
# Whole numbers, which are at thresholds of XGBoost; and values of which many are 0.
COUNTS = GENERATOR.integers(0, 5, size=(240, 4)).astype(np.float64)
AMOUNTS = np.where(COUNTS < 2, 0.0, np.abs(X))
SPENT = COUNTS[:, 0] * 2 - COUNTS[:, 1] * COUNTS[:, 2]
TREES: dict[str, Any] = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1}
QUIET: dict[str, Any] = {**TREES, "verbose": -1}
MIXED: dict[str, Any] = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7}


def classifier(**options: Any) -> Any:
    return xgboost.XGBClassifier(**{**TREES, **options})


def regressor(objective: str = "reg:squarederror", **options: Any) -> Any:
    return xgboost.XGBRegressor(**{**TREES, "objective": objective, **options})


def light_classifier(**options: Any) -> Any:
    return lightgbm.LGBMClassifier(**{**QUIET, **options})


def light_regressor(objective: str = "regression", **options: Any) -> Any:
    return lightgbm.LGBMRegressor(**{**QUIET, "objective": objective, **options})


def own_loss(labels: Floats, scores: Floats) -> tuple[Floats, Floats]:
    return scores - labels, np.ones_like(labels)


ESTIMATORS: dict[str, tuple[Any, Any]] = {
    **{name: (regressor(name), POSITIVE) for name in (
        "reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:absoluteerror",
        "count:poisson", "reg:gamma", "reg:tweedie", "survival:cox",
    )},
    **{name: (light_regressor(name), POSITIVE) for name in (
        "regression", "regression_l1", "huber", "fair", "poisson", "quantile", "mape", "gamma",
        "tweedie",
    )},
    "reg:quantileerror": (regressor("reg:quantileerror", quantile_alpha=[0.2, 0.8]), Y),
    "reg:logistic": (regressor("reg:logistic"), SHARES),
    "binary:logistic": (classifier(), TWO),
    "binary:logistic, base": (classifier(base_score=0.2), TWO),
    "binary:logitraw": (classifier(objective="binary:logitraw"), TWO),
    "binary:hinge": (classifier(objective="binary:hinge"), TWO),
    "multi:softprob": (classifier(), THREE),
    "multi:softmax": (classifier(objective="multi:softmax"), THREE),
    "multi:softprob of two": (classifier(objective="multi:softprob", num_class=2), TWO),
    "multi:softmax of two": (classifier(objective="multi:softmax", num_class=2), TWO),
    "own loss": (regressor(own_loss), Y),
    "own loss of classes": (classifier(objective=own_loss), TWO),
    "dart": (classifier(booster="dart", rate_drop=0.5), THREE),
    "gblinear": (xgboost.XGBRegressor(booster="gblinear", n_estimators=4, n_jobs=1), Y),
    "gblinear of classes": (xgboost.XGBClassifier(booster="gblinear", n_estimators=4, n_jobs=1),
                            THREE),
    "forest of two": (xgboost.XGBRFClassifier(**TREES), TWO),
    "forest of three": (xgboost.XGBRFClassifier(**TREES), THREE),
    "forest of numbers": (xgboost.XGBRFRegressor(**TREES), Y),
    "parallel trees": (regressor(num_parallel_tree=3, subsample=0.7), Y),
    "two targets": (regressor(), SEVERAL),
    "trees of vectors": (regressor(multi_strategy="multi_output_tree"), SEVERAL),
    "trees of classes": (classifier(multi_strategy="multi_output_tree"), THREE),
    "three labels": (classifier(), TARGETS),
    "pruned": (regressor(gamma=5, tree_method="exact"), Y),
    "binary": (light_classifier(), TWO),
    "binary, steep": (light_classifier(sigmoid=2.5), NAMED == "ash"),
    "binary cross_entropy": (light_classifier(objective="cross_entropy"), TWO),
    "multiclass": (light_classifier(), NAMED),
    "multiclass of two": (light_classifier(objective="multiclass", num_class=2), TWO),
    "multiclassova": (light_classifier(objective="multiclassova", sigmoid=0.7), THREE + 1.0),
    "cross_entropy": (light_regressor("cross_entropy"), SHARES),
    "cross_entropy_lambda": (light_regressor("cross_entropy_lambda"), SHARES),
    "square roots": (light_regressor(reg_sqrt=True), Y),
    "light own loss": (light_classifier(objective=own_loss), TWO),
    "light forest": (light_regressor(**MIXED), Y),
    "light forest of counts": (light_regressor("poisson", **MIXED), POSITIVE),
    "light forest of classes": (light_classifier(**MIXED), THREE),
    "light dart": (light_regressor(boosting_type="dart", drop_rate=0.5), Y),
    "scaled": (pipeline.make_pipeline(preprocessing.StandardScaler(), classifier()), TWO),
    "light, scaled": (pipeline.make_pipeline(preprocessing.StandardScaler(), light_classifier()),
                      NAMED),
    "a vote": (ensemble.VotingClassifier([("a", classifier()), ("b", light_classifier())],
                                         voting="soft"), THREE),
    "a bag": (ensemble.BaggingRegressor(light_regressor(), 2, random_state=0), Y),
    "a search": (model_selection.GridSearchCV(classifier(), {"max_depth": [1, 2]}, cv=2), TWO),
}  # fmt: skip


def unlike(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest value; 1 for other shapes or labels."""
    given, wanted = np.asarray(found), np.asarray(expected)
    if given.shape != wanted.shape:
        return 1.0
    if given.dtype.kind != "f":
        return float((given.astype(object) != wanted.astype(object)).any())
    return float(np.abs(given - wanted).max() / np.abs(wanted).max())


def check(graph: Graph, model: Any, rows: Floats) -> None:
    """That results are those of the model's methods, in their forms."""
    for name, found in graph.predict(rows).items():
        method = model.predict_proba if name == "probabilities" else model.predict
        assert unlike(found, method(rows)) < 1e-5, name


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore")
def test_results_are_those_of_the_library(name: str) -> None:
    model, target = ESTIMATORS[name]
    graph = from_model(model.fit(X, target), X)
    check(graph, model, X)
    check(graph, model, GENERATOR.uniform(-6, 6, size=(200, 4)))
    if hasattr(model, "predict_proba") and name not in ("binary:hinge", "light own loss"):
        assert set(graph.results) == {"label", "probabilities"}


def test_only_the_client_computes_links_and_labels() -> None:
    for model, target in ((classifier(), THREE), (light_regressor("poisson"), POSITIVE)):
        graph = from_model(model.fit(X, target), X)
        assert {getattr(node, "kind", "step") for node in graph.nodes if "Function" in str(
            type(node))} == {"step"}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_early_stopped_models_predict_by_their_best_iteration() -> None:
    fast = {"n_estimators": 60, "max_depth": 4, "learning_rate": 0.9}
    shifted = [(X[:50] + 0.3, TWO[:50])]
    stop = {"early_stopping_rounds": 2}
    xgb = classifier(**fast, **stop).fit(X, TWO, eval_set=shifted, verbose=False)
    assert xgb.best_iteration + 1 < xgb.get_booster().num_boosted_rounds()
    check(from_model(xgb, X), xgb, X)
    dart = regressor(booster="dart", rate_drop=0.3, num_parallel_tree=2, **fast, **stop)
    dart.fit(X, Y, eval_set=[(X[:50] + 0.3, Y[:50])], verbose=False)
    check(from_model(dart, X), dart, X)
    stopping = [lightgbm.early_stopping(2, verbose=False)]
    light = light_classifier(**fast).fit(X, TWO, eval_set=shifted, callbacks=stopping)
    assert 0 < light.best_iteration_ < 60
    check(from_model(light, X), light, X)
    data = lightgbm.Dataset(X, label=Y, free_raw_data=False)
    valid = lightgbm.Dataset(X[:50] + 0.3, label=Y[:50], reference=data, free_raw_data=False)
    booster = lightgbm.train(
        {"verbose": -1, "num_threads": 1, "learning_rate": 0.9}, data, 60, valid_sets=[valid],
        callbacks=[lightgbm.early_stopping(2, verbose=False)], keep_training_booster=True,
    )  # fmt: skip
    assert 0 < booster.best_iteration < booster.current_iteration()
    (found,) = from_model(booster, X).predict(X).values()
    assert unlike(found, booster.predict(X)) < 1e-5


def boosters() -> Iterator[tuple[str, Any, Any]]:
    """(name, Booster, what it predicts for rows)."""
    for objective, target, more in (
        ("binary:logistic", TWO, {}), ("binary:hinge", TWO, {}), ("reg:squarederror", Y, {}),
        ("multi:softmax", THREE, {"num_class": 3}), ("multi:softprob", THREE, {"num_class": 3}),
        ("rank:ndcg", TWO, {}), ("rank:pairwise", TWO, {}), ("rank:map", TWO, {}),
    ):  # fmt: skip
        groups = {"group": [60] * 4} if objective.startswith("rank") else {}
        data = xgboost.DMatrix(X, label=target, **groups)
        options = {"objective": objective, "max_depth": 3, "nthread": 1, **more}
        own = xgboost.train(options, data, 4)
        yield objective, own, lambda rows, own=own: own.predict(xgboost.DMatrix(rows))
    for objective, target, more in (
        ("binary", TWO, {"sigmoid": 3.0}), ("multiclass", THREE, {"num_class": 3}),
        ("poisson", POSITIVE, {}), ("lambdarank", TWO, {}), ("rank_xendcg", TWO, {}),
    ):  # fmt: skip
        group = [60] * 4 if "rank" in objective else None
        options = {"objective": objective, "max_depth": 3, "num_threads": 1, "verbose": -1, **more}
        own = lightgbm.train(options, lightgbm.Dataset(X, label=target, group=group), 4)
        yield objective, own, own.predict
        loaded = lightgbm.Booster(model_str=own.model_to_string())
        yield f"{objective}, loaded", loaded, own.predict


def test_boosters_give_what_their_predict_gives() -> None:
    for name, booster, predict in boosters():
        graph = from_model(booster, X)
        (found,) = graph.predict(X).values()
        expected = predict(X)
        if found.dtype.kind == "i":
            assert (found == expected).all(), name
        else:
            assert unlike(found, expected) < 1e-5, name


def test_scores_that_are_encrypted_are_margins() -> None:
    for name, booster, _ in boosters():
        if "loaded" in name:
            continue
        if isinstance(booster, lightgbm.Booster):
            margins = booster.predict(X, raw_score=True)
            margins = margins * (3.0 if name == "binary" else 1.0)
        else:
            margins = booster.predict(xgboost.DMatrix(X), output_margin=True)
        graph = from_model(booster, X)
        (scores,) = graph.run(X).values()
        if scores.shape[-1] == 2 and margins.ndim == 1:
            scores = scores[:, 1]
        assert unlike(scores.reshape(margins.shape), margins) < 1e-5, name


def test_accelerated_failure_times_and_models_read_from_files(tmp_path: Any) -> None:
    data = xgboost.DMatrix(X, feature_names=list("abcd"))
    data.set_float_info("label_lower_bound", POSITIVE)
    data.set_float_info("label_upper_bound", POSITIVE + 1)
    options = {"objective": "survival:aft", "max_depth": 3, "nthread": 1}
    xgboost.train(options, data, 4).save_model(tmp_path / "model.ubj")
    loaded = xgboost.Booster(model_file=tmp_path / "model.ubj")
    (found,) = from_model(loaded, X).predict(X).values()
    expected = loaded.predict(xgboost.DMatrix(X), validate_features=False)
    assert unlike(found, expected) < 1e-5


def thresholds(model: Any) -> tuple[NDArray[np.int64], Floats]:
    """Features and thresholds of all inner nodes, as the library writes them."""
    if not hasattr(model, "get_booster"):
        text = model.booster_.model_to_string()
        found = (re.findall(rf"^{name}=(.+)$", text, re.MULTILINE)
                 for name in ("split_feature", "threshold"))  # fmt: skip
        places, values = (" ".join(lines).split() for lines in found)
        return np.array(places, dtype=np.int64), np.array(values, dtype=np.float64)
    learner = json.loads(bytes(model.get_booster().save_raw("json")))["learner"]
    trees = learner["gradient_booster"]["model"]["trees"]
    own = {
        name: np.concatenate([np.asarray(tree[name]) for tree in trees])
        for name in ("left_children", "split_indices", "split_conditions")
    }
    inner = own["left_children"] >= 0
    return own["split_indices"][inner], own["split_conditions"][inner]


@pytest.mark.parametrize("features", [X, COUNTS - 2, AMOUNTS, 1e-20 * X, 1e20 * X],
                         ids=["numbers", "whole", "amounts", "tiny", "huge"])  # fmt: skip
@pytest.mark.parametrize("kind", [regressor, light_regressor])
def test_inputs_at_and_beside_thresholds(kind: Any, features: Floats) -> None:
    """Without a sample, no threshold is moved; XGBoost rounds inputs to float32."""
    model = kind(n_estimators=10).fit(features, SPENT)
    places, values = thresholds(model)
    # LightGBM takes -1e-35 itself for 0.
    apart = np.abs(values) > 1e-34 if kind is light_regressor else np.isfinite(values)
    places, values = places[apart], values[apart]
    rows = []
    narrow = values.astype(np.float32)
    for beside in (
        values, np.nextafter(values, -np.inf), np.nextafter(values, np.inf),
        narrow, np.nextafter(narrow, np.float32(-np.inf)), np.nextafter(narrow, np.float32(np.inf)),
    ):  # fmt: skip
        made = features[GENERATOR.integers(0, len(features), places.size)]
        made[np.arange(places.size), places] = beside
        rows.append(made)
    check(from_model(model), model, np.concatenate(rows))


def test_inputs_near_the_midpoints_of_float32() -> None:
    """Halfway between two numbers of float32, XGBoost takes the even one."""
    model = regressor(n_estimators=10).fit(X, Y)
    places, values = thresholds(model)
    above = values.astype(np.float32)
    middle = (above.astype(np.float64) + np.nextafter(above, np.float32(-np.inf))) / 2
    for beside in (middle, np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)):
        rows = X[GENERATOR.integers(0, len(X), places.size)]
        rows[np.arange(places.size), places] = beside
        check(from_model(model), model, rows)


SAMPLES: dict[str, Floats] = {
    "whole": COUNTS,
    "whole, signed": COUNTS - 2,
    "bits": (COUNTS > 2) * 1.0,
    "some whole": np.concatenate([COUNTS[:, :2], X[:, :2]], axis=1),
    "amounts": AMOUNTS,
    "debts": -AMOUNTS,
    "changes": np.where(COUNTS < 2, 0.0, X),
}


@pytest.mark.parametrize("kind", [regressor, light_regressor])
@pytest.mark.parametrize("name", SAMPLES)
def test_values_of_the_sample_are_moved_away_from_thresholds(name: str, kind: Any) -> None:
    x = SAMPLES[name]
    model = kind().fit(x, SPENT)
    graph = from_model(model, x)
    check(graph, model, x)
    if "whole" in name or name == "bits":
        # LightGBM has thresholds halfway, but at 0.
        assert graph.client_head is not None or (name == "bits" and kind is light_regressor)
        with pytest.raises(ModelError, match="expected whole numbers"):
            graph.predict(x + 0.25)
    else:
        check(graph, model, GENERATOR.uniform(-3, 3, size=(100, 4)) * (GENERATOR.random(4) < 0.7))


@pytest.mark.filterwarnings("default")
def test_samples_at_thresholds_are_told() -> None:
    model = regressor(n_estimators=30).fit(X, Y)
    with pytest.warns(UserWarning, match=r"XGBRegressor: \d+% of the sample .* other rows as"):
        from_model(model, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_model(model, GENERATOR.normal(size=(100, 4)))
        from_model(light_regressor().fit(X, Y), X)
        from_model(regressor().fit(COUNTS, SPENT), COUNTS)


@pytest.mark.parametrize("kind", [classifier, light_classifier])
def test_categories_within_a_pipeline(kind: Any) -> None:
    x = np.concatenate([COUNTS[:, :2], X[:, :2]], axis=1)
    hot = preprocessing.OneHotEncoder(sparse_output=False)
    columns = compose.ColumnTransformer([("a", hot, [0, 1]), ("b", "passthrough", [2, 3])])
    model = pipeline.make_pipeline(columns, kind()).fit(x, THREE)
    check(from_model(model, x), model, x)


def test_zeros_that_are_missing() -> None:
    """Those that go where their place among numbers is may be; others are refused."""
    model = regressor(missing=0.0).fit(np.where(COUNTS < 2, 0.0, X), Y)
    with pytest.raises(ModelError, match=r"XGBRegressor: .* takes 0 for missing.*missing=nan"):
        from_model(model, X)
    light = light_regressor(zero_as_missing=True).fit(np.where(COUNTS < 2, 0.0, X), Y)
    with pytest.raises(ModelError, match=r"takes 0 for missing.*zero_as_missing=False"):
        from_model(light, X)
    placed = regressor(missing=9.0).fit(X, Y)
    check(from_model(placed, X), placed, X)
    sparse = pipeline.make_pipeline(preprocessing.OneHotEncoder(), regressor()).fit(COUNTS, SPENT)
    with pytest.raises(ModelError, match=r"OneHotEncoder\(sparse_output=False\)"):
        from_model(sparse, COUNTS)
    linear = xgboost.XGBRegressor(booster="gblinear", missing=-9.0, n_estimators=2).fit(X, Y)
    with pytest.raises(ModelError, match="takes -9 for missing"):
        from_model(linear, X)


@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_computed_is_refused_by_name() -> None:
    categories = COUNTS.copy()
    light = light_regressor().fit(categories, COUNTS[:, 0] % 2, categorical_feature=[0])
    typed = regressor(feature_types=["c", "q", "q", "q"], enable_categorical=True)
    for model in (light, typed.fit(categories, COUNTS[:, 0] % 2)):
        with pytest.raises(ModelError, match=r"found categories; .*OneHotEncoder"):
            from_model(model, categories)
    with pytest.raises(ModelError, match="train with linear_tree=False"):
        from_model(light_regressor(linear_tree=True).fit(X, Y), X)
    none = regressor(n_estimators=0).fit(X, Y)
    for model in (none, regressor(gamma=1e9).fit(X, Y),
                  light_regressor(min_child_samples=500).fit(X, Y)):  # fmt: skip
        with pytest.raises(ModelError, match="one with the same result for all"):
            from_model(model, X)
    for model in (classifier(), light_classifier()):
        with pytest.raises(ModelError, match="two classes or more, found 1"):
            from_model(model.fit(X, np.zeros(len(X), dtype=int)), X)


def test_what_is_not_trained_is_refused() -> None:
    scaler = preprocessing.StandardScaler()
    for model in (regressor(), light_classifier(), pipeline.make_pipeline(scaler, regressor()),
                  pipeline.make_pipeline(scaler.fit(X), light_regressor())):  # fmt: skip
        with pytest.raises(ModelError, match="expected a fitted estimator: call fit first"):
            from_model(model, X)
    with pytest.raises(ModelError, match="Booster: expected a trained model"):
        from_model(xgboost.Booster(), X)
    data = lightgbm.Dataset(X, label=Y, params={"verbose": -1})
    with pytest.raises(ModelError, match="one with the same result for all"):
        from_model(lightgbm.Booster({"verbose": -1}, data), X)


def test_samples_of_another_width_are_refused() -> None:
    (_, booster, _), *_ = boosters()
    for model in (booster, classifier().fit(X, TWO)):
        with pytest.raises(ModelError, match=r"expected .*\[batch, 4\]"):
            fhe.compile(model, X[:, :3], **SMALL)


def test_estimators_around_them_that_have_no_conversion_are_named() -> None:
    model = multiclass.OneVsRestClassifier(light_classifier()).fit(X, NAMED)
    with pytest.raises(ModelError, match="XGBoost and LightGBM by themselves"):
        from_model(model, X)


def test_their_probabilities_may_be_calibrated() -> None:
    whole = calibration.CalibratedClassifierCV(classifier(), cv=2).fit(X, TWO)
    found = from_model(whole, X).predict(X)["probabilities"]
    np.testing.assert_allclose(found, whole.predict_proba(X), atol=1e-5)


ENCRYPTED: dict[str, tuple[Any, Floats, Any]] = {
    "XGBoost": (classifier(n_estimators=1, max_depth=2), X, TWO),
    "XGBoost, whole": (classifier(n_estimators=2, max_depth=2), COUNTS, SPENT > 0),
    "LightGBM": (light_classifier(n_estimators=1, max_depth=2), X, NAMED),
    "LightGBM, bits": (light_classifier(n_estimators=2, max_depth=2), (COUNTS > 2) * 1.0,
                       SPENT > 0),
    "numbers": (light_regressor("poisson", n_estimators=1, max_depth=2), AMOUNTS, POSITIVE),
}  # fmt: skip


@pytest.mark.parametrize("name", ENCRYPTED)
def test_encrypted_results_are_those_of_the_library(name: str) -> None:
    model, x, target = ENCRYPTED[name]
    target = target.astype(int) if np.asarray(target).dtype == bool else target
    compiled = fhe.compile(model.fit(x, target), x, **SMALL)
    client, server = compiled.split()
    told = 0
    for row in x[:6]:
        try:
            found = client.decrypt(server.run(client.encrypt(row)))
        except OutsideError:
            told += 1
            continue
        expected = model.predict(row[None])
        if isinstance(found, dict):
            assert (found["label"] == expected).all()
            assert np.abs(found["probabilities"] - model.predict_proba(row[None])).max() < 0.02
        else:
            assert found.shape == expected.shape
            assert np.abs(found - expected).max() < 0.02 * POSITIVE.max()
    # Some rows are near thresholds.
    assert told < 3


def test_an_encrypted_booster() -> None:
    options = {"objective": "binary:logistic", "max_depth": 2, "nthread": 1}
    booster = xgboost.train(options, xgboost.DMatrix(X, label=TWO), 1)
    client, server = fhe.compile(booster, X, **SMALL).split()
    found = client.decrypt(server.run(client.encrypt(X[0])))
    assert np.abs(found - booster.predict(xgboost.DMatrix(X[:1]))).max() < 0.02
