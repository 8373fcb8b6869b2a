"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
Trace = Annotated[Path | None, typer.Option(help="Write a trace that Perfetto and Chrome open.")]
