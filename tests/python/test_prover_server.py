"""A server of proofs: jobs that survive it, priorities, repeated requests, refusals."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import httpx
import pytest
import uvicorn
from cloakwork import zk
from cloakwork.cli import main
from cloakwork.errors import LoadError, ParamError, ProofError, ServingError
from cloakwork.serving import (
    ProverLimits,
    RemoteProver,
    ServedProver,
    create_prover_app,
    uvicorn_config,
)
from cloakwork.serving.proving.journal import Entry, Journal
from cloakwork.zk.circom.verifying import verify
from python.serving_setup import running

VECTORS = Path(__file__).parents[1] / "vectors"
GROTH16, PLONK = VECTORS / "groth16" / "bn128", VECTORS / "plonk" / "bn128"
CIRCUITS = VECTORS / "witness"
BINARY = {"Content-Type": "application/octet-stream"}
JSON = {"Content-Type": "application/json"}
WITNESS = (GROTH16 / "mixed1.wtns").read_bytes()
OTHER = (GROTH16 / "mixed2.wtns").read_bytes()
PUBLIC = json.loads((GROTH16 / "mixed1.public.json").read_text())


class Gated(ServedProver):
    """A prover, held up at a gate; the jobs that it began."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.gate, self.began = threading.Event(), []  # type: ignore[var-annotated]

    def run(self, requests: Any, keys: Any, progress: Any, threads: Any) -> Any:
        self.began.append(requests[0]["entry"].id)
        while not self.gate.wait(0.005):
            progress(0, 1)
        return super().run(requests, keys, progress, threads)


@pytest.fixture
def gated() -> Gated:
    return Gated(GROTH16 / "mixed.zkey")


def until(condition: Callable[[], object]) -> None:
    end = monotonic() + 120
    while not condition():
        assert monotonic() < end
        sleep(0.005)


@contextmanager
def server(folder: Path, *provers: ServedProver, **limits: Any) -> Iterator[httpx.Client]:
    app = create_prover_app(provers, ProverLimits(**limits), folder=folder / "jobs")
    with running(app) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client


