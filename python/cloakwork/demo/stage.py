"""Shared by the demonstrations: timed phases with a bar, and tables."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from cloakwork import fhe
from cloakwork.patience import told_late


def plain_console() -> Console:
    """Standard output without markup: names of files are printed as they are."""
    return Console(markup=False, emoji=False)


class Phases:
    """Times each phase and moves the progress bar; without a terminal, long ones are named."""

    def __init__(self, names: Sequence[str], console: Console) -> None:
        self.seconds: dict[str, float] = {}
        self.progress = Progress(
            TextColumn("{task.description:<16}"), BarColumn(), MofNCompleteColumn(),
            TimeElapsedColumn(), console=console, transient=True,
        )  # fmt: skip
        self._task = self.progress.add_task("", total=len(names))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """One of the phases, from here to the end of the block."""
        self.progress.update(self._task, description=name)
        start = perf_counter()
        with nullcontext() if self.progress.console.is_terminal else told_late(f"{name} ..."):
            yield
        self.seconds[name] = perf_counter() - start
        self.progress.advance(self._task)


def peak_bytes() -> int:
    """The peak memory of the process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def mebibytes(count: int) -> str:
    """Bytes in words."""
    return f"{count / 2**20:.0f} MiB"


def costs_of(parameters: fhe.Parameters, seconds: dict[str, float]) -> list[tuple[str, str]]:
    """Rows with the parameters, how long phases took, and the peak memory of the process."""
    limit = fhe.modulus_log2_limit(parameters.degree)
    whole = parameters.modulus_log2 + parameters.special_log2
    rows = [
        (
            f"{parameters.scheme.upper()}, 128-bit security",
            f"degree {parameters.degree}, log2 of all moduli {whole:.0f} of {limit}",
        )
    ]
    rows += [(name, f"{taken:.2f} s") for name, taken in seconds.items()]
    return [*rows, ("peak memory", mebibytes(peak_bytes()))]


def print_report(
    console: Console, title: str, rows: Sequence[tuple[str, str]], costs: Sequence[tuple[str, str]]
) -> None:
    """A table with two parts: results and costs."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in rows:
        table.add_row(name, value)
    table.add_section()
    for name, value in costs:
        table.add_row(name, value)
    console.print(table)


def transcript_line(path: Path) -> str:
    """Where the transcript is, and how large."""
    return f"transcript: {path} ({mebibytes(path.stat().st_size)})"
