"""Operators that are a few nodes each: gathers, norms, products, inverse functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.importing import from_model, matrices
from cloakwork.errors import ModelError
from numpy.typing import NDArray
from python.float_models import check, expected, inputs, model_of
from python.onnx_models import node

DRAW = np.random.default_rng(0)
SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
PLACES: dict[str, Any] = {
    "i": np.array([[[0, 1, 2], [3, 3, -1]]]),
    "u": DRAW.normal(size=(1, 2, 3)),
}
# Of an input [4, 3]: linear in it, for a batch of 1, with places that are constants.
LINEAR = {
    "elements": (node("GatherElements", "x i", axis=1), PLACES),
    "slices": (node("GatherND", "x i"), {"i": np.array([[[0, 1], [0, 2]]])}),
    "slices of one input": (node("GatherND", "x i", batch_dims=1),
                            {"i": np.array([[[0, 1], [3, 2]]])}),
    "scattered": (node("ScatterElements", "x i u", axis=1),
                  {**PLACES, "i": np.array([[[0, 1, 2], [3, 3, 0]]])}),
    "scattered sums": (node("ScatterElements", "x i u", axis=1, reduction="add"), PLACES),
    "scattered products": (node("ScatterElements", "x i u", axis=1, reduction="mul"), PLACES),
    "scattered updates": (node("ScatterElements", "c i x", axis=1),
                          {"c": DRAW.normal(size=(1, 7, 3)),
                           "i": np.array([[[0, 1, 2], [6, 5, 4], [1, 2, 3], [2, 3, 5]]])}),
    "scattered slices": (node("ScatterND", "x i u"),
                         {"i": np.array([[0, 1], [0, 3]]), "u": DRAW.normal(size=(2, 3))}),
    "a cache": (node("TensorScatter", "c x w"),
                {"c": DRAW.normal(size=(1, 6, 3)), "w": np.array([1])}),
    "backwards": (node("ReverseSequence", "x n", batch_axis=0, time_axis=1), {"n": np.array([3])}),
    "some": (node("Compress", "x c", axis=1), {"c": np.array([True, False, True, True])}),
}  # fmt: skip


@pytest.mark.parametrize("name", LINEAR)
def test_elements_at_constant_places(name: str) -> None:
    made, constants = LINEAR[name]
    opset = 24 if name == "a cache" else 21
    x = inputs(4, 3)
    model = model_of([made], (4, 3), constants, batch=1, opset=opset)
    graph = check(model, x, expected(model, x, alone=True))
    assert [type(one).__name__ for one in graph.nodes] == ["Input", "Affine"]


@pytest.mark.parametrize(
    ("made", "shape", "constants", "opset"),
    [
        (node("GridSample", "x g"), (1, 4, 4), {"g": DRAW.uniform(-1, 1, (1, 2, 2, 2))}, 22),
        (node("GridSample", "x g", mode="cubic", padding_mode="border"), (1, 4, 4),
         {"g": DRAW.uniform(-1, 1, (1, 2, 2, 2))}, 22),
        (node("AffineGrid", "x s"), (2, 3), {"s": np.array([1, 1, 2, 3])}, 20),
        (node("Col2Im", "x s b"), (4, 9), {"s": np.array([4, 4]), "b": np.array([2, 2])}, 18),
        (node("DFT", "x - a"), (4, 1), {"a": np.array(1)}, 20),
        (node("DFT", "x - a", onesided=1), (4, 1), {"a": np.array(1)}, 20),
        (node("DFT", "x", axis=1), (4, 2), {}, 17),
        (node("STFT", "x f w n"), (8, 1),
         {"f": np.array(2), "n": np.array(4), "w": DRAW.uniform(size=4)}, 17),
        (node("MaxUnpool", "x i", kernel_shape=[2, 2], strides=[2, 2]), (1, 2, 2),
         {"i": np.array([[[[0, 3], [9, 15]]]])}, 21),
        (node("MatMul", "x m"), (2, 3, 4), {"m": DRAW.normal(size=(2, 4, 5))}, 21),
        (node("MatMul", "m x"), (2, 3, 4), {"m": DRAW.normal(size=(1, 2, 5, 3))}, 21),
    ],
)  # fmt: skip
def test_maps_of_one_operand(
    made: Any, shape: tuple[int, ...], constants: dict[str, Any], opset: int
) -> None:
    x = inputs(*shape)[:8]
    model = model_of([made], shape, constants, opset=opset, batch=1)
    check(model, x, expected(model, x, alone=True))


@pytest.mark.parametrize("reduction", ["max", "min"])
def test_what_is_linear_for_some_operands_alone_is_refused(reduction: str) -> None:
    for seed in range(8):
        update = np.random.default_rng(seed).normal(size=(1, 1, 3))
        made = node("ScatterElements", "x i u", axis=1, reduction=reduction)
        model = model_of([made], (4, 3), {"i": np.array([[[0, 1, 2]]]), "u": update}, batch=1)
        with pytest.raises(ModelError, match="a node that is linear in its operand, found reduct"):
            from_model(model)


@pytest.mark.parametrize("large", [1.0, 3e7])
def test_no_constant_hides_that_other_elements_are_not_linear(
    large: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrices, "_LINEAR", ("max", b"max"))
    update = np.array([large, 0.5, 0.5]).reshape(1, 1, 3)
    made = node("ScatterElements", "x i u", axis=1, reduction="max")
    model = model_of([made], (4, 3), {"i": np.array([[[0, 1, 2]]]), "u": update}, batch=1)
    with pytest.raises(ModelError, match="a node that is linear in its operand, found one th"):
        from_model(model)


@pytest.mark.parametrize(("made", "shape", "constants", "words"), [
    (node("DFT", "x l"), (4, 1), {"l": np.array(10**12)}, "elements, found the shape"),
    (node("GridSample", "x g"), (1, 17, 16), {"g": np.zeros((1, 2, 2, 2))}, "at most 256 elements"),
    (node("ScatterElements", "x i u", axis=1, reduction="foo"), (4, 3),
     {"i": np.array([[[0, 1, 2]]]), "u": np.ones((1, 1, 3))}, "found reduction"),
])  # fmt: skip
def test_what_would_take_too_long_is_refused_before_it_runs(
    made: Any, shape: tuple[int, ...], constants: Any, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        from_model(model_of([made], shape, constants, opset=20, batch=1))


def test_constants_that_are_cast_like_a_value_are_the_same_in_all_types() -> None:
    nodes = [node("CastLike", "c x", "d"), node("Add", "x d")]
    assert from_model(model_of(nodes, (2,), {"c": np.float32([0, 1])})) is not None
    with pytest.raises(ModelError, match=r"constants of 0 and 1 .* cast the constant itself"):
        from_model(model_of(nodes, (2,), {"c": np.float32([2.7, 1.2])}))


def test_places_of_a_batch_of_1_are_refused_for_other_batches() -> None:
    model = model_of([node("GatherElements", "x i", axis=1)], (4, 3), PLACES)
    with pytest.raises(
        ModelError, match="found one for a batch of 1; export the model for a batch"
    ):
        from_model(model)
    model = model_of([node("ScatterND", "x i u")], (4, 3), LINEAR["scattered slices"][1])
    with pytest.raises(ModelError, match="on each input of a batch, found one that mixes them"):
        from_model(model)


def test_an_encrypted_gather() -> None:
    model, x = model_of([LINEAR["elements"][0]], (4, 3), PLACES, batch=1), inputs(4, 3)
    compiled = fhe.compile(model, x, **SMALL)
    client, server = compiled.split()
    found = client.decrypt(server.run(client.encrypt(x[0])))
    assert np.abs(found - expected(model, x[:1])[0]).max() <= compiled.report.error


@pytest.mark.parametrize("opset", [9, 18])
@pytest.mark.parametrize(
    "options", [{}, {"lambd": 0.5, "bias": 0.5}, {"lambd": 0.5, "bias": 0.1}, {"lambd": 0.0},
                {"bias": -0.3}])  # fmt: skip
def test_small_values_are_shrunk(opset: int, options: dict[str, float]) -> None:
    x = inputs(40, size=1.0)
    # Both ends themselves.
    x[:, 0], x[:, 1] = 0.5, -0.5
    check(model_of([node("Shrink", "x", **options)], (40,), opset=opset), x)


@pytest.mark.parametrize("kind", ["Tan", "Asin", "Acos", "Atanh"])
def test_functions_between_poles(kind: str) -> None:
    nodes = [node("Tanh", "x", "a"), node("Mul", "a k", "b"), node(kind, "b")]
    check(model_of(nodes, (4,), {"k": np.float32(0.9)}, opset=22), inputs(4, size=0.5))


def test_the_inverse_of_a_hyperbolic_cosine() -> None:
    nodes = [node("Exp", "x", "a"), node("Add", "a k", "b"), node("Acosh", "b")]
    check(model_of(nodes, (4,), {"k": np.float32(1.1)}, opset=22), inputs(4, size=0.5))


@pytest.mark.parametrize("opset", [11, 18, 22])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel_shape": [2, 2]},
        {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [1, 1, 0, 1]},
        {"kernel_shape": [2, 2], "p": 1},
        {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER"},
    ],
)
def test_norms_of_windows(opset: int, options: dict[str, Any]) -> None:
    check(model_of([node("LpPool", "x", **options)], (2, 5, 5), opset=opset), inputs(2, 5, 5))


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("sides", [(5,), (3, 4), (2, 3, 2)])
def test_norms_of_pictures(p: int, sides: tuple[int, ...]) -> None:
    """ONNX's reference lacks this op."""
    x = inputs(2, *sides)
    axes = tuple(range(2, x.ndim))
    wanted = np.linalg.norm(x.reshape(*x.shape[:2], -1), p, axis=2).reshape(64, 2, *[1] * len(axes))
    check(model_of([node("GlobalLpPool", "x", p=p)], (2, *sides)), x, [wanted])


