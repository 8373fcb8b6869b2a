"""Trees at their thresholds: features are rounded to float32 before they are compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cloakwork.compiler.importing import from_model
from cloakwork.compiler.importing.trees import up_to
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

pytest.importorskip("skl2onnx")
pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")
import lightgbm
import xgboost
from sklearn import ensemble, tree

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* of the sample are at thresholds", "ignore:X does not have valid feature names"
)
Floats = NDArray[np.float64]
DRAW = np.random.default_rng(3)
X = DRAW.normal(size=(200, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
WHOLE = DRAW.integers(-5, 6, (200, 3)).astype(np.float64)
SPENT = WHOLE[:, 0] * WHOLE[:, 1] + WHOLE[:, 2]
F = np.float32


def of_trees(model: Any) -> Iterator[tuple[int, float]]:
    """(feature, threshold) of each inner node."""
    for part in [model] if hasattr(model, "tree_") else np.ravel(model.estimators_):
        own = part.tree_
        inner = own.children_left >= 0
        yield from zip(own.feature[inner], own.threshold[inner], strict=True)


def of_histograms(model: Any) -> Iterator[tuple[int, float]]:
    for (part,) in model._predictors:
        inner = part.nodes[part.nodes["is_leaf"] == 0]
        yield from zip(inner["feature_idx"], inner["num_threshold"], strict=True)


def of_xgboost(model: Any) -> Iterator[tuple[int, float]]:
    waiting = [json.loads(one) for one in model.get_booster().get_dump(dump_format="json")]
    while waiting:
        node = waiting.pop()
        if "split" in node:
            yield int(node["split"][1:]), float(F(node["split_condition"]))
            waiting += node["children"]


def of_lightgbm(model: Any) -> Iterator[tuple[int, float]]:
    waiting = [one["tree_structure"] for one in model.booster_.dump_model()["tree_info"]]
    while waiting:
        node = waiting.pop()
        if "split_feature" in node:
            yield node["split_feature"], node["threshold"]
            waiting += [node["left_child"], node["right_child"]]


def boosted(kind: Any, **options: Any) -> Any:
    return kind(n_estimators=4, max_depth=3, random_state=0, **options)


MODELS: dict[str, tuple[Any, Callable[[Any], Iterator[tuple[int, float]]]]] = {
    "tree": (tree.DecisionTreeRegressor(max_depth=4), of_trees),
    "random tree": (tree.ExtraTreeRegressor(max_depth=4, random_state=0), of_trees),
    "forest": (boosted(ensemble.RandomForestRegressor), of_trees),
    "boosted trees": (boosted(ensemble.GradientBoostingRegressor), of_trees),
    "medians": (ensemble.AdaBoostRegressor(n_estimators=4, random_state=0), of_trees),
    "histograms": (ensemble.HistGradientBoostingRegressor(max_iter=4, max_depth=3), of_histograms),
    "XGBoost": (boosted(xgboost.XGBRegressor), of_xgboost),
    "LightGBM": (boosted(lightgbm.LGBMRegressor, verbose=-1), of_lightgbm),
}
BESIDE: dict[str, Callable[[Floats], Any]] = {
    "at": lambda t: t,
    "rounded": F,
    "above": lambda t: np.nextafter(t, np.inf),
    "below": lambda t: np.nextafter(t, -np.inf),
    "rounded, above": lambda t: np.nextafter(F(t), F(np.inf)),
    "rounded, below": lambda t: np.nextafter(F(t), F(-np.inf)),
    "halfway, above": lambda t: (t + np.nextafter(F(t), F(np.inf)).astype(np.float64)) / 2,
    "halfway, below": lambda t: (t + np.nextafter(F(t), F(-np.inf)).astype(np.float64)) / 2,
}


@pytest.mark.parametrize("name", MODELS)
def test_inputs_at_thresholds_go_where_they_go_in_the_model(name: str) -> None:
    model, found = MODELS[name]
    model = model.fit(X, Y)
    features, thresholds = map(np.array, zip(*found(model), strict=True))
    graph = from_model(model, X)
    for move in BESIDE.values():
        chosen = DRAW.integers(0, len(features), 200)
        rows = X[DRAW.integers(0, len(X), 200)]
        rows[np.arange(200), features[chosen]] = move(thresholds[chosen])
        (own,) = graph.predict(rows).values()
        np.testing.assert_allclose(np.ravel(own), model.predict(rows), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["tree", "XGBoost", "LightGBM"])
def test_whole_features_go_where_they_go_in_the_model(name: str) -> None:
    model, _ = MODELS[name]
    model = model.fit(WHOLE, SPENT)
    (own,) = from_model(model, WHOLE).predict(WHOLE).values()
    np.testing.assert_allclose(np.ravel(own), model.predict(WHOLE), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"])
def test_all_comparisons_of_files_are_of_float32(mode: str) -> None:
    thresholds = [0.1, -3.7, 1e-30, 0.0, 5e4]
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=5,
        nodes_treeids=np.repeat(range(5), 3), nodes_nodeids=[0, 1, 2] * 5,
        nodes_featureids=[0] * 15, nodes_values=[v for t in thresholds for v in (t, 0.0, 0.0)],
        nodes_modes=[mode, "LEAF", "LEAF"] * 5, nodes_truenodeids=[1, 0, 0] * 5,
        nodes_falsenodeids=[2, 0, 0] * 5, target_treeids=np.repeat(range(5), 2),
        target_nodeids=[1, 2] * 5, target_ids=np.repeat(range(5), 2),
        target_weights=[1.0, 2.0] * 5,
    )  # fmt: skip
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 1])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 5])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(
        helper.make_graph([node], "trees", [given], [result]), opset_imports=opsets
    )
    rows = np.array([[move(np.float64(F(t)))] for t in thresholds for move in BESIDE.values()])
    graph, run = from_model(model), ReferenceEvaluator(model).run
    wanted = [run(None, {"x": row[np.newaxis].astype(F)})[0][0] for row in rows]
    np.testing.assert_array_equal(graph.predict(rows.astype(np.float64))["y"], wanted)


@pytest.mark.parametrize("below", [False, True])
def test_halfway_numbers_are_those_of_rounding(below: bool) -> None:
    thresholds = np.concatenate([DRAW.normal(size=2000), DRAW.normal(size=2000).astype(F), [0.0]])
    edges = up_to(thresholds, below=below)
    for x in (edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)):
        rounded = x.astype(F).astype(np.float64)
        holds = rounded < thresholds if below else rounded <= thresholds
        np.testing.assert_array_equal(x <= edges, holds)
    for endless in (1e300, np.inf, -np.inf):
        assert up_to(np.array([endless]), below=below)[0] == endless
