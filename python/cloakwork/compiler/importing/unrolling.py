"""Control flow of ONNX files, taken before anything is encrypted.

A server cannot see a condition: `If` takes the way that its constant tells, `Loop` and `Scan`
repeat their bodies as often as constants tell.  What is left has no inner graphs.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.importing.mended import evaluator_of
from cloakwork.compiler.importing.reading import (
    MOST_NODES,
    RANDOM,
    array_of,
    graphs_of,
    onnx_module,
    versions_of,
)
from cloakwork.compiler.importing.schemas import check_node
from cloakwork.compiler.importing.values import MOST_ELEMENTS
from cloakwork.errors import ModelError

__all__ = ["UNROLLED", "alive", "unrolled"]

# Of these, whatever they read, one input alone tells the result: its shape.
_OF_SHAPES = ("Shape", "Size")
# Shapes of results depend on the values of inputs from a place on; of all others on shapes alone.
_SHAPED_BY = {
    **dict.fromkeys(
        ("Compress", "ConstantOfShape", "NonMaxSuppression", "NonZero", "Range", "Unique"), 0
    ),
    **dict.fromkeys(
        ("CenterCropPad", "Col2Im", "Expand", "MaxUnpool", "OneHot", "Pad", "ReduceL1", "ReduceL2",
         "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
         "ReduceSum", "ReduceSumSquare", "Reshape", "Resize", "Slice", "Split", "Squeeze", "STFT",
         "Tile", "TopK", "Unsqueeze", "Upsample", "AffineGrid", "DFT"), 1
    ),
}  # fmt: skip
_SINCE_AXES_INPUT = 13
_CONDITIONS = "compute both ways, and choose by Where; or export the model without control flow"
_LENGTHS = "export the model with a fixed number of steps"

# Names of a graph by those that it uses: its own are renamed, others are those around it.
_Scope = ChainMap[str, str]


def unrolled(model: Any, name: str) -> Any:
    """The same model without If, Loop and Scan; ModelError for those that inputs decide."""
    nodes = alive(model.graph)
    if not any(node.op_type in UNROLLED for node in nodes):
        return model
    made = _Unrolling(model, name)
    made.take(nodes, ChainMap(), "")
    flat = type(model)()
    flat.CopyFrom(model)
    flat.graph.ClearField("node")
    flat.graph.node.extend(made.nodes)
    flat.graph.initializer.extend(made.tensors)
    return flat


def alive(graph: Any) -> list[Any]:
    """The nodes on which an output depends: exporters leave others behind."""
    needed = {output.name for output in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(_read(node))
            kept.append(node)
    return kept[::-1]


def _read(node: Any) -> Iterator[str]:
    """The names that a node reads, those of its inner graphs included."""
    yield from node.input
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for own in graphs_of(attribute.g):
                yield from (output.name for output in own.output)
                yield from (name for inner in own.node for name in inner.input)


class _Unrolling:
    """The nodes so far, and the constants that were made for them."""

    def __init__(self, model: Any, name: str) -> None:
        self.model, self.name, self.versions = model, name, versions_of(model)
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        stored = {tensor.name for tensor in model.graph.initializer}
        self.inputs = {own.name: own for own in model.graph.input if own.name not in stored}
        # What depends on the values of inputs, or on chance; and of what the shape does.
        self.secret, self.shapeless = set(self.inputs), set[str]()
        self.stored = {tensor.name: tensor for tensor in model.graph.initializer}
        # The place of the node that gives a value.
        self.givers: dict[str, int] = {}
        # Constants, and what one input of zeros gives; initializers of bodies, for all turns.
        self.known: dict[str, NDArray[Any]] = {}
        self.zeros: dict[str, NDArray[Any]] = {}
        self.shared: dict[tuple[int, str], str] = {}
        # Their ids are those of keys as long as they live.
        self.bodies: list[Any] = []
        self.names: set[str] = set()
        self.turns = 0

    def take(self, nodes: Iterable[Any], scope: _Scope, prefix: str) -> None:
        """Append nodes, with their names in this scope."""
        for node in nodes:
            own = type(node)()
            own.CopyFrom(node)
            own.name = self._unused(prefix + (node.name or f"{node.op_type} {len(self.nodes)}"))
            for field, taken in (("input", scope.get), ("output", self._given(scope, prefix))):
                names = [taken(each, each) if each else "" for each in getattr(node, field)]
                own.ClearField(field)
                getattr(own, field).extend(names)
            way = UNROLLED.get(node.op_type) if node.domain in ("", "ai.onnx") else None
            if way is None:
                self.emit(own)
                continue
            place = f"{self.name}: {node.op_type} {own.name!r}"
            check_node(node, place, self.versions.get("", 0))
            way(self, own, place, scope)

    @staticmethod
    def _given(scope: _Scope, prefix: str) -> Callable[[str, str], str]:
        def name(own: str, _: str) -> str:
            if prefix:
                scope[own] = prefix + own
            return scope.get(own, own)

        return name

    def _unused(self, name: str) -> str:
        """A name for a node that none has: names of values begin with it."""
        while name in self.names:
            name += "'"
        self.names.add(name)
        return name

    def emit(self, node: Any) -> None:
        """Append a node without inner graphs."""
        self.givers.update(dict.fromkeys(node.output, len(self.nodes)))
        self.nodes.append(node)
        shaping = node.input[_SHAPED_BY.get(node.op_type, len(node.input)) :]
        sequences = "Sequence" in node.op_type or node.op_type.startswith(("Optional", "String"))
        if self.shapeless.intersection(node.input) or (
            self.secret.intersection(node.input if sequences else shaping)
        ):
            self.shapeless.update(node.output)
        if node.op_type in _OF_SHAPES:
            depends = bool(self.shapeless.intersection(node.input))
        else:
            depends = node.op_type in RANDOM or bool(self.secret.intersection(node.input))
        if depends:
            self.secret.update(node.output)
        self._check_size()

    def turn(self) -> None:
        """Count a turn of a loop, which may have no nodes."""
        self.turns += 1
        self._check_size()

    def _check_size(self) -> None:
        if max(len(self.nodes), self.turns) > MOST_NODES:
            raise ModelError(
                f"{self.name}: expected at most {MOST_NODES} nodes after loops are unrolled, "
                "found more; use fewer steps"
            )

    def op(self, kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """Append a node of one result."""
        make = onnx_module().helper.make_node
        self.emit(make(kind, list(inputs), [output], f"{kind} -> {output}", **attributes))
        return output

    def constant(self, values: Any, stem: str) -> str:
        """A stored array."""
        name = f"{stem} constant {len(self.tensors)}"
        self.known[name] = np.asarray(values)
        self.tensors.append(onnx_module().numpy_helper.from_array(self.known[name], name))
        return name

    def graph(self, body: Any, scope: _Scope, prefix: str, place: str) -> list[str]:
        """Append an inner graph; the names of its outputs."""
        if body.sparse_initializer:
            raise ModelError(f"{place}: expected dense tensors, found a sparse one")
        for tensor in body.initializer:
            key = (id(body), tensor.name)
            if key in self.shared:
                scope[tensor.name] = self.shared[key]
                continue
            array_of(tensor, place, masks=True)
            copy = type(tensor)()
            copy.CopyFrom(tensor)
            scope[tensor.name] = self.shared[key] = copy.name = prefix + tensor.name
            self.bodies.append(body)
            self.tensors.append(copy)
            self.stored[copy.name] = copy
        self.take(body.node, scope, prefix)
        return [scope.get(output.name, output.name) for output in body.output]

    def value(self, name: str, place: str, what: str, change: str) -> NDArray[Any]:
        """A constant, or ModelError for one that inputs decide."""
        if name in self.known:
            return self.known[name]
        if name in self.secret:
            raise ModelError(
                f"{place}: expected {what} that is a constant of the model, found {name!r}, which "
                f"depends on the inputs or on chance; {change}"
            )
        return self._run(name, place)

    def length(self, name: str, axis: int, place: str) -> int:
        """The length of an axis of a value, for a batch of 1."""
        if name in self.shapeless:
            raise ModelError(
                f"{place}: expected {name!r} to have one length for all inputs, found one that "
                f"depends on their values; {_LENGTHS}"
            )
        shape = self._run(name, place).shape
        if not -len(shape) <= axis < len(shape):
            raise ModelError(f"{place}: expected an axis of {list(shape)}, found {axis}")
        return int(shape[axis])

    def _run(self, name: str, place: str) -> NDArray[Any]:
        """The result of one input of zeros: a constant, or something of the right shape."""
        name = self._copied(name)
        if name in self.known or name in self.zeros:
            return self.known[name] if name in self.known else self.zeros[name]
        places, feeds = self._needed(name)
        nodes = [self.nodes[number] for number in sorted(places)]
        kept = [each for node in nodes for each in node.output if each]
        wanted = list(dict.fromkeys([name, *kept]))
        try:
            evaluator = evaluator_of(nodes, feeds, wanted, self.model.opset_import)
            with np.errstate(all="ignore"):
                found = evaluator.run(wanted, feeds)
        except Exception as error:  # any of NumPy's and the reference's own
            raise ModelError(
                f"{place}: {name!r}, which it needs, cannot be computed: {error}"
            ) from error
        values = {each: np.asarray(own) for each, own in zip(wanted, found, strict=True)}
        for each, own in values.items():
            (self.zeros if each in self.secret else self.known)[each] = own
        return values[name]

    def _copied(self, name: str) -> str:
        """The value of which another is a copy: conditions are mostly copies of constants."""
        seen = set[str]()
        while name in self.givers and name not in seen:
            seen.add(name)
            node = self.nodes[self.givers[name]]
            if node.op_type != "Identity" or not node.input:
                break
            name = node.input[0]
        return name

    def _needed(self, name: str) -> tuple[set[int], dict[str, NDArray[Any]]]:
        """The places of nodes that a value needs, and the arrays that they begin with."""
        places, feeds, seen, waiting = set[int](), dict[str, NDArray[Any]](), set[str](), [name]
        while waiting:
            own = waiting.pop()
            if own in seen or not own:
                continue
            seen.add(own)
            if own in self.known or own in self.zeros:
                feeds[own] = self.known[own] if own in self.known else self.zeros[own]
            elif own in self.givers:
                places.add(self.givers[own])
                waiting += self.nodes[self.givers[own]].input
            elif own in self.stored:
                feeds[own] = self.known[own] = array_of(self.stored[own], self.name, masks=True)
            elif own in self.inputs:
                feeds[own] = _zeros(self.inputs[own], self.name)
        return places, feeds


def _zeros(given: Any, place: str) -> NDArray[Any]:
    """An input of a batch of 1."""
    kind, place = given.type.tensor_type, f"{place}: input {given.name!r}"
    shape = [max(int(axis.dim_value), 1) for axis in kind.shape.dim]
    if prod(map(float, shape)) > MOST_ELEMENTS:
        raise ModelError(f"{place}: expected at most {MOST_ELEMENTS} elements, found {shape}")
    try:
        return np.zeros(shape, onnx_module().helper.tensor_dtype_to_np_dtype(kind.elem_type))
    except (KeyError, TypeError) as error:
        raise ModelError(f"{place}: expected a type of ONNX, found {kind.elem_type}") from error


def _attributes(node: Any) -> dict[str, Any]:
    get = onnx_module().helper.get_attribute_value
    return {attribute.name: get(attribute) for attribute in node.attribute}


def _if(own: _Unrolling, node: Any, place: str, scope: _Scope) -> None:
    condition = own.value(node.input[0], place, "a condition", _CONDITIONS)
    if condition.size != 1:
        raise ModelError(f"{place}: expected one condition, found the shape {condition.shape}")
    way = "then_branch" if condition.item() else "else_branch"
    body = _attributes(node)[way]
    found = own.graph(body, scope.new_child(), f"{node.name}/{way}/", place)
    for output, name in zip(_outputs(node, len(found), place), found, strict=True):
        if output:
            own.op("Identity", [name], output)


def _loop(own: _Unrolling, node: Any, place: str, scope: _Scope) -> None:
    """Turns while there are any left and the condition holds, each with what the last one gave."""
    body = _attributes(node)["body"]
    turns, condition, *carried = node.input
    most = None
    if turns:
        found = own.value(turns, place, "a number of turns", _LENGTHS)
        most = int(found.item()) if found.size == 1 else -1
    elif not condition:
        raise ModelError(f"{place}: expected a number of turns or a condition, found neither")
    goes_on = own.value(condition, place, "a condition", _LENGTHS).all() if condition else True
    _check_count(place, len(body.input), len(carried) + 2, "inputs of its body")
    outputs = _outputs(node, len(body.output) - 1, place)
    if len(outputs) < len(carried):
        raise ModelError(f"{place}: expected a body that gives all of its states, found fewer")
    collected: list[list[str]] = [[] for _ in outputs[len(carried) :]]
    turn = 0
    while goes_on and (most is None or turn < most):
        own.turn()
        prefix = f"{node.name}/{turn}/"
        given = [
            own.constant(np.array(turn, np.int64), prefix),
            own.constant(np.array(True), prefix),
            *carried,
        ]
        inner = scope.new_child(dict(zip((one.name for one in body.input), given, strict=True)))
        condition, *results = own.graph(body, inner, prefix, place)
        goes_on = own.value(condition, place, "a condition", _LENGTHS).all()
        carried, made = results[: len(carried)], results[len(carried) :]
        for row, name in zip(collected, made, strict=True):
            row.append(name)
        turn += 1
    _finish(own, outputs, place, carried, collected, [0] * len(collected))


def _scan(own: _Unrolling, node: Any, place: str, scope: _Scope) -> None:
    """A turn for each element along an axis of the scanned inputs."""
    if own.versions.get("", 0) < 9:
        raise ModelError(f"{place}: expected opset 9 or later, found {own.versions.get('', 0)}")
    attributes = _attributes(node)
    body, count = attributes["body"], int(attributes["num_scan_inputs"])
    states = len(node.input) - count
    if count < 1 or states < 0:
        raise ModelError(
            f"{place}: expected num_scan_inputs of 1 to {len(node.input)}, found {count}"
        )
    _check_count(place, len(body.input), len(node.input), "inputs of its body")
    outputs = _outputs(node, len(body.output), place)
    if len(outputs) < states:
        raise ModelError(f"{place}: expected a body that gives all of its states, found fewer")
    carried, scanned = list(node.input[:states]), list(node.input[states:])
    axes = _listed(attributes, "scan_input_axes", count, place)
    backwards = _listed(attributes, "scan_input_directions", count, place)
    results = len(outputs) - states
    output_axes = _listed(attributes, "scan_output_axes", results, place)
    turned = _listed(attributes, "scan_output_directions", results, place)
    lengths = {own.length(x, axis, place) for x, axis in zip(scanned, axes, strict=True)}
    if len(lengths) != 1:
        raise ModelError(f"{place}: expected scanned inputs of one length, found {sorted(lengths)}")
    steps, collected = lengths.pop(), [[] for _ in range(results)]  # type: ignore[var-annotated]
    for step in range(steps):
        own.turn()
        prefix = f"{node.name}/{step}/"
        parts = []
        for number, (x, axis, back) in enumerate(zip(scanned, axes, backwards, strict=True)):
            index = own.constant(np.array(steps - 1 - step if back else step, np.int64), prefix)
            parts.append(own.op("Gather", [x, index], f"{prefix}part {number}", axis=axis))
        names = (one.name for one in body.input)
        inner = scope.new_child(dict(zip(names, [*carried, *parts], strict=True)))
        found = own.graph(body, inner, prefix, place)
        carried = found[:states]
        for row, name in zip(collected, found[states:], strict=True):
            row.append(name)
    for row, back in zip(collected, turned, strict=True):
        if back:
            row.reverse()
    _finish(own, outputs, place, carried, collected, output_axes)


def _finish(
    own: _Unrolling,
    outputs: Sequence[str],
    place: str,
    carried: Sequence[str],
    collected: Sequence[Sequence[str]],
    axes: Sequence[int],
) -> None:
    """Give the last states and the stacked results of all turns their names."""
    for output, name in zip(outputs, carried, strict=False):
        if output:
            own.op("Identity", [name], output)
    for output, row, axis in zip(outputs[len(carried) :], collected, axes, strict=True):
        if not output:
            continue
        if not row:
            raise ModelError(
                f"{place}: expected a turn, which gives {output!r} elements, found none"
            )
        parts = []
        for number, name in enumerate(row):
            stem = f"{output}/{number}"
            if own.versions.get("", 0) < _SINCE_AXES_INPUT:
                parts.append(own.op("Unsqueeze", [name], stem, axes=[axis]))
            else:
                where = own.constant(np.array([axis], np.int64), stem)
                parts.append(own.op("Unsqueeze", [name, where], stem))
        own.op("Concat", parts, output, axis=axis)


def _listed(attributes: Mapping[str, Any], key: str, count: int, place: str) -> list[int]:
    found = [int(each) for each in attributes.get(key, [0] * count)]
    if len(found) != count:
        raise ModelError(f"{place}: expected {count} of {key}, found {len(found)}")
    return found


def _outputs(node: Any, count: int, place: str) -> list[str]:
    """The names of so many results, "" for those that nobody reads."""
    if len(node.output) > count:
        raise ModelError(f"{place}: expected {len(node.output)} results, found {count} of its body")
    return [*node.output, *[""] * (count - len(node.output))]


def _check_count(place: str, found: int, wanted: int, what: str) -> None:
    if found != wanted:
        raise ModelError(f"{place}: expected {wanted} {what}, found {found}")


UNROLLED: dict[str, Callable[[_Unrolling, Any, str, _Scope], None]] = {
    "If": _if, "Loop": _loop, "Scan": _scan,
}  # fmt: skip
