"""The beginning of a model, which acts on one client's plain inputs: the client computes it.

Categories, missing values and the like cannot be computed encrypted.  They, and what they need, go
to the client where they depend on inputs alone, element by element: no trained maps are among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.compiler.building import Builder
from cloakwork.compiler.client_head import ClientHead
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.cutting import client_step
from cloakwork.compiler.importing.activations import spread
from cloakwork.compiler.importing.composite import threshold_of
from cloakwork.compiler.importing.quantized import of_client
from cloakwork.compiler.importing.reading import FLOAT_TYPES, ML_DOMAIN, OWN_DOMAIN
from cloakwork.compiler.importing.values import HANDLERS, Call, Early, Handler, Reading, Secret
from cloakwork.compiler.nodes import Input

__all__ = ["HEAD_OPS", "Head", "embedded", "head_nodes"]

# The wholes to which a Cast may round, of onnx.TensorProto, and truths.
_WHOLE_TYPES = {2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64"}
_TRUTH = 9
# FLOAT, FLOAT16 and BFLOAT16: what a client gives is rounded to float32, as constants are.
_ROUNDED = (1, 10, 16)
# Nodes that only move values, and those that are maps with numbers of the model.
_FREE = {
    "ArrayFeatureExtractor", "Cast", "Concat", "DequantizeLinear", "Flatten", "Gather", "Identity",
    "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze",
}  # fmt: skip
_MAPS = {"Add", "Div", "Mul", "Scaler", "Sub"}
# Nodes of constants and one value that the server could compute, and the client may for others.
_PLAIN = {
    "Abs", "Add", "And", "ArrayFeatureExtractor", "Cast", "Clip", "Concat", "Div", "Exp", "Flatten",
    "Gather", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Log", "Max", "Min",
    "Mul", "Neg", "Not", "Pow", "Reciprocal", "Relu", "Reshape", "Scaler", "Sign", "Slice", "Split",
    "Sqrt", "Squeeze", "Sub", "Transpose", "Unsqueeze", "Where",
}  # fmt: skip


def _step(call: Call, x: Secret, kind: str, shape: Sequence[int], **parameters: Any) -> Secret:
    """A step of the client, whose result [1, *shape] later ones read."""
    name = call.builder.fresh(kind)
    call.state.steps.append(ClientStep(name, kind, (x.name,), parameters))
    return Secret(call.builder.input(name, tuple(shape)), (1, *shape))


def _alike(kind: str) -> Handler:
    def handler(call: Call) -> Secret:
        x = call.secret(0)
        return _step(call, x, kind, x.shape[1:])

    return handler


def _one_hot(call: Call) -> Secret:
    x, known = call.secret(0), call.attribute("cats_int64s", None)
    if not known:
        raise call.wrong("categories that are numbers", "others", "encode texts as numbers first")
    shape = (*x.shape[1:], len(known))
    allowed = bool(call.attribute("zeros", 1))
    return _step(call, x, "one_hot", shape, categories=list(map(float, known)), unknown=allowed)


def _mapped(call: Call) -> Secret:
    x = call.secret(0)
    keys, values = (_numbers(call, name) for name in ("keys", "values"))
    default = call.attribute("default_float", call.attribute("default_int64", None))
    if "default_tensor" in call.attributes:
        default = float(np.ravel(call.attribute("default_tensor", 0.0))[0])
    if default is None:
        default = -0.0 if "values_floats" in call.attributes else -1.0
    return _step(call, x, "mapped", x.shape[1:], keys=keys, values=values, default=float(default))


def _numbers(call: Call, stem: str) -> list[float]:
    for kind in ("floats", "int64s", "tensor"):
        found = call.attribute(f"{stem}_{kind}", None)
        if found is not None and np.asarray(found).dtype.kind in "fiu":
            listed: list[float] = np.asarray(found, dtype=np.float64).ravel().tolist()
            return listed
    raise call.wrong(f"{stem} that are numbers", "others", "encode texts as numbers first")


def _imputed(call: Call) -> Secret:
    x = call.secret(0)
    whole = call.attribute("imputed_value_int64s", None)
    values = call.attribute("imputed_value_floats", whole)
    missing = call.attribute("replaced_value_float", call.attribute("replaced_value_int64", None))
    if not values or len(values) not in (1, x.shape[-1]):
        raise call.wrong("a value, or one for each feature", values)
    return _step(
        call, x, "imputed", x.shape[1:], values=list(map(float, values)),
        missing=None if missing is None or np.isnan(missing) else float(missing),
    )  # fmt: skip


def _normalized(call: Call) -> Secret:
    x = call.secret(0)
    if len(x.shape) != 2:
        raise call.wrong("features [batch, n]", list(x.shape))
    return _step(call, x, "normalize", x.shape[1:], norm=str(call.attribute("norm", "MAX")))


def _above(call: Call) -> Secret:
    x = call.secret(0)
    return _step(call, x, "above", x.shape[1:], threshold=threshold_of(call))


def _cast(call: Call) -> Secret:
    x, to = call.secret(0), int(call.attribute("to", 1))
    if to in FLOAT_TYPES:
        return x
    if to == _TRUTH:
        return _step(call, x, "cast", x.shape[1:], to="bool")
    if to not in _WHOLE_TYPES:
        raise call.wrong("a cast to floats, integers or truths", f"type {to}")
    return _step(call, x, "cast", x.shape[1:], to=_WHOLE_TYPES[to])


def _extreme(kind: str) -> Handler:
    def handler(call: Call) -> Secret:
        x = call.secret(0)
        axis = call.axis(int(call.attribute("axis", 0)), x)
        keep = bool(call.attribute("keepdims", 1))
        shape = [*x.shape[1:axis], *([1] if keep else []), *x.shape[axis + 1 :]]
        last = bool(call.attribute("select_last_index", 0))
        return _step(call, x, kind, shape, axis=axis, keepdims=keep, last=last)

    return handler


def _quantiles(call: Call) -> Secret:
    x = call.secret(0)
    tables = {name: _table(call, name) for name in ("quantiles", "shares", "normal")}
    quantiles, shares = tables["quantiles"], tables["shares"]
    if quantiles.shape != (x.shape[-1], shares.size) or len(x.shape) != 2:
        raise call.wrong("quantiles of each feature", [quantiles.shape, shares.shape])
    return _step(
        call, x, "quantiles", x.shape[1:], quantiles=quantiles.tolist(), shares=shares.tolist(),
        normal=bool(tables["normal"].any()),
    )  # fmt: skip


def _bins(call: Call) -> Secret:
    x = call.secret(0)
    tables = {name: _table(call, name) for name in ("edges", "counts", "one_hot")}
    counts = [int(one) for one in tables["counts"]]
    if len(x.shape) != 2 or len(counts) != x.shape[-1]:
        raise call.wrong("edges of each feature", len(counts))
    hot = bool(tables["one_hot"].any())
    shape = (sum(counts) + len(counts),) if hot else x.shape[1:]
    return _step(call, x, "bins", shape, edges=tables["edges"].tolist(), counts=counts, one_hot=hot)


def _made_normal(call: Call) -> Secret:
    x, lambdas = call.secret(0), _table(call, "lambdas")
    if len(x.shape) != 2 or lambdas.shape != (x.shape[-1],):
        raise call.wrong("a power for each feature", lambdas.shape)
    positive = bool(_table(call, "positive").any())
    shape = x.shape[1:]
    return _step(call, x, "made_normal", shape, lambdas=lambdas.tolist(), positive=positive)


def _splines(call: Call) -> Secret:
    x = call.secret(0)
    knots, degree = _table(call, "knots"), int(_table(call, "degree")[0])
    if knots.ndim != 2 or len(knots) != x.shape[-1] or len(x.shape) != 2:
        raise call.wrong("knots of each feature", knots.shape)
    count = x.shape[-1] * (knots.shape[1] - degree - 1)
    return _step(call, x, "splines", (count,), knots=knots.tolist(), degree=degree)


def _table(call: Call, name: str) -> NDArray[np.float64]:
    return np.asarray(call.attribute(name, []), dtype=np.float64)


def _powers(call: Call) -> Secret:
    x = call.secret(0)
    exponents = spread(call, call.weights(1), x)
    return _step(call, x, "powers", x.shape[1:], exponents=exponents.ravel().tolist())


def _choice(call: Call) -> Secret:
    x = call.secret(0)
    inputs, numbers = [x.name], dict[str, list[float]]()
    for name, index in (("first", 1), ("second", 2)):
        value = call.value(index)
        if not isinstance(value, Secret):
            numbers[name] = spread(call, call.weights(index), x).ravel().tolist()
        elif value.shape == x.shape:
            inputs.append(value.name)
        else:
            raise call.wrong("operands of one shape", (x.shape, value.shape))
    name = call.builder.fresh("choice")
    call.state.steps.append(ClientStep(name, "choice", tuple(inputs), numbers))
    return Secret(call.builder.input(name, x.shape[1:]), x.shape)


def _categories(call: Call) -> Secret:
    x = call.secret(0)
    tables = {name: _table(call, name) for name in ("values", "counts", "one_hot", "unknown")}
    counts = [int(one) for one in tables["counts"]]
    if len(x.shape) != 2 or len(counts) != x.shape[-1]:
        raise call.wrong("categories of each feature", len(counts))
    hot = bool(tables["one_hot"].any())
    more = {"default": float(_table(call, "default")[0])} if "default" in call.attributes else {}
    return _step(
        call, x, "categories", (sum(counts),) if hot else x.shape[1:],
        values=tables["values"].tolist(), counts=counts, one_hot=hot,
        unknown=bool(tables["unknown"].any()), **more,
    )  # fmt: skip


def _filled(call: Call) -> Secret:
    x, values, missing = call.secret(0), _table(call, "values"), _table(call, "missing")
    if len(x.shape) != 2 or values.shape != x.shape[1:]:
        raise call.wrong("a value for each feature", values.shape)
    marked = float(missing[0]) if missing.size else None
    return _step(call, x, "imputed", x.shape[1:], values=values.tolist(), missing=marked)


def _places(call: Call, x: Secret) -> list[int]:
    """The columns of features that a node takes."""
    found = [int(one) for one in _table(call, "columns")]
    if len(x.shape) != 2 or not found or min(found) < 0 or max(found) >= x.shape[1]:
        raise call.wrong(f"columns of features {list(x.shape)}", found)
    return found


def _columns(call: Call) -> Secret:
    x = call.secret(0)
    columns = _places(call, x)
    return _step(call, x, "columns", (len(columns),), columns=columns)


def _missing(call: Call) -> Secret:
    x = call.secret(0)
    columns = _places(call, x)
    strict = bool(_table(call, "strict").any())
    return _step(call, x, "missing", (len(columns),), columns=columns, strict=strict)


def _of_length_one(call: Call) -> Secret:
    x = call.secret(0)
    if len(x.shape) != 2:
        raise call.wrong("features [batch, n]", list(x.shape))
    return _step(call, x, "of_length_one", x.shape[1:], norm=str(call.attribute("norm", "l2")))


def _weighted_counts(call: Call) -> Secret:
    x, weights = call.secret(0), _table(call, "weights").tolist()
    if len(x.shape) != 2 or len(weights) != x.shape[1]:
        raise call.wrong("a weight for each feature", len(weights))
    return _step(
        call, x, "weighted_counts", x.shape[1:], weights=weights,
        logarithms=bool(_table(call, "logarithms").any()), norm=str(call.attribute("norm", "none")),
    )  # fmt: skip


def _chi_squared(call: Call) -> Secret:
    x, steps = call.secret(0), int(_table(call, "steps")[0])
    if len(x.shape) != 2 or steps < 1:
        raise call.wrong("features [batch, n] and 1 step or more", [list(x.shape), steps])
    interval, width = float(_table(call, "interval")[0]), x.shape[-1] * (2 * steps - 1)
    return _step(call, x, "chi_squared", (width,), steps=steps, interval=interval)


def _scaled(call: Call) -> Secret:
    """In the model's own order of operations, so that it rounds as the model does."""
    x = call.secret(0)
    steps = [(name, _table(call, name)) for name in ("less", "by", "times", "plus")
             if name in call.attributes]  # fmt: skip
    if len(x.shape) != 2 or any(numbers.shape != (x.shape[-1],) for _, numbers in steps):
        raise call.wrong("numbers for each feature", [numbers.shape for _, numbers in steps])
    return _step(call, x, "scaled", x.shape[1:], steps=[(n, v.tolist()) for n, v in steps])


