"""Models beside other libraries: what is measured in turns, and what is left out with a reason."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import model_peers
import numpy as np
import pytest
from model_peers import CASES, LIBRARIES, Column
from sides import side
from sides.side import Seconds, Side, SideError

from scripts.dev.peers import MODEL_PEERS, PEERS


class Fake:
    """A side that notes what it is asked for, and ends at an operation."""

    def __init__(self, name: str, asked: list[str], ends_at: str = "") -> None:
        self.name, self.facts = name, {"compile": 2.0}
        self._asked, self._ends_at = asked, ends_at

    def run(self, operation: str) -> list[Seconds]:
        if operation == self._ends_at:
            raise SideError(f"{self.name}: it ended")
        self._asked.append(f"{self.name} {operation}")
        return [Seconds(float(len(self._asked)), 0.0)]

    def peak_bytes(self) -> float:
        return 1e9


def column(fake: Any) -> Column:
    return Column(fake)


def test_all_sides_work_on_an_input_before_the_next_one() -> None:
    asked: list[str] = []
    columns = [column(Fake("a", asked)), column(Fake("b", asked))]
    model_peers._measure(columns, rounds=2)
    steps = [step for step in ("encrypt", "run", "decrypt") for _ in range(2)]
    assert [one.split()[1] for one in asked] == ["keygen"] * 4 + steps * 3 + ["report"] * 2
    assert [one.split()[0] for one in asked] == ["a", "b"] * (len(asked) // 2)


def test_the_first_of_several_times_is_not_counted() -> None:
    found = column(Fake("a", []))
    found.taken = {"run": [9.0, 1.0, 3.0, 2.0], "keygen": [9.0]}
    assert found.seconds("run") == 2.0
    assert found.seconds("keygen") == 9.0


def test_a_side_that_fails_is_left_out_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[str] = []
    columns = [column(Fake("a", asked)), column(Fake("b", asked, ends_at="run"))]
    model_peers._measure(columns, rounds=1)
    assert [one.side.name for one in columns] == ["a"]
    assert "left out: b: it ended" in capsys.readouterr().out


def test_refused_results_are_counted_apart(capsys: pytest.CaptureFixture[str]) -> None:
    plain = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    ours, theirs = column(Fake("a", [])), column(Fake("b", []))
    ours.answers = np.array([[0.8, 0.2], [np.nan, np.nan]])
    theirs.answers = np.array([[0.9, 0.1], [0.6, 0.4]])
    for one in (ours, theirs):
        one.taken = {name: [1.0] for name in ("keygen", "encrypt", "run", "decrypt")}
        one.sizes = dict.fromkeys(("key_bytes", "input_bytes", "result_bytes"), 1e6)
    model_peers._show("tree", [ours, theirs], plain)
    rows = {line.split("  ")[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert rows["largest error"][2:] == ["0.1", "0.4"]
    assert rows["same label"][2:] == ["1", "of", "1", "1", "of", "2"]
    assert rows["refused"][1:] == ["1", "0"]


def test_a_peer_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(side, "HERE", tmp_path / "benches" / "sides")
    assert side.peer_side("SEAL", "tenseal", "seal_side.py", {}) is None
    assert "SEAL is left out: tenseal is not installed" in capsys.readouterr().out


def test_a_side_whose_library_is_broken_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    python = tmp_path / ".venv" / "peers" / "broken" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    here = tmp_path / "benches" / "sides"
    here.mkdir(parents=True)
    (here / "broken_side.py").write_text("import a_module_that_is_absent\n")
    monkeypatch.setattr(side, "HERE", here)
    assert side.peer_side("Broken", "broken", "broken_side.py", {}) is None
    assert "left out: Broken: ModuleNotFoundError" in capsys.readouterr().out


def test_every_library_has_an_environment_a_script_and_models() -> None:
    folders = {peer.name for peer in MODEL_PEERS}
    kinds = {case.kind for case in CASES.values()}
    for library in LIBRARIES:
        assert library.folder in folders
        assert (side.HERE / library.script).exists()
        assert set(library.kinds) <= kinds
    assert set(PEERS) < set(MODEL_PEERS)


def test_unknown_models_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert model_peers.main(["hamster"]) == 2
    assert "no such model: hamster; there are: logistic" in capsys.readouterr().err


def test_a_side_starts_with_one_thread(tmp_path: Path) -> None:
    script = tmp_path / "threads.py"
    script.write_text(
        "import json, os\n"
        "names = ('OMP_NUM_THREADS', 'RAYON_NUM_THREADS')\n"
        "print(json.dumps({'operations': [], 'facts': {n: os.environ[n] for n in names}}))\n"
    )
    with Side("a", sys.executable, str(script), {}, model_peers.ONE_THREAD) as started:
        assert set(started.facts.values()) == {"1"}
