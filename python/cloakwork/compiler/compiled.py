"""A compiled model: its program, its client and server, its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import files
from cloakwork.compiler.client import Client
from cloakwork.compiler.description import Description
from cloakwork.compiler.server import Server
from cloakwork.errors import LoadError, ModelError, NoReportError, ParamError
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.files.sets import CiphertextSet
from cloakwork.fhe.security import admit
from cloakwork.programs import notes
from cloakwork.programs.program import Program
from cloakwork.sending import PLACE, Sendable
from cloakwork.wording import listed

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from cloakwork._core import Tensor
    from cloakwork.compiler.graph import Graph
    from cloakwork.compiler.report import CompileReport
    from cloakwork.programs.transcript import Transcript


class CompiledModel(Sendable):
    """An encrypted program made from a model; `fhe.compile` and `fhe.load_model` make it.

    program       a recorded program: of encrypted inputs by name, and evaluation keys
    description   how inputs are encoded and results decoded
    """

    def __init__(
        self,
        program: Program,
        description: Description,
        *,
        graph: Graph | None = None,
        report: CompileReport | None = None,
    ) -> None:
        self.program, self.description = program, description
        self._graph, self._report = graph, report

    @property
    def context(self) -> CkksContext:
        """CKKS under its parameters."""
        example = next(iter(self.program._signature.examples.values()))
        assert isinstance(example, CkksCiphertext)
        return example.context

    @property
    def rotations(self) -> list[int]:
        """The steps that need keys."""
        return list(self.description.rotations)

    @property
    def report(self) -> CompileReport:
        """Decisions and measurements of compiling; NoReportError for a model from a file."""
        if self._report is None:
            raise NoReportError("a model from a file has its report as JSON: report_json")
        return self._report

    @property
    def report_json(self) -> dict[str, Any]:
        """The report as JSON's types, a copy."""
        return deepcopy(dict(self.description.report))

    def describe(self) -> str:
        """Depth, keys, sizes, errors, costs and the alternatives, in words."""
        return str(self.description.report["text"])

    def split(self) -> tuple[Client, Server]:
        """The client's half, and the server's, which has no type that can hold a secret."""
        client = Client(self.description, self.context, self.program)
        return client, Server(self.program)

    def plain(self, x: Mapping[str, ArrayLike] | ArrayLike) -> dict[str, NDArray[Any]]:
        """The results of the model itself, with its approximations, in float64.

        ModelError for a model from a file, which holds only encoded weights.
        """
        if self._graph is None:
            raise ModelError(
                "a model from a file holds encoded weights alone: compute plain results with the "
                "model that it was compiled from"
            )
        own = self._graph.prepare(x)
        given = own if isinstance(own, Mapping) else {self.description.inputs[0].name: own}
        known = {port.name: port for port in self.description.inputs}
        return self._graph.finish(
            self._graph.run(
                {n: known[n].scaled(one) if n in known else one for n, one in given.items()}
            )
        )

    def save(self, path: str | PathLike[str] | BinaryIO) -> None:
        """Write a .cwk file: the program, with one note for the client; `fhe.load_model` reads it.

        ParamError for another name.  The file appears whole or not at all.  A file that is open in
        binary gets the same bytes.
        """
        if files.is_open(path):
            files.put(path, self._packed())
            return
        target = files.name_of(path)
        if not target.endswith(".cwk"):
            raise ParamError("path", target, "a name that ends in .cwk")
        self.program.save(target, more_notes=self._note())

    def _note(self) -> dict[str, str]:
        return {notes.MODEL: self.description.to_json()}

    def _packed(self) -> Tensor:
        """The bytes of its file."""
        return self.program._core.container(self.program._notes(self._note()))

    @classmethod
    def from_bytes(
        cls, data: bytes | bytearray | memoryview, *, insecure: bool = False
    ) -> CompiledModel:
        """Undo `to_bytes`; errors as of `fhe.load_model`."""
        return read_model(files.given_bytes(data), insecure=insecure)

    @classmethod
    def _unpacked(cls, data: Buffer, *facts: Any) -> CompiledModel:
        """The model of a pickle: as from its file, without the report's objects."""
        return read_model(files.Source(PLACE, files.contents_of(data, PLACE)), insecure=True)

    def to_heal(self, inputs: Mapping[str, Any], **options: Any) -> Transcript:
        """The program as a HEAL transcript, with data for its inputs; see `Program.to_heal`.

        inputs   ciphertexts by name, with their evaluation keys
        """
        return self.program.to_heal(dict(inputs), **options)

    def results(self, outputs: Sequence[Tensor], inputs: Mapping[str, Any]) -> CiphertextSet:
        """The outputs of a run of its transcript as results that the inputs' client decrypts.

        inputs   the ciphertexts that `to_heal` got
        """
        own = self.program
        found = own._around(outputs, own._clients(dict(inputs)))
        return CiphertextSet(dict(zip(own.outputs, found, strict=True)))

    def __repr__(self) -> str:
        shapes = listed(f"{p.name} {list(p.shape)}" for p in self.description.inputs)
        return f"CompiledModel({self.description.name}: {shapes})"


def read_model(path: files.Readable | files.Source, *, insecure: bool = False) -> CompiledModel:
    """A compiled model from its file alone; errors as of `fhe.load_model`."""
    from cloakwork.programs import loading

    source = path if isinstance(path, files.Source) else files.source_of(path)
    name, program = source.name, loading.load(source, checksums=source.is_container)
    if not isinstance(program, Program) or notes.MODEL not in program._core.notes():
        got = "another program: cw.load reads it"
        raise LoadError(f"{name}: expected a compiled model, of fhe.compile, got {got}")
    described = Description.read(notes.read(program._core, notes.MODEL, name))
    _check(program, described, name)
    made = CompiledModel(program, described)
    admit(made.context.parameters, name, insecure=insecure)
    return made


def _check(program: Program, described: Description, path: str) -> None:
    """LoadError unless the note fits the program."""
    examples, results = program._signature.examples, program.returned
    place = f"{path}: the note {notes.MODEL}"
    named = dict(zip(program.outputs, results, strict=False))
    pairs = [(described.inputs, examples), (described.encrypted_outputs, named)]
    for ports, held in pairs:
        if {port.name for port in ports} != held.keys():
            got = listed(port.name for port in ports)
            raise LoadError(f"{place}: expected the names {listed(held)}, got {got}")
        for port in ports:
            one = held[port.name]
            if not isinstance(one, CkksCiphertext):
                raise LoadError(f"{place}: {port.name}: expected a ciphertext of the program")
            whole = port.size if port.layout is None else port.layout.count
            single = port.layout is not None and whole == 1
            slots = port.layout is None or port.layout.slots == one.context.slots
            if not slots or one.batch != (None if single else whole):
                raise LoadError(f"{place}: {port.name}: expected the program's ciphertexts")
    report = described.report
    if not isinstance(report.get("text"), str):
        raise LoadError(f"{place}.report: expected its text, got none")
    steps = np.asarray(described.rotations, dtype=np.int64)
    slots = next(iter(examples.values())).context.slots
    if (np.abs(steps) > slots).any():
        raise LoadError(f"{place}.rotations: expected steps of {slots} slots")
    top, levels = next(iter(examples.values())).context.parameters.level, described.levels
    if levels is not None and not all(0 <= level <= top for level in levels.all):
        raise LoadError(f"{place}.levels: expected levels from 0 to {top}")
    multiplied = levels is None or (levels.products is not None) is described.relinearization
    if levels is not None and not (multiplied and {*levels.rotations} == {*described.rotations}):
        raise LoadError(f"{place}.levels: expected one for each key that the model needs")
