"""Imported graphs are compared with the given model; malformed nodes are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from cloakwork import fhe
from cloakwork.compiler.building import Builder
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing import from_model
from cloakwork.compiler.importing.activations import applied
from cloakwork.compiler.importing.expanding import EXPANDED
from cloakwork.compiler.importing.heads import _ONLY
from cloakwork.compiler.importing.proving import Original, prove
from cloakwork.compiler.importing.reading import OWN_DOMAIN
from cloakwork.compiler.importing.tails import _OWN_KINDS
from cloakwork.compiler.importing.values import HANDLERS
from cloakwork.errors import ModelError
from onnx import TensorProto, helper, numpy_helper
from python.onnx_models import model_of, node, random_chain
from python.test_compiler_import import CASES, stored

ML = "ai.onnx.ml"
DRAW = np.random.default_rng(4)
SAMPLE = DRAW.normal(size=(24, 3))


# ---- graphs that compute something else


@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{c[0].op_type}" for n, c in enumerate(CASES)])
@pytest.mark.parametrize("opset", [11, 18])
def test_no_good_model_is_refused(case: Any, opset: int) -> None:
    """Also in float32, with the older forms of nodes where there are any."""
    made, shape, constants = case
    floats = {
        name: array.astype(np.float32) if array.dtype == np.float64 else array
        for name, array in stored(constants).items()
    }
    model = model_of([made], shape, floats, outputs=list(made.output), opset=opset)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT
    try:
        from_model(model)
    except ModelError:
        assert opset < 18
        return
    from_model(model, DRAW.normal(size=(6, *shape)))


OLDER: list[tuple[onnx.NodeProto, tuple[int, ...]]] = [
    (node("Softmax", "x", axis=2), (2, 3, 2)),
    (node("Softmax", "x"), (3, 2)),
    (node("BatchNormalization", "x c d e f"), (3, 2)),
    (node("GlobalMaxPool", "x"), (2, 3)),
    (node("LogSoftmax", "x"), (3,)),
]


@pytest.mark.parametrize(("made", "shape"), OLDER, ids=lambda one: getattr(one, "op_type", ""))
@pytest.mark.parametrize("opset", [9, 18])
def test_what_the_reference_does_unlike_the_standard_is_no_difference(
    made: onnx.NodeProto, shape: tuple[int, ...], opset: int
) -> None:
    """Before a node of the server: the standard's sums are 1, of one axis or of all from it."""
    constants = {name: np.array([0.5, 1.0, 2.0]) for name in "cdef"}
    made.output[0] = "y" if made.op_type == "LogSoftmax" else "t"
    nodes = [made] if made.op_type == "LogSoftmax" else [made, node("Mul", "t t")]
    model = model_of(nodes, shape, constants, opset=opset)
    x = DRAW.normal(size=(5, *shape))
    found = from_model(model, x).predict(x)["y"]
    if made.op_type == "Softmax":
        first = 2 if made.attribute else 1
        axes = tuple(range(first, 1 + len(shape))) if opset < 13 else (2,)
        np.testing.assert_allclose(np.sqrt(found).sum(axis=axes), 1.0)


def test_a_wrong_importer_is_found_with_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HANDLERS, ("", "Elu"), lambda call: applied(call, call.secret(0), "relu"))
    nodes = [node("MatMul", "x c", "a"), node("Elu", "a", "b"), node("MatMul", "b d", "y")]
    constants = {"c": DRAW.normal(size=(3, 4)), "d": DRAW.normal(size=(4, 2))}
    model = model_of(nodes, (3,), constants)
    words = r"small: result 'y': .*a value off by .*; first at Elu 'the Elu' -> 'b'; .*report it"
    with pytest.raises(ModelError, match=words):
        from_model(model, SAMPLE)


def test_deep_networks_are_compared_in_little_time() -> None:
    model, shape = random_chain(4)
    from_model(model, DRAW.normal(size=(500, *shape)))


