"""Nodes at the end of a model that the client computes after decryption.

Labels and probabilities of scores cost a client nothing, and a server much.  A node belongs to the
client if it is of such a kind and all of its readers do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cloakwork.compiler.importing.reading import ML_DOMAIN
from cloakwork.compiler.importing.values import Call, Known, Later, Secret, Value

_CLIENT = Callable[[Call, "Secret | Later"], Sequence[Value]]


def _with_axis(kind: str) -> _CLIENT:
    def made(call: Call, x: Secret | Later) -> Sequence[Value]:
        older = 1 if call.version < 13 else -1
        return [call.state.step(kind, [x], axis=int(call.attribute("axis", older)))]

    return made


def _extreme(kind: str) -> _CLIENT:
    def made(call: Call, x: Secret | Later) -> Sequence[Value]:
        parameters = {
            "axis": int(call.attribute("axis", 0)),
            "keepdims": bool(call.attribute("keepdims", 1)),
            "last": bool(call.attribute("select_last_index", 0)),
        }
        if parameters["axis"] == 0:
            raise call.wrong("an axis of one input", "the batch axis")
        return [call.state.step(kind, [x], **parameters)]

    return made


def _plain(kind: str) -> _CLIENT:
    return lambda call, x: [call.state.step(kind, [x])]


def _labels(call: Call, x: Secret | Later) -> Sequence[Value]:
    """LabelEncoder of indices; keys 0, 1, ... in order."""
    keys = call.attribute("keys_int64s", None)
    classes = call.attribute("values_strings", None) or call.attribute("values_int64s", None)
    if keys is None or classes is None or list(keys) != list(range(len(keys))):
        raise call.wrong("keys 0, 1, ... with integers or texts as values", keys)
    return [call.state.step("labels", [x], classes=list(classes))]


_CLIENT_KINDS: dict[str, _CLIENT] = {
    "ArgMax": _extreme("argmax"),
    "ArgMin": _extreme("argmin"),
    "Exp": _plain("exp"),
    "LabelEncoder": _labels,
    "LogSoftmax": _with_axis("log_softmax"),
    "Sigmoid": _plain("sigmoid"),
    "Softmax": _with_axis("softmax"),
    "Tanh": _plain("tanh"),
}
# These leave values alone, or only say how they are handed out.
_PASSING = {"Cast", "Identity", "ZipMap"}
# Classes at an index, in the order (classes, index).
_CHOOSING = "ArrayFeatureExtractor"


def client_nodes(graph: Any) -> frozenset[str]:
    """The first outputs of the nodes that the client computes."""
    readers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    found: set[str] = set()
    results = {output.name for output in graph.output}
    kinds = {*_CLIENT_KINDS, *_PASSING, *_LATER_KINDS, _CHOOSING}
    for node in reversed(graph.node):
        names = [name for name in node.output if name]
        read = [reader for name in names for reader in readers.get(name, [])]
        ends = all(reader.output and reader.output[0] in found for reader in read)
        used = bool(names) and (names[0] in results or names[0] in readers)
        if node.op_type in kinds and node.domain in ("", "ai.onnx", ML_DOMAIN) and ends and used:
            found.add(names[0])
    return frozenset(found)


def client_value(call: Call) -> Sequence[Value] | None:
    """What a node of the client gives; None where the server may compute it as well."""
    x = call.value(0)
    if call.kind == _CHOOSING:
        return _chosen(call)
    if isinstance(x, Later) and call.kind in _LATER_KINDS:
        return [_LATER_KINDS[call.kind](call, x)]
    if isinstance(x, Known) or call.kind in _LATER_KINDS:
        return None
    return [x] if call.kind in _PASSING else _CLIENT_KINDS[call.kind](call, x)


def _chosen(call: Call) -> Sequence[Value] | None:
    classes, index = call.value(0), call.value(1)
    if isinstance(classes, Known) and isinstance(index, Later):
        return [call.state.step("labels", [index], classes=classes.array.ravel().tolist())]
    return None


def _reshaped(call: Call, x: Later) -> Later:
    """The client's values in one axis, or as they are: labels have a batch alone."""
    if call.kind == "Reshape":
        wanted = call.integers(1)
        if wanted in ([-1], [1], [0]):
            return call.state.step("reshape", [x], shape=[])
        if len(wanted) == 2 and wanted[0] in (-1, 0, 1):
            return call.state.step("reshape", [x], shape=[wanted[1]])
        raise call.wrong("labels to be reshaped to [batch] or [batch, n]", wanted)
    return x


def _normalized(call: Call, x: Later) -> Later:
    return call.state.step("normalize", [x], norm=str(call.attribute("norm", "MAX")))


# Of values that the client computes already.
_LATER_KINDS: dict[str, Callable[[Call, Later], Later]] = {
    "Flatten": _reshaped, "Normalizer": _normalized, "Reshape": _reshaped, "Squeeze": _reshaped,
}  # fmt: skip
