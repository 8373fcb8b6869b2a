"""The commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer
from rich.text import Text

from cloakwork import __version__, files, heal
from cloakwork._core import devices as list_devices
from cloakwork.cli import circuits, programs, proofs, show
from cloakwork.cli.options import MemoryBudget, SpillDir, Threads, Trace
from cloakwork.cli.progress import Bar
from cloakwork.cli.words import DIFFERS, REFUSED, count, in_words, say, say_memory, shown
from cloakwork.errors import ParamError, ProgramError
from cloakwork.report import RunResult
from cloakwork.runs import Runnable

app = typer.Typer(
    help="Runs encrypted-AI programs: checked first, then fast, then explained.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
demos = typer.Typer(help="Run a demonstration.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(demos, name="demo")
proofs.add(app)

File = Annotated[
    Path,
    typer.Argument(
        help="A transcript: HEAL's JSON or a .cwk container; or a program of the instruction set.",
        show_default=False,
    ),
]
Generation = Annotated[
    str | None,
    typer.Option(help="HEAL's op set, first or later; by default the file's ops tell."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_ALL_OPS_RIGHT = (
    "every op gives what its slow reference gives: "
    "it is the expected value in the file, or the data, that is wrong"
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"cloakwork {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Take the options of every command."""
    context.obj = debug


@app.command()
def run(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    file: File,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare with the expected values.")
    ] = False,
    bisect: Annotated[
        bool,
        typer.Option(
            "--bisect", help="Verify; if a value differs, find the first op that is wrong."
        ),
    ] = False,
    device: Annotated[str, typer.Option(help="Where to run; see `cloakwork devices`.")] = "cpu",
    threads: Threads = None,
    memory_budget: MemoryBudget = None,
    spill_dir: SpillDir = None,
    trace: Trace = None,
    schedule_seed: Annotated[
        int | None,
        typer.Option(help="Run tasks in a random order of this number: a test of the schedule."),
    ] = None,
    generation: Generation = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--input", help="Of a program: NAME=FILE.npy, words in canonical form."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a transcript or a program, print the memory it needs, and run it."""
    with in_words(context.obj), _findings_as_json(as_json):
        files.claim([trace], [file])
        if programs.is_program(file):
            programs.run(file, given or [], threads, memory_budget, spill_dir, trace, as_json)
            return
        if given:
            raise ParamError("--input", given[0], "no inputs: a transcript has its data in it")
        transcript = _load(file, generation, checksums=verify or bisect)
        say_memory(transcript, threads, memory_budget)
        with Bar("running") as progress:
            result = transcript.run(
                verify=verify, bisect=bisect, device=device, threads=threads,
                memory_budget=memory_budget, trace=trace, progress=progress,
                schedule_seed=schedule_seed, spill_dir=spill_dir,
            )  # fmt: skip
        if as_json:
            print(json.dumps(_result_json(result), indent=2))
        else:
            _show_result(result, verify or bisect, bisect)
    if result.mismatches:
        raise typer.Exit(DIFFERS)


def _result_json(result: RunResult) -> dict[str, Any]:
    return {
        "outputs": [{"shape": list(t.shape), "dtype": str(t.dtype)} for t in result.outputs],
        "mismatches": [asdict(mismatch) for mismatch in result.mismatches],
        "wrong_op": asdict(result.wrong_op) if result.wrong_op else None,
        "report": result.report.to_json(),
    }


def _show_result(result: RunResult, compared: bool, bisected: bool) -> None:
    out = show.console()
    show.report(result.report, out)
    for mismatch in result.mismatches:
        out.print(str(mismatch), markup=False, soft_wrap=True)
    if result.wrong_op is not None:
        out.print(f"first wrong op: {result.wrong_op}", markup=False, soft_wrap=True)
    elif bisected and result.mismatches:
        out.print(_ALL_OPS_RIGHT, soft_wrap=True)
    outputs = count(len(result.outputs), "output")
    if not result.outputs:
        out.print("the transcript has no outputs")
    elif not compared:
        out.print(f"{outputs}, not compared: --verify does that")
    elif result.mismatches:
        out.print(f"{len(result.mismatches)} of {len(result.outputs)} outputs differ")
    else:
        out.print(f"{outputs} compared, all as expected")


