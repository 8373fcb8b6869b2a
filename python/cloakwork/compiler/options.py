"""Options of `fhe.compile`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cloakwork.compiler.parameters import Limits
from cloakwork.compiler.reach import Range
from cloakwork.errors import ParamError
from cloakwork.fhe.operands import is_number

__all__ = ["MODES", "REVEALED", "Mode", "Options"]

Mode = Literal["latency", "throughput", "memory"]
MODES: tuple[Mode, ...] = ("latency", "throughput", "memory")
REVEALED = "scores", "results"


@dataclass(frozen=True)
class Options:
    """The checked options of `compile`."""

    mode: Mode
    limits: Limits
    margin: float
    precision: float | None
    bounds: Mapping[str, Range]
    bootstrap: Literal["auto"] | bool = "auto"
    guard: bool = True

    @classmethod
    def checked(cls, scheme: str, mode: str, limits: Limits, **rest: Any) -> Options:
        """ParamError for options of no meaning."""
        if scheme != "ckks":
            raise ParamError("scheme", repr(scheme), '"ckks"')
        if mode not in MODES:
            raise ParamError("optimize", repr(mode), " or ".join(f'"{one}"' for one in MODES))
        margin, precision = rest["margin"], rest["precision"]
        if not (is_number(margin) and 0 <= margin <= 10):
            raise ParamError("margin", margin, "a number from 0 to 10")
        if precision is not None and not (is_number(precision) and precision > 0):
            raise ParamError("precision", precision, "the largest error of an output, above 0")
        bootstrap = rest["bootstrap"]
        if bootstrap != "auto" and not isinstance(bootstrap, bool):
            raise ParamError("bootstrap", repr(bootstrap), '"auto", True or False')
        if bootstrap is True and mode == "throughput":
            raise ParamError("bootstrap", True, '"latency" or "memory" to optimize with it')
        guard = rest["guard"]
        if not isinstance(guard, bool):
            raise ParamError("guard", repr(guard), "True or False")
        return cls(mode, limits, float(margin), precision, rest["bounds"], bootstrap, guard)
