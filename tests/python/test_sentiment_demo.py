"""Encrypted reviews: the network, and the demo from end to end."""

from pathlib import Path

import numpy as np
import pytest
from cloakwork.demo import sentiment as demo
from cloakwork.errors import InputError
from cloakwork.models import load_reviews
from python.fhe_setup import ckks
from rich.console import Console


def test_the_polynomial_follows_gelu_wherever_a_sentence_can_lead() -> None:
    reviews = load_reviews()
    model = demo.compiled(reviews)
    # Means of vectors lie between those of words, in the network as before it.
    generator = np.random.default_rng(4)
    mixed = generator.dirichlet(np.full(4, 0.3), 2000)[..., np.newaxis]
    worst = (reviews.vectors[generator.integers(0, 6000, (2000, 4))] * mixed).sum(axis=1)
    (found,) = model.plain(worst).values()
    np.testing.assert_allclose(found[:, 0], reviews.scores(worst), atol=demo.DIFFERENCE_GOAL)
    assert model.report.error + model.report.approximation_error < demo.DIFFERENCE_GOAL
    assert model.context.parameters.security == 128


@pytest.mark.slow(reason="the demo as it is shipped, 128-bit secure")
def test_the_demo_keeps_its_promises(tmp_path: Path) -> None:
    texts = ["A wonderful film!", "It isn't worth the price."]
    report = demo.run(tmp_path, texts, console=Console(quiet=True))
    assert report.passed
    assert report.sentences == 1000
    assert report.accuracy_encrypted == report.accuracy_plain == 0.832
    assert report.agreement == 1
    assert [text for text, _ in report.verdicts] == texts
    assert report.verdicts[0][1] > 0 > report.verdicts[1][1]
    assert set(report.seconds) == set(demo.PHASES)


def test_a_text_without_known_words_and_too_many_are_refused_before_work(tmp_path: Path) -> None:
    for texts, message in [
        (["good", "qwzx"], "input text 2: expected at least one word that has a vector, got none"),
        (["good"] * 7193, "input texts: expected at most 7192 sentences, got 7193"),
    ]:
        with pytest.raises(InputError, match=message):
            demo.run(tmp_path / "new", texts, console=Console(quiet=True))
    assert not (tmp_path / "new").exists()


def test_a_report_that_breaks_a_promise_has_not_passed() -> None:
    reviews, parameters = load_reviews(), ckks(256, 4).context.parameters
    report = demo.SentimentReport(parameters, Path("unused"), 1e-3, same_as_direct=True)
    exact = reviews.scores(reviews.embed(reviews.sentences))
    report.compare(exact, reviews, exact)
    assert report.passed
    report.compare(exact + 0.01, reviews, exact)
    assert not report.passed
    report.compare(exact, reviews, exact)
    report.mismatches = 1
    assert not report.passed
