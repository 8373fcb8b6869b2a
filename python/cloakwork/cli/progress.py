"""A progress bar on terminals, for work that takes longer than a second."""

from __future__ import annotations

import sys
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_SECONDS = 1.0


class Bar:
    """A progress bar: call it with the number of finished steps and of all steps."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._start = perf_counter()
        self._shown: tuple[Progress, TaskID] | None = None

    def __call__(self, done: int, total: int) -> None:
        """Update the progress."""
        late = perf_counter() - self._start > _PATIENCE_SECONDS
        if self._shown is None and late and done < total:
            self._show(total)
        if self._shown is not None:
            progress, task = self._shown
            progress.update(task, completed=done, total=total)

    def _show(self, total: int) -> None:
        if not sys.stderr.isatty():
            return  # rich is not even loaded: it takes longer than many a proof
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        from cloakwork.cli.show import errors

        if not errors.is_terminal:
            return
        progress = Progress(
            TextColumn("{task.description}"), BarColumn(),
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
