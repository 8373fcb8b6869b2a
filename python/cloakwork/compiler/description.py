"""The description of a compiled model for its client: the note of its file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.client_head import ClientHead
from cloakwork.compiler.client_tail import ClientTail
from cloakwork.compiler.ports import MOST_SLOTS, Port
from cloakwork.errors import ModelError
from cloakwork.strict import Member
from cloakwork.wording import listed, quoted

# Files of version 1 have no guard; those of models without a head have version 2.
VERSION, _HEADLESS = 3, 2
# Of any chain.
_MOST_LEVEL = 127


@dataclass(frozen=True)
class KeyLevels:
    """The highest level at which each evaluation key is used; rotations by their steps.

    products, conjugation   of the relinearization, and the conjugation; None: there is none
    raising                 of the keys to a sparse secret and back; None without bootstrapping
    """

    rotations: Mapping[int, int]
    products: int | None = None
    conjugation: int | None = None
    raising: int | None = None

    @property
    def all(self) -> list[int]:
        """Those of all keys."""
        others = self.products, self.conjugation, self.raising
        return [*self.rotations.values(), *(level for level in others if level is not None)]

    def to_json(self) -> dict[str, Any]:
        """For the note."""
        turns = [[step, level] for step, level in self.rotations.items()]
        return {
            "rotations": turns,
            "products": self.products,
            "conjugation": self.conjugation,
            "raising": self.raising,
        }

    @classmethod
    def read(cls, note: Member) -> KeyLevels:
        """From a file; LoadError names the place of what is wrong."""
        turns, *others = note.members("rotations", "products", "conjugation", "raising")
        found: dict[int, int] = {}
        for pair in turns.parts():
            numbers = pair.parts()
            if len(numbers) != 2:
                raise pair.wrong("a step and a level")
            step = numbers[0].whole(-MOST_SLOTS, MOST_SLOTS)
            if step in found:
                raise pair.wrong("each step once")
            found[step] = numbers[1].whole(0, _MOST_LEVEL)
        tops = (None if one.value is None else one.whole(0, _MOST_LEVEL) for one in others)
        return cls(found, *tops)


@dataclass(frozen=True)
class Guard:
    """The output that proves results right for all accepted inputs.

    port     of one more output, [norms and doubts]: an element above `high` says that values left
             the range in which the program computes the model, or that an input is too near a jump;
             None where no accepted input can do that
    of       the values whose norms these are
    doubts   where the doubts come from
    """

    port: Port | None
    of: tuple[str, ...]
    doubts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For the note."""
        port = self.port
        return {
            "name": None if port is None else port.name,
            "port": None if port is None else port.to_json(),
            "of": list(self.of),
            "doubts": list(self.doubts),
        }

    @classmethod
    def read(cls, note: Member) -> Guard:
        """From a file; LoadError names the place of what is wrong."""
        name, port, *named = note.members("name", "port", "of", "doubts")
        values, doubts = (tuple(value.of(str) for value in own.parts()) for own in named)
        if (name.value is None) is not (port.value is None):
            raise note.wrong("a name and a port, or neither")
        if port.value is None:
            return cls(None, values, doubts)
        found = Port.read(name.of(str), port)
        if found.shape != (len(values) + len(doubts),) or found.high.size != 1:
            raise port.wrong("a value for each of the guarded ones, with one limit")
        return cls(found, values, doubts)


