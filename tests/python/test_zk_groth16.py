"""Groth16 proofs and keys: equal to snarkjs's to the bit, and taken by snarkjs's verifier."""

import dataclasses
import json
import shutil
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core, cli, zk
from cloakwork.demo import merkle
from cloakwork.demo.node import Missing, Node
from cloakwork.errors import LoadError, ParamError, ProofError, WitnessError
from cloakwork.fields.parameters import ORDERS
from cloakwork.zk.circom import witnesses
from cloakwork.zk.groth16 import Prover
from cloakwork.zk.groth16.algebra import point_bytes, scalars, words
from rich.console import Console

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors" / "groth16"
CURVES = {"bn128": "bn254", "bls12381": "bls12_381"}


@pytest.fixture(scope="module")
def node() -> Node:
    try:
        return Node.install(merkle.CIRCUITS / "package.json", ROOT / "out" / "node")
    except Missing as missing:
        pytest.skip(str(missing))


def key_of(folder: str) -> zk.ProvingKey:
    return zk.read_zkey(VECTORS / folder / "mixed.zkey")


def changed(witness: zk.Witness, wire: int, by: int = 1) -> zk.Witness:
    """The witness with another value of a wire."""
    words = np.asarray(witness.words).copy()
    words[wire, 0] += np.uint64(by)
    return dataclasses.replace(witness, words=cw.asarray(words))


@pytest.mark.parametrize("folder", CURVES)
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize(("name", "blinding"), [("forced12", (1, 2)), ("forced00", (0, 0))])
def test_proofs_equal_those_of_snarkjs_to_the_bit(
    folder: str, number: int, name: str, blinding: tuple[int, int]
) -> None:
    base = VECTORS / folder
    proof, public = zk.groth16.prove(
        base / "mixed.zkey", base / f"mixed{number}.wtns", r1cs=base / "mixed.r1cs",
        blinding=blinding,
    )  # fmt: skip
    assert proof.to_json() == (base / f"mixed{number}.{name}.json").read_text()
    assert public.to_json() == (base / f"mixed{number}.public.json").read_text()


@pytest.mark.parametrize("folder", CURVES)
def test_proofs_are_blinded_anew_and_hold(folder: str) -> None:
    base = VECTORS / folder
    prover = Prover(key_of(folder))
    found = [zk.groth16.prove(prover, base / "mixed1.wtns") for _ in range(2)]
    for proof, public in found:
        assert zk.groth16.verify(base / "mixed.vkey.json", public, proof)
    assert found[0][0] != found[1][0]
    assert found[0][1] == found[1][1]


