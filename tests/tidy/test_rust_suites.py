"""A crate whose tests are one program runs every file of them."""

import re
import tomllib
from pathlib import Path

import pytest
from tidy.tree import ROOT

SUITES = [path.parents[1] for path in sorted(ROOT.glob("crates/*/tests/main.rs"))]


def unreached(crate: Path) -> set[str]:
    """The files in `tests` that are no module of `main.rs` and no program of their own."""
    manifest = tomllib.loads((crate / "Cargo.toml").read_text(encoding="utf-8"))
    programs = {target["path"] for target in manifest["test"]}
    main = (crate / "tests" / "main.rs").read_text(encoding="utf-8")
    modules = {f"tests/{name}.rs" for name in re.findall(r"^mod (\w+);$", main, re.MULTILINE)}
    files = {path.relative_to(crate).as_posix() for path in (crate / "tests").glob("*.rs")}
    return files - programs - modules


@pytest.mark.parametrize("crate", SUITES, ids=lambda crate: crate.name)
def test_no_file_of_tests_is_left_out(crate: Path) -> None:
    assert unreached(crate) == set(), f"to be a module of {crate.name}/tests/main.rs"


def test_a_file_that_is_left_out_is_found(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name, text in (("main", "mod a;\n"), ("a", ""), ("b", ""), ("c", "")):
        (tmp_path / "tests" / f"{name}.rs").write_text(text)
    targets = "".join(f'[[test]]\npath = "tests/{name}.rs"\n' for name in ("main", "b"))
    (tmp_path / "Cargo.toml").write_text(targets)
    assert unreached(tmp_path) == {"tests/c.rs"}
