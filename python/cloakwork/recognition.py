"""Kinds of files by their contents, with their readers: for errors of readers of another kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from cloakwork import _core, files
from cloakwork.errors import CloakworkError, LoadError

# Bytes from which a kind is told, and of JSON that is parsed.
_START_BYTES, _JSON_BYTES = 4096, 1 << 20
_PROGRAM = "cw.load reads it, `cloakwork run` runs it"


class Kind(NamedTuple):
    """A kind of file.

    name    a word for it
    words   with an article
    how     what reads it
    """

    name: str
    words: str
    how: str

    def __str__(self) -> str:
        return f"{self.words}: {self.how}" if self.how else self.words


_ENCRYPTED = {
    "ciphertext": "fhe.load reads it, `cloakwork decrypt KEYS FILE` decrypts a result",
    "ciphertexts": "fhe.load reads it, `cloakwork decrypt KEYS FILE` decrypts results",
    "public key": "fhe.load reads it",
    "evaluation keys": "fhe.load reads it, `cloakwork run --keys FILE` takes it",
    "context": "fhe.load reads it",
    "secret key": "fhe.load reads it, and the commands take its folder; it stays with you",
}
_ONNX = Kind("onnx", "an ONNX model", "fhe.compile and `cloakwork compile` read it")
_ARRAYS = Kind(
    "npz", "NumPy arrays, .npz", "cw.load reads it; save each one as .npy for the commands"
)
_STARTS = {
    b"\x93NUMPY": Kind(
        "npy", "one NumPy array, .npy", "cw.load reads it, `cloakwork encrypt` encrypts it"
    ),
    b"zkey": Kind("zkey", "a proving key", "zk.read_zkey and `cloakwork prove` read it"),
    b"wtns": Kind("wtns", "a witness", "zk.read_wtns and `cloakwork prove` read it"),
    b"r1cs": Kind("r1cs", "a circuit", "zk.read_r1cs and `cloakwork setup` read it"),
    b"\0asm": Kind("wasm", "a program of WebAssembly", "of circom's, `cloakwork witness` runs it"),
    b"ptau": Kind(
        "ptau", "powers of tau of a ceremony", "zk.ceremony and `cloakwork ptau` read it"
    ),
    b"\x7fELF": Kind("library", "a library", "as a device's driver: `--device ./FILE`"),
    b"-----BEGIN": Kind("pem", "a certificate or a key, PEM", "`cloakwork serve` takes it"),
    b"\x1f\x8b": Kind("gzip", "compressed data, gzip", "unpack it first"),
    b"\x89PNG": Kind("png", "a picture, PNG", ""),
    b"%PDF": Kind("pdf", "a document, PDF", ""),
}
_TORCH = Kind("torch", "a file of torch.save", "load it in torch, and compile the module")
_PICKLE = Kind("pickle", "a pickle", "it runs code when it is opened, so nothing here opens it")
_ZIP = Kind("zip", "a ZIP archive", "unpack it first")
_MODEL = Kind(
    "model", "a compiled model", "fhe.load_model reads it; `cloakwork keygen` and `run` take it"
)
# Members of JSON files by which they are known.
_MEMBERS = {
    "vk_alpha_1": Kind("vkey", "a verifying key", "`cloakwork verify VKEY PUBLIC PROOF` reads it"),
    "Qm": Kind("vkey", "a verifying key", "`cloakwork verify VKEY PUBLIC PROOF` reads it"),
    "eval_a": Kind("proof", "a proof", "`cloakwork verify VKEY PUBLIC PROOF` reads it"),
    "pi_a": Kind("proof", "a proof", "`cloakwork verify VKEY PUBLIC PROOF` reads it"),
    "checksum": Kind("description", "the model.json of `keygen`", "commands take its folder"),
}
_PUBLIC = Kind("public", "public signals", "`cloakwork verify VKEY PUBLIC PROOF` reads it")


def recognised(path: str | PathLike[str]) -> Kind | None:
    """The kind of a file or a folder; None for an unknown one, and where none can be read."""
    file = Path(path)
    with suppress(OSError, CloakworkError, ValueError, RecursionError):
        if file.is_dir():
            return _folder(file)
        if file.is_file():
            return _contents(file, files.start(file, _START_BYTES) if file.stat().st_size else b"")
    return None


def _folder(folder: Path) -> Kind:
    if (folder / "program.json").is_file():
        return Kind("instructions", "the folder of a program", _PROGRAM)
    if (folder / "secret.key").is_file() or (folder / "eval.key").is_file():
        return Kind("keys", "a folder of keys", "commands take it as KEYS, or with --keys")
    return Kind("folder", "a folder", "")


def _contents(file: Path, start: bytes) -> Kind | None:
    if not start:
        return Kind("empty", "an empty file", "")
    for magic, kind in _STARTS.items():
        if start.startswith(magic):
            return kind
    for magic, read in _READ.items():
        if start.startswith(magic):
            return read(file, start)
    return _without_magic(file, start)


def _without_magic(file: Path, start: bytes) -> Kind | None:
    # A protocol's opcode and its number; and fields of a ModelProto: the version, then another.
    if start[0] == 0x80 and start[1:2] in _PROTOCOLS:
        return _PICKLE
    if start[0] == 0x08 and len(start) > 2 and start[1] < 0x20 and start[2] in _ONNX_FIELDS:
        return _ONNX
    return _json(file) if start.lstrip()[:1] in {b"{", b"["} else None


# Protocols of pickles.
_PROTOCOLS = (b"\2", b"\3", b"\4", b"\5")
# Tags that follow the version in a model: producer, its version, domain, graph, opsets.
_ONNX_FIELDS = {0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42}


def _container(file: Path, _: bytes) -> Kind:
    held = _core.Program.load(str(file), None, False, None).notes()
    return _MODEL if "model" in held else Kind("program", "a program", _PROGRAM)


def _archive(_: Path, start: bytes) -> Kind:
    return _TORCH if b"data.pkl" in start else _ARRAYS if b".npy" in start else _ZIP


def _encrypted(file: Path, _: bytes) -> Kind | None:
    from cloakwork.fhe.files.container import head_of

    kind = head_of(file).kind
    article = "" if kind.endswith("s") else "a "
    return Kind(kind, f"{article}{kind}", _ENCRYPTED[kind]) if kind in _ENCRYPTED else None


_READ = {b"CWFHE": _encrypted, b"\x89CWK": _container, b"PK\x03\x04": _archive}


def _json(file: Path) -> Kind | None:
    if file.stat().st_size > _JSON_BYTES:
        return None
    from cloakwork import strict

    found = strict.parsed(files.read(file), str(file))
    texts = found if isinstance(found, list) else []
    if texts and all(isinstance(one, str) and one.isdecimal() for one in texts):
        return _PUBLIC
    for member, kind in _MEMBERS.items():
        if isinstance(found, dict) and member in found:
            return kind
    return None


@contextmanager
def expecting(wanted: str, path: object, *kinds: str) -> Iterator[None]:
    """A LoadError for a file of another kind says which, and what reads it.

    wanted   in words
    kinds    names of those whose errors stay as they are
    """
    try:
        yield
    except LoadError as error:
        found = recognised(path) if isinstance(path, str | PathLike) else None
        if found is None or found.name in kinds:
            raise
        raise LoadError(f"{path}: expected {wanted}, got {found}") from error
