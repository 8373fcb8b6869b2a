"""Ceremonies: files equal to snarkjs's to the byte, and each kind of wrong file refused by name."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import cloakwork as cw
import pytest
from cloakwork import _core, ops, zk
from cloakwork.demo import merkle
from cloakwork.demo.node import Missing, Node
from cloakwork.errors import LoadError, ParamError, ProofError
from cloakwork.zk import ceremony
from cloakwork.zk.ceremony import overrun
from cloakwork.zk.ceremony.sums import Terms, sums_of
from cloakwork.zk.groth16.algebra import point_bytes, scalars

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"
CURVES = {"bn128": "bn254", "bls12381": "bls12_381"}
BEACON = bytes(range(1, 33))
# SHA-256 of `snarkjs powersoftau new CURVE 5`.
NEW = {
    "bn128": "e2c8a4bdcb6b333c44a6f727022c968bce2dfb698e4d80b7d10a94f806d0612c",
    "bls12381": "f4add4c339c83c33ca314c74af925f456f9959cdd91c265c568cd45821724aac",
}


def vector(curve: str, name: str) -> Path:
    return VECTORS / "ceremony" / curve / name


def circuit(curve: str) -> Path:
    return VECTORS / "groth16" / curve / "mixed.r1cs"


@pytest.fixture(scope="module")
def node() -> Node:
    try:
        return Node.install(merkle.CIRCUITS / "package.json", ROOT / "out" / "node")
    except Missing as missing:
        pytest.skip(str(missing))


def places(path: Path, *, powers: bool) -> dict[int, tuple[int, int]]:
    return {number: (at, size) for number, at, size in _core.ceremony_file(str(path), powers)}


def altered(path: Path, at: int, out: Path, by: bytes = b"") -> Path:
    """A copy with another byte, or other bytes, at a place."""
    data = bytearray(path.read_bytes())
    if by:
        data[at : at + len(by)] = by
    else:
        data[at] ^= 1
    out.write_bytes(data)
    return out


@pytest.mark.parametrize("curve", CURVES)
def test_new_powers_equal_those_of_snarkjs(curve: str, tmp_path: Path) -> None:
    made = ceremony.new(CURVES[curve], 5, tmp_path / "new.ptau")
    assert hashlib.sha256((tmp_path / "new.ptau").read_bytes()).hexdigest() == NEW[curve]
    assert (made.curve, made.power, made.contributions) == (CURVES[curve], 5, ())
    with pytest.raises(ProofError, match="nobody has contributed"):
        ceremony.verify(tmp_path / "new.ptau")


@pytest.mark.parametrize("curve", CURVES)
def test_beacons_and_lagrange_points_equal_those_of_snarkjs(curve: str, tmp_path: Path) -> None:
    ended, prepared = tmp_path / "ended.ptau", tmp_path / "prepared.ptau"
    told = ceremony.beacon(vector(curve, "contributed.ptau"), ended, BEACON.hex(), 10, name="end")
    assert (told.number, told.name, told.beacon) == (2, "end", ceremony.Beacon(BEACON, 10))
    assert ceremony.prepare(ended, prepared).prepared
    assert prepared.read_bytes() == vector(curve, "prepared.ptau").read_bytes()


@pytest.mark.parametrize("curve", CURVES)
def test_keys_and_their_beacons_equal_those_of_snarkjs(curve: str, tmp_path: Path) -> None:
    first, final = tmp_path / "first.zkey", tmp_path / "final.zkey"
    made = ceremony.setup(circuit(curve), vector(curve, "prepared.ptau"), first)
    assert first.read_bytes() == vector(curve, "first.zkey").read_bytes()
    assert made.contributions == ()
    assert any(made.circuit_hash)
    ceremony.beacon_key(vector(curve, "contributed.zkey"), final, BEACON, 10, name="end")
    assert final.read_bytes() == vector(curve, "final.zkey").read_bytes()


@pytest.mark.parametrize("curve", CURVES)
def test_files_of_snarkjs_hold(curve: str) -> None:
    powers = ceremony.verify(vector(curve, "prepared.ptau"))
    assert [one.name for one in powers.contributions] == ["first", "end"]
    key = ceremony.verify_key(
        circuit(curve), vector(curve, "prepared.ptau"), vector(curve, "final.zkey")
    )
    assert [one.name for one in key.contributions] == ["me", "end"]


def whole(curve: str, folder: Path) -> tuple[Path, Path]:
    """Powers and a key of a ceremony made here, with two contributions each."""
    made = [folder / f"{index}.ptau" for index in range(4)]
    ceremony.new(CURVES[curve], 5, made[0])
    ceremony.contribute(made[0], made[1], name="Ana", entropy="dice")
    ceremony.contribute(made[1], made[2])
    ceremony.prepare(made[2], made[3])
    keys = [folder / f"{index}.zkey" for index in range(3)]
    ceremony.setup(circuit(curve), made[3], keys[0])
    ceremony.contribute_key(keys[0], keys[1], name="Ben")
    ceremony.contribute_key(keys[1], keys[2])
    return made[3], keys[2]


@pytest.mark.parametrize("curve", CURVES)
def test_a_ceremony_made_here_holds_and_its_key_proves(curve: str, tmp_path: Path) -> None:
    powers, key = whole(curve, tmp_path)
    found = ceremony.verify(powers)
    assert [str(one) for one in found.contributions] == ["contribution 1 (Ana)", "contribution 2"]
    assert ceremony.verify_key(circuit(curve), powers, key).contributions[0].name == "Ben"
    witness = VECTORS / "groth16" / curve / "mixed1.wtns"
    proof, public = zk.groth16.prove(key, witness, r1cs=circuit(curve))
    assert zk.groth16.verify(zk.read_zkey(key).verifying_key, public, proof)


@pytest.mark.parametrize("curve", CURVES)
def test_snarkjs_accepts_a_ceremony_made_here(curve: str, node: Node, tmp_path: Path) -> None:
    powers, key = whole(curve, tmp_path)
    assert (
        "Powers of Tau Ok!"
        in node.run("snarkjs", "powersoftau", "verify", str(powers), at=tmp_path).stdout
    )
    done = node.run(
        "snarkjs", "zkey", "verify", str(circuit(curve)), str(powers), str(key), at=tmp_path
    )
    assert "ZKey Ok!" in done.stdout


def test_two_contributions_have_other_secrets(tmp_path: Path) -> None:
    source = vector("bn128", "contributed.ptau")
    told = [ceremony.contribute(source, tmp_path / f"{index}.ptau") for index in range(2)]
    assert told[0].hash != told[1].hash


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(
    ("section", "fault"),
    [
        (1, "expected"),
        (2, "section 2|is not on the curve|coordinate"),
        (3, "section 3"),
        (4, "section 4"),
        (5, "section 5"),
        (6, "section 6"),
        (12, "section 12"),
        (13, "section 13"),
        (14, "section 14"),
        (15, "section 15"),
    ],
)
def test_an_altered_section_of_powers_is_refused(
    curve: str, section: int, fault: str, tmp_path: Path
) -> None:
    source = vector(curve, "prepared.ptau")
    at, size = places(source, powers=True)[section]
    wrong = altered(source, at + size // 2, tmp_path / "wrong.ptau")
    with pytest.raises((LoadError, ProofError), match=fault):
        ceremony.verify(wrong)


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("section", [12, 13, 14, 15, 2, 3, 4, 5])
def test_another_point_of_the_group_is_refused(curve: str, section: int, tmp_path: Path) -> None:
    """The last point of a section takes the place of the one before it."""
    source = vector(curve, "prepared.ptau")
    at, size = places(source, powers=True)[section]
    bytes_of_point = zk.ceremony.read(source).groups.size(2 if section in {3, 13} else 1)
    data = source.read_bytes()
    last = data[at + size - bytes_of_point : at + size]
    wrong = altered(source, at + size - 2 * bytes_of_point, tmp_path / "wrong.ptau", last)
    with pytest.raises(ProofError, match=f"section {section}"):
        ceremony.verify(wrong)


def parts_of_powers(groups: ceremony.PowersOfTau) -> dict[str, tuple[int, int, str]]:
    """Bytes of the first contribution, where they begin, and what an alteration of them breaks."""
    g1, g2 = groups.groups.size(1), groups.groups.size(2)
    sizes = {
        "tau1": (g1, "tau in G1|tau"), "tau2": (g2, "tau in G2"), "alpha1": (g1, "alpha in G1"),
        "beta1": (g1, "beta in G1"), "beta2": (g2, "beta in G2"),
        "tau base": (g1, "tau"), "tau multiple": (g1, "tau"), "alpha base": (g1, "alpha"),
        "alpha multiple": (g1, "alpha"), "beta base": (g1, "beta"), "beta multiple": (g1, "beta"),
        "tau second": (g2, "tau"), "alpha second": (g2, "alpha"), "beta second": (g2, "beta"),
    }  # fmt: skip
    found, at = {}, 4
    for name, (size, fault) in sizes.items():
        found[name] = (at, size, fault)
        at += size
    return found


@pytest.mark.parametrize("curve", CURVES)
def test_each_altered_part_of_a_contribution_is_refused(curve: str, tmp_path: Path) -> None:
    source = vector(curve, "contributed.ptau")
    start, _ = places(source, powers=True)[7]
    for name, (at, size, fault) in parts_of_powers(ceremony.read(source)).items():
        # The generator, or its double's bytes, is another point of the group.
        groups = ceremony.read(source).groups
        group = 1 if size == groups.size(1) else 2
        point = _core.file_bytes(groups.generator(group))
        wrong = altered(source, start + at, tmp_path / "wrong.ptau", point)
        with pytest.raises(ProofError, match=f"contribution 1 .first.: .*({fault})"):
            ceremony.verify(wrong)
        del name


@pytest.mark.parametrize("curve", CURVES)
def test_altered_hashes_of_powers_are_refused(curve: str, tmp_path: Path) -> None:
    source = vector(curve, "contributed.ptau")
    start, _ = places(source, powers=True)[7]
    at, size, _ = parts_of_powers(ceremony.read(source))["beta second"]
    state = start + at + size
    for offset, fault in ((140, "response"), (216, "next challenge"), (200, "state|response")):
        wrong = altered(source, state + offset, tmp_path / "wrong.ptau")
        with pytest.raises((LoadError, ProofError), match=fault):
            ceremony.verify(wrong)


@pytest.mark.parametrize("curve", CURVES)
def test_another_beacon_is_refused(curve: str, tmp_path: Path) -> None:
    source, key = vector(curve, "prepared.ptau"), vector(curve, "final.zkey")
    at = source.read_bytes().index(BEACON)
    wrong = altered(source, at, tmp_path / "wrong.ptau")
    with pytest.raises(ProofError, match=r"contribution 2 \(end\): its keys are not"):
        ceremony.verify(wrong)
    wrong = altered(key, key.read_bytes().index(BEACON), tmp_path / "wrong.zkey")
    with pytest.raises(ProofError, match=r"contribution 2 \(end\): its keys are not"):
        ceremony.verify_key(circuit(curve), source, wrong)


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("section", range(2, 11))
def test_an_altered_section_of_a_key_is_refused(curve: str, section: int, tmp_path: Path) -> None:
    source = vector(curve, "final.zkey")
    at, size = places(source, powers=False)[section]
    # The last byte of a point's highest coordinate but for one: off the curve, or another scalar.
    wrong = altered(source, at + size - 3, tmp_path / "wrong.zkey")
    with pytest.raises((LoadError, ProofError)) as error:
        ceremony.verify_key(circuit(curve), vector(curve, "prepared.ptau"), wrong)
    assert f"section {section}" in str(error.value) or section in {2, 3, 10}


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("section", [8, 9])
def test_another_point_of_a_key_is_refused(curve: str, section: int, tmp_path: Path) -> None:
    source = vector(curve, "final.zkey")
    at, _ = places(source, powers=False)[section]
    size = ceremony.read_key(source).groups.size(1)
    second = source.read_bytes()[at + size : at + 2 * size]
    wrong = altered(source, at, tmp_path / "wrong.zkey", second)
    with pytest.raises(ProofError, match=f"section {section}"):
        ceremony.verify_key(circuit(curve), vector(curve, "prepared.ptau"), wrong)


def test_a_key_whose_delta_is_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProofError, match="everyone knows delta"):
        ceremony.verify_key(
            circuit("bn128"), vector("bn128", "prepared.ptau"), vector("bn128", "first.zkey")
        )
    toxic = tmp_path / "toxic.zkey"
    zk.groth16.setup(circuit("bn128"), toxic)
    with pytest.raises(LoadError, match="without a ceremony"):
        ceremony.contribute_key(toxic, tmp_path / "out.zkey")
    with pytest.raises(ProofError, match="alpha1 is not that of the powers"):
        ceremony.verify_key(circuit("bn128"), vector("bn128", "prepared.ptau"), toxic)


@pytest.mark.parametrize("cut", [3, 11, 20, 70, 5000, -1])
def test_truncated_powers_are_refused(cut: int, tmp_path: Path) -> None:
    short = tmp_path / "short.ptau"
    short.write_bytes(vector("bn128", "prepared.ptau").read_bytes()[:cut])
    with pytest.raises(LoadError, match=r"short\.ptau"):
        ceremony.verify(short)


def test_powers_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.zkey"
    with pytest.raises(ParamError, match="powers over bls12_381"):
        ceremony.setup(circuit("bn128"), vector("bls12381", "prepared.ptau"), out)
    with pytest.raises(ParamError, match="without Lagrange points"):
        ceremony.setup(circuit("bn128"), vector("bn128", "contributed.ptau"), out)
    few, prepared = tmp_path / "few.ptau", tmp_path / "prepared.ptau"
    ceremony.new("bn254", 1, few)
    ceremony.prepare(few, prepared)
    with pytest.raises(ParamError, match="power of ptau"):
        ceremony.setup(circuit("bn128"), prepared, out)
    assert not out.exists()


REFUSED: list[tuple[Callable[[Path], object], str]] = [
    (lambda out: ceremony.new("pallas", 4, out), "bn254 or bls12_381"),
    (lambda out: ceremony.new("bn254", 0, out), "from 1 to 28"),
    (lambda out: ceremony.new("bn254", 29, out), "from 1 to 28"),
    (lambda out: ceremony.contribute(VECTORS / "x", out, name="n" * 65), "printable"),
    (lambda out: ceremony.contribute(VECTORS / "x", out, name="a\nb"), "printable"),
    (lambda out: ceremony.beacon(VECTORS / "x", out, "abc", 10), "hexadecimal"),
    (lambda out: ceremony.beacon(VECTORS / "x", out, "", 10), "1 to 255"),
    (lambda out: ceremony.beacon(VECTORS / "x", out, "ab", 9), "10 to 63"),
    (lambda out: ceremony.beacon_key(VECTORS / "x", out, "ab", 64), "10 to 63"),
    (lambda out: ceremony.beacon_key(VECTORS / "x", out, "ab", "10"), "an integer from 10 to 63"),
    (lambda out: ceremony.beacon(VECTORS / "x", out, "ab", 10.5), "an integer from 10 to 63"),
    (lambda out: ceremony.beacon(VECTORS / "x", out, 12, 10), "got a int, expected bytes, or hexa"),
    (lambda out: ceremony.contribute(VECTORS / "x", out, name=None), "printable"),
    (lambda out: ceremony.contribute(VECTORS / "x", out, name="\U0001f600" * 64), "got 256 bytes"),
    (lambda out: ceremony.contribute(VECTORS / "x", out, entropy="\udc80"), "no Unicode"),
    (
        lambda out: ceremony.contribute_key(VECTORS / "x", out, entropy=5),
        "got a int, expected text",
    ),
]


@pytest.mark.parametrize(("call", "fault"), REFUSED)
def test_wrong_arguments_are_refused(
    call: Callable[[Path], object], fault: str, tmp_path: Path
) -> None:
    with pytest.raises(ParamError, match=fault):
        call(tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_an_output_never_replaces_an_input(tmp_path: Path) -> None:
    powers = tmp_path / "powers.ptau"
    shutil.copy(vector("bn128", "contributed.ptau"), powers)
    before = powers.read_bytes()
    for call in (ceremony.contribute, ceremony.prepare):
        with pytest.raises(Exception, match=r"powers\.ptau"):
            call(powers, powers)
    assert powers.read_bytes() == before


def test_a_file_of_another_kind_is_named() -> None:
    with pytest.raises(LoadError, match="a proving key"):
        ceremony.read(vector("bn128", "final.zkey"))


def test_a_difference_beyond_the_powers_is_that_of_snarkjs() -> None:
    """By ffjavascript's `g1m_subAffine` and `g1m_batchLEMtoU`, on bytes of a section's head."""
    first, second, expected = (
        bytes.fromhex(text)
        for text in (
            "0300000000004000000000002620bc02d1b5838e72017b493519ebdcdf1a8197"
            "4726b8fb3b5096af4138571940614ca87d73b4afc4d802585add4360862fa052",
            "0221eb822f78e4f25567e28cff888c7ace2122e405e7038172258f0e3775d708"
            "bb3609efdc81f48e18b69612e1ca4cc188018b9347f5bb153b029d25afd6b903",
            "07397267063a1d5b81e513766fa4e03de8fd66836478d4e0cdbbaec632c45774"
            "254bdf8877d847ab71fd4c363e00319e9fe744ef0d70b66c931e6130adb5d901",
        )
    )
    prime = zk.curve("bn254").fq.modulus
    found = overrun.difference(first, second, prime)
    inverse = pow(1 << 256, -1, prime)
    numbers = [int.from_bytes(found[at : at + 32], "little") for at in (0, 32)]
    assert b"".join((n * inverse % prime).to_bytes(32, "big") for n in numbers) == expected


def test_a_beacon_that_takes_too_long_is_refused_at_once(tmp_path: Path) -> None:
    source = vector("bn128", "prepared.ptau")
    at = source.read_bytes().index(BEACON) - 3
    wrong = altered(source, at, tmp_path / "wrong.ptau", bytes([63]))
    with pytest.raises(ProofError, match=r"contribution 2 \(end\): .* 2\^63 times"):
        ceremony.verify(wrong)


@pytest.mark.parametrize(
    ("offset", "by", "fault"),
    [
        (-4, bytes([2, 0, 0, 0]), "a contribution's type, 0 or 1"),
        (4, bytes([7]), "parameters 1 .name., 2 .iterations., 3 .hash."),
        (5, bytes([200]), "more bytes"),
        (0, bytes([3, 0, 0, 0]), "section's end|more bytes|parameters"),
    ],
)
def test_what_a_file_says_of_a_contribution_is_checked(
    offset: int, by: bytes, fault: str, tmp_path: Path
) -> None:
    source = vector("bn128", "contributed.ptau")
    at = source.read_bytes().index(b"\1\5first") - 4
    wrong = altered(source, at + offset, tmp_path / "wrong.ptau", by)
    with pytest.raises(LoadError, match=fault):
        ceremony.read(wrong)


def test_names_that_are_no_text_are_kept(tmp_path: Path) -> None:
    source = vector("bn128", "contributed.ptau")
    at = source.read_bytes().index(b"first")
    odd = altered(source, at, tmp_path / "odd.ptau", b"\xff")
    ceremony.contribute(odd, tmp_path / "next.ptau")
    assert b"\1\5\xffirst" in (tmp_path / "next.ptau").read_bytes()
    assert len(ceremony.verify(tmp_path / "next.ptau").contributions) == 2


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    told = ceremony.contribute(
        vector("bn128", "contributed.ptau"), tmp_path / "a.ptau", entropy="x"
    )
    found = ceremony.read(tmp_path / "a.ptau")
    assert "x" not in repr(told).replace("\\x", "").split("hash")[0]
    assert repr(found) == "PowersOfTau(bn254, power=5, prepared=False, contributions=2)"


def test_small_multiples_and_others_are_summed_as_products_are() -> None:
    """Sums of multiples by doubles, against one scalar multiplication a term."""
    numbers = [1, -1, 0, 2, -2, 3, -7, 2**39 + 5, -(2**39) - 5, 2**40, 3**90, -(3**90)]
    generator = zk.curve("bn254").g1_generator.reshape(1)
    table = ops.curve_mul(scalars("bn254", [5, 7, 11]), generator)
    owners, places = [0, 0, 1, 1, 1, 1, 3, 3, 3, 3, 3, 4], [0, 1, 2, 2, 2, 0, 1, 1, 1, 2, 0, 0]
    terms = Terms(
        cw.asarray(owners, dtype="i64"), cw.asarray(places, dtype="i64"),
        scalars("bn254", numbers),
    )  # fmt: skip
    weights = [5, 7, 11]
    expected = [0] * 6
    for owner, place, number in zip(owners, places, numbers, strict=True):
        expected[owner] += number * weights[place]
    found = sums_of(terms, table, 6)
    wanted = ops.curve_mul(scalars("bn254", expected), generator)
    assert point_bytes(found) == point_bytes(wanted)
