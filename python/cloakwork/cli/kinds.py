"""The kinds of programs in files, and the options that do not apply to a kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from cloakwork.errors import ParamError
from cloakwork.programs.runnable import Runnable
from cloakwork.programs.transcript import Transcript

Kind = Literal["a transcript", "a recorded program", "a program of the instruction set"]

_NOTHING_EXPECTED = "a transcript: no other program has expected values in it"
_NO_GENERATION = "a transcript: no other program is written in a generation of HEAL's ops"

# What each option requires of a file that is not a transcript.
_OF_TRANSCRIPTS = {
    "--verify": _NOTHING_EXPECTED,
    "--bisect": _NOTHING_EXPECTED,
    "--generation": _NO_GENERATION,
    "--branch": _NO_GENERATION,
    "--keep": "a transcript: no other program goes into HEAL's JSON",
}


def kind_of(program: Runnable) -> Kind:
    """The kind of a program, in words."""
    if isinstance(program, Transcript):
        return "a transcript"
    from cloakwork.zk.instructions.program import Program

    return (
        "a program of the instruction set"
        if isinstance(program, Program)
        else ("a recorded program")
    )


def refuse(program: Runnable, options: Mapping[str, Any]) -> None:
    """ParamError for a given option that does not apply to this kind of program."""
    kind = kind_of(program)
    if kind == "a transcript":
        return
    for option, value in options.items():
        if option in _OF_TRANSCRIPTS and value:
            raise ParamError(option, kind, _OF_TRANSCRIPTS[option])
