"""Encrypted scoring: the table, the model, and the demo from end to end."""

from pathlib import Path

import cloakwork as cw
import numpy as np
from cloakwork import fhe
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
    assert np.abs(table.scores()).max() < demo._DOMAIN
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


def test_a_scorer_gives_every_row_its_chance() -> None:
    context = fhe.ckks(256, moduli=[48, *[38] * 7], special=[48, 48], insecure=True)
    generator = np.random.default_rng(1)
    table, weights = generator.normal(size=(32, 3)), np.array([1.0, -2.0, 0.5])
    scorer = demo.Scorer(context, weights, 0.25)
    assert scorer.rows == 32
    assert scorer.rotations == [32, 64]
    keys = context.keygen(scorer.rotations)
    found = keys.decrypt(scorer(keys.encrypt(scorer.pack(table), bound=4.0))).real
    expected = demo.sigmoid(table @ weights + 0.25)
    np.testing.assert_allclose(found.reshape(4, 32), np.tile(expected, (4, 1)), atol=1e-4)


def test_the_demo_keeps_its_promises(tmp_path: Path) -> None:
    report = demo.run(tmp_path, console=Console(quiet=True))
    assert report.passed
    assert report.patients == 256
    assert report.accuracy_encrypted == report.accuracy_plain > 0.97
    assert report.difference < 1e-4
    assert report.measured_bits > report.precision_bits > 12
    assert set(report.seconds) == set(demo.PHASES)
    transcript, device = cw.heal.load(tmp_path / demo.TRANSCRIPT_NAME), example_or_host("c")
    assert not transcript.run(verify=True, device=device).mismatches


def test_a_report_that_breaks_a_promise_has_not_passed() -> None:
    context = ckks(256, 4).context
    table = load_cancer()
    scorer = demo.Scorer(context, table.weights, table.bias)
    report = demo.DiseaseReport(
        context.parameters, Path("unused"), precision_bits=10.0, same_as_direct=True
    )
    exact = demo.sigmoid(table.scores())
    report.compare(exact, table, scorer)
    assert report.passed
    report.compare(exact + 0.01, table, scorer)
    assert not report.passed
    report.compare(exact, table, scorer)
    report.same_as_direct = False
    assert not report.passed


def test_the_demo_is_held_to_128_bits() -> None:
    assert demo.demo_context().parameters.security == 128
