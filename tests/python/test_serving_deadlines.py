"""Malformed requests and damaged files end no deadline of a server."""

import asyncio
import json
import logging
import os
import socket
import subprocess
import threading
from pathlib import Path
from shutil import which
from time import sleep
from typing import Any, cast

import httpx
import pytest
from cloakwork.errors import ParamError
from cloakwork.serving import Limits, Remote
from cloakwork.serving.door import Door
from cloakwork.serving.engine import Engine
from cloakwork.serving.host import Place
from cloakwork.serving.keystore import KeySet, KeyStore
from cloakwork.serving.ledger import Ledger
from cloakwork.serving.partial import OwnFolder, Partial
from cloakwork.serving.runs import Run
from python.serving_setup import certified, running, served
from python.test_serving_attacks import LONG, connected, rest, until

BAD_CHUNK = (
    b"PUT /v1/keys/" + b"a" * 64 + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"-5\r\nhello\r\n"
)
# Short, and more than a request takes on a busy machine.
SHORT = Limits(insecure=True, head_seconds=2, idle_seconds=2, request_seconds=3)


@pytest.mark.skipif(which("openssl") is None, reason="openssl makes the certificate")
def test_a_bad_chunk_over_tls_ends_no_deadline(tmp_path: Path) -> None:
    own, trusted = certified(tmp_path)
    with running(served(tmp_path, SHORT), tls=own) as url:
        https = url.replace("http://", "https://")
        with connected(url) as raw, trusted.wrap_socket(raw, server_hostname="127.0.0.1") as bad:
            # Its answer is not read, and the end of TLS not returned.
            bad.sendall(BAD_CHUNK)
            with connected(url) as silent:
                assert rest(silent) == b""
            with httpx.Client(base_url=https, verify=trusted, timeout=LONG) as client:
                until(lambda: client.get("/v1/status").json()["connections"] == 1)


def test_a_bad_chunk_has_one_refusal_and_no_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(served(tmp_path), log_level="info") as url, connected(url) as one:
        one.sendall(BAD_CHUNK)
        head, _, body = rest(one).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"Retry-After" not in head
        assert json.loads(body)["error"] == "the request"
        with connected(url) as two:
            two.sendall(b"no request\r\n\r\n")
            assert rest(two).startswith(b"HTTP/1.1 400")
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


def test_a_connection_that_cannot_be_watched_is_closed_and_the_others_watched() -> None:
    class Broken:
        dropped = False

        def unwritten(self) -> tuple[int, int]:
            raise AttributeError("no transport")

        def drop(self) -> None:
            self.dropped = True

    class Silent(Broken):
        def unwritten(self) -> tuple[int, int]:
            return 0, 0

    gate, both = Door(SHORT, Ledger(1 << 30, 1 << 30)), (Broken(), Silent())
    for one in both:
        assert gate.enter("a", one) is None
    gate.tick(gate.open[both[1]].since + SHORT.head_seconds + 1)
    assert [one.dropped for one in both] == [True, True]
    assert not gate.open


def test_an_error_of_cleaning_does_not_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        raise KeyError("ages")

    monkeypatch.setattr("cloakwork.serving.keystore.KeyStore.expire", broken)
    with running(served(tmp_path, SHORT)) as url:
        until(lambda: "cleaning failed" in caplog.text)
        with connected(url) as silent:
            assert rest(silent) == b""


def test_what_stays_in_this_machine_goes_to_no_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        seen: list[bytes] = []

        def accept() -> None:
            connection, _ = proxy.accept()
            seen.append(connection.recv(65536))
            connection.close()

        threading.Thread(target=accept, daemon=True).start()
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        token = "x" * 20
        with running(served(tmp_path, token=token)) as url, Remote(url, token=token) as remote:
            assert len(remote.models()) == 1
        assert seen == []


def test_cancelled_runs_leave_the_queue_and_their_keys() -> None:
    class Store:
        one = KeySet("k", 1)

        def get(self, _: str) -> KeySet:
            return self.one

    async def pending() -> list[int]:
        store, ledger, found = Store(), Ledger(1 << 20, 1 << 20), []
        engine = Engine(SHORT, cast("Any", store))
        for number in range(5):
            run = Run(f"{number}", cast("Any", None), "k", (), {}, ledger.claim("a", 9))
            await engine.submit(run)
            run.cancel()
            found.append(len(engine._pending))
        engine.prune()
        return [*found, len(engine._pending), store.one.pins]

    assert asyncio.run(pending()) == [1, 1, 1, 1, 1, 0, 0]


def test_one_file_that_cannot_be_removed_keeps_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name * 64}.part").write_bytes(b"x")
    (tmp_path / "ages.json").mkdir()
    store = KeyStore(tmp_path, Limits(insecure=True, upload_seconds=0.01), set())
    discard = Partial.discard

    def broken(one: Partial) -> None:
        if one.path.name[0] == "a":
            raise PermissionError(1, "not permitted")
        discard(one)

    monkeypatch.setattr(Partial, "discard", broken)
    sleep(0.02)
    store.expire()
    store.expire()
    assert list(store.uploads) == ["a" * 64]
    assert caplog.text.count("cannot be removed: not permitted") == 1
    # What is in the place of their file is told, and no more.
    store.ages.use("k")
    store.close()
    assert caplog.text.count("the ages of keys cannot be kept") == 1
    assert store.folder._handle == -1


def test_a_folder_that_cannot_be_written_to_is_said_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the system says to those that are not root.
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK | os.X_OK)
    with pytest.raises(ParamError, match="a folder to write to: chmod"):
        OwnFolder(tmp_path)


@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_an_address_of_ipv6_has_brackets(host: str) -> None:
    place = Place(host=host)
    assert (place.host, place.address(80)) == ("::1", "http://[::1]:80")
    assert Place().address(80) == "http://127.0.0.1:80"


@pytest.mark.skipif(which("openssl") is None, reason="openssl encrypts the key")
def test_a_private_key_with_a_pass_phrase_is_not_asked_for(tmp_path: Path) -> None:
    certified(tmp_path)
    made = ["openssl", "ec", "-in", "key.pem", "-aes128", "-passout", "pass:x", "-out", "locked"]
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    with pytest.raises(ParamError, match="without a pass phrase: the private key has"):
        Place(ssl_certfile=tmp_path / "cert.pem", ssl_keyfile=tmp_path / "locked")
