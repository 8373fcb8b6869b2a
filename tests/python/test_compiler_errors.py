"""The errors that compiled models state hold on inputs that the compiler has not seen."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.building import Builder
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine
from cloakwork.compiler.sensitivity import Sensitivity
from cloakwork.compiler.tolerances import errors_of_results
from cloakwork.errors import OutsideError
from cloakwork.models import load_cancer, load_reviews, network_path
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from python.compiled_graphs import perceptron, random_graph, sample_of
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

# The mathematics is that of every degree.
SMALL: dict[str, Any] = {"degree": 2**10, "insecure": True}


def rectifier() -> Graph:
    """Two layers with ReLU, whose compositions amplify noise near the bend."""
    generator, builder = np.random.default_rng(5), Builder(name="relu")
    x = builder.input("x", (12,))
    hidden = builder.affine([(x, generator.normal(size=(6, 12)) / 4)], generator.normal(size=6) / 9)
    active = builder.function(hidden, "relu")
    return builder.graph([builder.affine([(active, generator.normal(size=(3, 6)))])])


def uneven() -> Graph:
    """The fourth power and 100 x: derivatives differ between inputs, and between outputs."""
    builder = Builder(name="uneven")
    x = builder.input("x", (4,))
    square = builder.product(x, x)
    power = builder.product(square, square)
    return builder.graph([power, builder.scaled(x, 100.0)])


GRAPHS = {
    "perceptron": lambda: perceptron((20, 12, 3)),
    "random": lambda: random_graph(7),
    "relu": rectifier,
    "uneven": uneven,
}


def worst_excess(model: CompiledModel, inputs: dict[str, Any], rows: int) -> tuple[float, float]:
    """The largest error relative to the stated one and to the bound, of inputs within ranges."""
    graph = model._graph
    assert graph is not None
    client, server = model.split()
    port = model.description.inputs[0]
    size = rows if port.layout is None else 1
    expected, worst, bounded = graph.run(inputs), 0.0, 0.0
    for start in range(0, rows, size):
        part = {name: values[start : start + size] for name, values in inputs.items()}
        found = client.outputs(server.run(client.encrypt(part)), size)
        for own in model.description.outputs:
            off = np.abs(found[own.name] - expected[own.name][start : start + size]).max()
            worst, bounded = max(worst, off / own.error), max(bounded, off)
    return worst, bounded / model.report.error_bound


@pytest.mark.parametrize("mode", ["latency", "throughput"])
@pytest.mark.parametrize("name", GRAPHS)
def test_stated_errors_hold_for_inputs_that_the_compiler_has_not_seen(name: str, mode: str) -> None:
    graph = GRAPHS[name]()
    model = fhe.compile(graph, sample_of(graph, 64), optimize=mode, **SMALL)
    rows = 400 if mode == "throughput" else 40
    worst, bounded = worst_excess(model, sample_of(graph, rows, seed=9), rows)
    assert 0.01 < worst <= 1
    assert bounded <= 1


def test_stated_errors_hold_wherever_values_stay_within_their_ranges() -> None:
    graph = perceptron((4, 6, 2))
    model = fhe.compile(graph, sample_of(graph, 400), optimize="throughput", **SMALL)
    corners = np.random.default_rng(3).choice([-1.0, 1.0], size=(500, 4))
    ranges = graph.trace_ranges(sample_of(graph, 400))
    inside = np.ones(len(corners), dtype=np.bool_)
    for node, values in graph.steps(corners):
        low, high = ranges[node.output]
        room = (high - low) / 4
        inside &= ((values >= low - room) & (values <= high + room)).all(axis=1)
    kept = {"x": corners[inside]}
    assert inside.sum() > 50
    worst, bounded = worst_excess(model, kept, int(inside.sum()))
    assert worst <= 1
    assert bounded <= 1


def test_samples_beyond_stated_bounds_count_as_their_edges() -> None:
    graph = perceptron((8, 4, 2))
    model = fhe.compile(graph, sample_of(graph, 64), bounds=(-0.5, 0.5), **SMALL)
    inside = {"x": sample_of(graph, 20, seed=3)["x"] / 2}
    worst, bounded = worst_excess(model, inside, 20)
    assert 0.01 < worst <= 1
    assert bounded <= 1


def test_sensitivity_is_that_of_calculus() -> None:
    """Of A x + b with noise 1 in x and in the result: the root of 1 + the squares of each row."""
    generator, builder = np.random.default_rng(2), Builder()
    x = builder.input("x", (200,))
    matrix = generator.normal(size=(150, 200))
    builder.affine([(x, matrix)])
    node = builder.nodes[-1]
    assert isinstance(node, Affine)
    graph = builder.graph([node.output])
    found = Sensitivity.of(graph, sample_of(graph, 40))
    expected = np.sqrt(1 + np.square(matrix).sum(axis=1))
    measured = np.sqrt(np.square(found.factors[node.output]).mean(axis=0))
    np.testing.assert_allclose(measured, expected, rtol=0.25)


def test_errors_of_a_few_inputs_tell_about_more_sensitive_ones() -> None:
    builder = Builder()
    x = builder.input("x", (1,))
    square = builder.product(x, x)
    graph = builder.graph([square])
    sample = np.concatenate([np.full((16, 1), 0.01), np.full((64, 1), 50.0)])
    found = Sensitivity.of(graph, {"x": sample})
    noise = np.random.default_rng(1).normal(size=(16, 1)) / 100
    stated = found.stated({square: noise})[square]
    # The derivative is 100 there: errors of up to 6 standard deviations of 1, with room.
    assert 5 < stated < 40


@pytest.mark.parametrize(("name", "goal"), [("cancer", 252), ("sentiment", 832)])
def test_predictions_on_the_whole_test_set_are_those_in_plain(name: str, goal: int) -> None:
    if name == "cancer":
        table = load_cancer()
        inputs, labels, exact = table.standardised, table.labels, table.scores()
    else:
        reviews = load_reviews()
        inputs = reviews.embed(reviews.sentences)
        labels, exact = reviews.labels, reviews.scores(inputs)
    # At the least secure degree: all inputs at once.
    model = fhe.compile(network_path(name), inputs, optimize="throughput")
    assert model.context.parameters.is_secure
    client, server = model.split()
    (output,) = model.description.outputs
    found = client.outputs(server.run(client.encrypt(inputs)), len(inputs))[output.name].ravel()
    clear = np.abs(exact) > output.error + model.report.approximation_error
    assert ((found > 0) == (exact > 0))[clear].all()
    assert np.abs(found - exact).max() <= output.error + model.report.approximation_error + 1e-5
    assert clear.mean() > 0.98
    assert abs(int(((found > 0) == labels).sum()) - goal) <= 0.005 * len(labels)


def counts() -> tuple[Any, Any]:
    """A regressor of counts, whose client takes exponentials of up to 60, and its sample."""
    features = np.random.default_rng(4).uniform(-1, 1, size=(300, 5))
    means = np.exp(features @ [1.5, -1.0, 0.5, 1.0, 0.0] + 1)
    targets = np.random.default_rng(5).poisson(means)
    return PoissonRegressor(alpha=1e-3).fit(features, targets), features


def test_errors_of_what_the_client_computes_are_stated_apart() -> None:
    estimator, features = counts()
    model = fhe.compile(estimator, features, **SMALL)
    ((name, stated),) = model.report.result_errors.items()
    rows = np.random.default_rng(6).uniform(-1, 1, size=(60, 5))
    client, server = model.split()
    off = [
        np.abs(client.decrypt(server.run(client.encrypt(row))) - estimator.predict(row[None])).max()
        for row in rows
    ]
    assert max(off) <= stated
    # How large the noise of one run is, is chance; how much exponentials enlarge it is not.
    largest = float(estimator.predict(features).max())
    assert largest > 3
    assert stated > 0.9 * largest * model.report.error
    assert stated < model.report.accepted_result_errors[name]
    assert f"by encryption, for inputs like the sample: {name} {stated:.2g}" in model.describe()
    assert model.report_json["result_errors"] == {name: stated}


def test_errors_of_results_without_a_bound_are_said_to_have_none() -> None:
    builder = Builder(name="logarithm")
    x = builder.input("x", (3,))
    scores = builder.affine([(x, np.eye(3))])
    graph = replace(
        builder.graph([scores]),
        client_tail=ClientTail(
            ("y",),
            (ClientStep("y", "function", (scores,), {"name": "log", "options": {}, "shape": [3]}),),
        ),
    )
    found = errors_of_results(graph, {scores: np.array([[1.0, 2.0, 1e-4]])}, {scores: 1e-3})
    assert found == {"y": inf}


def test_errors_beyond_all_numbers_are_no_warnings_of_numpy() -> None:
    builder = Builder(name="power")
    x = builder.input("x", (1,))
    scores = builder.affine([(x, np.eye(1))])
    tail = ClientTail(("y",), (ClientStep("y", "product", (scores,), {"shape": [1]}),))
    graph = replace(builder.graph([scores]), client_tail=tail)
    with np.errstate(all="raise"):
        assert graph.predict({"x": np.array([[1e200]])})["y"] == inf
        assert errors_of_results(graph, {scores: np.array([[1e200]])}, {scores: 1.0}) == {"y": 0}


def test_labels_have_no_error_and_outputs_that_are_results_only_their_own() -> None:
    table = load_cancer()
    features = table.standardised
    fitted = LogisticRegression().fit(features, table.labels)
    assert "label" not in fhe.compile(fitted, features, **SMALL).report.result_errors
    graph = perceptron((4, 6, 2))
    assert not fhe.compile(graph, sample_of(graph, 40), **SMALL).report.result_errors


@pytest.mark.parametrize("mode", ["latency", "throughput"])
def test_a_bias_may_be_larger_than_all_results(mode: str) -> None:
    """Features around 2000, as years, whose weights cancel: the bias makes up for them."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(200, 3))
    years, wanted = 5 * rows + 2000, rows.sum(axis=1)
    fitted = LinearRegression().fit(years, wanted)
    model = fhe.compile(fitted, years, optimize=mode)
    client, server = model.split()
    given = years[:20] if mode == "throughput" else years[:1]
    found = np.ravel(client.decrypt(server.run(client.encrypt(given)), len(given)))
    assert np.abs(found - fitted.predict(given)).max() <= model.report.error + 1e-4


