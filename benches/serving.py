"""The overhead of a server over a run: whole requests against the same work in this process.

    python benches/serving.py

The server is a process of its own with one thread; requests and bare runs take turns, and figures
are the minima of all rounds (wall time). A bare run reads the ciphertext's file, runs the program,
and writes the file of the result. Plain HTTP sends the same bytes to uvicorn and gets as many back:
the rest of the overhead is ours.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import cloakwork as cw
import httpx
from cloakwork import fhe
from cloakwork.serving import Remote, ServedProgram
from measured.rows import record

ROUNDS = 25
ASKED_MS = 5.0
SETS: dict[str, dict[str, Any]] = {
    "2^13, depth 2": {"degree": 2**13, "moduli": [50, 40, 40], "special": [50]},
    "2^15, depth 10": {"degree": 2**15, "moduli": [50] + [40] * 10, "special": [50] * 3},
}
# Serves the model and, at /echo, plain HTTP; prints its port.
SERVER = """
import socket, sys, uvicorn
from fastapi import Request, Response
from cloakwork.serving import Limits, ServedProgram, create_app
folder = sys.argv[1]
app = create_app([ServedProgram(f"{folder}/model.cwk")], Limits(threads=1), folder=f"{folder}/keys")

@app.put("/echo/{size}")
async def echo(request: Request, size: int) -> Response:
    await request.body()
    return Response(bytes(size))

held = socket.create_server(("127.0.0.1", 0))
print(held.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none")).run(sockets=[held])
"""


def main() -> int:
    """Print all figures."""
    cw.set_threads(1)
    for name, wanted in SETS.items():
        _case(name, wanted)
    return 0


def _case(name: str, wanted: dict[str, Any]) -> None:
    context = fhe.ckks(**wanted)
    keys = context.keygen(rotations=[1])
    x = keys.encrypt([0.5, 0.25], bound=1.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cwk"
        cw.trace(lambda x: (x * x).rotate(1) + x, x).save(path)
        model, body = ServedProgram(path), x.to_bytes()
        with _server(folder) as url, Remote(url) as remote, httpx.Client(base_url=url) as plain:
            fingerprint = remote.upload(keys.evaluation)

            def bare() -> int:
                inputs = model.read(body, insecure=False)
                done = model.run([inputs], keys.evaluation, lambda done, total: None, 1)
                return len(done[0]) if isinstance(done[0], bytes) else 0

            size = bare()
            works: dict[str, Callable[[], object]] = {
                "bare run": bare,
                "request": lambda: remote.run(body, keys=fingerprint, model="model"),
                "plain HTTP": lambda: plain.put(f"/echo/{size}", content=body),
            }
            _show(name, _least(works), len(body) + size)


def _least(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The least milliseconds of each, in turns."""
    found = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS):
        for label, work in works.items():
            begun = perf_counter()
            work()
            found[label] = min(found[label], 1e3 * (perf_counter() - begun))
    return found


def _show(name: str, found: dict[str, float], moved: int) -> None:
    for label, value in found.items():
        print(f"{name}: {label:12} {value:9.2f} ms", flush=True)
        record(f"{name}: {label}", "ms", value)
    overhead = found["request"] - found["bare run"]
    own = overhead - found["plain HTTP"]
    missed = "" if overhead <= ASKED_MS else " MISSED"
    print(f"{name}: overhead     {overhead:9.2f} ms  asked {ASKED_MS:g}{missed}", flush=True)
    print(f"{name}: beyond HTTP  {own:9.2f} ms  ({moved / 2**20:.1f} MiB moved)", flush=True)
    record(f"{name}: overhead", "ms", overhead)


@contextmanager
def _server(folder: str) -> Iterator[str]:
    """The address of a server process with the folder's model."""
    command = [sys.executable, "-c", SERVER, folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = f"http://127.0.0.1:{int(process.stdout.readline())}"
            while not _answers(url):
                sleep(0.02)
            yield url
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/v1/models").is_success
    except httpx.TransportError:
        return False


if __name__ == "__main__":
    sys.exit(main())
