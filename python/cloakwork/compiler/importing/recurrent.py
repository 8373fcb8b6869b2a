"""RNN, LSTM and GRU, unrolled over their steps.

What depends on no earlier step, W x_t + b of all gates and steps, is one affine map.  Of each step,
all gates of one function are one vector: they are blocks of n = directions * hidden elements, and
what meets a gate in a product stands in its block.  So one function and one product serve all
gates, and matrices that are needed anyway select blocks: no level is used up for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.compiler.building import identity, selection
from cloakwork.compiler.importing.activations import (
    applied,
    clipped,
    multiplied,
    scaled,
)
from cloakwork.compiler.importing.values import Call, Secret, Value, handles

Floats = NDArray[np.float64]
# Each step takes some ten nodes.
_MOST_STEPS = 1 << 10
# The default functions of a direction, and ONNX's own order of the gates' weights.
_FUNCTIONS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
_GATES = {"RNN": "i", "GRU": "zrh", "LSTM": "iofc"}


@dataclass(frozen=True, eq=False)
class Sum:
    """sum_i A_i x_i + bias, not yet a node: A_i sparse [rows, size of x_i] by the name of x_i."""

    terms: dict[str, Any]
    bias: Floats

    @classmethod
    def constant(cls, bias: Floats) -> Sum:
        """Of no input."""
        return cls({}, bias)

    @property
    def is_zero(self) -> bool:
        """Whether it is 0 for all inputs."""
        return not self.terms and not self.bias.any()

    def __add__(self, other: Sum) -> Sum:
        terms = dict(self.terms)
        for name, matrix in other.terms.items():
            terms[name] = terms[name] + matrix if name in terms else matrix
        return Sum(terms, self.bias + other.bias)

    def __sub__(self, other: Sum) -> Sum:
        return self + other.through(identity(len(other.bias), -1.0))

    def through(self, matrix: Any) -> Sum:
        """A matrix [m, rows] times it."""
        own = sparse.csr_array(matrix)
        return Sum({name: own @ inner for name, inner in self.terms.items()}, own @ self.bias)


class _Network:
    """The weights of one node, by direction, and what its operands share.

    directions   in the order of ONNX, each of which is reversed or not
    """

    def __init__(self, call: Call, peepholes: int | None = None, states: int = 1) -> None:
        self.call, self.gates = call, _GATES[call.kind]
        direction = call.attribute("direction", "forward")
        known = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
        if direction not in known:
            raise call.wrong(f"a direction of {sorted(known)}", direction)
        self.directions = known[direction]
        self.layout = int(call.attribute("layout", 0))
        if self.layout not in (0, 1):
            raise call.wrong("a layout of 0 or 1", self.layout)
        if "clip" in call.attributes:
            hint = "remove the attribute, where arguments of the gates stay within it"
            raise call.wrong("no clip of arguments", f"clip {call.attribute('clip', 0.0)}", hint)
        self.x = self._sequence()
        self.steps = self.x.shape[self.layout]
        self._take_weights()
        self._check_lengths()
        self.peepholes = None
        if peepholes is not None and call.has(peepholes):
            self.peepholes = self._stored(peepholes, 3 * self.hidden).reshape(-1, 3, self.hidden)
        self.states = [self._state(5 + number) for number in range(states)]
        self.functions = _functions(call, len(self.directions))

    def _sequence(self) -> Secret:
        x, batch = self.call.encrypted(0), 1 - self.layout
        orders = ("[steps, batch, features]", "[batch, steps, features]")
        if len(x.shape) != 3 or x.batch != batch:
            raise self.call.wrong(
                f"an input {orders[self.layout]} of layout {self.layout}",
                f"{list(x.shape)} with its batch at axis {x.batch}",
                "transpose the input with perm=[1, 0, 2], or change the layout",
            )
        if x.shape[self.layout] > _MOST_STEPS:
            raise self.call.wrong(f"at most {_MOST_STEPS} steps", x.shape[self.layout])
        return x

    def _take_weights(self) -> None:
        """W [directions, gates, hidden, features], R [.., hidden], both biases [.., hidden]."""
        call, count, kinds = self.call, len(self.directions), len(self.gates)
        w, r, features = call.weights(1), call.weights(2), self.x.shape[2]
        self.hidden = hidden = r.shape[-1] if r.ndim == 3 else 0
        rows = kinds * hidden
        if not hidden or w.shape != (count, rows, features) or r.shape != (count, rows, hidden):
            shapes = f"W [{count}, {kinds} n, {features}] and R [{count}, {kinds} n, n]"
            raise call.wrong(shapes, f"{list(w.shape)} and {list(r.shape)}")
        if call.attribute("hidden_size", hidden) != hidden:
            raise call.wrong(f"a hidden_size of {hidden}", call.attribute("hidden_size", 0))
        self.w = w.reshape(count, kinds, hidden, features)
        self.r = r.reshape(count, kinds, hidden, hidden)
        given = self._stored(3, 2 * rows) if call.has(3) else np.zeros((count, 2 * rows))
        self.bias = given.reshape(count, 2, kinds, hidden)

    def _stored(self, index: int, length: int) -> Floats:
        """A constant [directions, length]."""
        found = self.call.weights(index)
        if found.shape != (len(self.directions), length):
            wanted = f"a constant [{len(self.directions)}, {length}] as input number {index}"
            raise self.call.wrong(wanted, list(found.shape))
        return found

    def _check_lengths(self) -> None:
        if self.call.has(4) and self.call.integers(4) != [self.steps]:
            hint = "leave it out, and pad no sequence: encrypted programs have one shape"
            found = self.call.integers(4)
            raise self.call.wrong(f"sequence_lens of [{self.steps}]", found, hint)

    def _state(self, index: int) -> Sum:
        """[directions * hidden]: where a state begins; 0 where it is left out."""
        call, count = self.call, len(self.directions) * self.hidden
        if not call.has(index):
            return Sum.constant(np.zeros(count))
        value, batch = call.value(index), 1 - self.layout
        wanted = [len(self.directions), self.hidden]
        wanted.insert(batch, 1)
        if list(getattr(value, "shape", ())) != wanted:
            found = list(getattr(value, "shape", ()))
            raise call.wrong(f"the shape {wanted} of input number {index}", found)
        if not isinstance(value, Secret):
            return Sum.constant(call.weights(index).ravel())
        if value.batch != batch:
            hint = "transpose it"
            raise call.wrong(f"a batch axis {batch} of input number {index}", value.batch, hint)
        return Sum({value.name: identity(count)}, np.zeros(count))

    def parts(self) -> Iterator[_Part]:
        """All directions together where their functions agree, else one after the other."""
        count = len(self.directions)
        same = all(own == self.functions[0] for own in self.functions)
        for chosen in [list(range(count))] if same else [[number] for number in range(count)]:
            yield _Part(self, chosen)

    def outputs(self, parts: Sequence[_Part]) -> list[Value]:
        """Y and the last states; of the second layout, the batch is in front."""
        count, length = len(self.directions), len(self.directions) * self.hidden
        shape: tuple[int, ...] = (self.steps, count, self.hidden)
        rows = np.arange(self.steps * length).reshape(self.steps, count, self.hidden)
        whole = Sum.constant(np.zeros(rows.size))
        for part in parts:
            for step, states in enumerate(part.history):
                places = [rows[part.time(step, d), d] for d in part.chosen]
                whole += states[0].through(_placed(np.concatenate(places), rows.size))
        found = [(whole, shape, 0 if self.layout else 2)]
        for number, _ in enumerate(self.states):
            last = Sum.constant(np.zeros(length))
            for part in parts:
                places = [rows[0, d] for d in part.chosen]
                last += part.history[-1][number].through(_placed(np.concatenate(places), length))
            found.append((last, shape[1:], 0 if self.layout else 1))
        return [
            self.call.affine(value.terms.items(), value.bias, inner, batch)
            for value, inner, batch in found[: self.call.outputs]
        ]


class _Part:
    """The directions that are computed at once: blocks of all their hidden elements.

    history    after each step, the states
    matrices   those of `recurrence` so far
    """

    def __init__(self, network: _Network, chosen: list[int]) -> None:
        self.network, self.call, self.chosen = network, network.call, chosen
        self.size = len(chosen) * network.hidden
        self.functions = network.functions[chosen[0]]
        self.history: list[tuple[Sum, ...]] = []
        self.matrices: dict[tuple[str, str], Any] = {}
        self._project()

    def time(self, step: int, direction: int) -> int:
        """Which element of the sequence a direction reads at a step."""
        steps = self.network.steps
        return steps - 1 - step if self.network.directions[direction] else step

    def states(self) -> tuple[Sum, ...]:
        """[size] each: those before the first step."""
        rows = np.arange(len(self.network.directions) * self.network.hidden)
        chosen = rows.reshape(-1, self.network.hidden)[self.chosen].ravel()
        return tuple(own.through(selection(chosen, rows.size)) for own in self.network.states)

    def _project(self) -> None:
        """W x + b of all steps and gates, [gates, directions, hidden] a step.

        One map makes those of all steps but the first, which meets no state: it needs no level
        but its own.
        """
        network, call = self.network, self.call
        steps, gates = network.steps, len(network.gates)
        features, rows = network.x.shape[2], gates * self.size
        call.check_weights(steps * rows * features)
        call.check_elements((steps, rows))
        shape = (steps, gates, len(self.chosen), network.hidden, features)
        weights = np.broadcast_to(network.w[self.chosen].swapaxes(0, 1), shape)
        times = np.array([[self.time(step, d) for d in self.chosen] for step in range(steps)])
        columns = times[:, None, :, None, None] * features + np.arange(features)
        places = np.arange(steps * rows).reshape(*shape[:-1], 1)
        entries = [np.broadcast_to(each, shape).ravel() for each in (weights, places, columns)]
        size = call.builder.size(network.x.name)
        matrix = sparse.csr_array(
            sparse.coo_array((entries[0], (entries[1], entries[2])), shape=(steps * rows, size))
        )
        bias = network.bias[self.chosen].swapaxes(0, 1).swapaxes(1, 2)
        # A reset gate that is multiplied in after the map takes its bias with it.
        if call.kind == "GRU" and call.attribute("linear_before_reset", 0):
            bias = bias.copy()
            bias[1, 2] = 0.0
        once = bias.sum(axis=0).ravel()
        self.projected = [Sum({network.x.name: matrix[:rows]}, once)]
        if steps > 1:
            rest = call.affine([(network.x.name, matrix[rows:])], np.tile(once, steps - 1),
                               ((steps - 1) * rows,))  # fmt: skip
            blocks = np.arange((steps - 1) * rows).reshape(steps - 1, rows)
            self.projected += [
                Sum({rest.name: selection(block, blocks.size)}, np.zeros(rows)) for block in blocks
            ]

    def argument(self, step: int, names: str, h: Sum, gains: str | None = None) -> Sum:
        """W x + R h + b of some gates, in their order; R h of `gains` alone, by default of all."""
        gates = self.network.gates
        rows = np.arange(len(gates) * self.size).reshape(len(gates), -1)
        picked = selection(rows[[gates.index(name) for name in names]], rows.size)
        taken = names if gains is None else gains
        return self.projected[step].through(picked) + h.through(self.recurrence(names, taken))

    def recurrence(self, names: str, taken: str) -> Any:
        """R of some gates, 0 for those that are not taken: block-diagonal in the directions."""
        if (names, taken) in self.matrices:
            return self.matrices[names, taken]
        network = self.network
        empty = sparse.csr_array((network.hidden, network.hidden))
        blocks = []
        for name in names:
            gate = network.gates.index(name)
            own = [network.r[d, gate] if name in taken else empty for d in self.chosen]
            blocks.append(sparse.block_diag(own))
        found = self.matrices[names, taken] = sparse.csr_array(sparse.vstack(blocks))
        return found

    def stored(self, array: Floats) -> Floats:
        """[directions, n, hidden] of all directions, as [n, size] of these."""
        return array[self.chosen].swapaxes(0, 1).reshape(array.shape[1], self.size)

    def block(self, place: int, count: int) -> Any:
        """The matrix [size, count * size] that selects a block; its transpose puts it there."""
        first = place * self.size
        return selection(np.arange(first, first + self.size), count * self.size)

    def node(self, value: Sum) -> Secret:
        """The value as a node: an Affine, or what it selects whole."""
        if len(value.terms) == 1 and not value.bias.any():
            ((name, matrix),) = value.terms.items()
            same = matrix.shape[0] == matrix.shape[1] == matrix.nnz
            if same and (matrix - identity(matrix.nnz)).nnz == 0:
                return Secret(name, (1, matrix.nnz))
        terms = value.terms or {self.network.x.name: self._nothing(len(value.bias))}
        return self.call.affine(terms.items(), value.bias, (len(value.bias),))

    def _nothing(self, rows: int) -> Any:
        return sparse.csr_array((rows, self.call.builder.size(self.network.x.name)))

    def function(self, number: int, argument: Sum) -> Secret:
        """A function of the list, element by element."""
        return self.functions[number].applied(self.call, self.node(argument))

    def times(self, gates: Secret, value: Sum) -> Sum:
        """Gates times a value of as many elements."""
        if not value.terms:
            return Sum({gates.name: sparse.diags_array(value.bias)}, np.zeros(len(value.bias)))
        return whole(multiplied(self.call, gates, self.node(value)))


def whole(x: Secret) -> Sum:
    """All elements of a node."""
    count = int(np.prod(x.shape))
    return Sum({x.name: identity(count)}, np.zeros(count))


def _placed(rows: NDArray[np.int64], size: int) -> Any:
    """The matrix [size, len(rows)] that puts elements into rows."""
    return sparse.csr_array(selection(rows.ravel(), size).T)


@handles("RNN")
def rnn(call: Call) -> list[Value]:
    """H = f(W x + R H + b)."""
    network = _Network(call)
    parts = list(network.parts())
    for part in parts:
        (h,) = part.states()
        for step in range(network.steps):
            h = whole(part.function(0, part.argument(step, "i", h)))
            part.history.append((h,))
    return network.outputs(parts)


@handles("GRU")
def gru(call: Call) -> list[Value]:
    """H = h + z (H - h), h = g(W x + R (r H) + b)."""
    network = _Network(call)
    parts = list(network.parts())
    for part in parts:
        (h,) = part.states()
        for step in range(network.steps):
            h = _gru_step(part, step, h)
            part.history.append((h,))
    return network.outputs(parts)


def _gru_step(part: _Part, step: int, h: Sum) -> Sum:
    """Blocks are (z, r): both times H in one product, z h in another."""
    before = bool(part.call.attribute("linear_before_reset", 0))
    reset = h
    if before:
        bias = part.stored(part.network.bias[:, 1])[2]
        reset = h.through(part.recurrence("h", "h")) + Sum.constant(bias)
    # Of a state 0, the reset gate has nothing to reset.
    names = "z" if reset.is_zero else "zr"
    first, last = part.block(0, len(names)), part.block(len(names) - 1, len(names))
    gates = part.function(0, part.argument(step, names, h))
    operand = h.through(first.T)
    if "r" in names:
        operand += reset.through(last.T)
    kept = part.times(gates, operand)
    argument = part.argument(step, "h", h, gains="")
    if "r" in names:
        found = kept.through(last)
        argument += found if before else found.through(part.recurrence("h", "h"))
    new = part.function(1, argument.through(first.T))
    found = whole(new) + kept - part.times(gates, whole(new))
    return whole(part.node(found)).through(first)


@handles("LSTM")
def lstm(call: Call) -> list[Value]:
    """C = f C + i c, H = o h(C)."""
    network = _Network(call, peepholes=7, states=2)
    parts = list(network.parts())
    for part in parts:
        h, c = part.states()
        for step in range(network.steps):
            h, c = _lstm_step(part, step, h, c)
            part.history.append((h, c))
    return network.outputs(parts)


def _lstm_step(part: _Part, step: int, h: Sum, c: Sum) -> tuple[Sum, Sum]:
    """Blocks are (i, f, o); with peepholes, the output gate reads the new C, and stands alone."""
    coupled = bool(part.call.attribute("input_forget", 0))
    stored = part.network.peepholes
    # In the order i, o, f.
    peepholes = None if stored is None else part.stored(stored)
    names = ("i" if coupled else "if") + ("o" if peepholes is None else "")
    count, first = len(names), part.block(0, len(names))
    argument = part.argument(step, names, h)
    if peepholes is not None:
        diagonals = [sparse.diags_array(peepholes["iof".index(name)]) for name in names]
        argument += c.through(sparse.vstack(diagonals))
    gates = part.function(0, argument)
    new = whole(part.function(1, part.argument(step, "c", h).through(first.T)))
    if coupled:
        # (1 - i) C + i c = C + i (c - C)
        cell = c + part.times(gates, new - c.through(first.T)).through(first)
        cell = cell if c.is_zero else whole(part.node(cell))
    else:
        # What the function makes of 0 is taken from the block of the forget gate again.
        forget, rest = part.block(1, count), np.full(part.size, part.functions[1].at_zero)
        both = part.times(gates, new + (c - Sum.constant(rest)).through(forget.T))
        cell = both.through(first if c.is_zero else first + forget)
    if peepholes is not None:
        weights = sparse.diags_array(peepholes[1])
        output = part.function(0, part.argument(step, "o", h) + cell.through(weights))
        return part.times(output, whole(part.function(2, cell))), cell
    place = part.block(count - 1, count)
    squashed = whole(part.function(2, cell.through(place.T)))
    return part.times(gates, squashed).through(place), cell


# Functions of gates by their names in lower case: the numbers that they take, and ONNX's defaults.
_TAKEN: dict[str, dict[str, float | None]] = {
    "affine": {"alpha": None, "beta": None}, "elu": {"alpha": 1.0},
    "hardsigmoid": {"alpha": 0.2, "beta": 0.5}, "leakyrelu": {"alpha": 0.01}, "relu": {},
    "scaledtanh": {"alpha": None, "beta": None}, "sigmoid": {}, "softplus": {}, "softsign": {},
    "tanh": {}, "thresholdedrelu": {"alpha": 1.0},
}  # fmt: skip


@dataclass(frozen=True)
class _Activation:
    """A function of a gate, with its numbers."""

    kind: str
    alpha: float = 0.0
    beta: float = 0.0

    @property
    def at_zero(self) -> float:
        """Of 0."""
        known = {
            "affine": self.beta,
            "hardsigmoid": min(max(self.beta, 0.0), 1.0),
            "sigmoid": 0.5,
            "softplus": log(2.0),
        }
        return known.get(self.kind, 0.0)

    def applied(self, call: Call, x: Secret) -> Secret:
        """Of each element."""
        alpha, beta = self.alpha, self.beta
        known = {
            "affine": lambda: scaled(call, x, alpha, beta),
            "elu": lambda: applied(call, x, "elu", alpha=alpha),
            "hardsigmoid": lambda: clipped(call, scaled(call, x, alpha, beta), 0.0, 1.0),
            "leakyrelu": lambda: applied(call, x, "leaky_relu", slope=alpha),
            "scaledtanh": lambda: scaled(call, applied(call, scaled(call, x, beta), "tanh"), alpha),
            "thresholdedrelu": lambda: multiplied(
                call, x, applied(call, scaled(call, x, 1.0, -alpha), "step")
            ),
        }
        return known.get(self.kind, partial(applied, call, x, self.kind))()


def _functions(call: Call, count: int) -> list[tuple[_Activation, ...]]:
    """The functions of each direction."""
    own = _FUNCTIONS[call.kind]
    given = list(call.attribute("activations", own * count))
    kinds = [str(name).lower() for name in given]
    for name, kind in zip(given, kinds, strict=True):
        if kind not in _TAKEN:
            raise call.wrong(f"activations of {sorted(_TAKEN)}", name)
    if len(kinds) != count * len(own):
        raise call.wrong(f"{count * len(own)} activations, {len(own)} a direction", given)
    alphas, betas = (_numbers(call, kinds, name) for name in ("alpha", "beta"))
    found = [_Activation(*each) for each in zip(kinds, alphas, betas, strict=True)]
    return [tuple(found[number * len(own) :][: len(own)]) for number in range(count)]


def _numbers(call: Call, kinds: Sequence[str], name: str) -> list[float]:
    """activation_alpha or -beta of each function, 0 for those that take none.

    ONNX states them in the order of functions: of all, or of those alone that take one.
    """
    given = [float(each) for each in call.attribute(f"activation_{name}", [])]
    takes = [name in _TAKEN[kind] for kind in kinds]
    if not np.isfinite(given).all():
        raise call.wrong(f"finite activation_{name}", given)
    if not given:
        lacking = [k for k in kinds if name in _TAKEN[k] and _TAKEN[k][name] is None]
        if lacking:
            raise call.wrong(f"an activation_{name} of {lacking[0]}", "none", "state it")
        return [float(_TAKEN[kind].get(name) or 0.0) for kind in kinds]
    if len(given) not in (len(kinds), sum(takes)):
        wanted = f"{sum(takes)} numbers, one for each function that takes one of {list(kinds)}"
        raise call.wrong(f"an activation_{name} of {wanted}", given)
    if len(given) == len(kinds):
        return [own if taken else 0.0 for own, taken in zip(given, takes, strict=True)]
    left = iter(given)
    return [next(left) if taken else 0.0 for taken in takes]