def test_an_integer_division_is_refused() -> None:
    model = model_of([node("Div", "x c")], (3,), {"c": np.array(2)})
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    with pytest.raises(ModelError, match="Div 'the Div': expected a quotient of floats"):
        from_model(model, np.arange(30).reshape(10, 3))


def test_a_model_that_does_not_run_is_refused() -> None:
    model = model_of([node("Mul", "x c")], (3,), {"c": np.array([True, False, True])})
    with pytest.raises(ModelError, match="small: expected a model that runs on the sample, found"):
        from_model(model, SAMPLE)


# ---- by hand: a graph and a function


def relu() -> Graph:
    builder = Builder()
    return builder.graph([builder.function(builder.input("x", (3,)), "relu")])


def given(function: Callable[[Any], Any], **more: Any) -> Original:
    return Original("Given", lambda rows: [{"f()": function(rows["x"])}], False, "mend it", **more)


def test_rounding_is_no_difference_and_more_is() -> None:
    prove(relu(), given(lambda x: np.maximum(x, 0) * (1 + 5e-4)), SAMPLE)
    words = r"Given: result 'relu': expected a graph that computes f\(\), found a value off by"
    with pytest.raises(ModelError, match=rf"{words} .*; mend it"):
        prove(relu(), given(lambda x: np.maximum(x, 0) * (1 + 5e-3)), SAMPLE)
    with pytest.raises(ModelError, match=r"expected values \[2\] of f\(\), found \[3\]"):
        prove(relu(), given(lambda x: x[:, :2]), SAMPLE)


def test_differences_beside_the_sample_are_found() -> None:
    def same_on(sample: Any) -> Callable[[Any], Any]:
        known = {row.astype(np.float32).tobytes() for row in sample}

        def function(x: Any) -> Any:
            inside = np.array([row.astype(np.float32).tobytes() in known for row in x])
            return np.where(inside[:, None], np.maximum(x, 0), np.abs(x))

        return function

    with pytest.raises(ModelError, match="on an input near the sample"):
        prove(relu(), given(same_on(SAMPLE)), SAMPLE)
    whole = np.rint(SAMPLE * 3) + 0.0
    with pytest.raises(ModelError, match="on an input mixed of the sample"):
        prove(relu(), given(same_on(whole)), whole)


def step(shift: float) -> Graph:
    builder = Builder()
    x = builder.input("x", (3,))
    return builder.graph([builder.function(builder.scaled(x, 1.0, -shift), "step")])


def test_the_other_side_of_a_tie_is_no_difference() -> None:
    tied = np.array([[0.5, 0.25, 1.0], [0.5, 2.0, 0.5], [-1.0, 0.5, 0.75]])
    prove(step(0.5), given(lambda x: (x > 0.5).astype(float)), tied)
    with pytest.raises(ModelError, match="off by 1"):
        prove(step(0.4), given(lambda x: (x > 0.5).astype(float)), SAMPLE)


def test_labels_of_equal_scores_may_differ() -> None:
    def graph(second: float) -> Graph:
        builder = Builder()
        x = builder.input("x", (3,))
        scores = builder.affine([(x, [[1.0, 2.0, 3.0], [1.0, 2.0, second]])])
        step = ClientStep("label", "argmax", (scores,), {"axis": 1})
        return builder.graph([scores], ClientTail(("label",), (step,)))

    ones = given(lambda x: np.ones(len(x), dtype=np.int64))
    prove(graph(3.0), ones, np.rint(SAMPLE))
    with pytest.raises(ModelError, match="found another label"):
        prove(graph(5.0), ones, SAMPLE)


