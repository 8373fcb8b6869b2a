"""Raw connections that hold a server's memory, places or time; honest requests beside them."""

import asyncio
import json
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from shutil import which
from time import monotonic, sleep, time
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
from cloakwork import fhe
from cloakwork.errors import ServingError
from cloakwork.serving import Limits, Remote
from cloakwork.serving.desk import _EXPANSION
from cloakwork.serving.door import PLAIN_BYTES
from cloakwork.serving.keystore import KeyStore
from cloakwork.serving.runs import RUN_BYTES
from python.serving_setup import CONTEXT, certified, running, served

BINARY = {"Content-Type": "application/octet-stream"}
HEAD = b"Host: x\r\nContent-Type: application/octet-stream\r\n"
X = [0.5, 0.25, 1.0]
# Seconds.  What a test waits for takes SHORT, and more than an honest client needs on a busy
# machine; LONG is far beyond.
SHORT, LONG = 3.0, 120.0


@pytest.fixture(scope="module")
def keys() -> fhe.Keys:
    return CONTEXT.keygen(rotations=[1])


@pytest.fixture(scope="module")
def body(keys: fhe.Keys) -> bytes:
    return keys.encrypt(X).to_bytes()


def connected(url: str) -> socket.socket:
    place = urlsplit(url)
    return socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=LONG)


def until(condition: Callable[[], object]) -> None:
    """Wait for a condition."""
    end = monotonic() + LONG
    while not condition():
        assert monotonic() < end
        sleep(0.01)


