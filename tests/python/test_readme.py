"""The README's commands and programs run as printed."""

import ast
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe, models
from cloakwork.cli import main
from cloakwork.demo import digits, merkle
from rich.console import Console

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^(cloakwork .*)$", README, re.MULTILINE)


@pytest.mark.parametrize("place", range(len(PYTHON)))
def test_a_program_imports_all_that_it_uses(place: int) -> None:
    names = [node for node in ast.walk(ast.parse(PYTHON[place])) if isinstance(node, ast.Name)]
    found = {}
    exec("\n".join(re.findall(r"^(?:import|from) .*", PYTHON[place], re.MULTILINE)), found)
    modules = {"cw", "fhe", "models", "np", "zk"}
    assert {node.id for node in names} & modules == found.keys() & modules


@pytest.fixture(scope="module", params=["small", pytest.param("full", marks=pytest.mark.large)])
def size(request: pytest.FixtureRequest) -> str:
    """Small: programs compile models for toy rings, and the commands get a small model."""
    found: str = request.param
    return found


@contextmanager
def rings(size: str) -> Iterator[None]:
    """Toy rings for the models that are compiled, where the size is small."""
    secure = fhe.compile

    def toy(model: Any, sample: Any, **options: Any) -> Any:
        return secure(model, sample, **(options | {"degree": 2**11, "insecure": True}))

    with pytest.MonkeyPatch.context() as patch:
        if size == "small":
            patch.setattr(fhe, "compile", toy)
        yield


@pytest.fixture(scope="module")
def after_the_demos(size: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout's folder after the demos; without node, copies of the same files."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "examples", folder / "examples")
    with (folder / "console.txt").open("w") as file, rings(size):
        digits.run(folder / "out", console=Console(file=file))
        merkle.run(folder / "out", node=False, console=Console(file=file))
    fashion, cancer = models.load_fashion().images[:, None], models.load_cancer().standardised
    name, inputs = ("cancer", cancer) if size == "small" else ("fashion_cnn", fashion)
    shutil.copy(models.network_path(name), folder / "model.onnx")
    np.save(folder / "sample.npy", inputs[:100])
    np.save(folder / "x.npy", inputs[200])
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


def test_the_python_programs_run(
    size: str, after_the_demos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(after_the_demos)
    before = set(after_the_demos.iterdir())
    names: dict[str, object] = {}
    with rings(size):
        for block in PYTHON:
            exec(compile(block, "README.md", "exec"), names)
    written = {path.name for path in set(after_the_demos.iterdir()) - before}
    assert written == {"copy.json", "copy.cwk", "profile.json", "product.cwk"}
