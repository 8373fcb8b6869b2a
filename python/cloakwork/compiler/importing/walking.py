"""From an ONNX graph to a Graph, node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from cloakwork.compiler.building import Builder, identity
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing import (
    activations,
    composite,
    linear,
    machines,
    matrices,
    scores,
    shapes,
    trees,
)
from cloakwork.compiler.importing.reading import (
    array_of,
    attributes_of,
    onnx_module,
    read_model,
    versions_of,
)
from cloakwork.compiler.importing.tails import client_nodes, client_value
from cloakwork.compiler.importing.values import (
    HANDLERS,
    MOST_ELEMENTS,
    Call,
    Known,
    Later,
    Reading,
    Secret,
    Value,
)
from cloakwork.compiler.nodes import Source
from cloakwork.compiler.simplifying import simplified
from cloakwork.errors import ModelError

# Imported for the handlers that they register.
FAMILIES = (activations, composite, linear, machines, matrices, scores, shapes, trees)
# Instead of nodes that cannot be compiled.
_HINTS = {
    "InstanceNormalization": "reshape, and take LayerNormalization",
    "Normalizer": "divide by ReduceL2, or normalise before encryption",
    "TreeEnsemble": "export with opset 3 of ai.onnx.ml: TreeEnsembleClassifier, -Regressor",
    "Upsample": "export with opset 10 or newer: Resize",
}


def from_onnx(given: str | Path | bytes | Any) -> Graph:
    """The graph of an ONNX model; ModelError names the node that cannot be compiled."""
    model, name = read_model(given)
    walk = _Walk(model, name, Path(given).stem if isinstance(given, str | Path) else name)
    for node in model.graph.node:
        walk.take(node)
    return simplified(walk.graph())


class _Walk:
    def __init__(self, model: Any, name: str, title: str) -> None:
        self.model, self.name, self.versions = model, name, versions_of(model)
        self.state = Reading(Builder(name=title), client_nodes(model.graph))
        self.values: dict[str, Value] = {
            tensor.name: Known(array_of(tensor, name)) for tensor in model.graph.initializer
        }
        for given in model.graph.input:
            if given.name not in self.values:
                self._take_input(given)

    def _take_input(self, given: Any) -> None:
        place = f"{self.name}: input {given.name!r}"
        kind = given.type.tensor_type
        if not kind.HasField("shape"):
            raise ModelError(f"{place}: expected a tensor of known rank, found none")
        lengths = [
            int(axis.dim_value) if axis.HasField("dim_value") else None for axis in kind.shape.dim
        ]
        if not lengths or lengths[0] not in (None, 0, 1, -1):
            raise ModelError(
                f"{place}: expected a first axis for the batch, dynamic or 1, found {lengths}; "
                "export the model with a batch of 1 or a dynamic batch"
            )
        rest = lengths[1:]
        if any(length is None or length < 1 for length in rest):
            raise ModelError(
                f"{place}: expected lengths of 1 or more after the batch, found {lengths}; export "
                "the model with fixed lengths: encrypted programs have one shape"
            )
        shape = tuple(int(length) for length in rest if length is not None)
        if prod(float(length) for length in shape) > MOST_ELEMENTS:
            raise ModelError(f"{place}: expected at most {MOST_ELEMENTS} elements, found {lengths}")
        self.values[given.name] = Secret(self.state.builder.input(given.name, shape), (1, *shape))

    def take(self, node: Any) -> None:
        """Append what a node computes."""
        place = f"{self.name}: {node.op_type} {node.name or '-> ' + ', '.join(node.output)!r}"
        if not node.output or not node.input:
            self._take_constant(place, node)
            return
        inputs = [self._read(place, name) if name else None for name in node.input]
        attributes = attributes_of(node, place)
        domain = "" if node.domain == "ai.onnx" else node.domain
        call = Call(
            self.state, place, node.op_type, attributes, inputs, len(node.output),
            self.versions.get(domain, 0), node.output[0] in self.state.client,
        )  # fmt: skip
        self.state.builder.source = Source((node.name,), (node.op_type,))
        if all(value is None or isinstance(value, Known) for value in inputs):
            found: Sequence[Value] = self._folded(node, call)
        else:
            found = self._handled(domain, call)
        for name, value in zip(node.output, found, strict=False):
            if name in self.values:
                raise ModelError(f"{place}: expected a name of its own, found {name!r} twice")
            if name:
                self.values[name] = value

    def _take_constant(self, place: str, node: Any) -> None:
        """A node without inputs: a constant, or nothing that can be run."""
        call = Call(self.state, place, node.op_type, attributes_of(node, place), [], 1, 0)
        if len(node.output) != 1 or node.op_type not in ("Constant", "EyeLike"):
            raise call.wrong("inputs and outputs", f"{len(node.input)} and {len(node.output)}")
        self.values[node.output[0]] = self._folded(node, call)[0]

    def _read(self, place: str, name: str) -> Value:
        if name not in self.values:
            raise ModelError(
                f"{place}: reads {name!r}, which no input, initializer or earlier node gives"
            )
        return self.values[name]

    def _handled(self, domain: str, call: Call) -> Sequence[Value]:
        if call.is_client:
            value = client_value(call)
            if value is not None:
                return value
        for each in call.inputs:
            if isinstance(each, Later):
                raise call.wrong(
                    "scores", "labels or probabilities of an earlier node",
                    "which the client computes after decryption: end the model there",
                )  # fmt: skip
        handler = HANDLERS.get((domain, call.kind))
        if handler is None:
            known = sorted(kind for own, kind in HANDLERS if own == domain)
            expected = f"one of {', '.join(known)}" if known else "ops of ai.onnx or ai.onnx.ml"
            came = call.kind if known else f"{call.kind} of {domain!r}"
            raise call.wrong(expected, came, _HINTS.get(call.kind, "replace this node"))
        try:
            found = handler(call)
        except ModelError:
            raise
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
            # Attributes come from the file: of any type and length.
            raise call.wrong("inputs and attributes that fit each other", error) from error
        return found if isinstance(found, Sequence) else [found]

    def _folded(self, node: Any, call: Call) -> list[Value]:
        """A node of constants, by ONNX's own reference."""
        onnx = onnx_module()
        if node.op_type in ("RandomNormal", "RandomUniform", "Multinomial", "Bernoulli"):
            raise call.wrong("no random numbers", node.op_type, "export the model for inference")
        given = {
            name: value.array
            for name, value in zip(node.input, call.inputs, strict=True)
            if isinstance(value, Known)
        }
        info = [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in given.items()
        ]
        empty = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "folded", info, empty)
        model = onnx.helper.make_model(graph, opset_imports=self.model.opset_import)
        try:
            found = onnx.reference.ReferenceEvaluator(model).run(None, given)
        except Exception as error:  # any of NumPy's and the reference's own
            raise ModelError(f"{call.place}: cannot be computed: {error}") from error
        return [Known(np.asarray(array)) for array in found]

    def graph(self) -> Graph:
        """All outputs by the model's own names, and what the client computes."""
        outputs: dict[str, None] = {}
        results: dict[str, None] = {}
        renamed: dict[str, str] = {}
        for output in self.model.graph.output:
            value = self._read(self.name, output.name)
            if isinstance(value, Known):
                raise ModelError(
                    f"{self.name}: output {output.name!r}: expected a value that depends on an "
                    "input, found a constant"
                )
            if isinstance(value, Secret):
                value = self._named(value, output.name)
                outputs[value.name] = None
            elif value.name not in renamed:
                renamed[value.name] = output.name
            results[renamed.get(value.name, value.name)] = None
        steps = [_renamed(step, renamed) for step in self.state.steps]
        computed = {step.output for step in steps}
        for step in steps:
            outputs.update(dict.fromkeys(name for name in step.inputs if name not in computed))
        tail = ClientTail(tuple(results), tuple(steps))
        return self.state.builder.graph(list(outputs), tail)

    def _named(self, value: Secret, name: str) -> Secret:
        """The same value under the name of an output; simplification removes the copy."""
        builder = self.state.builder
        if value.name == name:
            return value
        size, shape = builder.size(value.name), value.shape[1:]
        made = builder.affine([(value.name, identity(size))], shape=shape, name=name)
        return Secret(made, value.shape)


def _renamed(step: ClientStep, names: Mapping[str, str]) -> ClientStep:
    inputs = tuple(names.get(name, name) for name in step.inputs)
    return ClientStep(names.get(step.output, step.output), step.kind, inputs, step.parameters)


def handled_kinds() -> Mapping[str, list[str]]:
    """The kinds of nodes that can be compiled, by domain."""
    found: dict[str, list[str]] = {}
    for domain, kind in sorted(HANDLERS):
        found.setdefault(domain, []).append(kind)
    return found