@contextmanager
def process_of(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server of the command line, and its address; it is killed at the end."""
    command = [
        str(Path(sys.executable).with_name("cloakwork")), "serve-prover",
        str(GROTH16 / "mixed.zkey"), "--port", "0", "--store", str(folder / "jobs"),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, b"")
            place = next(line for line in lines if line.startswith(b"serving at "))
            yield process, place.split()[2].decode().rstrip(";")
        finally:
            process.kill()


def job(prover: str = "mixed", name: str | None = None) -> str:
    return f"/v1/provers/{prover}/jobs/{name or uuid4().hex}"


def put(client: httpx.Client, address: str, body: bytes = WITNESS, **params: Any) -> httpx.Response:
    return client.put(address, content=body, headers=BINARY, params=params)


def holds(answer: httpx.Response, vkey: Path = GROTH16 / "mixed.vkey.json") -> bool:
    assert answer.status_code == 200, answer.text
    told = answer.json()
    return verify(vkey, told["public"], told["proof"])


def refused(answer: httpx.Response, status: int, *said: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.json().keys() == {"error", "expected", "got", "hint"}
    for one in said:
        assert one in answer.text


@pytest.fixture(scope="module")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the key of a circuit that has a program."""
    folder = tmp_path_factory.mktemp("arrays")
    zk.groth16.setup(CIRCUITS / "arrays.r1cs", folder / "arrays.zkey")
    return folder / "arrays.zkey"


@pytest.fixture(scope="module")
def url(arrays: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    provers = [
        ServedProver(GROTH16 / "mixed.zkey"),
        ServedProver(PLONK / "mixed.zkey", name="plonk"),
        ServedProver(arrays, wasm=CIRCUITS / "arrays.wasm"),
    ]
    folder = tmp_path_factory.mktemp("server")
    with running(create_prover_app(provers, folder=folder / "jobs")) as found:
        yield found


@pytest.fixture
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=120) as found:
        yield found


def test_proofs_of_both_systems_hold_and_have_the_witness_s_public_signals(
    client: httpx.Client,
) -> None:
    answer = put(client, job())
    assert holds(answer)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["public"] == PUBLIC
    answer = put(client, job("plonk"))
    assert holds(answer, PLONK / "mixed.vkey.json")
    assert answer.json()["public"] == PUBLIC


def test_inputs_are_proved_where_the_server_has_the_circuit_s_program(
    client: httpx.Client, arrays: Path
) -> None:
    inputs = (CIRCUITS / "arrays.json").read_bytes()
    answer = client.put(job("arrays"), content=inputs, headers=JSON)
    told = answer.json()
    key = client.get("/v1/provers/arrays/verifying-key").json()
    assert key == json.loads(zk.read_zkey(arrays).verifying_key.to_json())
    assert verify(key, told["public"], told["proof"])
    _, public = zk.Prover(arrays).prove(CIRCUITS / "arrays.wtns")
    assert told["public"] == json.loads(public.to_json())


def test_provers_say_what_they_are(client: httpx.Client) -> None:
    mixed, plonk, arrays = client.get("/v1/provers").json()
    assert mixed == {
        "name": "mixed", "system": "groth16", "curve": "bn254", "wires": 17, "public_signals": 3,
        "takes": ["application/octet-stream"],
    }  # fmt: skip
    assert (plonk["name"], plonk["system"]) == ("plonk", "plonk")
    assert arrays["takes"] == ["application/octet-stream", "application/json"]
    assert client.get("/v1/provers/plonk").json() == plonk
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/ready").json() == {"status": "ready"}
    told = client.get("/v1/status").json()
    assert told["provers_in_memory"] == ["mixed", "plonk", "arrays"]
    assert told["input_bytes_on_disk"] == 0


@pytest.mark.parametrize(
    ("prover", "body", "kind", "status", "said"),
    [
        ("other", WITNESS, BINARY, 404, "mixed or plonk or arrays"),
        ("mixed", WITNESS[:-1], BINARY, 400, "the witness"),
        ("mixed", b"wtns", BINARY, 400, "the body"),
        ("mixed", b"", BINARY, 400, "the witness"),
        ("mixed", WITNESS + bytes(5000), BINARY, 413, "at most"),
        ("mixed", (CIRCUITS / "bus.wtns").read_bytes(), BINARY, 422, "of another circuit"),
        ("arrays", OTHER, BINARY, 422, "of another circuit"),
        ("mixed", b"{}", JSON, 415, "application/octet-stream"),
        ("mixed", WITNESS, {"Content-Type": "text/plain"}, 415, "text/plain"),
        ("arrays", b"{}", JSON, 422, "input"),
        ("arrays", b"{", JSON, 400, "expected JSON"),
        ("arrays", b'{"a": [1, 2], "k": 3}', JSON, 422, "input"),
    ],
)
def test_what_is_no_witness_of_the_circuit_is_refused(
    client: httpx.Client, prover: str, body: bytes, kind: dict[str, str], status: int, said: str
) -> None:
    answer = client.put(job(prover), content=body, headers=kind)
    refused(answer, status, said)
    assert "jobs" not in answer.text.replace("/v1/jobs", "")


def test_a_wrong_witness_is_refused_without_its_values(client: httpx.Client) -> None:
    values = bytearray(WITNESS)
    values[-32:-24] = (123456789).to_bytes(8, "little")
    answer = put(client, job(), bytes(values))
    refused(answer, 422, "the witness", "does not hold")
    assert "123456789" not in answer.text


@pytest.mark.parametrize(
    ("address", "method", "status"),
    [
        ("/v1/jobs/" + "0" * 32, "GET", 404),
        ("/v1/jobs/" + "0" * 32 + "/result", "GET", 404),
        ("/v1/jobs/" + "0" * 32, "DELETE", 404),
        ("/v1/jobs/..", "GET", 404),
        ("/v1/jobs/short", "GET", 400),
        ("/v1/provers/mixed/jobs/" + "A" * 32, "PUT", 400),
        ("/v1/models", "GET", 404),
        ("/v1/provers/mixed/jobs/" + "0" * 32 + "?priority=1001", "PUT", 400),
        ("/v1/provers/mixed/jobs/" + "0" * 32 + "?priority=1e3", "PUT", 400),
        ("/v1/provers/mixed/jobs/" + "0" * 32 + "?wait=-1", "PUT", 400),
    ],
)
def test_addresses_and_options_that_are_none_are_refused(
    client: httpx.Client, address: str, method: str, status: int
) -> None:
    content = WITNESS if method == "PUT" else None
    headers = BINARY if method == "PUT" else {}
    refused(client.request(method, address, content=content, headers=headers), status)


def test_jobs_begin_by_priority_and_then_in_their_order(gated: Gated, tmp_path: Path) -> None:
    with server(tmp_path, gated) as client:
        names = [uuid4().hex for _ in range(5)]
        for name, priority in zip(names, (0, 0, 5, -3, 5), strict=True):
            answer = put(client, job(name=name), wait=0, priority=priority)
            assert answer.status_code == 202
            assert answer.json()["priority"] == priority
            until(lambda: gated.began)
        assert client.get(f"/v1/jobs/{names[0]}").json()["state"] == "running"
        assert client.get(f"/v1/jobs/{names[3]}").json()["state"] == "queued"
        gated.gate.set()
        for name in names:
            assert holds(client.get(f"/v1/jobs/{name}/result", params={"wait": 25}))
    assert gated.began == [names[at] for at in (0, 2, 4, 1, 3)]


def test_a_repeated_request_is_proved_once_and_another_one_is_refused(
    gated: Gated, tmp_path: Path
) -> None:
    with server(tmp_path, gated) as client:
        name = uuid4().hex
        assert put(client, job(name=name), wait=0).status_code == 202
        assert put(client, job(name=name), wait=0).status_code == 202
        refused(put(client, job(name=name), OTHER), 409, "another request")
        refused(put(client, job(name=name), WITNESS[:-1]), 409, "another request")
        gated.gate.set()
        first = put(client, job(name=name))
        assert holds(first)
        # A proof is blinded: a second one would differ.
        assert put(client, job(name=name)).content == first.content
        refused(put(client, job(name=name), OTHER), 409)
    assert gated.began == [name]


def test_a_cancelled_job_is_removed_and_the_same_request_begins_again(
    gated: Gated, tmp_path: Path
) -> None:
    with server(tmp_path, gated) as client:
        names = [uuid4().hex for _ in range(2)]
        for name in names:
            put(client, job(name=name), wait=0)
        until(lambda: gated.began)
        for name in names:
            assert client.delete(f"/v1/jobs/{name}").json()["state"] == "cancelled"
            refused(client.get(f"/v1/jobs/{name}/result"), 409, "cancelled")
        assert [*(tmp_path / "jobs").iterdir()] == []
        gated.gate.set()
        assert holds(put(client, job(name=names[0])))
        assert client.delete(f"/v1/jobs/{names[0]}").json()["state"] == "done"
        assert holds(client.get(f"/v1/jobs/{names[0]}/result"))


def test_inputs_are_on_the_disk_for_their_owner_until_their_proof_is(
    gated: Gated, tmp_path: Path
) -> None:
    with server(tmp_path, gated) as client:
        name = uuid4().hex
        put(client, job(name=name), wait=0)
        files = {path.suffix: path for path in (tmp_path / "jobs").iterdir()}
        assert files.keys() == {".body", ".job"}
        assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files.values())
        assert stat.S_IMODE((tmp_path / "jobs").stat().st_mode) == 0o700
        assert client.get("/v1/status").json()["input_bytes_on_disk"] == len(WITNESS)
        with files[".body"].open("rb") as opened:
            assert opened.read() == WITNESS
            gated.gate.set()
            assert holds(put(client, job(name=name)))
            # What the removed file held is overwritten.
            until(lambda: opened.seek(0) == 0 and opened.read() == bytes(len(WITNESS)))
        until(lambda: len([*(tmp_path / "jobs").iterdir()]) == 1)
        [left] = (tmp_path / "jobs").iterdir()
        assert left.suffix == ".done"
        assert WITNESS[-64:] not in left.read_bytes()


