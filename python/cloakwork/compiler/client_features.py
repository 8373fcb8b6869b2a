"""Steps of a client on plain features: categories, missing values, powers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]

__all__ = ["FEATURE_KINDS", "check_size", "of_length_one"]


# Elements that a step may make.
_MOST_ELEMENTS = 1 << 26


def _one_hot(x: Values, categories: Sequence[float], unknown: bool = True) -> Values:
    """[..., categories]: 1 at the place of the category; nothing for others, if allowed."""
    check_size(x.size * len(categories))
    known = np.asarray(categories, dtype=np.float64)
    found = x[..., np.newaxis] == known
    _check_known(found.any(axis=-1), known, allowed=unknown)
    return np.asarray(found, dtype=np.float64)


def _mapped(
    x: Values, keys: Sequence[float], values: Sequence[float], default: float | None = None
) -> Values:
    """The value of each key, and the default of others; without one they are refused."""
    if len(keys) != len(values):
        raise ValueError(f"expected a value for each key, found {len(keys)} and {len(values)}")
    check_size(x.size * len(keys))
    known = np.asarray(keys, dtype=np.float64)
    same = x[..., np.newaxis] == known
    _check_known(same.any(axis=-1), known, allowed=default is not None)
    given = np.asarray(values, dtype=np.float64)[same.argmax(axis=-1)]
    return np.asarray(np.where(same.any(axis=-1), given, 0.0 if default is None else default))


def check_size(count: int) -> None:
    """ValueError for more elements than a step may make."""
    if count > _MOST_ELEMENTS:
        raise ValueError(f"expected at most {_MOST_ELEMENTS} elements, found {count}")


def _check_known(found: Values, known: Values, *, allowed: bool) -> None:
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
    parts = _parts(x, edges, counts)
    found = [
        np.where(np.isnan(column), np.nan, np.searchsorted(own, column, side="right"))
        for column, own in zip(x.T, parts, strict=True)
    ]
    if not one_hot:
        return np.stack(found, axis=1)
    return _spread(found, [np.arange(len(own) + 1) for own in parts])


def _spread(columns: Sequence[Values], known: Sequence[Values]) -> Values:
    """Columns as one-hot vectors beside each other; NaN stays NaN."""
    hot = [
        np.where(np.isnan(column)[:, np.newaxis], np.nan, column[:, np.newaxis] == own)
        for column, own in zip(columns, known, strict=True)
    ]
    return np.concatenate(hot, axis=1)


def _categories(
    x: Values,
    values: Sequence[float],
    counts: Sequence[int],
    one_hot: bool = False,
    unknown: bool = False,
    default: float | None = None,
) -> Values:
    """The place of each element among its feature's categories, [batch, features], or one-hot.

    values    the categories of each feature, ascending, one feature after the other
    counts    of categories of each feature
    unknown   whether others are allowed: one-hot they are nothing, else the default
    """
    parts = _parts(x, values, counts)
    places = [np.clip(np.searchsorted(own, column), 0, len(own) - 1)
              for column, own in zip(x.T, parts, strict=True)]  # fmt: skip
    found = np.stack([own[place] == column for column, own, place in
                      zip(x.T, parts, places, strict=True)], axis=1)  # fmt: skip
    column = int((~found).any(axis=0).argmax())
    _check_known(found, parts[column], allowed=unknown)
    if one_hot:
        return _spread(list(x.T), parts)
    given = np.stack(places, axis=1).astype(np.float64)
    return given if default is None else np.where(found, given, default)


def _parts(x: Values, flat: Sequence[float], counts: Sequence[int]) -> list[Values]:
    """The numbers of each feature."""
    if len(counts) != x.shape[1] or sum(counts) != len(flat) or min(counts, default=0) < 0:
        raise ValueError(f"expected numbers for {x.shape[1]} features, found {len(counts)}")
    check_size(len(x) * (len(flat) + len(counts)))
    return np.split(np.asarray(flat, dtype=np.float64), np.cumsum(counts)[:-1])


def _whole(x: Values) -> Values:
    """Whole numbers, and no others: what an estimator would not take."""
    right = np.isnan(x) | (x == np.rint(x))
    if not right.all():
        place = [int(one) for one in np.argwhere(~right)[0]]
        raise ValueError(f"expected whole numbers, found another at {place}")
    return x


def _scaled(x: Values, steps: Sequence[tuple[str, Sequence[float]]]) -> Values:
    """Each feature less, times, by or plus numbers, in their order: as rounded as in the model."""
    found = x
    for kind, numbers in steps:
        own = np.asarray(numbers, dtype=np.float64)
        found = _ARITHMETIC[kind](found, own.reshape(x.shape[1:]))
    return np.asarray(found)


_ARITHMETIC: dict[str, Callable[[Values, Values], Values]] = {
    "by": np.divide, "less": np.subtract, "plus": np.add, "times": np.multiply,
}  # fmt: skip


def _choice(x: Values, *others: Values, first: Any = None, second: Any = None) -> Values:
    """Elements of the first where x is not 0, else of the second: of numbers, or of values."""
    left = list(others)
    a, b = (left.pop(0) if own is None else np.asarray(own, dtype=np.float64).reshape(x.shape[1:])
            for own in (first, second))  # fmt: skip
    return np.asarray(np.where(np.isnan(x), np.nan, np.where(x != 0, a, b)))


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
    if len(quantiles) != x.shape[1]:
        raise ValueError(f"expected quantiles of {x.shape[1]} features, found {len(quantiles)}")
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
        parts.append(np.where(np.isnan(u), np.nan, bases))
    return np.concatenate(parts, axis=1)


def _missing(x: Values, columns: Sequence[int], strict: bool = False) -> Values:
    """[batch, columns]: 1 for NaN in these columns; in others it is refused, if strict."""
    own = np.isnan(x)
    if strict and np.delete(own, _places(columns), axis=1).any():
        raise ValueError(f"expected nothing missing but in the columns {list(columns)}")
    return np.asarray(_columns(own, columns), dtype=np.float64)


def _columns(x: Values, columns: Sequence[int]) -> Values:
    """[batch, columns]: some columns, in any order."""
    check_size(len(x) * len(columns))
    return np.asarray(x[:, _places(columns)])


def _places(columns: Sequence[int]) -> NDArray[np.int64]:
    if not all(type(one) is int and one >= 0 for one in columns):
        raise ValueError("expected columns that are whole numbers of 0 or more")
    return np.asarray(columns, dtype=np.int64)


def _chi_squared(x: Values, steps: int, interval: float) -> Values:
    """[batch, features (2 steps - 1)]: roots, and cosines and sines of logarithms.

    Of values from 0.  A. Vedaldi, A. Zisserman, "Efficient Additive Kernels via Explicit Feature
    Maps", 2012.
    """
    if not 1 <= steps <= 64:
        raise ValueError(f"expected 1 to 64 steps, found {steps}")
    if (x < 0).any():
        raise ValueError("expected values of 0 or more")
    parts = [np.sqrt(x * interval)]
    logs = np.log(np.where(x > 0, x, 1.0)) * interval
    for step in range(1, steps):
        factor = np.sqrt(2 * x * interval / np.cosh(np.pi * step * interval))
        parts += [factor * np.cos(step * logs), factor * np.sin(step * logs)]
    return np.concatenate(parts, axis=1)


def _weighted_counts(
    x: Values, weights: Sequence[float], logarithms: bool = False, norm: str = "none"
) -> Values:
    """Counts [batch, terms] or one more than their logarithms, weighted, each row normalised."""
    found = np.array(x, dtype=np.float64)
    if logarithms:
        if (found < 0).any():
            raise ValueError("expected counts of 0 or more")
        found = np.where(found == 0, 0.0, np.log(np.where(found == 0, 1.0, found)) + 1.0)
    found = found * np.asarray(weights, dtype=np.float64).reshape(x.shape[1:])
    return found if norm == "none" else of_length_one(found, norm)


def of_length_one(x: Values, norm: str = "L1") -> Values:
    """Each row over its length: the sum or the largest of |x|, or the root of the sum of x^2.

    ONNX has its norms in capitals: MAX is the largest of x.
    """
    if norm not in _LENGTHS:
        raise ValueError(f"expected one of {sorted(_LENGTHS)}, found {norm!r:.40}")
    lengths = _LENGTHS[norm](x)
    return np.asarray(x / np.where(lengths == 0, 1.0, lengths))


def _sums(x: Values) -> Values:
    return np.asarray(np.abs(x).sum(axis=1, keepdims=True))


def _roots(x: Values) -> Values:
    return np.asarray(np.sqrt((x * x).sum(axis=1, keepdims=True)))


_LENGTHS: dict[str, Callable[[Values], Values]] = {
    "L1": _sums,
    "L2": _roots,
    "MAX": lambda x: np.asarray(x.max(axis=1, keepdims=True)),
    "l1": _sums,
    "l2": _roots,
    "max": lambda x: np.asarray(np.abs(x).max(axis=1, keepdims=True)),
}


# As `client_tail.CLIENT_KINDS`.
FEATURE_KINDS: dict[str, Callable[..., Values]] = {
    "bins": _bins,
    "categories": _categories,
    "chi_squared": _chi_squared,
    "ceil": lambda x: np.asarray(np.ceil(x)),
    "choice": _choice,
    "columns": _columns,
    "equal": _equal,
    "floor": lambda x: np.asarray(np.floor(x)),
    "imputed": _imputed,
    "is_missing": lambda x: np.isnan(x).astype(np.float64),
    "made_normal": _made_normal,
    "mapped": _mapped,
    "missing": _missing,
    "of_length_one": of_length_one,
    "one_hot": _one_hot,
    "powers": _powers,
    "quantiles": _quantiles,
    "round": lambda x: np.asarray(np.rint(x)),
    "scaled": _scaled,
    "splines": _splines,
    "weighted_counts": _weighted_counts,
    "whole": _whole,
}
