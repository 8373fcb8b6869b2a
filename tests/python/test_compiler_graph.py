"""A model as a graph: what it computes, what it refuses, and how it becomes smaller."""

import json
from typing import Any

import numpy as np
import pytest
from cloakwork.compiler.building import Builder, diagonal, identity, selection
from cloakwork.compiler.client_tail import CLIENT_KINDS, ClientStep, ClientTail
from cloakwork.compiler.functions import FUNCTIONS
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Evaluate, Function, Input, Product, Source
from cloakwork.compiler.simplifying import simplified
from cloakwork.errors import LoadError, ModelError
from cloakwork.fhe import Polynomial
from cloakwork.strict import Member
from scipy import sparse

RANDOM = np.random.default_rng(20)


def dense(rows: int, columns: int) -> Any:
    return RANDOM.normal(size=(rows, columns))


def small() -> Builder:
    builder = Builder()
    builder.input("x", (2, 3))
    return builder


def same(one: Graph, other: Graph) -> None:
    sample = {node.output: RANDOM.normal(size=(5, *node.shape)) for node in one.inputs}
    for (name, a), (again, b) in zip(
        one.run(sample).items(), other.run(sample).items(), strict=True
    ):
        assert name == again
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_a_graph_computes_what_its_nodes_say() -> None:
    builder = small()
    weights, bias = dense(4, 6), RANDOM.normal(size=4)
    hidden = builder.affine([("x", weights), ("x", np.ones((4, 6)))], bias)
    square = builder.product(hidden, hidden)
    active = builder.function(square, "leaky_relu", slope=0.5)
    cubic = builder.evaluate(active, Polynomial([1.0, 0.0, 0.0, 2.0]))
    graph = builder.graph([cubic, "x"])
    x = RANDOM.normal(size=(7, 2, 3))
    value = (x.reshape(7, 6) @ (weights + 1).T + bias) ** 2
    found = graph.run(x)
    np.testing.assert_allclose(found[cubic], 1 + 2 * value**3)
    np.testing.assert_array_equal(found["x"], x)


def test_ranges_are_those_of_each_element() -> None:
    builder = small()
    doubled = builder.scaled("x", 2.0, 1.0)
    graph = builder.graph([builder.function(doubled, "relu")])
    sample = RANDOM.normal(size=(50, 2, 3))
    ranges = graph.trace_ranges({"x": sample})
    flat = sample.reshape(50, 6)
    np.testing.assert_array_equal(ranges["x"][0], flat.min(axis=0))
    np.testing.assert_allclose(ranges[doubled][1], 2 * flat.max(axis=0) + 1)
    assert (ranges["relu"][0] >= 0).all()


def test_ranges_of_a_large_sample_are_found_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = small()
    graph = builder.graph([builder.function("x", "sigmoid")])
    sample = RANDOM.normal(size=(50, 2, 3))
    whole = graph.trace_ranges(sample)
    monkeypatch.setattr("cloakwork.compiler.graph._CHUNK_ELEMENTS", 42)
    for name, (low, high) in graph.trace_ranges(sample).items():
        np.testing.assert_array_equal(low, whole[name][0])
        np.testing.assert_array_equal(high, whole[name][1])


def test_values_are_freed_after_their_last_reader() -> None:
    builder = small()
    for _ in range(3):
        builder.scaled(builder.nodes[-1].output, 2.0)
    graph = builder.graph([builder.nodes[-1].output])
    steps = graph.steps(np.ones((1, 2, 3)))
    assert [node.output for node, _ in steps] == ["x", "affine", "affine.1", "affine.2"]


