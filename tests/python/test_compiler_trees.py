"""Encrypted trees: exact away from thresholds, refused where comparisons do not resolve."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.building import Builder
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.compiler.description import Description
from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing import from_model
from cloakwork.compiler.nodes import Affine, Function, Input
from cloakwork.errors import LoadError, NoiseError, OutsideError
from cloakwork.strict import Member

ensemble = pytest.importorskip("sklearn.ensemble")
tree = pytest.importorskip("sklearn.tree")

# The mathematics is that of every degree.
SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
Floats = Any


def data(seed: int, columns: int = 4) -> tuple[Floats, Floats]:
    """Features of different units, and classes that depend on them."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(200, columns))
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).astype(int) + (x[:, 3] > 0.8)
    return x * 10.0 ** generator.integers(-2, 3, columns), y


ESTIMATORS: dict[str, Any] = {
    "a stump": tree.DecisionTreeClassifier(max_depth=1),
    "a tree": tree.DecisionTreeClassifier(max_depth=3, random_state=0),
    "a deep tree": tree.DecisionTreeClassifier(random_state=0, min_samples_leaf=3),
    "a regressor": tree.DecisionTreeRegressor(max_depth=4, random_state=0),
    "a forest": ensemble.RandomForestClassifier(7, max_depth=3, random_state=0),
    "extra trees": ensemble.ExtraTreesRegressor(5, max_depth=3, random_state=0),
    "boosted stumps": ensemble.GradientBoostingRegressor(n_estimators=6, max_depth=1),
    "boosted trees": ensemble.GradientBoostingClassifier(n_estimators=4, max_depth=2),
}


def compiled(name: str, **options: Any) -> tuple[CompiledModel, Floats]:
    x, y = data(len(name))
    estimator = ESTIMATORS[name]
    if name in ("a regressor", "boosted stumps", "extra trees"):
        y = y + x[:, 0] / np.abs(x[:, 0]).max()
    elif name == "boosted trees":
        y = y > 0
    estimator.fit(x, y)
    return fhe.compile(estimator, x, **SMALL, **options), x


def thresholds(model: CompiledModel) -> list[tuple[int, float]]:
    """Pairs of a feature and what it is compared with."""
    graph = model._graph
    assert graph is not None
    (unit,) = (node for node in graph.nodes if node.output == "step.unit")
    matrix, bias = unit.terms[0][1].tocoo(), unit.bias  # type: ignore[union-attr]
    units = model.description.inputs[0].units
    return [
        (int(column), float(-bias[row] / weight * units[min(int(column), units.size - 1)]))
        for row, column, weight in zip(matrix.row, matrix.col, matrix.data, strict=True)
    ]


def near_thresholds(model: CompiledModel, sample: Floats, count: int, seed: int) -> Floats:
    """Rows of the sample, each with a feature moved to a threshold or a little beside it."""
    generator, port = np.random.default_rng(seed), model.description.inputs[0]
    found, known = sample[generator.integers(len(sample), size=count)].copy(), thresholds(model)
    for row in found:
        feature, at = known[int(generator.integers(len(known)))]
        width = (port.high - port.low)[min(feature, port.high.size - 1)]
        row[feature] = at + generator.choice([-1, 0, 1]) * width * 2.0 ** -generator.uniform(4, 20)
    return np.clip(found, port.low, port.high)


def exact(name: str, inputs: Floats) -> Floats:
    """Probabilities or predictions of scikit-learn, [rows, ...]."""
    own = ESTIMATORS[name]
    return own.predict_proba(inputs) if hasattr(own, "predict_proba") else own.predict(inputs)


def differences(name: str, model: CompiledModel, inputs: Floats) -> list[float | None]:
    """How far each result is from that of scikit-learn; None where it is refused."""
    client, server = model.split()
    client.keygen()
    found: list[float | None] = []
    for one, right in zip(inputs, exact(name, inputs), strict=True):
        try:
            values = client.decrypt(server.run(client.encrypt(one)))
        except (OutsideError, NoiseError):
            found.append(None)
            continue
        result = values["probabilities"] if isinstance(values, dict) else values
        found.append(float(np.abs(np.ravel(result) - np.ravel(right)).max()))
    return found


@pytest.mark.parametrize("name", ESTIMATORS)
def test_results_are_exact_or_refused_in_the_whole_box(name: str) -> None:
    model, sample = compiled(name)
    port, error = model.description.inputs[0], model.report.accepted_error
    assert error is not None
    generator = np.random.default_rng(0)
    box = generator.uniform(port.low, port.high, (15, port.size))
    near = near_thresholds(model, sample, 25, 1)
    found = differences(name, model, np.concatenate([sample[:10], box, near]))
    assert max(one for one in found if one is not None) <= error
    # What the sample has is not refused, but for one in twenty.
    assert sum(one is None for one in found[:10]) <= 3
    assert sum(one is None for one in found[:25]) <= 8


