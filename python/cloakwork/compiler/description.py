"""What a client must know of a compiled model: the note of its file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.client_tail import ClientTail
from cloakwork.compiler.ports import Port
from cloakwork.errors import ModelError
from cloakwork.programs.notes import Member

VERSION = 1


@dataclass(frozen=True)
class KeyLevels:
    """The highest level at which each evaluation key is used; rotations by their steps.

    products, conjugation   of the relinearization, and the conjugation
    raising                 of the keys to a sparse secret and back
    """

    rotations: Mapping[int, int]
    products: int
    conjugation: int
    raising: int

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
            step, *level = (number.of(int) for number in pair.parts())
            if len(level) != 1:
                raise pair.wrong("a step and a level")
            found[step] = level[0]
        return cls(found, *(each.of(int) for each in others))


@dataclass(frozen=True, eq=False)
class Description:
    """The inputs and outputs, the keys and the client's last steps of a model.

    rotations         steps that need keys
    relinearization   whether products need one
    levels            with bootstrapping: the highest level at which each key is used
    report            as JSON's types
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    rotations: tuple[int, ...]
    relinearization: bool
    tail: ClientTail
    report: Mapping[str, Any]
    levels: KeyLevels | None = None

    def capacity(self, slots: int) -> int:
        """The samples that one run takes, at most."""
        return self.inputs[0].capacity(slots)

    def samples(
        self, x: Mapping[str, ArrayLike] | ArrayLike, slots: int
    ) -> dict[str, NDArray[np.float64]]:
        """The inputs [batch, size] by name, checked; one batch for all."""
        given = x if isinstance(x, Mapping) else {self.inputs[0].name: x}
        check_names("inputs", given, {port.name for port in self.inputs})
        found = {port.name: port.checked(given[port.name], slots) for port in self.inputs}
        counts = {name: len(values) for name, values in found.items()}
        if len(set(counts.values())) > 1:
            raise ModelError(f"inputs: expected one batch, got batches of {counts}")
        return found

    def to_json(self) -> str:
        """The note."""
        return json.dumps(
            {
                "version": VERSION,
                "name": self.name,
                "inputs": {port.name: port.to_json() for port in self.inputs},
                "outputs": {port.name: port.to_json() for port in self.outputs},
                "rotations": list(self.rotations),
                "relinearization": self.relinearization,
                "tail": self.tail.to_json(),
                "report": dict(self.report),
                "levels": None if self.levels is None else self.levels.to_json(),
            }
        )

    @classmethod
    def read(cls, note: Member) -> Description:
        """From a file; LoadError names the place of what is wrong."""
        version, name, inputs, outputs, rotations, products, tail, report, levels = note.members(
            "version", "name", "inputs", "outputs", "rotations", "relinearization", "tail",
            "report", "levels",
        )  # fmt: skip
        if version.of(int) != VERSION:
            raise version.wrong(f"version {VERSION}")
        ports = [
            tuple(Port.read(key, one) for key, one in part.named().items())
            for part in (inputs, outputs)
        ]
        if not all(ports) or len({port.layout is None for part in ports for port in part}) > 1:
            raise inputs.wrong("inputs and outputs of one kind of layout")
        try:
            steps = ClientTail.from_json(tail.of(dict))
            steps.check([port.name for port in ports[1]])
        except ModelError as error:
            raise tail.wrong(f"steps that the client can compute: {error}") from error
        return cls(
            name.of(str),
            ports[0],
            ports[1],
            tuple(step.of(int) for step in rotations.parts()),
            products.of(bool),
            steps,
            report.of(dict),
            None if levels.value is None else KeyLevels.read(levels),
        )


def check_names(place: str, given: object, names: set[str]) -> None:
    """ModelError unless it is a mapping with these names."""
    got = sorted(map(str, given)) if isinstance(given, Mapping) else type(given).__name__
    if not isinstance(given, Mapping) or set(given) != names:
        raise ModelError(f"{place}: expected {sorted(names)}, got {got}")