def test_what_has_no_value_is_left_out() -> None:
    builder = Builder()
    x = builder.input("x", (2,))
    difference = builder.affine([(x, [[1.0, -1.0]])])
    graph = builder.graph([builder.function(difference, "log")])
    first = DRAW.uniform(0, 1, (20, 1))
    sample = np.concatenate([first + 0.1, first], axis=1)

    def function(x: Any) -> Any:
        if (x[:, 0] < x[:, 1]).any():
            raise ArithmeticError("none")
        return np.log(x[:, 0] - x[:, 1])

    prove(graph, given(function), sample)
    with pytest.raises(ModelError, match="runs on the sample, found ArithmeticError: none"):
        prove(graph, given(function), sample[:, ::-1])


# ---- estimators


@pytest.fixture(scope="module")
def flowers() -> tuple[Any, Any]:
    from sklearn.datasets import load_iris

    features, labels = load_iris(return_X_y=True)
    return features, labels


def test_an_estimator_that_says_something_else_is_found(flowers: Any) -> None:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1000).fit(*flowers)
    from_model(model, flowers[0])
    own = model.predict_proba
    model.predict_proba = lambda x: own(x) ** 2
    words = r"LogisticRegression: result 'probabilities': .*computes predict_proba\(\), .*skl2onnx"
    with pytest.raises(ModelError, match=words):
        from_model(model, flowers[0])
    model.predict_proba = own
    model.predict = lambda x: np.zeros(len(x))
    with pytest.raises(ModelError, match=r"result 'label': .*another label"):
        from_model(model, flowers[0])


def test_two_classes_of_a_machine_have_scores_of_scikit_learn(flowers: Any) -> None:
    from sklearn.svm import SVC

    features, labels = flowers
    model = SVC(kernel="linear").fit(features, labels > 1)
    _, scores = from_model(model, features).predict(features).values()
    wanted = model.decision_function(features)
    np.testing.assert_allclose(scores, np.stack([-wanted, wanted], axis=1), rtol=1e-3, atol=1e-4)


def test_a_linear_machine_in_a_pipeline_is_read(flowers: Any) -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    features, labels = flowers
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(features, labels)
    label, scores = from_model(model, features).predict(features).values()
    np.testing.assert_array_equal(label, model.predict(features))
    np.testing.assert_allclose(scores, model.decision_function(features), atol=1e-5)


@pytest.mark.parametrize("depth", [3, 7])
def test_trees_of_any_depth_are_compared(flowers: Any, depth: int) -> None:
    from sklearn.ensemble import RandomForestClassifier

    features, labels = flowers
    model = RandomForestClassifier(4, max_depth=depth, random_state=2).fit(features, labels)
    found = from_model(model, features).predict(features)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(features), atol=1e-6)


# ---- malformed nodes

MALFORMED: list[tuple[onnx.NodeProto, str]] = [
    (node("Softmax", "x", axis=[1, 1]), "attribute 'axis' to be an integer, found integers"),
    (node("Relu", "x", alpha=0.5), "no attributes of opset 14, found 'alpha'; remove it"),
    (node("LeakyRelu", "x", alhpa=0.5), "found 'alhpa'; name it alpha"),
    (node("Elu", "x", alpha=1), "'alpha' to be a float, found an integer; give it as FLOAT"),
    (node("Concat", "x x"), r"attribute 'axis', which Concat needs, found \[\]"),
    (node("Relu", "x x"), "expected 1 input, found 2"),
    (node("Clip", "x c c c"), "expected 1 to 3 inputs, found 4"),
    (node("Relu", "x", "y z"), "expected 1 output, found 2"),
    (node("Swish", "x"), "that has this op, found opset 18; export the model with opset 24"),
    (node("Conv", "x c", kernel_shape=[5]), r"kernel_shape for the kernel \[2\], found \[5\]"),
    (node("Conv", "x c", strides=[1, 1]), r"strides for the kernel \[2\]"),
    (node("Gelu", "x", approximate="fast"), "opset of ai.onnx that has this op"),
    (node("ReduceSum", "x d"), "expected axes after the batch, found all axes"),
    (node("Dropout", "x - e"), "expected a model for inference, found training_mode"),
    (node("CastLike", "x d"), "a cast to floats, found int64"),
    (node("DepthToSpace", "f", blocksize=1, mode="CDR"), "mode of DCR or CRD|reads 'f'"),
    (node("RelU", "x"), "found RelU; similar names: Relu"),
    (node("LinearRegressor", "x", domain=ML, coefficient=[1.0]), "name it coefficients"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "words"), MALFORMED, ids=lambda one: getattr(one, "op_type", ""))
