"""The repository runs anywhere: no file names a place on one machine."""

from __future__ import annotations

import re
import tomllib

from tidy import tree

_PLACES = ("work", "tmp", "root", "home", "Users", "farm", "mnt")
# `/tmp/...` and the like at the start of a path; `src/home/` and `https://a.b/work/` are others.
_MACHINE_PATH = re.compile(r"(?<![\w.~*})\]-])/(?:" + "|".join(_PLACES) + r")/\w*")
_CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def machine_paths(source: str) -> list[str]:
    return [match[0] for match in _MACHINE_PATH.finditer(source)]


def test_no_file_names_a_place_on_one_machine() -> None:
    found = {tree.relative(path): machine_paths(tree.text(path)) for path in tree.files()}
    del found["tests/tidy/test_places.py"]
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_machine_paths_are_told_from_paths_inside_the_repository() -> None:
    bad = ['open("/tmp/x.json")', "cd /mnt/build", "/home/ada/.cargo", "PATH=/root/bin"]
    assert all(machine_paths(line) for line in bad)
    good = [
        "crates/work/src",
        "https://example.org/home/a",
        "/usr/bin/env",
        "{out}/tmp/x",
        "tmp_path",
    ]
    assert [line for line in good if machine_paths(line)] == []


def test_locked_crates_come_from_the_public_registry() -> None:
    lock = tomllib.loads(tree.text(tree.ROOT / "Cargo.lock"))
    sources = {package.get("source", _CRATES_IO) for package in lock["package"]}
    assert sources == {_CRATES_IO}
