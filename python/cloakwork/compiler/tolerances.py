"""The largest errors of outputs that are accepted by default, and what they are in results."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.graph import Graph

__all__ = ["errors_of_results", "tolerances_of"]

Floats = NDArray[np.float64]

# The largest error by default, relative to the largest output, and to the largest result.
_RELATIVE = 0.01
# Rows that are tried, and how often errors are halved.
_ROWS, _HALVED = 256, 16


def tolerances_of(graph: Graph, expected: Mapping[str, Floats]) -> dict[str, float]:
    """1 % of the largest value of each output; less where results of the client suffer more.

    expected   outputs of a sample, [rows, *shape] by name
    """
    found = {
        name: _RELATIVE * (float(np.abs(values).max()) or 1.0) for name, values in expected.items()
    }
    if not graph.client_tail.steps:
        return found
    rows = {name: values[:_ROWS] for name, values in expected.items()}
    for _ in range(_HALVED):
        if _suffices(graph, rows, found):
            break
        found = {name: most / 2 for name, most in found.items()}
    return found


def _suffices(graph: Graph, rows: Mapping[str, Floats], errors: Mapping[str, float]) -> bool:
    """Whether such errors change results that are numbers by 1 % of the largest at most."""
    before = graph.finish(rows)
    off = errors_of_results(graph, rows, errors)
    # Where results themselves are without bounds, smaller errors change nothing.
    return not any(
        isfinite(most) and most > _RELATIVE * float(np.abs(before[name].astype(np.float64)).max())
        for name, most in off.items()
    )


def errors_of_results(
    graph: Graph, outputs: Mapping[str, Floats], errors: Mapping[str, float]
) -> dict[str, float]:
    """How far results that are numbers are off at most where outputs have such errors.

    By result, measured for the outputs of some inputs, each element off by its whole error, up,
    down or either; inf where a result loses its value.  Labels, counts and texts have no error:
    they are right or another.

    outputs   [rows, *shape] by name, in the units of the program, as the errors are
    """
    rows = {name: values[:_ROWS] for name, values in outputs.items()}
    generator = np.random.default_rng(0)
    found: dict[str, float] = {}
    with np.errstate(all="ignore"):
        before = graph.finish(rows)
        for signs in ([-1.0, 1.0], [1.0], [-1.0]):
            after = graph.finish(
                {
                    name: values + errors[name] * generator.choice(signs, values.shape)
                    for name, values in rows.items()
                }
            )
            for name, values in before.items():
                if values.dtype.kind == "f":
                    most = _largest_difference(values, after[name])
                    found[name] = max(found.get(name, 0.0), most)
    return found


def _largest_difference(values: NDArray[np.generic], others: NDArray[np.generic]) -> float:
    first, second = values.astype(np.float64), others.astype(np.float64)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    off = np.where(same, 0.0, np.abs(first - second))
    return float(np.where(np.isnan(off), inf, off).max())