def _quantized(call: Call) -> Secret:
    x = call.secret(0)
    return _step(call, x, "quantized", x.shape[1:], **of_client(call, x).rounding())


def _dequantized(call: Call) -> Secret:
    x = call.secret(0)
    return _step(call, x, "dequantized", x.shape[1:], **of_client(call, x).parameters())


def _equal(call: Call) -> Secret:
    place = 0 if isinstance(call.value(0), Secret) else 1
    x = call.secret(place)
    values = spread(call, call.weights(1 - place), x)
    return _step(call, x, "equal", x.shape[1:], values=values.ravel().tolist())


# What only the client computes; other nodes are taken there for these alone.
_ONLY: dict[tuple[str, str], Handler] = {
    (ML_DOMAIN, "Binarizer"): _above,
    (ML_DOMAIN, "Imputer"): _imputed,
    (ML_DOMAIN, "LabelEncoder"): _mapped,
    (ML_DOMAIN, "Normalizer"): _normalized,
    (ML_DOMAIN, "OneHotEncoder"): _one_hot,
    (OWN_DOMAIN, "Above"): _above,
    (OWN_DOMAIN, "Bins"): _bins,
    (OWN_DOMAIN, "Categories"): _categories,
    (OWN_DOMAIN, "ChiSquared"): _chi_squared,
    (OWN_DOMAIN, "Columns"): _columns,
    (OWN_DOMAIN, "Imputed"): _filled,
    (OWN_DOMAIN, "Missing"): _missing,
    (OWN_DOMAIN, "OfLengthOne"): _of_length_one,
    (OWN_DOMAIN, "PowerTransform"): _made_normal,
    (OWN_DOMAIN, "Quantiles"): _quantiles,
    (OWN_DOMAIN, "Splines"): _splines,
    (OWN_DOMAIN, "WeightedCounts"): _weighted_counts,
    ("", "ArgMax"): _extreme("argmax"),
    ("", "ArgMin"): _extreme("argmin"),
    ("", "Ceil"): _alike("ceil"),
    ("", "Equal"): _equal,
    ("", "Floor"): _alike("floor"),
    ("", "IsNaN"): _alike("is_missing"),
    ("", "QuantizeLinear"): _quantized,
    ("", "Round"): _alike("round"),
}
# What the client computes in another way than the server.
_OTHERWISE: dict[tuple[str, str], Handler] = {
    (OWN_DOMAIN, "Scaled"): _scaled,
    ("", "Cast"): _cast,
    ("", "DequantizeLinear"): _dequantized,
    ("", "Pow"): _powers,
    ("", "Where"): _choice,
}
HEAD_OPS = frozenset(kind for _, kind in _ONLY)


