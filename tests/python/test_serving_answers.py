"""Answers of a hostile server: packed, long, strange and made for terminals."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from cloakwork.errors import LoadError, ParamError, ServingError
from cloakwork.serving import Remote, connection
from cloakwork.serving.answers import STATE_BYTES, Answer
from python.serving_setup import CONTEXT, answering

REFUSAL = {"error": "a", "expected": "b", "got": "c", "hint": "d"}
CODES = "\x1b[2J\x1b]0;title\x07\n\u202e\ud800"
DATE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def answer(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def told(**changes: str) -> bytes:
    return json.dumps(REFUSAL | changes).encode()


def refused(head: bytes, more: bytes = b"") -> ServingError:
    with answering(head, more) as url, Remote(url, timeout=5) as remote:
        with pytest.raises(ServingError) as caught:
            remote.models()
        return caught.value


@pytest.mark.parametrize(
    "encoding", ["gzip", "gzip, gzip", "identity, GZIP", "br", "zstd", "deflate", "made-up"]
)
@pytest.mark.parametrize("status", ["200 OK", "400 Bad"])
def test_no_answer_is_unpacked(encoding: str, status: str) -> None:
    body = gzip.compress(gzip.compress(bytes(1 << 20)))
    assert "not compressed" in str(refused(answer(status, body, f"Content-Encoding: {encoding}")))


@pytest.mark.parametrize("encoding", ["", "identity", "Identity, identity"])
def test_identity_is_no_encoding(encoding: str) -> None:
    packed = answer("200 OK", b"[]", f"Content-Encoding: {encoding}")
    with answering(packed) as url, Remote(url) as remote:
        assert remote.models() == []


def test_clients_ask_for_no_encoding() -> None:
    seen = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Accept-Encoding"])
        return httpx.Response(200, json=[])

    Remote("http://x", transport=httpx.MockTransport(reply)).models()
    assert seen == ["identity"]


@pytest.mark.parametrize(
    ("advice", "date", "seconds"),
    [
        ("", "", None), ("7", "", 7), (" 7 ", "", 7), ("9999999", "", 9999999),
        ("10000000", "", None),
        ("9" * 5000, "", None), ("-1", "", None), ("1.5", "", None), ("\u0663", "", None),
        ("\xb2", "", None), ("soon", "", None), ("Fri, 99 Jan 2026 00:00:00 GMT", "", None),
        (format_datetime(DATE, usegmt=True), format_datetime(DATE, usegmt=True), 0),
        (format_datetime(DATE + timedelta(seconds=9)), format_datetime(DATE), 9),
        (format_datetime(DATE - timedelta(days=9)), "never", 0),
        ("Fri, 31 Dec 9999 23:59:59 -9999", "", None),
    ],
)  # fmt: skip
def test_advice_when_to_ask_again_is_seconds_or_a_date_or_none(
    advice: str, date: str, seconds: int | None
) -> None:
    headers = {"Retry-After": advice, "Date": date}
    with pytest.raises(ServingError) as caught:
        Answer(503, "http://x", headers, told()).checked()
    assert caught.value.retry_seconds == seconds


def test_a_long_advice_ends_the_call_at_once() -> None:
    for digits in (5, 5000):
        found = refused(answer("503 Busy", told(), f"Retry-After: {'9' * digits}"))
        assert (found.status, found.got) == (503, "c")


def test_a_servers_words_cannot_steer_a_terminal() -> None:
    words = told(error=CODES, expected=CODES, got="c" * 2000, hint=CODES)
    found = refused(answer("400 Bad", words))
    for text in (found.error, found.expected, found.hint, str(found)):
        assert text.isprintable()
    assert found.error == "\\x1b[2J\\x1b]0;title\\x07\\n\\u202e\\ud800"
    assert len(found.got) == 1003


@pytest.mark.parametrize(
    "body",
    [
        b"", b"5", b"{}", b"[5]", b"[[]]", b"\xff", b"[" * 100000,
        b"[" + b"[]," * (1 << 21) + b"[]]",
        b'[{"name": "a/b", "fingerprint": "0"}]', b'[{"name": "a\\u001b", "fingerprint": "0"}]',
        b'[{"name": "a", "fingerprint": "\\u001b"}]', b'[{"name": "a", "fingerprint": 5}]',
        b'[{"name": "a", "name": "b", "fingerprint": "0"}]', b"[" + b"9" * 5000 + b"]",
    ],
)  # fmt: skip
def test_descriptions_that_no_server_of_this_package_gives(body: bytes) -> None:
    assert "a server of cloakwork" in str(refused(answer("200 OK", body)))


@pytest.mark.parametrize(
    "body",
    [told(error="a" * STATE_BYTES), b"[]", told()[:-1], json.dumps(REFUSAL | {"got": 5}).encode()],
)
def test_refusals_that_are_none(body: bytes) -> None:
    found = refused(answer("400 Bad", body))
    assert found.error.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("place", ["http://[", "//", "\x1b[2J", "http://a:99999999/"])
def test_answers_that_lead_elsewhere_are_not_followed(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_FIRST_SECONDS", 0.2)
    found = refused(answer("302 Found", b"", f"Location: {place}"))
    assert str(found).isprintable()


def remote_of(*replies: Any) -> Remote:
    """A client whose requests get these answers in turn, the last one again and again."""
    left = list(replies)

    def reply(_: httpx.Request) -> httpx.Response:
        return left.pop(0) if len(left) > 1 else left[0]

    return Remote("http://x", timeout=5, transport=httpx.MockTransport(reply))


@pytest.mark.parametrize(
    "steps",
    [
        None, [], {"done": 1}, {"done": 1.5, "total": 2}, {"done": True, "total": 2},
        {"done": 3, "total": 2}, {"done": -1, "total": 2}, {"done": 1, "total": 10**4000},
    ],
)  # fmt: skip
def test_a_state_of_a_run_has_sensible_steps(steps: Any) -> None:
    body = json.dumps({"steps": steps}).encode()
    with remote_of(httpx.Response(202, content=body)) as remote:
        for progress in (None, lambda done, total: None):
            with pytest.raises(ServingError, match="a server of cloakwork"):
                remote.run(b"x", model="m", progress=progress, result_bytes=9)


def test_a_server_that_does_not_wait_is_not_asked_without_a_pause() -> None:
    asked = 0

    def reply(_: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        return httpx.Response(202, json={"steps": {"done": 0, "total": 1}})

    with (
        Remote("http://x", timeout=0.5, transport=httpx.MockTransport(reply)) as remote,
        pytest.raises(ServingError, match="a longer timeout"),
    ):
        remote.run(b"x", model="m", result_bytes=9)
    assert 2 < asked < 16


@pytest.mark.parametrize("offset", [None, "1", True, -1, 1 << 60, 1.0])
def test_an_offset_of_an_upload_is_within_its_file(offset: Any) -> None:
    evaluation = CONTEXT.keygen(rotations=[1]).evaluation
    with (
        remote_of(httpx.Response(200, json={"offset": offset})) as remote,
        pytest.raises(ServingError, match="a server of cloakwork"),
    ):
        remote.upload(evaluation)


def test_a_servers_description_does_not_ask_for_endless_results() -> None:
    example = CONTEXT.keygen().encrypt([0.5]).described() | {"batch": 1 << 30}
    model = dict.fromkeys(("parameters", "keys", "model"))
    model |= {"name": "m", "fingerprint": "0" * 32, "inputs": {}, "outputs": {"y": example}}
    with (
        remote_of(httpx.Response(200, json=model)) as remote,
        pytest.raises(ParamError, match="result_bytes: got none"),
    ):
        remote.run(b"x", model="m")
    with (
        remote_of(httpx.Response(200, json=model | {"outputs": {"\x1b": 5}})) as remote,
        pytest.raises(LoadError) as caught,
    ):
        remote.run(b"x", model="m")
    assert str(caught.value).isprintable()
