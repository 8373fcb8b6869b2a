"""The commands for ceremonies: what they print, their JSON, and their exit status."""

import json
from pathlib import Path

import pytest
from cloakwork import cli

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"
CIRCUIT = str(VECTORS / "groth16" / "bn128" / "mixed.r1cs")
FILES = VECTORS / "ceremony" / "bn128"
POWERS, KEY = str(FILES / "prepared.ptau"), str(FILES / "final.zkey")


def status_of(*arguments: str) -> int:
    return cli.main([*arguments])


def test_a_ceremony_by_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = {name: str(tmp_path / name) for name in ("0", "1", "2", "pot", "key0", "key1", "key2")}
    steps = [
        ["ptau", "new", "bn254", "5", at["0"]],
        ["ptau", "contribute", at["0"], at["1"], "--name", "Ana", "-e", "dice"],
        ["ptau", "beacon", at["1"], at["2"], "0123", "10"],
        ["ptau", "prepare", at["2"], at["pot"]],
        ["ptau", "verify", at["pot"]],
        ["setup", "groth16", CIRCUIT, at["pot"], "-o", at["key0"]],
        ["zkey", "contribute", at["key0"], at["key1"], "--name", "Ben"],
        ["zkey", "beacon", at["key1"], at["key2"], "0123", "10"],
        ["zkey", "verify", CIRCUIT, at["pot"], at["key2"]],
    ]
    for step in steps:
        assert status_of(*step) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert "contribution 1 (Ana)" in said
    assert "contribution 2, beacon 0123" in said
    assert said.endswith("OK\n")
    assert "contribution 1 (Ben)" in said


def test_inspection_and_verification_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("ptau", "inspect", POWERS, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["curve"], found["power"], found["prepared"]) == ("bn254", 5, True)
    assert [one["name"] for one in found["contributions"]] == ["first", "end"]
    assert status_of("zkey", "verify", CIRCUIT, POWERS, KEY, "--json") == 0
    assert json.loads(capsys.readouterr().out)["holds"] is True


def test_what_does_not_hold_ends_with_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray((FILES / "contributed.ptau").read_bytes())
    data[-100] ^= 1
    (tmp_path / "wrong.ptau").write_bytes(data)
    assert status_of("ptau", "verify", str(tmp_path / "wrong.ptau")) == 2
    assert "contribution 1" in capsys.readouterr().err


def test_setup_tells_its_two_forms_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "circuit.zkey")
    for given in (["groth16", CIRCUIT], [CIRCUIT, POWERS], ["other", CIRCUIT, POWERS]):
        assert status_of("setup", *given, "-o", out) == 2
        assert "expected CIRCUIT, or groth16 or plonk, CIRCUIT and POWERS" in " ".join(
            capsys.readouterr().err.replace("│", " ").split()
        )
    assert status_of("setup", CIRCUIT, "-o", out) == 0
    assert "there was no ceremony" in capsys.readouterr().err


def test_a_key_whose_delta_everyone_knows_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    first, vkey = str(FILES / "first.zkey"), str(tmp_path / "vkey.json")
    assert status_of("vkey", first, "-o", vkey) == 0
    assert capsys.readouterr().err.count("nobody has contributed to this key") == 1
    for kind in ("solidity", "vyper", "gnark", "arkworks", "snarkjs"):
        for key in (first, vkey):
            assert status_of("export", kind, key, "-o", out) == 0
            assert capsys.readouterr().err.count("nobody has contributed to this key") == 1
        assert status_of("export", kind, KEY, "-o", out) == 0
        assert "contributed" not in capsys.readouterr().err
    assert status_of("vkey", KEY, "-o", out) == 0
    assert "contributed" not in capsys.readouterr().err


def test_setup_says_who_verifies_the_powers_and_fullprove_names_its_systems(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command, said in (("setup", "cloakwork ptau verify"), ("fullprove", "Groth16 or PLONK")):
        assert status_of(command, "--help") == 0
        assert said in " ".join(capsys.readouterr().out.replace("│", " ").split())
