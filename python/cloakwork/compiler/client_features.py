"""What a client makes of plain features before encryption: categories, missing values, powers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]

__all__ = ["FEATURE_KINDS"]


def _one_hot(x: Values, categories: Sequence[float], unknown: bool = True) -> Values:
    """[..., categories]: 1 at the place of the category; nothing for others, if allowed."""
    known = np.asarray(categories, dtype=np.float64)
    found = x[..., np.newaxis] == known
    _check_known(x, found.any(axis=-1), known, allowed=unknown)
    return np.asarray(found, dtype=np.float64)


def _mapped(
    x: Values, keys: Sequence[float], values: Sequence[float], default: float | None = None
) -> Values:
    """The value of each key, and the default of others; without one they are refused."""
    if len(keys) != len(values):
        raise ValueError(f"expected a value for each key, found {len(keys)} and {len(values)}")
    known = np.asarray(keys, dtype=np.float64)
    same = x[..., np.newaxis] == known
    _check_known(x, same.any(axis=-1), known, allowed=default is not None)
    given = np.asarray(values, dtype=np.float64)[same.argmax(axis=-1)]
    return np.asarray(np.where(same.any(axis=-1), given, 0.0 if default is None else default))


def _check_known(x: Values, found: Values, known: Values, *, allowed: bool) -> None:
    if allowed or found.all():
        return
    listed = ", ".join(f"{one:g}" for one in known[:8])
    more = f" and {len(known) - 8} more" if len(known) > 8 else ""
    # No value: messages are logged, and inputs are secret.
    place = [int(one) for one in np.argwhere(~found)[0]]
    raise ValueError(f"expected the categories {listed}{more}, found another at {place}")


def _imputed(x: Values, values: Sequence[float], missing: float | None = None) -> Values:
    """Values in place of what is missing: of NaN, or of a number."""
    own = np.isnan(x) if missing is None else x == missing
    return np.asarray(np.where(own, np.asarray(values, dtype=np.float64), x))


def _powers(x: Values, exponents: Sequence[float]) -> Values:
    """Each element to its own power; NaN where there is none."""
    with np.errstate(all="ignore"):
        raised = np.asarray(x, dtype=np.float64) ** np.asarray(exponents).reshape(x.shape[1:])
    return np.asarray(raised)


def _made_normal(x: Values, lambdas: Sequence[float], positive: bool = False) -> Values:
    """Powers that bring each feature near a normal distribution, [batch, features].

    Of Yeo and Johnson, "A new family of power transformations", 2000; with `positive` those of Box
    and Cox, 1964, of values above 0.
    """
    power = np.asarray(lambdas, dtype=np.float64)
    with np.errstate(all="ignore"):
        if positive:
            return _power_of(x, power)
        above = _power_of(1 + np.maximum(x, 0.0), power)
        below = -_power_of(1 - np.minimum(x, 0.0), 2 - power)
    return np.asarray(np.where(np.isnan(x), np.nan, np.where(x >= 0, above, below)))


def _power_of(base: Values, power: Values) -> Values:
    """(base^power - 1) / power, or its limit."""
    small = np.abs(power) < np.spacing(1.0)
    return np.where(small, np.log(base), (base**power - 1) / np.where(small, 1.0, power))


def _equal(x: Values, values: Sequence[float]) -> Values:
    """1 where an element is the given one."""
    return np.asarray(x == np.asarray(values).reshape(x.shape[1:]), dtype=np.float64)


def _bins(
    x: Values, edges: Sequence[float], counts: Sequence[int], one_hot: bool = False
) -> Values:
    """The bin of each element, [batch, features], or one-hot, [batch, all bins].

    edges    between the bins of each feature, ascending, one feature after the other
    counts   of edges of each feature
    """
    if len(counts) != x.shape[1] or sum(counts) != len(edges) or min(counts, default=0) < 0:
        raise ValueError(f"expected edges for {x.shape[1]} features, found {len(counts)}")
    parts = np.split(np.asarray(edges, dtype=np.float64), np.cumsum(counts)[:-1])
    found = [
        np.where(np.isnan(column), np.nan, np.searchsorted(own, column, side="right"))
        for column, own in zip(x.T, parts, strict=True)
    ]
    if not one_hot:
        return np.stack(found, axis=1)
    hot = [
        column[:, np.newaxis] == np.arange(len(own) + 1)
        for column, own in zip(found, parts, strict=True)
    ]
    return np.concatenate(hot, axis=1).astype(np.float64)


# How near to an end of the training data a value is taken for that, and the least normal variate.
_END = 1e-7


def _quantiles(
    x: Values, quantiles: Sequence[Sequence[float]], shares: Sequence[float], normal: bool = False
) -> Values:
    """The share of the training data below each element, [batch, features].

    Between quantiles [features, q] it is interpolated; where several are alike it is the mean of
    the first and the last.  As a normal variate, it is bounded.
    """
    levels = np.asarray(shares, dtype=np.float64)
    found = np.empty(x.shape)
    for place, own in enumerate(np.asarray(quantiles, dtype=np.float64)):
        column = x[:, place]
        falling = np.interp(-column, -own[::-1], -levels[::-1])
        values = 0.5 * (np.interp(column, own, levels) - falling)
        near = _END if normal else 0.0
        values = np.where(column + near > own[-1] if normal else column == own[-1], 1.0, values)
        values = np.where(column - near < own[0] if normal else column == own[0], 0.0, values)
        found[:, place] = np.where(np.isnan(column), np.nan, values)
    if not normal:
        return found
    from scipy.special import ndtri

    ends = ndtri(_END - np.spacing(1)), ndtri(1 - (_END - np.spacing(1)))
    return np.asarray(np.clip(ndtri(found), *ends))


def _splines(x: Values, knots: Sequence[Sequence[float]], degree: int) -> Values:
    """The B-splines of each feature, [batch, features * bases], by de Boor's recursion.

    Beyond the first and the last knot with all bases they are constant.
    """
    parts = []
    for column, t in zip(x.T, np.asarray(knots, dtype=np.float64), strict=True):
        low, high = t[degree], t[len(t) - degree - 1]
        u = np.clip(column, low, high)[:, np.newaxis]
        # The last interval has its upper end.
        inside = (t[:-1] <= u) & ((u < t[1:]) | ((u == t[-1]) & (t[1:] == t[-1])))
        bases = inside.astype(np.float64)
        for order in range(1, degree + 1):
            first, last = t[order:-1] - t[: -order - 1], t[order + 1 :] - t[1:-order]
            rising = (u - t[: -order - 1]) / np.where(first > 0, first, 1.0)
            falling = (t[order + 1 :] - u) / np.where(last > 0, last, 1.0)
            bases = rising * (first > 0) * bases[:, :-1] + falling * (last > 0) * bases[:, 1:]
        parts.append(bases)
    return np.concatenate(parts, axis=1)


# As `client_tail.CLIENT_KINDS`.
FEATURE_KINDS: dict[str, Callable[..., Values]] = {
    "bins": _bins,
    "ceil": lambda x: np.asarray(np.ceil(x)),
    "equal": _equal,
    "floor": lambda x: np.asarray(np.floor(x)),
    "imputed": _imputed,
    "is_missing": lambda x: np.isnan(x).astype(np.float64),
    "made_normal": _made_normal,
    "mapped": _mapped,
    "one_hot": _one_hot,
    "powers": _powers,
    "quantiles": _quantiles,
    "round": lambda x: np.asarray(np.rint(x)),
    "splines": _splines,
}
