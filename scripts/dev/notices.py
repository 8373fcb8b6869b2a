"""Notices of the crates in the compiled library: `THIRD-PARTY-NOTICES.txt`, which wheels carry.

A crate under several licences is taken under the first of `_ELECTED` that it offers.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

from scripts.dev.console import ROOT, DevError
from scripts.dev.toolchain import require_rust

FILE = ROOT / "THIRD-PARTY-NOTICES.txt"
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")

Crate = dict[str, Any]

# The licences under which crates are taken, with the words with which their permission begins.
_ELECTED = {
    "MIT": "Permission is hereby granted",
    "ISC": "Permission to use, copy, modify",
    "Apache-2.0": "Apache License",
}
_TOKEN = re.compile(r"\(|\)|/|[\w.+-]+(?: WITH [\w.+-]+)?")
_HEAD = """\
Third-party notices
===================

The compiled library of Cloakwork, cloakwork/_core.abi3.so, contains the Rust crates below and the
Rust standard library (https://github.com/rust-lang/rust, MIT OR Apache-2.0, Copyright (c) The Rust
Project Contributors). Sources and licences of models and data are in cloakwork/models/README.md.
`python3 dev.py notices` writes this file.
"""


def is_met(expression: str, allowed: frozenset[str]) -> bool:
    """Whether an SPDX expression can be met by allowed licences alone; `/` is an old `OR`."""
    tokens = _TOKEN.findall(expression)

    def either() -> bool:
        met = both()
        while tokens and tokens[0] in ("OR", "/"):
            tokens.pop(0)
            met = both() or met
        return met

    def both() -> bool:
        met = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = one() and met
        return met

    def one() -> bool:
        if not tokens:
            return False
        token = tokens.pop(0)
        if token != "(":
            return token in allowed
        met = either()
        return bool(tokens) and tokens.pop(0) == ")" and met

    return either() and not tokens


def linked(metadata: dict[str, Any], root: str = "cloakwork-extension") -> list[Crate]:
    """The foreign crates in a library, by name: what it needs but for builds, tests and macros."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [one for one, package in packages.items() if package["name"] == root]
    found: set[str] = set()
    while waiting:
        one = waiting.pop()
        kinds = {kind for target in packages[one]["targets"] for kind in target["kind"]}
        if one in found or "proc-macro" in kinds:
            continue
        found.add(one)
        for dep in nodes[one]["deps"]:
            if any(kind["kind"] is None for kind in dep["dep_kinds"]):
                waiting.append(dep["pkg"])
    foreign = (packages[one] for one in found if packages[one]["source"] is not None)
    return sorted(foreign, key=lambda crate: (crate["name"], crate["version"]))


def label(crate: Crate) -> str:
    """How the file names a crate."""
    return f"{crate['name']} {crate['version']}"


def elected(crate: Crate) -> str:
    """The licence under which a crate is taken; DevError if it offers none of those."""
    for licence in _ELECTED:
        if is_met(crate["license"] or "", frozenset({licence})):
            return licence
    expected = " or ".join(_ELECTED)
    raise DevError(f"{label(crate)}: expected {expected}, got the licence {crate['license']}")


def write() -> None:
    """Write the file anew; crates of other targets that are not there are downloaded."""
    platforms = [word for target in TARGETS for word in ("--filter-platform", target)]
    command = ["cargo", "metadata", "--locked", "--format-version", "1", *platforms]
    answer = subprocess.run(
        [require_rust(), *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise DevError(f"notices: cargo metadata: {answer.stderr.strip()}")
    FILE.write_text(text_of(linked(json.loads(answer.stdout))), encoding="utf-8")


def text_of(crates: list[Crate]) -> str:
    """The file's text."""
    parts = [_HEAD]
    for licence in _ELECTED:
        own = [crate for crate in crates if elected(crate) == licence]
        if own:
            parts += [f"{licence}\n{'-' * len(licence)}\n", *_under(licence, own)]
    return "\n".join(parts)


def _under(licence: str, crates: list[Crate]) -> Iterator[str]:
    """The crates under one licence: each with its notice, and the text that they share."""
    texts = [_own_text(crate, licence) for crate in crates]
    bodies = [_split(text, licence)[1] for text in texts]
    common = max(bodies, key=lambda body: (bool(body), bodies.count(body), body))
    for crate, text, body in zip(crates, texts, bodies, strict=True):
        notice = _split(text, licence)[0] if body == common else text.strip()
        if not notice and licence != "Apache-2.0":
            named = ", ".join(crate["authors"]) or "its authors"
            notice = (
                f"By {named}; {'its licence names nobody' if text else 'without a licence file'}"
            )
        where = crate["repository"] or f"https://crates.io/crates/{crate['name']}"
        yield f"{label(crate)}, {where}\n{_indented(notice)}"
        yield from (f"{_indented(more)}" for more in _files(crate, "notice"))
    if licence == "Apache-2.0":
        yield "The text of the licence is in the file LICENSE.\n"
    else:
        yield f"{common}\n"


def _own_text(crate: Crate, licence: str) -> str:
    """A crate's own file of the licence; empty if it has none."""
    begin = _ELECTED[licence]
    found = [text for text in _files(crate, "licen", "copying", "unlicense") if begin in text]
    return min(found, key=len, default="")


def _files(crate: Crate, *beginnings: str) -> list[str]:
    folder = Path(crate["manifest_path"]).parent
    paths = sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and path.name.lower().startswith(beginnings)
    )
    return [path.read_text(encoding="utf-8", errors="replace") for path in paths]


def _split(text: str, licence: str) -> tuple[str, str]:
    """Whose it is, and the permission, whose lines may be broken in any way."""
    head, begin, rest = text.partition(_ELECTED[licence])
    if licence == "Apache-2.0":
        # Its text names nobody.
        return "", begin
    lines = [line.strip() for line in head.splitlines()]
    holders = [line for line in lines if "copyright" in line.lower()]
    paragraphs = re.split(r"\n\s*\n", f"{begin}{rest}".strip())
    return "\n".join(holders), "\n\n".join(fill(" ".join(one.split()), 96) for one in paragraphs)


def _indented(text: str) -> str:
    return "".join(f"    {line}".rstrip() + "\n" for line in text.strip().splitlines())
