"""Arguments beyond a domain: how likely they are, and how far they are harmless."""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.approximation.choosing import Applied

__all__ = ["METHOD", "chance_beyond", "extremes", "harmless_share"]

Floats = NDArray[np.float64]

METHOD = (
    "exponential tail over the largest tenth of the sample's inputs (peaks over threshold), at "
    "least 10 of 40"
)
_LEAST_ROWS, _LEAST_PEAKS, _PEAKS_SHARE = 40, 10, 10
# An error beyond the domain is harmless up to so many errors within it, or this share of values.
_ERRORS, _SHARE = 4.0, 0.01
_NEAREST, _REACH, _POINTS = 1e-6, 1.0, 1001
_ROUNDING = 1e-9


def extremes(applied: Applied, values: Floats) -> Floats:
    """How extreme the arguments of each input are, [rows]: those beyond 1 leave the domain.

    values   arguments float64 [rows, size]; the one that is furthest from the middle counts
    """
    wanted, scales = applied.recipe.wanted, applied.domain.scales
    own = values if scales is None else values / scales
    return np.asarray(np.abs(own - wanted.middle).max(axis=1) / wanted.half)


def chance_beyond(found: Floats) -> float | None:
    """The chance that an input of the model has an argument beyond the domain, by `METHOD`.

    found   `extremes` of a sample; None for fewer than 40
    """
    if len(found) < _LEAST_ROWS:
        return None
    ordered = np.sort(found)
    count = max(_LEAST_PEAKS, len(ordered) // _PEAKS_SHARE)
    threshold = float(ordered[-count - 1])
    excess = float((ordered[-count:] - threshold).mean())
    beyond = float((ordered > 1 + _ROUNDING).mean())
    if threshold >= 1 or excess <= 0:
        return beyond
    return max(beyond, count / len(ordered) * exp(-(1 - threshold) / excess))


def harmless_share(applied: Applied) -> float:
    """How far beyond a domain values stay close to the function, in half lengths: 0 to 1.

    Close: within four errors, or 1 % of the largest value of the domain.
    """
    recipe = applied.recipe
    wanted = recipe.wanted
    beyond = np.geomspace(_NEAREST, _REACH, _POINTS)
    largest = float(np.abs(wanted.of_unit(np.linspace(-1, 1, _POINTS))).max())
    most, share = max(_ERRORS * recipe.error, _SHARE * largest), _REACH
    for side in (-1.0, 1.0):
        points = side * (1.0 + beyond)
        with np.errstate(all="ignore"):
            off = np.abs(wanted.of_unit(points) - recipe.composition(points))
        bad = np.flatnonzero(~(off <= most))
        if len(bad):
            share = min(share, float(beyond[bad[0] - 1]) if bad[0] else 0.0)
    return share
