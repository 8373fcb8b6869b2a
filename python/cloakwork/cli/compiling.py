"""The command `compile`: a model becomes a program on encrypted inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cloakwork import files
from cloakwork.cli.grouping import Command
from cloakwork.cli.options import Json, Quiet
from cloakwork.cli.progress import Lines
from cloakwork.cli.words import in_words, note, safe, warnings_said, wrote
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
        Literal["latency", "memory", "throughput"],
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
        Literal["scores", "results"],
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
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compile a model: packing, parameters, keys and approximations are found and reported."""
    with in_words(context.obj):
        options = {
            "optimize": optimize, "precision": precision, "margin": margin, "degree": degree,
            "bootstrap": "auto" if bootstrap is None else bootstrap, "guard": guard,
            "reveal": reveal, "memory_budget": memory_budget,
        }  # fmt: skip
        made = compile_file(model, data, out, device, options)
        if not as_json:
            print(safe(made.describe()))
        wrote([out], **(made.report_json if as_json else {}))


def compile_file(
    model: Path,
    data: Sequence[str],
    out: Path,
    device: str | None,
    options: dict[str, Any],
) -> CompiledModel:
    """Compile, and write the file."""
    from cloakwork.cli.programs import files_of
    from cloakwork.fhe import compile as compile_model

    if out.suffix != ".cwk":
        raise ParamError("--out", str(out), "a name that ends in .cwk")
    files.claim([out], [model, *files_of(data)])
    with warnings_said(), Lines() as progress:
        made = compile_model(model, _samples(data), **options, progress=progress)
    if device is not None:
        made = _for_device(made, device)
    made.save(out)
    return made


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
    note(f"in the ops of {name}")
    return CompiledModel(program, made.description, report=made.report)
