"""Progress of long work: a bar or a clock on terminals, or a line for each stage."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from cloakwork.cli.words import invocation, say
from cloakwork.patience import PATIENCE_SECONDS, told_late
from cloakwork.wording import shown

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# The seconds before a bar is shown, and between two lines of what is done where there is none.
_BAR_SECONDS, _LINE_SECONDS = 1.0, 10.0
# Return to the start of a terminal's line, and clear it.
_CLEARED = "\r\x1b[2K"


@contextmanager
def busy(title: str) -> Iterator[None]:
    """Work of unknown length: its title, on a terminal with the time that it has taken."""
    if invocation().quiet:
        yield
        return
    if not sys.stderr.isatty():
        with told_late(shown(title)):
            yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from cloakwork.cli.show import errors

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=errors, transient=True) as progress:
        progress.add_task(shown(title), total=None)
        yield


class Stage(Protocol):
    """A part of some work, and its estimated seconds; its text is one line."""

    @property
    def seconds(self) -> float:
        """Of one core; 0 where it is short or unknown."""


class Bar:
    """A progress bar, or lines: call it with the number of finished steps and of all steps."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._start = perf_counter()
        # When the next line is due, where no bar is shown.
        self._due = self._start + PATIENCE_SECONDS
        self._shown: tuple[Progress, TaskID] | None = None

    def __call__(self, done: int, total: int) -> None:
        """Update the progress."""
        now = perf_counter()
        if invocation().quiet:
            return
        if not sys.stderr.isatty():
            # rich is not even loaded: it takes longer than many a proof
            if now > self._due and done < total:
                self._due = now + _LINE_SECONDS
                say(f"{shown(self._title)}: {100 * done // total} %")
            return
        if self._shown is None and now - self._start > _BAR_SECONDS and done < total:
            self._show(total)
        if self._shown is not None:
            progress, task = self._shown
            progress.update(task, completed=done, total=total)

    def _show(self, total: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        from cloakwork.cli.show import errors

        if not errors.is_terminal:
            return
        progress = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn(),
            console=errors, transient=True,
        )  # fmt: skip
        progress.start()
        self._shown = progress, progress.add_task(self._title, total=total)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()
            self._shown = None


class Lines:
    """Stages on standard error: call it with a record whose text is one line.

    A record has `seconds`, its estimate.  Nothing is shown in the first two seconds unless a stage
    is estimated to take longer.  On a terminal each line replaces the last one, and is cleared at
    the end.
    """

    def __init__(self) -> None:
        self._start, self._open = perf_counter(), False

    def __call__(self, stage: Stage) -> None:
        """Show a stage that begins."""
        late = perf_counter() - self._start > PATIENCE_SECONDS
        if invocation().quiet or not (late or stage.seconds > PATIENCE_SECONDS):
            return
        text = shown(str(stage))
        if not sys.stderr.isatty():
            say(text)
            return
        from shutil import get_terminal_size

        room = max(get_terminal_size().columns - 1, 1)
        print(f"{_CLEARED}{text[:room]}", end="", file=sys.stderr, flush=True)
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        if self._open:
            print(_CLEARED, end="", file=sys.stderr, flush=True)
