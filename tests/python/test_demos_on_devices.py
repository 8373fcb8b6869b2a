"""The demos' programs on small rings: equal on the example devices to what the host computes."""

from __future__ import annotations

from functools import cache

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.demo import disease, sentiment, sharpen
from cloakwork.device import conform, diff
from cloakwork.models import load_digits, load_digits_model, load_reviews
from python.fhe_setup import bgv, ckks

from python import device_builds as builds


def digits_program() -> cw.Program:
    keys = ckks(64, 3)
    features = keys.encrypt(load_digits().images[:32].T, batch=True, bound=(0.0, 1.0))
    return cw.trace(load_digits_model().encrypted, features)


def disease_program() -> cw.Program:
    context = fhe.ckks(64, moduli=[48, *[38] * 7], special=[48, 48], insecure=True)
    scorer = disease.Scorer(context, np.array([1.0, -2.0, 0.5]), 0.25)
    rows = np.random.default_rng(1).normal(size=(scorer.rows, 3))
    keys = context.keygen(scorer.rotations)
    return cw.trace(scorer, keys.encrypt(scorer.pack(rows), bound=4.0))


def sharpen_program() -> cw.Program:
    context = bgv(256, 1).context
    picture = np.random.default_rng(3).integers(0, 256, (2, 20, 9))
    strips = sharpen.Strips(context, picture.shape)
    kernel = sharpen.Filter(sharpen.KERNEL, strips.line)
    keys = context.keygen(kernel.rotations)
    return cw.trace(kernel, keys.encrypt(strips.pack(picture), batch=True))


def sentiment_program() -> cw.Program:
    reviews = load_reviews()
    keys = ckks(64, 7)
    embedded = reviews.embed(reviews.sentences[:32]).T[:4]
    reader = sentiment.Reader(reviews)
    reader.hidden_weight, reader.hidden_bias = reader.hidden_weight[:2, :4], reader.hidden_bias[:2]
    reader.output_weight = reader.output_weight[:, :2]
    return cw.trace(reader, keys.encrypt(embedded, batch=True, bound=3.0))


PROGRAMS = {
    "digits": digits_program,
    "disease": disease_program,
    "sentiment": sentiment_program,
    "sharpen": sharpen_program,
}


@cache
def transcript(demo: str) -> cw.heal.Transcript:
    """The demo's program in HEAL's ops, with its inputs and expected results."""
    return PROGRAMS[demo]().to_heal()


@pytest.fixture(params=builds.LANGUAGES)
def device(request: pytest.FixtureRequest) -> str:
    if request.param != "python" and not builds.has_compilers():
        pytest.skip("no compiler for drivers")
    return builds.example(request.param)


@pytest.mark.parametrize("demo", PROGRAMS)
def test_a_demo_runs_with_fallback_and_every_result_is_as_expected(demo: str, device: str) -> None:
    result = transcript(demo).run(verify=True, device=device)
    assert not result.mismatches
    runs = result.report.coverage.runs
    assert runs["device"] > 2 * runs.get("host", 0), runs
    is_complete = "incpp" in device
    assert (runs.get("host", 0) == 0) == is_complete, runs


@pytest.mark.parametrize("demo", PROGRAMS)
def test_every_step_of_a_demo_is_that_of_the_host(demo: str, device: str) -> None:
    found = diff(transcript(demo), device=device)
    assert found, str(found)
    assert found.compared > 400


def test_the_examples_conform(device: str) -> None:
    report = conform(device, seed=5, seconds=4, quick=True, speed=False)
    assert report, str(report)
    passed = {op.op for op in report.ops}
    assert {"modmul", "modsum", "axis_modsum"} <= passed
