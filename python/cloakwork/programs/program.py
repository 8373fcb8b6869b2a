"""Recorded programs: binding inputs, running, saving, rewriting in a device's ops."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Unpack, cast

from cloakwork import _core, files
from cloakwork.errors import KeyMismatchError, LoadError, ParamError
from cloakwork.files import name_of
from cloakwork.lazy import public
from cloakwork.programs import notes
from cloakwork.programs.clients import Client, Companions
from cloakwork.programs.inputs import (
    as_input,
    check_names,
    name_set,
    paths_of,
    type_text,
    types_of,
    types_text,
)
from cloakwork.programs.options import RunOptions, profile_path
from cloakwork.programs.report import RunResult
from cloakwork.programs.runnable import Operands, Runnable, no_functions
from cloakwork.programs.signature import Carrier, Signature, is_carrier
from cloakwork.programs.transcript import Branch, Transcript, ops_named
from cloakwork.wording import listed, quoted

if TYPE_CHECKING:
    from cloakwork.programs.signature import Value

# How many clients' keys a program keeps in their prepared form, for the clients' next runs.
_CLIENTS_KEPT = 4


@public("cloakwork")
class Program(Runnable):
    """A recorded program; `print` shows a page of it, and `text()` is its text form."""

    def __init__(self, core: _core.Program, signature: Signature | None = None) -> None:
        super().__init__(core)
        self._signature = signature or Signature()
        self._is_plain = self._signature.is_plain
        self._types = types_of(core)
        self._of_clients: dict[tuple[int, ...], tuple[list[Companions], _core.Program]] = {}
        self._kept_notes: dict[str, str] = {}

    @property
    def inputs(self) -> list[str]:
        """The names of its inputs, in order: the function's parameters, then evaluation keys."""
        return [*self._parameters, *self._signature.bundles]

    @property
    def keys(self) -> list[str]:
        """The names of its inputs that are evaluation keys."""
        return list(self._signature.bundles)

    @property
    def types(self) -> dict[str, str]:
        """The types of its inputs as text, by name."""
        words = {name: type_text(*self._types[name]) for name in self._parameters}
        for name, bundle in self._signature.bundles.items():
            words[name] = f"evaluation keys ({listed(bundle.needs)})"
        return words

    @property
    def outputs(self) -> list[str]:
        """The names of its results, in order."""
        return self._core.output_names()

    @property
    def encrypted(self) -> list[str]:
        """The names of the results that are ciphertexts."""
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

        inputs   in the order of `inputs`, or one mapping by name: tensors, anything that `asarray`
                 accepts, paths of .npy files, and ciphertexts where it was traced with them

        Where the traced function returned ciphertexts, `outputs` holds ciphertexts.  They belong to
        the client whose ciphertexts were given; evaluation keys come with these, or by their name.

        Raises ParamError that lists all inputs where some are missing or unknown, InputError for
        one of another type, KeyMismatchError and MissingKeyError for keys.
        """
        if self._is_plain and (ran := self._run_on_tensors(inputs, options)) is not None:
            return ran
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
        return result.with_outputs(outputs)

    def operands(
        self, inputs: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
    ) -> Operands:
        """The program with the clients' keys, and its other inputs."""
        no_functions(functions)
        values = self._by_name([inputs])
        core = self._serving(values, self._clients(values))
        return Operands(core, [self._tensor(name, values[name]) for name in core.input_names()])

    @property
    def returned(self) -> tuple[Carrier | None, ...]:
        """The ciphertexts that the function returned, without elements; None for a tensor."""
        return tuple(self._signature.results)

    def results(self, outputs: Sequence[_core.Tensor]) -> list[Any]:
        """Outputs of a run, also as a transcript, in the form that the function returned."""
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

        `memory` and `plan_text` of the result describe that run.
        """
        values = self._by_name([inputs])
        core = self._serving(values, self._clients(values))
        left = {name: value for name, value in values.items() if name in core.input_names()}
        return self._derived(core, replace(self._signature, bundles={})), left

    def with_core(self, core: _core.Program) -> Program:
        """Another program with the same inputs and results."""
        made = self._derived(core, self._signature)
        made._kept_notes = self._model_note()
        return made

    def _model_note(self) -> dict[str, str]:
        """The note of a compiled model, which holds as long as inputs and results are the same."""
        own = self._core.notes()
        return {name: own[name] for name in (notes.MODEL,) if name in own} or self._kept_notes

    def _derived(self, core: _core.Program, signature: Signature) -> Program:
        """A program derived from this one: it reads the same files."""
        made = Program(core, signature)
        made.sources = self.sources
        return made

    def save(
        self, path: str | PathLike[str] | BinaryIO, *, more_notes: Mapping[str, str] | None = None
    ) -> None:
        """Write a file that `cloakwork.load` and `cloakwork run` open.

        path   `.cwk` for a container, `.cw` for the text form, which does not hold the parameters
               of ciphertexts; or a file that is open in binary, which gets a container
        more_notes   of a container, for the package itself: `fhe.compile`'s

        It holds the inputs' names and types, the results' names, and the constants; of evaluation
        keys, which are inputs, it holds the names.  The file appears whole or not at all.
        ParamError for another name, and for the text form of a program with ciphertexts.
        """
        if files.is_open(path):
            files.put(path, self._core.container(self._notes(more_notes)))
            return
        target = name_of(path)
        if target.endswith(".cw") and not more_notes:
            self._check_no_ciphertexts(target)
            self._save_text(target)
            return
        if not target.endswith(".cwk"):
            raise ParamError("path", target, "a name that ends in .cwk or .cw")
        self._core.save_container(target, self._notes(more_notes))

    def _notes(self, more_notes: Mapping[str, str] | None = None) -> dict[str, str]:
        own = {notes.RECORDED: json.dumps(self._described(), sort_keys=True)}
        return own | (self._model_note() if more_notes is None else dict(more_notes))

    def _check_no_ciphertexts(self, target: str) -> None:
        own = self._signature
        examples = [name for name, one in own.examples.items() if isinstance(one, Carrier)]
        held = [*examples, *own.bundles, *self.encrypted]
        if held:
            why = f"the text form does not hold the parameters of {listed(held)}"
            raise ParamError("path", target, f"a name that ends in .cwk: {why}")

    def _described(self) -> dict[str, Any]:
        own = self._signature
        return {
            "examples": {
                name: example.described()
                for name, example in own.examples.items()
                if is_carrier(example)
            },
            "results": [one if one is None else one.described() for one in own.results],
            "keys": {
                name: {"owner": bundle.owner, "needs": list(bundle.needs)}
                for name, bundle in own.bundles.items()
            },
            "tied": sorted(own.tied),
        }

    def _by_name(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """The inputs by name; evaluation keys may be missing, or given tensor by tensor."""
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
        """The client for each secret in the examples."""
        clients: dict[str, Client] = {}
        for name, value in values.items():
            example = self._signature.examples.get(name)
            if not (is_carrier(value) and is_carrier(example)):
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
        """The program bound to these clients' keys, unless the keys are given tensor by tensor."""
        if self._signature.bundles and all(name in self.types for name in values):
            return self._of(clients)
        types = {name: type_text(*type_) for name, type_ in self._types.items()}
        check_names(values, types)
        return self._core

    def _of(self, clients: Mapping[str, Client]) -> _core.Program:
        """The program bound to the clients' keys, kept for their next runs."""
        tensors: dict[str, _core.Tensor] = {}
        held: list[Companions] = []
        for name, bundle in self._signature.bundles.items():
            client = clients.get(bundle.owner)
            companions = client.companions.home if client and client.companions else None
            tensors |= bundle.tensors(name, companions, client)
            held += [companions] if companions else []
        key = tuple(map(id, held))
        found = self._of_clients.pop(key, None)
        if found is None:
            found = held, self._core.bound(list(tensors), list(tensors.values()))
        # The least recently used is dropped first.
        self._of_clients[key] = found
        while len(self._of_clients) > _CLIENTS_KEPT:
            self._of_clients.pop(next(iter(self._of_clients)), None)
        return found[1]

    def forget(self, companions: Companions) -> None:
        """Drop the plan that was kept for these evaluation keys, and with it their tensors."""
        for key in [key for key in self._of_clients if id(companions.home) in key]:
            self._of_clients.pop(key, None)

    def _tensor(self, name: str, value: Any) -> _core.Tensor:
        if is_carrier(value):
            example = self._signature.examples.get(name)
            value = value.carried(example if is_carrier(example) else None)
        return as_input(name, value, *self._types[name])

    def _around(self, outputs: Sequence[Any], clients: Mapping[str, Client]) -> list[Any]:
        carriers = self._signature.results or [None] * len(outputs)
        pairs = list(zip(self.outputs, carriers, outputs, strict=True))
        for name, carrier, tensor in pairs:
            # A file may state a wrong shape of a result.
            if carrier is not None and tuple(carrier.carried().shape) != tuple(tensor.shape):
                got, wanted = list(tensor.shape), list(carrier.carried().shape)
                raise LoadError(f"result {name}: the file says shape {wanted}, it has {got}")
        return [
            tensor if carrier is None else carrier.carrying(tensor, clients.get(carrier.key))
            for _, carrier, tensor in pairs
        ]

    def _given(self, inputs: Sequence[Value] | Mapping[str, Value] | None) -> list[_core.Tensor]:
        """Tensors for all inputs and keys: by default those of the recording."""
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
        """The program with these inputs as data, and with the outputs that they produce.

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
        """The same program for a device that lacks some ops: each is expanded into smaller ones.

        ops   names of the ops that the device has in addition to HEAL's, or "minimal": none

        Results are equal to the bit.  PlanError where an op has no expansion.
        """
        if isinstance(ops, str) and ops != "minimal":
            raise ParamError("ops", ops, '"minimal", or a collection of names of ops')
        names = None if isinstance(ops, str) else name_set("ops", ops)
        return self.with_core(self._core.expanded(names))

    def specialize(self, device: str, *, allow_fallback: bool = False) -> Program:
        """The same program in exactly the ops that a device implements, its vendor's included.

        FallbackError names the steps for which that is not possible; with `allow_fallback` they
        stay.  Results are equal to the bit.
        """
        from cloakwork.programs.specialized import specialize

        made = specialize(self, device, allow_fallback=allow_fallback).program
        return cast("Program", made)

    def to_heal(
        self,
        inputs: Sequence[Value] | Mapping[str, Value] | None = None,
        *,
        branch: Branch = "later",
        ops: Collection[str] | None = None,
        keep: Collection[str] = (),
    ) -> Transcript:
        """The program as a transcript in the ops of a device with HEAL's interface.

        inputs   data for its inputs; by default the examples that it was traced with
        branch   HEAL's generation: its runtime's ops, and the order of their arguments
        ops      all ops of the device, by their names in transcripts, instead of the branch's
        keep     names of ops that the device has and HEAL lacks, such as composites: they are kept,
                 also in HEAL's JSON

        Layout ops are rewritten in the device's ops, too.  PlanError names all ops that the
        device's ops cannot express.
        """
        kept = ops_named("keep", keep)
        own = None if ops is None else name_set("ops", ops)
        core = self._core.for_device(branch, own, kept)
        return Program(core, self._signature)._transcript(inputs, branch, kept)

    def __str__(self) -> str:
        return self.page()

    def __repr__(self) -> str:
        return f"Program(inputs={quoted(self.inputs)}, steps={self._core.step_count()})"
