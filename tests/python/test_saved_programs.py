"""Programs of every kind in files: saved, loaded, and run by the names of inputs and results."""

import json
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe, ops, zk
from cloakwork.cli import main
from cloakwork.errors import (
    InputError,
    KeyMismatchError,
    LoadError,
    MissingKeyError,
    ParamError,
    SecretError,
)
from python.fhe_setup import bgv, ckks, error, integer_slots, unit_slots
from python.heal_writer import HealWriter

Q = cw.asarray([97, 193])
A, B = np.array([[3, 5], [90, 190]]), np.array([[7, 11], [50, 60]])
Pair = namedtuple("Pair", ["product", "total"])


def arithmetic(a: cw.Tensor, b: cw.Tensor) -> Pair:
    return Pair(ops.modmul(a, b, Q), ops.modsum(a, b, Q))


def recorded() -> cw.Program:
    return cw.trace(arithmetic, A, B)


def transcript() -> cw.heal.Transcript:
    """The product of two uploads, downloaded, and once more when the name has been used again."""
    writer = HealWriter()
    a, b, q = writer.upload(A), writer.upload(B), writer.upload([97, 193])
    out = writer.empty([2, 2])
    writer.op("_modmul_ttt", a, b, q, out, out=out)
    writer.download(out, A * B % [97, 193])
    writer.op("_modsum_ttt", out, b, q, out, out=out)
    writer.download(out, (A * B + B) % [97, 193])
    return writer


def instructions() -> zk.Program:
    """A function of the user's, a constant in a file, and one in the program."""
    b = zk.ProgramBuilder(curve="bn254")
    x = b.input("x", zk.poly(4))
    table = b.constant("table", zk.tensor("u64", 4), np.arange(4, dtype=np.uint64).tobytes())
    five = b.constant("five", zk.scalar(), [5])
    cubes, sums = b.allocate(zk.poly(4)), b.allocate(zk.tensor("u64", 4))
    b.function("cube", lambda x: x * x * x, outs=[zk.poly(4)], ins=[zk.poly(4)])
    b.call("cube", out=[cubes], args=[x])
    b.call("scale", out=[cubes], args=[five])
    b.call("add", out=[sums], args=[table, table])
    b.store(cubes, "cubes")
    b.ret(sums)
    return b.build()


@zk.program(curve="bn254")
def scaled(a: zk.Coef[4], s: zk.Scalar) -> dict[str, cw.Tensor]:
    return {"product": a * s, "drawn": zk.uniform(2)}


def test_a_recorded_program_is_loaded_with_its_names_and_types(tmp_path: Path) -> None:
    program = recorded()
    program.save(tmp_path / "p.cwk")
    loaded = cw.load(tmp_path / "p.cwk")
    assert isinstance(loaded, cw.Program)
    assert loaded.inputs == program.inputs == ["a", "b"]
    assert loaded.types == {"a": "i64[2, 2]", "b": "i64[2, 2]"}
    assert loaded.outputs == program.outputs == ["product", "total"]
    result = loaded.run({"b": B, "a": A})
    np.testing.assert_array_equal(result["product"], A * B % [97, 193])
    np.testing.assert_array_equal(result.named["total"], (A + B) % [97, 193])
    assert loaded.run(A, B).named.keys() == {"product", "total"}
    np.testing.assert_array_equal(loaded.bound({"b": B}).run(A)["product"], A * B % [97, 193])


