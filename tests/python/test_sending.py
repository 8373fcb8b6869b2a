"""What may leave a process: equal after the way, refused where it was altered, secrets never."""

import copy
import dataclasses
import io
import multiprocessing
import os
import pickle
import random
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe, files, sending, zk
from cloakwork.compiler.client import Client
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.compiler.server import Server
from cloakwork.errors import LoadError, ParamError, SecretError, SendError
from cloakwork.sending import Secret, Sendable
from cloakwork.zk.groth16 import Prover
from sklearn.linear_model import LinearRegression

VECTORS = Path(__file__).parents[1] / "vectors" / "groth16" / "bn128"
PLONK = VECTORS.parents[1] / "plonk" / "bn128"
CONTEXT = fhe.ckks(degree=2**13, moduli=[50, 40, 40], special=[50])
KEYS = CONTEXT.keygen(rotations=[1])
ROWS = np.linspace(-1.0, 1.0, 24).reshape(8, 3)


@zk.program
def squares(a: zk.Lagrange[4]) -> Any:  # type: ignore[valid-type]
    return a * a


def instructions() -> zk.Program:
    builder = zk.ProgramBuilder(curve="bn254")
    given = builder.input("witness", zk.tensor("bn254.fr", 4))
    made = builder.allocate(zk.tensor("bn254.fr", 4))
    builder.call("mul", out=[made], args=[given, given.rotate(1)])
    builder.ret(made)
    return builder.build()


def program() -> cw.Program:
    return cw.trace(lambda a, b: a * b + cw.asarray([1.0, 2.0]), cw.zeros(2), cw.zeros(2))


@cache
def model() -> CompiledModel:
    fitted = LinearRegression().fit(ROWS, ROWS @ [1.0, -2.0, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fhe.InsecureWarning)
        return fhe.compile(fitted, ROWS, degree=2**11, insecure=True)


def key() -> zk.ProvingKey:
    return zk.read_zkey(VECTORS / "mixed.zkey")


def circuit() -> zk.Circuit:
    return zk.read_r1cs(VECTORS / "mixed.r1cs")


def proof() -> tuple[zk.Proof, zk.Public]:
    return Prover(key()).prove(VECTORS / "mixed1.wtns")


def integers(context: Any) -> Any:
    return context.keygen().encrypt([1, 2])


MADE: dict[str, Callable[[], Any]] = {
    "program": program,
    "encrypted program": lambda: cw.trace(lambda x: x * 2, KEYS.encrypt([1.0, 2.0])),
    "transcript": lambda: cw.heal.load(cw.heal.sample()),
    "instructions": instructions,
    "traced": lambda: squares.program,
    "ckks": lambda: CONTEXT,
    "bgv": lambda: fhe.bgv(2**12, 65537, [40, 40]),
    "bfv": lambda: fhe.bfv(2**12, 65537),
    "public key": lambda: KEYS.public,
    "evaluation keys": lambda: KEYS.evaluation,
    "fresh ciphertext": lambda: KEYS.encrypt([1.0, 2.0]),
    "ciphertext": lambda: KEYS.encrypt([1.0]) * KEYS.encrypt([2.0]),
    "bgv ciphertext": lambda: integers(fhe.bgv(2**12, 65537, [40, 40])),
    "bfv ciphertext": lambda: integers(fhe.bfv(2**12, 65537)),
    "ciphertexts": lambda: fhe.CiphertextSet({"x": KEYS.encrypt([1.0])}),
    "model": model,
    "server": lambda: model().split()[1],
    "proving key": key,
    "prover": lambda: Prover(key(), frugal=True),
    "circuit": circuit,
    "verifying key": lambda: key().verifying_key,
    "proof": lambda: proof()[0],
    "public": lambda: proof()[1],
    "plonk key": lambda: zk.plonk.VerifyingKey.load(PLONK / "mixed.vkey.json"),
    "plonk proof": lambda: zk.plonk.Proof.load(PLONK / "mixed1.proof.json"),
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fhe.InsecureWarning)
        yield


def ways(value: Sendable) -> Iterator[tuple[str, Any]]:
    """The value after each way of sending it."""
    for protocol in (2, 4, 5):
        yield f"protocol {protocol}", pickle.loads(pickle.dumps(value, protocol))
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, 5, buffer_callback=buffers.append)
    assert len(pickled) < 300
    yield "beside", pickle.loads(pickled, buffers=buffers)
    yield "mutable", pickle.loads(pickled, buffers=[bytearray(one) for one in buffers])
    data = value.to_bytes()
    options: dict[str, Any] = {"curve": value.curve} if isinstance(value, zk.Public) else {}
    if isinstance(value, CompiledModel):
        options["insecure"] = True
    for contents in (data, bytearray(data), memoryview(data)):
        yield "bytes", cast("Any", type(value)).from_bytes(contents, **options)


