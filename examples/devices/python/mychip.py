"""A device in Python: arithmetic of residues as methods on NumPy's views.

cloakwork run t.json --device ./mychip.py:MyChip

Steps without a method run on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cloakwork.device import PythonDevice, takes
from numpy.typing import NDArray

Words = NDArray[Any]


class MyChip(PythonDevice):
    """Residues are any words, and a % q has the sign of a, as in C."""

    def copy(self, out: Words, a: Words) -> None:
        out[...] = a

    def modmul(self, out: Words, a: Words, b: Words, q: Words) -> None:
        if reduced(a, q) and reduced(b, q):
            out[...] = fast_product(a, b, q)
        else:
            out[...] = remainder(a.astype(object) * b, q)

    def modsum(self, out: Words, a: Words, b: Words, q: Words) -> None:
        # In 64 bits there is room for a sum of two residues below 2^62.
        if reduced(a, q) and reduced(b, q):
            out[...] = (a.astype(np.int64) + b) % q
        else:
            out[...] = remainder(a.astype(object) + b, q)

    def modneg(self, out: Words, a: Words, q: Words) -> None:
        out[...] = (q - a % q) % q

    @takes("int64")
    def axis_modsum(self, out: Words, a: Words, q: Words) -> None:
        """The sum of a along its last axis, reduced at each step."""
        total = np.zeros_like(out)
        for term in np.moveaxis(a, -1, 0):
            self.modsum(total, total, term, q)
        out[...] = total


def reduced(a: Words, q: Words) -> bool:
    """Whether all numbers are in [0, q)."""
    return bool(np.all((a >= 0) & (a < q)))


def fast_product(a: Words, b: Words, q: Words) -> Words:
    """Products mod q of residues below q < 2^62.

    A quotient in 64 or more bits of a long double is wrong by at most 1; the difference to the
    product is computed modulo 2^64, and fits.
    """
    a, b, q = (np.asarray(x, np.int64) for x in (a, b, q))
    quotient = (a.astype(np.longdouble) * b / q).astype(np.int64)
    rest = a * b - quotient * q
    rest += np.where(rest < 0, q, 0)
    return rest - np.where(rest >= q, q, 0)


def remainder(a: Words, q: Words) -> Words:
    """As C's %: with the sign of a."""
    return np.where(a < 0, -(-a % q), a % q)