def test_results_are_called_as_fields_keys_or_by_number() -> None:
    def named(*tensors: cw.Tensor) -> dict[str, cw.Tensor]:
        return {"all of them": tensors[0] + tensors[1]}

    program = cw.trace(named, A, B)
    assert (program.inputs, program.outputs) == (["tensors0", "tensors1"], ["all of them"])
    assert cw.trace(lambda a: (a, a + 1), A).outputs == ["out0", "out1"]
    assert cw.trace(abs, A).inputs == ["x"]


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"a": A}, r"got no b, expected each of a: i64\[2, 2\], b: i64\[2, 2\]"),
        ({"a": A, "b": B, "c": B}, r"inputs: got c, expected a: i64\[2, 2\], b: i64"),
        ({"a": A, "b": B[0]}, r"input b: expected i64\[2, 2\], got i64\[2\]"),
        ({"a": A, "b": B.astype(np.int32)}, r"input b: expected i64\[2, 2\], got i32\[2, 2\]"),
        ({"a": A, "b": [[0.5, 1], [2, 3]]}, r"input b"),
    ],
)
def test_wrong_inputs_are_named_with_the_list_of_all(
    inputs: dict[str, object], words: str, tmp_path: Path
) -> None:
    recorded().save(tmp_path / "p.cwk")
    for program in (recorded(), cw.load(tmp_path / "p.cwk")):
        with pytest.raises((ParamError, InputError), match=words):
            program.run(inputs)


def test_a_program_of_the_instruction_set_lives_in_every_form(tmp_path: Path) -> None:
    program = instructions()
    x = [1, 2, 3, 4]
    expected = [5, 40, 135, 320]
    forms = [tmp_path / "one" / "p.cwk", tmp_path / "two" / "p.json", tmp_path / "three" / "p.txt"]
    forms[0].parent.mkdir()
    for file in (*forms, tmp_path / "folder"):
        program.save(file)
        loaded = cw.load(file)
        assert isinstance(loaded, zk.Program)
        assert loaded.inputs == ["x"]
        outcome = loaded.run({"x": x}, functions={"cube": lambda x: x * x * x})
        assert outcome["cubes"].tolist() == expected
        assert sorted(outcome.outputs) == sorted(loaded.outputs)
        with pytest.raises(ParamError, match="functions: got no cube"):
            loaded.run({"x": x})
        again = loaded.save(tmp_path / "again.cwk")
        assert zk.Program.load(again).to_text() == loaded.to_text()
    # The container needs no other file.
    assert [file.name for file in forms[0].parent.iterdir()] == ["p.cwk"]
    assert zk.Program.load(forms[0]).to_json() == program.to_json()
    for file, kept in ((forms[1], "p.json"), (forms[2], "p.txt")):
        assert sorted(one.name for one in file.parent.iterdir()) == [kept, f"{kept}.constants"]
    with pytest.raises(ParamError, match=r"\.cwk, \.json or \.txt, or a folder"):
        program.save(tmp_path / "p.xyz")


def test_a_program_from_a_function_of_fields_lives(tmp_path: Path) -> None:
    program = zk.compile(scaled, memory_budget="1MiB")
    program.save(tmp_path / "p.cwk")
    loaded = cw.load(tmp_path / "p.cwk")
    assert isinstance(loaded, zk.Traced)
    assert (loaded.inputs, loaded.outputs) == (["a", "s"], ["product", "drawn"])
    assert loaded.types == program.types
    outcome = loaded.run({"a": [1, 2, 3, 4], "s": 7})
    assert outcome["product"].tolist() == [7, 14, 21, 28]
    assert not outcome.seeded
    drawn = {tuple(loaded.run({"a": [0] * 4, "s": 0})["drawn"].tolist()) for _ in range(3)}
    assert len(drawn) == 3
    seeded = [p.run({"a": [0] * 4, "s": 0}, seed=3)["drawn"].tolist() for p in (loaded, program)]
    assert seeded[0] == seeded[1]
    with pytest.raises(ParamError, match=r"got no s, expected each of a: bn254\.fr\[4\], s"):
        loaded.run({"a": [1, 2, 3, 4]})
    assert scaled([1, 2, 3, 4], 7)["product"].tolist() == [7, 14, 21, 28]


