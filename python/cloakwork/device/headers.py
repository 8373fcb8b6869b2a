"""The C and C++ headers that drivers of devices include."""

from __future__ import annotations

from pathlib import Path


def include_dir() -> Path:
    """Return the folder for a compiler's `-I`: it holds `cloakwork/device.h` and the kits.

    Examples
    --------
    >>> (include_dir() / "cloakwork" / "device.h").is_file()
    True
    """
    return Path(__file__).parent / "include"
