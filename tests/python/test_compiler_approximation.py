"""Models whose functions become polynomials: errors are as stated, and small where it counts."""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.approximation import (
    Approximation,
    ApproximationOptions,
    approximate,
)
from cloakwork.compiler.approximation.choosing import Applied
from cloakwork.compiler.approximation.domains import Domain, possible_ranges
from cloakwork.compiler.approximation.outside import chance_beyond, extremes, harmless_share
from cloakwork.compiler.approximation.recipes import Wanted, ladder, precise
from cloakwork.compiler.building import Builder
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.functions import FUNCTIONS
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Evaluate, Function, Product
from cloakwork.errors import ModelError, ParamError
from python.fhe_setup import ckks, error

ANY: Any = ApproximationOptions
SMOOTH = (
    "cos", "elu", "erf", "gelu", "gelu_tanh", "mish", "sigmoid", "silu", "sin", "softplus",
    "softsign", "tanh",
)  # fmt: skip
KINKED = ("abs", "leaky_relu", "relu")


def network(kind: str, seed: int = 1, sizes: Sequence[int] = (12, 20, 20, 4)) -> Graph:
    """A multilayer perceptron with labels."""
    draw, builder = np.random.default_rng(seed), Builder()
    value = builder.input("x", (sizes[0],))
    for number, (before, after) in enumerate(pairwise(sizes)):
        weights = draw.normal(size=(after, before)) / np.sqrt(before)
        value = builder.affine([(value, weights)], draw.normal(size=after) / 4)
        if number < len(sizes) - 2:
            value = builder.function(value, kind)
    return builder.graph(
        [value], ClientTail(("label",), (ClientStep("label", "argmax", (value,)),))
    )


def one_function(kind: str, **parameters: float) -> Graph:
    builder = Builder()
    value = builder.function(builder.input("x", (3,)), kind, **parameters)
    return builder.graph([value])


def levels(graph: Graph) -> int:
    """The longest way from an input to an output: an Affine and a Product take a level each."""
    found: dict[str, int] = {}
    for node in graph.nodes:
        own = {Affine: 1, Product: 1}.get(type(node), 0)
        own = node.polynomial.depth if isinstance(node, Evaluate) else own
        found[node.output] = own + max((found[name] for name in node.inputs), default=0)
    return max(found[name] for name in graph.outputs)


def sample_of(graph: Graph, rows: int = 200, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, *graph.inputs[0].shape))


@pytest.mark.parametrize("kind", [*SMOOTH, *KINKED])
def test_a_network_without_functions_has_the_outputs_of_the_one_with(kind: str) -> None:
    graph = network(kind)
    sample = sample_of(graph)
    found = approximate(graph, sample, ApproximationOptions(exceptions=0.02))
    assert not any(isinstance(node, Function) for node in found.graph.nodes)
    (name,) = graph.outputs
    exact, made = graph.run(sample)[name], found.graph.run(sample)[name]
    off = np.abs(exact - made).max(axis=1)
    assert off.max() == pytest.approx(found.deviation)
    assert off.max() / np.abs(exact).max() == pytest.approx(found.share)
    assert int((off > 0.01 * np.abs(exact).max()).sum()) <= found.exceptions <= 0.02 * len(sample)
    labels = graph.predict(sample)["label"] != found.graph.predict(sample)["label"]
    assert found.changed == {"label": int(labels.sum())}
    assert [row.function for row in found.rows] == [kind, kind]
    assert levels(found.graph) == 3 + sum(row.depth for row in found.rows)


WANTED = [
    Wanted("sigmoid", (), -8, 8),
    Wanted("sigmoid", (), -100, 100),
    Wanted("tanh", (), -300, 300),
    Wanted("silu", (), -64, 64),
    Wanted("gelu", (), -40, 40),
    Wanted("exp", (), -80, 3),
    Wanted("relu", (), -3, 3),
    Wanted("relu", (), -0.2, 1),
    Wanted("relu", (), 0.5, 1),
    Wanted("leaky_relu", (("slope", 0.1),), -2, 2),
    Wanted("leaky_relu", (("slope", 1.0),), -2, 2),
    Wanted("abs", (), -1, 1),
    Wanted("rsqrt", (), 0.01, 4),
    Wanted("sqrt", (), 0.0, 4),
    Wanted("reciprocal", (), -30, -1),
    Wanted("log", (), 0.1, 5),
    Wanted("elu", (("alpha", 1.5),), -6, 3),
    Wanted("step", (), -2, 2, 5),
    Wanted("sign", (), -1, 1, 4),
    Wanted("step", (), 1, 2, 5),
]