def test_malformed_nodes_are_refused_by_name(made: onnx.NodeProto, words: str) -> None:
    constants = {"c": np.ones((1, 2, 2)), "d": np.zeros(0, dtype=np.int64), "e": np.array(True)}
    model = model_of([made], (2, 3), constants)
    with pytest.raises(ModelError, match=words) as caught:
        from_model(model)
    assert str(caught.value).startswith(f"small: {made.op_type} 'the {made.op_type}': ")


def test_attributes_twice_or_by_reference_are_refused() -> None:
    made = node("Elu", "x", alpha=0.5)
    made.attribute.append(helper.make_attribute("alpha", 1.0))
    with pytest.raises(ModelError, match="one attribute 'alpha', found two"):
        from_model(model_of([made], (3,)))
    made = node("Elu", "x", alpha=0.5)
    made.attribute[0].ref_attr_name = "beta"
    with pytest.raises(ModelError, match="found a reference to 'beta'; inline functions"):
        from_model(model_of([made], (3,)))


def test_two_nodes_of_one_output_are_both_named() -> None:
    words = "Exp 'the Exp': .*'t' twice, given already by small: Relu 'the Relu'; rename"
    twice = [node("Relu", "x", "t"), node("Exp", "x", "t"), node("Mul", "t t")]
    with pytest.raises(ModelError, match=words):
        from_model(model_of(twice, (3,)))
    constant = node("Constant", "", "t", value_floats=[1.0, 2.0, 3.0])
    with pytest.raises(ModelError, match=r"Constant 'the Constant': .*'t' twice"):
        from_model(model_of([node("Relu", "x", "t"), constant, node("Mul", "x t")], (3,)))


def test_outputs_keep_their_names_beside_those_that_are_made_up() -> None:
    nodes = [node("Neg", "x", "a"), node("Exp", "a", "affine.1"), node("Relu", "a", "b"),
             node("Neg", "b", "affine"), node("ArgMax", "affine", "exp", axis=1)]  # fmt: skip
    names = ["affine", "affine.1", "exp"]
    found = from_model(model_of(nodes, (3,), outputs=names), SAMPLE).predict(SAMPLE)
    assert list(found) == names
    np.testing.assert_allclose(found["affine.1"], np.exp(-SAMPLE))
    np.testing.assert_array_equal(found["exp"].ravel(), (-np.maximum(-SAMPLE, 0)).argmax(axis=1))
    twins = [node("ArgMax", "x", "i", axis=1), node("Identity", "i", "j")]
    found = from_model(model_of(twins, (3,), outputs=["i", "j"])).predict(SAMPLE)
    np.testing.assert_array_equal(found["i"], found["j"])


def test_a_cast_to_integers_drops_fractions_or_is_refused() -> None:
    last = [node("Mul", "a c", "b"), node("Cast", "b", to=TensorProto.INT64)]
    model = model_of([node("Sigmoid", "x", "a"), *last], (3,), {"c": np.array([5.0])})
    found = from_model(model, SAMPLE).predict(SAMPLE)["y"]
    np.testing.assert_array_equal(found, (5 / (1 + np.exp(-SAMPLE))).astype(np.int64))
    model = model_of([node("Relu", "x", "a"), *last], (3,), {"c": np.array([5.0])})
    with pytest.raises(ModelError, match=r"output 'y': expected floats, .*found int64 that"):
        from_model(model, SAMPLE)


