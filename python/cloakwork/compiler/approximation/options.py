"""Options of approximations."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from cloakwork.errors import ParamError
from cloakwork.fhe.operands import is_number

__all__ = ["ApproximationOptions"]


@dataclass(frozen=True)
class ApproximationOptions:
    """How exact a model becomes, and how wide its domains are.

    margin       the ranges of the sample are widened on each side by this share of their width:
                 0 to 10
    precision    the largest deviation of an output on the sample, in its own unit.  By default 1 %
                 of the largest output, and labels of the sample stay
    exceptions   the share of the sample's inputs for which outputs may deviate more, or labels
                 change: 0 to 0.5.  With 0 a single tie of the sample makes functions very exact.
                 Without a precision, or with doubts, outputs of models with jumps (trees) may
                 deviate more for a twentieth of the inputs, and labels count
    level_cost   what a level costs, in key switches: 0 to 100
    """

    margin: float = 0.25
    precision: float | None = None
    exceptions: float = 0.005
    level_cost: float = 4.0

    def __post_init__(self) -> None:
        if not (is_number(self.margin) and 0 <= self.margin <= 10):
            raise ParamError("margin", self.margin, "a number from 0 to 10")
        given = self.precision
        if given is not None and not (is_number(given) and 0 < given < inf):
            raise ParamError("precision", given, "a finite number above 0, or None")
        if not (is_number(self.exceptions) and 0 <= self.exceptions <= 0.5):
            raise ParamError("exceptions", self.exceptions, "a number from 0 to 0.5")
        if not (is_number(self.level_cost) and 0 <= self.level_cost <= 100):
            raise ParamError("level_cost", self.level_cost, "a number from 0 to 100")
