"""Models of other libraries as graphs: against ONNX's reference and scikit-learn."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from cloakwork.compiler.importing import from_model
from cloakwork.compiler.importing.walking import handled_kinds
from cloakwork.errors import ModelError
from onnx import helper, numpy_helper
from python.onnx_models import expected, model_of, node, random_chain

DRAW = np.random.default_rng(0)
ML = "ai.onnx.ml"

# A node from "x c d e" to "y", the shape of x, the constants c, d, e.
CASES: list[tuple[onnx.NodeProto, tuple[int, ...], list[Any]]] = [
    (node("Gemm", "x c d", alpha=0.5, beta=2.0), (3,), [DRAW.normal(size=(3, 2)), [1.0, 2.0]]),
    (node("Gemm", "x c", transB=1), (3,), [DRAW.normal(size=(2, 3))]),
    (node("MatMul", "x c"), (2, 3), [DRAW.normal(size=(3, 4))]),
    (node("MatMul", "c x"), (3, 2), [DRAW.normal(size=(4, 3))]),
    (node("MatMul", "c x"), (2, 3, 2), [DRAW.normal(size=(4, 3))]),
    (node("MatMul", "x x"), (2, 3, 3), []),
    (node("Add", "x c"), (2, 3), [DRAW.normal(size=3)]),
    (node("Add", "x x"), (2, 3), []),
    (node("Sub", "c x"), (2, 3), [DRAW.normal(size=(2, 1))]),
    (node("Add", "x c"), (1, 3), [DRAW.normal(size=(1, 4, 1))]),
    (node("Mul", "x c"), (2, 3), [DRAW.normal(size=(1, 3))]),
    (node("Mul", "x x"), (3,), []),
    (node("Div", "x c"), (3,), [[2.0, 4.0, -8.0]]),
    (node("Div", "c x"), (3,), [[2.0, 4.0, -8.0]]),
    (node("Div", "x x"), (3,), []),
    (node("Neg", "x"), (3,), []),
    (node("Sum", "x x x"), (3,), []),
    (node("Mean", "x x"), (3,), []),
    (node("ReduceSum", "x c", keepdims=0), (2, 3), [np.array([-1])]),
    (node("ReduceMean", "x c"), (2, 3, 2), [np.array([1, 3])]),
    (node("ReduceL2", "x c"), (2, 3), [np.array([1])]),
    (node("ReduceSumSquare", "x c"), (2, 3), [np.array([2])]),
    (node("Conv", "x c"), (2, 7), [DRAW.normal(size=(3, 2, 3))]),
    (node("Conv", "x c d", strides=[2, 1], pads=[1, 0, 2, 1], dilations=[1, 2]), (2, 6, 7),
     [DRAW.normal(size=(4, 2, 3, 2)), DRAW.normal(size=4)]),
    (node("Conv", "x c", group=2, auto_pad="SAME_UPPER", strides=[2, 2]), (4, 5, 6),
     [DRAW.normal(size=(6, 2, 3, 3))]),
    (node("Conv", "x c", auto_pad="SAME_LOWER"), (1, 5, 6), [DRAW.normal(size=(1, 1, 2, 2))]),
    (node("Conv", "x c", auto_pad="VALID"), (1, 5, 6), [DRAW.normal(size=(1, 1, 2, 2))]),
    (node("AveragePool", "x", kernel_shape=[3, 2], pads=[1, 1, 1, 0]), (2, 5, 6), []),
    (node("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2], count_include_pad=1,
          pads=[1, 1, 1, 1]), (2, 4, 4), []),
    (node("GlobalAveragePool", "x"), (3, 4, 5), []),
    (node("Conv", "x c d", strides=[2, 1, 1], pads=[1, 0, 2, 0, 1, 1], dilations=[1, 2, 1],
          group=2), (4, 3, 5, 4), [DRAW.normal(size=(2, 2, 2, 2, 3)), DRAW.normal(size=2)]),
    (node("Conv", "x c", auto_pad="SAME_LOWER", strides=[1, 2, 2]), (1, 2, 5, 4),
     [DRAW.normal(size=(2, 1, 2, 2, 3))]),
    (node("AveragePool", "x", kernel_shape=[2, 2, 3], strides=[1, 2, 1], pads=[1, 0, 1, 0, 1, 1]),
     (2, 3, 4, 4), []),
    (node("AveragePool", "x", kernel_shape=[2, 2, 2], count_include_pad=1,
          pads=[1, 0, 1, 0, 1, 1]), (1, 3, 3, 4), []),
    (node("AveragePool", "x", kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1), (2, 6, 5), []),
    (node("GlobalAveragePool", "x"), (2, 3, 2, 4), []),
    (node("MaxPool", "x", kernel_shape=[2, 1, 2], strides=[1, 2, 2]), (2, 3, 3, 4), []),
    (node("BatchNormalization", "x c d e f", epsilon=0.1), (3, 2, 2),
     [DRAW.normal(size=3), DRAW.normal(size=3), DRAW.normal(size=3), DRAW.uniform(1, 2, 3)]),
    (node("Flatten", "x"), (2, 3), []),
    (node("Reshape", "x c"), (2, 6), [np.array([0, 3, -1])]),
    (node("Reshape", "x c"), (2, 6), [np.array([1, 12])]),
    (node("Transpose", "x", perm=[0, 2, 1]), (2, 3), []),
    (node("Squeeze", "x c"), (2, 1, 3), [np.array([2])]),
    (node("Unsqueeze", "x c"), (2, 3), [np.array([1, -1])]),
    (node("Slice", "x c d e f"), (5, 4), [[1, -1], [4, -9], np.array([1, 2]), [2, -2]]),
    (node("Split", "x", "y z", axis=1, num_outputs=2), (4, 2), []),
    (node("Split", "x c", "y z", axis=-1), (2, 5), [np.array([2, 3])]),
    (node("Gather", "x c", axis=2), (2, 4), [np.array([[0, -1], [2, 2]])]),
    (node("Tile", "x c"), (2, 3), [np.array([1, 2, 2])]),
    (node("Expand", "x c"), (1, 3), [np.array([1, 4, 1])]),
    (node("DepthToSpace", "x", blocksize=2), (8, 2, 3), []),
    (node("DepthToSpace", "x", blocksize=2, mode="CRD"), (8, 2, 3), []),
    (node("SpaceToDepth", "x", blocksize=2), (2, 4, 6), []),
    (node("Pad", "x c d"), (2, 3), [np.array([0, 1, 2, 0, 0, 1]), np.array(1.5)]),
    (node("Pad", "x c", mode="reflect"), (2, 3), [np.array([0, 1, 2, 0, 0, 1])]),
    (node("Pad", "x c", mode="edge"), (2, 3), [np.array([0, 1, 2, 0, 0, 1])]),
    (node("Concat", "x c x", axis=2), (2, 3), [DRAW.normal(size=(1, 2, 2))]),
    (node("Clip", "x c d"), (4,), [np.array(-0.25), np.array(0.5)]),
    (node("Clip", "x c"), (4,), [np.array(-0.25)]),
    (node("Clip", "x - c"), (4,), [np.array(0.25)]),
    (node("PRelu", "x c"), (2, 3), [DRAW.normal(size=(2, 1))]),
    (node("LeakyRelu", "x", alpha=0.3), (4,), []),
    (node("Elu", "x", alpha=0.3), (4,), []),
    (node("HardSigmoid", "x", alpha=0.9), (4,), []),
    (node("HardSwish", "x"), (4,), []),
    (node("Pow", "x c"), (4,), [np.array(5.0)]),
    (node("MaxPool", "x", kernel_shape=[2, 3], strides=[2, 1], pads=[1, 1, 0, 1]), (2, 5, 6), []),
    (node("MaxPool", "x", kernel_shape=[3], dilations=[2], ceil_mode=1, strides=[2]), (2, 8), []),
    (node("GlobalMaxPool", "x"), (2, 3, 3), []),
    (node("ReduceMax", "x c", keepdims=0), (3, 5), [np.array([2])]),
    (node("ReduceMin", "x c"), (3, 5), [np.array([1, 2])]),
    (node("Max", "x c"), (2, 3), [DRAW.normal(size=3)]),
    (node("Min", "c x"), (2, 3), [DRAW.normal(size=(2, 1))]),
    (node("LayerNormalization", "x c d", epsilon=0.01), (3, 5),
     [DRAW.normal(size=5), DRAW.normal(size=5)]),
    (node("LayerNormalization", "x c", axis=1), (3, 5), [DRAW.normal(size=(3, 5))]),
    (node("GroupNormalization", "x c d", num_groups=2, epsilon=0.1), (4, 2, 3),
     [DRAW.normal(size=2), DRAW.normal(size=2)]),
    (node("InstanceNormalization", "x c d", epsilon=0.1), (3, 2, 2),
     [DRAW.normal(size=3), DRAW.normal(size=3)]),
    (node("InstanceNormalization", "x c d"), (2, 5), [DRAW.normal(size=2), DRAW.normal(size=2)]),
    (node("ConvTranspose", "x c"), (2, 3, 3), [DRAW.normal(size=(2, 3, 2, 2))]),
    (node("ConvTranspose", "x c d", strides=[2, 1], pads=[1, 0, 0, 1], output_padding=[1, 0],
          dilations=[1, 2]), (4, 3, 4), [DRAW.normal(size=(4, 2, 3, 2)), DRAW.normal(size=2)]),
    (node("CumSum", "x c", reverse=1), (3, 4), [np.array(-1)]),
    (node("Einsum", "x c", equation="bij,jk->bki"), (2, 3), [DRAW.normal(size=(3, 4))]),
    (node("Resize", "x - c", mode="linear"), (1, 3, 4), [np.array([1.0, 1, 2, 1.5], np.float32)]),
    (node("Resize", "x - - c", mode="nearest"), (2, 2, 3), [np.array([1, 2, 4, 6])]),
    (node("Trilu", "x c"), (3, 3), [np.array(1)]),
    *((node(kind, "x"), (4,), []) for kind in ("Relu", "Abs", "Erf", "Exp", "Sign", "Softplus",
                                                  "Softsign", "Sigmoid", "Tanh", "Identity",
                                                  "Asinh", "Atan", "Cosh", "Sinh", "Selu",
                                                  "Celu")),
    (node("Celu", "x", alpha=0.7), (4,), []),
    (node("Selu", "x", alpha=1.5, gamma=0.5), (4,), []),
    (node("ThresholdedRelu", "x", alpha=0.3), (4,), []),
    (node("ReduceL1", "x c"), (3, 5), [np.array([2])]),
    (node("ReduceLogSumExp", "x c", keepdims=0), (3, 5), [np.array([1, 2])]),
    (node("LpNormalization", "x"), (3, 4), []),
]  # fmt: skip
INDICES = {"starts", "ends"}


def stored(values: list[Any]) -> dict[str, np.ndarray]:
    """Constants by name: integers stay integers."""
    return {name: np.asarray(value) for name, value in zip("cdef", values, strict=False)}


@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{c[0].op_type}" for n, c in enumerate(CASES)])
def test_a_node_gives_what_the_reference_gives(case: Any) -> None:
    made, shape, constants = case
    model = model_of([made], shape, stored(constants), outputs=list(made.output))
    graph = from_model(model)
    x = np.random.default_rng(1).normal(size=(3, *shape))
    found = graph.predict(x)
    assert list(found) == list(made.output)
    for own, wanted in zip(found.values(), expected(model, x), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("axis", [1, -1])
def test_rms_normalization_is_that_of_its_opset(axis: int) -> None:
    made = node("RMSNormalization", "x c", axis=axis, epsilon=0.01)
    shape = (3, 4) if axis == 1 else (4,)
    model = model_of([made], (3, 4), {"c": DRAW.normal(size=shape)}, opset=23)
    x = np.random.default_rng(1).normal(size=(3, 3, 4))
    found = from_model(model).predict(x)["y"]
    np.testing.assert_allclose(found, expected(model, x)[0], atol=1e-5)


@pytest.mark.parametrize("p", [1, 2])
def test_norms_are_those_of_absolute_values(p: int) -> None:
    """For p = 1 the reference takes none."""
    model = model_of([node("LpNormalization", "x", axis=1, p=p)], (3, 2), {})
    x = np.random.default_rng(1).normal(size=(20, 3, 2))
    found = from_model(model, x).predict(x)["y"]
    np.testing.assert_allclose(found, x / np.linalg.norm(x, p, axis=1, keepdims=True), atol=1e-9)
    with pytest.raises(ModelError, match="a p of 1 or 2"):
        from_model(model_of([node("LpNormalization", "x", axis=1, p=3)], (3, 2), {}))


@pytest.mark.parametrize("kind", ["And", "Or", "Xor"])
def test_comparisons_are_joined(kind: str) -> None:
    nodes = [node("Greater", "x c", "a"), node("Less", "x d", "b"), node(kind, "a b", "e"),
             node("Cast", "e", "y", to=1)]  # fmt: skip
    model = model_of(nodes, (6,), {"c": np.array(0.2), "d": np.array(0.5)})
    x = np.random.default_rng(1).normal(size=(20, 6))
    found = from_model(model).predict(x)["y"]
    np.testing.assert_array_equal(found, expected(model, x)[0])


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_group_normalization_of_newer_opsets_has_scales_of_channels(groups: int) -> None:
    made = node("GroupNormalization", "x c d", num_groups=groups)
    constants = {"c": DRAW.normal(size=4), "d": DRAW.normal(size=4)}
    model = model_of([made], (4, 3, 2), constants, opset=21)
    x = np.random.default_rng(1).normal(size=(3, 4, 3, 2))
    found = from_model(model).predict(x)["y"]
    # The reference normalises with float32.
    np.testing.assert_allclose(found, expected(model, x)[0], atol=1e-5)


def test_a_constant_meets_a_value_that_was_reshaped() -> None:
    nodes = [node("Reshape", "x c", "a"), node("Mul", "a d")]
    model = model_of(nodes, (12,), {"c": np.array([0, 3, 4]), "d": np.arange(4.0)})
    x = np.random.default_rng(1).normal(size=(3, 12))
    np.testing.assert_allclose(from_model(model).predict(x)["y"], expected(model, x)[0])


@pytest.mark.parametrize("seed", range(25))
def test_random_networks_give_what_the_reference_gives(seed: int) -> None:
    model, shape = random_chain(seed)
    graph = from_model(model.SerializeToString())
    x = np.random.default_rng(seed).normal(size=(4, *shape))
    np.testing.assert_allclose(graph.predict(x)["y"], expected(model, x)[0], rtol=1e-8, atol=1e-9)
    ranges = graph.trace_ranges(x)
    for made, values in graph.steps(x):
        low, high = ranges[made.output]
        assert (values >= low).all()
        assert (values <= high).all()


def test_linear_chains_become_one_node_with_the_names_of_all() -> None:
    nodes = [node("Conv", "x c", "a"), node("BatchNormalization", "a d e f g", "b"),
             node("Flatten", "b", "h"), node("MatMul", "h i", "y")]  # fmt: skip
    ones = np.ones(2)
    constants = {"c": np.ones((2, 1, 2, 2)), "d": ones, "e": ones, "f": ones, "g": ones,
                 "i": np.ones((8, 3))}  # fmt: skip
    graph = from_model(model_of(nodes, (1, 3, 3), constants))
    assert [type(each).__name__ for each in graph.nodes] == ["Input", "Affine"]
    kinds = ("Conv", "BatchNormalization", "MatMul")
    assert graph["y"].source.kinds == kinds


def test_constants_are_folded_by_the_reference() -> None:
    nodes = [node("Shape", "x", "s"), node("Gather", "s c", "n"), node("Cast", "n", "m", to=11),
             node("Mul", "m d", "k"), node("Mul", "x k", "y")]  # fmt: skip
    constants = {"c": np.array(1), "d": np.array([2.0, 3.0])}
    graph = from_model(model_of(nodes, (2,), constants))
    np.testing.assert_allclose(graph.predict(np.ones((1, 2)))["y"], [[4.0, 6.0]])


@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax", "ArgMax", "Sigmoid"])
def test_the_client_computes_the_end_of_a_model(kind: str) -> None:
    attributes = {} if kind == "Sigmoid" else {"axis": 1}
    nodes = [node("MatMul", "x c", "a"), node(kind, "a", "y", **attributes)]
    model = model_of(nodes, (3,), {"c": DRAW.normal(size=(3, 4))})
    graph = from_model(model)
    assert all(type(each).__name__ != "Function" for each in graph.nodes)
    assert len(graph.client_tail.steps) == 1
    x = DRAW.normal(size=(5, 3))
    np.testing.assert_allclose(graph.predict(x)["y"], expected(model, x)[0])


def test_a_sigmoid_that_a_matrix_reads_is_a_function() -> None:
    nodes = [node("Sigmoid", "x", "a"), node("MatMul", "a c", "y")]
    graph = from_model(model_of(nodes, (3,), {"c": np.ones((3, 1))}))
    assert [type(each).__name__ for each in graph.nodes] == ["Input", "Function", "Affine"]


def test_a_softmax_that_a_matrix_reads_is_made_of_functions() -> None:
    nodes = [node("Softmax", "x", "a", axis=-1), node("MatMul", "a c", "y")]
    model = model_of(nodes, (2, 3), {"c": DRAW.normal(size=(3, 2))})
    x = DRAW.normal(size=(4, 2, 3))
    np.testing.assert_allclose(from_model(model).predict(x)["y"], expected(model, x)[0])


@pytest.mark.parametrize("kind", ["Greater", "GreaterOrEqual", "Less", "LessOrEqual"])
def test_comparisons_choose_between_values_as_the_reference_does(kind: str) -> None:
    nodes = [node(kind, "x c", "a"), node("Where", "a x d", "y")]
    model = model_of(nodes, (4,), {"c": np.array([0.0, 1.0, -1.0, 2.0]), "d": np.ones(4)})
    x = np.array([[0.0, 1.0, -1.0, 2.0], [1.0, 0.0, -2.0, 3.0], [-1.0, 2.0, 0.0, 1.0]])
    np.testing.assert_array_equal(from_model(model).predict(x)["y"], expected(model, x)[0])


def test_x_sigmoid_x_is_one_function() -> None:
    graph = from_model(model_of([node("Sigmoid", "x", "a"), node("Mul", "a x", "y")], (3,)))
    assert [getattr(each, "kind", None) for each in graph.nodes] == [None, "silu"]


REFUSED: list[tuple[onnx.ModelProto, str]] = [
    (model_of([node("NonZero", "x")], (3,)),
     "the NonZero': expected a node that can be compiled, found NonZero;.*models.md"),
    (model_of([node("Flatten", "x", axis=0)], (3,)), "the Flatten': expected axis 1, found 0"),
    (model_of([node("Transpose", "x", perm=[1, 0])], (3,)), "output 'y': expected the batch axis"),
    (model_of([node("Reshape", "x c")], (4,), {"c": np.array([2, 2])}), "batch axis to stay"),
    (model_of([node("Reshape", "x c")], (4,), {"c": np.array([1, 3])}), "shape of the elements"),
    (model_of([node("Reshape", "x x")], (4,)), "a constant as input number 1"),
    (model_of([node("Gemm", "x c")], (3,), {"c": np.ones((2, 2))}), "weights of 3 rows"),
    (model_of([node("Gemm", "x c", transA=1)], (3,), {"c": np.ones((3, 2))}), "not transposed"),
    (model_of([node("Conv", "x c")], (2, 4, 4), {"c": np.ones((2, 3, 1, 1))}), "\\[filters"),
    (model_of([node("Conv", "x c")], (2, 2, 2), {"c": np.ones((2, 2, 3, 3))}), "a window within"),
    (model_of([node("Conv", "x c")], (4,), {"c": np.ones((2, 2, 3, 3))}), "\\[batch, channels"),
    (model_of([node("Conv", "x c")], (1, 2, 2, 2, 2), {"c": np.ones((1, 1, 2, 2, 2, 2))}),
     "\\[batch, channels, \\(depth"),
    (model_of([node("Conv", "x c", pads=[1, 1])], (1, 3, 3), {"c": np.ones((1, 1, 2, 2))}),
     "pads of 0 or more, two an axis"),
    (model_of([node("Conv", "x c", strides=[1])], (1, 3, 3), {"c": np.ones((1, 1, 2, 2))}),
     "a strides for the kernel"),
    (model_of([node("Mul", "x c")], (3,), {"c": np.ones(2)}), "shapes that broadcast"),
    (model_of([node("Div", "x c")], (3,), {"c": np.zeros(3)}), "divisors other than 0"),
    (model_of([node("Pow", "x c")], (3,), {"c": np.array(2.5)}), "an exponent"),
    (model_of([node("Pow", "x c")], (3,), {"c": np.array(999.0)}), "an exponent"),
    (model_of([node("ReduceSum", "x")], (3,)), "axes after the batch"),
    (model_of([node("CumSum", "x c")], (3,), {"c": np.array(0)}), "each input of a batch"),
    (model_of([node("CumSum", "x c")], (20000,), {"c": np.array(1)}), "at most 16384 elements"),
    (model_of([node("CumSum", "x c")], (3,), {"c": np.array(5)}), "inputs and attributes that fit"),
    (model_of([node("CumSum", "c x")], (3,), {"c": np.ones(3)}), "the CumSum': expected"),
    (model_of([node("Einsum", "x x", equation="bi,bi->b")], (3,)), "one encrypted operand"),
    (model_of([node("Einsum", "x c", equation="bi,ij->jb")], (3,), {"c": np.ones((3, 2))}),
     "batch axis to stay"),
    (model_of([node("InstanceNormalization", "x c c")], (2, 3), {"c": np.ones(3)}),
     "a scale and a shift of 2"),
    (model_of([node("InstanceNormalization", "x c c")], (2,), {"c": np.ones(2)}),
     "\\[batch, channels"),
    (model_of([node("GroupNormalization", "x c c", num_groups=2)], (3, 2), {"c": np.ones(2)}),
     "a num_groups that divides 3 channels"),
    (model_of([node("GroupNormalization", "x c c", num_groups=0)], (3, 2), {"c": np.ones(2)}),
     "a num_groups that divides 3 channels"),
    (model_of([node("GroupNormalization", "x c c", num_groups=2)], (4, 2), {"c": np.ones(4)}),
     "a scale and a shift of 2"),
    (model_of([node("GroupNormalization", "x c c", num_groups=2)], (4, 2), {"c": np.ones(2)},
              opset=21), "a scale and a shift of 4"),
    (model_of([node("ReduceSum", "x c")], (3,), {"c": np.array([0])}), "batch axis"),
    (model_of([node("Softmax", "x", "a"), node("Relu", "a", "b"), node("ArgMax", "b", "i", axis=1),
               node("Mul", "i x", "y")], (3,)), "end the model with it"),
    (model_of([node("Relu", "z")], (3,)), "reads 'z', which no input"),
    (model_of([node("Relu", "x", "y"), node("Relu", "x", "y")], (3,)), "found 'y' twice"),
    (model_of([node("Relu", "x", "z")], (3,)), "reads 'y'"),
    (model_of([node("Relu", "x")], ("length",)), "lengths of 1 or more after the batch"),
    (model_of([node("Relu", "x")], (0,)), "lengths of 1 or more after the batch"),
    (model_of([node("Relu", "x")], (1 << 25,)), "at most"),
    (model_of([node("Relu", "x")], (3,), opset=6), "opset 7 or later"),
    (model_of([node("Relu", "x", domain="com.example")], (3,)), "'com.example'"),
    (model_of([node("MatMul", "x c")], (3,), {"c": np.full((3, 1), np.nan)}), "NaN or infinity"),
    (model_of([node("Gather", "x c", axis=1)], (3,), {"c": np.array([3])}), "indices below 3"),
    (model_of([node("ArrayFeatureExtractor", "x c", domain=ML)], (3,),
              {"c": np.zeros(0, np.int64)}), "1 to 16777216 elements, found the shape \\[1, 0\\]"),
    (model_of([node("Elu", "x", alpha=np.nan)], (3,)), "the Elu': expected a finite alpha"),
    (model_of([node("Slice", "x c d")], (3,), {"c": np.array([0, 3]), "d": np.array([1, 3])}),
     "an empty slice"),
    (model_of([node("Pad", "x c")], (3,), {"c": np.array([1, 0, 0, 0])}), "of the batch"),
    (model_of([node("Clip", "x c d")], (3,), {"c": np.array(1.0), "d": np.array(0.0)}),
     "min <= max"),
    (model_of([node("Constant", "", value_float=1.0)], (3,)), "depends on an input"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "words"), REFUSED)
def test_what_cannot_be_compiled_is_refused_by_node(model: onnx.ModelProto, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        from_model(model)


def test_a_fixed_batch_of_several_is_refused() -> None:
    model = model_of([node("Relu", "x")], (3,))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 8
    with pytest.raises(ModelError, match="a first axis for the batch, dynamic or 1"):
        from_model(model)


def test_external_data_and_inner_graphs_are_refused() -> None:
    model = model_of([node("MatMul", "x c")], (3,), {"c": np.ones((3, 1))})
    model.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL
    with pytest.raises(ModelError, match="save_as_external_data=False"):
        from_model(model)
    inner = helper.make_graph([node("Relu", "x")], "inner", [], [onnx.ValueInfoProto(name="y")])
    branch = node("If", "x", "y", then_branch=inner, else_branch=inner)
    with pytest.raises(ModelError, match="without control flow"):
        from_model(model_of([branch], (3,)))


def test_stored_tensors_that_lie_about_their_size_are_refused() -> None:
    model = model_of([node("MatMul", "x c")], (3,), {"c": np.ones((3, 1))})
    for dims, words in (([3, 2], "numbers for the shape"), ([1 << 40, 1 << 40], "at most"),
                        ([-1, 3], "lengths of 0")):  # fmt: skip
        del model.graph.initializer[0].dims[:]
        model.graph.initializer[0].dims.extend(dims)
        with pytest.raises(ModelError, match=words):
            from_model(model)


def test_files_that_are_no_models_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(ModelError, match=r"model\.onnx: expected an ONNX file, found none of"):
        from_model(path)
    with pytest.raises(ModelError, match="expected an ONNX model, got a folder"):
        from_model(tmp_path)
    good = model_of([node("Relu", "x")], (3,)).SerializeToString()
    for contents in (b"", b"nonsense", good[:-7], bytes(1000)):
        path.write_bytes(contents)
        with pytest.raises(ModelError):
            from_model(path)
    with pytest.raises(ModelError, match=r"found builtins\.int"):
        from_model(3)


@pytest.mark.parametrize(
    ("before", "field"),
    [
        (b"the Neg", "NodeProto.name"),
        (b"v0", "NodeProto.output"),
        (b"small", "GraphProto.name"),
        (b"batch", "Dimension.dim_param"),
        (b"ai.onnx.ml", "OperatorSetIdProto.domain"),
    ],
)
def test_texts_that_are_not_utf_8_are_refused(before: bytes, field: str) -> None:
    model = model_of([node("Neg", "x", "v0"), node("Neg", "v0")], (3,))
    damaged = model.SerializeToString().replace(before, b"\xff" * len(before))
    words = rf"{field}: expected a text in UTF-8, found b'.*\\xff"
    with pytest.raises(ModelError, match=words):
        from_model(damaged)


def test_changed_bytes_give_a_graph_or_an_error() -> None:
    model, _ = random_chain(3)
    good = bytearray(model.SerializeToString())
    draw = np.random.default_rng(2)
    for _ in range(150):
        changed = bytearray(good)
        for place in draw.integers(0, len(good), 3):
            changed[place] = draw.integers(0, 256)
        try:
            from_model(bytes(changed))
        except ModelError:
            continue


def test_a_linear_classifier_of_the_machine_learning_domain() -> None:
    made = node("LinearClassifier", "x", "label scores", domain=ML, coefficients=[1.0, 2, 3, 4],
                intercepts=[0.5, 0.0], classlabels_strings=["no", "yes"],
                post_transform="SOFTMAX")  # fmt: skip
    graph = from_model(model_of([made], (2,), outputs=["label", "scores"]))
    found = graph.predict(np.array([[1.0, -1.0], [1.0, 1.0]]))
    assert found["label"].tolist() == ["no", "yes"]
    wrong = node("LinearClassifier", "x", "label scores", domain=ML, coefficients=[1.0, 2, 3],
                 intercepts=[0.5, 0.0], classlabels_ints=[0, 1])  # fmt: skip
    with pytest.raises(ModelError, match="2 x 2 coefficients"):
        from_model(model_of([wrong], (2,), outputs=["label"]))


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    features, labels = load_breast_cancer(return_X_y=True)
    return features[:200].astype(np.float32), labels[:200]


def test_estimators_predict_as_scikit_learn_does(table: Any) -> None:
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features, labels = table
    texts = np.where(labels == 1, "benign", "malignant")
    cases = [
        (LogisticRegression(max_iter=50), texts),
        (MLPClassifier((6,), max_iter=200, tol=1.0, n_iter_no_change=1), labels),
        (MLPRegressor(hidden_layer_sizes=(6,), max_iter=200, tol=1e9, n_iter_no_change=1), labels),
        (make_pipeline(PCA(4), LinearRegression()), labels),
        (Ridge(), labels),
    ]
    for last, wanted in cases:
        model = make_pipeline(StandardScaler(), last).fit(features, wanted)
        found = next(iter(from_model(model).predict(features).values()))
        own = model.predict(features)
        if own.dtype.kind == "f":
            np.testing.assert_allclose(found.ravel(), own.ravel(), rtol=1e-3, atol=1e-4)
        else:
            assert (found == own).mean() > 0.99


def test_trees_predict_as_scikit_learn_does(table: Any) -> None:
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    features, labels = table
    three = labels + (features[:, 0] > 15)
    sizes = {"n_estimators": 4, "max_depth": 3, "random_state": 1}
    cases = [
        (DecisionTreeClassifier(max_depth=3, random_state=1), labels),
        (DecisionTreeClassifier(max_depth=5, random_state=1), three),
        (DecisionTreeRegressor(max_depth=4, random_state=1), features[:, 3]),
        (RandomForestClassifier(**sizes), labels),
        (RandomForestClassifier(**sizes), three),
        (RandomForestRegressor(**sizes), features[:, 3]),
        (GradientBoostingClassifier(**sizes), labels),
        (GradientBoostingClassifier(**sizes), three),
        (GradientBoostingRegressor(**sizes), features[:, 3]),
    ]
    for model, wanted in cases:
        model.fit(features, wanted)
        graph = from_model(model)
        found = list(graph.predict(features).values())
        own = model.predict(features)
        if own.dtype.kind == "f":
            np.testing.assert_allclose(found[0].ravel(), own.ravel(), rtol=1e-4, atol=1e-4)
        else:
            np.testing.assert_array_equal(found[0], own)
            np.testing.assert_allclose(found[1], model.predict_proba(features), atol=1e-5)


def test_a_tree_of_one_leaf_is_a_constant(table: Any) -> None:
    from sklearn.tree import DecisionTreeRegressor

    features, _ = table
    model = DecisionTreeRegressor().fit(features, np.full(len(features), 2.5))
    found = from_model(model).predict(features[:3])
    np.testing.assert_allclose(next(iter(found.values())), np.full((3, 1), 2.5))


def test_trees_that_are_no_trees_are_refused() -> None:
    good = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], "target_treeids": [0, 0],
        "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0],
        "n_targets": 1,
    }  # fmt: skip
    changes: list[tuple[dict[str, Any], str]] = [
        ({}, ""),
        ({"nodes_truenodeids": [0, 0, 0]}, "weights of leaves"),
        ({"nodes_truenodeids": [2, 0, 0]}, "one root|a tree"),
        ({"nodes_falsenodeids": [7, 0, 0]}, "one root|a tree"),
        ({"nodes_featureids": [9, 0, 0]}, "features below 3"),
        ({"nodes_modes": ["BRANCH_EQ", "LEAF", "LEAF"]}, "a mode of"),
        ({"nodes_values": [0.5]}, "of which all is stated"),
        ({"target_nodeids": [1, 5]}, "weights of leaves"),
        ({"target_ids": [0, 3]}, "weights of leaves"),
        ({"nodes_missing_value_tracks_true": [1, 0, 0]}, ""),
        ({"base_values": [1.0, 2.0]}, "base values"),
    ]
    for change, words in changes:
        made = node("TreeEnsembleRegressor", "x", domain=ML, **{**good, **change})
        model = model_of([made], (3,))
        if not words:
            found = from_model(model).predict(np.array([[0.25, 0, 0], [0.5, 0, 0], [0.75, 0, 0]]))
            assert found["y"].ravel().tolist() == [1.0, 1.0, 2.0]
            continue
        with pytest.raises(ModelError, match=words):
            from_model(model)


def test_an_estimator_that_was_not_fitted_is_refused() -> None:
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(ModelError, match="LogisticRegression: expected a fitted estimator"):
        from_model(LogisticRegression())


def test_a_torch_module_needs_torch_and_a_sample() -> None:
    class Module:
        training = False

        def forward(self) -> None: ...
        def state_dict(self) -> None: ...

    with pytest.raises(ModelError, match=r"torch|sample"):
        from_model(Module())


def test_weights_stored_as_float16_are_read() -> None:
    model = model_of([node("MatMul", "x c")], (3,), {"c": np.ones((3, 1), np.float16)})
    assert numpy_helper.to_array(model.graph.initializer[0]).dtype == np.float16
    np.testing.assert_allclose(from_model(model).predict(np.ones((1, 3)))["y"], [[3.0]])


def test_the_page_on_models_lists_every_node_that_can_be_compiled() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")
    for domain, kinds in handled_kinds().items():
        assert f"| `{domain or 'ai.onnx'}` | {', '.join(kinds)} |" in page
