"""Programs of the instruction set: loaded, checked, shown, run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO, overload

from cloakwork import _core, files
from cloakwork.errors import LoadError, ParamError
from cloakwork.lazy import public
from cloakwork.programs.runnable import UserFunction
from cloakwork.programs.transcript import read
from cloakwork.wording import quoted
from cloakwork.zk.instructions import constant_files
from cloakwork.zk.instructions.running import Outcome, RunnableByName
from cloakwork.zk.instructions.values import Input, as_tensor

_LOG = logging.getLogger("cloakwork.zk")
_NAME = "program.json"
_FORMS = (".json", ".txt")


@public("cloakwork.zk")
class Program(RunnableByName):
    """An immutable program of the instruction set; `docs/zk.md` says what instructions mean."""

    _sent_as = "Instructions"

    def __init__(self, instructions: _core.Instructions) -> None:
        core, printed = instructions.lower()
        super().__init__(core)
        self._instructions = instructions
        self._beside: dict[str, constant_files.Beside] = {}
        self._printed = dict(printed)
        self._functions: dict[str, Callable[..., Any]] = {}

    @classmethod
    def parse(cls, text: str | bytes, files: Mapping[str, bytes] | None = None) -> Program:
        """Read the JSON or the text form; `files` holds those that its constants name.

        Raises LoadError where it is neither; `check` finds errors inside the program.
        """
        contents = text.encode() if isinstance(text, str) else text
        return cls(_core.Instructions.parse(contents, "program", None, dict(files or {})))

    @classmethod
    def load(cls, path: files.Readable) -> Program:
        """Read a program that `save` wrote: JSON, text, a container, or a folder.

        path   also the contents of such a file, or a file that is open in binary

        Constants of the first two are in separate files.
        """
        source = files.source_of(path)
        if source.contents is not None:
            return cls.of(source)
        path = Path(source.name)
        file = path / _NAME if path.is_dir() else path
        # What `save` writes meanwhile is not read half, nor taken for something else.
        with files.held_beside(file):
            if files.starts_as_instructions(file):
                written = _core.Instructions.parse(files.read(file), file, file.parent)
                program = cls(written)
                program._beside = constant_files.found(written.files(), file.parent)
                beside = [str(one.path) for one in program._beside.values()]
                program.sources = (str(file), *beside)
                return program
        return cls._held(files.Source(str(file)))

    @classmethod
    def of(cls, source: files.Source) -> Program:
        """The program of contents: a container, or a form whose constants are in no other file."""
        if _core.Instructions.recognizes(source.start(files.START_BYTES)):
            return cls(_core.Instructions.parse(source.read(), source.name, None, {}))
        return cls._held(source)

    @classmethod
    def _held(cls, source: files.Source) -> Program:
        core = read(source, generation=None, checksums=False)
        found = cls.in_container(core, source)
        if found is None:
            raise LoadError(f"{source.name}: holds no program of the instruction set")
        return found

    @classmethod
    def in_container(cls, container: _core.Program, source: files.Source) -> Program | None:
        """The program that a container holds, if it holds such a program."""
        found = _core.Instructions.unpacked(container, source.name)
        if found is None:
            return None
        program = cls(found)
        program.sources = source.sources
        return program

    def _packed(self) -> _core.Tensor:
        """The bytes of a container, with all constants; user functions are given to each run."""
        self._check_beside()
        return self._instructions.packed().container()

    def _check_beside(self) -> None:
        """ParamError where a file of constants is another than when the program was loaded."""
        for name, file in self._beside.items():
            file.check(name)

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs."""
        return self._instructions.inputs()

    @property
    def outputs(self) -> list[str]:
        """Names of the results."""
        return [name for name in self._core.output_names() if name not in self._printed]

    @property
    def budget(self) -> dict[str, int]:
        """Bytes that each device may hold, as the program says."""
        return self._instructions.budget()

    def to_json(self) -> str:
        """The JSON form, always the same of the same program."""
        return self._instructions.json()

    def to_text(self) -> str:
        """The text form, one instruction a line."""
        return self._instructions.text()

    def to_dot(self) -> str:
        """Threads, streams and their waits, for Graphviz."""
        return self._instructions.dot()

    @overload
    def save(self, path: str | PathLike[str]) -> Path: ...

    @overload
    def save(self, path: BinaryIO) -> None: ...

    def save(self, path: str | PathLike[str] | BinaryIO) -> Path | None:
        """Write the program: one file that contains its constants, or two in one folder.

        path   `.cwk` for one file; `.json` or `.txt` for these forms, with constants from files in
               `<name>.constants`; or a folder, for `program.json` in it; or a file that is open
               in binary, which gets a container

        User functions are there by name and signature, and are given to each run.  The path of the
        program's file is returned, None for an open one.

        SaveError where `<name>.constants` is another kind of file, or where a file would be
        replaced that this program was loaded from, unless it is saved in its own place.  Whoever
        loads or saves in a folder meanwhile waits; a process that ends on the way leaves the old
        program, none, or the new one.
        """
        if files.is_open(path):
            files.put(path, self._packed())
            return None
        path = Path(files.name_of(path))
        file = path / _NAME if path.is_dir() or not path.suffix else path
        own = any(file.exists() and file.samefile(source) for source in self.sources[:1])
        read_from = () if own else self.sources
        self._check_beside()
        if file.suffix == ".cwk":
            files.claim([file], read_from)
            self._instructions.packed().save_container(file)
            return file
        if file.suffix not in _FORMS:
            raise ParamError("path", path, ".cwk, .json or .txt, or a folder")
        place = constant_files.place_of(file)
        written, pieces = self._instructions.gathered(place.name, constant_files.START)
        text = written.json() if file.suffix == ".json" else written.text()
        constants: dict[str, Any] = {str(place): pieces} if pieces else {}
        file.parent.mkdir(parents=True, exist_ok=True)
        files.claim([*constants, file], read_from)
        if constants:
            constant_files.check_place(place)
        files.write_all(constants | {str(file): text})
        return file

    def _devices(self) -> set[str]:
        return super()._devices() | set(self._instructions.devices())

    def _called(self, functions: Mapping[str, Callable[..., Any]]) -> list[UserFunction]:
        declared = self._instructions.user_functions()
        names = ", ".join(name for name, _ in declared) or "none: it calls no user function"
        held = self._functions | dict(functions)
        if unknown := functions.keys() - {name for name, _ in declared}:
            raise ParamError("functions", min(unknown), names)
        if missing := [name for name, _ in declared if name not in held]:
            raise ParamError("functions", f"no {missing[0]}", f"from Python each of {names}")
        return [(name, partial(_results, held[name], name, outs)) for name, outs in declared]

    def _shown(self, outputs: dict[str | None, _core.Tensor]) -> list[tuple[str, _core.Tensor]]:
        """Takes the outputs that are not the user's: they are logged, too."""
        labels = self._printed.items()
        printed = [(label, outputs.pop(name)) for name, label in labels if name in outputs]
        for label, tensor in printed:
            _LOG.info("%s: %s", label, tensor)
        return printed

    def __repr__(self) -> str:
        return f"Program(inputs={quoted(self.inputs)}, steps={self._core.step_count()})"


def _results(
    function: Callable[..., Any], name: str, outs: list[tuple[str, list[int]]], *args: _core.Tensor
) -> list[_core.Tensor]:
    """The results of a user function, as tensors of the types that its signature has."""
    given = function(*args)
    values = [given] if len(outs) == 1 else list(given)
    if len(values) != len(outs):
        raise ParamError(f"results of {name}", len(values), f"{len(outs)}, as its signature says")
    results = zip(values, outs, strict=True)
    return [
        as_tensor(f"result {index} of {name}", value, dtype, tuple(shape))
        for index, (value, (dtype, shape)) in enumerate(results)
    ]


def run(
    program: RunnableByName | str | PathLike[str],
    inputs: Mapping[str, Input] | None = None,
    **options: Any,
) -> Outcome:
    """Run a program, however written, or one in a file; options as for `Program.run`."""
    held = program if isinstance(program, RunnableByName) else Program.load(fspath(program))
    return held.run(inputs, **options)