@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_the_error_of_each_recipe_holds_on_its_domain(wanted: Wanted) -> None:
    recipes = ladder(wanted) + (precise(wanted)[:2] if wanted.kind == "relu" else ())
    even = np.linspace(wanted.low, wanted.high, 100_001)
    near = wanted.half * np.geomspace(1e-9, 1, 20_001)
    points = np.concatenate([even, wanted.low + 2 * near, wanted.high - 2 * near, near, -near])
    points = points[(points >= wanted.low) & (points <= wanted.high)]
    exact = FUNCTIONS[wanted.kind].define(points, **dict(wanted.parameters))
    for recipe in recipes[:: 1 + len(recipes) // 25]:
        apart = np.abs(points) >= recipe.gap
        off = np.abs(recipe(points) - exact)[apart].max()
        assert off <= recipe.error * (1 + 1e-9) + 1e-12 * np.abs(exact).max()


def test_wide_domains_get_functions_of_fewer_products() -> None:
    """Each kind of composition is the cheapest one somewhere."""

    def cheapest(wanted: Wanted, most: float) -> Any:
        found = [r for r in (*ladder(wanted), *precise(wanted)) if r.error <= most]
        return min(found, key=lambda recipe: recipe.cost(0.0))

    assert cheapest(Wanted("tanh", (), -300, 300), 0.01).method == "extension"
    assert cheapest(Wanted("gelu", (), -200, 200), 0.1).method == "extension"
    assert cheapest(Wanted("relu", (), -1, 1), 1e-4).method == "step"
    assert cheapest(Wanted("relu", (), -1, 1), 1e-2).method == "polynomial"


def test_elements_of_different_ranges_get_scales_of_their_own() -> None:
    scales, draw = np.array([1e-2, 1.0, 50.0]), np.random.default_rng(3)
    builder = Builder()
    value = builder.function(builder.input("x", (3,)), "relu")
    graph = builder.graph([builder.affine([(value, np.diag(1 / scales))])])
    sample = draw.uniform(-1, 1, (100, 3)) * scales
    found = approximate(graph, sample)
    (row,) = found.rows
    assert row.scaled
    assert row.domain == (-1.0, 1.0)
    off = np.abs(found.graph.run(sample)["affine"] - graph.run(sample)["affine"])
    assert off.max() < 0.011
    # One scaling before the polynomial, and none after: it is part of the last map.
    assert [type(node).__name__ for node in found.graph.nodes[1:]] == [
        "Affine",
        "Evaluate",
        "Affine",
    ]


def test_a_residual_connection_takes_no_further_level() -> None:
    draw, builder = np.random.default_rng(5), Builder()
    hidden = builder.affine([(builder.input("x", (6,)), draw.normal(size=(6, 6)))])
    active = builder.function(hidden, "silu")
    graph = builder.graph(
        [builder.affine([(hidden, np.eye(6)), (active, draw.normal(size=(6, 6)))])]
    )
    sample = sample_of(graph)
    found = approximate(graph, sample)
    (row,) = found.rows
    assert levels(found.graph) == row.depth + 2
    assert found.share <= 0.011


def test_a_value_that_several_functions_read_is_scaled_for_each() -> None:
    builder = Builder()
    hidden = builder.affine([(builder.input("x", (4,)), 3 * np.eye(4))])
    both = [builder.function(hidden, kind) for kind in ("sigmoid", "relu", "cos")]
    product = builder.product(both[0], both[1])
    graph = builder.graph([product, both[2], hidden])
    sample = sample_of(graph)
    found = approximate(graph, sample, ApproximationOptions(precision=0.05, exceptions=0))
    for name, values in graph.run(sample).items():
        assert np.abs(found.graph.run(sample)[name] - values).max() <= 0.05


def test_layer_norms_stay_above_their_epsilon() -> None:
    size, builder = 8, Builder()
    centred = builder.affine([(builder.input("x", (size,)), np.eye(size) - 1 / size)])
    square = builder.product(centred, centred)
    variance = builder.affine([(square, np.full((size, size), 1 / size))], 0.2)
    graph = builder.graph([builder.product(centred, builder.function(variance, "rsqrt"))])
    ranges = {"x": (np.full(size, -9.0), np.full(size, 9.0))}
    low, high = possible_ranges(graph, ranges)[variance]
    np.testing.assert_allclose(low, 0.2)
    assert (high > 50).all()
    sample = sample_of(graph)
    found = approximate(graph, sample)
    (row,) = found.rows
    assert 0.2 <= row.domain[0] < row.sample[0] < row.sample[1] < row.domain[1]
    assert found.share <= 0.011


@pytest.mark.parametrize("seed", range(6))
def test_no_value_leaves_its_possible_range(seed: int) -> None:
    draw, builder = np.random.default_rng(seed), Builder()
    values = [builder.input("x", (4,))]
    kinds = [
        kind for kind in FUNCTIONS if kind not in ("log", "rsqrt", "sqrt", "reciprocal", "exp")
    ]
    for _ in range(12):
        a, b = draw.choice(values, 2)
        made = [
            lambda a=a: builder.affine([(a, draw.normal(size=(4, 4)))], draw.normal(size=4)),
            lambda a=a, b=b: builder.product(a, b),
            lambda a=a: builder.product(a, a),
            lambda a=a: builder.function(a, str(draw.choice(kinds))),
        ]
        values.append(made[int(draw.integers(4))]())
    graph = builder.graph(values[-2:])
    x = draw.uniform(-1, 1, (500, 4))
    possible = possible_ranges(graph, {"x": (np.full(4, -1.0), np.ones(4))})
    for node, found in graph.steps(x):
        low, high = possible[node.output]
        room = 1e-9 * (1 + np.abs(found))
        assert (found >= low - room).all()
        assert (found <= high + room).all()


def test_more_precision_costs_more_levels() -> None:
    graph = network("tanh")
    sample = sample_of(graph)
    found = [
        approximate(graph, sample, ApproximationOptions(precision=p, exceptions=0))
        for p in (0.3, 0.03, 0.003, 1e-5)
    ]
    for precision, each in zip((0.3, 0.03, 0.003, 1e-5), found, strict=True):
        assert each.deviation <= precision
        assert each.exceptions == 0
    depths = [levels(each.graph) for each in found]
    assert depths == sorted(depths)
    assert depths[0] < depths[-1]


def test_a_precision_that_nothing_reaches_is_refused() -> None:
    graph = network("elu")
    with pytest.raises(
        ModelError,
        match=r"precise enough .* for 100 % of the inputs .*Accept larger deviations by precision=",
    ):
        approximate(graph, sample_of(graph), ApproximationOptions(precision=1e-13))


def test_steps_far_from_their_jumps_are_exact() -> None:
    """A decision tree of integers, whose thresholds lie between them."""
    builder = Builder()
    x = builder.input("x", (3,))
    right = builder.function(builder.affine([(x, np.eye(3))], [-2.5, -0.5, -4.5]), "step")
    swapped = builder.select(right, [1, 2, 0])
    leaves = builder.product(right, swapped)
    graph = builder.graph(
        [builder.affine([(leaves, [[3.0, -2.0, 5.0]]), (right, [[1.0, 1.0, 1.0]])])]
    )
    sample = np.random.default_rng(0).integers(0, 6, (200, 3)).astype(float)
    found = approximate(graph, sample, ApproximationOptions(precision=0.05, exceptions=0))
    assert found.exceptions == 0
    assert found.deviation <= 0.05
    (row,) = found.rows
    assert row.method == "sign"
    assert row.error_sample < 0.05


@pytest.mark.slow(reason="steps of trees are searched up to the least error that keeps labels")
def test_labels_of_trees_stay_where_outputs_next_to_jumps_do_not() -> None:
    """Ties of a tree do not count: here inputs above 0 have two equal scores."""
    builder = Builder()
    right = builder.function(builder.input("x", (1,)), "step")
    scores = builder.affine([(right, [[0.0], [1.0], [-1.0]])], [0.0, -0.5, 1.0])
    tail = ClientTail(("label",), (ClientStep("label", "argmax", (scores,)),))
    graph = builder.graph([scores], tail)
    sample = np.random.default_rng(3).uniform(-1, 1, (400, 1))
    found = approximate(graph, sample)
    made, exact = found.graph.predict(sample)["label"], graph.predict(sample)["label"]
    low = sample[:, 0] < 0
    assert int((made != exact)[low].sum()) <= found.changed["label"] <= 2
    assert 0 < found.exceptions <= 40
    tied = builder.graph([builder.affine([(right, [[1.0], [1.0]])])])
    labelled = Graph(tied.nodes, tied.outputs, ClientTail(
        ("label",), (ClientStep("label", "argmax", tied.outputs),)))  # fmt: skip
    assert approximate(labelled, sample).changed == {"label": 0}


def test_models_of_no_functions_stay() -> None:
    builder = Builder()
    graph = builder.graph([builder.affine([(builder.input("x", (3,)), np.eye(3))])])
    found = approximate(graph, np.ones((1, 3)))
    assert found.rows == ()
    assert found.deviation == 0


@pytest.mark.parametrize("kind", ["relu", "sigmoid", "rsqrt", "exp"])
def test_samples_of_one_row_have_domains(kind: str) -> None:
    found = approximate(one_function(kind), np.full((1, 3), 0.7))
    (row,) = found.rows
    assert row.domain[0] <= 0.7 <= row.domain[1]
    assert row.leaves is None
    assert found.share <= 0.01
    assert "unknown" in str(found)


def test_arguments_of_polynomials_stay_within_their_domains() -> None:
    graph = network("gelu")
    found, values = approximate(graph, sample_of(graph)), {}
    for node, each in found.graph.steps(sample_of(graph)):
        values[node.output] = each
        if isinstance(node, Evaluate):
            assert node.polynomial.domain == (-1.0, 1.0)
            assert np.abs(values[node.input]).max() < 0.9


def test_a_wider_margin_accepts_values_further_outside() -> None:
    graph = one_function("tanh")
    sample = np.linspace(-2, 2, 300).reshape(100, 3)
    for margin in (0.0, 0.25, 1.0):
        found = approximate(graph, sample, ApproximationOptions(margin=margin))
        most = 2 + 4 * margin
        assert found.rows[0].domain == pytest.approx((-most, most), rel=0.01)
        beyond = 0.99 * np.array([[-most, 0.0, most]])
        assert np.abs(found.graph.run(beyond)["tanh"] - np.tanh(beyond)).max() < 0.02


def applied(kind: str, low: float, high: float) -> Applied:
    return Applied(ladder(Wanted(kind, (), low, high))[-1], Domain(low, high))


def test_the_chance_of_leaving_a_domain_is_that_of_an_exponential_tail() -> None:
    """Of |x| with density e^-|x|: the chance of |x| > 8 is e^-8."""
    draw, function = np.random.default_rng(0), applied("tanh", -8.0, 8.0)
    found = []
    for _ in range(50):
        values = draw.laplace(size=(1000, 1))
        chance = chance_beyond(extremes(function, values))
        assert chance is not None
        found.append(chance)
    assert np.exp(-8) / 2 < np.median(found) < np.exp(-8) * 2


def test_values_that_have_left_a_domain_are_counted() -> None:
    function = applied("tanh", -1.0, 1.0)
    values = np.linspace(-2, 2, 400).reshape(400, 1)
    assert chance_beyond(extremes(function, values)) == pytest.approx(0.5, abs=0.01)
    assert chance_beyond(extremes(function, values[:39])) is None


@pytest.mark.parametrize("wanted", WANTED[:6] + WANTED[11:14], ids=str)
def test_values_a_harmless_share_outside_are_close(wanted: Wanted) -> None:
    recipe = ladder(wanted)[4]
    share = harmless_share(Applied(recipe, Domain(wanted.low, wanted.high)))
    inner = np.linspace(wanted.low, wanted.high, 1001)
    most = max(4 * recipe.error, 0.01 * np.abs(wanted.values(inner)).max())
    beyond = wanted.half * np.linspace(0, share, 2001)
    points = np.concatenate([wanted.low - beyond, wanted.high + beyond])
    assert np.abs(recipe(points) - wanted.values(points)).max() <= most * (1 + 1e-9)
    assert 0 <= share <= 1


def test_a_report_says_what_was_chosen() -> None:
    found = approximate(network("sigmoid"), sample_of(network("sigmoid")))
    text = str(found)
    for row in found.rows:
        stored = json.loads(json.dumps(row.to_json()))
        assert stored["function"] == "sigmoid"
        assert tuple(stored["degrees"]) == row.degrees
        assert f"{row.error:.2g}" in text
        assert row.error_sample <= row.error
    assert "outputs deviate by up to" in text


@pytest.mark.parametrize(
    ("rule", "call"),
    [
        ("margin", lambda: ANY(margin=-0.1)),
        ("margin", lambda: ANY(margin=float("nan"))),
        ("margin", lambda: ANY(margin=11)),
        ("precision", lambda: ANY(precision=0)),
        ("precision", lambda: ANY(precision=-1.0)),
        ("precision", lambda: ANY(precision=float("inf"))),
        ("precision", lambda: ANY(precision="high")),
        ("exceptions", lambda: ANY(exceptions=-0.1)),
        ("exceptions", lambda: ANY(exceptions=0.6)),
        ("level_cost", lambda: ANY(level_cost=-1)),
        ("level_cost", lambda: ANY(level_cost=float("nan"))),
    ],
)
def test_options_that_are_none_are_refused(rule: str, call: Callable[[], object]) -> None:
    with pytest.raises(ParamError) as raised:
        call()
    assert raised.value.rule == rule


def test_samples_on_which_a_function_is_not_defined_are_refused() -> None:
    with pytest.raises(ModelError, match=r"sqrt of -1 is not finite"):
        approximate(one_function("sqrt"), np.array([[1.0, -1.0, 2.0]]))
    with pytest.raises(ModelError, match="values on one side of 0"):
        approximate(one_function("reciprocal"), np.array([[1.0, -1.0, 2.0]]))
    with pytest.raises(ModelError, match="finite"):
        approximate(one_function("relu"), np.array([[1.0, np.nan, 2.0]]))
    with pytest.raises(ModelError, match="found"):
        approximate(one_function("relu"), np.zeros((4, 2)))
    with pytest.raises(ModelError, match="found"):
        approximate(one_function("relu"), np.zeros((0, 3)))


def encrypted_values(found: Approximation, keys: fhe.Keys, sample: np.ndarray) -> Any:
    """The graph on ciphertexts, one element a slot: all its matrices are diagonal."""
    values: dict[str, Any] = {}
    for node in found.graph.nodes:
        if isinstance(node, Affine):
            ((name, matrix),) = node.terms
            values[node.output] = values[name] * matrix.diagonal() + node.bias
        elif isinstance(node, Evaluate):
            argument = values[node.input].with_bound(-1.0, 1.0)
            values[node.output] = node.polynomial(argument)
        elif isinstance(node, Product):
            values[node.output] = values[node.a] * values[node.b]
        else:
            values[node.output] = keys.encrypt(sample, bound=8.0)
    return values[found.graph.outputs[0]]


@pytest.mark.parametrize(
    ("kind", "precision"), [("relu", 0.01), ("silu", 0.01), ("sign", 0.2), ("exp", 0.3)]
)
def test_encrypted_graphs_give_what_plain_ones_give(kind: str, precision: float) -> None:
    keys, slots = ckks(2**9, 14), 2**8
    builder = Builder()
    graph = builder.graph([builder.function(builder.input("x", (slots,)), kind)])
    draw = np.random.default_rng(0)
    sample = draw.uniform(0.5, 4, (50, slots)) * draw.choice([-1, 1], (50, slots))
    found = approximate(graph, sample, ApproximationOptions(precision=precision))
    result = encrypted_values(found, keys, sample[0])
    plain = found.graph.run(sample[:1])[kind][0]
    assert error(keys, result, plain) < 1e-3 * max(1.0, float(np.abs(plain).max()))
    assert np.abs(plain - graph.run(sample[:1])[kind][0]).max() <= precision
