"""Profiles of calls: which kernels ran, when, for how long, over how many bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from types import TracebackType

from cloakwork import _core, files
from cloakwork.errors import ParamError
from cloakwork.lazy import public


@public("cloakwork")
@dataclass(frozen=True)
class KernelCall:
    """One call of a kernel.

    op              what it computes: of a program's step its op, else the kernel's family
    kernel          its symbol, with dtype and instruction set; "" for a step without a kernel
    start_seconds   from the start of the outermost profile of the thread
    bytes           of the elements of its operands, each counted once
    threads         those that could share it
    """

    op: str
    kernel: str
    start_seconds: float
    seconds: float
    bytes: int
    threads: int


@public("cloakwork")
@dataclass(frozen=True)
class KernelTotals:
    """Sums over the calls of one kernel."""

    kernel: str
    calls: int
    seconds: float
    bytes: int


@public("cloakwork")
@dataclass
class Profile:
    """The measurements of `cloakwork.profile`; `calls` is empty until its block ends.

    Printed, it is a table of kernels, those with the most time first.
    """

    calls: tuple[KernelCall, ...] = ()
    _first: int | None = field(default=None, repr=False)

    def __enter__(self) -> Profile:
        if self._first is not None or self.calls:
            raise ParamError("profile", "one that was used", "a new one for each block")
        self._first = _core.measure_begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._first is not None:
            self.calls = tuple(KernelCall(*call) for call in _core.measure_end(self._first))

    def totals(self) -> list[KernelTotals]:
        """Sums for each kernel, the longest first."""
        sums: dict[str, tuple[int, float, int]] = {}
        for call in self.calls:
            count, seconds, size = sums.get(call.kernel, (0, 0.0, 0))
            sums[call.kernel] = count + 1, seconds + call.seconds, size + call.bytes
        found = [KernelTotals(kernel, *values) for kernel, values in sums.items()]
        return sorted(found, key=lambda total: -total.seconds)

    @property
    def seconds(self) -> float:
        """Time in kernels."""
        return sum(call.seconds for call in self.calls)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the profile for Perfetto and Chrome (trace events, JSON)."""
        events = [
            {
                "ph": "X", "pid": 1, "tid": 1, "name": call.op, "ts": call.start_seconds * 1e6,
                "dur": call.seconds * 1e6,
                "args": {"kernel": call.kernel, "bytes": call.bytes, "threads": call.threads},
            }
            for call in self.calls
        ]  # fmt: skip
        files.write(path, json.dumps({"displayTimeUnit": "ns", "traceEvents": events}))

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        count = len(self.calls)
        yield f"{count} kernel call{'' if count == 1 else 's'}, {self.seconds * 1e6:.1f} us"
        for total in self.totals():
            speed = total.bytes / total.seconds / 1e9 if total.seconds else 0.0
            times = f"{total.calls:6} x {total.seconds * 1e6:12.1f} us"
            yield f"{times} {total.bytes:14} B {speed:8.2f} GB/s  {total.kernel or '(no kernel)'}"


def profile() -> Profile:
    """Measure the kernels that this thread runs in a `with` statement.

    Calls are measured as they are, one kernel or several; so are batches and programs, by their
    steps.  Tensors that are made, joined or selected without a kernel, being small, do not appear,
    nor do calls of other threads.  Measuring a call takes some 0.1 us.  Profiles may be nested.

    >>> import cloakwork as cw
    >>> x = cw.ones(1000)
    >>> with cw.profile() as measured:
    ...     y = cw.exp(x) + x
    >>> [(call.op, call.bytes) for call in measured.calls]
    [('exp', 16000), ('add', 24000)]
    """
    return Profile()
