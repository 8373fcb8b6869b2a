"""Programs recorded from Python functions over tensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, Unpack, runtime_checkable

from cloakwork import _core, ops
from cloakwork.errors import ParamError
from cloakwork.heal import Transcript
from cloakwork.report import RunResult
from cloakwork.runs import Runnable, RunOptions


@runtime_checkable
class Carrier(Protocol):
    """An object around one tensor, such as a ciphertext, that traced functions take and return."""

    def carried(self, example: Self | None = None) -> _core.Tensor:
        """Its tensor; an error unless it is as the example was that a program was traced with."""

    def carrying(self, tensor: _core.Tensor) -> Self:
        """The same object around another tensor."""


if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    # What programs take: tensors, what becomes one, and objects around one.
    Value = _core.Tensor | ArrayLike | Carrier


def _tensor(value: Value, example: Value | None = None) -> _core.Tensor:
    if isinstance(value, _core.Tensor):
        return value
    if isinstance(value, Carrier):
        return value.carried(example if isinstance(example, Carrier) else None)
    from cloakwork.arrays import asarray

    return asarray(value)


class Program(Runnable):
    """A program that `trace` recorded; its text form is `str(program)`."""

    def __init__(
        self,
        core: _core.Program,
        examples: Sequence[Value] = (),
        results: Sequence[Carrier | None] = (),
    ) -> None:
        super().__init__(core)
        self._examples, self._results = tuple(examples), tuple(results)

    @property
    def inputs(self) -> list[str]:
        """Names of its inputs, in order."""
        return self._core.input_names()

    def run(self, *inputs: Value, **options: Unpack[RunOptions]) -> RunResult:
        """Run it on inputs of the examples' types; see `cloakwork.RunOptions`.

        Where the traced function returned ciphertexts, `outputs` holds ciphertexts.
        """
        result = self._run(self._tensors(inputs), False, False, options)
        outputs = self.results(result.outputs)
        if any(getattr(value, "claimed", False) for value in inputs):
            outputs = [getattr(output, "as_claimed", output) for output in outputs]
        return replace(result, outputs=outputs)

    @property
    def returned(self) -> tuple[Carrier | None, ...]:
        """What the traced function returned, around no elements; None for a tensor."""
        return self._results

    def results(self, outputs: Sequence[_core.Tensor]) -> list[Any]:
        """Outputs of a run of this program, also as a transcript, as what the function returned."""
        carriers = self._results or [None] * len(outputs)
        return [
            tensor if carrier is None else carrier.carrying(tensor)
            for carrier, tensor in zip(carriers, outputs, strict=True)
        ]

    def _tensors(self, inputs: Sequence[Value]) -> list[_core.Tensor]:
        examples = [*self._examples, *[None] * len(inputs)]
        return [_tensor(value, example) for value, example in zip(inputs, examples, strict=False)]

    def to_transcript(self, inputs: Sequence[Value] = ()) -> Transcript:
        """The program with these inputs as data, and with the outputs that they give.

        Runs it once.  SecretError if an input is marked as secret.
        """
        given = self._tensors(inputs)
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
        return Program(self._core.expanded(names), self._examples, self._results)

    def to_heal(
        self,
        inputs: Sequence[Value] | None = None,
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


def trace(function: Callable[..., Any], *examples: Value) -> Program:
    """Record what `function` does with tensors of the examples' types.

    It is called once, with tensors that have a shape and a dtype and no elements, or with
    ciphertexts around such.  Every op on them becomes a step; other tensors that it meets are
    constants.  It returns a Tensor or a ciphertext, or a tuple or list of them.

    Raises TraceError where it needs elements, randomness or a tensor of another trace, and
    SecretError where it meets a tensor that is marked as secret.

    >>> import cloakwork as cw
    >>> example = cw.zeros(3, "i64")
    >>> program = cw.trace(lambda a, b: cw.ops.modmul(a, b, 17), example, example)
    >>> program.run([1, 2, 3], [10, 10, 10]).outputs[0]
    Tensor([10,  3, 13], dtype=i64)
    """
    given = [_tensor(example) for example in examples]
    results: list[Carrier | None] = []

    def recorded(*traced: _core.Tensor) -> Any:
        returned = function(*map(_around, examples, traced))
        single = not isinstance(returned, tuple | list)
        values = [returned] if single else [*returned]
        results.extend(value if isinstance(value, Carrier) else None for value in values)
        tensors = [value.carried() if isinstance(value, Carrier) else value for value in values]
        return tensors[0] if single else tensors

    core = _core.trace(recorded, given)
    # Their tensors were the trace's.
    nothing = ops.empty((), _core.int64)
    left = [None if carrier is None else carrier.carrying(nothing) for carrier in results]
    kept = [
        example if isinstance(example, Carrier) else tensor
        for example, tensor in zip(examples, given, strict=True)
    ]
    return Program(core, kept, left)


def _around(example: Value, traced: _core.Tensor) -> Any:
    return example.carrying(traced) if isinstance(example, Carrier) else traced
