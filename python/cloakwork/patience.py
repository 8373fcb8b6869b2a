"""A line about work that takes long, where no terminal shows it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer

__all__ = ["PATIENCE_SECONDS", "told_late"]

# Work that takes less is not told of.
PATIENCE_SECONDS = 2.0


@contextmanager
def told_late(text: str) -> Iterator[None]:
    """A line on standard error once the block has taken two seconds."""
    timer = Timer(PATIENCE_SECONDS, _tell, (text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell(text: str) -> None:
    # Nobody may read it any more.
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)
