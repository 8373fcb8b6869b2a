"""The commands that hold devices to references and to one another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from cloakwork import files
from cloakwork.cli import programs, show
from cloakwork.cli.grouping import Command
from cloakwork.cli.options import Isolate, Json, Quiet, Threads, Timeout, placed
from cloakwork.cli.progress import Bar, busy
from cloakwork.cli.words import (
    DIFFERS,
    count,
    in_words,
    note,
    print_json,
    safe,
    say_written,
    written,
)
from cloakwork.device.comparison import diff as compare
from cloakwork.device.conformance import Failure, OpResult, Report, Speed
from cloakwork.device.conformance import conform as hold
from cloakwork.device.loading import is_gpu
from cloakwork.wording import shown

# Names of a line of the summary, failures whose calls are printed, and columns of these.
_NAMES_SHOWN = 8
_PROGRAMS_SHOWN = 3
_WIDEST = 120


def add(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (conform, diff):
        app.command(cls=Command)(command)


def conform(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    device: Annotated[
        str,
        typer.Argument(
            help="A device, see `cloakwork devices`, or a driver's file: ./libmychip.so.",
            show_default=False,
        ),
    ],
    seed: Annotated[
        int | None,
        typer.Option(help="All calls follow from it; by default a random one, which is printed."),
    ] = None,
    ops: Annotated[
        list[str] | None, typer.Option(help="Only these ops: names with commas between them.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Each size once, and 10 seconds.")] = False,
    seconds: Annotated[
        float | None, typer.Option(help="No case begins after so long; by default 60.")
    ] = None,
    isolate: Isolate = False,
    timeout: Timeout = None,
    as_json: Json = False,
    junit: Annotated[
        Path | None, typer.Option(help="Write the report as JUnit's XML to this file.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Hold every op and kernel that a device claims to the slow references; exit 1 if one fails."""
    with in_words(context.obj):
        files.claim([junit], [])
        names = [name for given in ops or [] for name in given.split(",")]
        # A kernel that breaks the context of a GPU then breaks one of many processes.
        name = placed(device, isolate or is_gpu(device), timeout)
        with Bar("conform") as bar:
            report = hold(
                name, seed=seed, ops=names, quick=quick, seconds=seconds,
                progress=lambda cases, at, rounds, op: bar(at, rounds),
            )  # fmt: skip
        if junit is not None:
            files.write(str(junit), report.to_junit())
        made = written([junit] if junit is not None else [])
        if as_json:
            print_json({**report.to_json(), **made})
        else:
            _show(report, show.console())
        say_written(made)
    if not report:
        raise typer.Exit(DIFFERS)


def _show(report: Report, out: Console) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("op")
    table.add_column("result")
    for title in ("calls", "compared", "kernels", "small: ns", "cpu", "large: ns", "cpu", "GB/s"):
        table.add_column(title, justify="right")
    for op in report.ops:
        table.add_row(*_row(op))
    out.print(table)
    if any(op.speeds for op in report.ops):
        out.print("ns: of an element of the result, by the medians of launches")
    for number, (name, failure) in enumerate(_failures(report)):
        out.print(f"\n{name}: {failure}", soft_wrap=True)
        if failure.program is not None and number < _PROGRAMS_SHOWN:
            for line in failure.program.splitlines():
                out.print(f"  {_shortened(line)}", soft_wrap=True)
    _say_names("kernels that no call reached", report.unreached, out)
    _say_names("kernels that are never chosen, as others are preferred", report.shadowed, out)
    _say_names("ops of which no call ran on the device", report.unclaimed, out)
    _say_names("ops that were not tried before the time was over", report.untried, out)
    partly = [f"{name} {n} of {of}" for name, (n, of) in report.sizes.items() if n < of]
    _say_names("kernels that were not tried at every size", tuple(partly), out)
    if report.is_cut:
        text = f"the time was over after {count(report.rounds, 'complete round')}"
        out.print(text)
    out.print(str(report), soft_wrap=True)


def _failures(report: Report) -> list[tuple[str, Failure]]:
    """Failures by op, those of the shortest programs first: most likely the causes of others."""
    found = [(op.op, op.failure) for op in report.ops]
    found.append(("random programs", report.program_failure))
    failures = [(name, one) for name, one in found if one is not None]
    return sorted(failures, key=lambda pair: (pair[1].program or "\n" * 99).count("\n"))


def _shortened(line: str) -> str:
    return line if len(line) <= _WIDEST else f"{line[:_WIDEST]} ..."


def _row(op: OpResult) -> list[str]:
    compared = op.by_reference + op.by_portable
    facts = [op.op, "pass" if op.passed else "FAIL", str(op.cases), str(compared)]
    times = [text for speed in op.speeds for text in _times(speed)]
    rate = [f"{speed.bytes / max(speed.device_ns, 1):.1f}" for speed in op.speeds[-1:]]
    return [*facts, str(len(op.kernels)), *times, *rate]


def _times(speed: Speed) -> list[str]:
    """Nanoseconds an element of the device and of the CPU."""
    elements = max(speed.elements, 1)
    return [f"{ns / elements:.2f}" for ns in (speed.device_ns, speed.host_ns)]


def _say_names(title: str, names: tuple[str, ...], out: Console) -> None:
    if not names:
        return
    first = ", ".join(names[:_NAMES_SHOWN])
    rest = len(names) - _NAMES_SHOWN
    more = f" and {rest} more" if rest > 0 else ""
    out.print(f"{title} ({len(names)}): {first}{more}", soft_wrap=True)


def diff(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="A program of any kind that `run` takes.", show_default=False)
    ],
    device: Annotated[str, typer.Option(help="The device in question.")],
    reference: Annotated[str, typer.Option(help="The device that is right.")] = "cpu",
    given: Annotated[
        list[str] | None, typer.Option("--input", help="NAME=FILE.npy, as for `run`.")
    ] = None,
    repeat: Annotated[
        int, typer.Option(help="Runs of each part; more of them find what is rare.")
    ] = 5,
    dump: Annotated[
        Path | None,
        typer.Option(help="Write the wrong step with its operands: .json, .cwk or .cw."),
    ] = None,
    isolate: Isolate = False,
    timeout: Timeout = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the first step of a program whose result differs between two devices; exit 1 if one."""
    with in_words(context.obj):
        read = [file, *programs.files_of(given or [])]
        files.claim([dump], read)
        name = placed(device, isolate, timeout)  # which makes its driver's ops known
        program = programs.load(file)
        files.claim([dump], [*read, *program.sources])
        inputs = programs.read_inputs(given or [])
        with busy(f"comparing {device} with {reference}"):
            found = compare(
                program, inputs, device=name, reference=reference, repeat=repeat,
                threads=threads,
            )  # fmt: skip
        dumped = [dump] if dump is not None and found.difference is not None else []
        for file_of_step in dumped:
            found.dump(file_of_step)
        made = written(dumped)
        if as_json:
            print_json({**found.to_json(), **made})
        else:
            title = "first difference: " if found.difference else ""
            said = safe(f"{title}{found}")
            show.console().print(said, soft_wrap=True)
        if dump is not None and not dumped:
            note(f"{shown(str(dump))}: not written, as there is no difference")
        say_written(made)
    if not found:
        raise typer.Exit(DIFFERS)
