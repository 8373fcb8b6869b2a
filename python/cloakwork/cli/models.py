"""The commands of a client: keys for a model, encryption, decryption."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloakwork import files
from cloakwork.cli.options import Command
from cloakwork.cli.words import in_words, say, shown, warnings_said
from cloakwork.errors import LoadError, ParamError

if TYPE_CHECKING:
    from cloakwork.fhe.keys.keys import Keys
    from cloakwork.serving.client import ProgramClient

SECRET, EVALUATION, DESCRIPTION = "secret.key", "eval.key", "model.json"

Model = Annotated[
    Path, typer.Argument(help="A model: the .cwk of `compile`, or a recorded program.")
]
KeyFolder = Annotated[
    Path, typer.Argument(metavar="KEYS", help="The folder of `keygen`, with the secret.")
]
Arrays = Annotated[
    list[str], typer.Argument(metavar="X.npy", help="The input; NAME=X.npy for each of several.")
]


def add(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (keygen, encrypt, decrypt):
        app.command(cls=Command)(command)


def keygen(
    context: typer.Context,
    model: Model,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the keys: a new one.")],
) -> None:
    """Make a secret for a model, and the evaluation keys that it needs.

    secret.key stays with you, readable by you alone; eval.key goes to the server, once.
    """
    with in_words(context.obj):
        make_keys(model, out)


def encrypt(
    context: typer.Context,
    model: Model,
    keys: KeyFolder,
    arrays: Arrays,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the ciphertext goes: .ct.")],
) -> None:
    """Encrypt the input of a model."""
    with in_words(context.obj):
        encrypt_files(model, keys, arrays, out)


def decrypt(
    context: typer.Context,
    keys: KeyFolder,
    result: Annotated[Path, typer.Argument(metavar="Y.ct", help="The result of a run.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Where the values go: .npy, or a folder for several results."
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(help="Of a model for many samples: how many were encrypted; default: all."),
    ] = None,
) -> None:
    """Decrypt a result; print it, or write it."""
    with in_words(context.obj):
        decrypt_file(keys, result, out, samples)


def client_of(model: Path) -> ProgramClient:
    """The client's half of a model."""
    from cloakwork.serving import ServedProgram
    from cloakwork.serving.client import client_of as of

    return of(ServedProgram(model).describe(), str(model))


def make_keys(model: Path, folder: Path) -> None:
    """Write the three files of a client; none of them may exist."""
    targets = {name: folder / name for name in (SECRET, EVALUATION, DESCRIPTION)}
    for target in targets.values():
        if target.exists():
            raise ParamError("--out", str(target), "a folder without keys: none is ever replaced")
    client = client_of(model)
    if not client.context.parameters.is_secure:
        allowed = "128 bits of security: this model is a toy, for tests in Python"
        raise ParamError("parameters", f"those of {model}", allowed)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    files.claim(list(targets.values()), [model])
    with client.keygen() as keys:
        # The secret comes last: without it, the others are of no use, and nothing is lost.
        files.write(targets[DESCRIPTION], client.to_json())
        keys.evaluation.save(targets[EVALUATION])
        keys.save(targets[SECRET])
    size = targets[EVALUATION].stat().st_size
    say(f"{shown(str(targets[SECRET]))}: keep it; who has it can decrypt")
    say(f"{shown(str(targets[EVALUATION]))}: for the server, {size / 2**20:.1f} MiB")


def keys_of(folder: Path) -> tuple[Keys, ProgramClient]:
    """The secret in a folder of `keygen`, and the client's half of its model."""
    from cloakwork.fhe.files.storage import load_any
    from cloakwork.serving.client import client_of as of

    if not folder.is_dir():
        raise ParamError("KEYS", str(folder), "the folder that `cloakwork keygen` wrote")
    for name in (SECRET, DESCRIPTION):
        if not (folder / name).is_file():
            raise LoadError(f"{folder}: expected {name}, as `cloakwork keygen` writes it; it lacks")
    description = folder / DESCRIPTION
    client = of(files.read(description), str(description))
    keys: Keys = load_any(folder / SECRET, expect="secret key")
    keys.context.check(next(iter(client.examples.values())), "keys")
    return keys, client


def encrypt_files(model: Path, folder: Path, arrays: Sequence[str], out: Path) -> None:
    """Write the ciphertexts of arrays for a model, whose keys must be in the folder."""
    client = client_of(model)
    values, read = values_of(arrays, client)
    files.claim([out], [model, *read])
    keys, own = keys_of(folder)
    if own.fingerprint != client.fingerprint:
        allowed = f"the keys of this model: those of {own.name} were made for another file"
        raise ParamError("KEYS", str(folder), allowed)
    with keys:
        files.write(out, client.encrypt(keys, values).to_bytes())


def values_of(arrays: Sequence[str], client: ProgramClient) -> tuple[dict[str, Any], list[Path]]:
    """The arrays of X.npy or NAME=X.npy, by input, and their files."""
    from numpy import asarray

    values: dict[str, Any] = {}
    read = []
    for text in arrays:
        name, separator, file = text.partition("=")
        if not separator:
            if len(arrays) > 1 or len(client.inputs) > 1:
                raise ParamError(
                    "X.npy", text, f"NAME=X.npy for each of {', '.join(client.inputs)}"
                )
            name, file = next(iter(client.inputs)), text
        if name in values:
            raise ParamError("X.npy", text, f"{name} once")
        values[name] = asarray(files.load_npy(file))
        read.append(Path(file))
    return values, read


def decrypt_file(folder: Path, result: Path, out: Path | None, samples: int | None) -> None:
    """Print or write the values of a result."""
    files.claim([out] if out is not None and out.suffix == ".npy" else [], [result])
    keys, client = keys_of(folder)
    with keys, warnings_said():
        found = client.decrypt(keys, bytes(memoryview(files.mapped(result))), samples)
    deliver(found, out)


def deliver(found: dict[str, Any], out: Path | None) -> None:
    """Print values, or write them: one as .npy, several into a folder."""
    from cloakwork.tensors.conversion import asarray

    if out is None:
        for name, values in found.items():
            print(f"{shown(name)} = {asarray(values)}")
    elif len(found) == 1 and out.suffix == ".npy":
        files.save_npy(out, asarray(next(iter(found.values()))))
    elif out.suffix:
        raise ParamError("--out", str(out), f"a folder for {', '.join(found)}; X.npy for a single")
    else:
        out.mkdir(parents=True, exist_ok=True)
        written = {str(out / f"{name}.npy"): asarray(values) for name, values in found.items()}
        files.write_all({name: files.npy_of(values) for name, values in written.items()})
