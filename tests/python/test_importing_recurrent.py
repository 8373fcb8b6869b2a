"""RNN, LSTM and GRU, and values whose batch axis a model moves: against NumPy and the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from cloakwork import fhe
from cloakwork.compiler.importing import from_model
from cloakwork.compiler.nodes import Function, Product
from cloakwork.errors import ModelError
from onnx import helper
from python.onnx_models import expected, model_of, node

SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULT = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
Arrays = dict[str, np.ndarray]


def activation(name: str, alpha: float, beta: float) -> Any:
    """ONNX's functions of gates."""
    return {
        "Affine": lambda x: alpha * x + beta,
        "Elu": lambda x: np.where(x >= 0, x, alpha * np.expm1(x)),
        "HardSigmoid": lambda x: np.clip(alpha * x + beta, 0, 1),
        "LeakyRelu": lambda x: np.where(x >= 0, x, alpha * x),
        "Relu": lambda x: np.maximum(x, 0),
        "ScaledTanh": lambda x: alpha * np.tanh(beta * x),
        "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "Softplus": lambda x: np.log1p(np.exp(x)),
        "Softsign": lambda x: x / (1 + np.abs(x)),
        "Tanh": np.tanh,
        "ThresholdedRelu": lambda x: np.where(x >= alpha, x, 0),
    }[name]


def plain(kind: str, x: np.ndarray, given: Arrays, attributes: dict[str, Any]) -> list[np.ndarray]:
    """The node's outputs by the equations of ONNX's documentation; X as the layout has it.

    onnx.reference knows neither other functions nor input_forget, and older releases of it one
    direction alone.
    """
    x = x.swapaxes(0, 1) if attributes.get("layout") else x
    count, hidden = given["W"].shape[0], given["R"].shape[2]
    zeros = np.zeros((count, x.shape[1], hidden))
    starts = [given.get("initial_h", zeros), given.get("initial_c", zeros)]
    if attributes.get("layout"):
        starts = [each.swapaxes(0, 1) if each is not zeros else each for each in starts]
    direction = attributes.get("direction", "forward")
    results = []
    for d in range(count):
        turned = direction == "reverse" or (direction == "bidirectional" and d == 1)
        own = {name: given[name][d] for name in ("W", "R", "B", "P") if name in given}
        steps = x[::-1] if turned else x
        functions = functions_of(kind, attributes, d)
        ys, h, c = run_direction(kind, steps, own, (starts[0][d], starts[1][d]), functions,
                                 attributes)  # fmt: skip
        results.append((ys[::-1] if turned else ys, h, c))
    y = np.stack([ys for ys, _, _ in results], axis=1)
    last = [np.stack([own[place] for own in results]) for place in (1, 2)]
    if attributes.get("layout"):
        y = y.transpose(2, 0, 1, 3)
        last = [each.swapaxes(0, 1) for each in last]
    return [y, *last[: 2 if kind == "LSTM" else 1]]


def functions_of(kind: str, attributes: dict[str, Any], direction: int) -> list[Any]:
    own = len(DEFAULT[kind])
    names = attributes.get("activations", DEFAULT[kind] * 2)
    alphas = attributes.get("activation_alpha", [0.01] * len(names))
    betas = attributes.get("activation_beta", [0.0] * len(names))
    made = [activation(*each) for each in zip(names, alphas, betas, strict=False)]
    return made[direction * own : (direction + 1) * own]


