"""Requests, disks and servers that once made a server of proofs lose a job, or fooled a client."""

import errno
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from cloakwork import zk
from cloakwork.errors import ParamError, ServingError
from cloakwork.serving import RemoteProver, ServedProver, create_prover_app
from cloakwork.serving.partial import Partial
from cloakwork.serving.proving import jobs
from cloakwork.serving.proving.journal import Entry
from python.serving_setup import running
from python.test_prover_server import (
    BINARY,
    CIRCUITS,
    GROTH16,
    JSON,
    OTHER,
    PUBLIC,
    WITNESS,
    Gated,
    holds,
    job,
    put,
    refused,
    server,
    until,
)


def test_requests_of_one_id_never_get_each_other_s_proof(tmp_path: Path) -> None:
    public = {WITNESS: PUBLIC, OTHER: json.loads((GROTH16 / "mixed2.public.json").read_text())}
    with server(tmp_path, ServedProver(GROTH16 / "mixed.zkey")) as client:

        def ask(given: tuple[str, bytes]) -> tuple[bytes, int, Any]:
            answer = put(client, job(name=given[0]), given[1])
            return given[1], answer.status_code, answer.json()

        with ThreadPoolExecutor(5) as pool:
            for _ in range(25):
                name = uuid4().hex
                asked = [(name, WITNESS), *[(name, OTHER)] * 4]
                found = list(pool.map(ask, asked))
                proved = [(body, told) for body, status, told in found if status == 200]
                assert {status for _, status, _ in found} <= {200, 409, 503}
                assert len({body for body, _ in proved}) == 1
                assert all(told["public"] == public[body] for body, told in proved)
        assert client.get("/v1/status").json()["open_runs"] == 0


@pytest.mark.parametrize(
    "answer",
    [
        {"proof": {}, "public": "PATH"},
        {"proof": "PATH", "public": PUBLIC},
        {"proof": "PATH", "public": "PATH"},
        {"proof": {}, "public": [5]},
        {"proof": {}, "public": None},
        {"proof": None, "public": ["1"]},
        {"proof": {}, "public": ["-1"]},
        {"proof": {}, "public": [str(2**300)]},
    ],
)
def test_a_server_s_answer_opens_no_file_of_the_client(answer: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps(["123456789"]))
    text = json.dumps(answer).replace("PATH", str(secret))
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=text))
    with (
        RemoteProver("http://x", transport=transport) as remote,
        pytest.raises(ServingError) as caught,
    ):
        remote.prove(WITNESS, vkey=GROTH16 / "mixed.vkey.json", prover="mixed")
    assert "123456789" not in str(caught.value)


def test_an_error_of_the_system_ends_no_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, prover = uuid4().hex, ServedProver(GROTH16 / "mixed.zkey")
    with server(tmp_path, prover) as client:

        def broken(*_: Any, **__: Any) -> None:
            raise OSError(errno.EMFILE, "Too many open files")

        monkeypatch.setattr(zk.groth16.Prover, "prove", broken)
        refused(put(client, job(name=name)), 503, "storage")
        monkeypatch.undo()
        assert (tmp_path / "jobs" / f"{name}.body").read_bytes() == WITNESS
        assert holds(put(client, job(name=name)))


def test_a_client_asks_again_for_a_job_that_found_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Short(Gated):
        def run(self, *given: Any) -> Any:
            if len(self.began) == 1:
                self.began.append("short")
                raise MemoryError
            return super().run(*given)

    prover = Short(GROTH16 / "mixed.zkey")
    prover.began.append("first")
    prover.gate.set()
    app = create_prover_app([prover], folder=tmp_path / "jobs")
    with running(app) as url, RemoteProver(url, timeout=120) as remote:
        remote.prove(
            WITNESS, vkey=GROTH16 / "mixed.vkey.json", prover="mixed", progress=lambda *_: None
        )
    assert len(prover.began) == 3