def test_jobs_go_on_in_the_next_server_and_their_proofs_are_kept(
    gated: Gated, tmp_path: Path
) -> None:
    names = [uuid4().hex for _ in range(4)]
    with server(tmp_path, gated) as client:
        for name, priority in zip(names, (0, 1, 2, 3), strict=True):
            put(client, job(name=name), wait=0, priority=priority)
            until(lambda: gated.began)
    assert gated.began == names[:1]
    again = Gated(GROTH16 / "mixed.zkey")
    with server(tmp_path, again) as client:
        until(lambda: again.began)
        # The same request, by its inputs.
        assert put(client, job(name=names[2]), wait=0).status_code == 202
        refused(put(client, job(name=names[2]), OTHER), 409)
        again.gate.set()
        found = [client.get(f"/v1/jobs/{name}/result", params={"wait": 25}) for name in names]
        assert all(map(holds, found))
        assert again.began == names[::-1]
    with server(tmp_path, ServedProver(GROTH16 / "mixed.zkey")) as client:
        for name, answer in zip(names, found, strict=True):
            assert client.get(f"/v1/jobs/{name}/result").content == answer.content
        # Its inputs are gone: whether they are the same cannot be told.
        refused(put(client, job(name=names[0])), 409, f"GET /v1/jobs/{names[0]}/result")


