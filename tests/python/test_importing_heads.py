"""What the client computes before encryption: categories, missing values, bins, embeddings."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe, serving
from cloakwork.cli.models import values_of
from cloakwork.compiler import search
from cloakwork.compiler.client_features import FEATURE_KINDS
from cloakwork.compiler.description import Description
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing import from_model
from cloakwork.compiler.importing.heads import _ONLY
from cloakwork.compiler.importing.reading import OWN_DOMAIN
from cloakwork.compiler.nodes import Affine, Function, Input
from cloakwork.errors import LoadError, ModelError
from cloakwork.strict import Member

pytest.importorskip("skl2onnx")
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from sklearn import (
    compose,
    decomposition,
    impute,
    linear_model,
    naive_bayes,
    pipeline,
    preprocessing,
)

SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
Floats = Any
GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(150, 4))
WHOLE = GENERATOR.integers(0, 3, (150, 4)).astype(np.float64)
Y = (X[:, 0] + X[:, 1] ** 2 + WHOLE[:, 2] > 2).astype(int)
HOLES = np.where(GENERATOR.random(X.shape) < 0.1, np.nan, X)
BINS: dict[str, Any] = {"quantile_method": "averaged_inverted_cdf"}
MIXED = np.concatenate([WHOLE[:, :2], X[:, 2:]], axis=1)

STEPS: dict[str, tuple[Any, Floats]] = {
    "normalizer": (preprocessing.Normalizer(), X),
    "normalizer, l1": (preprocessing.Normalizer("l1"), X),
    "power": (preprocessing.PowerTransformer(), X),
    "box-cox": (preprocessing.PowerTransformer("box-cox"), np.abs(X) + 0.1),
    "quantiles": (preprocessing.QuantileTransformer(n_quantiles=20), X),
    "quantiles, repeated": (preprocessing.QuantileTransformer(n_quantiles=20), np.round(X)),
    "normal quantiles": (
        preprocessing.QuantileTransformer(n_quantiles=20, output_distribution="normal"), X),
    "bins": (preprocessing.KBinsDiscretizer(3, encode="ordinal", **BINS), X),
    "bins, one-hot": (preprocessing.KBinsDiscretizer(3, encode="onehot-dense", **BINS), X),
    "one-hot": (preprocessing.OneHotEncoder(handle_unknown="ignore"), WHOLE),
    "ordinals": (preprocessing.OrdinalEncoder(), WHOLE),
    "targets": (preprocessing.TargetEncoder(random_state=0), WHOLE),
    "threshold": (preprocessing.Binarizer(threshold=0.3), X),
    "means": (impute.SimpleImputer(), HOLES),
    "splines": (preprocessing.SplineTransformer(n_knots=4), X),
    "splines, no bias": (preprocessing.SplineTransformer(5, degree=2, include_bias=False,
                                                         knots="quantile"), X),
    "columns": (compose.ColumnTransformer([
        ("a", preprocessing.OneHotEncoder(sparse_output=False), [0, 1]),
        ("b", preprocessing.StandardScaler(), [2, 3])]), MIXED),
}  # fmt: skip


def fitted(name: str) -> tuple[Any, Floats]:
    step, x = STEPS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pipeline.make_pipeline(step, linear_model.LogisticRegression()).fit(x, Y), x


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_pipelines_are_the_clients(name: str) -> None:
    """The server computes the linear model alone, and inputs may be beyond the sample."""
    model, x = fitted(name)
    graph = from_model(model, x)
    assert graph.client_head is not None
    assert {type(node) for node in graph.nodes} == {Input, Affine}
    far = x[:20] if name == "box-cox" else np.where(x == np.rint(x), x, 1.7 * x)[:20]
    for rows in (x, far):
        found = graph.predict(rows)["probabilities"]
        np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-5)


@pytest.mark.parametrize("name", ["means", "one-hot", "quantiles", "columns"])
def test_clients_encrypt_what_they_made(name: str, tmp_path: Path) -> None:
    model, x = fitted(name)
    made = fhe.compile(model, x, **SMALL)
    assert made.report.chosen.depth == 1
    assert "client, before encryption" in made.describe()
    made.save(tmp_path / "m.cwk")
    again = fhe.load_model(tmp_path / "m.cwk", insecure=True)
    assert again.description.to_json() == made.description.to_json()
    client, server = again.split()
    client.keygen()
    for row in (0, 1, 2):
        found = client.decrypt(server.run(client.encrypt(x[row])))["probabilities"]
        wanted = model.predict_proba(x[row : row + 1])
        assert np.abs(found - wanted).max() <= 4 * made.report.error + 1e-5
    plain = made.plain(x[:5])["probabilities"]
    np.testing.assert_allclose(plain, model.predict_proba(x[:5]), atol=1e-5)


def test_models_of_large_keys_compile_behind_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a trial at the full degree: the sample is what the head makes."""
    monkeypatch.setattr(search, "_TRIAL_BYTES", 0)
    model, x = fitted("means")
    made = fhe.compile(model, x, degree=2**14, insecure=True)
    assert made.report.trial_seconds == np.inf
    client, server = made.split()
    client.keygen()
    found = client.decrypt(server.run(client.encrypt(x[0])))["probabilities"]
    assert np.abs(found - model.predict_proba(x[:1])).max() <= 4 * made.report.error + 1e-5


