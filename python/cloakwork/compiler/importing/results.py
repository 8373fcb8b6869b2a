"""Results of whole numbers: the client hands them out in their type, without noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cloakwork.compiler.client_tail import ClientStep
from cloakwork.compiler.importing.reading import onnx_module
from cloakwork.compiler.importing.values import Call, Later, Reading, Secret
from cloakwork.compiler.whole import is_small_and_whole
from cloakwork.errors import ModelError

__all__ = ["check_cast", "check_types", "type_name", "typed", "types_of"]

# Steps whose results are whole numbers already, and of them those of 64 bits; steps that hand on
# what they read.
_WHOLE = {"above", "argmax", "argmin", "cast", "descended", "labels", "quantized", "top_indices"}
_LONG = _WHOLE - {"cast", "quantized"}
_HANDING = {"identity", "reshape", "top_values"}
_REMEDY = "add Cast(to=FLOAT) at the end, and round what is decrypted as far as its error allows"


def types_of(model: Any) -> dict[str, int]:
    """The type of each value of a model by its number in ONNX, as its inference has it.

    Of outputs that state one it is that.  Those that are not known have none.
    """
    onnx = onnx_module()
    # Without weights, of which the types alone count.
    bare = onnx.helper.make_model(
        onnx.helper.make_graph(
            model.graph.node,
            "types",
            [
                *model.graph.input,
                *(
                    onnx.helper.make_tensor_value_info(one.name, one.data_type, list(one.dims))
                    for one in model.graph.initializer
                ),
            ],
            model.graph.output,
        ),
        opset_imports=model.opset_import,
    )
    try:
        graph = onnx.shape_inference.infer_shapes(bare).graph
    except Exception:  # of what the inference does not know
        graph = bare.graph
    known = [*graph.value_info, *graph.input, *graph.output]
    found = {one.name: int(one.type.tensor_type.elem_type) for one in known}
    return {name: kind for name, kind in found.items() if kind}


def check_types(node: Any, place: str, types: Mapping[str, int]) -> None:
    """ModelError for a cast or a quotient of encrypted values that drops fractions."""
    names = [_whole_type(types.get(name, 0)) for name in node.input]
    if node.op_type == "Div" and any(names):
        change = "cast both to floats before; what drops fractions cannot be computed encrypted"
        expected, found = "a quotient of floats", f"one of {names[0] or names[1]}"
    elif node.op_type == "CastLike" and names[1] is not None and names[1] != names[0]:
        expected, found, change = "a cast to floats", names[1], "cast at the end"
    else:
        return
    raise ModelError(f"{place}: expected {expected}, found {found}; {change}")


def check_cast(call: Call, to: int) -> None:
    """ModelError for a cast of an encrypted value to texts, or that rounds by more than noise."""
    name = type_name(to)
    if name in ("STRING", "UNDEFINED") or name.startswith("COMPLEX"):
        raise call.wrong("a cast to numbers", name, "convert what is decrypted")
    if name == "BFLOAT16" or name.startswith(("FLOAT4", "FLOAT8")):
        raise call.wrong("a cast to FLOAT", f"{name}, whose rounding cannot be computed encrypted")


def type_name(kind: int) -> str:
    """A type's name in ONNX by its number."""
    try:
        return str(onnx_module().TensorProto.DataType.Name(kind))
    except ValueError:
        return f"type {kind}"


def typed(state: Reading, value: Secret | Later, kind: int, place: str) -> Secret | Later:
    """A result in its type; floats and texts as they are.

    kind   the type by its number in ONNX

    ModelError for whole numbers that are not right beyond the noise of encryption.
    """
    name = _whole_type(kind)
    if name is None:
        return value
    if isinstance(value, Later):
        own = _origin(state, value)
        if own is not None and own.kind in _WHOLE:
            same = name == ("int64" if own.kind in _LONG else own.parameters.get("to"))
            texts = own.kind == "labels" and isinstance(own.parameters["classes"][0], str)
            return value if same or texts else state.step("cast", [value], to=name)
    elif is_small_and_whole(state.builder.nodes, value.name):
        return state.step("cast", [state.step("round", [value])], to=name)
    raise ModelError(
        f"{place}: expected floats, labels or truth values, found {name} that noise of encryption "
        f"changes; {_REMEDY}"
    )


def _whole_type(kind: int) -> str | None:
    """NumPy's type of whole numbers or truth values; None for others."""
    name = type_name(kind).lower()
    if name in ("int2", "int4", "uint2", "uint4"):
        # NumPy has no types of so few bits.
        return f"{name[:-1]}8"
    return name if name == "bool" or name.startswith(("int", "uint")) else None


def _origin(state: Reading, value: Later) -> ClientStep | None:
    """The step that makes a value, which others hand on."""
    steps = {step.output: step for step in state.steps}
    own = steps.get(value.name)
    while own is not None and own.kind in _HANDING:
        own = steps.get(own.inputs[0])
    return own
