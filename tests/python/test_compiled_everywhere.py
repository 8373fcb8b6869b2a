"""Compiled models give the same residues everywhere: expanded, as transcripts, on devices.

The reference is the program as it is compiled, on the host.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.cli import main
from cloakwork.compiler.building import Builder
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.compiler.graph import Graph
from cloakwork.demo import sharpen
from cloakwork.device import diff
from cloakwork.models import load_cancer, load_reviews, network_path
from python.compiled_graphs import sample_of
from python.fhe_setup import bgv

from python import device_builds as builds

# The mathematics is that of every degree.
SMALL: dict[str, Any] = {"degree": 2**10, "insecure": True}


class Case(NamedTuple):
    """A program, its encrypted inputs, and its results on the host, compiled as it is."""

    program: cw.Program
    given: dict[str, Any]
    expected: dict[str, Any]


def relu_network() -> tuple[Graph, Any]:
    """Two layers with ReLU between them, the shape of `digits_mlp` made small."""
    generator, builder = np.random.default_rng(5), Builder(name="relu")
    x = builder.input("x", (12,))
    hidden = builder.affine([(x, generator.normal(size=(6, 12)) / 4)], generator.normal(size=6) / 9)
    active = builder.function(hidden, "relu")
    graph = builder.graph([builder.affine([(active, generator.normal(size=(3, 6)))])])
    return graph, sample_of(graph, 32)["x"]


def image_network() -> tuple[Graph, Any]:
    """A convolution with stride, a square and a linear layer, the shape of `fashion_cnn`."""
    from cloakwork.compiler.nodes import Geometry, Source
    from python.test_compiler_layouts import convolution

    generator, builder = np.random.default_rng(6), Builder(name="image")
    image = builder.input("image", (1, 8, 8))
    geometry = Geometry((1, 8, 8), (3, 4, 4), (3, 3), (2, 2), pads=(1, 1, 1, 1))
    builder.source = Source(("conv",), ("Conv",), geometry)
    found = builder.affine([(image, convolution(geometry, generator) / 6)], shape=(3, 4, 4))
    builder.source = Source()
    square = builder.product(found, found)
    graph = builder.graph([builder.affine([(square, generator.normal(size=(4, 48)) / 4)])])
    return graph, sample_of(graph, 8)["image"]


def reviews() -> tuple[Any, Any]:
    own = load_reviews()
    return network_path("sentiment"), own.embed(own.sentences[:64])


NETWORKS = {
    "cancer": lambda: (network_path("cancer"), load_cancer().standardised),
    "sentiment": reviews,
    "relu": relu_network,
    "image": image_network,
}
CASES = [
    *((name, mode) for name in NETWORKS for mode in ("latency", "memory")),
    ("cancer", "throughput"), ("relu", "throughput"), ("sharpen", "bgv"),
]  # fmt: skip


@cache
def model(name: str, mode: str) -> tuple[CompiledModel, Any]:
    """A compiled network on a small ring, and its sample."""
    trained, sample = NETWORKS[name]()
    return fhe.compile(trained, sample, optimize=mode, **SMALL), sample


@cache
def case(name: str, mode: str) -> Case:
    if name == "sharpen":
        return sharpened()
    own, sample = model(name, mode)
    client, server = own.split()
    client.keygen()
    given = dict(client.encrypt(sample[:1]))
    return Case(own.program, given, dict(server.run(given)))


def sharpened() -> Case:
    """The program of `cloakwork demo sharpen` on a small picture."""
    context = bgv(256, 1).context
    picture = np.random.default_rng(3).integers(0, 256, (2, 20, 9))
    strips = sharpen.Strips(context, picture.shape)
    kernel = sharpen.Filter(sharpen.KERNEL, strips.line)
    keys = context.keygen(kernel.rotations)
    encrypted = keys.encrypt(strips.pack(picture), batch=True)
    program = cw.trace(kernel, encrypted)
    (name,) = program.outputs
    given = {program.inputs[0]: encrypted}
    result = program.run(given).named
    assert (
        strips.unpack(keys.decrypt(result[name])) == sharpen.filtered(picture, sharpen.KERNEL)
    ).all()
    return Case(program, given, dict(result))


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, one in expected.items():
        other = found[name]
        assert (np.asarray(other.data.to("cpu")) == np.asarray(one.data)).all(), name
        assert (other.level, getattr(other, "scale", 0)) == (one.level, getattr(one, "scale", 0))


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_expanded_to_the_minimal_ops_it_gives_the_same_residues(name: str, mode: str) -> None:
    program, given, expected = case(name, mode)
    expanded = program.expanded()
    assert_same(expanded.run(given).named, expected)


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_on_a_device_with_its_own_memory_it_gives_the_same_residues(name: str, mode: str) -> None:
    program, given, expected = case(name, mode)
    result = program.run(given, device="sim:0")
    assert_same(result.named, expected)


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_heals_transcript_of_it_is_read_back_and_gives_the_same_residues(
    name: str, mode: str, tmp_path: Path
) -> None:
    program, given, expected = case(name, mode)
    program.to_heal(given).save(tmp_path / "model.json")
    transcript = cw.heal.load(tmp_path / "model.json")
    # Sums begin with tensors that HEAL zeroes.
    assert {finding.code for finding in transcript.check()} <= {"unwritten-read"}
    for device in ("cpu", "sim:0"):
        result = transcript.run(verify=True, device=device)
        assert not result.mismatches
        found = dict(zip(expected, program.results(result.outputs), strict=True))
        assert_same(found, expected)


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_specialized_for_a_device_it_has_that_devices_ops_and_the_same_residues(
    name: str, mode: str
) -> None:
    program, given, expected = case(name, mode)
    own = program.specialize("sim:0")
    assert "host" not in own.coverage(device="sim:0", fallback=False).runs
    assert_same(own.run(given, device="sim:0").named, expected)


@pytest.mark.parametrize("name", ["cancer", "relu", "sharpen"])
def test_every_step_on_an_example_device_is_that_of_the_host(name: str) -> None:
    mode = "bgv" if name == "sharpen" else "latency"
    program, given, _ = case(name, mode)
    found = diff(program.to_heal(given), device=builds.example_or_host("cpp"))
    assert found, str(found)


def test_a_models_file_for_a_device_is_still_a_models_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    own, sample = model("cancer", "latency")
    own.save("model.cwk")
    chip = builds.example("python")
    # The example lacks two of the model's ops: named, nothing is written.
    assert main(["specialize", "model.cwk", "--for", chip, "-o", "chip.cwk"]) != 0
    assert "mychip:0 cannot run all of the program: step" in capsys.readouterr().err
    assert not Path("chip.cwk").exists()
    whole = ["--for", chip, "-o", "chip.cwk", "--allow-fallback"]
    assert main(["specialize", "model.cwk", *whole]) == 0
    assert main(["convert", "chip.cwk", "again.cwk"]) == 0
    client, server = fhe.load_model("again.cwk", insecure=True).split()
    given = client.encrypt(sample[7])
    expected = own.split()[1].run(given, client.evaluation)
    assert_same(dict(server.run(given, device=chip)), dict(expected))
    on_chip = fhe.load_model("chip.cwk", insecure=True)
    assert on_chip.description.to_json() == own.description.to_json()


@pytest.mark.parametrize("device", ["sim:0", "python"])
def test_a_model_is_compiled_for_a_device_from_the_command_line(
    device: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    own = load_cancer()
    np.save("sample.npy", own.standardised)
    chip = builds.example("python") if device == "python" else device
    line = ["compile", str(network_path("cancer")), "--data", "sample.npy", "-o", "model.cwk"]
    status = main([*line, "--for", chip])
    told = capsys.readouterr().err
    if device == "python":
        assert status != 0
        assert "mychip:0 cannot run all of the program: step" in told
        assert not Path("model.cwk").exists()
        return
    assert status == 0
    assert "in the ops of sim:0" in told
    client, server = fhe.load_model("model.cwk").split()
    found = client.decrypt(server.run(client.encrypt(own.standardised[3]), device=chip))
    np.testing.assert_allclose(np.log(found / (1 - found)).ravel(), own.scores()[3], atol=1e-2)