@pytest.mark.parametrize(
    "options",
    [
        {"size": 3},
        {"size": 2, "alpha": 0.5},
        {"size": 5, "beta": 0.5, "alpha": 1.0},
        {"size": 4, "beta": 1.0, "bias": 2.0, "alpha": 1.0},
        {"size": 15, "alpha": 1.0},
    ],
)
def test_responses_of_neighbouring_channels(options: dict[str, Any]) -> None:
    """ONNX's reference takes as many channels as inputs: 6 of each are right."""
    model, x = model_of([node("LRN", "x", **options)], (6, 2, 3)), inputs(6, 2, 3)[:6]
    check(model, x, expected(model, x))


@pytest.mark.parametrize("opset", [9, 11, 13, 18, 22])
@pytest.mark.parametrize("axes", [[2, 3], [1, 2, 3], [1], [-1]])
def test_mean_and_variance_are_normalised(opset: int, axes: list[int]) -> None:
    model = model_of([node("MeanVarianceNormalization", "x", axes=axes)], (3, 3, 3), opset=opset)
    x = inputs(3, 3, 3).astype(np.float64)
    places = tuple(axes)
    centred = x - x.mean(axis=places, keepdims=True)
    check(model, x.astype(np.float32), [centred / (x.std(axis=places, keepdims=True) + 1e-9)])
    reference = expected(model, x.astype(np.float32))[0]
    np.testing.assert_allclose(reference, centred / x.std(axis=places, keepdims=True), atol=0.02)


