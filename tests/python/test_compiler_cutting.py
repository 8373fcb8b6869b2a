"""The end of a model moves to the client, as far as it has no trained weights."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.building import Builder
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.cutting import cut
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing import from_model
from cloakwork.compiler.nodes import Affine, Function
from cloakwork.errors import ModelError, ParamError
from cloakwork.strict import Member

SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}


def kinds(graph: Graph) -> list[str]:
    """The functions that stay encrypted."""
    return [node.kind for node in graph.nodes if isinstance(node, Function)]


def fitted(name: str) -> tuple[Any, Any, Any]:
    """An estimator of two classes whose probabilities are functions of its scores."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import SGDClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    made = {
        "logistic": SGDClassifier(loss="log_loss", random_state=0),
        "network": MLPClassifier((4,), activation="identity", max_iter=200, random_state=0),
        "calibrated": CalibratedClassifierCV(LinearSVC(random_state=0), cv=2),
    }[name]
    inputs, labels = load_breast_cancer(return_X_y=True)
    inputs = inputs[:, :6]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trained = make_pipeline(StandardScaler(), made).fit(inputs[:300], labels[:300])
    return trained, inputs[:300], inputs[300:]


@pytest.mark.parametrize("name", ["logistic", "network", "calibrated"])
def test_probabilities_of_encrypted_scores_are_those_of_the_estimator(name: str) -> None:
    trained, sample, others = fitted(name)
    model = fhe.compile(trained, sample, precision=0.02, **SMALL)
    assert model.report.functions == ()
    assert model.report.chosen.depth <= 2
    client, server = model.split()
    for one in others[:5]:
        found = client.decrypt(server.run(client.encrypt(one, clip=True)))
        assert isinstance(found, dict)
        right = trained.predict_proba(one[np.newaxis])
        assert np.abs(found["probabilities"] - right).max() < 0.03
        if abs(right[0, 0] - 0.5) > 0.05:
            assert found["label"] == trained.predict(one[np.newaxis])
    assert "client: " in model.describe()


def test_what_is_not_to_be_revealed_is_computed_encrypted() -> None:
    trained, sample, _ = fitted("logistic")
    graph = from_model(trained, sample)
    assert kinds(graph) == ["sigmoid"]
    assert kinds(cut(graph)) == []
    with pytest.raises(ParamError, match='"scores" or "results"'):
        fhe.compile(trained, sample, reveal="label", **SMALL)  # type: ignore[arg-type]
    model = fhe.compile(trained, sample[:40], reveal="results", degree=2**13, insecure=True)
    assert [row.function for row in model.report.functions] == ["sigmoid"]


def scores_and(end: str) -> Graph:  # noqa: PLR0911 (a return for each end)
    """Three scores of a trained map, and an end of a model."""
    generator, builder = np.random.default_rng(0), Builder()
    scores = builder.affine([(builder.input("x", (5,)), generator.normal(size=(3, 5)))])
    if end == "shares":
        raised = builder.function(scores, "exp")
        total = builder.affine([(raised, np.ones((3, 3)))], np.ones(3))
        return builder.graph([builder.product(raised, builder.function(total, "reciprocal"))])
    if end == "pole":
        return builder.graph([builder.function(scores, "reciprocal")])
    if end == "scaled":
        own = builder.function(scores, "tanh")
        return builder.graph([builder.affine([(own, np.diag([1.37, -0.77, 2.11]))])])
    if end == "signs":
        own = builder.function(scores, "tanh")
        return builder.graph([builder.affine([(own, np.array([[0.3, -0.3, 0.3]]))])])
    if end == "hidden":
        hidden = builder.function(scores, "relu")
        return builder.graph([builder.affine([(hidden, generator.normal(size=(3, 3)))])])
    if end == "wide":
        wide = builder.affine([(scores, np.repeat(np.eye(3), 3, axis=0))])
        other = builder.function(wide, "tanh")
        return builder.graph([builder.affine([(other, np.ones((1, 9)))])])
    assert end == "two"
    first, second = builder.function(scores, "tanh"), builder.function(scores, "sigmoid")
    return builder.graph([builder.sum([first, second]), scores])


