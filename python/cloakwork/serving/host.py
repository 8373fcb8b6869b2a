"""A server in this process: uvicorn with the application of some models or provers."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from cloakwork.errors import ParamError
from cloakwork.serving.app import create_app
from cloakwork.serving.door import BACKLOG
from cloakwork.serving.limits import Limits, ProverLimits
from cloakwork.serving.protocol import uvicorn_config
from cloakwork.serving.proving.app import create_prover_app
from cloakwork.serving.proving.keys import ServedProver
from cloakwork.serving.servable import Servable

_MOST_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a server listens, and its certificate and private key for TLS, if it has them."""

    host: str = "127.0.0.1"
    port: int = 8000
    ssl_certfile: Path | None = None
    ssl_keyfile: Path | None = None

    def __post_init__(self) -> None:
        """Raises ParamError for a port that does not exist, and for files that do not."""
        bare = self.host.removeprefix("[").removesuffix("]")
        object.__setattr__(self, "host", bare)
        if not 0 <= self.port <= _MOST_PORT:
            raise ParamError("--port", self.port, f"0 (any free one) to {_MOST_PORT}")
        if self.ssl_keyfile is not None and self.ssl_certfile is None:
            raise ParamError("--ssl-certfile", "none", "the certificate of --ssl-keyfile")
        for name, file in (("certfile", self.ssl_certfile), ("keyfile", self.ssl_keyfile)):
            if file is not None and not file.is_file():
                raise ParamError(f"--ssl-{name}", str(file), "a file (PEM)")
        if self.ssl_certfile is not None:
            _certificate(self.ssl_certfile, self.ssl_keyfile)

    @property
    def tls(self) -> ssl.SSLContext | None:
        """The certificate for https, if it has one."""
        if self.ssl_certfile is None:
            return None
        return _certificate(self.ssl_certfile, self.ssl_keyfile)

    @property
    def scheme(self) -> str:
        """The scheme of its address: http, or https with a certificate."""
        return "http" if self.ssl_certfile is None else "https"

    def address(self, port: int) -> str:
        """Its address at the port that it got; of IPv6 in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{port}"


def run(
    models: Sequence[Servable],
    place: Place,
    limits: Limits,
    folder: Path,
    say: Callable[[str], object],
    token: str | None = None,
) -> None:
    """Serve until Ctrl-C; `say` is told the address once it is open.

    Raises ParamError as `create_app`, for a certificate that cannot be read, and for an address
    that cannot be used.
    """
    with _listening(place) as listening, suppress(KeyboardInterrupt):
        app = create_app(models, limits, folder=folder, token=token)
        for model in models:
            peak = model.peak_bytes(limits.threads) / 2**20
            say(f"model {model.name} ({model.fingerprint[:8]}): a run takes {peak:.1f} MiB")
        say(f"keys of clients: {folder}")
        _serve(app, place, listening, say, has_token=token is not None)


def run_prover(
    provers: Sequence[ServedProver],
    place: Place,
    limits: ProverLimits,
    folder: Path,
    say: Callable[[str], object],
    token: str | None = None,
) -> None:
    """The same of provers; errors as of `create_prover_app`."""
    with _listening(place) as listening, suppress(KeyboardInterrupt):
        app = create_prover_app(provers, limits, folder=folder, token=token)
        for one in provers:
            say(f"prover {one.name}: {one.system} over {one.curve}, {one.wires} wires")
        say(f"jobs, with their secret inputs until they are over: {folder}")
        _serve(app, place, listening, say, has_token=token is not None)


def _serve(
    app: FastAPI,
    place: Place,
    listening: socket.socket,
    say: Callable[[str], object],
    *,
    has_token: bool,
) -> None:
    config = uvicorn_config(app, tls=place.tls)
    if has_token and place.scheme == "http":
        say("the token is sent in plain: use --ssl-certfile, or a proxy with TLS in front")
    say(f"serving at {place.address(listening.getsockname()[1])}; Ctrl-C ends it")
    uvicorn.Server(config).run(sockets=[listening])


def _certificate(certificate: Path, private: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, private, _no_pass_phrase)
    except OSError as error:
        got = f"{certificate} with {private or certificate}"
        allowed = f"a certificate and its private key, PEM, without a pass phrase: {error}"
        raise ParamError("--ssl-certfile", got, allowed) from error
    return context


def _no_pass_phrase() -> str:
    """In the place of OpenSSL's question at the terminal, which a server's start would wait for."""
    raise OSError("the private key has a pass phrase")


def _listening(place: Place) -> socket.socket:
    """The open socket; ParamError for an address that is taken, or not of this machine."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    try:
        return socket.create_server((place.host, place.port), family=family, backlog=BACKLOG)
    except OSError as error:
        got, why = f"{place.host}:{place.port}", error.strerror or str(error)
        raise ParamError("--host, --port", got, f"a free address of this machine: {why}") from error