def test_a_job_that_found_no_room_is_tried_again_without_its_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_AGAIN_SECONDS", 0.2)
    name, prover = uuid4().hex, ServedProver(GROTH16 / "mixed.zkey")
    with server(tmp_path, prover) as client:
        prove = zk.groth16.Prover.prove
        failures = iter([MemoryError(), OSError(errno.EMFILE, "Too many open files")])

        def short(*given: Any, **options: Any) -> Any:
            if (error := next(failures, None)) is not None:
                raise error
            return prove(*given, **options)

        monkeypatch.setattr(zk.groth16.Prover, "prove", short)
        put(client, job(name=name), wait=0)
        until(lambda: client.get(f"/v1/jobs/{name}").json()["state"] == "done")
        assert holds(client.get(f"/v1/jobs/{name}/result"))
        assert client.get("/v1/status").json()["open_runs"] == 0
    assert next(failures, None) is None


def test_jobs_with_inputs_wait_for_the_circuit_s_program(tmp_path: Path) -> None:
    zk.groth16.setup(CIRCUITS / "arrays.r1cs", tmp_path / "arrays.zkey")
    inputs, name = (CIRCUITS / "arrays.json").read_bytes(), uuid4().hex
    with_program = Gated(tmp_path / "arrays.zkey", wasm=CIRCUITS / "arrays.wasm")
    with server(tmp_path, with_program) as client:
        params = {"wait": 0}
        client.put(job("arrays", name), content=inputs, headers=JSON, params=params)
    with server(tmp_path, ServedProver(tmp_path / "arrays.zkey")) as client:
        refused(client.get(f"/v1/jobs/{name}"), 404)
    assert (tmp_path / "jobs" / f"{name}.body").read_bytes() == inputs
    again = ServedProver(tmp_path / "arrays.zkey", wasm=CIRCUITS / "arrays.wasm")
    with server(tmp_path, again) as client:
        answer = client.get(f"/v1/jobs/{name}/result", params={"wait": 25})
        assert holds(answer, client.get("/v1/provers/arrays/verifying-key").json())


def test_no_refusal_quotes_a_body(tmp_path: Path) -> None:
    with server(tmp_path, ServedProver(GROTH16 / "mixed.zkey")) as client:
        answer = put(client, job(), b'{"secret": 123}')
        refused(answer, 400, "a whole .wtns file")
        assert "secret" not in answer.text
        assert "{\\" not in answer.text


def test_a_disk_that_fails_at_any_step_leaves_no_inputs_behind(
    gated_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, name = gated_server, uuid4().hex

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for owner, step in ((Entry, "_write"), (Partial, "append"), (Partial, "complete")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, step, full)
            refused(put(client, job(name=name)), 503, "storage")
        until(lambda: not [*(tmp_path / "jobs").iterdir()])
    with monkeypatch.context() as patch:
        patch.setattr(Partial, "discard", full)
        refused(put(client, job(name=name)), 503, "storage")
    assert client.get("/v1/status").json()["input_bytes_on_disk"] == 0
    assert put(client, job(name=name), wait=0).status_code == 202


@pytest.fixture
def gated_server(tmp_path: Path) -> Any:
    gated = Gated(GROTH16 / "mixed.zkey")
    with server(tmp_path, gated, jobs_bytes=3 * len(WITNESS)) as client:
        yield client
        gated.gate.set()


def test_inputs_that_are_being_sent_count_for_the_disk(gated_server: httpx.Client) -> None:
    begun = threading.Barrier(8)

    def slowly(number: int) -> int:
        def body() -> Any:
            yield WITNESS[:100]
            begun.wait(60)
            yield WITNESS[100:]

        headers = BINARY | {"Content-Length": str(len(WITNESS))}
        try:
            answer = gated_server.put(job(), content=body(), headers=headers, params={"wait": 0})
        except httpx.TransportError:
            return 503
        return answer.status_code

    with ThreadPoolExecutor(8) as pool:
        found = sorted(pool.map(slowly, range(8)))
    assert found == [202] * 3 + [503] * 5


def test_an_application_that_ended_is_not_started_again(tmp_path: Path) -> None:
    app = create_prover_app([ServedProver(GROTH16 / "mixed.zkey")], folder=tmp_path / "jobs")

    async def once() -> None:
        async with app.router.lifespan_context(app):
            pass

    import asyncio

    asyncio.run(once())
    with pytest.raises(ParamError, match="a new one: create it again"):
        asyncio.run(once())
