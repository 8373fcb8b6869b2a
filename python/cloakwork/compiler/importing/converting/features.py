"""Steps of pipelines that make features: products and kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.importing.converting.nodes import Nodes

Outputs = dict[str, str]
Integers = NDArray[np.int64]

__all__ = ["FEATURES"]

_MOST_DEGREE = 8


def polynomials(own: Any, n: Nodes) -> Outputs | None:
    """Monomials, each as the product of two of half the degree."""
    powers = np.asarray(own.powers_, dtype=np.int64)
    if powers.sum(axis=1).max(initial=0) > _MOST_DEGREE:
        return None
    return {"features": _monomials(n, powers)}


def _monomials(n: Nodes, powers: Integers) -> str:
    """[batch, m]: the products of the features to these powers [m, width]."""
    if powers.sum(axis=1).max() <= 1:
        return n.affine(n.x, powers.T, 1.0 * (powers.sum(axis=1) == 0))
    first = np.zeros_like(powers)
    for row, left in zip(first, powers, strict=True):
        # The first half of the factors, in the order of features.
        room = (int(left.sum()) + 1) // 2
        for feature, power in enumerate(left.tolist()):
            row[feature] = min(power, room)
            room -= int(row[feature])
    return n.op("Mul", _monomials(n, first), _monomials(n, powers - first))


def nystroem(own: Any, n: Nodes) -> Outputs | None:
    """Kernels with some rows of the training data, as coordinates."""
    if own.kernel != "rbf":
        return None
    gamma = 1.0 / n.width if own.gamma is None else float(own.gamma)
    kernels = n.gaussians(n.x, own.components_, gamma)
    return {"features": n.affine(kernels, own.normalization_.T)}


def kernel_components(own: Any, n: Nodes) -> Outputs | None:
    """Principal components of kernels with all rows of the training data."""
    if own.kernel != "rbf":
        return None
    gamma = getattr(own, "gamma_", own.gamma)
    gamma = 1.0 / n.width if gamma is None else float(gamma)
    kernels = n.gaussians(n.x, own.X_fit_, gamma)
    large = own.eigenvalues_ > 0
    axes = np.where(large, own.eigenvectors_ / np.sqrt(np.where(large, own.eigenvalues_, 1.0)), 0.0)
    centre = own._centerer
    offset = (centre.K_fit_all_ - centre.K_fit_rows_) @ axes
    return {"features": n.affine(kernels, axes - axes.mean(axis=0), offset)}


FEATURES: dict[str, Callable[[Any, Nodes], Outputs | None]] = {
    "KernelPCA": kernel_components,
    "Nystroem": nystroem,
    "PolynomialFeatures": polynomials,
}
