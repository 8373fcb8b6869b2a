"""The command line: `cloakwork --help`.

Exit status: 0 all well, 1 a verification differs, 2 bad input or a refusal, 130 interrupted.
Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cloakwork.cli import output, plain
from cloakwork.cli.words import REFUSED, say

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    for argument in arguments:
        option = argument.partition("=")[0]
        if option in plain.RENAMED:
            say(f"cloakwork: unknown option {option}; use {plain.RENAMED[option]}")
            return REFUSED
    return output.delivered(lambda: _run(arguments))


def _run(arguments: list[str]) -> int:
    command = plain.read(arguments)
    if command is not None:
        return command()
    from cloakwork.cli.commands import app

    app(args=arguments, prog_name="cloakwork")
    return 0
