"""Passes over a graph before layouts: what saves levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Evaluate, Geometry, Node
from cloakwork.fhe.circuits.polynomial import Polynomial


def folded(graph: Graph) -> Graph:
    """The same values of its outputs, with fewer levels.

    A polynomial on [a, b] first maps it to [-1, 1], which takes a level unless 2 / (b - a) is an
    integer.  Where only polynomials of one domain read an affine map, this does so itself.
    """
    readers, changed = graph.readers(), dict[str, Node]()
    for node in graph.nodes:
        if not isinstance(node, Affine) or node.output in graph.kept:
            continue
        own = readers[node.output]
        polynomials = [one.polynomial for one in own if isinstance(one, Evaluate)]
        domains = {one.domain for one in polynomials if _takes_level(one)}
        if (
            len(polynomials) < len(own)
            or len(domains) != 1
            or not all(map(_takes_level, polynomials))
        ):
            continue
        (low, high) = domains.pop()
        weight, shift = 2.0 / (high - low), -(low + high) / (high - low)
        terms = tuple((name, matrix * weight) for name, matrix in node.terms)
        changed[node.output] = replace(node, terms=terms, bias=node.bias * weight + shift)
        for one in own:
            assert isinstance(one, Evaluate)
            mapped = Polynomial(one.polynomial.coefficients, "chebyshev")
            changed[one.output] = replace(one, polynomial=mapped)
    nodes = tuple(changed.get(node.output, node) for node in graph.nodes)
    return replace(graph, nodes=nodes) if changed else graph


def joined(graph: Graph, is_cheaper: Callable[[Affine, Affine, Affine], bool]) -> Graph:
    """Affine maps of nothing but another one as one map, where that is cheaper.

    is_cheaper   of the first map, the second, and both as one
    """
    nodes: dict[str, Node] = {node.output: node for node in graph.nodes}
    readers = graph.readers()
    for name in list(nodes):
        second = nodes[name]
        while isinstance(second, Affine) and len(second.terms) == 1:
            first = nodes[second.inputs[0]]
            alone = len(readers[first.output]) == 1 and first.output not in graph.kept
            if not isinstance(first, Affine) or not alone:
                break
            both = _composed(first, second)
            if not is_cheaper(first, second, both):
                break
            del nodes[first.output]
            nodes[name] = second = both
    return replace(graph, nodes=tuple(nodes.values()))


def _composed(first: Affine, second: Affine) -> Affine:
    """The second map after the first; images keep where they come from and go to."""
    ((_, matrix),) = second.terms
    terms = tuple((name, (matrix @ own).tocsr()) for name, own in first.terms)
    source = first.source + second.source
    one, two = first.source.geometry, second.source.geometry
    if one is not None and two is not None and one.outputs == two.inputs:
        strides = one.strides[0] * two.strides[0], one.strides[1] * two.strides[1]
        whole = Geometry(one.inputs, two.outputs, two.kernel, strides)
        source = replace(source, geometry=whole)
    bias = matrix @ first.bias + second.bias
    return Affine(second.output, second.shape, terms, bias, source=source)


def _takes_level(polynomial: Polynomial) -> bool:
    """Whether its domain is mapped with a level."""
    low, high = polynomial.domain
    free = (2.0 / (high - low)).is_integer() or polynomial.degree == 0
    return polynomial.basis == "chebyshev" and not free