def test_inputs_at_a_threshold_are_told_with_it() -> None:
    model, sample = compiled("a stump")
    assert model.description.guard is not None
    assert model.description.guard.doubts == ("TreeEnsembleClassifier TreeEnsembleClassifier",)
    ((feature, at),) = set(thresholds(model))
    row = sample[0].copy()
    row[feature] = at
    client, server = model.split()
    with pytest.raises(OutsideError, match="so near to thresholds of TreeEnsembleClassifier"):
        client.decrypt(server.run(client.encrypt(row)))
    bare, _ = compiled("a stump", guard=False)
    client, server = bare.split()
    mixed = client.decrypt(server.run(client.encrypt(row)))["probabilities"]
    # Half of one leaf and half of the other.
    leaves = ESTIMATORS["a stump"].tree_.value[1:, 0]
    assert np.abs(mixed - leaves.mean(axis=0)).max() < 0.05


def test_what_is_refused_of_the_sample_is_said() -> None:
    model, sample = compiled("boosted stumps")
    said = re.search(r"are refused: (\d+) of 200 of the sample", model.describe())
    assert said is not None
    refused = sum(one is None for one in differences("boosted stumps", model, sample))
    # Noise decides for those at the limit.
    assert abs(refused - int(said[1])) <= 3
    assert refused <= 12


def test_doubts_are_in_the_file_and_lost_ones_are_refused(tmp_path: Path) -> None:
    model, _ = compiled("a tree")
    model.save(tmp_path / "m.cwk")
    again = fhe.load_model(tmp_path / "m.cwk", insecure=True)
    assert again.description.to_json() == model.description.to_json()
    note = json.loads(model.description.to_json())
    note["guard"]["doubts"] = []
    with pytest.raises(LoadError, match="a value for each of the guarded ones"):
        Description.read(Member("note", note))


def test_more_trees_need_no_more_diagonals() -> None:
    x, y = data(3)
    diagonals = []
    for count in (4, 40):
        forest = ensemble.RandomForestClassifier(count, max_depth=3, random_state=0).fit(x, y > 0)
        graph = from_model(forest, x)
        maps = [node for node in graph.nodes if isinstance(node, Affine) and node.size > 1]
        matrices = [matrix.tocoo() for node in maps for name, matrix in node.terms if name != "X"]
        offsets = [np.unique(own.col - own.row) for own in matrices if own.shape[0] == own.shape[1]]
        assert offsets
        assert all(np.abs(own).max() < 8 for own in offsets)
        diagonals.append(sum(map(len, offsets)))
    assert diagonals[1] <= diagonals[0] + 12


def test_mixtures_of_leaves_are_within_their_doubt() -> None:
    """For any steps between 1/2 and what they should be."""
    x, y = data(5)
    forest = ensemble.RandomForestRegressor(6, max_depth=4, random_state=1).fit(x, y)
    graph = from_model(forest, x)
    generator = np.random.default_rng(0)
    inputs = x[generator.integers(len(x), size=300)]
    exact = next(iter(graph.run(inputs).values())).ravel()
    held: dict[str, Floats] = {}
    for node in graph.nodes:
        values = inputs if isinstance(node, Input) else node.values(held)
        if isinstance(node, Function):
            mixed = generator.random(values.shape) < 0.1
            values = values + mixed * generator.random(values.shape) / 2 * (1 - 2 * values)
        held[node.output] = values
    (doubt,) = graph.doubts
    apart = np.abs(held[graph.outputs[0]].ravel() - exact)
    assert apart.max() > 0.05
    assert (apart <= held[doubt].ravel() + 1e-9).all()
    # Not by far more than needed: a third of it is reached.
    assert (apart / np.maximum(held[doubt].ravel(), 1e-9)).max() > 0.3


def scaled(factor: float, *, compared: bool = False) -> Graph:
    """A stump, times a number, or compared with another by the server."""
    x, y = data(7)
    graph = from_model(tree.DecisionTreeRegressor(max_depth=1).fit(x, y), x)
    builder = Builder(graph.nodes)
    builder.doubts = dict(graph.doubts)
    value = builder.scaled(graph.outputs[0], factor)
    if not compared:
        return builder.graph([value])
    above = builder.function(builder.scaled(value, 1.0, -0.1), "step")
    return builder.graph([builder.product(above, value)])


def test_doubts_are_those_of_what_follows_the_trees() -> None:
    x, _ = data(7)
    errors = []
    for factor in (1.0, 1000.0):
        model = fhe.compile(scaled(factor), x, **SMALL)
        assert model.report.accepted_error is not None
        errors.append(model.report.accepted_error / factor)
        row = x[0].copy()
        ((feature, row[feature]),) = set(thresholds(model))
        client, server = model.split()
        with pytest.raises(OutsideError, match="near to thresholds"):
            client.decrypt(server.run(client.encrypt(row)))
    assert errors[0] == pytest.approx(errors[1], rel=0.5)
    unknown = fhe.compile(scaled(1.0, compared=True), x, **SMALL)
    assert unknown.report.accepted_error is None
    assert "before or follows" in unknown.describe()
