"""Reviews, read while they are encrypted.

The client turns 1000 sentences, and those of the user, into means of public vectors of words, and
encrypts them under CKKS: one ciphertext a feature, one sentence a slot.  The server's part, two
layers with GELU between them from an ONNX file, is compiled, expanded into HEAL's ops, saved as a
transcript, checked and run.  The client decrypts scores: positive for a positive sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from cloakwork import fhe, files
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.demo.stage import Phases, costs_of, plain_console, print_report, transcript_line
from cloakwork.demo.transcripts import PHASES, Replayed, replayed
from cloakwork.errors import InputError
from cloakwork.models import network_path
from cloakwork.models.sentiment import Reviews, load_reviews

TRANSCRIPT_NAME = "sentiment.json"

# The guarantees of the demo, which `SentimentReport.passed` checks.
DIFFERENCE_GOAL = 5e-3

# Of scores, by approximations and encryption together.
_PRECISION = DIFFERENCE_GOAL / 2
_DEGREE = 2**14
_SHOWN = 6

Floats = NDArray[np.float64]


def compiled(reviews: Reviews) -> CompiledModel:
    """The network for as many sentences at once as there are slots.

    Means of vectors lie between the vectors of words: these and the sentences are the sample, so
    that the polynomial follows GELU wherever a sentence can lead.
    """
    sample = np.concatenate([reviews.embed(reviews.sentences), reviews.vectors])
    most = float(np.abs(reviews.vectors).max())
    return fhe.compile(
        network_path("sentiment"),
        sample,
        optimize="throughput",
        degree=_DEGREE,
        margin=0,
        precision=_PRECISION,
        bounds=(-most, most),
    )


@dataclass
class SentimentReport:
    """The results of the demo; `error` is stated, of encryption and of approximations."""

    parameters: fhe.Parameters
    transcript: Path
    error: float
    sentences: int = 0
    accuracy_encrypted: float = 0.0
    accuracy_plain: float = 0.0
    agreement: float = 0.0
    difference: float = float("inf")
    same_as_direct: bool = False
    findings: int = 0
    mismatches: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    verdicts: list[tuple[str, float]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether scores are right within the goal, and the transcript's are the same."""
        return (
            max(self.difference, self.error) <= DIFFERENCE_GOAL
            and self.same_as_direct
            and self.findings == self.mismatches == 0
        )

    def compare(self, found: Floats, reviews: Reviews, expected: Floats) -> None:
        """Fill in accuracies and differences of scores; those of the shipped sentences are first.

        Two scores agree if their signs do, or if the plain one is within the stated error of zero.
        """
        count = self.sentences = len(reviews.labels)
        positive = found[:count] > 0
        self.accuracy_encrypted = float((positive == reviews.labels).mean())
        self.accuracy_plain = float(((expected[:count] > 0) == reviews.labels).mean())
        alike = (found > 0) == (expected > 0)
        self.agreement = float((alike | (np.abs(expected) <= self.error)).mean())
        self.difference = float(np.abs(found - expected).max())


def run(
    out_dir: Path,
    texts: Sequence[str] = (),
    *,
    threads: int | None = None,
    console: Console | None = None,
) -> SentimentReport:
    """Run the demo, print its report, and leave the transcript in `out_dir`.

    `texts` are scored with the shipped sentences and printed with their scores.

    Raises InputError for more sentences than slots, and for one without a known word.
    """
    console = console or plain_console()
    reviews = load_reviews()
    embedded = _embedded(reviews, texts)
    path = out_dir / TRANSCRIPT_NAME
    out_dir.mkdir(parents=True, exist_ok=True)
    files.claim([path])
    phases = Phases(PHASES, console)
    with phases.progress:
        with phases.phase("compile"):
            model = compiled(reviews)
        found = replayed(phases, model, embedded, path, threads)
    report, scores = _report(model, found, path), found.scores[:, 0]
    report.compare(scores, reviews, reviews.scores(embedded))
    count = len(reviews.sentences)
    shown = list(texts) or reviews.sentences[:_SHOWN]
    first = count if texts else 0
    report.verdicts = list(zip(shown, scores[first:].tolist(), strict=False))
    report.seconds = phases.seconds
    _print(report, reviews, console)
    return report


def _embedded(reviews: Reviews, texts: Sequence[str]) -> Floats:
    """[n, 32] of the shipped sentences and those of the user."""
    slots = _DEGREE // 2
    if len(reviews.sentences) + len(texts) > slots:
        allowed = slots - len(reviews.sentences)
        raise InputError("texts", f"at most {allowed} sentences", f"{len(texts)}")
    own = reviews.embed(texts)
    unknown = np.flatnonzero(~own.any(axis=1))
    if len(unknown):
        raise InputError(f"text {unknown[0] + 1}", "at least one word that has a vector", "none")
    return np.concatenate((reviews.embed(reviews.sentences), own))


def _report(model: CompiledModel, found: Replayed, path: Path) -> SentimentReport:
    # The weights of the ONNX file are rounded to float32.
    error = model.report.error + model.report.approximation_error + 1e-5
    report = SentimentReport(model.context.parameters, path, error, same_as_direct=found.same)
    report.findings, report.mismatches = found.findings, found.mismatches
    return report


def _print(report: SentimentReport, reviews: Reviews, console: Console) -> None:
    print_report(
        console,
        "Encrypted reviews",
        [
            ("sentences", f"{report.sentences}"),
            ("accuracy, encrypted", f"{report.accuracy_encrypted:.2%}"),
            ("accuracy, plain", f"{report.accuracy_plain:.2%}"),
            ("same verdict", f"{report.agreement:.2%}"),
            ("largest score error", f"{report.difference:.1e}, stated {report.error:.1e}"),
            ("time for all of them", f"{report.seconds['run transcript']:.2f} s"),
            ("transcript gives the same", "yes" if report.same_as_direct else "NO"),
            ("transcript verified", "yes" if report.mismatches == 0 else "NO"),
        ],
        costs_of(report.parameters, report.seconds),
    )
    for sentence, score in report.verdicts:
        line = Text(f"{score:+6.2f}", "green" if score > 0 else "red")
        console.print(line.append(f"  {sentence}", "none"))
    console.print(transcript_line(report.transcript), soft_wrap=True)
    console.print(f"sentences: {reviews.source}; {reviews.licence}", style="dim", soft_wrap=True)