@pytest.mark.parametrize("name", MADE)
def test_what_arrives_is_what_was_sent(name: str) -> None:
    value = MADE[name]()
    for way, found in ways(value):
        assert type(found) is type(value), way
        assert found.to_bytes() == value.to_bytes(), way
    assert copy.copy(value) is value
    assert copy.deepcopy([value])[0] is value


@pytest.mark.parametrize("name", MADE)
def test_bytes_are_those_of_the_file(name: str, tmp_path: Path) -> None:
    value = MADE[name]()
    path = tmp_path / "file.cwk"
    value.save(path)
    opened = io.BytesIO()
    value.save(opened)
    assert path.read_bytes() == opened.getvalue() == value.to_bytes()


def test_what_arrives_computes_the_same() -> None:
    sent: Any = pickle.loads(pickle.dumps(program()))
    assert sent.run([1.0, 2.0], [3.0, 4.0]).outputs[0].tolist() == [4.0, 10.0]
    words = {"witness": [1, 2, 3, 4]}
    for one in (instructions(), squares.program):
        given = words if one.inputs == ["witness"] else {"a": [1, 2, 3, 4]}
        sent = pickle.loads(pickle.dumps(one))
        pairs = zip(sent.run(given).outputs.values(), one.run(given).outputs.values(), strict=True)
        assert all(bool((a == b).all()) for a, b in pairs)
    transcript = pickle.loads(pickle.dumps(cw.heal.load(cw.heal.sample())))
    assert transcript.run(verify=True).mismatches == []


def test_a_sent_server_serves_the_clients_of_the_model() -> None:
    client, server = model().split()
    sent = pickle.loads(pickle.dumps(server))
    encrypted = pickle.loads(pickle.dumps(client.encrypt(ROWS[0])))
    evaluation = pickle.loads(pickle.dumps(client.evaluation))
    results = pickle.loads(pickle.dumps(sent.run(encrypted, evaluation)))
    expected = next(iter(model().plain(ROWS[:1]).values()))
    found = client.decrypt(results)
    np.testing.assert_allclose(np.ravel(found), np.ravel(expected), atol=0.05)


def test_a_sent_prover_proves_the_same() -> None:
    prover = Prover(key())
    sent = pickle.loads(pickle.dumps(prover))
    witness = VECTORS / "mixed1.wtns"
    assert sent.prove(witness, blinding=(1, 2)) == prover.prove(witness, blinding=(1, 2))
    assert pickle.loads(pickle.dumps(Prover(key(), frugal=True))).frugal is True


def test_a_transcript_keeps_its_spelling() -> None:
    word = cw.asarray([5, 7])
    traced = cw.trace(lambda a: cw.ops.modmul(a, a, cw.asarray([17, 257])), word)
    made = traced.to_heal([word], branch="first")
    sent = pickle.loads(pickle.dumps(made))
    assert (sent._branch, sent._keep) == (made._branch, made._keep) == ("first", frozenset())


SAVED: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "program": (program, cw.load),
    "transcript": (MADE["transcript"], cw.heal.load),
    "instructions": (instructions, cw.load),
    "form in text": (lambda: instructions().to_text().encode(), cw.load),
    "model": (model, lambda given: fhe.load_model(given, insecure=True)),
    "ciphertext": (MADE["ciphertext"], fhe.load),
    "context": (MADE["bgv"], fhe.load),
    "proving key": (key, zk.read_zkey),
    "circuit": (circuit, zk.read_r1cs),
    "verifying key": (MADE["verifying key"], zk.VerifyingKey.load),
    "proof": (MADE["proof"], zk.Proof.load),
}


