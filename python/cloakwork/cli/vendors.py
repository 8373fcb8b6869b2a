"""The commands for makers of devices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloakwork.cli.options import Command
from cloakwork.cli.words import in_words
from cloakwork.device import skeleton


def add(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(cls=Command)(new_device)


def new_device(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="Of the driver: mychip for mychip:0.", show_default=False)
    ],
    language: Annotated[
        str, typer.Option(help=f"Of the source: {', '.join(skeleton.LANGUAGES)}.")
    ] = "c",
    out: Annotated[Path, typer.Option(help="Where the folder NAME goes.")] = Path(),
) -> None:
    """Write a folder with a device of a few ops, which builds, runs and passes conform."""
    with in_words(context.obj):
        for file in skeleton.new_device(name, language, out):
            print(file)
