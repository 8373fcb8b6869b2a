"""Making a Graph node by node: names are made up where none is given, matrices are made sparse."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from cloakwork.compiler import functions
from cloakwork.compiler.client_tail import ClientTail
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Evaluate, Function, Input, Node, Product, Source
from cloakwork.errors import ModelError

__all__ = ["Builder", "diagonal", "fresh_name", "identity", "selection"]

Shape = Sequence[int]


def selection(indices: ArrayLike, size: int) -> Any:
    """The csr_array [n, size] with y_i = x_{indices[i]}; an index of -1 gives 0."""
    columns = np.asarray(indices, dtype=np.int64).ravel()
    kept = np.flatnonzero(columns >= 0)
    return sparse.csr_array((np.ones(len(kept)), (kept, columns[kept])), shape=(len(columns), size))


def identity(size: int, scale: float = 1.0) -> Any:
    """The csr_array [size, size] with y = scale x."""
    return sparse.csr_array(sparse.diags_array(np.full(size, scale)))


def diagonal(weights: ArrayLike) -> Any:
    """The csr_array with y_i = weights[i] x_i."""
    return sparse.csr_array(sparse.diags_array(np.asarray(weights, dtype=np.float64).ravel()))


def _canonical(matrix: Any) -> Any:
    """A csr_array float64 with sorted indices, without duplicates and stored zeros."""
    made = sparse.csr_array(matrix, dtype=np.float64)
    if not made.has_canonical_format or not made.data.all():
        made = made.copy()
        made.sum_duplicates()
        made.eliminate_zeros()
    return made


def fresh_name(stem: str, *taken: Container[str], first: int = 1) -> str:
    """`stem`, or `stem.1`, ...: a name that none of these has."""
    found, count = stem, max(first, 1)
    while any(found in names for names in taken):
        found = f"{stem}.{count}"
        count += 1
    return found


class Builder:
    """Appends nodes; each method returns the name of the value that it adds.

    reserved   names that no new value takes, unless it is given one by `add` or `input`
    """

    def __init__(self, nodes: Iterable[Node] = (), name: str = "model") -> None:
        self.nodes: list[Node] = list(nodes)
        self.name = name
        self.source = Source()
        self.reserved: set[str] = set()
        self.doubts: dict[str, str] = {}
        self._shapes = {node.output: tuple(node.shape) for node in self.nodes}

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a value, without the batch axis."""
        return self._shapes[name]

    def size(self, name: str) -> int:
        """The number of elements of a value."""
        return prod(self._shapes[name])

    def fresh(self, stem: str, first: int = 1) -> str:
        """`stem`, or `stem.1`, ...: a name that no value has yet."""
        return fresh_name(stem, self._shapes, self.reserved, first=first)

    def add(self, node: Node) -> str:
        """Append a node."""
        self.nodes.append(node)
        self._shapes[node.output] = tuple(node.shape)
        return node.output

    def input(self, name: str, shape: Shape) -> str:
        """A value that the client encrypts."""
        return self.add(Input(name, tuple(shape)))

    def affine(
        self,
        terms: Iterable[tuple[str, Any]],
        bias: ArrayLike = 0.0,
        shape: Shape | None = None,
        name: str = "affine",
    ) -> str:
        """Sum A_i x_i + bias; matrices dense or sparse, those of one input are added up."""
        merged: dict[str, Any] = {}
        for value, matrix in terms:
            made = _canonical(matrix)
            merged[value] = merged[value] + made if value in merged else made
        if not merged:
            raise ModelError(f"Affine {name!r}: expected at least one term, found none")
        size = next(iter(merged.values())).shape[0]
        offset = np.broadcast_to(np.asarray(bias, dtype=np.float64).ravel(), (size,)).copy()
        return self.add(
            Affine(
                self.fresh(name),
                tuple(shape) if shape is not None else (size,),
                tuple(merged.items()),
                offset,
                source=self.source,
            )
        )

    def scaled(self, value: str, scale: ArrayLike = 1.0, offset: ArrayLike = 0.0) -> str:
        """Scale x + offset, element by element; numbers or arrays of the value's shape."""
        shape = self.shape(value)
        weights = np.broadcast_to(np.asarray(scale, dtype=np.float64), shape)
        bias = np.broadcast_to(np.asarray(offset, dtype=np.float64), shape)
        return self.affine([(value, diagonal(weights))], bias, shape)

    def sum(self, values: Sequence[str], scales: Sequence[float] | None = None) -> str:
        """Sum scales[i] x_i of values of one size, in the shape of the first."""
        weights = scales or [1.0] * len(values)
        terms = [
            (value, identity(self.size(value), weight))
            for value, weight in zip(values, weights, strict=True)
        ]
        return self.affine(terms, shape=self.shape(values[0]))

    def select(self, value: str, indices: ArrayLike, shape: Shape | None = None) -> str:
        """The elements at flat indices, in the shape of the indices unless another is given."""
        positions = np.asarray(indices, dtype=np.int64)
        matrix = selection(positions, self.size(value))
        return self.affine([(value, matrix)], shape=positions.shape if shape is None else shape)

    def product(self, a: str, b: str, name: str = "product") -> str:
        """A b, element by element, in the shape of a."""
        return self.add(Product(self.fresh(name), self.shape(a), a, b, source=self.source))

    def function(self, value: str, kind: str, **parameters: float) -> str:
        """kind(x), with the kind's own parameters where none are given."""
        defaults = functions.FUNCTIONS[kind].parameters if kind in functions.FUNCTIONS else {}
        made = Function(
            self.fresh(kind),
            self.shape(value),
            value,
            kind,
            {**defaults, **parameters},
            source=self.source,
        )
        return self.add(made)

    def evaluate(self, value: str, polynomial: Any, name: str = "polynomial") -> str:
        """polynomial(x), a fhe.Polynomial."""
        made = Evaluate(self.fresh(name), self.shape(value), value, polynomial, source=self.source)
        return self.add(made)

    def doubt(self, value: str, terms: Iterable[tuple[str, Any]], bias: float) -> None:
        """A doubt of a value: an affine map to one element, 0 in exact arithmetic."""
        self.doubts[self.affine(terms, bias, name="doubt")] = value

    def graph(self, outputs: Sequence[str], client_tail: ClientTail | None = None) -> Graph:
        """All of it, checked."""
        tail = client_tail if client_tail is not None else ClientTail(tuple(outputs))
        nodes, doubts = tuple(self.nodes), dict(self.doubts)
        return Graph(nodes, tuple(outputs), tail, self.name, doubts=doubts)
