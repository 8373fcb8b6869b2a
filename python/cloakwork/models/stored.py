"""Arrays and texts that come with the package: a zip of `.npy` files and `texts.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from cloakwork import _core, files
from cloakwork.tensors.conversion import asarray

DATA = Path(__file__).with_name("data")
_TEXTS = "texts.json"
_SUFFIX = ".npy"

Array = NDArray[Any]


def unpack(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays of such a file by name, and its texts."""
    with ZipFile(BytesIO(files.read(path))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    texts = json.loads(members.pop(_TEXTS))
    arrays = {
        name.removesuffix(_SUFFIX): np.asarray(_core.npy_of(contents, path / name))
        for name, contents in members.items()
    }
    return arrays, texts


def pack(path: Path, arrays: Mapping[str, Array], texts: Mapping[str, Any]) -> None:
    """Write such a file: the same contents give the same bytes."""
    members = {
        f"{name}{_SUFFIX}": _core.npy_bytes(asarray(np.asarray(array, order="C")))
        for name, array in arrays.items()
    }
    members[_TEXTS] = json.dumps(dict(texts), indent=1).encode()
    held = BytesIO()
    with ZipFile(held, "w") as archive:
        for name, contents in members.items():
            archive.writestr(ZipInfo(name), contents, ZIP_DEFLATED, 9)
    files.write(path, held.getvalue())
