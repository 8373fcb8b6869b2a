"""Nodes at the end of a model that the client computes after decryption.

Labels and probabilities of scores cost a client nothing, and a server much.  A node belongs to the
client if it is of such a kind and all of its readers do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cloakwork.compiler.client_tail import ClientStep
from cloakwork.compiler.importing.quantized import at_the_end
from cloakwork.compiler.importing.reading import FLOAT_TYPES, ML_DOMAIN, OWN_DOMAIN, onnx_module
from cloakwork.compiler.importing.results import check_cast
from cloakwork.compiler.importing.values import (
    HANDLERS,
    Call,
    Early,
    Known,
    Later,
    Reading,
    Secret,
    Value,
)

# Steps whose results are labels or indices.
_WHOLE = ("above", "argmax", "argmin", "descended", "labels", "top_indices")
# Of whole numbers, and what is made of them: as many as scores, in their shape.
_ROUNDED = ("dequantized", "quantized")
# Of values whose number is known when they are decrypted.
_MOST_TOP = 1 << 24
_CLIENT = Callable[[Call, "Secret | Later"], Sequence[Value]]


def _axis(call: Call, x: Secret | Later, default: int) -> int:
    """The axis of a node, which must not be the batch's."""
    axis = int(call.attribute("axis", default))
    if isinstance(x, Secret):
        call.axis(axis, x)
    elif axis == 0:
        raise call.wrong("an axis of one input", "the batch axis")
    return axis


def _with_axis(kind: str) -> _CLIENT:
    def made(call: Call, x: Secret | Later) -> Sequence[Value]:
        axis = _axis(call, x, 1 if call.version < 13 else -1)
        flat = isinstance(x, Secret) and axis in (-1, len(x.shape) - 1)
        if call.version < 13 and isinstance(x, Secret) and not flat:
            hint = "export the model with opset 13 or newer"
            raise call.wrong(f"the last axis of {list(x.shape)}", axis, hint)
        return [call.state.step(kind, [x], axis=axis)]

    return made


def _extreme(kind: str) -> _CLIENT:
    def made(call: Call, x: Secret | Later) -> Sequence[Value]:
        parameters = {
            "axis": _axis(call, x, 0),
            "keepdims": bool(call.attribute("keepdims", 1)),
            "last": bool(call.attribute("select_last_index", 0)),
        }
        return [call.state.step(kind, [x], **parameters)]

    return made


def _top(call: Call, x: Secret | Later) -> Sequence[Value]:
    """Values and indices.  In any order they may be in this one: `sorted` changes nothing."""
    given = np.ravel(call.setting("k", 1))
    axis = _axis(call, x, -1)
    most = x.shape[axis] if isinstance(x, Secret) else _MOST_TOP
    if given.size != 1 or given.dtype.kind not in "iu" or not 1 <= int(given[0]) <= most:
        raise call.wrong(f"a k of 1 to {most}", given.tolist())
    parameters = {
        "k": int(given[0]),
        "axis": axis,
        "largest": bool(call.attribute("largest", 1)),
    }
    return [call.state.step(f"top_{kind}", [x], **parameters) for kind in ("values", "indices")]


def _plain(kind: str) -> _CLIENT:
    return lambda call, x: [call.state.step(kind, [x])]


def _cast(call: Call, x: Secret | Later) -> Sequence[Value]:
    """Floats stay as they are, as do labels; a cast of the client's numbers drops fractions.

    Of decrypted numbers it drops none: where they are whole in plain, they are whole but for noise.
    """
    onnx = onnx_module()
    to = int(call.attribute("to", 1))
    if isinstance(x, Secret):
        check_cast(call, to)
        return [x]
    if to in FLOAT_TYPES or _is_label(call, x):
        return [x]
    if to not in (onnx.TensorProto.INT64, onnx.TensorProto.INT32):
        raise call.wrong("a cast to floats or integers of 32 or 64 bits", f"type {to}")
    kind = "int64" if to == onnx.TensorProto.INT64 else "int32"
    return [call.state.step("cast", [x], to=kind)]