@dataclass(frozen=True, eq=False)
class Description:
    """The inputs and outputs, the keys and the client's last steps of a model.

    rotations         steps that need keys
    relinearization   whether products need one
    levels            the highest level at which each key is used; None in files of version 1
                      without bootstrapping: the highest of all
    report            as JSON's types
    guard             None: inputs unlike the sample may give wrong results without a word
    head              what the client computes before encryption; None for nothing
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    rotations: tuple[int, ...]
    relinearization: bool
    tail: ClientTail
    report: Mapping[str, Any]
    levels: KeyLevels | None = None
    guard: Guard | None = None
    head: ClientHead | None = None

    @property
    def given(self) -> Mapping[str, tuple[int, ...]]:
        """The shapes of what a user gives, without the batch axis, by name."""
        if self.head is not None:
            return self.head.inputs
        return {port.name: port.shape for port in self.inputs}

    @property
    def encrypted_outputs(self) -> tuple[Port, ...]:
        """The ports of the server's results: the outputs, and the norms and doubts to check."""
        own = self.guard
        return self.outputs if own is None or own.port is None else (*self.outputs, own.port)

    def check_slots(self, slots: int) -> None:
        """ModelError unless all values are laid out in ciphertexts of so many slots."""
        for port in (*self.inputs, *self.encrypted_outputs):
            if port.layout is not None and port.layout.slots != slots:
                raise ModelError(
                    f"{port.name!r}: expected a layout in ciphertexts of {slots} slots, got "
                    f"{port.layout.slots}: take the description of this model's file"
                )

    def capacity(self, slots: int) -> int:
        """The samples that one run takes, at most."""
        return self.inputs[0].capacity(slots)

    def samples(
        self, x: Mapping[str, ArrayLike] | ArrayLike, slots: int, *, clip: bool = False
    ) -> dict[str, NDArray[np.float64]]:
        """The inputs [batch, size] by name, checked or clipped; one batch for all."""
        own = x if self.head is None else self.head.run(x)
        given = own if isinstance(own, Mapping) else {self.inputs[0].name: own}
        check_names("inputs", given, {port.name for port in self.inputs})
        found = {
            port.name: port.checked(given[port.name], slots, clip=clip) for port in self.inputs
        }
        counts = {name: len(values) for name, values in found.items()}
        if len(set(counts.values())) > 1:
            raise ModelError(f"inputs: expected one batch, got batches of {counts}")
        return found

    def to_json(self) -> str:
        """The note."""
        return json.dumps(
            {
                "version": _HEADLESS if self.head is None else VERSION,
                "name": self.name,
                "inputs": {port.name: port.to_json() for port in self.inputs},
                "outputs": {port.name: port.to_json() for port in self.outputs},
                "rotations": list(self.rotations),
                "relinearization": self.relinearization,
                "tail": self.tail.to_json(),
                "report": dict(self.report),
                "levels": None if self.levels is None else self.levels.to_json(),
                "guard": None if self.guard is None else self.guard.to_json(),
                **({} if self.head is None else {"head": self.head.to_json()}),
            }
        )

    @classmethod
    def read(cls, note: Member) -> Description:
        """From a file; LoadError names the place of what is wrong."""
        held = note.named()
        later = ["guard", "head"] if "head" in held else ["guard"] if "guard" in held else []
        version, name, inputs, outputs, rotations, products, tail, report, levels, *more = (
            note.members(
                "version", "name", "inputs", "outputs", "rotations", "relinearization", "tail",
                "report", "levels", *later,
            )
        )  # fmt: skip
        extra = dict(zip(later, more, strict=True))
        if version.of(int) != (VERSION if "head" in extra else _HEADLESS if extra else 1):
            raise version.wrong("version 1, 2 with a guard, or 3 with a head")
        ports = [
            tuple(Port.read(key, one) for key, one in part.named().items())
            for part in (inputs, outputs)
        ]
        has_guard = "guard" in extra and extra["guard"].value is not None
        checked = Guard.read(extra["guard"]) if has_guard else None
        every = [*ports[0], *ports[1], *([checked.port] if checked and checked.port else [])]
        if not all(ports) or len({port.layout is None for port in every}) > 1:
            raise inputs.wrong("inputs and outputs of one kind of layout")
        if checked and checked.port and checked.port.name in {port.name for port in ports[1]}:
            raise outputs.wrong(f"outputs beside the norms, {checked.port.name}")
        if not isinstance(report.of(dict).get("text"), str):
            raise report.wrong("a report with a text")
        try:
            steps = ClientTail.read(tail)
            steps.check([port.name for port in ports[1]])
        except ModelError as error:
            raise tail.wrong(f"steps that the client can compute: {error}") from error
        return cls(
            name.of(str),
            ports[0],
            ports[1],
            tuple(step.whole(-MOST_SLOTS, MOST_SLOTS) for step in rotations.parts()),
            products.of(bool),
            steps,
            report.of(dict),
            None if levels.value is None else KeyLevels.read(levels),
            checked,
            ClientHead.read(extra["head"], {port.name for port in ports[0]})
            if "head" in extra
            else None,
        )


def check_names(place: str, given: object, names: set[str]) -> None:
    """ModelError unless it is a mapping with these names."""
    if isinstance(given, Mapping) and set(given) == names:
        return
    expected = f"{place}: expected {quoted(sorted(names))}"
    if not isinstance(given, Mapping):
        raise ModelError(f"{expected}, got {type(given).__name__}")
    missing = sorted(names - set(given))
    lacking = f", without {listed(map(repr, missing), 1)}" if missing and len(names) > 1 else ""
    raise ModelError(f"{expected}, got {quoted(sorted(map(str, given)))}{lacking}")
