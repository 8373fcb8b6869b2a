"""Models deeper than a modulus chain, with bootstrapping: encrypted results are the plain ones."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler import deep
from cloakwork.compiler.building import Builder
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.compiler.graph import Graph
from cloakwork.errors import LoadError, ParamError
from python.compiled_graphs import perceptron, sample_of

SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True, "precision": 0.2}


def deep_perceptron(layers: int = 4, width: int = 6) -> Graph:
    """Affine maps with ReLUs between them."""
    draw, builder = np.random.default_rng(0), Builder(name="deep")
    value = builder.input("x", (width,))
    for _ in range(layers):
        weights = draw.normal(size=(width, width)) * np.sqrt(2 / width)
        value = builder.affine([(value, weights)], draw.normal(size=width) / 10)
        value = builder.function(value, "relu")
    return builder.graph([builder.affine([(value, draw.normal(size=(3, width)))])])


def residual(blocks: int = 2, width: int = 8) -> Graph:
    """Each block adds its argument to a perceptron of it."""
    draw, builder = np.random.default_rng(1), Builder(name="residual")
    value = builder.input("x", (width,))
    for _ in range(blocks):
        inner = builder.affine([(value, draw.normal(size=(width, width)) / np.sqrt(width))])
        inner = builder.function(inner, "relu")
        inner = builder.affine([(inner, draw.normal(size=(width, width)) / np.sqrt(width))])
        value = builder.function(builder.sum([inner, value]), "relu")
    return builder.graph([builder.affine([(value, draw.normal(size=(2, width)))])])


@pytest.fixture(autouse=True)
def few_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few levels as secure parameters leave; without a check there would be any number."""
    monkeypatch.setattr(deep, "_LEVELS", range(6, 11))


@pytest.fixture(scope="module")
def model() -> CompiledModel:
    """A perceptron of which one chain has no room."""
    graph = deep_perceptron()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deep, "_LEVELS", range(6, 11))
        return fhe.compile(graph, sample_of(graph, 24), bootstrap=True, **SMALL)


def agree(model: CompiledModel, x: Any) -> None:
    """The encrypted result is that of the polynomials, within the stated error."""
    client, server = model.split()
    found = client.decrypt(server.run(client.encrypt(x)))
    (expected,) = model.plain(x[np.newaxis]).values()
    assert np.abs(found - expected).max() <= model.report.error
    assert 0 < model.report.error < 1e-2


def test_a_deep_perceptron_is_bootstrapped(model: CompiledModel) -> None:
    assert model.report.chosen.depth > model.context.parameters.fresh_level
    assert sum(node.refreshed for node in model.report.nodes) >= 2
    agree(model, sample_of(deep_perceptron(), 9, seed=3)["x"][-1])


def test_the_report_names_the_places(model: CompiledModel) -> None:
    words = model.describe()
    assert "times of 8 slots" in words
    refreshed = [node.name for node in model.report.nodes if node.refreshed]
    for name in refreshed:
        assert f" before {name}" in model.report.bootstrapping
    assert "1 bootstrapped before" in words


def test_a_value_beside_others_is_refreshed_where_they_meet() -> None:
    graph = residual()
    found = fhe.compile(graph, sample_of(graph, 24), bootstrap=True, **SMALL)
    assert sum(node.refreshed for node in found.report.nodes) >= 2
    agree(found, sample_of(graph, 9, seed=3)["x"][-1])


@pytest.mark.slow(reason="a composition is searched that is precise to 3e-4")
def test_a_composition_is_bootstrapped_between_its_parts() -> None:
    """ReLU as x times a step of several polynomials: x waits beside them."""
    graph = deep_perceptron(layers=1)
    sample = sample_of(graph, 24)
    found = fhe.compile(graph, sample, bootstrap=True, **(SMALL | {"precision": 3e-4}))
    kinds = [node.kind for node in found.report.nodes]
    assert kinds.count("Evaluate") > 1
    assert kinds.count("Product") == 1
    refreshed = [node.kind for node in found.report.nodes if node.refreshed]
    assert "Evaluate" in refreshed or "Product" in refreshed
    agree(found, sample["x"][5])


