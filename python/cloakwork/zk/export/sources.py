"""The verifying key that a user gives: a file, by its contents, or an object."""

from __future__ import annotations

from os import PathLike
from typing import Any

from cloakwork import files
from cloakwork.zk.circom.files import ProvingKey, read_zkey
from cloakwork.zk.circom.statements import VerifyingKey

# A verifying key or a proving key: a file, what `json.load` makes of one, or the object.
KeySource = str | PathLike[str] | dict[str, Any] | VerifyingKey | ProvingKey
_ZKEY = b"zkey"


def verifying_key(source: KeySource) -> VerifyingKey:
    """The verifying key of a source; a proving key contains one."""
    if isinstance(source, ProvingKey):
        return source.verifying_key
    if isinstance(source, VerifyingKey | dict):
        return VerifyingKey.load(source)
    name = files.name_of(source, "vkey")
    if files.start_if_there(name, len(_ZKEY)) == _ZKEY:
        return read_zkey(name, check=False).verifying_key
    return VerifyingKey.load(name)
