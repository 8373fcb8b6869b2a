"""Programs of the instruction set: loaded, checked, shown, run."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from cloakwork import _core
from cloakwork.arrays import asarray
from cloakwork.errors import AssertionFailedError, ParamError, ProgramError
from cloakwork.report import Finding, Report
from cloakwork.runs import Runnable, RunOptions
from cloakwork.zk.graph import dot
from cloakwork.zk.values import Input, as_tensor

_LOG = logging.getLogger("cloakwork.zk")
_KEY_BYTES = 32
_NAME = "program.json"


@dataclass(frozen=True)
class Outcome:
    """What a run gave.

    outputs   by name: what `Return` and `Store` name, parts of tuples as "t.0"
    printed   what `Print` showed: labels and tensors, in order
    seeded    whether random elements came from a seed that somebody chose: never prove so
    """

    outputs: dict[str, _core.Tensor]
    printed: list[tuple[str, _core.Tensor]]
    report: Report
    seeded: bool

    def __getitem__(self, name: str) -> _core.Tensor:
        return self.outputs[name]


class Program(Runnable):
    """An immutable program of the instruction set; `docs/zk.md` says what instructions mean."""

    def __init__(self, instructions: _core.Instructions, files: Mapping[str, bytes]) -> None:
        core, notices = instructions.lower()
        super().__init__(core)
        self._instructions, self._files = instructions, dict(files)
        self._notices = {notice[0]: notice[1:] for notice in notices}

    @classmethod
    def parse(cls, text: str | bytes, files: Mapping[str, bytes] | None = None) -> Program:
        """Read the JSON or the text form; `files` holds those that its constants name.

        Raises LoadError where it is neither; what is wrong with parts of it, `check` says.
        """
        contents = text.encode() if isinstance(text, str) else text
        held = dict(files or {})
        read = _core.Instructions.parse(contents, "program", None, held)
        return cls(read, held)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Program:
        """Read a program from a file, or from a folder that `save` wrote."""
        path = Path(path)
        file = path / _NAME if path.is_dir() else path
        read = _core.Instructions.parse(file.read_bytes(), file, file.parent)
        program = cls(read, {})
        program._files = program._read_files(file.parent)
        return program

    def _read_files(self, folder: Path) -> dict[str, bytes]:
        names = {entry.get("file") for entry in self._tree.get("constants", {}).values()}
        inside = [name for name in names if name and not Path(name).is_absolute()]
        found = [name for name in inside if ".." not in Path(name).parts]
        return {name: (folder / name).read_bytes() for name in found if (folder / name).is_file()}

    @cached_property
    def _tree(self) -> dict[str, Any]:
        tree: dict[str, Any] = json.loads(self.to_json())
        return tree

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs."""
        return list(self._tree.get("inputs", {}))

    @property
    def budget(self) -> dict[str, int]:
        """Bytes that each device may hold, as the program says."""
        return dict(self._tree.get("budget", {}))

    def validate(self) -> list[Finding]:
        """All checks of `docs/zk.md`; the warnings.  Raises ProgramError with all findings."""
        findings = self.check()
        if any(finding.severity == "error" for finding in findings):
            raise ProgramError(findings)
        return findings

    def peak_memory(self, *, workers: int | None = None) -> int:
        """Bytes that a run holds at its peak, known before it runs."""
        return self.memory(threads=workers)[1]

    def to_json(self) -> str:
        """The JSON form, always the same of the same program."""
        return self._instructions.json()

    def to_text(self) -> str:
        """The text form, one instruction a line."""
        return self._instructions.text()

    def to_dot(self) -> str:
        """Threads, streams and what waits for what, for Graphviz."""
        return dot(self._tree)

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write the program and its constants into a folder; each file whole or not at all."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, contents in self._files.items():
            _write(folder / name, contents)
        _write(folder / _NAME, self.to_json().encode())
        return folder / _NAME

    def run(
        self,
        inputs: Mapping[str, Input] | None = None,
        *,
        workers: int | None = None,
        seed: int | bytes | None = None,
        budget: int | str | Mapping[str, int | str] | None = None,
        trace: str | PathLike[str] | None = None,
        profile: bool = True,
        spill_dir: str | PathLike[str] | None = None,
    ) -> Outcome:
        """Run it.

        inputs    by name: tensors, integers, u64 words, or paths of .npy files of words
        workers   None: CLOAKWORK_THREADS, or one a core; never changes a result
        seed      for tests alone: the same random elements in each run.  A blinding seed that is
                  used twice, or that somebody knows, destroys zero knowledge
        budget    bytes, or text such as "8GiB", or such by device: with more the run is refused
        trace     write a trace that Perfetto and Chrome open to this path
        spill_dir where tensors wait on disk under a budget; see `cloakwork.RunOptions`

        Raises ProgramError, AssertionFailedError, and what a run of any program raises.
        """
        self.validate()
        given = self._bound(inputs or {}, seed)
        options: RunOptions = {"threads": workers, "profile": profile, "trace": trace}
        options |= {"memory_budget": self._budget(budget), "spill_dir": spill_dir}
        run, report = self._started(given, options)
        outputs = dict(zip(run.output_names(), run.outputs(), strict=True))
        printed = self._notice(outputs)
        named = {name: tensor for name, tensor in outputs.items() if name is not None}
        return Outcome(named, printed, report, seed is not None)

    def _started(self, given: list[_core.Tensor], options: RunOptions) -> tuple[_core.Run, Report]:
        result = self._run(given, False, False, options)
        return result.report._run, result.report

    def _budget(self, budget: int | str | Mapping[str, int | str] | None) -> int | str | None:
        if isinstance(budget, Mapping):
            return budget.get("cpu")
        return self.budget.get("cpu") if budget is None else budget

    def _bound(self, inputs: Mapping[str, Input], seed: int | bytes | None) -> list[_core.Tensor]:
        declared = self._core.input_types()
        wanted = [name for name, _, _ in declared if name != _core.KEY_INPUT]
        if unknown := inputs.keys() - set(self.inputs):
            raise ParamError("inputs", min(unknown), ", ".join(self.inputs) or "no inputs")
        if missing := [name for name in wanted if name not in inputs]:
            raise ParamError("inputs", f"no {missing[0]}", f"each of {', '.join(wanted)}")
        tensors = []
        for name, dtype, shape in declared:
            if name == _core.KEY_INPUT:
                tensors.append(_key(seed))
            else:
                tensors.append(as_tensor(name, inputs[name], dtype, tuple(shape)))
        return tensors

    def _notice(self, outputs: dict[str | None, _core.Tensor]) -> list[tuple[str, _core.Tensor]]:
        """Takes the outputs that are not the user's: fails on assertions, shows the others."""
        printed = []
        for name, (assertion, instruction, text) in self._notices.items():
            tensor = outputs.pop(name, None)
            if tensor is None:
                continue
            if not assertion:
                _LOG.info("%s: %s", text, tensor)
                printed.append((text, tensor))
                continue
            same = np.asarray(tensor)
            if not same.all():
                raise AssertionFailedError(instruction, int(np.argmin(same)), text)
        return printed

    def __repr__(self) -> str:
        return f"Program(inputs={self.inputs}, steps={self._core.step_count()})"


def _key(seed: int | bytes | None) -> _core.Tensor:
    """The key of random elements: from the system, or from a seed that somebody chose."""
    if seed is None:
        key = secrets.token_bytes(_KEY_BYTES)
    else:
        text = seed if isinstance(seed, bytes) else str(seed).encode()
        key = hashlib.blake2b(text, digest_size=_KEY_BYTES, person=b"cloakwork seed").digest()
    return asarray(np.frombuffer(key, np.uint8).copy())


def _write(path: Path, contents: bytes) -> None:
    part = path.with_name(path.name + ".part")
    part.write_bytes(contents)
    part.replace(path)


def run(
    program: Program | str | PathLike[str],
    inputs: Mapping[str, Input] | None = None,
    **options: Any,
) -> Outcome:
    """Run a program, or one in a file; options as for `Program.run`."""
    held = program if isinstance(program, Program) else Program.load(fspath(program))
    return held.run(inputs, **options)
