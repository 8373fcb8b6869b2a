"""Reviews, read while they are encrypted.

The client turns 1000 sentences, and those of the user, into means of public vectors of words, and
encrypts them under CKKS: one ciphertext a feature, one sentence a slot.  The server's part, two
layers with GELU between them, is traced to a program, expanded into HEAL's ops, saved as a
transcript, checked and run.  The client decrypts scores: positive for a positive sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape

import cloakwork as cw
from cloakwork import fhe, files
from cloakwork.demo.stage import Phases, costs_of, print_report, transcript_line
from cloakwork.errors import InputError
from cloakwork.models.sentiment import Reviews, gelu, load_reviews

TRANSCRIPT_NAME = "sentiment.json"

# The guarantees of the demo, which `SentimentReport.passed` checks.
DIFFERENCE_GOAL = 5e-3

PHASES = (
    "make keys", "encrypt", "score directly", "trace", "write transcript", "check transcript",
    "run transcript", "decrypt",
)  # fmt: skip

_DEGREE = 31
_SHOWN = 6

Floats = NDArray[np.float64]


def demo_context() -> fhe.CkksContext:
    """128-bit security with seven levels: one a layer, five for the polynomial."""
    return fhe.ckks(2**14, moduli=[48, *[38] * 7], special=[48])


class Reader:
    """The network for a batch of ciphertexts, one a feature; every slot is another sentence.

    The polynomial follows GELU wherever a sentence can lead: `Reviews.largest_hidden`.
    """

    def __init__(self, reviews: Reviews) -> None:
        self.domain = float(np.ceil(reviews.largest_hidden))
        # The polynomial's argument is the hidden value over the domain.
        self.hidden_weight = reviews.hidden_weight / self.domain
        self.hidden_bias = reviews.hidden_bias / self.domain
        self.output_weight, self.output_bias = reviews.output_weight, reviews.output_bias
        self.gelu = fhe.chebyshev(lambda u: gelu(self.domain * u), _DEGREE, (-1.0, 1.0))

    def __call__(self, embedded: fhe.CkksCiphertext) -> fhe.CkksCiphertext:
        """Scores, a batch of 1, of a batch of 32 features; consumes seven levels."""
        hidden = embedded.weighted_sums(self.hidden_weight).rescale()
        hidden = hidden.add_constants(self.hidden_bias).with_bound(-1.0, 1.0)
        scores = self.gelu(hidden).weighted_sums(self.output_weight).rescale()
        return scores.add_constants(self.output_bias)


@dataclass
class SentimentReport:
    """The results of the demo."""

    parameters: fhe.Parameters
    transcript: Path
    sentences: int = 0
    accuracy_encrypted: float = 0.0
    accuracy_plain: float = 0.0
    agreement: float = 0.0
    difference: float = float("inf")
    precision_bits: float = float("-inf")
    same_as_direct: bool = False
    findings: int = 0
    mismatches: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    verdicts: list[tuple[str, float]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether scores are right within the goal, and the transcript's are the same."""
        return (
            self.difference <= DIFFERENCE_GOAL
            and self.precision_bits > 0
            and self.same_as_direct
            and self.findings == self.mismatches == 0
        )

    def compare(self, found: Floats, reviews: Reviews, expected: Floats) -> None:
        """Fill in accuracies and differences of scores; those of the shipped sentences are first.

        Two scores agree if their signs do, or if the plain one is within the goal of zero.
        """
        count = self.sentences = len(reviews.labels)
        positive = found[:count] > 0
        self.accuracy_encrypted = float((positive == reviews.labels).mean())
        self.accuracy_plain = float(((expected[:count] > 0) == reviews.labels).mean())
        alike = (found > 0) == (expected > 0)
        self.agreement = float((alike | (np.abs(expected) <= DIFFERENCE_GOAL)).mean())
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
    console = console or Console()
    reviews = load_reviews()
    embedded = _embedded(reviews, texts)
    out_dir.mkdir(parents=True, exist_ok=True)
    files.claim([out_dir / TRANSCRIPT_NAME])
    phases = Phases(PHASES, console)
    with phases.progress:
        report, scores = _run_phases(phases, reviews, embedded, out_dir / TRANSCRIPT_NAME, threads)
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
    slots = demo_context().slots
    if len(reviews.sentences) + len(texts) > slots:
        allowed = slots - len(reviews.sentences)
        raise InputError("texts", f"at most {allowed} sentences", f"{len(texts)}")
    own = reviews.embed(texts)
    unknown = np.flatnonzero(~own.any(axis=1))
    if len(unknown):
        raise InputError(f"text {unknown[0] + 1}", "at least one word that has a vector", "none")
    return np.concatenate((reviews.embed(reviews.sentences), own))


def _run_phases(
    phases: Phases, reviews: Reviews, embedded: Floats, path: Path, threads: int | None
) -> tuple[SentimentReport, Floats]:
    """The report, and scores [n], computed on ciphertexts, of [n, 32]."""
    with phases.phase("make keys"):
        context = demo_context()
        reader = Reader(reviews)
        keys = context.keygen(conjugation=False)
    report = SentimentReport(context.parameters, path)
    with keys:
        with phases.phase("encrypt"):
            bound = float(np.abs(reviews.vectors).max())
            given = keys.public.encrypt(embedded.T, batch=True, bound=bound)
            features = given.using(keys.evaluation)
            assert isinstance(features, fhe.CkksCiphertext)
        with phases.phase("score directly"):
            direct = reader(features)
        with phases.phase("trace"):
            program = cw.trace(reader, features)
        with phases.phase("write transcript"):
            program.to_heal().save(path)
        with phases.phase("check transcript"):
            transcript = cw.heal.load(path)
            report.findings = len(transcript.check())
        with phases.phase("run transcript"):
            result = transcript.run(verify=True, threads=threads)
        report.mismatches = len(result.mismatches)
        with phases.phase("decrypt"):
            found = program.results(result.outputs)[0]
            slots = keys.decrypt(found)
        report.same_as_direct = np.array_equal(slots, keys.decrypt(direct))
    report.precision_bits = found.precision_estimate()
    return report, np.asarray(slots.real[0, : len(embedded)])


def _print(report: SentimentReport, reviews: Reviews, console: Console) -> None:
    print_report(
        console,
        "Encrypted reviews",
        [
            ("sentences", f"{report.sentences}"),
            ("accuracy, encrypted", f"{report.accuracy_encrypted:.2%}"),
            ("accuracy, plain", f"{report.accuracy_plain:.2%}"),
            ("same verdict", f"{report.agreement:.2%}"),
            ("largest score error", f"{report.difference:.1e}"),
            ("time for all of them", f"{report.seconds['run transcript']:.2f} s"),
            ("precision, estimated", f"{report.precision_bits:.1f} bits"),
            ("transcript gives the same", "yes" if report.same_as_direct else "NO"),
            ("transcript verified", "yes" if report.mismatches == 0 else "NO"),
        ],
        costs_of(report.parameters, report.seconds),
    )
    for sentence, score in report.verdicts:
        colour = "green" if score > 0 else "red"
        console.print(f"[{colour}]{score:+6.2f}[/{colour}]  {escape(sentence)}")
    console.print(transcript_line(report.transcript), soft_wrap=True)
    console.print(f"sentences: {reviews.source}; {reviews.licence}", style="dim", soft_wrap=True)