def test_batches_and_served_models_take_what_a_user_gives(tmp_path: Path) -> None:
    model, x = fitted("one-hot")
    made = fhe.compile(model, x, optimize="throughput", **SMALL)
    client, server = made.split()
    client.keygen()
    found = client.decrypt(server.run(client.encrypt(x[:9])), 9)["probabilities"]
    assert np.abs(found - model.predict_proba(x[:9])).max() <= 4 * made.report.error + 1e-5
    made.save(tmp_path / "m.cwk")
    np.save(tmp_path / "x.npy", x[:3])
    remote = serving.client_of(
        serving.ServedProgram(tmp_path / "m.cwk").describe(), "it", insecure=True
    )
    assert dict(remote.inputs) == {"X": (4,)}
    values, _ = values_of([str(tmp_path / "x.npy")], remote)
    assert values["X"].shape == (3, 4)
    assert remote.samples_of(values) == 3
    keys = remote.keygen()
    assert list(remote.encrypt(keys, values)) == ["0 Categories0"]


def test_what_the_client_does_not_know_is_refused() -> None:
    strict = pipeline.make_pipeline(preprocessing.OneHotEncoder(), linear_model.Ridge())
    made = fhe.compile(strict.fit(WHOLE, X[:, 0]), WHOLE, **SMALL)
    client, _ = made.split()
    words = r"expected the categories 0, 1, 2, found another at \[0, 3\]"
    with pytest.raises(ModelError, match=words) as refused:
        client.encrypt([0.0, 1.0, 2.0, 7.5e3])
    assert "7" not in str(refused.value)
    for wrong, words in (
        (np.array([["a", "b", "c", "d"]]), "encode text first"),
        (np.zeros(3), r"shape \[4\]"),
        ({"Z": np.zeros(4)}, r"expected \['X'\]"),
        (np.zeros((0, 4)), "a batch"),
    ):
        with pytest.raises(ModelError, match=words):
            client.encrypt(wrong)
    for name, wrong in (("power", np.nan), ("one-hot", np.nan), ("power", np.inf),
                        ("means", np.inf)):  # fmt: skip
        model, x = fitted(name)
        client, _ = fhe.compile(model, x, **SMALL).split()
        with pytest.raises(ModelError, match="got NaN or infinity"):
            client.encrypt([wrong, 0.0, 0.0, 0.0])


