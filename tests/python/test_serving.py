"""Clients upload keys once, send ciphertexts and decrypt; the server refuses all else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import LoadError, ParamError, ServingError
from cloakwork.serving import Limits, Remote, ServedProgram, connection, create_app
from cloakwork.serving.partial import Partial
from python.serving_setup import CONTEXT, TOYS, nobody, owner, running, served

from python import serving_setup

BINARY = {"Content-Type": "application/octet-stream"}
X = np.array([0.5, -0.25, 1.0])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(served(tmp_path_factory.mktemp("server"))) as url:
        yield url


@pytest.fixture(scope="module")
def keys() -> fhe.Keys:
    return CONTEXT.keygen(rotations=[1])


@pytest.fixture
def raw(place: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=place, trust_env=False) as client:
        yield client


def expected(x: Any) -> Any:
    whole = np.zeros(CONTEXT.slots)
    whole[: len(x)] = x
    return np.roll(whole**2, -1) + whole


def test_the_result_of_a_server_decrypts_to_what_the_program_computes(
    place: str, keys: fhe.Keys
) -> None:
    with Remote(place) as remote:
        name = remote.upload(keys.evaluation)
        seen: list[tuple[int, int]] = []
        body = remote.run(keys.encrypt(X), keys=name, progress=lambda *at: seen.append(at))
        found = fhe.from_bytes(body, insecure=True)
        np.testing.assert_allclose(keys.decrypt(found).real, expected(X), atol=1e-6)
        assert all(done <= total for done, total in seen)
        # A second client has other keys.
        other = CONTEXT.keygen(rotations=[1])
        body = remote.run(other.encrypt(X), keys=remote.upload(other.evaluation))
        got = other.decrypt(fhe.from_bytes(body, insecure=True)).real
        np.testing.assert_allclose(got, expected(X), atol=1e-6)


def test_a_model_is_described_by_its_fingerprint_inputs_and_keys(place: str) -> None:
    with Remote(place) as remote:
        told = remote.model()
        assert told == remote.model("square") == remote.models()[0]
        assert told["keys"] == ["relinearization", "galois.5"]
        assert told["parameters"] == CONTEXT.parameters.fingerprint
        assert told["inputs"]["x"]["level"] == 2
        assert len(told["fingerprint"]) == 32
        with pytest.raises(ServingError, match="expected square, got other") as caught:
            remote.model("other")
        assert caught.value.status == 404
        with pytest.raises(ParamError, match="model"):
            remote.model("../keys")


def refused(answer: httpx.Response, status: int, *said: str) -> None:
    assert answer.status_code == status, answer.text
    told = answer.json()
    assert set(told) == {"error", "expected", "got", "hint"}
    text = " ".join(told.values())
    assert "Traceback" not in text
    for word in said:
        assert word in text, text


def key_file(keys: fhe.EvaluationKeys) -> tuple[str, bytes]:
    data = keys.to_bytes()
    return data[-32:].hex(), data


def test_an_upload_continues_where_it_ended(raw: httpx.Client, tmp_path: Path) -> None:
    fresh = CONTEXT.keygen(rotations=[1]).evaluation
    name, data = key_file(fresh)
    address, half, size = f"/v1/keys/{name}", len(data) // 2, len(data)
    refused(raw.get(address), 404, "unknown", "PUT")
    first = BINARY | {"Content-Range": f"bytes 0-{half - 1}/{size}"}
    answer = raw.put(address, content=data[:half], headers=first)
    assert (answer.status_code, answer.json()["state"]) == (202, "partial")
    assert raw.get(address).json() == {"state": "partial", "offset": half, "bytes": size}
    # Not where it ended, and not of the stated length.
    for wrong in (f"bytes 0-{half - 1}/{size}", f"bytes {half + 1}-{half + 10}/{size}"):
        part = data[:half] if " 0-" in wrong else data[:10]
        refused(raw.put(address, content=part, headers=BINARY | {"Content-Range": wrong}), 409)
    for wrong in ("bytes 5-1/2", "bytes 0-9/5", "lines 0-9/10", "bytes 0-8/20"):
        headers = BINARY | {"Content-Range": wrong}
        refused(raw.put(address, content=data[:10], headers=headers), 416, "FIRST-LAST/TOTAL")
    run = f"/v1/models/square/runs/{uuid4().hex}"
    refused(raw.put(run, params={"keys": name}, content=b"x", headers=BINARY), 409, "complete")
    fresh.save(tmp_path / "eval.key")
    told: list[tuple[int, int]] = []
    with Remote(str(raw.base_url)) as remote:
        assert remote.upload(tmp_path / "eval.key", progress=lambda *of: told.append(of)) == name
        assert remote.upload(fresh, progress=lambda *of: told.append(of)) == name
    # From where the first part ended, 1 MiB at a time, and once.
    sent = [done for done, total in told if total == size]
    assert len(told) == len(sent) == -(-(size - half) // 2**20)
    assert half < sent[0] <= half + 2**20
    assert sent[-1] == size
    assert raw.get(address).json()["state"] == "complete"
    assert raw.put(address, content=data, headers=BINARY).status_code == 201
    assert raw.delete(address).status_code == 204
    refused(raw.get(address), 404)


def test_a_secret_key_is_refused_and_not_stored(
    raw: httpx.Client, keys: fhe.Keys, tmp_path: Path, place: str
) -> None:
    keys.save(tmp_path / "secret.key")
    data = (tmp_path / "secret.key").read_bytes()
    name = data[-32:].hex()
    answer = raw.put(f"/v1/keys/{name}", content=data, headers=BINARY)
    refused(answer, 415, "a secret key", "not read", "make new keys")
    refused(raw.get(f"/v1/keys/{name}"), 404)
    run = f"/v1/models/square/runs/{uuid4().hex}"
    with Remote(place) as remote:
        good = remote.upload(keys.evaluation)
        answer = raw.put(run, params={"keys": good}, content=data, headers=BINARY)
        refused(answer, 415, "a secret key")
        with pytest.raises(LoadError, match="not sent"):
            remote.upload(tmp_path / "secret.key")


def other_parameters() -> fhe.EvaluationKeys:
    return fhe.ckks(degree=2**11, moduli=[50, 40], special=[50], insecure=True).keygen().evaluation


def test_wrong_key_files_are_refused_and_removed(raw: httpx.Client, keys: fhe.Keys) -> None:
    name, data = key_file(CONTEXT.keygen(rotations=[1]).evaluation)
    short, other, x = data[:-1000], other_parameters().to_bytes(), keys.encrypt(X).to_bytes()
    altered = bytearray(data)
    altered[len(data) // 2] ^= 1
    cases = [
        (name, b"", 400, "the file's head"),
        (name, b"not a key file" * 20, 400, "CWFHE"),
        (name, data[:20], 400, "head"),
        (name, short, 400, "length"),
        (other[-32:].hex(), other, 422, "model"),
        (x[-32:].hex(), x, 415, "ciphertext"),
        (uuid4().hex * 2, data, 400, "checksum"),
        ("a" * 63 + "b", bytes(altered[:-32]) + bytes.fromhex("a" * 63 + "b"), 400, "altered"),
    ]
    for fingerprint, body, status, said in cases:
        answer = raw.put(f"/v1/keys/{fingerprint}", content=body, headers=BINARY)
        refused(answer, status, said)
        refused(raw.get(f"/v1/keys/{fingerprint}"), 404)
    refused(raw.put("/v1/keys/short", content=data, headers=BINARY), 400, "64 hexadecimal")
    refused(raw.put(f"/v1/keys/{name}", content=data), 415, "octet-stream")


def test_wrong_requests_to_run_are_refused_before_work(
    raw: httpx.Client, keys: fhe.Keys, place: str
) -> None:
    with Remote(place) as remote:
        name = remote.upload(keys.evaluation)
        lacking = CONTEXT.keygen()
        bare = remote.upload(lacking.evaluation)
    x = keys.encrypt(X)
    other = fhe.ckks(degree=2**11, moduli=[50, 40], special=[50], insecure=True).keygen()
    cases = [
        (name, x.to_bytes()[:-9], 400, "truncated"),
        (name, b"nothing at all, and long enough", 400, "CWFHE"),
        (name, keys.evaluation.to_bytes(), 415, "evaluation keys"),
        (name, lacking.encrypt(X).to_bytes(), 409, "secret"),
        (name, other.encrypt(X).to_bytes(), 409, "parameters"),
        (name, (x * 0.5).to_bytes(), 422, "noise"),
        (name, keys.encrypt(X, level=1).to_bytes(), 422, "level 2"),
        (name, fhe.CiphertextSet({"y": x}).to_bytes(), 422, "CiphertextSet"),
        (bare, lacking.encrypt(X).to_bytes(), 422, "galois.5"),
        ("f" * 64, x.to_bytes(), 404, "uploaded"),
        ("short", x.to_bytes(), 400, "64 hexadecimal"),
    ]
    for named, body, status, said in cases:
        address = f"/v1/models/square/runs/{uuid4().hex}"
        answer = raw.put(address, params={"keys": named}, content=body, headers=BINARY)
        refused(answer, status, said)
    good = {"keys": name}
    for wrong, status in (("/v1/models/none/runs/" + "a" * 32, 404), ("/v1/none", 404)):
        refused(raw.put(wrong, params=good, content=b"x", headers=BINARY), status)
    refused(raw.put("/v1/models/square/runs/1", params=good, content=b"x", headers=BINARY), 400)
    address = f"/v1/models/square/runs/{uuid4().hex}"
    refused(raw.put(address, params=good, content=iter([b"x"]), headers=BINARY), 411)
    refused(raw.put(address, params=good, content=b"x"), 415, "octet-stream")
    answer = raw.put(address, params=good | {"wait": "long"}, content=x.to_bytes(), headers=BINARY)
    refused(answer, 400, "wait")
    refused(raw.get(f"/v1/runs/{'b' * 32}"), 404, "unknown")
    refused(raw.post("/v1/models"), 405)


def test_a_repeated_request_has_the_first_result_and_an_id_belongs_to_one_request(
    raw: httpx.Client, keys: fhe.Keys, place: str
) -> None:
    with Remote(place) as remote:
        params = {"keys": remote.upload(keys.evaluation)}
    run = uuid4().hex
    address, body = f"/v1/models/square/runs/{run}", keys.encrypt(X).to_bytes()
    first = raw.put(address, params=params, content=body, headers=BINARY)
    again = raw.put(address, params=params, content=body, headers=BINARY)
    assert first.status_code == 200
    assert (first.content, first.headers["cloakwork-run-seconds"]) == (
        again.content,
        again.headers["cloakwork-run-seconds"],
    )
    assert raw.get(f"/v1/runs/{run}").json()["state"] == "done"
    assert raw.get(f"/v1/runs/{run}/result").content == first.content
    other = keys.encrypt(X).to_bytes()
    refused(raw.put(address, params=params, content=other, headers=BINARY), 409, "another request")


def test_limits_are_held_by_headers_before_a_body_is_read(tmp_path: Path, keys: fhe.Keys) -> None:
    name, data = key_file(keys.evaluation)
    limits = Limits(insecure=True, request_bytes=100, key_set_bytes=len(data) - 1)
    with running(served(tmp_path, limits)) as url, httpx.Client(base_url=url) as raw:
        address = f"/v1/models/square/runs/{uuid4().hex}"
        answer = raw.put(address, params={"keys": name}, content=b"x" * 101, headers=BINARY)
        refused(answer, 413, "at most 100 bytes")
        refused(raw.put(f"/v1/keys/{name}", content=data, headers=BINARY), 413)
        part = BINARY | {"Content-Range": f"bytes 0-999/{len(data)}"}
        refused(raw.put(f"/v1/keys/{name}", content=data[:1000], headers=part), 413, "key set")
    assert list((tmp_path / "store").iterdir()) == []


def test_keys_beyond_the_quota_replace_the_least_recently_used(
    tmp_path: Path, keys: fhe.Keys
) -> None:
    size = len(keys.evaluation.to_bytes())
    limits = Limits(insecure=True, keys_bytes=size * 5 // 2)
    sets = [CONTEXT.keygen(rotations=[1]).evaluation for _ in range(3)]
    with running(served(tmp_path, limits)) as url, Remote(url) as remote:
        names = [remote.upload(one) for one in sets[:2]]
        remote._http.get(f"/v1/keys/{names[0]}")
        names.append(remote.upload(sets[2]))
        held = {path.stem for path in (tmp_path / "store").iterdir()}
        assert held == {names[0], names[2]}
        # Only the client that holds them brings them back, once and by itself.
        with Remote(url) as other, pytest.raises(ServingError, match=r"unknown ones.*upload the"):
            other.run(b"x", keys=names[1])
        with pytest.raises(ServingError, match="send the file as it was written"):
            remote.run(b"x", keys=names[1])
        assert remote._http.get(f"/v1/keys/{names[1]}").json()["state"] == "complete"
    # Started again, it has them.
    with running(served(tmp_path, limits)) as url, httpx.Client(base_url=url) as raw:
        assert raw.get(f"/v1/keys/{names[1]}").json()["state"] == "complete"
    tight = Limits(insecure=True, keys_bytes=size * 3 // 2)
    with running(served(tmp_path / "b", tight)) as url, httpx.Client(base_url=url) as raw:
        name, data = key_file(sets[0])
        part = BINARY | {"Content-Range": f"bytes 0-{size - 2}/{size}"}
        assert raw.put(f"/v1/keys/{name}", content=data[:-1], headers=part).status_code == 202
        name, data = key_file(sets[1])
        answer = raw.put(f"/v1/keys/{name}", content=data, headers=BINARY)
        refused(answer, 503, "key storage")
        assert answer.headers["retry-after"].isdecimal()


def test_a_server_refuses_models_that_it_cannot_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("b").mkdir()
    good = ServedProgram(serving_setup.model(tmp_path))
    with pytest.raises(ParamError, match="128 bits of security"):
        create_app([good], folder=tmp_path / "s")
    for models in ([], [good, good]):
        with pytest.raises(ParamError, match="models"):
            create_app(models, TOYS, folder=tmp_path / "s")
    for wrong, rule in (
        ({"client_bytes": 3 << 20}, "client_bytes.*a piece of an upload"),
        ({"held_bytes": 1 << 10}, "held_bytes.*at least 8912896: twice 4456448"),
        ({"held_bytes": 5 << 20, "client_bytes": 5 << 20}, "held_bytes.*and a connection"),
    ):
        with pytest.raises(ParamError, match=rule):
            create_app([good], Limits(insecure=True, **wrong), folder=tmp_path / "s")
    with monkeypatch.context() as patch:
        patch.setattr(ServedProgram, "result_bytes", 20 << 20)
        with pytest.raises(ParamError, match=r"held_bytes.*a run of square, with its inputs"):
            create_app([good], Limits(insecure=True, held_bytes=16 << 20), folder=tmp_path / "s")
    with pytest.raises(ParamError, match="planned peak"):
        create_app([good], Limits(insecure=True, memory_bytes=1000), folder=tmp_path / "s")
    (tmp_path / "file").write_text("")
    with pytest.raises(ParamError, match="folder"):
        create_app([good], TOYS, folder=tmp_path / "file")


def test_programs_with_other_inputs_than_one_clients_ciphertexts_are_refused(
    tmp_path: Path,
) -> None:
    import cloakwork as cw

    x = owner().encrypt([0.5])
    bad = {
        "plain": cw.trace(lambda a: a + a, cw.zeros(3)),
        "mixed": cw.trace(lambda x, a: (x, a + a), x, cw.zeros(3)),
        "tied": cw.trace(lambda y: y + x, owner().encrypt([0.5])),
    }
    for name, program in bad.items():
        program.save(tmp_path / f"{name}.cwk")
        with pytest.raises(ParamError, match="model"):
            ServedProgram(tmp_path / f"{name}.cwk")
    with pytest.raises((LoadError, OSError)):
        ServedProgram(tmp_path / "none.cwk")


@pytest.mark.parametrize("name", list(Limits.__dataclass_fields__))
def test_a_senseless_limit_is_refused(name: str) -> None:
    for wrong in (0, -1, float("nan"), "many"):
        with pytest.raises(ParamError, match=name):
            Limits(**{name: wrong})


def test_a_program_of_several_ciphertexts_takes_and_gives_a_set(tmp_path: Path) -> None:
    import cloakwork as cw

    keys = owner()
    x, y = keys.encrypt([0.5]), keys.encrypt([0.25])
    cw.trace(lambda x, y: {"sum": x + y, "product": x * y}, x, y).save(tmp_path / "two.cwk")
    app = create_app([ServedProgram(tmp_path / "two.cwk")], TOYS, folder=tmp_path / "store")
    with running(app) as url, Remote(url) as remote:
        name = remote.upload(keys.evaluation)
        body = remote.run(fhe.CiphertextSet({"x": x, "y": y}), keys=name)
        found = fhe.from_bytes(body, insecure=True)
        assert keys.decrypt(found["sum"])[0].real == pytest.approx(0.75, abs=1e-6)
        assert keys.decrypt(found["product"])[0].real == pytest.approx(0.125, abs=1e-6)
        with pytest.raises(ServingError, match="without a name"):
            remote.run(x, keys=name)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"url": "ftp://x"}, "url"),
        ({"url": "http://"}, "url"),
        ({"url": "http://x:y"}, "url"),
        ({"timeout": 0}, "timeout"),
        ({"ca": "none"}, "ca"),
    ],
)
def test_a_remote_refuses_senseless_options(change: dict[str, Any], rule: str) -> None:
    for url in ("http://127.0.0.1", "https://127.0.0.1"):
        with pytest.raises(ParamError, match=rule):
            Remote(**({"url": url} | change))


def test_a_server_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_FIRST_SECONDS", 0.2)
    with nobody() as url, Remote(url) as remote, pytest.raises(ServingError) as caught:
        remote.models()
    assert (caught.value.status, "is it running?" in str(caught.value)) == (0, True)


class Strange(httpx.BaseTransport):
    """A server of something else."""

    def __init__(self, status: int, content: bytes) -> None:
        self.status, self.content = status, content

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(self.status, content=self.content)


@pytest.mark.parametrize(
    ("status", "content"),
    [(200, b"<html>"), (200, b"5"), (200, b"[1]"), (200, b'[{"name": 1}]'), (404, b"no"),
     (302, b""), (200, b"[" * 100_000)],
)  # fmt: skip
def test_an_answer_of_something_else_is_said(status: int, content: bytes) -> None:
    with Remote("http://x", transport=Strange(status, content)) as remote:
        with pytest.raises(ServingError, match="a server of cloakwork"):
            remote.models()
        with pytest.raises(ServingError, match="a server of cloakwork"):
            remote.model("m")


def test_a_folder_belongs_to_one_server_and_to_its_owner(tmp_path: Path) -> None:
    path = serving_setup.model(tmp_path)
    with running(served(tmp_path)), pytest.raises(ParamError, match="no other server"):
        create_app([ServedProgram(path)], TOYS, folder=tmp_path / "store")
    with running(served(tmp_path)):
        pass
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ParamError, match="go-w"):
        create_app([ServedProgram(path)], TOYS, folder=tmp_path / "open")
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o777


def test_a_full_disk_is_told_and_leaves_nothing(
    tmp_path: Path, keys: fhe.Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    name, data = key_file(keys.evaluation)
    with running(served(tmp_path)) as url, httpx.Client(base_url=url) as raw:
        with monkeypatch.context() as patched:
            patched.setattr(Partial, "append", full)
            answer = raw.put(f"/v1/keys/{name}", content=data, headers=BINARY)
            refused(answer, 503, "storage")
            assert "retry-after" in answer.headers
        refused(raw.get(f"/v1/keys/{name}"), 404)
        assert raw.put(f"/v1/keys/{name}", content=data, headers=BINARY).status_code == 201


def test_a_set_that_cannot_be_used_removes_no_other(tmp_path: Path, keys: fhe.Keys) -> None:
    name, data = key_file(keys.evaluation)
    limits = Limits(insecure=True, keys_bytes=len(data) * 3 // 2)
    with running(served(tmp_path, limits)) as url, httpx.Client(base_url=url) as raw:
        assert raw.put(f"/v1/keys/{name}", content=data, headers=BINARY).status_code == 201
        strange = other_parameters().to_bytes()
        for body in (strange, b"x" * len(data), keys.encrypt(X).to_bytes() + data[:400_000]):
            answer = raw.put(f"/v1/keys/{'c' * 64}", content=body, headers=BINARY)
            assert answer.status_code in (400, 415, 422)
        assert raw.get(f"/v1/keys/{name}").json()["state"] == "complete"


def test_logs_hold_no_part_of_a_key(
    tmp_path: Path, keys: fhe.Keys, caplog: pytest.LogCaptureFixture
) -> None:
    keys.save(tmp_path / "secret.key")
    data = (tmp_path / "secret.key").read_bytes()
    bodies = data, data[:-5], key_file(keys.evaluation)[1]
    with (
        caplog.at_level("DEBUG"),
        running(served(tmp_path), log_level="trace") as url,
        httpx.Client(base_url=url) as raw,
    ):
        for body in bodies:
            raw.put(f"/v1/keys/{'d' * 64}", content=body, headers=BINARY)
    assert "/v1/keys/" in caplog.text
    middle = data[len(data) // 2 :][:12]
    for shown in (middle.hex(), repr(middle)[2:-1], str(list(middle))):
        assert shown not in caplog.text


def test_an_upload_goes_on_where_a_lost_connection_s_last_bytes_ended(
    keys: fhe.Keys, tmp_path: Path
) -> None:
    data, asked = keys.evaluation.to_bytes(), []
    name = data[-32:].hex()
    with running(served(tmp_path)) as url, httpx.Client(base_url=url) as own:

        def late(request: httpx.Request) -> httpx.Response:
            """The server, to which bytes of an earlier connection come after its first answer."""
            body = request.read()
            asked.append((request.method, request.headers.get("Content-Range")))
            kept = {"content-type", "content-range"}
            headers = {one: value for one, value in request.headers.items() if one in kept}
            answer = own.request(request.method, request.url.path, content=body, headers=headers)
            if len(asked) == 1:
                part = BINARY | {"Content-Range": f"bytes 0-299999/{len(data)}"}
                own.put(f"/v1/keys/{name}", content=data[:300_000], headers=part)
            given = {"headers": answer.headers, "content": answer.content}
            return httpx.Response(answer.status_code, **given)

        with Remote(url, transport=httpx.MockTransport(late)) as remote:
            assert remote.upload(keys.evaluation) == name
    last = len(data) - 1
    assert asked == [
        ("GET", None), ("PUT", f"bytes 0-{last}/{len(data)}"),
        ("GET", None), ("PUT", f"bytes 300000-{last}/{len(data)}"), ("GET", None),
    ]  # fmt: skip
