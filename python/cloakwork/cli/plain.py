"""Command lines of proofs that say no more than they must, read without typer.

Loading typer takes longer than verifying a proof. Whatever is not plain here (help, a value that is
none, an option that there is not, or that comes twice), typer reads, and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cloakwork.cli import proving

# What options were called once, and are called with every command.
RENAMED = {"--workers": "--threads", "--budget": "--memory-budget", "--trace": "--profile"}
# More are no number of threads; what they are instead, the other way of reading says.
_MOST_DIGITS = 9

# Of each command its function, its arguments in order, and its options.
COMMANDS: dict[str, tuple[Callable[..., int], tuple[str, ...], dict[str, str]]] = {
    "prove": (
        proving.prove,
        ("zkey", "witness"),
        {
            "-o": "out", "--out": "out", "--public": "public", "--r1cs": "r1cs",
            "--threads": "threads", "--memory-budget": "memory_budget",
            "--spill-dir": "spill_dir", "--profile": "profile", "--check": "check",
            "--no-check": "check",
        },
    ),
    "verify": (proving.verify, ("vkey", "public", "proof"), {}),
}  # fmt: skip


# Options without a value.
_FLAGS = {"--check": True, "--no-check": False}


def read(line: Sequence[str]) -> Callable[[], int] | None:
    """What a command line asks for; none where it is not plain."""
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
    return text if name == "memory_budget" else Path(text)
