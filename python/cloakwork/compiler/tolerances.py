"""The largest errors of outputs that are accepted by default."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.graph import Graph

__all__ = ["tolerances_of"]

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
    generator = np.random.default_rng(0)
    near = {
        name: values + errors[name] * generator.choice([-1.0, 1.0], values.shape)
        for name, values in rows.items()
    }
    with np.errstate(all="ignore"):
        before, after = graph.finish(rows), graph.finish(near)
        for name, values in before.items():
            if values.dtype.kind != "f":
                continue
            right = values.astype(np.float64)
            off, largest = np.abs(after[name].astype(np.float64) - right), np.abs(right).max()
            if np.isfinite(off).all() and off.max() > _RELATIVE * largest:
                return False
    return True
