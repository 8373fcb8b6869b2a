"""The commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import typer

from cloakwork import __version__, files
from cloakwork._core import devices as list_devices
from cloakwork.cli import (
    ceremonies,
    circuits,
    compiling,
    conformance,
    exporting,
    models,
    programs,
    proofs,
    prover_server,
    results,
    serving,
    show,
    specializing,
    vendors,
    witnesses,
)
from cloakwork.cli.grouping import Command, DemoGroup, Group
from cloakwork.cli.options import (
    Insecure,
    Isolate,
    Json,
    MemoryBudget,
    Profile,
    Quiet,
    ScheduleSeed,
    SpillDir,
    Threads,
    Timeout,
    placed,
)
from cloakwork.cli.progress import Bar
from cloakwork.cli.words import (
    DIFFERS,
    REFUSED,
    count,
    in_words,
    invocation,
    note,
    print_json,
    safe,
    say,
    say_written,
    written,
    wrote,
)
from cloakwork.device.loading import drivers as loaded_drivers
from cloakwork.device.machine import machine_with_cuda
from cloakwork.errors import ParamError
from cloakwork.programs import kinds
from cloakwork.programs.options import RunOptions, check_folder
from cloakwork.programs.runnable import Runnable
from cloakwork.wording import shown

app = typer.Typer(
    cls=Group,
    help="Runs encrypted-AI and zero-knowledge programs: checked first, then fast, then explained.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
demos = typer.Typer(
    cls=DemoGroup, help="Run a demonstration.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(demos, name="demo")
conformance.add(app)
proofs.add(app)
exporting.add(app)
witnesses.add(app)
ceremonies.add(app)
vendors.add(app)
specializing.add(app)
compiling.add(app)
models.add(app)
serving.add(app)
prover_server.add(app)

File = Annotated[
    Path,
    typer.Argument(
        help="A program: HEAL's JSON, a .cwk container, JSON or text of the instruction set, or a "
        "program's text form.",
        show_default=False,
    ),
]
Generation = Annotated[
    Literal["first", "later"] | None,
    typer.Option(help="Of a transcript: HEAL's op set, first or later; by default its ops decide."),
]
Passes = Annotated[
    bool,
    typer.Option(
        "--passes/--no-passes",
        help="Apply passes first; --bisect runs the program as written.",
    ),
]
NoFallback = Annotated[
    bool,
    typer.Option(
        "--no-fallback",
        help="Refuse, with the list, if steps would run on the host instead of the device.",
    ),
]
EvaluationKeysFile = Annotated[
    Path | None,
    typer.Option("--keys", help="Evaluation keys: the eval.key of `keygen`, or its folder."),
]
OneFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="One file: .npy or .ct of an only result, .ct of several."),
]
_ALL_OPS_RIGHT = "no op is wrong ({held}): it is the expected value in the file, or the data"


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


@app.command(cls=Command)
def run(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    file: File,
    verify: Annotated[
        bool, typer.Option("--verify", help="Of a transcript: compare with the expected values.")
    ] = False,
    bisect: Annotated[
        bool,
        typer.Option(
            "--bisect",
            help="Of a transcript: verify; if a value differs, find the first op that is wrong.",
        ),
    ] = False,
    device: Annotated[str, typer.Option(help="Where to run; see `cloakwork devices`.")] = "cpu",
    no_fallback: NoFallback = False,
    isolate: Isolate = False,
    timeout: Timeout = None,
    threads: Threads = None,
    memory_budget: MemoryBudget = None,
    spill_dir: SpillDir = None,
    profile: Profile = None,
    schedule_seed: ScheduleSeed = None,
    passes: Passes = True,
    generation: Generation = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            help="NAME=FILE.npy (elements of fields as canonical words), a ciphertext or "
            "evaluation keys; FILE alone for an only input, or for ciphertexts with names. It "
            "replaces an upload of a transcript.",
        ),
    ] = None,
    keys: EvaluationKeysFile = None,
    insecure: Insecure = False,
    output: Annotated[
        list[str] | None,
        typer.Option(
            help="A folder for all results, or NAME=FILE.npy for one; with both, the folder takes "
            "the others."
        ),
    ] = None,
    out: OneFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a program of any kind, print the memory it needs, and run it."""
    with in_words(context.obj):
        files.claim([profile], read := [file, *programs.files_of(given or [], keys)])
        check_folder(spill_dir)
        device = placed(device, isolate, timeout)  # which makes its driver's ops known
        program = programs.load(file, generation, checksums=verify or bisect)
        kinds.refuse(program, {"--verify": verify, "--bisect": bisect})
        inputs = programs.read_inputs(given or [], program, keys, insecure=insecure)
        encrypted = getattr(program, "encrypted", ())
        places = results.targets(output or [], program.outputs, encrypted, out)
        files.claim([profile, *set(places.values())], [*read, *program.sources])
        options: RunOptions = {
            "device": device, "threads": threads,
            "memory_budget": memory_budget, "profile": profile or True, "spill_dir": spill_dir,
            "schedule_seed": schedule_seed, "optimize": passes, "fallback": not no_fallback,
        }  # fmt: skip
        with Bar("running") as progress:
            options["progress"] = progress
            done = programs.run(program, inputs, programs.Comparison(verify, bisect), **options)
        results.write(done.outputs, places)
        _say(done, bisect, dict.fromkeys([*places.values(), *([profile] if profile else [])]))
    if done.mismatches:
        raise typer.Exit(DIFFERS)