def rest(connection: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    found = b""
    try:
        while data := connection.recv(65536):
            found += data
    except ConnectionResetError:
        pass
    return found


def answer_of(connection: socket.socket) -> bytes:
    """The next answer, of a connection that stays open."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += connection.recv(65536)
    head, _, rest_of_it = found.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    while length is not None and len(rest_of_it) < int(length[1]):
        rest_of_it += connection.recv(65536)
    return head + b"\r\n\r\n" + rest_of_it


def uploaded(raw: httpx.Client, keys: fhe.Keys) -> str:
    """Upload keys in small parts, for servers with little memory."""
    file = keys.evaluation.to_bytes()
    name = file[-32:].hex()
    for begin in range(0, len(file), 20_000):
        part = file[begin : begin + 20_000]
        place = {"Content-Range": f"bytes {begin}-{begin + len(part) - 1}/{len(file)}"}
        answer = raw.put(f"/v1/keys/{name}", content=part, headers=BINARY | place)
        assert answer.status_code in (201, 202), answer.text
    return name


def beginning(name: str, size: int, run: str | None = None) -> bytes:
    address = f"/v1/models/square/runs/{run or uuid4().hex}?keys={name}"
    return f"PUT {address} HTTP/1.1\r\n".encode() + HEAD + b"Content-Length: %d\r\n\r\n" % size


def asked(url: str) -> bytes:
    """The answer of a connection of its own."""
    with connected(url) as one:
        one.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return rest(one)


def held(raw: httpx.Client) -> int:
    """The bytes that the server holds beside its connections."""
    told = raw.get("/v1/status").json()
    assert told["held_bytes"] <= told["held_bytes_limit"]
    return int(told["held_bytes"]) - int(told["connections"]) * PLAIN_BYTES


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Content-Length: 0\r\nTransfer-Encoding: identity\r\n",
    ],
)
@pytest.mark.parametrize("method", [b"PUT", b"GET"])
def test_doubled_framing_is_refused_and_the_connection_closed(
    framing: bytes, method: bytes, tmp_path: Path
) -> None:
    with running(served(tmp_path)) as url, connected(url) as one:
        one.sendall(method + b" /v1/keys/a HTTP/1.1\r\n" + HEAD + framing + b"\r\n")
        answer = rest(one)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"connection: close" in answer.lower()


def test_chunks_without_a_length_are_not_read(tmp_path: Path) -> None:
    with running(served(tmp_path)) as url, connected(url) as one:
        begun = beginning("a" * 64, 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        one.sendall(begun)
        assert one.recv(65536).startswith(b"HTTP/1.1 411")


def test_connections_that_say_nothing_or_half_a_head_are_closed(tmp_path: Path) -> None:
    limits = Limits(insecure=True, head_seconds=SHORT, idle_seconds=LONG)
    with (
        running(served(tmp_path, limits)) as url,
        connected(url) as silent,
        connected(url) as half,
        connected(url) as again,
    ):
        half.sendall(b"GET /health HTTP/1.1\r\nHost:")
        again.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer_of(again).startswith(b"HTTP/1.1 200")
        again.sendall(b"GET /he")
        assert rest(silent) == rest(half) == rest(again) == b""


def test_connections_that_ask_no_more_are_closed(tmp_path: Path) -> None:
    limits = Limits(insecure=True, head_seconds=LONG, idle_seconds=0.3)
    with running(served(tmp_path, limits)) as url, connected(url) as kept:
        kept.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b'{"status":"ok"}' in rest(kept)


def test_idle_connections_leave_room_for_everyone(tmp_path: Path) -> None:
    limits = Limits(insecure=True, connections=4, client_connections=3, head_seconds=LONG)
    with running(served(tmp_path, limits)) as url:
        idle = [connected(url) for _ in range(10)]
        for _ in range(5):
            assert httpx.get(f"{url}/health", timeout=LONG).json() == {"status": "ok"}
        for one in idle[:8]:
            assert rest(one) == b""
        for one in idle:
            one.close()


def test_connections_beyond_the_limit_are_told_to_come_again(
    keys: fhe.Keys, body: bytes, tmp_path: Path
) -> None:
    limits = Limits(insecure=True, client_connections=3)
    with running(served(tmp_path, limits)) as url:
        with Remote(url) as remote:
            name = remote.upload(keys.evaluation)
        begun = beginning(name, len(body)).replace(b"Host", b"Expect: 100-continue\r\nHost")
        busy = [connected(url) for _ in range(3)]
        for one in busy:
            one.sendall(begun)
            # Its request has begun: it waits no more for one.
            assert one.recv(65536).startswith(b"HTTP/1.1 100")
        with connected(url) as more:
            answer = rest(more)
            assert answer.startswith(b"HTTP/1.1 503")
            assert b"Retry-After: 1\r\n" in answer
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "connections"
        busy.pop().close()
        # The server has noticed it by then.
        until(lambda: b" 200 " in asked(url))
        for one in busy:
            one.close()


def test_slow_bodies_keep_nobody_out_and_end(keys: fhe.Keys, body: bytes, tmp_path: Path) -> None:
    limits = Limits(insecure=True, queue=1, read_seconds=SHORT, head_seconds=SHORT, rate_bytes=1)
    with running(served(tmp_path, limits)) as url, Remote(url) as remote:
        name = remote.upload(keys.evaluation)
        slow = [connected(url) for _ in range(20)]
        for one in slow:
            one.sendall(beginning(name, len(body)) + body[:1])
        result = remote.run(body, keys=name)
        for one in slow:
            answer = rest(one)
            assert answer.startswith(b"HTTP/1.1 408"), answer
            one.close()
        with httpx.Client(base_url=url) as raw:
            assert held(raw) == RUN_BYTES + len(result)


def sharing(folder: Path, share: int) -> Any:
    """An application with so small a share of a client that it would not start with it."""
    app = served(folder, Limits(insecure=True, held_bytes=64 << 20))
    app.state.door._ledger.client_bytes = share
    return app


@pytest.mark.parametrize(("more", "status"), [(-1, 413), (0, 200), (1, 200)])
def test_a_body_that_never_fits_into_a_clients_share_is_refused(
    more: int, status: int, keys: fhe.Keys, body: bytes, tmp_path: Path
) -> None:
    share = (1 + _EXPANSION) * len(body) + more
    with running(sharing(tmp_path, share)) as url, httpx.Client(base_url=url) as raw:
        address = f"/v1/models/square/runs/{uuid4().hex}?keys={uploaded(raw, keys)}"
        assert raw.put(address, content=body, headers=BINARY).status_code == status


def test_bodies_beyond_a_clients_share_are_told_to_come_again(
    keys: fhe.Keys, body: bytes, tmp_path: Path
) -> None:
    share = (1 + _EXPANSION) * len(body)
    with running(sharing(tmp_path, share)) as url, httpx.Client(base_url=url) as raw:
        name = uploaded(raw, keys)
        address = f"/v1/models/square/runs/{uuid4().hex}?keys={name}"
        slow = [connected(url) for _ in range(4)]
        for one in slow:
            one.sendall(beginning(name, len(body)) + body[:-1])
        until(lambda: held(raw) == 4 * (len(body) - 1))
        answer = raw.put(address, content=body, headers=BINARY)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
        # The last byte of one is one that does not fit with its inputs.
        slow[0].sendall(body[-1:])
        assert answer_of(slow[0]).startswith(b"HTTP/1.1 429")
        for one in slow:
            one.close()
        until(lambda: held(raw) == 0)
        assert raw.put(address, content=body, headers=BINARY).status_code == 200


def test_what_arrives_is_counted_and_given_back(
    keys: fhe.Keys, body: bytes, tmp_path: Path
) -> None:
    with running(served(tmp_path)) as url, httpx.Client(base_url=url) as raw:
        with Remote(url) as remote:
            name = remote.upload(keys.evaluation)
        assert held(raw) == 0
        for sent in (1, 1000, len(body) - 1):
            with connected(url) as one:
                one.sendall(beginning(name, len(body)) + body[:sent])
                until(lambda sent=sent: held(raw) == sent)  # type: ignore[misc]
            until(lambda: held(raw) == 0)
        # An upload has room for two pieces, and for the head that it sent.
        with connected(url) as one:
            head = b"PUT /v1/keys/" + b"a" * 64 + b" HTTP/1.1\r\n" + HEAD
            one.sendall(head + b"Content-Length: 80000000\r\n\r\n")
            until(lambda: held(raw) == 2 << 20)
            one.sendall(b"CWFHE\1\0\0" + (4_190_000).to_bytes(8, "little") + b"a" * (2 << 20))
            until(lambda: held(raw) >= 4 << 20)
        until(lambda: held(raw) == 0)
        answer = raw.put(
            f"/v1/models/square/runs/{'1' * 32}?keys={name}", content=body, headers=BINARY
        )
        assert held(raw) == RUN_BYTES + len(answer.content)
        # A repeat of it holds nothing, and gets the same result.
        with connected(url) as one:
            one.sendall(beginning(name, len(body), "1" * 32) + body[:-1])
            until(lambda: raw.get("/v1/status").json()["connections"] == 2)
            assert held(raw) == RUN_BYTES + len(answer.content)
            one.sendall(body[-1:])
            assert one.recv(65536).startswith(b"HTTP/1.1 200")
        with connected(url) as one:
            one.sendall(beginning(name, len(body), "1" * 32) + body[:-1] + b"x")
            assert one.recv(65536).startswith(b"HTTP/1.1 409")


def test_results_make_room_for_requests(keys: fhe.Keys, body: bytes, tmp_path: Path) -> None:
    share = (1 + _EXPANSION) * len(body) + (3 << 20)
    with running(sharing(tmp_path, share)) as url, httpx.Client(base_url=url) as raw:
        with Remote(url) as remote:
            name = remote.upload(keys.evaluation)
        for number in range(share // len(body) + 3):
            address = f"/v1/models/square/runs/{number:032x}?keys={name}"
            assert raw.put(address, content=body, headers=BINARY).status_code == 200
            assert held(raw) <= share
        assert raw.get(f"/v1/runs/{0:032x}").status_code == 404


@pytest.mark.parametrize("damage", ["altered", "truncated", "empty", "removed", "linked"])
@pytest.mark.parametrize("first", ["upload", "run"])
def test_a_damaged_key_file_heals(
    damage: str, first: str, keys: fhe.Keys, body: bytes, tmp_path: Path
) -> None:
    with running(served(tmp_path)) as url, Remote(url) as remote:
        name = remote.upload(keys.evaluation)
    path = tmp_path / "store" / f"{name}.key"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()
    if damage == "linked":
        path.symlink_to(tmp_path / "nowhere")
    elif damage != "removed":
        path.write_bytes({"altered": data, "truncated": data[:1000], "empty": b""}[damage])
    with running(served(tmp_path)) as url, httpx.Client(base_url=url) as raw:
        if first == "run":
            address = f"/v1/models/square/runs/{'2' * 32}?keys={name}"
            answer = raw.put(address, content=body, headers=BINARY)
            assert (answer.status_code, "upload the file again" in answer.text) == (404, True)
            assert not path.exists()
        file = keys.evaluation.to_bytes()
        assert raw.put(f"/v1/keys/{name}", content=file, headers=BINARY).status_code == 201
        assert not path.is_symlink()
        assert path.read_bytes() == file
        with Remote(url) as remote:
            assert len(remote.run(body, keys=name)) > 1000


def test_a_file_that_is_damaged_while_the_server_runs_heals(
    keys: fhe.Keys, body: bytes, tmp_path: Path
) -> None:
    with running(served(tmp_path)) as url, httpx.Client(base_url=url) as raw, Remote(url) as remote:
        name = remote.upload(keys.evaluation)
        path = tmp_path / "store" / f"{name}.key"
        file = path.read_bytes()
        # The same bytes, not written again, are not sent again either.
        place = path.stat().st_ino
        assert raw.put(f"/v1/keys/{name}", content=file, headers=BINARY).status_code == 201
        assert path.stat().st_ino == place
        path.unlink()
        path.write_bytes(file[:-1] + b"x")
        assert raw.put(f"/v1/keys/{name}", content=file, headers=BINARY).status_code == 201
        assert path.read_bytes() == file
        assert len(remote.run(body, keys=name)) > 1000


def test_dangling_links_and_folders_do_not_stop_the_start(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir(mode=0o700)
    (store / f"{'a' * 64}.key").symlink_to(tmp_path / "nowhere")
    (store / f"{'b' * 64}.part").symlink_to(tmp_path / "nowhere")
    (store / f"{'c' * 64}.key").mkdir()
    (store / "other").symlink_to(tmp_path / "nowhere")
    with running(served(tmp_path)) as url, httpx.Client(base_url=url) as raw:
        for name in "abc":
            assert raw.get(f"/v1/keys/{name * 64}").status_code == 404


@pytest.mark.parametrize("days", [-8, 8])
def test_a_step_of_the_clock_deletes_no_keys(days: int, keys: fhe.Keys, tmp_path: Path) -> None:
    limits = Limits(insecure=True, key_seconds=7 * 86400.0)
    with running(served(tmp_path, limits)) as url, Remote(url) as remote:
        name = remote.upload(keys.evaluation)
    stepped = time() + days * 86400
    os.utime(tmp_path / "store" / f"{name}.key", (stepped, stepped))
    store = KeyStore(tmp_path / "store", limits, set())
    store.expire()
    assert store.has(name)
    store.close()


def test_a_server_is_ready_while_its_engine_runs(tmp_path: Path) -> None:
    app = served(tmp_path, token="a" * 20)
    with running(app) as url:
        answer = httpx.get(f"{url}/ready")
        assert (answer.status_code, answer.json()) == (200, {"status": "ready"})

    async def after() -> list[int]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return [(await client.get(path)).status_code for path in ("/health", "/ready")]

    assert asyncio.run(after()) == [200, 503]


@pytest.mark.skipif(which("openssl") is None, reason="openssl makes the certificate")
def test_tls_has_the_same_door(tmp_path: Path) -> None:
    own, trusted = certified(tmp_path)
    limits = Limits(insecure=True, connections=3, head_seconds=SHORT, idle_seconds=SHORT)
    with running(served(tmp_path, limits), tls=own) as url:
        https = url.replace("http://", "https://")
        before = [connected(url) for _ in range(6)]
        for _ in range(3):
            answer = httpx.get(f"{https}/health", verify=trusted, timeout=LONG)
            assert answer.json() == {"status": "ok"}
        # Closed though they never began the handshake.
        for one in before:
            assert rest(one) == b""
            one.close()
        with connected(url) as plain:
            plain.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"200" not in rest(plain)
        keys = CONTEXT.keygen(rotations=[1])
        with Remote(https, ca=tmp_path / "cert.pem") as remote:
            name = remote.upload(keys.evaluation)
            assert len(remote.run(keys.encrypt(X), keys=name)) > 1000
        with connected(url) as raw, trusted.wrap_socket(raw, server_hostname="127.0.0.1") as half:
            half.sendall(b"GET /health HT")
            assert rest(half) == b""


def test_an_answer_before_the_end_of_a_body_is_received(tmp_path: Path) -> None:
    long = b"x" * (4 << 20)
    with (
        running(served(tmp_path)) as url,
        Remote(url) as remote,
        pytest.raises(ServingError, match="unknown ones"),
    ):
        remote.run(long, keys="0" * 64, model="square")
    limits = Limits(insecure=True, head_seconds=SHORT)
    with running(served(tmp_path / "b", limits)) as url, connected(url) as one:
        one.sendall(beginning("0" * 64, 4 << 20) + b"x")
        # The rest does not come: the connection ends all the same.
        assert rest(one).startswith(b"HTTP/1.1 404")
