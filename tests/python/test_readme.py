"""The README's commands and programs run as they stand there."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from cloakwork.cli import main
from cloakwork.demo import digits
from rich.console import Console

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^(cloakwork .*)$", README, re.MULTILINE)


@pytest.fixture(scope="module")
def transcript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits' transcript, as the demo leaves it."""
    folder = tmp_path_factory.mktemp("demo")
    with (folder / "console.txt").open("w") as file:
        return digits.run(folder, console=Console(file=file)).transcript


def test_the_readme_has_what_is_tested_here() -> None:
    assert (len(PYTHON), len(COMMANDS)) == (4, 3)


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


@pytest.mark.parametrize("line", COMMANDS)
def test_the_commands_end_well(
    line: str, transcript: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(transcript, tmp_path / "digits.json")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", shlex.split(line, comments=True))
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main())
    assert ended.value.code in (None, 0)
