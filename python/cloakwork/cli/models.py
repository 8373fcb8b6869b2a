"""The commands of a client: keys for a model, encryption, decryption."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from cloakwork import files
from cloakwork.cli.grouping import Command
from cloakwork.cli.options import Insecure, Json, Quiet
from cloakwork.cli.progress import Bar, busy
from cloakwork.cli.words import in_words, invocation, note, print_json, warnings_said, wrote
from cloakwork.errors import LoadError, ParamError
from cloakwork.recognition import expecting
from cloakwork.wording import shown

if TYPE_CHECKING:
    from cloakwork.fhe.keys.flooding import Disclosed
    from cloakwork.fhe.keys.keys import Keys
    from cloakwork.serving.client import ProgramClient

SECRET, EVALUATION, DESCRIPTION = "secret.key", "eval.key", "model.json"
_FILES = (SECRET, EVALUATION, DESCRIPTION)

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
    insecure: Insecure = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a secret for a model, and the evaluation keys that it needs.

    secret.key stays with you, readable by you alone; eval.key goes to the server, once.
    """
    with in_words(context.obj):
        make_keys(model, out, insecure)


def encrypt(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    model: Model,
    keys: KeyFolder,
    arrays: Arrays,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the ciphertext goes: .ct.")],
    insecure: Insecure = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Encrypt the input of a model."""
    with in_words(context.obj):
        encrypt_files(model, keys, arrays, out, insecure)


def decrypt(  # noqa: PLR0913, PLR0917 (one parameter an option)
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
    queries: Annotated[
        int | None,
        typer.Option(
            help="For CKKS results that others may see: noise that protects the secret while so "
            "many ciphertexts of results are disclosed in all."
        ),
    ] = None,
    security: Annotated[
        int | None, typer.Option(help="With --queries: bits of statistical security; default: 40.")
    ] = None,
    noise_bits: Annotated[
        float | None,
        typer.Option(
            help="With --queries: log2 of a bound on the error of a slot, by your own knowledge."
        ),
    ] = None,
    insecure: Insecure = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Decrypt a result; print it, or write it."""
    disclosed: Disclosed = {"queries": queries, "security": security, "noise_bits": noise_bits}
    with in_words(context.obj):
        decrypt_file((keys, insecure), result, out, samples, **disclosed)


def client_of(model: Path, insecure: bool = False) -> ProgramClient:
    """The client's half of a model."""
    from cloakwork.serving import ServedProgram
    from cloakwork.serving.client import client_of as of

    with warnings_said():
        return of(ServedProgram(model).describe(), str(model), insecure=insecure)


def make_keys(model: Path, folder: Path, insecure: bool = False) -> None:
    """Write the three files of a client; none of them may exist."""
    targets = {name: folder / name for name in _FILES}
    for target in targets.values():
        if os.path.lexists(target):
            raise ParamError("--out", str(target), "a folder without keys: none is ever replaced")
    client = client_of(model, insecure)
    with whole(folder, mode=0o700) as written:
        files.claim(list(targets.values()), [model])
        with Bar("making keys") as bar:
            keys = client.keygen(bar)
        with keys, busy(f"writing {targets[EVALUATION]}"):
            # The secret comes last: without it, the others are of no use, and nothing is lost.
            files.write(targets[DESCRIPTION], client.to_json())
            written.append(targets[DESCRIPTION])
            keys.evaluation.save(targets[EVALUATION])
            written.append(targets[EVALUATION])
            keys.save(targets[SECRET])
    note(f"{shown(str(targets[SECRET]))}: keep it; who has it can decrypt")
    note(f"{shown(str(targets[EVALUATION]))}: for the server")
    wrote(targets.values())


@contextmanager
def whole(folder: Path, mode: int = 0o777) -> Iterator[list[Path]]:
    """A folder to write to, made if needed.

    Where the writing fails, the files that were written until then, and new folders, are removed.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise ParamError("--out", str(folder), "a folder: a file has this name")
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    written: list[Path] = []
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
        yield written
    except BaseException:
        for file in written:
            file.unlink(missing_ok=True)
        with suppress(OSError):
            for place in new:
                place.rmdir()
        raise


def keys_of(folder: Path, insecure: bool = False) -> tuple[Keys, ProgramClient]:
    """The secret in a folder of `keygen`, and the client's half of its model."""
    from cloakwork.fhe.files.storage import load_known
    from cloakwork.serving.client import client_of as of

    if not folder.is_dir():
        raise ParamError("KEYS", str(folder), "the folder that `cloakwork keygen` wrote")
    for name in (SECRET, DESCRIPTION):
        if not (folder / name).is_file():
            raise LoadError(f"{folder}: expected {name}, as `cloakwork keygen` writes it, got none")
    description = folder / DESCRIPTION
    client = of(files.read(description), str(description), insecure=insecure)
    own = client.context.parameters
    with busy("loading keys"):
        keys: Keys = load_known(folder / SECRET, own, expect="secret key")
    return keys, client


def encrypt_files(
    model: Path, folder: Path, arrays: Sequence[str], out: Path, insecure: bool = False
) -> None:
    """Write the ciphertexts of arrays for a model, whose keys must be in the folder."""
    client = client_of(model, insecure)
    values, read = values_of(arrays, client)
    files.claim([out], [model, *read, *(folder / name for name in _FILES)])
    with warnings_said():
        keys, own = keys_of(folder, insecure)
    if own.fingerprint != client.fingerprint:
        allowed = f"the keys of this model: those of {own.name} were made for another file"
        raise ParamError("KEYS", str(folder), allowed)
    with keys, busy("encrypting"):
        files.write(out, client.encrypt(keys, values).to_bytes())
    wrote([out])


def values_of(arrays: Sequence[str], client: ProgramClient) -> tuple[dict[str, Any], list[Path]]:
    """The arrays of X.npy or NAME=X.npy, by input, and their files."""
    from numpy import asarray

    values: dict[str, Any] = {}
    read = []
    for text in arrays:
        name, separator, file = text.partition("=")
        if not text or (separator and not (name and file)):
            raise ParamError("X.npy", text or "no text", "X.npy, or NAME=X.npy")
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


def decrypt_file(
    held: tuple[Path, bool],
    result: Path,
    out: Path | None,
    samples: int | None,
    **disclosed: Unpack[Disclosed],
) -> None:
    """Print or write the values of a result.

    held   the folder of the keys, and whether they may be insecure
    """
    from cloakwork.fhe.files.container import KINDS

    folder, insecure = held
    with warnings_said():
        keys, client = keys_of(folder, insecure)
    if samples is not None and samples < 1:
        raise ParamError("--samples", samples, "1 or more")
    places = places_of(client.results, out, [result, *(folder / name for name in _FILES)])
    known = expecting("a file of keys or ciphertexts", result, *KINDS)
    with keys, warnings_said(), busy("decrypting"), known:
        contents = bytes(memoryview(files.mapped(result)))
        found = client.decrypt(keys, contents, samples, place=str(result), **disclosed)
    deliver(found, places)


def places_of(names: Sequence[str], out: Path | None, read: Sequence[Path]) -> dict[str, Path]:
    """The file of each result, checked before any work: one as .npy, several in a folder.

    Names of a model may have slashes; no file is written outside of the folder.
    """
    if out is None:
        return {}
    if out.suffix == ".npy" and len(names) == 1:
        places = {names[0]: out}
    elif out.suffix:
        raise ParamError("--out", str(out), f"a folder for {', '.join(names)}; X.npy for a single")
    else:
        places = {name: out / f"{name.replace('/', '_')}.npy" for name in names}
    if len(set(places.values())) < len(names) or any("\0" in name for name in names):
        raise ParamError("--out", ", ".join(names), "results that can be told apart as files")
    if out.suffix or out.is_dir():
        files.claim(list(places.values()), read)
    else:
        above = next(place for place in (out, *out.absolute().parents) if os.path.lexists(place))
        if not (above.is_dir() and os.access(above, os.W_OK)):
            raise ParamError("--out", str(out), f"a folder that can be made in {above}")
    return places


def deliver(found: dict[str, Any], places: dict[str, Path]) -> None:
    """Write values to their places, or print them where there is none."""
    from cloakwork.tensors.conversion import asarray

    if not places:
        if invocation().as_json:
            print_json({"results": {name: _listed(values) for name, values in found.items()}})
            return
        for name, values in found.items():
            print(f"{shown(name)} = {asarray(values)}")
        return
    made = {str(places[name]): files.npy_of(asarray(values)) for name, values in found.items()}
    folder = next(iter(places.values())).parent
    with whole(folder):
        files.write_all(made)
    wrote(places.values())


def _listed(values: Any) -> Any:
    """Values as JSON's types: complex ones as [real, imaginary], NaN as null."""
    import numpy as np

    found: Any = np.asarray(values)
    if found.dtype.kind == "c":
        found = np.stack([found.real, found.imag], axis=-1)
    if found.dtype.kind == "f":
        left = found.astype(object)
        left[~np.isfinite(found)] = None
        return left.tolist()
    return found.tolist() if found.dtype.kind in "biu" else found.astype(str).tolist()
