"""Quantised models: scales of constants, rounding by the client, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from cloakwork import fhe
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.importing import from_model
from cloakwork.errors import ModelError
from onnx import TensorProto, helper
from python.float_models import check, expected, inputs, model_of
from python.onnx_models import node

SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
DRAW = np.random.default_rng(0)
F = np.float32
OPSETS = (10, 13, 19, 21, 23, 25)
# Of such scales few quotients are ties, for which roundings of float32 choose a side.
ENDS: dict[str, Any] = {"s": F(0.0517), "z": np.uint8(100), "t": F(0.0713), "u": np.uint8(128)}
ROUNDED = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d")]
AT_THE_END = [node("QuantizeLinear", "g t u", "r"), node("DequantizeLinear", "r t u", "y")]


def matrix(opset: int) -> tuple[list[Any], dict[str, Any]]:
    """A Gemm with quantised weights, of channels where the opset has them, and bias."""
    along = opset >= 13
    nodes = [
        node("DequantizeLinear", "w ws wz", "wd", **({"axis": 1} if along else {})),
        node("DequantizeLinear", "b bs", "bd"),
        node("Gemm", "d wd bd", "g"),
    ]
    return nodes, {
        "w": DRAW.integers(-127, 128, (4, 3)).astype(np.int8),
        "ws": DRAW.uniform(0.01, 0.03, 3).astype(F) if along else F(0.02),
        "wz": np.zeros(3, np.int8) if along else np.int8(3),
        "b": DRAW.integers(-1000, 1000, 3).astype(np.int32),
        "bs": F(0.001),
    }


@pytest.mark.parametrize("opset", OPSETS)
def test_the_client_rounds_at_both_ends(opset: int) -> None:
    between, weights = matrix(opset)
    nodes = [*ROUNDED, *between, *AT_THE_END]
    model = model_of(nodes, (4,), {**ENDS, **weights}, opset=opset, outputs=["r", "y"])
    graph = check(model, inputs(4), steps=1.0)
    assert [type(one).__name__ for one in graph.nodes] == ["Input", "Affine"]
    assert [one.kind for one in graph.client_head.steps.steps] == ["cast", "quantized"]
    assert [one.kind for one in graph.client_tail.steps] == ["quantized", "dequantized", "cast"]
    assert graph.predict(inputs(4))["r"].dtype == np.uint8


def test_an_encrypted_run_rounds_as_the_model_does() -> None:
    between, weights = matrix(21)
    nodes = [*ROUNDED, *between, *AT_THE_END]
    model = model_of(nodes, (4,), {**ENDS, **weights}, outputs=["r", "y"])
    x = inputs(4)
    compiled = fhe.compile(model, x, **SMALL)
    assert "quantized" in compiled.report.client
    client, server = compiled.split()
    # The second saturates, and is right as well.
    for given in (x[0], F([100.0, -100.0, 3.0, 0.0])):
        found = client.decrypt(server.run(client.encrypt(given)))
        whole, floats = expected(model, given[np.newaxis])
        np.testing.assert_array_equal(found["r"], whole)
        np.testing.assert_allclose(found["y"], floats, rtol=1e-6)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16"])
def test_inputs_beyond_the_range_saturate_before_encryption(kind: str) -> None:
    zero = np.array(3, kind)
    model = model_of([*ROUNDED, node("MatMul", "d w", "y")], (4,),
                     {"s": F(0.5), "z": zero, "w": np.eye(4, dtype=F)})  # fmt: skip
    check(model, inputs(4, size=30000.0))


def test_without_a_zero_point_whole_numbers_are_those_of_8_bits_from_0() -> None:
    nodes = [node("QuantizeLinear", "x s", "q"), node("DequantizeLinear", "q s", "d"),
             node("MatMul", "d w", "y")]  # fmt: skip
    check(model_of(nodes, (4,), {"s": F(0.02), "w": np.eye(4, dtype=F)}), inputs(4))


@pytest.mark.parametrize("scale", [0.4, 2.0, 0.1])
def test_ties_are_those_of_float32(scale: float) -> None:
    """3 / 0.4 is 7.5 in float32, and less in float64."""
    nodes = [*ROUNDED, node("MatMul", "d w", "y")]
    constants = {"s": F(scale), "z": np.int8(1), "w": np.eye(4, dtype=F)}
    whole = np.arange(-120, 120, dtype=F).reshape(-1, 4)
    check(model_of(nodes, (4,), constants), whole)
    check(model_of(nodes, (4,), constants), whole / F(8))


@pytest.mark.parametrize("bias", ["", " b"])
def test_ties_of_results_are_those_of_the_proof(bias: str) -> None:
    """0.05 times 0.02 by 0.07 is 1 / 70, so that many results are ties."""
    nodes = [ROUNDED[0], node("QLinearConv", f"q s z w v k t u{bias}", "r"), AT_THE_END[1]]
    constants = {
        **ENDS, "s": F(0.05), "v": F(0.02), "t": F(0.07), "k": np.int8(3),
        "w": DRAW.integers(-99, 99, (3, 2, 1, 1)).astype(np.int8),
        "b": 35 * DRAW.integers(-50, 50, 3).astype(np.int32),
    }  # fmt: skip
    model, x = model_of(nodes, (2, 4, 4), constants), inputs(2, 4, 4, size=1.0)
    found = from_model(model, x).predict(x)["y"]
    assert np.abs(found - expected(model, x, opset=21)[0]).max() < 0.071


def test_channels_of_pictures_have_scales_of_their_own() -> None:
    nodes = [
        node("QuantizeLinear", "x s z", "q", axis=-3),
        node("DequantizeLinear", "q s z", "d", axis=1),
        node("DequantizeLinear", "w ws", "wd", axis=0),
        node("Conv", "d wd", "c"),
        node("QuantizeLinear", "c t u", "r", axis=1),
        node("DequantizeLinear", "r t u", "y", axis=1),
    ]
    constants = {
        "s": F([0.05, 0.03]), "z": np.int8([5, -7]),
        "w": DRAW.integers(-127, 128, (3, 2, 2, 2)).astype(np.int8),
        "ws": F([0.01, 0.02, 0.03]), "t": F([0.1, 0.2, 0.05]), "u": np.uint8([100, 120, 140]),
    }  # fmt: skip
    check(model_of(nodes, (2, 4, 4), constants), inputs(2, 4, 4), steps=0.2)


@pytest.mark.parametrize("opset", [21, 23, 25])
def test_weights_in_blocks_and_of_4_bits_are_constants(opset: int) -> None:
    few = DRAW.integers(-8, 8, (4, 6))
    packed = helper.make_tensor("w", TensorProto.INT4, [4, 6], few.ravel().tolist())
    constants = {"w": packed, "ws": DRAW.uniform(0.1, 0.3, (2, 6)).astype(F)}
    nodes = [node("DequantizeLinear", "w ws", "wd", axis=0, block_size=2),
             node("MatMul", "x wd", "y")]  # fmt: skip
    check(model_of(nodes, (4,), constants, opset=opset), inputs(4))


def test_rounded_weights_are_constants() -> None:
    """As torch exports fake quantisation, with weights in float32."""
    nodes = [node("QuantizeLinear", "w s z", "wq", axis=1),
             node("DequantizeLinear", "wq s z", "wd", axis=1),
             node("MatMul", "x wd", "y")]  # fmt: skip
    constants = {"w": DRAW.normal(size=(4, 3)).astype(F), "s": F([0.01, 0.5, 0.02]),
                 "z": np.int8([0, 0, 0])}  # fmt: skip
    check(model_of(nodes, (4,), constants), inputs(4))


def test_a_constant_far_beyond_the_range_saturates() -> None:
    nodes = [node("QuantizeLinear", "w s z", "wq"), node("DequantizeLinear", "wq s z", "wd"),
             node("MatMul", "x wd", "y")]  # fmt: skip
    constants = {"w": F([[1e30], [-1e30]]), "s": F(1e-10), "z": np.int8(0)}
    graph = from_model(model_of(nodes, (2,), constants))
    found = graph.predict(np.array([[1.0, 0.0], [0.0, 1.0]]))["y"]
    np.testing.assert_allclose(found, [[127e-10], [-128e-10]], rtol=1e-6)


def test_constants_of_dequantised_ones_have_one_type() -> None:
    nodes = [node("DequantizeLinear", "w s", "wd"), node("Mul", "wd c", "m"),
             node("Add", "m c", "n"), node("Transpose", "n", "o"),
             node("MatMul", "x o", "y")]  # fmt: skip
    constants = {"w": np.int8([[3, 4], [5, 6]]), "s": F(0.5), "c": F([[0.1, 0.2], [0.3, 0.4]])}
    check(model_of(nodes, (2,), constants), inputs(2))


def test_a_channel_of_scale_0_is_0() -> None:
    nodes = [node("DequantizeLinear", "w s", "wd", axis=1), node("MatMul", "x wd", "y")]
    constants = {"w": np.int8([[3, 4], [5, 6]]), "s": F([0.5, 0.0])}
    check(model_of(nodes, (2,), constants), inputs(2))


def test_inputs_of_whole_numbers_are_scaled_on_the_server() -> None:
    nodes = [node("DequantizeLinear", "x s z", "d"), node("MatMul", "d w", "y")]
    constants = {"s": F(0.05), "z": np.uint8(100), "w": DRAW.normal(size=(4, 3)).astype(F)}
    model = model_of(nodes, (4,), constants, kind=TensorProto.UINT8)
    graph = check(model, np.random.default_rng(2).integers(0, 256, (64, 4)).astype(np.uint8))
    assert graph.client_head is None


def test_what_follows_a_rounding_before_encryption_is_rounded_too() -> None:
    nodes = [*ROUNDED, node("Relu", "d", "e"), node("QuantizeLinear", "e t u", "r"),
             node("DequantizeLinear", "r t u", "f"), node("MatMul", "f w", "y")]  # fmt: skip
    constants = {**ENDS, "w": DRAW.normal(size=(4, 3)).astype(F)}
    graph = check(model_of(nodes, (4,), constants), inputs(4), steps=0.2)
    assert [type(one).__name__ for one in graph.nodes] == ["Input", "Affine"]


@pytest.mark.parametrize(
    "after",
    [
        [node("ArgMax", "r", "y", axis=1)],
        [node("ArgMin", "r", "y", axis=1)],
        [node("TopK", "r k", "v y")],
        [node("Cast", "r", "c", to=1), node("Softmax", "c", "y", axis=-1)],
        [node("DequantizeLinear", "r t u", "c"), node("Softmax", "c", "y", axis=-1)],
        [node("DequantizeLinear", "r t u", "c"), node("Flatten", "c", "y")],
        [node("DequantizeLinear", "r t u", "c"), node("Reshape", "c one", "y")],
        [node("DequantizeLinear", "r t u", "c"), node("QuantizeLinear", "c s z", "y")],
    ],
)
def test_the_client_goes_on_with_what_it_rounded(after: list[Any]) -> None:
    """Whole numbers of 8 bits are differences and opposites of no other."""
    nodes = [node("MatMul", "x w", "g"), AT_THE_END[0], *after]
    constants = {**ENDS, "w": DRAW.normal(size=(4, 3)).astype(F), "k": np.array([2]),
                 "one": np.array([-1, 3])}  # fmt: skip
    check(model_of(nodes, (4,), constants), inputs(4), steps=3.0)


def test_pictures_are_flattened_after_rounding() -> None:
    nodes = [node("Conv", "x w", "g"), *AT_THE_END[:1], node("DequantizeLinear", "r t u", "c"),
             node("Flatten", "c", "y")]  # fmt: skip
    constants = {**ENDS, "w": DRAW.normal(size=(3, 2, 2, 2)).astype(F)}
    check(model_of(nodes, (2, 3, 3), constants), inputs(2, 3, 3, size=0.5), steps=0.1)


@pytest.mark.parametrize("zeros", ["", " a", " a b", " - b", " a c"])
def test_products_of_whole_numbers(zeros: str) -> None:
    nodes = [ROUNDED[0], node("MatMulInteger", f"q w{zeros}", "m"), node("Cast", "m", "f", to=1),
             node("Mul", "f s", "y")]  # fmt: skip
    constants = {**ENDS, "w": DRAW.integers(-127, 128, (4, 3)).astype(np.int8),
                 "a": np.uint8(100), "b": np.int8(-3), "c": np.int8([1, 2, 3])}  # fmt: skip
    check(model_of(nodes, (4,), constants), inputs(4))


@pytest.mark.parametrize("zeros", ["", " a", " a b"])
def test_convolutions_of_whole_numbers(zeros: str) -> None:
    nodes = [ROUNDED[0], node("ConvInteger", f"q w{zeros}", "m", pads=[1, 1, 1, 1]),
             node("Cast", "m", "f", to=1), node("Mul", "f s", "y")]  # fmt: skip
    constants = {**ENDS, "w": DRAW.integers(0, 255, (3, 2, 3, 3)).astype(np.uint8),
                 "a": np.uint8(100), "b": np.uint8(7)}  # fmt: skip
    check(model_of(nodes, (2, 4, 4), constants), inputs(2, 4, 4))


def test_an_encrypted_product_of_whole_numbers() -> None:
    nodes = [ROUNDED[0], node("MatMulInteger", "q w a b", "m"), node("Cast", "m", "f", to=1),
             node("Mul", "f s", "y")]  # fmt: skip
    constants = {**ENDS, "w": DRAW.integers(-127, 128, (4, 3)).astype(np.int8),
                 "a": np.uint8(100), "b": np.int8(-3)}  # fmt: skip
    model, x = model_of(nodes, (4,), constants), inputs(4)
    compiled = fhe.compile(model, x, **SMALL)
    client, server = compiled.split()
    found = client.decrypt(server.run(client.encrypt(x[0])))
    assert np.abs(found - expected(model, x[:1])[0]).max() < compiled.report.error


@pytest.mark.parametrize("opset", [10, 21])
def test_a_quantised_product_is_dequantised_multiplied_and_rounded(opset: int) -> None:
    nodes = [ROUNDED[0], node("QLinearMatMul", "q s z w t k t u", "r"), AT_THE_END[1]]
    constants = {**ENDS, "w": DRAW.integers(-127, 128, (4, 3)).astype(np.int8), "k": np.int8(3)}
    graph = check(model_of(nodes, (4,), constants, opset=opset), inputs(4), steps=0.072)
    assert [type(one).__name__ for one in graph.nodes] == ["Input", "Affine"]


def test_quantised_products_within_branches_are_read() -> None:
    branches = {
        f"{way}_branch": helper.make_graph([node("QLinearMatMul", f"q s z w t k t u {way}", way)],
                                           way, [], [onnx.ValueInfoProto(name=way)])
        for way in ("then", "else")
    }  # fmt: skip
    for body in branches.values():
        del body.node[0].input[8:]
    nodes = [ROUNDED[0], node("If", "yes", "r", **branches), AT_THE_END[1]]
    constants = {**ENDS, "w": DRAW.integers(-127, 128, (4, 3)).astype(np.int8), "k": np.int8(3),
                 "yes": np.array(True)}  # fmt: skip
    check(model_of(nodes, (4,), constants), inputs(4), steps=0.072)


@pytest.mark.parametrize("opset", [10, 12, 21])
@pytest.mark.parametrize("bias", ["", " b"])
def test_a_quantised_convolution_is_dequantised_and_rounded(bias: str, opset: int) -> None:
    nodes = [ROUNDED[0], node("QLinearConv", f"q s z w ws wz t u{bias}", "r", pads=[1, 1, 1, 1],
                              strides=[2, 1]), AT_THE_END[1]]  # fmt: skip
    constants = {
        **ENDS, "w": DRAW.integers(-99, 99, (3, 2, 3, 3)).astype(np.int8),
        "ws": F([0.002, 0.003, 0.004]), "wz": np.int8([1, -2, 3]),
        "b": DRAW.integers(-5000, 5000, 3).astype(np.int32),
    }  # fmt: skip
    model = model_of(nodes, (2, 4, 4), constants, opset=opset)
    check(model, inputs(2, 4, 4, size=1.0), steps=0.072)


@pytest.mark.parametrize("opset", [10, 13, 19])
def test_a_dequantised_constant_may_decide_a_branch(opset: int) -> None:
    branches = {
        f"{way}_branch": helper.make_graph([node("Mul", f"x {factor}", way)], way, [],
                                           [onnx.ValueInfoProto(name=way)])
        for way, factor in (("then", "two"), ("else", "s"))
    }  # fmt: skip
    nodes = [node("DequantizeLinear", "five s", "d"), node("Greater", "d s", "c"),
             node("If", "c", "y", **branches)]  # fmt: skip
    constants = {"five": np.uint8(5), "s": F(0.5), "two": F(2)}
    model = model_of(nodes, (4,), constants, opset=opset)
    np.testing.assert_allclose(from_model(model, inputs(4)).predict(inputs(4))["y"], 2 * inputs(4))


def bad(**constants: Any) -> dict[str, Any]:
    """Good constants, but for some."""
    good = {"s": F(0.1), "z": np.uint8(3), "w": np.eye(2, dtype=F), "q8": np.int8([[1, 2], [3, 4]])}
    return {**good, **constants}


Q, DQ = "QuantizeLinear", "DequantizeLinear"
MIDDLE = [node("MatMul", "x w", "a"), node(Q, "a s z", "b"), node(DQ, "b s z", "c"),
          node("MatMul", "c w", "y")]  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "constants", "words"),
    [
        ([node(Q, "x s z")], bad(s=F(0)), "finite scales above 0, found 0.0; quantise the model"),
        ([node(Q, "x s z")], bad(s=F(-1)), "finite scales above 0, found -1.0"),
        ([node(DQ, "q8 s", "d"), node("MatMul", "x d")], bad(s=F(-1)),
         "finite scales of 0 or more, found -1.0"),
        ([node(Q, "w s", "d"), node("MatMulInteger", "x d")], bad(s=F(0)),
         "finite scales above 0, found 0.0"),
        ([node(Q, "x s z")], bad(s=F([0.1, 0.1])), "a zero point for each scale, found"),
        ([node(Q, "x s z")], bad(s=F([1, 2, 3]), z=np.uint8([1, 2, 3])),
         "2 scales, one for each place along axis 1, found 3"),
        ([node(Q, "x s z", axis=0)], bad(s=F([1, 2]), z=np.uint8([1, 2])),
         "an axis of one input, found the batch axis 0; take one scale"),
        ([node(Q, "x s z", axis=2)], bad(s=F([1, 2]), z=np.uint8([1, 2])), "an axis of 2, found 2"),
        ([node(Q, "x s z")], bad(s=F([[1, 2]]), z=np.uint8([[1, 2]])),
         "scales \\[n\\] along an axis, found \\[1, 2\\]; state a block_size"),
        ([node(Q, "x s z", block_size=1)], bad(s=F([[1, 2]]), z=np.uint8([[1, 2]])),
         "scales without blocks, found block_size 1"),
        ([node(Q, "x s z", block_size=-1)], bad(), "a block_size of 0 or more, found -1"),
        ([node(DQ, "q8 s", "d", block_size=2, axis=0), node("MatMul", "x d")],
         bad(s=F([[1, 2], [3, 4]])), "scales \\[1, 2\\] of blocks of 2, found \\[2, 2\\]"),
        ([node(DQ, "q8 s", "d", block_size=10**13, axis=0), node("MatMul", "x d")],
         bad(s=F([[1, 2], [3, 4]])), "scales \\[1, 2\\] of blocks of 10000000000000"),
        ([node(DQ, "q8 s", "d"), node("MatMul", "x d")], bad(s=np.array("a")), "real numbers"),
        ([node(DQ, "q8 s", "d"), node("MatMul", "x d")], bad(s=np.complex64(1j)), "real numbers"),
        ([node(Q, "x s z")], bad(z=F(3)), "zero points that are whole numbers of 2 to 16 bits"),
        ([node(Q, "x s z")], bad(z=np.int32(0)), "no zero point of 32 bits but 0"),
        ([node(DQ, "n s z", "d"), node("MatMul", "x d")],
         bad(n=np.int32([[1], [2]]), z=np.int32(4)),
         "no zero point of 32 bits but 0, found \\[4\\]"),
        ([node(DQ, "q8 s z", "d"), node("MatMul", "x d")], bad(), "a zero point of type int8"),
        ([node(DQ, "w s", "d"), node("MatMul", "x d")], bad(), "whole numbers, found float32"),
        ([node(Q, "x s z")], bad(z=np.zeros(0, np.uint8)), "one of the zero points or more"),
        ([node(Q, "x s z")], bad(s=np.float16(0.5)), "scales in float32, found float16"),
        ([node(Q, "x s z", output_dtype=TensorProto.INT8)], bad(),
         "an output_dtype of the zero point, uint8, found int8; leave it out"),
        ([node(Q, "x s", output_dtype=TensorProto.FLOAT8E4M3FN)], bad(),
         "whole numbers of 2 to 16 bits, found float8e4m3fn"),
        ([node(Q, "x x z")], bad(), "constant scales, found some that depend on the inputs"),
        ([node(DQ, "q8 x")], bad(), "constant scales, found some that depend on the inputs"),
        (MIDDLE, bad(), "found QuantizeLinear; the client rounds at inputs and outputs alone"),
        ([node("DynamicQuantizeLinear", "x", "a b c"), node("Cast", "a", "y", to=1)], bad(),
         "DynamicQuantizeLinear; quantise with constant scales"),
        ([node(Q, "x s z", "a"), node("QLinearMatMul", "a s z q8 s k s z")],
         bad(s=F([0.1, 0.2]), z=np.uint8([1, 2]), k=np.int8([1, 2])),
         "an axis of one input, found the batch axis 0"),
        ([node("QLinearConv", "x s z")], bad(), "the QLinearConv': expected 8 to 9 inputs"),
        ([node("QLinearMatMul", "a s z q8 s k s z", transB=1)], bad(k=np.int8(0)),
         "expected no attributes of opset 21, found 'transB'; remove it"),
        ([node("MatMulInteger", "x q8 z2")], bad(z2=np.uint8([1, 2])),
         "one zero point of this operand, found \\[2\\]"),
        ([node("MatMulInteger", "x q8 z z2")], bad(z2=np.int8([1, 2, 3])),
         "2 zero points, found 3"),
    ],
)  # fmt: skip
def test_what_no_quantisation_has_is_refused(
    nodes: list[Any], constants: dict[str, Any], words: str
) -> None:
    model = model_of(nodes, (2,), constants)
    with pytest.raises(ModelError, match=words) as caught:
        from_model(model, inputs(2))
    assert "\n" not in str(caught.value)


def test_scales_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ModelError, match="tensor 's': expected finite numbers, found NaN"):
        from_model(model_of([node(Q, "x s z")], (2,), bad(s=F(np.nan))))
    with pytest.raises(ModelError, match="finite scales above 0, found inf"):
        from_model(model_of([node(Q, "x s z")], (2,), bad(s=F(np.inf))))
    spread = [node("QuantizeLinear", "w s z", "wq"), node("MatMul", "x wq")]
    with pytest.raises(ModelError, match="finite numbers to quantise, found NaN or infinity"):
        from_model(model_of(spread, (2,), bad(w=F([[np.inf], [1]]))))


def test_older_opsets_have_one_scale() -> None:
    made = model_of([node(Q, "x s z")], (2,), bad(s=F([1, 2]), z=np.uint8([1, 2])), opset=10)
    with pytest.raises(ModelError, match="one scale in opset 10, found \\[2\\]; export with opset"):
        from_model(made)
    made = model_of([node(Q, "x s z", precision=10)], (2,), bad(), opset=23)
    with pytest.raises(ModelError, match="a precision of float32, found type 10; leave it out"):
        from_model(made)


@pytest.mark.parametrize("opset", [13, 21])
def test_a_zero_point_of_another_type_is_an_error_of_the_model(opset: int) -> None:
    nodes = [node(Q, "x s z", "q"), node(DQ, "q s k", "d"), node("MatMul", "d w", "y")]
    model = model_of(nodes, (2,), bad(k=np.int8(3)), opset=opset)
    with pytest.raises(ModelError, match="expected a model that runs on the sample"):
        from_model(model, inputs(2))


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("quantized", {"scale": [1.0, 2.0], "zero": [0], "low": 0, "high": 9}),
        ("quantized", {"scale": [1.0], "zero": [0], "low": 0}),
        ("quantized", {"scale": 1.0, "zero": [0], "low": 0, "high": 9}),
        ("quantized", {"scale": ["a"], "zero": [0], "low": 0, "high": 9}),
        ("dequantized", {"scale": [1.0, 2.0, 3.0], "zero": [0], "axis": 0}),
        ("dequantized", {"scale": [1.0, 2.0, 3.0], "zero": [0], "axis": 5}),
        ("dequantized", {"scale": [[1.0]], "zero": [0]}),
        ("dequantized", {"zero": [0]}),
        ("hardmax", {"axis": 7}),
    ],
)
def test_stored_steps_with_wrong_numbers_are_refused(kind: str, parameters: Any) -> None:
    tail = ClientTail(("s",), (ClientStep("s", kind, ("x",), parameters),))
    with pytest.raises(ModelError, match=f"client step 's', {kind}"):
        tail.run({"x": np.ones((3, 3))})
