"""Rules of locks: a version and hashes for each requirement on each machine, and no place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.dev.locks import Lock

_MACHINES = (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"))
_PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
# Addresses and absolute paths, in comments too; options of pip that name a registry or a folder.
_PLACE = re.compile(r"\S*://\S*|(?<!\S)/\S+|^ *-\S.*", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A package at one version, for the machines of its marker."""

    requirement: Requirement
    hashes: tuple[str, ...]

    @property
    def version(self) -> str | None:
        """The version; None unless there is exactly one."""
        match list(self.requirement.specifier):
            case [one] if one.operator == "==" and "*" not in one.version:
                return one.version
        return None

    def is_for(self, name: str, environment: dict[str, str]) -> bool:
        """Whether pip installs this entry for a package on a machine."""
        own, marker = canonicalize_name(self.requirement.name), self.requirement.marker
        return own == canonicalize_name(name) and (marker is None or marker.evaluate(environment))


def entries(text: str) -> list[Entry]:
    """Read a lock; a line that goes on ends with a backslash."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.strip().startswith("#"):
            stated, *hashes = re.split(r"\s+(?=--hash)", line.strip())
            found.append(Entry(Requirement(stated), tuple(hashes)))
    return found


def environments(oldest: str) -> Iterator[dict[str, str]]:
    """The variables of markers on each machine, for each Python from the oldest on."""
    for python in _PYTHONS[_PYTHONS.index(oldest) :]:
        for system, machine in _MACHINES:
            yield {
                **{name: str(value) for name, value in default_environment().items()},
                "python_version": python,
                "python_full_version": f"{python}.0",
                "sys_platform": system,
                "platform_system": system.capitalize(),
                "platform_machine": machine,
                "os_name": "posix",
                "extra": "",
            }


def requirements(lock: Lock, pyproject: dict[str, Any]) -> list[Requirement]:
    """What pyproject.toml asks of a lock."""
    project, lines = pyproject["project"], list(_group(lock.name, pyproject["dependency-groups"]))
    lines += project["dependencies"] if lock.has_package else []
    for extra in lock.extras:
        lines += project["optional-dependencies"][extra]
    return [Requirement(line) for line in lines]


def findings(text: str, asked: Iterable[Requirement], oldest: str = "3.11") -> list[str]:
    """All that is wrong with a lock, as sentences."""
    joined = re.sub(r"\\\n\s*--hash=", " --hash=", text)
    found = [f"names a place: {place.strip()}" for place in _PLACE.findall(joined)]
    if found:
        return found
    locked = entries(text)
    for entry in locked:
        if entry.version is None:
            found.append(f"{entry.requirement}: expected one version, ==")
        if not entry.hashes or not all(map(_HASH.fullmatch, entry.hashes)):
            found.append(f"{entry.requirement}: expected SHA-256 hashes of its files")
    lacks = (
        lack
        for environment in environments(oldest)
        for requirement in asked
        if (lack := _lack(requirement, locked, environment))
    )
    return [*found, *dict.fromkeys(lacks)]


def _lack(asked: Requirement, locked: list[Entry], environment: dict[str, str]) -> str | None:
    """Say how a machine does not get what is asked for; None if it does."""
    if asked.marker is not None and not asked.marker.evaluate(environment):
        return None
    found = [entry.version for entry in locked if entry.is_for(asked.name, environment)]
    if len(found) == 1 and found[0] is not None and asked.specifier.contains(found[0]):
        return None
    got = ", ".join(map(str, found)) or "nothing"
    where = "Python {python_version}, {sys_platform}, {platform_machine}".format(**environment)
    return f"{asked}: got {got} for {where}: run `python3 dev.py lock`"


def _group(name: str, groups: dict[str, list[Any]]) -> Iterator[str]:
    for row in groups[name]:
        if isinstance(row, str):
            yield row
        else:
            yield from _group(row["include-group"], groups)
