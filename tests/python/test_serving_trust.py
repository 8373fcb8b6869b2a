"""What clients and servers do not take from each other: no token, endless answers, forged ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from cloakwork.cli import main
from cloakwork.errors import ParamError, ServingError
from cloakwork.fhe import InsecureWarning
from cloakwork.serving import Remote, ServedProgram, client_of, connection, create_app, tokens
from python.serving_setup import CONTEXT, TOYS, answering, model, running, served

TOKEN = "b3JpZ2luYWwgdG9rZW4+Lw=="
OTHER = "b3JpZ2luYWwgdG9rZW4+Lg=="


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(served(tmp_path_factory.mktemp("server"), token=TOKEN)) as url:
        yield url


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ({}, "none"),
        ({"Authorization": f"Bearer {OTHER}"}, "another token"),
        ({"Authorization": "Bearer"}, "another token"),
        ({"Authorization": f"Bearer {TOKEN}x"}, "another token"),
        ({"Authorization": f"Basic {TOKEN}"}, "another kind of authorization"),
        ({"authorization": "\xff"}, "another kind of authorization"),
    ],
)
def test_without_the_token_every_request_is_refused_except_health(
    guarded: str, given: dict[str, str], got: str
) -> None:
    headers = {name: value.encode("latin-1") for name, value in given.items()}
    with httpx.Client(base_url=guarded, headers=headers) as raw:
        assert raw.get("/health").json() == {"status": "ok"}
        for line in (
            "GET /v1/models", "GET /none", "DELETE /v1/runs/1", "PUT /v1/models/square/runs/1",
            "GET /health/",
        ):  # fmt: skip
            method, address = line.split()
            answer = raw.request(method, address)
            assert (answer.status_code, answer.json()["got"]) == (401, got), address
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert TOKEN not in answer.text


def test_clients_with_the_token_are_served(guarded: str) -> None:
    with httpx.Client(base_url=guarded, headers={"Authorization": f"bearer {TOKEN}"}) as raw:
        assert raw.get("/v1/models").status_code == 200
    keys = CONTEXT.keygen(rotations=[1])
    with Remote(guarded, token=TOKEN) as remote:
        name = remote.upload(keys.evaluation)
        x = keys.encrypt([0.5, 0.25, 1.0])
        assert len(remote.run(x, keys=name)) > 1000
    for token in (None, OTHER):
        with Remote(guarded, token=token) as remote, pytest.raises(ServingError) as caught:
            remote.upload(keys.evaluation)
        assert caught.value.status == 401
        assert "--token-file" in str(caught.value)


@pytest.mark.parametrize(
    "token", ["", "short", "with space in it all", "ä" * 20, "x" * 20 + "\n", 5]
)
def test_a_token_that_cannot_be_one_is_refused_and_not_shown(token: Any, tmp_path: Path) -> None:
    served_one = ServedProgram(model(tmp_path))
    for made in (
        lambda: Remote("http://127.0.0.1", token=token),
        lambda: create_app([served_one], TOYS, folder=tmp_path / "s", token=token),
    ):
        with pytest.raises(ParamError, match="token") as caught:
            made()
        assert not token or str(token).strip() not in str(caught.value)
    assert not (tmp_path / "s").exists()


def test_a_token_is_read_from_a_file_and_stays_out_of_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    held = tmp_path / "token"
    held.touch(mode=0o600)
    for ending in ("", "\n", "\r\n"):
        held.write_text(TOKEN + ending)
        assert tokens.read(held) == TOKEN
    for wrong in ("", "two words of 16 characters", f"{TOKEN}\n{TOKEN}\n", "secret!" * 5):
        held.write_text(wrong)
        line = ["query", "http://127.0.0.1:9", "keys", "x.npy", "--token-file", str(held)]
        assert main(line) == 2
        error = capsys.readouterr().err
        assert f"token of {held}: got another text, which is not shown" in error
        assert not wrong or wrong.strip() not in error
    held.write_text(TOKEN)
    held.chmod(0o640)
    with pytest.warns(InsecureWarning, match=r"others may read.*\(mode 0640\): chmod 600 .*token"):
        assert tokens.read(held) == TOKEN
    assert main(line) == 2
    assert f"{held}: others may read or change this token" in capsys.readouterr().err
    with caplog.at_level("DEBUG"), running(served(tmp_path, token=TOKEN), log_level="trace") as url:
        with Remote(url, token=TOKEN) as remote:
            remote.models()
            assert TOKEN not in repr(vars(remote))
        assert TOKEN not in caplog.text
    app = served(tmp_path / "b", token=TOKEN)
    assert TOKEN not in repr(app.user_middleware) + repr(vars(app))
    with pytest.raises(ParamError, match="without a user") as caught:
        Remote("http://me:hidden@127.0.0.1", token=TOKEN)
    assert "hidden" not in str(caught.value)


OK = b"HTTP/1.1 200 OK\r\n"
CHUNK = b"10000\r\n" + b"[" * 65536 + b"\r\n"


@pytest.mark.parametrize(
    ("head", "more", "said"),
    [
        (OK + b"Content-Length: 999999999999\r\n\r\n", b"x" * 65536, "got 999999999999 bytes"),
        (OK + b"\r\n", b"[" * 65536, "got more"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", CHUNK, "got more"),
        (OK + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", b"", "not compressed"),
        (OK, b"A: " + b"b" * 999 + b"\r\n", "is it running?"),
        (b"SSH-2.0\r\n", b"", "is it running?"),
        (b"", b"", "is it running?"),
    ],
)  # fmt: skip
def test_an_answer_that_never_ends_is_not_held(
    head: bytes, more: bytes, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_FIRST_SECONDS", 0.2)
    with (
        answering(head, more) as url,
        Remote(url) as remote,
        pytest.raises(ServingError) as caught,
    ):
        remote.models()
    assert said in str(caught.value)


def test_an_answer_that_trickles_ends_with_the_timeout() -> None:
    def slow() -> Iterator[bytes]:
        while True:
            yield b" "

    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=slow()))
    with (
        Remote("http://x", timeout=0.2, transport=transport) as remote,
        pytest.raises(ServingError, match="a part of it"),
    ):
        remote.models()


def test_a_result_longer_than_the_model_allows_is_refused(tmp_path: Path) -> None:
    served_one = ServedProgram(model(tmp_path))
    described = served_one.describe()
    client = client_of(described, "here", insecure=True)
    keys = CONTEXT.keygen(rotations=[1])
    x = keys.encrypt([0.5, 0.25, 1.0])
    most = client.result_bytes
    read = []

    def forged() -> Iterator[bytes]:
        while True:
            read.append(1 << 16)
            yield b"x" * (1 << 16)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json=described)
        return httpx.Response(200, content=forged())

    with Remote("http://x", transport=httpx.MockTransport(answer)) as remote:
        for options in ({}, {"result_bytes": most}):
            with pytest.raises(ServingError, match=f"at most {most} bytes"):
                remote.run(x, keys="0" * 64, model="square", **options)
    assert sum(read) < 2 * most + (1 << 20)
    # A true result fits, and closely.
    with running(served(tmp_path)) as url, Remote(url) as remote:
        result = remote.run(x, keys=remote.upload(keys.evaluation))
    assert most / 2 < len(result) <= most


@pytest.mark.parametrize("kept", [True, False])
def test_keys_that_the_server_forgot_are_uploaded_again_by_the_client_that_has_them(
    kept: bool, tmp_path: Path
) -> None:
    keys = CONTEXT.keygen(rotations=[1])
    keys.evaluation.save(tmp_path / "eval.key")
    x = keys.encrypt(np.array([0.5, 0.25, 1.0]))
    with running(served(tmp_path)) as url, Remote(url) as remote:
        name = remote.upload(tmp_path / "eval.key")
        remote._http.delete(f"/v1/keys/{name}")
        if kept:
            assert len(remote.run(x, keys=name)) > 1000
            return
        (tmp_path / "eval.key").unlink()
        with pytest.raises(ServingError, match=r"unknown ones.*upload the file again"):
            remote.run(x, keys=name)


def test_a_truncated_key_file_is_not_sent(tmp_path: Path) -> None:
    data = CONTEXT.keygen(rotations=[1]).evaluation.to_bytes()
    (tmp_path / "eval.key").write_bytes(data[:-9])
    with Remote("http://127.0.0.1:9") as remote, pytest.raises(Exception, match="not sent"):
        remote.upload(tmp_path / "eval.key")