@pytest.mark.parametrize("folder", CURVES)
def test_private_inputs_without_a_wire_count_and_change_nothing(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of inputs that no constraint uses circom drops the wires; its header counts the inputs."""
    base = VECTORS / folder
    r1cs, witness = base / "dropped.r1cs", base / "dropped.wtns"
    circuit = zk.read_r1cs(r1cs)
    assert (circuit.wires, circuit.public, circuit.private_inputs) == (4, 2, 7)
    proof, public = zk.groth16.prove(base / "dropped.zkey", witness, r1cs=r1cs)
    assert public.signals == (42, 6)
    assert zk.groth16.verify(base / "dropped.vkey.json", public, proof)
    assert not zk.groth16.verify(base / "dropped.vkey.json", [43, 6], proof)
    # The same through the commands, with a key of our own.
    own, vkey, out = (str(tmp_path / name) for name in ("own.zkey", "vkey.json", "proof.json"))
    signals = str(tmp_path / "public.json")
    assert cli.main(["inspect", str(r1cs), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["private_inputs"] == 7
    assert cli.main(["setup", str(r1cs), "-o", own, "--vkey", vkey]) == 0
    line = ["prove", own, str(witness), "-o", out, "--public", signals, "--r1cs", str(r1cs)]
    assert cli.main(line) == 0
    assert cli.main(["verify", vkey, signals, out]) == 0
    assert json.loads(Path(signals).read_text()) == ["42", "6"]
    zk.write_r1cs(circuit, tmp_path / "again.r1cs")
    assert repr(zk.read_r1cs(tmp_path / "again.r1cs")) == repr(circuit)


@pytest.mark.parametrize("folder", CURVES)
def test_a_prover_proves_as_snarkjs_does(folder: str) -> None:
    base = VECTORS / folder
    prover = Prover(key_of(folder))
    circuit = zk.read_r1cs(base / "mixed.r1cs")
    for number in (1, 2, 3):
        witness = base / f"mixed{number}.wtns"
        proof, public = prover.prove(witness, r1cs=circuit, blinding=(1, 2), threads=1)
        assert proof.to_json() == (base / f"mixed{number}.forced12.json").read_text()
        assert public.to_json() == (base / f"mixed{number}.public.json").read_text()
        assert prover.prove(zk.read_wtns(witness))[0] != proof
    wrong = changed(zk.read_wtns(base / "mixed1.wtns"), 9)
    with pytest.raises(WitnessError, match="does not satisfy constraint"):
        prover.prove(wrong, r1cs=circuit)
    with pytest.raises(ParamError, match="blinding"):
        prover.prove(base / "mixed1.wtns", blinding=(ORDERS[CURVES[folder]], 0))


def test_blinding_is_drawn_over_the_whole_field(monkeypatch: pytest.MonkeyPatch) -> None:
    base, prime = VECTORS / "bn128", ORDERS["bn254"]
    # The prime and all that is above it is drawn again; two bits of the words are not used.
    numbers = [prime, 2**254 - 1, prime - 1, prime, prime - 1 + 2**255]
    drawn = [words([number], 4) for number in reversed(numbers)]

    def draw(shape: tuple[int, int]) -> cw.Tensor:
        assert shape == (1, 4)
        return drawn.pop()

    monkeypatch.setattr(_core, "random_words", draw)
    largest, _ = zk.groth16.prove(base / "mixed.zkey", base / "mixed1.wtns", check=False)
    monkeypatch.undo()
    assert drawn == []
    forced, _ = zk.groth16.prove(
        base / "mixed.zkey", base / "mixed1.wtns", blinding=(prime - 1, prime - 1)
    )
    assert largest == forced
    with pytest.raises(ParamError, match="blinding"):
        zk.groth16.prove(base / "mixed.zkey", base / "mixed1.wtns", blinding=(prime, 0))


@pytest.mark.parametrize("folder", CURVES)
def test_a_wrong_witness_is_refused_with_its_first_constraint(folder: str) -> None:
    base = VECTORS / folder
    circuit, key = zk.read_r1cs(base / "mixed.r1cs"), key_of(folder)
    right = zk.read_wtns(base / "mixed1.wtns")
    prime = ORDERS[circuit.curve]
    values = [int.from_bytes(row.tobytes(), "little") for row in np.asarray(right.words)]
    for wire in range(1, circuit.wires):
        wrong = changed(right, wire)
        given = [value + (at == wire) for at, value in enumerate(values)]
        failing = _failing(circuit, given, prime)
        if failing is None:
            zk.groth16.prove(key, wrong, r1cs=circuit)
            continue
        with pytest.raises(WitnessError, match=f"constraint {failing} ") as caught:
            zk.groth16.prove(key, wrong, r1cs=circuit)
        assert caught.value.constraint == failing
    with pytest.raises(WitnessError, match="give the circuit") as caught:
        zk.groth16.prove(key, changed(right, 9))
    assert caught.value.constraint is None


def _failing(circuit: zk.Circuit, values: list[int], prime: int) -> int | None:
    """The first constraint that does not hold, by Python's integers."""

    def row(matrix: zk.Matrix, at: int) -> int:
        starts, columns = np.asarray(matrix.starts), np.asarray(matrix.columns)
        words = np.asarray(matrix.values)
        return sum(
            int.from_bytes(words[entry].tobytes(), "little") * values[columns[entry]]
            for entry in range(starts[at], starts[at + 1])
        )

    for at in range(circuit.constraints):
        a, b, c = (row(matrix, at) for matrix in (circuit.a, circuit.b, circuit.c))
        if (a * b - c) % prime:
            return at
    return None


def test_files_of_other_circuits_and_curves_are_refused(tmp_path: Path) -> None:
    base, other = VECTORS / "bn128", VECTORS / "bls12381"
    with pytest.raises(ProofError, match="the key is over bn254, and the witness over bls12_381"):
        zk.groth16.prove(base / "mixed.zkey", other / "mixed1.wtns")
    zk.write_wtns("bn254", [1, 2, 3], tmp_path / "short.wtns")
    with pytest.raises(ProofError, match=r"expected a witness of 17 wires, .* got 3"):
        zk.groth16.prove(base / "mixed.zkey", tmp_path / "short.wtns")
    circuit = merkle.CIRCUITS / "bn128" / "merkle.r1cs"
    with pytest.raises(ProofError, match=r"expected a key of 1565 wires, .* another circuit"):
        zk.groth16.prove(base / "mixed.zkey", base / "mixed1.wtns", r1cs=circuit)
    # The same counts, other rows: constraints 0 and 1 have changed places.
    circuit_a = zk.read_r1cs(base / "mixed.r1cs")
    swapped = dataclasses.replace(circuit_a, a=circuit_a.b, b=circuit_a.a)
    with pytest.raises(ProofError, match="the key's A differs from the circuit's at constraint"):
        zk.groth16.prove(base / "mixed.zkey", base / "mixed1.wtns", r1cs=swapped)


@pytest.mark.parametrize("folder", CURVES)
def test_the_prover_is_a_program(folder: str) -> None:
    prover = Prover(key_of(folder))
    words = zk.read_wtns(VECTORS / folder / "mixed1.wtns").words
    blinding = scalars(CURVES[folder], [1, 2])
    program = cw.trace(prover, words, blinding)
    result = program.run(words, blinding)
    proof = zk.Proof(CURVES[folder], *(point_bytes(point) for point in result.outputs))
    assert proof.to_json() == (VECTORS / folder / "mixed1.forced12.json").read_text()
    # The same program proves another statement.
    other = zk.read_wtns(VECTORS / folder / "mixed3.wtns").words
    result = program.run(other, blinding)
    proof = zk.Proof(CURVES[folder], *(point_bytes(point) for point in result.outputs))
    assert proof.to_json() == (VECTORS / folder / "mixed3.forced12.json").read_text()


@pytest.mark.parametrize("folder", CURVES)
def test_keys_of_our_own_serve_snarkjs(folder: str, node: Node, tmp_path: Path) -> None:
    base = VECTORS / folder
    key = zk.groth16.setup(base / "mixed.r1cs", tmp_path / "own.zkey")
    key.verifying_key.save(tmp_path / "vkey.json")
    shutil.copy(base / "mixed1.wtns", tmp_path)
    node.run(
        "snarkjs", "groth16", "prove", "own.zkey", "mixed1.wtns", "proof.json", "public.json",
        at=tmp_path,
    )  # fmt: skip
    assert zk.groth16.verify(*(tmp_path / f"{n}.json" for n in ("vkey", "public", "proof")))
    node.run("snarkjs", "zkey", "export", "verificationkey", "own.zkey", "theirs.json", at=tmp_path)
    assert (tmp_path / "theirs.json").read_bytes() == (tmp_path / "vkey.json").read_bytes()


@pytest.mark.parametrize("folder", CURVES)
def test_a_setup_without_ceremony_gives_a_key_of_the_circuit(folder: str, tmp_path: Path) -> None:
    base = VECTORS / folder
    zk.groth16.setup(base / "mixed.r1cs", tmp_path / "own.zkey")
    key = zk.read_zkey(tmp_path / "own.zkey", check=True)
    snarkjs = key_of(folder)
    assert (key.wires, key.public, key.domain) == (17, 3, 32)
    # Parts that do not depend on secrets equal snarkjs's files.
    for ours, theirs in ((key.left, snarkjs.left), (key.right, snarkjs.right)):
        for name in ("starts", "columns"):
            assert np.array_equal(
                np.asarray(getattr(ours, name)), np.asarray(getattr(theirs, name))
            )
        assert bool(cw.all(cw.equal(ours.values, theirs.values)))
    for number in (1, 2, 3):
        proof, public = zk.groth16.prove(
            key, base / f"mixed{number}.wtns", r1cs=base / "mixed.r1cs"
        )
        assert zk.groth16.verify(key.verifying_key, public, proof)
    again = zk.groth16.setup(base / "mixed.r1cs", tmp_path / "again.zkey")
    assert again.verifying_key != key.verifying_key


def test_the_commands_set_up_prove_and_verify(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    r1cs, wtns = (str(VECTORS / "bn128" / name) for name in ("mixed.r1cs", "mixed1.wtns"))
    path = {name: str(tmp_path / name) for name in ("k.zkey", "v.json", "p.json", "s.json")}
    assert cli.main(["setup", r1cs, "-o", path["k.zkey"], "--vkey", path["v.json"]]) == 0
    assert "there was no ceremony" in capsys.readouterr().err
    proved = ["prove", path["k.zkey"], wtns, "-o", path["p.json"], "--public", path["s.json"]]
    assert cli.main([*proved, "--r1cs", r1cs]) == 0
    assert cli.main(["verify", path["v.json"], path["s.json"], path["p.json"]]) == 0
    zk.write_wtns("bn254", [1] * 17, tmp_path / "wrong.wtns")
    Path(path["p.json"]).unlink()
    wrong = ["prove", path["k.zkey"], str(tmp_path / "wrong.wtns"), "-o", path["p.json"]]
    assert cli.main([*wrong, "--public", path["s.json"], "--r1cs", r1cs]) == 2
    assert "the witness does not satisfy constraint" in capsys.readouterr().err
    assert not Path(path["p.json"]).exists()


def test_the_demo_proves_without_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    report = merkle.run(tmp_path, console=Console(quiet=True))
    assert report.passed
    assert report.missing == "node is not installed"
    assert [found.snarkjs_holds for found in report.curves.values()] == [None, None]
    assert [found.constraints for found in report.curves.values()] == [1560, 1560]


def test_the_demo_says_what_it_fetches_and_does_without_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("nothing is to be fetched")

    monkeypatch.setattr("cloakwork.demo.node._run", refused)
    assert cli.main(["demo", "merkle", "--no-node", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "without node, as asked" in out
    assert "npm" not in out
    assert not (tmp_path / "node").exists()

    def offline(*_: object) -> None:
        raise Missing("no network")

    monkeypatch.setattr("cloakwork.demo.node._run", offline)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    assert cli.main(["demo", "merkle", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "npm ci fetches circom2 0.2.23, circomlib 2.0.5, snarkjs 0.7.6 into" in out
    assert "--no-node does without" in out
    assert "npm cannot install circom2 and snarkjs: no network" in out


@pytest.mark.slow(reason="snarkjs verifies, in a process of node")
def test_the_demo_proves_what_snarkjs_verifies(node: Node, tmp_path: Path) -> None:
    (tmp_path / "node").symlink_to(node.folder)
    report = merkle.run(tmp_path, console=Console(quiet=True))
    assert report.passed
    assert [found.snarkjs_holds for found in report.curves.values()] == [True, True]
    # The packaged files equal the compiler's output.
    for curve in CURVES:
        for name in ("merkle.r1cs", "merkle.wtns"):
            made = tmp_path / "merkle" / curve / name
            assert made.read_bytes() == (merkle.CIRCUITS / curve / name).read_bytes()


def test_a_damaged_key_gives_no_proof(tmp_path: Path) -> None:
    data = bytearray((VECTORS / "bn128" / "mixed.zkey").read_bytes())
    # The last section but one holds points: one bit of one of them is another.
    key = key_of("bn128")
    target = np.asarray(key.points["h"].shape)[0]
    assert target == 32
    at = 12
    while int.from_bytes(data[at : at + 4], "little") != 9:
        at += 12 + int.from_bytes(data[at + 4 : at + 12], "little")
    data[at + 12 + 3 * 64] ^= 1
    (tmp_path / "damaged.zkey").write_bytes(data)
    base = VECTORS / "bn128"
    files = (tmp_path / "damaged.zkey", base / "mixed1.wtns")
    with pytest.raises(ProofError, match="h: point 3 is not on the curve"):
        zk.groth16.prove(*files)
    with pytest.raises(WitnessError, match="the key is damaged"):
        zk.groth16.prove(*files, r1cs=base / "mixed.r1cs", check=False)
    with pytest.raises(LoadError, match="h: point 3 is not on the curve"):
        zk.read_zkey(tmp_path / "damaged.zkey")


def test_many_witnesses_are_proved_in_their_order() -> None:
    files = VECTORS / "bn128"
    prover = zk.Prover(files / "mixed.zkey")
    witnesses = [files / f"mixed{number}.wtns" for number in (1, 2, 3, 1)]
    found = list(prover.prove_many(iter(witnesses), threads=1))
    vkey = zk.VerifyingKey.load(files / "mixed.vkey.json")
    for witness, (proof, public) in zip(witnesses, found, strict=True):
        wanted = witness.with_name(witness.stem + ".public.json")
        assert [str(one) for one in public.signals] == json.loads(wanted.read_text())
        assert zk.groth16.verify(vkey, public, proof)
    assert list(prover.prove_many([])) == []


def test_an_error_of_one_of_many_witnesses_says_which_it_is() -> None:
    files = VECTORS / "bn128"
    prover = zk.Prover(files / "mixed.zkey")
    names = iter(("mixed1", "mixed2", "dropped", "mixed3"))
    made = prover.prove_many(files / f"{name}.wtns" for name in names)
    assert [next(made) is not None for _ in range(2)] == [True, True]
    with pytest.raises(ProofError, match="of another circuit") as caught:
        next(made)
    assert caught.value.__notes__ == ["witness 2, counted from 0"]
    # No witness is read ahead.
    assert list(names) == ["mixed3"]


def test_inputs_of_many_proofs_compile_their_program_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    circuits, made = VECTORS.parent / "witness", []
    zk.groth16.setup(circuits / "arrays.r1cs", tmp_path / "k.zkey")

    class Counted(witnesses.WitnessGenerator):
        def __init__(self, *given: object, **options: object) -> None:
            made.append(given)
            super().__init__(*given, **options)

    monkeypatch.setattr(witnesses, "WitnessGenerator", Counted)
    inputs = json.loads((circuits / "arrays.json").read_text())
    found = zk.Prover(tmp_path / "k.zkey").prove_many([inputs] * 3, wasm=circuits / "arrays.wasm")
    assert len({public for _, public in found}) == len(made) == 1