def test_a_failure_is_kept_as_well(tmp_path: Path) -> None:
    name = uuid4().hex
    for _ in range(2):
        with server(tmp_path, ServedProver(GROTH16 / "mixed.zkey")) as client:
            if not (tmp_path / "jobs" / f"{name}.done").exists():
                put(client, job(name=name), WITNESS[:-1])
            refused(client.get(f"/v1/jobs/{name}/result"), 400, "the witness", "a whole file")
    [left] = (tmp_path / "jobs").iterdir()
    assert left.suffix == ".done"


@pytest.mark.parametrize("kills", [1, 3])
def test_no_job_is_lost_when_the_server_is_killed(tmp_path: Path, kills: int) -> None:
    names: list[str] = []
    for _ in range(kills):
        with process_of(tmp_path) as (process, url), httpx.Client(base_url=url) as client:
            for _ in range(8):
                names.append(uuid4().hex)
                assert put(client, job(name=names[-1]), wait=0).status_code in (200, 202)
            os.kill(process.pid, signal.SIGKILL)
    with process_of(tmp_path) as (process, url), httpx.Client(base_url=url, timeout=120) as client:
        for name in names:
            assert holds(client.get(f"/v1/jobs/{name}/result", params={"wait": 25}))
        process.send_signal(signal.SIGINT)
        process.wait(120)
    files = sorted(path.name for path in (tmp_path / "jobs").iterdir())
    assert files == sorted(f"{name}.done" for name in names)


def test_the_queue_and_the_disk_have_limits(gated: Gated, tmp_path: Path) -> None:
    with server(tmp_path, gated, queue=2, jobs_bytes=3 * len(WITNESS)) as client:
        for _ in range(2):
            assert put(client, job(), wait=0).status_code == 202
        answer = put(client, job(), wait=0)
        refused(answer, 503, "queue")
        assert int(answer.headers["Retry-After"]) >= 1
        assert client.get("/ready").status_code == 503
        gated.gate.set()
    gated.gate.clear()
    with server(tmp_path / "other", gated, jobs_bytes=3 * len(WITNESS) - 1) as client:
        for _ in range(2):
            assert put(client, job(), wait=0).status_code == 202
        refused(put(client, job(), wait=0), 503, "storage")
        gated.gate.set()
    assert not [*(tmp_path / "other" / "jobs").glob("*.part")]


def test_a_proof_that_takes_too_long_ends_and_stays_ended(gated: Gated, tmp_path: Path) -> None:
    name = uuid4().hex
    with server(tmp_path, gated, run_seconds=0.05) as client:
        refused(put(client, job(name=name)), 504, "at most 0.05 s")
    gated.gate.set()
    with server(tmp_path, gated) as client:
        refused(client.get(f"/v1/jobs/{name}/result"), 504)


def test_an_end_that_the_disk_does_not_take_is_told_and_the_job_stays(
    gated: Gated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = uuid4().hex
    with server(tmp_path, gated) as client:
        put(client, job(name=name), wait=0)

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Entry, "_write", full)
        gated.gate.set()
        refused(client.get(f"/v1/jobs/{name}/result"), 503, "storage")
        monkeypatch.undo()
        assert {path.suffix for path in (tmp_path / "jobs").iterdir()} == {".body", ".job"}
        # The same request is a new job.
        assert holds(put(client, job(name=name)))
        assert client.get("/health").status_code == 200
    assert gated.began == [name, name]


def test_results_are_forgotten_with_their_files(tmp_path: Path) -> None:
    with server(tmp_path, ServedProver(GROTH16 / "mixed.zkey"), result_seconds=0.3) as client:
        name = uuid4().hex
        assert holds(put(client, job(name=name)))
        until(lambda: not [*(tmp_path / "jobs").iterdir()])
        refused(client.get(f"/v1/jobs/{name}"), 404)