def test_a_transcript_takes_fresh_inputs_in_place_of_first_uploads(tmp_path: Path) -> None:
    path = transcript().write(tmp_path / "t.json")
    for held in (cw.load(path), _as_container(path, tmp_path / "t.cwk")):
        assert isinstance(held, cw.heal.Transcript)
        assert held.types == {"1": "i64[2, 2]", "2": "i64[2, 2]", "3": "i64[2]"}
        assert held.outputs == ["4", "4#2"]
        fresh = np.array([[1, 2], [3, 4]])
        result = held.run({"1": fresh})
        np.testing.assert_array_equal(result["4"], fresh * B % [97, 193])
        np.testing.assert_array_equal(result["4#2"], (fresh * B + B) % [97, 193])
        # The contents of the file are unchanged.
        assert held.run(verify=True).mismatches == []
        with pytest.raises(ParamError, match=r"inputs: got 9, expected 1: i64\[2, 2\], 2: i64"):
            held.run({"9": fresh})
        with pytest.raises(InputError, match=r"input 1: expected i64\[2, 2\], got i64\[2\]"):
            held.run({"1": fresh[0]})
        with pytest.raises(ParamError, match="verify: got 1, expected no fresh inputs"):
            held.run({"1": fresh}, verify=True)
        with pytest.raises(cw.errors.CloakworkError, match="modulus"):
            held.run({"3": [97, 0]})


def _as_container(path: Path, target: Path) -> cw.heal.Transcript:
    cw.heal.load(path).save(target)
    return cw.heal.load(target)


def test_a_transcript_s_program_is_saved_with_its_inputs(tmp_path: Path) -> None:
    path = transcript().write(tmp_path / "t.json")
    cw.heal.load(path).to_program(["1", "2"]).save(tmp_path / "p.cwk")
    loaded = cw.load(tmp_path / "p.cwk")
    assert loaded.inputs == ["1", "2"]
    np.testing.assert_array_equal(loaded.run({"1": B, "2": A})["4"], A * B % [97, 193])
    with pytest.raises(LoadError, match="expected a transcript, got a program"):
        cw.heal.load(tmp_path / "p.cwk")


Circuit = Callable[..., fhe.Ciphertext]


def _ckks_circuit(x: fhe.CkksCiphertext, y: fhe.CkksCiphertext) -> fhe.CkksCiphertext:
    return (x * y).rescale().rotate(4) + x.conjugate() * 0.5


@pytest.mark.parametrize("special", [0, 2])
def test_one_program_serves_many_clients(special: int, tmp_path: Path) -> None:
    first = ckks(256, 3, special=special)
    values = unit_slots(first, 1), unit_slots(first, 2)
    program = cw.trace(_ckks_circuit, *map(first.encrypt, values))
    needs = {"keys.relinearization", "keys.galois.113", f"keys.galois.{2 * 256 - 1}"}
    assert {name for name in program._core.input_names() if "." in name} == needs
    program.save(tmp_path / "p.cwk")
    loaded = cw.load(tmp_path / "p.cwk")
    assert loaded.inputs == program.inputs == ["x", "y", "keys"]
    assert loaded.encrypted == ["out0"]
    exact = np.roll(values[0] * values[1], -4) + np.conj(values[0]) * 0.5
    for _ in range(2):
        client = first.context.keygen(rotations=[4], conjugation=True)
        x, y = map(client.encrypt, values)
        for served in (program, loaded):
            (result,) = served.run(x, y).outputs
            eager = _ckks_circuit(x, y)
            assert result.key == client.key
            np.testing.assert_array_equal(np.asarray(result.data), np.asarray(eager.data))
            assert error(client, result, exact) < 1e-2
            assert result.rotate(4).level == result.level
    # Files of keys hold no tables of a context that was there before.
    x.save(tmp_path / "x.ct")
    client.evaluation.save(tmp_path / "server.key")
    evaluation = fhe.load(tmp_path / "server.key", insecure=True)
    given = {"x": evaluation.load(tmp_path / "x.ct"), "y": y, "keys": evaluation}
    (result,) = loaded.run(given).outputs
    assert error(client, result, exact) < 1e-2


def test_programs_hold_no_client_s_keys(tmp_path: Path) -> None:
    keys = ckks(256, 3)
    x = keys.encrypt([0.5])
    program = cw.trace(lambda x: x.rotate(4), x)
    program.save(tmp_path / "p.cwk")
    key = np.asarray(keys.evaluation.galois[113].data)
    for view in (key, np.moveaxis(key, -1, -2)):
        assert np.ascontiguousarray(view).tobytes()[:512] not in (tmp_path / "p.cwk").read_bytes()


