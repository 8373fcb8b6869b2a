"""Many proofs verified at once: the answers are those of one after the other."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import cloakwork as cw
import pytest
from cloakwork import _core, cli, ops, zk
from cloakwork.errors import DTypeError, LoadError, ParamError, ProofError
from cloakwork.zk.groth16 import verify, verify_many

VECTORS = Path(__file__).parents[1] / "vectors" / "groth16"
CURVES = {"bn128": "bn254", "bls12381": "bls12_381"}
each_folder = pytest.mark.parametrize("folder", CURVES)


def key_of(folder: str) -> zk.VerifyingKey:
    return zk.VerifyingKey.load(VECTORS / folder / "mixed.vkey.json")


def proofs(folder: str, count: int) -> list[tuple[zk.Public, zk.Proof]]:
    base = VECTORS / folder
    return [
        (
            zk.Public.load(base / f"mixed{1 + at % 3}.public.json", CURVES[folder]),
            zk.Proof.load(base / f"mixed{1 + at % 3}.proof.json"),
        )
        for at in range(count)
    ]


@each_folder
@pytest.mark.parametrize("count", [1, 2, 3, 17])
def test_a_batch_holds_where_each_proof_does(folder: str, count: int) -> None:
    key, pairs = key_of(folder), proofs(folder, count)
    assert verify_many(key, pairs) == [True] * count
    for wrong in ({0}, {count - 1}, {count // 2}, set(range(count)), {0, count - 1}):
        # The signals of another proof.
        other = [(proofs(folder, at + 2)[-1][0] if at in wrong else public, proof)
                 for at, (public, proof) in enumerate(pairs)]  # fmt: skip
        expected = [verify(key, *pair) for pair in other]
        assert expected == [at not in wrong for at in range(count)]
        assert verify_many(key, other) == expected


@each_folder
def test_errors_that_cancel_in_a_sum_are_found(folder: str) -> None:
    """C + D and C - D: without random factors their product of equations holds."""
    key, pairs = key_of(folder), proofs(folder, 2)
    curve = zk.curve(CURVES[folder])
    shifted = []
    for sign, (public, proof) in zip((1, -1), pairs, strict=True):
        c = cw.asarray(proof.c, dtype=curve.g1) + sign * curve.g1_generator
        shifted.append((public, replace(proof, c=c.to_bytes())))
    assert verify_many(key, shifted) == [False, False]


@each_folder
def test_the_factors_are_drawn_anew(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def draw(shape: tuple[int, int]) -> cw.Tensor:
        drawn.append(random(shape))
        return drawn[-1]

    random = _core.random_words
    monkeypatch.setattr(_core, "random_words", draw)
    key, pairs = key_of(folder), proofs(folder, 3)
    assert verify_many(key, pairs) == verify_many(key, pairs) == [True] * 3
    assert [one.shape for one in drawn] == [(3, 2)] * 2
    assert drawn[0].tolist() != drawn[1].tolist()


@each_folder
def test_proofs_that_cannot_be_judged_are_refused_with_their_place(folder: str) -> None:
    key, pairs = key_of(folder), proofs(folder, 3)
    (other,) = CURVES.keys() - {folder}
    public, proof = pairs[1]

    def put(place: int, *pair: object) -> list[object]:
        return [pair if at == place else one for at, one in enumerate(pairs)]

    assert verify_many(key, []) == []
    off = replace(proof, a=bytes([proof.a[0] ^ 1]) + proof.a[1:])
    with pytest.raises(ProofError, match=r"^proofs\[1\]: pi_a: point 0 is not on the curve"):
        verify_many(key, put(1, public, off))
    off = replace(proof, c=bytes([proof.c[0] ^ 1]) + proof.c[1:])
    with pytest.raises(ProofError, match=r"^proofs\[2\]: pi_c: point 0 is not on the curve"):
        verify_many(key, put(2, public, off))
    off = replace(proof, b=bytes([proof.b[0] ^ 1]) + proof.b[1:])
    with pytest.raises(ProofError, match=r"^proofs\[2\]: pi_b: point 0 is not on the curve"):
        verify_many(key, put(2, public, off))
    with pytest.raises(ProofError, match=r"proofs\[2\]: expected 3 public signals"):
        verify_many(key, put(2, [1, 2], proof))
    with pytest.raises(ProofError, match=r"proofs\[0\]: a key over .*, and a proof over"):
        verify_many(key, put(0, public, proofs(other, 1)[0][1]))
    with pytest.raises(LoadError, match=r"proofs\[1\]: JSON: "):
        verify_many(key, put(1, public, {"pi_a": []}))
    with pytest.raises(ParamError, match=r"proofs\[1\]: got a str, expected signals and a proof"):
        verify_many(key, [pairs[0], "proof.json"])  # type: ignore[list-item]
    for name in ("alpha1", "beta2", "gamma2", "delta2"):
        infinite = replace(key, **{name: bytes(len(getattr(key, name)))})
        with pytest.raises(
            ProofError, match=r"^vk_.* is at infinity, where no verifying key has it"
        ):
            verify_many(infinite, pairs)


@each_folder
def test_parts_that_are_made_by_hand_are_refused_with_their_place(folder: str) -> None:
    key, pairs = key_of(folder), proofs(folder, 2)
    public, proof = pairs[1]
    half, prime = len(proof.a) // 2, zk.curve(CURVES[folder]).fr.modulus
    # Together the two have the right number of bytes.
    moved = [(public, replace(proof, a=proof.a + proof.a[:half])),
             (public, replace(proof, a=proof.a[half:]))]  # fmt: skip
    with pytest.raises(ProofError, match=r"proofs\[0\]: pi_a: expected a point of \d+ bytes, got"):
        verify_many(key, moved)
    for name in ("a", "b", "c"):
        for wrong in (b"", getattr(proof, name)[:-8], 2 * getattr(proof, name)):
            given = replace(proof, **{name: wrong})
            with pytest.raises(ProofError, match=rf"proofs\[1\]: pi_{name}: expected a point of"):
                verify_many(key, [pairs[0], (public, given)])
    for number in (prime, -1, 1 << 300, "1"):
        signals = replace(public, signals=(number, *public.signals[1:]))
        with pytest.raises(ProofError, match=r"^public signal 0: expected an integer"):
            verify(key, signals, proof)
        with pytest.raises(ProofError, match=r"^proofs\[1\]: public signal 0: expected an"):
            verify_many(key, [pairs[0], (signals, proof)])
    with pytest.raises(ProofError, match=r"proofs\[0\]: public signal 0"):
        verify_many(key, [([prime, 1, 2], proof)])
    with pytest.raises(ParamError, match="proofs: got a int, expected pairs"):
        verify_many(key, 5)  # type: ignore[arg-type]


@each_folder
def test_signals_over_another_curve_are_refused(folder: str) -> None:
    key, ((public, proof), *_) = key_of(folder), proofs(folder, 1)
    (other,) = set(CURVES.values()) - {key.curve}
    fault = f"a key over {key.curve}, and public signals over {other}"
    with pytest.raises(ProofError, match=fault):
        verify(key, replace(public, curve=other), proof)
    with pytest.raises(ProofError, match=rf"proofs\[0\]: {fault}"):
        verify_many(key, [(replace(public, curve=other), proof)])
    plonk = VECTORS.parent / "plonk" / folder
    with pytest.raises(ProofError, match=fault):
        zk.plonk.verify(
            plonk / "mixed.vkey.json", replace(public, curve=other), plonk / "mixed1.proof.json"
        )


def test_the_command_says_which_proofs_do_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, folder = VECTORS / "bn128", tmp_path / "proofs"
    folder.mkdir()
    for number in (1, 2, 3):
        for part in ("proof", "public"):
            shutil.copy(base / f"mixed{number}.{part}.json", folder)
    (folder / "notes.txt").write_text("no proof")
    line = ["verify", str(base / "mixed.vkey.json"), "--batch", str(folder)]
    assert cli.main(line) == 0
    assert capsys.readouterr().out == "OK: 3\n"
    shutil.copy(base / "mixed1.public.json", folder / "mixed2.public.json")
    assert cli.main(line) == 1
    assert capsys.readouterr().out == "INVALID mixed2\nINVALID: 1 of 3\n"
    assert cli.main([*line, "--json"]) == 1
    expected = {"mixed1": True, "mixed2": False, "mixed3": True}
    assert json.loads(capsys.readouterr().out) == {"holds": False, "proofs": expected}
    (folder / "mixed2.public.json").unlink()
    assert cli.main(line) == 2
    said = "mixed2.proof.json: expected its mixed2.public.json beside it, got none\n"
    assert capsys.readouterr().err.endswith(said)
    shutil.copy(base / "mixed1.public.json", folder / "mixed2.public.bin")
    shutil.copy(base / "mixed1.public.json", folder / "mixed2.public")
    assert cli.main(line) == 2
    assert "mixed2 has two files of its public" in capsys.readouterr().err
    (folder / "mixed2.public").unlink()
    shutil.copy(base / "mixed3.proof.json", folder / "mixed3.proof.v2.json")
    assert cli.main(line) == 2
    assert "mixed3.proof.v2.json: expected NAME.proof and one ending" in capsys.readouterr().err
    (tmp_path / "none").mkdir()
    assert cli.main([*line[:3], str(tmp_path / "none")]) == 2
    assert "expected proofs, NAME.proof.json, got none" in capsys.readouterr().err
    for more in (["a"], ["a", "b"]):
        assert cli.main([*line, *more]) == 2
        assert "got PUBLIC and --batch" in capsys.readouterr().err
    assert cli.main(line[:2]) == 2
    assert "missing argument PUBLIC" in capsys.readouterr().err


@pytest.mark.parametrize("curve", CURVES.values())
def test_products_of_pairings_are_bilinear(curve: str) -> None:
    known, order = zk.curve(curve), zk.curve(curve).fr.modulus
    p, q = known.g1_generator.reshape(1), known.g2_generator.reshape(1)
    for a, b, c in ((6, 5, -30), (order - 1, order - 1, -1), (0, 7, 0)):
        first = cw.concat([a * p, c * p])
        assert zk.pairing_check(first, cw.concat([b * q, q]))
        assert a == 0 or not zk.pairing_check(first, cw.concat([(b + 1) * q, 2 * q]))
    assert zk.pairing_check(p[:0], q[:0])
    assert not zk.pairing_check(p, q)
    with pytest.raises(DTypeError, match=r"g1: got .*g2, expected points of a G1 with a pairing"):
        zk.pairing_check(q, q)
    with pytest.raises(DTypeError, match=f"g2: got .*, expected points of {curve}.g2"):
        zk.pairing_check(p, p)
    with pytest.raises(ParamError, match="as many points as g1 has"):
        zk.pairing_check(p, cw.concat([q, q]))
    with pytest.raises(DTypeError, match="g1"):
        zk.pairing_check(ops.zeros((1,), _core.uint64), q)
