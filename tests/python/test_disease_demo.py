"""Encrypted scoring: the table, the model, and the demo from end to end."""

from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.demo import disease as demo
from cloakwork.models.cancer import load_cancer
from python.device_builds import example_or_host
from python.fhe_setup import ckks
from rich.console import Console
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression


def test_the_table_comes_with_model_source_and_licence() -> None:
    table = load_cancer()
    assert table.features.shape == (256, 30) == (len(table.labels), len(table.names))
    assert "UCI Machine Learning Repository" in table.source
    assert "CC BY 4.0" in table.licence
    assert np.abs(table.scores()).max() < 16
    assert ((table.scores() > 0) == table.labels).mean() > 0.97


def test_the_table_is_part_of_scikit_learns_and_the_model_has_not_seen_it() -> None:
    table, whole = load_cancer(), load_breast_cancer()
    rows = {tuple(row): label == 0 for row, label in zip(whole.data, whole.target, strict=True)}
    assert all(
        rows.pop(tuple(row)) == label
        for row, label in zip(table.features, table.labels, strict=True)
    )
    # The training part is the rest: scikit-learn finds about the same model there.
    features = np.array(list(rows))
    np.testing.assert_allclose(features.mean(axis=0), table.mean)
    np.testing.assert_allclose(features.std(axis=0), table.deviation)
    scaled = np.clip((features - table.mean) / table.deviation, -table.cut, table.cut)
    other = LogisticRegression(C=1 / (0.02 * len(scaled)), tol=1e-8, max_iter=1000)
    other.fit(scaled, np.array(list(rows.values())))
    np.testing.assert_allclose(other.coef_[0], table.weights, atol=1e-4)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> demo.DiseaseReport:
    return demo.run(tmp_path_factory.mktemp("disease"), console=Console(quiet=True))


def test_the_demo_keeps_its_promises(report: demo.DiseaseReport) -> None:
    assert report.passed
    assert report.patients == 256
    assert report.accuracy_encrypted == report.accuracy_plain > 0.97
    assert report.difference < 1e-4
    assert 0 < report.score_error <= report.error < 1e-3
    assert report.parameters.security == 128
    assert set(report.seconds) == set(demo.PHASES)


@pytest.mark.large  # test_demos_on_devices.py runs it over a small ring
def test_its_transcript_is_right_on_an_example_device(report: demo.DiseaseReport) -> None:
    transcript, device = cw.heal.load(report.transcript), example_or_host("c")
    assert not transcript.run(verify=True, device=device).mismatches


def test_a_report_that_breaks_a_promise_has_not_passed() -> None:
    table, parameters = load_cancer(), ckks(256, 4).context.parameters
    report = demo.DiseaseReport(parameters, Path("unused"), 1e-4, same_as_direct=True)
    exact = table.scores()
    report.compare(exact, table)
    assert report.passed
    report.compare(exact + 0.01, table)
    assert not report.passed
    report.compare(exact, table)
    report.same_as_direct = False
    assert not report.passed
