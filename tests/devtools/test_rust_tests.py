"""`dev.py test` runs Rust's test programs side by side, and shows what a failed one printed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from scripts.dev import rust_tests
from scripts.dev.console import DevError
from scripts.dev.rust_tests import Program


def program(name: str, source: str, folder: Path) -> Program:
    return Program(name, (sys.executable, "-c", source), folder)


def said_by_cargo(crate: str, target: str, kind: str, *, test: bool = True) -> str:
    message = {
        "reason": "compiler-artifact",
        "manifest_path": f"/x/crates/{crate}/Cargo.toml",
        "target": {"name": target, "kind": [kind]},
        "profile": {"test": test},
        "executable": f"/x/target/{target}",
    }
    return json.dumps(message)


def test_programs_are_named_by_crate_and_run_in_its_folder() -> None:
    lines = [
        "   Compiling run",
        said_by_cargo("run", "models", "test"),
        said_by_cargo("ir", "cloakwork_ir", "lib"),
        said_by_cargo("testing", "gen", "bin", test=False),
        json.dumps({"reason": "build-finished", "success": True}),
    ]
    models, ir = rust_tests.executables("\n".join(lines))
    assert (models.name, models.folder) == ("run/tests/models", Path("/x/crates/run"))
    assert models.command == ("/x/target/models", "--quiet")
    assert ir.name == "ir/src (lib)"


def test_all_programs_run_and_all_that_fail_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fine = "print('test result: ok. 7 passed; 0 failed')"
    programs = [
        program("a/tests/one", fine, tmp_path),
        program("b/tests/two", "import sys; print('left 3, right 4'); sys.exit(101)", tmp_path),
        Program("c/tests/three", (str(tmp_path / "absent"),), tmp_path),
    ]
    monkeypatch.setattr(rust_tests, "build", lambda _words, _env: programs)
    monkeypatch.setattr(rust_tests, "_DURATIONS", tmp_path / "durations.json")
    with pytest.raises(DevError, match=r"^3 of 4 programs of tests failed: b/tests/two, c/tests/t"):
        rust_tests.run(str(tmp_path / "no-cargo"), "fast", os.environ)
    said = capsys.readouterr().out
    assert "a/tests/one: 7 passed" in said
    assert "---- b/tests/two\nleft 3, right 4" in said
    assert "cannot start" in said
    assert set(json.loads((tmp_path / "durations.json").read_text())) >= {"a/tests/one"}


@pytest.mark.parametrize("text", ["", "[]", '{"a": "x"}', '{"a": null}'])
def test_durations_that_cannot_be_read_are_none(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rust_tests, "_DURATIONS", tmp_path / "durations.json")
    (tmp_path / "durations.json").write_text(text)
    assert rust_tests._durations() == {}


def test_the_longest_begin_first_and_new_ones_before_them(tmp_path: Path) -> None:
    programs = [program(name, "", tmp_path) for name in ("short", "run/tests/models", "long")]
    first, *_ = sorted(programs, key=rust_tests._order({}))
    assert first.name == "run/tests/models"
    known = {"short": 1.0, "long": 90.0}
    names = [one.name for one in sorted(programs, key=rust_tests._order(known))]
    assert names == ["run/tests/models", "long", "short"]
