"""Layouts and diagonals in plain NumPy: a rotation is numpy.roll, and integers stay exact."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from cloakwork.compiler.building import Builder
from cloakwork.compiler.costs import MEASURED, Ring, Work
from cloakwork.compiler.layouts import Grid, Layout, laid_by
from cloakwork.compiler.lowering.affine import AffinePlan, Candidates, Meeting
from cloakwork.compiler.lowering.covering import applied, swept
from cloakwork.compiler.lowering.planning import Planner, planned
from cloakwork.compiler.nodes import Affine, Geometry, Source
from cloakwork.errors import InternalError, ModelError
from scipy import sparse

RING = Ring(2**12, 4, 1, 4)


def price(work: Work) -> float:
    """At one level of a small ring."""
    return MEASURED.seconds(work, RING)


def matrix_of(generator: np.random.Generator, shape: tuple[int, int], density: float) -> Any:
    """Random small integers."""
    dense = generator.integers(-9, 10, shape) * (generator.random(shape) < density)
    dense[0, 0] = 1
    return sparse.csr_array(dense.astype(np.float64))


def ran(plan: AffinePlan, given: dict[str, tuple[Layout, Any]]) -> Any:
    """The slots of a plan's result, by rotations of the inputs' slots."""
    total = np.zeros((plan.layout.count, plan.layout.slots))
    for term in plan.terms:
        layout, values = given[term.input]
        slots = layout.place(values)
        if term.factor is None:
            blocks = term.cover.blocks
            # Costs are those of offsets that were counted without the diagonals.
            assert {place: sorted(own) for place, own in blocks.items()} == term.cover.offsets
            total += applied(blocks, slots, plan.layout.count)
        else:
            total += term.factor * slots
    for step in plan.sums:
        total = total + np.roll(total, -step, axis=1)
    return total


def check(plan: AffinePlan, node: Affine, inputs: dict[str, Layout], seed: int) -> None:
    """The result stands in all its slots, and 0 in the others."""
    generator = np.random.default_rng(seed)
    values = {
        name: generator.integers(-9, 10, layout.size).astype(np.float64)
        for name, layout in inputs.items()
    }
    expected = sum(matrix @ values[name] for name, matrix in node.terms)
    found = ran(plan, {name: (layout, values[name]) for name, layout in inputs.items()})
    assert (plan.layout.place(expected) == found).all()
    assert (plan.layout.read(found) == expected).all()


SHAPES = [(1, 1), (1, 30), (10, 64), (64, 10), (33, 65), (100, 200), (256, 256), (5, 256)]


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("density", [1.0, 0.05])
def test_the_diagonals_of_all_plans_compute_the_matrix_exactly(
    rows: int, columns: int, density: float
) -> None:
    slots, generator = 256, np.random.default_rng(rows * columns)
    matrix = matrix_of(generator, (rows, columns), density)
    node = Affine("y", (rows,), (("x", matrix),), np.zeros(rows))
    layouts: list[Layout | None] = [None, Layout.dense(columns, slots)]
    layouts.append(Layout.of(generator.permutation(slots)[:columns], slots, slots))
    for layout in layouts:
        plans = list(Candidates(node, {"x": layout}, slots, price, Meeting(beside=True))._all())
        assert plans
        for plan, inputs in plans:
            check(plan, node, inputs, seed=rows)


@pytest.mark.parametrize(("rows", "columns"), [(100, 700), (700, 100), (600, 500), (64, 1000)])
def test_values_in_several_ciphertexts_are_mapped_exactly(rows: int, columns: int) -> None:
    slots, generator = 256, np.random.default_rng(rows)
    matrix = matrix_of(generator, (rows, columns), 0.05)
    node = Affine("y", (rows,), (("x", matrix),), np.zeros(rows))
    layout = Layout.dense(columns, slots)
    assert layout.count == -(-columns // slots)
    for plan, inputs in Candidates(node, {"x": layout}, slots, price)._all():
        check(plan, node, inputs, seed=1)


def test_sums_of_several_terms_meet_in_one_layout() -> None:
    slots, generator = 128, np.random.default_rng(3)
    terms = (
        ("a", matrix_of(generator, (20, 50), 1.0)),
        ("b", matrix_of(generator, (20, 7), 1.0)),
        ("c", sparse.csr_array(sparse.eye_array(20))),
    )
    node = Affine("y", (20,), terms, np.zeros(20))
    inputs = {"a": 50, "b": 7, "c": 20}
    layouts: dict[str, Layout | None] = {
        name: Layout.dense(size, slots) for name, size in inputs.items()
    }
    plans = list(Candidates(node, layouts, slots, price)._all())
    assert len(plans) > 1
    for plan, found in plans:
        check(plan, node, found, seed=2)
    assert any(term.factor == 1 for plan, _ in plans for term in plan.terms)


def test_copies_of_an_input_save_diagonals() -> None:
    generator = np.random.default_rng(5)
    matrix = matrix_of(generator, (128, 784), 1.0)
    node = Affine("y", (128,), (("x", matrix),), np.zeros(128))
    plan, inputs = Candidates(node, {"x": None}, 4096, price).best()
    assert plan.work.products == 32
    assert plan.layout.period == 128
    check(plan, node, inputs, seed=4)


TOKENS, WIDTH = 8, 16


@pytest.mark.parametrize(
    ("block", "most"),
    [
        ("wider", 2 * WIDTH),
        ("narrower", 4 * WIDTH),
        ("sums", WIDTH),
        ("means of all tokens", TOKENS),
        ("copies", TOKENS),
        ("copies of sums", 2 * WIDTH),
    ],
)
def test_one_matrix_for_many_tokens_has_few_diagonals(block: str, most: int) -> None:
    """[tokens, width] in order, and what attention and its layers make of them."""
    slots, generator = 1024, np.random.default_rng(9)
    each, one = np.eye(TOKENS), np.ones((1, WIDTH))
    matrix = {
        "wider": np.kron(each, generator.integers(1, 9, (2 * WIDTH, WIDTH))),
        "narrower": np.kron(each, generator.integers(1, 9, (WIDTH, 2 * WIDTH))),
        "sums": np.kron(each, one),
        "means of all tokens": np.kron(np.ones((1, TOKENS)), np.eye(WIDTH)),
        "copies": np.kron(np.ones((TOKENS, 1)), np.eye(TOKENS * WIDTH)),
        "copies of sums": np.kron(np.ones((TOKENS, 1)), np.kron(each, one)),
    }[block]
    rows, columns = matrix.shape
    layout = Layout.dense(columns, slots)
    if block == "narrower":
        # Where the wider map has put its results.
        wider = sparse.csr_array(np.kron(each, np.ones((2 * WIDTH, WIDTH))))
        made = Layout.beside(wider, Layout.dense(TOKENS * WIDTH, slots))
        assert made is not None
        layout = made
    node = Affine("y", (rows,), (("x", sparse.csr_array(matrix)),), np.zeros(rows))
    candidates = Candidates(node, {"x": layout}, slots, price, Meeting(beside=True))
    plans = [plan for plan, _ in candidates._all()]
    for plan in plans:
        check(plan, node, {"x": layout}, seed=7)
    plan, _ = candidates.best()
    assert plan.work.products <= most
    beside = Layout.beside(node.terms[0][1], layout)
    assert beside is not None
    assert any(own.layout == beside for own in plans)


def test_rows_without_a_place_beside_their_columns_have_no_such_layout() -> None:
    dense = Layout.dense(8, 8)
    assert Layout.beside(sparse.csr_array(np.diag([1, 1, 0, 1, 1, 1, 1, 1.0])), dense) is None
    copied = sparse.csr_array(np.kron(np.ones((2, 1)), np.eye(8)))
    assert Layout.beside(copied, dense) is None
    assert Layout.beside(copied, Layout.dense(8, 16)) == Layout.dense(16, 16)
    assert Layout.beside(sparse.csr_array(np.eye(20)), Layout.dense(20, 16)) is None
    twice = Layout.shifted(8, 64, 8, 2)
    assert twice is not None
    assert Layout.beside(sparse.csr_array(np.eye(8)), twice) is None


def test_what_is_multiplied_stands_in_one_layout_without_conversions() -> None:
    """Queries times keys, of which one is copied along tokens, and the other across them."""
    each = np.eye(TOKENS)
    rows = np.kron(np.kron(each, np.ones((TOKENS, 1))), np.eye(WIDTH))
    columns = np.kron(np.kron(np.ones((TOKENS, 1)), each), np.eye(WIDTH))
    sums = np.kron(np.eye(TOKENS**2), np.ones((1, WIDTH)))
    builder = Builder(name="scores")
    x = builder.input("x", (TOKENS * WIDTH,))
    first, second = (builder.affine([(x, own)]) for own in (rows, columns))
    graph = builder.graph([builder.affine([(builder.product(first, second), sums)])])
    in_order = Planner(graph, 2048, lambda work, used: price(work)).plan()
    plan = planned(graph, 2048, lambda work, used: price(work), 3)
    assert sum(step.work.products for step in in_order.steps) > TOKENS**2
    assert plan.depth == 3
    assert [type(step.node).__name__ for step in plan.steps] == [
        "Input", "Affine", "Affine", "Product", "Affine",
    ]  # fmt: skip
    fewer = sum(step.work.products for step in in_order.steps)
    assert sum(step.work.products for step in plan.steps) < fewer


def test_plans_are_compared_without_their_diagonals() -> None:
    """Of one plan, 8,192 diagonals of 8,192 slots: half a gigabyte, and more to sort them."""
    weights = np.random.default_rng(6).normal(size=(4, 5000))
    node = Affine("y", (4,), (("x", sparse.csr_array(weights)),), np.zeros(4))
    candidates = Candidates(node, {"x": Layout.dense(5000, 8192)}, 8192, price)
    assert max(plan.work.products for plan, _ in candidates._all()) == 8192
    tracemalloc.start()
    try:
        plan, _ = candidates.best()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert plan.work.products == 4
    assert peak < 2**24


def convolution(geometry: Geometry, generator: np.random.Generator) -> Any:
    """A matrix of a convolution with small integers."""
    (channels, height, width), (outputs, high, wide) = geometry.inputs, geometry.outputs
    kernel = generator.integers(1, 9, (outputs, channels, *geometry.kernel))
    dense = np.zeros((outputs, high, wide, channels, height, width))
    for y, x, dy, dx in np.ndindex(high, wide, *geometry.kernel):
        row = y * geometry.strides[0] + dy - geometry.pads[0]
        column = x * geometry.strides[1] + dx - geometry.pads[1]
        if 0 <= row < height and 0 <= column < width:
            dense[:, y, x, :, row, column] = kernel[:, :, dy, dx]
    return sparse.csr_array(dense.reshape(outputs * high * wide, -1))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("channels", [(1, 3), (4, 4), (2, 6)])
def test_channels_of_convolutions_fill_the_gaps_of_their_strides(
    stride: int, channels: tuple[int, int]
) -> None:
    size = 8 // stride
    geometry = Geometry(
        (channels[0], 8, 8), (channels[1], size, size), (3, 3), (stride, stride), pads=(1, 1, 1, 1)
    )
    matrix = convolution(geometry, np.random.default_rng(0))
    node = Affine(
        "y", (matrix.shape[0],), (("x", matrix),), np.zeros(matrix.shape[0]),
        source=Source(("conv",), ("Conv",), geometry),
    )  # fmt: skip
    plan, inputs = Candidates(node, {"x": None}, 512, price).best()
    assert plan.layout.grid == Grid(8, 8, stride)
    assert not plan.sums
    check(plan, node, inputs, seed=6)
    following = Geometry(geometry.outputs, (2, size, size), (3, 3), pads=(1, 1, 1, 1))
    again = convolution(following, np.random.default_rng(1))
    second = Affine(
        "z", (again.shape[0],), (("y", again),), np.zeros(again.shape[0]),
        source=Source(("conv2",), ("Conv",), following),
    )  # fmt: skip
    for plan_of_second, found in Candidates(second, {"y": plan.layout}, 512, price)._all():
        check(plan_of_second, second, found, seed=7)


def test_a_layout_survives_its_json() -> None:
    generator = np.random.default_rng(1)
    made = [
        Layout.dense(30, 64),
        Layout.dense(130, 64),
        Layout.of(generator.permutation(64)[:20], 64, 64),
        Layout.shifted(20, 256, 8, 4),
    ]
    for layout in made:
        assert layout is not None
        stored = layout.to_json()
        shape = stored["ciphertexts"], stored["period"]
        assert laid_by("x", stored["slots"], shape, stored["size"], stored["runs"]) == layout


@pytest.mark.parametrize(
    ("shape", "runs"),
    [((1, 48), [[0, 0, 8]]), ((1, 64), [[60, 0, 8]]), ((1, 64), [[0, 0, 7]]),
     ((1, 64), [[0, 1, 8]]), ((1, 64), [[-1, 0, 8]]), ((2, 32), [[0, 0, 8]])],
)  # fmt: skip
def test_a_layout_that_loses_elements_is_refused(shape: Any, runs: Any) -> None:
    with pytest.raises(ModelError, match="expected"):
        laid_by("x", 64, shape, 8, runs)


def test_a_sweep_that_misses_an_entry_is_no_silent_result() -> None:
    ones = sparse.csr_array(np.ones((2, 2)))
    for rows, contents in ((1, [[0, 1]]), (2, [[0, -1]])):
        with pytest.raises(InternalError, match="without a diagonal"):
            swept(ones, rows, np.array(contents))


@pytest.mark.parametrize("size", [1, 5, 64, 100])
def test_the_sum_of_a_value_takes_no_level_where_other_slots_hold_zero(size: int) -> None:
    layout = Layout.dense(size, 128)
    for weight, zeros, free in ((1.0, {"x"}, True), (-3.0, {"x"}, True), (1.0, set(), False),
                                (0.5, {"x"}, False)):  # fmt: skip
        matrix = sparse.csr_array(np.full((1, size), weight))
        node = Affine("y", (1,), (("x", matrix),), np.zeros(1))
        plan, _ = Candidates(node, {"x": layout}, 128, price, zeros=zeros).best()
        # A single element, times an integer, never needs one.
        assert plan.uses_level is not (free or (size == 1 and weight == int(weight)))
        check(plan, node, {"x": layout}, size)
