"""Attention as one node, and masks of constants: as ONNX's reference has them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from cloakwork import fhe
from cloakwork.compiler.importing import from_model
from cloakwork.errors import ModelError
from python.onnx_models import expected, model_of, node

DRAW = np.random.default_rng(3)
# Queries, keys and values of one sequence of 3.
SIZES = {"q": 4, "k": 4, "v": 4}
WEIGHTS = {f"w{name}": DRAW.normal(size=(4, size)) / 2 for name, size in SIZES.items()}
PARTS = [node("MatMul", f"x w{name}", name) for name in SIZES]
X = DRAW.uniform(-1, 1, (6, 3, 4))
MASK = np.array([[True, False, True], [True, True, False], [False, False, True]])


def attention(more: str = "", constants: Any = None, opset: int = 23, **attributes: Any) -> Any:
    nodes = [*PARTS, node("Attention", f"q k v {more}", **attributes)]
    return model_of(nodes, (3, 4), {**WEIGHTS, **(constants or {})}, opset=opset)


def check(model: onnx.ModelProto, x: Any = X) -> None:
    graph = from_model(model, x)
    (found,) = graph.predict(x).values()
    np.testing.assert_allclose(found, expected(model, x)[0], atol=1e-7)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_heads_attend_to_sequences(heads: int, causal: int) -> None:
    check(attention(q_num_heads=heads, kv_num_heads=heads, is_causal=causal, scale=0.7))


@pytest.mark.parametrize("sides", [(0, -1), (1, 0), (-1, 1)])
def test_windows_hide_what_is_far(sides: tuple[int, int]) -> None:
    left, right = sides
    check(attention(q_num_heads=2, kv_num_heads=2, left_window_size=left, right_window_size=right,
                    opset=26))  # fmt: skip


def test_a_mask_is_broadcast_over_queries() -> None:
    check(attention("mask", {"mask": MASK[:1]}, q_num_heads=2, kv_num_heads=2))


@pytest.mark.parametrize("mask", [MASK, np.where(MASK, 0.5, -np.inf), MASK * 1.5])
@pytest.mark.parametrize("causal", [0, 1])
def test_masks_keep_or_add(mask: Any, causal: int) -> None:
    options = {"q_num_heads": 2, "kv_num_heads": 2, "is_causal": causal}
    check(attention("mask", {"mask": mask}, **options))


def test_a_query_that_sees_nothing_gets_zeros() -> None:
    mask = MASK.copy()
    mask[1] = False
    model = attention("mask", {"mask": mask}, q_num_heads=1, kv_num_heads=1)
    (found,) = from_model(model).predict(X).values()
    assert not found[:, 1].any()
    assert found[:, 0].all()


def test_several_heads_of_queries_share_keys() -> None:
    weights = {"wk": WEIGHTS["wk"][:, :2], "wv": WEIGHTS["wv"][:, :2]}
    check(attention("", weights, q_num_heads=4, kv_num_heads=2))


def test_sequences_by_heads_are_taken() -> None:
    axes = {"perm": [0, 2, 1, 3]}
    split = [node("Reshape", f"{one} parts", f"{one}1") for one in "qkv"]
    turned = [node("Transpose", f"{one}1", f"{one}2", **axes) for one in "qkv"]
    nodes = [*PARTS, *split, *turned, node("Attention", "q2 k2 v2", softcap=2.0)]
    check(model_of(nodes, (3, 4), {**WEIGHTS, "parts": np.array([0, 0, 2, 2])}, opset=23))


MASKED = [
    [node("Add", "s m", "t")],
    [node("Where", "b s m", "t")],
    [node("Where", "n m s", "t")],
]


@pytest.mark.parametrize(("nodes", "least"), list(product(MASKED, [-np.inf, -3.4028235e38, -1e31])))
def test_what_a_mask_hides_needs_no_exponential(nodes: Any, least: float) -> None:
    """Domains of exp are those of what is left: it is compiled."""
    mask = np.where(MASK, 0.0, least)
    constants = {"w": WEIGHTS["wq"][:, :3], "m": mask, "b": MASK, "n": ~MASK}
    made = [node("MatMul", "x w", "s"), *nodes, node("Softmax", "t", "p", axis=-1),
            node("MatMul", "p x")]  # fmt: skip
    model = model_of(made, (3, 4), constants)
    check(model)
    graph = from_model(model, X)
    exponentials = [one for one in graph.nodes if getattr(one, "kind", "") == "exp"]
    assert sum(one.size for one in exponentials) == MASK.sum()


@pytest.mark.parametrize(("nodes", "least"), list(product(MASKED, [-1e3, -1e4, -65504.0, -1e29])))
def test_finite_masks_need_no_range_of_exponentials(nodes: Any, least: float) -> None:
    """Of what is masked the exponential is that without the mask, times 0."""
    constants = {"w": WEIGHTS["wq"][:, :3], "m": np.where(MASK, 0.0, least), "b": MASK, "n": ~MASK}
    made = [node("MatMul", "x w", "s"), *nodes, node("Softmax", "t", "p", axis=-1),
            node("MatMul", "p x")]  # fmt: skip
    model = model_of(made, (3, 4), constants)
    check(model)
    graph = from_model(model, X)
    (argument,) = (one.input for one in graph.nodes if getattr(one, "kind", "") == "exp")
    low, high = graph.trace_ranges(X)[argument]
    assert -100 < low.min() < high.max() < 100


def test_an_encrypted_finite_mask_hides() -> None:
    made = attention("mask", {"mask": np.where(MASK, 0.0, -1e4)}, q_num_heads=2, kv_num_heads=2)
    model = fhe.compile(made, X, degree=1 << 11, insecure=True, precision=0.02)
    client, server = model.split()
    client.keygen()
    found = client.decrypt(server.run(client.encrypt(X[0])))
    error = model.report.error + model.report.approximation_error
    np.testing.assert_allclose(found, expected(made, X[:1])[0], atol=error)


@pytest.mark.parametrize("sample", [
    # An input takes the constant back; another is as far below without it.
    np.array([[0.5, 1e4, 0.5], [0.5, 0.0, 0.5]]), np.array([[0.5, -900.0, 0.5]]),
    np.array([[500.0, 0.0, 0.5]]),
])  # fmt: skip
def test_constants_that_do_not_mask_in_the_sample_stay(sample: Any) -> None:
    nodes = [node("Add", "x low", "b"), node("Exp", "b", "e"), node("MatMul", "e w")]
    constants = {"low": np.array([0.0, -1e4, 0.0]), "w": np.array([[1.0], [2.0], [4.0]])}
    model = model_of(nodes, (3,), constants)
    (argument,) = (
        one.input for one in from_model(model, sample).nodes if getattr(one, "kind", "") == "exp"
    )
    assert from_model(model, sample)[argument].bias.min() == -1e4


def test_inputs_that_take_a_mask_back_are_refused() -> None:
    """The sample has none; they leave the domain of the exponential, or the bounds."""
    nodes = [node("Add", "x low", "b"), node("Exp", "b", "e"), node("MatMul", "e w")]
    constants = {"low": np.array([0.0, -1e4, 0.0]), "w": np.array([[1.0], [2.0], [4.0]])}
    sample = np.random.default_rng(0).uniform(-1, 1, (64, 3)).astype(np.float32)
    model = fhe.compile(model_of(nodes, (3,), constants), sample, degree=1 << 11, insecure=True)
    client, server = model.split()
    with client.keygen():
        found = client.decrypt(server.run(client.encrypt(sample[0])))
        wanted = np.exp(sample[0, 0]) + 4 * np.exp(sample[0, 2])
        assert abs(found - wanted).max() < 0.1
        with pytest.raises(ModelError):
            client.encrypt(np.float32([0.5, 1e4, 0.5]))


@pytest.mark.parametrize("large", [1e9, 1e36])
@pytest.mark.parametrize("kind", ["Identity", "Relu", "Abs"])
def test_a_mask_of_inputs_is_not_taken_for_a_constant(kind: str, large: float) -> None:
    """1e9 x - 1e9 is 0 where x is 1, whatever it is in the sample."""
    nodes = [node("Mul", "x big", "a"), node(kind, "a", "f"), node("Add", "f low", "b"),
             node("Softmax", "b", "p", axis=1), node("MatMul", "p w")]  # fmt: skip
    constants = {"big": np.array([1.0, large, 1.0]), "low": np.array([0.0, -large, -np.inf]),
                 "w": np.array([[1.0], [2.0], [4.0]])}  # fmt: skip
    model = model_of(nodes, (3,), constants)
    found = from_model(model).predict(np.array([[0.5, 1.0, 0.5], [0.5, 0.0, 0.5]]))["y"]
    half = np.exp(0.5)
    np.testing.assert_allclose(found[:, 0], [(half + 2) / (half + 1), 1.0])


def test_a_constant_that_inputs_may_reach_masks_nothing() -> None:
    nodes = [node("Add", "x low", "b"), node("Softmax", "b", "p", axis=1), node("MatMul", "p w")]
    constants = {"low": np.array([0.0, 0.0, -1e9]), "w": np.array([[1.0], [2.0], [4.0]])}
    found = from_model(model_of(nodes, (3,), constants)).predict(np.array([[0.0, 0.0, 1e9]]))["y"]
    np.testing.assert_allclose(found, [[7 / 3]])


@pytest.mark.parametrize(("low", "high"), [(-np.inf, 0.3), (-3.4e38, 0.3), (-0.3, np.inf)])
def test_limits_that_are_none_are_left_out(low: float, high: float) -> None:
    model = model_of([node("Clip", "x a b")], (3, 4), {"a": np.array(low), "b": np.array(high)})
    graph = from_model(model, X)
    np.testing.assert_allclose(graph.predict(X)["y"], X.clip(low, high), atol=1e-12)
    assert sum(getattr(one, "kind", "") == "relu" for one in graph.nodes) == 1


def test_masked_attention_is_encrypted() -> None:
    made = attention(q_num_heads=2, kv_num_heads=2, is_causal=1)
    model = fhe.compile(made, X, degree=1 << 11, insecure=True, precision=0.02)
    client, server = model.split()
    client.keygen()
    found = client.decrypt(server.run(client.encrypt(X[0])))
    error = model.report.error + model.report.approximation_error
    np.testing.assert_allclose(found, expected(made, X[:1])[0], atol=error)


@pytest.mark.parametrize("kind", ["Add", "Where"])
def test_constants_choose_and_mask_elements(kind: str) -> None:
    nodes = [node("Where", "b x c", "a"), node("Where", "b y0 a")]
    nodes = [node("Neg", "x", "y0"), *nodes] if kind == "Where" else nodes[:1]
    nodes[-1].output[0] = "y"
    constants = {"b": DRAW.random((3, 1)) < 0.5, "c": DRAW.normal(size=(3, 4))}
    check(model_of(nodes, (3, 4), constants))


REFUSED: list[tuple[Any, str]] = [
    (attention(), "a q_num_heads that divides 4, found 0"),
    (attention(q_num_heads=2, kv_num_heads=3), "a kv_num_heads that divides 4, found 3"),
    (attention(q_num_heads=1, kv_num_heads=2), "a number of heads that divides 1, found 2"),
    (attention("m", {"m": np.ones((2, 2))}, q_num_heads=1, kv_num_heads=1),
     r"a mask that broadcasts to \[1, 1, 3, 3\], found \[2, 2\]"),
    (attention("m", {"m": np.full((3, 3), -3.4e38)}, q_num_heads=1, kv_num_heads=1),
     "an element that is not masked in each row"),
    # Queries before the first key that is not masked, under two kinds of masks.
    (attention("m", {"m": np.array([[-3.4e38, 0.0, 0.0], [0, 0, -np.inf], [0, 0, 0]])},
               q_num_heads=1, kv_num_heads=1, is_causal=1), "rows without any"),
    (attention("x", q_num_heads=1, kv_num_heads=1), "a constant as input number 3"),
    (attention("m", {"m": MASK}, q_num_heads=1, kv_num_heads=1, softcap=2.0),
     "a softcap without a mask"),
    (attention("- p", {"p": np.ones((1, 1, 2, 4))}, q_num_heads=1, kv_num_heads=1),
     "no past keys, found an input number 4; give the whole sequence"),
    (model_of([node("Add", "x c", "a"), node("Softmax", "a", "b", axis=1), node("MatMul", "b w")],
              (3,), {"c": np.full(3, -np.inf), "w": np.ones((3, 1))}),
     "an element that is not masked in each row"),
    (model_of([node("Mul", "x c")], (3,), {"c": np.array([1, 2, -np.inf])}), "finite weights"),
    (model_of([node("Add", "x c")], (3,), {"c": np.array([1, 2, np.nan])}), "finite numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "words"), REFUSED, ids=[str(n) for n, _ in enumerate(REFUSED)])
def test_what_cannot_be_attended_to_is_refused(model: onnx.ModelProto, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        from_model(model)
