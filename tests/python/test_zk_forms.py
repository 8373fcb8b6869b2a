"""Keys, proofs and signals of gnark and arkworks, which made the files of the vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloakwork import cli, zk
from cloakwork.errors import LoadError, ParamError
from cloakwork.fields.parameters import CURVES as FACTS
from cloakwork.fields.parameters import ORDERS
from cloakwork.zk.forms.points import CODECS

VECTORS = Path(__file__).parents[1] / "vectors" / "groth16"
LIBRARIES = {"gnark": zk.export.gnark, "arkworks": zk.export.arkworks}
CURVES = ("bn254", "bls12_381")
FORMS = ("compressed", "uncompressed")
# Of the twists, outside of the groups: the x with the least coordinates, by test_zk_export.py.
OUTSIDE_X = {"bn254": 1, "bls12_381": 2}

pytestmark = pytest.mark.parametrize("library", LIBRARIES)
each_curve = pytest.mark.parametrize("curve", CURVES)
each_form = pytest.mark.parametrize("form", FORMS)


def files(library: str, curve: str, form: str) -> tuple[Path, Path, Path]:
    """Key, public signals and proof."""
    base = VECTORS / library / curve
    return base / f"vkey.{form}", base / "public", base / f"proof.{form}"


@each_form
@each_curve
def test_proofs_of_other_libraries_hold_and_no_others(
    library: str, curve: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    vkey, public, proof = files(library, curve, form)
    assert zk.groth16.verify(vkey, public, proof)
    signals = zk.Public.load(public, curve).signals
    assert len(signals) == 2
    assert not zk.groth16.verify(vkey, signals[::-1], proof)
    assert cli.main(["verify", *map(str, (vkey, public, proof))]) == 0
    assert capsys.readouterr().out == "OK\n"


@each_form
@each_curve
def test_files_are_written_as_the_library_writes_them(
    library: str, curve: str, form: str, tmp_path: Path
) -> None:
    write, compressed = LIBRARIES[library], form == "compressed"
    vkey, public, proof = files(library, curve, form)
    assert write(zk.Proof.load(proof), compressed=compressed) == proof.read_bytes()
    assert write(zk.Public.load(public, curve), compressed=compressed) == public.read_bytes()
    key, expected = zk.VerifyingKey.load(vkey), bytearray(vkey.read_bytes())
    if library == "gnark":
        # vkey.json and the verifying key's object have no beta and delta in G1: they are infinity.
        codec = CODECS[library, curve]
        size = codec.size(1, compressed)
        infinity = codec.encode(bytes(codec.size(1, compressed=False)), 1, compressed)
        for at in (size, 6 * size):
            expected[at : at + size] = infinity
    assert write(key, compressed=compressed) == bytes(expected)
    (tmp_path / "key").write_bytes(expected)
    assert zk.VerifyingKey.load(tmp_path / "key") == key


@each_form
@each_curve
def test_commands_convert_both_ways(
    library: str, curve: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {}
    for source in files(library, curve, form):
        text, back = tmp_path / f"{source.name}.json", tmp_path / source.name
        of = ["--curve", curve] if source.name == "public" else []
        assert cli.main(["export", "snarkjs", str(source), "-o", str(text), *of]) == 0
        line = ["export", library, str(text), "-o", str(back), f"--{form}", *of]
        assert cli.main(line) == 0
        if library == "arkworks" or not source.name.startswith("vkey"):
            assert back.read_bytes() == source.read_bytes()
        made[source.name.partition(".")[0]] = (text, back)
    for index in (0, 1):
        assert zk.groth16.verify(*(made[name][index] for name in ("vkey", "public", "proof")))
    capsys.readouterr()
    public = made["public"][0]
    assert cli.main(["export", library, str(public), "-o", str(tmp_path / "new")]) == 2
    assert "curve" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@each_curve
def test_a_proving_key_gives_gnark_all_of_its_points(library: str, curve: str) -> None:
    folder = {"bn254": "bn128", "bls12_381": "bls12381"}[curve]
    key = zk.read_zkey(VECTORS / folder / "mixed.zkey", check=False)
    whole, part = (LIBRARIES[library](one) for one in (key, key.verifying_key))
    assert (whole == part) == (library == "arkworks")


def wrong(library: str, curve: str, form: str) -> Iterator[tuple[str, bytes, str]]:
    """Altered proofs and keys: a word for each, the bytes, and what is said of them."""
    compressed = form == "compressed"
    codec = CODECS[library, curve]
    _, _, proof = files(library, curve, form)
    data = proof.read_bytes()
    g1, g2 = codec.size(1, compressed), codec.size(2, compressed)
    first = data[:g1]
    flag_at = 0 if codec.big else g1 - 1

    def flagged(bits: int) -> bytes:
        body = bytearray(data)
        body[flag_at] = body[flag_at] & (1 << 8 - codec.bits) - 1 | bits << 8 - codec.bits
        return bytes(body)

    table = codec.packed if compressed else codec.raw
    for bits in range(1 << codec.bits):
        if bits == table["infinite"] and bits not in (table["small"], table["large"]):
            yield "infinity", flagged(bits), "a: its flags say infinity, its coordinates do not"
        elif bits not in table.values():
            yield "flags", flagged(bits), f"a: the flags {bits:0{codec.bits}b} are those of no"
    # A coordinate plus the prime is the same number.
    order: Any = "big" if codec.big else "little"
    mask = codec.width * 8 - codec.bits
    number = int.from_bytes(first[: codec.width], order)
    low = number & (1 << mask) - 1 if codec.big or compressed else number
    if low + codec.prime < 1 << mask:
        above = (number + codec.prime).to_bytes(codec.width, order)
        yield "prime", above + data[codec.width :], "a: a coordinate is not below the prime"
    if compressed:
        for x in range(1, 50):
            cube = (x**3 + FACTS[curve]["b"]) % codec.prime
            if pow(cube, codec.prime // 2, codec.prime) != 1:
                body = bytearray(x.to_bytes(codec.width, order))
                body[0 if codec.big else -1] |= codec.packed["small"] << 8 - codec.bits
                yield "x", bytes(body) + data[g1:], "a: no point of the curve has its x"
                break
    else:
        body = bytearray(data)
        body[codec.width - 1 if codec.big else 0] ^= 1
        yield "curve", bytes(body), "byte 0: a: .*not on the curve"
    outside = codec.decode(_outside(library, curve), 2, compressed=True)
    put = codec.encode(outside, 2, compressed)
    yield "group", data[:g1] + put + data[g1 + g2 :], f"byte {g1}: b: .*"
    for size in (len(data) - 1, len(data) + 1, g1):
        yield "length", (data + b"\x80")[:size], "expected a proof, the JSON of"
    if library == "gnark":
        at = 2 * g1 + g2
        more = data[:at] + b"\0\0\0\1" + data[:g1] + data[at + 4 :]
        yield "commitments", more, "it has commitments, gnark's own"
        yield "count", data[:at] + b"\0\0\0\1" + data[at + 4 :], "commitments: expected none"
        yield "proof of them", data[: at + 4] + data[:g1], "expected infinity"


def _outside(library: str, curve: str) -> bytes:
    """A compressed point of the twist that is not in G2."""
    codec = CODECS[library, curve]
    x = OUTSIDE_X[curve].to_bytes(codec.width, "big" if codec.big else "little")
    zero = bytes(codec.width)
    body = bytearray(zero + x if codec.big else x + zero)
    body[0 if codec.big else -1] |= codec.packed["small"] << 8 - codec.bits
    return bytes(body)


@each_form
@each_curve
def test_altered_proofs_are_refused_with_the_place(
    library: str, curve: str, form: str, tmp_path: Path
) -> None:
    path = tmp_path / "proof"
    seen = set()
    for word, data, said in wrong(library, curve, form):
        path.write_bytes(data)
        with pytest.raises(LoadError, match=said) as caught:
            zk.Proof.load(path)
        assert str(caught.value).startswith(f"{path}: "), word
        seen.add(word)
    assert {"group", "length"} < seen


@each_form
@each_curve
def test_altered_keys_and_signals_are_refused(
    library: str, curve: str, form: str, tmp_path: Path
) -> None:
    vkey, public, _ = files(library, curve, form)
    path = tmp_path / "file"
    codec = CODECS[library, curve]
    g1 = codec.size(1, form == "compressed")
    data = vkey.read_bytes()
    tail = 8 if library == "gnark" else 0
    # The last point of IC, at infinity's flags, or another one's bytes.
    last = len(data) - tail - g1
    path.write_bytes(data[:last] + bytes([255] * g1) + data[last + g1 :])
    with pytest.raises(LoadError, match=rf"byte {last}: ic\[2\]: "):
        zk.VerifyingKey.load(path)
    for size in (len(data) - 1, len(data) - g1, len(data) + 1):
        path.write_bytes((data + b"\x80")[:size])
        with pytest.raises(LoadError, match="expected a verifying key, the JSON of snarkjs"):
            zk.VerifyingKey.load(path)
    if library == "gnark":
        path.write_bytes(data[:-8] + b"\0\0\0\1" + data[-4:] + bytes(300))
        with pytest.raises(LoadError, match="it has commitments, gnark's own"):
            zk.VerifyingKey.load(path)
        path.write_bytes(data[:-1] + b"\1")
        with pytest.raises(LoadError, match="commitments: expected none"):
            zk.VerifyingKey.load(path)
    numbers = bytearray(public.read_bytes())
    numbers[-32:] = ORDERS[curve].to_bytes(32, "big" if library == "gnark" else "little")
    path.write_bytes(numbers)
    with pytest.raises(LoadError, match="public signal 1: expected a number below the prime of"):
        zk.Public.load(path, curve)
    path.write_bytes(public.read_bytes()[:-1])
    with pytest.raises(LoadError, match="expected public signals"):
        zk.Public.load(path, curve)
    if library == "gnark":
        for values in (1, 2):
            counts = values.to_bytes(4, "big") + (1).to_bytes(4, "big")
            path.write_bytes(counts + public.read_bytes()[8:])
            with pytest.raises(LoadError, match="a whole witness of gnark, with secret values"):
                zk.Public.load(path, curve)


@each_curve
def test_points_of_every_kind_go_both_ways(library: str, curve: str) -> None:
    codec, known = CODECS[library, curve], zk.curve(curve)
    for parts, generator in ((1, known.g1_generator), (2, known.g2_generator)):
        for number in range(-8, 9):
            point = (number * generator).to_bytes()
            for compressed in (True, False):
                data = codec.encode(point, parts, compressed)
                assert len(data) == codec.size(parts, compressed)
                assert codec.decode(data, parts, compressed) == point


def test_other_values_are_refused(library: str, tmp_path: Path) -> None:
    with pytest.raises(ParamError, match="statement: got a dict, expected a key, a proof or"):
        LIBRARIES[library]({})
    noise = tmp_path / "noise"
    for data in (b"", b"\0", b"\xff" * 333, b"[]", b"{}", b'["x"]'):
        noise.write_bytes(data)
        with pytest.raises(LoadError):
            zk.export.read(noise)
    for name in ("bn128\0", "bn128 ", "bn;128", "\u00e9bn128", "bn128\n"):
        with pytest.raises((LoadError, ParamError)):
            zk.Proof.load(VECTORS / "bn128" / "mixed1.proof.json", name)
    parts = zk.Proof.load(VECTORS / "bn128" / "mixed1.proof.json").to_json()
    for name in ("bn128\\u0000", "bn128 ", "bn;128", "\u00e9bn128", "bn.128"):
        noise.write_text(parts.replace('"bn128"', f'"{name}"'))
        with pytest.raises(LoadError, match="curve: expected bn128 or bls12381, got"):
            zk.Proof.load(noise)
    for name in ("BN128", "bn254", "alt_bn128", "bn-128"):
        noise.write_text(parts.replace('"bn128"', f'"{name}"'))
        assert zk.Proof.load(noise).curve == "bn254"
    with pytest.raises(ParamError, match="curve: got 'bn128', expected bn254 or"):
        zk.Public.load([1], "bn128")
