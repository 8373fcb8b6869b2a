"""Fast parsing of plain command lines for proofs, without typer.

Loading typer takes longer than verifying a proof. Any other command line (help, an invalid value,
an unknown or repeated option) is left to typer, which reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cloakwork.cli import proving

# Former names of options, and their names now.
RENAMED = {"--workers": "--threads", "--budget": "--memory-budget", "--trace": "--profile"}
# Longer numbers are left to typer, which refuses them.
_MOST_DIGITS = 9

# The function, the arguments in order, and the options of each command.
COMMANDS: dict[str, tuple[Callable[..., int], tuple[str, ...], dict[str, str]]] = {
    "prove": (
        proving.prove,
        ("zkey", "witness"),
        {
            "-o": "out", "--out": "out", "--public": "public", "--r1cs": "r1cs",
            "--device": "device", "--threads": "threads", "--memory-budget": "memory_budget",
            "--spill-dir": "spill_dir", "--profile": "profile", "--check": "check",
            "--no-check": "check",
        },
    ),
    "verify": (proving.verify, ("vkey", "public", "proof"), {}),
}  # fmt: skip


# Options without a value.
_FLAGS = {"--check": True, "--no-check": False}


def read(line: Sequence[str]) -> Callable[[], int] | None:
    """The call for a plain command line; None for any other."""
    if not line or line[0] not in COMMANDS:
        return None
    function, places, options = COMMANDS[line[0]]
    given: dict[str, Any] = {}
    values: list[str] = []
    words = iter(line[1:])
    for word in words:
        if options.get(word) in given or (word in _FLAGS and word not in options):
            return None
        if word in _FLAGS:
            given[options[word]] = _FLAGS[word]
        elif word in options:
            value = next(words, "-")
            if value.startswith("-"):
                return None
            given[options[word]] = value
        elif word.startswith("-"):
            return None
        else:
            values.append(word)
    threads = given.get("threads", "1")
    counts = threads.isascii() and threads.isdecimal() and len(threads) < _MOST_DIGITS
    if len(values) != len(places) or not counts:
        return None
    given |= zip(places, values, strict=True)
    return partial(function, **{name: _value(name, text) for name, text in given.items()})


def _value(name: str, text: str | bool) -> str | int | Path | bool:
    if isinstance(text, bool):
        return text
    if name == "threads":
        return int(text)
    return text if name in ("memory_budget", "device") else Path(text)
