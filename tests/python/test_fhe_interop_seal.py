"""Files of SEAL: of its WebAssembly build (vectors), and written and read by TenSEAL's, live."""

import stat
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import CloakworkError, LoadError, ParamError
from cloakwork.fhe.interop import seal
from python.vectors import load

pytest.importorskip("zstandard")

CASES = {case["scheme"]: case for case in load("files_seal.json")["cases"]}
# That of the SEAL in TenSEAL's wheel.
TENSEAL = "4.3"


class Files:
    """A case's files, with what was read from them."""

    def __init__(self, case: dict[str, Any], folder: Path) -> None:
        self.folder, self.values = folder, np.array(case["values"])
        for name, text in case.items():
            if name not in ("scheme", "values"):
                (folder / name).write_bytes(b64decode(text))
        self.context = seal.load_parameters(folder / "parameters", insecure=True, scale=2.0**30)
        self.public = seal.load_public_key(folder / "public", self.context)
        self.keys = seal.load_secret_key(folder / "secret", self.context, self.public)
        self.evaluation = seal.load_evaluation_keys(
            self.context, relin=folder / "relin", galois=folder / "galois", owner=self.public
        )
        self.keys.adopt(self.evaluation)

    def ciphertext(self, name: str) -> fhe.Ciphertext:
        bound = 4.0 if self.context.parameters.scheme == "ckks" else None
        path = self.folder / name
        return seal.load_ciphertext(path, self.context, owner=self.evaluation, bound=bound)

    def decrypted(self, x: fhe.Ciphertext) -> Any:
        found = self.keys.decrypt(x)
        return found if found.dtype.kind == "i" else found.real


@pytest.fixture(params=CASES)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    return Files(CASES[request.param], tmp_path)


def rolled(values: Any) -> Any:
    rows = 2 if values.size == 64 else 1
    return np.roll(values.reshape(rows, -1), -1, axis=1).reshape(-1)


@pytest.mark.parametrize("name", ["ciphertext", "lower", "seeded"])
def test_what_seal_encrypted_is_decrypted_and_computed_on(files: Files, name: str) -> None:
    x = files.ciphertext(name)
    np.testing.assert_allclose(files.decrypted(x), files.values, atol=1e-3)
    np.testing.assert_allclose(files.decrypted(x.rotate(1)), rolled(files.values), atol=1e-3)
    if name != "lower":
        np.testing.assert_allclose(files.decrypted(x * x), files.values**2, atol=1e-2)


def test_public_keys_with_a_seed_encrypt(files: Files) -> None:
    public = seal.load_public_key(files.folder / "seeded_public", files.context)
    keys = seal.load_secret_key(files.folder / "secret", files.context, public)
    np.testing.assert_allclose(keys.decrypt(public.encrypt(files.values)), files.values, atol=1e-3)


def test_written_files_are_read_again(files: Files, tmp_path: Path) -> None:
    x, again = files.ciphertext("lower"), tmp_path / "again"
    seal.save_ciphertext(x, again)
    assert again.read_bytes()[16:] == (tmp_path / "lower").read_bytes()[16:].replace(
        (tmp_path / "lower").read_bytes()[:5], again.read_bytes()[:5]
    )
    seal.save_parameters(files.context, again)
    assert seal.load_parameters(again, insecure=True, scale=2.0**30) is files.context
    seal.save_evaluation_keys(files.evaluation, relin=again, galois=tmp_path / "turns")
    found = seal.load_evaluation_keys(
        files.context, relin=again, galois=tmp_path / "turns", owner=files.public
    )
    for name, key in found.tensors().items():
        np.testing.assert_array_equal(np.asarray(key), np.asarray(files.evaluation.tensors()[name]))
    seal.save_secret_key(files.keys, tmp_path / "s")
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600
    seal.load_secret_key(tmp_path / "s", files.context, files.public)
    seal.save_public_key(files.keys, tmp_path / "p")
    public = seal.load_public_key(tmp_path / "p", files.context)
    seal.load_secret_key(tmp_path / "s", files.context, public)


def test_loaded_keys_survive_our_own_files(files: Files, tmp_path: Path) -> None:
    files.public.save(tmp_path / "public.cwk")
    files.evaluation.save(tmp_path / "evaluation.cwk")
    files.keys.save(tmp_path / "keys.cwk")
    evaluation = fhe.load(tmp_path / "evaluation.cwk", insecure=True)
    assert fhe.load(tmp_path / "public.cwk", insecure=True).key == files.public.key
    keys = fhe.load(tmp_path / "keys.cwk", insecure=True)
    keys.adopt(evaluation)
    found = keys.decrypt(keys.encrypt(files.values).rotate(1))
    np.testing.assert_allclose(found, rolled(files.values), atol=1e-3)


def readers(files: Files) -> dict[str, Callable[[Path], object]]:
    context, evaluation = files.context, seal.load_evaluation_keys
    return {
        "parameters": lambda path: seal.load_parameters(path, insecure=True),
        "ciphertext": lambda path: seal.load_ciphertext(path, context),
        "seeded": lambda path: seal.load_ciphertext(path, context),
        "public": lambda path: seal.load_public_key(path, context),
        "relin": lambda path: evaluation(context, relin=path),
        "galois": lambda path: evaluation(context, galois=path),
        "secret": lambda path: seal.load_secret_key(path, context, files.public),
    }


