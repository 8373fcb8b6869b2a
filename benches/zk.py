"""Fields and transforms: the best instruction set against the portable kernels, in turns.

Figures are medians of CPU time, which other work disturbs least; ratios are safer than times.
Limits: docs/performance.md.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import cloakwork as cw
import numpy as np
from cloakwork import _core, ops
from measured.rows import record

ROUNDS = 7


def main(threads: int) -> int:
    """Print all figures for `threads` threads."""
    cw.set_threads(threads)
    for field in ("bn254.fr", "bls12_381.fr", "bls12_381.fq", "goldilocks", "babybear"):
        a = _elements(field, 1 << 14)
        b = ops.square(a)
        _row(f"{field} product, 2^14", partial(ops.multiply, a, b), 1 << 14)
        _row(f"{field} square, 2^14", partial(ops.square, a), 1 << 14)
        _row(f"{field} sum, 2^14", partial(ops.add, a, b), 1 << 14)
    a = _elements("bn254.fr", 1 << 16)
    words = ops.to_canonical(a)
    _row("bn254.fr from words, 2^16", partial(ops.from_canonical, words, "bn254.fr"), 1 << 16)
    _row("bn254.fr to words, 2^16", partial(ops.to_canonical, a), 1 << 16)
    for field in ("bn254.fr", "goldilocks", "babybear"):
        for log in (12, 14, 16, 18, 20):
            a = _elements(field, 1 << log)
            work = (1 << log) * log // 2
            _row(f"{field} transform, 2^{log}", partial(ops.field_ntt, a), work)
    a, x = _elements("bn254.fr", 1 << 18), _elements("bn254.fr", 1)[0]
    _row("bn254.fr inverses, 2^18", lambda: ops.reciprocal(a), 1 << 18)
    _row("bn254.fr evaluation, 2^18", lambda: ops.evaluate(a, x), 1 << 18)
    _row("bn254.fr division by X - b, 2^18", lambda: ops.kate_div(a, x), 1 << 18)
    return 0


def _elements(field: str, count: int) -> cw.Tensor:
    small = np.random.default_rng(0).integers(1, 2**62, count)
    element = ops.astype(cw.asarray(small), field)
    for _ in range(4):
        element = ops.square(element)
    return element


def _row(label: str, run: Callable[[], object], operations: int) -> None:
    best: list[float] = []
    portable: list[float] = []
    for _ in range(ROUNDS):
        for name, seconds in ((None, best), ("portable", portable)):
            _core.select_isa(name)
            start = time.process_time()
            run()
            seconds.append(time.process_time() - start)
    _core.select_isa(None)
    ours, theirs = statistics.median(best), statistics.median(portable)
    each = ours / operations * 1e9
    record(label, "ms", *(seconds * 1e3 for seconds in best))
    print(f"{label:34} {ours * 1e3:9.3f} ms {each:7.2f} ns each, portable x {theirs / ours:5.2f}")


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
