"""Scores of patients, computed on encrypted data.

The client standardises 256 rows of the Wisconsin breast cancer table and encrypts them under CKKS,
all in one ciphertext.  The server's part, a logistic regression, is traced to a program, expanded
into HEAL's ops, saved as a transcript, checked and run: a product with the weights, five
rotations that add up the features, and a polynomial for the sigmoid.  The client decrypts chances.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import cloakwork as cw
from cloakwork import fhe, files
from cloakwork.demo.stage import Phases, costs_of, print_report, transcript_line
from cloakwork.models.cancer import Cancer, load_cancer

TRANSCRIPT_NAME = "disease.json"

# The guarantees of the demo, which `DiseaseReport.passed` checks.
DIFFERENCE_GOAL = 1e-4

PHASES = (
    "make keys", "encrypt", "score directly", "trace", "write transcript", "check transcript",
    "run transcript", "decrypt",
)  # fmt: skip

# Scores, and so the polynomial's argument, stay within.
_DOMAIN = 16.0
_DEGREE = 63

Floats = NDArray[np.float64]


def demo_context() -> fhe.CkksContext:
    """128-bit security with seven levels: one for the products, six for the polynomial."""
    return fhe.ckks(2**14, moduli=[48, *[38] * 7], special=[48, 48])


def sigmoid(scores: Floats) -> Floats:
    """Probabilities from logits."""
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


class Scorer:
    """A logistic regression for one ciphertext of rows.

    Slot f * rows + r holds feature f of row r, so that rotations by multiples of `rows` bring the
    features of a row together; there are a power of two of them, zeros at the end, and they fill
    the slots, so that the sum stands in all of a row's slots.
    """

    def __init__(self, context: fhe.CkksContext, weights: Floats, bias: float) -> None:
        self.places = 1 << (len(weights) - 1).bit_length()
        self.rows = context.slots // self.places
        # The polynomial's argument is the score over the domain: weights carry the factor.
        scaled = np.zeros(self.places)
        scaled[: len(weights)] = weights / _DOMAIN
        self.weights = context.encode(np.repeat(scaled, self.rows))
        self.bias = bias / _DOMAIN
        self.chance = fhe.chebyshev(lambda u: sigmoid(_DOMAIN * u), _DEGREE, (-1.0, 1.0))

    @property
    def rotations(self) -> list[int]:
        """Steps that it needs keys for."""
        return [self.rows << log for log in range(self.places.bit_length() - 1)]

    def pack(self, table: Floats) -> Floats:
        """[rows, features] -> slots."""
        slots = np.zeros((self.places, self.rows))
        slots[: table.shape[1], : len(table)] = table.T
        return slots.reshape(-1)

    def __call__(self, table: fhe.CkksCiphertext) -> fhe.CkksCiphertext:
        """Probabilities, that of row r in slot r; consumes seven levels."""
        score = (table * self.weights).rescale()
        for step in self.rotations:
            score = score + score.rotate(step)
        # Values are clipped, and training keeps the scores within the domain.
        return self.chance((score + self.bias).with_bound(-1.0, 1.0))


@dataclass
class DiseaseReport:
    """The results of the demo."""

    parameters: fhe.Parameters
    transcript: Path
    patients: int = 0
    accuracy_encrypted: float = 0.0
    accuracy_plain: float = 0.0
    difference: float = float("inf")
    precision_bits: float = float("-inf")
    measured_bits: float = float("-inf")
    same_as_direct: bool = False
    findings: int = 0
    mismatches: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the encrypted probabilities are correct and equal to the transcript's."""
        return (
            self.difference <= DIFFERENCE_GOAL
            and self.measured_bits >= self.precision_bits > 0
            and self.same_as_direct
            and self.findings == self.mismatches == 0
        )

    def compare(self, chances: Floats, table: Cancer, scorer: Scorer) -> None:
        """Fill in accuracies, and differences from the sigmoid and from the polynomial."""
        scores = table.scores()
        self.patients = len(scores)
        self.accuracy_encrypted = float(((chances > 0.5) == table.labels).mean())
        self.accuracy_plain = float(((scores > 0) == table.labels).mean())
        self.difference = float(np.abs(chances - sigmoid(scores)).max())
        off = np.abs(chances - scorer.chance(scores / _DOMAIN)).max()
        self.measured_bits = float(-np.log2(max(off, 1e-300)))


def run(
    out_dir: Path, *, threads: int | None = None, console: Console | None = None
) -> DiseaseReport:
    """Run the demo, print its report, and leave the transcript in `out_dir`."""
    console = console or Console()
    table = load_cancer()
    out_dir.mkdir(parents=True, exist_ok=True)
    files.claim([out_dir / TRANSCRIPT_NAME])
    phases = Phases(PHASES, console)
    with phases.progress:
        report = _run_phases(phases, table, out_dir / TRANSCRIPT_NAME, threads)
    report.seconds = phases.seconds
    _print(report, table, console)
    return report


def _run_phases(phases: Phases, table: Cancer, path: Path, threads: int | None) -> DiseaseReport:
    with phases.phase("make keys"):
        context = demo_context()
        scorer = Scorer(context, table.weights, table.bias)
        keys = context.keygen(scorer.rotations, conjugation=False)
    report = DiseaseReport(context.parameters, path)
    with keys:
        with phases.phase("encrypt"):
            rows = keys.encrypt(scorer.pack(table.standardised), bound=table.cut)
            assert isinstance(rows, fhe.CkksCiphertext)
        with phases.phase("score directly"):
            direct = scorer(rows)
        with phases.phase("trace"):
            program = cw.trace(scorer, rows)
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
    report.compare(slots.real[: len(table.labels)], table, scorer)
    return report


def _print(report: DiseaseReport, table: Cancer, console: Console) -> None:
    print_report(
        console,
        "Encrypted scoring",
        [
            ("patients, in one ciphertext", f"{report.patients}"),
            ("accuracy, encrypted", f"{report.accuracy_encrypted:.2%}"),
            ("accuracy, plain", f"{report.accuracy_plain:.2%}"),
            ("largest probability error", f"{report.difference:.1e}"),
            ("time for all of them", f"{report.seconds['run transcript']:.2f} s"),
            ("precision, estimated", f"{report.precision_bits:.1f} bits"),
            ("precision, measured", f"{report.measured_bits:.1f} bits"),
            ("transcript gives the same", "yes" if report.same_as_direct else "NO"),
            ("transcript verified", "yes" if report.mismatches == 0 else "NO"),
        ],
        costs_of(report.parameters, report.seconds),
    )
    console.print(transcript_line(report.transcript), soft_wrap=True)
    console.print(f"table: {table.source}; {table.licence}", style="dim", soft_wrap=True)