def test_the_client_tells_signs() -> None:
    nodes = [node("MatMul", "x c", "a"), node("Sign", "a", "b"),
             node("Cast", "b", to=TensorProto.INT64)]  # fmt: skip
    graph = from_model(model_of(nodes, (3,), {"c": np.eye(3)}), SAMPLE)
    assert [type(each).__name__ for each in graph.nodes] == ["Input", "Affine"]
    np.testing.assert_array_equal(graph.predict(SAMPLE)["y"], np.sign(SAMPLE))


def test_a_vector_times_a_matrix_gives_what_the_reference_gives() -> None:
    for inputs, length in (("x c", 4), ("c x", 2)):
        model = model_of([node("MatMul", inputs)], (3, 2, 4), {"c": DRAW.normal(size=length)})
        x = DRAW.normal(size=(5, 3, 2, 4))
        wanted = onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})[0]
        np.testing.assert_allclose(from_model(model, x).predict(x)["y"], wanted)


def test_weights_of_trees_as_tensors_are_those_of_lists() -> None:
    lists: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0], "target_treeids": [0, 0], "target_nodeids": [1, 2],
        "target_ids": [0, 0], "n_targets": 1, "nodes_values": [0.5, 0.0, 0.0],
        "target_weights": [1.0, 2.0], "base_values": [4.0],
    }  # fmt: skip
    tensors = {
        f"{name}_as_tensor": numpy_helper.from_array(np.array(lists.pop(name), np.float64))
        for name in ("nodes_values", "target_weights", "base_values")
    }
    made = node("TreeEnsembleRegressor", "x", domain=ML, **lists, **tensors)
    found = from_model(model_of([made], (3,))).predict(np.array([[0.25, 0, 0], [0.75, 0, 0]]))
    assert found["y"].ravel().tolist() == [5.0, 6.0]
    made = node("TreeEnsembleRegressor", "x", domain=ML, aggregate_function="MIN", **lists,
                **tensors)  # fmt: skip
    with pytest.raises(ModelError, match="aggregate_function of SUM or AVERAGE, found MIN"):
        from_model(model_of([made], (3,)))


def test_what_exporters_leave_behind_is_left_out() -> None:
    """As onnxmltools writes LightGBM: copies, a cast that nothing reads, probabilities times 1."""
    lists: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0], "nodes_values": [0.5, 0.0, 0.0],
        "nodes_missing_value_tracks_true": [1, 0, 0], "class_treeids": [0, 0],
        "class_nodeids": [1, 2], "class_ids": [0, 0], "class_weights": [-2.0, 1.0],
        "classlabels_int64s": [0, 1], "post_transform": "LOGISTIC",
    }  # fmt: skip
    nodes = [
        node("TreeEnsembleClassifier", "x", "a b", domain=ML, **lists),
        node("Identity", "a", "c"), node("Identity", "b", "d"),
        node("NonZero", "d", "left"), node("Cast", "c", "label", to=TensorProto.INT64),
        node("Mul", "d one", "shares"),
    ]  # fmt: skip
    model = model_of(nodes, (3,), {"one": np.array([1.0], np.float32)},
                     outputs=["label", "shares"])  # fmt: skip
    found = from_model(model, SAMPLE).predict(np.array([[0.25, 0, 0], [0.75, 0, 0]]))
    shares = 1 / (1 + np.exp([2.0, -1.0]))
    np.testing.assert_allclose(found["shares"], np.stack([1 - shares, shares], axis=1))
    assert found["label"].tolist() == [0, 1]


# ---- random nodes

TABLES = {
    "Above": ["threshold"], "Average": ["weights"], "Ballots": ["known", "weights"],
    "Categories": ["values", "counts", "one_hot", "unknown", "default"],
    "Chained": ["weights", "order", "read", "result"], "ChiSquared": ["steps", "interval"],
    "Columns": ["columns"], "Descended": ["left", "right"], "Imputed": ["values", "missing"],
    "Missing": ["columns", "strict"], "OfLengthOne": ["norm"], "OneVsRest": ["classes"],
    "PerClass": ["times", "plus"], "WeightedCounts": ["weights", "logarithms", "norm"],
    "WeightedMedian": ["weights"],
    "Scaled": ["less", "by", "times", "plus"], "Bins": ["edges", "counts", "one_hot"],
    "PowerTransform": ["lambdas", "positive"], "Quantiles": ["quantiles", "shares", "normal"],
    "Splines": ["knots", "degree"],
}  # fmt: skip