def test_trained_maps_stay_on_the_server() -> None:
    """What only the client can compute is refused behind them."""
    reduced = pipeline.make_pipeline(decomposition.PCA(2), preprocessing.KBinsDiscretizer(
        3, encode="ordinal", **BINS), linear_model.Ridge())  # fmt: skip
    with pytest.raises(ModelError, match="apply it to inputs alone"):
        from_model(reduced.fit(X, Y), X)
    above = pipeline.make_pipeline(decomposition.PCA(2), naive_bayes.BernoulliNB())
    graph = from_model(above.fit(X, Y), X)
    assert graph.client_head is None
    assert any(isinstance(node, Function) and node.kind == "step" for node in graph.nodes)
    # Scalers are free for the server.
    scaled = pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler(),
                                    linear_model.Ridge())  # fmt: skip
    head = from_model(scaled.fit(HOLES, Y), HOLES).client_head
    assert head is not None
    assert [step.kind for step in head.steps.steps] == ["imputed"]


def test_features_of_zero_and_one_have_a_threshold_at_zero() -> None:
    """On the data itself: the client compares exactly."""
    x = (X > 0).astype(np.float64)
    model = naive_bayes.BernoulliNB().fit(x, Y)
    made = fhe.compile(model, x, **SMALL)
    client, server = made.split()
    client.keygen()
    for row in x[:4]:
        found = client.decrypt(server.run(client.encrypt(row)))["probabilities"]
        assert np.abs(found - model.predict_proba(row[None])).max() < 0.01


TENTHS = GENERATOR.integers(1, 9, (150, 4)) / 10
STEPS_OF_TENTHS: dict[str, Any] = {
    "ordinals": preprocessing.OrdinalEncoder(),
    "one-hot": preprocessing.OneHotEncoder(handle_unknown="ignore"),
    "one-hot, dropped": preprocessing.OneHotEncoder(drop="first"),
    "targets": preprocessing.TargetEncoder(random_state=0),
    "threshold": preprocessing.Binarizer(threshold=0.7),
    "bins": preprocessing.KBinsDiscretizer(4, **BINS),
    "scaled bins": pipeline.make_pipeline(
        preprocessing.StandardScaler(), preprocessing.KBinsDiscretizer(4, **BINS)),
    "bins of a range": pipeline.make_pipeline(
        preprocessing.MinMaxScaler(), preprocessing.KBinsDiscretizer(4, **BINS)),
    "robust bins": pipeline.make_pipeline(
        preprocessing.RobustScaler(), preprocessing.KBinsDiscretizer(4, **BINS)),
    "missing": impute.SimpleImputer(missing_values=0.1),
    "a column": compose.ColumnTransformer([("a", preprocessing.Binarizer(threshold=0.7), [0, 1])]),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS_OF_TENTHS)
def test_numbers_that_binary_rounds_are_compared_as_by_the_model(name: str) -> None:
    """Every row of the sample: 0.7 of float32 is not that of float64."""
    model = pipeline.make_pipeline(STEPS_OF_TENTHS[name], linear_model.LogisticRegression())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(TENTHS, Y)
    found = from_model(model, TENTHS).predict(TENTHS)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(TENTHS), atol=1e-5)


def test_files_compare_in_their_own_type() -> None:
    """A client gives float64; the file's constants are float32."""
    nodes = [
        helper.make_node("Binarizer", ["x"], ["b"], domain="ai.onnx.ml", threshold=0.7),
        helper.make_node("MatMul", ["b", "w"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])],
        [numpy_helper.from_array(np.array([[1, 2], [3, 5]], np.float32), "w")],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    rows = np.array([[0.7, 0.5], [0.70001, 0.7], [0.9, 0.8]])
    wanted = ReferenceEvaluator(model).run(None, {"x": rows.astype(np.float32)})[0]
    np.testing.assert_array_equal(from_model(model, rows).predict(rows)["y"], wanted)


