"""Fast parsing of plain command lines for proofs, without typer.

Loading typer takes longer than verifying a proof. Any other command line (help, an invalid value,
an unknown or repeated option) is left to typer, which reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cloakwork.cli import proving, witness
from cloakwork.cli.words import Invocation

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
            "--no-check": "check", "--json": "as_json", "--quiet": "quiet", "-q": "quiet",
        },
    ),
    "witness": (
        witness.witness,
        ("wasm", "inputs"),
        {
            "-o": "out", "--out": "out", "--sym": "sym", "--timeout": "timeout",
            "--memory-limit": "memory_limit", "--json": "as_json", "--quiet": "quiet",
            "-q": "quiet",
        },
    ),
    "fullprove": (
        witness.fullprove,
        ("wasm", "zkey", "inputs"),
        {
            "-o": "out", "--out": "out", "--public": "public", "--r1cs": "r1cs", "--sym": "sym",
            "--timeout": "timeout", "--memory-limit": "memory_limit", "--device": "device",
            "--threads": "threads", "--memory-budget": "memory_budget",
            "--spill-dir": "spill_dir", "--check": "check", "--no-check": "check",
            "--json": "as_json", "--quiet": "quiet", "-q": "quiet",
        },
    ),
    "verify": (
        proving.verify,
        ("vkey", "public", "proof"),
        {"--json": "as_json", "--quiet": "quiet", "-q": "quiet"},
    ),
}  # fmt: skip


# Options without a value.
_FLAGS = {"--check": True, "--no-check": False, "--json": True, "--quiet": True, "-q": True}


def read(line: Sequence[str]) -> Callable[[], int] | None:
    """The call for a plain command line; None for any other."""
    if not line or line[0] not in COMMANDS:
        return None
    function, places, options = COMMANDS[line[0]]
    given: dict[str, Any] = {}
    values: list[str] = []
    left = iter(line[1:])
    for word in left:
        if options.get(word) in given or (word in _FLAGS and word not in options):
            return None
        if word in _FLAGS:
            given[options[word]] = _FLAGS[word]
        elif word in options:
            value = next(left, "-")
            if value.startswith("-"):
                return None
            given[options[word]] = value
        elif word.startswith("-"):
            return None
        else:
            values.append(word)
    numbers = [given.get(name, "1") for name in ("threads", "timeout")]
    counts = all(one.isascii() and one.isdecimal() and len(one) < _MOST_DIGITS for one in numbers)
    if len(values) != len(places) or not counts:
        return None
    words = {name: word for word, name in options.items() if word.startswith("--")}
    asked = Invocation(
        False, bool(given.pop("as_json", False)), bool(given.pop("quiet", False)), words
    )
    given |= zip(places, values, strict=True)
    read = {name: _value(name, text) for name, text in given.items()}
    return partial(function, **read, asked=asked)


def _value(name: str, text: str | bool) -> str | int | Path | bool:
    if isinstance(text, bool):
        return text
    if name in ("threads", "timeout"):
        return int(text)
    return text if name in ("memory_budget", "memory_limit", "device") else Path(text)
