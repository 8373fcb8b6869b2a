"""How much noise in values changes outputs: a few encrypted runs then tell about other inputs.

The error of an encrypted output is noise that is about the same in every value of every run,
carried to the output by the derivatives there, which differ between inputs and between outputs.
These factors are found in plain, by noise added to every value; the size of the noise is found from
the errors of trials, divided by the factors of the inputs that were tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Input

Floats = NDArray[np.float64]

# Rows of the sample, at most and at least, and the products that all runs may take.
_MOST_ROWS, _LEAST_ROWS, _PRODUCTS = 400, 16, 2e9
_DRAWS = 8
# So little that outputs change in proportion, and far more than floats' rounding.
_NOISE = 2.0**-30
# Stated errors are so many standard deviations, and at least so many times the largest measured.
_DEVIATIONS, _LEAST_FACTOR = 6.0, 3.0
# Errors of the outputs of one run depend on each other: as many count as independent at most,
# but for inputs that were tried.
_MOST_INDEPENDENT = 16
# The chance that measured errors are by chance so small that the deviation is underestimated.
_CHANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The factors of some rows of a sample: [rows, size] by output.

    rows   their indices in the sample; the first ones are those that trials run first
    """

    rows: NDArray[np.int64]
    factors: Mapping[str, Floats]

    @classmethod
    def of(cls, graph: Graph, sample: Mapping[str, Floats]) -> Sensitivity:
        """By noise in all values of the graph, on rows of the sample [batch, *shape] by name."""
        rows = _rows(graph, len(next(iter(sample.values()))))
        given = {name: values[rows] for name, values in sample.items()}
        exact = {name: values.reshape(len(rows), -1) for name, values in graph.run(given).items()}
        squares = {name: np.zeros_like(values) for name, values in exact.items()}
        generator = np.random.default_rng(0)
        for _ in range(_DRAWS):
            for name, values in _noisy(graph, given, generator):
                squares[name] += np.square((values - exact[name]) / _NOISE)
        return cls(rows, {name: np.sqrt(found / _DRAWS) for name, found in squares.items()})

    def ordered(self, count: int) -> tuple[NDArray[np.int64], Sensitivity]:
        """The order of `count` rows of the sample, the most sensitive first, and what it has then.

        Trials of the first rows show the largest errors, and what noise there is: where outputs are
        not sensitive, errors are those within polynomials.
        """
        most = np.max([np.abs(found).max(axis=1) for found in self.factors.values()], axis=0)
        first = self.rows[np.argsort(-most, kind="stable")[:_MOST_INDEPENDENT]]
        order = np.concatenate([first, np.setdiff1d(np.arange(count), first)])
        places = np.argsort(order)
        return order, Sensitivity(places[self.rows], self.factors)

    def stated(self, differences: Mapping[str, Floats]) -> dict[str, float]:
        """The error of each output for inputs like the sample.

        differences   [count, *shape] by output: encrypted minus exact, of the first rows
        """
        return {name: self._stated(name, errors) for name, errors in differences.items()}

    def above(self, other: Sensitivity, names: tuple[str, ...]) -> float:
        """By which factor outputs are more sensitive here than on the inputs of another."""
        pairs = ((self.factors[x].max(), other.factors[x].max()) for x in names)
        return max(float(here / there) if there > 0 else 1.0 for here, there in pairs)

    def _stated(self, name: str, errors: Floats) -> float:
        from scipy.special import chdtri

        factors, flat = self.factors[name], np.abs(errors.reshape(len(errors), -1))
        known = self.rows < len(flat)
        noise = flat[self.rows[known]] / factors[known]
        independent = min(noise.size, max(_MOST_INDEPENDENT, len(noise)))
        unlucky = independent / float(chdtri(independent, 1 - _CHANCE))
        deviation = float(np.sqrt(np.square(noise).mean() * unlucky))
        most = _LEAST_FACTOR * float(flat.max())
        return max(_DEVIATIONS * deviation * float(factors.max()), most)


def _rows(graph: Graph, available: int) -> NDArray[np.int64]:
    """The first rows, and others evenly from the rest."""
    products = sum(
        matrix.nnz for node in graph.nodes if isinstance(node, Affine) for _, matrix in node.terms
    )
    most = int(np.clip(_PRODUCTS / (_DRAWS * max(products, 1)), _LEAST_ROWS, _MOST_ROWS))
    if available <= most:
        return np.arange(available)
    others = np.linspace(_LEAST_ROWS, available - 1, most - _LEAST_ROWS).astype(np.int64)
    return np.concatenate([np.arange(_LEAST_ROWS), others])


def _noisy(
    graph: Graph, given: Mapping[str, Floats], generator: np.random.Generator
) -> Iterator[tuple[str, Floats]]:
    """The outputs [rows, size] of one draw of noise."""
    last = {name: node for node in graph.nodes for name in node.inputs}
    held: dict[str, Floats] = {}
    for node in graph.nodes:
        if isinstance(node, Input):
            values = given[node.output].reshape(-1, node.size)
        else:
            values = node.values(held)
        held[node.output] = values + _NOISE * generator.standard_normal(values.shape)
        if node.output in graph.outputs:
            yield node.output, held[node.output]
        for name in (name for name in set(node.inputs) if last[name] is node):
            del held[name]
