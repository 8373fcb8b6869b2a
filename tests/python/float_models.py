"""Small ONNX models of float32, compared with ONNX's reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing import from_model
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

# The first opset of which ONNX's reference has a DequantizeLinear.
_FIRST = 19


def model_of(
    nodes: Sequence[Any],
    shape: Sequence[int],
    constants: Mapping[str, Any] | None = None,
    *,
    opset: int = 21,
    outputs: Sequence[str] = ("y",),
    kind: int = TensorProto.FLOAT,
    batch: int | str = "batch",
) -> onnx.ModelProto:
    """A model of one input "x" [batch, *shape] of float32; constants of float64 become float32."""
    given = helper.make_tensor_value_info("x", kind, [batch, *shape])
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    stored = [_stored(name, value) for name, value in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "small", [given], results, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def _stored(name: str, value: Any) -> onnx.TensorProto:
    if isinstance(value, onnx.TensorProto):
        return value
    array = np.asarray(value)
    return numpy_helper.from_array(
        array.astype(np.float32) if array.dtype == np.float64 else array, name
    )


def inputs(*shape: int, size: float = 4.0) -> NDArray[np.float32]:
    """64 normal ones."""
    return (np.random.default_rng(1).normal(size=(64, *shape)) * size).astype(np.float32)


def expected(
    model: onnx.ModelProto, x: NDArray[Any], *, opset: int = 0, alone: bool = False
) -> list[NDArray[Any]]:
    """ONNX's reference.

    opset   of quantised models, which the reference has in newer opsets alone
    alone   whether inputs are given one by one
    """
    newer = onnx.ModelProto()
    newer.CopyFrom(model)
    newer.opset_import[0].version = max(newer.opset_import[0].version, opset)
    run = ReferenceEvaluator(newer).run
    if not alone:
        return [np.asarray(one) for one in run(None, {"x": x})]
    rows = [run(None, {"x": x[place : place + 1]}) for place in range(len(x))]
    return [np.concatenate(column) for column in zip(*rows, strict=True)]


def check(
    model: onnx.ModelProto,
    x: NDArray[Any],
    wanted: Sequence[NDArray[Any]] | None = None,
    *,
    steps: float = 0.0,
) -> Graph:
    """The graph gives what the model gives; but for so large a step in one of a hundred elements.

    wanted   by default what the reference gives
    """
    graph = from_model(model, x)
    found = graph.predict(x)
    for own, other in zip(found.values(), wanted or expected(model, x, opset=_FIRST), strict=True):
        off = np.abs(own.astype(np.float64) - other.astype(np.float64))
        most = 2e-5 * max(float(np.abs(other).max()), 1.0)
        assert own.shape == other.shape
        assert off.max() <= steps + most
        assert (off > most).mean() <= 0.01
    return graph
