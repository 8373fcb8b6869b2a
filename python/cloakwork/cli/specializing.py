"""The command `specialize`: a program in exactly the ops of a device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloakwork import files
from cloakwork.cli import programs
from cloakwork.cli.grouping import Command
from cloakwork.cli.options import Json, Quiet
from cloakwork.cli.progress import busy
from cloakwork.cli.words import count, in_words, say, wrote
from cloakwork.device.loading import device_name
from cloakwork.programs import specialized


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=Command)(specialize)


def specialize(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="A transcript or a recorded program.", show_default=False)
    ],
    device: Annotated[
        str, typer.Option("--for", help="The device: its name, or the library of its driver.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the program goes.")],
    allow_fallback: Annotated[
        bool,
        typer.Option(
            "--allow-fallback", help="Write it even if steps are left that the device lacks."
        ),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a program in exactly the ops that a device implements, its vendor's included."""
    with in_words(context.obj):
        write(file, device, out, allow_fallback)


def write(file: Path, device: str, out: Path, allow_fallback: bool) -> None:
    """Write the program; print the steps that stay although the device lacks them."""
    files.claim([out], [file])
    # The driver's own ops are known once it is loaded.
    name = device_name(device)
    program = programs.load(file, None)
    with busy(f"rewriting for {name}"):
        made = specialized.specialize(program, name, allow_fallback=allow_fallback)
    programs.convert(made.program, out, None, None)
    for step, op, why in made.left:
        say(f"step {step}, {op}, stays: {why}")
    if made.left:
        say(f"{count(len(made.left), 'step')} that {name} lacks")
    left = [{"step": step, "op": op, "why": why} for step, op, why in made.left]
    wrote([out], left=left)
