"""Scores of patients, computed on encrypted data.

The client standardises 256 rows of the Wisconsin breast cancer table and encrypts them under CKKS,
one ciphertext a feature and one patient a slot.  The server's part, a logistic regression from an
ONNX file, is compiled, expanded into HEAL's ops, saved as a transcript, checked and run.  The
client decrypts scores, and computes the sigmoid of each: the chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from cloakwork import fhe, files
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.demo.stage import Phases, costs_of, plain_console, print_report, transcript_line
from cloakwork.demo.transcripts import PHASES, Replayed, replayed
from cloakwork.models import network_path
from cloakwork.models.cancer import Cancer, load_cancer

TRANSCRIPT_NAME = "disease.json"

# The guarantees of the demo, which `DiseaseReport.passed` checks.
DIFFERENCE_GOAL = 1e-4

Floats = NDArray[np.float64]


def sigmoid(scores: Floats) -> Floats:
    """Probabilities from logits."""
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


def compiled(table: Cancer) -> CompiledModel:
    """The logistic regression for as many patients at once as there are slots."""
    bounds = (-table.cut, table.cut)
    return fhe.compile(
        network_path("cancer"), table.standardised, optimize="throughput", bounds=bounds
    )


@dataclass
class DiseaseReport:
    """The results of the demo.

    `difference` is that of probabilities, `score_error` that of scores; `error` is stated.
    """

    parameters: fhe.Parameters
    transcript: Path
    error: float
    patients: int = 0
    accuracy_encrypted: float = 0.0
    accuracy_plain: float = 0.0
    difference: float = float("inf")
    score_error: float = float("inf")
    same_as_direct: bool = False
    findings: int = 0
    mismatches: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the encrypted probabilities are correct and equal to the transcript's."""
        return (
            self.difference <= DIFFERENCE_GOAL
            and self.score_error <= self.error
            and self.same_as_direct
            and self.findings == self.mismatches == 0
        )

    def compare(self, scores: Floats, table: Cancer) -> None:
        """Fill in accuracies and differences from encrypted scores [n]."""
        expected = table.scores()
        self.patients = len(expected)
        self.accuracy_encrypted = float(((scores > 0) == table.labels).mean())
        self.accuracy_plain = float(((expected > 0) == table.labels).mean())
        self.score_error = float(np.abs(scores - expected).max())
        self.difference = float(np.abs(sigmoid(scores) - sigmoid(expected)).max())


def run(
    out_dir: Path, *, threads: int | None = None, console: Console | None = None
) -> DiseaseReport:
    """Run the demo, print its report, and leave the transcript in `out_dir`."""
    console = console or plain_console()
    table, path = load_cancer(), out_dir / TRANSCRIPT_NAME
    out_dir.mkdir(parents=True, exist_ok=True)
    files.claim([path])
    phases = Phases(PHASES, console)
    with phases.progress:
        with phases.phase("compile"):
            model = compiled(table)
        found = replayed(phases, model, table.standardised, path, threads)
    report = _report(model, found, path)
    report.compare(found.scores[:, 0], table)
    report.seconds = phases.seconds
    _print(report, table, console)
    return report


def _report(model: CompiledModel, found: Replayed, path: Path) -> DiseaseReport:
    # The weights of the ONNX file are rounded to float32.
    error = model.report.error + 1e-5
    report = DiseaseReport(model.context.parameters, path, error, same_as_direct=found.same)
    report.findings, report.mismatches = found.findings, found.mismatches
    return report


def _print(report: DiseaseReport, table: Cancer, console: Console) -> None:
    print_report(
        console,
        "Encrypted scoring",
        [
            ("patients, one in each slot", f"{report.patients}"),
            ("accuracy, encrypted", f"{report.accuracy_encrypted:.2%}"),
            ("accuracy, plain", f"{report.accuracy_plain:.2%}"),
            ("largest probability error", f"{report.difference:.1e}"),
            ("largest score error", f"{report.score_error:.1e}, stated {report.error:.1e}"),
            ("time for all of them", f"{report.seconds['run transcript']:.3f} s"),
            ("transcript gives the same", "yes" if report.same_as_direct else "NO"),
            ("transcript verified", "yes" if report.mismatches == 0 else "NO"),
        ],
        costs_of(report.parameters, report.seconds),
    )
    console.print(transcript_line(report.transcript), soft_wrap=True)
    console.print(f"table: {table.source}; {table.licence}", style="dim", soft_wrap=True)
