"""Steps of a client on scores of several estimators: votes, medians, chains of labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.client_features import check_size

Values = NDArray[Any]

__all__ = ["ENSEMBLE_KINDS"]

_RESPONSES = ("labels", "probabilities", "scores")


def _ballots(*x: Values, known: Sequence[Sequence[int]], weights: Sequence[float]) -> Values:
    """[batch, classes]: the weights of those whose largest score is that of a class.

    x       scores [batch, k] of each, or [batch, 1] of the second of two classes
    known   for each, the places of its classes among all; their largest tells how many these are
    """
    if len(x) != len(known) or len(x) != len(weights) or not x:
        raise ValueError(f"expected classes and a weight of {len(x)} scores, found {len(known)}")
    top = max(max(own) for own in known)
    check_size(len(x[0]) * (1 + top))
    found = np.zeros((len(x[0]), 1 + top))
    rows = np.arange(len(found))
    for scores, own, weight in zip(x, known, weights, strict=True):
        places = np.asarray(own, dtype=np.int64)
        if scores.ndim != 2 or len(scores) != len(found) or places.min() < 0:
            raise ValueError(f"expected scores of one batch, found {scores.shape}")
        single = scores.shape[1] == 1
        if places.size != (2 if single else scores.shape[1]):
            raise ValueError(f"expected scores of {places.size} classes, found {scores.shape}")
        chosen = (scores[:, 0] > 0).astype(np.int64) if single else scores.argmax(axis=1)
        found[rows, places[chosen]] += weight
    return found


def _weighted_median(x: Values, weights: Sequence[float]) -> Values:
    """[batch, 1]: the least value at or below which half of the weight is; x is [batch, n]."""
    each = np.asarray(weights, dtype=np.float64)
    if x.ndim != 2 or each.shape != x.shape[1:]:
        raise ValueError(f"expected {each.size} values, found {x.shape}")
    order = np.argsort(x, axis=1)
    sums = np.cumsum(each[order], axis=1)
    middle = (sums >= 0.5 * sums[:, -1:]).argmax(axis=1)
    place = np.take_along_axis(order, middle[:, np.newaxis], axis=1)
    return np.asarray(np.take_along_axis(x, place, axis=1))


def _response(scores: Values, kind: str) -> Values:
    if kind not in _RESPONSES:
        raise ValueError(f"expected one of {_RESPONSES}, found {kind!r:.40}")
    if kind == "probabilities":
        return np.asarray(0.5 + 0.5 * np.tanh(scores / 2))
    return np.asarray(scores > 0, dtype=np.int64) if kind == "labels" else scores


def _chained(
    x: Values, weights: Sequence[Sequence[float]], order: Sequence[int], read: str, result: str
) -> Values:
    """[batch, targets] of scores [batch, targets] to which those before in a chain contribute.

    weights   [targets, targets]: of each place of the chain on those before it
    order     the target of each place
    read      what of those before is weighted: labels, probabilities or scores
    result    what is given, as `read`
    """
    matrix, places = np.asarray(weights, dtype=np.float64), np.asarray(order, dtype=np.int64)
    count = places.size
    if x.shape[1:] != (count,) or matrix.shape != (count, count):
        raise ValueError(f"expected {count} scores and as many weights, found {x.shape}")
    if not np.array_equal(np.sort(places), np.arange(count)):
        raise ValueError("expected each target once")
    found, told = np.array(x, dtype=np.float64), np.zeros(x.shape)
    for place, own in enumerate(matrix):
        found[:, place] += told[:, :place] @ own[:place]
        told[:, place] = _response(found[:, place], read)
    given = _response(found, result)
    return np.asarray(given[:, np.argsort(places)])


def _descended(x: Values, left: Sequence[int], right: Sequence[int]) -> Values:
    """[batch]: where a way down a binary tree ends, of scores [batch, inner nodes].

    left, right   children of each inner node, a later one, or -1 - r for the result r; a score
                  above 0 leads to the right
    """
    ways = np.stack([np.asarray(left, np.int64), np.asarray(right, np.int64)])
    count = ways.shape[1]
    later = (ways < 0) | ((ways > np.arange(count)) & (ways < count))
    if x.shape[1:] != (count,) or not count or not later.all():
        raise ValueError(f"expected scores of {count} nodes in order, found {x.shape}")
    chosen = np.where(x > 0, ways[1], ways[0])
    place = np.zeros(len(x), dtype=np.int64)
    for node in range(count):
        place = np.where(place == node, chosen[:, node], place)
    return -1 - place


# As `client_tail.CLIENT_KINDS`.
ENSEMBLE_KINDS: dict[str, Callable[..., Values]] = {
    "ballots": _ballots,
    "chained": _chained,
    "descended": _descended,
    "weighted_median": _weighted_median,
}
