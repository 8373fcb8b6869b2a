"""PLONK proofs and keys: equal to snarkjs's to the byte, and taken by snarkjs's verifier."""

import dataclasses
import json
import shutil
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import cli, zk
from cloakwork.demo import merkle
from cloakwork.demo.node import Missing, Node
from cloakwork.errors import LoadError, ParamError, ProofError, WitnessError
from cloakwork.fields.parameters import ORDERS
from cloakwork.zk.groth16.algebra import point_bytes, scalars

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"
CURVES = {"bn128": "bn254", "bls12381": "bls12_381"}
FORCED = tuple(range(1, 12))


@pytest.fixture(scope="module")
def node() -> Node:
    try:
        return Node.install(merkle.CIRCUITS / "package.json", ROOT / "out" / "node")
    except Missing as missing:
        pytest.skip(str(missing))


def plonk(folder: str, name: str) -> Path:
    return VECTORS / "plonk" / folder / name


def given(folder: str, name: str) -> Path:
    """Circuits and witnesses are those of Groth16's vectors."""
    return VECTORS / "groth16" / folder / name


def key_of(folder: str) -> zk.plonk.ProvingKey:
    return zk.plonk.read_zkey(plonk(folder, "mixed.zkey"), check=False)


def changed(witness: zk.Witness, wire: int) -> zk.Witness:
    words = np.asarray(witness.words).copy()
    words[wire, 0] += np.uint64(1)
    return dataclasses.replace(witness, words=cw.asarray(words))


@pytest.mark.parametrize("folder", CURVES)
def test_proofs_equal_those_of_snarkjs_to_the_byte(folder: str) -> None:
    for prover in (
        zk.plonk.Prover(key_of(folder)),
        zk.plonk.Prover(key_of(folder), keeps=False),
        zk.plonk.Prover(key_of(folder), frugal=True),
    ):
        for number in (1, 2, 3):
            proof, public = prover.prove(
                given(folder, f"mixed{number}.wtns"), blinding=FORCED,
                r1cs=given(folder, "mixed.r1cs"), threads=2,
            )  # fmt: skip
            expected = plonk(folder, f"mixed{number}.forced.json").read_text()
            assert proof.to_json() == expected
            assert public.to_json() == plonk(folder, f"mixed{number}.public.json").read_text()


@pytest.mark.parametrize("folder", CURVES)
def test_proofs_of_snarkjs_hold_and_no_other_statement_does(folder: str) -> None:
    vkey = plonk(folder, "mixed.vkey.json")
    for number in (1, 2, 3):
        public = json.loads(plonk(folder, f"mixed{number}.public.json").read_text())
        proof = plonk(folder, f"mixed{number}.proof.json")
        assert zk.plonk.verify(vkey, public, proof)
        for place in range(len(public)):
            other = [str(int(text) + (at == place)) for at, text in enumerate(public)]
            assert not zk.plonk.verify(vkey, other, proof)
        with pytest.raises(ProofError, match="expected 3 public signals"):
            zk.plonk.verify(vkey, public[:2], proof)


@pytest.mark.parametrize("folder", CURVES)
def test_proofs_altered_in_any_part_do_not_hold(folder: str) -> None:
    vkey = zk.plonk.VerifyingKey.load(plonk(folder, "mixed.vkey.json"))
    public = json.loads(plonk(folder, "mixed1.public.json").read_text())
    proof = json.loads(plonk(folder, "mixed1.proof.json").read_text())
    other = json.loads(plonk(folder, "mixed2.proof.json").read_text())
    points = [name for name, part in proof.items() if isinstance(part, list)]
    numbers = [name for name in proof if name.startswith("eval_")]
    assert (len(points), len(numbers)) == (9, 6)
    for name in points + numbers:
        assert not zk.plonk.verify(vkey, public, {**proof, name: other[name]})
    for name in points:
        assert not zk.plonk.verify(vkey, public, {**proof, name: ["0", "1", "0"]})
        x, y, one = proof[name]
        with pytest.raises(ProofError, match=f"{name}: point 0 is not on the curve"):
            zk.plonk.verify(vkey, public, {**proof, name: [x, str(int(y) ^ 1), one]})
    for name in numbers:
        assert not zk.plonk.verify(vkey, public, {**proof, name: str(int(proof[name]) ^ 1)})
        above = str(int(proof[name]) + ORDERS[CURVES[folder]])
        with pytest.raises(LoadError, match=name):
            zk.plonk.verify(vkey, public, {**proof, name: above})
    assert zk.plonk.verify(vkey, public, proof)


