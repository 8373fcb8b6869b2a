"""Reports on programs and runs: findings, mismatches, totals, steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from cloakwork import _core
from cloakwork.errors import ParamError
from cloakwork.lazy import public
from cloakwork.programs.coverage import Coverage
from cloakwork.sending import Constant
from cloakwork.wording import listed

# How many steps of a report are fetched at a time.
_STEPS_AT_ONCE = 4096


@public("cloakwork")
@dataclass(frozen=True)
class Finding:
    """One thing that is wrong (severity "error") or odd ("warning") with a program.

    step       the step's number, counted from 0
    segment    the segment that contains it
    op         the op as the program spells it
    names      the tensors concerned
    operand    the parameter concerned, or empty
    message    all of it as one sentence
    rule       the broken rule of the instruction set, "V01" to "V21", in a program of threads
    label      the instruction's name in a program of threads
    written    the file and the line of that instruction, if the program states it
    """

    severity: Literal["error", "warning"]
    code: str
    step: int
    segment: str | None
    op: str
    names: list[str]
    operand: str
    expected: str
    got: str
    hint: str
    message: str
    rule: str | None = None
    label: str | None = None
    written: str | None = None

    def __str__(self) -> str:
        code = f"{self.rule} {self.code}" if self.rule not in {None, self.code} else self.code
        return f"{self.severity}[{code}] {self.message}"


@public("cloakwork")
@dataclass(frozen=True)
class Mismatch:
    """A download whose elements differ from the expected ones.

    index        of the first element that differs; `got` and `expected` are its values
    written_by   the step that wrote the tensor last, and its op
    different    how many of `total` elements differ
    """

    step: int
    segment: str | None
    name: str
    written_by: tuple[int, str] | None
    index: list[int]
    got: str
    expected: str
    different: int
    total: int
    message: str

    def __str__(self) -> str:
        return self.message


@public("cloakwork")
@dataclass(frozen=True)
class WrongOp:
    """The first op whose kernel's result differs from its reference."""

    step: int
    op: str
    kernel: str
    name: str
    index: list[int]
    got: str
    expected: str
    different: int
    total: int
    message: str

    def __str__(self) -> str:
        return self.message


@public("cloakwork")
@dataclass(frozen=True)
class Totals:
    """Sums over the kernel calls of one op or one segment; `name` says which.

    calls        kernel calls, including fills and copies for the op
    seconds      0 where the run was not profiled
    operations   elementary ones: multiplications, butterflies, words moved
    bytes        read and written
    """

    name: str
    calls: int
    seconds: float
    operations: int
    bytes: int
    kernels: list[str]


@public("cloakwork")
@dataclass(frozen=True)
class StepRecord:
    """One planned step: a kernel call, and the program's step to which it belongs.

    worker   the thread that began it; 0 is the calling thread
    """

    step: int
    op: str
    kernel: str
    segment: str | None
    start_seconds: float
    seconds: float
    worker: int
    operations: int
    bytes: int


@public("cloakwork")
@dataclass(frozen=True)
class MovedStep:
    """A step of the program that runs on the host and was wanted on a device; `why` says it."""

    step: int
    op: str
    device: str
    why: str


@public("cloakwork")
@dataclass(frozen=True)
class Report(Constant):
    """The record of a run.

    elsewhere   steps that ran on the host instead of a device
    memory   planned bytes by purpose; `peak_bytes` is the sum of a run's buffers in memory, without
             `constant_bytes` (the program's constants) and without spilled bytes
    ops      totals per op, the longest first
    """

    _stays = "it holds the engine's run: send its `to_json()`"

    wall_seconds: float
    threads: int
    isa: str
    program_steps: int
    planned_steps: int
    memory: dict[str, int]
    elsewhere: list[MovedStep]
    ops: list[Totals]
    segments: list[Totals]
    _run: _core.Run = field(repr=False, compare=False)

    @classmethod
    def of(cls, run: _core.Run) -> Self:
        """The report of a run."""
        facts = json.loads(run.report())
        return cls(
            wall_seconds=facts["wall_seconds"],
            threads=facts["threads"],
            isa=facts["isa"],
            program_steps=facts["program_steps"],
            planned_steps=facts["steps"],
            memory=facts["memory"],
            elsewhere=[MovedStep(**row) for row in facts["elsewhere"]],
            ops=[_totals(row, "op") for row in facts["ops"]],
            segments=[_totals(row, "segment") for row in facts["segments"]],
            _run=run,
        )

    @property
    def peak_bytes(self) -> int:
        """The planned peak of the run in bytes."""
        return self.memory["peak_bytes"]

    @property
    def coverage(self) -> Coverage:
        """How each step ran: on the device, by an expansion, or on the host, and why."""
        return Coverage.of(self._run.coverage())

    def steps(self) -> Iterator[StepRecord]:
        """Every planned step, fetched on demand."""
        for start in range(0, self.planned_steps, _STEPS_AT_ONCE):
            rows = json.loads(self._run.steps(start, start + _STEPS_AT_ONCE))
            yield from (StepRecord(**row) for row in rows)

    def to_json(self) -> dict[str, Any]:
        """Everything except the steps, as JSON's types."""
        return {
            "wall_seconds": self.wall_seconds,
            "threads": self.threads,
            "isa": self.isa,
            "program_steps": self.program_steps,
            "planned_steps": self.planned_steps,
            "memory": self.memory,
            "elsewhere": [asdict(moved) for moved in self.elsewhere],
            "coverage": self.coverage.to_json(),
            "ops": [asdict(totals) for totals in self.ops],
            "segments": [asdict(totals) for totals in self.segments],
        }


