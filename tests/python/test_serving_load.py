"""Many clients, killed connections, full queues, slow runs: nothing is lost, and nothing leaks."""

import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from shutil import which
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import cloakwork as cw
import httpx
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import EncodeError, ParamError, ServingError
from cloakwork.serving import (
    Limits,
    ProgramClient,
    Remote,
    ServedProgram,
    ages,
    create_app,
    keystore,
)
from python.serving_setup import CONTEXT, TOYS, model, owner, running, served, square

X, FIRST = [0.5, 0.25, 1.0], 0.25**2 + 0.5
BINARY = {"Content-Type": "application/octet-stream"}


class Slow(ServedProgram):
    """The model, held up at a gate, and counted."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.gate, self.ran, self.alone = threading.Event(), 0, threading.Lock()

    def run(self, requests: Any, keys: Any, progress: Any, threads: Any) -> Any:
        with self.alone:
            self.ran += 1
        while not self.gate.wait(0.005):
            progress(0, 1)
        return super().run(requests, keys, progress, threads)


def until(condition: Callable[[], object]) -> None:
    """Wait for a condition, at most two minutes."""
    end = monotonic() + 120
    while not condition():
        assert monotonic() < end
        sleep(0.005)


def killed(
    url: str, address: str, body: bytes, sent: int, seen: Callable[[], object] | None = None
) -> None:
    """Send a part of a request, and cut the connection, where given once the server has seen it."""
    host = urlsplit(url)
    head = (
        f"PUT {address} HTTP/1.1\r\nHost: {host.netloc}\r\n"
        f"Content-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((str(host.hostname), int(host.port or 0))) as held:
        held.sendall(head.encode() + body[:sent])
        if seen is not None:
            until(seen)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def test_eight_clients_with_killed_connections_lose_nothing(tmp_path: Path) -> None:
    limits = Limits(insecure=True, queue=6, parallel=2)
    with running(served(tmp_path, limits)) as url:

        def client(number: int) -> float:
            keys = CONTEXT.keygen(rotations=[1])
            data = keys.evaluation.to_bytes()
            name, worst = data[-32:].hex(), 0.0
            killed(url, f"/v1/keys/{name}", data, len(data) // (number + 2))
            with Remote(url) as remote:
                assert remote.upload(keys.evaluation) == name
                for turn in range(6):
                    x = np.random.default_rng([number, turn]).uniform(-1, 1, 3)
                    body = keys.encrypt(x).to_bytes()
                    run = f"/v1/models/square/runs/{uuid4().hex}?keys={name}"
                    killed(url, run, body, (len(body), len(body) // 2, 10)[turn % 3])
                    result = fhe.from_bytes(remote.run(body, keys=name), insecure=True)
                    whole = np.zeros(CONTEXT.slots)
                    whole[:3] = x
                    found = keys.decrypt(result).real
                    worst = max(worst, float(np.abs(found - np.roll(whole**2, -1) - whole).max()))
            return worst

        with ThreadPoolExecutor(8) as pool:
            assert max(pool.map(client, range(8))) < 1e-6
        with httpx.Client(base_url=url) as raw:
            until(lambda: raw.get("/v1/status").json()["open_runs"] == 0)
    assert {path.suffix for path in (tmp_path / "store").iterdir()} == {".key", ".json"}


def test_a_request_that_is_repeated_after_a_lost_connection_runs_once(tmp_path: Path) -> None:
    slow = Slow(model(tmp_path))
    keys = CONTEXT.keygen(rotations=[1])
    with running(create_app([slow], TOYS, folder=tmp_path / "store")) as url, Remote(url) as remote:
        name, run = remote.upload(keys.evaluation), uuid4().hex
        body = keys.encrypt(X).to_bytes()
        address = f"/v1/models/square/runs/{run}?keys={name}"
        killed(url, address, body, len(body), lambda: slow.ran == 1)
        slow.gate.set()
        with httpx.Client(base_url=url) as raw:
            answer = raw.put(address, content=body, headers=BINARY)
        assert (answer.status_code, slow.ran) == (200, 1)
        found = keys.decrypt(fhe.from_bytes(answer.content, insecure=True))[:2].real
        np.testing.assert_allclose(found, [FIRST, 1.25], atol=1e-5)


def test_runs_that_arrive_while_the_engine_is_busy_are_taken_together(tmp_path: Path) -> None:
    slow = Slow(model(tmp_path))
    one, other = (CONTEXT.keygen(rotations=[1]) for _ in range(2))
    limits = Limits(insecure=True, batch=3)
    app = create_app([slow], limits, folder=tmp_path / "store")
    with running(app) as url, httpx.Client(base_url=url) as raw, Remote(url) as remote:

        def send(keys: fhe.Keys) -> str:
            run, params = uuid4().hex, {"keys": remote.upload(keys.evaluation), "wait": "0"}
            body = keys.encrypt(X).to_bytes()
            address = f"/v1/models/square/runs/{run}"
            told = raw.put(address, params=params, content=body, headers=BINARY)
            assert told.status_code == 202
            return run

        first = send(one)
        until(lambda: raw.get(f"/v1/runs/{first}").json()["state"] == "running")
        alike, apart = [send(one) for _ in range(4)], [send(other)]
        slow.gate.set()
        for run in (first, *alike, *apart):
            assert raw.get(f"/v1/runs/{run}/result").status_code == 200
        batches = [raw.get(f"/v1/runs/{run}").json()["batch"] for run in (first, *alike, *apart)]
        assert batches == [1, 3, 3, 3, 1, 1]


def test_a_full_queue_is_refused_before_the_body_and_the_client_comes_again(tmp_path: Path) -> None:
    slow = Slow(model(tmp_path))
    keys = CONTEXT.keygen(rotations=[1])
    app = create_app([slow], Limits(insecure=True, queue=1), folder=tmp_path / "store")
    with running(app) as url, httpx.Client(base_url=url) as raw, Remote(url) as remote:
        name, body = remote.upload(keys.evaluation), keys.encrypt(X).to_bytes()
        params = {"keys": name, "wait": "0"}
        run = f"/v1/models/square/runs/{uuid4().hex}"
        assert raw.put(run, params=params, content=body, headers=BINARY).status_code == 202
        again = f"/v1/models/square/runs/{uuid4().hex}"
        full = raw.put(again, params=params, content=body, headers=BINARY)
        assert (full.status_code, full.json()["error"]) == (503, "queue")
        assert 1 <= int(full.headers["retry-after"]) <= 60
        statuses: list[int] = []
        remote._http.event_hooks["response"].append(lambda got: statuses.append(got.status_code))
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(remote.run, body, keys=name)
            until(lambda: 503 in statuses)
            slow.gate.set()
            assert keys.decrypt(fhe.from_bytes(waiting.result(), insecure=True)).shape == (1024,)


@pytest.mark.parametrize("asked", [True, False])
def test_a_run_that_nobody_wants_is_stopped(asked: bool, tmp_path: Path) -> None:
    slow = Slow(model(tmp_path))
    keys = CONTEXT.keygen(rotations=[1])
    limits = Limits(insecure=True, abandon_seconds=30 if asked else 0.05)
    app = create_app([slow], limits, folder=tmp_path / "store")
    with running(app) as url, httpx.Client(base_url=url) as raw, Remote(url) as remote:
        name, run = remote.upload(keys.evaluation), uuid4().hex
        body = keys.encrypt(X).to_bytes()
        address = f"/v1/models/square/runs/{run}?keys={name}"
        killed(url, address, body, len(body), lambda: slow.ran == 1)
        if asked:
            assert raw.delete(f"/v1/runs/{run}").json()["state"] == "cancelled"
        until(lambda: raw.get("/v1/status").json()["open_runs"] == 0)
        # Its client comes back too late: the same request is a new run.
        slow.gate.set()
        assert raw.put(address, content=body, headers=BINARY).status_code == 200
        assert slow.ran == 2


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    slow = Slow(model(tmp_path))
    keys = CONTEXT.keygen(rotations=[1])
    app = create_app([slow], Limits(insecure=True, run_seconds=0.05), folder=tmp_path / "store")
    with running(app) as url, Remote(url) as remote:
        name = remote.upload(keys.evaluation)
        with pytest.raises(ServingError, match=r"at most 0\.05 s") as caught:
            remote.run(keys.encrypt(X), keys=name)
        assert caught.value.status == 504


def test_a_client_that_pauses_in_its_body_is_refused(tmp_path: Path) -> None:
    keys = CONTEXT.keygen(rotations=[1]).evaluation.to_bytes()
    # Longer than a client on a busy machine pauses.
    app = served(tmp_path, Limits(insecure=True, read_seconds=5))
    name = keys[-32:].hex()
    with running(app) as url, httpx.Client(base_url=url) as raw:

        def pausing() -> Any:
            yield keys[:200_000]
            until(lambda: httpx.get(f"{url}/v1/keys/{name}").json().get("offset") == 200_000)
            yield keys[200_000:]

        headers = BINARY | {"Content-Length": str(len(keys))}
        # The answer comes while the body is being sent, and closes the connection.
        with suppress(httpx.TransportError):
            answer = raw.put(f"/v1/keys/{name}", content=pausing(), headers=headers)
            assert answer.status_code == 408
        told = raw.get(f"/v1/keys/{name}").json()
        assert told == {"state": "partial", "offset": 200_000, "bytes": len(keys)}
        with Remote(url) as remote:
            assert remote.upload(fhe.from_bytes(keys, insecure=True)) == name


def test_keys_in_memory_stay_within_the_limit(tmp_path: Path) -> None:
    path = model(tmp_path)
    sets = [CONTEXT.keygen(rotations=[1]) for _ in range(3)]
    size = sets[0].evaluation.size_bytes
    held = 64 << 20
    room = ServedProgram(path).peak_bytes(None) + 2 * size + size // 2 + held
    limits = Limits(insecure=True, memory_bytes=room, held_bytes=held)
    app = create_app([ServedProgram(path)], limits, folder=tmp_path / "store")
    with running(app) as url, httpx.Client(base_url=url) as raw, Remote(url) as remote:
        names = [remote.upload(keys.evaluation) for keys in sets]
        for keys, name in [*zip(sets, names, strict=True)] * 2:
            body = remote.run(keys.encrypt(X), keys=name)
            assert keys.decrypt(fhe.from_bytes(body, insecure=True))[0].real == pytest.approx(FIRST)
            assert raw.get("/v1/status").json()["key_bytes_in_memory"] <= 2 * size
    small = Limits(insecure=True, memory_bytes=room - 2 * size, held_bytes=held)
    with running(create_app([ServedProgram(path)], small, folder=tmp_path / "b")) as url:
        with Remote(url) as remote, pytest.raises(ServingError, match="keys of at most") as caught:
            remote.upload(sets[0].evaluation)
        assert caught.value.status == 413


def test_an_error_in_the_server_is_an_answer_without_its_details(tmp_path: Path) -> None:
    class Broken(ServedProgram):
        def run(self, *_: Any) -> Any:
            raise RuntimeError("the details")

    keys = CONTEXT.keygen(rotations=[1])
    app = create_app([Broken(model(tmp_path))], TOYS, folder=tmp_path / "store")
    with running(app) as url, Remote(url) as remote:
        name = remote.upload(keys.evaluation)
        with pytest.raises(ServingError, match="an internal error") as caught:
            remote.run(keys.encrypt(X), keys=name)
        assert caught.value.status == 500
        assert "details" not in str(caught.value)


@pytest.mark.skipif(which("openssl") is None, reason="openssl makes the certificate")
def test_tls_is_verified_with_the_named_certificate(tmp_path: Path) -> None:
    made = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
        "-keyout", "key.pem", "-out", "cert.pem",
    ]  # fmt: skip
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    certificate, private = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    keys = CONTEXT.keygen(rotations=[1])
    options = {"ssl_certfile": certificate, "ssl_keyfile": private}
    with running(served(tmp_path), **options) as url:
        with Remote(url, ca=certificate) as remote:
            name = remote.upload(keys.evaluation)
            body = remote.run(keys.encrypt(X), keys=name)
            assert keys.decrypt(fhe.from_bytes(body, insecure=True))[0].real == pytest.approx(FIRST)
        with Remote(url) as remote, pytest.raises(ServingError, match="certificate"):
            remote.models()


SERVER = """
import asyncio, gc, sys, types, httpx
from cloakwork.serving import Limits, ServedProgram, create_app
folder, name = sys.argv[1:]
models, limits = [ServedProgram(f"{folder}/square.cwk")], Limits(insecure=True)
app = create_app(models, limits, folder=f"{folder}/s")
binary = {"Content-Type": "application/octet-stream"}
read = lambda file: open(f"{folder}/{file}", "rb").read()

