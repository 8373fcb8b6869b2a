"""The README's commands and programs run as they stand there."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from cloakwork import zk
from cloakwork.cli import main
from cloakwork.demo import digits
from rich.console import Console

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
VECTORS = Path(__file__).parents[1] / "vectors" / "groth16" / "bn128"
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^(cloakwork .*)$", README, re.MULTILINE)


@pytest.fixture(scope="module")
def transcript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits' transcript, as the demo leaves it."""
    folder = tmp_path_factory.mktemp("demo")
    with (folder / "console.txt").open("w") as file:
        return digits.run(folder, console=Console(file=file)).transcript


def test_the_readme_has_what_is_tested_here() -> None:
    assert (len(PYTHON), len(COMMANDS)) == (5, 6)


def test_the_python_programs_run(
    transcript: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(transcript, tmp_path / "digits.json")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in PYTHON:
        exec(compile(block, "README.md", "exec"), names)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"digits.json", "copy.json", "copy.cwk", "trace.json"}


def _program(folder: Path) -> None:
    """A program with an input named witness, and the words of that."""
    b = zk.ProgramBuilder(curve="bn254")
    witness = b.input("witness", zk.tensor("u64", 4))
    out = b.allocate(zk.tensor("u64", 4))
    b.call("add", out=[out], args=[witness, witness.rotate(1)])
    b.ret(out)
    (folder / "program.json").write_text(b.build().to_json())
    np.save(folder / "w.npy", np.arange(4, dtype=np.uint64))


def _proof(folder: Path) -> None:
    """What circom and snarkjs made of a small circuit."""
    names = {
        "mixed.zkey": "circuit.zkey",
        "mixed1.wtns": "witness.wtns",
        "mixed.vkey.json": "vkey.json",
        "mixed1.public.json": "public.json",
        "mixed1.proof.json": "proof.json",
    }
    for name, used in names.items():
        shutil.copy(VECTORS / name, folder / used)


@pytest.mark.parametrize("line", COMMANDS)
def test_the_commands_end_well(
    line: str, transcript: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(transcript, tmp_path / "digits.json")
    monkeypatch.chdir(tmp_path)
    _program(tmp_path)
    _proof(tmp_path)
    monkeypatch.setattr("sys.argv", shlex.split(line, comments=True))
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main())
    assert ended.value.code in (None, 0)
