"""Readers say what a file is, by its contents, and what reads it."""

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe, files, zk
from cloakwork.cli import main
from cloakwork.errors import LoadError, ModelError
from cloakwork.recognition import recognised
from onnx import TensorProto, helper
from python.serving_setup import CONTEXT

VECTORS = Path(__file__).parents[1] / "vectors" / "groth16" / "bn128"


def model_bytes() -> bytes:
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", info[:1], info[1:])
    made: bytes = helper.make_model(graph, producer_name="me").SerializeToString()
    return made


def npy() -> bytes:
    held = io.BytesIO()
    np.save(held, np.zeros(3))
    return held.getvalue()


def archive(name: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as made:
        made.writestr(name, b"1")
    return held.getvalue()


def program() -> bytes:
    held = Path("program.cwk")
    cw.trace(lambda x: x + x, np.zeros(3)).save(held)
    return held.read_bytes()


def evaluation_keys() -> bytes:
    return CONTEXT.keygen().evaluation.to_bytes()


KINDS: dict[str, tuple[Callable[[], bytes], str]] = {
    "npy": (npy, "one NumPy array"),
    "npz": (lambda: archive("a.npy"), "NumPy arrays"),
    "torch": (lambda: archive("archive/data.pkl"), "a file of torch.save"),
    "zip": (lambda: archive("a.txt"), "a ZIP archive"),
    "onnx": (model_bytes, "fhe.compile"),
    "pickle": (lambda: pickle.dumps([1]), "nothing here opens it"),
    "program": (program, "cw.load"),
    "zkey": ((VECTORS / "mixed.zkey").read_bytes, "zk.read_zkey"),
    "wtns": ((VECTORS / "mixed1.wtns").read_bytes, "zk.read_wtns"),
    "r1cs": ((VECTORS / "mixed.r1cs").read_bytes, "cloakwork setup"),
    "proof": ((VECTORS / "mixed1.proof.json").read_bytes, "cloakwork verify"),
    "public": ((VECTORS / "mixed1.public.json").read_bytes, "cloakwork verify"),
    "pem": (lambda: b"-----BEGIN CERTIFICATE-----\n", "PEM"),
    "ciphertext": (lambda: CONTEXT.keygen().encrypt([1.0]).to_bytes(), "fhe.load"),
    "evaluation keys": (evaluation_keys, "--keys"),
    "empty": (bytes, "an empty file"),
}
READERS: dict[str, tuple[Callable[[str], Any], set[str]]] = {
    "fhe.load": (fhe.load, {"ciphertext", "evaluation keys"}),
    "fhe.load_model": (fhe.load_model, set()),
    "heal.load": (cw.heal.load, set()),
    "files.load_npy": (files.load_npy, {"npy"}),
    "zk.read_zkey": (zk.read_zkey, {"zkey"}),
    "zk.read_wtns": (zk.read_wtns, {"wtns"}),
    "zk.read_r1cs": (zk.read_r1cs, {"r1cs"}),
    "zk.Proof.load": (zk.Proof.load, {"proof"}),
    "fhe.compile": (lambda path: fhe.compile(path, np.zeros((2, 1))), {"onnx"}),
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_of_other_files_says_what_reads_this_one(kind: str) -> None:
    made, word = KINDS[kind]
    # The name says nothing.
    file = Path("file.dat")
    file.write_bytes(made())
    found = recognised(file)
    assert found is not None
    assert found.name == kind
    for name, (reader, own) in READERS.items():
        if kind in own or (kind == "program" and name == "heal.load"):
            continue
        with pytest.raises((LoadError, ModelError)) as error:
            reader(str(file))
        assert str(error.value).startswith("file.dat: "), name
        if kind != "program":
            assert word in str(error.value) or kind == "empty", name


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("run file.dat", "expected a program, got a proving key: zk.read_zkey"),
        ("keygen file.dat -o k", "expected a program, got a proving key"),
        ("compile file.dat --data file.dat -o m.cwk", "expected one NumPy array, .npy, got a prov"),
        ("verify file.dat file.dat file.dat", "expected a verifying key, vkey.json, got a proving"),
        ("serve file.dat", "expected a program, got a proving key"),
        ("run t.json --input x=file.ct", "expected ciphertexts or evaluation keys, got a proving"),
    ],
)
def test_commands_say_it_too(line: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file.dat").write_bytes((VECTORS / "mixed.zkey").read_bytes())
    Path("file.ct").write_bytes((VECTORS / "mixed.zkey").read_bytes())
    Path("t.json").write_bytes(cw.heal.sample().read_bytes())
    assert main(line.split()) == 2
    assert words in capsys.readouterr().err


def test_unknown_and_damaged_files_have_no_kind() -> None:
    deep, twice = b"[" * 100_000, b'{"checksum": 1, "checksum": 2}'
    for contents in (
        b"\x80", b"\x08", b"text", b"{", deep, b"CWFHE", b"\x89CWK\r\n", b'{"a": 1}', twice,
    ):  # fmt: skip
        Path("f").write_bytes(contents)
        assert recognised("f") is None
    assert recognised("none") is None
    assert recognised("/dev/null") is None
    Path("f").write_text(json.dumps({"checksum": ""}))
    found = recognised("f")
    assert found is not None
    assert found.name == "description"


def test_folders_have_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    for name, file, kind in (("a", "secret.key", "keys"), ("b", "program.json", "instructions")):
        Path(name).mkdir()
        (Path(name) / file).touch()
        found = recognised(name)
        assert found is not None
        assert found.name == kind
    assert main(["check", "a"]) == 2
    assert "a: Is a directory, a folder of keys: commands" in capsys.readouterr().err
    with pytest.raises(LoadError, match="got a folder of keys: commands take it as KEYS"):
        fhe.load("a")


@pytest.mark.parametrize("text", ['["hello", "world"]', "[1, 2]", "[]", '["1", "-2"]', '["1", {}]'])
def test_lists_of_anything_but_numbers_in_texts_are_no_public_signals(
    text: str, tmp_path: Path
) -> None:
    file = tmp_path / "list.json"
    file.write_text(text)
    assert recognised(file) is None
