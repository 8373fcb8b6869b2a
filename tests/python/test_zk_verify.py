"""Groth16 verification of snarkjs's files, described in `tests/vectors/groth16/README.md`."""

import json
from pathlib import Path
from typing import Any

import cloakwork as cw
import pytest
from cloakwork import cli, zk
from cloakwork.errors import LoadError, ParamError, ProofError
from cloakwork.fields.parameters import ORDERS

VECTORS = Path(__file__).parents[1] / "vectors" / "groth16"
CURVES = {"bn128": "bn254", "bls12381": "bls12_381"}

BASE_PRIMES = {
    "bn128": 0x30644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD47,
    "bls12381": int(
        "1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF"
        "6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB",
        16,
    ),
}


def files(folder: str, number: int) -> tuple[Path, Path, Path]:
    base = VECTORS / folder
    return (
        base / "mixed.vkey.json",
        base / f"mixed{number}.public.json",
        base / f"mixed{number}.proof.json",
    )


def loaded(folder: str, number: int) -> list[Any]:
    return [json.loads(path.read_text()) for path in files(folder, number)]


@pytest.mark.parametrize("folder", CURVES)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_proofs_of_snarkjs_hold_and_no_others(folder: str, number: int) -> None:
    vkey, public, proof = files(folder, number)
    assert zk.groth16.verify(vkey, public, proof)
    key, signals, parts = loaded(folder, number)
    assert zk.groth16.verify(key, signals, parts)
    for forced in ("forced12", "forced00"):
        assert zk.groth16.verify(vkey, public, VECTORS / folder / f"mixed{number}.{forced}.json")
    values = [int(signal) for signal in signals]
    for index in range(len(values)):
        changed = [value + (at == index) for at, value in enumerate(values)]
        assert not zk.groth16.verify(vkey, changed, proof)
    # A and C exchanged are points of the same group, and no proof.
    assert not zk.groth16.verify(key, signals, parts | {"pi_a": parts["pi_c"]})
    infinite = parts | {"pi_c": ["0", "1", "0"]}
    assert not zk.groth16.verify(key, signals, infinite)