def counted(compared: str, wanted: float) -> tuple[Any, Any]:
    """How many of three sums are above 0.1, compared with a number; and its sample."""
    generator = np.random.default_rng(8)
    weights = generator.normal(size=(4, 3)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Greater", ["h", "least"], ["above"]),
        helper.make_node("Cast", ["above"], ["ones"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["ones", "axes"], ["count"], keepdims=0),
        helper.make_node(compared, ["count", "wanted"], ["y"]),
    ]
    known = {"w": weights, "least": np.float32(0.1), "axes": np.array([1])}
    known["wanted"] = np.float32(wanted)
    graph = helper.make_graph(
        nodes,
        "counted",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.BOOL, None)],
        [numpy_helper.from_array(np.asarray(one), name) for name, one in known.items()],
    )
    opsets = [helper.make_opsetid("", 18)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return model, generator.normal(size=(80, 4)).astype(np.float32)


@pytest.mark.parametrize(
    ("compared", "wanted"), [("GreaterOrEqual", 2), ("Greater", 1), ("LessOrEqual", 1)]
)
def test_counts_of_comparisons_are_compared_as_whole_numbers(compared: str, wanted: float) -> None:
    """Where the count is equal to the number, noise would decide."""
    model, sample = counted(compared, wanted)
    made = fhe.compile(model, sample, **SMALL)
    assert not made.report.client_decides
    client, server = made.split()
    right = ReferenceEvaluator(model).run(None, {"x": sample})[0]
    equal, given = 0, made.plain(sample)
    assert given["y"].tolist() == right.tolist()
    for row, expected in zip(sample[:40], right[:40], strict=True):
        try:
            found = client.decrypt(server.run(client.encrypt(row)))
        except OutsideError:
            continue
        equal += 1
        assert np.ravel(found) == expected
    assert equal > 30
