"""Errors become words and an exit status; a traceback is shown only with --debug."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cloakwork.errors import CloakworkError, InternalError, ProgramError

if TYPE_CHECKING:
    from cloakwork.programs.options import Budget
    from cloakwork.programs.runnable import Runnable

DIFFERS, REFUSED, INTERRUPTED = 1, 2, 130


@contextmanager
def in_words(debug: bool) -> Iterator[None]:
    """End the command with a sentence and a status instead of a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        say("cloakwork: interrupted")
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        if debug:
            import traceback

            traceback.print_exc()
        say(f"cloakwork: {_sentence(error)}")
        raise SystemExit(REFUSED) from None


@contextmanager
def warnings_said() -> Iterator[None]:
    """Print warnings as sentences, without the place in the code."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for one in caught:
        say(f"cloakwork: {one.message}")


def say(text: str) -> None:
    """Print to standard error without markup."""
    print(text, file=sys.stderr, flush=True)


def say_memory(
    program: Runnable,
    threads: int | None,
    memory_budget: Budget,
    *,
    optimize: bool = True,
    device: str = "cpu",
    fallback: bool = True,
) -> None:
    """Print the memory of a run; MemoryBudgetError if it exceeds the budget."""
    memory, _ = program.memory(
        threads=threads,
        memory_budget=memory_budget,
        optimize=optimize,
        device=device,
        fallback=fallback,
    )
    say(f"memory: {memory}")


def count(number: int, name: str) -> str:
    """A number with its noun.

    >>> count(1, "error"), count(2, "error")
    ('1 error', '2 errors')
    """
    return f"{number} {name}{'' if number == 1 else 's'}"


def shown(text: str) -> str:
    r"""Text of a file, safe for a terminal: control characters as escapes.

    >>> shown("clear\x1b[2J")
    'clear\\x1b[2J'
    """
    return text if text.isprintable() else repr(text)[1:-1]


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror is not None:
        # Without a name, the output itself cannot be written.
        place = "output" if error.filename is None else shown(os.fsdecode(error.filename))
        return f"{place}: {error.strerror}"
    if isinstance(error, ProgramError):
        warnings = len(error.findings) - len(error.errors)
        more = f"\nand {count(warnings, 'warning')}: cloakwork check says which" if warnings else ""
        return f"{error}{more}"
    if isinstance(error, InternalError) or not isinstance(error, CloakworkError | OSError):
        kind = type(error).__name__
        return f"internal error, please report it with what --debug shows: {kind}: {error}"
    return str(error)