def test_keys_that_do_not_belong_are_refused() -> None:
    first = ckks(256, 3)
    program = cw.trace(lambda x, y: (x * y).relinearize(), *map(first.encrypt, ([0.5], [0.25])))
    twin, other = (first.context.keygen() for _ in range(2))
    x, y = twin.encrypt([0.5]), twin.encrypt([0.25])
    with pytest.raises(KeyMismatchError, match="one secret"):
        program.run(x, other.encrypt([0.25]))
    with pytest.raises(KeyMismatchError, match="evaluation keys of the ciphertexts' secret"):
        program.run({"x": x, "y": y, "keys": other.evaluation})
    with pytest.raises(MissingKeyError, match=r"input keys: .*\(relinearization\)"):
        program.run(x.using(None), y.using(None))
    (result,) = program.run(
        {"x": x.using(None), "y": y.using(None), "keys": twin.evaluation}
    ).outputs
    assert result.keys is twin.evaluation
    with pytest.raises(KeyMismatchError, match="parameters"):
        program.run(x, bgv(256, 4).encrypt([1]))


def test_an_encrypted_constant_ties_a_program_to_its_secret(tmp_path: Path) -> None:
    keys = ckks(256, 3)
    weights, x = keys.encrypt([0.25] * 4), keys.encrypt([0.5] * 4)
    circuits: list[tuple[Circuit, float]] = [
        (lambda x: x * weights, 0.125), (lambda x: weights.rotate(0) - x, -0.25),
    ]  # fmt: skip
    for circuit, expected in circuits:
        program = cw.trace(circuit, x)
        program.save(tmp_path / "p.cwk")
        for tied in (program, cw.load(tmp_path / "p.cwk")):
            assert abs(keys.decrypt(tied.run(x)["out0"])[0] - expected) < 1e-6
            with pytest.raises(KeyMismatchError, match="holds a ciphertext of one secret"):
                tied.run(keys.context.keygen().encrypt([0.5] * 4))
    # Results of a secret program are secret too.
    program = cw.trace(lambda x: (x, weights), x)
    with pytest.raises(KeyMismatchError, match="holds a ciphertext of one secret"):
        program.run(keys.context.keygen().encrypt([0.5] * 4))


def test_keys_may_be_bound_or_given_tensor_by_tensor() -> None:
    keys = bgv(256, 3)
    values = integer_slots(keys, 1)
    x = keys.encrypt(values)
    program = cw.trace(lambda x: (x * x).relinearize(), x)
    expected = np.asarray((x * x).relinearize().data)
    bound = program.bound({"keys": keys.evaluation})
    assert bound.inputs == ["x"]
    np.testing.assert_array_equal(np.asarray(bound.run(x.using(None))["out0"].data), expected)
    raw = {"x": x.data} | {f"keys.{k}": t for k, t in keys.evaluation.tensors().items()}
    raw = {name: raw[name] for name in program._core.input_names()}
    (result,) = program.run(raw).outputs
    np.testing.assert_array_equal(np.asarray(result.data), expected)
    secret = cw.zeros((2, 2), "i64")
    secret.mark_secret()
    with pytest.raises(SecretError):
        recorded().bound({"a": secret})


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def _save(folder: Path) -> None:
    np.save(folder / "a.npy", A)
    np.save(folder / "b.npy", B)
    recorded().save(folder / "p.cwk")