def test_a_client_that_leaves_amid_its_inputs_leaves_nothing(tmp_path: Path) -> None:
    with server(tmp_path, ServedProver(GROTH16 / "mixed.zkey")) as client:
        name, place = uuid4().hex, client.base_url
        head = (
            f"PUT {job(name=name)} HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream"
            f"\r\nContent-Length: {len(WITNESS)}\r\n\r\n"
        )
        with socket.create_connection((place.host, int(place.port or 0))) as raw:
            raw.sendall(head.encode() + WITNESS[:100])
            until(lambda: [*(tmp_path / "jobs").glob("*.part")] or True)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        until(lambda: client.get("/v1/status").json()["connections"] == 1)
        until(lambda: not [*(tmp_path / "jobs").iterdir()])
        assert client.get("/v1/status").json()["held_bytes"] < 1 << 20
        assert holds(put(client, job(name=name)))


def test_damaged_files_of_jobs_are_left_alone_and_told(
    gated: Gated, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = [uuid4().hex for _ in range(6)]
    with server(tmp_path, gated) as client:
        for name in names:
            put(client, job(name=name), wait=0)
    folder = tmp_path / "jobs"
    (folder / f"{names[0]}.job").write_bytes(b"\xff\n")
    (folder / f"{names[1]}.body").write_bytes(WITNESS[:-1])
    head = json.loads((folder / f"{names[2]}.job").read_bytes())
    (folder / f"{names[2]}.job").write_text(json.dumps(head | {"order": True}) + "\n")
    (folder / f"{names[3]}.job").write_text(json.dumps(head | {"version": 2}) + "\n")
    (folder / f"{names[4]}.job").write_text(json.dumps(head | {"prover": "gone"}) + "\n")
    unfinished = uuid4().hex
    (folder / f"{unfinished}.part").write_bytes(b"secret")
    (folder / f"{unfinished[::-1]}.body").write_bytes(b"secret")
    (folder / "notes.txt").write_text("mine")
    kept = {path.name for path in folder.iterdir() if path.stem in names or path.stem == "notes"}
    again = Gated(GROTH16 / "mixed.zkey")
    again.gate.set()
    with server(tmp_path, again) as client:
        assert holds(client.get(f"/v1/jobs/{names[5]}/result", params={"wait": 25}))
        assert again.began == [names[5]]
        refused(client.get(f"/v1/jobs/{names[0]}"), 404)
    told = [one.getMessage() for one in caplog.records if "job " in one.getMessage()]
    assert len(told) == 5
    assert "expected JSON" in caplog.text
    assert "'gone', which is not here" in caplog.text
    now = {path.name for path in folder.iterdir()}
    lost = {f"{names[5]}.job", f"{names[5]}.body"}
    # The inputs of an unreadable job are not removed either: somebody may mend it.
    assert kept - now == lost
    assert now - kept == {f"{names[5]}.done"}


def test_a_folder_is_one_server_s(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "jobs")
    with pytest.raises(ParamError, match="no other server"):
        Journal(tmp_path / "jobs")
    journal.close()
    (tmp_path / "jobs").chmod(0o777)
    with pytest.raises(ParamError, match="chmod go-w"):
        Journal(tmp_path / "jobs")


def test_provers_share_the_memory_and_the_least_used_goes(tmp_path: Path) -> None:
    provers = [ServedProver(PLONK / "mixed.zkey", name=name) for name in "abc"]
    kept = provers[0].kept_bytes
    assert kept > 0
    held = 16 << 20
    for one in provers:
        # Two of three fit into half of what is left.
        one.kept_bytes = 3 << 20
    app = create_prover_app(
        provers, ProverLimits(memory_bytes=held + (13 << 20), held_bytes=held),
        folder=tmp_path / "jobs",
    )  # fmt: skip
    with running(app) as url, httpx.Client(base_url=url, timeout=120) as client:
        seen = []
        for name in "acbaa":
            assert holds(put(client, job(name)), PLONK / "mixed.vkey.json")
            seen.append("".join(client.get("/v1/status").json()["provers_in_memory"]))
    assert seen == ["ac", "ac", "bc", "ab", "ab"]


def test_a_key_that_was_replaced_on_the_disk_is_not_used(
    arrays: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.zkey").write_bytes((GROTH16 / "mixed.zkey").read_bytes())
    provers = [ServedProver(tmp_path / "a.zkey"), ServedProver(PLONK / "mixed.zkey", name="b")]
    for one in provers:
        one.kept_bytes = 3 << 20
    held = 16 << 20
    with server(tmp_path, *provers, memory_bytes=held + (7 << 20), held_bytes=held) as client:
        name = uuid4().hex
        assert client.get("/v1/status").json()["provers_in_memory"] == ["b"]
        (tmp_path / "new").write_bytes(arrays.read_bytes())
        (tmp_path / "new").rename(tmp_path / "a.zkey")
        refused(put(client, job("a", name)), 503, "the key with which the server began")
        (tmp_path / "new").write_bytes((GROTH16 / "mixed.zkey").read_bytes())
        (tmp_path / "new").rename(tmp_path / "a.zkey")
        assert holds(put(client, job("a", name)))
    assert "cannot be loaded again" in caplog.text


def test_what_a_server_cannot_prove_it_says_at_its_start(arrays: Path, tmp_path: Path) -> None:
    prover = ServedProver(GROTH16 / "mixed.zkey")
    with pytest.raises(ParamError, match=r"memory_bytes: got .* a proof of mixed has"):
        create_prover_app(
            [prover], ProverLimits(memory_bytes=(16 << 20) + 100, held_bytes=16 << 20),
            folder=tmp_path,
        )  # fmt: skip
    with pytest.raises(ParamError, match=r"each with a name of its own"):
        create_prover_app([prover, prover], folder=tmp_path)
    with pytest.raises(ParamError, match="provers"):
        create_prover_app([], folder=tmp_path)
    with pytest.raises(ParamError, match="whose number of wires is"):
        ServedProver(arrays, wasm=CIRCUITS / "division.wasm")
    with pytest.raises(ParamError, match="whose curve is bls12_381"):
        ServedProver(arrays, wasm=CIRCUITS / "arrays381.wasm")
    with pytest.raises(ParamError, match="a name in addresses"):
        ServedProver(arrays, name="a/b")
    with pytest.raises(ParamError, match="held_bytes"):
        create_prover_app([prover], ProverLimits(held_bytes=1000), folder=tmp_path)
    damaged = bytearray(arrays.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "d.zkey").write_bytes(damaged)
    with pytest.raises((LoadError, ProofError)):
        ServedProver(tmp_path / "d.zkey")
    for wrong in ({"jobs_bytes": 0}, {"queue": 1.5}, {"result_seconds": -1}):
        with pytest.raises(ParamError, match=next(iter(wrong))):
            ProverLimits(**wrong)


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    token, prover = "x" * 20, ServedProver(GROTH16 / "mixed.zkey")
    app = create_prover_app([prover], folder=tmp_path / "jobs", token=token)
    with running(app) as url, httpx.Client(base_url=url) as client:
        refused(client.get("/v1/provers"), 401)
        refused(put(client, job()), 401)
        with RemoteProver(url, token=token) as remote:
            remote.prove(WITNESS, vkey=GROTH16 / "mixed.vkey.json")


def test_a_client_gets_proofs_of_files_bytes_and_inputs(url: str, arrays: Path) -> None:
    seen: list[tuple[int, int]] = []
    with RemoteProver(url) as remote:
        key = remote.verifying_key("mixed")
        assert key == zk.read_zkey(GROTH16 / "mixed.zkey").verifying_key
        given = (GROTH16 / "mixed1.wtns", str(GROTH16 / "mixed1.wtns"), WITNESS)
        for one in given:
            proof, public = remote.prove(
                one, vkey=key, prover="mixed", priority=3, progress=lambda *at: seen.append(at)
            )
            assert zk.groth16.verify(key, public, proof)
            assert [str(one) for one in public.signals] == PUBLIC
        proof, public = remote.prove(WITNESS, vkey=PLONK / "mixed.vkey.json", prover="plonk")
        assert zk.plonk.verify(PLONK / "mixed.vkey.json", public, proof)
        inputs = json.loads((CIRCUITS / "arrays.json").read_text())
        for one in (inputs, CIRCUITS / "arrays.json"):
            remote.prove(one, vkey=zk.read_zkey(arrays).verifying_key, prover="arrays")
        assert all(done <= total for done, total in seen)
        with pytest.raises(ParamError, match="the name of one of them: mixed, plonk, arrays"):
            remote.prove(WITNESS, vkey=key)
        with pytest.raises(ParamError, match="witness"):
            remote.prove(5, vkey=key, prover="mixed")  # type: ignore[arg-type]
        with pytest.raises(ServingError, match="a whole file") as caught:
            remote.prove(WITNESS[:-1], vkey=key, prover="mixed")
        assert caught.value.status == 400


def test_a_client_takes_no_proof_that_does_not_hold(url: str, arrays: Path) -> None:
    wrong = zk.read_zkey(arrays).verifying_key
    proof = json.loads((GROTH16 / "mixed1.proof.json").read_text())
    answers = {
        "other": {"proof": proof, "public": [*PUBLIC[:-1], "5"]},
        "more": {"proof": proof, "public": PUBLIC, "more": 1},
        "none": [1],
        "point": {"proof": proof | {"pi_a": ["1", "3", "1"]}, "public": PUBLIC},
    }

    def client(answer: object) -> RemoteProver:
        def reply(request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, json=answer)

        return RemoteProver("http://x", transport=httpx.MockTransport(reply))

    options = {"vkey": GROTH16 / "mixed.vkey.json", "prover": "mixed"}
    with client({"proof": proof, "public": PUBLIC}) as remote:
        remote.prove(WITNESS, **options)  # type: ignore[arg-type]
    with client(answers["other"]) as remote, pytest.raises(ProofError, match="does not"):
        remote.prove(WITNESS, **options)  # type: ignore[arg-type]
    for name in ("more", "none", "point"):
        with client(answers[name]) as remote, pytest.raises(ServingError, match="a proof"):
            remote.prove(WITNESS, **options)  # type: ignore[arg-type]
    with (
        RemoteProver(url) as remote,
        pytest.raises((ProofError, ServingError, ParamError, LoadError)),
    ):
        remote.prove(WITNESS, vkey=wrong, prover="mixed")


def test_a_client_goes_on_while_the_server_is_started_again(gated: Gated, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    found: list[Any] = []

    def ask() -> None:
        with RemoteProver(f"http://127.0.0.1:{port}", timeout=120) as remote:
            found.append(remote.prove(WITNESS, vkey=GROTH16 / "mixed.vkey.json", prover="mixed"))

    thread = threading.Thread(target=ask)
    with listening(port, gated, tmp_path):
        thread.start()
        until(lambda: gated.began)
    assert not found
    with listening(port, ServedProver(GROTH16 / "mixed.zkey"), tmp_path):
        thread.join(120)
    assert len(found) == 1


@contextmanager
def listening(port: int, prover: ServedProver, folder: Path) -> Iterator[None]:
    """A server at a known port."""
    config = uvicorn_config(
        create_prover_app([prover], folder=folder / "jobs"), port=port, log_level="critical"
    )
    thread = threading.Thread(target=(one := uvicorn.Server(config)).run)
    thread.start()
    try:
        until(lambda: one.started)
        yield
    finally:
        one.should_exit = True
        thread.join()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("KEY --host 0.0.0.0", "--host: got 0.0.0.0 without a token"),
        ("KEY --wasm other=c.wasm", "each NAME once, one of mixed"),
        ("KEY --wasm c.wasm --wasm mixed=c.wasm", "each NAME once"),
        ("KEY --memory-budget 16777300 --held-quota 16MiB", "--memory-budget: got"),
        ("KEY --queue 0", "--queue: got 0"),
        ("KEY --jobs-quota x", "--jobs-quota: got x"),
        ("none.zkey", "none.zkey"),
        ("KEY KEY", "each with a name of its own"),
        ("KEY --parallel 1000", "--parallel: got 1000"),
        ("KEY --port 70000", "--port: got 70000"),
    ],
)
def test_a_server_that_cannot_be_does_not_start(
    line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: pytest.fail("it started"))
    (tmp_path / "mixed.zkey").write_bytes((GROTH16 / "mixed.zkey").read_bytes())
    words = ["serve-prover", *line.replace("KEY", "mixed.zkey").split(), "--port", "0"]
    assert main(words if "--port" not in line else words[:-2]) == 2
    assert said in capsys.readouterr().err
