"""Handwritten digits, classified while encrypted.

The client encrypts the test half of the UCI digits under CKKS, one ciphertext a pixel and one
image a slot.  The server's part, a perceptron with a square activation from an ONNX file, is
compiled, expanded into HEAL's ops, saved as a transcript, checked and run.  The client decrypts the
logits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from cloakwork import fhe, files
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.demo.pictures import Pictures
from cloakwork.demo.png import write_png
from cloakwork.demo.sheet import sheet
from cloakwork.demo.stage import (
    Phases,
    costs_of,
    mebibytes,
    plain_console,
    print_report,
    transcript_line,
)
from cloakwork.demo.transcripts import PHASES, Replayed, replayed
from cloakwork.models import Digits, load_digits, network_path

if TYPE_CHECKING:
    from cloakwork.demo.network import NetworkReport, Way

TRANSCRIPT_NAME, PICTURE_NAME = "digits.json", "digits.png"

# The guarantees of the demo, which `DigitsReport.passed` checks.
AGREEMENT_GOAL = 0.995
LOGIT_ERROR_GOAL = 1e-3


def compiled(digits: Digits) -> CompiledModel:
    """The perceptron for as many images at once as there are slots."""
    return fhe.compile(
        network_path("digits_square"),
        digits.images[digits.train_index],
        optimize="throughput",
        precision=LOGIT_ERROR_GOAL,
        bounds=(0.0, 1.0),
    )


@dataclass
class DigitsReport:
    """The results of the demo; `error` is stated."""

    parameters: fhe.Parameters
    transcript: Path
    error: float
    images: int = 0
    accuracy_encrypted: float = 0.0
    accuracy_plain: float = 0.0
    agreement: float = 0.0
    logit_error: float = float("inf")
    same_as_direct: bool = False
    findings: int = 0
    mismatches: int = 0
    planned_peak_bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether logits are those in plain within the goal, and the transcript's are the same."""
        return (
            self.findings == self.mismatches == 0
            and self.same_as_direct
            and self.agreement >= AGREEMENT_GOAL
            and max(self.logit_error, self.error) <= LOGIT_ERROR_GOAL
        )

    def compare(
        self, encrypted: NDArray[np.float64], plain: NDArray[np.float64], labels: NDArray[np.int64]
    ) -> None:
        """Fill in the accuracies from logits [n, 10] and labels [n]."""
        predicted, expected = encrypted.argmax(axis=1), plain.argmax(axis=1)
        self.images = len(labels)
        self.accuracy_encrypted = float((predicted == labels).mean())
        self.accuracy_plain = float((expected == labels).mean())
        self.agreement = float((predicted == expected).mean())
        self.logit_error = float(np.abs(encrypted - plain).max())


def run(
    out_dir: Path, *, threads: int | None = None, console: Console | None = None
) -> DigitsReport:
    """Run the demo, print its report, and leave the transcript and a picture in `out_dir`.

    The picture frames images that were read right in green, and the others in red.
    `threads` is handed to the run of the transcript; None takes all cores.
    """
    console = console or plain_console()
    digits, path = load_digits(), out_dir / TRANSCRIPT_NAME
    out_dir.mkdir(parents=True, exist_ok=True)
    files.claim([path, out_dir / PICTURE_NAME])
    images, phases = digits.images[digits.test_index], Phases(PHASES, console)
    with phases.progress:
        with phases.phase("compile"):
            model = compiled(digits)
        found = replayed(phases, model, images, path, threads)
    logits, labels = found.scores, digits.labels[digits.test_index]
    report = _report(model, found, path)
    report.compare(logits, next(iter(model.plain(images).values())), labels)
    pixels = sheet(1 - images.reshape(-1, 8, 8), logits.argmax(axis=1) == labels, columns=31)
    write_png(out_dir / PICTURE_NAME, pixels)
    report.seconds = phases.seconds
    _print(report, digits, console)
    return report


def run_network(kind: str, out_dir: Path, way: Way) -> NetworkReport:
    """Run the network `digits_mlp` or `digits_cnn`, compiled, on the first test images."""
    from cloakwork.demo import network

    return network.run(f"digits_{kind}", pictures(), out_dir, way)


def pictures() -> Pictures:
    """The digits for `cloakwork.demo.network`: the training half is the sample."""
    digits = load_digits()
    images = digits.images.reshape(-1, 1, 8, 8)
    test = images[digits.test_index]
    return Pictures(
        sample=images[digits.train_index],
        test=test,
        labels=digits.labels[digits.test_index],
        shown=1 - test[:, 0],
        source=f"{digits.source}; {digits.licence}",
    )


def _report(model: CompiledModel, found: Replayed, path: Path) -> DigitsReport:
    report = DigitsReport(model.context.parameters, path, model.report.error)
    report.same_as_direct, report.findings = found.same, found.findings
    report.mismatches, report.planned_peak_bytes = found.mismatches, found.peak_bytes
    return report


def _print(report: DigitsReport, digits: Digits, console: Console) -> None:
    differ = "yes" if report.mismatches == 0 else f"NO: {report.mismatches} outputs differ"
    rows = [
        ("images", f"{report.images}"),
        ("accuracy, encrypted", f"{report.accuracy_encrypted:.2%}"),
        ("accuracy, plain", f"{report.accuracy_plain:.2%}"),
        ("same prediction", f"{report.agreement:.2%}"),
        ("largest logit error", f"{report.logit_error:.1e}, stated {report.error:.1e}"),
        ("transcript gives the same", "yes" if report.same_as_direct else "NO"),
        ("transcript verified", differ),
    ]
    costs = [("planned peak of the run", mebibytes(report.planned_peak_bytes))]
    print_report(
        console, "Encrypted digits", rows, costs_of(report.parameters, report.seconds) + costs
    )
    console.print(f"picture: {report.transcript.with_name(PICTURE_NAME)}", soft_wrap=True)
    console.print(transcript_line(report.transcript), soft_wrap=True)
    console.print(f"images: {digits.source}; {digits.licence}", style="dim", soft_wrap=True)
