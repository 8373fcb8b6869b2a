"""The crates depend one way, and `unsafe` is only in the listed crates."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tidy import tree
from tidy.rust_layer import (
    ARCHITECTURES,
    DENY_UNSAFE,
    ELEMENTS,
    FILES,
    FORBID_UNSAFE,
    MAY_NAME_RAYON,
    UNSAFE_ALLOWED,
    UNSAFE_FILES,
    architecture_lines,
    dependency_findings,
    element_lines,
    file_lines,
    lock_findings,
    unsafe_lines,
)

CRATES = sorted(path.parent for path in tree.files("/Cargo.toml", under="crates/"))


def crate_name(folder: Path) -> str:
    return folder.name


@pytest.mark.parametrize("crate", CRATES, ids=crate_name)
def test_dependencies_point_one_way(crate: Path) -> None:
    manifest = tomllib.loads(tree.text(crate / "Cargo.toml"))
    assert dependency_findings(crate.name, manifest) == []


@pytest.mark.parametrize("crate", CRATES, ids=crate_name)
def test_unsafe_stands_only_where_allowed(crate: Path) -> None:
    if crate.name in UNSAFE_ALLOWED:
        return
    exception = UNSAFE_FILES.get(crate.name)
    attribute = FORBID_UNSAFE if exception is None else DENY_UNSAFE
    assert attribute in tree.text(crate / "src" / "lib.rs").splitlines(), (
        f"crates/{crate.name}/src/lib.rs must say {attribute}"
    )
    sources = tree.files(".rs", under=f"crates/{crate.name}/")
    found = {tree.relative(path): unsafe_lines(tree.text(path)) for path in sources}
    assert {name: n for name, n in found.items() if n and name != exception} == {}


def test_files_are_opened_and_written_in_one_place() -> None:
    sources = [path for path in tree.files(".rs", under="crates/") if "/src/" in path.as_posix()]
    found = {tree.relative(path): file_lines(tree.text(path)) for path in sources}
    trespasses = {name: lines for name, lines in found.items() if lines}
    assert any(name.startswith(FILES[0]) for name in trespasses), "the pattern finds nothing"
    assert [name for name in trespasses if not name.startswith(FILES)] == []


def test_files_are_found_in_code_and_not_in_words() -> None:
    assert file_lines("// File::create\nlet a = File::create(path)?;\nfs::rename(a, b)?;\n") == [
        2,
        3,
    ]
    assert file_lines("fs::metadata(path)?;\n#[cfg(test)]\nmod t { fs::write(p, b) }\n") == []


def test_rust_depends_on_the_architecture_in_two_files() -> None:
    sources = [path for path in tree.files(".rs", under="crates/") if "/src/" in path.as_posix()]
    found = {tree.relative(path): architecture_lines(tree.text(path)) for path in sources}
    assert sorted(name for name, lines in found.items() if lines) == ARCHITECTURES


def test_code_for_one_architecture_is_found_outside_of_tests() -> None:
    source = '// target_arch\n#[cfg(target_arch = "x86_64")]\nstd::arch::asm!("");\n'
    assert architecture_lines(source) == [2, 3]
    assert architecture_lines(f"fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{source}}}\n") == []


def test_elements_that_may_be_gone_are_read_in_one_place() -> None:
    sources = tree.files(".rs", under="crates/py/src/")
    found = {tree.relative(path): element_lines(tree.text(path)) for path in sources}
    assert [name for name, lines in found.items() if lines] == [ELEMENTS]


@pytest.mark.parametrize("crate", CRATES, ids=crate_name)
def test_locks_and_threads_are_of_use_in_a_forked_child(crate: Path) -> None:
    if crate.name == "testing":
        return
    manifest = tomllib.loads(tree.text(crate / "Cargo.toml"))
    assert crate.name in MAY_NAME_RAYON or "rayon" not in manifest.get("dependencies", {})
    sources = tree.files(".rs", under=f"crates/{crate.name}/src/")
    found = {tree.relative(path): lock_findings(tree.relative(path), tree.text(path))
             for path in sources}  # fmt: skip
    assert {name: locks for name, locks in found.items() if locks} == {}


def test_a_lock_of_the_standard_library_is_found() -> None:
    source = "use std::sync::{Arc, Mutex};\nstatic X: std::sync::OnceLock<u8> = todo!();\n"
    assert lock_findings("crates/ops/src/list.rs", source) == ["Mutex", "OnceLock"]
    assert lock_findings("crates/run/src/share.rs", source) == []
    assert lock_findings("crates/ops/src/list.rs", "use std::sync::Arc;\n// a Mutex\n") == []


def test_unsafe_is_found_in_code_and_not_in_words() -> None:
    source = '// unsafe\nlet a = "unsafe";\nlet b = r#"unsafe"#;\n#![forbid(unsafe_code)]\n'
    assert unsafe_lines(source) == []
    assert unsafe_lines(source + "let c = 'x'; unsafe { f() }\n") == [5]
    assert unsafe_lines("fn f<'a>(x: &'a str) {}\nunsafe impl Send for A {}\n") == [2]


def test_an_edge_against_the_order_is_found() -> None:
    manifest = {
        "dependencies": {"cloakwork-run": {"workspace": True}, "serde": "1"},
        "dev-dependencies": {"cloakwork-testing": {"workspace": True}},
        "target": {"cfg(unix)": {"dependencies": {"plan": {"package": "cloakwork-plan"}}}},
    }
    assert dependency_findings("verify", manifest) == [
        "verify may not depend on run (dependencies)",
        "verify may not depend on plan (dependencies)",
    ]
    assert dependency_findings("py", manifest) == []


def test_a_new_crate_must_be_given_its_place() -> None:
    assert dependency_findings("helpers", {}) == [
        "crate helpers has no row in MAY_DEPEND_ON: decide what it may know"
    ]