def random_attribute(draw: np.random.Generator, name: str) -> onnx.AttributeProto:
    values: list[Any] = [0, 1, -1, 2**40, 0.5, float("nan"), "", "SOFTMAX", [0], [1, 1],
                         [2, -1, 3], [0.5, -0.5], ["LEAF", "a"],
                         numpy_helper.from_array(np.ones(2)),
                         numpy_helper.from_array(np.arange(-1.0, 8.0).reshape(3, 3))]  # fmt: skip
    return helper.make_attribute(name, values[draw.integers(len(values))])


def random_node(draw: np.random.Generator, domain: str, kind: str) -> onnx.NodeProto:
    """Attributes of any type, inputs of any number."""
    if domain == OWN_DOMAIN:
        names = TABLES[kind]
    else:
        names = list(onnx.defs.get_schema(kind, 28 if not domain else 3, domain).attributes)
    inputs = ["x", *draw.choice(["x", "c", "d", "e", ""], draw.integers(0, 4)).tolist()]
    made = helper.make_node(kind, inputs, ["y"], domain=domain, name="random")
    for name in [*names, "unknown"]:
        if draw.random() < (0.5 if name != "unknown" else 0.1):
            made.attribute.append(random_attribute(draw, name))
    return made


@pytest.mark.parametrize("seed", range(4))
def test_random_nodes_give_a_graph_or_an_error_of_this_package(seed: int) -> None:
    draw = np.random.default_rng(seed)
    ours = {*(("", kind) for kind in EXPANDED), *((OWN_DOMAIN, kind) for kind in _OWN_KINDS)}
    for domain, kind in sorted({*HANDLERS, *_ONLY, *ours}) * 2:
        made = [random_node(draw, domain, kind)]
        if draw.random() < 0.5:
            # What the client computes first is there for the server's part.
            made.append(node("Softplus", "y", "w"))
        shape = [(3,), (2, 3), (2, 4, 4)][draw.integers(3)]
        constants = {"c": draw.integers(-2, 3, draw.integers(0, 3, draw.integers(0, 3))),
                     "d": draw.normal(size=shape[-1]), "e": np.array([1, 0])}  # fmt: skip
        model = model_of(made, shape, constants, opset=[11, 18, 24, 28][draw.integers(4)],
                         outputs=["w" if len(made) > 1 else "y"])  # fmt: skip
        refused = ""
        try:
            from_model(model, draw.normal(size=(3, *shape)) if draw.random() < 0.5 else None)
        except ModelError as error:
            refused = str(error)
        assert not refused or refused.startswith("small: ")


# ---- values that depend on no input


@pytest.mark.parametrize("kinds", [["MatMul"], ["MatMul", "Relu"], ["Relu", "MatMul"]])
def test_maps_without_weights_compile_to_constants(kinds: list[str]) -> None:
    names = ["x", "a", "b", "y"]
    kinds = [*kinds, "Add"]
    nodes = [
        node(kind, f"{names[place]} {'' if kind == 'Relu' else kind[0]}".strip(),
             "y" if place == len(kinds) - 1 else names[place + 1])
        for place, kind in enumerate(kinds)
    ]  # fmt: skip
    model = model_of(nodes, (3,), {"M": np.zeros((3, 2)), "A": np.array([1.5, -0.5])})
    compiled = fhe.compile(model, SAMPLE, degree=2**10, insecure=True)
    client, server = compiled.split()
    found = client.decrypt(server.run(client.encrypt(SAMPLE[0])))
    np.testing.assert_allclose(np.ravel(found), [1.5, -0.5], atol=1e-4)