async def main():
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            put = lambda address, file: client.put(address, content=read(file), headers=binary)
            assert (await put(f"/v1/keys/{name}", "eval.key")).status_code == 201
            run = f"/v1/models/square/runs/{'a' * 32}?keys={name}"
            answer = await put(run, "x.ct")
            assert answer.status_code == 200, answer.text
            open(f"{folder}/y.ct", "wb").write(answer.content)
            assert (await put(f"/v1/keys/{'b' * 64}", "secret.key")).status_code == 415
            assert (await put(run.replace("a", "c"), "secret.key")).status_code != 200

asyncio.run(main())
parts = ("keys.keys", "keys.secrets", "keys.flooding")
loaded = [name for part in parts if (name := f"cloakwork.fhe.{part}") in sys.modules]
assert not loaded, loaded
types_ = [one for one in gc.get_objects() if isinstance(one, type)]
bad = [one for one in types_ if one.__module__.startswith("cloakwork") and "_secret" in vars(one)]
assert not bad, bad
"""


def test_the_process_of_a_server_has_no_type_that_can_hold_a_secret(tmp_path: Path) -> None:
    model(tmp_path)
    keys = CONTEXT.keygen(rotations=[1])
    keys.evaluation.save(tmp_path / "eval.key")
    keys.save(tmp_path / "secret.key")
    keys.encrypt(X).save(tmp_path / "x.ct")
    name = (tmp_path / "eval.key").read_bytes()[-32:].hex()
    subprocess.run([sys.executable, "-c", SERVER, str(tmp_path), name], check=True)
    found = fhe.load(tmp_path / "y.ct", insecure=True)
    assert keys.decrypt(found)[0].real == pytest.approx(FIRST)
    assert {path.name for path in (tmp_path / "s").iterdir()} == {f"{name}.key", "ages.json"}
    # The check would find it: the class of keys has this slot.
    assert "_secret" in vars(fhe.Keys)


def test_a_missing_package_is_named_with_pips_command() -> None:
    script = (
        "import sys; sys.modules['fastapi'] = None\n"
        "from cloakwork.errors import ParamError\n"
        "import cloakwork.serving as serving\n"
        "serving.Remote\n"
        "try: serving.create_app\n"
        "except ParamError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert 'python -m pip install ".[serve]" in the checkout' in done.stdout


def test_unused_keys_and_unfinished_uploads_expire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(insecure=True, key_seconds=7200, upload_seconds=7200)
    keys = CONTEXT.keygen(rotations=[1]).evaluation
    data = CONTEXT.keygen(rotations=[1]).evaluation.to_bytes()
    with running(served(tmp_path, limits)) as url, httpx.Client(base_url=url) as raw:
        with Remote(url) as remote:
            remote.upload(keys)
        part = BINARY | {"Content-Range": f"bytes 0-299999/{len(data)}"}
        address = f"/v1/keys/{data[-32:].hex()}"
        assert raw.put(address, content=data[:300_000], headers=part).status_code == 202
        assert len([*(tmp_path / "store").iterdir()]) == 2
        for clock in (keystore, ages):
            monkeypatch.setattr(clock, "monotonic", lambda: monotonic() + 7201)
        until(lambda: not {*(tmp_path / "store").iterdir()} - {tmp_path / "store/ages.json"})
        assert raw.get(address).status_code == 404


def test_the_application_ends_while_runs_are_open(tmp_path: Path) -> None:
    slow = Slow(model(tmp_path))
    keys = CONTEXT.keygen(rotations=[1])
    begun = monotonic()
    with running(create_app([slow], TOYS, folder=tmp_path / "store")) as url, Remote(url) as remote:
        name, body = remote.upload(keys.evaluation), keys.encrypt(X).to_bytes()
        run = f"/v1/models/square/runs/{uuid4().hex}?keys={name}&wait=0"
        assert httpx.put(f"{url}{run}", content=body, headers=BINARY).status_code == 202
        until(lambda: slow.ran == 1)
    # The run itself, which the gate holds up, would end after `Limits.run_seconds`.
    assert monotonic() - begun < TOYS.run_seconds / 2


def test_a_request_that_found_no_room_for_its_keys_is_run_when_it_is_repeated(
    tmp_path: Path,
) -> None:
    slow = Slow(model(tmp_path))
    one, other = (CONTEXT.keygen(rotations=[1]) for _ in range(2))
    size = one.evaluation.size_bytes
    held = 64 << 20
    room = slow.peak_bytes(None) + size + size // 2 + held
    limits = Limits(insecure=True, memory_bytes=room, held_bytes=held)
    app = create_app([slow], limits, folder=tmp_path / "store")
    with running(app) as url, httpx.Client(base_url=url) as raw, Remote(url) as remote:
        names = [remote.upload(keys.evaluation) for keys in (one, other)]
        addresses = [f"/v1/models/square/runs/{uuid4().hex}?keys={name}&wait=0" for name in names]
        bodies = [keys.encrypt(X).to_bytes() for keys in (one, other)]
        first = raw.put(addresses[0], content=bodies[0], headers=BINARY)
        assert first.status_code == 202
        until(lambda: slow.ran == 1)
        full = raw.put(addresses[1], content=bodies[1], headers=BINARY)
        assert (full.status_code, full.json()["error"]) == (503, "memory")
        slow.gate.set()
        until(lambda: raw.get("/v1/status").json()["open_runs"] == 0)
        again = raw.put(addresses[1].removesuffix("&wait=0"), content=bodies[1], headers=BINARY)
        assert again.status_code == 200
        found = fhe.from_bytes(again.content, insecure=True)
        assert other.decrypt(found)[0].real == pytest.approx(FIRST)


def test_more_parallel_runs_than_the_machine_has_threads_for_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParamError, match="parallel"):
        served(tmp_path, Limits(insecure=True, parallel=10_000))


ROWS = 4


def of_rows(folder: Path, function: Callable[[Any], Any]) -> Slow:
    """A program of batches of four."""
    example = owner().encrypt(np.full((ROWS, 3), 0.5), batch=True, bound=1.0)
    cw.trace(function, example).save(folder / "rows.cwk")
    return Slow(folder / "rows.cwk")


def test_requests_of_the_same_keys_share_one_run_of_a_program_of_rows(tmp_path: Path) -> None:
    slow = of_rows(tmp_path, square)
    app = create_app([slow], TOYS, folder=tmp_path / "store")
    keys = CONTEXT.keygen(rotations=[1])
    inputs = [np.random.default_rng(n).uniform(-1, 1, (1 + n % 2, 3)) for n in range(6)]
    with running(app) as url, httpx.Client(base_url=url) as raw, Remote(url) as remote:
        name, runs = remote.upload(keys.evaluation), []
        for values in inputs:
            batch = len(values) > 1
            x = keys.encrypt(values if batch else values[0], batch=batch, bound=1.0)
            address = f"/v1/models/rows/runs/{uuid4().hex}"
            params = {"keys": name, "wait": "0"}
            answer = raw.put(address, params=params, content=x.to_bytes(), headers=BINARY)
            assert answer.status_code == 202, answer.text
            runs.append(address.rpartition("/")[2])
            until(lambda: slow.ran == 1)
        slow.gate.set()
        for run, values in zip(runs, inputs, strict=True):
            body = raw.get(f"/v1/runs/{run}/result").content
            found = keys.decrypt(fhe.from_bytes(body, insecure=True)).real
            assert found.ndim == (2 if len(values) > 1 else 1)
            whole = np.zeros((len(values), CONTEXT.slots))
            whole[:, :3] = values
            wanted = np.roll(whole**2, -1, axis=1) + whole
            np.testing.assert_allclose(np.atleast_2d(found), wanted, atol=1e-6)
        # The first alone, then 2 + 1, 2 + 1 and 2 rows of four.
        assert slow.ran == 4
        five = keys.encrypt(np.full((ROWS + 1, 3), 0.5), batch=True, bound=1.0)
        with pytest.raises(ServingError, match="1 to 4"):
            remote.run(five, keys=name)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * np.array([[1.0], [2.0], [3.0], [4.0]]) * np.ones(3),
        lambda x: x.sum(axis=0) + x,
    ],
)
def test_rows_that_are_not_computed_alike_are_sent_together_or_refused(
    function: Callable[[Any], Any], tmp_path: Path
) -> None:
    slow = of_rows(tmp_path, function)
    slow.gate.set()
    keys = CONTEXT.keygen(rotations=[1])
    values = np.random.default_rng(7).uniform(-1, 1, (ROWS, 3))
    with running(create_app([slow], TOYS, folder=tmp_path / "store")) as url, Remote(url) as remote:
        name = remote.upload(keys.evaluation)
        with pytest.raises(ServingError, match="expected 4 ciphertexts, got 1"):
            remote.run(keys.encrypt(values[0], bound=1.0), keys=name)
        x = keys.encrypt(values, batch=True, bound=1.0)
        found = keys.decrypt(fhe.from_bytes(remote.run(x, keys=name), insecure=True))
        np.testing.assert_allclose(found, keys.decrypt(function(x)), atol=1e-6)


def test_the_client_of_a_program_of_rows_takes_fewer(tmp_path: Path) -> None:
    slow = of_rows(tmp_path, square)
    slow.gate.set()
    client = ProgramClient(slow.describe(), insecure=True)
    keys = client.keygen()
    values = np.array([[0.5, 0.25, 1.0], [1.0, 0.5, 0.0]])
    with running(create_app([slow], TOYS, folder=tmp_path / "store")) as url, Remote(url) as remote:
        name = remote.upload(keys.evaluation)
        result = remote.run(client.encrypt(keys, values), keys=name)
    found = client.decrypt(keys, result)["out0"]
    np.testing.assert_allclose(found[:, 0], [FIRST, 1.25], atol=1e-6)
    for wrong in (np.zeros((ROWS + 1, 3)), np.zeros(3), np.zeros((2, 4)), np.zeros((0, 3))):
        with pytest.raises(EncodeError):
            client.encrypt(keys, wrong)
