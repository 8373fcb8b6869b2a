"""Files of Lattigo, which `scripts/vectors/lattigo_files.go` made, and which it reads again."""

import stat
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import LoadError, ParamError
from cloakwork.fhe.interop import lattigo
from python.vectors import load

CASES = load("files_lattigo.json")["cases"]


class Files:
    """A case's files, with what was read from them."""

    def __init__(self, case: dict[str, Any], folder: Path) -> None:
        self.folder, self.values = folder, np.array(case["values"])
        for name in case.keys() - {"values"}:
            (folder / name).write_bytes(b64decode(case[name]))
        self.context = lattigo.load_parameters(folder / "parameters", insecure=True)
        self.public = lattigo.load_public_key(folder / "public", self.context)
        self.keys = lattigo.load_secret_key(folder / "secret", self.context, self.public)
        relin, galois = folder / "relin", [folder / "galois"]
        self.evaluation = lattigo.load_evaluation_keys(
            self.context, relin=relin, galois=galois, owner=self.public
        )
        self.keys.adopt(self.evaluation)

    def ciphertext(self, name: str) -> fhe.Ciphertext:
        path = self.folder / name
        return lattigo.load_ciphertext(path, self.context, owner=self.evaluation, bound=4.0)


@pytest.fixture(params=CASES, ids=lambda case: f"{len(case['relin'])}")
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    return Files(request.param, tmp_path)


@pytest.mark.parametrize("name", ["ciphertext", "lower"])
def test_what_lattigo_encrypted_is_decrypted_and_computed_on(files: Files, name: str) -> None:
    x, values = files.ciphertext(name), files.values
    np.testing.assert_allclose(files.keys.decrypt(x).real, values, atol=1e-4)
    np.testing.assert_allclose(files.keys.decrypt(x.rotate(1)).real, np.roll(values, -1), atol=1e-4)
    np.testing.assert_allclose(files.keys.decrypt(x * x).real, values**2, atol=1e-3)
    fresh = files.public.encrypt(values)
    np.testing.assert_allclose(files.keys.decrypt(fresh).real, values, atol=1e-4)


def test_files_are_written_as_lattigo_writes_them(files: Files, tmp_path: Path) -> None:
    """Byte for byte; whether it reads them follows from that."""
    again = tmp_path / "again"
    for name in ("ciphertext", "lower"):
        lattigo.save_ciphertext(files.ciphertext(name), again)
        assert again.read_bytes() == (tmp_path / name).read_bytes()
    lattigo.save_relinearization_key(files.evaluation, again)
    assert again.read_bytes() == (tmp_path / "relin").read_bytes()
    lattigo.save_galois_key(files.evaluation, 5, again)
    assert again.read_bytes() == (tmp_path / "galois").read_bytes()
    lattigo.save_secret_key(files.keys, tmp_path / "s")
    assert (tmp_path / "s").read_bytes() == (tmp_path / "secret").read_bytes()
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600
    lattigo.save_public_key(files.keys, again)
    public = lattigo.load_public_key(again, files.context)
    lattigo.load_secret_key(tmp_path / "s", files.context, public)


def readers(files: Files) -> dict[str, Callable[[Path], object]]:
    context, evaluation = files.context, lattigo.load_evaluation_keys
    return {
        "parameters": lambda path: lattigo.load_parameters(path, insecure=True),
        "ciphertext": lambda path: lattigo.load_ciphertext(path, context),
        "public": lambda path: lattigo.load_public_key(path, context),
        "relin": lambda path: evaluation(context, relin=path),
        "galois": lambda path: evaluation(context, galois=[path]),
        "secret": lambda path: lattigo.load_secret_key(path, context, files.public),
    }


def test_damaged_files_are_load_errors(files: Files, tmp_path: Path) -> None:
    generator, damaged = np.random.default_rng(5), tmp_path / "damaged"
    for name, read in readers(files).items():
        whole = (tmp_path / name).read_bytes()
        for _ in range(60):
            data = bytearray(whole)
            data[generator.integers(0, min(320, len(data)))] ^= 1 << generator.integers(0, 8)
            data[generator.integers(0, len(data))] ^= 1 << generator.integers(0, 8)
            damaged.write_bytes(data)
            with suppress(LoadError):
                read(damaged)
        for size in {*generator.integers(0, len(whole), 20).tolist(), 0, len(whole) - 1}:
            damaged.write_bytes(whole[:size])
            with pytest.raises(LoadError, match="damaged"):
                read(damaged)


def test_other_kinds_of_objects_are_load_errors(files: Files, tmp_path: Path) -> None:
    for name, read in readers(files).items():
        for other in readers(files):
            if other != name:
                with pytest.raises(LoadError, match=other):
                    read(tmp_path / other)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"LogDefaultScale":30', b'"PlaintextModulus":257', "BGV"),
        (b'"Standard"', b'"ConjugateInvariant"', "RingType"),
        (b"35184372088961", b"35184372088963", "modulus"),
        (b'"LogN":6', b'"LogN":40', "LogN"),
        (b'"LogN":6', b'"LogN":"6"', "LogN"),
        (b'"LogDefaultScale":30', b'"LogDefaultScale":[3]', "parameters"),
        (b'"LogDefaultScale":30', b'"LogDefaultScale":1e9', "parameters"),
    ],
)
def test_other_parameters_are_load_errors(
    files: Files, tmp_path: Path, old: bytes, new: bytes, message: str
) -> None:
    path = tmp_path / "parameters"
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(LoadError, match=message):
        lattigo.load_parameters(path, insecure=True)


def test_contexts_and_keys_without_a_counterpart_are_refused(files: Files, tmp_path: Path) -> None:
    bgv = fhe.bgv(64, 257, [40, 40], [45], insecure=True)
    with pytest.raises(ParamError, match="CKKS"):
        lattigo.load_ciphertext(tmp_path / "ciphertext", bgv)
    with pytest.raises(ParamError, match="element"):
        lattigo.save_galois_key(files.evaluation, 25, tmp_path / "x")
    short = files.context.keygen(level=0)
    with pytest.raises(ParamError, match="level 2"):
        lattigo.save_relinearization_key(short.evaluation, tmp_path / "x")
