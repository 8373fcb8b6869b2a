"""The tensor against NumPy: what people type, large arrays, chains and products.

Both sides run interleaved, in one process, on the same memory; figures are medians and their ratio.
`threads` is the limit for both: an environment variable sets it for NumPy's BLAS before loading.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from measured.rows import record
from tensor_rows import ARRAYS, JAX, MANY, SETUP, SMALL, TORCH

ROUNDS = 15
# A sample of a statement takes at least so long.
LEAST_NS = 1_000_000


def main(threads: int) -> int:
    """Print all figures for `threads` threads."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(threads)
    import cloakwork as cw
    import numpy as np

    cw.set_threads(threads)
    if threads == 1:
        rows(threads)
    large(cw, np)
    products(cw, np)
    return 0


def rows(threads: int) -> None:
    """The rows of tensor_rows.py: CPU time, the median of rounds in turns, and the ratio asked."""
    names: dict[str, Any] = {"threads": threads}
    exec(SETUP, names)
    peers = [peer for peer, setup in {"torch": TORCH, "jax": JAX}.items() if _has(setup, names)]
    print("torch and jax beside NumPy: " + (", ".join(peers) or "neither is installed"))
    for row in (*SMALL, *MANY, *ARRAYS):
        others = {peer: source for peer in peers if (source := getattr(row, peer))}
        sources = [row.ours, row.theirs, *others.values()]
        ours, theirs, *rest = _medians([_loop(source, names) for source in sources])
        unit, scale = ("ns", row.steps) if ours < 1e5 * row.steps else ("us", 1e3 * row.steps)
        _record(row.name, unit, ours / scale)
        beside = "".join(
            f"  {peer} {time / scale:8.1f} x {time / ours:5.2f}"
            for peer, time in zip(others, rest, strict=True)
        )
        print(
            f"{row.name:34} {ours / scale:9.1f} {unit}  NumPy {theirs / scale:9.1f} {unit}"
            f"  x {theirs / ours:5.2f}, asked {row.asked:g}{beside}",
            flush=True,
        )


def _has(setup: str, names: dict[str, Any]) -> bool:
    try:
        exec(setup, names)
    except ImportError:
        return False
    return True


def _loop(source: str, names: dict[str, Any]) -> Callable[[Iterable[object]], None]:
    """A function that runs a statement once for each item of its argument."""
    # An assignment of a name would make it local.
    assigned = source.split(maxsplit=1)[0] if " += " in source else ""
    names_of_function = f"    global {assigned}\n" if assigned else ""
    text = f"def work(items):\n{names_of_function}    for _ in items:\n        {source}\n"
    exec(text, names)
    work: Callable[[Iterable[object]], None] = names["work"]
    return work


def _medians(works: list[Callable[[Iterable[object]], None]]) -> list[float]:
    """Median nanoseconds of CPU time of each statement, taken in turns."""
    counts = []
    for work in works:
        _cpu(work, 1)  # a first call may take a thousand times as long
        count = 1
        while (took := _cpu(work, count)) < LEAST_NS and count < 1 << 20:
            count = max(count * 2, min(count * 16, int(count * LEAST_NS / max(took, 1))))
        counts.append(count)
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for work, count, times in zip(works, counts, taken, strict=True):
            times.append(_cpu(work, count) / count)
    return [statistics.median(times) for times in taken]


def _cpu(work: Callable[[Iterable[object]], None], count: int) -> int:
    start = time.process_time_ns()
    work(repeat(None, count))
    return time.process_time_ns() - start


def large(cw, np) -> None:  # type: ignore[no-untyped-def]
    """Arrays larger than any cache."""
    for dtype in (np.float32, np.float64):
        theirs = np.random.default_rng(1).random(10**7).astype(dtype)
        more = theirs[::-1].copy()
        for label, (left, right) in _large_pairs(cw, np, theirs, more).items():
            a, b = _paired(left, right)
            _show(f"{np.dtype(dtype).name} 10^7 {label}", a / 1e6, b / 1e6, "ms")


def _large_pairs(cw, np, theirs, more):  # type: ignore[no-untyped-def]
    ours, also = cw.asarray(theirs), cw.asarray(more)

    def fused():  # type: ignore[no-untyped-def]
        with cw.batch():
            return ours * also + ours

    return {
        "a + b": (lambda: ours + also, lambda: theirs + more),
        "sqrt": (lambda: cw.sqrt(ours), lambda: np.sqrt(theirs)),
        "exp": (lambda: cw.exp(ours), lambda: np.exp(theirs)),
        "sum": (lambda: cw.sum(ours), lambda: np.sum(theirs)),
        "max": (lambda: cw.max(ours), lambda: np.max(theirs)),
        "a * b + a": (lambda: ours * also + ours, lambda: theirs * more + theirs),
        "a * b + a, batch": (fused, lambda: theirs * more + theirs),
        "sort, of 10^6": (lambda: cw.sort(ours[:1000000]), lambda: np.sort(theirs[:1000000])),
    }


def products(cw, np) -> None:  # type: ignore[no-untyped-def]
    """Matrix products; the peer is NumPy's OpenBLAS on the same threads."""
    for size in (64, 256, 1024, 4096):
        for dtype in (np.float32, np.float64):
            theirs = np.random.default_rng(1).random((size, size)).astype(dtype)
            _product(cw.asarray(theirs), theirs, f"matmul {np.dtype(dtype).name} {size}")


def _product(ours, theirs, label: str) -> None:  # type: ignore[no-untyped-def]
    size = len(theirs)
    times = max(1, 2**24 // size**3)
    rounds = 3 if size == 4096 else ROUNDS
    a, b = _paired(lambda: ours @ ours, lambda: theirs @ theirs, times, rounds)
    flops = 2 * size**3
    _record(label, "ns", a)
    print(f"{label:34} {flops / a:7.1f} GFLOP/s  NumPy {flops / b:7.1f}  x {b / a:5.2f}")


def _paired(
    left: Callable[[], object], right: Callable[[], object], times: int = 1, rounds: int = ROUNDS
) -> tuple[float, float]:
    """Median nanoseconds of two sides, taken in turns."""
    left(), right()
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for side, seconds in zip((left, right), taken, strict=True):
            seconds.append(_once(side, times))
    return statistics.median(taken[0]), statistics.median(taken[1])


def _once(side: Callable[[], object], times: int) -> float:
    start = time.perf_counter_ns()
    for _ in range(times):
        side()
    return (time.perf_counter_ns() - start) / times


def _show(label: str, ours: float, theirs: float, unit: str) -> None:
    ratio = theirs / ours
    _record(label, unit, ours)
    print(f"{label:34} {ours:9.2f} {unit}  NumPy {theirs:9.2f} {unit}  x {ratio:5.2f}")


def _record(label: str, unit: str, ours: float) -> None:
    record(f"{label}, on {os.environ['OMP_NUM_THREADS']}", unit, ours)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
