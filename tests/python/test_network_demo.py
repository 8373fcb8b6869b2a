"""Networks of ONNX in the demonstrations: compiled, and run on encrypted pictures."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.cli import main
from cloakwork.demo import digits, network
from cloakwork.demo.network import NetworkReport, Way
from cloakwork.errors import InputError, ParamError
from cloakwork.models import load_digits
from python.compiled_graphs import perceptron, sample_of
from python.fhe_setup import ckks
from rich.console import Console

QUIET = Console(quiet=True)


@pytest.fixture
def small_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    """A toy ring for the compiler: the mathematics is the same at every degree."""
    small = partial(fhe.compile, degree=2**11, insecure=True)
    monkeypatch.setattr(network.fhe, "compile", small)


def test_the_pictures_of_the_digits_are_those_of_the_test_half() -> None:
    own, pictures = load_digits(), digits.pictures()
    assert pictures.sample.shape == (898, 1, 8, 8)
    np.testing.assert_array_equal(pictures.test.reshape(-1, 64), own.images[own.test_index])
    np.testing.assert_array_equal(pictures.labels, own.labels[own.test_index])


@pytest.mark.usefixtures("small_ring")
def test_a_network_reads_pictures_one_by_one_and_leaves_its_program(tmp_path: Path) -> None:
    way = Way("latency", 3, threads=1)
    report = network.run("digits_mlp", digits.pictures(), tmp_path, way, console=QUIET)
    assert report.passed
    assert report.pictures == report.alike == 3
    assert report.accuracy_exact == 876 / 899
    assert report.accuracy_compiled > 0.97
    assert set(report.seconds) == set(network.PHASES)
    client, server = fhe.load_model(tmp_path / "digits_mlp.cwk", insecure=True).split()
    own = load_digits()
    given = own.images[own.test_index[5]].reshape(1, 8, 8)
    found = client.decrypt(server.run(client.encrypt(given), client.evaluation))
    assert np.asarray(found).argmax() == own.labels[own.test_index[5]]
    assert (tmp_path / "digits_mlp.png").read_bytes().startswith(b"\x89PNG")


def test_a_count_of_pictures_that_there_are_not_is_refused_before_work(tmp_path: Path) -> None:
    for count in (0, 900):
        with pytest.raises(InputError, match=f"input images: expected .* 1 to 899, got {count}"):
            network.run("digits_mlp", digits.pictures(), tmp_path / "new", Way("latency", count))
    assert not (tmp_path / "new").exists()


def test_a_report_that_breaks_a_promise_has_not_passed() -> None:
    report = NetworkReport("some", ckks(256, 4).context.parameters, "", Path("unused"), error=0.1)
    exact = np.array([[3.0, 1.0], [0.1, 0.0], [0.0, 2.0]])
    labels = np.array([0, 0, 1])
    report.compare(exact + 0.05, exact, labels)
    assert report.passed
    # Either label is right where logits are closer than twice the error.
    report.compare(exact + np.array([[0, 0], [-0.09, 0.09], [0, 0]]), exact, labels)
    assert (report.alike, report.close, report.right) == (2, 1, 2)
    assert report.passed
    report.compare(exact + np.array([[0.2, 0], [0, 0], [0, 0]]), exact, labels)
    assert not report.passed
    report.compare(exact[:, ::-1], exact, labels)
    assert report.alike == 0
    assert not report.passed
    report.compare(exact, exact, labels)
    report.accuracy_exact, report.accuracy_compiled = 187 / 200, 186 / 200
    assert report.passed
    report.accuracy_exact, report.accuracy_compiled = 0.98, 0.97
    assert not report.passed


def test_a_model_takes_inputs_whose_rounding_is_a_little_worse_than_the_samples() -> None:
    graph = perceptron((6, 4, 2))
    sample = sample_of(graph, 24)
    client, server = fhe.compile(graph, sample, degree=2**11, insecure=True).split()
    encrypted = client.encrypt(sample["x"][0])
    noisier = {name: replace(one, noise=one.noise + 0.4) for name, one in encrypted.items()}
    found = client.decrypt(server.run(noisier))
    np.testing.assert_allclose(found, client.decrypt(server.run(encrypted)), atol=1e-12)
    too_noisy = {name: replace(one, noise=one.noise + 1) for name, one in encrypted.items()}
    with pytest.raises(ParamError, match="noise: got"):
        server.run(too_noisy)


@pytest.mark.parametrize("option", [["--images", "5"], ["--optimize", "latency"]])
def test_options_of_compiled_networks_are_refused_for_the_simple_one(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "digits", "--out", str(tmp_path / "new"), *option]) != 0
    assert "got simple, expected mlp or cnn for --images and --optimize" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
