"""Constants of programs in files: saved beside their program only, never over foreign files."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import zk
from cloakwork.cli import main
from cloakwork.errors import CloakworkError, ParamError, ProgramError, SaveError


def described(*constants: dict[str, Any]) -> str:
    """A program that gives its constants."""
    names = [f"c{number}" for number in range(len(constants))]
    tree = {
        "format": "program", "version": 1,
        "constants": {
            name: {"type": "u64<4>", "bytes": 32} | entry
            for name, entry in zip(names, constants, strict=True)
        },
        "main": [
            *({"op": "LoadConstant", "src": name, "dst": name} for name in names),
            *({"op": "Return", "id": name} for name in names),
        ],
    }  # fmt: skip
    return json.dumps(tree)


def holding(value: int, file: str = "c.bin") -> zk.Program:
    """A program whose constant is in a file of this name."""
    return zk.Program.parse(described({"file": file}), {file: words(value)})


def words(value: int) -> bytes:
    return np.full(4, value, np.uint64).tobytes()


def value_of(path: Path) -> int:
    (value,) = {*zk.Program.load(path).run()["c0"].tolist()}
    return int(value)


def tree_of(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


HOSTILE = [
    "notes.txt", "p.cwk", "p.json", "P.json", "./p.json", "link/x.bin", "sub/x.bin", "../out.bin",
    "/dev/shm/out.bin", "a/../../out.bin", "p.json.constants", "p.txt",
]  # fmt: skip


@pytest.mark.parametrize("form", ["p.json", "p.txt", "folder"])
@pytest.mark.parametrize("file", HOSTILE)
def test_what_a_program_calls_its_files_decides_no_name(
    file: str, form: str, tmp_path: Path
) -> None:
    here, outside = tmp_path / "here", tmp_path / "outside"
    here.mkdir()
    outside.mkdir()
    (here / "link").symlink_to(outside)
    holding(7, file).save(here / "p.cwk")
    (here / "notes.txt").write_text("precious")
    before = tree_of(tmp_path)
    assert main(["convert", str(here / "p.cwk"), str(here / form)]) == 0
    place = Path("here", form, "program.json") if form == "folder" else Path("here", form)
    after = tree_of(tmp_path)
    assert after.keys() - before.keys() == {str(place), f"{place}.constants"}
    assert {name: after[name] for name in before} == before
    assert value_of(here / form) == 7
    assert (here / "link").is_symlink()


def test_programs_side_by_side_keep_their_own_constants(tmp_path: Path) -> None:
    names = ["one.json", "two.json", "one.txt", "two.txt", "folder", "one.cwk"]
    for number, name in enumerate(names):
        holding(number).save(tmp_path / name)
    assert [value_of(tmp_path / name) for name in names] == [*range(len(names))]
    for first, second in (("one", "two"), ("two", "one")):
        place = tmp_path / f"{first}.json.constants"
        place.write_bytes((tmp_path / f"{second}.txt.constants").read_bytes())
        with pytest.raises(ProgramError, match="SHA-256"):
            value_of(tmp_path / f"{first}.json")


def test_every_constant_is_saved_with_its_sum(tmp_path: Path) -> None:
    contents = words(1) + words(2) + b"not of the program"
    entries: list[dict[str, Any]] = [
        {"file": "all.bin", "offset": 32}, {"file": "all.bin"}, {"file": "other.bin"},
        {"file": "all.bin"}, {"file": "other.bin", "offset": 8},
    ]  # fmt: skip
    other = words(3) + b"\3" + bytes(7)
    program = zk.Program.parse(described(*entries), {"all.bin": contents, "other.bin": other})
    file = program.save(tmp_path / "p.json")
    constants = json.loads(file.read_text())["constants"]
    assert {entry["file"] for entry in constants.values()} == {"p.json.constants"}
    assert all(len(entry["sha256"]) == 64 for entry in constants.values())
    assert b"not of the program" not in (tmp_path / "p.json.constants").read_bytes()
    run = zk.Program.load(file).run()
    assert [run[f"c{n}"].tolist()[0] for n in range(5)] == [2, 1, 3, 1, 3]
    # A sum that is not that of the contents is kept, so that it is found.
    damaged = zk.Program.parse(described({"file": "c", "sha256": "0" * 64}), {"c": words(1)})
    with pytest.raises(ProgramError, match="SHA-256"):
        value_of(damaged.save(tmp_path / "damaged.json"))


@pytest.mark.parametrize("entry", [{"file": "none.bin"}, {"file": "c", "offset": 8}])
def test_constants_that_are_not_whole_are_not_saved(entry: dict[str, Any], tmp_path: Path) -> None:
    program = zk.Program.parse(described({"file": "c"}, entry), {"c": words(1)})
    with pytest.raises((ParamError, ProgramError), match=r"none\.bin|got c1 in c of 32"):
        program.save(tmp_path / "p.json")
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_others_in_the_place_of_constants_stays(tmp_path: Path) -> None:
    place = tmp_path / "p.json.constants"
    for contents in (b"", b"precious", words(9) * 20):
        place.write_bytes(contents)
        with pytest.raises(SaveError, match=r"p\.json\.constants: .* move it away"):
            holding(1).save(tmp_path / "p.json")
        assert tree_of(tmp_path) == {"p.json.constants": contents}
    place.unlink()
    (tmp_path / "victim").write_text("precious")
    for other in ("victim", "new"):
        place.symlink_to(tmp_path / other)
        with pytest.raises(SaveError, match="a symbolic link"):
            holding(1).save(tmp_path / "p.json")
        place.unlink()
    assert tree_of(tmp_path) == {"victim": b"precious"}
    # Files of an earlier save are replaced, with its program or without.
    for value in (1, 2):
        assert value_of(holding(value).save(tmp_path / "p.json")) == value
        (tmp_path / "p.json").unlink()


def by_hand(folder: Path, file: str = "c.bin", name: str = "p.json") -> Path:
    """A program with its constant beside it, written by hand."""
    (folder / file).parent.mkdir(exist_ok=True, parents=True)
    (folder / file).write_bytes(words(5))
    (folder / name).write_text(described({"file": file}))
    return folder / name


Output = Callable[[Path, Path], int]
OUTPUTS: dict[str, Output] = {
    "run --profile": lambda file, out: main(["run", str(file), "--profile", str(out)]),
    "run --output": lambda file, out: main(["run", str(file), "--output", f"c0={out}"]),
    "convert": lambda file, out: main(["convert", str(file), str(out)]),
}


@pytest.mark.parametrize("form", ["p.json", "program.json", "folder"])
@pytest.mark.parametrize("command", OUTPUTS)
def test_no_command_writes_over_constants_that_it_reads(
    command: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    constant = {"run --output": "c.npy", "convert": "c.cwk"}.get(command, "c.bin")
    name = "p.json" if form == "p.json" else "program.json"
    file = by_hand(tmp_path / "in", constant, name)
    os.link(file.parent / constant, tmp_path / f"alias{Path(constant).suffix}")
    before = tree_of(tmp_path)
    for out in (file.parent / constant, tmp_path / f"alias{Path(constant).suffix}"):
        assert OUTPUTS[command](file.parent if form == "folder" else file, out) == 2
        assert "the input " in capsys.readouterr().err
    assert tree_of(tmp_path) == before


def test_interfaces_write_over_nothing_that_they_read(tmp_path: Path) -> None:
    file = by_hand(tmp_path, "q.json.constants")
    program = zk.Program.load(file)
    calls: list[Callable[[], object]] = [
        lambda: program.run(profile=tmp_path / "q.json.constants"),
        lambda: program.run(profile=file),
        lambda: program.save(tmp_path / "q.json"),
    ]
    for call in calls:
        with pytest.raises(SaveError, match="the input "):
            call()
    # In its own place a program may be saved again.
    assert value_of(program.save(file)) == 5
    cw.trace(lambda x: x + x, [1.0]).save(tmp_path / "r.cwk")
    np.save(tmp_path / "x.npy", [1.0])
    recorded = cw.load(tmp_path / "r.cwk")
    assert isinstance(recorded, cw.Program)
    for made in (recorded, recorded.expanded(["add"]), recorded.bound({})):
        for place in ("r.cwk", "x.npy"):
            with pytest.raises(SaveError, match="the input "):
                made.run({"x": tmp_path / "x.npy"}, profile=tmp_path / place)
    cw.heal.load(cw.heal.sample()).save(tmp_path / "t.cwk")
    transcript = cw.heal.load(tmp_path / "t.cwk")
    for run in (transcript.run, transcript.to_program().run):
        with pytest.raises(SaveError, match="the input "):
            run(profile=tmp_path / "t.cwk")


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path / "no" / "none.json"):
        for load in (cw.load, zk.Program.load):
            with pytest.raises((OSError, CloakworkError), match=r"none\.json"):
                load(path)