def run_direction(
    kind: str, x: np.ndarray, own: Arrays, start: tuple[np.ndarray, np.ndarray],
    functions: list[Any], attributes: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    gates, hidden = GATES[kind], own["R"].shape[1]
    w, r = np.split(own["W"], gates), np.split(own["R"], gates)
    b = np.split(own.get("B", np.zeros(2 * gates * hidden)), 2 * gates)
    wb, rb = b[:gates], b[gates:]
    p = np.split(own.get("P", np.zeros(3 * hidden)), 3)
    (h, c), f, ys = start, functions[0], []

    def gate(at: np.ndarray, n: int) -> np.ndarray:
        return at @ w[n].T + h @ r[n].T + wb[n] + rb[n]

    for at in x:
        if kind == "RNN":
            h = f(gate(at, 0))
        elif kind == "GRU":
            z, reset = f(gate(at, 0)), f(gate(at, 1))
            if attributes.get("linear_before_reset"):
                new = at @ w[2].T + reset * (h @ r[2].T + rb[2]) + wb[2]
            else:
                new = at @ w[2].T + (reset * h) @ r[2].T + rb[2] + wb[2]
            h = (1 - z) * functions[1](new) + z * h
        else:
            i = f(gate(at, 0) + p[0] * c)
            forget = 1 - i if attributes.get("input_forget") else f(gate(at, 2) + p[2] * c)
            c = forget * c + i * functions[1](gate(at, 3))
            h = f(gate(at, 1) + p[1] * c) * functions[2](c)
        ys.append(h)
    return np.stack(ys), h, c


def weights_of(kind: str, count: int, features: int, hidden: int, draw: Any) -> Arrays:
    """All constants of a node, of which a test leaves some out."""
    gates = GATES[kind]
    return {
        "W": draw.normal(size=(count, gates * hidden, features)) / np.sqrt(features),
        "R": draw.normal(size=(count, gates * hidden, hidden)) / np.sqrt(hidden),
        "B": draw.normal(size=(count, 2 * gates * hidden)),
        "P": draw.normal(size=(count, 3 * hidden)),
        "initial_h": draw.normal(size=(count, 1, hidden)),
        "initial_c": draw.normal(size=(count, 1, hidden)),
    }


def recurrent(kind: str, x: str, given: Arrays, outputs: str, **attributes: Any) -> Any:
    """The node, reading those constants that are given."""
    order = ["W", "R", "B", "", "initial_h", "initial_c", "P"]
    own = order if kind == "LSTM" else order[:5]
    inputs = " ".join([x, *(name if name in given else "-" for name in own)])
    return node(kind, inputs, outputs, **attributes)


def network(kind: str, shape: tuple[int, int], given: Arrays, **attributes: Any) -> Any:
    """A model of all outputs of a node, with the batch in front, of inputs [batch, T, F]."""
    layout, names = attributes.get("layout", 0), "y h c" if kind == "LSTM" else "y h"
    if layout:
        nodes = [recurrent(kind, "x", given, names, **attributes)]
        return model_of(nodes, shape, given, outputs=names.split(), opset=22)
    moved = names.replace(" ", "_ ") + "_"
    turned = [node("Transpose", f"{name}_", name, perm=[1, 0, 2]) for name in names.split()[1:]]
    nodes = [
        node("Transpose", "x", "s", perm=[1, 0, 2]),
        recurrent(kind, "s", given, moved, **attributes),
        node("Transpose", "y_", "y", perm=[2, 0, 1, 3]),
        *turned,
    ]
    return model_of(nodes, shape, given, outputs=names.split(), opset=22)


def front(results: list[np.ndarray], layout: int) -> list[np.ndarray]:
    """With the batch in front."""
    orders = ([2, 0, 1, 3], [1, 0, 2], [1, 0, 2])
    if layout:
        return results
    return [own.transpose(order) for own, order in zip(results, orders, strict=False)]


OTHERS = ["Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
          "HardSigmoid", "Elu", "Softsign", "Softplus"]  # fmt: skip


def random_attributes(kind: str, draw: Any) -> tuple[dict[str, Any], int]:
    """Attributes, and the number of directions."""
    direction = str(draw.choice(["forward", "reverse", "bidirectional"]))
    count = 2 if direction == "bidirectional" else 1
    found: dict[str, Any] = {"direction": direction, "layout": int(draw.integers(0, 2))}
    if draw.random() < 0.5:
        length = count * len(DEFAULT[kind])
        found["activations"] = draw.choice(OTHERS, length).tolist()
        found["activation_alpha"] = draw.uniform(0.1, 0.9, length).astype(np.float32).tolist()
        found["activation_beta"] = draw.uniform(0.1, 0.9, length).astype(np.float32).tolist()
        if draw.random() < 0.3:
            for name in list(found)[2:]:
                found[name] = found[name][: len(DEFAULT[kind])] * count
    if kind == "GRU":
        found["linear_before_reset"] = int(draw.integers(0, 2))
    if kind == "LSTM":
        found["input_forget"] = int(draw.integers(0, 2))
    return found, count


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("seed", range(25))
def test_random_recurrent_nodes_follow_their_equations(kind: str, seed: int) -> None:
    draw = np.random.default_rng([seed, GATES[kind]])
    attributes, count = random_attributes(kind, draw)
    steps, features, hidden = (int(n) for n in draw.integers(1, 5, 3))
    given = weights_of(kind, count, features, hidden, draw)
    left = [name for name in ("B", "P", "initial_h", "initial_c") if draw.random() < 0.5]
    given = {n: a for n, a in given.items() if n not in left}
    if kind != "LSTM":
        given = {n: a for n, a in given.items() if n not in ("P", "initial_c")}
    if attributes["layout"]:
        given = {n: a.swapaxes(0, 1) if n[0] == "i" else a for n, a in given.items()}
    if draw.random() < 0.5:
        attributes["hidden_size"] = hidden
    x = draw.normal(size=(3, steps, features))
    model = network(kind, (steps, features), given, **attributes)
    graph = from_model(model)
    found = list(graph.predict(x).values())
    for place in range(len(x)):
        row = x[place : place + 1]
        wanted = plain(kind, row if attributes["layout"] else row.swapaxes(0, 1), given, attributes)
        for own, other in zip(found, front(wanted, attributes["layout"]), strict=True):
            np.testing.assert_allclose(own[place : place + 1], other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("name", OTHERS)
def test_every_function_serves_as_every_gate(kind: str, name: str) -> None:
    draw = np.random.default_rng(7)
    given = {n: a for n, a in weights_of(kind, 1, 2, 2, draw).items() if n in "WRB"}
    x = draw.normal(size=(1, 3, 2))
    for place, _ in enumerate(DEFAULT[kind]):
        names = list(DEFAULT[kind])
        names[place] = name
        numbers = {"activation_alpha": [0.25] * len(names), "activation_beta": [0.5] * len(names)}
        attributes = {"layout": 1, "activations": names, **numbers}
        model = network(kind, (3, 2), given, **attributes)
        found = from_model(model).predict(x).values()
        for own, wanted in zip(found, plain(kind, x, given, attributes), strict=True):
            np.testing.assert_allclose(own, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("linear_before_reset", [0, 1])
def test_default_nodes_give_what_the_reference_gives(
    kind: str, layout: int, linear_before_reset: int
) -> None:
    draw = np.random.default_rng(5)
    given = weights_of(kind, 1, 3, 2, draw)
    given = given if kind == "LSTM" else {n: given[n] for n in ("W", "R", "B", "initial_h")}
    if layout:
        given = {n: a.swapaxes(0, 1) if n[0] == "i" else a for n, a in given.items()}
    more = {"linear_before_reset": linear_before_reset} if kind == "GRU" else {}
    model = network(kind, (4, 3), given, layout=layout, hidden_size=2, **more)
    x = draw.normal(size=(3, 4, 3))
    for own, wanted in zip(from_model(model).predict(x).values(), expected(model, x), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-9, atol=1e-9)


def two_layers() -> tuple[Any, tuple[int, int]]:
    """As exporters write it: the sequence in front, two directions side by side, the last step."""
    draw = np.random.default_rng(2)
    first = {f"{n}1": a for n, a in weights_of("LSTM", 2, 3, 2, draw).items() if n in "WRB"}
    second = {f"{n}2": a for n, a in weights_of("GRU", 1, 4, 3, draw).items() if n in "WRB"}
    nodes = [
        node("Transpose", "x", "a", perm=[1, 0, 2]),
        node("LSTM", "a W1 R1 B1", "b", direction="bidirectional", hidden_size=2),
        node("Transpose", "b", "c", perm=[0, 2, 1, 3]),
        node("Reshape", "c joined", "d"),
        node("GRU", "d W2 R2 B2", "e f", linear_before_reset=1, hidden_size=3),
        node("Squeeze", "e one", "g"),
        node("Transpose", "g", "h", perm=[1, 0, 2]),
        node("Gather", "h last", "i", axis=1),
        node("Squeeze", "f zero", "j"),
        node("Add", "i j", "k"),
        node("Gemm", "k m", "y"),
    ]
    more = {"joined": np.array([0, 0, -1]), "one": np.array([1]), "zero": np.array([0]),
            "last": np.array(-1), "m": draw.normal(size=(3, 2))}  # fmt: skip
    return model_of(nodes, (4, 3), {**first, **second, **more}), (4, 3)


def test_a_network_with_the_sequence_in_front_gives_what_the_reference_gives() -> None:
    model, shape = two_layers()
    x = np.random.default_rng(1).normal(size=(3, *shape))
    found = from_model(model).predict(x)["y"]
    np.testing.assert_allclose(found, expected(model, x)[0], rtol=1e-9, atol=1e-9)


# Nodes from "s" [3, batch, 4] to "z" with the batch at some axis, and what brings it to the front.
MOVED: list[tuple[list[onnx.NodeProto], Any]] = [
    ([node("Relu", "s", "z")], [1, 0, 2]),
    ([node("Cast", "s", "z", to=11)], [1, 0, 2]),
    ([node("Mul", "s k", "z")], [1, 0, 2]),
    ([node("Add", "k s", "z")], [1, 0, 2]),
    ([node("Sub", "s t", "z")], [1, 0, 2]),
    ([node("Max", "s t", "z")], [1, 0, 2]),
    ([node("Less", "s t", "q"), node("Less", "t k", "r"), node("And", "q r", "z")], [1, 0, 2]),
    ([node("Sum", "s t s", "z")], [1, 0, 2]),
    ([node("PRelu", "s k", "z")], [1, 0, 2]),
    ([node("Concat", "s t", "z", axis=0)], [1, 0, 2]),
    ([node("Concat", "s c t", "z", axis=2)], [1, 0, 2]),
    ([node("MatMul", "s m", "z")], [1, 0, 2]),
    ([node("Transpose", "s", "q", perm=[1, 2, 0]), node("Transpose", "q", "r", perm=[1, 0, 2]),
      node("MatMul", "r n", "z")], [1, 0, 2]),
    ([node("Unsqueeze", "s i", "z")], [2, 0, 1, 3]),
    ([node("Unsqueeze", "s i", "q"), node("Squeeze", "q i", "z")], [1, 0, 2]),
    ([node("Gather", "s i", "z")], [1, 0, 2]),
    ([node("Gather", "s l", "z")], None),
    ([node("Gather", "s g", "z", axis=0)], [2, 0, 1, 3]),
    ([node("Gather", "s g", "z", axis=2)], [1, 0, 2, 3]),
    ([node("Slice", "s i j", "q"), node("Slice", "q i j j", "z")], [1, 0, 2]),
    ([node("Split", "s", "q z", axis=2, num_outputs=2)], [1, 0, 2]),
    ([node("ReduceMean", "s i", "z", keepdims=0)], None),
    ([node("ReduceMax", "s i", "z", keepdims=1)], [1, 0, 2]),
    ([node("MatMul", "s v", "z")], [1, 0]),
    ([node("Reshape", "s h", "z")], [1, 0, 2, 3]),
    ([node("Shape", "s", "q"), node("Reshape", "s q", "z")], [1, 0, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "order"), MOVED, ids=[str(n) for n, _ in enumerate(MOVED)])
def test_values_keep_their_batch_axis_elsewhere(nodes: list[Any], order: Any) -> None:
    draw = np.random.default_rng(3)
    constants = {
        "k": draw.normal(size=(3, 1, 4)), "m": draw.normal(size=(4, 3)), "c": np.ones((3, 1, 2)),
        "n": draw.normal(size=(3, 2)), "v": draw.normal(size=4), "i": np.array([0]),
        "j": np.array([1]), "l": np.array(2), "g": np.array([[0, 2]]),
        "h": np.array([0, 0, 2, 2]),
    }  # fmt: skip
    first = [node("Transpose", "x", "s", perm=[1, 0, 2]), node("Neg", "s", "t")]
    turned = node("Identity", "z") if order is None else node("Transpose", "z", perm=order)
    model = model_of([*first, *nodes, turned], (3, 4), constants)
    x = draw.normal(size=(4, 3, 4))
    np.testing.assert_allclose(from_model(model).predict(x)["y"], expected(model, x)[0], atol=1e-12)


TURNED = node("Transpose", "x", "s", perm=[1, 0, 2])
IN_FRONT = r"expected the batch axis in front, found it at axis 1 of \[3, 1, 4\]; transpose it"


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([node("Softmax", "s", "z", axis=2), node("Exp", "z", "y")], f"the Softmax': {IN_FRONT}"),
        ([node("Flatten", "s", "y")], f"the Flatten': {IN_FRONT}"),
        ([node("MatMul", "s u", "y")], f"the MatMul': {IN_FRONT}"),
        ([node("ArgMax", "s", "y", axis=2)], f"the ArgMax': {IN_FRONT}"),
        ([node("Tile", "s one", "y")], f"the Tile': {IN_FRONT}"),
        ([node("Pad", "s six", "y")], f"the Pad': {IN_FRONT}"),
        ([node("CumSum", "s zero", "y")], f"the CumSum': {IN_FRONT}"),
        ([node("Relu", "s", "y")],
         r"output 'y': expected the batch axis in front, found it at axis 1 of \[3, 1, 4\]; end "
         r"the model with Transpose\(perm=\[1, 0, 2\]\)"),
        ([node("MatMul", "column s", "y")], "the MatMul': expected an axis of one input"),
        ([node("MatMul", "u column", "y")], "the MatMul': expected an axis of one input"),
        ([node("Add", "s x", "y")], "the Add': expected operands with one batch axis"),
        ([node("Concat", "s x", "y", axis=2)], "the Concat': expected values with one batch axis"),
        ([node("Sum", "s x", "y")], "the Sum': expected operands of one shape"),
        ([node("Concat", "s s", "y", axis=1)], "an axis of one input, found the batch axis 1"),
        ([node("Squeeze", "s ones", "y")], "an axis of one input, found the batch axis 1"),
        ([node("Mul", "s wide", "y")], "the batch axis to stay at axis 1"),
        ([node("Reshape", "s flat", "y")], "the batch axis to stay at axis 1"),
    ],
)  # fmt: skip
def test_nodes_that_need_the_batch_in_front_are_refused_by_name(
    nodes: list[Any], words: str
) -> None:
    constants = {
        "one": np.array([1, 1, 2]), "six": np.zeros(6, np.int64), "zero": np.array(0),
        "ones": np.array([1]), "wide": np.ones((3, 2, 4)), "flat": np.array([12]),
        "column": np.ones((1, 1)),
    }  # fmt: skip
    turned = [TURNED, node("Transpose", "x", "u", perm=[1, 2, 0])]
    with pytest.raises(ModelError, match=words):
        from_model(model_of([*turned, *nodes], (3, 4), constants))


def test_the_client_computes_no_step_on_a_moved_batch() -> None:
    nodes = [TURNED, node("Sigmoid", "s", "z"), node("Transpose", "z", "y", perm=[1, 0, 2])]
    graph = from_model(model_of(nodes, (3, 4)))
    assert not graph.client_tail.steps
    ends = [node("Gather", "s c", "h"), node("Sigmoid", "h", "z"), node("Squeeze", "z d", "y")]
    model = model_of([TURNED, *ends], (3, 4), {"c": np.array([0]), "d": np.array([0])})
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    np.testing.assert_allclose(from_model(model).predict(x)["y"], expected(model, x)[0])


def test_encrypted_states_begin_a_sequence() -> None:
    draw = np.random.default_rng(6)
    given = {n: a for n, a in weights_of("LSTM", 2, 3, 2, draw).items() if n in "WRBP"}
    nodes = [
        node("Split", "x", "a b c", axis=1, num_outputs=3),
        *(node("Reshape", f"{n} {n}s", f"{n}t") for n in "abc"),
        *(node("Transpose", f"{n}t", f"{n}u", perm=[1, 0, 2]) for n in "abc"),
        node("LSTM", "au W R B - bu cu P", "o", direction="bidirectional", hidden_size=2),
        node("Transpose", "o", "y", perm=[2, 0, 1, 3]),
    ]
    shapes = {"as": np.array([0, 2, 3]), "bs": np.array([0, 2, 3]), "cs": np.array([0, 2, 3])}
    wrong = model_of(nodes, (18,), {**given, **shapes})
    with pytest.raises(ModelError, match=r"the LSTM': expected the shape \[2, 1, 2\] of input num"):
        from_model(wrong)
    nodes[0] = node("Split", "x parts", "a b c", axis=1)
    shapes = {"as": np.array([0, 2, 3]), "bs": np.array([0, 2, 2]), "cs": np.array([0, 2, 2]),
              "parts": np.array([6, 4, 4])}  # fmt: skip
    model = model_of(nodes, (14,), {**given, **shapes})
    x = draw.normal(size=(3, 14))
    for row in x:
        starts = [row[6:10].reshape(2, 1, 2), row[10:].reshape(2, 1, 2)]
        own = {**given, "initial_h": starts[0], "initial_c": starts[1]}
        wanted = plain("LSTM", row[:6].reshape(2, 1, 3), own, {"direction": "bidirectional"})[0]
        found = from_model(model).predict(row[None])["y"]
        np.testing.assert_allclose(found, wanted.transpose(2, 0, 1, 3), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("kind", "functions", "products"), [("RNN", 1, 0), ("GRU", 2, 2),
                                                             ("LSTM", 3, 2)])  # fmt: skip
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_gates_of_one_function_and_both_directions_are_one_node_a_step(
    kind: str, functions: int, products: int, direction: str
) -> None:
    draw, count = np.random.default_rng(0), 1 + (direction == "bidirectional")
    given = {n: a for n, a in weights_of(kind, count, 3, 2, draw).items() if n in "WRB"}
    graph = from_model(network(kind, (4, 3), given, direction=direction, hidden_size=2))
    assert sum(isinstance(each, Function) for each in graph.nodes) == 4 * functions
    # The first step of a GRU has no state that a gate could keep.
    left = 1 if kind == "GRU" else 0
    assert sum(isinstance(each, Product) for each in graph.nodes) == 4 * products - left
    assert sum("x" in each.inputs for each in graph.nodes) <= 1 + len(DEFAULT[kind])


ALL = weights_of("LSTM", 1, 4, 2, np.random.default_rng(0))
WRONG: list[tuple[str, Arrays, dict[str, Any], str]] = [
    ("LSTM", {}, {"clip": 2.0}, "expected no clip of arguments, found clip 2.0"),
    ("LSTM", {}, {"direction": "sideways"}, "a direction of"),
    ("LSTM", {}, {"hidden_size": 3}, "a hidden_size of 2, found 3"),
    ("LSTM", {}, {"layout": 2}, "a layout of 0 or 1"),
    ("LSTM", {}, {"layout": 1}, r"an input \[batch, steps, features\] of layout 1"),
    ("LSTM", {}, {"activations": ["Tanh"]}, "3 activations, 3 a direction"),
    ("LSTM", {}, {"activations": ["Tanh", "Tanh", "Cosh"]}, "activations of"),
    ("LSTM", {}, {"activations": ["Tanh", "Tanh", "Affine"]}, "an activation_alpha of affine"),
    ("LSTM", {}, {"activations": ["Tanh", "Elu", "Elu"], "activation_alpha": [0.1]},
     "an activation_alpha of 2 numbers"),
    ("LSTM", {}, {"activations": ["Elu", "Elu", "Elu"], "activation_alpha": [0.1, np.inf, 1.0]},
     "finite activation_alpha"),
    ("LSTM", {"W": np.ones((1, 8, 3))}, {}, r"expected W \[1, 4 n, 4\] and R \[1, 4 n, n\]"),
    ("LSTM", {"W": np.ones((8, 4))}, {}, r"expected W \[1, 4 n, 4\]"),
    ("LSTM", {"B": np.ones((1, 8))}, {}, r"a constant \[1, 16\] as input number 3"),
    ("LSTM", {"P": np.ones((1, 4))}, {}, r"a constant \[1, 6\] as input number 7"),
    ("LSTM", {"initial_h": np.ones((1, 2, 2))}, {}, r"the shape \[1, 1, 2\] of input number 5"),
    ("LSTM", {"W": np.full((1, 8, 4), np.nan)}, {}, "NaN"),
    ("LSTM", {}, {"direction": "bidirectional"}, r"expected W \[2, 4 n, 4\]"),
    ("GRU", {}, {}, r"expected W \[1, 3 n, 4\]"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "change", "attributes", "words"), WRONG)
def test_recurrent_nodes_that_do_not_fit_are_refused(
    kind: str, change: Arrays, attributes: dict[str, Any], words: str
) -> None:
    given = {**ALL, **change}
    given = given if kind == "LSTM" else {n: given[n] for n in ("W", "R", "B")}
    nodes = [TURNED, recurrent(kind, "s", given, "z", **attributes),
             node("Transpose", "z", "y", perm=[2, 0, 1, 3])]  # fmt: skip
    with pytest.raises(ModelError, match=words):
        from_model(model_of(nodes, (3, 4), given, opset=22))


def test_lengths_of_sequences_are_those_of_the_input_or_refused() -> None:
    given = {n: ALL[n] for n in "WRB"}

    def model(lengths: str, count: int) -> Any:
        made = node("LSTM", f"s W R B {lengths}", "- z", hidden_size=2)
        nodes = [node("Transpose", "x", "s", perm=[1, 0, 2]), made, node("Squeeze", "z n", "y")]
        return model_of(nodes, (3, 4), {**given, "l": np.array([count]), "n": np.array([0])})

    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    found = from_model(model("l", 3)).predict(x)["y"]
    np.testing.assert_allclose(found, expected(model("-", 3), x)[0], rtol=1e-9, atol=1e-9)
    with pytest.raises(ModelError, match=r"sequence_lens of \[3\], found \[2\]; leave it out"):
        from_model(model("l", 2))
    with pytest.raises(ModelError, match="a constant as input number 4"):
        from_model(model("x", 3))
    with pytest.raises(ModelError, match="at most 1024 steps"):
        from_model(model_of([node("LSTM", "x W R", layout=1)], (1025, 4), given, opset=22))


@pytest.mark.parametrize("kind", GATES)
def test_an_encrypted_recurrent_network_gives_what_the_model_gives(kind: str) -> None:
    draw = np.random.default_rng(1)
    given = {n: a for n, a in weights_of(kind, 1, 3, 3, draw).items() if n in "WRB"}
    nodes = [TURNED, recurrent(kind, "s", given, "- h", hidden_size=3),
             node("Squeeze", "h n", "z"), node("MatMul", "z m", "y")]  # fmt: skip
    constants = {**given, "n": np.array([0]), "m": draw.normal(size=(3, 2))}
    model = model_of(nodes, (2, 3), constants)
    sample = draw.uniform(-1, 1, size=(40, 2, 3))
    client, server = fhe.compile(model, sample, precision=0.05, **SMALL).split()
    found = client.decrypt(server.run(client.encrypt(sample[0])))
    np.testing.assert_allclose(found, expected(model, sample[:1])[0], atol=0.1)


def test_an_empty_input_to_a_recurrent_node_is_no_crash() -> None:
    made = helper.make_node("GRU", ["x", "", ""], ["y"], layout=1)
    with pytest.raises(ModelError, match="an input number 1"):
        from_model(model_of([made], (2, 3), opset=22))


@pytest.mark.parametrize("kind", sorted(GATES))
def test_what_the_reference_ignores_is_not_compared_with_it(kind: str) -> None:
    """A model of other functions compiles with a sample."""
    draw = np.random.default_rng(5)
    given = {name: own for name, own in weights_of(kind, 1, 3, 2, draw).items() if name in "WR"}
    names = ["Relu", "Softsign", "Relu"][: len(DEFAULT[kind])]
    model = network(kind, (2, 3), given, activations=names, hidden_size=2)
    x = draw.normal(size=(5, 2, 3))
    found = from_model(model, x).predict(x)
    wanted = front(plain(kind, x.swapaxes(0, 1), given, {"activations": names}), 0)
    for own, other in zip(found.values(), wanted, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-9)