@pytest.mark.parametrize("folder", CURVES)
def test_keys_altered_in_any_part_verify_nothing(folder: str) -> None:
    vkey = json.loads(plonk(folder, "mixed.vkey.json").read_text())
    rest = (plonk(folder, "mixed1.public.json"), plonk(folder, "mixed1.proof.json"))
    assert zk.plonk.verify(vkey, *rest)
    for name in ("Qm", "Ql", "Qr", "Qo", "Qc", "S1", "S2", "S3"):
        other = vkey["Qo" if name == "Qm" else "Qm"]
        assert not zk.plonk.verify({**vkey, name: other}, *rest)
    for name in ("k1", "k2"):
        assert not zk.plonk.verify({**vkey, name: "7"}, *rest)
    for changes in ({"w": "1"}, {"power": 6}):
        with pytest.raises(ProofError, match="w is not a root of unity"):
            zk.plonk.verify({**vkey, **changes}, *rest)
    infinity = [["0", "0"], ["1", "0"], ["0", "0"]]
    for changes, match in (
        ({"X_2": infinity}, "X_2: expected a point other than infinity"),
        ({"power": 29}, "power: expected an integer from 0 to"),
        ({"nPublic": -1}, "nPublic: expected an integer from 0 to 32"),
        ({"Qm": [1, 2, 3]}, "Qm"),
        ({"protocol": "groth16"}, "protocol: expected plonk"),
    ):
        with pytest.raises(LoadError, match=match):
            zk.plonk.verify({**vkey, **changes}, *rest)
    for name in vkey:
        with pytest.raises(LoadError, match=name):
            zk.plonk.VerifyingKey.load({at: part for at, part in vkey.items() if at != name})


@pytest.mark.parametrize("folder", CURVES)
def test_setup_makes_the_key_of_snarkjs(folder: str, tmp_path: Path) -> None:
    key = zk.plonk.setup(
        given(folder, "mixed.r1cs"), plonk(folder, "pot5.ptau"), tmp_path / "own.zkey",
        vkey=tmp_path / "vkey.json",
    )  # fmt: skip
    assert (tmp_path / "own.zkey").read_bytes() == plonk(folder, "mixed.zkey").read_bytes()
    assert (tmp_path / "vkey.json").read_text() == plonk(folder, "mixed.vkey.json").read_text()
    assert (key.circuit_wires, key.additions, key.gates, key.domain) == (17, 8, 26, 32)
    key.check(groups=True)


def _circuit(curve: str, rows: list[list[dict[int, int]]], wires: int, public: int) -> zk.Circuit:
    """A circuit of rows of A, B and C."""
    prime = ORDERS[curve]

    def matrix(which: int) -> zk.Matrix:
        entries = [list(row[which].items()) for row in rows]
        starts = np.cumsum([0, *map(len, entries)])
        columns = [wire for row in entries for wire, _ in row]
        numbers = [number % prime for row in entries for _, number in row]
        words = [[number >> (64 * at) & (2**64 - 1) for at in range(4)] for number in numbers]
        values = np.array(words, np.uint64).reshape(len(words), 4)
        return zk.Matrix(cw.asarray(starts), cw.asarray(np.array(columns, np.int64)), values)

    a, b, c = (matrix(which) for which in range(3))
    a, b, c = (dataclasses.replace(m, values=cw.asarray(m.values)) for m in (a, b, c))
    return zk.Circuit(curve, wires, public, 0, wires - public - 1, a, b, c)


# Rows of each kind: products, factors that are constants, nothing, long sums, terms that cancel.
ROWS: list[list[dict[int, int]]] = [
    [{2: 1}, {3: 1}, {1: 1}],
    [{0: 2}, {2: 3, 0: 5}, {4: 1, 0: -4}],
    [{2: 3}, {0: 7}, {4: 1}],
    [{}, {}, {2: 1, 3: 1, 4: -1}],
    [{}, {2: 1}, {3: 1}],
    [{2: 1, 3: 2, 4: 3, 5: 4, 0: 9}, {2: -1, 3: 5, 5: 6}, {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 0: 6}],
    [{0: 2}, {2: 3}, {2: 6, 3: 1}],
    [{0: 1}, {2: 1, 3: 1, 4: 1, 5: 1}, {1: 1, 5: 2}],
    [{}, {}, {}],
    [{0: 3}, {0: 4}, {0: 12}],
]


