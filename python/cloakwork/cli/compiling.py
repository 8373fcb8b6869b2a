"""The command `compile`: a model becomes a program on encrypted inputs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloakwork import files
from cloakwork.cli.options import Command
from cloakwork.cli.progress import Lines
from cloakwork.cli.words import in_words, say, warnings_said
from cloakwork.errors import ParamError

if TYPE_CHECKING:
    from cloakwork.compiler.compiled import CompiledModel


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compile", cls=Command)(compile_command)


def compile_command(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    model: Annotated[Path, typer.Argument(metavar="MODEL.onnx", help="The model.")],
    data: Annotated[
        list[str],
        typer.Option(
            help="Samples [n, ...] like the inputs to come: .npy; NAME=FILE.npy for several inputs."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the compiled model goes: .cwk.")],
    optimize: Annotated[
        str,
        typer.Option(help="latency: one input soon; memory: small keys; throughput: many inputs."),
    ] = "latency",
    precision: Annotated[
        float | None,
        typer.Option(help="The largest error of a result; by default 1 % of the largest result."),
    ] = None,
    margin: Annotated[
        float, typer.Option(help="Widen the samples' ranges on both sides by this share.")
    ] = 0.25,
    degree: Annotated[
        int | None, typer.Option(help="Of the ring; by default the least that is exact enough.")
    ] = None,
    bootstrap: Annotated[
        bool | None,
        typer.Option(
            "--bootstrap/--no-bootstrap",
            help="Always or never; by default where a model is deeper than any modulus chain.",
        ),
    ] = None,
    guard: Annotated[
        bool,
        typer.Option(
            "--guard/--no-guard",
            help="Results are right for every accepted input, or refused; without, inputs unlike "
            "the samples may give wrong results.",
        ),
    ] = True,
    reveal: Annotated[
        str,
        typer.Option(
            help="scores: the client computes what follows them; results: less, more is encrypted."
        ),
    ] = "scores",
    device: Annotated[
        str | None,
        typer.Option("--for", help="In exactly the ops of a device: its name, or its library."),
    ] = None,
    memory_budget: Annotated[
        str | None,
        typer.Option(help="The most memory of trials, such as 2GiB: keys, weights, runs."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Compile a model: packing, parameters, keys and approximations are found and reported."""
    with in_words(context.obj):
        options = {
            "optimize": optimize,
            "precision": precision,
            "margin": margin,
            "degree": degree,
            "bootstrap": "auto" if bootstrap is None else bootstrap,
            "guard": guard,
            "reveal": reveal,
            "memory_budget": memory_budget,
        }
        made = compile_file(model, data, out, device, options, quiet)
        print(json.dumps(made.report_json, indent=2) if as_json else made.describe())


def compile_file(
    model: Path,
    data: Sequence[str],
    out: Path,
    device: str | None,
    options: dict[str, Any],
    quiet: bool = False,
) -> CompiledModel:
    """Compile, and write the file."""
    from cloakwork.cli.programs import files_of
    from cloakwork.fhe import compile as compile_model

    if out.suffix != ".cwk":
        raise ParamError("--out", str(out), "a name that ends in .cwk")
    files.claim([out], [model, *files_of(data)])
    if not model.is_file():
        raise ParamError("MODEL.onnx", str(model), "a file")
    with warnings_said(), Lines(quiet=quiet) as progress, _named_as_option():
        made = compile_model(model, _samples(data), **options, progress=progress)
    if device is not None:
        made = _for_device(made, device)
    made.save(out)
    return made


@contextmanager
def _named_as_option() -> Iterator[None]:
    """Name the budget in errors as the command line does."""
    try:
        yield
    except ParamError as error:
        if error.rule != "memory_budget":
            raise
        raise ParamError("--memory-budget", error.value, error.allowed) from error


def _samples(data: Sequence[str]) -> Any:
    """The array of FILE.npy, or arrays by NAME=FILE.npy."""
    from numpy import asarray

    named: dict[str, Any] = {}
    for text in data:
        name, separator, file = text.partition("=")
        if not separator:
            if len(data) > 1:
                raise ParamError("--data", text, "NAME=FILE.npy for each of several inputs")
            return asarray(files.load_npy(text))
        if name in named:
            raise ParamError("--data", text, f"{name} once")
        named[name] = asarray(files.load_npy(file))
    return named


def _for_device(made: CompiledModel, device: str) -> CompiledModel:
    """The same model in a device's ops; FallbackError names the steps that it lacks."""
    from cloakwork.compiler.compiled import CompiledModel
    from cloakwork.device.loading import device_name

    # The driver's own ops are known once it is loaded.
    name = device_name(device)
    program = made.program.specialize(name)
    say(f"in the ops of {name}")
    return CompiledModel(program, made.description, report=made.report)
