"""From an ONNX graph to a Graph, node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.building import Builder, identity
from cloakwork.compiler.client_tail import ClientTail
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing import (
    activations,
    attention,
    composite,
    linear,
    machines,
    matrices,
    norms,
    quantized,
    recurrent,
    scores,
    shapes,
    trees,
)
from cloakwork.compiler.importing.expanding import EXPANDED, expanded
from cloakwork.compiler.importing.heads import HEAD_OPS, Head, embedded, head_nodes
from cloakwork.compiler.importing.mended import evaluator_of
from cloakwork.compiler.importing.proving import Original, Rows
from cloakwork.compiler.importing.reading import (
    OWN_DOMAIN,
    RANDOM,
    array_of,
    attributes_of,
    read_model,
    versions_of,
)
from cloakwork.compiler.importing.references import original_of
from cloakwork.compiler.importing.results import check_types, typed, types_of
from cloakwork.compiler.importing.schemas import check_node
from cloakwork.compiler.importing.tails import (
    CLIENT_OPS,
    client_nodes,
    client_value,
)
from cloakwork.compiler.importing.unrolling import alive, unrolled
from cloakwork.compiler.importing.values import (
    HANDLERS,
    MOST_ELEMENTS,
    Call,
    Early,
    Handler,
    Known,
    Later,
    Reading,
    Secret,
    Value,
    to_front,
)
from cloakwork.compiler.nodes import Affine, Input, Source
from cloakwork.compiler.simplifying import simplified
from cloakwork.errors import ModelError
from cloakwork.once import once

# Imported for the handlers that they register.
FAMILIES = (
    activations, attention, composite, linear, machines, matrices, norms, quantized, recurrent,
    scores, shapes, trees,
)  # fmt: skip
# Nodes that do something else with whole numbers.
_TYPED = ("CastLike", "Div")
# Instead of nodes that cannot be compiled.
_HINTS = {
    "Normalizer": "divide by ReduceL2, or normalise before encryption",
    "TreeEnsemble": "export with opset 3 of ai.onnx.ml: TreeEnsembleClassifier, -Regressor",
    "Upsample": "export with opset 10 or newer: Resize",
    **quantized.HINTS,
}


def from_onnx(given: str | Path | bytes | Any) -> tuple[Graph, Original]:
    """The graph of an ONNX model, and the model; ModelError names a node that it refuses."""
    model, name = read_model(given)
    # Functions within bodies become nodes of the model, whose types are known; some have loops.
    flat = unrolled(expanded(unrolled(model, name), name), name)
    walk = _walked(flat, name, Path(given).stem if isinstance(given, str | Path) else name)
    made = walk.graph()

    def values_of(rows: Rows) -> Mapping[str, Any]:
        return _walked(flat, name, made.name).all_values(rows)

    return simplified(made), original_of(model, flat, name, made.results, values_of)


def _walked(model: Any, name: str, title: str) -> _Walk:
    walk = _Walk(model, name, title)
    for node in walk.nodes:
        walk.take(node)
    return walk


class _Walk:
    def __init__(self, model: Any, name: str, title: str) -> None:
        self.model, self.name, self.versions = model, name, versions_of(model)
        self.nodes = alive(model.graph)
        self.state = Reading(Builder(name=title), client_nodes(self.nodes, model.graph))
        self.head = Head(*head_nodes(self.nodes, model.graph, self.state.client))
        # Outputs keep their names: no other value takes one.
        self.state.builder.reserved.update(output.name for output in model.graph.output)
        self.values: dict[str, Value] = {}
        # The place that gives each value, and the outputs of nodes that are not computed.
        self.givers: dict[str, str] = {}
        self.lost: dict[str, str] = {}
        for tensor in model.graph.initializer:
            self._give(
                f"{name}: tensor {tensor.name!r}",
                tensor.name,
                Known(array_of(tensor, name, masks=True)),
            )
        self.state.single = _is_single(model)
        for given in model.graph.input:
            # Before IR version 4 initializers are inputs as well.
            if not isinstance(self.values.get(given.name), Known):
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
        if self.head.starts(given.name, shape):
            self._give(place, given.name, self.head.early(given.name, shape, kind.elem_type))
            return
        self._give(place, given.name, Secret(given.name, (1, *shape)))
        self.state.builder.input(given.name, shape)

    def _give(self, place: str, name: str, value: Value) -> None:
        if name in self.givers:
            raise ModelError(
                f"{place}: expected a name of its own, found {name!r} twice, given already by "
                f"{self.givers[name]}; rename one of them"
            )
        self.givers[name] = place
        self.values[name] = value

    def take(self, node: Any) -> None:
        """Append what a node computes."""
        place = f"{self.name}: {node.op_type} {node.name or '-> ' + ', '.join(node.output)!r}"
        domain = "" if node.domain == "ai.onnx" else node.domain
        check_node(node, place, self.versions.get(domain, 0))
        if not node.output or not node.input:
            self._take_constant(place, node)
            return
        inputs = [self._read(place, name) if name else None for name in node.input]
        attributes, before = attributes_of(node, place), node.output[0] in self.head.nodes
        state = self.head.state if before else self.state
        call = Call(
            state, place, node.op_type, attributes, inputs, _used_outputs(node),
            self.versions.get(domain, 0), node.output[0] in self.state.client,
        )  # fmt: skip
        state.builder.source = Source((node.name,), (node.op_type,))
        if node.op_type in _TYPED and not any(isinstance(value, Known) for value in inputs):
            check_types(node, place, self._types)
        if all(value is None or isinstance(value, Known) for value in inputs):
            found: Sequence[Value] = self._folded(node, call)
        else:
            found = self._handled(domain, call)
        for name, value in zip(node.output, found, strict=False):
            if name:
                own = Early(value, name) if before and isinstance(value, Secret) else value
                self._give(place, name, own)
        for number, name in enumerate(node.output):
            if name and number >= len(found):
                self.lost[name] = f"output number {number} of {place}"

    @once
    def _types(self) -> dict[str, int]:
        """Of the model's values."""
        return types_of(self.model)

    def _take_constant(self, place: str, node: Any) -> None:
        """A node without inputs: a constant, or nothing that can be run."""
        call = Call(self.state, place, node.op_type, attributes_of(node, place), [], 1, 0)
        if len(node.output) != 1 or node.op_type != "Constant":
            raise call.wrong("inputs and outputs", f"{len(node.input)} and {len(node.output)}")
        self._give(place, node.output[0], self._folded(node, call)[0])

    def _read(self, place: str, name: str) -> Value:
        if name in self.lost:
            raise ModelError(
                f"{place}: reads {name!r}, {self.lost[name]}, which cannot be compiled; use the "
                "node's first outputs alone"
            )
        if name not in self.values:
            raise ModelError(
                f"{place}: reads {name!r}, which no input, initializer or earlier node gives"
            )
        return self.values[name]

    def _handled(self, domain: str, call: Call) -> Sequence[Value]:
        try:
            with np.errstate(all="ignore"):
                found = self._taken(domain, call)
        except ModelError:
            raise
        except (
            TypeError, ValueError, LookupError, ArithmeticError, AttributeError, AssertionError,
            MemoryError,
        ) as error:  # fmt: skip
            # Attributes come from the file: of any length and value.
            came = str(error) or type(error).__name__
            raise call.wrong("inputs and attributes that fit each other", came) from error
        return found if isinstance(found, Sequence) else [found]

    def _taken(self, domain: str, call: Call) -> Sequence[Value] | Value:
        before = call.state is self.head.state
        if not before and call.kind == "Gather" and isinstance(call.inputs[1], Early):
            return embedded(call, self.head)
        call.inputs = [
            self._unwrapped(each, before) if isinstance(each, Early) else each
            for each in call.inputs
        ]
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
        handlers = Head.handler if before else _handler
        handler = handlers(domain, call.kind)
        if handler is None:
            came = f"{call.kind} of {domain!r}" if domain else call.kind
            raise call.wrong("a node that can be compiled", came, self._advice(domain, call))
        count = len(call.builder.nodes)
        found = handler(call)
        _check_finite(call, count)
        return found

    def _advice(self, domain: str, call: Call) -> str:
        """The smallest change that helps."""
        given = {node.output for node in self.state.builder.nodes if isinstance(node, Input)}
        plain = [one for one in call.inputs if isinstance(one, Secret) and one.name in given]
        if call.kind in HEAD_OPS and plain:
            return "put a model behind it: alone, it is for the client to compute, in plain"
        return _advice(domain, call.kind)

    def _unwrapped(self, early: Early, before: bool) -> Secret:
        """A value of the head, for the head, or encrypted."""
        return early.value if before else self.head.encrypted(early, self.state.builder)

    def _folded(self, node: Any, call: Call) -> list[Value]:
        """A node of constants, by ONNX's own reference."""
        if node.op_type in RANDOM:
            raise call.wrong("no random numbers", node.op_type, "export the model for inference")
        rounded = quantized.quantized_constant(call)
        if rounded is not None:
            return [rounded]
        given = {
            name: value.array
            for name, value in zip(node.input, call.inputs, strict=True)
            if isinstance(value, Known)
        }
        given = _of_one_type(given)
        names = [name for name in node.output if name]
        try:
            evaluator = evaluator_of([node], given, names, self.model.opset_import)
            found = evaluator.run(None, given)
        except Exception as error:  # any of NumPy's and the reference's own
            raise ModelError(f"{call.place}: cannot be computed: {error}") from error
        return [Known(np.asarray(array)) for array in found]

    def graph(self) -> Graph:
        """All outputs by the model's own names, and what the client computes."""
        outputs: dict[str, None] = {}
        results: dict[str, None] = {}
        renamed: dict[str, str] = {}
        for output in self.model.graph.output:
            value, place = self._read(self.name, output.name), f"{self.name}: output"
            if isinstance(value, Early):
                value = self._unwrapped(value, before=False)
            if output.name in results:
                raise ModelError(
                    f"{place}: expected different outputs, found {output.name!r} twice"
                )
            if isinstance(value, Known):
                raise ModelError(
                    f"{place} {output.name!r}: expected a value that depends on an input, found a "
                    "constant; remove it from the outputs"
                )
            place = f"{place} {output.name!r}"
            if isinstance(value, Secret):
                value = _in_front(value, place)
            value = typed(self.state, value, self._types.get(output.name, 0), place)
            if isinstance(value, Secret):
                outputs[self._named(value, output.name).name] = None
            elif value.name in renamed:
                copy = self.state.step("identity", [value])
                renamed[copy.name] = output.name
            else:
                renamed[value.name] = output.name
            results[output.name] = None
        steps = (step.renamed(renamed) for step in self.state.steps)
        tail = ClientTail(tuple(results), tuple(steps)).needed()
        computed = {step.output for step in tail.steps}
        for step in tail.steps:
            outputs.update(dict.fromkeys(name for name in step.inputs if name not in computed))
        return self._with_head(self.state.builder.graph(list(outputs), tail))

    def _with_head(self, graph: Graph) -> Graph:
        head = self.head.result([node.output for node in graph.inputs])
        return graph if head is None else replace(graph, client_head=head)

    def all_values(self, rows: Rows) -> dict[str, Any]:
        """The graph's value for each of the model's names that is no constant."""
        given = {n: v for n, v in self.values.items() if isinstance(v, Secret | Later)}
        names = list(dict.fromkeys(v.name for v in given.values() if isinstance(v, Secret)))
        steps = self.state.steps
        read = [name for step in steps for name in step.inputs]
        computed = {step.output for step in steps}
        outputs = dict.fromkeys([*names, *(name for name in read if name not in computed)])
        tail = ClientTail((*outputs, *computed), tuple(steps))
        found = self._with_head(self.state.builder.graph(list(outputs), tail)).predict(rows)
        return {name: found[value.name] for name, value in given.items()}

    def _named(self, value: Secret, name: str) -> Secret:
        """The same value under the name of an output; simplification removes the copy."""
        builder = self.state.builder
        if value.name == name:
            return value
        builder.reserved.discard(name)
        size, shape = builder.size(value.name), value.shape[1:]
        made = builder.affine([(value.name, identity(size))], shape=shape, name=name)
        return Secret(made, value.shape)


