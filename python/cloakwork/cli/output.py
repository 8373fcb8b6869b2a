"""Standard output and error whose reader has left, or that cannot be written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from typing import TextIO

from cloakwork.cli.words import INTERRUPTED, REFUSED, say

# Errors of a stream that must not stop the command.
_Failures = type[OSError] | tuple[type[OSError], ...]


class _Stream:
    """A stream whose reader may leave: the command continues to its own exit status."""

    def __init__(self, stream: TextIO, ignored: _Failures) -> None:
        self._stream, self._ignored = stream, ignored

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except self._ignored:
            _discard(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except self._ignored:
            _discard(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _discard(stream: TextIO) -> None:
    """Discard a stream's buffer, so that it does not fail again when the interpreter exits."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def delivered(command: Callable[[], int]) -> int:
    """Run a command to its exit status; REFUSED where its output cannot be written.

    A reader that has left, such as `head`, does not change the status.
    """
    before = sys.stdout, sys.stderr
    # An error of standard error cannot be reported.
    if sys.stdout is not None:
        sys.stdout = cast("TextIO", _Stream(sys.stdout, BrokenPipeError))
    if sys.stderr is not None:
        sys.stderr = cast("TextIO", _Stream(sys.stderr, OSError))
    try:
        status = _status(command)
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as error:
            if status != REFUSED:
                say(f"cloakwork: output: {error.strerror}")
            _discard(before[0])
            status = REFUSED
        return status
    finally:
        sys.stdout, sys.stderr = before


def _status(command: Callable[[], int]) -> int:
    try:
        return command()
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except KeyboardInterrupt:
        # Before the command began, or behind its end.
        say("cloakwork: interrupted")
        return INTERRUPTED
    except OSError as error:
        # Errors of help and version output, which no command prints.
        say(f"cloakwork: output: {error.strerror}")
        return REFUSED
