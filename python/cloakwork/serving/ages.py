"""The ages of key sets, in seconds in which a server of their folder ran.

A step of the machine's clock changes no age: the seconds are counted by the monotonic clock, and
kept in a file of the folder.  A missing or damaged file makes all sets new.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from time import monotonic

from cloakwork import files, strict
from cloakwork.errors import LoadError

log = logging.getLogger("cloakwork.serving")

_NAME = "ages.json"
_VERSION = 1
# A file is not written more often, except at the end.
_NOTED_SECONDS = 60.0
_MOST_BYTES = 1 << 24
# About 3,000 years.
_MOST_SECONDS = 1e11


class Ages:
    """When each key set was last used."""

    def __init__(self, folder: Path) -> None:
        """Continue where the last server of this folder ended."""
        self._path = folder / _NAME
        self._before, self._used = _stored(self._path)
        self._begun = monotonic()
        self._noted = self.now

    @property
    def now(self) -> float:
        """The seconds in which a server of this folder ran."""
        return self._before + monotonic() - self._begun

    def last_use(self, name: str) -> float:
        """When a set was last used; now for one that is not known."""
        return min(self._used.setdefault(name, self.now), self.now)

    def use(self, name: str) -> None:
        """Note that a set is used now."""
        self._used[name] = self.now

    def forget(self, name: str) -> None:
        """Forget a set that was removed."""
        self._used.pop(name, None)

    def note(self, names: Iterable[str], *, now: bool = False) -> None:
        """Write the ages of these sets, about once a minute or `now`.

        Raises OSError, or SaveError where a folder or a link has the file's name.
        """
        if not now and self.now - self._noted < _NOTED_SECONDS:
            return
        self._noted = self.now
        names = sorted(names)
        if not names and not self._path.exists():
            return
        used = {name: round(self.last_use(name), 3) for name in names}
        told = {"version": _VERSION, "seconds": round(self.now, 3), "used": used}
        files.write(self._path, json.dumps(told), private=True)


def _stored(path: Path) -> tuple[float, dict[str, float]]:
    """The seconds and ages of a file; none for one that is missing or damaged."""
    if not path.is_symlink() and not path.exists():
        return 0.0, {}
    try:
        if path.is_symlink() or path.stat().st_size > _MOST_BYTES:
            raise ValueError
        told = strict.parsed(files.read(path), path.name)
        if told["version"] != _VERSION:
            raise ValueError
        used = {str(name): _seconds(value) for name, value in told["used"].items()}
        return _seconds(told["seconds"]), used
    except (OSError, LoadError, ValueError, KeyError, TypeError, AttributeError):
        log.warning("%s is damaged: the ages of keys begin anew", path.name)
        return 0.0, {}


def _seconds(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError
    if not 0 <= value <= _MOST_SECONDS:
        raise ValueError
    return float(value)
