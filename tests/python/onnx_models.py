"""Small ONNX models for tests: one node, or a random chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OPSET = 18


def model_of(
    nodes: Sequence[onnx.NodeProto],
    shape: Sequence[Any],
    constants: Mapping[str, NDArray[Any]] | None = None,
    *,
    outputs: Sequence[str] = ("y",),
    opset: int = OPSET,
) -> onnx.ModelProto:
    """A model of one input "x" [batch, *shape]."""
    given = helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, ["batch", *shape])
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    stored = [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "small", [given], results, stored)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=imports)


def node(kind: str, inputs: str, outputs: str = "y", **attributes: Any) -> onnx.NodeProto:
    """A node, with names separated by spaces; "-" is an input that is left out."""
    names = ["" if name == "-" else name for name in inputs.split()]
    domain = attributes.pop("domain", "")
    return helper.make_node(kind, names, outputs.split(), domain=domain, name=f"the {kind}",
                            **attributes)  # fmt: skip


def expected(model: onnx.ModelProto, x: NDArray[Any]) -> list[NDArray[Any]]:
    """ONNX's own reference, one input at a time: models may fix the batch to 1."""
    evaluator = ReferenceEvaluator(model)
    rows = [evaluator.run(None, {"x": x[place : place + 1]}) for place in range(len(x))]
    return [np.concatenate(column) for column in zip(*rows, strict=True)]


def random_chain(seed: int) -> tuple[onnx.ModelProto, tuple[int, ...]]:
    """A network of convolutions, pools and activations, then matrices; and its input's shape."""
    draw = np.random.default_rng(seed)
    channels, height, width = draw.integers(1, 4), *draw.integers(5, 9, 2)
    shape = (int(channels), int(height), int(width))
    nodes: list[onnx.NodeProto] = []
    constants: dict[str, NDArray[Any]] = {}
    now = "x"

    def add(kind: str, more: str = "", **attributes: Any) -> None:
        nonlocal now
        made = f"v{len(nodes)}"
        nodes.append(node(kind, f"{now} {more}", made, **attributes))
        now = made

    def constant(name: str, *lengths: int) -> str:
        label = f"{name}{len(constants)}"
        constants[label] = draw.normal(size=lengths) / np.sqrt(np.prod(lengths[1:]) or 1)
        return label

    depth = int(channels)
    for _ in range(draw.integers(1, 3)):
        group = depth if draw.random() < 0.3 else 1
        filters = group * int(draw.integers(1, 4))
        weight = constant("w", filters, depth // group, *draw.integers(1, 4, 2))
        add("Conv", f"{weight} {constant('b', filters)}", group=group,
            strides=draw.integers(1, 3, 2).tolist(), pads=draw.integers(1, 3, 4).tolist(),
            dilations=draw.integers(1, 3, 2).tolist())  # fmt: skip
        depth = filters
        if draw.random() < 0.5:
            parts = [constant("n", depth) for _ in range(3)]
            variance = constant("n", depth)
            constants[variance] = np.abs(constants[variance]) + 0.5
            add("BatchNormalization", f"{' '.join(parts)} {variance}")
        add(str(draw.choice(["Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu"])))
        if draw.random() < 0.5:
            add("AveragePool", kernel_shape=[2, 2], strides=[1, 2], pads=[1, 1, 1, 1],
                count_include_pad=int(draw.integers(0, 2)))  # fmt: skip
    add("GlobalAveragePool" if draw.random() < 0.3 else "Identity")
    add("Flatten")
    before = ReferenceEvaluator(model_of(nodes, shape, constants, outputs=[now]))
    size = before.run(None, {"x": np.zeros((1, *shape))})[0].shape[1]
    last = int(draw.integers(1, 5))
    add("Gemm", f"{constant('w', last, size)} {constant('b', last)}", transB=1,
        alpha=float(draw.uniform(0.5, 2)), beta=float(draw.uniform(0.5, 2)))  # fmt: skip
    nodes.append(node("Mul", f"{now} {now}", "y"))
    return model_of(nodes, shape, constants), shape
