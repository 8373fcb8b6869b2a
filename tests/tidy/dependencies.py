"""Rules of deny.toml over the output of `cargo metadata`, as cargo-deny defines them.

cargo-deny itself takes over two minutes to compile, more than all other checks together; the checks
of licences, sources and duplicates fit a page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scripts.dev.notices import is_met


@dataclass(frozen=True)
class Rules:
    """The tables of deny.toml that are held here."""

    licenses: frozenset[str]
    skipped: frozenset[str]
    registries: frozenset[str]

    @classmethod
    def of(cls, deny: dict[str, Any]) -> Rules:
        """Read the parsed file."""
        return cls(
            frozenset(deny["licenses"]["allow"]),
            frozenset(entry["crate"] for entry in deny["bans"]["skip"]),
            frozenset(f"registry+{url}" for url in deny["sources"]["allow-registry"]),
        )


def findings(metadata: dict[str, Any], rules: Rules) -> list[str]:
    """Return the violations of the rules, one sentence each."""
    foreign = [package for package in metadata["packages"] if package["source"] is not None]
    return sorted([*_licences(foreign, rules), *_sources(foreign, rules), *_twice(metadata, rules)])


def _licences(packages: list[dict[str, Any]], rules: Rules) -> Iterator[str]:
    for package in packages:
        expression = package["license"]
        if expression is None or not is_met(expression, rules.licenses):
            yield f"{_label(package)}: licence {expression} is not among those of deny.toml"


def _sources(packages: list[dict[str, Any]], rules: Rules) -> Iterator[str]:
    for package in packages:
        if package["source"] not in rules.registries:
            yield f"{_label(package)}: comes from {package['source']}"


def _twice(metadata: dict[str, Any], rules: Rules) -> Iterator[str]:
    """Yield crates of several versions, without skipped ones and those that only tests need."""
    shipped = _shipped(metadata)
    packages = [package for package in metadata["packages"] if package["id"] in shipped]
    versions: dict[str, set[str]] = defaultdict(set)
    for package in packages:
        versions[package["name"]].add(_label(package))
    for name, labels in versions.items():
        left = labels - rules.skipped
        if len(left) > 1:
            yield f"{name}: {len(left)} versions: {', '.join(sorted(left))}"
    for label in rules.skipped:
        others = versions.get(label.split("@")[0], set())
        if label not in others or len(others) < 2:
            yield f"{label}: deny.toml skips it, and there is no second version of it"


def _shipped(metadata: dict[str, Any]) -> set[str]:
    """Return the ids of all that the workspace needs but for its tests."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found: set[str] = set()
    waiting = list(metadata["workspace_members"])
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            for dep in nodes[one]["deps"]:
                if any(kind["kind"] != "dev" for kind in dep["dep_kinds"]):
                    waiting.append(dep["pkg"])
    return found


def _label(package: dict[str, Any]) -> str:
    return f"{package['name']}@{package['version']}"
