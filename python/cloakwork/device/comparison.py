"""Comparison of a program between two devices, step by step."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from cloakwork import _core
from cloakwork.errors import ParamError, SecretError
from cloakwork.lazy import public

if TYPE_CHECKING:
    from cloakwork.programs.runnable import Runnable

_MOST_RUNS = 10_000


@public("cloakwork.device")
@dataclass(frozen=True)
class Difference:
    """The first step whose result differs, and the fewest steps that show it."""

    step: int
    op: str
    part: str | None
    """The op of its expansion that differs, if it was expanded."""
    kernels: tuple[str, ...]
    """The device's kernels; none where the host computes it."""
    segment: str | None
    name: str
    """The tensor."""
    place: str
    """"result", "beside the result" (the step's tensor outside of the view that it is given), or
    "another tensor", which the step does not write."""
    last_written: int | None
    """The last step that writes that other tensor."""
    index: tuple[int, ...] | None
    """Of the first element that differs; None where the run failed."""
    got: str | None
    """None where the run failed, and for secrets."""
    expected: str | None
    different: int
    """How many elements differ."""
    total: int
    failed: str | None
    """The error of the device, if its run failed."""
    alone: bool
    """Whether the step alone shows it, from the reference's operands."""
    first_step: int
    last_step: int
    """The steps that show it together, if the step alone is right."""
    wrong_runs: int
    runs: int

    @property
    def intermittent(self) -> bool:
        """Whether some runs were right."""
        return self.wrong_runs < self.runs

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Read the engine's JSON."""
        known = {own.name: facts[own.name] for own in fields(cls)}
        index = known["index"]
        known["index"] = None if index is None else tuple(index)
        known["kernels"] = tuple(known["kernels"])
        return cls(**known)

    def __str__(self) -> str:
        return f"{self._where()}: {self._what()}; {self._how()}"

    def _where(self) -> str:
        part = f", in its expansion {self.part}" if self.part else ""
        by = f", kernel {', '.join(self.kernels)}" if self.kernels else ", on the host"
        segment = f' in segment "{self.segment}"' if self.segment else ""
        return f"step {self.step}: {self.op}{segment} (%{self.name}{part}{by})"

    def _what(self) -> str:
        if self.failed is not None:
            return f"the device fails: {self.failed}"
        if not self.total:
            return "a result differed in one run, and in none that were to show it again"
        values = "" if self.got is None else f": expected {self.expected}, got {self.got}"
        first = list(self.index or ())
        text = f"{self.different} of {self.total} elements differ, first at {first}{values}"
        if self.place == "beside the result":
            return f"writes beside its result: {text}"
        if self.place == "another tensor":
            return f"changes a tensor last written in step {self.last_written}: {text}"
        return text

    def _how(self) -> str:
        runs = f"in {self.wrong_runs} of {self.runs} runs"
        seen = f"intermittent, {runs}" if self.intermittent else f"always, {runs}"
        if self.alone:
            return f"the step alone shows it: {seen}"
        span = f"steps {self.first_step} to {self.last_step}"
        return f"the step alone is right, {span} together show it: {seen}"


@public("cloakwork.device")
@dataclass(frozen=True)
class Comparison:
    """The outcome of `diff`; false if there is a difference.

    compared   results of steps that were compared
    rounded    of these, floats that differ within the error that their op's declaration allows
    unjudged   floats that differ and are too large for the reference of their op
    """

    device: str
    reference: str
    difference: Difference | None
    compared: int
    rounded: int
    unjudged: int
    _shown: _core.Program | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.difference is None

    def dump(self, path: str | PathLike[str]) -> None:
        """Write the steps that show the difference, with their operands and expected results.

        path   .json in HEAL's form, .cwk or .cw; `cloakwork run FILE --verify --device ...` runs it

        ParamError if there is no difference, SecretError where an input was secret.
        """
        from cloakwork.programs.transcript import Transcript

        if self.difference is None:
            raise ParamError("dump", path, "a comparison with a difference")
        if self._shown is None:
            raise SecretError("a dump must not hold a secret tensor: repeat with public inputs")
        Transcript(self._shown).save(path)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON's types."""
        difference = None
        if self.difference is not None:
            own = self.difference
            difference = {item.name: getattr(own, item.name) for item in fields(own)}
            difference |= {"intermittent": own.intermittent, "message": str(own)}
        return {
            "device": self.device,
            "reference": self.reference,
            "difference": difference,
            "compared": self.compared,
            "rounded": self.rounded,
            "unjudged": self.unjudged,
        }

    def __str__(self) -> str:
        if self.difference is not None:
            return str(self.difference)
        rounded = f", {self.rounded} within rounding" if self.rounded else ""
        unjudged = f", {self.unjudged} floats too large to judge" if self.unjudged else ""
        return f"{self.compared} results of steps are equal{rounded}{unjudged}"


def diff(
    program: Runnable,
    inputs: Mapping[str, Any] | None = None,
    *,
    device: str,
    reference: str = "cpu",
    repeat: int = 5,
    threads: int | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Comparison:
    """Compare a program between two devices, and find the first step whose result differs.

    program   of any kind: a transcript, a recorded program, or one of the instruction set
    inputs    by name, as for a run
    repeat    runs of each part of the program, and of each step that is suspected: differences
              that are not always there are found and said to be intermittent

    Each step is compared from the reference's operands; a step that is wrong is run alone.  Floats
    are equal if they are as near as the op's declaration allows.  Of secret inputs no element is
    in the result.  Raises what a run on the reference raises, and what planning for the device
    raises.

    >>> import cloakwork as cw
    >>> program = cw.trace(lambda a: a * a + a, cw.asarray([1, 2, 3]))
    >>> comparison = cw.device.diff(program, {"a": [4, 5, 6]}, device="sim:0")
    >>> bool(comparison), str(comparison)
    (True, '2 results of steps are equal')
    """
    if not 1 <= repeat <= _MOST_RUNS:
        raise ParamError("repeat", repeat, f"1 to {_MOST_RUNS} runs")
    operands = program.operands(inputs or {}, functions or {})
    text, shown = _core.diff(
        operands.core, operands.tensors, device=device, reference=reference, repeat=repeat,
        threads=threads, functions=operands.functions, secret=operands.secret,
    )  # fmt: skip
    facts = json.loads(text)
    found = facts["difference"]
    return Comparison(
        device=device,
        reference=reference,
        difference=None if found is None else Difference.of(found),
        compared=facts["compared"],
        rounded=facts["rounded"],
        unjudged=facts["unjudged"],
        _shown=shown,
    )