def _say(done: programs.Done, bisected: bool, files_of_results: Iterable[Path]) -> None:
    made = written(files_of_results)
    if invocation().as_json:
        print_json({**done.to_json(), **made})
    else:
        _show(done, bisected)
    say_written(made)


def _show(done: programs.Done, bisected: bool) -> None:
    out = show.console()
    show.report(done.report, out)
    for label, tensor in done.printed:
        note(f"{shown(label)}: {tensor}")
    if done.compared is None:
        for name, tensor in done.outputs.items():
            out.print(f"{shown(name)} = {tensor}", soft_wrap=True)
    for mismatch in done.mismatches:
        out.print(safe(str(mismatch)), soft_wrap=True)
    if done.wrong_op is not None:
        out.print(safe(f"first wrong op: {done.wrong_op}"), soft_wrap=True)
    elif bisected and done.mismatches:
        said = _ALL_OPS_RIGHT.format(held=done.held)
        out.print(said, soft_wrap=True)
    outputs = count(len(done.outputs), "output")
    if not done.outputs:
        out.print("the program has no outputs")
    elif done.compared is None:
        out.print(outputs)
    elif not done.compared:
        out.print(f"{outputs}, not compared: --verify does that")
    elif done.mismatches:
        out.print(f"{len(done.mismatches)} of {len(done.outputs)} outputs differ")
    else:
        out.print(f"{outputs} compared, all as expected")


@app.command(cls=Command)
def check(
    context: typer.Context, file: File, generation: Generation = None, as_json: Json = False
) -> None:
    """Print all errors and warnings of a program of any kind, without running it."""
    with in_words(context.obj):
        program = programs.load(file, generation, checksums=True)
        findings = program.check()
        if as_json:
            print_json([asdict(finding) for finding in findings])
        else:
            for finding in findings:
                print(safe(str(finding)))
        wrong = sum(finding.severity == "error" for finding in findings)
        if not as_json:
            warnings = count(len(findings) - wrong, "warning")
            print(f"{count(wrong, 'error')}, {warnings}")
    if wrong:
        raise typer.Exit(REFUSED)


@app.command(cls=Command)
def inspect(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    file: File,
    device: Annotated[
        str | None, typer.Option(help="Plan for it; see `cloakwork devices`. Default: cpu.")
    ] = None,
    no_fallback: NoFallback = False,
    isolate: Isolate = False,
    timeout: Timeout = None,
    threads: Threads = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print every kernel call.")] = False,
    passes: Annotated[
        bool, typer.Option("--passes", help="Print the program before and after each pass.")
    ] = False,
    generation: Generation = None,
    as_json: Json = False,
) -> None:
    """Print the parts of a transcript, a program, a circuit or a proving key.

    Ops, segments, dtypes, memory and coverage of a program; counts of circom's .r1cs, and of a
    .zkey whether its proofs hide the witness.
    """
    status = 0
    with in_words(context.obj):
        if circuits.kind(file) is not None:
            other = {
                "--plan": plan, "--passes": passes, "--threads": threads,
                "--generation": generation, "--device": device, "--no-fallback": no_fallback,
                "--isolate": isolate, "--timeout": timeout,
            }  # fmt: skip
            status = circuits.inspect(file, other, as_json)
        else:
            place = placed("cpu" if device is None else device, isolate, timeout)
            program = programs.load(file, generation)
            if passes:
                others = {
                    "--plan": plan, "--threads": threads, "--device": device, "--isolate": isolate,
                    "--no-fallback": no_fallback, "--timeout": timeout,
                }  # fmt: skip
                _inspect_passes(program, others, as_json)
            else:
                target = _Target(threads, place, not no_fallback)
                _inspect_program(program, target, plan, as_json)
    raise typer.Exit(status)


def _inspect_passes(program: Runnable, others: Mapping[str, object], as_json: bool) -> None:
    given = (name for name, value in others.items() if value is not None and value is not False)
    for option in given:
        raise ParamError(option, "--passes", "one of the two: passes are the same for every plan")
    results = program.passes()
    if as_json:
        print_json({"passes": [asdict(result) for result in results]})
        return
    for before, result in zip([None, *results], results, strict=False):
        print(f"; {result}" if before else f"; {result.name}")
        if before is None or before.text != result.text:
            print(result.text)


class _Target(NamedTuple):
    threads: int | None
    device: str
    fallback: bool


