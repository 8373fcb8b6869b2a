"""Doubts of steps and signs anywhere in a graph: what is next to a jump is right or refused."""

from __future__ import annotations

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.approximation.recipes import JUMPS
from cloakwork.compiler.building import Builder
from cloakwork.compiler.doubting import doubted, without_doubts
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Function, Input, Product
from cloakwork.errors import OutsideError
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SMALL = {"insecure": True, "degree": 2048}


def drawn(kind: str, after: str, seed: int) -> tuple[Graph, Floats]:
    """Jumps of 6 products of inputs, and what follows them; and a sample."""
    generator = np.random.default_rng(seed)
    builder = Builder()
    x = builder.input("x", (5,))
    jumps = builder.function(builder.affine([(x, generator.normal(size=(6, 5)))]), kind)
    found = builder.affine([(jumps, generator.normal(size=(3, 6)))], generator.normal(size=3))
    other = builder.affine([(x, generator.normal(size=(3, 5)))])
    if after == "product":
        found = builder.product(found, other)
    elif after == "square":
        found = builder.product(found, found)
    elif after != "nothing":
        found = builder.function(found, after)
    return builder.graph([found]), generator.uniform(-1, 1, (200, 5))


@pytest.mark.parametrize("kind", sorted(JUMPS))
@pytest.mark.parametrize("after", ["nothing", "product", "square", "exp", "elu", "sigmoid", "cos"])
def test_outputs_of_mixed_jumps_are_within_the_doubt(kind: str, after: str) -> None:
    """For any values of jumps on the right side of the middle."""
    graph, sample = drawn(kind, after, 3)
    (name,) = graph.outputs
    box = {"x": (np.full(5, -1.0), np.full(5, 1.0))}
    made, gained = doubted(graph, box, {name: np.ones(graph[name].size)})
    (doubt,) = made.doubts
    generator = np.random.default_rng(1)
    middle = JUMPS[kind][1]
    held: dict[str, Floats] = {}
    for node in made.nodes:
        values = sample if isinstance(node, Input) else node.values(held)
        if isinstance(node, Function) and node.kind == kind:
            mixed = generator.random(values.shape) < 0.2
            values = values + mixed * generator.random(values.shape) * (middle - values)
        held[node.output] = values
    apart = np.abs(held[name] - graph.run(sample)[name]).max(axis=1)
    bound = gained[doubt] * held[doubt].ravel()
    assert apart.max() > 0.01
    assert (apart <= bound + 1e-9).all()
    # Of what is linear, not by far more than needed.
    if after == "nothing":
        assert (apart / np.maximum(bound, 1e-9)).max() > 0.3


def test_jumps_behind_jumps_have_no_known_rate() -> None:
    builder = Builder()
    x = builder.input("x", (3,))
    first = builder.function(builder.affine([(x, np.eye(3))]), "sign")
    last = builder.function(builder.affine([(first, np.ones((2, 3)))], [0.5, -0.5]), "step")
    graph = builder.graph([last])
    made, gained = doubted(
        graph, {"x": (np.full(3, -1.0), np.ones(3))}, {graph.outputs[0]: np.ones(2)}
    )
    assert sorted(gained.values()) == [np.inf, np.inf]
    assert len(made.nodes) == len(graph.nodes) + 4
    assert not any(isinstance(node, Product) for node in without_doubts(made).nodes)
    sample = np.random.default_rng(0).normal(size=(50, 3))
    model = fhe.compile(builder.graph([builder.affine([(last, np.ones((1, 2)))])]), sample, **SMALL)
    assert model.report.accepted_error is None
    assert "before or follows" in model.report.accepted


def test_jumps_of_approximated_arguments_are_not_known() -> None:
    """An approximation may bring them to the other side, where a doubt says nothing."""
    generator = np.random.default_rng(5)
    builder = Builder()
    x = builder.input("x", (4,))
    hidden = builder.function(builder.affine([(x, generator.normal(size=(6, 4)))]), "tanh")
    jump = builder.function(builder.affine([(hidden, generator.normal(size=(3, 6)))]), "step")
    graph = builder.graph([builder.affine([(jump, generator.normal(size=(2, 3)))])])
    _, gained = doubted(graph, {"x": (np.full(4, -1.0), np.ones(4))},
                        {graph.outputs[0]: np.ones(2)})  # fmt: skip
    assert list(gained.values()) == [np.inf]
    model = fhe.compile(graph, generator.uniform(-1, 1, (200, 4)), **SMALL)
    assert model.report.accepted_error is None
    assert "what comes before or follows" in model.report.accepted


