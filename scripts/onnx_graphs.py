"""Writes ONNX graphs node by node, for the scripts that train models."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

# The first with Gelu, and the version of the file format that goes with it.
OPSET, FORMAT = 20, 9


class OnnxGraph:
    """A graph of float32 values with one input, in order of its nodes."""

    def __init__(self, name: str, given: str, shape: tuple[int, ...]) -> None:
        self.name = name
        self.input = helper.make_tensor_value_info(given, TensorProto.FLOAT, ["batch", *shape])
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def add(self, kind: str, name: str, *operands: str, **attributes: Any) -> str:
        """A node with one result, which has its name."""
        self.nodes.append(helper.make_node(kind, operands, [name], name=name, **attributes))
        return name

    def weight(self, name: str, array: NDArray[Any]) -> str:
        """A stored tensor: int64 stays so, other numbers become float32."""
        kind = np.int64 if array.dtype == np.int64 else np.float32
        self.weights.append(numpy_helper.from_array(array.astype(kind), name))
        return name

    def gemm(self, name: str, given: str, weight: NDArray[Any], bias: NDArray[Any]) -> str:
        """Compute given @ weight.T + bias, for weight [out, in]."""
        stored = (self.weight(f"{name}.weight", weight), self.weight(f"{name}.bias", bias))
        return self.add("Gemm", name, given, *stored, transB=1)

    def conv(
        self, name: str, given: str, weight: NDArray[Any], bias: NDArray[Any], stride: int = 1
    ) -> str:
        """A convolution with weight [out, in, k, k], padded by half of the kernel."""
        stored = (self.weight(f"{name}.weight", weight), self.weight(f"{name}.bias", bias))
        size = weight.shape[-1]
        return self.add(
            "Conv", name, given, *stored,
            kernel_shape=[size, size], pads=[size // 2] * 4, strides=[stride, stride],
        )  # fmt: skip

    def contents(self, result: str, shape: tuple[int, ...], *, source: str, licence: str) -> bytes:
        """The bytes of the checked model with the result named; it says where its data came from.

        The same graph gives the same bytes.
        """
        output = helper.make_tensor_value_info(result, TensorProto.FLOAT, ["batch", *shape])
        graph = helper.make_graph(self.nodes, self.name, [self.input], [output], self.weights)
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(
            graph, opset_imports=opset, ir_version=FORMAT, producer_name="cloakwork"
        )
        texts = {"training_data": source, "training_data_licence": licence}
        helper.set_model_props(model, texts)
        onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))
