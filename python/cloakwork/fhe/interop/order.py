"""The order of values in other libraries' transforms.

All are in bit-reversed order: entry j of limb i is the polynomial at psi_i^(2 rev(j) + 1).  The
roots psi_i differ, and with them the order.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cloakwork.fhe.rns.tables import Basis, Tables
from cloakwork.tensors.conversion import asarray

Array = NDArray[np.int64]


@lru_cache(maxsize=16)
def order_of(basis: Basis, roots: tuple[int, ...] | None) -> Array:
    """[k, N]: the places here of the values in a library of these roots psi, or the least ones.

    theirs = np.take_along_axis(ours, order, -1).
    """
    degree = basis.degree
    monomial = np.zeros((basis.limbs, degree), dtype=np.int64)
    monomial[:, 1] = 1
    # The transform of X is the list of all roots, in our order.
    points = transformed(basis, monomial)
    exponents = 2 * _reversal(degree) + 1
    places = np.empty(2 * degree, dtype=np.int64)
    places[exponents] = np.arange(degree)
    wanted = points.min(axis=-1) if roots is None else np.array(roots)
    own = exponents[(points == wanted[:, np.newaxis]).argmax(axis=-1)]
    return np.asarray(places[exponents * own[:, np.newaxis] % (2 * degree)])


def transformed(basis: Basis, coefficients: Array) -> Array:
    """[..., k, N] coefficients -> their transform here."""
    flat = np.ascontiguousarray(coefficients).reshape(-1, *coefficients.shape[-2:])
    data = basis.ntt(asarray(flat).moveaxis(-1, -2))
    return np.asarray(data.moveaxis(-1, -2)).reshape(coefficients.shape)


def to_theirs(basis: Basis, ours: Array, roots: tuple[int, ...] | None = None) -> Array:
    """[..., k, N] in our order -> in that of other roots, by default the least."""
    order = np.broadcast_to(order_of(basis, roots), ours.shape)
    return np.asarray(np.take_along_axis(ours, order, axis=-1))


def from_theirs(basis: Basis, theirs: Array, roots: tuple[int, ...] | None = None) -> Array:
    """The inverse of `to_theirs`."""
    found = np.empty(theirs.shape, dtype=np.int64)
    order = np.broadcast_to(order_of(basis, roots), theirs.shape)
    np.put_along_axis(found, order, theirs, axis=-1)
    return found


def turned(tables: Tables, values: Array, element: int) -> Array:
    """[..., N]: values of a(X) in our order -> those of a(X^element)."""
    index = np.asarray(tables.automorphism(element % (2 * values.shape[-1])))
    return np.asarray(values[..., index])


def _reversal(degree: int) -> Array:
    order = np.zeros(1, dtype=np.int64)
    while len(order) < degree:
        order = np.concatenate((2 * order, 2 * order + 1))
    return order
