"""Dependencies keep to deny.toml: licences, sources, one version of each crate."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tidy import tree
from tidy.dependencies import Rules, findings

from scripts.dev import notices
from scripts.dev.console import DevError
from scripts.dev.notices import is_met
from scripts.dev.toolchain import find_tool

REGISTRY = "https://github.com/rust-lang/crates.io-index"
RULES = Rules(frozenset({"MIT", "Apache-2.0"}), frozenset({"old@1.0"}), frozenset({"registry+a"}))


def package(name: str, version: str, **fields: object) -> dict[str, Any]:
    common = {"id": f"{name}@{version}", "name": name, "version": version}
    return {**common, "license": "MIT", "source": "registry+a", **fields}


def metadata(*edges: tuple[str, str, str | None], **changed: object) -> dict[str, Any]:
    """A workspace `own@1.0` and the crates that it needs; `old` stands for a skipped one."""
    needed = [("own@1.0", "old@1.0", None), ("own@1.0", "old@2.0", None), *edges]
    ids = dict.fromkeys(one for edge in needed for one in edge[:2])
    packages = [package(*one.split("@")) for one in ids]
    for found in packages:
        found.update(changed if found["name"] == "crate" else {})
        found.update({"source": None} if found["name"] == "own" else {})
    nodes = [
        {
            "id": one,
            "deps": [
                {"pkg": to, "dep_kinds": [{"kind": kind}]} for at, to, kind in needed if at == one
            ],
        }
        for one in ids
    ]
    return {"packages": packages, "workspace_members": ["own@1.0"], "resolve": {"nodes": nodes}}


def of_this_machine() -> dict[str, Any]:
    """What `cargo metadata` says of the workspace, for this machine alone."""
    cargo, rustc = find_tool("cargo"), find_tool("rustc")
    assert cargo is not None
    assert rustc is not None
    version = subprocess.run([rustc, "-vV"], capture_output=True, text=True, check=True).stdout
    host = re.search(r"^host: (\S+)$", version, re.MULTILINE)
    assert host is not None
    # Offline: after a build its crates are present, for this machine only.
    command = [cargo, "metadata", "--format-version", "1", "--locked", "--offline"]
    answer = subprocess.run(
        [*command, "--filter-platform", host[1]],
        cwd=tree.ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "--offline" in answer.stderr and not os.environ.get("CI"):
        pytest.skip("crates that only tests need are not downloaded yet: `dev.py test` does it")
    assert answer.returncode == 0, answer.stderr
    return dict(json.loads(answer.stdout))


@pytest.mark.skipif(find_tool("cargo") is None, reason="cargo is not installed")
def test_dependencies_keep_to_the_rules() -> None:
    deny = tomllib.loads(tree.text(tree.ROOT / "deny.toml"))
    assert findings(of_this_machine(), Rules.of(deny)) == []


@pytest.mark.skipif(find_tool("cargo") is None, reason="cargo is not installed")
def test_notices_name_each_crate_of_the_library_and_the_package_its_licence() -> None:
    crates = notices.linked(of_this_machine())
    text = tree.text(notices.FILE)
    named = set(re.findall(r"^(\S+ \d\S*), http", text, re.MULTILINE))
    hint = "`python3 dev.py notices` writes them"
    assert {notices.label(crate) for crate in crates} <= named, hint
    locked = tomllib.loads(tree.text(tree.ROOT / "Cargo.lock"))["package"]
    assert named <= {notices.label(package) for package in locked}, hint
    project = tomllib.loads(tree.text(tree.ROOT / "pyproject.toml"))["project"]
    assert notices.FILE.name in project["license-files"]
    assert {notices.elected(crate) for crate in crates} <= {*project["license"].split(" AND ")}


PERMISSION = "Permission is hereby granted,\nfree of charge.\n\nTHE SOFTWARE IS PROVIDED.\n"


def unpacked(folder: Path, name: str, **files: str) -> dict[str, Any]:
    """A crate with these files."""
    own = folder / name
    own.mkdir()
    for file, text in files.items():
        (own / file).write_text(text)
    about = {"repository": f"https://{name}", "authors": ["A. Nonymous"]}
    return package(name, "1.0", **about, manifest_path=str(own / "Cargo.toml"))


def test_notices_have_whose_each_crate_is_and_each_text_once(tmp_path: Path) -> None:
    other = PERMISSION.replace("free", "without a fee, free")
    crates = [
        unpacked(tmp_path, "a", LICENSE=f"The MIT License\n\nCopyright (c) A\n\n{PERMISSION}"),
        unpacked(tmp_path, "b", LICENSE=PERMISSION.replace(",\n", ", "), NOTICE="Of B."),
        unpacked(tmp_path, "c", LICENSE=f"Copyright (c) C\n{other}"),
        unpacked(tmp_path, "d"),
    ]
    text = notices.text_of(crates)
    assert text.count("Permission is hereby granted, free of charge.") == 1
    parts = [" ".join(part.split()) for part in re.split(r"\n(?=\w 1\.0, )", text)[1:]]
    assert parts[0] == "a 1.0, https://a Copyright (c) A"
    assert parts[1] == "b 1.0, https://b By A. Nonymous; its licence names nobody Of B."
    whole = "Permission is hereby granted, without a fee, free of charge. THE SOFTWARE IS PROVIDED."
    assert parts[2] == f"c 1.0, https://c Copyright (c) C {whole}"
    assert parts[3].startswith("d 1.0, https://d By A. Nonymous; without a licence file Permission")


def test_a_crate_without_an_elected_licence_is_refused(tmp_path: Path) -> None:
    crate = unpacked(tmp_path, "a") | {"license": "GPL-3.0-only"}
    with pytest.raises(DevError, match=r"a 1\.0: expected MIT or .*got the licence GPL-3\.0-only"):
        notices.text_of([crate])


def test_the_rules_allow_the_public_registry_alone() -> None:
    deny = tomllib.loads(tree.text(tree.ROOT / "deny.toml"))
    assert Rules.of(deny).registries == {f"registry+{REGISTRY}"}
    assert deny["sources"]["unknown-git"] == deny["sources"]["unknown-registry"] == "deny"


@pytest.mark.parametrize(
    ("expression", "met"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT/Apache-2.0", True),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0", True),
        ("(MIT OR GPL-3.0-only) AND Apache-2.0", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", False),
        ("GPL-3.0-only AND MIT OR MIT", True),
        ("", False),
        ("MIT Apache-2.0", False),
        ("(MIT", False),
    ],
)
def test_an_expression_of_licences_is_met_or_not(expression: str, met: bool) -> None:
    assert is_met(expression, RULES.licenses) is met


def test_what_keeps_to_the_rules_has_no_finding() -> None:
    assert findings(metadata(("own@1.0", "crate@1.0", None)), RULES) == []


def test_a_licence_and_a_source_are_told_of_every_crate() -> None:
    assert findings(metadata(("old@2.0", "crate@1.0", None), license=None), RULES) == [
        "crate@1.0: licence None is not among those of deny.toml"
    ]
    assert findings(metadata(("own@1.0", "crate@1.0", "dev"), source="git+b"), RULES) == [
        "crate@1.0: comes from git+b"
    ]


def test_two_versions_are_told_unless_only_tests_need_one() -> None:
    edges = (("own@1.0", "crate@1.0", None), ("old@2.0", "crate@2.0", "build"))
    assert findings(metadata(*edges), RULES) == ["crate: 2 versions: crate@1.0, crate@2.0"]
    edges = (("own@1.0", "crate@1.0", None), ("own@1.0", "crate@2.0", "dev"))
    assert findings(metadata(*edges), RULES) == []


def test_a_version_that_need_not_be_skipped_is_told() -> None:
    rules = Rules(RULES.licenses, frozenset({"old@1.0", "crate@1.0"}), RULES.registries)
    assert findings(metadata(("own@1.0", "crate@1.0", None)), rules) == [
        "crate@1.0: deny.toml skips it, and there is no second version of it"
    ]


def features(*scope: str) -> dict[str, set[str]]:
    """The sets of features with which a build of these packages compiles each crate."""
    cargo = find_tool("cargo")
    assert cargo is not None
    form = ["--edges", "normal,build,dev", "--prefix", "none", "--format", "{p}|{f}"]
    command = [cargo, "tree", "--offline", "--locked", *scope, *form]
    lines = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True, check=True)
    found: dict[str, set[str]] = {}
    for line in lines.stdout.splitlines():
        crate, _, own = line.removesuffix(" (*)").partition("|")
        found.setdefault(crate.split(" (")[0], set()).add(own)
    return found


@pytest.mark.skipif(find_tool("cargo") is None, reason="no cargo")
@pytest.mark.parametrize("package", ["cloakwork-extension", "cloakwork-testing"])
def test_what_is_built_alone_has_the_features_of_the_whole(package: str) -> None:
    """Otherwise it would be compiled again for each build, with all that needs it."""
    whole = features("--workspace")
    for crate, own in features("--package", package).items():
        assert own <= whole[crate], f"{crate}: declare its features in crates/process/Cargo.toml"
