"""If, Loop and Scan: what constants decide is unrolled, and is what ONNX's reference computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
import pytest
from cloakwork.compiler.importing import from_model
from cloakwork.compiler.importing.reading import MOST_NODES
from cloakwork.compiler.importing.unrolling import alive, unrolled
from cloakwork.errors import ModelError
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from python.onnx_models import model_of, node

DRAW = np.random.default_rng(6)
SAMPLE = DRAW.normal(size=(10, 4, 3))
W, U = DRAW.normal(size=(3, 2)) / 2, DRAW.normal(size=(2, 2)) / 2
ZERO = np.zeros((1, 2))
FLOAT, INT, BOOL = TensorProto.DOUBLE, TensorProto.INT64, TensorProto.BOOL
Nodes = Sequence[onnx.NodeProto]


def body(
    nodes: Nodes, given: str, results: str, constants: Mapping[str, Any] | None = None
) -> onnx.GraphProto:
    """An inner graph; inputs that begin with i or c are the turn and the condition."""
    kinds = {"i": INT, "c": BOOL}
    inputs = [helper.make_tensor_value_info(name, kinds.get(name[0], FLOAT), None)
              for name in given.split()]  # fmt: skip
    outputs = [helper.make_tensor_value_info(name, kinds.get(name[0], FLOAT), None)
               for name in results.split()]  # fmt: skip
    stored = [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    return helper.make_graph(list(nodes), "body", inputs, outputs, stored)


CELL = [
    node("MatMul", "xt w", "xw"), node("MatMul", "h u", "hu"), node("Add", "xw hu", "both"),
    node("Tanh", "both", "hn"),
]  # fmt: skip
STEPS = np.array(4)


def looped(turns: Any = STEPS, goes_on: Any = True, ends: Nodes = ()) -> onnx.ModelProto:
    """A recurrent layer as a Loop, with all of its states."""
    step = [node("Gather", "x i", "xt", axis=1), *CELL]
    after = list(ends) or [node("Identity", "c", "cn")]
    inner = body([*step, *after, node("Identity", "hn", "seen")], "i c h", "cn hn seen",
                 {"u": U})  # fmt: skip
    nodes = [node("Loop", "turns go start", "last all", body=inner), *FLAT]
    constants = {"turns": turns, "go": np.asarray(goes_on), "start": ZERO, "w": W, **SHAPES}
    return model_of(nodes, (4, 3), constants)


FLAT = [node("Transpose", "all", "rows", perm=[1, 0, 2]), node("Reshape", "rows wide", "y")]
SHAPES = {"wide": np.array([1, -1])}


def wanted(steps: Sequence[int]) -> Any:
    """The states after each of these steps of the sample."""
    state, found = np.zeros((len(SAMPLE), 2)), []
    for step in steps:
        state = np.tanh(SAMPLE[:, step] @ W + state @ U)
        found.append(state)
    return np.concatenate(found, axis=1)


def results_of(model: onnx.ModelProto) -> Any:
    return from_model(model, SAMPLE).predict(SAMPLE)["y"]


# ---- loops


@pytest.mark.parametrize("steps", [1, 4])
def test_a_loop_takes_its_turns(steps: int) -> None:
    found = results_of(looped(np.array(steps)))
    np.testing.assert_allclose(found, wanted(range(steps)), atol=1e-12)


def test_a_loop_ends_when_its_condition_does() -> None:
    """The condition counts: after a turn i, there is another while i < 2."""
    ends = [node("Less", "i two", "cn")]
    model = looped(np.array(1 << 40), ends=ends)
    model.graph.initializer.append(numpy_helper.from_array(np.array(2), "two"))
    np.testing.assert_allclose(results_of(model), wanted(range(3)), atol=1e-12)


@pytest.mark.parametrize("opset", [11, 18])
@pytest.mark.parametrize("back", [False, True])
def test_a_scan_goes_along_an_axis_either_way(opset: int, back: bool) -> None:
    inner = body([*CELL, node("Identity", "hn", "seen")], "h xt", "hn seen", {"u": U})
    nodes = [
        node("Scan", "start x", "last all", body=inner, num_scan_inputs=1, scan_input_axes=[1],
             scan_input_directions=[int(back)], scan_output_directions=[int(back)]),
        *FLAT,
    ]  # fmt: skip
    model = model_of(nodes, (4, 3), {"start": ZERO, "w": W, **SHAPES}, opset=opset)
    steps = range(3, -1, -1) if back else range(4)
    found = wanted(steps).reshape(-1, 4, 2)[:, :: -1 if back else 1].reshape(-1, 8)
    np.testing.assert_allclose(results_of(model), found, atol=1e-12)


def test_a_scan_of_what_another_gives_stacks_along_its_axis() -> None:
    """Lengths of scanned values are found, whatever gives them."""
    double = body([node("Add", "xt xt", "seen")], "xt", "seen")
    first = node("Scan", "x", "both", body=double, num_scan_inputs=1, scan_input_axes=[1],
                 scan_output_axes=[1])  # fmt: skip
    second = node("Scan", "both", "y", body=double, num_scan_inputs=1, scan_input_axes=[-1],
                  scan_output_axes=[1])  # fmt: skip
    found = results_of(model_of([first, second], (4, 3)))
    np.testing.assert_allclose(found, 4 * SAMPLE.transpose(0, 2, 1), atol=1e-12)


def test_loops_and_conditions_nest() -> None:
    """Each third of the turns squares, the others add: of names that all bodies share."""
    turn = [node("Mod", "i three", "rest"), node("Equal", "rest zero", "cd"),
            node("If", "cd", "hn", then_branch=body([node("Mul", "h h", "s")], "", "s"),
                 else_branch=body([node("Add", "h x", "s")], "", "s")),
            node("Identity", "c", "cn")]  # fmt: skip
    inner = body(turn, "i c h", "cn hn", {"three": np.array(3), "zero": np.array(0)})
    nodes = [node("Loop", "turns - x", "a", body=inner), node("Loop", "turns - a", "y", body=inner)]
    found = results_of(model_of(nodes, (4, 3), {"turns": np.array(2)}))
    once = SAMPLE**2 + SAMPLE
    np.testing.assert_allclose(found, once**2 + SAMPLE, atol=1e-9)


# ---- conditions


@pytest.mark.parametrize(("rank", "scale"), [(3, 2.0), (2, -1.0)])
def test_a_condition_may_be_of_a_shape(rank: int, scale: float) -> None:
    twice, minus = (body([node(kind, "x" if kind == "Neg" else "x x", "o")], "", "o")
                    for kind in ("Add", "Neg"))  # fmt: skip
    nodes = [
        node("Shape", "x", "lengths"),
        node("Size", "lengths", "many"), node("Equal", "many r", "c"),
        node("If", "c", "y", then_branch=twice, else_branch=minus),
    ]  # fmt: skip
    found = results_of(model_of(nodes, (4, 3), {"r": np.array(rank)}))
    np.testing.assert_allclose(found, scale * SAMPLE)


def test_what_nobody_reads_is_not_taken() -> None:
    """Not even a loop that depends on inputs; what only an inner graph reads is."""
    lost = node("If", "x", "lost", then_branch=body([], "", "x"), else_branch=body([], "", "x"))
    used = body([node("Neg", "kept", "o")], "", "o")
    nodes = [lost, node("Add", "x x", "kept"),
             node("If", "yes", "y", then_branch=used, else_branch=used)]  # fmt: skip
    model = model_of(nodes, (4, 3), {"yes": np.array(True)})
    np.testing.assert_allclose(results_of(model), -2 * SAMPLE)
    assert [one.op_type for one in alive(model.graph)] == ["Add", "If"]


# ---- what is refused


def with_condition(condition: Sequence[onnx.NodeProto]) -> onnx.ModelProto:
    inner = body([node("Neg", "x", "o")], "", "o")
    made = node("If", "c", "y", then_branch=inner, else_branch=inner)
    return model_of([*condition, made], (4, 3), {"zero": np.array(0.0)})


ENDLESS = looped(np.array(1 << 62))
EMPTY = model_of(
    [node("Loop", "turns - x", "y", body=body([], "i c h", "c h"))],
    (3,),
    {"turns": np.array(1 << 62)},
)
REFUSED = [
    (with_condition([node("ReduceSum", "x", "s"), node("Greater", "s zero", "c")]),
     "If .*expected a condition that is a constant of the model, found 'c', which depends on the"),
    (with_condition([node("Greater", "x zero", "c")]), "or on chance; compute both ways"),
    (with_condition([node("Shape", "x", "c")]), r"expected one condition, found the shape \(3,\)"),
    (with_condition([node("Shape", "x", "n"), node("Bernoulli", "zero", "c", dtype=9)]),
     "'c', which depends on the inputs or on chance"),
    # Shapes that depend on values, where a row of zeros would tell nothing.
    (with_condition([node("NonZero", "x", "n"), node("Size", "n", "s"),
                     node("Cast", "s", "c", to=9)]),
     "'c', which depends on the inputs or on chance"),
    (with_condition([node("ReduceMax", "x", "m", keepdims=0), node("Cast", "m", "k", to=7),
                     node("Range", "i k j", "n"), node("Neg", "n", "m2"), node("Size", "m2", "s"),
                     node("Cast", "s", "c", to=9)]),
     "'c', which depends on the inputs or on chance"),
    (model_of([node("NonZero", "x", "n"),
               node("Scan", "n", "y", body=body([], "h", "h"), num_scan_inputs=1,
                    scan_input_axes=[1])], (3,)), "'n' to have one length for all inputs"),
    (with_condition([node("Shape", "missing", "c")]), "'c', which it needs, cannot be computed"),
    (ENDLESS, f"at most {MOST_NODES} nodes after loops are unrolled"),
    (EMPTY, f"at most {MOST_NODES} nodes after loops are unrolled"),
    (looped(np.array(0)), "expected a turn, which gives 'all' elements, found none"),
    (looped(goes_on=False), "expected a turn, which gives 'all' elements, found none"),
    (looped(np.array([1, 2])), "expected a turn, which gives 'all' elements, found none"),
    (model_of([node("Loop", "- - x", "y", body=body([], "i c h", "c h"))], (3,)),
     "expected a number of turns or a condition, found neither"),
    (model_of([node("Loop", "t - x", "y", body=body([], "i c", "c"))], (3,), {"t": STEPS}),
     "expected 3 inputs of its body, found 2"),
    (model_of([node("Loop", "t - x", "y", body=body([], "i c h", "c"))], (3,), {"t": STEPS}),
     "expected 1 results, found 0 of its body"),
    (model_of([node("Scan", "x", "y", body=body([], "h", "h"), num_scan_inputs=7)], (3,)),
     "expected num_scan_inputs of 1 to 1, found 7"),
    (model_of([node("Scan", "x", "y", body=body([], "h", "h"), num_scan_inputs=1,
                    scan_input_axes=[5])], (3,)), r"expected an axis of \[1, 3\], found 5"),
    (model_of([node("Scan", "x", "y", body=body([], "h", "h"), num_scan_inputs=1,
                    scan_input_axes=[1, 1])], (3,)), "expected 1 of scan_input_axes, found 2"),
    (model_of([node("Loop", "x - x", "y", body=body([], "i c h", "c h"))], (3,)),
     "expected a number of turns that is a constant of the model, found 'x'"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "words"), REFUSED, ids=[str(n) for n, _ in enumerate(REFUSED)])
def test_what_inputs_decide_or_nobody_can_run_is_refused(
    model: onnx.ModelProto, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        from_model(model)


def with_functions(inner: str) -> onnx.ModelProto:
    """Y = G(x), where G calls a function: F, or by mistake itself."""
    slope = node("LeakyRelu", "t", "c")
    slope.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="alpha")
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    f = helper.make_function("own", "F", ["a", "b"], ["c"], [node("Mul", "a b", "t"), slope],
                             opsets, attributes=["alpha"])  # fmt: skip
    calls = [node(inner, "a a" if inner == "F" else "a", "c", domain="own",
                  **({"alpha": 0.25} if inner == "F" else {}))]  # fmt: skip
    g = helper.make_function("own", "G", ["a"], ["c"], calls, opsets)
    model = model_of([node("Sub", "x one", "s"), node("G", "s", domain="own")], (4, 3),
                     {"one": np.array(1.0)})  # fmt: skip
    model.opset_import.append(opsets[1])
    model.functions.extend([f, g])
    return model


def test_local_functions_are_inlined() -> None:
    np.testing.assert_allclose(results_of(with_functions("F")), (SAMPLE - 1) ** 2, atol=1e-12)
    with pytest.raises(ModelError, match="expected local functions without a cycle of calls"):
        from_model(with_functions("G"))


def test_functions_that_would_be_endless_or_lose_something_are_refused() -> None:
    """Each calls the one before twice: 2^40 nodes of a few kilobytes."""
    model = with_functions("F")
    opsets, names = list(model.functions[0].opset_import), ["G", *(f"F{n}" for n in range(40))]
    for before, name in pairwise(names):
        calls = [node(before, "a", "b", domain="own"), node(before, "b", "c", domain="own")]
        model.functions.append(helper.make_function("own", name, ["a"], ["c"], calls, opsets))
    model.graph.node[1].op_type = names[-1]
    with pytest.raises(ModelError, match=f"at most {MOST_NODES} nodes after local functions"):
        from_model(model)
    model = with_functions("F")
    model.functions[0].attribute_proto.append(helper.make_attribute("more", 0.7))
    with pytest.raises(ModelError, match=r"'F': expected attributes without defaults.*'more'"):
        from_model(model)
    model = with_functions("F")
    model.functions[0].opset_import[0].version = 17
    with pytest.raises(ModelError, match="'F': expected the opsets of the model"):
        from_model(model)


def test_turns_share_what_their_bodies_store() -> None:
    model = looped(np.array(500))
    del model.graph.node[1:]
    model.graph.node[0].output[1] = "y"
    model.graph.node[0].attribute[0].g.node[0].input[0] = "wide"
    flat = unrolled(model, "model")
    assert sum(one.name.endswith("/u") for one in flat.graph.initializer) == 1


def test_models_without_control_flow_are_left_alone() -> None:
    model = model_of([node("Relu", "x")], (3,))
    assert unrolled(model, "model") is model


def test_the_unrolled_model_computes_the_same_by_the_reference() -> None:
    """Where the reference runs a loop as the standard has it: with a condition, for its states."""
    model = looped()
    del model.graph.node[1:]
    model.graph.node[0].output[:] = ["y", "unread"]
    inner = model.graph.node[0].attribute[0].g
    del inner.output[-1]
    del model.graph.node[0].output[-1]
    flat = unrolled(model, "model")
    kinds = {one.op_type for one in flat.graph.node}
    assert kinds == {"Add", "Gather", "Identity", "MatMul", "Tanh"}
    rows = {"x": SAMPLE[:1]}
    (own,), (other,) = (ReferenceEvaluator(one).run(["y"], rows) for one in (flat, model))
    np.testing.assert_allclose(own, other, atol=1e-12)
    np.testing.assert_allclose(results_of(model), wanted(range(4))[:, -2:], atol=1e-12)