def embedded(call: Call, head: Head) -> Secret:
    """Rows of a constant at early indices: of one-hot vectors, which are encrypted, a map.

    So the client learns how many rows there are, and nothing of them.
    """
    table, index = call.weights(0), call.value(1)
    assert isinstance(index, Early)
    if call.any_axis(int(call.attribute("axis", 0)), table.ndim) != 0:
        raise call.wrong("rows that are taken from the first axis", call.attribute("axis", 0))
    x, count = index.value, len(table)
    call.check_elements((*x.shape, count))
    before = replace(call, state=head.state)
    hot = _step(before, x, "one_hot", (*x.shape[1:], count),
                categories=list(map(float, range(count))), unknown=False)  # fmt: skip
    places = head.state.builder.size(x.name)
    call.check_weights(places * table.size)
    matrix = sparse.kron(sparse.eye_array(places), table.reshape(count, -1).T)
    own = head.encrypted(Early(hot, f"{index.label} one-hot"), call.builder)
    return call.affine([(own.name, matrix)], 0.0, (*x.shape[1:], *table.shape[1:]))


def _domain(node: Any) -> str:
    return "" if node.domain == "ai.onnx" else str(node.domain)


def _is_only(node: Any) -> bool:
    """Whether the server cannot compute a node."""
    if (_domain(node), node.op_type) in _ONLY:
        return True
    types = [attribute.i for attribute in node.attribute if attribute.name == "to"]
    return node.op_type == "Cast" and any(to not in FLOAT_TYPES for to in types)


