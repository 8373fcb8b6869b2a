"""Types of results: whole numbers come back as such, or are refused; never as floats with noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.importing import from_model
from cloakwork.errors import ModelError
from onnx import TensorProto, helper, numpy_helper
from python.float_models import expected, inputs, model_of
from python.onnx_models import node

SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
F = np.float32
X = inputs(4)
INTEGERS = np.random.default_rng(2).integers(-9, 10, (64, 4))
END = {"t": F(0.0713), "u": np.uint8(128), "w": np.random.default_rng(0).normal(size=(4, 3)),
       "k": np.array([2]), "c": F(0.3), "axes": np.array([1])}  # fmt: skip
ROUNDED = [node("MatMul", "x w", "g"), node("QuantizeLinear", "g t u", "r")]
ABOVE = [node("Greater", "x c", "b"), node("Cast", "b", "n", to=TensorProto.INT64)]
HALF = {"int2": np.int8, "int4": np.int8, "uint2": np.uint8, "uint4": np.uint8}


WHOLE: dict[str, tuple[list[Any], list[str]]] = {
    "rounded": (ROUNDED, ["r"]),
    "rounded and cast to floats": ([*ROUNDED, node("Cast", "r", "y", to=TensorProto.FLOAT)],
                                   ["r", "y"]),
    "rounded and cast": ([*ROUNDED, node("Cast", "r", "y", to=TensorProto.INT32)], ["y"]),
    "the first of rounded ones": ([*ROUNDED, node("Cast", "r", "i", to=TensorProto.INT32),
                                   node("TopK", "i k", "y j", axis=1)], ["y", "j"]),
    "flattened": ([*ROUNDED, node("Flatten", "r", "y", axis=1)], ["y"]),
    "labels": ([node("ArgMax", "x", "a", axis=1, keepdims=0),
                node("Cast", "a", "y", to=TensorProto.INT32)], ["a", "y"]),
    "truth values": (ABOVE[:1], ["b"]),
    "truth values as numbers": (ABOVE, ["n"]),
    "both": ([node("Greater", "x c", "b"), node("Not", "b", "f"), node("Or", "b f", "y")], ["y"]),
    "counts": ([node("Greater", "x c", "b"), node("Cast", "b", "f", to=TensorProto.FLOAT),
                node("ReduceSum", "f axes", "s", keepdims=0),
                node("Cast", "s", "y", to=TensorProto.INT32)], ["y"]),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_results_have_the_types_of_the_model(name: str) -> None:
    nodes, outputs = WHOLE[name]
    model = model_of(nodes, (4,), END, outputs=outputs)
    found = from_model(model, X).predict(X)
    for own, wanted in zip(found.values(), expected(model, X), strict=True):
        # Floats of results have 64 bits.
        assert own.dtype == (np.float64 if wanted.dtype == F else wanted.dtype)
        # Of quotients that are ties roundings of float32 choose a side.
        off = np.abs(own.astype(np.float64) - wanted)
        assert off.max() <= 1
        assert (off > 1e-5).mean() <= 0.01


@pytest.mark.parametrize("kind", HALF)
def test_numbers_of_few_bits_have_the_next_type_of_numpy(kind: str) -> None:
    zero = numpy_helper.from_array(np.zeros((), np.int8), "u")
    zero.data_type = getattr(TensorProto, kind.upper())
    nodes = [node("MatMul", "x w", "g"), node("QuantizeLinear", "g t u", "r")]
    model = model_of(nodes, (4,), {**END, "u": zero}, outputs=["r"], opset=25)
    assert from_model(model).predict(X)["r"].dtype == HALF[kind]


@pytest.mark.parametrize("name", ["truth values", "counts", "rounded and cast"])
def test_encrypted_results_are_whole(name: str) -> None:
    nodes, outputs = WHOLE[name]
    model = model_of(nodes, (4,), END, outputs=outputs)
    client, server = fhe.compile(model, X, **SMALL).split()
    row = np.array([1.7, -2.2, 0.9, -0.6], F)
    with client.keygen():
        found = client.decrypt(server.run(client.encrypt(row)))
    (wanted,) = expected(model, row[np.newaxis])
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


NOISY: dict[str, tuple[list[Any], int]] = {
    "products of integers": ([node("MatMulInteger", "x v", "y")], TensorProto.INT8),
    "integers": ([node("Flatten", "x", "y")], TensorProto.INT64),
    "sums of integers": ([node("Add", "x i", "y")], TensorProto.INT64),
    "the largest integers": ([node("TopK", "x k", "y j", axis=1)], TensorProto.INT64),
    "what the client rounds before": ([
        node("QuantizeLinear", "x t u", "y"), node("DequantizeLinear", "y t u", "d"),
        node("MatMul", "d w", "z")], TensorProto.FLOAT),
    "numbers without fractions": ([node("Cast", "x", "y", to=TensorProto.INT64)],
                                  TensorProto.FLOAT),
    "half of a truth value": ([*ABOVE[:1], node("Cast", "b", "f", to=TensorProto.FLOAT),
                               node("Mul", "f c", "h"),
                               node("Cast", "h", "y", to=TensorProto.INT32)], TensorProto.FLOAT),
    "many truth values": ([*ABOVE[:1], node("Cast", "b", "f", to=TensorProto.FLOAT),
                           node("Mul", "f m", "h"), node("Cast", "h", "y", to=TensorProto.INT32)],
                          TensorProto.FLOAT),
}  # fmt: skip


@pytest.mark.parametrize("name", NOISY)
def test_whole_numbers_with_noise_are_refused(name: str) -> None:
    nodes, kind = NOISY[name]
    weights = {"v": np.eye(4, dtype=np.int8), "i": np.arange(4), "m": F(100)}
    given = {name for one in nodes for name in one.output}
    model = model_of(nodes, (4,), {**END, **weights}, kind=kind, outputs=sorted(given & {"y", "z"}))
    words = r"output 'y': expected floats, labels or truth values, found u?int\d+ that noise"
    with pytest.raises(ModelError, match=f"{words}.*; add Cast"):
        from_model(model)


def test_whole_numbers_that_are_cast_to_floats_are_floats() -> None:
    nodes = [node("MatMulInteger", "x v", "p"), node("Cast", "p", "y", to=TensorProto.FLOAT)]
    x = INTEGERS.astype(np.int8)
    weights = {"v": np.random.default_rng(4).integers(-9, 9, (4, 3)).astype(np.int8)}
    model = model_of(nodes, (4,), weights, kind=TensorProto.INT8)
    found = from_model(model, x).predict(x)["y"]
    np.testing.assert_array_equal(found, expected(model, x)[0])


DROPPING: dict[str, tuple[list[Any], str]] = {
    "a quotient of integers": (
        [node("Add", "i a", "p"), node("Div", "p i", "y")], "expected a quotient of floats, found"),
    "a quotient by a constant": ([node("Div", "i a", "y")], "expected a quotient of floats"),
    "a cast to an integer": ([node("CastLike", "x i", "y")], "a cast to floats, found int64"),
}  # fmt: skip


@pytest.mark.parametrize("name", DROPPING)
def test_what_drops_fractions_of_encrypted_values_is_refused_without_a_sample(name: str) -> None:
    nodes, words = DROPPING[name]
    model = model_of([node("Greater", "x c", "b"), *nodes], (4,), {**END, "a": np.arange(1, 5)})
    model.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT64, ["batch", 4]))
    with pytest.raises(ModelError, match=words):
        from_model(model)


@pytest.mark.parametrize("at_the_end", [True, False])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("STRING", "expected a cast to numbers, found STRING; convert what is decrypted"),
        ("BFLOAT16", "expected a cast to FLOAT, found BFLOAT16, whose rounding cannot be"),
        ("FLOAT8E4M3FN", "expected a cast to FLOAT, found FLOAT8E4M3FN, whose rounding cannot be"),
    ],
)
def test_casts_of_encrypted_values_to_texts_and_short_floats_are_refused(
    kind: str, words: str, at_the_end: bool
) -> None:
    to = getattr(TensorProto, kind)
    nodes = [node("Mul", "x x", "e"), node("Cast", "e", "y" if at_the_end else "s", to=to)]
    nodes += [] if at_the_end else [node("Cast", "s", "f", to=1), node("Mul", "f f", "y")]
    with pytest.raises(ModelError, match=f"Cast 'the Cast': {words}"):
        from_model(model_of(nodes, (4,)))


def test_casts_like_values_and_quotients_of_floats_are_taken() -> None:
    nodes = [node("Cast", "i", "f", to=TensorProto.FLOAT), node("CastLike", "f x", "g"),
             node("Exp", "x", "e"), node("Div", "g e", "y")]  # fmt: skip
    model = model_of(nodes, (4,))
    model.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT64, ["batch", 4]))
    x, i = X / 4, INTEGERS
    found = from_model(model, {"x": x, "i": i}).predict({"x": x, "i": i})["y"]
    np.testing.assert_allclose(found, i / np.exp(x.astype(np.float64)), rtol=1e-6)
