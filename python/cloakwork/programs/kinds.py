"""The kinds of programs in files, and the options that do not apply to a kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from cloakwork import files
from cloakwork.errors import ParamError
from cloakwork.programs.runnable import Runnable
from cloakwork.programs.transcript import Transcript

Kind = Literal["a transcript", "a recorded program", "a program of the instruction set"]

_NOTHING_EXPECTED = "a transcript: no other program has expected values in it"
_NO_GENERATION = "a transcript: no other program is written in a generation of HEAL's ops"

# What each option requires of a file that is not a transcript.
_OF_TRANSCRIPTS = {
    "verify": _NOTHING_EXPECTED,
    "bisect": _NOTHING_EXPECTED,
    "generation": _NO_GENERATION,
    "branch": _NO_GENERATION,
    "keep": "a transcript: no other program goes into HEAL's JSON",
}


def kind_of(program: Runnable) -> Kind:
    """The kind of a program, in words."""
    if isinstance(program, Transcript):
        return "a transcript"
    from cloakwork.zk.instructions.program import Program

    if isinstance(program, Program):
        return "a program of the instruction set"
    return "a recorded program"


def refuse(program: Runnable, options: Mapping[str, Any]) -> None:
    """ParamError for a given option that does not apply to this kind of program.

    options   by their names as keyword arguments, or as on the command line
    """
    for option, value in options.items():
        expected = _OF_TRANSCRIPTS.get(option.removeprefix("--"))
        if expected and value and not isinstance(program, Transcript):
            raise ParamError(option, kind_of(program), expected)


def refuse_checksums(source: files.Source, checksums: bool) -> None:
    """ParamError if checksums are to be compared that the file does not have."""
    if checksums and not source.is_container:
        expected = "a container, .cwk: no other form has checksums"
        raise ParamError("checksums", f"a file of another form, {source.name}", expected)