@pytest.mark.parametrize(
    ("opset", "options", "constants"),
    [
        (13, {"axes": [1]}, {}),
        (13, {"axes": [-1], "keepdims": 0}, {}),
        (18, {}, {"a": np.array([1, 2])}),
        (18, {"keepdims": 0}, {"a": np.array([-1])}),
    ],
)
@pytest.mark.parametrize("shape", [(3, 5), (4, 1), (2, 8)])
def test_products_of_elements(
    opset: int, options: dict[str, Any], constants: dict[str, Any], shape: tuple[int, ...]
) -> None:
    made = node("ReduceProd", "x a" if constants else "x", **options)
    check(model_of([made], shape, constants, opset=opset), inputs(*shape, size=1.0))


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize(("shape", "axis"), [((5,), 1), ((3, 4), -2), ((2, 1), 2), ((2, 8), -1)])
def test_products_of_elements_before(
    shape: tuple[int, ...], axis: int, exclusive: int, reverse: int
) -> None:
    made = node("CumProd", "x a", exclusive=exclusive, reverse=reverse)
    nodes = [made] if (exclusive, shape) != (1, (2, 1)) else [made, node("Add", "y x", "z")]
    outputs = ["y"] if len(nodes) == 1 else ["z"]
    model = model_of(nodes, shape, {"a": np.array(axis)}, opset=26, outputs=outputs)
    check(model, inputs(*shape, size=1.0))


@pytest.mark.parametrize(("opset", "options"), [(13, {}), (13, {"axis": 1}), (11, {"axis": 2})])
def test_the_client_marks_the_largest(opset: int, options: dict[str, Any]) -> None:
    nodes = [node("MatMul", "x w", "h"), node("Hardmax", "h", **options)]
    graph = check(model_of(nodes, (3, 5), {"w": DRAW.normal(size=(5, 4))}, opset=opset),
                  inputs(3, 5))  # fmt: skip
    assert [one.kind for one in graph.client_tail.steps] == ["hardmax"]


def encrypted(nodes: list[Any], shape: tuple[int, ...], constants: dict[str, Any],
              x: NDArray[Any], degree: int = 2**12) -> None:  # fmt: skip
    model = model_of(nodes, shape, constants)
    compiled = fhe.compile(model, x, degree=degree, insecure=True)
    client, server = compiled.split()
    found, report = client.decrypt(server.run(client.encrypt(x[0]))), compiled.report
    assert np.abs(found - expected(model, x)[0][:1]).max() < report.error + (
        report.approximation_error
    )


def test_an_encrypted_response() -> None:
    encrypted([node("LRN", "x", size=3, alpha=0.5)], (6, 1, 1), {}, inputs(6, 1, 1, size=0.5)[:6])