def test_damaged_files_are_load_errors(files: Files, tmp_path: Path) -> None:
    generator, damaged = np.random.default_rng(3), tmp_path / "damaged"
    for name, read in readers(files).items():
        whole = (tmp_path / name).read_bytes()
        for _ in range(60):
            data = bytearray(whole)
            # Most damage near the start, where the numbers are.
            near = generator.integers(0, min(160, len(data)))
            data[near] ^= 1 << generator.integers(0, 8)
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
            if other != name and {other, name} != {"ciphertext", "seeded"}:
                try:
                    read(tmp_path / other)
                except LoadError:
                    continue
                pytest.fail(f"{other} was read as {name}")


def test_a_file_that_inflates_without_end_is_refused(files: Files, tmp_path: Path) -> None:
    import zlib

    for mode, body in ((1, zlib.compress(bytes(1 << 24))), (2, zstd(bytes(1 << 24)))):
        head = (tmp_path / "ciphertext").read_bytes()[:5] + bytes([mode, 0, 0])
        bomb = tmp_path / "bomb"
        bomb.write_bytes(head + (16 + len(body)).to_bytes(8, "little") + body)
        with pytest.raises(LoadError, match="bomb"):
            seal.load_ciphertext(bomb, files.context)


def zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize("version", ["3.7", "4", "", "4.x", "4.100"])
def test_other_versions_are_refused(files: Files, tmp_path: Path, version: str) -> None:
    with pytest.raises(ParamError, match="version"):
        seal.save_parameters(files.context, tmp_path / "x", version=version)


def test_contexts_without_seals_form_are_refused(files: Files, tmp_path: Path) -> None:
    own = fhe.ckks(64, [40, 30], [40], insecure=True)
    with pytest.raises(ParamError, match="suited"):
        seal.load_ciphertext(tmp_path / "ciphertext", own)
    wide = fhe.ckks(64, [40, 30, 30], [40, 40], insecure=True)
    with pytest.raises(ParamError, match="special"):
        seal.suited(wide)
    keys = seal.suited(own).keygen(rotations={1: 0})
    with pytest.raises(ParamError, match="level 1"):
        seal.save_evaluation_keys(keys.evaluation, galois=tmp_path / "x")


def test_a_server_needs_no_secret_and_no_name(files: Files) -> None:
    evaluation = seal.load_evaluation_keys(files.context, galois=files.folder / "galois")
    x = seal.load_ciphertext(files.folder / "ciphertext", files.context).using(evaluation)
    assert x.rotate(1).key == evaluation.key
    with pytest.raises(CloakworkError, match="key"):
        files.keys.decrypt(x)


def test_seal_computes_and_decrypts_what_is_written_here(tmp_path: Path) -> None:
    api = pytest.importorskip("tenseal.sealapi")
    own = fhe.ckks(1024, [50, 40, 40], [50], digits=3, insecure=True)
    context = seal.suited(own)
    keys = context.keygen(rotations=[1])
    names = [str(tmp_path / name) for name in ("p", "s", "k", "r", "g", "x")]
    parameters, secret, public, relin, galois, name = names
    seal.save_parameters(context, parameters, version=TENSEAL)
    seal.save_secret_key(keys, secret, version=TENSEAL)
    seal.save_public_key(keys, public, version=TENSEAL)
    seal.save_evaluation_keys(keys.evaluation, relin=relin, galois=galois, version=TENSEAL)
    x = keys.encrypt([1.0, 2.0, 3.0])
    seal.save_ciphertext((x * x).relinearize().rescale(), name, version=TENSEAL)

    peer = Peer(api, parameters)
    their_secret = peer.loaded(api.SecretKey(), secret)
    decryptor = api.Decryptor(peer.context, their_secret)
    squares = peer.loaded(api.Ciphertext(peer.context), name)
    np.testing.assert_allclose(peer.values(decryptor, squares)[:3], [1, 4, 9], atol=1e-4)
    encryptor = api.Encryptor(peer.context, peer.loaded(api.PublicKey(), public))
    plain, y = api.Plaintext(), api.Ciphertext(peer.context)
    peer.encoder.encode([1.0, 2.0, 3.0], 2.0**40, plain)
    encryptor.encrypt(plain, y)
    z, evaluator = api.Ciphertext(peer.context), api.Evaluator(peer.context)
    evaluator.rotate_vector(y, 1, peer.loaded(api.GaloisKeys(), galois), z)
    np.testing.assert_allclose(peer.values(decryptor, z)[:3], [2, 3, 0], atol=1e-4)
    evaluator.square_inplace(y)
    evaluator.relinearize_inplace(y, peer.loaded(api.RelinKeys(), relin))
    np.testing.assert_allclose(peer.values(decryptor, y)[:3], [1, 4, 9], atol=1e-4)
    y.save(name)
    back = seal.load_ciphertext(name, context, owner=keys.evaluation, bound=10)
    np.testing.assert_allclose(keys.decrypt(back).real[:3], [1, 4, 9], atol=1e-4)


class Peer:
    """SEAL under parameters of a file."""

    def __init__(self, api: Any, path: str) -> None:
        found = api.EncryptionParameters(api.SCHEME_TYPE.CKKS)
        found.load(path)
        self.api, self.context = api, api.SEALContext(found, True, api.SEC_LEVEL_TYPE.NONE)
        self.encoder = api.CKKSEncoder(self.context)

    def loaded(self, made: Any, path: str) -> Any:
        made.load(self.context, path)
        return made

    def values(self, decryptor: Any, ciphertext: Any) -> Any:
        plain = self.api.Plaintext()
        decryptor.decrypt(ciphertext, plain)
        return np.array(self.encoder.decode_double(plain))
