"""What commands do with programs of the instruction set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from cloakwork import _core, files
from cloakwork.cli import show
from cloakwork.cli.words import count, say, say_memory, shown
from cloakwork.errors import ParamError
from cloakwork.report import Finding

if TYPE_CHECKING:
    from cloakwork.zk.instructions import Program

# What is read of a file to know what it is.
_START_BYTES = 4096


def is_program(file: Path) -> bool:
    """Whether a file holds such a program, by its contents."""
    if not file.is_file():
        return False
    return _core.Instructions.recognizes(files.start(file, _START_BYTES))


def load(file: Path) -> Program:
    """The program that a file holds."""
    from cloakwork.zk.instructions import Program

    return Program.load(file)


def check(file: Path) -> list[Finding]:
    """Everything that is wrong or odd with a program."""
    return load(file).check()


def run(
    file: Path,
    given: list[str],
    workers: int | None,
    budget: str | None,
    spill_dir: Path | None,
    trace: Path | None,
    as_json: bool,
) -> None:
    """Run a program on inputs `NAME=FILE.npy`; print its outputs and what the run did."""
    inputs: dict[str, Path] = {}
    for text in given:
        name, separator, path = text.partition("=")
        if not separator:
            raise ParamError("--input", text, "NAME=FILE.npy")
        inputs[name] = Path(path)
    files.claim([trace], list(inputs.values()))
    program = load(file)
    program.validate()
    say_memory(program, workers, budget)
    outcome = program.run(inputs, workers=workers, budget=budget, trace=trace, spill_dir=spill_dir)
    if as_json:
        outputs = {
            name: {"shape": list(tensor.shape), "dtype": str(tensor.dtype)}
            for name, tensor in outcome.outputs.items()
        }
        print(json.dumps({"outputs": outputs, "report": outcome.report.to_json()}, indent=2))
        return
    out = show.console()
    show.report(outcome.report, out)
    for label, tensor in outcome.printed:
        say(f"{shown(label)}: {tensor}")
    for name, tensor in outcome.outputs.items():
        out.print(f"{shown(name)} = {tensor}", markup=False, soft_wrap=True)
    out.print(count(len(outcome.outputs), "output"))