@pytest.mark.parametrize("name", ["bins", "bins, one-hot", "threshold", "one-hot"])
def test_what_is_missing_in_other_columns_is_refused(name: str) -> None:
    """Though one column has a step for it."""
    step, x = STEPS[name]
    columns = compose.ColumnTransformer(
        [("a", impute.SimpleImputer(), [0]), ("b", pipeline.make_pipeline(step), [1, 2, 3])],
        sparse_threshold=0,
    )
    holes = x.copy()
    holes[3, 0] = np.nan
    model = pipeline.make_pipeline(columns, linear_model.LogisticRegression()).fit(holes, Y)
    made = fhe.compile(model, holes, **SMALL)
    client, _ = made.split()
    row = x[0].copy()
    row[0] = np.nan
    client.encrypt(row)
    row[2] = np.nan
    with pytest.raises(ModelError, match="NaN or infinity"):
        client.encrypt(row)


def test_inputs_of_different_batches_are_refused() -> None:
    nodes = [helper.make_node("Floor", ["a"], ["fa"]), helper.make_node("Floor", ["b"], ["fb"]),
             helper.make_node("Mul", ["fa", "fb"], ["m"]),
             helper.make_node("MatMul", ["m", "w"], ["y"])]  # fmt: skip
    inputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["N", 2]) for x in "ab"]
    graph = helper.make_graph(
        nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1])],
        [numpy_helper.from_array(np.ones((2, 1), np.float32), "w")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    head = from_model(model).client_head
    assert head is not None
    with pytest.raises(ModelError, match=r"one batch, got batches of \{'a': 4, 'b': 2\}"):
        head.run({"a": np.ones((4, 2)), "b": np.ones((2, 2))})


def test_missing_values_are_replaced_by_a_choice() -> None:
    nodes = [helper.make_node("IsNaN", ["x"], ["n"]),
             helper.make_node("Where", ["n", "c", "x"], ["z"]),
             helper.make_node("MatMul", ["z", "w"], ["y"])]  # fmt: skip
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1])],
        [numpy_helper.from_array(np.array([5, 7], np.float32), "c"),
         numpy_helper.from_array(np.ones((2, 1), np.float32), "w")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    rows = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 4.0]])
    found = from_model(model, rows).predict(rows)["y"]
    assert found.ravel().tolist() == [8.0, 7.0, 7.0]