def test_an_encrypted_product() -> None:
    nodes = [node("MatMul", "x m", "a"), node("ReduceProd", "a axes")]
    constants = {"m": DRAW.normal(size=(4, 4)) / 2, "axes": np.array([1])}
    encrypted(nodes, (4,), constants, inputs(4, size=1.0), 2**11)


def test_encrypted_values_are_shrunk() -> None:
    nodes = [node("Shrink", "x", "a", lambd=0.5, bias=0.5),
             node("MatMul", "a m", "y")]  # fmt: skip
    encrypted(nodes, (4,), {"m": np.eye(4)[:, :3] + 0.1}, inputs(4, size=1.0))


@pytest.mark.parametrize(
    ("made", "shape", "constants", "words"),
    [
        (node("LpPool", "x", kernel_shape=[2, 2], p=3), (1, 4, 4), {}, "a p of 1 or 2, found 3"),
        (node("LpPool", "x", kernel_shape=[2, 2], ceil_mode=1), (1, 4, 4), {}, "ceil_mode=1; add"),
        (node("LRN", "x", size=3, beta=0.3), (3, 2, 2), {}, "a beta of 1/2, 3/4 or 1, found 0.3"),
        (node("LRN", "x", size=0), (3, 2, 2), {}, "a size of 1 or more, found"),
        (node("LRN", "x"), (3, 2, 2), {}, "expected the attribute 'size', which LRN needs"),
        (node("Shrink", "x", lambd=-1.0), (4,), {}, "a lambd of 0 or more, found \\(0.0, -1.0\\)"),
        (node("Shrink", "x", bias=np.nan), (4,), {}, "a finite bias, and a lambd"),
        (node("ReduceProd", "x"), (4,), {}, "axes after the batch, found all axes; name them"),
        (node("ReduceProd", "x a"), (4,), {"a": np.array([0])}, "found the batch axis 0"),
        (node("CumProd", "x a"), (4,), {"a": np.array(0)}, "found the batch axis 0|opset 26"),
        (node("MeanVarianceNormalization", "x"), (3, 3, 3), {}, "found the batch axis 0"),
        (node("Split", "x a", "y z", axis=1), (4,), {"a": np.array([5, -1])},
         "lengths of 0 or more that add up to 4, found \\[5, -1\\]"),
    ],
)  # fmt: skip
def test_what_none_of_them_can_be_is_refused(
    made: Any, shape: tuple[int, ...], constants: dict[str, Any], words: str
) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        from_model(model_of([made], shape, constants), inputs(*shape))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(1, 200), (70, 3), (4, 2, 65)])
def test_many_places_of_elements_are_taken(shape: tuple[int, ...]) -> None:
    axis = 1 + int(np.argmax(shape))
    taken = list(shape)
    taken[axis - 1] = 90
    # Fewer along other axes are those in front.
    taken[2 - axis] = max(taken[2 - axis] - 1, 1)
    places = DRAW.integers(-max(shape), max(shape), (1, *taken))
    model = model_of(
        [node("GatherElements", "x i", axis=axis)], shape, {"i": places}, batch=1, opset=21
    )
    x = inputs(*shape)[:4]
    cut = [slice(n) if own != axis - 1 else slice(None) for own, n in enumerate(taken)]
    wanted = [np.take_along_axis(row[tuple(cut)], places[0], axis - 1) for row in x]
    np.testing.assert_array_equal(from_model(model, x).predict(x)["y"], wanted)
    with pytest.raises(ModelError, match=rf"expected places from -{max(shape)} to"):
        from_model(model_of([node("GatherElements", "x i", axis=axis)], shape,
                            {"i": places + max(shape)}, batch=1, opset=21))  # fmt: skip


@pytest.mark.parametrize(("made", "constants"), [
    (node("ReverseSequence", "x n", batch_axis=0, time_axis=1), {"n": np.array([60])}),
    (node("Trilu", "x k"), {"k": np.array(-2)}),
    (node("ScatterElements", "x i u", axis=1), {"i": np.arange(70)[None, ::-1, None],
                                                "u": DRAW.normal(size=(1, 70, 1))}),
])  # fmt: skip
def test_moves_of_many_elements_are_traced_at_once(made: Any, constants: Any) -> None:
    x = inputs(70, 300)[:2]
    model = model_of([made], (70, 300), constants, batch=1)
    check(model, x, expected(model, x, alone=True))


def test_means_that_look_like_moves_are_none() -> None:
    """Of elements numbered in order, the mean of three is the one between."""
    thirds = np.full((1, 1, 3), 1 / 3)
    nodes = [node("Reshape", "x s", "r"), node("ConvTranspose", "r w")]
    model = model_of(nodes, (5,), {"s": np.array([1, 1, 5]), "w": thirds}, batch=1)
    x = inputs(5)
    check(model, x, expected(model, x, alone=True))
