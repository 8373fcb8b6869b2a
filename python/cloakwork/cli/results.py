"""Results of a run as files: where each goes is known, and claimed, before the run begins."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from cloakwork import _core, files, ops
from cloakwork.errors import ParamError
from cloakwork.program import Carrier


def targets(
    given: Sequence[str], names: Sequence[str], encrypted: Collection[str]
) -> dict[str, Path]:
    """Where `--output DIR` and `--output NAME=FILE` put which result.

    names   the results; those in `encrypted` are ciphertexts, which go into .ct files

    Folders are made if need be.
    """
    found: dict[str, Path] = {}
    for text in given:
        name, separator, file = text.partition("=")
        if not separator:
            folder = Path(text)
            if folder.exists() and not folder.is_dir():
                raise ParamError("--output", text, "a folder, or NAME=FILE.npy")
            folder.mkdir(parents=True, exist_ok=True)
            for one in names:
                found[one] = folder / f"{_plain(one)}.{'ct' if one in encrypted else 'npy'}"
        elif name not in names:
            raise ParamError("--output", name, ", ".join(names) or "no name: there are no results")
        elif not file.endswith((".npy", ".ct") if name in encrypted else ".npy"):
            raise ParamError("--output", text, "NAME=FILE.npy, or FILE.ct for a ciphertext")
        else:
            found[name] = Path(file)
    return found


def _plain(name: str) -> str:
    if name in {"", ".", ".."} or "/" in name or os.sep in name or "\0" in name:
        raise ParamError("--output", f"a folder for the result {name!r}", "NAME=FILE.npy for it")
    return name


def write(values: Mapping[str, Any], places: Mapping[str, Path]) -> None:
    """Write results: tensors as .npy, of fields and points their canonical words."""
    if not places:
        return
    # Loads NumPy, which a line that is refused does without.
    from cloakwork.zk.values import is_canonical

    for name, file in places.items():
        value = values[name]
        if file.suffix == ".ct":
            value.save(file)
            continue
        tensor: _core.Tensor = value.carried() if isinstance(value, Carrier) else value
        words = ops.to_canonical(tensor) if is_canonical(str(tensor.dtype)) else tensor
        files.save_npy(file, words)
