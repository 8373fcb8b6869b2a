"""Fewer nodes for the same values: chains of Affines are composed, permutations fold away.

An Affine A2 (A1 x + b1) + b2 becomes (A2 A1) x + (A2 b1 + b2) where A1 selects or scales single
elements, or has no other reader and the product stores no more weights than both.  A permutation
before a function moves behind it, where an Affine takes it in.  An identity disappears.  A value
that depends on no input is an Affine without weights, whose bias its readers take in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from cloakwork.compiler.building import diagonal
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Evaluate, Function, Input, Node, Product

__all__ = ["simplified"]

# A product of matrices is tried if it takes at most this many multiplications a stored weight.
_TRIED = 64


def simplified(graph: Graph) -> Graph:
    """The same outputs for the same inputs, from fewer nodes.  No input disappears."""
    return _Pass(graph).result()


def is_monomial(matrix: Any) -> bool:
    """Whether each element of A x is a multiple of one element of x, or 0."""
    return bool((np.diff(matrix.indptr) <= 1).all())


def is_permutation(node: Node) -> bool:
    """Whether a node only reorders the elements of its one operand."""
    if not isinstance(node, Affine) or len(node.terms) != 1 or node.bias.any():
        return False
    matrix = node.terms[0][1]
    rows, columns = matrix.shape
    if rows != columns or matrix.nnz != rows or not (matrix.data == 1).all():
        return False
    each = np.array_equal(np.diff(matrix.indptr), np.ones(rows))
    return bool(each and len(np.unique(matrix.indices)) == rows)


def is_identity(node: Node) -> bool:
    """Whether a node's elements are those of its one operand, in their order."""
    if not isinstance(node, Affine) or not is_permutation(node):
        return False
    return bool(np.array_equal(node.terms[0][1].indices, np.arange(node.size)))


