"""Arrays in `.npy` and `.npz` files, by NumPy's names; nothing is ever unpickled."""

from __future__ import annotations

import io
import zipfile
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from cloakwork import _core, files
from cloakwork._core import Tensor
from cloakwork.errors import ParamError
from cloakwork.files import Readable
from cloakwork.numpy_names import archives
from cloakwork.programs import loading
from cloakwork.tensors.arrays import operand

_ARRAY = b"\x93NUMPY"
# The first bytes of a zip file: of one with members, and of an empty one.
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")
# Archives of the same arrays have the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


def load(path: Readable, *, generation: str | None = None, checksums: bool = False) -> Any:
    """Load arrays or a program; the contents of the file decide which.

    path   of a file; or its contents as bytes, or a file that is open in binary

    A `.npy` file gives a tensor, a `.npz` archive a dictionary of tensors by name, whose compressed
    arrays take at most 64 MiB and 32 times the file.  Arrays of Python's objects are refused:
    nothing is unpickled.  Programs are those of `trace`,
    `zk.program`, the instruction set in any form (also a folder), and HEAL transcripts.

    generation   of a HEAL transcript, as for `heal.load`
    checksums    compare a program's tensors with their checksums, which reads all of them

    Raises LoadError for other files, OSError where one cannot be read, ParamError for an option
    that does not apply to the file.

    >>> import tempfile
    >>> import cloakwork as cw
    >>> folder = tempfile.mkdtemp()
    >>> cw.save(f"{folder}/x.npy", [1, 2])
    >>> cw.load(f"{folder}/x.npy")
    Tensor([1, 2], dtype=i64)
    """
    source = files.source_of(path)
    first = source.start(len(_ARRAY))
    is_zip = first.startswith(_ZIPS)
    if not is_zip and first != _ARRAY:
        return loading.load(source, generation=generation, checksums=checksums)
    for option, value in (("generation", generation), ("checksums", checksums or None)):
        if value is not None:
            raise ParamError(option, value, "a program: the file holds arrays")
    if is_zip:
        return archives.members(source)
    if source.contents is None:
        return files.load_npy(source.name)
    return _core.npy_of(source.read(), source.name)


def save(path: str | PathLike[str], x: ArrayLike | Tensor, /) -> None:
    """Write an array as `.npy`, whole or not at all; the suffix is added where it is missing.

    Elements of fields are written as canonical words.  SaveError for what must not be replaced.

    >>> import tempfile
    >>> import cloakwork as cw
    >>> cw.save(f"{tempfile.mkdtemp()}/x.npy", [1, 2])
    """
    files.save_npy(_named(path, archives.SUFFIX), operand(x))


def savez(
    path: str | PathLike[str], /, *arrays: ArrayLike | Tensor, **named: ArrayLike | Tensor
) -> None:
    """Write arrays as `.npz`, whole or not at all: by name, others as `arr_0`, `arr_1`, ...

    >>> import tempfile
    >>> import cloakwork as cw
    >>> name = f"{tempfile.mkdtemp()}/model.npz"
    >>> cw.savez(name, weights=[1.0, 2.0])
    >>> cw.load(name)
    {'weights': Tensor([1., 2.], dtype=f64)}
    """
    members = {f"arr_{place}": array for place, array in enumerate(arrays)}
    if taken := members.keys() & named.keys():
        raise ParamError("named", min(taken), "other names than those of arrays without a name")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, array in (members | named).items():
            entry = zipfile.ZipInfo(name + archives.SUFFIX, _DATE)
            archive.writestr(entry, files.npy_of(operand(array, name)))
    files.write(_named(path, ".npz"), packed.getvalue())


def _named(path: str | PathLike[str], suffix: str) -> str:
    name = files.name_of(path)
    return name if name.endswith(suffix) else name + suffix