@pytest.mark.parametrize("name", SAVED)
def test_readers_take_contents_and_open_files(name: str, tmp_path: Path) -> None:
    make, load = SAVED[name]
    made = make()
    data = made if isinstance(made, bytes) else made.to_bytes()
    (tmp_path / "file").write_bytes(data)
    found = [load(data), load(bytearray(data)), load(io.BytesIO(data)), load(tmp_path / "file")]
    with (tmp_path / "file").open("rb") as opened:
        found.append(load(opened))
    assert len({one.to_bytes() for one in found}) == 1
    if not isinstance(made, bytes):
        assert found[0].to_bytes() == data


def test_arrays_are_loaded_from_contents(tmp_path: Path) -> None:
    cw.save(tmp_path / "x.npy", [1, 2])
    cw.savez(tmp_path / "x.npz", x=[1.0])
    assert cw.load((tmp_path / "x.npy").read_bytes()).tolist() == [1, 2]
    assert cw.load(io.BytesIO((tmp_path / "x.npz").read_bytes()))["x"].tolist() == [1.0]


def test_files_open_as_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParamError, match="open in binary"):
        cw.load(io.StringIO("text"))  # type: ignore[arg-type]
    for made in (program(), key().verifying_key, model()):
        with pytest.raises(ParamError, match="binary"):
            made.save(io.StringIO())  # type: ignore[arg-type]


def altered(data: bytes, seed: int) -> bytes:
    """The bytes with one bit flipped, cut, or continued."""
    draw = random.Random(seed)
    if seed % 5 == 0:
        return data[: draw.randrange(len(data))]
    if seed % 5 == 1:
        return data + b"\0"
    changed = bytearray(data)
    changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(changed)


