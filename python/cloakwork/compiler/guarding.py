"""Values that must stay within known ranges, and an output that proves to the client that they did.

A polynomial approximates a function on a domain alone, and a result that outgrows the modulus
wraps around.  Interval arithmetic over the accepted inputs tells which values always stay where
they must.  For the others the program computes a norm: the sum of (x / d)^p, p = 2, 4, ... 32, over
a value's elements, where d is how large they may be.  It is at least the largest |x / d|^p, so that
a sum of at most 1 proves that all elements are within.  p is the least for which the sample's norms
have room.  The client decrypts the sums, and refuses results where one is above 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, inf, log2

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Evaluate, Input, Node, Product
from cloakwork.compiler.reach import Range, possible

__all__ = ["GUARD", "Guarded", "Norm", "guarded"]

Floats = NDArray[np.float64]

GUARD = "range check"
# Exponents p, as log2; the sample's norms are at most this share of what proves the range.
_SQUARINGS, _SHARE = range(1, 6), 0.92
# Arguments beyond a domain by less than this share are within it.
_ROUNDING = 1e-6
# Products are guarded where outputs could need so many bits more than those of the sample.
_MORE_BITS = 5.0
# The least share by which the sums of squares of other inputs may exceed the sample's.
_LEAST_MARGIN = 0.1
# Sums are scaled by a power of two down to this one, to keep those of any input from wrapping.
_SCALE_BITS = 6


@dataclass(frozen=True)
class Norm:
    """A guarded value.

    value     its name; `source` where it comes from
    middle, size   elements x are within when |x - middle| <= size
    log       log2 of p
    """

    value: str
    source: str
    middle: float
    size: float
    log: int

    def __str__(self) -> str:
        return f"{self.value} ({self.source})" if self.source else self.value


@dataclass(frozen=True, eq=False)
class Guarded:
    """A graph with its guards.

    graph      with one more output, `GUARD`, [norms], if there are norms
    norms      the guarded values
    limit      the largest element of the output that proves that the values stayed within
    reach      by value: the range of each element for all accepted inputs that pass the guards
    unproven   values that no norm can guard: results may be wrong without a word
    """

    graph: Graph
    norms: tuple[Norm, ...]
    limit: float
    reach: Mapping[str, Range]
    unproven: tuple[str, ...] = ()

    @property
    def output(self) -> str:
        """The name of the output with the sums, if there are norms."""
        return self.graph.outputs[-1]


def guarded(
    graph: Graph, box: Mapping[str, Range], sample: Mapping[str, Floats], margin: float
) -> Guarded:
    """A graph of polynomials, with guards for what the inputs of a box could bring out of range.

    box      by input: the range of each element [size]
    sample   inputs [rows, *shape] by name, which must pass
    """
    walk = _Walk(graph, box, _norms(graph, sample), margin, squares=False)
    wanted = graph.trace_ranges(sample)
    if _bits(walk.reach, graph.outputs) > _bits(wanted, graph.outputs) + _MORE_BITS:
        walk = _Walk(graph, box, walk.sizes, margin, squares=True)
    if not walk.norms:
        return Guarded(graph, (), 1.0, walk.reach, tuple(walk.unproven))
    return _with_output(graph, walk)


def _bits(ranges: Mapping[str, Range], names: tuple[str, ...]) -> float:
    largest = max(float(np.abs(edge).max()) for name in names for edge in ranges[name])
    return log2(max(largest, 1.0)) if largest < inf else inf


def _domain(node: Evaluate) -> tuple[float, float] | None:
    """The middle and half length of where a polynomial approximates; None for an exact one."""
    if node.polynomial.basis != "chebyshev":
        return None
    low, high = node.polynomial.domain
    return (low + high) / 2, (high - low) / 2


# The largest p-norm [log2 p] of a value on the sample, by its name, middle and size.
_Sizes = dict[tuple[str, float], Floats]


def _norms(graph: Graph, sample: Mapping[str, Floats]) -> _Sizes:
    """Of all values that could be guarded, around the middle of their domains."""
    wanted: dict[str, set[float]] = {}
    for node in graph.nodes:
        if isinstance(node, Evaluate) and (domain := _domain(node)) is not None:
            wanted.setdefault(node.input, set()).add(domain[0])
        elif isinstance(node, Product) and node.a == node.b:
            wanted.setdefault(node.a, set()).add(0.0)
    found: _Sizes = {}
    for node, values in graph.steps(sample):
        for middle in wanted.get(node.output, ()):
            sizes = np.abs(values - middle)
            most = sizes.max() or 1.0
            each = [
                float((((sizes / most) ** 2**log).sum(axis=1) ** 0.5**log).max()) * most
                for log in _SQUARINGS
            ]
            found[node.output, middle] = np.array(each)
    return found


class _Walk:
    """The ranges of all values, with the norms that they rest on."""

    def __init__(
        self,
        graph: Graph,
        box: Mapping[str, Range],
        sizes: _Sizes,
        margin: float,
        *,
        squares: bool,
    ) -> None:
        self.graph, self.sizes, self.margin, self.squares = graph, sizes, margin, squares
        self.norms: list[Norm] = []
        self.unproven: list[str] = []
        self.reach: dict[str, Range] = {}
        self.sums: dict[str, float] = {}
        self.made = {node.output: node for node in graph.nodes}
        for node in graph.nodes:
            if isinstance(node, Input):
                self.reach[node.output] = box[node.output]
                continue
            if isinstance(node, Evaluate):
                self._argument(node)
            elif squares and isinstance(node, Product) and node.a == node.b:
                self._factor(node)
            self.reach[node.output] = possible(node, self.reach, self.sums)

    def _argument(self, node: Evaluate) -> None:
        """Guard the argument of a polynomial where it could leave the domain."""
        domain = _domain(node)
        if domain is None:
            return
        middle, half = domain
        low, high = self.reach[node.input]
        beyond = max(float((high - middle).max()), float((middle - low).max()))
        # What a polynomial of a composition gives is within the domain of the next.
        if beyond > half * (1 + _ROUNDING) and not isinstance(self.made[node.input], Evaluate):
            self._guard(node.input, middle, half, node)
        self._clip(node.input, middle - half, middle + half)

    def _factor(self, node: Product) -> None:
        """Guard what is squared by its sum of squares, which is there already."""
        known = self.sizes[node.a, 0.0]
        size = (1 + max(self.margin, _LEAST_MARGIN)) * float(known[0])
        low, high = self.reach[node.a]
        largest = np.maximum(np.abs(low), np.abs(high))
        if size > 0 and float(np.square(largest).sum()) > size * size:
            self.norms.append(Norm(node.a, str(node.source), 0.0, size, 1))
            self._clip(node.a, -size, size)
            self.sums[node.output] = size * size

    def _guard(self, name: str, middle: float, half: float, node: Node) -> None:
        known = self.sizes[name, middle] / half
        fitting = [log for log, size in zip(_SQUARINGS, known, strict=True) if size <= _SHARE]
        if fitting:
            self.norms.append(Norm(name, str(node.source), middle, half, fitting[0]))
        else:
            self.unproven.append(name)

    def _clip(self, name: str, low: float, high: float) -> None:
        least, most = self.reach[name]
        self.reach[name] = np.clip(least, low, high), np.clip(most, low, high)


def _with_output(graph: Graph, walk: _Walk) -> Guarded:
    """The graph with the powers and sums of the norms, as one more output."""
    powers, merged, count = _Powers(graph), dict[str, sparse.csr_array](), len(walk.norms)
    for row, norm in enumerate(walk.norms):
        name = powers.of(norm)
        size = powers.sizes[name]
        weights = np.full(size, powers.unit(norm) ** -(2.0**norm.log))
        own = sparse.csr_array((weights, (np.full(size, row), np.arange(size))), (count, size))
        merged[name] = sparse.csr_array(merged[name] + own) if name in merged else own
    reach = dict(walk.reach)
    for node in powers.nodes:
        reach[node.output] = possible(node, reach)
    whole = Affine(powers.fresh(GUARD), (count,), tuple(merged.items()), np.zeros(count))
    most = float(possible(whole, reach)[1].max())
    room = _bits(reach, graph.outputs)
    bits = min(max(ceil(log2(most) - room), 0), _SCALE_BITS) if most < inf else _SCALE_BITS
    terms = tuple((name, sparse.csr_array(matrix * 2.0**-bits)) for name, matrix in merged.items())
    check = replace(whole, terms=terms)
    reach[check.output] = possible(check, reach)
    outputs = (*graph.outputs, check.output)
    made = replace(graph, nodes=(*graph.nodes, *powers.nodes, check), outputs=outputs)
    return Guarded(made, tuple(walk.norms), 2.0**-bits, reach, tuple(walk.unproven))


@dataclass(eq=False)
class _Powers:
    """The nodes x^2, x^4, ... of guarded values; squares that the graph has are taken."""

    graph: Graph
    nodes: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sizes = {node.output: node.size for node in self.graph.nodes}
        self.squares = {
            node.a: node.output
            for node in self.graph.nodes
            if isinstance(node, Product) and node.a == node.b
        }

    def unit(self, norm: Norm) -> float:
        """What powers are divided by, before they are taken to p."""
        return 1.0 if self._is_moved(norm) else norm.size

    @staticmethod
    def _is_moved(norm: Norm) -> bool:
        """Whether a map brings it to [-1, 1] first, which takes a level."""
        return norm.middle != 0.0 or (norm.log > 1 and norm.size != 1.0)

    def of(self, norm: Norm) -> str:
        """The name of the value's power p."""
        name = norm.value
        if self._is_moved(norm):
            size = self.sizes[name]
            matrix = sparse.csr_array(sparse.eye_array(size) / norm.size)
            shift = np.full(size, -norm.middle / norm.size)
            name = self._add(Affine(self.fresh(f"{name}.unit"), (size,), ((name, matrix),), shift))
        for log in range(norm.log):
            if name not in self.squares:
                size = self.sizes[name]
                stem = self.fresh(f"{norm.value}^{2 ** (log + 1)}")
                self.squares[name] = self._add(Product(stem, (size,), name, name))
            name = self.squares[name]
        return name

    def _add(self, node: Node) -> str:
        self.nodes.append(node)
        self.sizes[node.output] = node.size
        return node.output

    def fresh(self, stem: str) -> str:
        """A name that no value has."""
        found, count = stem, 0
        while found in self.sizes:
            count += 1
            found = f"{stem}.{count}"
        return found
