"""Ops of ONNX's reference as the standard has them, where it differs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.client_tail import rounded
from cloakwork.compiler.importing.quantized import along, edges_of
from cloakwork.compiler.importing.reading import onnx_module, versions_of

__all__ = ["evaluator_of", "mended_ops", "taken_elements"]

# The first opsets whose ops are right.
_FIXED_NORMALIZATION, _FIXED_SOFTMAX = 14, 13


def evaluator_of(
    nodes: Any, given: Mapping[str, NDArray[Any] | None], results: Iterable[str], opsets: Any
) -> Any:
    """ONNX's own reference for some nodes, mended, with the names of what they give.

    given   what they read: arrays, whose types some ops need, or None where it is not known yet
    """
    onnx = onnx_module()
    helper = onnx.helper
    info = [
        onnx.ValueInfoProto(name=name)
        if array is None
        else helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in given.items()
    ]
    empty = [onnx.ValueInfoProto(name=name) for name in results]
    graph = helper.make_graph(list(nodes), "part", info, empty)
    model = helper.make_model(graph, opset_imports=opsets)
    mended = mended_ops(versions_of(model).get("", 0))
    return onnx.reference.ReferenceEvaluator(model, new_ops=mended)


@cache
def mended_ops(version: int) -> list[Any]:
    """Ops that the reference computes unlike the standard, or lacks: onnx 1.19 to 1.23 at least.

    version   the opset

    Before opset 14 it normalises by the batch's own statistics; before 13 its softmax takes one
    axis instead of all from it on; its GatherElements takes below 64 places; its GlobalMaxPool
    takes two axes of any tensor; its LpNormalization takes no absolute values; its LRN takes as
    many channels as there are inputs; it has no GlobalLpPool; before 19 it has no DequantizeLinear,
    and in float64 its quotients of QuantizeLinear are not those of float32, which decide ties; it
    rounds biases to float32.
    """
    base: Any = onnx_module().reference.op_run.OpRun

    class BatchNormalization(base):  # type: ignore[misc]
        def _run(self, x: Any, *statistics: Any, epsilon: float = 1e-5, **others: Any) -> Any:
            ones = (1,) * (x.ndim - 2)
            scale, shift, mean, variance = (each.reshape(-1, *ones) for each in statistics)
            return (scale * (x - mean) / np.sqrt(variance + epsilon) + shift,)

    class GatherElements(base):  # type: ignore[misc]
        def _run(self, x: Any, places: Any, axis: int | None = None) -> Any:
            return (taken_elements(x, places, axis or 0),)

    class GlobalLpPool(base):  # type: ignore[misc]
        def _run(self, x: Any, p: int = 2) -> Any:
            total = (np.abs(x) ** p).sum(axis=tuple(range(2, x.ndim)), keepdims=True)
            return (total ** (1 / p),)

    class GlobalMaxPool(base):  # type: ignore[misc]
        def _run(self, x: Any) -> Any:
            return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)

    class LRN(base):  # type: ignore[misc]
        def _run(self, x: Any, alpha: Any, beta: Any, bias: Any, size: Any) -> Any:
            square, places = x**2, np.arange(x.shape[1])
            apart = places - places[:, np.newaxis]
            near = (apart >= -((size - 1) // 2)) & (apart <= size // 2)
            total = np.einsum("ij,bj...->bi...", near.astype(x.dtype), square)
            return (x / (bias + alpha / size * total) ** beta,)

    class LogSoftmax(base):  # type: ignore[misc]
        def _run(self, x: Any, axis: int | None = None) -> Any:
            return (np.log(_older_softmax(self.onnx_node, x)),)

    class LpNormalization(base):  # type: ignore[misc]
        def _run(self, x: Any, axis: int = -1, p: int = 2) -> Any:
            return (x / (np.abs(x) ** p).sum(axis=axis, keepdims=True) ** (1 / p),)

    class Softmax(base):  # type: ignore[misc]
        def _run(self, x: Any, axis: int | None = None) -> Any:
            return (_older_softmax(self.onnx_node, x),)

    normalization = [BatchNormalization] if version < _FIXED_NORMALIZATION else []
    softmax = [LogSoftmax, Softmax] if version < _FIXED_SOFTMAX else []
    always = [GatherElements, GlobalLpPool, GlobalMaxPool, LRN, LpNormalization]
    return [*always, *normalization, *softmax, *_quantized_ops(base)]


def taken_elements(x: NDArray[Any], places: NDArray[Any], axis: int) -> NDArray[Any]:
    """Those of GatherElements; ValueError for places that are not of x."""
    inside = all(n <= m for place, (n, m) in enumerate(zip(places.shape, x.shape, strict=True))
                 if place != axis)  # fmt: skip
    if not inside or places.dtype.kind not in "iu":
        raise ValueError(f"expected places within {list(x.shape)}, found {list(places.shape)}")
    length = x.shape[axis]
    if not ((places >= -length) & (places < length)).all():
        raise ValueError(f"expected places from {-length} to {length - 1} along axis {axis}")
    cut = [slice(None) if own == axis else slice(n) for own, n in enumerate(places.shape)]
    return np.asarray(np.take_along_axis(x[tuple(cut)], places.astype(np.int64), axis))


def _quantized_ops(base: Any) -> list[Any]:
    onnx = onnx_module()

    def both(x: Any, scale: Any, zero: Any, options: Any) -> list[Any]:
        axis, block = options.get("axis") or 0, options.get("block_size") or 0
        less = np.zeros(1) if zero is None else zero
        return [along(each, x.shape, axis, block) for each in (scale, less)]

    class DequantizeLinear(base):  # type: ignore[misc]
        def _run(self, x: Any, scale: Any, zero: Any = None, **options: Any) -> Any:
            if zero is not None and zero.dtype != x.dtype:
                raise TypeError(f"a zero point of type {zero.dtype} for {x.dtype}")
            factor, less = both(x, scale, zero, options)
            return (((x.astype(np.float64) - less) * factor).astype(scale.dtype),)

    class QuantizeLinear(base):  # type: ignore[misc]
        def _run(self, x: Any, scale: Any, zero: Any = None, **options: Any) -> Any:
            stated = options.get("output_dtype") or onnx.TensorProto.UINT8
            kind = onnx.helper.tensor_dtype_to_np_dtype(stated) if zero is None else zero.dtype
            factor, plus = both(x, scale, zero, options)
            return (rounded(x, factor, plus, edges_of(np.dtype(kind).name)).astype(kind),)

    return [DequantizeLinear, QuantizeLinear]


def _older_softmax(node: Any, x: Any) -> Any:
    """Over all axes from one on; the reference's default for it is that of newer opsets."""
    stated = {attribute.name: attribute.i for attribute in node.attribute}
    axes = tuple(range(stated.get("axis", 1) % x.ndim, x.ndim))
    weights = np.exp(x - x.max(axis=axes, keepdims=True))
    return weights / weights.sum(axis=axes, keepdims=True)