class _Pass:
    """One walk over the nodes, each of which reads nodes that are simple already."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: dict[str, Node] = {}
        self.outputs = set(graph.kept)
        self.doubtful = set(graph.doubts.values())
        self.alive = _alive(graph.nodes, self.outputs)
        # Names of values that are the same elements as another.
        self.same: dict[str, str] = {}
        self.uses: dict[str, set[str]] = {node.output: set() for node in graph.nodes}
        for node in self.alive:
            for name in node.inputs:
                self.uses[name].add(node.output)

    def result(self) -> Graph:
        for node in self.alive:
            self._take(self._renamed(node))
        nodes = self._without_last_identities()
        return replace(self.graph, nodes=tuple(_alive(nodes, self.outputs)))

    def _take(self, node: Node) -> None:
        node = self._without_constants(node)
        if isinstance(node, Affine):
            self._take_affine(node)
        elif isinstance(node, Function) and is_permutation(self.nodes[node.input]):
            inner, order = self._before(node.input)
            moved = replace(node, output=self._fresh(node.output), input=inner)
            self._append_permuted(moved, node, order)
        elif isinstance(node, Product) and self._same_order(node):
            (a, order), (b, _) = self._before(node.a), self._before(node.b)
            moved_product = replace(node, output=self._fresh(node.output), a=a, b=b)
            self._append_permuted(moved_product, node, order)
        else:
            self._append(node)

    def _without_constants(self, node: Node) -> Node:
        """A function of constants, or a product with them, as an Affine."""
        known = {name: bias for name in node.inputs if (bias := self._constant(name)) is not None}
        if isinstance(node, Function | Evaluate) and known:
            values = node.values({name: bias[np.newaxis] for name, bias in known.items()})
            operand = self.nodes[node.input].inputs[0]
            matrix = sparse.csr_array((node.size, self.nodes[operand].size))
            terms, bias = ((operand, matrix),), values[0]
        elif isinstance(node, Product) and known:
            name, other = (node.a, node.b) if node.a in known else (node.b, node.a)
            terms, bias = ((other, diagonal(known[name])),), np.zeros(node.size)
        else:
            return node
        for operand, _ in terms:
            self.uses[operand].add(node.output)
        for name in set(known) - {operand for operand, _ in terms}:
            self._forget_use(name, node.output)
        return Affine(node.output, node.shape, _merged(terms), bias, source=node.source)

    def _constant(self, name: str) -> Any:
        """The elements of a value that depends on no input; None for any other."""
        node = self.nodes[name]
        return node.bias if isinstance(node, Affine) and node.nonzeros == 0 else None

    def _take_affine(self, node: Affine) -> None:
        if not all(matrix.nnz for _, matrix in node.terms):
            node = replace(node, terms=_merged(node.terms))
        node = self._composed(node)
        if is_identity(node) and node.output not in self.outputs | self.doubtful:
            target = node.inputs[0]
            self.same[node.output] = target
            self.uses[target] |= self.uses[node.output]
            self.uses[target].discard(node.output)
        else:
            self._append(node)

    def _append(self, node: Node) -> None:
        self.nodes[node.output] = node
        for name in node.inputs:
            self.uses[name].add(node.output)

    def _append_permuted(self, moved: Node, node: Node, order: Any) -> None:
        """The moved node, and what it gives in the order that readers of `node` expect."""
        self.uses[moved.output] = {node.output}
        self._append(moved)
        for name in set(node.inputs):
            self._forget_use(name, node.output)
        bias = np.zeros(node.size)
        terms = ((moved.output, order),)
        self._take_affine(Affine(node.output, node.shape, terms, bias, source=node.source))

    def _before(self, name: str) -> tuple[str, Any]:
        """The operand and the matrix of a permutation."""
        node = self.nodes[name]
        assert isinstance(node, Affine)
        return node.terms[0]

    def _same_order(self, node: Product) -> bool:
        """Whether both factors were permuted alike."""
        a, b = self.nodes[node.a], self.nodes[node.b]
        if not (is_permutation(a) and is_permutation(b)):
            return False
        return np.array_equal(self._before(node.a)[1].indices, self._before(node.b)[1].indices)

    def _fresh(self, stem: str) -> str:
        found, count = f"{stem}.inner", 0
        while found in self.uses:
            count += 1
            found = f"{stem}.inner.{count}"
        return found

    def _renamed(self, node: Node) -> Node:
        """The node, reading the values that others stand for."""
        if not any(name in self.same for name in node.inputs):
            return node

        def now(name: str) -> str:
            return self.same.get(name, name)

        if isinstance(node, Affine):
            terms = _merged((now(name), matrix) for name, matrix in node.terms)
            return replace(node, terms=terms)
        if isinstance(node, Product):
            return replace(node, a=now(node.a), b=now(node.b))
        return replace(node, input=now(node.inputs[0]))  # type: ignore[type-var]

    def _composed(self, node: Affine) -> Affine:
        """The node with each Affine operand taken in, where that is no more work."""
        kept: set[str] = set()
        while True:
            waiting = [name for name in node.inputs if name not in kept]
            if not waiting:
                return node
            taken = self._taken_in(node, waiting[0])
            if taken is None:
                kept.add(waiting[0])
            else:
                node = taken

    def _taken_in(self, node: Affine, name: str) -> Affine | None:
        inner = self.nodes[name]
        if not isinstance(inner, Affine) or name in self.doubtful:
            return None
        outer = dict(node.terms)[name]
        is_free = all(is_monomial(matrix) for _, matrix in inner.terms) and len(inner.terms) == 1
        is_alone = self.uses[name] <= {node.output} and name not in self.outputs
        if not is_free and not (is_alone and _is_worth_trying(outer, inner)):
            return None
        products = [(operand, outer @ matrix) for operand, matrix in inner.terms]
        if not is_free and sum(p.nnz for _, p in products) > outer.nnz + inner.nonzeros:
            return None
        for operand in inner.inputs:
            self.uses[operand].add(node.output)
        self._forget_use(name, node.output)
        rest = [term for term in node.terms if term[0] != name]
        return replace(
            node,
            terms=_merged([*rest, *products]),
            bias=np.asarray(node.bias + outer @ inner.bias),
            source=inner.source + node.source,
        )

    def _forget_use(self, name: str, reader: str) -> None:
        """Drop the operands of a value without readers, which have one reader less."""
        self.uses[name].discard(reader)
        if not self.uses[name] and name not in self.outputs:
            for operand in self.nodes[name].inputs:
                self._forget_use(operand, name)

    def _without_last_identities(self) -> list[Node]:
        """An output that is another value in another shape takes that value's place."""
        nodes = list(self.nodes.values())
        for node in self.nodes.values():
            if node.output not in self.outputs or not is_identity(node):
                continue
            target = node.inputs[0]
            if target in self.outputs | self.doubtful or isinstance(self.nodes[target], Input):
                continue
            if any(target in other.inputs for other in nodes if other is not node):
                continue
            named = {"output": node.output, "shape": node.shape}
            made = replace(self.nodes[target], **named)  # type: ignore[type-var]
            nodes = [made if other.output == target else other for other in nodes]
            nodes.remove(node)
        return nodes


def _is_worth_trying(outer: Any, inner: Affine) -> bool:
    """Whether the product can be small, and takes a bounded time."""
    work = sum(int(np.diff(matrix.indptr)[outer.indices].sum()) for _, matrix in inner.terms)
    stored = int(outer.nnz) + inner.nonzeros
    most = outer.shape[0] * sum(int(matrix.shape[1]) for _, matrix in inner.terms)
    return most <= stored or work <= _TRIED * stored


def _merged(terms: Iterable[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """The matrices of one operand added up; operands without weights are left out, but for one."""
    found: dict[str, Any] = {}
    for name, matrix in terms:
        found[name] = found[name] + matrix if name in found else matrix
    made = [(name, _tidy(matrix)) for name, matrix in found.items()]
    return tuple([term for term in made if term[1].nnz] or made[:1])


def _tidy(matrix: Any) -> Any:
    made = sparse.csr_array(matrix)
    made.sum_duplicates()
    made.eliminate_zeros()
    return made


def _alive(nodes: Iterable[Node], outputs: set[str]) -> list[Node]:
    """The nodes on which outputs depend, and all inputs."""
    needed = set(outputs)
    kept: list[Node] = []
    for node in reversed(list(nodes)):
        if node.output in needed or isinstance(node, Input):
            needed.update(node.inputs)
            kept.append(node)
    return kept[::-1]