def test_gates_are_those_of_snarkjs_for_constraints_of_every_kind(
    node: Node, tmp_path: Path
) -> None:
    zk.write_r1cs(_circuit("bn254", ROWS, 6, 1), tmp_path / "rows.r1cs")
    ptau = plonk("bn128", "pot5.ptau")
    node.run("snarkjs", "powersoftau", "prepare", "phase2", str(ptau), "ready.ptau", at=tmp_path)
    node.run("snarkjs", "plonk", "setup", "rows.r1cs", "ready.ptau", "theirs.zkey", at=tmp_path)
    # Powers that are prepared are taken, too.
    for powers in (ptau, tmp_path / "ready.ptau"):
        zk.plonk.setup(tmp_path / "rows.r1cs", powers, tmp_path / "ours.zkey")
        assert (tmp_path / "ours.zkey").read_bytes() == (tmp_path / "theirs.zkey").read_bytes()


@pytest.mark.parametrize("folder", CURVES)
def test_snarkjs_takes_our_proofs(folder: str, node: Node, tmp_path: Path) -> None:
    proof, public = zk.plonk.prove(plonk(folder, "mixed.zkey"), given(folder, "mixed1.wtns"))
    again, _ = zk.plonk.prove(plonk(folder, "mixed.zkey"), given(folder, "mixed1.wtns"))
    # New blinding changes every part.
    assert all(
        part != other
        for name, part in json.loads(proof.to_json()).items()
        for other in [json.loads(again.to_json())[name]]
        if name not in ("protocol", "curve", "eval_s1", "eval_s2")
    )
    zk.plonk.save(proof, public, tmp_path / "proof.json", tmp_path / "public.json")
    shutil.copy(plonk(folder, "mixed.vkey.json"), tmp_path / "vkey.json")
    said = node.run(
        "snarkjs", "plonk", "verify", "vkey.json", "public.json", "proof.json", at=tmp_path
    )
    assert said is None or "OK" in str(said)


@pytest.mark.parametrize("folder", CURVES)
def test_a_wrong_witness_is_refused_with_its_gate_or_constraint(folder: str) -> None:
    prover = zk.plonk.Prover(key_of(folder))
    right = zk.read_wtns(given(folder, "mixed1.wtns"))
    # Wire 1 is public: its gate is 0, but the sum of gate 0 holds; a later one fails.
    wrong = changed(right, 9)
    first, count = prover.unsatisfied(wrong.words)
    assert count
    with pytest.raises(WitnessError, match=f"does not satisfy gate {first} .* of {count} that"):
        prover.prove(wrong)
    with pytest.raises(WitnessError, match="does not satisfy constraint") as caught:
        prover.prove(wrong, r1cs=given(folder, "mixed.r1cs"))
    assert caught.value.constraint is not None
    assert prover.unsatisfied(right.words) == (0, 0)


def test_files_of_other_circuits_curves_and_systems_are_refused(tmp_path: Path) -> None:
    key = key_of("bn128")
    with pytest.raises(ProofError, match="the key is over bn254, and the witness over bls12_381"):
        zk.plonk.prove(key, given("bls12381", "mixed1.wtns"))
    zk.write_wtns("bn254", [1, 2, 3], tmp_path / "short.wtns")
    with pytest.raises(ProofError, match=r"expected a witness of 17 wires, .* got 3"):
        zk.plonk.prove(key, tmp_path / "short.wtns")
    other = merkle.CIRCUITS / "bn128" / "merkle.r1cs"
    with pytest.raises(ProofError, match="expected a key of 1565 wires"):
        zk.plonk.prove(key, given("bn128", "mixed1.wtns"), r1cs=other)
    with pytest.raises(LoadError, match="expected a PLONK key, got a Groth16 key"):
        zk.plonk.read_zkey(given("bn128", "mixed.zkey"))
    with pytest.raises(LoadError, match="expected a Groth16 key, got a PLONK key"):
        zk.groth16.prove(plonk("bn128", "mixed.zkey"), given("bn128", "mixed1.wtns"))
    with pytest.raises(LoadError, match=r"zk.plonk and cloakwork verify"):
        zk.VerifyingKey.load(plonk("bn128", "mixed.vkey.json"))
    with pytest.raises(ProofError, match="a key over bn254, and a proof over bls12_381"):
        zk.plonk.verify(
            plonk("bn128", "mixed.vkey.json"), [1, 2, 3], plonk("bls12381", "mixed1.proof.json")
        )
    with pytest.raises(ParamError, match="over bn254, as the circuit"):
        zk.plonk.setup(
            given("bn128", "mixed.r1cs"), plonk("bls12381", "pot5.ptau"), tmp_path / "no.zkey"
        )
    circuit = zk.read_r1cs(merkle.CIRCUITS / "bn128" / "merkle.r1cs")
    with pytest.raises(ParamError, match=r"expected 2\^11 at least"):
        zk.plonk.setup(circuit, plonk("bn128", "pot5.ptau"), tmp_path / "no.zkey")
    assert not (tmp_path / "no.zkey").exists()


