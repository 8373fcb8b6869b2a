"""The README's commands and programs run as printed."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from cloakwork import models
from cloakwork.cli import main
from cloakwork.demo import digits, merkle
from rich.console import Console

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^(cloakwork .*)$", README, re.MULTILINE)


@pytest.fixture(scope="module")
def after_the_demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout's folder after the demos; without node, copies of the same files."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "examples", folder / "examples")
    with (folder / "console.txt").open("w") as file:
        digits.run(folder / "out", console=Console(file=file))
        merkle.run(folder / "out", node=False, console=Console(file=file))
    shutil.copy(models.network_path("fashion_cnn"), folder / "model.onnx")
    images = models.load_fashion().images[:, None]
    np.save(folder / "sample.npy", images[:100])
    np.save(folder / "x.npy", images[200])
    return folder


def test_the_readme_has_what_is_tested_here() -> None:
    assert (len(PYTHON), len(COMMANDS)) == (6, 11)


def test_the_commands_end_well_in_their_order(
    after_the_demos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(after_the_demos)
    for line in COMMANDS:
        monkeypatch.setattr("sys.argv", shlex.split(line, comments=True))
        with pytest.raises(SystemExit) as ended:
            raise SystemExit(main())
        assert ended.value.code in (None, 0), (line, capsys.readouterr().err)
    windows = after_the_demos / "out" / "windows"
    assert {path.name for path in windows.iterdir()} == {"middle.npy", "result.npy"}


def test_the_python_programs_run(after_the_demos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(after_the_demos)
    before = set(after_the_demos.iterdir())
    names: dict[str, object] = {}
    for block in PYTHON:
        exec(compile(block, "README.md", "exec"), names)
    written = {path.name for path in set(after_the_demos.iterdir()) - before}
    assert written == {"copy.json", "copy.cwk", "profile.json", "product.cwk"}