def test_values_of_several_ciphertexts_are_bootstrapped_one_by_one() -> None:
    width, draw, builder = 300, np.random.default_rng(2), Builder(name="wide")
    value = builder.input("x", (width,))
    for _ in range(8):
        weights = np.diag(draw.uniform(-1.0, -0.5, width))
        value = builder.affine([(value, weights)], draw.uniform(0.2, 0.4, width))
        value = builder.product(value, value)
    graph = builder.graph([value])
    options = SMALL | {"degree": 2**9}
    found = fhe.compile(graph, sample_of(graph, 24), bootstrap=True, **options)
    assert {node.refreshed for node in found.report.nodes} == {0, 2}
    agree(found, sample_of(graph, 9, seed=3)["x"][-1])


def test_files_hold_the_levels_of_keys(model: CompiledModel, tmp_path: Path) -> None:
    model.save(tmp_path / "deep.cwk")
    client, server = fhe.load_model(tmp_path / "deep.cwk", insecure=True).split()
    assert client.description.levels == model.description.levels
    client.keygen()
    client.save(tmp_path / "keys")
    levels = model.description.levels
    assert levels is not None
    held = client.evaluation.rotation_levels
    assert {step: held[step] for step in levels.rotations} == dict(levels.rotations)
    assert min(held.values()) < max(held.values())
    x = sample_of(deep_perceptron(), 1, seed=4)["x"]
    evaluation = fhe.load(tmp_path / "keys" / "eval.key", insecure=True)
    results = server.run(client.encrypt(x), evaluation)
    (expected,) = model.plain(x).values()
    assert np.abs(client.decrypt(results) - expected).max() <= model.report.error


def test_without_bootstrapping_a_deep_model_is_refused() -> None:
    graph = perceptron((4,) * 60)
    options = {"degree": 2**14, "bootstrap": False}
    with pytest.raises(ParamError, match="depth"):
        fhe.compile(graph, sample_of(graph, 4), **options)
    with pytest.raises(ParamError, match="depth") as refusal:
        fhe.compile(graph, sample_of(graph, 4), degree=2**14)
    assert any("bootstrapping" in note for note in refusal.value.__notes__)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bootstrap": "yes"}, '"auto", True or False'),
        ({"bootstrap": 1}, '"auto", True or False'),
        ({"bootstrap": True, "optimize": "throughput"}, '"latency" or "memory"'),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], words: str) -> None:
    graph = perceptron((4, 2))
    with pytest.raises(ParamError, match=words):
        fhe.compile(graph, sample_of(graph, 4), **(SMALL | options))


def test_altered_levels_in_a_file_are_refused(model: CompiledModel) -> None:
    from cloakwork.compiler.description import KeyLevels
    from cloakwork.strict import Member

    levels = model.description.levels
    assert levels is not None
    assert KeyLevels.read(Member("levels", levels.to_json())) == levels
    assert model.rotations == list(levels.rotations)
    altered = levels.to_json() | {"rotations": [[1, 2, 3]]}
    with pytest.raises(LoadError, match=r"levels\.rotations"):
        KeyLevels.read(Member("levels", altered))


def test_levels_beyond_the_chain_are_refused(model: CompiledModel, tmp_path: Path) -> None:
    levels = model.description.levels
    assert levels is not None
    wrong = replace(model.description, levels=replace(levels, raising=1000))
    CompiledModel(model.program, wrong).save(tmp_path / "wrong.cwk")
    with pytest.raises(LoadError, match=r"levels\.raising: expected an integer from 0 to"):
        fhe.load_model(tmp_path / "wrong.cwk", insecure=True)


def test_a_result_of_which_no_estimate_is_known_goes_through_a_file(
    model: CompiledModel, tmp_path: Path
) -> None:
    """The noise of deep models is estimated so pessimistically that it overflows."""
    client, _ = model.split()
    made = client.encrypt(sample_of(deep_perceptron(), 1)["x"])["x"]
    replace(made, noise=inf).save(tmp_path / "x.ct")
    found = fhe.load(tmp_path / "x.ct", insecure=True)
    assert found.precision_estimate() < -1000
    assert np.asarray(found.data == made.data).all()
