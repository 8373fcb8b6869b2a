"""Programs recorded from Python functions over tensors."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, Unpack, runtime_checkable

from cloakwork import _core, files
from cloakwork.errors import KeyMismatchError, LoadError, MissingKeyError, ParamError, TraceError
from cloakwork.files import name_of
from cloakwork.programs import notes
from cloakwork.programs.clients import Client, Companions, Owner, recording
from cloakwork.programs.inputs import (
    InputType,
    as_input,
    check_names,
    name_set,
    parameters_of,
    paths_of,
    type_text,
    types_of,
    types_text,
)
from cloakwork.programs.report import RunResult
from cloakwork.programs.runnable import Runnable, RunOptions, profile_path
from cloakwork.programs.transcript import Branch, Transcript, ops_named

# Clients whose keys a program holds, laid out as its steps want them, for their next run.
_CLIENTS_KEPT = 4


@runtime_checkable
class Carrier(Protocol):
    """An object around one tensor, such as a ciphertext, that traced functions take and return."""

    @property
    def key(self) -> str:
        """The fingerprint of the secret that it belongs to."""

    @property
    def companions(self) -> Companions | None:
        """What a program takes beside it."""

    def carried(self, example: Self | None = None) -> _core.Tensor:
        """Its tensor; an error unless it is as the example was that a program was traced with."""

    def carrying(self, tensor: _core.Tensor, client: Client | None = None) -> Self:
        """The same object around another tensor; of a client, if one is given."""

    def described(self) -> dict[str, Any]:
        """All but its tensor, as JSON's types."""


if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    # What programs take: tensors, what becomes one, and objects around one.
    Value = _core.Tensor | ArrayLike | Carrier | Companions | PathLike[str]


@dataclass(frozen=True)
class Bundle:
    """Evaluation keys that a program takes.

    owner   the fingerprint of the secret whose ciphertexts they serve, in the examples
    needs   the names of those that the program uses
    own     those that it was recorded with; none where it comes from a file
    """

    owner: str
    needs: tuple[str, ...]
    own: Mapping[str, _core.Tensor] = field(default_factory=dict)

    def tensors(self, name: str, given: Companions | None, client: Client | None) -> dict[str, Any]:
        """The tensors of a client's keys; errors where some are missing or another's."""
        if given is None:
            needs = ", ".join(self.needs)
            raise MissingKeyError(
                f"input {name}: the program needs evaluation keys ({needs}): "
                "give them, or ciphertexts that have them"
            )
        if client is not None and client.key != given.key:
            hint = "give the evaluation keys of the ciphertexts' secret"
            raise KeyMismatchError("run", "key", client.key, given.key, hint)
        found = given.tensors()
        if missing := [need for need in self.needs if need not in found]:
            have = ", ".join(found) or "none"
            raise MissingKeyError(
                f"input {name}: the program needs {missing[0]}, the evaluation keys have {have}; "
                "make it with Keys.add: galois.g is the key of X -> X^g"
            )
        return {f"{name}.{need}": found[need] for need in self.needs}


@dataclass(frozen=True)
class Signature:
    """What is known of a program beside its steps.

    examples   objects around tensors that it was recorded with, by the input's name
    results    what the function returned, without tensors; None: a tensor
    bundles    evaluation keys that it takes, by the input's name
    tied       fingerprints of secrets that it holds something of
    """

    examples: Mapping[str, Any] = field(default_factory=dict)
    results: Sequence[Carrier | None] = ()
    bundles: Mapping[str, Bundle] = field(default_factory=dict)
    tied: Collection[str] = ()


