"""The commands for makers of devices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cloakwork.cli.grouping import Command
from cloakwork.cli.options import Json, Quiet
from cloakwork.cli.words import in_words, wrote
from cloakwork.device import skeleton
from cloakwork.wording import shown


def add(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(cls=Command)(new_device)


def new_device(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="Of the driver: mychip for mychip:0.", show_default=False)
    ],
    language: Annotated[Literal["c", "cpp", "python"], typer.Option(help="Of the source.")] = "c",
    out: Annotated[Path, typer.Option(help="Where the folder NAME goes.")] = Path(),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a folder with a device of a few ops, which builds, runs and passes conform."""
    with in_words(context.obj):
        made = skeleton.new_device(name, language, out)
        if not as_json:
            for file in made:
                print(shown(str(file)))
        wrote(made)
