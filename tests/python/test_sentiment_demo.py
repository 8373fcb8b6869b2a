"""Encrypted reviews: the network, and the demo from end to end."""

from pathlib import Path

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.demo import sentiment as demo
from cloakwork.errors import InputError
from cloakwork.models import load_reviews
from python.fhe_setup import ckks
from rich.console import Console


def test_the_reader_gives_every_sentence_its_score() -> None:
    reviews = load_reviews()
    reader = demo.Reader(reviews)
    context = fhe.ckks(64, moduli=[48, *[38] * 7], special=[48], insecure=True)
    keys = context.keygen(conjugation=False)
    embedded = reviews.embed(reviews.sentences[:32])
    given = keys.encrypt(embedded.T, batch=True, bound=3.0)
    assert isinstance(given, fhe.CkksCiphertext)
    found = keys.decrypt(reader(given)).real
    np.testing.assert_allclose(found, reviews.scores(embedded)[None], atol=demo.DIFFERENCE_GOAL)


def test_the_polynomial_follows_gelu_wherever_a_sentence_can_lead() -> None:
    reviews = load_reviews()
    reader = demo.Reader(reviews)
    worst = reviews.embed([word for word in reviews.words if not word.startswith("not_")])
    hidden = worst @ reviews.hidden_weight.T + reviews.hidden_bias
    assert 4 < np.abs(hidden).max() <= reviews.largest_hidden <= reader.domain
    inside = np.linspace(-1, 1, 999)
    error = np.abs(reader.gelu(inside) - demo.gelu(reader.domain * inside)).max()
    # A score adds up 32 such errors with the weights of the second layer.
    assert error * np.abs(reviews.output_weight).sum() < demo.DIFFERENCE_GOAL


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
    reviews = load_reviews()
    report = demo.SentimentReport(
        ckks(256, 4).context.parameters, Path("unused"), precision_bits=10.0, same_as_direct=True
    )
    exact = reviews.scores(reviews.embed(reviews.sentences))
    report.compare(exact, reviews, exact)
    assert report.passed
    report.compare(exact + 0.01, reviews, exact)
    assert not report.passed
    report.compare(exact, reviews, exact)
    report.mismatches = 1
    assert not report.passed


def test_the_demo_is_held_to_128_bits() -> None:
    assert demo.demo_context().parameters.security == 128
