"""Ops that ONNX defines by other ops: a call becomes the nodes of its function, as a local one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from cloakwork.compiler.importing.reading import graphs_of, nodes_of, onnx_module, versions_of
from cloakwork.compiler.importing.schemas import check_node, schema_of
from cloakwork.errors import ModelError

__all__ = ["EXPANDED", "QUANTISED", "expanded"]

# All nodes of their functions can be compiled; of others some cannot, or there is a shorter way.
EXPANDED = (
    "CausalConvWithState", "CenterCropPad", "LinearAttention", "QLinearConv", "QLinearMatMul",
    "RotaryEmbedding", "SwiGLU",
)  # fmt: skip
# Of these ONNX has no functions: what they compute of dequantised operands, before they round.
QUANTISED = {"QLinearConv": "Conv", "QLinearMatMul": "MatMul"}
# The place of a bias among the inputs, and the first opset with an axis of scales.
_BIAS, _SINCE_AXIS = 8, 13


def expanded(model: Any, name: str) -> Any:
    """The model with the nodes of functions in place of their calls; itself if it has none.

    ModelError for calls that an op's schema does not allow, and for those whose nodes depend on
    types that the model does not tell.
    """
    used = {node.op_type for node in nodes_of(model.graph) if _is_own(node)}
    for kind in EXPANDED:
        if kind in used and kind not in QUANTISED:
            model = _expanded(model, name, kind)
    if used.intersection(QUANTISED):
        model = _apart(model, name)
    return model


def _apart(model: Any, name: str) -> Any:
    """With the nodes of `QUANTISED` as dequantised operands, what is computed of them, rounded."""
    version, made = versions_of(model).get("", 0), type(model)()
    made.CopyFrom(model)
    shapes = {one.name: tuple(one.dims) for one in made.graph.initializer}
    # Inner graphs first: those that hold them are copied.
    for graph in reversed(list(graphs_of(made.graph))):
        nodes = [part for node in graph.node for part in _parts(node, name, version, shapes)]
        graph.ClearField("node")
        graph.node.extend(nodes)
    return made


def _parts(
    node: Any, name: str, version: int, shapes: Mapping[str, tuple[int, ...]]
) -> Iterator[Any]:
    if not _is_own(node) or node.op_type not in QUANTISED:
        yield node
        return
    kind, output = QUANTISED[node.op_type], str(node.output[0]) if node.output else ""
    check_node(node, f"{name}: {node.op_type} {node.name or output!r}", version)
    stem, is_conv = node.name or f"{node.op_type} -> {output}", kind == "Conv"

    def part(own: str, read: Sequence[str], made: str, axis: int) -> Any:
        along = {} if version < _SINCE_AXIS else {"axis": axis}
        return onnx_module().helper.make_node(own, read, [made], f"{stem}: {made}", **along)

    # Scales may be of rows of the first operand, of columns of the second, or of filters.
    rows, columns = (1, 0) if is_conv else (-2, -1)
    names = [f"{output} operand {place}" for place in range(3)]
    yield part("DequantizeLinear", node.input[:3], names[0], rows)
    filters, each = (shapes.get(one, ()) for one in node.input[3:5])
    if is_conv and version < _SINCE_AXIS and prod(each) > 1 and filters:
        yield from _by_filters(node.input[3:6], names[1], len(filters))
    else:
        yield part("DequantizeLinear", node.input[3:6], names[1], columns)
    make = onnx_module().helper.make_node
    has_bias = len(node.input) > _BIAS and bool(node.input[_BIAS])
    if has_bias:
        half = f"{output} of one scale"
        yield part("DequantizeLinear", [node.input[_BIAS], node.input[1]], half, 0)
        yield make("Mul", [half, node.input[4]], [names[2]], f"{stem}: {names[2]}")
    exact = make(kind, names[: 2 + has_bias], [f"{output} exact"], stem)
    exact.attribute.extend(node.attribute)
    yield exact
    yield part("QuantizeLinear", [f"{output} exact", *node.input[6:8]], output, rows)


def _by_filters(read: Sequence[str], made: str, rank: int) -> Iterator[Any]:
    """(w - zero) scale for each filter, where DequantizeLinear has one scale."""
    onnx = onnx_module()
    make, shape = onnx.helper.make_node, np.array([-1, *[1] * (rank - 1)])
    names = [f"{made} {what}" for what in ("weights", "scales", "zeros", "shape", "less")]
    weights, scales, zeros, along, less = names
    tensor = onnx.numpy_helper.from_array(shape, along)
    yield make("Constant", [], [along], along, value=tensor)
    yield make("Reshape", [read[1], along], [scales], scales)
    yield make("Cast", [read[0]], [weights], weights, to=onnx.TensorProto.FLOAT)
    yield make("Cast", [read[2]], [f"{zeros} cast"], f"{zeros} cast", to=onnx.TensorProto.FLOAT)
    yield make("Reshape", [f"{zeros} cast", along], [zeros], zeros)
    yield make("Sub", [weights, zeros], [less], less)
    yield make("Mul", [less, scales], [made], made)


def _is_own(node: Any) -> bool:
    return node.domain in ("", "ai.onnx") and node.op_type in EXPANDED


def _expanded(model: Any, name: str, kind: str) -> Any:
    import onnx.inliner

    version = versions_of(model).get("", 0)
    before = set[str]()
    given = type(model)()
    given.CopyFrom(model)
    for node in nodes_of(given.graph):
        before.update(node.output)
        if _is_own(node) and node.op_type == kind:
            node.domain = ""  # The inliner's name of ai.onnx.
            shown = node.name or "-> " + ", ".join(node.output)
            check_node(node, f"{name}: {kind} {shown!r}", version)
            _complete(node, schema_of(kind, "", version))
    _add_types(given)
    try:
        made = onnx.inliner.inline_selected_functions(
            given, [("", kind)], inline_schema_functions=True
        )
    except Exception as error:  # the checker's, and the inliner's own
        said = " ".join(str(error).split())
        change = "give the types of all values: onnx.shape_inference.infer_shapes(model)"
        raise ModelError(
            f"{name}: {kind}: expected a call that becomes the nodes of its function, found: "
            f"{said[-120:]}; {change}"
        ) from error
    for node in nodes_of(made.graph):
        if not node.name and before.isdisjoint(node.output):
            node.name = f"of {kind} -> {', '.join(node.output)}"
    return made


def _complete(node: Any, schema: Any) -> None:
    """State what is left out: attributes by their defaults, and no inputs at the end."""
    stated = {attribute.name for attribute in node.attribute}
    for name, own in schema.attributes.items():
        if name not in stated and own.default_value.type:
            node.attribute.append(own.default_value)
    # The inliner asks for the types of all that are named.
    while node.input and not node.input[-1]:
        node.input.pop()


def _add_types(model: Any) -> None:
    """The types of initializers, and of inputs that are left out: functions depend on types."""
    make = onnx_module().helper.make_tensor_value_info
    known = {info.name for info in (*model.graph.value_info, *model.graph.input)}
    model.graph.value_info.extend(
        make(tensor.name, tensor.data_type, list(tensor.dims))
        for tensor in model.graph.initializer
        if tensor.name not in known
    )
    model.graph.value_info.append(make("", onnx_module().TensorProto.FLOAT, None))