def test_the_command_runs_a_recorded_program_into_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _save(tmp_path)
    line = ["run", tmp_path / "p.cwk", "--input", f"a={tmp_path / 'a.npy'}"]
    line += ["--input", f"b={tmp_path / 'b.npy'}"]
    status, out, err = run(capsys, *line, "--output", tmp_path / "results")
    assert (status, "product = " in out) == (0, True), err
    np.testing.assert_array_equal(np.load(tmp_path / "results" / "product.npy"), A * B % [97, 193])
    np.testing.assert_array_equal(np.load(tmp_path / "results" / "total.npy"), (A + B) % [97, 193])
    assert run(capsys, *line, "--output", f"total={tmp_path / 'y.npy'}")[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), (A + B) % [97, 193])
    (tmp_path / "link.npy").symlink_to(tmp_path / "a.npy")
    for output, words in (
        ("nothing=y.npy", "expected product, total"),
        (f"total={tmp_path / 'a.npy'}", "not an input"),
        (f"total={tmp_path / 'p.cwk'}", "NAME=FILE.npy"),
        (f"total={tmp_path / 'link.npy'}", "link.npy"),
        (tmp_path / "a.npy", "a folder, or NAME=FILE.npy"),
        (f"total={tmp_path / 'no' / 'y.npy'}", "y.npy"),
    ):
        status, out, err = run(capsys, *line, "--output", output)
        assert (status, out) == (2, ""), output
        assert words in err
    assert np.array_equal(np.load(tmp_path / "a.npy"), A)


def test_the_command_names_wrong_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _save(tmp_path)
    (tmp_path / "garbage.npy").write_bytes(b"\x93NUMPY\x01\x00garbage")
    (tmp_path / "other.npy").write_bytes(b"nothing of the kind")
    np.save(tmp_path / "short.npy", A[0])
    np.save(tmp_path / "objects.npy", np.array([{}, 2], dtype=object), allow_pickle=True)
    good = f"a={tmp_path / 'a.npy'}"
    for given, words in (
        ([good], "got no b, expected each of a: i64[2, 2], b: i64[2, 2]"),
        ([good, f"c={tmp_path / 'b.npy'}"], "--input: got c, expected a: i64[2, 2]"),
        ([good, f"b={tmp_path / 'short.npy'}"], "b: "),
        ([good, f"b={tmp_path / 'garbage.npy'}"], "garbage.npy"),
        ([good, f"b={tmp_path / 'other.npy'}"], "other.npy"),
        ([good, f"b={tmp_path / 'objects.npy'}"], "objects.npy"),
        ([good, f"b={tmp_path / 'none.npy'}"], "none.npy: No such file"),
        ([good, good, f"b={tmp_path / 'b.npy'}"], "a once"),
        (["b"], "expected NAME=FILE"),
    ):
        options = [word for one in given for word in ("--input", one)]
        status, out, err = run(capsys, "run", tmp_path / "p.cwk", *options)
        assert (status, out) == (2, "")
        assert words in err
        assert "internal error" not in err


def test_the_command_runs_encrypted_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = fhe.ckks(2**12, [35, 25], special=[35]).keygen(rotations=[1])
    x = keys.encrypt([0.5, 0.25])
    cw.trace(lambda x: x.rotate(1), x).save(tmp_path / "p.cwk")
    client = x.context.keygen(rotations=[1])
    client.encrypt([0.125, 0.75]).save(tmp_path / "x.ct")
    client.evaluation.save(tmp_path / "server.key")
    line = ["run", tmp_path / "p.cwk", "--input", f"x={tmp_path / 'x.ct'}"]
    status, _, err = run(capsys, *line)
    assert (status, "input keys: the program needs evaluation keys (galois.5)" in err) == (2, True)
    line += ["--input", f"keys={tmp_path / 'server.key'}"]
    status, _, err = run(capsys, *line, "--output", tmp_path / "out")
    assert status == 0, err
    result = fhe.load(tmp_path / "out" / "out0.ct")
    assert abs(client.decrypt(result)[0] - 0.75) < 1e-3


