"""ONNX files, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork import files
from cloakwork.errors import LoadError, ModelError
from cloakwork.recognition import recognised
from cloakwork.wording import installing

# Files beyond 2 GiB are none of protobuf's.
_OLDEST = 7
_MOST_ELEMENTS = 1 << 30
ML_DOMAIN = "ai.onnx.ml"
# Of nodes that conversions of ours write: steps of the client for which ONNX has none.
OWN_DOMAIN = "cloakwork"
# FLOAT, FLOAT16, DOUBLE, BFLOAT16 of onnx.TensorProto.
FLOAT_TYPES = (1, 10, 11, 16)
# The nodes that a model may have, in all of its ways and turns and functions.
MOST_NODES = 1 << 14
# Letters of an error of another library.
_MOST_SAID = 400
# Nodes that draw numbers.
RANDOM = (
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike",
)  # fmt: skip


def onnx_module() -> Any:
    """The package onnx; ModelError tells how to install it."""
    try:
        import onnx
        import onnx.reference
    except ImportError as error:
        raise ModelError(
            f"reading a model needs the onnx package: {installing('models')}"
        ) from error
    return onnx


def shortened(error: Exception) -> str:
    """The message of another library, in one line of some length: some print a whole model."""
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) < _MOST_SAID else f"{said[:_MOST_SAID]}..."


def read_model(given: str | Path | bytes | Any) -> tuple[Any, str]:
    """(ModelProto, name) of a path, bytes or a ModelProto; ModelError for anything else."""
    onnx = onnx_module()
    if isinstance(given, onnx.ModelProto):
        model, name = given, given.graph.name or "model"
    else:
        model, name = _parsed(onnx, given)
    _check_texts(model, name)
    model = _inlined(onnx, model, name)
    _check_versions(model, name)
    if model.graph.sparse_initializer:
        stored = model.graph.sparse_initializer[0].values.name
        raise ModelError(
            f"{name}: tensor {stored!r}: expected dense tensors, found a sparse one; store it "
            "as an initializer"
        )
    for tensor in model.graph.initializer:
        array_of(tensor, name, masks=True)
    return model, name


def _parsed(onnx: Any, given: str | Path | bytes) -> tuple[Any, str]:
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        contents = given if isinstance(given, bytes) else files.read(Path(given))
        name = "model" if isinstance(given, bytes) else str(given)
        model = onnx.load_model_from_string(contents)
    except FileNotFoundError as error:
        raise ModelError(f"{given!s}: expected an ONNX file, found none of this name") from error
    except (OSError, LoadError, DecodeError) as error:
        shown = "the bytes" if isinstance(given, bytes) else str(given)
        found = None if isinstance(given, bytes) else recognised(given)
        if found is not None and found.name != "onnx":
            raise ModelError(f"{shown}: expected an ONNX model, got {found}") from error
        raise ModelError(f"{shown}: not a readable ONNX file: {error}") from error
    if not model.graph.node:
        raise ModelError(f"{name}: expected an ONNX model with nodes, found none")
    return model, name


def _inlined(onnx: Any, model: Any, name: str) -> Any:
    """Without local functions: each call is the nodes of its function."""
    if not model.functions:
        return model
    import onnx.inliner

    for own in model.functions:
        if own.attribute_proto:
            raise ModelError(
                f"{name}: local function {own.name!r}: expected attributes without defaults, found "
                f"{own.attribute_proto[0].name!r} with one; give it at each call"
            )
    _check_calls(model, name)
    try:
        made = onnx.inliner.inline_local_functions(model)
    except Exception as error:  # the checker's, and the inliner's own
        raise ModelError(
            f"{name}: the local function {model.functions[0].name!r}, or another, cannot be "
            f"inlined: {error}"
        ) from error
    if made.functions:
        raise ModelError(
            f"{name}: local function {made.functions[0].name!r}: expected the opsets of the model, "
            "found others; convert the model to one opset"
        )
    return made


def _check_calls(model: Any, name: str) -> None:
    """ModelError for functions that call each other until there are too many nodes, or for ever."""
    known = {(own.domain, own.name): own for own in model.functions}
    counts: dict[tuple[str, str], int] = {}

    def count(nodes: Any, depth: int) -> int:
        if depth > len(known):
            raise ModelError(f"{name}: expected local functions without a cycle of calls")
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type)
            if key in known and key not in counts:
                counts[key] = count(nodes_of(known[key]), depth + 1)
            total = min(total + counts.get(key, 1), MOST_NODES + 1)
        return total

    if count(nodes_of(model.graph), 0) > MOST_NODES:
        raise ModelError(
            f"{name}: expected at most {MOST_NODES} nodes after local functions are inlined, found "
            "more"
        )


def graphs_of(graph: Any) -> Iterator[Any]:
    """A graph, and all inner graphs of its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs_of(attribute.g)


