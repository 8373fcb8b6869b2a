"""HEAL transcripts: programs that contain their inputs and expected outputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Unpack, cast

from cloakwork import _core, files
from cloakwork.device.loading import load_listed
from cloakwork.errors import LoadError, ParamError
from cloakwork.files import name_of
from cloakwork.lazy import public
from cloakwork.programs import notes
from cloakwork.programs.inputs import check_names, name_set, type_text
from cloakwork.programs.options import RunOptions
from cloakwork.programs.report import RunResult
from cloakwork.programs.runnable import Operands, Runnable, no_functions
from cloakwork.recognition import expecting
from cloakwork.sending import PLACE

# HEAL's two public op sets.
Branch = Literal["first", "later"]

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from cloakwork.programs.program import Program
    from cloakwork.programs.signature import Value


@public("cloakwork.heal")
class Transcript(Runnable):
    """A program that contains its inputs and expected outputs."""

    def __init__(
        self, core: _core.Program, name: str = "", *,
        branch: Branch = "later", keep: Collection[str] = (),
    ) -> None:  # fmt: skip
        super().__init__(core)
        self._name, self.sources = name, (name,) if name else ()
        self._branch, self._keep = branch, frozenset(keep)
        self._programs: dict[tuple[str, ...], Program] = {}

    @property
    def inputs(self) -> list[str]:
        """The names of uploaded tensors: a run can replace the data of their first uploads."""
        return [name for name, _, _ in self._core.uploads()]

    @property
    def types(self) -> dict[str, str]:
        """The types of uploaded tensors as text, by name."""
        return {name: type_text(dtype, tuple(s)) for name, dtype, s in self._core.uploads()}

    @property
    def outputs(self) -> list[str]:
        """The names of downloads, in order; a tensor's second download is named `name#2`."""
        return self._core.output_names()

    def run(
        self,
        inputs: Mapping[str, Value] | None = None,
        *,
        verify: bool = False,
        bisect: bool = False,
        **options: Unpack[RunOptions],
    ) -> RunResult:
        """Run it on its own data; ProgramError if it has errors.

        inputs    fresh data by the names of `inputs`, in place of each tensor's first upload
        verify    compare every download with the value that the transcript expects, to the bit
        bisect    verify, and after a mismatch run against the slow references to find the first
                  op that is wrong
        options   see `cloakwork.RunOptions`

        Expected outputs belong to the transcript's own data: ParamError for `verify` with fresh
        data.
        """
        if not inputs:
            if not (verify or bisect) and (ran := self._run_on_tensors((), options)) is not None:
                return ran
            return self._run([], verify, bisect, options)
        if verify or bisect:
            why = "no fresh inputs: the transcript expects what its own data give"
            raise ParamError("verify" if verify else "bisect", ", ".join(inputs), why)
        return self.to_program(list(inputs)).run(inputs, **options)

    def operands(
        self, inputs: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
    ) -> Operands:
        """The transcript on its own data, or as a program on fresh inputs."""
        if inputs:
            return self.to_program(list(inputs)).operands(inputs, functions)
        no_functions(functions)
        return Operands(self._core, [])

    def specialize(self, device: str, *, allow_fallback: bool = False) -> Transcript:
        """The same transcript in exactly the ops that a device implements, its vendor's included.

        FallbackError names the steps for which that is not possible; with `allow_fallback` they
        stay.  Results are equal to the bit.
        """
        from cloakwork.programs.specialized import specialize

        made = specialize(self, device, allow_fallback=allow_fallback).program
        return cast("Transcript", made)

    def with_core(self, core: _core.Program) -> Transcript:
        """Another transcript from the same file."""
        made = Transcript(core, branch=self._branch, keep=self._keep)
        made.sources = self.sources
        return made

    def to_program(self, inputs: Collection[str] = ()) -> Program:
        """The transcript as a program, planned once for all data of some of its uploads.

        inputs   which uploads become inputs, by the names of `inputs`; the others keep their data

        Its results are the downloads.  ParamError for a name that is not uploaded.
        """
        names = tuple(sorted(name_set("inputs", inputs)))
        check_names(names, self.types, optional=self.inputs)
        made = self._programs.get(names)
        if made is None:
            from cloakwork.programs.program import Program

            made = self._programs[names] = Program(self._core.opened(list(names)))
            made.sources = self.sources
        return made

    def save(
        self,
        path: str | PathLike[str] | BinaryIO,
        *,
        branch: Branch | None = None,
        keep: Collection[str] | None = None,
    ) -> None:
        """Write it: `.json` in the form that HEAL loads, `.cwk` a container, `.cw` the text form.

        A file that is open in binary gets a container.

        branch   for `.json`: the generation of HEAL's spellings; by default that of `to_heal`, or
                 the later one
        keep     for `.json`: ops that HEAL lacks and that are kept by name; by default those of
                 `to_heal`, or none

        The file appears whole or not at all.  ParamError for an unknown op, and for `branch` and
        `keep` with another form, to which they do not apply.
        """
        target = ".cwk" if files.is_open(path) else name_of(path)
        kept = None if keep is None else ops_named("keep", keep)
        if branch not in {None, "first", "later"}:
            raise ParamError("branch", branch, "first or later")
        if target.endswith(".json"):
            self._core.save_heal(
                target, branch or self._branch, set(self._keep) if kept is None else kept
            )
        elif not target.endswith((".cwk", ".cw")):
            raise ParamError("path", target, "a name that ends in .json, .cwk or .cw")
        elif branch or kept:
            wanted = "a .json file: no other form spells HEAL's ops"
            raise ParamError("branch" if branch else "keep", target, wanted)
        elif target.endswith(".cw"):
            self._save_text(target)
        elif files.is_open(path):
            files.put(path, self._packed())
        else:
            self._core.save_container(target)

    _fact_count = 2

    def _facts(self) -> tuple[Any, ...]:
        """HEAL's generation, and the kept ops, of its JSON."""
        return self._branch, tuple(sorted(self._keep))

    @classmethod
    def _unpacked(cls, data: Buffer, *facts: Any) -> Transcript:
        """The transcript of a pickle; its checksums are compared."""
        made = super()._unpacked(data)
        branch, keep = facts
        if branch not in ("first", "later") or not isinstance(keep, tuple):
            raise LoadError(f"{PLACE}: expected a generation and names of ops, got {facts!r:.60}")
        made._branch, made._keep = branch, frozenset(ops_named("keep", keep))
        return made

    def __repr__(self) -> str:
        return f"Transcript({self._name!r}, steps={self._core.step_count()})"


# The kinds of files whose errors are about a program.
_PROGRAMS = ("program", "model", "instructions", "empty")


def read(source: files.Source, *, generation: str | None, checksums: bool) -> _core.Program:
    """The program in a container or a file of HEAL's."""
    load_listed()  # a program may have ops of vendors
    name, contents = source.name, source.contents
    with expecting("a program", name if contents is None else None, *_PROGRAMS):
        core = _core.Program.load(name, contents, checksums, generation)
    notes.check_kind(core, name)
    return core


def ops_named(rule: str, names: Collection[str]) -> set[str]:
    """The given names of ops; ParamError for an unknown op."""
    for name in sorted(name_set(rule, names)):
        try:
            _core.Op(name)
        except ParamError:
            raise ParamError(rule, name, "names of ops: docs/ops.md lists them") from None
    return set(names)


def is_transcript(core: _core.Program) -> bool:
    """Whether a program contains all its data, and has no notes."""
    return not core.notes() and not core.input_names()
