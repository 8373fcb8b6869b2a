"""Programs that are ordinary Python over tensors: `zk.program` and `zk.compile`.

The function is recorded by `cloakwork.trace`, and verified, planned and run like any program.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import update_wrapper
from os import PathLike
from typing import Any, BinaryIO, Generic, ParamSpec, TypeVar, overload

from cloakwork import _core, files, ops
from cloakwork.array_api.creation import zeros
from cloakwork.array_api.manipulation import broadcast_to
from cloakwork.errors import DTypeError, LoadError, ParamError
from cloakwork.fields.parameters import CURVES
from cloakwork.files import name_of
from cloakwork.lazy import public
from cloakwork.programs import notes, tracing
from cloakwork.programs.inputs import InputType, type_text, types_of
from cloakwork.programs.options import bytes_of
from cloakwork.programs.program import Program
from cloakwork.sending import Constant
from cloakwork.strict import Member
from cloakwork.wording import quoted
from cloakwork.zk.instructions.running import KEY_BYTES, RunnableByName, run_key
from cloakwork.zk.instructions.values import Input, Type, as_tensor
from cloakwork.zk.protocol import randomness
from cloakwork.zk.protocol.polynomials import cast
from cloakwork.zk.tracing.parameters import parameters_of

_KEY_TYPE = ("u8", (KEY_BYTES,))

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class _Returned:
    """The structure of a result: one tensor, a tuple, a list or a dict."""

    kind: type[Any]
    fields: tuple[str, ...] = ()

    @classmethod
    def of(cls, returned: Any) -> _Returned:
        if isinstance(returned, Mapping):
            return cls(dict, tuple(returned))
        return cls(type(returned), getattr(type(returned), "_fields", ()))

    def around(self, values: Sequence[Any]) -> Any:
        if issubclass(self.kind, _core.Tensor):
            return values[0]
        if issubclass(self.kind, dict):
            return dict(zip(self.fields, values, strict=True))
        return self.kind(*values) if self.fields else self.kind(values)


@dataclass(frozen=True)
class _Tape:
    """The recording of a function, shared by all its runs."""

    program: Program
    types: dict[str, Type]
    returned: _Returned
    draws: randomness.Draws


@public("cloakwork.zk")
class Traced(RunnableByName):
    """A program that `zk.program` recorded from a function.

    `run` takes inputs by the names of the function's parameters.  Outputs are called `out0`,
    `out1`, ..., or as the fields of the named tuple that the function returns.
    """

    def __init__(
        self, tape: _Tape, name: str, *,
        memory_budget: int | None = None, threads: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(tape.program._core)
        self._tape, self._name, self._seeded = tape, name, tape.draws.seeded
        self._memory_budget, self._threads = memory_budget, threads

    @property
    def recorded(self) -> Program:
        """The same as `cloakwork.trace` gave it; its last input is the run's key, u8 `[32]`."""
        return self._tape.program

    @property
    def types(self) -> dict[str, Type]:
        """The types of the inputs, by name."""
        return dict(self._tape.types)

    def save(self, path: str | PathLike[str] | BinaryIO) -> None:
        """Write a container, `.cwk`, that `cloakwork.load` and `cloakwork run` open.

        A file that is open in binary gets the same bytes.

        It has the names and types of inputs, the names of results, constants, and the memory budget
        of `compile`.  The file appears whole or not at all.  ParamError for another name, SaveError
        where it cannot be written.
        """
        if files.is_open(path):
            files.put(path, self._packed())
            return
        target = name_of(path)
        if not target.endswith(".cwk"):
            why = "a name that ends in .cwk: no other form holds the types of the inputs"
            raise ParamError("path", target, why)
        self._core.save_container(target, self._notes())

    def _notes(self) -> dict[str, str]:
        note = {
            "name": self._name,
            "types": {name: asdict(type_) for name, type_ in self._tape.types.items()},
            "seeded": self._seeded,
            "memory_budget": self._memory_budget,
        }
        return {notes.FUNCTION: json.dumps(note, sort_keys=True)}

    def _values(self, inputs: Mapping[str, Input], seed: int | bytes | None) -> Any:
        """The structure that the function returns."""
        outcome = self.run(inputs, seed=seed, profile=False)
        return self._tape.returned.around(list(outcome.outputs.values()))

    def __str__(self) -> str:
        return self.page()

    def __repr__(self) -> str:
        shown = f"inputs={quoted(self.inputs)}, steps={self._core.step_count()}"
        return f"Traced({self._name}, {shown})"


