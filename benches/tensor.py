"""The tensor against NumPy: calls, large arrays, reductions, chains and products.

Both sides run interleaved, in one process, on the same memory; figures are medians and their ratio.
`threads` is the limit for both: an environment variable sets it for NumPy's BLAS before loading.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable

from measured.rows import record

ROUNDS = 15


def main(threads: int) -> int:
    """Print all figures for `threads` threads."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(threads)
    import cloakwork as cw
    import numpy as np

    cw.set_threads(threads)
    if threads == 1:
        calls(cw, np)
        steps(cw)
    large(cw, np)
    products(cw, np)
    return 0


def calls(cw, np) -> None:  # type: ignore[no-untyped-def]
    """Calls on few elements: the cost of a call besides its work."""
    ours, theirs = cw.asarray([1.0]), np.array([1.0])
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "a + b": (lambda: ours + ours, lambda: theirs + theirs),
        "a + 1.0": (lambda: ours + 1.0, lambda: theirs + 1.0),
        "-a": (lambda: -ours, lambda: -theirs),
        "a[0]": (lambda: ours[0], lambda: theirs[0]),
        **_calls_on_four(cw, np),
    }
    empty = _nanoseconds(lambda: None)
    for name, (left, right) in pairs.items():
        a, b = _paired(left, right, repeat=5_000)
        _show(f"call {name}", a - empty, b - empty, "ns")


def _calls_on_four(cw, np):  # type: ignore[no-untyped-def]
    """Calls on four elements, ours and NumPy's, by name."""
    n = np.array([1.0, 2.0, 3.0, 4.0])
    keys, few, square = n > 2.0, np.array([2, 0]), np.eye(4)
    a, mask, i, m = (cw.asarray(array, copy=True) for array in (n, keys, few, square))
    j, short = cw.asarray([1, 2, 3, 4], "i32"), np.array([1, 2, 3, 4], np.int32)
    return {
        "int32 + float64": (lambda: j + a, lambda: short + n),
        "a[1:3]": (lambda: a[1:3], lambda: n[1:3]),
        "a[mask]": (lambda: a[mask], lambda: n[keys]),
        "a[indices]": (lambda: a[i], lambda: n[few]),
        "sum": (lambda: cw.sum(a), lambda: np.sum(n)),
        "where": (lambda: cw.where(mask, a, a), lambda: np.where(keys, n, n)),
        "reshape": (lambda: cw.reshape(a, (2, 2)), lambda: np.reshape(n, (2, 2))),
        "concat": (lambda: cw.concat([a, a]), lambda: np.concatenate([n, n])),
        "astype": (lambda: a.astype(cw.float32), lambda: n.astype(np.float32)),
        "zeros": (lambda: cw.zeros(4), lambda: np.zeros(4)),
        "arange": (lambda: cw.arange(4), lambda: np.arange(4)),
        "asarray of an array": (lambda: cw.asarray(n), lambda: np.asarray(n)),
        "4 x 4 @ 4 x 4": (lambda: m @ m, lambda: square @ square),
    }


def steps(cw) -> None:  # type: ignore[no-untyped-def]
    """A traced program of a thousand additions of one element: the cost of a step inside."""
    one = cw.asarray([1.0])

    def chain(a):  # type: ignore[no-untyped-def]
        for _ in range(1000):
            a = a + one
        return a

    program = cw.trace(chain, one)
    run = lambda: program.run(one, profile=False)  # noqa: E731
    run()
    each = _nanoseconds(run, 50) / 1000
    print(f"{'step of a program, one element':34} {each:9.1f} ns an op")
    _record("step of a program, one element", "ns", each)


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
    repeat = max(1, 2**24 // size**3)
    rounds = 3 if size == 4096 else ROUNDS
    a, b = _paired(lambda: ours @ ours, lambda: theirs @ theirs, repeat, rounds)
    flops = 2 * size**3
    _record(label, "ns", a)
    print(f"{label:34} {flops / a:7.1f} GFLOP/s  NumPy {flops / b:7.1f}  x {b / a:5.2f}")


def _paired(
    left: Callable[[], object], right: Callable[[], object], repeat: int = 1, rounds: int = ROUNDS
) -> tuple[float, float]:
    """Median nanoseconds of two sides, taken in turns."""
    left(), right()
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for side, seconds in zip((left, right), taken, strict=True):
            seconds.append(_once(side, repeat))
    return statistics.median(taken[0]), statistics.median(taken[1])


def _once(side: Callable[[], object], repeat: int) -> float:
    start = time.perf_counter_ns()
    for _ in range(repeat):
        side()
    return (time.perf_counter_ns() - start) / repeat


def _nanoseconds(side: Callable[[], object], repeat: int = 20_000) -> float:
    return statistics.median(_once(side, repeat) for _ in range(ROUNDS))


def _show(label: str, ours: float, theirs: float, unit: str) -> None:
    ratio = theirs / ours
    _record(label, unit, ours)
    print(f"{label:34} {ours:9.2f} {unit}  NumPy {theirs:9.2f} {unit}  x {ratio:5.2f}")


def _record(label: str, unit: str, ours: float) -> None:
    record(f"{label}, on {os.environ['OMP_NUM_THREADS']}", unit, ours)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