X = Input("x", (2, 3))
EYE = identity(6)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ((X, X), "found it twice"),
        ((Input("x", (2, 0)),), "lengths of 1 or more"),
        ((Function("y", (6,), "z", "relu"),), "no earlier node computes"),
        ((X, Function("y", (5,), "x", "relu")), "expected 5 elements of 'x', found 6"),
        ((X, Function("y", (6,), "x", "rule")), "found 'rule'"),
        ((X, Function("y", (6,), "x", "leaky_relu")), "expected the parameters"),
        ((X, Function("y", (6,), "x", "leaky_relu", {"slope": np.nan})), "finite slope"),
        ((X, Product("y", (5,), "x", "x")), "expected 5 elements"),
        ((X, Evaluate("y", (6,), "x", [1.0])), "expected a fhe.Polynomial, found list"),
        ((X, Affine("y", (6,), (("x", EYE),), np.zeros(5))), "a bias float64 [6]"),
        ((X, Affine("y", (6,), (("x", identity(5)),), np.zeros(6))), "a matrix [6, 6]"),
        ((X, Affine("y", (6,), (("x", np.eye(6)),), np.zeros(6))), "csr_array"),
        ((X, Affine("y", (6,), (("x", EYE), ("x", EYE)), np.zeros(6))), "different inputs"),
        ((X, Affine("y", (6,), (("x", identity(6, np.inf)),), np.zeros(6))), "finite weights"),
        ((X, Affine("y", (6,), (("x", EYE),), np.full(6, np.nan))), "finite weights"),
        ((X,), "the output 'y' is the result of no node"),
        ((), "at least one input"),
    ],
)
def test_a_graph_that_does_not_fit_together_is_refused(nodes: Any, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        Graph(nodes, ("y",))
    assert words in str(caught.value)


@pytest.mark.parametrize("outputs", [(), ("x", "x")])
def test_outputs_are_named_once(outputs: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match="different outputs"):
        Graph((X,), outputs)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.ones((4, 6)), "found [4, 6]"),
        (np.ones((2, 3)), "found [2, 3]"),
        (np.ones((0, 2, 3)), "found [0, 2, 3]"),
        (np.full((4, 2, 3), "a"), "found the dtype <U1"),
        (np.ones((4, 2, 3), dtype=np.complex128), "complex128"),
        (np.array([[[1.0, 2, 3], [1, np.nan, 3]]]), "found nan in row 0"),
        ([[[1.0, 2], [3]]], "inhomogeneous"),
        ({"y": np.ones((4, 2, 3))}, "expected the inputs ['x'], found ['y']"),
        ({}, "found []"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(given: Any, words: str) -> None:
    graph = small().graph(["x"])
    for call in (graph.run, graph.trace_ranges):
        with pytest.raises(ModelError) as caught:
            call(given)
        assert words in str(caught.value)


def test_inputs_of_different_batches_are_refused() -> None:
    builder = small()
    builder.input("y", (6,))
    graph = builder.graph([builder.product("x", "y")])
    with pytest.raises(ModelError, match="one batch"):
        graph.run({"x": np.ones((2, 2, 3)), "y": np.ones((3, 6))})


@pytest.mark.parametrize("kind", ["reciprocal", "log", "rsqrt"])
def test_a_function_without_a_value_names_the_argument(kind: str) -> None:
    builder = small()
    graph = builder.graph([builder.function("x", kind)])
    with pytest.raises(ModelError, match=rf"Function '{kind}': {kind} of 0 is not finite"):
        graph.run(np.zeros((1, 2, 3)))


@pytest.mark.parametrize("kind", sorted(FUNCTIONS))
def test_each_function_is_finite_on_its_domain_and_keeps_the_shape(kind: str) -> None:
    low, high = FUNCTIONS[kind].domain
    x = np.linspace(max(low, -30.0) + 0.05, min(high, 30.0), 601).reshape(1, 601)
    found = FUNCTIONS[kind].define(x, **FUNCTIONS[kind].parameters)
    assert found.shape == x.shape
    assert found.dtype == np.float64
    assert np.isfinite(found).all()


def test_chains_of_affines_become_one_and_sources_are_kept() -> None:
    builder = small()
    builder.source = Source(("a",), ("Conv",))
    one = builder.affine([("x", dense(6, 6))], RANDOM.normal(size=6), (2, 3))
    builder.source = Source(("b",), ("BatchNormalization",))
    two = builder.scaled(one, RANDOM.normal(size=(2, 3)), 0.5)
    builder.source = Source(("c",), ("Gemm",))
    graph = builder.graph([builder.affine([(two, dense(3, 6))], 1.0)])
    small_graph = simplified(graph)
    assert [type(node) for node in small_graph.nodes] == [Input, Affine]
    assert str(small_graph.nodes[1].source) == "Conv a + BatchNormalization b + Gemm c"
    same(graph, small_graph)


def test_a_composition_that_stores_more_weights_is_left_alone() -> None:
    builder = Builder()
    builder.input("x", (100,))
    narrow = builder.affine([("x", dense(2, 100))])
    graph = builder.graph([builder.affine([(narrow, dense(100, 2))])])
    assert simplified(graph).nodes == graph.nodes


def test_an_affine_with_two_readers_is_composed_only_if_it_selects() -> None:
    for matrix, nodes in [(dense(6, 6), 4), (2 * selection([5, 3, 1, 0, 2, 4], 6), 3)]:
        builder = small()
        shared = builder.affine([("x", matrix)])
        outputs = [builder.affine([(shared, dense(6, 6))]) for _ in range(2)]
        graph = builder.graph(outputs)
        assert len(simplified(graph).nodes) == nodes
        same(graph, simplified(graph))


def test_a_value_that_is_an_output_stays() -> None:
    builder = small()
    one = builder.scaled("x", 2.0)
    graph = builder.graph([one, builder.scaled(one, 3.0)])
    assert simplified(graph)[one].shape == (2, 3)
    same(graph, simplified(graph))


def test_permutations_move_behind_functions_and_into_the_next_affine() -> None:
    builder = small()
    turned = builder.select("x", [[0, 3], [1, 4], [2, 5]])
    active = builder.function(turned, "tanh")
    graph = builder.graph([builder.affine([(active, dense(2, 6))])])
    assert [type(node) for node in simplified(graph).nodes] == [Input, Function, Affine]
    same(graph, simplified(graph))


def test_factors_that_are_permuted_alike_are_permuted_once() -> None:
    builder = small()
    builder.input("y", (6,))
    order = [3, 0, 5, 1, 4, 2]
    product = builder.product(builder.select("x", order), builder.select("y", order))
    graph = builder.graph([builder.affine([(product, dense(2, 6))])])
    assert [type(n) for n in simplified(graph).nodes] == [Input, Input, Product, Affine]
    same(graph, simplified(graph))
    square = small()
    turned = square.select("x", order)
    other = square.graph([square.product(turned, turned)])
    same(other, simplified(other))


def test_shapes_alone_are_no_nodes_not_even_at_the_end() -> None:
    builder = small()
    flat = builder.affine([("x", EYE)], shape=(6,), name="flat")
    active = builder.function(flat, "relu")
    last = builder.affine([(active, EYE)], shape=(3, 2), name="last")
    graph = builder.graph([last])
    found = simplified(graph)
    assert [type(node) for node in found.nodes] == [Input, Function]
    assert found["last"].shape == (3, 2)
    same(graph, found)


def test_an_input_that_is_an_output_keeps_its_name_and_shape() -> None:
    builder = small()
    graph = builder.graph([builder.affine([("x", EYE)], shape=(6,), name="y")])
    same(graph, simplified(graph))


def test_dead_nodes_disappear_and_do_not_count_as_readers() -> None:
    builder = small()
    one = builder.affine([("x", dense(6, 6))])
    builder.function(one, "relu")
    graph = builder.graph([builder.affine([(one, dense(6, 6))])])
    assert len(simplified(graph).nodes) == 2
    same(graph, simplified(graph))


def test_terms_that_cancel_leave_a_graph_that_computes_the_same() -> None:
    builder = small()
    minus = builder.scaled("x", -1.0, 3.0)
    graph = builder.graph([builder.sum(["x", minus])])
    assert len(simplified(graph).nodes) == 2
    np.testing.assert_array_equal(
        simplified(graph).run(np.ones((1, 2, 3)))["affine.1"], [[[3.0] * 3] * 2]
    )


@pytest.mark.parametrize("seed", range(25))
def test_random_graphs_keep_their_values(seed: int) -> None:
    random = np.random.default_rng(seed)
    builder = small()
    values = ["x"]
    for _ in range(12):
        a, b = (values[i] for i in random.integers(len(values), size=2))
        made = [
            lambda a, b: builder.affine([(a, random.normal(size=(6, 6))), (b, EYE)], 0.5),
            lambda a, b: builder.select(a, random.permutation(6)),
            lambda a, b: builder.affine([(a, EYE)], shape=(3, 2)),
            lambda a, b: builder.scaled(a, random.normal(), 0.1),
            builder.product,
            lambda a, b: builder.function(a, "tanh"),
            lambda a, b: builder.affine([(a, selection(random.integers(-1, 6, size=6), 6))]),
        ][random.integers(7)](a, b)
        values.append(made)
    chosen = random.choice(values[1:], size=3, replace=False)
    graph = builder.graph(list(chosen))
    x = random.uniform(-1, 1, size=(3, 2, 3))
    for name, value in simplified(graph).run(x).items():
        np.testing.assert_allclose(value, graph.run(x)[name], rtol=1e-9, atol=1e-9)


def test_the_client_computes_labels_from_scores_and_its_steps_are_json() -> None:
    builder = small()
    scores = builder.affine([("x", dense(3, 6))])
    tail = ClientTail(
        ("label", "probabilities"),
        (
            ClientStep("best", "argmax", (scores,), {"axis": 1}),
            ClientStep("label", "labels", ("best",), {"classes": ["ant", "bee", "cat"]}),
            ClientStep("probabilities", "softmax", (scores,)),
        ),
    )
    stored = ClientTail.read(Member("x", json.loads(json.dumps(tail.to_json()))))
    assert stored == tail
    graph = builder.graph([scores], stored)
    x = RANDOM.normal(size=(4, 2, 3))
    found = graph.predict(x)
    best = graph.run(x)[scores].argmax(axis=1)
    assert found["label"].tolist() == [["ant", "bee", "cat"][index] for index in best]
    np.testing.assert_allclose(found["probabilities"].sum(axis=1), 1.0)
    assert graph.results == ("label", "probabilities")
    assert "client: label = labels(best)" in graph.describe()


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        (ClientTail(("z",)), "found 'z'"),
        (ClientTail(("s",), (ClientStep("s", "guess", ("x",)),)), "found 'guess'"),
        (ClientTail(("s",), (ClientStep("s", "argmax", ("y",)),)), "found 'y'"),
        (ClientTail(("x",), (ClientStep("x", "argmax", ("x",)),)), "found it twice"),
    ],
)
def test_a_client_tail_that_does_not_fit_is_refused(tail: ClientTail, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        small().graph(["x"], tail)


@pytest.mark.parametrize(
    "stored", [{}, {"results": "ab"}, {"results": [1], "steps": []}, {"results": [], "steps": [3]}]
)
def test_client_steps_of_another_form_are_refused(stored: Any) -> None:
    with pytest.raises(LoadError, match="client steps"):
        ClientTail.read(Member("client steps", stored))


def test_a_client_step_with_wrong_parameters_says_which() -> None:
    tail = ClientTail(("s",), (ClientStep("s", "argmax", ("x",), {"axes": 1}),))
    with pytest.raises(ModelError, match="client step 's', argmax"):
        tail.run({"x": np.ones((2, 3))})


SCORES = np.array([[1.0, 3.0, 3.0], [2.0, -1.0, 0.0]])


@pytest.mark.parametrize(
    ("kind", "parameters", "expected"),
    [
        ("above", {"threshold": 1.0}, [[0, 1, 1], [1, 0, 0]]),
        ("above", {"threshold": 1.0, "inclusive": True}, [[1, 1, 1], [1, 0, 0]]),
        ("affine", {"scale": 2.0, "offset": 1.0}, 2 * SCORES + 1),
        ("argmax", {}, [1, 0]),
        ("argmax", {"last": True, "keepdims": True}, [[2], [0]]),
        ("argmin", {}, [0, 1]),
        ("cast", {"to": "int64"}, SCORES.astype(int)),
        ("exp", {}, np.exp(SCORES)),
        ("log_softmax", {}, SCORES - np.log(np.exp(SCORES).sum(axis=1, keepdims=True))),
        ("normalize", {"norm": "MAX"}, [[1 / 3, 1, 1], [1, -0.5, 0]]),
        ("normalize", {"norm": "L1"}, SCORES / [[7.0], [3.0]]),
        ("normalize", {"norm": "L2"}, SCORES / [[19**0.5], [5**0.5]]),
        ("reshape", {"shape": [3, 1]}, SCORES.reshape(2, 3, 1)),
        ("sigmoid", {}, 1 / (1 + np.exp(-SCORES))),
        ("softmax", {}, np.exp(SCORES) / np.exp(SCORES).sum(axis=1, keepdims=True)),
        ("tanh", {}, np.tanh(SCORES)),
        ("labels", {"classes": [7, 5, 6, 9]}, None),
        ("both_classes", {}, None),
    ],
)
def test_each_kind_of_client_step(kind: str, parameters: Any, expected: Any) -> None:
    given = SCORES
    if kind == "labels":
        given, expected = np.array([3, 0]), [9, 7]
    if kind == "both_classes":
        given, expected = np.array([0.25, 1.0]), [[0.75, 0.25], [0.0, 1.0]]
    tail = ClientTail(("s",), (ClientStep("s", kind, ("x",), parameters),))
    np.testing.assert_allclose(tail.run({"x": given})["s"], expected)
    assert kind in CLIENT_KINDS


def test_matrices_of_a_builder_are_sparse_and_without_stored_zeros() -> None:
    builder = small()
    given = sparse.csr_array((np.array([0.0, 2.0]), ([0, 0], [1, 2])), shape=(1, 6))
    node = builder.graph([builder.affine([("x", given)])])["affine"]
    assert isinstance(node, Affine)
    assert node.nonzeros == 1
    assert given.nnz == 2
    assert diagonal([1.0, 0.0]).shape == (2, 2)