def test_blinding_is_eleven_scalars() -> None:
    key, witness = key_of("bn128"), given("bn128", "mixed1.wtns")
    for blinding, match in (((1, 2), "2 integers"), ((ORDERS["bn254"],) * 11, "blinding")):
        with pytest.raises(ParamError, match=match):
            zk.plonk.prove(key, witness, blinding=blinding)


@pytest.mark.parametrize("folder", CURVES)
def test_the_prover_is_a_program(folder: str) -> None:
    prover = zk.plonk.Prover(key_of(folder), keeps=False)
    words = zk.read_wtns(given(folder, "mixed1.wtns")).words
    blinding = scalars(CURVES[folder], FORCED)
    program = cw.trace(prover, words, blinding)
    for number in (1, 3):
        words = zk.read_wtns(given(folder, f"mixed{number}.wtns")).words
        points, evaluations = program.run(words, blinding).outputs
        proof = zk.plonk.Proof(CURVES[folder], point_bytes(points), point_bytes(evaluations))
        assert proof.to_json() == plonk(folder, f"mixed{number}.forced.json").read_text()


def test_a_budget_and_a_device_change_no_byte() -> None:
    prover = zk.plonk.Prover(key_of("bn128"))
    witness = given("bn128", "mixed1.wtns")
    expected = plonk("bn128", "mixed1.forced.json").read_text()
    frugal = zk.plonk.Prover(prover.key, frugal=True)
    peak = frugal.program().memory(threads=1)[1]
    for budget in (peak + 2**20, peak - 2**10):
        proof, _ = prover.prove(witness, blinding=FORCED, threads=1, memory_budget=budget)
        assert proof.to_json() == expected
    proof, _ = prover.prove(witness, blinding=FORCED, device="sim:0")
    assert proof.to_json() == expected


@pytest.mark.parametrize("folder", CURVES)
def test_the_file_tells_the_system(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    r1cs, witness = given(folder, "mixed.r1cs"), given(folder, "mixed1.wtns")
    for zkey, kind in ((plonk(folder, "mixed.zkey"), zk.plonk), (r1cs.with_suffix(".zkey"), zk)):
        key = zk.read_zkey(zkey)
        assert type(key) is kind.ProvingKey
        prover = zk.Prover(zkey)
        proof, public = prover.prove(witness, r1cs=r1cs)
        assert type(proof) is kind.Proof
        key.verifying_key.save(tmp_path / "vkey.json")
        proof.save(tmp_path / "proof.json")
        public.save(tmp_path / "public.json")
        files = [str(tmp_path / f"{name}.json") for name in ("vkey", "public", "proof")]
        assert cli.main(["verify", *files]) == 0
        out = ["-o", str(tmp_path / "p.json"), "--public", str(tmp_path / "s.json")]
        assert cli.main(["prove", str(zkey), str(witness), *out]) == 0
        assert cli.main(["vkey", str(zkey), "-o", str(tmp_path / "v.json")]) == 0
        files = [str(tmp_path / f"{name}.json") for name in ("v", "s", "p")]
        assert cli.main(["verify", *files]) == 0
        capsys.readouterr()
        assert cli.main(["inspect", str(zkey), "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["protocol"] == ("plonk" if kind is zk.plonk else "groth16")
        assert (facts["wires"], facts["check"]) == (17, "passed")


def test_the_command_makes_plonk_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    circuit, powers = str(given("bn128", "mixed.r1cs")), str(plonk("bn128", "pot5.ptau"))
    out = ["-o", str(tmp_path / "own.zkey")]
    assert cli.main(["setup", "plonk", circuit, powers, *out]) == 0
    assert (tmp_path / "own.zkey").read_bytes() == plonk("bn128", "mixed.zkey").read_bytes()
    capsys.readouterr()
    for words in (["plonk", circuit], ["fflonk", circuit, powers]):
        assert cli.main(["setup", *words, *out]) == 2
        assert "groth16 or plonk, CIRCUIT and POWERS" in " ".join(capsys.readouterr().err.split())
