"""Progress of `fhe.compile`: one record before each stage of the work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

__all__ = ["Progress", "Reporter", "Stage", "amount", "silent"]

Stage = Literal["import", "approximate", "guard", "plan", "pilot", "trial", "record", "report"]
_WORDS: dict[Stage, str] = {
    "import": "reading the model",
    "approximate": "searching approximations",
    "guard": "finding ranges and guards",
    "plan": "planning layouts and parameters",
    "pilot": "trial at a small degree",
    "trial": "trial",
    "record": "recording without a trial",
    "report": "writing the report",
}


@dataclass(frozen=True)
class Progress:
    """A stage of a compilation that begins now.

    stage       "import", "approximate", "guard", "plan"; "pilot": encrypted runs at a small degree;
                "trial": encrypted runs at the candidate's own degree; "record": of its program
                without keys; "report"
    candidate   the number of parameters and layouts that are being examined, from 1; else 0
    left        candidates that may still be examined after this one
    degree      of the ring of this stage; 0 without one
    seconds     the estimate for this stage on one core; 0: short, or unknown
    bytes       the predicted peak of memory beyond that at the start; 0 without a prediction
    """

    stage: Stage
    candidate: int = 0
    left: int = 0
    degree: int = 0
    seconds: float = 0.0
    bytes: int = 0

    def __str__(self) -> str:
        found = _WORDS[self.stage]
        if self.degree:
            found += f" of candidate {self.candidate}, {self.left} left: degree {self.degree}"
        if self.seconds:
            found += f", about {self.seconds:.2g} s"
        return found + (f", {amount(self.bytes)}" if self.bytes else "")


Told = Callable[[Progress], object]


def silent(progress: Progress) -> None:
    """Tell nobody."""


class Reporter:
    """Tells a callable of each stage; its exceptions end the compilation."""

    def __init__(self, told: Told = silent) -> None:
        self._told, self._candidate, self._left = told, 0, 0

    def examine(self, number: int, left: int) -> None:
        """The next stages are of this candidate."""
        self._candidate, self._left = number, left

    def begin(self, stage: Stage, degree: int = 0, *, seconds: float = 0.0, count: int = 0) -> None:
        """A stage begins; `count` bytes are predicted."""
        place = (self._candidate, self._left) if degree else (0, 0)
        self._told(Progress(stage, *place, degree, seconds, count))


def amount(count: int) -> str:
    """Bytes as whole MiB, rounded up, in the spelling that `memory_budget` takes.

    >>> amount(2**20 + 1)
    '2MiB'
    """
    return f"{-(-count // 2**20)}MiB"