def embedding(kind: str) -> Any:
    """Rows of a table at whole inputs, summed, and a linear map."""
    generator = np.random.default_rng(1)
    tensors = {
        "table": generator.normal(size=(20, 6)).astype(np.float32),
        "axes": np.array([1]),
        "w": generator.normal(size=(6, 2)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Gather", ["table", "at"], ["rows"]),
        helper.make_node("ReduceSum", ["rows", "axes"], ["sum"], keepdims=0),
        helper.make_node("MatMul", ["sum", "w"], ["y"]),
    ]
    first = helper.make_node("Cast", ["x"], ["at"], to=TensorProto.INT64)
    types = {"cast": TensorProto.FLOAT, "whole": TensorProto.INT64}
    name = "at" if kind == "whole" else "x"
    graph = helper.make_graph(
        nodes if kind == "whole" else [first, *nodes],
        "embedding",
        [helper.make_tensor_value_info(name, types[kind], ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])],
        [numpy_helper.from_array(array, key) for key, array in tensors.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.parametrize("kind", ["cast", "whole"])
def test_embeddings_are_maps_of_one_hot_vectors(kind: str) -> None:
    model = embedding(kind)
    rows = np.random.default_rng(2).integers(0, 20, (60, 4))
    made = fhe.compile(model, rows, **SMALL)
    (port,) = made.description.inputs
    assert port.shape == (4, 20)
    assert "table" not in json.dumps(made.description.to_json())
    client, server = made.split()
    client.keygen()
    given = {"at" if kind == "whole" else "x": rows.astype(
        np.int64 if kind == "whole" else np.float32)}  # fmt: skip
    wanted = ReferenceEvaluator(model).run(None, given)[0]
    found = [client.decrypt(server.run(client.encrypt(row))) for row in rows[:3]]
    assert np.abs(np.concatenate(found) - wanted[:3]).max() <= made.report.error + 1e-5
    for wrong in (20.0, -1.0):
        with pytest.raises(ModelError, match="expected the categories"):
            client.encrypt(np.full(4, wrong))


def test_heads_in_files_are_checked() -> None:
    model, x = fitted("one-hot")
    note = json.loads(fhe.compile(model, x, **SMALL).description.to_json())
    assert note["version"] == 3
    assert Description.read(Member("note", note)).head is not None

    def refused(change: Any, words: str) -> None:
        other = json.loads(json.dumps(note))
        change(other["head"], other)
        with pytest.raises(LoadError, match=words):
            Description.read(Member("note", other))

    refused(lambda head, whole: whole.update(version=2), "version")
    refused(lambda head, whole: head.update(more=1), "more")
    refused(lambda head, whole: head["inputs"].update(X=[-1]), "inputs")
    refused(lambda head, whole: head.update(inputs={}), "inputs")
    refused(lambda head, whole: head["steps"].update(results=["other"]), "steps")
    refused(lambda head, whole: head["steps"].update(results=["X"]), "expected all inputs")
    refused(lambda head, whole: head["steps"]["steps"][0].update(kind="system"), "steps")
    refused(lambda head, whole: whole.pop("guard"), "guard|version")
    steps = [{"output": "0 Categories0", "kind": "cast", "inputs": ["X"], "parameters": {"to": to}}
             for to in ("S1000000000", "f8,f8", "object")]  # fmt: skip
    for step in steps:
        other = json.loads(json.dumps(note))
        other["head"]["steps"]["steps"] = [step]
        with pytest.raises(ModelError, match="expected one of"):
            Description.read(Member("note", other)).head.run(np.zeros(4))


def test_every_step_refuses_parameters_that_do_not_fit() -> None:
    """Of a file: as errors of the step, never others."""
    x = np.array([[0.0, 1.0], [2.0, np.nan]])
    assert FEATURE_KINDS["round"](x[:1] + 0.5).tolist() == [[0.0, 2.0]]
    assert FEATURE_KINDS["is_missing"](x).tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert FEATURE_KINDS["mapped"](x[:1], [1.0], [5.0], -1.0).tolist() == [[-1.0, 5.0]]
    for kind, wrong in (
        ("mapped", {"keys": [0.0, 1.0], "values": [1.0]}),
        ("mapped", {"keys": [], "values": []}),
        ("imputed", {"values": [1.0, 2.0, 3.0]}),
        ("powers", {"exponents": [1.0, 2.0, 3.0]}),
        ("equal", {"values": [1.0, 2.0, 3.0]}),
        ("splines", {"knots": [[0.0, 1.0]], "degree": 1}),
        ("splines", {"knots": [[0.0, 1.0], [0.0, 1.0]], "degree": 5}),
        ("splines", {"knots": [[0.0, 1.0], [0.0, 1.0]], "degree": -1}),
        ("quantiles", {"quantiles": [[0.0]], "shares": [0.0, 1.0]}),
        ("quantiles", {"quantiles": [[0.0, 1.0]] * 3, "shares": [0.0, 1.0]}),
        ("one_hot", {"categories": ["a"]}),
        ("one_hot", {"categories": [0.0] * (1 << 25)}),
        ("categories", {"values": [0.0], "counts": [1]}),
        ("bins", {"edges": [0.0], "counts": [2, -1]}),
        ("whole", {}),
    ):
        with pytest.raises((ValueError, IndexError)):
            FEATURE_KINDS[kind](x + 0.5 if kind == "whole" else x, **wrong)


def test_the_page_lists_what_the_client_computes_first() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    (line,) = (
        part for part in page.split("\n\n") if part.startswith("Before encryption the client")
    )
    own = {kind for (domain, kind) in _ONLY if domain != OWN_DOMAIN}
    assert sorted(kind for kind in own if kind not in line) == []


def test_a_graph_checks_its_head() -> None:
    graph = from_model(*fitted("means"))
    assert isinstance(graph, Graph)
    assert graph.client_head is not None
    with pytest.raises(ModelError, match="expected all inputs"):
        graph.client_head.check({"another"})
    assert "client, before encryption" in graph.describe()
