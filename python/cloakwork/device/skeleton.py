"""A folder to begin a device in: `cloakwork new-device`."""

from __future__ import annotations

import re
from pathlib import Path

from cloakwork import files
from cloakwork.errors import ParamError

LANGUAGES = {"c": "mychip.c", "cpp": "mychip.cpp", "python": "mychip.py"}
"""The source of each language; its folder of templates has the name of the language."""

_TEMPLATES = Path(__file__).parent / "templates"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_TAKEN = {"cpu", "gpu", "sim", "disk", "host", "cuda"}


def new_device(name: str, language: str, inside: Path) -> list[Path]:
    """Write the folder `inside/name` with a device of a few ops; returns its files.

    ParamError refuses a name that no driver can have, a language without a template, and a folder
    that is there.
    """
    if not _NAME.fullmatch(name):
        raise ParamError("name", name, "1 to 32 of a-z, 0-9 and _, a letter first")
    if name in _TAKEN:
        raise ParamError("name", name, f"one that is not taken: {', '.join(sorted(_TAKEN))}")
    if language not in LANGUAGES:
        raise ParamError("language", language, "c, cpp or python")
    folder = inside / name
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ParamError("folder", str(folder), "one that is not there yet") from None
    written = {}
    for template in sorted((_TEMPLATES / language).iterdir()):
        text = files.read(template).decode()
        text = text.replace("MyChip", _class_of(name)).replace("mychip", name)
        written[folder / template.name.replace("mychip", name)] = text
    files.write_all({str(file): text for file, text in written.items()})
    return list(written)


def _class_of(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
