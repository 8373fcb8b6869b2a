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
    if not isinstance(value, fhe.Ciphertext | fhe.CiphertextSet):
        assert copy.deepcopy([value])[0] is value


def test_a_deep_copy_of_a_ciphertext_has_residues_of_its_own() -> None:
    value = KEYS.encrypt([1.0, 2.0])
    held = fhe.CiphertextSet({"x": value})
    copied, again = copy.deepcopy([value, value])
    assert copied is again
    assert copied.to_bytes() == value.to_bytes()
    for one in (copied, copy.deepcopy(held)["x"]):
        one.data[...] = 0
    assert abs(KEYS.decrypt(value)[0] - 1.0) < 1e-6


def test_a_report_and_the_points_of_a_key_are_not_changed_from_outside() -> None:
    model().report_json.clear()
    steps = next(name for name, one in model().report_json.items() if isinstance(one, dict | list))
    model().report_json[steps].clear()
    assert model().report_json[steps]
    with pytest.raises(TypeError):
        key().points["a"] = cw.zeros(1)  # type: ignore[index]


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
        (("Program", b""), "checksum differs"),
        (("Program", b"", sending._digest(cw.Program, "Program", (), b"")), "an empty file"),
        (("Prover", b"", b"", 10**5000), "Prover: "),
        (("Program", b"", b"", True), "expected 0 facts beside the bytes, got 1"),
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


def arrived(kind: str, data: bytes, *facts: Any) -> Any:
    """What a pickle of these parts gives, whose checksum is right."""
    cls: Any = sending._class_of(kind)
    return sending.received(kind, data, sending._digest(cls, kind, facts, data), *facts)


def test_bytes_of_another_kind_are_refused() -> None:
    program_bytes = program().to_bytes()
    for kind in ("Transcript", "Traced", "Instructions", "CompiledModel", "PublicKey"):
        facts: tuple[Any, ...] = ("later", ()) if kind == "Transcript" else ()
        with pytest.raises(LoadError, match=r"expected|got"):
            arrived(kind, program_bytes, *facts)
    with pytest.raises(LoadError, match="Public"):
        arrived("PublicKey", KEYS.encrypt([1.0]).to_bytes())
    with pytest.raises(LoadError, match="expected a generation"):
        arrived("Transcript", cw.heal.load(cw.heal.sample()).to_bytes(), "x", 3)
    for others in ((), ("bn128",), (3,), ("bn254", "more")):
        with pytest.raises(LoadError, match="expected"):
            arrived("Public", proof()[1].to_bytes(), *others)
    for frugal in (1, "", None):
        with pytest.raises(LoadError, match="frugal: expected True or False"):
            arrived("Prover", key().to_bytes(), frugal)


def test_the_checksum_is_of_the_name_and_of_the_facts_too() -> None:
    for name, other in (
        ("program", ("Server",)),
        ("server", ("Program",)),
        ("proving key", ("Prover", True)),
        ("prover", ("Prover", False)),
        ("public", ("Public", "bls12-381")),
        ("transcript", ("Transcript", "first", ())),
    ):
        _, (_, data, digest, *_) = MADE[name]().__reduce_ex__(4)
        with pytest.raises(LoadError, match="checksum differs"):
            sending.received(other[0], data, digest, *other[1:])


def test_a_class_of_a_users_own_is_not_pickled() -> None:
    class Proof(zk.Proof):
        pass

    class Doubled(Prover):
        pass

    with pytest.raises(SendError, match=r"Proof: not pickled: .* send `to_bytes\(\)`"):
        pickle.dumps(Proof.load(VECTORS / "mixed1.proof.json"))
    with pytest.raises(SendError, match="Doubled: not pickled"):
        pickle.dumps(Doubled(key()))


@pytest.mark.parametrize("name", ["public key", "evaluation keys", "ciphertexts", "prover"])
def test_objects_arrive_in_a_batch_and_in_a_trace(name: str) -> None:
    value = MADE[name]()
    data, pickled = value.to_bytes(), pickle.dumps(value)
    found: list[Any] = []

    def both() -> None:
        found.append(pickle.loads(pickled))
        found.append(type(value).from_bytes(data))

    def traced(a: cw.Tensor) -> cw.Tensor:
        both()
        return a + 1

    with cw.batch():
        both()
    assert cw.trace(traced, cw.zeros(2)).run([1.0, 2.0]).outputs[0].tolist() == [2.0, 3.0]
    assert [one.to_bytes() == data for one in found] == [True] * 4


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
    parts = dataclasses.replace(circuit())
    assert parts.file is None
    zk.write_r1cs(parts, tmp_path / "c.r1cs")
    assert parts.to_bytes() == (tmp_path / "c.r1cs").read_bytes()
    with pytest.raises(SendError, match="from files"):
        pickle.dumps(dataclasses.replace(key()))


def test_what_is_replaced_in_a_circuit_is_sent() -> None:
    changed = dataclasses.replace(circuit(), outputs=1, public_inputs=2)
    for sent in (zk.Circuit.from_bytes(changed.to_bytes()), pickle.loads(pickle.dumps(changed))):
        assert (sent.outputs, sent.public_inputs) == (1, 2)
    other = dataclasses.replace(key(), public=0)
    for refused in (other.to_bytes, lambda: pickle.dumps(Prover(other))):
        with pytest.raises(SendError, match="made of parts"):
            refused()


BYTES_ALONE: dict[str, Callable[[Any], Any]] = {
    "program": cw.Program.from_bytes,
    "model": CompiledModel.from_bytes,
    "server": Server.from_bytes,
    "circuit": zk.Circuit.from_bytes,
    "proving key": zk.ProvingKey.from_bytes,
    "prover": Prover.from_bytes,
    "verifying key": zk.VerifyingKey.from_bytes,
    "proof": zk.Proof.from_bytes,
    "plonk key": zk.plonk.VerifyingKey.from_bytes,
    "plonk proof": zk.plonk.Proof.from_bytes,
    "public": lambda given: zk.Public.from_bytes(given, "bn254"),
}


@pytest.mark.parametrize("name", BYTES_ALONE)
def test_from_bytes_opens_no_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file.cwk"
    MADE[name]().save(path)
    with path.open("rb") as opened:
        for given in (str(path), path, opened, None, 3):
            with pytest.raises(ParamError, match=r"^the bytes: got .*, expected bytes; for a file"):
                BYTES_ALONE[name](given)


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
    owned_array = np.frombuffer(bytearray(b"abc"), dtype=np.uint8)
    shown = owned_array[:]
    shown.flags.writeable = False
    alone = np.array([97, 98, 99], dtype=np.uint8)
    alone.flags.writeable = False
    for view in (
        shown,
        memoryview(cast("Any", shown)),
        shown[:],
        memoryview(bytearray(b"abc")).toreadonly(),
    ):
        assert type(files.contents_of(view, "")) is bytes
    taken = files.contents_of(alone, "")
    alone.flags.writeable = True
    alone[:] = 0
    assert taken == b"abc"
