"""The options that servers share: where they listen, and the limits of connections."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Host = Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0: of all networks.")]
Certificate = Annotated[Path | None, typer.Option(help="The certificate (PEM) for https.")]
PrivateKey = Annotated[Path | None, typer.Option(help="The certificate's private key (PEM).")]
TokenFile = Annotated[
    Path | None, typer.Option(help="A file with a token that every request must have.")
]
HeldQuota = Annotated[
    str | None,
    typer.Option(help="For connections, requests and results in memory; by default a quarter."),
]
ClientQuota = Annotated[
    str | None, typer.Option(help="The part of them that one client has; by default half of them.")
]
Connections = Annotated[int, typer.Option(help="Open connections.")]
ClientConnections = Annotated[int, typer.Option(help="Open connections of one client.")]
HeadSeconds = Annotated[float, typer.Option(help="Until the head of a request has arrived.")]
IdleSeconds = Annotated[float, typer.Option(help="Until a connection without requests is closed.")]
RequestSeconds = Annotated[float, typer.Option(help="The longest request, with its answer.")]
ReadSeconds = Annotated[float, typer.Option(help="The longest pause in a body or an answer.")]
LeastRate = Annotated[
    str, typer.Option(help="The bytes of a body that arrive in a second, on average.")
]

# The options by what they set.
OPTIONS = {
    "held_bytes": "--held-quota", "client_bytes": "--client-quota", "connections": "--connections",
    "client_connections": "--client-connections", "head_seconds": "--head-seconds",
    "idle_seconds": "--idle-seconds", "request_seconds": "--request-seconds",
    "read_seconds": "--read-seconds", "rate_bytes": "--least-rate",
}  # fmt: skip