def test_doubts_are_relative_to_each_output() -> None:
    """A large output beside a small one does not hide its mixtures."""
    generator = np.random.default_rng(6)
    builder = Builder()
    x = builder.input("x", (3,))
    jump = builder.function(x, "sign")
    own = builder.product(jump, builder.affine([(x, np.eye(3)[::-1].copy())]))
    small = builder.affine([(own, np.ones((1, 3)))])
    large = builder.affine([(x, 1000 * np.ones((1, 3)))])
    model = fhe.compile(builder.graph([small, large]), generator.uniform(-1, 1, (300, 3)), **SMALL)
    client, server = model.split()
    client.keygen()
    with pytest.raises(OutsideError, match="near to thresholds"):
        client.decrypt(server.run(client.encrypt([0.0, 0.5, 0.9])))


@pytest.mark.parametrize(
    ("kind", "low", "high", "steepest"),
    [("elu", -500.0, 500.0, 100.0), ("reciprocal", -1.0, 1.0, np.inf), ("sqrt", 0.0, 1.0, np.inf),
     ("exp", -3.0, 2.0, np.exp(2.0)), ("log", 0.01, 5.0, 100.0), ("cosh", -2.0, 1.0, np.sinh(2.0)),
     ("selu", -1.0, 1.0, 1.7581)],
)  # fmt: skip
def test_slopes_are_those_of_the_steepest_place(
    kind: str, low: float, high: float, steepest: float
) -> None:
    builder = Builder()
    x = builder.input("x", (1,))
    jump = builder.function(x, "sign")
    moved = builder.affine([(jump, [[(high - low) / 2]])], [(high + low) / 2])
    given = {"alpha": 100.0} if kind == "elu" else {}
    graph = builder.graph([builder.function(moved, kind, **given)])
    box = {"x": (np.full(1, -1.0), np.ones(1))}
    _, gained = doubted(graph, box, {graph.outputs[0]: np.ones(1)})
    (found,) = gained.values()
    wanted = steepest * (high - low) / 2
    assert wanted <= found <= (2.0 if kind == "selu" else 1.06) * wanted or found == wanted


def test_a_jump_on_which_no_output_depends_has_no_doubt() -> None:
    builder = Builder()
    x = builder.input("x", (3,))
    sign = builder.function(x, "sign")
    graph = builder.graph([builder.affine([(sign, np.zeros((2, 3))), (x, np.ones((2, 3)))])])
    made, gained = doubted(
        graph, {"x": (np.full(3, -1.0), np.ones(3))}, {graph.outputs[0]: np.ones(2)}
    )
    assert (made.doubts, gained) == ({}, {})


@pytest.mark.parametrize("kind", sorted(JUMPS))
def test_inputs_next_to_jumps_are_right_or_refused(kind: str) -> None:
    """In the middle of a network: the client cannot compute them."""
    builder = Builder()
    x = builder.input("x", (4,))
    jump = builder.function(x, kind)
    y = builder.affine([(x, np.eye(4)[::-1].copy())])
    found = builder.affine([(builder.product(jump, y), np.ones((2, 4)) * [[1.0], [-0.5]])])
    graph = builder.graph([found])
    generator = np.random.default_rng(2)
    model = fhe.compile(graph, generator.uniform(-1, 1, (300, 4)), **SMALL)
    assert model.report.accepted_error is not None
    client, server = model.split()
    client.keygen()
    refused, errors = 0, []
    for near in (0.0, 1e-4, 1e-3, 1e-2, 0.1, 0.5):
        for _ in range(3):
            row = generator.uniform(-1, 1, 4)
            row[1] = near * generator.choice([-1.0, 1.0])
            try:
                got = client.decrypt(server.run(client.encrypt(row)))
            except OutsideError as error:
                refused += "near to thresholds" in str(error)
                continue
            errors.append(float(np.abs(got - graph.run(row[None])[graph.outputs[0]][0]).max()))
    assert refused >= 3
    assert len(errors) >= 6
    assert max(errors) <= model.report.accepted_error
