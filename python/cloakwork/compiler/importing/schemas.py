"""Nodes against ONNX's own schemas: what an op does not have is refused, never ignored."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from cloakwork.compiler.importing.reading import onnx_module
from cloakwork.errors import ModelError

# The schema of a newer opset is that of the newest one that the installed package knows.
_NEWEST = 1 << 30
_ENDLESS = (1 << 31) - 1


def schema_of(kind: str, domain: str, version: int = _NEWEST) -> Any | None:
    """The schema of an op in an opset; None where it has none."""
    onnx = onnx_module()
    try:
        return onnx.defs.get_schema(kind, min(version, _NEWEST), domain)
    except onnx.defs.SchemaError:
        return None


def check_node(node: Any, place: str, version: int) -> None:
    """ModelError for an op, attribute, input or output that the opset does not have.

    An op that no opset has is left to its handler's search, which has better advice.
    """
    domain = "" if node.domain == "ai.onnx" else node.domain
    schema = schema_of(node.op_type, domain, version)
    if schema is None:
        _check_opset(node.op_type, domain, place, version)
        return
    _check_count(place, "inputs", len(node.input), (schema.min_input, schema.max_input))
    _check_count(place, "outputs", len(node.output), (schema.min_output, schema.max_output))
    _check_attributes(node, place, schema)


def _check_opset(kind: str, domain: str, place: str, version: int) -> None:
    newest = schema_of(kind, domain)
    if newest is None:
        return
    name = domain or "ai.onnx"
    found = f"opset {version}" if version else "none"
    raise ModelError(
        f"{place}: expected an opset of {name} that has this op, found {found}; export the model "
        f"with opset {newest.since_version} of {name}"
    )


def _check_count(place: str, things: str, count: int, allowed: tuple[int, int]) -> None:
    least, most = allowed
    if least <= count <= most:
        return
    limits = f"{least} or more" if most >= _ENDLESS else f"{least} to {most}"
    limits = str(least) if least == most else limits
    things = things[:-1] if limits == "1" else things
    raise ModelError(f"{place}: expected {limits} {things}, found {count}; export the model again")


def _check_attributes(node: Any, place: str, schema: Any) -> None:
    kinds = onnx_module().AttributeProto.AttributeType
    known, seen = schema.attributes, set()
    for attribute in node.attribute:
        name = attribute.name
        if name not in known:
            near = get_close_matches(name, known, 3)
            hint = f"name it {' or '.join(near)}, or remove it" if near else "remove it"
            allowed = f"the attributes {sorted(known)}" if known else "no attributes"
            raise ModelError(
                f"{place}: expected {allowed} of opset {schema.since_version}, found {name!r}; "
                f"{hint}"
            )
        if name in seen:
            raise ModelError(f"{place}: expected one attribute {name!r}, found two; remove one")
        seen.add(name)
        if attribute.ref_attr_name:
            raise ModelError(
                f"{place}: expected a value of the attribute {name!r}, found a reference to "
                f"{attribute.ref_attr_name!r}; inline functions: "
                "onnx.inliner.inline_local_functions(model)"
            )
        wanted, found = known[name].type.name, _kind_name(kinds, attribute.type)
        if found != wanted:
            raise ModelError(
                f"{place}: expected the attribute {name!r} to be {_WORDS.get(wanted, wanted)}, "
                f"found {_WORDS.get(found, found)}; give it as {wanted}"
            )
    for name, own in known.items():
        if own.required and name not in seen:
            raise ModelError(
                f"{place}: expected the attribute {name!r}, which {node.op_type} needs, found "
                f"{sorted(seen)}; add it"
            )


def _kind_name(kinds: Any, number: int) -> str:
    return str(kinds.Name(number)) if number in kinds.values() else f"type {number}"


_WORDS = {
    "FLOAT": "a float", "FLOATS": "floats", "INT": "an integer", "INTS": "integers",
    "STRING": "a text", "STRINGS": "texts", "TENSOR": "a tensor", "TENSORS": "tensors",
    "GRAPH": "a graph", "GRAPHS": "graphs", "UNDEFINED": "undefined",
}  # fmt: skip
