"""Files of OpenFHE in JSON, which `scripts/vectors/openfhe_files.py` made."""

from collections.abc import Callable
from contextlib import suppress
from json import dumps, loads
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import LoadError, ParamError
from cloakwork.fhe.interop import openfhe
from python.vectors import load

CASES = load("files_openfhe.json")["cases"]


class Files:
    """A case's files, with what was read from them."""

    def __init__(self, case: dict[str, Any], folder: Path) -> None:
        self.folder, self.values = folder, np.array(case["values"])
        for name in case.keys() - {"values"}:
            (folder / name).write_text(dumps(case[name]))
        self.context = openfhe.load_parameters(
            folder / "parameters", keys=folder / "relin", insecure=True
        )
        self.public = openfhe.load_public_key(folder / "public", self.context)
        self.keys = openfhe.load_secret_key(folder / "secret", self.context, self.public)
        relin, galois = folder / "relin", folder / "galois"
        self.evaluation = openfhe.load_evaluation_keys(
            self.context, relin=relin, galois=galois, owner=self.public
        )
        self.keys.adopt(self.evaluation)

    def ciphertext(self, name: str) -> fhe.Ciphertext:
        path = self.folder / name
        return openfhe.load_ciphertext(path, self.context, owner=self.evaluation, bound=4.0)


@pytest.fixture(params=CASES, ids=["one limb", "two limbs"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    return Files(request.param, tmp_path)


def test_what_openfhe_encrypted_is_decrypted_and_computed_on(files: Files) -> None:
    x, values = files.ciphertext("ciphertext"), files.values
    np.testing.assert_allclose(files.keys.decrypt(x).real, values, atol=1e-4)
    np.testing.assert_allclose(files.keys.decrypt(x.rotate(1)).real, np.roll(values, -1), atol=1e-4)
    np.testing.assert_allclose(files.keys.decrypt(x * x).real, values**2, atol=1e-3)
    square = files.keys.decrypt(files.ciphertext("square"), check=False)
    np.testing.assert_allclose(square.real, values**2, atol=1e-3)
    fresh = files.public.encrypt(values)
    np.testing.assert_allclose(files.keys.decrypt(fresh).real, values, atol=1e-4)


@pytest.mark.parametrize("name", ["fresh", "lower", "rotated"])
def test_written_ciphertexts_are_read_again(files: Files, tmp_path: Path, name: str) -> None:
    x = files.ciphertext("ciphertext")
    x = {"fresh": x, "lower": (x * x).relinearize().rescale(), "rotated": x.rotate(1)}[name]
    openfhe.save_ciphertext(x, tmp_path / "again", like=tmp_path / "ciphertext")
    again = files.ciphertext("again")
    assert again.level == x.level
    np.testing.assert_array_equal(np.asarray(again.data), np.asarray(x.data))


def test_written_ciphertexts_are_built_as_openfhe_builds_them(files: Files, tmp_path: Path) -> None:
    """The same object; OpenFHE may describe the moduli of a level twice."""
    again, first = tmp_path / "again", tmp_path / "ciphertext"
    openfhe.save_ciphertext(files.ciphertext("square"), again, like=first)
    theirs = loads((tmp_path / "square").read_bytes())
    assert shape(loads(again.read_bytes())) == shape(theirs)
    openfhe.save_ciphertext(files.ciphertext("ciphertext"), again, like=first)
    assert loads(again.read_bytes()) == loads(first.read_bytes())


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: shape(own) for name, own in value.items() if name not in ("id", "p")}
    return [shape(own) for own in value] if isinstance(value, list) else value


def readers(files: Files) -> dict[str, Callable[[Path], object]]:
    context, evaluation = files.context, openfhe.load_evaluation_keys
    return {
        "parameters": lambda path: openfhe.load_parameters(path, insecure=True),
        "ciphertext": lambda path: openfhe.load_ciphertext(path, context),
        "public": lambda path: openfhe.load_public_key(path, context),
        "relin": lambda path: evaluation(context, relin=path),
        "galois": lambda path: evaluation(context, galois=path),
        "secret": lambda path: openfhe.load_secret_key(path, context, files.public),
    }


def test_damaged_files_are_load_errors(files: Files, tmp_path: Path) -> None:
    generator, damaged = np.random.default_rng(5), tmp_path / "damaged"
    for name, read in readers(files).items():
        whole = (tmp_path / name).read_bytes()
        for _ in range(40):
            data = bytearray(whole)
            data[generator.integers(0, len(data))] = generator.integers(32, 127)
            data[generator.integers(0, len(data))] ^= 1 << generator.integers(0, 8)
            damaged.write_bytes(data)
            with suppress(LoadError):
                read(damaged)
        for size in {*generator.integers(0, len(whole), 6).tolist(), 0, len(whole) - 1}:
            damaged.write_bytes(whole[:size])
            with pytest.raises(LoadError, match="damaged"):
                read(damaged)


def test_other_kinds_of_objects_are_load_errors(files: Files, tmp_path: Path) -> None:
    for name, read in readers(files).items():
        for other in readers(files):
            if other != name:
                with pytest.raises(LoadError, match=other):
                    read(tmp_path / other)


def test_contexts_without_special_moduli_have_no_use_for_keys(files: Files, tmp_path: Path) -> None:
    context = openfhe.load_parameters(tmp_path / "parameters", insecure=True)
    with pytest.raises(ParamError, match="keys="):
        openfhe.load_evaluation_keys(context, relin=tmp_path / "relin")
    bgv = fhe.bgv(64, 257, [40, 40], [45], insecure=True)
    with pytest.raises(ParamError, match="CKKS"):
        openfhe.load_ciphertext(tmp_path / "ciphertext", bgv)
