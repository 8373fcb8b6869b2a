"""Refusals of requests: every error of a run or a file as a status and four sentences."""

from __future__ import annotations

from typing import Any

from cloakwork.errors import (
    CloakworkError,
    InternalError,
    KeyMismatchError,
    LoadError,
    MemoryBudgetError,
    MissingKeyError,
    OutOfMemoryError,
    ServingError,
)

BAD, WHO, MISSING, LATE, CONFLICT, LENGTH, LARGE, KIND = 400, 401, 404, 408, 409, 411, 413, 415
RANGE, SENSELESS, MANY, GONE, INTERNAL, BUSY, SLOW = 416, 422, 429, 499, 500, 503, 504


def busy(error: str, expected: str, got: str, seconds: float) -> ServingError:
    """503: ask again after some seconds, 1 to 60."""
    wait = int(min(max(seconds, 1), 60))
    return ServingError(BUSY, error, expected, got, f"ask again after {wait} s", wait)


def of(error: Exception) -> ServingError:
    """The refusal for an error; it never holds more than the error's own sentence."""
    if isinstance(error, ServingError):
        return error
    if isinstance(error, KeyMismatchError):
        expected, got = f"{error.what} {error.expected}", f"{error.what} {error.got}"
        return ServingError(CONFLICT, error.op, expected, got, error.hint)
    if isinstance(error, MemoryBudgetError | OutOfMemoryError | MemoryError):
        return busy("memory", "memory for the run", "none left", 5)
    known = not isinstance(error, InternalError)
    row = next((row for row in _ROWS if known and isinstance(error, row[0])), None)
    if row is None:
        hint = "the server's log says more"
        return ServingError(INTERNAL, "the server", "a result", "an internal error", hint)
    _, status, place, expected, hint = row
    return ServingError(status, place, expected, str(error), hint)


# Errors, the first of which decides: their status, place, what was expected, and what to do.
_ROWS: tuple[tuple[type[Exception], int, str, str, str], ...] = (
    (LoadError, BAD, "the body", "a whole file of this version", "send the file as it was written"),
    (
        MissingKeyError, SENSELESS, "keys", "all keys that the model needs",
        "make them with Keys.add, and upload the new file",
    ),
    (
        CloakworkError, SENSELESS, "the run", "inputs of this model",
        "encrypt as the model's description says",
    ),
)  # fmt: skip


def as_json(refusal: ServingError) -> dict[str, Any]:
    """The body of an answer."""
    names = ("error", "expected", "got", "hint")
    return {name: getattr(refusal, name) for name in names}
