"""Handwritten digits, classified while encrypted.

The client encrypts the test half of the UCI digits under CKKS, one ciphertext a pixel and one
image a slot.  The server's part, a perceptron with a square activation, is traced to a program,
saved as a HEAL transcript and run.  The client decrypts the logits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import cloakwork as cw
from cloakwork import fhe, files
from cloakwork.demo.pictures import Pictures
from cloakwork.demo.png import write_png
from cloakwork.demo.sheet import sheet
from cloakwork.demo.stage import Phases, costs_of, mebibytes, print_report, transcript_line
from cloakwork.models import Digits, SquareMlp, load_digits, load_digits_model

if TYPE_CHECKING:
    from cloakwork.demo.network import NetworkReport, Way

TRANSCRIPT_NAME, PICTURE_NAME = "digits.json", "digits.png"

# The guarantees of the demo, which `DigitsReport.passed` checks.
AGREEMENT_GOAL = 0.995
LOGIT_ERROR_GOAL = 1e-3

PHASES = ("make keys", "encrypt", "trace", "write transcript", "run transcript", "decrypt")


def demo_context() -> fhe.CkksContext:
    """128-bit security with room for the three levels of the model.

    After the last layer one modulus of 48 bits holds logits at scale 2^38: up to 2^9, where the
    model's stay below 27.  log2 of all moduli is 210, and the limit at this degree is 214.
    """
    return fhe.ckks(8192, moduli=[48, 38, 38, 38], special=[48])


@dataclass
class DigitsReport:
    """The results of the demo."""

    parameters: fhe.Parameters
    transcript: Path
    images: int = 0
    accuracy_encrypted: float = 0.0
    accuracy_plain: float = 0.0
    agreement: float = 0.0
    logit_error: float = float("inf")
    precision_bits: float = float("-inf")
    mismatches: int = 0
    planned_peak_bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether encrypted and plain logits agree, and the transcript verified."""
        return (
            self.mismatches == 0
            and self.agreement >= AGREEMENT_GOAL
            and self.logit_error <= LOGIT_ERROR_GOAL
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
    console = console or Console()
    digits, model = load_digits(), load_digits_model()
    out_dir.mkdir(parents=True, exist_ok=True)
    files.claim([out_dir / name for name in (TRANSCRIPT_NAME, PICTURE_NAME)])
    images, phases = digits.images[digits.test_index], Phases(PHASES, console)
    with phases.progress:
        report, logits = _run_phases(phases, images, model, out_dir / TRANSCRIPT_NAME, threads)
    labels = digits.labels[digits.test_index]
    report.compare(logits, model.plain(images), labels)
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


def _run_phases(
    phases: Phases, images: NDArray[np.float64], model: SquareMlp, path: Path, threads: int | None
) -> tuple[DigitsReport, NDArray[np.float64]]:
    """The report, and logits [n, 10] of images [n, 64] that were computed on ciphertexts."""
    with phases.phase("make keys"):
        context = demo_context()
        keys = context.keygen(conjugation=False)
    report = DigitsReport(context.parameters, path)
    with keys:
        with phases.phase("encrypt"):
            bound = (0.0, 1.0)
            given = keys.public.encrypt(images.T, batch=True, bound=bound)
            features = given.using(keys.evaluation)
        with phases.phase("trace"):
            program = cw.trace(model.encrypted, features)
        with phases.phase("write transcript"):
            transcript = program.to_heal()
            transcript.save(path)
        with phases.phase("run transcript"):
            result = transcript.run(verify=True, threads=threads)
        report.mismatches = len(result.mismatches)
        report.planned_peak_bytes = result.report.peak_bytes
        with phases.phase("decrypt"):
            (encrypted,) = program.results(result.outputs)
            report.precision_bits = encrypted.precision_estimate()
            slots = keys.decrypt(encrypted)
    return report, np.asarray(slots.real[:, : len(images)].T)


def _print(report: DigitsReport, digits: Digits, console: Console) -> None:
    differ = "yes" if report.mismatches == 0 else f"NO: {report.mismatches} outputs differ"
    rows = [
        ("images", f"{report.images}"),
        ("accuracy, encrypted", f"{report.accuracy_encrypted:.2%}"),
        ("accuracy, plain", f"{report.accuracy_plain:.2%}"),
        ("same prediction", f"{report.agreement:.2%}"),
        ("largest logit error", f"{report.logit_error:.1e}"),
        ("transcript verified", differ),
    ]
    costs = [("planned peak of the run", mebibytes(report.planned_peak_bytes))]
    print_report(
        console, "Encrypted digits", rows, costs_of(report.parameters, report.seconds) + costs
    )
    console.print(f"picture: {report.transcript.with_name(PICTURE_NAME)}", soft_wrap=True)
    console.print(transcript_line(report.transcript), soft_wrap=True)
    console.print(f"images: {digits.source}; {digits.licence}", style="dim", soft_wrap=True)
