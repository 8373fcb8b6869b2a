"""Small models for tests of the compiler."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from cloakwork.compiler.building import Builder
from cloakwork.compiler.graph import Graph

Floats = Any


def perceptron(sizes: tuple[int, ...], seed: int = 0) -> Graph:
    """Affine maps with squares between them."""
    generator, builder = np.random.default_rng(seed), Builder(name="perceptron")
    value = builder.input("x", (sizes[0],))
    for place, (columns, rows) in enumerate(pairwise(sizes)):
        weights = generator.normal(size=(rows, columns)) / np.sqrt(columns)
        value = builder.affine([(value, weights)], generator.normal(size=rows) / 10)
        if place < len(sizes) - 2:
            value = builder.product(value, value)
    return builder.graph([value])


def random_graph(seed: int) -> Graph:
    """Affine maps of several values, products, squares and sums, of random sizes."""
    generator, builder = np.random.default_rng(seed), Builder(name=f"random {seed}")
    sizes = [int(size) for size in generator.integers(1, 40, 3)]
    values = [builder.input(f"x{place}", (size,)) for place, size in enumerate(sizes[:2])]

    def mapped(names: list[str], rows: int) -> str:
        terms = []
        for name in dict.fromkeys(names):
            columns = builder.size(name)
            weights = generator.normal(size=(rows, columns)) / np.sqrt(columns * len(names))
            weights *= generator.random(weights.shape) < generator.choice([1.0, 0.3])
            weights[0, 0] += 0.1
            terms.append((name, weights))
        return builder.affine(terms, generator.normal(size=rows) / 4)

    first, second = mapped(values, sizes[2]), mapped(values[:1], sizes[2])
    product = builder.product(first, second)
    square = builder.product(first, first)
    total = builder.sum([product, square, first], [1.0, -2.0, 1.0])
    return builder.graph([mapped([total], int(generator.integers(1, 12))), product])


def sample_of(graph: Graph, count: int, seed: int = 0) -> dict[str, Floats]:
    """Values from -1 to 1 for all inputs."""
    generator = np.random.default_rng(seed)
    return {node.output: generator.uniform(-1, 1, (count, *node.shape)) for node in graph.inputs}
