"""Ops that ONNX defines by other ops: the nodes of their functions are compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from cloakwork import fhe
from cloakwork.compiler.importing import from_model
from cloakwork.compiler.importing.expanding import EXPANDED
from cloakwork.compiler.importing.heads import HEAD_OPS
from cloakwork.compiler.importing.tails import CLIENT_OPS
from cloakwork.compiler.importing.unrolling import UNROLLED
from cloakwork.compiler.importing.values import HANDLERS
from cloakwork.errors import ModelError
from onnx import TensorProto, helper
from python.float_models import check, expected, inputs, model_of
from python.onnx_models import node

DRAW = np.random.default_rng(0)


@pytest.mark.parametrize("opset", [23, 25])
@pytest.mark.parametrize("attributes", [{}, {"interleaved": 1}, {"rotary_embedding_dim": 4}])
def test_rotary_embeddings_of_heads(opset: int, attributes: dict[str, int]) -> None:
    half = attributes.get("rotary_embedding_dim", 8) // 2
    caches = {name: DRAW.normal(size=(1, 4, half)) for name in "cs"}
    made = node("RotaryEmbedding", "x c s", **attributes)
    x = inputs(2, 4, 8)
    model = model_of([made], (2, 4, 8), caches, opset=opset, batch=1)
    graph = check(model, x, expected(model, x, alone=True))
    assert [type(one).__name__ for one in graph.nodes] == ["Input", "Affine"]


@pytest.mark.parametrize("position", [False, True])
def test_rotary_embeddings_of_one_axis_of_heads(position: bool) -> None:
    shape = (9, 4) if position else (1, 2, 4)
    constants = {name: DRAW.normal(size=shape) for name in "cs"}
    constants["p"] = np.array([[7, 3]])
    made = node("RotaryEmbedding", "x c s p" if position else "x c s -", num_heads=2)
    x = inputs(2, 16)
    model = model_of([made], (2, 16), constants, opset=23, batch=1)
    check(model, x, expected(model, x, alone=True))


@pytest.mark.parametrize("opset", [18, 25])
@pytest.mark.parametrize(
    ("lengths", "axes"),
    [([2, 10], [1, 2]), ([7, 3], [1, 2]), ([5], [-1]), ([3], [1]), ([9], [2]), ([1, 5, 4], None)],
)
def test_centres_are_cropped_and_padded(
    opset: int, lengths: list[int], axes: list[int] | None
) -> None:
    options = {} if axes is None else {"axes": axes}
    made = node("CenterCropPad", "x k", **options)
    x = inputs(4, 8)
    model = model_of([made], (4, 8), {"k": np.array(lengths)}, opset=opset, batch=1)
    check(model, x, expected(model, x, alone=True))


@pytest.mark.parametrize("options", [{}, {"alpha": 1.5}])
def test_gated_units(options: dict[str, float]) -> None:
    nodes = [node("MatMul", "x a", "c"), node("MatMul", "x b", "d"),
             node("SwiGLU", "c d", **options)]  # fmt: skip
    constants = {name: DRAW.normal(size=(4, 3)) for name in "ab"}
    check(model_of(nodes, (4,), constants, opset=28), inputs(4))


@pytest.mark.parametrize("given", ["", " b", " b p", " - p"])
@pytest.mark.parametrize("activation", ["none", "silu"])
def test_convolutions_with_what_was_before(given: str, activation: str) -> None:
    made = node("CausalConvWithState", f"x w{given}", "y z", activation=activation)
    constants = {"w": DRAW.normal(size=(4, 1, 3)), "b": DRAW.normal(size=4),
                 "p": DRAW.normal(size=(1, 4, 2))}  # fmt: skip
    x = inputs(4, 8)
    model = model_of([made], (4, 8), constants, opset=27, outputs=["y", "z"], batch=1)
    check(model, x, expected(model, x, alone=True))


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("state", ["s", "-"])
def test_linear_attention(rule: str, state: str) -> None:
    decay, beta = "d" if "gated" in rule else "-", "b" if "delta" in rule else "-"
    made = node("LinearAttention", f"x x x {state} {decay} {beta}", "y z", q_num_heads=2,
                kv_num_heads=2, update_rule=rule)  # fmt: skip
    constants = {"d": -np.abs(DRAW.normal(size=(1, 3, 8))), "b": DRAW.uniform(size=(1, 3, 2)),
                 "s": DRAW.normal(size=(1, 2, 4, 4))}  # fmt: skip
    x = inputs(3, 8, size=0.5)[:8]
    model = model_of([made], (3, 8), constants, opset=27, batch=1)
    check(model, x, expected(model, x, alone=True))


def test_calls_within_branches_are_expanded() -> None:
    branches = {
        name: helper.make_graph([node("SwiGLU", f"x {other}", f"{name} out")], name, [],
                                [onnx.ValueInfoProto(name=f"{name}")])
        for name, other in (("a", "x"), ("b", "x"))
    }  # fmt: skip
    for name, body in branches.items():
        body.node[0].output[:] = [name]
    made = node("If", "c", then_branch=branches["a"], else_branch=branches["b"])
    check(model_of([made], (4,), {"c": np.array(True)}, opset=28), inputs(4))


@pytest.mark.parametrize("kind", ["SwiGLU", "CenterCropPad", "RotaryEmbedding"])
def test_calls_within_loops_are_expanded(kind: str) -> None:
    options = {"CenterCropPad": {"axes": [1]}}.get(kind, {})
    read = {"SwiGLU": "s s", "CenterCropPad": "s t", "RotaryEmbedding": "s c c"}[kind]
    known = helper.make_tensor_value_info
    turn = helper.make_graph(
        [node("Identity", "go", "go on"), node(kind, read, "next", **options)], "turn",
        [known("turn", TensorProto.INT64, []), known("go", TensorProto.BOOL, []),
         onnx.ValueInfoProto(name="s")],
        [onnx.ValueInfoProto(name="go on"), onnx.ValueInfoProto(name="next")])  # fmt: skip
    turn.node[0].output[:] = ["go on"]
    made = node("Loop", "n yes x", body=turn)
    shape = (3, 2, 4) if kind == "RotaryEmbedding" else (4,)
    constants = {"n": np.array(2), "yes": np.array(True), "t": np.array([4]),
                 "c": DRAW.normal(size=(1, 2, 2))}  # fmt: skip
    x = inputs(*shape, size=0.5)
    model = model_of([made], shape, constants, opset=28, batch=1)
    check(model, x, expected(model, x, alone=True))


def test_an_encrypted_gated_unit() -> None:
    nodes = [node("MatMul", "x a", "c"), node("MatMul", "x b", "d"), node("SwiGLU", "c d", "e"),
             node("MatMul", "e f", "y")]  # fmt: skip
    constants = {name: DRAW.normal(size=(4, 4)) / 2 for name in "abf"}
    model, x = model_of(nodes, (4,), constants, opset=28), inputs(4, size=0.5)
    compiled = fhe.compile(model, x, degree=2**12, insecure=True)
    client, server = compiled.split()
    found = client.decrypt(server.run(client.encrypt(x[0])))
    report = compiled.report
    assert np.abs(found - expected(model, x[:1])[0]).max() < (
        report.error + report.approximation_error
    )


@pytest.mark.parametrize(
    ("made", "opset", "words"),
    [
        (node("SwiGLU", "x"), 28, "SwiGLU 'the SwiGLU': expected 2 inputs, found 1"),
        (node("SwiGLU", "x x"), 22, "an opset of ai.onnx that has this op, found opset 22"),
        (node("SwiGLU", "x x", alpha=1), 28, "the attribute 'alpha' to be a float, found an inte"),
        (node("CenterCropPad", "x x"), 18, "Max 'of CenterCropPad -> padded_sh__1'"),
    ],
)  # fmt: skip
def test_calls_that_no_schema_allows_are_refused(made: Any, opset: int, words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        from_model(model_of([made], (2, 3, 3), opset=opset), inputs(2, 3, 3))
    assert "\n" not in str(caught.value)


def test_no_function_of_known_nodes_is_left_out() -> None:
    """Of functions that depend on attributes alone; those of types have tests of their own."""
    handled = {kind for domain, kind in HANDLERS if not domain}
    others = {*HEAD_OPS, *CLIENT_OPS, *UNROLLED, *EXPANDED, *handled, "Range"}
    left = []
    for schema in onnx.defs.get_all_schemas():
        if schema.domain or not schema.has_function or schema.name in others:
            continue
        body = {one.op_type for one in schema.function_body.node}
        if schema.max_input and body <= {*handled, *EXPANDED, "Constant"}:
            left.append(schema.name)
    assert left == []
