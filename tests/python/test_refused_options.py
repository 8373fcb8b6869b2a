"""Options of runs and saving without effect are refused; errors name effective ones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import zk
from cloakwork.cli import main
from cloakwork.errors import CloakworkError, MemoryBudgetError, ParamError

X = np.arange(4.0)


def recorded() -> cw.Program:
    return cw.trace(lambda x: x + x, X)


def transcript() -> cw.heal.Transcript:
    return cw.heal.load(cw.heal.sample())


@zk.program(inputs={"x": zk.tensor("u64", 4)})
def doubled(x: cw.Tensor) -> cw.Tensor:
    return x + x


def instructions(device: str) -> zk.Program:
    b = zk.ProgramBuilder()
    x = b.constant("x", zk.tensor("u64", 4), [1, 2, 3, 4])
    there, back = b.allocate(x.type, device=device), b.allocate(x.type)
    b.transfer(x, there)
    b.transfer(there, back)
    b.ret(back)
    return b.build()


RUNS: dict[str, Callable[..., Any]] = {
    "recorded": lambda **options: recorded().run(X, **options),
    "transcript": lambda **options: transcript().run(**options),
    "function": lambda **options: doubled.program.run({"x": [1, 2, 3, 4]}, **options),
    "instructions": lambda **options: instructions("cpu").run(**options),
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("device", ["gpu:7", "sim:0", "disk:3", "cuda:0", "nonsense", ""])
def test_a_budget_of_a_device_that_no_run_uses_is_refused(run: str, device: str) -> None:
    with pytest.raises(ParamError, match=r"memory_budget: got .*expected .* uses: cpu, disk"):
        RUNS[run](memory_budget={"cpu": "1GiB", device: 1})
    with pytest.raises(ParamError, match="memory_budget"):
        recorded().memory(memory_budget={device: 1})


@pytest.mark.parametrize("device", ["sim:0", "disk", "disk:3"])
def test_a_budget_of_a_device_of_the_program_acts(device: str) -> None:
    program = instructions(device)
    program.run(memory_budget={device: "1MiB"})
    with pytest.raises(MemoryBudgetError, match=device):
        program.run(memory_budget={device: 1})


@pytest.mark.parametrize("run", RUNS)
def test_a_spill_folder_that_is_not_there_is_refused(run: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "missing", tmp_path / "file", "", 3):
        with pytest.raises(ParamError, match="spill_dir: got"):
            RUNS[run](spill_dir=place)
    RUNS[run](spill_dir=tmp_path)


def test_commands_refuse_a_spill_folder_before_they_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["run", "none.json"], ["prove", "none.zkey", "none.wtns"]):
        assert main([*words, "--spill-dir", str(tmp_path / "missing")]) == 2
        assert "--spill-dir: got" in capsys.readouterr().err
    with pytest.raises(ParamError, match="spill_dir"):
        zk.groth16.prove("none.zkey", "none.wtns", spill_dir=tmp_path / "missing")


def test_options_of_heals_json_are_refused_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held, place = transcript(), tmp_path / "t.json"
    for options, words in (
        ({"branch": "first"}, r"branch: got .*t\.cwk, expected a \.json"),
        ({"keep": {"rescale"}}, r"keep: got .*t\.cwk, expected a \.json"),
        ({"branch": "third"}, "branch: got third"),
        ({"keep": {"no_such_op"}}, "keep: got no_such_op, expected names of ops"),
        ({"keep": "rescale"}, "keep: got 'rescale', expected a collection"),
    ):
        with pytest.raises(ParamError, match=words):
            held.save(tmp_path / "t.cwk", **options)  # type: ignore[arg-type]
        if "t\\.cwk" not in words:
            with pytest.raises(ParamError, match=words):
                held.save(place, **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    for options, words in (
        (["--keep", "no_such_op"], "--keep: got no_such_op, expected names of ops"),
        (["--keep", "rescale", "--keep", "no_such_op"], "--keep: got no_such_op"),
        (["--branch", "third"], "'--branch': 'third' is not one of 'first', 'later'"),
    ):
        assert main(["convert", str(cw.heal.sample()), str(place), *options]) == 2
        assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    held.save(place, keep={"rescale"}, branch="first")
    held.save(tmp_path / "t.cwk", keep=(), branch=None)


@pytest.mark.parametrize("name", ["modmul", "rescale", b"modmul", ""])
def test_one_text_is_no_collection_of_names(name: Any) -> None:
    program = cw.trace(lambda x: x + x, np.arange(4))
    calls: list[Callable[[], object]] = [
        lambda: program.to_heal(ops=name),
        lambda: program.to_heal(keep=name),
        lambda: program.expanded(ops=name),
        lambda: transcript().to_program(name),
        lambda: transcript().save("never.json", keep=name),
    ]
    for call in calls:
        with pytest.raises(CloakworkError, match=r"(ops|keep|inputs): got .* collection of names"):
            call()


def test_of_several_unknown_names_the_first_of_the_alphabet_is_named() -> None:
    program = cw.trace(lambda x: x + x, np.arange(4))
    names = [f"nothing{letter}" for letter in "hcfbagde"]
    calls: list[Callable[[], object]] = [
        lambda: program.to_heal(ops=names),
        lambda: program.to_heal(keep=names),
        lambda: program.expanded(ops=names),
    ]
    for call in calls:
        with pytest.raises(ParamError, match=r"(ops|keep): got nothinga,"):
            call()


def test_options_of_loading_that_do_not_apply_to_a_file_are_refused(tmp_path: Path) -> None:
    recorded().save(tmp_path / "recorded.cwk")
    recorded().save(tmp_path / "recorded.cw")
    instructions("cpu").save(tmp_path / "instructions.json")
    transcript().save(tmp_path / "transcript.cw")
    transcript().save(tmp_path / "transcript.cwk")
    for name in ("recorded.cwk", "recorded.cw", "instructions.json"):
        with pytest.raises(ParamError, match=r"generation: got a .*expected a transcript"):
            cw.load(tmp_path / name, generation="first")
    for name in ("recorded.cw", "instructions.json", "transcript.cw"):
        with pytest.raises(ParamError, match=r"checksums: got .*expected a container, \.cwk"):
            cw.load(tmp_path / name, checksums=True)
    with pytest.raises(ParamError, match="checksums"):
        cw.heal.load(cw.heal.sample(), checksums=True)
    for name in ("recorded.cwk", "transcript.cwk"):
        assert cw.load(tmp_path / name, checksums=True).check() == []
    assert cw.load(tmp_path / "transcript.cw", generation="later").check() == []
