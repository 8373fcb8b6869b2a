"""The encrypted digits: the data, the network, and the demo from end to end."""

from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.compiler.importing import from_model
from cloakwork.demo import digits as demo
from cloakwork.models import load_digits, network_path
from python.device_builds import example_or_host
from python.fhe_setup import ckks
from rich.console import Console


def test_the_digits_come_with_split_source_and_licence() -> None:
    digits = load_digits()
    assert digits.images.shape == (1797, 64)
    assert (digits.images.min(), digits.images.max()) == (0.0, 1.0)
    both = np.concatenate((digits.train_index, digits.test_index))
    np.testing.assert_array_equal(np.sort(both), np.arange(1797))
    assert "UCI Machine Learning Repository" in digits.source
    assert "CC BY 4.0" in digits.licence


def test_the_network_is_right_on_878_images_of_the_test_half() -> None:
    digits, graph = load_digits(), from_model(network_path("digits_square"))
    images, labels = digits.images[digits.test_index], digits.labels[digits.test_index]
    (logits,) = graph.predict(images).values()
    assert (logits.argmax(axis=1) == labels).sum() == 878
    hidden = [values for _, values in graph.steps(images)][1]
    assert np.abs(hidden).max() <= 8


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> demo.DigitsReport:
    return demo.run(tmp_path_factory.mktemp("digits"), console=Console(quiet=True))


def test_the_demo_keeps_its_promises(report: demo.DigitsReport) -> None:
    assert report.passed
    assert report.images == 899
    assert report.agreement >= 0.995
    assert report.logit_error <= 1e-3
    assert report.accuracy_encrypted >= 0.96
    assert report.parameters.security == 128
    assert report.logit_error <= report.error
    assert set(report.seconds) == set(demo.PHASES)


@pytest.mark.large  # test_demos_on_devices.py runs it over a small ring
def test_its_transcript_is_right_on_an_example_device(report: demo.DigitsReport) -> None:
    transcript, device = cw.heal.load(report.transcript), example_or_host("cpp")
    assert not transcript.run(verify=True, device=device).mismatches


def test_a_report_that_breaks_a_promise_has_not_passed() -> None:
    parameters = ckks(256, 4).context.parameters
    report = demo.DigitsReport(parameters, Path("unused"), 1e-4, same_as_direct=True)
    logits = np.eye(10)
    report.compare(logits, logits, np.arange(10))
    assert report.passed
    report.mismatches = 1
    assert not report.passed
    report.mismatches = 0
    report.compare(logits + 0.01, logits, np.arange(10))
    assert not report.passed
    report.compare(logits[::-1], logits, np.arange(10))
    assert report.agreement == 0.0
    assert not report.passed
