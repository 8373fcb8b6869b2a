"""Damaged and tampered PLONK keys: refused with the section, the byte, or what is wrong."""

import random
import struct
from pathlib import Path

import pytest
from cloakwork import zk
from cloakwork.errors import CloakworkError, LoadError, ProofError, WitnessError

VECTORS = Path(__file__).parents[1] / "vectors"
CURVES = ("bn128", "bls12381")
Sections = dict[int, bytes]


def read(folder: str = "bn128", name: str = "mixed.zkey") -> Sections:
    data = (VECTORS / "plonk" / folder / name).read_bytes()
    at, found = 12, {}
    while at < len(data):
        number, size = struct.unpack_from("<IQ", data, at)
        found[number] = data[at + 12 : at + 12 + size]
        at += 12 + size
    return found


def write(sections: Sections, path: Path, magic: bytes = b"zkey") -> Path:
    body = b"".join(struct.pack("<IQ", n, len(part)) + part for n, part in sections.items())
    path.write_bytes(magic + struct.pack("<II", 1, len(sections)) + body)
    return path


def patched(part: bytes, at: int, new: bytes) -> bytes:
    return part[:at] + new + part[at + len(new) :]


def u32(number: int) -> bytes:
    return struct.pack("<I", number)


# Where the counts of the header begin: after both primes of 32 bytes.
COUNTS = 72
PRIME = 21888242871839275222246405745257275088548364400416034343698204186575808495617
ABOVE = PRIME.to_bytes(32, "little")


@pytest.mark.parametrize(
    ("section", "at", "new", "expected"),
    [
        (1, 0, u32(10), "expected a Groth16 or a PLONK key, got an fflonk key"),
        (2, COUNTS + 4, u32(17), "expected fewer public signals than the circuit's 17 wires"),
        (2, COUNTS + 8, u32(48), "a domain of a power of two"),
        (2, COUNTS + 8, u32(4), "a domain of a power of two"),
        (2, COUNTS + 8, u32(1 << 27), "a domain of a power of two"),
        (2, COUNTS + 8, u32(64), "section 14 .powers of tau."),
        (2, COUNTS + 12, u32(25), "fewer additions than the 25 wires"),
        (2, COUNTS + 12, u32(7), "section 3 .additions."),
        (2, COUNTS + 16, u32(33), "gates from 3, one a public signal, to 32"),
        (2, COUNTS + 16, u32(25), "section 4 .wires of a."),
        (2, COUNTS + 20, ABOVE, "a factor k1 below the prime"),
        (2, COUNTS + 20, bytes(32), "two factors of columns other than 0"),
        (2, COUNTS + 84, b"\x01", "commitments: point 0 is not on the curve"),
        (3, 0, u32(17), "a wire before this addition's below 17"),
        (3, 8, ABOVE, "a factor below the prime"),
        (4, 4, u32(25), "a wire below 25"),
        (4, 0, u32(2), "wire 1, a public signal"),
        (9, 32, ABOVE, "section 9 .selector Qr."),
        (12, 10 * 32 * 32, ABOVE, "section 12 .permutation."),
    ],
)
def test_what_a_section_says_is_held_against_its_bytes(
    section: int, at: int, new: bytes, expected: str, tmp_path: Path
) -> None:
    sections = read()
    sections[section] = patched(sections[section], at, new)
    # Byte 84 of what follows the counts: the first commitment's x.
    with pytest.raises(LoadError, match=expected):
        zk.read_zkey(write(sections, tmp_path / "bad.zkey"))


@pytest.mark.parametrize("section", range(1, 15))
def test_every_section_is_there_whole(section: int, tmp_path: Path) -> None:
    sections = read()
    part = sections[section]
    for other in (part[:-1], part + b"\0", b""):
        sections[section] = other
        with pytest.raises(LoadError, match=f"section {section} "):
            zk.plonk.read_zkey(write(sections, tmp_path / "bad.zkey"))
    del sections[section]
    with pytest.raises(LoadError, match=f"section {section} "):
        zk.plonk.read_zkey(write(sections, tmp_path / "bad.zkey"))


def test_additions_are_not_deeper_than_a_setup_makes_them(tmp_path: Path) -> None:
    """A chain of additions, each of the one before."""
    sections = read()
    header = sections[2]
    one = bytes(32)
    for depth, fits in ((64, True), (65, False)):
        chain = [struct.pack("<II", 16 + step, 0) + one + one for step in range(depth)]
        sections[3] = b"".join(chain)
        counts = patched(header, COUNTS, u32(17 + depth))
        sections[2] = patched(counts, COUNTS + 12, u32(depth))
        path = write(sections, tmp_path / "deep.zkey")
        if fits:
            assert zk.plonk.read_zkey(path, check=False).levels == (1,) * depth
            continue
        with pytest.raises(LoadError, match="additions of additions, 64 deep at most"):
            zk.plonk.read_zkey(path, check=False)