@public("cloakwork.zk")
class ProgramFunction(Constant, Generic[P, R]):
    """A function that runs as a program; `zk.program` makes it.

    Calling it records the function (the first time), verifies, plans and runs it.  Any thread may
    call it.  In the function of another program it is a part of that one.
    """

    _stays = "it holds a function: send its `program`, or the module that defines it"

    __wrapped__: Callable[P, R]

    def __init__(
        self, function: Callable[P, R], types: Mapping[str, Type], seed: int | bytes | None = None
    ) -> None:
        update_wrapper(self, function)
        self._types, self._seed = dict(types), seed
        self._signature = inspect.signature(function)
        # Holds the program; of threads that record it at the same time the first to end wins.
        self._made: dict[str, Traced] = {}

    @property
    def types(self) -> dict[str, Type]:
        """The types of the parameters, by name."""
        return dict(self._types)

    @property
    def program(self) -> Traced:
        """The program, recorded when it is first asked for.

        Raises TraceError where the function needs elements of its inputs, such as in an `if`.
        """
        made = self._made.get("program")
        if made is None:
            tape = _recorded(self.__wrapped__, self._signature, self._types)
            made = self._made.setdefault("program", Traced(tape, self._name))
        return made

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The results of the function for these inputs, computed by its program.

        Random elements are new in each call.  Raises TypeError for arguments that the function
        does not take, ParamError that names the parameter where one is not of its type.
        """
        if randomness.current() is not None:
            return self.__wrapped__(*args, **kwargs)
        result: R = self.program._values(self._given(args, kwargs), self._seed)
        return result

    def eager(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The same, op by op as the function's lines say, to debug them.

        The function gets copies, so that what it writes does not reach the caller's tensors.
        """
        given = self._given(args, kwargs)
        key = run_key(self._seed)

        def now() -> R:
            copies = {
                name: ops.copy(as_tensor(name, given[name], type_.dtype, type_.shape))
                for name, type_ in self._types.items()
            }
            with randomness.keyed(key):
                return _called(self.__wrapped__, self._signature, copies)

        try:
            # At once, also in a batch, which would read the key when it is zero.
            result: R = _core.unrecorded(now)
            return result
        finally:
            key.zeroize()

    def seeded(self, seed: int | bytes) -> ProgramFunction[P, R]:
        """The function with the same random elements in each call, for tests alone.

        Whoever knows the seed of a proof, or sees two under one, learns the witness.
        """
        twin = ProgramFunction(self.__wrapped__, self._types, seed)
        twin._made = self._made
        return twin

    @property
    def _name(self) -> str:
        return getattr(self.__wrapped__, "__name__", "function")

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._name}({', '.join(self._types)}): {error}") from None
        bound.apply_defaults()
        return bound.arguments

    def __repr__(self) -> str:
        marked = "" if self._seed is None else ", seeded"
        return f"zk.program({self._name}({', '.join(self._types)}){marked})"


def _recorded(
    function: Callable[..., Any], signature: inspect.Signature, types: Mapping[str, Type]
) -> _Tape:
    found: list[tuple[_Returned, randomness.Draws]] = []

    def body(*traced: _core.Tensor) -> Any:
        *given, key = traced
        # The verifier follows the types of the annotations through the function.
        forms = [type_.repr for type_ in types.values()]
        given = [cast(a, form) if form else a for a, form in zip(given, forms, strict=True)]
        with randomness.keyed(key) as drawn:
            returned = _called(function, signature, dict(zip(types, given, strict=True)))
        found.append((_Returned.of(returned), drawn))
        return returned

    def record() -> Program:
        # One repeated element: examples of large inputs take no memory.
        examples = {
            name: broadcast_to(zeros((), dtype=type_.dtype), type_.shape)
            for name, type_ in types.items()
        }
        return tracing.record(body, examples | {_core.KEY_INPUT: zeros(KEY_BYTES, dtype="uint8")})

    # An active batch is suspended, and continues after this.
    made = _core.unrecorded(record)
    return _Tape(made, dict(types), *found[0])


def loaded(core: _core.Program, source: files.Source) -> Traced:
    """A program that `Traced.save` wrote; LoadError where its note is not one of this program."""
    path = source.name
    note = notes.read(core, notes.FUNCTION, path)
    name, types, seeded, budget = note.members("name", "types", "seeded", "memory_budget")
    wanted = types_of(core)
    if wanted.pop(_core.KEY_INPUT, _KEY_TYPE) != _KEY_TYPE:
        raise LoadError(f"{path}: expected the run's key as {type_text(*_KEY_TYPE)}")
    given = types.named()
    if given.keys() != wanted.keys():
        odd = min(given.keys() ^ wanted.keys())
        raise types.wrong(f"the inputs {', '.join(wanted)}", f"{odd!r} in one of the two alone")
    found = {name: _type(given[name], type_) for name, type_ in wanted.items()}
    # Random elements drawn with a fixed seed are the same in every run.
    drawn = randomness.Draws(zeros(KEY_BYTES, dtype="uint8"), seeded=seeded.of(bool))
    tape = _Tape(Program(core), found, _Returned(list), drawn)
    most = None if budget.value is None else budget.size(2**64)
    made = Traced(tape, name.of(str), memory_budget=most)
    made.sources = source.sources
    return made