def _is_label(call: Call, x: Later) -> bool:
    """Whether a value is a label or an index, perhaps in another shape."""
    own = origin_of(call.state, x)
    return own is not None and own.kind in _WHOLE


def origin_of(state: Reading, value: Later) -> ClientStep | None:
    """The step that gives a value, perhaps in another shape."""
    steps = {step.output: step for step in state.steps}
    own = steps.get(value.name)
    while own is not None and own.kind == "reshape":
        own = steps.get(own.inputs[0])
    return own


def _labels(call: Call, x: Secret | Later) -> Sequence[Value]:
    """LabelEncoder of indices; keys 0, 1, ... in order."""
    keys = call.attribute("keys_int64s", None)
    classes = call.attribute("values_strings", None) or call.attribute("values_int64s", None)
    if keys is None or classes is None or list(keys) != list(range(len(keys))):
        raise call.wrong("keys 0, 1, ... with integers or texts as values", keys)
    return [call.state.step("labels", [x], classes=list(classes))]


def _averaged(call: Call, x: Secret | Later) -> Sequence[Value]:
    """The weighted sum of values of one shape."""
    weights = np.ravel(call.attribute("weights", []))
    values = [each for each in call.inputs if isinstance(each, Secret | Later)]
    if len(values) != len(call.inputs) or len(values) != weights.size:
        raise call.wrong("a weight for each value", weights.size)
    return [call.state.step("average", values, weights=weights.tolist())]


def _against_rest(call: Call, x: Secret | Later) -> Sequence[Value]:
    classes = int(np.ravel(call.attribute("classes", 0))[0])
    return [call.state.step("one_vs_rest", [x], classes=classes)]


def _table(call: Call, name: str) -> list[float]:
    found: list[float] = np.asarray(call.attribute(name, []), dtype=np.float64).tolist()
    return found


def _per_class(call: Call, x: Secret | Later) -> Sequence[Value]:
    """Of each class times a number, plus one."""
    steps = [(name, _table(call, name)) for name in ("times", "plus")]
    return [call.state.step("scaled", [x], steps=steps)]


# Tables of numbers of classes, targets or nodes, and what is a text.
_PLACES, _TEXTS = {"left", "order", "right"}, {"read", "result"}


def _of_several(kind: str, *names: str) -> _CLIENT:
    """A step of `client_ensembles` with these tables; `known` has rows of places, -1 for none."""

    def made(call: Call, x: Secret | Later) -> Sequence[Value]:
        values = [each for each in call.inputs if isinstance(each, Secret | Later)]
        tables: dict[str, Any] = {
            name: str(call.attribute(name, "")) if name in _TEXTS else _table(call, name)
            for name in names
        }
        for name in _PLACES.intersection(names):
            tables[name] = [int(one) for one in tables[name]]
        if "known" in names:
            tables["known"] = [[int(one) for one in own if one >= 0] for own in tables["known"]]
        return [call.state.step(kind, values, **tables)]

    return made


_CLIENT_KINDS: dict[str, _CLIENT] = {
    "ArgMax": _extreme("argmax"),
    "ArgMin": _extreme("argmin"),
    "Cast": _cast,
    "Exp": _plain("exp"),
    "Hardmax": _with_axis("hardmax"),
    "LabelEncoder": _labels,
    "LogSoftmax": _with_axis("log_softmax"),
    "QuantizeLinear": lambda call, x: [at_the_end(call, x)],
    "Sigmoid": _plain("sigmoid"),
    "Sign": _plain("sign"),
    "Softmax": _with_axis("softmax"),
    "Tanh": _plain("tanh"),
    "TopK": _top,
}
# Nodes of conversions of ours.
_OWN_KINDS: dict[str, _CLIENT] = {
    "Average": _averaged,
    "Ballots": _of_several("ballots", "known", "weights"),
    "Chained": _of_several("chained", "weights", "order", "read", "result"),
    "Descended": _of_several("descended", "left", "right"),
    "OneVsRest": _against_rest,
    "PerClass": _per_class,
    "WeightedMedian": _of_several("weighted_median", "weights"),
}
# These leave values alone, or only say how they are handed out.
_PASSING = {"Identity", "ZipMap"}
# Classes at an index, in the order (classes, index).
_CHOOSING = "ArrayFeatureExtractor"