@pytest.mark.parametrize("folder", CURVES)
@pytest.mark.parametrize("absent", [{"curve"}, {"curve", "protocol"}, {"protocol"}])
def test_proofs_of_rapidsnark_have_the_curve_of_the_key(
    folder: str, absent: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`Proof::toJson` of rapidsnark writes the points and the protocol, and no curve."""
    key, signals, parts = loaded(folder, 1)
    bare = {name: part for name, part in parts.items() if name not in absent}
    assert zk.groth16.verify(key, signals, bare)
    assert not zk.groth16.verify(key, signals, bare | {"pi_a": parts["pi_c"]})
    assert zk.Proof.load(bare, key["curve"]) == zk.Proof.load(parts)
    with pytest.raises(LoadError, match=r"expected a member (curve|protocol), got none"):
        zk.Proof.load(bare)
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(bare))
    vkey, public, _ = map(str, files(folder, 1))
    assert cli.main(["verify", vkey, public, str(path)]) == 0
    assert capsys.readouterr().out == "OK\n"


@pytest.mark.parametrize("folder", CURVES)
def test_what_a_proof_names_is_not_the_key_s_to_tell(folder: str) -> None:
    key, signals, parts = loaded(folder, 1)
    (other,) = CURVES.keys() - {folder}
    own = zk.Proof.load(loaded(other, 1)[2], folder)
    assert own.curve == CURVES[other]
    said = f"a key over {CURVES[folder]}, and a proof over {own.curve}"
    with pytest.raises(ProofError, match=said):
        zk.groth16.verify(key, signals, own)
    for name, value, said in (
        ("curve", "pallas", "curve: expected bn128 or bls12381, got"),
        ("curve", None, "curve: expected bn128 or bls12381, got null"),
        ("protocol", "plonk", "zk.plonk and cloakwork verify"),
        ("protocol", None, "protocol: expected groth16, got null"),
    ):
        with pytest.raises(LoadError, match=said):
            zk.groth16.verify(key, signals, parts | {name: value})
    bare = {name: part for name, part in parts.items() if name != "curve"}
    with pytest.raises(LoadError, match="rapidsnark's proofs do not name it: name the curve"):
        zk.Proof.load(bare)
    with pytest.raises(LoadError, match="expected an object, got a list of 3"):
        zk.groth16.verify(key, signals, ["1", "2", "3"])
    with pytest.raises(ParamError, match="curve: got secp, expected bn254 or bls12_381"):
        zk.Proof.load(bare, "secp")
    # Coordinates of the larger prime are no proof under a key of the smaller.
    foreign = {name: part for name, part in loaded("bls12381", 1)[2].items() if name != "curve"}
    with pytest.raises(LoadError, match="expected a decimal string below"):
        zk.groth16.verify(*loaded("bn128", 1)[:2], foreign)


@pytest.mark.parametrize("folder", CURVES)
def test_a_negated_proof_is_the_same_proof(folder: str) -> None:
    """e(-A, -B) = e(A, B): Groth16 proofs are malleable, and a verifier says so truthfully."""
    key, signals, parts = loaded(folder, 1)
    prime = BASE_PRIMES[folder]
    x, y, one = parts["pi_a"]
    minus_a = [x, str(prime - int(y)), one]
    assert not zk.groth16.verify(key, signals, parts | {"pi_a": minus_a})
    bx, by, bone = parts["pi_b"]
    minus_b = [bx, [str((prime - int(part)) % prime) for part in by], bone]
    assert zk.groth16.verify(key, signals, parts | {"pi_a": minus_a, "pi_b": minus_b})


@pytest.mark.parametrize("folder", CURVES)
def test_a_proof_can_be_blinded_anew_by_anybody(folder: str) -> None:
    """(x A, B / x, C) and (A, B + x delta, C + x A) hold too; docs/groth16.md explains why."""
    curve = zk.curve(CURVES[folder])
    key = zk.VerifyingKey.load(files(folder, 1)[0])
    proof = zk.Proof.load(files(folder, 1)[2])
    signals = files(folder, 1)[1]
    a, c = (cw.asarray(part, dtype=curve.g1) for part in (proof.a, proof.c))
    b, delta = (cw.asarray(part, dtype=curve.g2) for part in (proof.b, key.delta2))
    x, inverse = 5, pow(5, -1, ORDERS[curve.name])
    for parts in ((x * a, inverse * b, c), (a, b + x * delta, c + x * a)):
        other = zk.Proof(proof.curve, *(part.to_bytes() for part in parts))
        assert other != proof
        assert zk.groth16.verify(key, signals, other)


@pytest.mark.parametrize("folder", CURVES)
def test_points_off_the_curve_or_outside_the_group_are_refused(folder: str) -> None:
    key, signals, parts = loaded(folder, 1)
    x, y, one = parts["pi_a"]
    off = parts | {"pi_a": [x, str(int(y) + 1), one]}
    with pytest.raises(ProofError, match="pi_a: point 0 is not on the curve"):
        zk.groth16.verify(key, signals, off)
    broken = json.loads(json.dumps(key))
    broken["IC"][2][0] = "5"
    with pytest.raises(ProofError, match="IC: point 2 is not on the curve"):
        zk.groth16.verify(broken, signals, parts)
    # x = 4 on BLS12-381 is on the curve, in no group of prime order.
    if folder == "bls12381":
        prime = BASE_PRIMES["bls12381"]
        root = pow(4**3 + 4, (prime + 1) // 4, prime)
        assert root * root % prime == 68
        outside = parts | {"pi_a": ["4", str(root), "1"]}
        with pytest.raises(ProofError, match="not in the group of prime order"):
            zk.groth16.verify(key, signals, outside)


@pytest.mark.parametrize("folder", ["bn128", "bls12381"])
@pytest.mark.parametrize(
    "change",
    [
        lambda key: key["vk_alphabeta_12"][1][2].reverse(),
        lambda key: key["vk_alphabeta_12"][0][0].__setitem__(0, "1"),
        lambda key: key["vk_alphabeta_12"].reverse(),
        lambda key: key.update(vk_beta_2=key["vk_gamma_2"]),
    ],
)
def test_a_pairing_in_a_key_is_that_of_its_points(folder: str, change: Any) -> None:
    key = json.loads((VECTORS / folder / "mixed.vkey.json").read_text())
    whole = zk.VerifyingKey.load(key)
    change(key)
    with pytest.raises(LoadError, match="vk_alphabeta_12: expected the pairing of vk_alpha_1"):
        zk.VerifyingKey.load(key)
    del key["vk_alphabeta_12"]
    assert zk.VerifyingKey.load(key).alpha1 == whole.alpha1


def test_what_does_not_go_together_is_refused() -> None:
    key, signals, parts = loaded("bn128", 1)
    with pytest.raises(ProofError, match=r"expected 3 public signals, .* got 2"):
        zk.groth16.verify(key, signals[:2], parts)
    with pytest.raises(ProofError, match="a key over bn254, and a proof over bls12_381"):
        zk.groth16.verify(key, signals, loaded("bls12381", 1)[2])
    prime = ORDERS["bn254"]
    with pytest.raises(LoadError, match=r"public signals, \[1\]: expected a decimal string below"):
        zk.groth16.verify(key, [signals[0], str(prime), signals[2]], parts)
    with pytest.raises(ParamError, match="public signal 1"):
        zk.groth16.verify(key, [1, prime, 2], parts)
    with pytest.raises(LoadError, match=r"zk\.plonk and cloakwork verify"):
        zk.groth16.verify(key | {"protocol": "plonk"}, signals, parts)


@pytest.mark.parametrize("folder", CURVES)
def test_statements_are_written_as_snarkjs_writes_them(folder: str, tmp_path: Path) -> None:
    vkey, public, proof = files(folder, 2)
    curve = CURVES[folder]
    zk.VerifyingKey.load(vkey).save(tmp_path / "vkey.json")
    zk.Public.load(public, curve).save(tmp_path / "public.json")
    zk.Proof.load(proof).save(tmp_path / "proof.json")
    for path in (vkey, public, proof):
        kind = path.name.split(".", maxsplit=1)[1]
        assert (tmp_path / kind).read_bytes() == path.read_bytes()
    # A key's file includes its verifying key, with points in Montgomery form.
    key = zk.read_zkey(VECTORS / folder / "mixed.zkey", check=True)
    assert key.verifying_key.to_json() == vkey.read_text()


def test_files_say_what_they_are() -> None:
    base = VECTORS / "bn128"
    assert repr(zk.read_r1cs(base / "mixed.r1cs")) == (
        "Circuit(bn254, constraints=15, wires=17, outputs=2, public_inputs=1, private_inputs=2)"
    )
    assert repr(zk.read_wtns(base / "mixed1.wtns")) == "Witness(bn254, wires=17)"
    key = zk.read_zkey(base / "mixed.zkey")
    assert repr(key) == "ProvingKey(bn254, wires=17, public=3, domain=2^5)"
    assert key.points["a"].shape == (17,)
    assert key.points["c"].shape == (13,)
    with pytest.raises(LoadError, match=r"expected a proving key, .zkey, got a witness: zk.read"):
        zk.read_zkey(base / "mixed1.wtns")


def test_points_of_a_key_are_checked_unless_told_otherwise(tmp_path: Path) -> None:
    data = bytearray((VECTORS / "bn128" / "mixed.zkey").read_bytes())
    # alpha1 follows the primes and three counts in the header.
    at = data.index((17).to_bytes(4, "little") + (3).to_bytes(4, "little")) + 12
    header = data.copy()
    header[at] ^= 1
    (tmp_path / "header.zkey").write_bytes(header)
    with pytest.raises(LoadError, match="zkey, alpha1: point 0 is not on the curve"):
        zk.read_zkey(tmp_path / "header.zkey", check=False)
    points = _core_bytes(zk.read_zkey(VECTORS / "bn128" / "mixed.zkey").points["h"])
    place = data.index(points)
    data[place + 5 * 64] ^= 1
    (tmp_path / "h.zkey").write_bytes(data)
    zk.read_zkey(tmp_path / "h.zkey", check=False)
    with pytest.raises(LoadError, match="zkey, h: point 5 is not on the curve"):
        zk.read_zkey(tmp_path / "h.zkey")


def _core_bytes(points: Any) -> bytes:
    """The bytes of points as they lie in the file."""
    section = (VECTORS / "bn128" / "mixed.zkey").read_bytes()
    at = 12
    while int.from_bytes(section[at : at + 4], "little") != 9:
        at += 12 + int.from_bytes(section[at + 4 : at + 12], "little")
    size = int.from_bytes(section[at + 4 : at + 12], "little")
    assert size == points.nbytes
    return section[at + 12 : at + 12 + size]


def test_the_command_says_ok_invalid_or_why_not(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    vkey, public, proof = map(str, files("bn128", 1))
    assert cli.main(["verify", vkey, public, proof]) == 0
    assert capsys.readouterr().out == "OK\n"
    other = str(files("bn128", 2)[1])
    assert cli.main(["verify", vkey, other, proof]) == 1
    assert capsys.readouterr().out == "INVALID\n"
    assert cli.main(["verify", vkey, proof, public]) == 2
    assert capsys.readouterr().err.startswith(
        f"cloakwork: {proof}: expected public signals, public.json, got a proof: "
    )
    assert cli.main(["verify", vkey, str(tmp_path / "none.json"), proof]) == 2
    assert "No such file" in capsys.readouterr().err
