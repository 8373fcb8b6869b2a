"""The words and the exit status of a command: its errors, the files that it wrote, its JSON.

With --json, standard output holds exactly one JSON value: the result, or for an error
`{"error": {"type", "message", "status"}}`.  The sentence goes to standard error either way, and the
exit status is the same.  With --quiet, standard error holds errors and warnings alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cloakwork.errors import CloakworkError, InternalError, ParamError, ProgramError
from cloakwork.wording import shown

if TYPE_CHECKING:
    from cloakwork.programs.options import Budget
    from cloakwork.programs.runnable import Runnable

DIFFERS, REFUSED, INTERRUPTED = 1, 2, 130


@dataclass(frozen=True)
class Invocation:
    """A command as it was called: how it answers, and since when it runs.

    debug     with tracebacks
    as_json   in JSON
    quiet     without anything but results, warnings and errors
    options   what errors call its parameters, by their names in the library
    start     by `perf_counter`, in seconds
    """

    debug: bool = False
    as_json: bool = False
    quiet: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    start: float = field(default_factory=perf_counter)


_INVOCATION: ContextVar[Invocation | None] = ContextVar("invocation", default=None)


def invocation() -> Invocation:
    """The invocation of the command that runs."""
    return _INVOCATION.get() or Invocation()


@contextmanager
def in_words(asked: Invocation) -> Iterator[None]:
    """End the command with a sentence and a status instead of a traceback."""
    token = _INVOCATION.set(asked)
    try:
        yield
    except KeyboardInterrupt:
        _end(INTERRUPTED, "interrupted", {"type": "KeyboardInterrupt"})
    except Exception as error:
        if asked.debug:
            import traceback

            traceback.print_exc()
        text = safe(_sentence(_as_option(error, asked.options)))
        found: dict[str, Any] = {"type": type(error).__name__}
        more = [asdict(one) for one in error.findings] if isinstance(error, ProgramError) else None
        _end(REFUSED, text, found, {} if more is None else {"findings": more})
    finally:
        _INVOCATION.reset(token)


def _end(
    status: int, text: str, error: Mapping[str, Any], beside: Mapping[str, Any] | None = None
) -> None:
    say(f"cloakwork: {text}")
    if invocation().as_json:
        print_json({"error": {**error, "message": text, "status": status}, **(beside or {})})
    raise SystemExit(status) from None


def _as_option(error: Exception, options: Mapping[str, str]) -> Exception:
    """The error with the option of the command line in place of the library's parameter."""
    if type(error) is ParamError and error.rule in options:
        return ParamError(options[error.rule], error.value, error.allowed)
    return error


@contextmanager
def warnings_said() -> Iterator[None]:
    """Print warnings as sentences, without the place in the code."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for one in caught:
        say(f"cloakwork: {safe(str(one.message))}")


def say(text: str) -> None:
    """Print to standard error without markup."""
    print(text, file=sys.stderr, flush=True)


def note(text: str) -> None:
    """Print to standard error what --quiet leaves out."""
    if not invocation().quiet:
        say(text)


def print_json(value: object) -> None:
    """Print the one JSON value of a command."""
    import json

    print(json.dumps(value, indent=2))


def wrote(paths: Iterable[Path], **facts: object) -> None:
    """Name the files that were written, with their sizes and the time since the command began.

    facts   of the result: with --json, all of it is printed as JSON
    """
    found = written(paths)
    if invocation().as_json:
        print_json({**facts, **found})
    say_written(found)


def written(paths: Iterable[Path]) -> dict[str, Any]:
    """The files with their sizes, and the seconds since the command began, as JSON's types."""
    own = [Path(path) for path in paths]
    return {
        "written": [{"path": str(one), "bytes": one.stat().st_size} for one in own],
        "seconds": round(perf_counter() - invocation().start, 6),
    }


def say_written(found: Mapping[str, Any]) -> None:
    """One line on standard error for `written`; none without files."""
    files = [f"{shown(one['path'])} ({amount(one['bytes'])})" for one in found["written"]]
    if files:
        note(f"wrote {', '.join(files)} in {found['seconds']:.1f} s")


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
    note(f"memory: {memory}")


def count(number: int, name: str) -> str:
    """A number with its noun.

    >>> count(1, "error"), count(2, "error")
    ('1 error', '2 errors')
    """
    return f"{number} {name}{'' if number == 1 else 's'}"


def amount(size: int) -> str:
    """Bytes with a binary unit.

    >>> amount(1536)
    '1.5 KiB'
    """
    value, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{size} B" if units[0] == "B" else f"{value:.1f} {units[0]}"


def safe(text: str) -> str:
    """A message of several lines, each of them safe for a terminal."""
    return "\n".join(map(shown, text.split("\n")))


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror is not None:
        # Without a name, the output itself cannot be written.
        place = "output" if error.filename is None else shown(os.fsdecode(error.filename))
        return f"{place}: {error.strerror}{_folder(error)}"
    if isinstance(error, ProgramError):
        warnings = len(error.findings) - len(error.errors)
        more = f"\nand {count(warnings, 'warning')}: cloakwork check says which" if warnings else ""
        return f"{error}{more}"
    if isinstance(error, InternalError) or not isinstance(error, CloakworkError | OSError):
        kind = type(error).__name__
        return f"internal error, please report it with what --debug shows: {kind}: {error}"
    return str(error)


def _folder(error: OSError) -> str:
    """The kind of a folder that was given as a file, if it is known."""
    if not isinstance(error, IsADirectoryError) or error.filename is None:
        return ""
    from cloakwork.recognition import recognised

    found = recognised(os.fsdecode(error.filename))
    return f", {found}" if found is not None and found.how else ""
