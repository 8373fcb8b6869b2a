"""Programs recorded from Python functions over tensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, Unpack

from numpy.typing import ArrayLike

from cloakwork import _core
from cloakwork.arrays import asarray
from cloakwork.errors import ParamError
from cloakwork.heal import Transcript
from cloakwork.report import RunResult
from cloakwork.runs import Runnable, RunOptions


class Program(Runnable):
    """A program that `trace` recorded; its text form is `str(program)`."""

    def __init__(self, core: _core.Program, examples: Sequence[_core.Tensor] = ()) -> None:
        super().__init__(core)
        self._examples = tuple(examples)

    @property
    def inputs(self) -> list[str]:
        """Names of its inputs, in order."""
        return self._core.input_names()

    def run(self, *inputs: _core.Tensor | ArrayLike, **options: Unpack[RunOptions]) -> RunResult:
        """Run it on inputs of the examples' types; see `cloakwork.RunOptions`."""
        return self._run([asarray(tensor) for tensor in inputs], False, False, options)

    def to_transcript(self, inputs: Sequence[_core.Tensor | ArrayLike] = ()) -> Transcript:
        """The program with these inputs as data, and with the outputs that they give.

        Runs it once.  SecretError if an input is marked as secret.
        """
        given = [asarray(tensor) for tensor in inputs]
        outputs = self._run(given, False, False, {"profile": False}).outputs
        return Transcript(self._core.with_data(given, outputs))

    def expanded(self, ops: Collection[str] | Literal["minimal"] = "minimal") -> Program:
        """The same program for a device that lacks some ops: each is written in smaller ones.

        ops   names of the ops that the device has beside HEAL's own, or "minimal": none

        Results are equal to the bit.  PlanError where an op has no expansion.
        """
        if isinstance(ops, str) and ops != "minimal":
            raise ParamError("ops", ops, '"minimal", or a collection of names of ops')
        names = None if isinstance(ops, str) else set(ops)
        return Program(self._core.expanded(names), self._examples)

    def to_heal(
        self,
        inputs: Sequence[_core.Tensor | ArrayLike] | None = None,
        *,
        ops: Collection[str] | Literal["minimal"] = "minimal",
    ) -> Transcript:
        """The program in ops that a device of HEAL's interface has, as a transcript.

        inputs   data for its inputs; by default the examples that it was traced with
        ops      as for `expanded`: composite ops named here are kept, others are expanded
        """
        given = self._examples if inputs is None else inputs
        return self.expanded(ops).to_transcript(given)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Program(inputs={self.inputs}, steps={self._core.step_count()})"


def trace(function: Callable[..., Any], *examples: _core.Tensor | ArrayLike) -> Program:
    """Record what `function` does with tensors of the examples' types.

    It is called once, with tensors that have a shape and a dtype and no elements.  Every op on
    them becomes a step; other tensors that it meets are constants.  It returns a Tensor, or a
    tuple or list of them.

    Raises TraceError where it needs elements, randomness or a tensor of another trace, and
    SecretError where it meets a tensor that is marked as secret.

    >>> import cloakwork as cw
    >>> example = cw.zeros(3, "i64")
    >>> program = cw.trace(lambda a, b: cw.ops.modmul(a, b, 17), example, example)
    >>> program.run([1, 2, 3], [10, 10, 10]).outputs[0]
    Tensor([10,  3, 13], dtype=i64)
    """
    given = [asarray(example) for example in examples]
    return Program(_core.trace(function, given), given)
