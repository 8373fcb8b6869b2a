"""A model as a graph of affine maps, products and functions: what all of the compiler works on.

>>> import numpy as np
>>> from cloakwork.compiler.building import Builder
>>> builder = Builder()
>>> x = builder.input("x", (2,))
>>> hidden = builder.affine([(x, [[1.0, 2.0], [0.0, 1.0], [1.0, 1.0]])], [0.0, 1.0, -1.0])
>>> active = builder.function(hidden, "relu")
>>> graph = builder.graph([builder.affine([(active, [[1.0, 1.0, 1.0]])])])
>>> print(graph.describe())
node      output    shape  reads             from
Input     x         [2]
Affine    affine    [3]    x (5 weights)
Function  relu      [3]    affine (relu)
Affine    affine.1  [1]    relu (3 weights)
>>> graph.run({"x": np.array([[1.0, -1.0], [0.0, 2.0]])})
{'affine.1': array([[0.],
       [8.]])}
>>> graph.trace_ranges(np.array([[1.0, -1.0], [0.0, 2.0]]))["x"]
(array([ 0., -1.]), array([1., 2.]))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.client_head import ClientHead
from cloakwork.compiler.client_tail import ClientTail
from cloakwork.compiler.nodes import (
    Affine,
    Evaluate,
    Floats,
    Function,
    Input,
    Node,
    Product,
)
from cloakwork.errors import ModelError

__all__ = ["Graph"]

# The elements of a batch that `trace_ranges` computes at once.
_CHUNK_ELEMENTS = 1 << 22


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in an order in which each reads only earlier ones, checked at construction.

    outputs       names of the values that the server returns, encrypted
    client_tail   what the client computes from them; by default nothing
    client_head   what it computes before encryption; by default nothing
    name          for reports
    spare_levels  levels that outputs keep, for more room above their values; by default none
    doubts        names of values [1] of Affines, 0 in exact arithmetic, each with the name of
                  another: how far at most its elements are off where a step is neither 0 nor 1.
                  Such values stay nodes; "" where none needs to
    units         of outputs: what each element [size] is multiplied by before the client's steps,
                  powers of two; by default nothing
    """

    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    client_tail: ClientTail = field(default_factory=lambda: ClientTail(()))
    name: str = "model"
    spare_levels: Mapping[str, int] = field(default_factory=dict)
    doubts: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, Floats] = field(default_factory=dict)
    client_head: ClientHead | None = None

    def __post_init__(self) -> None:
        sizes: dict[str, int] = {}
        for node in self.nodes:
            self._check_node(node, sizes)
            sizes[node.output] = node.size
        if not self.inputs:
            raise ModelError(f"{self.name}: expected at least one input to encrypt, found none")
        if not self.outputs or len(set(self.outputs)) != len(self.outputs):
            raise ModelError(f"{self.name}: expected different outputs, found {self.outputs}")
        for name in self.kept:
            if name not in sizes:
                raise ModelError(f"{self.name}: the output {name!r} is the result of no node")
        if not self.client_tail.results:
            object.__setattr__(self, "client_tail", ClientTail(self.outputs))
        self.client_tail.check(self.outputs)
        if self.client_head is not None:
            self.client_head.check({node.output for node in self.inputs})

    @staticmethod
    def _check_node(node: Node, sizes: Mapping[str, int]) -> None:
        place = f"{type(node).__name__} {node.output!r}"
        if node.output in sizes:
            raise ModelError(f"{place}: expected a name of its own, found it twice")
        if any(length < 1 for length in node.shape):
            raise ModelError(f"{place}: expected lengths of 1 or more, found {list(node.shape)}")
        for name in node.inputs:
            if name not in sizes:
                raise ModelError(f"{place}: reads {name!r}, which no earlier node computes")
        node.check(sizes)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The values that the client encrypts."""
        return tuple(node for node in self.nodes if isinstance(node, Input))

    @property
    def kept(self) -> tuple[str, ...]:
        """The names of values that are needed though no node may read them."""
        return (*self.outputs, *self.doubts)

    @property
    def results(self) -> tuple[str, ...]:
        """The names of the model's results, those that `finish` returns."""
        return self.client_tail.results

    def __getitem__(self, name: str) -> Node:
        """The node of a value; KeyError if there is none."""
        for node in self.nodes:
            if node.output == name:
                return node
        raise KeyError(name)

    def readers(self) -> dict[str, list[Node]]:
        """The nodes that read each value, in order; a square reads its operand once."""
        found: dict[str, list[Node]] = {node.output: [] for node in self.nodes}
        for node in self.nodes:
            for name in dict.fromkeys(node.inputs):
                found[name].append(node)
        return found

    def run(self, inputs: Mapping[str, ArrayLike] | ArrayLike) -> dict[str, Floats]:
        """The outputs in float64, [batch, *shape], before what the client computes.

        Takes inputs [batch, *shape] by name, or the only input itself.  ModelError names an input
        that is missing, unknown, of another shape, or not finite, and a function without a value.
        """
        return {
            node.output: values.reshape(len(values), *node.shape)
            for node, values in self.steps(inputs)
            if node.output in self.outputs
        }

    def finish(self, outputs: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
        """The results of the model from its decrypted outputs, as the client computes them."""
        return self.client_tail.run(self.in_units_of_results(outputs))

    def in_units_of_results(self, outputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Outputs [batch, *shape] times their units."""
        return {
            name: values * self.units[name].reshape(values.shape[1:])
            if name in self.units
            else values
            for name, values in outputs.items()
        }

    def check_given(self, given: Mapping[str, ArrayLike] | ArrayLike) -> dict[str, Floats]:
        """The user's inputs as float64 [batch, *shape] by name; ModelError for refused ones."""
        if self.client_head is not None:
            return self.client_head.checked(given)
        found = self.check_inputs(given)
        return {node.output: found[node.output].reshape(-1, *node.shape) for node in self.inputs}

    def prepare(
        self, given: Mapping[str, ArrayLike] | ArrayLike
    ) -> Mapping[str, ArrayLike] | ArrayLike:
        """The values to encrypt of the user's inputs, as the client computes them."""
        return given if self.client_head is None else self.client_head.run(given)

    def predict(
        self, inputs: Mapping[str, ArrayLike] | ArrayLike
    ) -> dict[str, NDArray[np.generic]]:
        """The results of the model for plain inputs: `finish` of `run` of `prepare`."""
        return self.finish(self.run(self.prepare(inputs)))

    def steps(self, inputs: Mapping[str, ArrayLike] | ArrayLike) -> Iterator[tuple[Node, Floats]]:
        """Each node with its values float64 [batch, size], which are freed after their last use."""
        given = self.check_inputs(inputs)
        last = {name: node for node in self.nodes for name in node.inputs}
        values: dict[str, Floats] = {}
        for node in self.nodes:
            found = given[node.output] if isinstance(node, Input) else node.values(values)
            yield node, found
            if node.output in last:
                values[node.output] = found
            for name in set(node.inputs):
                if last[name] is node:
                    del values[name]

    def trace_ranges(
        self, sample: Mapping[str, ArrayLike] | ArrayLike
    ) -> dict[str, tuple[Floats, Floats]]:
        """The smallest and largest value of each element on a sample, float64 [size], by name."""
        given = self.check_inputs(sample)
        count = len(next(iter(given.values())))
        widest = max(node.size for node in self.nodes)
        chunk = max(1, _CHUNK_ELEMENTS // widest)
        found: dict[str, tuple[Floats, Floats]] = {}
        for start in range(0, count, chunk):
            part = {
                node.output: given[node.output][start : start + chunk].reshape(-1, *node.shape)
                for node in self.inputs
            }
            for node, values in self.steps(part):
                low, high = values.min(axis=0), values.max(axis=0)
                if node.output in found:
                    low = np.minimum(low, found[node.output][0])
                    high = np.maximum(high, found[node.output][1])
                found[node.output] = (low, high)
        return found

    def check_inputs(self, inputs: Mapping[str, ArrayLike] | ArrayLike) -> dict[str, Floats]:
        """The inputs as finite float64 [batch, size], one batch for all; ModelError otherwise."""
        given = inputs if isinstance(inputs, Mapping) else {self.inputs[0].output: inputs}
        names = {node.output for node in self.inputs}
        if given.keys() != names:
            raise ModelError(f"expected the inputs {sorted(names)}, found {sorted(given)}")
        found = {node.output: _checked(node, given[node.output]) for node in self.inputs}
        batches = {name: len(array) for name, array in found.items()}
        if len(set(batches.values())) != 1:
            raise ModelError(f"expected inputs of one batch, found the batches {batches}")
        return found

    def describe(self) -> str:
        """A table of the nodes, and what the client computes."""
        heads = ("node", "output", "shape", "reads", "from")
        rows = [heads, *map(_row, self.nodes)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        head = "" if self.client_head is None else self.client_head.describe()
        return "\n".join([*lines, *filter(None, [head, self.client_tail.describe()])])


def _row(node: Node) -> tuple[str, str, str, str, str]:
    if isinstance(node, Affine):
        reads = ", ".join(f"{name} ({matrix.nnz} weights)" for name, matrix in node.terms)
    elif isinstance(node, Product):
        reads = f"{node.a}^2" if node.a == node.b else f"{node.a}, {node.b}"
    elif isinstance(node, Function):
        given = [f"{name} {value:g}" for name, value in node.parameters.items()]
        reads = f"{node.input} ({', '.join([node.kind, *given])})"
    elif isinstance(node, Evaluate):
        reads = f"{node.input} ({node.polynomial!r})"
    else:
        reads = ", ".join(node.inputs)
    return type(node).__name__, node.output, str(list(node.shape)), reads, str(node.source)


def _checked(node: Input, given: ArrayLike) -> Floats:
    place = f"input {node.output!r}"
    expected = f"{place}: expected finite real numbers [batch, {', '.join(map(str, node.shape))}]"
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise ModelError(f"{expected}: {error}") from error
    if array.dtype.kind not in "fiub":
        raise ModelError(f"{expected}, found the dtype {array.dtype}")
    if array.shape[1:] != node.shape or array.ndim != len(node.shape) + 1 or len(array) == 0:
        raise ModelError(f"{expected}, found {list(array.shape)}")
    floats = array.astype(np.float64).reshape(len(array), node.size)
    wrong = np.argwhere(~np.isfinite(floats))
    if len(wrong):
        row, column = map(int, wrong[0])
        raise ModelError(f"{expected}, found {floats[row, column]} in row {row}")
    return floats