@pytest.mark.parametrize(
    ("end", "left", "outputs"),
    [
        # From the scores on: all of it.
        ("shares", [], ["affine"]),
        # Not beyond trained weights.
        ("hidden", ["relu"], None),
        ("scaled", ["tanh"], None),
        ("signs", ["tanh"], None),
        # Not functions that make much of noise.
        ("pole", ["reciprocal"], None),
        # Not where the client would get more numbers than the model has results.
        ("wide", ["tanh"], None),
        # Scores that are a result as well.
        ("two", [], ["affine"]),
    ],
)
def test_the_end_moves_as_far_as_it_reads_few_numbers_and_has_no_trained_weights(
    end: str, left: list[str], outputs: list[str] | None
) -> None:
    graph = scores_and(end)
    found = cut(graph)
    assert kinds(found) == left
    assert found.outputs == (graph.outputs if outputs is None else tuple(outputs))
    assert (found is graph) == (outputs is None)
    inputs = np.random.default_rng(1).normal(size=(20, 5))
    expected = graph.predict(inputs)
    for name, values in found.predict(inputs).items():
        assert np.allclose(values, expected[name])
        assert values.shape == expected[name].shape
    again = ClientTail.read(Member("x", found.client_tail.to_json()))
    for name, values in again.run(found.run(inputs)).items():
        assert np.allclose(values, expected[name])


def _random_node(builder: Builder, values: list[str], generator: np.random.Generator) -> str:
    one, two = (str(generator.choice(values)) for _ in range(2))
    size, rows = builder.size(one), int(generator.integers(1, 5))
    kind = str(generator.choice(["trained", "ones", "function", "product"]))
    if kind == "trained":
        return builder.affine([(one, generator.normal(size=(rows, size)))])
    if kind == "ones":
        return builder.affine([(one, np.ones((rows, size)))], np.full(rows, 0.5))
    if kind == "function":
        return builder.function(one, "tanh")
    return builder.product(one, two if builder.size(two) == size else one)


@pytest.mark.parametrize("seed", range(30))
def test_random_models_compute_the_same_after_the_cut(seed: int) -> None:
    generator, builder = np.random.default_rng(seed), Builder()
    values = [builder.input("x", (4,))]
    for _ in range(int(generator.integers(2, 9))):
        values.append(_random_node(builder, values, generator))
    graph = builder.graph(list(dict.fromkeys(values[-2:])))
    found = cut(graph)
    assert sum(found[name].size for name in found.outputs) <= sum(
        graph[name].size for name in graph.outputs
    )
    inputs = generator.normal(size=(6, 4))
    expected = graph.predict(inputs)
    for name, result in found.predict(inputs).items():
        assert np.allclose(result, expected[name])
    kept = {node.output for node in found.nodes if isinstance(node, Affine)}
    trained = [
        n for n in graph.nodes if isinstance(n, Affine) and len(np.unique(n.terms[0][1].data)) > 2
    ]
    needed = {name for node in found.nodes for name in node.inputs} | set(found.outputs)
    assert all(node.output in kept for node in trained if node.output in needed)


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        ("linear", {"matrices": [], "bias": [1.0], "shape": [1]}, "argument"),
        (
            "linear",
            {
                "matrices": [{"rows": [-1], "columns": [0], "weights": [1]}],
                "bias": [0],
                "shape": [1],
            },
            "0 or more",
        ),
        (
            "linear",
            {
                "matrices": [{"rows": [0], "columns": [9], "weights": [1]}],
                "bias": [0],
                "shape": [1],
            },
            "out of bounds",
        ),
        ("linear", {"matrices": [{"rows": [0]}], "bias": [0], "shape": [1]}, "columns"),
        ("linear", {"matrices": [7], "bias": [0], "shape": [1]}, "subscriptable"),
        ("function", {"name": "system", "options": {}, "shape": [2]}, "expected one of"),
        ("function", {"name": "elu", "options": {}, "shape": [2]}, "alpha"),
        ("product", {"shape": [7]}, "reshape"),
    ],
)
def test_steps_of_a_file_that_fit_nothing_are_refused(
    kind: str, parameters: dict[str, Any], words: str
) -> None:
    tail = ClientTail(("y",), (ClientStep("y", kind, ("x",), parameters),))
    with pytest.raises(ModelError, match=words):
        tail.run({"x": np.ones((1, 2))})