class Program(Runnable):
    """A program that `trace` recorded; its text form is `str(program)`."""

    def __init__(self, core: _core.Program, signature: Signature | None = None) -> None:
        super().__init__(core)
        self._signature = signature or Signature()
        self._types = types_of(core)
        self._of_clients: dict[tuple[int, ...], tuple[list[Companions], _core.Program]] = {}

    @property
    def inputs(self) -> list[str]:
        """Names of its inputs, in order: those of the function's parameters, then of keys."""
        return [*self._parameters, *self._signature.bundles]

    @property
    def types(self) -> dict[str, str]:
        """The types of its inputs in words, by name."""
        words = {name: type_text(*self._types[name]) for name in self._parameters}
        for name, bundle in self._signature.bundles.items():
            words[name] = f"evaluation keys ({', '.join(bundle.needs)})"
        return words

    @property
    def outputs(self) -> list[str]:
        """Names of its results, in order."""
        return self._core.output_names()

    @property
    def encrypted(self) -> list[str]:
        """Names of those results that are ciphertexts."""
        pairs = zip(self.outputs, self._signature.results, strict=False)
        return [name for name, carrier in pairs if carrier is not None]

    @property
    def _parameters(self) -> list[str]:
        parts = {
            f"{name}.{need}"
            for name, bundle in self._signature.bundles.items()
            for need in bundle.needs
        }
        return [name for name in self._types if name not in parts]

    def run(self, *inputs: Value | Mapping[str, Value], **options: Unpack[RunOptions]) -> RunResult:
        """Run it on inputs of the examples' types; see `cloakwork.RunOptions`.

        inputs   in the order of `inputs`, or one mapping by name: tensors, what becomes one, paths
                 of .npy files, and ciphertexts where the program was traced with such

        Where the traced function returned ciphertexts, `outputs` holds ciphertexts.  They belong to
        the client whose ciphertexts were given; evaluation keys come with these, or by their name.

        Raises ParamError that lists all inputs where some are missing or unknown, InputError for
        one of another type, KeyMismatchError and MissingKeyError for keys.
        """
        values = self._by_name(inputs)
        files.claim([profile_path(options)], paths_of(values))
        tensors = {n: self._tensor(n, value) for n, value in values.items() if n in self._types}
        clients = self._clients(values)
        core = self._serving(values, clients)
        given = [tensors[name] for name in core.input_names()]
        result = self._run(given, False, False, options, core=core)
        outputs = self._around(result.outputs, clients)
        if any(getattr(value, "claimed", False) for value in values.values()):
            outputs = [getattr(output, "as_claimed", output) for output in outputs]
        return replace(result, outputs=outputs)

    @property
    def returned(self) -> tuple[Carrier | None, ...]:
        """What the traced function returned, around no elements; None for a tensor."""
        return tuple(self._signature.results)

    def results(self, outputs: Sequence[_core.Tensor]) -> list[Any]:
        """Outputs of a run of this program, also as a transcript, as what the function returned."""
        return self._around(outputs, {})

    def bound(self, inputs: Mapping[str, Value]) -> Program:
        """The same program with some of its inputs, by name, as constants.

        It is planned once for them.  Evaluation keys are given under their name.  Raises what `run`
        raises, and SecretError for secrets.
        """
        check_names(inputs, self.types, optional=self.inputs)
        bundles = self._signature.bundles
        tensors: dict[str, _core.Tensor] = {}
        for name, value in inputs.items():
            if name in bundles:
                given = value if isinstance(value, Companions) else None
                tensors |= bundles[name].tensors(name, given, None)
            else:
                tensors[name] = self._tensor(name, value)
        left = {name: bundle for name, bundle in bundles.items() if name not in inputs}
        core = self._core.bound(list(tensors), list(tensors.values()))
        return self._derived(core, replace(self._signature, bundles=left))

    def prepared(self, inputs: Mapping[str, Value]) -> tuple[Program, dict[str, Value]]:
        """The program with the evaluation keys of a run as constants, and the inputs that are left.

        So `memory` and `plan_text` say what is so of that run.
        """
        values = self._by_name([inputs])
        core = self._serving(values, self._clients(values))
        left = {name: value for name, value in values.items() if name in core.input_names()}
        return self._derived(core, replace(self._signature, bundles={})), left

    def _derived(self, core: _core.Program, signature: Signature) -> Program:
        """What became of this program: it reads the same files."""
        made = Program(core, signature)
        made.sources = self.sources
        return made

    def save(self, path: str | PathLike[str]) -> None:
        """Write a container, `.cwk`, that `cloakwork.load` and `cloakwork run` open.

        It has the inputs' names and types, the results' names, and the constants; evaluation keys
        are inputs, of which it has the names.  The file appears whole or not at all.
        """
        target = name_of(path)
        if not target.endswith(".cwk"):
            raise ParamError("path", target, "a name that ends in .cwk")
        self._core.save_container(
            target, {notes.RECORDED: json.dumps(self._described(), sort_keys=True)}
        )

    def _described(self) -> dict[str, Any]:
        own = self._signature
        return {
            "examples": {
                name: example.described()
                for name, example in own.examples.items()
                if isinstance(example, Carrier)
            },
            "results": [one if one is None else one.described() for one in own.results],
            "keys": {
                name: {"owner": bundle.owner, "needs": list(bundle.needs)}
                for name, bundle in own.bundles.items()
            },
            "tied": sorted(own.tied),
        }

    def _by_name(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """The inputs by name; those of keys may be missing, or stand tensor by tensor."""
        types, optional = self.types, list(self._signature.bundles)
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            values = dict(inputs[0])
            whole = [name for name in values if name in types or name not in self._types]
            check_names(whole, types, optional=optional)
            return values
        if not len(types) - len(optional) <= len(inputs) <= len(types):
            raise ParamError("inputs", f"{len(inputs)}", f"{len(types)}: {types_text(types)}")
        return dict(zip(types, inputs, strict=False))

    def _clients(self, values: Mapping[str, Any]) -> dict[str, Client]:
        """Whose ciphertexts stand for those of each secret in the examples."""
        clients: dict[str, Client] = {}
        for name, value in values.items():
            example = self._signature.examples.get(name)
            if not (isinstance(value, Carrier) and isinstance(example, Carrier)):
                continue
            known = clients.get(example.key)
            if known is not None and known.key != value.key:
                hint = "the program was traced with ciphertexts of one secret"
                raise KeyMismatchError("run", "key", known.key, value.key, hint)
            if example.key in self._signature.tied and value.key != example.key:
                hint = "the program holds a ciphertext of one secret: trace it again"
                raise KeyMismatchError("run", "key", example.key, value.key, hint)
            companions = value.companions or (known and known.companions)
            clients[example.key] = Client(value.key, companions)
        for name, bundle in self._signature.bundles.items():
            given = values.get(name)
            if isinstance(given, Companions):
                client = clients.get(bundle.owner, Client(given.key, given))
                clients[bundle.owner] = client._replace(companions=given)
        return clients

    def _serving(self, values: Mapping[str, Any], clients: Mapping[str, Client]) -> _core.Program:
        """The program with these clients' keys, unless they are given tensor by tensor."""
        if self._signature.bundles and all(name in self.types for name in values):
            return self._of(clients)
        types = {name: type_text(*type_) for name, type_ in self._types.items()}
        check_names(values, types)
        return self._core

    def _of(self, clients: Mapping[str, Client]) -> _core.Program:
        """The program with clients' keys as constants, kept for their next runs."""
        tensors: dict[str, _core.Tensor] = {}
        held: list[Companions] = []
        for name, bundle in self._signature.bundles.items():
            client = clients.get(bundle.owner)
            companions = client.companions if client else None
            tensors |= bundle.tensors(name, companions, client)
            held += [companions] if companions else []
        key = tuple(map(id, held))
        found = self._of_clients.pop(key, None)
        if found is None:
            found = held, self._core.bound(list(tensors), list(tensors.values()))
        # The last used is the last to go.
        self._of_clients[key] = found
        while len(self._of_clients) > _CLIENTS_KEPT:
            self._of_clients.pop(next(iter(self._of_clients)), None)
        return found[1]

    def _tensor(self, name: str, value: Any) -> _core.Tensor:
        if isinstance(value, Carrier):
            example = self._signature.examples.get(name)
            value = value.carried(example if isinstance(example, Carrier) else None)
        return as_input(name, value, *self._types[name])

    def _around(self, outputs: Sequence[Any], clients: Mapping[str, Client]) -> list[Any]:
        carriers = self._signature.results or [None] * len(outputs)
        pairs = list(zip(self.outputs, carriers, outputs, strict=True))
        for name, carrier, tensor in pairs:
            # What a file says of its results may be untrue.
            if carrier is not None and tuple(carrier.carried().shape) != tuple(tensor.shape):
                got, wanted = list(tensor.shape), list(carrier.carried().shape)
                raise LoadError(f"result {name}: the file says shape {wanted}, it has {got}")
        return [
            tensor if carrier is None else carrier.carrying(tensor, clients.get(carrier.key))
            for _, carrier, tensor in pairs
        ]

    def _given(self, inputs: Sequence[Value] | Mapping[str, Value] | None) -> list[_core.Tensor]:
        """Tensors for all inputs, keys too: where none are given, those of the recording."""
        if inputs is None:
            values: dict[str, Any] = dict(self._signature.examples)
        else:
            values = self._by_name([inputs] if isinstance(inputs, Mapping) else inputs)
        clients = self._clients(values)
        tensors = {
            name: self._tensor(name, values[name]) for name in self._parameters if name in values
        }
        for name, bundle in self._signature.bundles.items():
            client = clients.get(bundle.owner)
            if inputs is None and bundle.own:
                tensors |= {f"{name}.{need}": bundle.own[need] for need in bundle.needs}
            else:
                tensors |= bundle.tensors(name, client.companions if client else None, client)
        check_names(tensors, {n: type_text(*type_) for n, type_ in self._types.items()})
        return [tensors[name] for name in self._types]

    def to_transcript(self, inputs: Sequence[Value] | Mapping[str, Value] = ()) -> Transcript:
        """The program with these inputs as data, and with the outputs that they give.

        Runs it once.  SecretError if an input is marked as secret.
        """
        return self._transcript(inputs)

    def _transcript(
        self,
        inputs: Sequence[Value] | Mapping[str, Value] | None,
        branch: Branch = "later",
        keep: Collection[str] = (),
    ) -> Transcript:
        given = self._given(inputs)
        outputs = self._run(given, False, False, {"profile": False}).outputs
        return Transcript(self._core.with_data(given, outputs), branch=branch, keep=keep)

    def expanded(self, ops: Collection[str] | Literal["minimal"] = "minimal") -> Program:
        """The same program for a device that lacks some ops: each is written in smaller ones.

        ops   names of the ops that the device has beside HEAL's own, or "minimal": none

        Results are equal to the bit.  PlanError where an op has no expansion.
        """
        if isinstance(ops, str) and ops != "minimal":
            raise ParamError("ops", ops, '"minimal", or a collection of names of ops')
        names = None if isinstance(ops, str) else name_set("ops", ops)
        return self._derived(self._core.expanded(names), self._signature)

    def to_heal(
        self,
        inputs: Sequence[Value] | Mapping[str, Value] | None = None,
        *,
        branch: Branch = "later",
        ops: Collection[str] | None = None,
        keep: Collection[str] = (),
    ) -> Transcript:
        """The program in ops that a device of HEAL's interface has, as a transcript.

        inputs   data for its inputs; by default the examples that it was traced with
        branch   HEAL's generation: its runtime's ops, and the order of their arguments
        ops      all ops that the device has, by the names of transcripts, instead of the branch's
        keep     ops that HEAL has not and the device has, such as composites, by name: they stay as
                 they are, in HEAL's JSON too

        Ops of layout, too, are written in those that the device has.  PlanError with the names of
        all that its ops do not express.
        """
        kept = ops_named("keep", keep)
        own = None if ops is None else name_set("ops", ops)
        core = self._core.for_device(branch, own, kept)
        return Program(core, self._signature)._transcript(inputs, branch, kept)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Program(inputs={self.inputs}, steps={self._core.step_count()})"


def trace(function: Callable[..., Any], *examples: Value) -> Program:
    """Record what `function` does with tensors of the examples' types.

    It is called once, with tensors that have a shape and a dtype and no elements, or with
    ciphertexts around such.  Every op on them becomes a step; other tensors that it meets are
    constants, but for evaluation keys, which are inputs: one program serves many clients.  It
    returns a Tensor or a ciphertext, or a tuple, list or dict of them.

    Inputs are called as the function's parameters are; results `out0`, `out1`, ..., or as the named
    tuple's fields or the dict's keys are.

    Raises TraceError where it needs elements, randomness or a tensor of another trace, and
    SecretError where it meets a tensor that is marked as secret.

    >>> import cloakwork as cw
    >>> example = cw.zeros(3, "i64")
    >>> program = cw.trace(lambda a, b: cw.ops.modmul(a, b, 17), example, example)
    >>> program.run([1, 2, 3], [10, 10, 10]).outputs[0]
    Tensor([10,  3, 13], dtype=i64)
    >>> program.inputs, program.run({"b": [10, 10, 10], "a": [1, 2, 3]})["out0"].tolist()
    (['a', 'b'], [10, 3, 13])
    """
    names = parameters_of(function, len(examples))
    return record(function, dict(zip(names, examples, strict=True)))


def record(function: Callable[..., Any], examples: Mapping[str, Any]) -> Program:
    """`trace` with names for the inputs."""
    held = {
        name: value if isinstance(value, Carrier | _core.Tensor) else _as_tensor(value)
        for name, value in examples.items()
    }
    tensors = [v.carried() if isinstance(v, Carrier) else v for v in held.values()]
    returned: dict[str, Any] = {}

    def body(*traced: _core.Tensor) -> Any:
        result = function(*map(_traced, held.values(), traced))
        returned.update(_results_by_name(result))
        values = [v.carried() if isinstance(v, Carrier) else v for v in returned.values()]
        return values if returned else result

    with recording(examples) as met:
        core = _core.trace(body, tensors).renamed(list(examples), list(returned))
    carriers = [value if isinstance(value, Carrier) else None for value in returned.values()]
    tied = {one.key for one in carriers if one is not None and not isinstance(one.key, Owner)}
    results = [None if one is None else _without_elements(one) for one in carriers]
    wanted = [name for name in core.input_names() if name not in examples]
    bundles = {}
    for owner, name in met.owners.items():
        needs = tuple(one[len(name) + 1 :] for one in wanted if one.startswith(f"{name}."))
        if needs:
            bundles[name] = Bundle(owner, needs, {need: met.bundles[name][need] for need in needs})
    return Program(core, Signature(held, results, bundles, met.tied | tied))


def _as_tensor(value: Any) -> _core.Tensor:
    # Loads NumPy, which programs of tensors do without.
    from cloakwork.tensors.conversion import asarray

    return asarray(value)


def _without_elements(carrier: Carrier) -> Carrier:
    """The same around zeros that take no memory: its tensor is the trace's."""
    from cloakwork.array_api.creation import zeros
    from cloakwork.array_api.manipulation import broadcast_to

    shape, dtype = carrier.carried().shape, carrier.carried().dtype
    nothing = broadcast_to(zeros((), dtype=dtype), shape)
    return carrier.carrying(nothing, Client(str(carrier.key), carrier.companions))


def _traced(example: Any, traced: _core.Tensor) -> Any:
    """What the function gets in place of an example: of any client, around a traced tensor."""
    if not isinstance(example, Carrier):
        return traced
    return example.carrying(traced, Client(Owner(example.key), example.companions))


def _results_by_name(result: Any) -> dict[str, Any]:
    """What a function returned, by name; empty for what the engine will refuse."""
    if isinstance(result, Carrier | _core.Tensor):
        return {"out0": result}
    if isinstance(result, Mapping):
        return _by_keys(result)
    if isinstance(result, tuple | list):
        fields = getattr(type(result), "_fields", ())
        return {
            fields[index] if fields else f"out{index}": value for index, value in enumerate(result)
        }
    return {}


def _by_keys(result: Mapping[Any, Any]) -> dict[str, Any]:
    """Results of a dict: TraceError for keys such as 1 and "1", of which one would be lost."""
    found: dict[str, Any] = {}
    for key, value in result.items():
        name = str.__str__(key) if isinstance(key, str) else None
        if name is None or name in found:
            raise TraceError(
                f"results of a traced function are called as its dict's keys are, got the key "
                f"{key!r} ({type(key).__name__}): return a dict whose keys are different texts"
            )
        found[name] = value
    return found


def loaded(core: _core.Program, path: str) -> Program:
    """A program that `save` wrote; LoadError where its note is not one of this program."""
    made = Program(core, _signature(core, notes.read(core, notes.RECORDED, path)))
    made.sources = (path,)
    return made


def _signature(core: _core.Program, note: notes.Member) -> Signature:
    examples, results, keys, tied = note.members("examples", "results", "keys", "tied")
    types, names = types_of(core), core.output_names()
    carriers = [None if one.value is None else _carrier(one) for one in results.parts()]
    # None at all: the program was made of a transcript, whose results are tensors.
    of_tensors = not (carriers or examples.value or keys.value)
    if len(carriers) != len(names) and not of_tensors:
        wanted = f"{len(names)} results, as the program has"
        raise results.wrong(wanted, f"{len(carriers)}")
    made: dict[str, Carrier] = {}
    for name, one in examples.named().items():
        made[name] = _carrier(one)
        tensor = made[name].carried()
        described = str(tensor.dtype), tuple(tensor.shape)
        if types.get(name) != described:
            wanted = type_text(*types[name]) if name in types else "an input of the program"
            raise one.wrong(wanted, type_text(*described))
    bundles = {name: _bundle(name, one, types) for name, one in keys.named().items()}
    parts = [f"{name}.{need}" for name, bundle in bundles.items() for need in bundle.needs]
    if len(set(parts)) < len(parts) or bundles.keys() & types.keys():
        raise keys.wrong("names of their own", "two of one name")
    return Signature(made, carriers, bundles, tied.texts())


def _bundle(name: str, note: notes.Member, types: Mapping[str, InputType]) -> Bundle:
    """Evaluation keys that a program takes, which are inputs of it."""
    owner, needs = note.members("owner", "needs")
    made = Bundle(owner.of(str), needs.texts())
    unknown = [need for need in made.needs if f"{name}.{need}" not in types]
    if unknown or not made.needs:
        raise needs.wrong("inputs of the program", unknown[0] if unknown else "none")
    return made


def _carrier(note: notes.Member) -> Carrier:
    """A ciphertext as a note describes it, around zeros that take no memory."""
    from cloakwork.fhe.storage import from_description

    note.named()
    made = from_description(note.place, note.value)
    if unknown := note.value.keys() - made.described().keys():
        raise note.wrong("what ciphertexts are described by", f"also {min(unknown)}")
    return made
