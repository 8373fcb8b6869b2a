"""Options shared by several commands, and the rule that no option is given twice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from cloakwork.device.loading import isolated, place_name, split_names


class Command(TyperCommand):
    """A command that refuses an option given twice, because one value would be ignored."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; fail for a repeated option."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for number, option in enumerate(given):
            takes_one = not getattr(option, "multiple", False)
            if option.param_type_name == "option" and takes_one and option in given[:number]:
                ctx.fail(f"{max(option.opts, key=len)}: got it twice, expected it once")
        return super().parse_args(ctx, args)


Threads = Annotated[
    int | None,
    typer.Option(help="Worker threads; by default CLOAKWORK_THREADS, or one per core."),
]
MemoryBudget = Annotated[
    str | None,
    typer.Option(
        help="The memory budget, such as 2GiB; beyond it, tensors are spilled to disk. It counts "
        "the run's allocations, not the input file or its mapped parts."
    ),
]
SpillDir = Annotated[
    Path | None,
    typer.Option(
        help="The folder of the spill file (encrypted for a proof); by default the system's."
    ),
]
Profile = Annotated[
    Path | None, typer.Option(help="Write a profile of the run that Perfetto and Chrome open.")
]
Isolate = Annotated[
    bool,
    typer.Option(
        "--isolate",
        help="Run the device's driver in a process of its own: its crash is an error of the run, "
        "which names the kernel.",
    ),
]
ScheduleSeed = Annotated[
    int | None,
    typer.Option(
        help="Run tasks in a random order derived from this number, to test the schedule."
    ),
]
Insecure = Annotated[
    bool,
    typer.Option("--insecure", help="Accept parameters below 128 bits of security: for tests."),
]

Timeout = Annotated[
    float | None,
    typer.Option(
        help="The longest time in seconds that one call of the device's driver may take; isolates."
    ),
]


def placed(device: str, isolate: bool, timeout: float | None) -> str:
    """The names of the devices; their driver, and the ops that it declares, are loaded.

    The driver runs in a process of its own if that is wanted.
    """
    if isolate or timeout is not None:
        return ",".join(isolated(name, timeout) for name in split_names(device))
    return place_name(device)