def head_nodes(
    nodes: Sequence[Any], graph: Any, client: Iterable[str]
) -> tuple[frozenset[str], set[str]]:
    """The first outputs of nodes of the head, and the inputs that it reads.

    The head is all that only the client can compute, and what that needs; and what joins or changes
    its values in ways that cost levels or ciphertexts, but for maps with numbers of the model.

    client   the first outputs of nodes that it computes after decryption
    """
    fixed = {tensor.name for tensor in graph.initializer} | {""}
    early = {given.name for given in graph.input} - fixed
    inputs, later = set(early), set(client)
    able: list[Any] = []
    for node in nodes:
        read = {name for name in node.input if name not in fixed}
        if not read:
            fixed.update(node.output)
        elif read <= early and not later.intersection(node.output) and _is_able(node, fixed):
            able.append(node)
            early.update(node.output)
    own = {name for node in able for name in node.output}
    # What the server's part depends on.
    needed = {name for node in nodes if not own.intersection(node.output) for name in node.input}
    for node in reversed(able):
        if needed.intersection(node.output):
            needed.update(node.input)
    useful = [node for node in able if needed.intersection(node.output)]
    # Indices of constants cannot be computed encrypted either.
    wanted = {node.input[1] for node in nodes if _is_embedding(node, fixed)} & early
    wanted.update(name for node in useful if _is_only(node) for name in node.output)
    wanted = _with_sources(useful, wanted)
    behind = wanted & own
    for node in useful:
        if not behind.intersection(node.input):
            continue
        behind.update(node.output)
        several = len([name for name in node.input if name not in fixed]) > 1
        if several or node.op_type not in _FREE | _MAPS:
            more = _with_sources(useful, {*wanted, *node.output})
            maps = (x for x in useful if x is not node and _is_map(x, fixed))
            if not any(more.intersection(x.output) - wanted for x in maps):
                wanted = more
    return frozenset(node.output[0] for node in able if node.output[0] in wanted), wanted & inputs


