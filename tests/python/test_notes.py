"""Notes of recorded programs: any error in one is a LoadError that names the place."""

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core, ops, zk
from cloakwork.errors import LoadError
from python.fhe_setup import ckks

Change = Callable[[dict[str, Any]], object]
Saved = tuple[_core.Program, dict[str, Any]]


def _saved(program: cw.Program | zk.Traced, note: str) -> Saved:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        program.save(f"{folder}/p.cwk")
        return program._core, json.loads(cw.load(f"{folder}/p.cwk")._core.notes()[note])


@cache
def plain() -> Saved:
    return _saved(cw.trace(lambda a, b: (a + b, a * b), cw.zeros(3), cw.zeros(3)), "recorded")


@cache
def encrypted() -> Saved:
    x = ckks(64, 2).encrypt([0.5])
    return _saved(cw.trace(lambda x, y: (x * x).relinearize().rotate(4), x, x), "recorded")


@zk.program(curve="bn254")
def scaled(a: zk.Coef[4], s: zk.Scalar) -> cw.Tensor:
    return ops.multiply(a, s) + zk.uniform(4)


@cache
def function() -> Saved:
    return _saved(scaled.program, "zk.program")


def put(*path: str | int, value: Any) -> Change:
    """A function that puts a value into a note at that place."""

    def change(note: Any) -> None:
        for step in path[:-1]:
            note = note[step]
        note[path[-1]] = value

    return change


def drop(name: str) -> Change:
    return lambda note: note.pop(name)


def refused(core: _core.Program, folder: Path, **notes: str) -> str:
    """The error of `cloakwork.load` for a container with these notes."""
    core.save_container(folder / "p.cwk", {n.replace("_", "."): text for n, text in notes.items()})
    with pytest.raises(LoadError) as raised:
        cw.load(folder / "p.cwk")
    text = str(raised.value)
    assert text.startswith(f"{folder / 'p.cwk'}: ")
    assert "\n" not in text
    assert len(text) < 500
    return text