def client_nodes(nodes: Sequence[Any], graph: Any) -> frozenset[str]:
    """The first outputs of the nodes that the client computes, of those on which outputs depend."""
    readers: dict[str, list[Any]] = {}
    for node in nodes:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    found: set[str] = set()
    results = {output.name for output in graph.output}
    numbers = {tensor.name for tensor in graph.initializer if list(tensor.dims) in ([], [1])}
    kinds = {*_CLIENT_KINDS, *_PASSING, *_LATER_KINDS, _CHOOSING}
    for node in reversed(nodes):
        names = [name for name in node.output if name]
        read = [reader for name in names for reader in readers.get(name, [])]
        ends = all(reader.output and reader.output[0] in found for reader in read)
        used = any(name in results or name in readers for name in names)
        own = node.op_type in kinds and node.domain in ("", "ai.onnx", ML_DOMAIN)
        own = own or (node.op_type in _OWN_KINDS and node.domain == OWN_DOMAIN)
        scales = node.op_type != "Mul" or not numbers.isdisjoint(node.input)
        if own and scales and ends and used:
            found.add(names[0])
    return frozenset(found)


def client_value(call: Call) -> Sequence[Value] | None:
    """The results of a node of the client; None where the server may compute it as well."""
    x = call.value(0)
    if call.kind == "Mul" and isinstance(x, Known):
        x = call.value(1)
    assert not isinstance(x, Early)
    if call.kind == _CHOOSING:
        return _chosen(call)
    if isinstance(x, Later) and call.kind in _LATER_KINDS:
        return [_LATER_KINDS[call.kind](call, x)]
    if isinstance(x, Known) or call.kind in _LATER_KINDS:
        return None
    if isinstance(x, Secret) and x.batch is None and x.shape[:1] == (1,):
        x = call.apart(x)
    if isinstance(x, Secret) and x.batch != 0 and call.kind not in _PASSING:
        # The client's steps have the batch in front; the server's functions need not.
        if ("", call.kind) in HANDLERS:
            return None
        call.in_front(x)
    if call.kind in _PASSING:
        return [x]
    return {**_CLIENT_KINDS, **_OWN_KINDS}[call.kind](call, x)


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
    own = origin_of(call.state, x)
    if own is not None and own.kind in _ROUNDED:
        if call.kind == "Flatten" and int(call.attribute("axis", 1)) == 1:
            return call.state.step("reshape", [x], shape=[-1])
        hint = "flatten by Flatten(axis=1), or before the last quantisation"
        raise call.wrong("rounded scores to be flattened", call.kind, hint)
    return x


def _normalized(call: Call, x: Later) -> Later:
    return call.state.step("normalize", [x], norm=str(call.attribute("norm", "MAX")))


def _scaled(call: Call, x: Later) -> Later:
    """Times a number."""
    number = next(value for value in call.inputs if isinstance(value, Known))
    scale = float(number.array.ravel()[0])
    return x if scale == 1.0 else call.state.step("affine", [x], scale=scale)


# Of values that the client computes already.
_LATER_KINDS: dict[str, Callable[[Call, Later], Later]] = {
    "DequantizeLinear": at_the_end, "Flatten": _reshaped, "Mul": _scaled,
    "Normalizer": _normalized, "Reshape": _reshaped, "Squeeze": _reshaped,
}  # fmt: skip
# Nodes that only the client computes, or computes more cheaply.
CLIENT_OPS = frozenset({*_CLIENT_KINDS, *_LATER_KINDS, "ZipMap"})
