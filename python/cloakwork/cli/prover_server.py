"""The command `serve-prover`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloakwork.cli import serving_limits as at_the_door
from cloakwork.cli.grouping import Command
from cloakwork.cli.progress import busy
from cloakwork.cli.serving import check_exposure, named_as_options
from cloakwork.cli.words import in_words, say, warnings_said
from cloakwork.errors import ParamError
from cloakwork.programs.options import bytes_of

if TYPE_CHECKING:
    from cloakwork.serving.limits import ProverLimits


_Keys = Annotated[
    list[Path],
    typer.Argument(metavar="KEY.zkey...", help="The proving keys; provers have their names."),
]
_Wasm = Annotated[
    list[str] | None,
    typer.Option(
        help="NAME=FILE.wasm: the circuit's program, for clients that send inputs; FILE.wasm "
        "alone for an only key."
    ),
]
_Store = Annotated[
    Path | None,
    typer.Option(
        help="The folder of jobs, with their secret inputs until they are over; by default "
        "KEY.jobs beside the key."
    ),
]
_Memory = Annotated[
    str | None,
    typer.Option(
        help="For proofs and what keys keep, such as 8GiB; by default 80 % of all. Beyond it, "
        "proofs spill to disk, encrypted."
    ),
]
_JobsQuota = Annotated[
    str, typer.Option(help="For inputs on the disk, of all jobs that wait or run.")
]
_Insecure = Annotated[
    bool,
    typer.Option("--insecure", help="Accept what others can read or reach, each with a warning."),
]


def add(app: typer.Typer) -> None:
    """Add this command."""
    app.command("serve-prover", cls=Command)(serve_prover)


def serve_prover(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    keys: _Keys,
    wasm: _Wasm = None,
    port: Annotated[int, typer.Option(help="Where to listen; 0: any free port.")] = 9000,
    host: at_the_door.Host = "127.0.0.1",
    store: _Store = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads of a proof; by default one per core.")
    ] = None,
    parallel: Annotated[int, typer.Option(help="Proofs at a time.")] = 1,
    queue: Annotated[
        int, typer.Option(help="Jobs that may wait or run; others are told to come again.")
    ] = 10_000,
    memory_budget: _Memory = None,
    jobs_quota: _JobsQuota = "64GiB",
    run_seconds: Annotated[float, typer.Option(help="The longest proof.")] = 3600.0,
    result_seconds: Annotated[float, typer.Option(help="How long proofs are kept.")] = 86400.0,
    held_quota: at_the_door.HeldQuota = None,
    client_quota: at_the_door.ClientQuota = None,
    connections: at_the_door.Connections = 512,
    client_connections: at_the_door.ClientConnections = 128,
    head_seconds: at_the_door.HeadSeconds = 10.0,
    idle_seconds: at_the_door.IdleSeconds = 5.0,
    request_seconds: at_the_door.RequestSeconds = 3600.0,
    read_seconds: at_the_door.ReadSeconds = 30.0,
    least_rate: at_the_door.LeastRate = "1KiB",
    ssl_certfile: at_the_door.Certificate = None,
    ssl_keyfile: at_the_door.PrivateKey = None,
    insecure: _Insecure = False,
    token_file: at_the_door.TokenFile = None,
) -> None:
    """Prove for clients that send witnesses or inputs; accepted jobs survive the process.

    Keys are loaded and checked once. The server sees witnesses: run it where they may be seen.
    """
    with in_words(context.obj), named_as_options():
        from cloakwork.serving.limits import ProverLimits

        limits = ProverLimits(
            threads=threads, parallel=parallel, queue=queue, run_seconds=run_seconds,
            result_seconds=result_seconds, memory_bytes=bytes_of(memory_budget, "memory_bytes"),
            jobs_bytes=bytes_of(jobs_quota, "jobs_bytes") or 0,
            held_bytes=bytes_of(held_quota, "held_bytes"),
            client_bytes=bytes_of(client_quota, "client_bytes"), connections=connections,
            client_connections=client_connections, head_seconds=head_seconds,
            idle_seconds=idle_seconds, request_seconds=request_seconds,
            read_seconds=read_seconds, rate_bytes=bytes_of(least_rate, "rate_bytes") or 0,
        )  # fmt: skip
        start(
            keys, wasm or [], limits, store, token_file=token_file, insecure=insecure,
            host=host, port=port, ssl_certfile=ssl_certfile, ssl_keyfile=ssl_keyfile,
        )  # fmt: skip


def start(
    keys: Sequence[Path],
    wasm: Sequence[str],
    limits: ProverLimits,
    store: Path | None,
    *,
    token_file: Path | None,
    insecure: bool,
    **listening: Any,
) -> None:
    """Serve until Ctrl-C; `listening` are the fields of a `Place`."""
    from cloakwork.serving import ServedProver, tokens
    from cloakwork.serving.optional import imported

    host = imported("cloakwork.serving.host")
    place = host.Place(**listening)
    check_exposure(place, has_token=token_file is not None, insecure=insecure)
    with warnings_said():
        token = None if token_file is None else tokens.read(token_file)
    programs = _programs(keys, wasm)
    with busy("checking keys"):
        served = [ServedProver(key, wasm=programs.get(key.stem)) for key in keys]
    folder = keys[0].with_suffix(".jobs") if store is None else store
    host.run_prover(served, place, limits, folder, say, token)


def _programs(keys: Sequence[Path], wasm: Sequence[str]) -> dict[str, Path]:
    """The circuits' programs by the names of provers; ParamError for names of none."""
    found: dict[str, Path] = {}
    names = [key.stem for key in keys]
    for given in wasm:
        name, equals, file = given.partition("=")
        if not equals and len(names) == 1:
            name, file = names[0], given
        if name not in names or name in found:
            allowed = f"NAME=FILE.wasm, each NAME once, one of {', '.join(names)}"
            raise ParamError("--wasm", given, allowed)
        found[name] = Path(file)
    return found
