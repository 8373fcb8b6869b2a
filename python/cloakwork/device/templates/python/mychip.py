"""A device in Python: its kernels are methods on NumPy's views.

cloakwork run t.json --device ./mychip.py:MyChip

Steps without a method run on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cloakwork.device import PythonDevice
from numpy.typing import NDArray

Words = NDArray[Any]


class MyChip(PythonDevice):
    """Products of 62-bit residues need 128 bits: these methods use Python's integers."""

    name = "mychip"

    def copy(self, out: Words, a: Words) -> None:
        """Out = a."""
        out[...] = a

    def modsum(self, out: Words, a: Words, b: Words, q: Words) -> None:
        """Out = (a + b) % q."""
        out[...] = remainder(a.astype(object) + b, q)

    def modmul(self, out: Words, a: Words, b: Words, q: Words) -> None:
        """Out = (a * b) % q."""
        out[...] = remainder(a.astype(object) * b, q)


def remainder(a: Words, q: Words) -> Words:
    """As C's %: with the sign of a."""
    return np.where(a < 0, -(-a % q), a % q)
