"""How tensors are shown."""

from __future__ import annotations

import numpy as np

from cloakwork import _core
from cloakwork.errors import TraceError

# Tensors of more elements are abbreviated, as NumPy does it.
_THRESHOLD = 1000


def tensor(value: _core.Tensor, traced: bool) -> str:
    """Show a tensor as NumPy would show an array, with its dtype's short name.

    A shape is shown where the elements do not tell it.
    """
    shown = "<traced>" if traced else elements(value, "Tensor(")
    tells = 0 < value.size <= _THRESHOLD and not traced and not value.is_secret
    shape = "" if tells else f", shape={value.shape}"
    return f"Tensor({shown}{shape}, dtype={value.dtype})"


def elements(value: _core.Tensor, prefix: str) -> str:
    """The elements as NumPy shows them after `prefix`; `<secret>` and `<traced>` for none."""
    if value.is_secret:
        return "<secret>"
    try:
        array = np.asarray(value)
    except TraceError:
        return "<traced>"
    return np.array2string(array, separator=", ", prefix=prefix, threshold=_THRESHOLD)
