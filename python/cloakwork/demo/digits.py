"""Handwritten digits, read while they are encrypted.

The client encrypts the test half of the UCI digits under CKKS, one ciphertext a pixel and one
image a slot.  The server's part, a perceptron with a square activation, is traced to a program,
saved as a HEAL transcript and run.  The client decrypts the logits.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import cloakwork as cw
from cloakwork import fhe
from cloakwork.models import Digits, SquareMlp, load_digits, load_digits_model

TRANSCRIPT_NAME = "digits.json"

# What the demo promises; `DigitsReport.passed` holds it to that.
AGREEMENT_GOAL = 0.995
LOGIT_ERROR_GOAL = 1e-3

_PHASES = ("make keys", "encrypt", "trace", "write transcript", "run transcript", "decrypt")


def demo_context() -> fhe.CkksContext:
    """128-bit security with room for the three levels of the model.

    After the last layer one modulus of 48 bits holds logits at scale 2^38: up to 2^9, where the
    model's stay below 27.  log2 of all moduli is 210, and the limit at this degree is 214.
    """
    return fhe.ckks(8192, moduli=[48, 38, 38, 38], special=[48])


@dataclass
class DigitsReport:
    """What the demo found."""

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
    peak_bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether encrypted and plain logits agree as promised, and the transcript verified."""
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


class _Phases:
    """Times each phase into the report and moves the progress bar."""

    def __init__(self, report: DigitsReport, console: Console) -> None:
        self.report = report
        self.progress = Progress(
            TextColumn("{task.description:<16}"), BarColumn(), MofNCompleteColumn(),
            TimeElapsedColumn(), console=console, transient=True,
        )  # fmt: skip
        self._task = self.progress.add_task("", total=len(_PHASES))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self.progress.update(self._task, description=name)
        start = perf_counter()
        yield
        self.report.seconds[name] = perf_counter() - start
        self.progress.advance(self._task)


def run(
    out_dir: Path, *, threads: int | None = None, console: Console | None = None
) -> DigitsReport:
    """Run the demo, print its report, and leave the transcript in `out_dir`.

    `threads` is handed to the run of the transcript; None takes all cores.
    """
    console = console or Console()
    out_dir.mkdir(parents=True, exist_ok=True)
    digits, model = load_digits(), load_digits_model()
    context = demo_context()
    report = DigitsReport(context.parameters, out_dir / TRANSCRIPT_NAME)
    phases = _Phases(report, console)
    with phases.progress:
        images = digits.images[digits.test_index]
        logits = _run_phases(phases, context, images, model, threads)
    plain = model.plain(digits.images[digits.test_index])
    report.compare(logits, plain, digits.labels[digits.test_index])
    report.peak_bytes = _peak_bytes()
    _print(report, digits, console)
    return report


def _run_phases(
    phases: _Phases, context: fhe.CkksContext, images: NDArray[np.float64], model: SquareMlp,
    threads: int | None,
) -> NDArray[np.float64]:  # fmt: skip
    """Logits [n, 10] of images [n, 64], computed on ciphertexts."""
    report = phases.report
    with phases.phase("make keys"):
        keys = context.keygen(conjugation=False)
    with keys:
        with phases.phase("encrypt"):
            features = keys.public.encrypt(images.T).using(keys.evaluation)
        with phases.phase("trace"):
            program = cw.trace(model.encrypted, features)
        with phases.phase("write transcript"):
            transcript = program.to_heal()
            transcript.save(report.transcript)
        with phases.phase("run transcript"):
            result = transcript.run(verify=True, threads=threads)
        report.mismatches = len(result.mismatches)
        report.planned_peak_bytes = result.report.peak_bytes
        with phases.phase("decrypt"):
            (encrypted,) = program.results(result.outputs)
            report.precision_bits = encrypted.precision_estimate()
            slots = keys.decrypt(encrypted)
    return np.asarray(slots.real[:, : len(images)].T)


def _peak_bytes() -> int:
    """Most memory the process ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _print(report: DigitsReport, digits: Digits, console: Console) -> None:
    parameters = report.parameters
    limit = fhe.modulus_log2_limit(parameters.degree)
    whole = parameters.modulus_log2 + parameters.special_log2
    table = Table(title="Encrypted digits", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("images", f"{report.images}")
    table.add_row("accuracy, encrypted", f"{report.accuracy_encrypted:.2%}")
    table.add_row("accuracy, plain", f"{report.accuracy_plain:.2%}")
    table.add_row("same prediction", f"{report.agreement:.2%}")
    table.add_row("largest logit error", f"{report.logit_error:.1e}")
    table.add_row(
        "transcript verified",
        "yes" if report.mismatches == 0 else f"NO: {report.mismatches} outputs differ",
    )
    table.add_section()
    table.add_row(
        "CKKS, 128-bit security",
        f"degree {parameters.degree}, log2 of all moduli {whole:.0f} of {limit}",
    )
    for name, seconds in report.seconds.items():
        table.add_row(name, f"{seconds:.2f} s")
    table.add_row("planned peak of the run", _mebibytes(report.planned_peak_bytes))
    table.add_row("peak memory", _mebibytes(report.peak_bytes))
    console.print(table)
    console.print(
        f"transcript: {report.transcript} ({_mebibytes(report.transcript.stat().st_size)})",
        soft_wrap=True,
    )
    console.print(f"images: {digits.source}; {digits.licence}", style="dim", soft_wrap=True)


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:.0f} MiB"
