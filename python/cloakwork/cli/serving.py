"""The commands `serve` and `query`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloakwork.cli import serving_limits as at_the_door
from cloakwork.cli.grouping import Command
from cloakwork.cli.models import (
    EVALUATION,
    SECRET,
    Arrays,
    KeyFolder,
    deliver,
    keys_of,
    places_of,
    values_of,
)
from cloakwork.cli.options import Json, Quiet
from cloakwork.cli.progress import Bar
from cloakwork.cli.words import in_words, say, warnings_said
from cloakwork.errors import ParamError
from cloakwork.programs.options import bytes_of

if TYPE_CHECKING:
    from cloakwork.serving import Remote
    from cloakwork.serving.host import Place
    from cloakwork.serving.limits import Limits

Exposed = Annotated[
    bool,
    typer.Option(
        "--insecure",
        help="Accept parameters below 128 bits of security, and what others can read or reach, "
        "each with a warning: for tests.",
    ),
]
# The options of servers and clients by what they set.
_OPTIONS = {
    "threads": "--threads", "parallel": "--parallel", "queue": "--queue", "folder": "--store",
    "memory_bytes": "--memory-budget", "keys_bytes": "--keys-quota", "run_seconds": "--run-seconds",
    "jobs_bytes": "--jobs-quota", "result_seconds": "--result-seconds",
    "url": "URL", "ca": "--ca", "timeout": "--timeout", **at_the_door.OPTIONS,
}  # fmt: skip


def add(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(cls=Command)(serve)
    app.command(cls=Command)(query)


def serve(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL.cwk...", help="The models, named by their files.")
    ],
    port: Annotated[int, typer.Option(help="Where to listen; 0: any free port.")] = 8000,
    host: at_the_door.Host = "127.0.0.1",
    store: Annotated[
        Path | None,
        typer.Option(help="The folder for clients' keys; by default MODEL.keys beside the model."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads of a run; by default one per core.")
    ] = None,
    parallel: Annotated[int, typer.Option(help="Runs at a time.")] = 1,
    queue: Annotated[
        int, typer.Option(help="Runs that may wait or run; others are told to come again.")
    ] = 64,
    memory_budget: Annotated[
        str | None,
        typer.Option(help="For runs and loaded keys, such as 8GiB; by default 80 % of all."),
    ] = None,
    keys_quota: Annotated[
        str, typer.Option(help="For keys on the disk; the least recently used go.")
    ] = "64GiB",
    run_seconds: Annotated[float, typer.Option(help="The longest run.")] = 600.0,
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
    insecure: Exposed = False,
    token_file: at_the_door.TokenFile = None,
) -> None:
    """Run models on the ciphertexts of clients, who keep their secrets."""
    with in_words(context.obj), named_as_options():
        from cloakwork.serving.limits import Limits

        limits = Limits(
            threads=threads, parallel=parallel, queue=queue, run_seconds=run_seconds,
            memory_bytes=bytes_of(memory_budget, "memory_bytes"),
            keys_bytes=bytes_of(keys_quota, "keys_bytes") or 0, insecure=insecure,
            held_bytes=bytes_of(held_quota, "held_bytes"),
            client_bytes=bytes_of(client_quota, "client_bytes"), connections=connections,
            client_connections=client_connections, head_seconds=head_seconds,
            idle_seconds=idle_seconds, request_seconds=request_seconds,
            read_seconds=read_seconds, rate_bytes=bytes_of(least_rate, "rate_bytes") or 0,
        )  # fmt: skip
        start(
            models, limits, store, token_file=token_file,
            host=host, port=port, ssl_certfile=ssl_certfile, ssl_keyfile=ssl_keyfile,
        )  # fmt: skip


@contextmanager
def named_as_options() -> Iterator[None]:
    """Name options in errors as the command line does."""
    try:
        yield
    except ParamError as error:
        option = _OPTIONS.get(error.rule)
        if option is None:
            raise
        raise ParamError(option, error.value, error.allowed) from error


def start(
    models: Sequence[Path],
    limits: Limits,
    store: Path | None,
    token_file: Path | None = None,
    **listening: Any,
) -> None:
    """Serve until Ctrl-C; `listening` are the fields of a `Place`."""
    from cloakwork.fhe.security import admit, admitted_later
    from cloakwork.serving import ServedProgram, tokens
    from cloakwork.serving.optional import imported

    host = imported("cloakwork.serving.host")
    place = host.Place(**listening)
    check_exposure(place, has_token=token_file is not None, insecure=limits.insecure)
    served = [ServedProgram(model) for model in models]
    folder = models[0].with_suffix(".keys") if store is None else store
    if (folder / SECRET).exists():
        allowed = f"a folder of the server's own: this one has a client's {SECRET}"
        raise ParamError("--store", str(folder), allowed)
    with warnings_said():
        token = None if token_file is None else tokens.read(token_file)
        for one in served:
            admit(one.parameters, f"model {one.name}", insecure=limits.insecure)
    # Said above, once for all requests.
    with admitted_later():
        host.run(served, place, limits, folder, say, token)


def check_exposure(place: Place, *, has_token: bool, insecure: bool) -> None:
    """ParamError, or with `insecure` a warning, for what others than clients could use."""
    from cloakwork.serving import exposure

    has_tls = place.ssl_certfile is not None
    with warnings_said():
        exposure.check_listening(
            place.host, has_tls=has_tls, has_token=has_token, insecure=insecure
        )
        private = place.ssl_keyfile or place.ssl_certfile
        if private is not None:
            exposure.check_private(private, insecure=insecure)


def query(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="The server: https://HOST:PORT.")],
    keys: KeyFolder,
    arrays: Arrays,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Where the values go: .npy, or a folder for several results."
        ),
    ] = None,
    ca: Annotated[
        Path | None, typer.Option(help="Certificates (PEM) to trust instead of the system's.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="The longest wait, in seconds.")] = 600.0,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token for which the server asks.")
    ] = None,
    insecure: Exposed = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Encrypt inputs, let a server run its model on them, and decrypt the result.

    The keys are uploaded first, unless the server has them.
    """
    with in_words(context.obj), named_as_options():
        ask(url, (keys, insecure), arrays, out, token_file, ca=ca, timeout=timeout)


