"""Programs in exactly the ops that a device implements."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cloakwork import _core
from cloakwork.errors import FallbackError, ParamError
from cloakwork.programs import kinds
from cloakwork.programs.program import Program
from cloakwork.programs.transcript import Transcript

if TYPE_CHECKING:
    from cloakwork.programs.runnable import Runnable


class Specialized(NamedTuple):
    """A program for a device, and the steps that the device still lacks: number, op, reason."""

    program: Transcript | Program
    left: list[tuple[int, str, str]]


def specialize(program: Runnable, device: str, *, allow_fallback: bool = False) -> Specialized:
    """The same program in the ops of a device.

    Ops that the device lacks are expanded, and expansions of ops that it has become these ops,
    those of its vendor included.  Results are equal to the bit.

    allow_fallback   keep steps for which that is not possible, instead of FallbackError with all
                     of them
    """
    if not isinstance(program, Transcript | Program):
        expected = "a transcript or a recorded program"
        raise ParamError("program", kinds.kind_of(program), expected)
    core, left = _core.specialize(program._core, device)
    if left and not allow_fallback:
        told = "; ".join(f"step {step}, {op}, would run {why}" for step, op, why in left)
        raise FallbackError(f"{device} cannot run all of the program: {told}", left)
    return Specialized(program.with_core(core), left)
