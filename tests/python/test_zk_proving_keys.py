"""Proving keys that would reveal the witness are refused, and so are ambiguous statements.

A key is tampered with as its maker could: its points are replaced.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core, cli, zk
from cloakwork._core import Tensor
from cloakwork.demo import merkle
from cloakwork.errors import LoadError, ParamError, ProofError
from python.not_elements import NOT_ELEMENTS, words_of

VECTORS = Path(__file__).parents[1] / "vectors" / "groth16"
FOLDERS = ["bn128", "bls12381"]
CURVES = {"bn128": "bn254", "bls12381": "bls12_381"}


def key_of(folder: str) -> zk.ProvingKey:
    return zk.read_zkey(VECTORS / folder / "mixed.zkey", check=False)


def with_points(key: zk.ProvingKey, **points: Tensor) -> zk.ProvingKey:
    return dataclasses.replace(key, points=key.points | points)


def at_infinity(key: zk.ProvingKey, name: str, *indices: int) -> Tensor:
    """Points of a name with some at infinity; all, if none is named."""
    points = cw.asarray(key.points[name], copy=True)
    for index in indices or range(points.shape[0]):
        points[index] = cw.zeros((), dtype=points.dtype)
    return points


def doubled(key: zk.ProvingKey, name: str, index: int = 0) -> Tensor:
    points = cw.asarray(key.points[name], copy=True)
    points[index] = points[index] + points[index]
    return points


def used(matrix: zk.Matrix) -> int:
    """A wire that is in a row, and no public one."""
    return int(np.asarray(matrix.columns).max())


def unused(matrix: zk.Matrix, wires: int) -> int:
    """A wire that is in no row."""
    return min(set(range(wires)) - set(np.asarray(matrix.columns).tolist()))


HEADER = ("alpha1", "beta1", "beta2", "gamma2", "delta1", "delta2")


def without(name: str) -> Callable[[zk.ProvingKey], zk.ProvingKey]:
    return lambda key: with_points(key, **{name: at_infinity(key, name)})


TAMPERED: dict[str, tuple[Callable[[zk.ProvingKey], zk.ProvingKey], str]] = {
    f"{name} at infinity": (without(name), f"{name}: point 0 is at infinity") for name in HEADER
} | {
    "no blinding": (
        lambda key: with_points(
            key, **{name: at_infinity(key, name) for name in ("beta1", "delta1", "b1")}
        ),
        "beta1: point 0 is at infinity",
    ),
    "another beta1": (
        lambda key: with_points(key, beta1=doubled(key, "beta1")),
        "beta1 and beta2 hold different numbers",
    ),
    "another delta1": (
        lambda key: with_points(key, delta1=doubled(key, "delta1")),
        "delta1 and delta2 hold different numbers",
    ),
    "a wire without its A": (
        lambda key: with_points(key, a=at_infinity(key, "a", used(key.left))),
        "a: point .* is at infinity",
    ),
    "a wire with an A that it has not": (
        lambda key: with_points(key, a=_moved(key, "a", unused(key.left, key.wires))),
        "a: point .* is not at infinity",
    ),
    "B in G1 at infinity": (
        lambda key: with_points(key, b1=at_infinity(key, "b1")), "b1: point .* is at infinity",
    ),
    "a wire without its B": (
        lambda key: with_points(
            key, **{name: at_infinity(key, name, used(key.right)) for name in ("b1", "b2")}
        ),
        "b1: point .* is at infinity",
    ),
    "another B in G1": (
        lambda key: with_points(key, b1=doubled(key, "b1", used(key.right))),
        "B in G1 and in G2 hold different numbers",
    ),
    "a wire without its C": (
        lambda key: with_points(
            key, c=at_infinity(key, "c", used(key.left) - key.public - 1)
        ),
        "c: point .* is at infinity",
    ),
    "a quotient without its H": (
        lambda key: with_points(key, h=at_infinity(key, "h", 3)), "h: point 3 is at infinity",
    ),
    "a signal that is not bound": (
        lambda key: with_points(key, ic=at_infinity(key, "ic", 2)), "ic: point 2 is at infinity",
    ),
}  # fmt: skip


def _moved(key: zk.ProvingKey, name: str, index: int) -> Tensor:
    points = cw.asarray(key.points[name], copy=True)
    points[index] = key.points["alpha1"][0]
    return points


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("how", TAMPERED)
def test_a_tampered_key_proves_nothing(how: str, folder: str) -> None:
    tamper, why = TAMPERED[how]
    key = tamper(key_of(folder))
    with pytest.raises(ProofError, match=why):
        zk.groth16.prove(key, VECTORS / folder / "mixed1.wtns")
    with pytest.raises(ProofError, match=why):
        key.check(groups=True)


@pytest.mark.parametrize("folder", FOLDERS)
def test_without_the_check_a_tampered_key_shows_the_witness(folder: str) -> None:
    """The attack that the check prevents: proofs hold, and A is the same in all of them."""
    tamper, _ = TAMPERED["no blinding"]
    prover = zk.groth16.Prover(tamper(key_of(folder)))
    witness = VECTORS / folder / "mixed1.wtns"
    proofs = [zk.groth16.prove(prover, witness, check=False)[0] for _ in range(2)]
    assert proofs[0].a == proofs[1].a
    with pytest.raises(ProofError):
        zk.groth16.prove(prover, witness)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_file_that_was_tampered_with_is_refused_when_it_is_read(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tamper, why = TAMPERED["no blinding"]
    data = (VECTORS / folder / "mixed.zkey").read_bytes()
    key = key_of(folder)
    changed = tamper(key)
    for name in ("beta1", "delta1", "b1"):
        before, after = (k.points[name].__reduce_ex__(2)[1][0] for k in (key, changed))
        assert before in data
        # Of delta1 a contribution has a copy, which is not used.
        data = data.replace(before, after, 1)
    path = tmp_path / "bad.zkey"
    path.write_bytes(data)
    with pytest.raises(LoadError, match=why):
        zk.read_zkey(path)
    wtns, out = str(VECTORS / folder / "mixed1.wtns"), str(tmp_path / "p.json")
    line = ["prove", str(path), wtns, "-o", out, "--public", str(tmp_path / "s.json")]
    assert cli.main(line) == 2
    assert "beta1: point 0 is at infinity" in capsys.readouterr().err
    assert cli.main([*line, "--no-check"]) == 0
    assert cli.main(["inspect", str(path)]) == 2
    assert "beta1: point 0 is at infinity" in capsys.readouterr().out


@pytest.mark.parametrize("folder", FOLDERS)
def test_keys_of_snarkjs_and_of_our_own_pass(folder: str, tmp_path: Path) -> None:
    key_of(folder).check(groups=True)
    zk.read_zkey(VECTORS / folder / "mixed.zkey")
    circuit = merkle.CIRCUITS / folder / "merkle.r1cs"
    zk.groth16.setup(circuit, tmp_path / "own.zkey").check()


def test_coefficients_that_cancel_leave_a_wire_out_of_its_row() -> None:
    key = key_of("bn128")
    free = unused(key.left, key.wires)
    columns = np.asarray(key.left.columns).tolist()
    values, starts = key.left.values, np.asarray(key.left.starts).tolist()
    # Row 0 gets an entry of that wire, and its opposite.
    first = starts[1]
    both = cw.concat([values[:first], values[:1], -values[:1], values[first:]])
    columns[first:first] = [free, free]
    starts = [starts[0], *(start + 2 for start in starts[1:])]
    left = zk.Matrix(cw.asarray(starts), cw.asarray(columns), both)
    dataclasses.replace(key, left=left).check()
    single = cw.concat([values[:first], values[:1], values[:1], values[first:]])
    left = zk.Matrix(cw.asarray(starts), cw.asarray(columns), single)
    with pytest.raises(ProofError, match=f"a: point {free} is at infinity"):
        dataclasses.replace(key, left=left).check()


@pytest.mark.parametrize("what", ["outside of BN254's G2", "outside of BLS12-381's G2"])
def test_a_point_outside_of_its_group_is_found(what: str) -> None:
    dtype, coordinates, why = NOT_ELEMENTS[what]
    folder = {curve: name for name, curve in CURVES.items()}[dtype.split(".")[0]]
    key = key_of(folder)
    size = key.points["b2"].nbytes // key.wires
    p = zk.curve(dtype.split(".")[0]).fq.modulus
    held = bytearray(key.points["b2"].__reduce_ex__(2)[1][0])
    radix = 1 << (64 * -(-p.bit_length() // 64))
    inside = words_of(dtype, tuple(x * radix % p for x in coordinates)).tobytes()
    index = used(key.right)
    held[index * size : (index + 1) * size] = inside
    data = (VECTORS / folder / "mixed.zkey").read_bytes()
    data = data.replace(key.points["b2"].__reduce_ex__(2)[1][0], bytes(held))
    for groups in (True, False):
        with pytest.raises(ProofError, match=f"b2: point {index} .*{why}"):
            _read(data, folder).check(groups=groups)


def _read(data: bytes, folder: str) -> zk.ProvingKey:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"{folder}.zkey"
        path.write_bytes(data)
        return zk.read_zkey(path, check=False)


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("name", ["vk_alpha_1", "vk_beta_2", "vk_gamma_2", "vk_delta_2"])
def test_a_verifying_key_with_a_point_at_infinity_is_refused(folder: str, name: str) -> None:
    base = VECTORS / folder
    key = json.loads((base / "mixed.vkey.json").read_text())
    infinity = ["0", "1", "0"] if name.endswith("1") else [["0", "0"], ["1", "0"], ["0", "0"]]
    with pytest.raises(LoadError, match=f"{name}: expected a point other than infinity"):
        zk.VerifyingKey.load(key | {name: infinity})
    own = zk.VerifyingKey.load(key)
    field = name.removeprefix("vk_").replace("_", "")
    wrong = dataclasses.replace(own, **{field: bytes(len(getattr(own, field)))})
    with pytest.raises(ProofError, match=f"{name} is at infinity"):
        zk.groth16.verify(wrong, base / "mixed1.public.json", base / "mixed1.proof.json")


SPELLINGS = ["0{}", "00{}", "+{}", " {}", "{} ", "{}_0", "{}.0", "0x{}", "-{}"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_number_is_written_in_one_way(spelling: str) -> None:
    base = VECTORS / "bn128"
    key, signals, proof = (
        json.loads((base / f"mixed{name}.json").read_text())
        for name in (".vkey", "1.public", "1.proof")
    )
    assert zk.groth16.verify(key, signals, proof)
    changed: list[tuple[Any, Any, Any]] = [
        (key | {"IC": [[spelling.format(key["IC"][0][0]), *key["IC"][0][1:]], *key["IC"][1:]]},
         signals, proof),
        (key, [spelling.format(signals[0]), *signals[1:]], proof),
        (key, signals, proof | {"pi_a": [spelling.format(proof["pi_a"][0]), *proof["pi_a"][1:]]}),
        (key, signals, proof | {"pi_a": [*proof["pi_a"][:2], spelling.format("1")]}),
    ]  # fmt: skip
    for statement in changed:
        with pytest.raises(LoadError, match="of digits alone"):
            zk.groth16.verify(*statement)


@pytest.mark.parametrize("kind", ["vkey", "proof"])
def test_a_member_that_stands_twice_is_refused(kind: str, tmp_path: Path) -> None:
    name = "mixed.vkey.json" if kind == "vkey" else "mixed1.proof.json"
    text = (VECTORS / "bn128" / name).read_text()
    first = "vk_alpha_1" if kind == "vkey" else "pi_a"
    value = json.dumps(json.loads(text)[first])
    path = tmp_path / "twice.json"
    path.write_text(text.rstrip().removesuffix("}") + f', "{first}": {value}\n}}')
    load = zk.VerifyingKey.load if kind == "vkey" else zk.Proof.load
    with pytest.raises(LoadError, match=f'the member "{first}" twice'):
        load(path)


def test_signals_are_integers_and_no_truth_values() -> None:
    with pytest.raises(ParamError, match="public signal 1"):
        zk.Public.load([1, True, 2], "bn254")


def test_the_commands_give_a_verifying_key_and_say_what_files_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = VECTORS / "bn128"
    out = tmp_path / "vkey.json"
    assert cli.main(["vkey", str(base / "mixed.zkey"), "-o", str(out)]) == 0
    assert out.read_bytes() == (base / "mixed.vkey.json").read_bytes()
    assert cli.main(["inspect", str(base / "mixed.zkey"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts == {
        "kind": "proving key", "protocol": "groth16", "curve": "bn254", "wires": 17, "public": 3,
        "entries_a": facts["entries_a"], "entries_b": facts["entries_b"], "domain": 32,
        "check": "passed",
    }  # fmt: skip
    assert cli.main(["inspect", str(base / "mixed.r1cs"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    circuit = zk.read_r1cs(base / "mixed.r1cs")
    assert facts == {
        "kind": "circuit", "curve": "bn254", "constraints": 15, "wires": 17, "outputs": 2,
        "public_inputs": 1, "private_inputs": 2, "entries_a": circuit.a.entries,
        "entries_b": circuit.b.entries, "entries_c": circuit.c.entries, "domain": 32,
    }  # fmt: skip
    assert cli.main(["inspect", str(base / "mixed.r1cs")]) == 0
    assert "constraints" in capsys.readouterr().out
    assert cli.main(["inspect", str(base / "mixed.r1cs"), "--plan"]) == 2
    assert "--plan" in capsys.readouterr().err


def test_equal_numbers_in_both_groups_are_known_by_pairings() -> None:
    for name in CURVES.values():
        curve = zk.curve(name)
        one, two = curve.g1_generator.reshape(1), curve.g2_generator.reshape(1)
        for k, other in ((1, 1), (5, 5), (5, 6), (0, 0), (0, 1)):
            g1, g2 = (k * one).to_bytes(), (other * two).to_bytes()
            assert _core.same_number(name, g1, g2) == (k == other)
