"""Programs of a batch of ciphertexts: one run serves several requests of the same keys.

A program that was recorded with batches of B ciphertexts takes requests of 1 to B, together or
alone; unused rows hold zeros.  That is right if each row is computed by the same function, and of
nothing but its own row.  A recording does not say so: the first run measures it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import ServingError
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.files.storage import limbs_first, limbs_last
from cloakwork.programs.clients import Client
from cloakwork.serving import refusals

Named = Mapping[str, Ciphertext]


def rows_of(ciphertexts: Sequence[Ciphertext]) -> int | None:
    """The rows of a program whose inputs and results are batches of as many; else None."""
    found = {one.batch for one in ciphertexts}
    only = found.pop() if len(found) == 1 else None
    return only if only is not None and only > 1 else None


def count(request: Named) -> int:
    """The rows of a request."""
    return next(iter(request.values())).batch or 1


def check(request: Named, rows: int) -> None:
    """ServingError unless all inputs of a request have as many rows, at most all."""
    found = {one.batch or 1 for one in request.values()}
    if len(found) > 1 or max(found) > rows:
        got = " and ".join(map(str, sorted(found)))
        hint = "send the others as requests of their own"
        wanted = f"one number of ciphertexts for all inputs, 1 to {rows}"
        raise ServingError(refusals.SENSELESS, "batch", wanted, got, hint)


def groups(requests: Sequence[Named], rows: int) -> list[list[int]]:
    """Numbers of requests, in their order, that fit into one run each."""
    found: list[list[int]] = []
    room = 0
    for number, request in enumerate(requests):
        if count(request) > room:
            found.append([])
            room = rows
        found[-1].append(number)
        room -= count(request)
    return found


def joined(examples: Named, requests: Sequence[Named], rows: int) -> dict[str, Ciphertext]:
    """The inputs of one run: the rows of the requests, one after another, then zeros."""
    made = {}
    for name, example in examples.items():
        parts, degree, limbs = example.data.shape[1:]
        held = np.zeros((rows, parts, limbs, degree), dtype=np.int64)
        begin = 0
        for request in requests:
            own = limbs_first(request[name].data)
            end = begin + (own.shape[0] if own.ndim == held.ndim else 1)
            held[begin:end] = own
            begin = end
        key = next(iter(requests[0].values())).key
        made[name] = example.carrying(limbs_last(held), Client(key, None))
    return made


def parted(results: Named, requests: Sequence[Named]) -> list[dict[str, Ciphertext]]:
    """The results of each request of a run; of a single ciphertext, without the batch's axis."""
    found, begin = [], 0
    for request in requests:
        end = begin + count(request)
        single = next(iter(request.values())).batch is None
        rows = begin if single else slice(begin, end)
        found.append({name: one._picked(rows) for name, one in results.items()})
        begin = end
    return found


def are_alike(
    run: Callable[[Mapping[str, Ciphertext]], Named], examples: Named, request: Named, rows: int
) -> bool:
    """Whether all rows are computed alike, and of their own row alone, by two runs.

    One run has a request's first row everywhere, the other only in its first row: a row that
    depends on its place or on another row differs in some of the residues.
    """
    first = {name: one if one.batch is None else one._picked(0) for name, one in request.items()}
    everywhere = run(joined(examples, [first] * rows, rows))
    alone = run(joined(examples, [first], rows))
    for name, one in everywhere.items():
        full, single = _residues(one), _residues(alone[name])
        zeros = np.array_equal(single[1:], np.broadcast_to(single[1], single[1:].shape))
        if not zeros or not np.array_equal(full, np.broadcast_to(single[0], full.shape)):
            return False
    return True


def _residues(ciphertext: Ciphertext) -> NDArray[np.int64]:
    return limbs_first(ciphertext.data)