def _inspect_program(program: Runnable, target: _Target, plan: bool, as_json: bool) -> None:
    threads, device, fallback = target
    coverage = program.coverage(device=device, threads=threads, fallback=fallback)
    if plan:
        text = program.plan_text(threads=threads, device=device)
        if as_json:
            print_json({"plan": text.splitlines()})
        else:
            print(text)
        return
    found = program.inspect(threads=threads, device=device)
    if as_json:
        print_json({**found.to_json(), "on_device": coverage.to_json()})
    else:
        show.inspection(found, show.console())
        show.coverage(coverage, show.console())


@app.command(cls=Command)
def convert(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    file: File,
    out: Annotated[
        Path,
        typer.Argument(
            help="Where it goes: .json, .cwk or .cw; of the instruction set .json, .cwk or .txt.",
            show_default=False,
        ),
    ],
    generation: Generation = None,
    branch: Annotated[
        Literal["first", "later"] | None,
        typer.Option(help="For HEAL's JSON: the generation to write, first or later."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="For HEAL's JSON: an op that HEAL lacks, to keep by name."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a program in another form, such as HEAL's JSON as a container, or back."""
    with in_words(context.obj):
        files.claim([out], [file])
        program = programs.load(file, generation, checksums=True)
        kinds.refuse(program, {"--branch": branch, "--keep": keep})
        programs.convert(program, out, branch, keep)
        wrote([out])


def _with_facts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of devices; that of the processor, which is the first, with the machine's facts."""
    machine = asdict(machine_with_cuda())
    drivers = [asdict(driver) for driver in loaded_drivers()]
    return [{**rows[0], "machine": machine, "drivers": drivers}, *rows[1:]]


@app.command(cls=Command)
def devices(context: typer.Context, as_json: Json = False) -> None:
    """List the devices that programs can run on, and the facts of this machine."""
    with in_words(context.obj):
        rows = list_devices()
        if as_json:
            print_json(_with_facts(rows))
        else:
            machine = machine_with_cuda()
            show.devices(rows, show.console())
            show.drivers(loaded_drivers(), show.console())
            show.machine(machine, show.console())


Out = Annotated[Path, typer.Option(help="Where the transcript goes.")]


@demos.command(cls=Command)
def digits(
    context: typer.Context,
    out: Out = Path("out"),
    network: Annotated[
        Literal["simple", "mlp", "cnn"],
        typer.Option(
            help="Two layers with a square, for all images at once, as a transcript; or a network "
            "with ReLU, for one image after the other."
        ),
    ] = "simple",
    images: Annotated[
        int | None,
        typer.Option(min=1, help="How many images a compiled network reads: 20, or all at once."),
    ] = None,
    optimize: Annotated[
        Literal["latency", "throughput"] | None,
        typer.Option(help="Compile for one image at a time, as without it, or for many at once."),
    ] = None,
    threads: Threads = None,
) -> None:
    """Read handwritten digits while they are encrypted; write a picture and the program."""
    with in_words(context.obj):
        from cloakwork.demo import digits as demo

        if network == "simple":
            if images is not None or optimize is not None:
                raise ParamError("network", network, "mlp or cnn for --images and --optimize")
            _hold(demo.run(out, threads=threads))
            return
        from cloakwork.demo.network import Way

        count = images or (899 if optimize == "throughput" else 20)
        _hold(demo.run_network(network, out, Way(optimize or "latency", count, threads)))


@demos.command(cls=Command)
def cifar(
    context: typer.Context,
    out: Out = Path("out"),
    images: Annotated[int, typer.Option(min=1, help="How many pictures, one by one.")] = 1,
    threads: Threads = None,
) -> None:
    """Run ResNet-20 with bootstrapping on an encrypted picture of 3 x 32 x 32.

    Compiling takes about six minutes, the run two; both 12 GB of memory.
    """
    with in_words(context.obj):
        from cloakwork.demo import cifar as demo

        _hold(demo.run(out, images, threads=threads))


# The second name is its former one.
@demos.command(cls=Command)
@demos.command("dot", cls=Command, hidden=True)
def disease(context: typer.Context, out: Out = Path("out"), threads: Threads = None) -> None:
    """Score patients while their data is encrypted."""
    with in_words(context.obj):
        from cloakwork.demo import disease as demo

        _hold(demo.run(out, threads=threads))


@demos.command(cls=Command)
def sentiment(
    context: typer.Context,
    out: Out = Path("out"),
    text: Annotated[
        list[str] | None,
        typer.Option(help="A sentence of your own, to be read with the others; may be repeated."),
    ] = None,
    threads: Threads = None,
) -> None:
    """Say whether reviews are positive while they are encrypted."""
    with in_words(context.obj):
        from cloakwork.demo import sentiment as demo

        _hold(demo.run(out, text or (), threads=threads))


@demos.command(cls=Command)
def sharpen(context: typer.Context, out: Out = Path("out"), threads: Threads = None) -> None:
    """Sharpen an encrypted photograph; write both pictures and the transcript."""
    with in_words(context.obj):
        from cloakwork.demo import sharpen as demo

        _hold(demo.run(out, threads=threads))


@demos.command(cls=Command)
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