def _in_front(value: Secret, place: str) -> Secret:
    if value.batch is None and value.shape[:1] == (1,):
        return replace(value, batch=0)
    if value.batch is None:
        raise ModelError(
            f"{place}: expected the batch axis in front, found it merged with others in "
            f"{list(value.shape)}; end the model with a Reshape to [1, ...]"
        )
    if value.batch:
        raise ModelError(
            f"{place}: expected the batch axis in front, found it at axis {value.batch} of "
            f"{list(value.shape)}; end the model with Transpose(perm={to_front(value)})"
        )
    return value


def _is_single(model: Any) -> bool:
    """Whether all inputs have a batch of 1, and no other."""
    stored = {tensor.name for tensor in model.graph.initializer}
    given = [one.type.tensor_type.shape.dim for one in model.graph.input if one.name not in stored]
    return all(axes and axes[0].dim_value == 1 for axes in given)


def _handler(domain: str, kind: str) -> Handler | None:
    return HANDLERS.get((domain, kind))


def _used_outputs(node: Any) -> int:
    """The number of outputs up to the last one with a name."""
    return max((place + 1 for place, name in enumerate(node.output) if name), default=1)


def _advice(domain: str, kind: str) -> str:
    """The smallest change that helps."""
    known = [own for place, own in HANDLERS if place == domain]
    near = get_close_matches(kind, known, 3, 0.7)
    found = f"similar names: {', '.join(near)}" if near else "replace this node"
    if kind in CLIENT_OPS:
        found = "end the model with it: the client computes it after decryption"
    elif kind in HEAD_OPS:
        found = "apply it to inputs alone: the client computes it before encryption"
    found = _HINTS.get(kind, found)
    return f"{found}; docs/models.md lists all nodes"


def _of_one_type(given: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Floats as float64 where some are, as dequantised constants: ops take one type."""
    wide = any(array.dtype == np.float64 for array in given.values())
    return {
        name: array.astype(np.float64) if wide and array.dtype == np.float32 else array
        for name, array in given.items()
    }


def _check_finite(call: Call, before: int) -> None:
    """ModelError for weights that the node's numbers make infinite."""
    for node in call.builder.nodes[before:]:
        if isinstance(node, Affine):
            arrays = [node.bias, *(matrix.data for _, matrix in node.terms)]
            if not all(np.isfinite(array).all() for array in arrays):
                raise call.wrong("finite weights", "NaN or infinity in what they make")


def handled_kinds() -> Mapping[str, list[str]]:
    """The kinds of nodes of files that can be compiled, by domain."""
    found: dict[str, list[str]] = {}
    for domain, kind in sorted([*HANDLERS, *(("", kind) for kind in EXPANDED)]):
        if domain != OWN_DOMAIN:
            found.setdefault(domain, []).append(kind)
    return found
