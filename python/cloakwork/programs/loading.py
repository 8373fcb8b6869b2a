"""Loading programs of every kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cloakwork import _core
from cloakwork.files import (
    START_BYTES,
    Readable,
    Source,
    held_beside,
    source_of,
    starts_as_instructions,
)
from cloakwork.programs import kinds, notes, saved
from cloakwork.programs.program import Program
from cloakwork.programs.transcript import Transcript, is_transcript, read

if TYPE_CHECKING:
    from cloakwork import zk

    # The kinds of programs that files hold.
    Loaded = Program | zk.Traced | zk.Program | Transcript


def load(
    path: Readable | Source, *, generation: str | None = None, checksums: bool = False
) -> Loaded:
    """Load a program of any kind; the contents of the file decide which.

    path   of a file; or its contents, or a file that is open in binary

    The result is a `Program` that `trace` recorded, a `zk.Traced` of `zk.program`, a `zk.Program`
    of the instruction set in any form (also a folder), or a HEAL transcript.  The text form of a
    program is a transcript if it holds all its data, else a program with inputs.

    generation   of a HEAL transcript, as for `heal.load`
    checksums    compare a container's tensors with their checksums, which reads all of them

    Raises LoadError for other files, OSError where one cannot be read, ParamError for an option
    that does not apply to the file.

    >>> import tempfile
    >>> import cloakwork as cw
    >>> folder = tempfile.mkdtemp()
    >>> program = cw.trace(lambda a, b: a + b, cw.zeros(2), cw.zeros(2))
    >>> program.save(f"{folder}/sum.cwk")
    >>> cw.load(f"{folder}/sum.cwk").run({"a": [1.0, 2.0], "b": [3.0, 4.0]})["out0"]
    Tensor([4., 6.], dtype=f64)
    """
    source = path if isinstance(path, Source) else source_of(path)
    kinds.refuse_checksums(source, checksums)
    program = opened(source, generation=generation, checksums=checksums)
    kinds.refuse(program, {"generation": generation})
    return program


def opened(source: Source, *, generation: str | None = None, checksums: bool = False) -> Loaded:
    """The program in a file or its contents, of the kind that these say."""
    name = source.name
    if _is_of_instructions(source):
        from cloakwork.zk.instructions.program import Program as Instructions

        return Instructions.load(name) if source.contents is None else Instructions.of(source)
    core = read(source, generation=generation, checksums=checksums)
    held = core.notes()
    if notes.RECORDED in held:
        return saved.loaded(core, source)
    if held:
        from cloakwork.zk.instructions.program import Program as Instructions
        from cloakwork.zk.tracing import traced

        if notes.FUNCTION in held:
            return traced.loaded(core, source)
        instructions = Instructions.in_container(core, source)
        if instructions is not None:
            return instructions
    if is_transcript(core):
        return Transcript(core, *source.sources)
    made = Program(core)
    made.sources = source.sources
    return made


def _is_of_instructions(source: Source) -> bool:
    """Whether it is a program in JSON or text, or its folder; waits for writers."""
    if source.contents is not None:
        return _core.Instructions.recognizes(source.start(START_BYTES))
    path = Path(source.name)
    file = path / "program.json" if path.is_dir() else path
    with held_beside(file):
        return file.is_file() if file != path else starts_as_instructions(file)