def nodes_of(graph: Any) -> Iterator[Any]:
    """All nodes of a graph, those of inner graphs included."""
    for own in graphs_of(graph):
        yield from own.node


def _check_texts(message: Any, place: str) -> None:
    """Refuse texts that are not UTF-8, which protobuf hands out as bytes."""
    for field, value in message.ListFields():
        where = f"{place}: {message.DESCRIPTOR.name}.{field.name}"
        if field.type == field.TYPE_STRING:
            for text in [value] if isinstance(value, str | bytes) else value:
                if isinstance(text, bytes):
                    raise ModelError(f"{where}: expected a text in UTF-8, found {text[:40]!r}")
        elif field.type == field.TYPE_MESSAGE:
            for part in [value] if hasattr(value, "ListFields") else value:
                _check_texts(part, place)


def _check_versions(model: Any, name: str) -> None:
    versions = versions_of(model)
    oldest = versions.get("", 0)
    if "" in versions and oldest < _OLDEST:
        raise ModelError(
            f"{name}: expected opset {_OLDEST} or later of ai.onnx, found {oldest}; convert it: "
            "onnx.version_converter.convert_version(model, 18)"
        )
    for domain in versions:
        if domain not in ("", ML_DOMAIN, OWN_DOMAIN):
            used = [node for node in model.graph.node if node.domain == domain]
            if used:
                raise ModelError(
                    f"{name}: node {used[0].name or used[0].op_type!r}: expected ops of ai.onnx "
                    f"or {ML_DOMAIN}, found the domain {domain!r}"
                )


def versions_of(model: Any) -> dict[str, int]:
    """The opset versions by domain; "" is ONNX's own."""
    found = {entry.domain: int(entry.version) for entry in model.opset_import}
    return {("" if domain == "ai.onnx" else domain): v for domain, v in found.items()}


def array_of(tensor: Any, place: str, *, masks: bool = False) -> NDArray[Any]:
    """A stored tensor, whose bytes must match its type and shape.

    masks   whether it may have infinity, as masks of attention and limits do: whatever else reads
            it refuses
    """
    onnx = onnx_module()
    name = f"{place}: tensor {tensor.name!r}"
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise ModelError(
            f"{name}: expected its numbers in the file, found them in another; save the model "
            "with onnx.save(model, path, save_as_external_data=False)"
        )
    lengths = list(tensor.dims)
    if any(length < 0 for length in lengths):
        raise ModelError(f"{name}: expected lengths of 0 or more, found {lengths}")
    if float(np.prod([float(length) for length in lengths])) > _MOST_ELEMENTS:
        raise ModelError(f"{name}: expected at most {_MOST_ELEMENTS} elements, found {lengths}")
    try:
        found = np.asarray(onnx.numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError) as error:
        raise ModelError(f"{name}: expected numbers for the shape {lengths}: {error}") from error
    allowed = found[~np.isinf(found)] if masks and found.dtype.kind == "f" else found
    if found.dtype.kind == "f" and not np.isfinite(allowed).all():
        raise ModelError(f"{name}: expected finite numbers, found NaN or infinity")
    return found


def attributes_of(node: Any, place: str) -> dict[str, Any]:
    """A node's attributes by name: numbers, texts, lists, arrays."""
    onnx = onnx_module()
    found: dict[str, Any] = {}
    for attribute in node.attribute:
        kind = attribute.type
        if kind in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
            raise ModelError(
                f"{place}: expected no inner graph, found the attribute {attribute.name!r}; "
                "export the model without control flow"
            )
        try:
            value = onnx.helper.get_attribute_value(attribute)
        except ValueError as error:
            raise ModelError(f"{place}: {error}") from error
        if kind == onnx.AttributeProto.TENSOR:
            value = array_of(value, place, masks=node.op_type.startswith("Constant"))
        elif isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        elif kind == onnx.AttributeProto.STRINGS:
            value = [each.decode("utf-8", "replace") for each in value]
        elif kind in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS):
            value = list(value)
        found[attribute.name] = value
    return found