@pytest.mark.parametrize("name", MADE)
def test_altered_bytes_in_a_pickle_are_refused(name: str) -> None:
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(MADE[name](), 5, buffer_callback=buffers.append)
    (data,) = map(bytes, buffers)
    for seed in range(25):
        with pytest.raises(LoadError):
            pickle.loads(pickled, buffers=[altered(data, seed)])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Keys", b""), "an object that can be sent"),
        ((None, b""), "an object that can be sent"),
        ((["Program"], b""), "an object that can be sent"),
        (("Program", None), "expected bytes"),
        (("Program", "text"), "expected bytes"),
        (("Program", np.zeros(3)[::2]), "expected bytes"),
        (("Program", b""), "an empty file"),
        (("Proof", b"{}"), "checksum differs"),
        (("Proof", b"{}", b"x" * 16), "checksum differs"),
        (("Proof", b"{}", None), "checksum differs"),
    ],
)
def test_calls_that_no_pickle_of_ours_has_are_refused(
    arguments: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(LoadError, match=words):
        sending.received(*arguments)


def test_bytes_of_another_kind_are_refused() -> None:
    program_bytes = program().to_bytes()
    for kind in ("Transcript", "Traced", "Instructions", "CompiledModel", "PublicKey"):
        with pytest.raises(LoadError):
            sending.received(kind, program_bytes)
    with pytest.raises(LoadError, match="Public"):
        sending.received("PublicKey", KEYS.encrypt([1.0]).to_bytes())
    with pytest.raises(LoadError):
        sending.received("Transcript", cw.heal.load(cw.heal.sample()).to_bytes(), b"", "x", 3)
    data = proof()[1].to_bytes()
    for facts in ((), ("bn128",), (3,), ("bn254", "more")):
        with pytest.raises(LoadError):
            sending.received("Public", data, sending._digest(data), *facts)


def subclasses(cls: type) -> Iterator[type]:
    for one in cls.__subclasses__():
        yield one
        yield from subclasses(one)


def test_every_class_that_is_sent_has_its_home() -> None:
    sent = {type(make()) for make in MADE.values()}
    assert {one._sent_as or one.__name__ for one in sent} == sending._HOMES.keys()
    for cls in subclasses(Sendable):
        ours = cls.__module__.startswith("cloakwork")
        assert not ours or cls in sent or any(issubclass(one, cls) for one in sent), cls


REFUSED: dict[str, Callable[[], Any]] = {
    "keys": lambda: KEYS,
    "client": lambda: model().split()[0],
    "witness": lambda: zk.read_wtns(VECTORS / "mixed1.wtns"),
    "function": lambda: squares,
    "builder": zk.ProgramBuilder,
    "matrix": lambda: fhe.Matrix(CONTEXT, np.eye(2)),
    "result": lambda: program().run([1.0, 2.0], [3.0, 4.0]),
    "device": cw.device.PythonDevice,
}


@pytest.mark.parametrize("name", REFUSED)
def test_secrets_and_handles_say_what_to_send_instead(name: str) -> None:
    value = REFUSED[name]()
    wanted = SecretError if isinstance(value, Secret) else SendError
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(wanted, match=r"pickled: .*(send|call)"):
            pickle.dumps([value], protocol)
    if isinstance(value, Secret):
        for copied in (copy.copy, copy.deepcopy):
            with pytest.raises(SecretError, match="neither copied nor pickled"):
                copied(value)
        assert not hasattr(value, "to_bytes")


def test_a_marked_tensor_is_not_sent() -> None:
    secret = cw.asarray([1.0, 2.0])
    secret.mark_secret()
    with pytest.raises(SecretError):
        pickle.dumps(secret)


def worked(job: tuple[Any, ...]) -> Any:
    """Run in a process of its own: the first of a job on the others."""
    first, *others = job
    if isinstance(first, Prover):
        return first.prove(others[0], blinding=(1, 2))
    return [one.tolist() for one in first.run(*others).outputs]


@pytest.mark.skipif(os.name != "posix", reason="the engine is for POSIX")
def test_another_process_computes_the_same() -> None:
    prover, witness = Prover(key()), str(VECTORS / "mixed1.wtns")
    jobs = [(program(), [1.0, 2.0], [3.0, 4.0]), (prover, witness)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        first, second = pool.map(worked, jobs)
    assert first == [[4.0, 10.0]]
    assert second == prover.prove(witness, blinding=(1, 2))


def test_sources_of_contents_are_no_files() -> None:
    assert cw.load(program().to_bytes()).sources == ()
    assert files.source_of(b"x").sources == ()


def test_a_client_never_has_a_form_as_bytes() -> None:
    assert issubclass(Client, Secret)
    assert not issubclass(Client, Sendable)
    assert issubclass(Server, Sendable)


def test_a_circuit_of_parts_is_sent_as_the_file_that_would_be_written(tmp_path: Path) -> None:
    parts = dataclasses.replace(circuit(), file=None)
    zk.write_r1cs(parts, tmp_path / "c.r1cs")
    assert parts.to_bytes() == (tmp_path / "c.r1cs").read_bytes()
    with pytest.raises(SendError, match="from files"):
        pickle.dumps(dataclasses.replace(key(), file=None))


class Earlier:
    """Pickles as an earlier version pickled an object."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __reduce__(self) -> tuple[Any, ...]:
        return self.parts[0], self.parts[1:]


def test_pickles_of_earlier_versions_are_read() -> None:
    fresh = KEYS.encrypt([1.0])
    for value in (fresh, KEYS.public, KEYS.evaluation):
        again = pickle.loads(pickle.dumps(Earlier(type(value)._unpickled, value.to_bytes())))
        assert again.to_bytes() == value.to_bytes()
    made = Earlier(CONTEXT._unpickled, CONTEXT.parameters, CONTEXT.levels, CONTEXT.bound)
    assert pickle.loads(pickle.dumps(made)) is CONTEXT


def test_memory_that_its_owner_may_change_is_copied() -> None:
    for name in ("program", "proving key", "circuit"):
        value = MADE[name]()
        buffers: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(value, 5, buffer_callback=buffers.append)
        (owned,) = map(bytearray, buffers)
        found = pickle.loads(pickled, buffers=[owned])
        owned[:] = bytes(len(owned))
        assert found.to_bytes() == value.to_bytes()
    held = np.frombuffer(b"abc", dtype=np.uint8)
    assert isinstance(files.contents_of(held, ""), memoryview)
    assert files.contents_of(memoryview(b"abcd")[::2], "") == b"ac"