def test_the_command_runs_programs_of_fields_in_every_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    b = zk.ProgramBuilder(curve="bn254")
    x = b.input("x", zk.poly(4))
    y = b.allocate(zk.poly(4))
    b.call("square", out=[y], args=[x])
    b.store(y, "squares")
    b.ret()
    program = b.build()
    words = np.zeros((4, 4), np.uint64)
    words[:, 0] = [1, 2, 3, 4]
    np.save(tmp_path / "x.npy", words)
    for name in ("p.cwk", "p.json", "p.txt"):
        program.save(tmp_path / name)
        target = tmp_path / f"{name}.npy"
        line = ["run", tmp_path / name, "--input", f"x={tmp_path / 'x.npy'}"]
        status, _, err = run(capsys, *line, "--output", f"squares={target}")
        assert status == 0, err
        assert np.load(target)[:, 0].tolist() == [1, 4, 9, 16]
        # Results have the form of inputs: canonical words.
        status, _, err = run(
            capsys, "run", tmp_path / name, "--input", f"x={target}", "--output", tmp_path / "out"
        )
        assert np.load(tmp_path / "out" / "squares.npy")[:, 0].tolist() == [1, 16, 81, 256], err


def test_the_command_gives_a_transcript_fresh_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = transcript().write(tmp_path / "t.json")
    np.save(tmp_path / "fresh.npy", B)
    line = ["run", path, "--input", f"1={tmp_path / 'fresh.npy'}"]
    assert run(capsys, *line, "--output", f"4={tmp_path / 'y.npy'}")[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), B * B % [97, 193])
    status, out, _ = run(capsys, "run", path, "--verify", "--output", tmp_path / "all", "--json")
    assert (status, [o["name"] for o in json.loads(out)["outputs"]]) == (0, ["4", "4#2"])
    np.testing.assert_array_equal(np.load(tmp_path / "all" / "4.npy"), A * B % [97, 193])
    status, _, err = run(capsys, *line, "--verify")
    assert (status, "--verify: got --input" in err) == (2, True)


def test_damaged_tensors_of_a_program_never_run(tmp_path: Path) -> None:
    recorded().save(tmp_path / "p.cwk")
    damaged = bytearray((tmp_path / "p.cwk").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "p.cwk").write_bytes(damaged)
    for use in (
        lambda program: program.run(A, B),
        lambda program: program.bound({"a": A}).run(B),
        lambda program: program.save(tmp_path / "again.cwk"),
        lambda program: program.to_heal([A, B]),
    ):
        with pytest.raises(LoadError, match="damaged"):
            use(cw.load(tmp_path / "p.cwk"))


def test_a_damaged_note_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    core = recorded()._core
    for note in ("{", "[]", '{"examples": {"a": {}}}', '{"keys": {"k": {}}}', '{"results": [3]}'):
        core.save_container(tmp_path / "p.cwk", {"recorded": note})
        with pytest.raises(LoadError, match=r"p\.cwk"):
            cw.load(tmp_path / "p.cwk")
    for note in ("{", '{"types": {"a": {}}}'):
        core.save_container(tmp_path / "p.cwk", {"zk.program": note})
        with pytest.raises(LoadError, match=r"p\.cwk"):
            cw.load(tmp_path / "p.cwk")


def test_a_transcript_goes_to_a_container_and_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, there, back = cw.heal.sample(), tmp_path / "t.cwk", tmp_path / "t.json"
    assert run(capsys, "convert", first, there)[0] == 0
    assert run(capsys, "convert", there, back)[0] == 0
    assert json.loads(back.read_text()) == json.loads(first.read_text())
    assert cw.heal.load(there).run(verify=True).mismatches == []
    program = instructions()
    program.save(tmp_path / "p.cwk")
    assert run(capsys, "convert", tmp_path / "p.cwk", tmp_path / "p.txt")[0] == 0
    assert zk.Program.load(tmp_path / "p.txt").to_text() == (tmp_path / "p.txt").read_text()
    for name, words in (("t.cwk", "--branch: got"), ("p.json", "--branch: got a program")):
        status, _, err = run(
            capsys, "convert", tmp_path / name.replace("p.json", "p.cwk"), tmp_path / f"x{name}",
            "--branch", "first",
        )  # fmt: skip
        assert (status, words in err) == (2, True), err
    status, _, err = run(capsys, "convert", there, there)
    assert (status, "t.cwk" in err) == (2, True)
    recorded().save(tmp_path / "r.cwk")
    status, _, err = run(capsys, "convert", tmp_path / "r.cwk", tmp_path / "r.json")
    assert (status, "ends in .cwk" in err) == (2, True)
