"""Outputs of different sizes: the error of each is small beside its own range."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.building import Builder
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.compiler.description import Description
from cloakwork.compiler.graph import Graph
from cloakwork.errors import LoadError, NoiseError
from cloakwork.strict import Member
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SMALL: dict[str, Any] = {"insecure": True, "degree": 2048}
SIZES = np.array([1e4, 1.0, 1e-5])


def linear(rows: Floats, *, squared: bool = False, labels: bool = False) -> Graph:
    builder = Builder()
    x = builder.input("x", (rows.shape[1],))
    if squared:
        x = builder.product(x, x)
    y = builder.affine([(x, rows)], 0.5 * np.abs(rows).max(axis=1), name="y")
    tail = ClientTail(("label",), (ClientStep("label", "argmax", ("y",)),)) if labels else None
    return builder.graph([y], tail)


def weights(seed: int = 0) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(seed)
    return SIZES[:, np.newaxis] * generator.normal(size=(3, 6)), generator.uniform(-1, 1, (60, 6))


def errors(model: CompiledModel, graph: Graph, rows: Floats) -> Floats:
    client, server = model.split()
    client.keygen()
    batch = rows if model.report.chosen.inputs > 1 else rows[:5]
    parts = [batch] if len(batch) > 5 else batch
    apart = [
        np.abs(client.decrypt(server.run(client.encrypt(x)), len(x) if x.ndim > 1 else None)
               - graph.run(x.reshape(-1, 6))["y"]).max(axis=0)
        for x in parts
    ]  # fmt: skip
    return np.asarray(np.max(apart, axis=0))


@pytest.mark.parametrize("optimize", ["latency", "throughput"])
@pytest.mark.parametrize("squared", [False, True])
def test_each_output_is_exact_beside_its_own_range(optimize: str, squared: bool) -> None:
    rows, sample = weights()
    graph = linear(rows, squared=squared)
    model = fhe.compile(graph, sample, optimize=optimize, **SMALL)
    (port,) = model.description.outputs
    assert len(np.unique(port.units)) == 3
    stated = np.array(model.report.errors["y"])
    assert (stated < 0.01 * np.abs(graph.run(sample)["y"]).max(axis=0)).all()
    assert max(stated) == model.report.error
    assert "of the element of the smallest range" in model.describe()
    assert (errors(model, graph, sample) <= stated).all()
    np.testing.assert_allclose(model.plain(sample)["y"], graph.run(sample)["y"], rtol=1e-9)


@pytest.mark.parametrize("size", [1e-30, 1e-9, 1e6, 1e20])
def test_outputs_of_any_size_compile(size: float) -> None:
    """Also where all are alike."""
    rows, sample = weights()
    graph = linear(size * rows / SIZES[:, np.newaxis])
    model = fhe.compile(graph, sample, **SMALL)
    assert (errors(model, graph, sample) <= model.report.error).all()
    assert model.report.error < 0.01 * model.report.largest_output
    assert model.report.largest_output == pytest.approx(np.abs(graph.run(sample)["y"]).max())


def test_a_stated_precision_is_that_of_results() -> None:
    rows, sample = weights()
    graph = linear(rows * 1e-9)
    model = fhe.compile(graph, sample, precision=1e-6, **SMALL)
    assert model.report.error <= 1e-6
    assert errors(model, graph, sample).max() <= 1e-6


def test_what_the_client_computes_reads_outputs_in_their_own_unit() -> None:
    generator = np.random.default_rng(4)
    rows, sample = generator.normal(size=(3, 6)), generator.uniform(-1, 1, (60, 6))
    rows[2] *= 0.01
    graph = linear(rows, labels=True)
    model = fhe.compile(graph, sample, **SMALL)
    assert (model.description.outputs[0].units != 1).any()
    client, server = model.split()
    client.keygen()
    wanted = graph.predict(sample[:8])["label"]
    assert len(set(wanted)) > 1
    found = [client.decrypt(server.run(client.encrypt(x))) for x in sample[:8]]
    np.testing.assert_array_equal(np.ravel(found), wanted)


def test_units_of_outputs_are_in_the_file(tmp_path: Path) -> None:
    rows, sample = weights()
    graph = linear(rows)
    model = fhe.compile(graph, sample, **SMALL)
    model.save(tmp_path / "m.cwk")
    client, server = fhe.load_model(tmp_path / "m.cwk", insecure=True).split()
    client.keygen()
    found = client.decrypt(server.run(client.encrypt(sample[0])))
    stated = np.array(model.report.errors["y"])
    assert (np.abs(found - graph.run(sample[:1])["y"]) <= stated).all()
    note = json.loads(model.description.to_json())
    assert list(Description.read(Member("note", note)).outputs[0].units) == list(
        model.description.outputs[0].units
    )
    note["outputs"]["y"]["units"][1] = 3.0
    with pytest.raises(LoadError, match="powers of two"):
        Description.read(Member("note", note))


def test_a_small_output_beyond_its_range_is_refused() -> None:
    """Though it is within the range of the large ones."""
    rows, sample = weights()
    model = fhe.compile(linear(rows), sample, **SMALL)
    client, _ = model.split()
    client.keygen()
    (port,) = model.description.outputs
    assert port.layout is not None
    limits = port.high / port.units
    for place, refused in ((0, False), (1, False), (2, False), (2, True)):
        values = np.zeros(3)
        values[place] = limits[place] * (1.5 if refused else 0.99)
        result = {"y": client.keys.encrypt(port.layout.place(values)[0])}
        if refused:
            assert values[place] * port.units[place] < port.high[0]
            with pytest.raises(NoiseError, match=f"to {port.high[2]:.4g} for which"):
                client.decrypt(result)
        else:
            client.decrypt(result)