def _with_sources(nodes: Sequence[Any], wanted: set[str]) -> set[str]:
    """Names, with those of all that they are computed from."""
    found = set(wanted)
    for node in reversed(nodes):
        if found.intersection(node.output):
            found.update({*node.input, *node.output})
    return found


def _is_map(node: Any, fixed: set[str]) -> bool:
    """Whether it applies numbers of the model."""
    if node.op_type in ("Scaler", "Scaled"):
        return True
    kinds = {*_MAPS, "Clip", "Max", "Min", "Pow", "Where"}
    return node.op_type in kinds and not fixed.isdisjoint(filter(None, node.input))


def _is_embedding(node: Any, fixed: set[str]) -> bool:
    return node.op_type == "Gather" and len(node.input) == 2 and node.input[0] in fixed


def _is_able(node: Any, fixed: set[str]) -> bool:
    if _is_embedding(node, fixed):
        return False
    key = (_domain(node), node.op_type)
    return key in _ONLY or key in _OTHERWISE or (node.op_type in _PLAIN and key in HANDLERS)


@dataclass
class Head:
    """The head of a model while it is read.

    nodes    the first outputs of its nodes
    read     the inputs that it reads
    given    the shapes of the model's inputs
    taken    by early value: the name under which it is encrypted
    rounded  by inputs rounded to float32: the inputs
    """

    nodes: frozenset[str]
    read: set[str]
    given: dict[str, tuple[int, ...]] = field(default_factory=dict)
    state: Reading = field(default_factory=lambda: Reading(Builder(name="head")))
    taken: dict[str, str] = field(default_factory=dict)
    rounded: dict[str, str] = field(default_factory=dict)

    def starts(self, name: str, shape: tuple[int, ...]) -> bool:
        """Whether it reads an input of the model, which is noted."""
        self.given[name] = shape
        return name in self.read

    def early(self, name: str, shape: tuple[int, ...], kind: int) -> Early:
        """An input of the model that the head reads, rounded to the type that it declares."""
        own = self.state.builder.input(name, shape)
        if kind in _ROUNDED:
            cast = self.state.builder.fresh("cast")
            self.state.steps.append(ClientStep(cast, "cast", (own,), {"to": "float32"}))
            self.rounded[self.state.builder.input(cast, shape)] = own
            own = cast
        return Early(Secret(own, (1, *shape)), name)

    @staticmethod
    def handler(domain: str, kind: str) -> Handler | None:
        """Of a node of the head."""
        key = (domain, kind)
        return _ONLY.get(key) or _OTHERWISE.get(key) or HANDLERS.get(key)

    def encrypted(self, early: Early, builder: Builder) -> Secret:
        """The value as an input of the graph."""
        value = early.value
        # What is encrypted has noise beyond the rounding of its type.
        value = replace(value, name=self.rounded.get(value.name, value.name))
        if value.name not in self.taken:
            name = early.label
            if value.name not in self.given:
                known = {node.output for node in self.state.builder.nodes}
                while name in known or name != builder.fresh(name):
                    name = f"{name}."
            self.taken[value.name] = builder.input(name, value.inner)
        return replace(value, name=self.taken[value.name])

    def result(self, inputs: Iterable[str]) -> ClientHead | None:
        """All of it; None where there is nothing to do.

        inputs   what is encrypted
        """
        if not self.read:
            return None
        own = {step.output: step for step in self.state.steps}
        steps = [
            own.get(node.output) or client_step(node)
            for node in self.state.builder.nodes
            if node.output in own or not isinstance(node, Input)
        ]
        renamed = {old: new for old, new in self.taken.items() if old not in self.given}
        tail = ClientTail(tuple(inputs), tuple(step.renamed(renamed) for step in steps))
        return ClientHead(self.given, tail.needed())