@public("cloakwork")
@dataclass(frozen=True)
class OpUse:
    """How an op of a program will run.

    runs_as   kernel, expansion (into smaller ops), view, copy, allocation or transfer
    """

    op: str
    runs_as: str
    calls: int
    kernels: list[str]


@public("cloakwork")
@dataclass(frozen=True)
class PassResult:
    """The change of a program by a pass.

    removed   by op, the number of removed calls; negative for added ones
    text      the program after it
    """

    name: str
    does: str
    removed: dict[str, int]
    text: str

    def __str__(self) -> str:
        counts = [f"-{n} {op}" if n > 0 else f"+{-n} {op}" for op, n in self.removed.items()]
        return f"{self.name}: {', '.join(counts) or 'no change'}"


@public("cloakwork")
@dataclass(frozen=True)
class Inspection:
    """The parts of a program, and the needs of a run.

    coverage     calls by how they run
    segments     names in order, with their numbers of calls
    dtypes       dtype, tensors, bytes
    host_bytes   bytes of the tensors that the program holds
    facts        everything as JSON's types
    """

    steps: int
    ops: list[OpUse]
    coverage: dict[str, int]
    segments: list[tuple[str, int]]
    dtypes: list[tuple[str, int, int]]
    memory: dict[str, int]
    host_bytes: int
    facts: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Self:
        """Read the engine's JSON."""
        facts = json.loads(text)
        return cls(
            steps=facts["steps"],
            ops=[OpUse(**row) for row in facts["ops"]],
            coverage=facts["coverage"],
            segments=[(row["segment"], row["calls"]) for row in facts["segments"]],
            dtypes=[(row["dtype"], row["tensors"], row["bytes"]) for row in facts["dtypes"]],
            memory=facts["memory"],
            host_bytes=facts["host_bytes"],
            facts=facts,
        )

    @property
    def peak_bytes(self) -> int:
        """The peak of a run in bytes."""
        return self.memory["peak_bytes"]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON's types."""
        return self.facts


@public("cloakwork")
class RunResult(Constant):
    """The result of a run.

    outputs      all downloads, in the program's order; `result["name"]` is the one of that name
    names        the names of the outputs
    mismatches   outputs that differ from the expected ones, if they were compared
    wrong_op     the first op that differs from its reference, if it was searched for
    compared     what that search compared results with, in words: where a reference would take too
                 long, the portable kernels take its place
    report       what the run did

    Each is made when it is first asked for.
    """

    _stays = "it holds the engine's run: send `named`, or the report's `to_json()`"

    __slots__ = ("_core", "_outputs", "_report", "_run")

    def __init__(
        self, core: _core.Program, run: _core.Run, outputs: list[Any] | None = None
    ) -> None:
        self._core, self._run = core, run
        self._outputs = outputs
        self._report: Report | None = None

    @property
    def outputs(self) -> list[Any]:
        """All downloads, in the program's order."""
        if self._outputs is None:
            self._outputs = self._run.outputs()
        return self._outputs

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(self._core.output_names())

    @property
    def named(self) -> dict[str, Any]:
        """The outputs by name."""
        return dict(zip(self.names, self.outputs, strict=True))

    @property
    def mismatches(self) -> list[Mismatch]:
        """Outputs that differ from the expected ones, if they were compared."""
        return self._run.mismatches()

    @property
    def wrong_op(self) -> WrongOp | None:
        """The first op that differs from its reference, if it was searched for."""
        return self._run.wrong_op()

    @property
    def compared(self) -> str | None:
        """The reference of that search, in words."""
        return self._run.compared()

    @property
    def report(self) -> Report:
        """The record of the run."""
        if self._report is None:
            self._report = Report.of(self._run)
        return self._report

    def with_outputs(self, outputs: list[Any]) -> RunResult:
        """The same run with its outputs in another form."""
        return RunResult(self._core, self._run, outputs)

    def __getitem__(self, name: str) -> Any:
        names = self.names
        if name not in names:
            raise ParamError("output", name, listed(names) or "none: there are no outputs")
        return self.outputs[names.index(name)]

    def __repr__(self) -> str:
        return f"RunResult({len(self.outputs)} outputs, {len(self.mismatches)} mismatches)"


def _totals(row: dict[str, Any], key: str) -> Totals:
    return Totals(name=row.pop(key), **row)
