"""Compiled models: encrypted results are plain ones, within the error that the report states."""

from __future__ import annotations

import subprocess
import sys
from itertools import count, product
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler import compiling, search, trials
from cloakwork.compiler.building import Builder
from cloakwork.compiler.checking import OutsideWarning
from cloakwork.compiler.client import Client
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.compiler.graph import Graph
from cloakwork.errors import (
    KeyMismatchError,
    LoadError,
    MemoryBudgetError,
    MissingKeyError,
    ModelError,
    NoiseError,
    ParamError,
)
from python.compiled_graphs import perceptron, random_graph, sample_of

# The mathematics is that of every degree.
SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}


def compiled(graph: Graph, **options: Any) -> tuple[CompiledModel, dict[str, Any]]:
    """A model for tests, and its sample."""
    sample = sample_of(graph, 24)
    return fhe.compile(graph, sample, **(SMALL | options)), sample


@pytest.fixture(scope="module")
def small() -> tuple[CompiledModel, Graph, Any]:
    """A perceptron with its sample."""
    graph = perceptron((20, 12, 3))
    model, sample = compiled(graph)
    return model, graph, sample["x"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", ["latency", "throughput", "memory"])
def test_encrypted_results_are_plain_ones_within_the_stated_error(seed: int, mode: str) -> None:
    graph = random_graph(seed)
    model, sample = compiled(graph, optimize=mode)
    client, server = model.split()
    rows = slice(8, 20) if mode == "throughput" else slice(8, 9)
    fresh = {name: values[rows] for name, values in sample.items()}
    results = server.run(client.encrypt(fresh))
    found = client.outputs(results, rows.stop - rows.start)
    expected = graph.run(fresh)
    for port in model.description.outputs:
        difference = np.abs(found[port.name] - expected[port.name]).max()
        assert difference <= port.error
        assert 0 < port.error < 1e-3
        assert difference <= model.report.error_bound


def test_a_model_in_a_file_gives_the_same_to_client_and_server(
    small: tuple[CompiledModel, Graph, Any], tmp_path: Path
) -> None:
    model, graph, sample = small
    model.save(tmp_path / "model.cwk")
    there = fhe.load_model(tmp_path / "model.cwk", insecure=True)
    client, server = there.split()
    client.keygen()
    client.save(tmp_path / "keys")
    client.encrypt(sample[0]).save(tmp_path / "x.ct")
    given = fhe.load(tmp_path / "x.ct", insecure=True)
    evaluation = fhe.load(tmp_path / "keys" / "eval.key", insecure=True)
    server.run(given, evaluation).save(tmp_path / "y.ct")
    again = there.split()[0].load(tmp_path / "keys")
    found = again.decrypt(fhe.load(tmp_path / "y.ct", insecure=True))
    assert np.allclose(found, graph.run(sample[:1])["affine.1"], atol=1e-4)
    again.save(tmp_path / "keys")
    secret = (tmp_path / "keys" / "secret.key").read_bytes()
    with pytest.raises(ParamError, match="none is replaced"):
        there.split()[0].save(tmp_path / "keys")
    assert (tmp_path / "keys" / "secret.key").read_bytes() == secret
    assert there.describe() == model.describe()
    assert there.report_json == model.report.to_json() | {"text": model.describe()}
    assert isinstance(cw.load(tmp_path / "model.cwk"), type(model.program))


def test_images_are_laid_out_in_grids_whose_gaps_hold_channels() -> None:
    from cloakwork.compiler.nodes import Geometry, Source
    from python.test_compiler_layouts import convolution

    generator, builder = np.random.default_rng(0), Builder(name="images")
    value = builder.input("image", (1, 8, 8))
    for channels, size in (((1, 4), 8), ((4, 4), 4)):
        geometry = Geometry(
            (channels[0], size, size), (channels[1], size // 2, size // 2), (3, 3), (2, 2),
            pads=(1, 1, 1, 1),
        )  # fmt: skip
        builder.source = Source(("conv",), ("Conv",), geometry)
        matrix = convolution(geometry, generator) / 20
        value = builder.affine([(value, matrix)], shape=geometry.outputs)
    builder.source = Source()
    value = builder.product(value, value)
    graph = builder.graph([builder.affine([(value, generator.normal(size=(3, 16)))])])
    model, sample = compiled(graph)
    client, server = model.split()
    found = client.decrypt(server.run(client.encrypt(sample["image"][5])))
    assert np.allclose(found, graph.run(sample["image"][5:6])["affine.2"], atol=1e-3)


def test_polynomials_see_only_their_domain_also_where_it_lacks_zero() -> None:
    builder = Builder(name="root")
    x = builder.input("x", (5,))
    moved = builder.scaled(x, 0.5, 2.0)
    root = fhe.chebyshev(np.sqrt, 7, (1.0, 3.0))
    graph = builder.graph([builder.evaluate(moved, root)])
    for mode in ("latency", "throughput"):
        model, sample = compiled(graph, optimize=mode)
        client, server = model.split()
        found = client.decrypt(server.run(client.encrypt(sample["x"][:1])), batch=1)
        assert np.allclose(found, np.sqrt(sample["x"][:1] / 2 + 2), atol=1e-3)


def test_a_domain_is_mapped_by_the_affine_map_before_it() -> None:
    generator, builder = np.random.default_rng(3), Builder(name="folded")
    x = builder.input("x", (6,))
    hidden = builder.affine([(x, generator.normal(size=(5, 6)))])
    cube = fhe.chebyshev(lambda v: v**3 / 100, 3, (-9.0, 10.0))
    graph = builder.graph([builder.affine([(builder.evaluate(hidden, cube), np.ones((1, 5)))])])
    model, sample = compiled(graph)
    assert model.report.chosen.depth == 4
    assert cube.depth == 3
    client, server = model.split()
    found = client.decrypt(server.run(client.encrypt(sample["x"][0])))
    assert np.allclose(found, graph.run(sample["x"][:1])["affine.1"], atol=1e-3)
    assert np.allclose(model.plain(sample["x"])["affine.1"], graph.run(sample["x"])["affine.1"])


def test_the_client_computes_the_last_steps() -> None:
    graph = perceptron((6, 4, 3))
    tail = ClientTail(("label",), (ClientStep("label", "argmax", ("affine.1",)),))
    labelled = Graph(graph.nodes, graph.outputs, tail, "labels")
    model, sample = compiled(labelled)
    client, server = model.split()
    found = [client.decrypt(server.run(client.encrypt(x))) for x in sample["x"][:3]]
    expected = labelled.predict(sample["x"][:3])["label"]
    assert np.concatenate(found).tolist() == expected.tolist()
    assert model.plain(sample["x"][:3])["label"].tolist() == expected.tolist()
    assert "argmax" in model.describe()


def test_the_report_compares_the_ways_to_lay_a_model_out(
    small: tuple[CompiledModel, Graph, Any],
) -> None:
    report = small[0].report
    assert {report.chosen.mode, *(one.mode for one in report.others)} == {
        "latency", "throughput", "memory",
    }  # fmt: skip
    by_mode = {one.mode: one for one in (report.chosen, *report.others)}
    assert by_mode["throughput"].inputs == 2**10
    kept = {mode: way.key_bytes + way.constant_bytes for mode, way in by_mode.items()}
    assert kept["memory"] < kept["latency"]
    assert by_mode["latency"].seconds <= by_mode["memory"].seconds
    assert report.chosen.rotations == len(small[0].rotations)
    client, _ = small[0].split()
    keys = client.keygen().evaluation
    held = [*keys.galois.values(), keys.relinearization]
    assert report.chosen.key_bytes == sum(key.size_bytes for key in held if key is not None)


def test_the_least_degree_that_is_exact_enough_is_found() -> None:
    graph = perceptron((8, 4, 2))
    sample = sample_of(graph, 8)
    coarse = fhe.compile(graph, sample)
    assert coarse.context.parameters.is_secure
    assert coarse.context.parameters.degree == 2**13
    fine = fhe.compile(graph, sample, precision=1e-9, insecure=True)
    assert fine.report.error <= 1e-9
    with pytest.raises(ParamError, match=r"precision: got errors of .* at degree 2048"):
        fhe.compile(graph, sample, precision=1e-12, **SMALL)


def test_an_error_below_the_last_bit_of_outputs_is_refused_before_any_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = perceptron((8, 4, 2))
    monkeypatch.setattr(compiling, "approximate", None)
    monkeypatch.setattr(search, "tried", None)
    with pytest.raises(ParamError, match="the last bit of outputs"):
        fhe.compile(graph, sample_of(graph, 8), precision=1e-30)


@pytest.mark.parametrize("options", [SMALL, pytest.param({}, marks=pytest.mark.large)])
def test_scales_that_cannot_be_precise_enough_are_not_tried(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, seen = perceptron((8, 4, 2)), []

    def counted(*given: Any) -> Any:
        seen.append(given)
        return trials.tried(*given)

    monkeypatch.setattr(search, "tried", counted)
    with pytest.raises(ParamError, match=r"with the largest, 2\^48.*accept a larger error"):
        fhe.compile(graph, sample_of(graph, 8), precision=1e-15, **options)
    assert len(seen) == 1


def test_a_slow_machine_tries_as_many_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer would state a larger error, and refuse models that a fast machine accepts."""
    graph, counts = perceptron((8, 4, 2)), []

    def counted(*given: Any) -> Any:
        program, trial = trials.tried(*given)
        counts.append(trial.count)
        return program, trial

    monkeypatch.setattr(search, "tried", counted)
    fhe.compile(graph, sample_of(graph, 24), **SMALL)
    fast = counts.copy()
    # Each look at the clock is a minute after the last one.
    clock = count(step=60.0)
    monkeypatch.setattr(trials, "perf_counter", lambda: next(clock))
    fhe.compile(graph, sample_of(graph, 24), **SMALL)
    assert counts == 2 * fast
    assert fast[0] > 1


def test_a_model_that_the_machine_has_no_memory_for_is_refused_before_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr(trials, "memory_limit_bytes", lambda: 1 << 20)
    monkeypatch.setattr(trials.Server, "run", refuse)
    graph = perceptron((8, 4, 2))
    with pytest.raises(MemoryBudgetError, match=r"inputs takes .* GiB, and this machine has 0\.0"):
        fhe.compile(graph, sample_of(graph, 8), optimize="throughput", **SMALL)


@pytest.mark.parametrize(("rows", "told"), [(39, True), (40, False)])
def test_a_small_sample_is_told(rows: int, told: bool) -> None:
    graph = perceptron((3, 2))
    model = fhe.compile(graph, sample_of(graph, rows), **SMALL)
    assert ("ranges and domains are uncertain" in model.describe()) == told
    assert model.report_json["sample_rows"] == rows


def test_the_report_says_how_likely_values_leave_their_domain() -> None:
    builder = Builder(name="relu")
    graph = builder.graph([builder.function(builder.input("x", (3,)), "relu")])
    found = fhe.compile(graph, sample_of(graph, 64), **SMALL).report_json["functions"]
    assert [row["function"] for row in found] == ["relu"]
    assert 0 <= found[0]["leaves"] < 0.1


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"optimize": "speed"}, ParamError, '"latency" or "throughput" or "memory"'),
        ({"scheme": "bgv"}, ParamError, "scheme"),
        ({"margin": -1.0}, ParamError, "margin"),
        ({"margin": float("nan")}, ParamError, "margin"),
        ({"precision": 0.0}, ParamError, "precision"),
        ({"bounds": (1.0, 0.0)}, ParamError, "bounds"),
        ({"bounds": {"y": (0.0, 1.0)}}, ParamError, "bounds"),
        ({"degree": 3000}, ParamError, "degree: got 3000, expected a power of two from"),
        ({"degree": 2**12, "insecure": False}, ParamError, "depth"),
        ({"security": 100, "insecure": False}, ParamError, "security"),
    ],
)
def test_options_without_a_meaning_are_refused(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    graph = perceptron((8, 4, 2))
    with pytest.raises(error, match=words):
        fhe.compile(graph, sample_of(graph, 4), **(SMALL | options))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: x[:, :3], r"\[batch, 20\]"),
        (lambda x: np.where(x > 0.9, np.nan, x), "nan"),
        (lambda x: {"y": x}, "expected the inputs"),
        (lambda x: x[:0], "batch"),
    ],
)
def test_samples_that_do_not_fit_the_model_are_refused(change: Any, words: str) -> None:
    graph = perceptron((20, 4, 2))
    with pytest.raises(ModelError, match=words):
        fhe.compile(graph, change(sample_of(graph, 50)["x"]), **SMALL)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: x[:3], r"shape \[20\]"),
        (lambda x: np.stack([x, x]), "throughput"),
        (lambda x: np.full(20, np.nan), "NaN"),
        (lambda x: x + 9.0, r"element \[0\] of sample 0"),
        (lambda x: {"y": x}, r"expected \['x'\]"),
        (lambda x: x.astype(str), "dtype"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_before_encryption(
    small: tuple[CompiledModel, Graph, Any], change: Any, words: str
) -> None:
    client, _ = small[0].split()
    with pytest.raises(ModelError, match=words):
        client.encrypt(change(small[2][0]))


@pytest.mark.parametrize("module", ["onnx", "scipy"])
def test_without_the_extra_models_it_is_named(module: str) -> None:
    program = (
        f"import sys; sys.modules[{module!r}] = None; from cloakwork import fhe, models; "
        "fhe.compile(models.network_path('cancer'), models.load_cancer().standardised)"
    )
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert "ModelError" in done.stderr
    assert f"{module}" in done.stderr
    assert 'python -m pip install ".[models]" in the checkout' in done.stderr


def test_results_beyond_the_range_of_the_sample_are_told() -> None:
    graph = perceptron((4, 3, 2))
    sample = sample_of(graph, 8)["x"] / 4
    model = fhe.compile(graph, sample, bounds=(-1.0, 1.0), guard=False, **SMALL)
    client, server = model.split()
    corners = np.array(list(product((-1.0, 1.0), repeat=4)))
    weights = corners[np.abs(graph.run(corners)["affine.1"]).max(axis=1).argmax()]
    with pytest.warns(OutsideWarning, match="outside of the range"):
        client.decrypt(server.run(client.encrypt(weights)))
    results = server.run(client.encrypt(weights / 4))
    wrapped = {name: one * 10_000 for name, one in results.items()}
    with pytest.raises(NoiseError, match="far beyond the range"):
        client.decrypt(wrapped)


def test_ciphertexts_and_keys_of_others_are_refused(
    small: tuple[CompiledModel, Graph, Any],
) -> None:
    model, _, sample = small
    client, server = model.split()
    given = client.encrypt(sample[0])
    stranger = model.split()[0]
    stranger.keygen()
    with pytest.raises(KeyMismatchError):
        server.run(given, stranger.evaluation)
    with pytest.raises(KeyMismatchError):
        stranger.decrypt(server.run(given))
    with pytest.raises(MissingKeyError):
        server.run(given.using(None))
    with pytest.raises(ModelError, match=r"expected \['x'\]"):
        server.run({"y": given["x"]})
    other = fhe.ckks(2**11, [40, 30], [40], insecure=True).keygen()
    with pytest.raises(KeyMismatchError):
        server.run({"x": other.encrypt([1.0])})
    with pytest.raises(KeyMismatchError):
        stranger.use(other)


def test_truncated_and_changed_files_are_refused(
    small: tuple[CompiledModel, Graph, Any], tmp_path: Path
) -> None:
    path = tmp_path / "model.cwk"
    small[0].save(path)
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(LoadError):
            fhe.load_model(path)
    for place in np.linspace(16, len(whole) - 1, 12).astype(int):
        changed = bytearray(whole)
        changed[place] ^= 0x41
        path.write_bytes(bytes(changed))
        with pytest.raises(LoadError):
            fhe.load_model(path)
    cw.trace(lambda a: a + a, cw.zeros(3)).save(path)
    with pytest.raises(LoadError, match="expected a compiled model"):
        fhe.load_model(path)
    with pytest.raises(ParamError, match=r"\.cwk"):
        small[0].save(tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"version": 2', '"version": 3', "version"),
        ('"inputs": {"x"', '"inputs": {"z"', "names"),
        ('"shape": [20]', '"shape": [21]', "layout"),
        ('"shape": [3]', '"shape": [-3]', "shape"),
        ('"relinearization": true', '"relinearization": 1', "true or false"),
        ('"rotations": [', '"rotations": [99999, ', "rotations"),
        ('"tail": {"results"', '"tail": {"result"', "tail"),
        ('"error": 0.0', '"error": -1.0', "error"),
        ('"name": "perceptron", "inputs"', '"name": "p", "more": 1, "inputs"', "more"),
    ],
)
def test_notes_that_do_not_fit_the_program_are_refused(
    small: tuple[CompiledModel, Graph, Any], tmp_path: Path, old: str, new: str, words: str
) -> None:
    model = small[0]
    text = model.description.to_json()
    assert old in text
    path = tmp_path / "model.cwk"
    model.program.save(path, more_notes={"model": text.replace(old, new, 1)})
    with pytest.raises(LoadError, match=words):
        fhe.load_model(path)


def test_what_cannot_succeed_is_tried_at_a_small_degree(monkeypatch: pytest.MonkeyPatch) -> None:
    degrees: list[int] = []
    keygen = Client.keygen

    def counted(self: Client) -> Any:
        degrees.append(self.context.parameters.degree)
        return keygen(self)

    monkeypatch.setattr(Client, "keygen", counted)
    graph = perceptron((6, 4, 2))
    sample = np.random.default_rng(0).uniform(-1, 1, (40, 6))
    model = fhe.compile(graph, sample, precision=1e-6, degree=2**14, insecure=True)
    assert model.report.error <= 1e-6
    # A scale of 2^30 is too small, whatever the degree.
    assert degrees.count(2**11) >= 2
    assert degrees.count(2**14) == 1


@pytest.mark.parametrize("kind", ["product", "power", "mixed", "mixed twice"])
def test_sums_without_a_level_rotate_at_the_level_of_their_keys(kind: str) -> None:
    builder = Builder()
    x = builder.input("x", (5,))
    weights = np.diag([0.5, -1.5, 2.5, 0.3, 0.7])
    weighted = builder.affine([(x, weights)])
    if kind.startswith("mixed"):
        bent = builder.function(x, "sigmoid")
        bent = builder.function(bent, "sigmoid") if kind == "mixed twice" else bent
        # Slots without an element hold 1/2 after a sigmoid.
        weighted = builder.affine([(bent, np.eye(5)), (x, weights)])
    value = builder.product(weighted, weighted)
    value = builder.product(value, weighted) if kind == "power" else value
    graph = builder.graph([builder.affine([(value, np.ones((1, 5)))])])
    sample = np.random.default_rng(0).uniform(-1, 1, (30, 5))
    model = fhe.compile(graph, sample, degree=2**11, insecure=True)
    client, server = model.split()
    found = client.decrypt(server.run(client.encrypt(sample[0])))
    exact = next(iter(graph.run(sample[:1]).values()))
    assert model.report.accepted_error is not None
    assert np.abs(found - exact).max() <= model.report.accepted_error
