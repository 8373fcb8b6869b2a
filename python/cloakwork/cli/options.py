"""Options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloakwork.device.loading import isolated, place_name, split_names

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
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON value: the result, or the error.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no progress, memory or names of written files.")
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
