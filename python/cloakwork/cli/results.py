"""Results of a run as files: their places are determined and checked before the run."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from cloakwork import files
from cloakwork.errors import ParamError
from cloakwork.programs.signature import Carrier
from cloakwork.wording import listed


def targets(
    given: Sequence[str],
    names: Sequence[str],
    encrypted: Collection[str],
    out: Path | None = None,
) -> dict[str, Path]:
    """The file of each result by `--output DIR` and `--output NAME=FILE`, or by `--out FILE`.

    names   the results; those in `encrypted` are ciphertexts, which go into .ct files

    A result's own file takes precedence over the folder; the folder is created if needed.
    ParamError for two folders, two files of one result, and an invalid place.
    """
    if out is not None:
        return _together(out, names, encrypted, given)
    single: dict[str, Path] = {}
    folder: Path | None = None
    for text in given:
        name, separator, _ = text.partition("=")
        if separator:
            if name in single:
                raise ParamError("--output", text, f"one place for {name}")
            single[name] = _place(text, name, names, encrypted)
        elif not text:
            raise ParamError("--output", "no text", "a folder, or NAME=FILE.npy")
        elif folder is not None:
            raise ParamError("--output", f"{folder} and {text}", "one folder")
        else:
            folder = Path(text)
    if folder is None:
        return single
    if folder.exists() and not folder.is_dir():
        raise ParamError("--output", folder, "a folder, or NAME=FILE.npy")
    left = [name for name in names if name not in single]
    all_others = {
        name: folder / f"{_plain(name)}.{'ct' if name in encrypted else 'npy'}" for name in left
    }
    folder.mkdir(parents=True, exist_ok=True)
    return all_others | single


def _together(
    out: Path, names: Sequence[str], encrypted: Collection[str], others: Collection[str]
) -> dict[str, Path]:
    """The file of an only result, or of several ciphertexts, by `--out FILE`.

    others   values of `--output`: ParamError for any
    """
    if others:
        raise ParamError("--out", str(out), "no --output, which says where results go")
    ciphertexts = set(names) <= set(encrypted)
    right = [".npy"] * (len(names) == 1) + [".ct"] * (ciphertexts and len(names) > 0)
    if out.suffix not in right:
        one = " or ".join(f"FILE{suffix}" for suffix in right)
        each = f"--output NAME=FILE for each of {listed(names)}" if len(names) > 1 else ""
        allowed = ", or ".join(filter(None, (one, each))) or "none: there is no result"
        raise ParamError("--out", str(out), allowed)
    return dict.fromkeys(names, out)


def _place(text: str, name: str, names: Sequence[str], encrypted: Collection[str]) -> Path:
    """The file in which `--output NAME=FILE` puts a result."""
    file = text.partition("=")[2]
    if name not in names:
        raise ParamError("--output", name, listed(names) or "no name: there is no result")
    if not file.endswith((".npy", ".ct") if name in encrypted else ".npy"):
        raise ParamError("--output", text, "NAME=FILE.npy, or FILE.ct for a ciphertext")
    return Path(file)


def _plain(name: str) -> str:
    if name in {"", ".", ".."} or "/" in name or os.sep in name or "\0" in name:
        raise ParamError("--output", f"a folder for the result {name!r}", "NAME=FILE.npy for it")
    return name


def write(values: Mapping[str, Any], places: Mapping[str, Path]) -> None:
    """Write all results or none: tensors as .npy; field elements and points as canonical words."""
    by_file: dict[str, dict[str, Any]] = {}
    for name, file in places.items():
        by_file.setdefault(str(file), {})[name] = values[name]
    files.write_all({file: _contents(held, file) for file, held in by_file.items()})


def _contents(held: Mapping[str, Any], file: str) -> bytes:
    value = next(iter(held.values()))
    if len(held) > 1:
        from cloakwork.fhe.files.sets import CiphertextSet

        return CiphertextSet(held).to_bytes()
    if file.endswith(".ct"):
        one: bytes = value.to_bytes()
        return one
    return files.npy_of(value.carried() if isinstance(value, Carrier) else value)