def ask(
    url: str,
    keys: tuple[Path, bool],
    arrays: Sequence[str],
    out: Path | None,
    token_file: Path | None = None,
    **options: Any,
) -> None:
    """Print or write a server's results; `options` are those of a `Remote`.

    keys   their folder, and whether they may be insecure
    """
    folder, insecure = keys
    from cloakwork.serving import tokens

    if token_file is not None:
        with warnings_said():
            options["token"] = tokens.read(token_file)
    with warnings_said():
        secret, client = keys_of(folder, insecure)
    values, read = values_of(arrays, client)
    places = places_of(client.results, out, [*read, *folder.iterdir()])
    with secret, _remote(url, insecure, options) as remote:
        body = client.encrypt(secret, values).to_bytes()
        model = _served(remote.models(), client.fingerprint, client.name)
        with Bar("uploading keys") as bar:
            name = remote.upload(folder / EVALUATION, progress=bar)
        most = client.result_bytes
        with Bar("running") as bar:
            result = remote.run(body, keys=name, model=model, progress=bar, result_bytes=most)
        with warnings_said():
            samples = client.samples_of(values)
            found = client.decrypt(secret, result, samples, place="the server's result")
    deliver(found, places)


def _remote(url: str, insecure: bool, options: Mapping[str, Any]) -> Remote:
    from cloakwork.serving import Remote

    with warnings_said():
        return Remote(url, insecure=insecure, **options)


def _served(described: list[dict[str, str]], fingerprint: str, name: str) -> str:
    """The server's name of the model for which the keys were made."""
    for one in described:
        if one.get("fingerprint") == fingerprint:
            return one["name"]
    none = "a server without models"
    there = ", ".join(f"{one.get('name')} ({one.get('fingerprint', '')[:8]})" for one in described)
    allowed = f"a server of {name} ({fingerprint[:8]}), for which these keys were made"
    raise ParamError("URL", there or none, allowed)
