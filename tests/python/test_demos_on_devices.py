"""The demos' programs on small rings: equal on the example devices to what the host computes."""

from __future__ import annotations

from functools import cache
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.demo import sharpen
from cloakwork.device import conform, diff
from cloakwork.models import load_cancer, load_digits, load_reviews, network_path
from python.fhe_setup import bgv

from python import device_builds as builds


def compiled(network: str, sample: Any) -> cw.heal.Transcript:
    """A demo's network on a small ring, for one input: it rotates, relinearizes and rescales."""
    model = fhe.compile(network_path(network), sample, degree=2**9, insecure=True)
    client, _ = model.split()
    return model.to_heal(client.encrypt(sample[0]))


def digits_program() -> cw.heal.Transcript:
    return compiled("digits_square", load_digits().images[:64])


def disease_program() -> cw.heal.Transcript:
    return compiled("cancer", load_cancer().standardised)


def sharpen_program() -> cw.heal.Transcript:
    context = bgv(256, 1).context
    picture = np.random.default_rng(3).integers(0, 256, (2, 20, 9))
    strips = sharpen.Strips(context, picture.shape)
    kernel = sharpen.Filter(sharpen.KERNEL, strips.line)
    keys = context.keygen(kernel.rotations)
    return cw.trace(kernel, keys.encrypt(strips.pack(picture), batch=True)).to_heal()


def sentiment_program() -> cw.heal.Transcript:
    reviews = load_reviews()
    return compiled("sentiment", reviews.embed(reviews.sentences[:64]))


PROGRAMS = {
    "digits": digits_program,
    "disease": disease_program,
    "sentiment": sentiment_program,
    "sharpen": sharpen_program,
}


@cache
def transcript(demo: str) -> cw.heal.Transcript:
    """The demo's program in HEAL's ops, with its inputs and expected results."""
    return PROGRAMS[demo]()


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
    assert found.compared > 300


def test_the_examples_conform(device: str) -> None:
    report = conform(device, seed=5, seconds=4, quick=True, speed=False)
    if report.untried:  # a busy machine
        report = conform(device, seed=5, seconds=600, quick=True, speed=False)
    assert report, (str(report), report.failures)
    passed = {op.op for op in report.ops}
    assert {"modmul", "modsum", "axis_modsum"} <= passed


def test_the_examples_have_digits_of_any_width(device: str) -> None:
    options: Any = {"seed": 5, "ops": ["g_decomp", "g_decomp_full_q"], "quick": True}
    report = conform(device, seconds=600, speed=False, **options)
    assert report, (str(report), report.failures)


@pytest.mark.large
def test_the_examples_conform_in_all_rounds_of_sizes(device: str) -> None:
    report = conform(device, seed=5, seconds=3600, quick=True, speed=False)
    assert not report.is_cut
    assert report, (str(report), report.failures)
