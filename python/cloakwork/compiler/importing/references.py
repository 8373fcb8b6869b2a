"""ONNX models run by ONNX's own reference, with float64 wherever they have floats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.importing.expanding import QUANTISED
from cloakwork.compiler.importing.mended import mended_ops
from cloakwork.compiler.importing.proving import Original, Rows, with_batch
from cloakwork.compiler.importing.reading import graphs_of, nodes_of, onnx_module, versions_of
from cloakwork.compiler.importing.unrolling import alive

Values = NDArray[Any]
# A value of a node differs if it is off by more, relative to its largest.
_OFF = 1e-4
_GATES = ("GRU", "LSTM", "RNN")
_ADVICE = "this is an error of the importer, or of onnx.reference: please report it with the model"


def original_of(
    model: Any,
    flat: Any,
    name: str,
    results: Sequence[str],
    values_of: Callable[[Rows], Mapping[str, Values]],
) -> Original:
    """The model for a proof.

    flat        the same without control flow
    results     the names of its outputs
    values_of   the values that the importer's graph has for the model's names, before any is
                merged with another
    """
    runners: list[Any] = []
    if any(map(_is_misread, nodes_of(model.graph))):
        model = flat

    def evaluated(rows: Rows, names: Sequence[str] | None, **options: Any) -> Any:
        feeds = {key: _typed(values, types[key]) for key, values in rows.items()}
        if not runners:
            runners.append(_runner(model, feeds))
        return runners[0](names, feeds, **options)

    types = {given.name: given.type.tensor_type.elem_type for given in model.graph.input}

    def run(rows: Rows) -> list[Mapping[str, Values]]:
        return [{"the model": with_batch(each)} for each in evaluated(rows, list(results))]

    def blame(rows: Rows) -> str:
        wanted = evaluated(rows, None, intermediate=True)
        found = values_of(rows)
        for node in model.graph.node:
            for output in node.output:
                if output in found and _differs(found[output], wanted[output]):
                    return f"{node.op_type} {node.name!r} -> {output!r}"
        return ""

    known = not any(map(_is_beyond, nodes_of(model.graph)))
    return Original(name, run, True, _ADVICE, blame, runs=known)


def _is_beyond(node: Any) -> bool:
    """Whether the reference takes a recurrent node for another: it ignores these attributes."""
    named = {attribute.name for attribute in node.attribute}
    return node.op_type in _GATES and bool(named & {"activations", "clip", "input_forget"})


def _is_misread(node: Any) -> bool:
    """Whether the reference takes a loop for another, or not at all; or chance decides its ties.

    It takes no turn without a condition, joins the results of all turns without a new axis, and
    scans along the first axis alone: of onnx 1.23.
    """
    own = {attribute.name: attribute for attribute in node.attribute}
    if node.op_type in QUANTISED:
        return True
    if node.op_type == "Loop":
        return not node.input[1] or len(own["body"].g.output) > len(node.input) - 1
    others = (values.ints for name, values in own.items() if name.startswith("scan_"))
    return node.op_type == "Scan" and any(any(values) for values in others)


def _runner(model: Any, feeds: Mapping[str, Values]) -> Callable[..., Any]:
    """The reference with doubles; with the model's own floats where their types matter to it."""
    make, mended = (
        onnx_module().reference.ReferenceEvaluator,
        mended_ops(versions_of(model).get("", 0)),
    )
    try:
        doubles = make(_runnable(model, doubles=True), new_ops=mended)
        doubles.run(None, feeds)
    except Exception:  # any of NumPy's and the reference's own
        own = make(_runnable(model, doubles=False), new_ops=mended)
        types = {given.name: given.type.tensor_type.elem_type for given in model.graph.input}
        numpy_type = onnx_module().helper.tensor_dtype_to_np_dtype

        def run(names: Any, feeds: Mapping[str, Values], **options: Any) -> Any:
            typed = {key: values.astype(numpy_type(types[key])) for key, values in feeds.items()}
            return own.run(names, typed, **options)

        return run
    run_doubles: Callable[..., Any] = doubles.run
    return run_doubles


def _runnable(model: Any, *, doubles: bool) -> Any:
    """A copy without ZipMap, which the reference lacks: it says how probabilities are handed out.

    doubles   whether its floats are float64: then rounding is no difference
    """
    onnx = onnx_module()
    copy = type(model)()
    copy.CopyFrom(model)
    copy.graph.ClearField("node")
    copy.graph.node.extend(alive(model.graph))
    for node in copy.graph.node:
        if node.op_type == "ZipMap":
            node.CopyFrom(onnx.helper.make_node("Identity", node.input, node.output, node.name))
    if doubles:
        _to_doubles(onnx, copy.graph)
    return copy


def _to_doubles(onnx: Any, graph: Any) -> None:
    """Widen initializers, constants and casts."""
    kinds = onnx.TensorProto
    for own in graphs_of(graph):
        for tensor in own.initializer:
            _widen(onnx, tensor)
    for node in nodes_of(graph):
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == kinds.FLOAT:
                attribute.i = kinds.DOUBLE
            elif node.op_type in ("Constant", "ConstantOfShape") and attribute.HasField("t"):
                _widen(onnx, attribute.t)


def _widen(onnx: Any, tensor: Any) -> None:
    if tensor.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16):
        doubles = onnx.numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(onnx.numpy_helper.from_array(doubles, tensor.name))


def _typed(values: Values, kind: int) -> Values:
    onnx = onnx_module()
    own = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind))
    return values.astype(own) if own.kind in "iub" else values


def _differs(own: Values, wanted: Any) -> bool:
    other = np.asarray(wanted)
    if own.size != other.size:
        return True
    if own.dtype.kind not in "fc" or other.dtype.kind not in "fiub":
        return bool((own.ravel().astype(object) != other.ravel().astype(object)).any())
    exact = other.ravel().astype(np.float64)
    return bool(np.abs(own.ravel() - exact).max() > _OFF * max(float(np.abs(exact).max()), 1e-30))
