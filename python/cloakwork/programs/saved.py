"""Recorded programs from containers: their notes on inputs and results, read and checked."""

from __future__ import annotations

from collections.abc import Mapping

from cloakwork import _core
from cloakwork.files import Source
from cloakwork.programs import notes
from cloakwork.programs.inputs import (
    InputType,
    type_text,
    types_of,
)
from cloakwork.programs.program import Program
from cloakwork.programs.signature import Bundle, Carrier, Signature
from cloakwork.strict import Member


def loaded(core: _core.Program, source: Source) -> Program:
    """A program that `save` wrote; LoadError where its note does not match the program."""
    made = Program(core, _signature(core, notes.read(core, notes.RECORDED, source.name)))
    made.sources = source.sources
    return made


def _signature(core: _core.Program, note: Member) -> Signature:
    examples, results, keys, tied = note.members("examples", "results", "keys", "tied")
    types, names = types_of(core), core.output_names()
    carriers = [None if one.value is None else _carrier(one) for one in results.parts()]
    # Without any, the program was made from a transcript, whose results are tensors.
    of_tensors = not (carriers or examples.value or keys.value)
    if len(carriers) != len(names) and not of_tensors:
        wanted = f"{len(names)} results, as the program has"
        raise results.wrong(wanted, f"{len(carriers)}")
    made: dict[str, Carrier] = {}
    for name, one in examples.named().items():
        made[name] = _carrier(one)
        tensor = made[name].carried()
        described = tensor.dtype.code, tuple(tensor.shape)
        if types.get(name) != described:
            wanted = type_text(*types[name]) if name in types else "an input of the program"
            raise one.wrong(wanted, type_text(*described))
    bundles = {name: _bundle(name, one, types) for name, one in keys.named().items()}
    parts = [f"{name}.{need}" for name, bundle in bundles.items() for need in bundle.needs]
    if len(set(parts)) < len(parts) or bundles.keys() & types.keys():
        raise keys.wrong("names of their own", "two of one name")
    return Signature(made, carriers, bundles, tied.texts())


def _bundle(name: str, note: Member, types: Mapping[str, InputType]) -> Bundle:
    """The evaluation keys of a note; they must be inputs of the program."""
    owner, needs = note.members("owner", "needs")
    made = Bundle(owner.of(str), needs.texts())
    unknown = [need for need in made.needs if f"{name}.{need}" not in types]
    if unknown or not made.needs:
        raise needs.wrong("inputs of the program", unknown[0] if unknown else "none")
    return made


def _carrier(note: Member) -> Carrier:
    """The ciphertext that a note describes, around zeros that take no memory."""
    from cloakwork.fhe.files.storage import from_description

    return from_description(note.place, note.value)
