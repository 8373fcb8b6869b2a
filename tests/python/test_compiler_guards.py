"""Compiled models give right results for every input that they accept, or refuse them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler import guarding
from cloakwork.compiler.boxes import box_of
from cloakwork.compiler.building import Builder
from cloakwork.compiler.checking import OutsideWarning
from cloakwork.compiler.client import Client
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.guarding import guarded
from cloakwork.compiler.nodes import Evaluate, Input
from cloakwork.compiler.reach import possible
from cloakwork.errors import CloakworkError, ModelError, NoiseError, OutsideError, ParamError
from cloakwork.fhe import Polynomial
from python.compiled_graphs import perceptron, random_graph, sample_of

# The mathematics is that of every degree.
SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
Floats = Any


def network(seed: int) -> Graph:
    """One or two hidden layers of a random function, on some features."""
    generator, builder = np.random.default_rng(seed), Builder(name=f"network {seed}")
    kinds = ("relu", "tanh", "sigmoid", "gelu", "silu", "softplus")
    columns = int(generator.integers(2, 12))
    value = builder.input("x", (columns,))
    for _ in range(int(generator.integers(1, 3))):
        rows = int(generator.integers(3, 16))
        weights = generator.normal(size=(rows, columns)) / np.sqrt(columns)
        value = builder.affine([(value, weights)], generator.normal(size=rows) / 4)
        value = builder.function(value, str(generator.choice(kinds)))
        columns = rows
    return builder.graph([builder.affine([(value, generator.normal(size=(2, columns)))])])


def sample_like(graph: Graph, rows: int, seed: int) -> Floats:
    """Inputs that depend on each other, so that their box holds others, with some outliers."""
    generator = np.random.default_rng(seed)
    (node,) = graph.inputs
    hidden = generator.normal(size=(rows, 2)) @ generator.normal(size=(2, node.size))
    return (hidden + generator.normal(size=(rows, node.size)) / 4).reshape(rows, *node.shape)


def answers(model: CompiledModel, inputs: Floats) -> list[Floats | None]:
    """The results of each input, of which each has a run of its own; None for those refused."""
    client, server = model.split()
    client.keygen()
    found: list[Floats | None] = []
    for one in inputs:
        result = server.run(client.encrypt(one))
        try:
            found.append(client.decrypt(result, 1)[0])  # type: ignore[call-overload,index]
        except (OutsideError, NoiseError):
            found.append(None)
    return found


def queries(model: CompiledModel, count: int, seed: int) -> Floats:
    """Uniform in the whole box of accepted inputs."""
    port = model.description.inputs[0]
    generator = np.random.default_rng(seed)
    return generator.uniform(port.low, port.high, (count, port.size)).reshape(-1, *port.shape)


def mixed(model: CompiledModel, sample: Floats, count: int, seed: int) -> Floats:
    """Queries of the whole box, and others between these and the sample."""
    far = queries(model, count, seed)
    near = sample[: len(far)]
    share = np.random.default_rng(seed).random((len(near), 1)) / 2
    return np.concatenate([far, near + share * (far[: len(near)] - near)])


def wrong_ones(model: CompiledModel, graph: Graph, inputs: Floats, most: float) -> tuple[int, int]:
    """How many inputs have results that deviate by more, and how many are refused."""
    exact = next(iter(graph.run(inputs).values()))
    found = answers(model, inputs)
    wrong = [
        one is not None and float(np.abs(one - right).max()) > most
        for one, right in zip(found, exact, strict=True)
    ]
    return sum(wrong), sum(one is None for one in found)


def test_a_feature_of_small_range_does_not_wrap_the_result() -> None:
    builder = Builder()
    x = builder.input("x", (2,))
    graph = builder.graph([builder.affine([(x, np.array([[1000.0, 1.0]]))])])
    sample = np.random.default_rng(0).uniform([0, 0], [0.01, 1], (100, 2))
    model = fhe.compile(graph, sample, **SMALL)
    client, _ = model.split()
    with pytest.raises(ModelError, match=r"element \[0\] of sample 0 is outside of -0.00"):
        client.encrypt(np.array([0.128, 0.5]))
    assert model.report.accepted_error is not None
    wrong, refused = wrong_ones(model, graph, queries(model, 100, 0), model.report.accepted_error)
    assert (wrong, refused) == (0, 0)
    # With one range for all, as before: a result of 1250 has room, too.
    wide = fhe.compile(graph, sample, bounds=(-0.25, 1.25), **SMALL)
    assert wide.report.accepted_error is not None
    asked = queries(wide, 100, 0)
    assert wrong_ones(wide, graph, asked, wide.report.accepted_error) == (0, 0)
    bare = fhe.compile(graph, sample, bounds=(-0.25, 1.25), guard=False, **SMALL)
    assert bare.report.accepted_error is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideWarning)
        wrong, _ = wrong_ones(bare, graph, asked, 1.0)
    assert wrong > 10


@pytest.mark.parametrize("seed", range(3))
def test_networks_are_right_in_their_whole_box_or_refuse(seed: int) -> None:
    _check_box(seed, 25)


@pytest.mark.large
@pytest.mark.parametrize("seed", range(3, 25))
def test_more_networks_are_right_in_their_whole_box_or_refuse(seed: int) -> None:
    _check_box(seed, 1000)


def _check_box(seed: int, count: int) -> None:
    graph = network(seed)
    sample = sample_like(graph, 200, seed)
    model = fhe.compile(graph, sample, precision=0.05, **SMALL)
    error = model.report.accepted_error
    assert error is not None
    inputs = mixed(model, sample, count, seed + 1)
    wrong, refused = wrong_ones(model, graph, inputs, error)
    assert wrong == 0
    # Some of the box leave a domain; what comes from the sample does not.
    assert 0 < refused < len(inputs)
    assert wrong_ones(model, graph, sample[:10], error) == (0, 0)


def test_without_guards_the_same_network_is_wrong_without_a_word() -> None:
    graph = network(1)
    sample = sample_like(graph, 200, 1)
    bounds = (-15.0, 15.0)
    model = fhe.compile(graph, sample, precision=0.05, guard=False, bounds=bounds, **SMALL)
    assert model.description.guard is None
    assert "wrong results without a word" in model.describe()
    stated = model.report.error + model.report.approximation_error
    # Far inputs wrap, mostly out of the known range, as it happens.  The polynomials of those
    # just beyond a domain are wrong within the range, whatever the keys are.
    farthest = sample[np.abs(sample).max(axis=1).argmax()]
    inputs = np.linspace(1.5, 1.6, 21)[:, np.newaxis] * farthest
    assert np.abs(inputs).max() < bounds[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideWarning)
        wrong, _ = wrong_ones(model, graph, inputs, 4 * stated)
    assert wrong > 5


@pytest.mark.parametrize("mode", ["latency", "throughput"])
def test_a_single_norm_has_room_for_every_accepted_input(mode: str) -> None:
    """It is a constant polynomial, which would wrap around to the same value in all slots."""
    builder = Builder()
    hidden = builder.affine([(builder.input("x", (2,)), np.array([[1.0, -1.0]]))])
    graph = builder.graph([builder.affine([(builder.function(hidden, "tanh"), np.ones((1, 1)))])])
    generator = np.random.default_rng(0)
    sample = generator.normal(size=(300, 1)) * np.ones((1, 2))
    sample = sample + generator.normal(size=(300, 2)) / 10
    model = fhe.compile(graph, sample, optimize=mode, **SMALL)
    guard, error = model.description.guard, model.report.accepted_error
    assert guard is not None
    assert guard.port is not None
    assert error is not None
    port = model.description.inputs[0]
    # Sums just above what the modulus of the last level holds, and many others.
    steps = np.linspace(0, 1, 60)[:, np.newaxis]
    inputs = np.concatenate([steps * [port.low[0], port.high[-1]], [[3.26, 5.13], [-5.29, 7.26]]])
    wrong, refused = wrong_ones(model, graph, inputs, error)
    assert wrong == 0
    assert refused > 30


@pytest.mark.parametrize("factor", [3.0, 6.0, 12.0, 25.0, 50.0])
def test_an_input_that_is_not_asked_for_spoils_no_batch_without_a_word(factor: float) -> None:
    graph = network(1)
    sample = sample_like(graph, 200, 1)
    bounds = (-400.0, 400.0)
    model = fhe.compile(
        graph, sample, precision=0.05, optimize="throughput", bounds=bounds, **SMALL
    )
    client, server = model.split()
    result = server.run(client.encrypt(np.stack([sample[0], factor * sample[1]])))
    try:
        found = client.decrypt(result, 1)
    except (OutsideError, NoiseError):
        return
    assert model.report.accepted_error is not None
    expected = next(iter(graph.run(sample[:1]).values()))
    assert np.abs(found - expected).max() <= model.report.accepted_error


def test_polynomials_of_a_given_graph_are_guarded_one_after_the_other() -> None:
    first = Polynomial([0.0, 1.5, 0.0, 0.3], "power")
    second = Polynomial([0.0, 1.0, 0.0, 0.3, 0.0, 0.1], "chebyshev", (-1.0, 1.0))
    nodes = (
        Input("x", (3,)), Evaluate("a", (3,), "x", first), Evaluate("y", (3,), "a", second)
    )  # fmt: skip
    graph = Graph(nodes, ("y",))
    sample = np.random.default_rng(0).uniform(-0.3, 0.3, (60, 3))
    model = fhe.compile(graph, sample, bounds=(-1.3, 1.3), **SMALL)
    guard, error = model.description.guard, model.report.accepted_error
    assert guard is not None
    assert guard.of == ("a",)
    assert error is not None
    inputs = np.linspace(-1.3, 1.3, 41)[:, np.newaxis] * np.ones((1, 3))
    wrong, refused = wrong_ones(model, graph, inputs, error)
    assert wrong == 0
    assert 0 < refused < len(inputs)


@pytest.mark.parametrize("kind", ["tanh", "relu"])
def test_arguments_that_only_one_side_can_leave_are_guarded_there(kind: str) -> None:
    builder = Builder()
    x = builder.input("x", (4,))
    hidden = builder.function(builder.product(x, x), kind)
    weights = np.random.default_rng(1).normal(size=(2, 4))
    graph = builder.graph([builder.affine([(hidden, weights)])])
    sample = np.random.default_rng(0).uniform(-1, 1, (100, 4))
    model = fhe.compile(graph, sample, precision=0.05, **SMALL)
    error = model.report.accepted_error
    assert error is not None
    wrong, _ = wrong_ones(model, graph, mixed(model, sample, 15, 0), error)
    assert wrong == 0
    assert wrong_ones(model, graph, sample[:10], error) == (0, 0)


def test_an_input_of_a_batch_that_leaves_a_domain_is_told_with_the_batch() -> None:
    graph = network(1)
    sample = sample_like(graph, 200, 1)
    model = fhe.compile(graph, sample, precision=0.05, optimize="throughput", **SMALL)
    error = model.report.accepted_error
    assert error is not None
    client, server = model.split()
    exact = next(iter(graph.run(sample).values()))
    found = client.decrypt(server.run(client.encrypt(sample)), len(sample))
    assert np.abs(found - exact).max() <= error
    port = model.description.inputs[0]
    far = np.concatenate([sample[:30], np.full((1, port.size), port.high.max())])
    with pytest.raises(OutsideError, match="sample 30"):
        client.decrypt(server.run(client.encrypt(far)), 31)


@pytest.mark.parametrize("mode", ["latency", "memory", "throughput"])
def test_squares_are_guarded_by_what_the_program_computes_already(mode: str) -> None:
    graph = perceptron((48, 16, 16, 3))
    generator = np.random.default_rng(3)
    sample = generator.random((40, 48))
    model = fhe.compile(graph, sample, optimize=mode, degree=2**12, insecure=True)
    bare = fhe.compile(graph, sample, optimize=mode, degree=2**12, insecure=True, guard=False)
    assert model.report.chosen.depth == bare.report.chosen.depth
    guard = model.description.guard
    assert guard is not None
    assert set(guard.of) <= {"affine", "affine.1"}
    assert "affine.1" in guard.of
    error = model.report.accepted_error
    assert error is not None
    near = sample + generator.normal(size=sample.shape) / 20
    near = np.clip(near, model.description.inputs[0].low, model.description.inputs[0].high)
    assert wrong_ones(model, graph, near[:4], error) == (0, 0)
    # An input along the first layer's largest singular vector leaves the range.
    weights = graph["affine"].terms[0][1].toarray()  # type: ignore[attr-defined]
    port = model.description.inputs[0]
    far = np.where(weights[0] > 0, port.high, port.low)[np.newaxis]
    client, server = model.split()
    with pytest.raises(OutsideError, match="brings"):
        client.decrypt(server.run(client.encrypt(far)))


@pytest.mark.parametrize("of_first", [True, False])
def test_room_above_a_norm_is_of_the_first_modulus_or_a_level(
    of_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarding, "_SCALE_BITS", 0)
    if not of_first:
        monkeypatch.setattr(guarding, "_FIRST_BITS", 0.0)
    graph = perceptron((16, 256, 16, 3))
    sample = np.random.default_rng(3).random((40, 16))
    model = fhe.compile(graph, sample, **SMALL)
    bare = fhe.compile(graph, sample, guard=False, **SMALL)
    assert model.report.chosen.depth - bare.report.chosen.depth == (0 if of_first else 1)
    error = model.report.accepted_error
    assert error is not None
    # The largest norm of all accepted inputs does not wrap into what passes.
    port = model.description.inputs[0]
    weights = graph["affine"].terms[0][1].toarray()  # type: ignore[attr-defined]
    far = np.where(weights[:8] > 0, port.high, port.low)
    wrong, refused = wrong_ones(model, graph, np.concatenate([far, sample[:4]]), error)
    assert wrong == 0
    assert 0 < refused <= len(far)


@pytest.mark.parametrize("seed", range(4))
def test_products_of_two_values_have_room_for_every_accepted_input(seed: int) -> None:
    graph = random_graph(seed)
    model = fhe.compile(graph, sample_of(graph, 24), optimize="throughput", **SMALL)
    generator = np.random.default_rng(seed)
    inputs = {
        port.name: generator.choice([port.low[0], port.high[0]], (400, port.size))
        * np.linspace(0, 1, 400)[:, np.newaxis]
        for port in model.description.inputs
    }
    guard, plain = model.description.guard, model._graph
    assert guard is not None
    assert plain is not None
    if guard.port is not None:
        passed = (plain.run(inputs)[guard.port.name] <= guard.port.high).all(axis=1)
        assert passed.sum() > 40
        inputs = {name: values[passed] for name, values in inputs.items()}
    count = len(next(iter(inputs.values())))
    client, server = model.split()
    found = client.outputs(server.run(client.encrypt(inputs)), count)
    assert model.report.accepted_error is not None
    for name, values in graph.run(inputs).items():
        port = next(one for one in model.description.outputs if one.name == name)
        assert port.low.min() <= values.min() <= values.max() <= port.high.max()
        assert np.abs(found[name] - values).max() <= model.report.accepted_error


def test_the_guard_is_in_the_file_and_the_note_of_older_files_has_none(tmp_path: Any) -> None:
    graph = network(1)
    sample = sample_like(graph, 100, 1)
    model = fhe.compile(graph, sample, precision=0.1, **SMALL)
    model.save(tmp_path / "model.cwk")
    again = fhe.load_model(tmp_path / "model.cwk", insecure=True)
    assert again.description.to_json() == model.description.to_json()
    client, server = again.split()
    port = again.description.inputs[0]
    inputs = queries(again, 40, 3)
    refused = [one is None for one in answers(again, inputs)]
    assert 0 < sum(refused) < len(refused)
    far = inputs[refused.index(True)]
    with pytest.raises(OutsideError, match="compile with inputs like it in the sample"):
        client.decrypt(server.run(client.encrypt(far)))
    outside = np.full(port.shape, 2 * port.high.max())
    with pytest.raises(ModelError, match="clip the values"):
        client.encrypt(outside)
    client.encrypt(outside, clip=True)


@pytest.mark.parametrize(
    ("shape", "low", "high", "expected_low", "expected_high"),
    [
        # Pixels have one range, also where a border is always 0.
        ((4,), [0, 0, 0, 0], [16, 15, 3, 16], [-4] * 4, [20] * 4),
        # Features of different units have their own.
        ((3,), [0, 0, 10], [0.01, 1, 500], [-0.0025, -0.25, -112.5], [0.0125, 1.25, 622.5]),
        # Pictures have one.
        ((1, 1, 2), [0, 0], [1, 100], [-25, -25], [125, 125]),
        # A constant is from 0 to 1, or as wide as its value.
        ((3,), [0, 5, 0], [0, 5, 1000], [-0.25, -2.5, -250], [1.25, 12.5, 1250]),
    ],
)
def test_features_have_ranges_of_their_own_unless_they_are_of_one_unit(
    shape: tuple[int, ...],
    low: list[float],
    high: list[float],
    expected_low: list[float],
    expected_high: list[float],
) -> None:
    sample = np.array([low, high], dtype=np.float64)
    found = box_of(Input("x", shape), sample, 0.25)
    assert np.allclose(found, [expected_low, expected_high], rtol=1e-6)


def test_bounds_may_be_stated_for_each_feature() -> None:
    graph = perceptron((3, 2))
    sample = np.random.default_rng(0).uniform(0, 1, (30, 3))
    low, high = np.array([0.0, -1.0, 2.0]), np.array([1.0, 1.0, 2.0])
    model = fhe.compile(graph, sample, bounds=(low, high), **SMALL)
    port = model.description.inputs[0]
    assert (port.low == low).all()
    assert (port.high == high).all()
    client, _ = model.split()
    with pytest.raises(ModelError, match=r"element \[2\] of sample 0 is outside of 2 to 2"):
        client.encrypt(np.array([0.5, 0.5, 1.0]))


def test_features_of_small_ranges_do_not_drown_in_noise(tmp_path: Any) -> None:
    """The noise of all slots is of one size; weights of small features are large."""
    builder = Builder()
    sizes = np.array([1e-3, 1.0, 500.0, 0.0])
    weights = np.array([[1.0, -2.0, 0.5, 1.0]]) / np.where(sizes > 0, sizes, 1.0)
    graph = builder.graph([builder.affine([(builder.input("x", (4,)), weights)])])
    sample = np.random.default_rng(0).uniform(-1, 1, (40, 4)) * sizes
    model = fhe.compile(graph, sample, **SMALL)
    port = model.description.inputs[0]
    assert (np.frexp(port.units)[0] == 0.5).all()
    scaled = np.maximum(np.abs(port.low), port.high) / port.units
    assert (scaled[:3] > 8).all()
    assert (scaled <= 16).all()
    assert model.report.error < 1e-3
    assert np.allclose(model.plain(sample)["affine"], sample @ weights.T)
    model.save(tmp_path / "m.cwk")
    again = fhe.load_model(tmp_path / "m.cwk", insecure=True)
    inputs = queries(model, 20, 0)
    assert model.report.accepted_error is not None
    assert wrong_ones(again, graph, inputs, model.report.accepted_error) == (0, 0)
    edges = np.stack([port.low, port.high])
    assert wrong_ones(again, graph, edges, model.report.accepted_error) == (0, 0)


@pytest.mark.parametrize(
    "bounds",
    [
        (np.zeros(2), np.ones(3)),
        (np.zeros(3), np.array([1, 1, np.nan])),
        (np.ones(3), np.zeros(3)),
        (np.zeros(3), np.zeros(3)),
        (np.zeros(3), np.array(["a", "b", "c"])),
        (0.0, 1.0, 2.0),
        {"y": (0.0, 1.0)},
    ],
)
def test_bounds_without_a_meaning_are_refused(bounds: Any) -> None:
    graph = perceptron((3, 2))
    with pytest.raises(ParamError, match="bounds"):
        fhe.compile(graph, np.random.default_rng(0).random((30, 3)), bounds=bounds, **SMALL)


def test_a_model_without_room_for_its_accepted_inputs_says_what_it_lacks() -> None:
    builder = Builder()
    x = builder.input("x", (2,))
    value = builder.affine([(x, np.array([[1e6, -1e6], [1.0, 1.0]]))])
    graph = builder.graph([builder.product(value, builder.affine([(x, np.eye(2) * 2.5)]))])
    sample = np.repeat(np.random.default_rng(0).uniform(-1, 1, (30, 1)), 2, axis=1)
    with pytest.raises(ParamError, match="guard") as caught:
        fhe.compile(graph, sample, degree=2**12, precision=50.0)
    assert "guard=False" in str(caught.value)
    assert "narrower bounds=" in str(caught.value)
    with pytest.raises(ParamError, match="True or False"):
        fhe.compile(graph, sample, guard="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(6))
def test_ranges_by_interval_arithmetic_hold_all_values(seed: int) -> None:
    graph = network(seed) if seed % 2 else random_graph(seed)
    generator = np.random.default_rng(seed)
    reach = {
        node.output: (np.full(node.size, -2.0), np.full(node.size, 3.0)) for node in graph.inputs
    }
    for node in graph.nodes:
        if not isinstance(node, Input):
            reach[node.output] = possible(node, reach)
    corners = {
        node.output: generator.choice([-2.0, 3.0], (2000, *node.shape)) for node in graph.inputs
    }
    for name, (low, high) in graph.trace_ranges(corners).items():
        assert (reach[name][0] <= low + 1e-9).all()
        assert (high - 1e-9 <= reach[name][1]).all()


def test_a_sum_of_squares_bounds_what_is_made_of_them() -> None:
    builder = Builder()
    x = builder.input("x", (8,))
    square = builder.product(x, x)
    weights = np.random.default_rng(0).normal(size=(3, 8)) * 1e3
    graph = builder.graph([builder.affine([(square, weights)])])
    sample = {"x": np.random.default_rng(1).uniform(-1, 1, (50, 8))}
    box = {"x": (np.full(8, -100.0), np.full(8, 100.0))}
    made = guarded(graph, box, sample, 0.25)
    assert len(made.norms) == 1
    most = made.norms[0].size ** 2
    low, high = made.reach[graph.outputs[0]]
    assert np.allclose(high, most * weights.max(axis=1))
    assert np.allclose(low, most * weights.min(axis=1))
    values = made.graph.run(sample)[made.output]
    assert (values <= made.limit / 1.25**2 * (1 + 1e-9)).all()


def test_values_that_no_norm_can_guard_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloakwork.compiler.guarding._SHARES", (0.1,))
    graph = network(1)
    sample = sample_like(graph, 60, 1)
    model = fhe.compile(graph, sample, precision=0.1, **SMALL)
    assert model.description.guard is None
    assert model.report.accepted_error is None
    assert "no norm tells of softplus.unit" in model.describe()
    client, server = model.split()
    found = client.decrypt(server.run(client.encrypt(sample[0])))
    expected = next(iter(graph.run(sample[:1]).values()))
    assert np.abs(found - expected).max() <= 0.2


def test_the_largest_norm_has_the_least_power_that_the_sample_has_room_for() -> None:
    builder = Builder()
    x = builder.input("x", (256,))
    wave = Polynomial([0.0, 1.0, 0.0, 0.1], "chebyshev", (-1.0, 1.0))
    made = Evaluate("y", (256,), x, wave)
    graph = Graph((Input("x", (256,)), made), ("y",))
    generator = np.random.default_rng(0)
    for size, log in ((0.05, 1), (0.2, 2), (0.39, 3), (0.55, 4), (0.66, 5)):
        sample = {"x": size * generator.choice([-1.0, 1.0], (20, 256))}
        found = guarded(graph, {"x": (np.full(256, -2.0), np.full(256, 2.0))}, sample, 0.25)
        assert [norm.log for norm in found.norms] == [log]
        # The p-norm of 256 equal elements.
        power = 2**log
        assert size * 256 ** (1 / power) <= 0.8 < size * 256 ** (2 / power)
    # With less room where there is no more.
    tight = {"x": 0.76 * generator.choice([-1.0, 1.0], (20, 256))}
    found = guarded(graph, {"x": (np.full(256, -2.0), np.full(256, 2.0))}, tight, 0.25)
    assert [norm.log for norm in found.norms] == [5]
    beyond = {"x": 0.9 * generator.choice([-1.0, 1.0], (20, 256))}
    found = guarded(graph, {"x": (np.full(256, -2.0), np.full(256, 2.0))}, beyond, 0.25)
    assert found.unproven == ("x",)
    inside = guarded(graph, {"x": (np.full(256, -1.0), np.full(256, 1.0))}, beyond, 0.25)
    assert (inside.norms, inside.unproven) == ((), ())


def test_a_result_of_another_program_is_not_taken_for_one() -> None:
    graph = perceptron((4, 2))
    sample = sample_of(graph, 30)["x"]
    model = fhe.compile(graph, sample, **SMALL)
    client, server = model.split()
    result = server.run(client.encrypt(sample[0]))
    wrapped = {name: one * 20 for name, one in result.items()}
    with pytest.raises(NoiseError, match="beyond the range"):
        client.decrypt(wrapped)
    renamed = replace(model.description, outputs=())
    with pytest.raises(CloakworkError, match="results"):
        Client(renamed, model.context).outputs(result)
