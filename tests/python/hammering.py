"""Calls on operands that another process writes concurrently; run separately, as it may crash.

    python hammering.py WRITES

The operands `q`, `i` and `x` lie in memory that a child shares and writes without a pause: half of
the time valid values, half of the time invalid ones. For each kind of call it prints the name,
repeats the call for WRITES writes, and prints the number of successes and of refusals.
"""

import itertools
import mmap
import os
import signal
import sys
from collections.abc import Callable

import cloakwork as cw
import numpy as np
from cloakwork import ops
from cloakwork.errors import CloakworkError
from numpy.typing import NDArray

Q, N = [257, 769], 64
INDICES = np.arange(4096)
ELEMENTS = np.linspace(1.0, 2.0, 4096)
# The invalid values, one after another.
WRONG = {
    "q": [[0, 0], [-1, -(2**63)], [2**62, 1], [2**63 - 1, -5]],
    "i": [2**40, -(2**62), 4096, 1],
    "x": [0.0, -0.0, np.nan, np.inf],
}


def shared(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """A copy that a forked child writes too."""
    memory = mmap.mmap(-1, values.nbytes)
    made = np.frombuffer(memory, values.dtype)
    made[:] = values
    return made


wrote = shared(np.zeros(1, np.int64))
q, i, x = shared(np.array(Q)), shared(INDICES), shared(ELEMENTS)


def hammer(which: str) -> int:
    """A process that writes one of them until it is killed, or alone."""
    parent, child = os.getpid(), os.fork()
    if child:
        return child
    memory = {"q": q, "i": i, "x": x}[which]
    right = memory.copy()
    for wrong in itertools.cycle(WRONG[which]):
        memory[:] = wrong
        memory[:] = right
        wrote[0] += 1
        if os.getppid() != parent:
            break
    os._exit(0)


def calls() -> dict[str, tuple[str, Callable[[], object]]]:
    """The memory that the child writes, and the call."""
    moduli, indices, elements = cw.asarray(q), cw.asarray(i), cw.asarray(x)
    pairs = cw.asarray(np.arange(512).reshape(256, 2) % 257)
    triples = cw.reshape(pairs, (256, 2, 1))
    random = cw.asarray(np.arange(512, dtype=np.uint64).reshape(256, 1, 2))
    half, hat, p = cw.asarray([1, 1]), cw.asarray([[3], [4]]), cw.asarray([1009])
    two = cw.asarray([[3, 5], [4, 6]])
    ring = cw.asarray(np.arange(2 * N).reshape(1, N, 1, 2) % 257)
    psi = cw.asarray(np.arange(2 * N).reshape(2, N) % 257)
    n_inv, fixed = cw.asarray([1, 1]), cw.asarray(Q)
    short = indices[:N]
    terms = cw.asarray(np.arange(6 * N).reshape(1, 3, 2, N) % 257)
    factors = terms[0]
    words, whole = cw.asarray(np.arange(4096)), cw.asarray(np.arange(4096) % 7 + 1)
    line = cw.reshape(words, (1, 4096))
    field = cw.asarray(list(range(4096)), dtype="goldilocks")
    starts = cw.asarray(np.arange(4097))
    return {
        "modmul": ("q", lambda: ops.modmul(pairs, pairs, moduli)),
        "modmul of any words": ("q", lambda: ops.modmul(pairs - 9999, pairs, moduli)),
        "modmuladd": ("q", lambda: ops.modmuladd(pairs, pairs, pairs, moduli)),
        "modsum": ("q", lambda: ops.modsum(pairs, pairs, moduli)),
        "modneg": ("q", lambda: ops.modneg(pairs - 9999, moduli)),
        "mod": ("q", lambda: ops.mod(pairs - 9999, cw.broadcast_to(moduli, (256, 2)))),
        "axis_modsum": ("q", lambda: ops.axis_modsum(pairs, 0, moduli)),
        "uniform_mod": ("q", lambda: ops.uniform_mod(random, moduli)),
        "g_decomp_full_q": ("q", lambda: ops.g_decomp_full_q(triples, moduli, 4, 5)),
        "base_convert from": ("q", lambda: ops.base_convert(pairs, moduli, half, hat, p)),
        "base_convert to": (
            "q",
            lambda: ops.base_convert(pairs, fixed, half, two, moduli),
        ),
        "ntt": ("q", lambda: ops.ntt(ring, moduli, psi, skip_perm=True)),
        "intt": ("q", lambda: ops.intt(ring, moduli, psi, n_inv)),
        "modmul_axis_sum": ("q", lambda: ops.modmul_axis_sum(terms, factors, moduli, False)),
        "axis sum's order": (
            "i",
            lambda: ops.modmul_axis_sum(terms, factors, fixed, True, perm=short),
        ),
        "ntt's order": ("i", lambda: ops.ntt(ring, fixed, psi, perm=short)),
        "automorphism": ("i", lambda: ops.automorphism(cw.reshape(words, (1, 4096, 1)), indices)),
        "permute": ("i", lambda: ops.permute(line, cw.reshape(indices, (1, 4096)), 0, 1)),
        "take": ("i", lambda: cw.take(words, indices)),
        "indexing": ("i", lambda: words[indices]),
        "scatter": ("i", lambda: ops.scatter(words, indices, words)),
        "sparse_matvec": ("i", lambda: ops.sparse_matvec(starts, indices, field, field)),
        "sort": ("x", lambda: cw.sort(elements)),
        "argsort": ("x", lambda: cw.argsort(elements)),
        "argmax": ("x", lambda: cw.argmax(elements)),
        "argmin": ("x", lambda: cw.argmin(elements)),
        "nonzero": ("x", lambda: cw.nonzero(elements)),
        "searchsorted": ("x", lambda: cw.searchsorted(elements, elements)),
        "integer division": (
            "i",
            lambda: (whole // indices, whole % indices, whole ** (indices & 7)),
        ),
        "shifts": ("i", lambda: (whole << indices, whole >> indices)),
        "solve": ("x", lambda: cw.linalg.solve(cw.reshape(elements, (64, 64)), cw.eye(64))),
        "program": ("q", lambda: TRACED.run(pairs, moduli)),
        "program's indices": ("i", lambda: TAKES.run(words, indices)),
    }


TRACED = cw.trace(
    lambda a, m: ops.modmul(a, a, m), cw.zeros((256, 2), dtype="i64"), cw.ones(2, dtype="i64")
)
TAKES = cw.trace(lambda a, k: a[k], cw.zeros(4096, dtype="i64"), cw.zeros(4096, dtype="i64"))


def main(writes: int) -> None:
    for name, (which, call) in calls().items():
        print(name, end=": ", flush=True)
        wrote[0] = 0
        writer = hammer(which)
        through = refused = 0
        while wrote[0] < writes:
            try:
                call()
                through += 1
            except (CloakworkError, ValueError):
                refused += 1
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        q[:], i[:], x[:] = Q, INDICES, ELEMENTS
        call()
        print(through, refused, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