def _type(note: Member, wanted: InputType) -> Type:
    """The type of an input, as the engine declares it, with the form of a polynomial."""
    dtype, shape, form, written = note.members("dtype", "shape", "repr", "json")
    given = dtype.of(str), tuple(size.size(2**63) for size in shape.parts())
    if (_dtype(given[0]), given[1]) != (_dtype(wanted[0]), wanted[1]):
        raise note.wrong(type_text(*wanted), type_text(*given))
    if form.value not in (None, "coef", "lagrange"):
        raise form.wrong("coef, lagrange or null")
    return Type(*given, form.value, written.optional(str))


def _dtype(name: str) -> _core.DType | None:
    try:
        return _core.element_type(name)
    except DTypeError:
        return None


def _called(function: Callable[..., R], signature: inspect.Signature, given: dict[str, Any]) -> R:
    bound = inspect.BoundArguments(signature, given)
    return function(*bound.args, **bound.kwargs)


@overload
def program(function: Callable[P, R], /) -> ProgramFunction[P, R]: ...


@overload
def program(
    *, curve: str = "bn254", inputs: Mapping[str, Type] | None = None
) -> Callable[[Callable[P, R]], ProgramFunction[P, R]]: ...


def program(
    function: Callable[P, R] | None = None,
    /,
    *,
    curve: str = "bn254",
    inputs: Mapping[str, Type] | None = None,
) -> Any:
    """Turn a function over tensors into a program: recorded once, verified, planned, run by calls.

    curve    a name of `zk.curve`: the field and group of annotations that name none
    inputs   types of parameters by name, in place of their annotations

    Parameters are annotated: `zk.Lagrange[n]` and `zk.Coef[n]` are `[n]` of the curve's scalar
    field, `zk.Points[n]` is `[n]` of its G1, `zk.Scalar` and `zk.Point` are one of them without
    axes, `zk.Tensor[dtype, n, ...]` is anything; `Annotated[cw.Tensor, zk.poly(n)]` says it in the
    types of the builder.  The function gets tensors, and returns one, or a tuple or list of them.

    ParamError for an unknown curve, and for a parameter without a type: it says what to write.

    >>> import cloakwork as cw
    >>> from cloakwork import zk
    >>> @zk.program(curve="bn254")
    ... def prove(a: zk.Coef[4], x: zk.Scalar):
    ...     return cw.ops.evaluate(a, x), cw.ops.kate_div(a, x, keep=False)
    >>> value, quotient = prove([1, 2, 3, 4], 10)
    >>> int(value), quotient.tolist()
    (4321, [432, 43, 4])
    >>> prove.program.inputs
    ['a', 'x']
    """
    if curve not in CURVES:
        raise ParamError("curve", curve, " or ".join(CURVES))
    # The frame in which the function is defined: its annotations may use names from there.
    names = sys._getframe(1).f_locals

    def made(function: Callable[P, R]) -> ProgramFunction[P, R]:
        return ProgramFunction(function, parameters_of(function, curve, inputs or {}, names))

    return made if function is None else made(function)


def compile(
    function: ProgramFunction[..., Any] | Callable[..., Any],
    *,
    memory_budget: int | str | None = None,
    threads: int | None = None,
) -> Traced:
    """The program of a function, checked, planned, and with its peak known before any run.

    function        made by `zk.program`, or a function that it accepts, over "bn254"
    memory_budget   bytes, or text such as "2GiB", for every run: beyond it, tensors are spilled to
                    disk
    threads         for every run; None: CLOAKWORK_THREADS, or one per core

    Raises MemoryBudgetError with the peak and the budget if no plan keeps to it, ProgramError with
    all findings, and what `zk.program` and its recording raise.

    >>> from cloakwork import zk
    >>> def square(a: zk.Lagrange[1024]):
    ...     return a * a
    >>> zk.compile(square, memory_budget="1MiB").peak_memory() < 2**20
    True
    """
    if isinstance(function, ProgramFunction):
        held = function
    else:
        names = sys._getframe(1).f_locals
        held = ProgramFunction(function, parameters_of(function, "bn254", {}, names))
    traced = held.program
    made = Traced(traced._tape, held._name, memory_budget=bytes_of(memory_budget), threads=threads)
    made.validate()
    made.peak_memory()
    return made