DEEP = "[" * 100_000
TEXTS = {
    "[": "expected JSON", DEEP: "nested too deep", '{"a":' * 100_000: "nested too deep",
    "[]": "expected an object, got a list", "null": "expected an object, got None",
    "5": "expected an object, got 5", '"x"': "expected an object", "9" * 5000: "expected JSON",
    '{"results":[],"results":[]}': "the member 'results' comes twice", "": "expected JSON",
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("note", ["recorded", "zk_program"])
def test_a_note_is_json_whose_members_come_once(note: str, text: str, tmp_path: Path) -> None:
    core = (plain if note == "recorded" else function)()[0]
    said = refused(core, tmp_path, **{note: text})
    assert f"the note {note.replace('_', '.')}: " in said
    assert TEXTS[text] in said


def test_notes_are_of_one_kind_that_is_known(tmp_path: Path) -> None:
    core, note = plain()
    text = json.dumps(note)
    assert "the note 'foo'" in refused(core, tmp_path, foo="bar")
    assert "the note 'foo'" in refused(core, tmp_path, recorded=text, foo="bar")
    assert "got recorded, zk.program" in refused(core, tmp_path, recorded=text, zk_program=text)
    assert "instructions, recorded" in refused(core, tmp_path, recorded=text, instructions="{}")
    assert "the note 'file 1'" in refused(core, tmp_path, instructions="{}", **{"file 1": "x"})
    for load in (cw.heal.load, zk.Program.load):
        core.save_container(tmp_path / "p.cwk", {"recorded": text, "foo": "bar"})
        with pytest.raises(LoadError, match="the note 'foo'"):
            load(tmp_path / "p.cwk")


RECORDED: list[tuple[Change, str]] = [
    (drop("tied"), "no tied"),
    (put("more", value=1), "also 'more'"),
    (put("results", value=[None]), ".results: expected 2 results, as the program has, got 1"),
    (put("results", value=[None] * 3), ".results: expected 2 results"),
    (put("results", value=5), ".results: expected a list, got 5"),
    (put("results", value={}), ".results: expected a list, got an object"),
    (put("results", value=[0, False]), ".results[0]: expected an object, got 0"),
    (put("results", value=[None, False]), ".results[1]: expected an object, got False"),
    (put("results", value=[None, {"x": 1}]), ".results[1]: "),
    (put("examples", value=[]), ".examples: expected an object"),
    (put("examples", value={"a": {"x": 1}}), ".examples.a: "),
    (put("examples", value={"a": None}), ".examples.a: expected an object"),
    (put("keys", value=[]), ".keys: expected an object"),
    (put("keys", value={"k": []}), ".keys.k: expected an object"),
    (put("keys", value={"k": {"owner": "x"}}), ".keys.k: expected members owner, needs"),
    (put("keys", value={"a": {"owner": 1, "needs": ["q"]}}), ".keys.a.owner: expected a text"),
    (put("keys", value={"": {"owner": "x", "needs": []}}), ".keys.''.needs: expected inputs"),
    (put("keys", value={"k": {"owner": "x", "needs": "ab"}}), ".keys.k.needs: expected a list"),
    (put("keys", value={"k": {"owner": "x", "needs": ["b"]}}), "inputs of the program, got b"),
    (put("tied", value=5), ".tied: expected a list"),
    (put("tied", value=[5]), ".tied[0]: expected a text"),
]
ENCRYPTED: list[tuple[Change, str]] = [
    (put("results", value=[]), ".results: expected 1 results"),
    (put("results", value=[None, None]), ".results: expected 1 results"),
    (
        put("examples", "x", "more", value=1),
        ".examples.x: fields: expected what ciphertexts are",
    ),
    (put("examples", "x", "level", value=True), ".examples.x: level: expected an int"),
    (put("examples", "x", "level", value=0), ".examples.x: expected i64"),
    (put("examples", "x", "level", value=10**30), ".examples.x: level"),
    (put("examples", "x", "batch", value=2.0), ".examples.x: batch: expected an integer from 1"),
    (put("examples", "x", "batch", value=-1), ".examples.x: batch: expected an integer from 1"),
    (put("examples", "x", "batch", value=10**30), ".examples.x: batch: expected an integer from 1"),
    (put("examples", "x", "batch", value=2), ".examples.x: expected i64"),
    (put("examples", "x", "parameters", value=None), ".examples.x: parameters"),
    (put("examples", "x", "parameters", "moduli", value=[]), ".examples.x: "),
    (put("examples", "x", "parameters", "moduli", value=3), ".examples.x: "),
    (put("examples", "x", "parameters", "scale", value="x"), ".examples.x: "),
    (put("examples", "x", "packing", value={}), ".examples.x: packing"),
    (put("examples", "x", "key", value=3), ".examples.x: key"),
    (put("examples", "z", value={}), ".examples.z: "),
    (put("results", 0, "noise", value=1e400), ".results[0]: noise"),
    (put("results", 0, "noise", value="1"), ".results[0]: noise"),
    (put("keys", "keys", "needs", 0, value="galois.7"), "inputs of the program, got galois.7"),
    (put("keys", "keys", "needs", value=[]), "inputs of the program, got none"),
    (
        lambda n: n["keys"]["keys"]["needs"].append(n["keys"]["keys"]["needs"][0]),
        "distinct strings",
    ),
    (lambda n: n["keys"].update(x=n["keys"].pop("keys")), ".keys.x.needs: "),
]
FUNCTION: list[tuple[Change, str]] = [
    (drop("seeded"), "no seeded"),
    (put("more", value=1), "also 'more'"),
    (put("name", value=3), ".name: expected a text"),
    (put("seeded", value=0), ".seeded: expected true or false, got 0"),
    (put("seeded", value="no"), ".seeded: expected true or false"),
    (put("memory_budget", value=-5), ".memory_budget: expected an integer from 0"),
    (put("memory_budget", value=2**64), ".memory_budget: expected an integer from 0"),
    (put("memory_budget", value="1MiB"), ".memory_budget: expected an integer from 0"),
    (put("memory_budget", value=True), ".memory_budget: expected an integer from 0"),
    (put("types", value={}), ".types: expected the inputs a, s, got 'a'"),
    (put("types", value=[]), ".types: expected an object"),
    (put("types", "z", value={}), ".types: expected the inputs a, s, got 'z'"),
    (put("types", "a", value={}), ".types.a: expected members dtype"),
    (put("types", "a", "more", value=1), ".types.a: expected members dtype"),
    (put("types", "a", "dtype", value="nonsense"), ".types.a: expected bn254.fr[4]"),
    (put("types", "a", "dtype", value="u64"), ".types.a: expected bn254.fr[4], got u64[4]"),
    (put("types", "a", "dtype", value=3), ".types.a.dtype: expected a text"),
    (put("types", "a", "shape", value=[99]), ".types.a: expected bn254.fr[4], got bn254.fr[99]"),
    (put("types", "a", "shape", value=[10**30]), ".types.a.shape[0]: expected an integer"),
    (put("types", "a", "shape", value=[float("inf")]), ".types.a.shape[0]: expected an integer"),
    (put("types", "a", "shape", value=[4.0]), ".types.a.shape[0]: expected an integer"),
    (put("types", "s", "shape", value=[True]), ".types.s.shape[0]: expected an integer"),
    (put("types", "a", "repr", value="other"), ".types.a.repr: expected coef"),
    (put("types", "a", "repr", value=[]), ".types.a.repr: expected coef"),
    (put("types", "a", "json", value=[1]), ".types.a.json: expected a text"),
]
WRONG = [
    *(("recorded", plain, change, words) for change, words in RECORDED),
    *(("recorded", encrypted, change, words) for change, words in ENCRYPTED),
    *(("zk_program", function, change, words) for change, words in FUNCTION),
]


@pytest.mark.parametrize("row", range(len(WRONG)))
def test_a_note_says_what_the_program_is_or_is_refused(row: int, tmp_path: Path) -> None:
    note, saved, change, words = WRONG[row]
    core, good = saved()
    changed = json.loads(json.dumps(good))
    change(changed)
    said = refused(core, tmp_path, **{note: json.dumps(changed)})
    assert words in said, said
    assert f"the note {note.replace('_', '.')}" in said


def test_a_result_of_another_shape_than_the_note_says_is_refused(tmp_path: Path) -> None:
    core, good = encrypted()
    changed = json.loads(json.dumps(good))
    changed["results"][0] |= {"level": 0}
    core.save_container(tmp_path / "p.cwk", {"recorded": json.dumps(changed)})
    keys = ckks(64, 2)
    loaded = cw.load(tmp_path / "p.cwk")
    assert isinstance(loaded, cw.Program)
    x = keys.encrypt([0.5])
    with pytest.raises(LoadError, match="result out0: the file says shape"):
        loaded.run(x, x)


def test_notes_that_were_damaged_at_random_end_in_named_errors(tmp_path: Path) -> None:
    chance, outcomes = random.Random(7), [0, 0]
    values: list[Any] = [None, True, -1, 2**70, 1.5, float("nan"), "", "a", [], [None], {}, {"": 0}]
    for note, saved in (("recorded", encrypted), ("recorded", plain), ("zk.program", function)):
        core, good = saved()
        for _ in range(60):
            changed = json.loads(json.dumps(good))
            place: Any = changed
            while isinstance(place, dict | list) and place:
                key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
                if chance.random() < 0.4 or not isinstance(place[key], dict | list):
                    place[key] = chance.choice(values)
                    break
                place = place[key]
            core.save_container(tmp_path / "p.cwk", {note: json.dumps(changed)})
            try:
                cw.load(tmp_path / "p.cwk")
                outcomes[0] += 1
            except LoadError:
                outcomes[1] += 1
    assert outcomes[1] > 100


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    """Of each kind, also without any note, and saved once more after it was loaded."""
    x = np.ones(3)
    core, _ = plain()
    core.save_container(tmp_path / "p.cwk")
    loaded = cw.load(tmp_path / "p.cwk")
    assert isinstance(loaded, cw.Program)
    assert loaded.run(x, x).named.keys() == {"out0", "out1"}
    loaded.save(tmp_path / "q.cwk")
    again = cw.load(tmp_path / "q.cwk")
    assert isinstance(again, cw.Program)
    assert again.run(x, x)["out0"].tolist() == [2, 2, 2]
    for program in (encrypted, function):
        held, note = program()
        name = "recorded" if program is encrypted else "zk.program"
        held.save_container(tmp_path / "r.cwk", {name: json.dumps(note)})
        found = cw.load(tmp_path / "r.cwk")
        assert isinstance(found, cw.Program | zk.Traced)
        found.save(tmp_path / "s.cwk")
        assert json.loads(cw.load(tmp_path / "s.cwk")._core.notes()[name]) == note
