"""Forged files of ceremonies: none tells a secret, none passes where everyone knows one."""

from __future__ import annotations

from pathlib import Path

import pytest
from cloakwork import _core, zk
from cloakwork.errors import LoadError, ProofError
from cloakwork.zk import ceremony
from cloakwork.zk.ceremony.contributions import Beacon
from python.test_zk_ceremony import BEACON, CURVES, altered, circuit, places, vector

each_curve = pytest.mark.parametrize("curve", CURVES)


def coordinates(curve: str, numbers: list[int]) -> bytes:
    """Numbers of the coordinates' field, as a file has them."""
    prime = zk.curve(CURVES[curve]).fq.modulus
    size = (prime.bit_length() + 63) // 64 * 8
    return b"".join((one * (1 << 8 * size) % prime).to_bytes(size, "little") for one in numbers)


def weak_points(curve: str, group: int) -> list[bytes]:
    """On the cusp y^2 = x^3, where a secret's multiple tells it; of order 3 on BLS12-381."""
    found = [[1, 1] if group == 1 else [1, 0, 1, 0]]
    if curve == "bls12381" and group == 1:
        found.append([0, 2])
    return [coordinates(curve, numbers) for numbers in found]


@each_curve
@pytest.mark.parametrize("section", range(2, 7))
def test_no_secret_multiplies_a_weak_point_of_powers(
    curve: str, section: int, tmp_path: Path
) -> None:
    source = vector(curve, "contributed.ptau")
    at, size = places(source, powers=True)[section]
    folder = tmp_path / "out"
    folder.mkdir()
    for weak in weak_points(curve, 2 if section in {3, 6} else 1):
        number = size // len(weak) - 1
        forged = altered(source, at + number * len(weak), tmp_path / "forged.ptau", weak)
        fault = rf"forged\.ptau: ptau, section {section}: point {number} is "
        with pytest.raises(ProofError, match=fault):
            ceremony.contribute(forged, folder / "next.ptau")
        assert not list(folder.iterdir())


@each_curve
@pytest.mark.parametrize("section", [8, 9])
def test_no_secret_divides_a_weak_point_of_a_key(curve: str, section: int, tmp_path: Path) -> None:
    source = vector(curve, "contributed.zkey")
    at, _ = places(source, powers=False)[section]
    folder = tmp_path / "out"
    folder.mkdir()
    for weak in weak_points(curve, 1):
        forged = altered(source, at + 2 * len(weak), tmp_path / "forged.zkey", weak)
        fault = rf"forged\.zkey: zkey, section {section}: point 2 is "
        with pytest.raises(ProofError, match=fault):
            ceremony.contribute_key(forged, folder / "next.zkey")
        assert not list(folder.iterdir())


def test_no_secret_multiplies_a_weak_delta(tmp_path: Path) -> None:
    source = vector("bn128", "contributed.zkey")
    at, size = places(source, powers=False)[2]
    for back, weak in ((192, weak_points("bn128", 1)[0]), (128, weak_points("bn128", 2)[0])):
        forged = altered(source, at + size - back, tmp_path / "forged.zkey", weak)
        with pytest.raises(LoadError, match=r"delta|forged\.zkey"):
            ceremony.contribute_key(forged, tmp_path / "next.zkey")
        assert not (tmp_path / "next.zkey").exists()


def test_beacons_alone_keep_no_secret(tmp_path: Path) -> None:
    first, ended, pot = (tmp_path / f"{name}.ptau" for name in ("first", "ended", "pot"))
    ceremony.new("bn254", 5, first)
    ceremony.beacon(first, ended, BEACON, 10)
    fault = "no party has contributed, only public randomness, so that everyone knows tau"
    with pytest.raises(ProofError, match=fault):
        ceremony.verify(ended)
    ceremony.prepare(ended, pot)
    key = tmp_path / "key.zkey"
    with pytest.raises(ProofError, match=fault):
        ceremony.setup(circuit("bn128"), pot, key)
    with pytest.raises(ProofError, match=fault):
        zk.plonk.setup(circuit("bn128"), ended, key)
    assert not key.exists()
    ceremony.beacon_key(vector("bn128", "first.zkey"), key, BEACON, 10)
    with pytest.raises(ProofError, match="only public randomness, so that everyone knows delta"):
        ceremony.verify_key(circuit("bn128"), vector("bn128", "prepared.ptau"), key)


def test_no_key_is_of_powers_whose_tau_is_1(tmp_path: Path) -> None:
    first, pot, key = (tmp_path / name for name in ("first.ptau", "pot.ptau", "key.zkey"))
    ceremony.new("bn254", 5, first)
    ceremony.prepare(first, pot)
    fault = "nobody has contributed, so that everyone knows tau: cloakwork ptau contribute"
    with pytest.raises(ProofError, match=rf"pot\.ptau: {fault}"):
        ceremony.setup(circuit("bn128"), pot, key)
    with pytest.raises(ProofError, match=rf"first\.ptau: {fault}"):
        zk.plonk.setup(circuit("bn128"), first, key)
    # The second power is the first, whatever the file says of contributions.
    source = vector("bn128", "prepared.ptau")
    at, _ = places(source, powers=True)[2]
    one = source.read_bytes()[at : at + 64]
    forged = altered(source, at + 64, tmp_path / "forged.ptau", one)
    for setup in (ceremony.setup, zk.plonk.setup):
        with pytest.raises(ProofError, match=rf"forged\.ptau: {fault}"):
            setup(circuit("bn128"), forged, key)
    assert not key.exists()


def test_a_ceremonys_power_is_bounded(tmp_path: Path) -> None:
    source = vector("bn128", "prepared.ptau")
    at, size = places(source, powers=True)[1]
    for power in (4, 29, 2**32 - 1):
        forged = altered(
            source, at + size - 4, tmp_path / "forged.ptau", power.to_bytes(4, "little")
        )
        with pytest.raises(LoadError, match=f"a ceremony's power from 5 to 28, got {power}"):
            ceremony.verify(forged)


def test_a_beacon_is_repeated_after_all_cheap_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def repeated(_: Beacon) -> bytes:
        raise AssertionError("the beacon was repeated")

    monkeypatch.setattr(Beacon, "seed", repeated)
    source = vector("bn128", "prepared.ptau")
    with pytest.raises(AssertionError, match="the beacon was repeated"):
        ceremony.verify(source)
    groups = ceremony.read(source).groups
    # The keys of the second contribution, the beacon, behind its points.
    step = ceremony.read(source).steps[1]
    at = source.read_bytes().index(step.to_bytes()) + 3 * groups.size(1) + 2 * groups.size(2)
    point = _core.file_bytes(groups.generator(1))
    forged = altered(source, at, tmp_path / "forged.ptau", point)
    with pytest.raises(ProofError, match="the proof that tau is known does not hold"):
        ceremony.verify(forged)