@pytest.mark.parametrize("folder", CURVES)
def test_a_key_whose_proofs_may_tell_the_witness_is_refused(folder: str, tmp_path: Path) -> None:
    sections = read(folder)
    powers, size = sections[14], len(sections[14]) // 38
    witness = VECTORS / "groth16" / folder / "mixed1.wtns"
    parts = [powers[at : at + size] for at in range(0, len(powers), size)]
    off_curve = bytes([powers[0] ^ 1]) + powers[1:]
    # Blinding is (tau^n - 1) b: each of these keys would make it nothing, or known.
    cases = {
        "is not on the curve|not below the prime": off_curve,
        "the first is not the generator": b"".join([parts[1], *parts[1:]]),
        "tau is 0 or in the domain": b"".join(parts[:32] + parts[:6]),
        "tau is 0 or in the domain, and": b"".join([parts[0], *[bytes(size)] * 37]),
        "they are not powers of the number in X_2": b"".join(parts[:34] + parts[30:34]),
        "not powers of the number": b"".join([*parts[:3], parts[4], parts[3], *parts[5:]]),
    }
    for match, other in cases.items():
        sections[14] = other
        path = write(sections, tmp_path / "bad.zkey")
        with pytest.raises(LoadError, match=match):
            zk.read_zkey(path)
        with pytest.raises(ProofError, match=match):
            zk.plonk.prove(path, witness)
    sections = read(folder)
    for section in (7, 9, 12):
        part = sections[section]
        sections[section] = patched(part, 0, part[32:64])
        path = write(sections, tmp_path / "bad.zkey")
        with pytest.raises(ProofError, match="commitments of its header are not to its polynom"):
            zk.plonk.prove(path, witness)
        # Without the check the proof does not hold, and is not given out.
        with pytest.raises(WitnessError):
            zk.plonk.prove(path, witness, check=False)
        sections[section] = part


def test_values_that_are_not_read_may_be_anything(tmp_path: Path) -> None:
    """They follow from coefficients: a key cannot have others to tell the witness by."""
    sections = read()
    coefficients = 32 * 32
    for number in range(7, 12):
        sections[number] = sections[number][:coefficients] + b"\xff" * (4 * coefficients)
    sections[13] = b"\xff" * len(sections[13])
    path = write(sections, tmp_path / "other.zkey")
    proof, _ = zk.plonk.prove(
        path, VECTORS / "groth16" / "bn128" / "mixed1.wtns", blinding=tuple(range(1, 12))
    )
    expected = VECTORS / "plonk" / "bn128" / "mixed1.forced.json"
    assert proof.to_json() == expected.read_text()


@pytest.mark.parametrize("seed", range(4))
def test_changed_bytes_are_refused_or_change_nothing(seed: int, tmp_path: Path) -> None:
    drawn = random.Random(seed)
    data = bytearray((VECTORS / "plonk" / "bn128" / "mixed.zkey").read_bytes())
    expected = (VECTORS / "plonk" / "bn128" / "mixed.vkey.json").read_text()
    path = tmp_path / "bad.zkey"
    for _ in range(40):
        place = drawn.randrange(len(data))
        before, data[place] = data[place], data[place] ^ 1 << drawn.randrange(8)
        path.write_bytes(data)
        data[place] = before
        try:
            key = zk.plonk.read_zkey(path)
        except LoadError:
            continue
        assert key.verifying_key.to_json() == expected


@pytest.mark.parametrize(
    ("section", "at", "new", "expected"),
    [
        (1, 36, u32(6), "section 2 .powers of tau in G1."),
        (1, 36, u32(200), "a power up to 28"),
        (2, 0, b"\xff" * 64, "the first is not the generator"),
        (1, 4, b"\xff" * 32, "prime of coordinates"),
    ],
)
def test_damaged_powers_of_tau_are_refused(
    section: int, at: int, new: bytes, expected: str, tmp_path: Path
) -> None:
    sections = read(name="pot5.ptau")
    sections[section] = patched(sections[section], at, new)
    path = write(sections, tmp_path / "bad.ptau", b"ptau")
    with pytest.raises(CloakworkError, match=expected):
        zk.plonk.setup(VECTORS / "groth16" / "bn128" / "mixed.r1cs", path, tmp_path / "no.zkey")
    assert not (tmp_path / "no.zkey").exists()
