"""Options that several commands have, and what holds of the options of all."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand


class Command(TyperCommand):
    """A command that refuses an option given twice, of which one would be ignored."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and look at what was given in which order."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for number, option in enumerate(given):
            takes_one = not getattr(option, "multiple", False)
            if option.param_type_name == "option" and takes_one and option in given[:number]:
                ctx.fail(f"{max(option.opts, key=len)}: got it twice, expected it once")
        return super().parse_args(ctx, args)


Threads = Annotated[
    int | None,
    typer.Option(help="Worker threads; by default CLOAKWORK_THREADS, or one a core."),
]
MemoryBudget = Annotated[
    str | None,
    typer.Option(
        help="The most memory, such as 2GiB; above it, tensors wait on disk. What the run itself "
        "allocates counts, and not the file that it reads and what is mapped of it."
    ),
]
SpillDir = Annotated[
    Path | None,
    typer.Option(help="Where they wait, of a proof encrypted; by default with temporary files."),
]
Profile = Annotated[
    Path | None, typer.Option(help="Write a timeline of the run that Perfetto and Chrome open.")
]