@app.command()
def check(
    context: typer.Context, file: File, generation: Generation = None, as_json: AsJson = False
) -> None:
    """Print everything that is wrong or odd with a transcript, without running it."""
    with in_words(context.obj):
        if programs.is_program(file):
            findings = programs.check(file)
        else:
            findings = _load(file, generation, checksums=True).check()
        if as_json:
            print(json.dumps([asdict(finding) for finding in findings], indent=2))
        else:
            for finding in findings:
                print(finding)
        wrong = sum(finding.severity == "error" for finding in findings)
        if not as_json:
            warnings = count(len(findings) - wrong, "warning")
            print(f"{count(wrong, 'error')}, {warnings}")
    if wrong:
        raise typer.Exit(REFUSED)


@app.command()
def inspect(
    context: typer.Context,
    file: File,
    threads: Threads = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print every kernel call.")] = False,
    generation: Generation = None,
    as_json: AsJson = False,
) -> None:
    """Print what a transcript, a program, a circuit or a proving key consists of.

    Ops, segments, dtypes, memory and coverage of a program; counts of circom's .r1cs, and of a
    .zkey whether its proofs hide the witness.
    """
    status = 0
    with in_words(context.obj), _findings_as_json(as_json):
        if circuits.kind(file) is not None:
            other = {"--plan": plan, "--threads": threads, "--generation": generation}
            status = circuits.inspect(file, other, as_json)
        else:
            _inspect_program(file, threads, plan, generation, as_json)
    raise typer.Exit(status)


def _inspect_program(
    file: Path, threads: int | None, plan: bool, generation: str | None, as_json: bool
) -> None:
    is_program = programs.is_program(file)
    program: Runnable = programs.load(file) if is_program else _load(file, generation)
    if plan:
        text = program.plan_text(threads=threads)
        print(json.dumps({"plan": text.splitlines()}, indent=2) if as_json else text, end="\n")
        return
    found = program.inspect(threads=threads)
    if as_json:
        print(json.dumps(found.to_json(), indent=2))
    else:
        show.inspection(found, show.console())


@app.command()
def devices(context: typer.Context, as_json: AsJson = False) -> None:
    """List what programs can run on."""
    with in_words(context.obj):
        rows = list_devices()
        if as_json:
            print(json.dumps(rows, indent=2))
        else:
            show.devices(rows, show.console())


Out = Annotated[Path, typer.Option(help="Where the transcript goes.")]


@demos.command()
def digits(context: typer.Context, out: Out = Path("out"), threads: Threads = None) -> None:
    """Read handwritten digits while they are encrypted."""
    with in_words(context.obj):
        from cloakwork.demo import digits as demo

        _hold(demo.run(out, threads=threads))


@demos.command()
def dot(context: typer.Context, out: Out = Path("out"), threads: Threads = None) -> None:
    """Score patients while their data is encrypted."""
    with in_words(context.obj):
        from cloakwork.demo import dot as demo

        _hold(demo.run(out, threads=threads))


@demos.command()
def sharpen(context: typer.Context, out: Out = Path("out"), threads: Threads = None) -> None:
    """Sharpen a photograph while it is encrypted; before and after go beside the transcript."""
    with in_words(context.obj):
        from cloakwork.demo import sharpen as demo

        _hold(demo.run(out, threads=threads))


@demos.command()
def merkle(
    context: typer.Context,
    out: Out = Path("out"),
    node: Annotated[
        bool,
        typer.Option(
            "--node/--no-node",
            help="Compile with circom and verify with snarkjs, which `npm ci` fetches.",
        ),
    ] = True,
) -> None:
    """Prove membership in a Merkle tree; snarkjs verifies, if npm can bring it."""
    with in_words(context.obj):
        from cloakwork.demo import merkle as demo

        _hold(demo.run(out, node=node))


class _Promise(Protocol):
    @property
    def passed(self) -> bool: ...


def _hold(report: _Promise) -> None:
    """The exit status of a demonstration."""
    if not report.passed:
        say("cloakwork: the result is not as promised")
        raise SystemExit(DIFFERS)


def _load(file: Path, generation: str | None = None, *, checksums: bool = False) -> heal.Transcript:
    with show.errors.status(Text(f"loading {shown(file.name)}")):
        return heal.load(file, generation=generation, checksums=checksums)


@contextmanager
def _findings_as_json(wanted: bool) -> Iterator[None]:
    """Print a refused program's findings as JSON too, for whoever asked for JSON."""
    try:
        yield
    except ProgramError as error:
        if wanted:
            findings = [asdict(finding) for finding in error.findings]
            print(json.dumps({"findings": findings}, indent=2))
        raise
