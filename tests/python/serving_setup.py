"""A small model, its clients, and a server on a free port, for the tests of serving."""

import socket
import ssl
import subprocess
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import sleep
from typing import Any

import cloakwork as cw
import uvicorn
from cloakwork import fhe
from cloakwork.serving import Limits, ServedProgram, create_app, uvicorn_config

CONTEXT = fhe.ckks(degree=2**11, moduli=[50, 40, 40], special=[50], insecure=True)
TOYS = Limits(insecure=True)


@cache
def owner() -> fhe.Keys:
    """The keys with which the model is recorded."""
    return CONTEXT.keygen(rotations=[1])


def square(x: Any) -> Any:
    return (x * x).rotate(1) + x


def model(folder: Path, name: str = "square") -> Path:
    """The file of a program: x^2, rotated by 1, plus x."""
    path = folder / f"{name}.cwk"
    folder.mkdir(exist_ok=True)
    cw.trace(square, owner().encrypt([0.5, 0.25, 1.0])).save(path)
    return path


def served(folder: Path, limits: Limits = TOYS, **more: Any) -> Any:
    """The application that serves the model."""
    return create_app([ServedProgram(model(folder))], limits, folder=folder / "store", **more)


def certified(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """TLS of a server at 127.0.0.1, and of its clients; the certificate is `cert.pem`."""
    made = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
        "-keyout", "key.pem", "-out", "cert.pem",
    ]  # fmt: skip
    subprocess.run(made, cwd=folder, check=True, capture_output=True)
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return own, ssl.create_default_context(cafile=str(folder / "cert.pem"))


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which no server listens, as long as its port is held."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@contextmanager
def answering(head: bytes, more: bytes = b"") -> Iterator[str]:
    """The address of a server that answers every request alike, and repeats the rest endlessly."""
    listener = socket.create_server(("127.0.0.1", 0))

    def one(connection: socket.socket) -> None:
        try:
            connection.recv(65536)
            connection.sendall(head)
            while more:
                connection.sendall(more)
        except OSError:
            pass
        finally:
            connection.close()

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


class Server(uvicorn.Server):
    """uvicorn in a thread."""

    @contextmanager
    def running(self) -> Iterator[str]:
        """Its address, while it runs."""
        held = socket.create_server(("127.0.0.1", 0))
        thread = threading.Thread(target=self.run, kwargs={"sockets": [held]})
        thread.start()
        try:
            while not self.started and thread.is_alive():
                sleep(0.005)
            yield f"127.0.0.1:{held.getsockname()[1]}"
        finally:
            self.should_exit = True
            thread.join()
            held.close()


@contextmanager
def running(app: Any, **options: Any) -> Iterator[str]:
    """The address of a server with this application."""
    # uvicorn imports parts of websockets, if it is installed, that warn.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        config = uvicorn_config(app, **({"log_level": "critical"} | options))
        config.load()
    with Server(config).running() as place:
        yield f"{'https' if config.is_ssl else 'http'}://{place}"
